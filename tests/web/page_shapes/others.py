"""Pages written after the choice of passages was made, to see what it does with unknown ones."""

import random

from web.page_shapes.writing import (
    BANDS,
    NOUNS,
    TITLES,
    DatedFact,
    Shape,
    day,
    navigation,
    page,
    paragraphs,
    prose,
)


def encyclopedia_fr() -> Shape:
    """Write a song's article with a table of its releases and another of its places in charts."""
    chance = random.Random(21)
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
    return Shape(
        "encyclopedia, French",
        "Anne Verlaine / Les Phares / Les Îles",
        page("Les Phares (chanson) — Wikipédia", body),
        (
            DatedFact("14 mars 1969", ("Sortie",)),
            DatedFact("14 mars 1969", ("France", "PH 201")),
            DatedFact("2 mai 1969", ("France", "PH 30012")),
            DatedFact("juin 1969", ("Canada", "PHC 7")),
            DatedFact("3 septembre 1991", ("849 201-2",)),
        ),
    )


def lyrics() -> Shape:
    """Write a page of lyrics with a few facts in boxes far below."""
    chance = random.Random(22)
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
    return Shape(
        "lyrics",
        "Orla Finch / Winter Ferry / Long Way Up",
        page("Orla Finch – Winter Ferry Lyrics", body),
        (
            DatedFact("February 14, 2014", ("Release Date",)),
            DatedFact("2014", ("Long Way Up",)),
        ),
    )


def shop() -> Shape:
    """Write a shop's page, with the dates of everything else it sells."""
    chance = random.Random(23)
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
    return Shape(
        "shop",
        "Vesper Lane / Blue Hour / Half a Country",
        page("Half a Country by Vesper Lane (LP) – Records by post", body),
        (
            DatedFact("11 September 1970", ("Originally released",)),
            DatedFact("22 April 2017", ("This pressing",)),
        ),
    )
