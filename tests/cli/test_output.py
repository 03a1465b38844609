"""Text for a terminal: its width, its lines, addresses, and the ids that people paste."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chart_binder.cli.decision_text import explanation_lines
from chart_binder.cli.options import read_path_or_mbid
from chart_binder.cli.output import canon_call, display_width, fit, line_width, narrowed, wrap
from chart_binder.cli.review_text import case_lines, override_lines
from chart_binder.config import Config, RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId
from chart_binder.errors import UsageError
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.named_records import read_mbid
from chart_binder.jobs.overrides import OverrideEffect
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.jobs.review import ReviewCase
from chart_binder.jobs.wording import musicbrainz_page
from golden.bundles import golden
from rules.making import document, record, recording, records
from store.records import NOW, decision

WORDS = st.lists(st.text("ab東\u0301 ", max_size=12), max_size=12).map(" ".join)
ID = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"


@given(text=WORDS, width=st.integers(1, 40), indent=st.integers(0, 12))
def test_no_line_is_too_wide_unless_it_is_one_word(text: str, width: int, indent: int) -> None:
    head = "-" * indent
    lines = list(wrap(text, head, indent, width))
    assert all(display_width(line) <= width or len(line[indent:].split(" ")) == 1 for line in lines)
    assert [word for line in lines for word in line[indent:].split()] == text.split()
    assert all(line.startswith(head if not n else " " * indent) for n, line in enumerate(lines))


@given(text=WORDS, width=st.integers(2, 40), lead=st.integers(0, 12))
def test_on_a_terminal_no_line_is_wider_than_it_unless_it_is_one_word(
    text: str, width: int, lead: int
) -> None:
    lines = list(narrowed(" " * lead + text, width))
    assert all(display_width(line) <= width or len(line.split()) == 1 for line in lines)
    assert " ".join(lines).split() == text.split()
    address = f"https://musicbrainz.org/release-group/{ID}"
    assert address in list(narrowed(f"{' ' * lead}{text} {address}", width))


def test_spaces_within_a_line_are_kept_as_they_are() -> None:
    lines = wrap("one  two\nthree\u3000four", "", 2, 13)
    assert list(lines) == ["one  two", "  three\u3000four"]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("Queen", 8, "Queen   "), ("Queen", 5, "Queen"), ("Queen", 4, "Qu.."), ("Queen", 1, "."),
        ("東京事変", 8, "東京事変"), ("東京事変", 7, "東京.. "),
        ("e\u0301\u200b", 2, "e\u0301\u200b "),
    ],
)  # fmt: skip
def test_text_is_padded_or_cut_to_a_number_of_columns(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown
    assert display_width(shown) == width


@pytest.mark.parametrize(("words", "shown"), [
    (("write", "A b.mp3", "c.mp3"), "canon write 'A b.mp3' c.mp3"),
    (("write", *["song.mp3"] * 9), "canon write with the same paths"),
    (("batch", "--frozen", *["song.mp3"] * 9), "canon batch --frozen with the same paths"),
])  # fmt: skip
def test_a_call_with_many_paths_is_described(words: tuple[str, ...], shown: str) -> None:
    assert canon_call(*words) == shown


def test_a_very_long_text_takes_a_moment() -> None:
    start = time.perf_counter()
    assert fit("東" * 100_000, 9) == "東東東.. "
    assert len(list(wrap("word " * 16_000, width=40))) == 2_000
    assert time.perf_counter() - start < 2


def evidence(text: str) -> EvidenceBundle:
    """Evidence of one recording on the records of a text, as `rules.making.records` reads it."""
    return read_bundle(document(recording(*records(text))))


EXPLAINED: dict[str, EvidenceBundle] = {
    "lead": read_bundle(golden("lead-bohemian")),
    "promo-and-wide-letters": read_bundle(golden("lead-kessoku")),
    "the-groups-own-date": read_bundle(golden("lead-slts")),
    "album-after-the-window": read_bundle(golden("s90-amuro")),
    "year-only-single": evidence("S single 1975; A album 1975-11-21; C compilation 1981-11-02"),
    "month-of-the-album": evidence("S single 1974-10-11; A album 1974-11; L live 1979"),
    "undated": evidence("A album 1974-11-08; V various undated; B album undated; X single group:"),
    "nothing-dated": evidence("A album undated; B album undated"),
    "bootlegs-only": evidence("A album 2008/bootleg undated/bootleg; B album undated/promo"),
    "live": read_bundle(document(recording(*records("L live 1974-12 1974"), title="Song (live)"))),
    "nothing": read_bundle(document()),
    "crowd": read_bundle(
        document(
            recording(*(record(f"G{n}", "Album", f"{1950 + n}-0{n % 9 + 1}") for n in range(70)))
        )
    ),
}


@pytest.mark.parametrize(("columns", "width"), [("57", 57), ("0", 100), ("500", 100), ("x", 100)])
def test_lines_are_as_wide_as_the_terminal_and_at_most_100_columns(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert line_width() == width


def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "word " * 99
    monkeypatch.setenv("COLUMNS", "40")
    assert len([*wrap(words)]) > 9
    monkeypatch.delenv("COLUMNS")
    assert [*wrap(words)] == [words.strip()]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("name", EXPLAINED)
def test_an_explanation_is_as_wide_as_the_terminal(
    name: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = decide_bundle(Pipeline(RulesConfig()), EXPLAINED[name])
    wide = list(explanation_lines("p", case, RulesConfig()))
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = list(explanation_lines("p", case, RulesConfig()))
    for line in lines:
        assert display_width(line) <= columns or len(line.split()) == 1, line
    told, prose = (" ".join(each).partition("The candidates,")[0].split() for each in (lines, wide))
    assert told == prose
    if (name, columns) == ("lead", 60):  # the reason of a candidate stands below its title
        start = lines.index("    1975-10-31  Bohemian Rhapsody (single)")
        assert lines[start + 1].startswith(" " * 16)
        (row,) = [line for line in wide if line.startswith("    1975-10-31  Bohemian Rhapsody (si")]
        assert row.endswith("  led to that album 21 days later")


def test_only_a_uuid_has_a_page_at_musicbrainz() -> None:
    assert musicbrainz_page("release", "sheer-heart-attack") == "sheer-heart-attack"
    assert musicbrainz_page("release", ID) == f"https://musicbrainz.org/release/{ID}"
    groups = (record("A", "Album", "1974", mb_rg_id=ID), record("B", "Single", mb_rg_id="own-7"))
    bundle = read_bundle(document(recording(*groups)))
    case = ReviewCase(decision(1), Decision(State.UNDECIDED), bundle)
    lines = "\n".join(case_lines(case, None, Config(), whole=True))
    assert f"https://musicbrainz.org/release-group/{ID}" in lines
    assert "own-7" in lines
    assert "/own-7" not in lines
    override = OverrideRecord(RecordingId("rec"), ReleaseGroupId("own-7"), None, "why", NOW)
    assert "musicbrainz.org" not in "\n".join(override_lines(override, OverrideEffect()))


@pytest.mark.parametrize(
    "text",
    [f" {ID.upper()} ", f"http://beta.musicbrainz.org/release-group/{ID}/details?page=2#x",
     f"musicbrainz.org/release-group/{ID}?x"],
)  # fmt: skip
def test_an_id_is_read_bare_or_from_an_address(text: str) -> None:
    assert read_mbid(text, "release-group") == ID


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "'' is not a release group id"),
        ("C1", "'C1' is not a release group id"),
        (f"{ID}0", "is not a release group id"),
        (f"https://musicbrainz.org/release/{ID}", "is the address of a release"),
        (f"https://example.org/release-group/{ID}", "is not a release group id"),
        (f"https://musicbrainz.org.evil.example/release-group/{ID}", "is not a release group id"),
    ],
)
def test_what_is_no_id_is_refused_with_what_is_allowed(text: str, found: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_mbid(text, "release-group")
    assert found in str(caught.value)
    assert "give a UUID or https://musicbrainz.org/release-group/UUID" in str(caught.value)


def test_a_file_that_exists_is_a_path_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / ID
    file.touch()
    assert read_path_or_mbid(str(file)) == file
    assert read_path_or_mbid(ID) == ID
    with pytest.raises(UsageError, match="a file that exists, a decision's id, a UUID or"):
        read_path_or_mbid(str(tmp_path / "absent.flac"))
