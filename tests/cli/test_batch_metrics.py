"""The metrics file of a batch says how it ended, and is no reason to end it."""

import os
import shutil
from pathlib import Path

import pytest

from chart_binder.batch import FileResult
from chart_binder.cli.batch import metrics_file
from chart_binder.jobs.batch.report import Tally
from chart_binder.jobs.batch.work import FileOutcome
from chart_binder.jobs.decide import Decision, State
from servers.prometheus import read_text


def result(files: int) -> FileResult:
    settled = FileOutcome(Path("a.flac"), Decision(State.DECIDED))
    tally = Tally()
    for _ in range(files):
        tally.add_file(settled, None)
    return FileResult(settled, None, tally, "run1")


def counts(path: Path) -> tuple[float, object]:
    families = read_text(path.read_text())
    status = families.get("canon_batch_exit_status")
    return sum(families["canon_batch_files_total"].samples.values()), status and status.samples[()]


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (OSError(), 1)])
def test_a_run_that_is_cut_short_says_so(tmp_path: Path, error: BaseException, status: int) -> None:
    path = tmp_path / "canon.prom"

    def cut_short() -> None:
        with metrics_file(str(path)) as metrics:
            assert metrics
            assert counts(path) == (0, None)
            metrics.update(result(3))
            assert counts(path) == (0, None), "written a moment ago"
            metrics.written_at -= 6
            metrics.update()
            assert counts(path) == (3, None)
            raise error

    with pytest.raises(type(error)):
        cut_short()
    assert counts(path) == (3, status)
    assert 'canon_batch_info{run="run1"} 1\n' in path.read_text()


def test_a_folder_that_goes_away_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    with metrics_file(str(folder / "canon.prom")) as metrics:
        assert metrics
        shutil.rmtree(folder)
        for _ in range(3):
            metrics.written_at -= 6
            metrics.update(result(1))
    assert capsys.readouterr().err.count("No such file or directory; goes on") == 1


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "canon.prom"
    with metrics_file(str(path)) as metrics, path.open() as reader:
        assert metrics
        begun = os.fstat(reader.fileno()).st_ino
        metrics.written_at -= 6
        metrics.update(result(2))
        assert path.stat().st_ino != begun, "another file took its place"
        assert read_text(reader.read())
