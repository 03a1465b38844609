"""Pages of music databases: groups and versions as tables, one release with its details."""

import random

from web.page_shapes.writing import (
    BANDS,
    MONTHS,
    NOUNS,
    TITLES,
    DatedFact,
    Shape,
    day,
    iso,
    navigation,
    page,
    paragraphs,
    prose,
    table,
)


def release_group() -> Shape:
    chance = random.Random(4)
    early = [
        ("GB", "1975-10-31", "EMI", "EMI 2375"),
        ("NL", "1975-11", "EMI", "5C 006-97176"),
        ("DE", "1975-11-14", "EMI Electrola", "1C 006-97 176"),
        ("US", "1975-12-02", "Elektra", "E-45297"),
        ("JP", "1976-02", "Elektra", "P-1484E"),
    ]
    late = [
        (chance.choice(("GB", "US", "DE", "JP", "XE", "AU")), iso(chance, 1980, 2019),
         chance.choice(("Parlophone", "Hollywood Records", "Island")), f"CAT {n:04}")
        for n in range(70)
    ]  # fmt: skip
    rows = [
        (
            '<a href="/release/0"><bdi>Bohemian Rhapsody</bdi></a>',
            "<bdi>Queen</bdi>",
            '7" Vinyl',
            "2",
            f'<ul><li><span class="flag"><abbr>{country}</abbr></span> <i>{date}</i></li></ul>',
            f"<bdi>{label}</bdi>",
            catno,
            "5060000" + f"{at:06}",
        )
        for at, (country, date, label, catno) in enumerate([*early, *late])
    ]
    body = (
        navigation(["About", "Products", "Search", "Documentation"])
        + '<div class="rgheader"><h1><bdi>Bohemian Rhapsody</bdi></h1><p>~ Release group by'
        " <bdi>Queen</bdi></p></div><h2>Official</h2>"
        + table(
            rows,
            ("Release", "Artist", "Format", "Tracks", "Country/Date", "Label", "Catalog#", "Code"),
        )
        + "<h2>Relationships</h2>" + paragraphs(chance, 3)
        + '<div id="sidebar"><h2>Release group information</h2><dl class="properties"><dt>Artist:'
        "</dt><dd>Queen</dd><dt>Type:</dt><dd>Single</dd></dl><h2>Tags</h2>"
        + "".join(f"<a>{noun}</a>, " for noun in NOUNS) + "</div>"
    )  # fmt: skip
    return Shape(
        "release group with a table of releases",
        "Queen Bohemian Rhapsody A Night at the Opera",
        page("Release group “Bohemian Rhapsody” by Queen - MusicBrainz", body),
        tuple(DatedFact(date, (country, catno)) for country, date, _, catno in early),
    )


def release() -> Shape:
    chance = random.Random(5)
    tracks = [
        (str(n), f"<bdi>{chance.choice(TITLES)} {n}</bdi>" if n != 11 else "<bdi>Bohemian Rhapsody"
         "</bdi><dl><dt>recording of:</dt><dd>Bohemian Rhapsody</dd><dt>recorded at:</dt>"
         "<dd>Rockfield (from 1975-08-24 until 1975-09)</dd></dl>", "4.5", f"{n % 5 + 2}:1{n % 10}")
        for n in range(1, 13)
    ]  # fmt: skip
    credit = "".join(
        f"<dt>{role}:</dt><dd>{chance.choice(BANDS)} (in {chance.randint(1974, 1976)})</dd>"
        for role in ("producer", "engineer", "mixer", "guitar", "piano", "drums", "design") * 9
    )
    body = (
        "<h1><bdi>A Night at the Opera</bdi></h1><p>~ Release by <bdi>Queen</bdi></p>"
        "<h2>Tracklist</h2>" + table(tracks, ("#", "Title", "Rating", "Length"))
        + f"<h2>Credits</h2><h3>Release</h3><dl class='ars'>{credit}</dl>"
        + '<div id="sidebar"><h2>Release information</h2><dl class="properties"><dt>Barcode:</dt>'
        '<dd>[none]</dd><dt>Format:</dt><dd>12" Vinyl</dd></dl><h2>Additional details</h2><dl>'
        "<dt>Type:</dt><dd>Album</dd><dt>Status:</dt><dd>Official</dd></dl><h2>Labels</h2><ul><li>"
        "<bdi>EMI</bdi><br><span>EMTC 103</span></li></ul><h2>Release events</h2><ul><li>"
        '<span class="flag">United Kingdom</span><br><span class="release-date">1975-11-21</span>'
        '</li><li><span class="flag">Ireland</span><br><span class="release-date">1975-11-28</span>'
        "</li></ul></div>" + paragraphs(chance, 30, 0.3)
    )  # fmt: skip
    return Shape(
        "release with tracks and credits",
        "Queen Bohemian Rhapsody A Night at the Opera",
        page("Release “A Night at the Opera” by Queen - MusicBrainz", body),
        (
            DatedFact("1975-11-21", ("United Kingdom",)),
            DatedFact("1975-11-28", ("Ireland",)),
            DatedFact("1975-08-24", ("recorded at", "Bohemian Rhapsody")),
        ),
    )


def versions() -> Shape:
    chance = random.Random(6)
    early = [
        ("EMI – EMI 2229", "UK", "11 Oct 1974", '7", Single'),
        ("Elektra – E-45226", "US", "21 Oct 1974", '7", Single, Styrene'),
        ("EMI – 5C 006-96075", "Netherlands", "Oct 1974", '7", Single'),
        ("EMI Electrola – 1C 006-96 075", "Germany", "Nov 1974", '7", Single'),
    ]
    late = [
        (f"{chance.choice(('EMI', 'Parlophone', 'Hollywood Records'))} – Q {n:03}",
         chance.choice(("UK", "US", "Japan", "Europe", "Australia")),
         f"{chance.choice(MONTHS)[:3]} {chance.randint(1979, 2015)}", '7", Single, Reissue')
        for n in range(60)
    ]  # fmt: skip
    rows = [
        (f'<a>Killer Queen</a> (<span class="format">{kind}</span>)', label, country, date,
         "<button>Sell</button>")
        for label, country, date, kind in [*early, *late]
    ]  # fmt: skip
    reviews = "".join(
        f'<div class="review"><span>{noun}fan{n}</span> <time datetime="{iso(chance, 2009, 2020)}">'
        f"{n + 1} years ago</time><p>{prose(chance, 4, 0.5)}</p></div>"
        for n, noun in enumerate(NOUNS)
    )
    body = (
        "<h1>Queen – Killer Queen</h1><table class='info'><tr><th>Genre:<td>Rock<tr><th>Style:<td>"
        "Glam<tr><th>Year:<td>1974</table><h2>Tracklist</h2>"
        + table([("A", "Killer Queen", "3:00"), ("B", "Flick Of The Wrist", "3:17")])
        + "<h2>64 versions</h2>"
        + table(rows, ("Version Details", "Label – Catalog Number", "Country", "Year", "In"))
        + "<h2>Reviews</h2>" + reviews
    )  # fmt: skip
    return Shape(
        "master with a table of versions",
        "Queen Killer Queen Sheer Heart Attack",
        page("Queen - Killer Queen (Vinyl, 1974) | Discogs", body),
        (
            DatedFact("1974", ("Year",)),
            *(DatedFact(date, (country, label)) for label, country, date, _ in early),
        ),
    )


def pressing() -> Shape:
    chance = random.Random(7)
    pairs = (
        ("Label", "EMI – EMI 2375"),
        ("Format", 'Vinyl, 7", 45 RPM, Single'),
        ("Country", "UK"),
        ("Released", "31 Oct 1975"),
        ("Genre", "Rock"),
        ("Style", "Hard Rock, Classic Rock"),
    )
    profile = "".join(
        f'<div class="head">{label}:</div><div class="content">{value}</div>'
        for label, value in pairs
    )
    other = [
        (f"Bohemian Rhapsody ({kind})", label, catno, country, year)
        for kind, label, catno, country, year in (
            ('7", Single, Promo', "EMI", "EMI 2375", "UK", "1975"),
            ('7", Single', "Elektra", "E-45297-A", "US", "1975"),
            ('7", Single, RE', "EMI", "QUEEN 20", "UK", "1991"),
        )
    ]
    sales = "".join(f"<li>{label}: {value}</li>" for label, value in (
        ("Have", "8,421"), ("Want", "612"), ("Last Sold", "3 Oct 2026"), ("Lowest", "£0.89"),
    ))  # fmt: skip
    comments = "".join(
        f"<div class='comment'><b>collector{n}</b> <span>{day(chance, 2008, 2021)}</span>"
        f"<p>{prose(chance, 5, 0.4)}</p></div>"
        for n in range(60)
    )
    body = (
        f"<h1>Queen – Bohemian Rhapsody</h1><div class='profile'>{profile}</div><h2>Tracklist</h2>"
        + table([("A", "Bohemian Rhapsody", "5:52"), ("B", "I'm In Love With My Car", "3:12")])
        + "<h2>Notes</h2><p>First issue with solid centre. Printed on label: ℗ 1975.</p>"
        + paragraphs(chance, 10)
        + f"<h2>Statistics</h2><ul>{sales}</ul><h2>Reviews</h2>{comments}<h2>Other Versions</h2>"
        + table(other, ("Title (Format)", "Label", "Cat#", "Country", "Year"))
    )
    return Shape(
        "one pressing",
        "Queen Bohemian Rhapsody A Night at the Opera",
        page("Queen – Bohemian Rhapsody (1975, Vinyl) - Discogs", body),
        (
            DatedFact("31 Oct 1975", ("Released",)),
            DatedFact("1975", ("℗",)),
            DatedFact("1975", ("E-45297-A", "US")),
            DatedFact("1991", ("QUEEN 20",)),
        ),
    )
