"""Articles of encyclopedias in three languages."""

import random

from web.page_shapes.writing import (
    DatedFact,
    Shape,
    infobox,
    navigation,
    page,
    paragraphs,
    prose,
    references,
)


def encyclopedia_en() -> Shape:
    chance = random.Random(1)
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
    return Shape(
        "encyclopedia, English",
        "Queen Killer Queen Sheer Heart Attack Greatest Hits",
        page("Sheer Heart Attack - Wikipedia", body),
        (
            DatedFact("8 November 1974", ("Released",)),
            DatedFact("11 October 1974", ("Killer Queen",)),
            DatedFact("17 January 1975", ("Now I'm Here",)),
            DatedFact("12 November 1974", ("United States", "Elektra")),
            DatedFact("14 March 2011", ("United Kingdom", "Island")),
            DatedFact("8 November 1974", ("third studio album",)),
        ),
    )


def encyclopedia_de() -> Shape:
    chance = random.Random(2)
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
    return Shape(
        "encyclopedia, German",
        "Kraftwerk Autobahn The Man-Machine",
        page("Autobahn (Album) – Wikipedia", body),
        (
            DatedFact("1. November 1974", ("lichung(en)",)),
            DatedFact("1. November 1974", ("6305 231",)),
            DatedFact("Februar 1975", ("Vertigo", "USA")),
            DatedFact("Mai 1975", ("Single",)),
            DatedFact("5. Oktober 2009", ("neu gemastert",)),
        ),
    )


def encyclopedia_ja() -> Shape:
    chance = random.Random(3)
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
    return Shape(
        "encyclopedia, Japanese",
        "安室奈美恵 CAN YOU CELEBRATE? Concentration 20 181920",
        page("CAN YOU CELEBRATE? - Wikipedia", body),
        (
            DatedFact("1997年2月19日", ("リリース",)),
            DatedFact("1997年2月19日", ("9枚目", "シングル")),
            DatedFact("1997年7月24日", ("Concentration 20",)),
            DatedFact("1998年1月28日", ("181920",)),
            DatedFact("1997年12月25日", ("Wedding Mix",)),
        ),
    )
