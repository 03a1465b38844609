"""`canon index` as a process: options, output, interrupts and kills."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from integration.conftest import Canon, Start
from musicbrainz.index.building import DUMP, OLD_INDEX


def test_an_index_is_built_shown_and_checked(canon: Canon, home: Path) -> None:
    path = Path(canon("index", "path").must_end(0).out.strip())
    assert path == home / "data" / "canon" / "musicbrainz.index"
    canon("index", "show").must_end(1, "there is no index; `canon index build DUMP` makes one")
    built = canon("index", "build", DUMP, "--memory=800MB", "--jobs=1", "--output=json").must_end(0)
    assert built.line["path"] == str(path)
    assert built.line["summary"]["counts"]["recording"] == 313
    assert "the dump has no file for l_recording_recording" in built.err
    shown = canon("index", "show").must_end(
        0, "313 recordings", "2026-07-18 00:10 UTC", "schema 31"
    )
    checked = canon("index", "verify").must_end(0, "no fault: ", " recordings compared by a second")
    assert (shown.err, checked.err) == ("", "")
    canon("doctor", "--offline").must_end(0, "the dump of 2026-07-18", "canon index build mbdump")
    canon("index", "verify", DUMP / "COPYING").must_end(1, "COPYING: cannot be read as an index")


@pytest.mark.parametrize(("options", "status", "words"), [
    (["--memory=much"], 2, "--memory: 'much' is not a size such as 800MB or 4GB"),
    (["--memory=499MB"], 2, "at least 500MB"),
    (["--memory=999999GB"], 1, "may use 999,999,000 MB of memory"),
    (["--jobs=0"], 2, "--jobs"),
    (["--temporary=absent"], 1, "'absent' is not a folder"),
    (["--out=absent/index"], 1, "'absent' is not a folder"),
])  # fmt: skip
def test_options_that_do_not_fit(canon: Canon, options: list[str], status: int, words: str) -> None:
    ran = canon("index", "build", DUMP, *options).must_end(status, words)
    assert ran.out == ""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)]
)
@pytest.mark.parametrize("stage", ["staging.duckdb", "index"])
def test_a_build_that_is_ended_leaves_the_old_index(
    canon: Canon, start: Start, home: Path, number: int, status: int, stage: str
) -> None:
    out, temporary = home / "work" / "old", home / "temporary"
    temporary.mkdir()
    out.write_bytes(OLD_INDEX)
    call = ("index", "build", DUMP, f"--out={out}", f"--temporary={temporary}", "--jobs=1")
    process = start(*call)
    wait_for(stage, home)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status, err.decode()
    assert b"Traceback" not in err
    assert out.read_bytes() == OLD_INDEX
    is_killed = number == signal.SIGKILL
    assert (len([*temporary.iterdir()]), len([*out.parent.iterdir()])) == (is_killed, 1 + is_killed)
    canon(*call).must_end(0, "313 recordings")
    assert (len([*temporary.iterdir()]), [*out.parent.iterdir()]) == (0, [out])


def wait_for(name: str, folder: Path) -> None:
    """Wait until a build has written a file."""
    deadline = time.monotonic() + 50
    while not any(path.stat().st_size for path in folder.rglob(name) if path.is_file()):
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_only_one_build_of_an_index_runs(canon: Canon, start: Start, home: Path) -> None:
    out = home / "work" / "new"
    process = start("index", "build", DUMP, f"--out={out}")
    wait_for("staging.duckdb", home)
    os.kill(process.pid, signal.SIGSTOP)
    canon("index", "build", DUMP, f"--out={out}").must_end(1, "another build of")
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(timeout=60) == 0
    assert shutil.disk_usage(out).total
    assert [*out.parent.iterdir()] == [out]
