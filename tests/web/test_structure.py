"""Structure: which rows, boxes and entries of a list state a record's date by themselves."""

import pytest

from chart_binder.domain.patches import PRIMARY_TYPE, Patch
from chart_binder.react.steps import Document
from chart_binder.web.documents import SourceText
from chart_binder.web.judgement import ClaimedValue, Meaning, MentionedDate, other_records
from chart_binder.web.places import Place
from chart_binder.web.structure import states_date
from chart_binder.web.subject import Subject
from corpus import rows
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
    return Place.of(document, mention)


NOT_PLAIN = dict(rows(__file__, "not_plain"))


@pytest.mark.parametrize("text", rows(__file__, "plain"))
def test_a_row_a_box_or_an_entry_may_state_a_date(text: str) -> None:
    assert not any(other_records(place(text), SINGLE))
    assert states_date(place(text), SINGLE)


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_is_not_understood_states_nothing_by_itself(text: str) -> None:
    title = "The Velvet Harbour discography - Wikipedia"
    if "|" in text and "#" not in text:
        title = f"{text.partition(chr(10))[0].partition(' | ')[0]} - Wikipedia"
    assert not states_date(place(text, title), SINGLE)


@pytest.mark.parametrize(("text", "is_told"), [
    ("# Discography\nTitle | Released\nPaper Admiral | 17 May 1974", False),
    ("# Releases\n- Paper Admiral (17 May 1974)", False),
    ("# Singles\nTitle | Released\nPaper Admiral | 17 May 1974", True),
    ("# Releases\n- Paper Admiral (single, 17 May 1974)", True),
    ("# Releases\nNumber | Title | Released\nVA 301 | Paper Admiral | 17 May 1974", True),
])  # fmt: skip
def test_of_two_records_of_one_title_the_type_or_the_number_tells(text: str, is_told: bool) -> None:
    records = [
        "S | Single | Paper Admiral | 1974 GB [Vantage VA 301, Vinyl]",
        "A | Album | Paper Admiral | 1974-11-08 GB [Vantage VAL 2, Vinyl]",
    ]
    artist, title = "The Velvet Harbour", "Paper Admiral"
    raw = {"artist": artist, "country": "GB", "title": title, "records": records}
    evidence = load_evidence("one title", raw)
    single = Subject.of(evidence.ids["S"], evidence.bundle)
    assert states_date(place(text, "The Velvet Harbour"), single) is is_told


def test_a_title_may_be_written_with_an_ampersand() -> None:
    records = ["S | Single | Salt and Rope | 1974 GB [Vantage VA 301, Vinyl]"]
    raw = {"artist": "The Velvet Harbour", "country": "GB", "title": "", "records": records}
    evidence = load_evidence("ampersand", raw)
    single = Subject.of(evidence.ids["S"], evidence.bundle)
    text = "# Singles\nA-side | Date\nSalt & Rope | 17 May 1974"
    assert states_date(place(text, "The Velvet Harbour"), single)


@pytest.mark.parametrize(("text", "meaning"), [
    ("Paper Admiral came out on 17 May 1974.", Meaning.PLAIN),
    ("The band was in Leeds on 17 May 1974.", Meaning.UNCLEAR),
    ("Paper Admiral was recorded on 17 May 1974.", Meaning.OTHER_VALUE),
    ("Parlour Fleet came out on 17 May 1974.", Meaning.OTHER_RECORD),
])  # fmt: skip
def test_a_judgement_says_what_a_date_means(text: str, meaning: Meaning) -> None:
    date = place(text)
    mention = next(each for each in date.document.mentions if each.start == date.start)
    judgement = MentionedDate(date, SINGLE, mention).judgement
    assert judgement.meaning is meaning
    assert bool(judgement.reason) is (meaning is not Meaning.PLAIN)


@pytest.mark.parametrize("text", [
    "Paper Admiral\nSingle by | the Chimes of Reno\nReleased | 17 May 1974",
    "曲 | 歌手 | 発売\nPaper Admiral | 水沢ユキ | 1974年5月17日",
    "Interprète | Titre | Sortie\nTeddy Marchal | Paper Admiral | 17 mai 1974",
    # An album of the title of one of the evidence, with a song of the title.
    "Parlour Fleet\nAlbum di | Irma Tolosi\n# Singoli\nBrano | Data\nPaper Admiral | 17.5.1974",
])  # fmt: skip
def test_a_box_or_a_column_may_credit_another_artist(text: str) -> None:
    assert "it is about" in next(other_records(place(text), SINGLE), "")


@pytest.mark.parametrize(("title", "is_other"), [
    ("Parlour Fleet (álbum de Pilar Quero)", True), ("Parlour Fleet (Suzie Lorme album)", True),
    ("Parlour Fleet (album de The Velvet Harbour)", False), ("Parlour Fleet (album)", False),
])  # fmt: skip
def test_a_title_in_any_language_may_say_whose_record_it_is(title: str, is_other: bool) -> None:
    row = place("# Singles\nTitle | Released\nPaper Admiral | 17 May 1974", title)
    assert ("it is about" in next(other_records(row, SINGLE), "")) is is_other


@pytest.mark.parametrize(("entry", "is_linked"), [
    ("- 80. Dan Wicket: Riesenrad (17 May 1974)", False), ("- Released on 17 May 1974", True),
    ("- 81. The Velvet Harbour: Paper Admiral (17 May 1974)", True),
])  # fmt: skip
def test_an_entry_of_a_list_is_not_about_the_next_one(entry: str, is_linked: bool) -> None:
    text = f"# Vantage numbers\n- 79. The Velvet Harbour: Paper Admiral\n{entry}"
    assert any(other_records(place(text, "Vantage"), SINGLE)) is not is_linked


@pytest.mark.parametrize(("text", "is_stated"), rows(__file__, "types"))
def test_a_type_is_stated_where_all_beside_it_is_understood(text: str, is_stated: bool) -> None:
    document = SourceText.of(Document("https://en.wikipedia.org/wiki/It", "It", (), text))
    start = text.lower().rindex("single")
    found = Place(document, start, start + len("single"))
    patch = Patch(EVIDENCE.ids["S"], PRIMARY_TYPE, "Single")
    assert ClaimedValue(found, SINGLE, patch).is_in_structure is is_stated
