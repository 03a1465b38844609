"""Pages that tell: an album guide, a blog, a forum."""

import random

from web.page_shapes.writing import (
    MONTHS,
    NOUNS,
    DatedFact,
    Shape,
    day,
    navigation,
    page,
    paragraphs,
    prose,
    table,
)


def guide() -> Shape:
    chance = random.Random(8)
    details = "".join(
        f'<div class="{name}"><h4>{label}</h4><span>{value}</span></div>'
        for name, label, value in (
            ("release-date", "Release Date", "November 8, 1974"),
            ("duration", "Duration", "38:56"),
            ("genre", "Genre", "Pop/Rock"),
            ("recording-date", "Recording Date", "July 15, 1974 - October 22, 1974"),
        )
    )
    releases = [
        ("1974", "LP", "Elektra", "7E-1026"),
        ("1991", "CD", "Hollywood", "61036"),
        ("2011", "CD", "Island", "2764410"),
    ]
    body = (
        navigation(["New Releases", "Discover", "Articles", "Recommendations"])
        + f'<h1>Sheer Heart Attack</h1><h2>Queen</h2><section class="basic">{details}</section>'
        + f"<h3>Review by A. Critic</h3>{paragraphs(chance, 35, 0.35)}"
        + "<p>It began with Killer Queen, issued ahead of the album in October 1974.</p>"
        + paragraphs(chance, 15, 0.35) + "<h3>Releases</h3>"
        + table(releases, ("Year", "Media", "Label", "Cat. #"))
        + "<h3>User reviews</h3>" + "".join(
            f"<div><p>{prose(chance, 6, 0.3)}</p><span>{chance.choice(MONTHS)}"
            f" {chance.randint(1, 28)}, {chance.randint(2013, 2021)}</span></div>"
            for _ in range(40)
        )
    )  # fmt: skip
    return Shape(
        "album guide",
        "Queen Killer Queen Sheer Heart Attack",
        page("Sheer Heart Attack - Queen | Album | AllMusic", body),
        (
            DatedFact("November 8, 1974", ("Release Date",)),
            DatedFact("July 15, 1974", ("Recording Date",)),
            DatedFact("October 1974", ("Killer Queen",)),
            DatedFact("1974", ("7E-1026",)),
            DatedFact("1991", ("Hollywood",)),
        ),
    )


def blog() -> Shape:
    chance = random.Random(9)
    body = (
        navigation(["Home", "About", "Archive"])
        + '<article><h1>The story of "Silver Morning"</h1><p>by Ann <time datetime="2014-05-06">6'
        " May 2014</time></p>" + paragraphs(chance, 14, 0.3)
        + "<p>Everybody has it on the album, but Paper Harbour first put Silver Morning out on a"
        " single, Lantern LAN 7, on Friday, March 3rd, 1967.</p>" + paragraphs(chance, 20, 0.3)
        + "<p>The album <em>Ships in Glass</em> followed on June 16th, 1967. The Americans had to"
        " wait until August 1967 for theirs.</p>" + paragraphs(chance, 15, 0.3) + "</article>"
        + "<h3>Comments</h3>" + "".join(
            f"<div class='comment'><cite>{noun}</cite> {chance.choice(MONTHS)}"
            f" {chance.randint(1, 28)}, {chance.randint(2014, 2020)} at 10:0{n % 10}"
            f"<p>{prose(chance, 3, 0.3)}</p></div>"
            for n, noun in enumerate(NOUNS * 3)
        )
    )  # fmt: skip
    return Shape(
        "blog post",
        "Paper Harbour Silver Morning Ships in Glass",
        page("The story of Silver Morning | 45s from the attic", body),
        (
            DatedFact("March 3rd, 1967", ("Silver Morning", "LAN 7")),
            DatedFact("June 16th, 1967", ("Ships in Glass",)),
            DatedFact("August 1967", ("Americans",)),
        ),
    )


def forum() -> Shape:
    chance = random.Random(11)
    said = {
        3: "My copy of Blue Hour by Vesper Lane has a stamp, 19.4.1969: it was out by then.",
        17: "The trade papers list Blue Hour for release on 18 April 1969, LAN 127.",
        41: "The album Half a Country was announced for 11/09/1970 and reviewed a week later.",
        58: "In Germany Blue Hour came out in Juni 1969 with another sleeve.",
    }
    posts = "".join(
        f'<div class="post" id="p{n}"><div class="who">member{n % 9} » {day(chance, 2005, 2012)},'
        f" 1{n % 10}:4{n % 6}</div><blockquote>{prose(chance, 1)}</blockquote><div"
        f' class="content">{said.get(n, prose(chance, 4, 0.35))}</div>'
        f'<div class="sig">Joined: {day(chance, 1999, 2004)}</div></div>'
        for n in range(80)
    )
    return Shape(
        "forum thread",
        "Vesper Lane Blue Hour Half a Country",
        page("When did Blue Hour come out? - Forty-fives forum", "<h2>Blue Hour</h2>" + posts),
        (
            DatedFact("19.4.1969", ("Blue Hour",)),
            DatedFact("18 April 1969", ("Blue Hour", "LAN 127")),
            DatedFact("11/09/1970", ("Half a Country",)),
            DatedFact("Juni 1969", ("Blue Hour", "Germany")),
        ),
    )
