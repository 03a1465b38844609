"""Structure: which rows, boxes and entries of a list state a record's date by themselves."""

import pytest

from chart_binder.domain.clauses import Subject
from chart_binder.domain.patches import PRIMARY_TYPE, Patch
from chart_binder.react.steps import Document
from chart_binder.web.documents import SourceText
from chart_binder.web.places import Place, link_problem
from chart_binder.web.structure import is_in_structure, states_plainly
from llm.verdicts.play import load_evidence

EVIDENCE = load_evidence(
    "structure",
    {
        "artist": "The Velvet Harbour",
        "country": "GB",
        "title": "Paper Admiral",
        "records": [
            "S | Single | Paper Admiral / Tin Drum | 1974 GB [Vantage VA 301, Vinyl]",
            "A | Album | Parlour Fleet | 1974-11-08 GB [Vantage VAL 2, Vinyl]",
        ],
    },
)
SINGLE = Subject.of(EVIDENCE.ids["S"], EVIDENCE.bundle)


def place(text: str, title: str = "Paper Admiral (song) - Wikipedia") -> Place:
    """Return the place of the first date of May 1974 in a page."""
    document = SourceText.of(
        Document("https://en.wikipedia.org/wiki/It", title, (), text, is_fetched=True)
    )
    mention = next(each for each in document.mentions if each.dates[0].text.startswith("1974-05"))
    return Place(document, mention.start, mention.end)


PLAIN = [
    "# Singles\nTitle | Released | Label\nPaper Admiral | 17 May 1974 | Vantage",
    "# Singles\nTitel | Erschienen\nPaper Admiral | 17. Mai 1974",
    "# Diskografie\nTitel | Datum | Platz\n„Paper Admiral“ / „Tin Drum“ | 17. Mai 1974 | 22",
    "No. | Artist | Title | Date of issue\nVA 301 | The Velvet Harbour | Paper Admiral | 17.5.1974",
    "# Release history\nCountry | Date | Label\nUnited Kingdom | 17 May 1974 | Vantage",
    "Paper Admiral\nSingle by | The Velvet Harbour\nReleased | 17 May 1974\nRecorded | March 1974",
    "Paper Admiral\nSingle by The Velvet Harbour\n…\nReleased | 17 May 1974",
    "# Discography\n- Paper Admiral (single, Vantage, 17 May 1974)",
    "# Vantage singles\n- 301. The Velvet Harbour: Paper Admiral (May 17, 1974)",
    "It\nArtista | The Velvet Harbour\nTipo album | Singolo\nPubblicazione | 17 maggio 1974",
    "Title | Performer | Published\nPaper Admiral | Harbour, The Velvet | 17 May 1974",
    "# シングル\nタイトル | 発売日\nPaper Admiral | 1974年5月17日",
    "# Singles\nSingle | No. | LP | Issued\nPaper Admiral b/w Tide | VA 301 | Fleet | 17 May 1974",
    "# Series VA\nSingle details | Title\nReleased: 17 May 1974; Label: Vantage | Paper Admiral",
    "Paper Admiral\nSingle by The Velvet Harbour\nReleased | 17 May 1974 (UK)\nB-side | Ballast",
]
NOT_PLAIN = {
    "a column of chart entries": "Title | Entered | Peak\nPaper Admiral | 17 May 1974 | 22",
    "a date of nothing said": "Title | Date | Place\nPaper Admiral | 17 May 1974 | 3",
    "an issue abroad": "# Singles\nTitle | Sorti en France\nPaper Admiral | 17 mai 1974",
    "another version": "# Singles\nTitle | Released\nPaper Admiral (rough mixes) | 17 May 1974",
    "a sampler": '# Albums\nTitle | Released\nHigh Tide (with "Paper Admiral") | 17 May 1974',
    "another label": "Title | Publisher | Published\nPaper Admiral | Rossiter | 17 May 1974",
    "what the song is on": "Title | Released | Single\nTin Soldier | 17 May 1974 | Paper Admiral",
    "a record of another type": "# Albums\nTitle | Released\nPaper Admiral | 17 May 1974",
    "a film": "Paper Admiral\nMusic by | The Velvet Harbour\nRelease date | 17 May 1974",
    "a live album's box": "Paper Admiral\nAlbum by | The Velvet Harbour\nReleased | 17 May 1974",
    "promo copies": "Format: Vinyl, Promo\nReleased: 17 May 1974",
    "a list of nothing said": "- 17 May 1974: Paper Admiral, Two Ties, Ballast",
    "another's entry": "# Singles\n- The Loams, 17 May 1974",
    # The column, the row or the title is of another issue.
    "a country beside": "# Singles\nTitle | Released | Country\nPaper Admiral | 17 May 1974 | Peru",
    "a note beside": "# Singles\nTitle | Released | Notes\nPaper Admiral | 17 May 1974 | for Peru",
    "a country in the cell": "# Singles\nTitle | Released\nPaper Admiral | 17 May 1974 (US)",
    "another number": "# Singles\nTitle | Released | Number\nPaper Admiral | 17 May 1974 | OX 1",
    "another number's title": "# Singles\nTitle | Released\nPaper Admiral 2 | 17 May 1974",
    "a part": "# Singles\nTitle | Released\nPaper Admiral, Part 2 | 17 May 1974",
    "a version": "# Singles\nTitle | Released\nPaper Admiral – Instrumental | 17 May 1974",
    "a year's version": "# Singles\nTitle | Released\nPaper Admiral 1981 | 17 May 1974",
    "another's B-side": "# Singles\nTitle | Released\nHigh Tide / Paper Admiral | 17 May 1974",
    "a column of B-sides": "# Singles\nTitle | B-side | Issued\nTide | Paper Admiral | 17 May 1974",
    # The heading is of something else.
    "videos": "# Music videos\nTitle | Released\nPaper Admiral | 17 May 1974",
    "films": "# Filmography\nTitle | Released\nPaper Admiral | 17 May 1974",
    "guests": "# Guest appearances\nTitle | Released\nPaper Admiral | 17 May 1974",
    "another band": "# With The Loams\n- Paper Admiral (17 May 1974)",
    "another market": "# US singles\nTitle | Released\nPaper Admiral | 17 May 1974",
    "another kind": "# Compilations\nTitle | Released\nPaper Admiral | 17 May 1974",
    "bootlegs": "# Bootlegs\nTitle | Released\nPaper Admiral | 17 May 1974",
    "video works": "# 映像作品\nタイトル | 発売日\nPaper Admiral | 1974年5月17日",
    # The box is of something else.
    "a song": "Paper Admiral\nSong by The Velvet Harbour\nfrom the album Parlour Fleet\n"
    "Released | 17 May 1974",
    "a promo single": "Paper Admiral\nPromotional single by The Velvet Harbour\n"
    "Released | 17 May 1974",
    "another single": "Ballast\nSingle by The Velvet Harbour\nB-side | Paper Admiral\n"
    "Released | 17 May 1974",
    "an issue's country": "Paper Admiral\nFormat | Vinyl, Single\nCountry | US\n"
    "Released | 17 May 1974",
    "a date on the radio": "Paper Admiral\nSingle by The Velvet Harbour\n"
    "Released | 17 May 1974 (radio)",
    "running text": '"Paper Admiral" was released on 17 May 1974.',
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_row_a_box_or_an_entry_may_state_a_date(text: str) -> None:
    assert link_problem(place(text), SINGLE) is None
    assert states_plainly(place(text), SINGLE)


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_is_not_understood_states_nothing_by_itself(text: str) -> None:
    title = "The Velvet Harbour discography - Wikipedia"
    if "|" in text and "#" not in text:
        title = f"{text.partition(chr(10))[0].partition(' | ')[0]} - Wikipedia"
    assert not states_plainly(place(text, title), SINGLE)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("# Discography\nTitle | Released\nPaper Admiral | 17 May 1974", False),
        ("# Releases\n- Paper Admiral (17 May 1974)", False),
        ("# Singles\nTitle | Released\nPaper Admiral | 17 May 1974", True),
        ("# Releases\n- Paper Admiral (single, 17 May 1974)", True),
        ("# Releases\nNumber | Title | Released\nVA 301 | Paper Admiral | 17 May 1974", True),
    ],
)
def test_of_two_records_of_one_title_the_type_or_the_number_tells(text: str, is_told: bool) -> None:
    records = [
        "S | Single | Paper Admiral | 1974 GB [Vantage VA 301, Vinyl]",
        "A | Album | Paper Admiral | 1974-11-08 GB [Vantage VAL 2, Vinyl]",
    ]
    artist, title = "The Velvet Harbour", "Paper Admiral"
    raw = {"artist": artist, "country": "GB", "title": title, "records": records}
    evidence = load_evidence("one title", raw)
    single = Subject.of(evidence.ids["S"], evidence.bundle)
    assert states_plainly(place(text, "The Velvet Harbour"), single) is is_told


def test_a_title_may_be_written_with_an_ampersand() -> None:
    records = ["S | Single | Salt and Rope | 1974 GB [Vantage VA 301, Vinyl]"]
    raw = {"artist": "The Velvet Harbour", "country": "GB", "title": "", "records": records}
    evidence = load_evidence("ampersand", raw)
    single = Subject.of(evidence.ids["S"], evidence.bundle)
    text = "# Singles\nA-side | Date\nSalt & Rope | 17 May 1974"
    assert states_plainly(place(text, "The Velvet Harbour"), single)


@pytest.mark.parametrize(
    "text",
    [
        "Paper Admiral\nSingle by | the Chimes of Reno\nReleased | 17 May 1974",
        "曲 | 歌手 | 発売\nPaper Admiral | 水沢ユキ | 1974年5月17日",
        "Interprète | Titre | Sortie\nTeddy Marchal | Paper Admiral | 17 mai 1974",
        # An album of the title of one of the evidence, with a song of the title.
        "Parlour Fleet\nAlbum di | Irma Tolosi\n# Singoli\nBrano | Data\nPaper Admiral | 17.5.1974",
    ],
)
def test_a_box_or_a_column_may_credit_another_artist(text: str) -> None:
    assert "it is about" in (link_problem(place(text), SINGLE) or "")


@pytest.mark.parametrize(
    ("title", "is_other"),
    [
        ("Parlour Fleet (álbum de Pilar Quero)", True),
        ("Parlour Fleet (Suzie Lorme album)", True),
        ("Parlour Fleet (album de The Velvet Harbour)", False),
        ("Parlour Fleet (album)", False),
    ],
)
def test_a_title_in_any_language_may_say_whose_record_it_is(title: str, is_other: bool) -> None:
    row = place("# Singles\nTitle | Released\nPaper Admiral | 17 May 1974", title)
    assert ("it is about" in (link_problem(row, SINGLE) or "")) is is_other


@pytest.mark.parametrize(
    ("entry", "is_linked"),
    [
        ("- 80. Dan Wicket: Riesenrad (17 May 1974)", False),
        ("- Released on 17 May 1974", True),
        ("- 81. The Velvet Harbour: Paper Admiral (17 May 1974)", True),
    ],
)
def test_an_entry_of_a_list_is_not_about_the_next_one(entry: str, is_linked: bool) -> None:
    text = f"# Vantage numbers\n- 79. The Velvet Harbour: Paper Admiral\n{entry}"
    assert (link_problem(place(text, "Vantage"), SINGLE) is None) is is_linked


@pytest.mark.parametrize(
    ("text", "is_stated"),
    [
        ("# Discography\n- Paper Admiral, single, VA 301", True),
        ("# Discography\nTitle | Type\nPaper Admiral | Single", True),
        ("Paper Admiral\nType | Single", True),
        ("# Discography\n- Paper Admiral, video, single tour", False),
        ("# Reviews\n- Paper Admiral: single of the week", False),
        ("# Bootlegs\n- Paper Admiral, single", False),
        ("# Awards\n- Paper Admiral, single of the year (nominated)", False),
        ("# Videos\nTitle | Type\nPaper Admiral | Single", False),
        ("# Discography\nTitle | Type\nPaper Admiral (video) | Single", False),
    ],
)
def test_a_type_is_stated_where_all_beside_it_is_understood(text: str, is_stated: bool) -> None:
    document = SourceText.of(Document("https://en.wikipedia.org/wiki/It", "It", (), text))
    start = text.lower().rindex("single")
    found = Place(document, start, start + len("single"))
    patch = Patch(EVIDENCE.ids["S"], PRIMARY_TYPE, "Single")
    assert is_in_structure(found, patch, SINGLE) is is_stated
