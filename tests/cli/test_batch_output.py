"""What a batch and a writing run leave: the metrics file, the summary, and the record of an end."""

import os
import shutil
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from audio.tagging import FILES
from chart_binder.audio.fields import with_fields
from chart_binder.batch import BatchResult, FileResult
from chart_binder.cli.batch import metrics_file
from chart_binder.cli.batch_text import next_call, summary_lines
from chart_binder.cli.write import TagResults
from chart_binder.domain.records import Measures
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.jobs.decision import Decision, FileOutcome, State
from chart_binder.jobs.journal import WritingRun
from chart_binder.jobs.stored_decisions import new_run
from chart_binder.jobs.write import WriteReport, WriteStatus
from chart_binder.store import open_store
from servers.prometheus import read_text

MEASURES = Measures(
    files=14,
    folders=1,
    seconds=0.5,
    states={"decided": 2, "error": 13},
    tags={"refused": 2},
    causes={"file": 13},
    errors={"'a/1.flac' is empty": 12, "no title": 1},
    unwritten={"it was left open": 2},
    examples={
        "'a/1.flac' is empty": "a/1.flac", "no title": "b/2.flac", "it was left open": "c/3.flac",
    },
    spent={"musicbrainz_requests": 1, "model_runs": 1, "model_replies": 2, "prompt_tokens": 1200},
)  # fmt: skip


def result(files: int) -> FileResult:
    outcome = FileOutcome(Path("a.flac"), Decision(State.DECIDED))
    tally = BatchTally()
    for _ in range(files):
        tally.add_file(outcome, None)
    return FileResult(outcome, None, tally, "run1")


def counts(path: Path) -> tuple[float, object]:
    """Return the number of files in a metrics file, and the exit status if there is one."""
    families = read_text(path.read_text())
    status = families.get("canon_batch_exit_status")
    return sum(families["canon_batch_files_total"].samples.values()), status and status.samples[()]


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (OSError(), 1)])
def test_the_metrics_file_records_how_an_interrupted_run_ended(
    tmp_path: Path, error: BaseException, status: int
) -> None:
    path = tmp_path / "canon.prom"

    def interrupted() -> None:
        with metrics_file(str(path)) as metrics:
            assert counts(path) == (0, None)
            metrics.update(result(3))
            assert counts(path) == (0, None), "written a moment ago"
            metrics.written_at -= 6
            metrics.update()
            assert counts(path) == (3, None)
            raise error

    with pytest.raises(type(error)):
        interrupted()
    assert counts(path) == (3, status)
    assert 'canon_batch_info{run="run1"} 1\n' in path.read_text()


def test_a_metrics_folder_that_is_removed_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    with metrics_file(str(folder / "canon.prom")) as metrics:
        shutil.rmtree(folder)
        for _ in range(3):
            metrics.written_at -= 6
            metrics.update(result(1))
    assert capsys.readouterr().err.count("No such file or directory; the run continues") == 1


def test_the_metrics_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "canon.prom"
    with metrics_file(str(path)) as metrics, path.open() as reader:
        before = os.fstat(reader.fileno()).st_ino
        metrics.written_at -= 6
        metrics.update(result(2))
        assert path.stat().st_ino != before
        assert read_text(reader.read())


def test_a_summary_gives_one_example_of_each_failure_and_counts_what_was_spent() -> None:
    lines = list(summary_lines(BatchResult("r1", MEASURES, 1), "", is_dry=False))
    assert lines[:7] == [
        "14 tracks, none of them with a certain first year",
        "error          13; 1 folder included, which `files` does not count",
        "decided        2",
        "tags           2 not written",
        "not written    c/3.flac: it was left open (and 1 more file)",
        "failures       13 cannot be read",
        "reasons        'a/1.flac' is empty (and 11 more files)",
    ]
    assert lines[-2:] == [
        "               (`--report FILE` has all of them)",
        "run            r1 (`canon runs show` has it all)",
    ]
    text = " ".join(" ".join(lines).split())  # whatever the terminal's width
    spent = (
        "1 request to MusicBrainz, 1 case for the model, 2 replies of the model, 1,200 tokens read"
    )
    assert f"spent {spent}" in text


@pytest.mark.parametrize(
    ("counts", "paths", "head", "call"),
    [
        ({"earlier": 36}, ["My Music"], "36 of 56 tracks", "canon write 'My Music'"),
        ({"earlier": 1}, [], "1 of 56 tracks is older", ""),
        ({"earlier": 2, "tags": {"written": 2}}, ["."], "2 of 56 tracks are older", ""),
        ({"states": {"review": 1}}, ["."], "56 tracks, none of them with a", "canon review"),
        ({"first_releases": {"certain": 9}}, ["."], "56 tracks, none of them older", ""),
        ({"states": {"error": 56}, "causes": {"lookup_failed": 56}}, ["."], "nothing was decided",
         "canon doctor"),
        ({"earlier": 9, "causes": {"model": 28}}, ["."], "9 of 56 tracks", "canon doctor"),
        ({"earlier": 9, "causes": {"model": 27}}, ["."], "9 of 56 tracks", "canon write ."),
        ({"first_releases": {"uncertain": 1}}, [__file__], "56 tracks",
         f"canon override set {__file__} --first DATE"),
        ({"first_releases": {"uncertain": 1}}, ["."], "56 tracks", ""),
    ],
)  # fmt: skip
def test_a_summary_begins_with_the_result_and_leads_to_the_next_step(
    counts: dict[str, Any], paths: list[str], head: str, call: str
) -> None:
    found = Measures(files=56, **counts)
    lines = list(summary_lines(BatchResult("r1", found, 0), "", is_dry=False))
    assert lines[0].startswith(head)
    assert next_call(found, paths) == call


@pytest.mark.parametrize(
    ("error", "status"), [(BrokenPipeError(), 130), (KeyboardInterrupt(), 130), (OSError(), 1)]
)
def test_a_writing_run_that_is_interrupted_is_stored_with_what_it_did(
    tmp_path: Path, error: BaseException, status: int
) -> None:
    song = Path(shutil.copy(FILES / "bare.flac", tmp_path / "song.flac"))
    results = TagResults(as_json=True)

    def interrupted() -> None:
        with results.ending(run, Event()):
            run.save(song, lambda tags: with_fields(tags, {"album": ["Lateralus"]}), None)
            results.counts[WriteStatus.WRITTEN] += 1
            raise error

    with open_store(f"sqlite:///{tmp_path / 'canon.db'}") as store:
        run = WritingRun(store, new_run("write"))
        with pytest.raises(type(error)):
            interrupted()
        kept = store.runs.latest()
    assert kept is not None
    assert (kept.status, kept.counts) == (status, {"written": 1})
    assert kept.ended_at_utc


def test_the_rate_of_a_writing_run_counts_from_its_start() -> None:
    results = TagResults(as_json=True)
    results.tally.started -= 10
    for name in ("a.flac", "b.flac"):
        results.show(WriteReport(Path(name), WriteStatus.UNCHANGED))
    assert results.tally.rate == pytest.approx(0.2, rel=0.1)
