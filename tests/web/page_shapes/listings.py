"""Lists without end: a catalogue, a chart, a discography, a feed, a service's answer."""

import json
import random

from web.page_shapes.writing import (
    BANDS,
    TITLES,
    DatedFact,
    Shape,
    day,
    iso,
    page,
    paragraphs,
    prose,
    table,
)


def catalogue() -> Shape:
    chance = random.Random(10)
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
    return Shape(
        "catalogue of a label",
        "Vesper Lane Blue Hour Half a Country",
        page("Lantern Records catalogue", body),
        tuple(DatedFact(row[3], (row[0], row[1])) for row in wanted.values()),
    )


def service() -> Shape:
    chance = random.Random(12)

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
    return Shape(
        "answer of a service",
        "Vesper Lane Blue Hour Half a Country",
        json.dumps({"count": len(releases), "artist": "Vesper Lane", "releases": releases}),
        (
            DatedFact("1969-04-18", ("Blue Hour",)),
            DatedFact("1970-09-11", ("Half a Country",)),
            DatedFact("1969-06", ("Blue Hour",)),
        ),
        "application/json",
    )


def feed() -> Shape:
    chance = random.Random(13)
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
    return Shape(
        "news feed",
        "Orla Finch Winter Ferry Long Way Up",
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>Lantern news</title>{items}'
        "</channel></rss>",
        (
            DatedFact("14 February 2014", ("Winter Ferry", "LAN 900")),
            DatedFact("9 June 2014", ("Long Way Up",)),
            DatedFact("2014-02-10", ("Winter Ferry",)),
        ),
        "application/rss+xml",
    )


def discography() -> Shape:
    chance = random.Random(14)
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
    return Shape(
        "discography in plain text",
        "Marigold Sons Copper Rain Copper Rain and Others",
        text,
        (
            DatedFact("7 July 1972", ("Copper Rain", "LAN 288")),
            DatedFact("1 September 1972", ("Copper Rain and Others",)),
        ),
        "text/plain; charset=utf-8",
    )


def chart() -> Shape:
    chance = random.Random(15)
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
    return Shape(
        "chart of a year",
        "Queen Killer Queen Sheer Heart Attack",
        page("Singles chart 1974", body),
        tuple(DatedFact(row[0], ("Killer Queen", row[1])) for row in
              (rows[410], rows[432], rows[463])),
    )  # fmt: skip
