"""A batch is counted in bounded memory, and its metrics follow their format."""

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chart_binder.domain.records import Measures, RunRecord, StageCost
from chart_binder.jobs.batch.report import BatchTally, prometheus_text
from chart_binder.jobs.decision import Cause, Decision, FileOutcome, Stage, State
from chart_binder.jobs.write import WriteReport, WriteStatus
from servers.prometheus import read_text


def failed(why: str) -> FileOutcome:
    return FileOutcome(Path("a.flac"), Decision(State.ERROR, error=why, cause=Cause.FILE))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("'/music/a.flac' is empty", "'/music/b.flac' is empty"),
        ("/music/a.flac cannot be read", "/music/b c.flac cannot be read"),
        ("failed after 20.3 s", "failed after 7 s"),
        ("knows no recording with the id 6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd",
         "knows no recording with the id 361a28b7-4588-44a6-8c96-86c1efb8258f"),
    ],
)  # fmt: skip
def test_equal_errors_are_counted_with_the_first_in_full(one: str, other: str) -> None:
    tally = BatchTally()
    for why in (one, other.replace("b c", "b")):
        tally.add_file(failed(why), None)
    found = tally.measures()
    assert found.errors == {one: 2}
    assert found.examples == {one: "a.flac"}
    assert found.causes == {"file": 2}


def test_why_tags_were_not_written_is_counted_like_errors() -> None:
    tally = BatchTally()
    settled = FileOutcome(Path("a.flac"), Decision(State.REVIEW))
    for why in ("confidence 0.71 is too low", "confidence 0.70 is too low", None):
        tally.add_file(settled, WriteReport(settled.path, WriteStatus.REFUSED, why=why))
    tally.add_file(
        settled, WriteReport(settled.path, WriteStatus.UNCHANGED, why="it is as it should be")
    )
    assert tally.measures().unwritten == {"confidence 0.71 is too low": 2, "no reason given": 1}


def test_a_folder_is_no_file_and_a_name_of_any_bytes_can_be_kept(tmp_path: Path) -> None:
    tally = BatchTally()
    empty = Decision(State.ERROR, error="nothing in it", cause=Cause.FILE)
    tally.add_file(FileOutcome(tmp_path, empty), None)
    assert (tally.files, tally.folders, tally.states) == (0, 1, {"error": 1})
    path = Path(os.fsdecode(b"\xff.flac"))
    tally.add_file(FileOutcome(path, Decision(State.DECIDED), seconds={Stage.READ: 1.0}), None)
    assert b"\xef\xbf\xbd.flac" in msgspec.json.encode(tally.measures())


def test_what_was_settled_before_is_no_work_unless_its_tags_are_looked_at() -> None:
    tally = BatchTally()
    settled = FileOutcome(Path("a.flac"), Decision(State.DECIDED), is_resumed=True)
    tally.add_file(settled, None)
    assert (tally.files, tally.resumed, tally.worked, tally.rate) == (1, 1, 0, 0)
    tally.add_file(settled, WriteReport(settled.path, WriteStatus.WRITTEN), 0.5)
    assert (tally.files, tally.resumed, tally.worked) == (2, 2, 1)
    assert tally.measures().stages == {"write": StageCost(1, 0.5)}


def test_any_number_of_files_and_kinds_of_errors_takes_the_same_room() -> None:
    tally = BatchTally()
    for number in range(5_000):
        seconds = {Stage.READ: number / 1000}
        why = f"kind {'x' * (number % 700)}"
        decision = Decision(State.ERROR, error=why)
        tally.add_file(FileOutcome(Path(f"{number}.flac"), decision, seconds=seconds), None)
    found = tally.measures()
    assert found.files == sum(found.errors.values()) == 5_000
    assert len(found.errors) <= 201
    assert [one.path for one in found.slowest][:2] == ["4999.flac", "4998.flac"]
    assert found.stages["read"].files == 5_000
    assert sum(map(len, found.errors)) < 200_000


RUN = RunRecord(id="r1", command="batch", started_at_utc="2026-11-21T15:45:00.500000Z")


@given(name=st.text(st.characters(codec="utf-8")), count=st.integers(0, 10**12))
@settings(max_examples=40)
def test_a_label_of_any_letters_is_read_back(name: str, count: int) -> None:
    found = Measures(rules={name: count}, tags={f'"{name}\\': 1})
    families = read_text(prometheus_text(RUN, found))
    assert families["canon_batch_rules_total"].samples == {(("rule", name),): count}
    assert families["canon_batch_tags_total"].samples == {(("fate", f'"{name}\\'),): 1}


def test_what_is_counted_by_fixed_names_is_there_from_the_beginning() -> None:
    families = read_text(prometheus_text(RUN, Measures()))
    for name, count in {
        "files": 6, "decisions": 3, "errors": 9, "stage_seconds": 6, "stage_files": 6,
        "musicbrainz_requests": 1, "prompt_tokens": 1,
    }.items():  # fmt: skip
        assert list(families[f"canon_batch_{name}_total"].samples.values()) == [0] * count, name
    assert families["canon_batch_start_time_seconds"].samples == {(): 1795275900.5}
    assert not {"canon_batch_end_time_seconds", "canon_batch_exit_status"} & families.keys()
