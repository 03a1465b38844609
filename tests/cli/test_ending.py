"""A run whose results nobody reads any more has an end all the same."""

import shutil
from pathlib import Path

import pytest

from audio.tagging import FILES
from chart_binder.audio.fields import with_fields
from chart_binder.cli.render.tags import TagResults
from chart_binder.cli.write import recording_end
from chart_binder.jobs.journal import WritingRun
from chart_binder.jobs.write import WriteStatus
from chart_binder.store import open_store


@pytest.mark.parametrize(("error", "status"), [(BrokenPipeError(), 1), (KeyboardInterrupt(), 130)])
def test_a_run_that_is_cut_short_is_kept_with_what_it_did(
    tmp_path: Path, error: BaseException, status: int
) -> None:
    song = Path(shutil.copy(FILES / "bare.flac", tmp_path / "song.flac"))
    results = TagResults(as_json=True)

    def cut_short() -> None:
        with recording_end(results, run):
            run.save(song, lambda tags: with_fields(tags, {"album": ["Lateralus"]}), None)
            results.counts[WriteStatus.WRITTEN] += 1
            raise error

    with open_store(f"sqlite:///{tmp_path / 'canon.db'}") as store:
        run = WritingRun.of(store, "write", (), keep_mtime=False)
        with pytest.raises(type(error)):
            cut_short()
        kept = store.runs.latest()
    assert kept is not None
    assert (kept.status, kept.counts) == (status, {"written": 1})
    assert kept.ended_at_utc
