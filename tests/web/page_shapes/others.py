"""Pages that tell or list: a blog, a forum, a chart, a feed; the last three unknown to the code."""

import json
import random

from web.page_shapes.writing import (
    BANDS,
    MONTHS,
    NOUNS,
    TITLES,
    DatedFact,
    Written,
    day,
    iso,
    navigation,
    page,
    paragraphs,
    prose,
    shape,
    table,
)


@shape(8, "album guide", "Queen Killer Queen Sheer Heart Attack")
def guide(chance: random.Random) -> Written:
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
    return page("Sheer Heart Attack - Queen | Album | AllMusic", body), (
        DatedFact("November 8, 1974", ("Release Date",)),
        DatedFact("July 15, 1974", ("Recording Date",)),
        DatedFact("October 1974", ("Killer Queen",)),
        DatedFact("1974", ("7E-1026",)),
        DatedFact("1991", ("Hollywood",)),
    )


@shape(9, "blog post", "Paper Harbour Silver Morning Ships in Glass")
def blog(chance: random.Random) -> Written:
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
    return page("The story of Silver Morning | 45s from the attic", body), (
        DatedFact("March 3rd, 1967", ("Silver Morning", "LAN 7")),
        DatedFact("June 16th, 1967", ("Ships in Glass",)),
        DatedFact("August 1967", ("Americans",)),
    )


@shape(11, "forum thread", "Vesper Lane Blue Hour Half a Country")
def forum(chance: random.Random) -> Written:
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
    return page("When did Blue Hour come out? - Forty-fives forum", "<h2>Blue Hour</h2>" + posts), (
        DatedFact("19.4.1969", ("Blue Hour",)),
        DatedFact("18 April 1969", ("Blue Hour", "LAN 127")),
        DatedFact("11/09/1970", ("Half a Country",)),
        DatedFact("Juni 1969", ("Blue Hour", "Germany")),
    )


@shape(10, "catalogue of a label", "Vesper Lane Blue Hour Half a Country")
def catalogue(chance: random.Random) -> Written:
    rows = [
        (f"LAN {n}", chance.choice(BANDS), chance.choice(TITLES), iso(chance, 1965, 1979), '7"')
        for n in range(1, 401)
    ]
    wanted = {
        127: ("LAN 127", "Vesper Lane", "Blue Hour", "1969-04-18", '7"'),
        128: ("LAN 128", "Vesper Lane", "Blue Hour (stereo)", "1969-05-02", '7"'),
        203: ("LAN 203", "Vesper Lane", "Half a Country", "1970-09-11", "LP"),
    }
    rows = [wanted.get(n, row) for n, row in enumerate(rows, start=1)]
    body = (
        "<h1>Lantern Records: the whole catalogue</h1>" + paragraphs(chance, 4)
        + table(rows, ("Number", "Artist", "Title", "Released", "Format"), "list")
    )  # fmt: skip
    return page("Lantern Records catalogue", body), tuple(
        DatedFact(row[3], (row[0], row[1])) for row in wanted.values()
    )


@shape(12, "answer of a service", "Vesper Lane Blue Hour Half a Country", "application/json")
def service(chance: random.Random) -> Written:
    def record(title: str, date: str, country: str, number: str) -> dict[str, object]:
        return {
            "id": f"{chance.getrandbits(64):016x}",
            "title": title,
            "status": "Official",
            "text-representation": {"language": "eng", "script": "Latn"},
            "release-events": [{"date": date, "area": {"name": country, "iso": [country]}}],
            "label-info": [{"catalog-number": number, "label": {"name": "Lantern"}}],
            "cover-art-archive": {"count": 2, "front": True, "back": False},
        }

    found = [record(chance.choice(TITLES), iso(chance, 1970, 2015), "US", f"X {n}") for n in
             range(40)]  # fmt: skip
    wanted = [
        record("Blue Hour", "1969-04-18", "GB", "LAN 127"),
        record("Half a Country", "1970-09-11", "GB", "LAN 203"),
        record("Blue Hour", "1969-06", "DE", "LAN 127 G"),
    ]
    releases = [*found[:15], wanted[0], *found[15:30], wanted[1], wanted[2], *found[30:]]
    return json.dumps({"count": len(releases), "artist": "Vesper Lane", "releases": releases}), (
        DatedFact("1969-04-18", ("Blue Hour",)),
        DatedFact("1970-09-11", ("Half a Country",)),
        DatedFact("1969-06", ("Blue Hour",)),
    )


@shape(13, "news feed", "Orla Finch Winter Ferry Long Way Up", "application/rss+xml")
def feed(chance: random.Random) -> Written:
    entries = [
        (chance.choice(TITLES), prose(chance, 3, 0.3), iso(chance, 2010, 2016)) for _ in range(60)
    ]
    entries[22] = (
        "Orla Finch: Winter Ferry",
        "The single Winter Ferry by Orla Finch is out on 14 February 2014 (Lantern LAN 900).",
        "2014-02-10",
    )
    entries[37] = (
        "Orla Finch: Long Way Up",
        "Orla Finch's album Long Way Up, with Winter Ferry, follows on 9 June 2014 on CD and LP.",
        "2014-05-30",
    )
    items = "".join(
        f"<item><title>{title}</title><link>https://label.example/{n}</link><guid>{n}</guid>"
        f"<pubDate>{date}T09:00:00Z</pubDate><description><![CDATA[<p>{text}</p>]]></description>"
        "</item>\n"
        for n, (title, text, date) in enumerate(entries)
    )
    head = '<?xml version="1.0"?><rss version="2.0"><channel><title>Lantern news</title>'
    return f"{head}{items}</channel></rss>", (
        DatedFact("14 February 2014", ("Winter Ferry", "LAN 900")),
        DatedFact("9 June 2014", ("Long Way Up",)),
        DatedFact("2014-02-10", ("Winter Ferry",)),
    )


@shape(
    14,
    "discography in plain text",
    "Marigold Sons Copper Rain Copper Rain and Others",
    "text/plain; charset=utf-8",
)
def discography(chance: random.Random) -> Written:
    lines = ["MARIGOLD SONS - A DISCOGRAPHY", "Last changed 12 January 2003", ""]
    for n in range(220):
        lines += [
            f"{chance.choice(TITLES)} / {chance.choice(TITLES)} {n}",
            f'    Lantern LAN {n + 300}     {day(chance, 1968, 1990)}     7"',
            f"    {prose(chance, 1, 0.0)}",
            "",
        ]
    wanted = [
        "Copper Rain / Old Harbour",
        '    Lantern LAN 288       7 July 1972     7"',
        "    Their only record that sold.",
        "",
        "ALBUM: Copper Rain and Others",
        "    Lantern LANL 31      1 September 1972     LP",
        "",
    ]
    at = 3 + 4 * 90
    text = "\n".join([*lines[:at], *wanted, *lines[at:]])
    return text, (
        DatedFact("7 July 1972", ("Copper Rain", "LAN 288")),
        DatedFact("1 September 1972", ("Copper Rain and Others",)),
    )


@shape(15, "chart of a year", "Queen Killer Queen Sheer Heart Attack")
def chart(chance: random.Random) -> Written:
    rows = []
    for week in range(30):
        date = f"1974-{week // 4 + 5:02}-{week % 4 * 7 + 1:02}"
        rows += [
            (date, str(place), chance.choice(BANDS), chance.choice(TITLES), str(place + 2))
            for place in range(1, 21)
        ]
    rows[410] = ("1974-10-26", "11", "Queen", "Killer Queen", "new")
    rows[432] = ("1974-11-02", "6", "Queen", "Killer Queen", "11")
    rows[463] = ("1974-11-16", "2", "Queen", "Killer Queen", "3")
    body = (
        "<h1>Singles chart 1974</h1><p>Weeks end on Saturday.</p>"
        + table(rows, ("Week", "Place", "Artist", "Title", "Last week"), "chart")
    )  # fmt: skip
    return page("Singles chart 1974", body), tuple(
        DatedFact(rows[at][0], ("Killer Queen", rows[at][1])) for at in (410, 432, 463)
    )


@shape(21, "encyclopedia, French", "Anne Verlaine / Les Phares / Les Îles")
def encyclopedia_fr(chance: random.Random) -> Written:
    box = "".join(
        f'<tr><th scope="row">{label}</th><td>{value}</td></tr>'
        for label, value in (
            ("Sortie", "14 mars 1969"),
            ("Enregistré", "janvier 1969<br>Studio Barclay, Paris"),
            ("Durée", "3:12"),
            ("Genre", "Chanson"),
            ("Label", "Disques Phare"),
        )
    )
    history = (
        "<tr><th>Pays</th><th>Date</th><th>Format</th><th>Référence</th></tr>"
        '<tr><td rowspan="3">France</td><td>14 mars 1969</td><td>45 tours</td><td>PH 201</td></tr>'
        "<tr><td>2 mai 1969</td><td>Album <i>Les Îles</i></td><td>PH 30012</td></tr>"
        "<tr><td>3 septembre 1991</td><td>CD</td><td>849 201-2</td></tr>"
        "<tr><td>Canada</td><td>juin 1969</td><td>45 tours</td><td>PHC 7</td></tr>"
    )
    charts = "".join(
        f"<tr><td>{chance.choice(('Belgique', 'Suisse', 'Québec'))} ({day(chance, 1969, 1970)})"
        f"</td><td>{chance.randint(1, 40)}</td></tr>"
        for _ in range(40)
    )
    body = (
        navigation(["Accueil", "Portails"])
        + "<h1>Les Phares</h1><div class='infobox'><table>" + box + "</table></div>"
        + "<p><i>Les Phares</i> est une chanson de <b>Anne Verlaine</b>, sortie le 14 mars 1969 en"
        " 45 tours puis sur l'album <i>Les Îles</i>.</p>" + paragraphs(chance, 50, 0.35)
        + "<h2>Sorties</h2><table class='wikitable'>" + history + "</table>"
        + "<h2>Classements</h2><table>" + charts + "</table>" + paragraphs(chance, 30, 0.35)
        + "<h2>Notes et références</h2><ol>" + "".join(
            f"<li>↑ {prose(chance, 1)} (consulté le {chance.randint(1, 28)} mai 2016).</li>"
            for _ in range(60)
        ) + "</ol>"
    )  # fmt: skip
    return page("Les Phares (chanson) — Wikipédia", body), (
        DatedFact("14 mars 1969", ("Sortie",)),
        DatedFact("14 mars 1969", ("France", "PH 201")),
        DatedFact("2 mai 1969", ("France", "PH 30012")),
        DatedFact("juin 1969", ("Canada", "PHC 7")),
        DatedFact("3 septembre 1991", ("849 201-2",)),
    )


@shape(22, "lyrics", "Orla Finch / Winter Ferry / Long Way Up")
def lyrics(chance: random.Random) -> Written:
    sung = "<br>".join(prose(chance, 1, 0.0).lower() for _ in range(70))
    notes = "".join(
        f"<div><p>{prose(chance, 3, 0.4)}</p><span>{day(chance, 2011, 2022)}</span></div>"
        for _ in range(50)
    )
    facts = "".join(
        f"<div class='fact'><p class='label'>{label}</p><a>{value}</a></div>"
        for label, value in (
            ("Produced by", "M. Stone"),
            ("Written by", "Orla Finch"),
            ("Release Date", "February 14, 2014"),
            ("Recorded At", "Lantern House, Leeds"),
        )
    )
    more = "".join(f"<li>{n}. {chance.choice(TITLES)}</li>" for n in range(1, 12))
    body = (
        navigation(["Featured", "Charts", "Videos"])
        + f"<h1>Winter Ferry</h1><h2>Orla Finch</h2><div class='lyrics'>{sung}</div>"
        + f"<h3>About</h3>{notes}<h3>Credits</h3>{facts}<h3>Long Way Up (2014)</h3><ol>{more}</ol>"
    )
    return page("Orla Finch – Winter Ferry Lyrics", body), (
        DatedFact("February 14, 2014", ("Release Date",)),
        DatedFact("2014", ("Long Way Up",)),
    )


@shape(23, "shop", "Vesper Lane / Blue Hour / Half a Country")
def shop(chance: random.Random) -> Written:
    others = "".join(
        f"<div><a>{chance.choice(BANDS)} – {chance.choice(TITLES)}</a>£"
        f"{chance.randint(8, 40)}.99 <span>Release date: {day(chance, 2015, 2024)}</span></div>"
        for _ in range(120)
    )
    reviews = "".join(
        f"<div><b>{noun}</b> on {day(chance, 2015, 2024)}<p>{prose(chance, 4, 0.3)}</p></div>"
        for noun in NOUNS
    )
    details = "".join(
        f"<li><b>{label}</b>: {value}</li>"
        for label, value in (
            ("Format", "LP"),
            ("Label", "Lantern"),
            ("Catalogue number", "LAN 203"),
            ("Originally released", "11 September 1970"),
            ("This pressing", "22 April 2017"),
        )
    )
    body = (
        navigation(["Vinyl", "CD", "Sale"])
        + f"<h1>Vesper Lane – Half a Country</h1><div>{others[:6000]}</div>"
        + f"<h2>Details</h2><ul>{details}</ul><h2>You may also like</h2>{others}"
        + f"<h2>Reviews</h2>{reviews}"
    )
    return page("Half a Country by Vesper Lane (LP) – Records by post", body), (
        DatedFact("11 September 1970", ("Originally released",)),
        DatedFact("22 April 2017", ("This pressing",)),
    )
