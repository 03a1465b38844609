"""A word in a date's own clause says that it is of no release, where no word of release does."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.domain.date_words import clause_around, doubt_in_clause
from chart_binder.domain.dates_in_text import find_dates

OF_ELSE = [
    # English
    ("The single reached number 1 on 5 May 1974", "number 1"),
    ("It entered the charts on 5 May 1974", "charts"),
    ("recorded at Trident on 5 May 1974", "recorded"),
    ("Recorded | 5 May 1974 | Rockfield", "Recorded"),
    ("reissued by Hollywood on 5 May 1974", "reissued"),
    ("It was re-released 5 May 1974", "re-released"),
    ("2011 remaster: May 5, 1974", "remaster"),
    ("They performed it in London on 5 May 1974", "performed"),
    ("It was sent to radio on 5 May 1974", "to radio"),
    ("Radio premiere: 5 May 1974", "Radio premiere"),
    ("The song leaked online on 5 May 1974", "leaked"),
    ("certified gold on 5 May 1974", "certified"),
    ("The album was announced on 5 May 1974", "announced"),
    ("The date was postponed to 5 May 1974", "postponed"),
    ("The single was not released on 5 May 1974", "not released"),
    ("Promo copies went out; promos are of 5 May 1974", "promos"),
    ("Retrieved 5 May 1974", "Retrieved"),
    ('"X" (Single), first date of any status 1974-05-05', "of any status"),
    # German
    ("Das Stück wurde am 5. Mai 1974 aufgenommen", "aufgenommen"),
    ("am 5. Mai 1974 wiederveröffentlicht", "wiederveröffentlicht"),
    ("erreichte am 5. Mai 1974 Platz 1", "Platz 1"),
    ("geplant für den 5. Mai 1974", "geplant"),
    # French
    ("réédité le 5 mai 1974", "réédité"),
    ("enregistrée le 5 mai 1974 à Paris", "enregistrée"),
    ("disque d’or le 5 mai 1974", "disque d’or"),
    ("prévu pour le 5 mai 1974", "prévu"),
    # Spanish
    ("reeditado el 5 de mayo de 1974", "reeditado"),
    ("grabada el 5 de mayo de 1974", "grabada"),
    ("alcanzó el número uno el 5 de mayo de 1974", "número uno"),
    ("anunciado para el 5 de mayo de 1974", "anunciado"),
    # Italian
    ("ristampato il 5 maggio 1974", "ristampato"),
    ("registrata il 5 maggio 1974", "registrata"),
    ("in classifica il 5 maggio 1974", "classifica"),
    ("rinviato al 5 maggio 1974", "rinviato"),
    # Portuguese
    ("relançado em 5 de maio de 1974", "relançado"),
    ("gravada em 5 de maio de 1974", "gravada"),
    ("nas paradas em 5 de maio de 1974", "paradas"),
    ("adiado para 5 de maio de 1974", "adiado"),
    # Dutch
    ("heruitgebracht op 5 mei 1974", "heruitgebracht"),
    ("opgenomen op 5 mei 1974", "opgenomen"),
    ("op 5 mei 1974 nummer 1", "nummer 1"),
    ("uitgesteld naar 5 mei 1974", "uitgesteld"),
    # Japanese
    ("1974年5月5日に録音された", "録音"),
    ("1974年5月5日に再発売", "再発売"),
    ("1974年5月5日、オリコンチャート1位", "チャート"),
    ("1974年5月5日発売予定", "発売予定"),
]

OF_RELEASE = [
    "a remastered edition was released on 5 May 1974",
    "recorded in May and released on 5 May 1974",
    "Released | 5 May 1974 | Recorded at Trident",
    "came out on 5 May 1974, recorded live",
    "It was announced as the next single and issued on 5 May 1974",
    "am 5. Mai 1974 veröffentlicht und in Berlin aufgenommen",
    "enregistré à Paris et sorti le 5 mai 1974",
    "grabado en Madrid y publicado el 5 de mayo de 1974",
    "registrato a Roma e uscito il 5 maggio 1974",
    "gravado no Rio e lançado em 5 de maio de 1974",
    "opgenomen in Hilversum en uitgebracht op 5 mei 1974",
    "録音され、1974年5月5日に発売",
]

PLAIN = [
    "5 May 1974",
    "Killer Queen | 5 May 1974 | EMI Records | UK",
    "Queen – Sheer Heart Attack (5 May 1974)",
    # Of other sentences, lines, clauses
    "It was recorded at Trident. 5 May 1974, EMI",
    "Recorded: May\n5 May 1974 | UK | EMI",
    "It reached number 1; 5 May 1974, EMI",
    "Their single of 5 May 1974, and it charted at once",
    "EMI, 5 May 1974. It was recorded at Trident",
    "シングル、1974年5月5日。録音はロンドン",
    # Another year stands between
    "Recorded | May 1973 | 5 May 1974",
    # Titles and quotations
    "“Top 40” | 5 May 1974",
    "Radio Ga Ga | 5 May 1974",
    "Live at Leeds | 5 May 1974",
    "„Chart“, 5. Mai 1974",
    "『放送』1974年5月5日",
]


def doubt(text: str, *titles: str) -> str | None:
    [mention] = [each for each in find_dates(text) if str(each.dates[0]) == "1974-05-05"]
    return doubt_in_clause(text, mention, titles)


@pytest.mark.parametrize(("text", "word"), OF_ELSE)
def test_a_word_of_something_else_is_told(text: str, word: str) -> None:
    assert doubt(text) == word
    assert doubt(f"It was released in London. It is so: {text}.") == word


@pytest.mark.parametrize("text", OF_RELEASE)
def test_a_word_of_release_beside_it_leaves_it_to_a_second_reading(text: str) -> None:
    assert doubt(f"Queen: {text}.") is None


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_said_elsewhere_or_quoted_does_not_count(text: str) -> None:
    assert doubt(text) is None


def test_a_word_of_release_counts_for_the_date_it_is_beside() -> None:
    assert doubt("Released 31 October 1975, recorded 5 May 1974") == "recorded"
    assert doubt("1974年5月5日録音、1975年10月31日発売") == "録音"


def test_words_of_a_title_that_is_asked_about_do_not_count() -> None:
    assert doubt("Peaked | 5 May 1974 | EMI") == "Peaked"
    assert doubt("Peaked | 5 May 1974 | EMI", "peaked", " ") is None


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("It charted. Issued on 5 May 1974 by EMI; sold well", "Issued on 5 May 1974 by EMI"),
        ("Title\nReleased | 5 May 1974 | EMI\nnext", "Released | 5 May 1974 | EMI"),
        ("out in the U.S. on 5 May 1974, but not here", "out in the U.S. on 5 May 1974"),
        ("St. Louis put No. 1 out on 5 May 1974! So", "St. Louis put No. 1 out on 5 May 1974"),
        ("am 3. April, am 5. Mai 1974 in Köln. Danach", "am 3. April, am 5. Mai 1974 in Köln"),
        ("録音した。1974年5月5日に発売。その後", "1974年5月5日に発売"),
    ],
)  # fmt: skip
def test_a_clause_ends_with_its_sentence_line_and_at_some_commas(text: str, clause: str) -> None:
    [mention] = [each for each in find_dates(text) if str(each.dates[0]) == "1974-05-05"]
    assert clause_around(text, mention.start, mention.end) == clause


@given(st.text(max_size=60), st.text(alphabet="recordeleas,.;\n|“”'\" 録音0179", max_size=60))
def test_any_text_has_a_clause_in_which_its_date_stands(before: str, after: str) -> None:
    text = f"{before} 1974-05-05 {after}"
    for mention in find_dates(text):
        assert text[mention.start : mention.end] in clause_around(text, mention.start, mention.end)
        doubt_in_clause(text, mention, (before, after))


@pytest.mark.parametrize("junk", [". ", ",", "recorded ", "“", "a. ", "1974 ", "no. 1", "re-"])
def test_a_long_text_around_a_date_takes_no_long_time(junk: str) -> None:
    around = junk * (100_000 // len(junk))
    text = f"{around}; 1974-05-05 {around}"
    [mention] = [each for each in find_dates(text) if str(each.dates[0]) == "1974-05-05"]
    began = time.process_time()
    for _ in range(20):
        doubt_in_clause(text, mention)
    assert time.process_time() - began < 2
