"""Articles of encyclopedias in three languages, and pages of music databases."""

import random

from web.page_shapes.writing import (
    BANDS,
    MONTHS,
    NOUNS,
    TITLES,
    DatedFact,
    Written,
    day,
    infobox,
    iso,
    navigation,
    page,
    paragraphs,
    prose,
    references,
    shape,
    table,
)


@shape(1, "encyclopedia, English", "Queen Killer Queen Sheer Heart Attack Greatest Hits")
def encyclopedia_en(chance: random.Random) -> Written:
    box = infobox(
        "Sheer Heart Attack",
        (
            ("Released", '8 November 1974<sup class="reference">[1]</sup>'),
            ("Recorded", "July – 22 October 1974"),
            ("Studio", "Trident, London · Rockfield, Rockfield"),
            ("Genre", "<ul><li>Hard rock</li><li>glam rock</li></ul>"),
            ("Length", "39:05"),
            ("Label", "<ul><li>EMI</li><li>Elektra</li></ul>"),
        ),
    )
    singles = infobox(
        "Singles from Sheer Heart Attack",
        (
            ("1", '"Killer Queen"<br>Released: 11 October 1974'),
            ("2", '"Now I\'m Here"<br>Released: 17 January 1975'),
        ),
    )
    history = (
        '<table class="wikitable"><caption>Release dates of Sheer Heart Attack</caption><tbody>'
        "<tr><th>Region</th><th>Date</th><th>Label</th><th>Format</th></tr>"
        '<tr><td rowspan="2">United Kingdom</td><td>8 November 1974</td><td>EMI</td><td>LP</td>'
        "</tr>"
        "<tr><td>14 March 2011</td><td>Island</td><td>CD reissue</td></tr>"
        "<tr><td>United States</td><td>12 November 1974</td><td>Elektra</td><td>LP</td></tr>"
        "</tbody></table>"
    )
    body = (
        navigation(["Main page", "Contents", "Random article", "Donate"])
        + '<h1>Sheer Heart Attack</h1><div class="hatnote">For the song, see elsewhere.</div>'
        + box + singles
        + "<p><b>Sheer Heart Attack</b> is the third studio album by the British rock band"
        " <a>Queen</a>, released on 8 November 1974 by EMI Records.</p>"
        + paragraphs(chance, 12)
        + '<h2>Background<span class="mw-editsection">[edit]</span></h2>' + paragraphs(chance, 25)
        + "<h2>Songs</h2><h3>Killer Queen</h3>" + paragraphs(chance, 6)
        + "<p>It was the band's first hit: the single \"Killer Queen\" came out as a double A-side"
        " on 11 October 1974 and reached number two in November.</p>" + paragraphs(chance, 20)
        + "<h2>Release history</h2>" + history
        + "<h2>Reception</h2>" + paragraphs(chance, 40, 0.4)
        + "<h2>References</h2>" + references(chance, 140)
        + f'<div class="navbox">Queen {prose(chance, 80, 0.9)}</div>'
    )  # fmt: skip
    return page("Sheer Heart Attack - Wikipedia", body), (
        DatedFact("8 November 1974", ("Released",)),
        DatedFact("11 October 1974", ("Killer Queen",)),
        DatedFact("17 January 1975", ("Now I'm Here",)),
        DatedFact("12 November 1974", ("United States", "Elektra")),
        DatedFact("14 March 2011", ("United Kingdom", "Island")),
        DatedFact("8 November 1974", ("third studio album",)),
    )


@shape(2, "encyclopedia, German", "Kraftwerk Autobahn The Man-Machine")
def encyclopedia_de(chance: random.Random) -> Written:
    box = (
        '<table class="infobox"><tr><th colspan="2">Autobahn<tr><td colspan="2">Studioalbum von'
        " Kraftwerk<tr><td>Veröffent-<br>lichung(en)<td>1. November 1974<tr><td>Label(s)"
        "<td>Philips<tr><td>Format(e)<td>LP, 8-Spur-Kassette<tr><td>Titel (Anzahl)<td>5</table>"
    )
    body = (
        "<h1>Autobahn (Album)</h1>" + box
        + "<p><b>Autobahn</b> ist das vierte Studioalbum der deutschen Band Kraftwerk. Es erschien"
        " am 1. November 1974 bei Philips.</p>" + paragraphs(chance, 30)
        + "<h2>Veröffentlichungen</h2><ul><li>1. November 1974: LP, Philips 6305 231"
        " (Deutschland)</li><li>Februar 1975: LP, Vertigo VEL-2003 (USA)</li>"
        "<li>Mai 1975: Single <i>Autobahn / Kometenmelodie 1</i>, Philips 6012 124</li>"
        "<li>5. Oktober 2009: CD, neu gemastert</li></ul>"
        + "<h2>Rezeption</h2>" + paragraphs(chance, 40, 0.4)
        + "<h2>Einzelnachweise</h2><ol>"
        + "".join(
            f"<li>↑ {prose(chance, 1)} Abgerufen am {chance.randint(1, 28)}. Mai"
            f" {chance.randint(2008, 2020)}.</li>"
            for _ in range(90)
        )
        + "</ol>"
    )  # fmt: skip
    return page("Autobahn (Album) – Wikipedia", body), (
        DatedFact("1. November 1974", ("lichung(en)",)),
        DatedFact("1. November 1974", ("6305 231",)),
        DatedFact("Februar 1975", ("Vertigo", "USA")),
        DatedFact("Mai 1975", ("Single",)),
        DatedFact("5. Oktober 2009", ("neu gemastert",)),
    )


@shape(3, "encyclopedia, Japanese", "安室奈美恵 CAN YOU CELEBRATE? Concentration 20 181920")
def encyclopedia_ja(chance: random.Random) -> Written:
    filler = [
        "この曲の編曲は華やかな弦楽器を中心に構成されている。",
        "当時の音楽番組では何度も披露され、多くの視聴者の記憶に残った。",
        "歌詞は結婚を控えた友人への祝福として書かれたものである。",
        "後年の公演では合唱団とともに歌われることが多い。",
    ]

    def told(count: int) -> str:
        return "".join(
            f"<p>{''.join(chance.choices(filler, k=5))}"
            f"{chance.randint(1998, 2018)}年{chance.randint(1, 12)}月にも歌われた。</p>"
            for _ in range(count)
        )

    box = infobox(
        "CAN YOU CELEBRATE?",
        (
            ("収録アルバム", "『Concentration 20』"),
            ("リリース", "1997年2月19日"),
            ("規格", "8cmシングル"),
            ("ジャンル", "J-POP"),
            ("時間", "6分18秒"),
            ("レーベル", "avex trax"),
        ),
    )
    body = (
        "<h1>CAN YOU CELEBRATE?</h1>" + box
        + "<p>「<b>CAN YOU CELEBRATE?</b>」（キャン・ユー・セレブレイト）は、安室奈美恵の9枚目の"
        "シングル。1997年2月19日にavex traxから発売された。</p>" + told(30)
        + "<h2>収録アルバム</h2><ul><li>『Concentration 20』（1997年7月24日）"
        "オリジナル・アルバム</li>"
        "<li>『181920』（1998年1月28日）ベスト・アルバム</li>"
        "<li>『LOVE ENHANCED』（2002年3月13日）</li></ul>"
        + "<h2>再発</h2><p>1997年12月25日には"
        "『CAN YOU CELEBRATE? (Wedding Mix)』としても発売された。</p>"
        + told(40) + "<h2>脚注</h2><ol>"
        + "".join(
            f"<li>^ 「{chance.choice(filler)}」、{chance.randint(1999, 2019)}年"
            f"{chance.randint(1, 12)}月{chance.randint(1, 28)}日閲覧。</li>"
            for _ in range(60)
        )
        + "</ol>"
    )  # fmt: skip
    return page("CAN YOU CELEBRATE? - Wikipedia", body), (
        DatedFact("1997年2月19日", ("リリース",)),
        DatedFact("1997年2月19日", ("9枚目", "シングル")),
        DatedFact("1997年7月24日", ("Concentration 20",)),
        DatedFact("1998年1月28日", ("181920",)),
        DatedFact("1997年12月25日", ("Wedding Mix",)),
    )


@shape(4, "release group with a table of releases", "Queen Bohemian Rhapsody A Night at the Opera")
def release_group(chance: random.Random) -> Written:
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
    return page("Release group “Bohemian Rhapsody” by Queen - MusicBrainz", body), tuple(
        DatedFact(date, (country, catno)) for country, date, _, catno in early
    )


@shape(5, "release with tracks and credits", "Queen Bohemian Rhapsody A Night at the Opera")
def release(chance: random.Random) -> Written:
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
    return page("Release “A Night at the Opera” by Queen - MusicBrainz", body), (
        DatedFact("1975-11-21", ("United Kingdom",)),
        DatedFact("1975-11-28", ("Ireland",)),
        DatedFact("1975-08-24", ("recorded at", "Bohemian Rhapsody")),
    )


@shape(6, "master with a table of versions", "Queen Killer Queen Sheer Heart Attack")
def versions(chance: random.Random) -> Written:
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
    return page("Queen - Killer Queen (Vinyl, 1974) | Discogs", body), (
        DatedFact("1974", ("Year",)),
        *(DatedFact(date, (country, label)) for label, country, date, _ in early),
    )


@shape(7, "one pressing", "Queen Bohemian Rhapsody A Night at the Opera")
def pressing(chance: random.Random) -> Written:
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
    return page("Queen – Bohemian Rhapsody (1975, Vinyl) - Discogs", body), (
        DatedFact("31 Oct 1975", ("Released",)),
        DatedFact("1975", ("℗",)),
        DatedFact("1975", ("E-45297-A", "US")),
        DatedFact("1991", ("QUEEN 20",)),
    )
