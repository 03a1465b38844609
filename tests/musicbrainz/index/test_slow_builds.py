"""Builds of an index that are large, killed, cut off, short of disk, or read from meanwhile."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chart_binder.errors import IndexFileError
from chart_binder.musicbrainz.index.verify import check_index
from make_dump import write_dump
from musicbrainz.index.building import OLD_INDEX, SilentMeter, build

pytestmark = pytest.mark.slow
RECORDINGS = 20_000
CANON = (sys.executable, "-m", "chart_binder", "index", "build")

FILL = """
import subprocess, sys, time
from pathlib import Path
folder, share, call = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", folder], check=True)
old = bytes(68) + b"cani"
(folder / "index").write_bytes(old)
build = subprocess.Popen([*call, "--out", str(folder / "index")], stderr=subprocess.PIPE)
time.sleep(share)
try:
    with (folder / "other").open("wb", 0) as other:
        while build.poll() is None:
            other.write(bytes(1 << 16))
except OSError:
    pass
_, err = build.communicate()
(folder / "other").unlink(missing_ok=True)
names = sorted(path.name for path in folder.iterdir())
is_old = (folder / "index").read_bytes() == old
print(build.returncode, is_old, names, err.decode().splitlines()[-1:])
"""
"""Builds in a small file system of its own, which something else fills after some seconds."""

READ = """
import sys, time
from pathlib import Path
from chart_binder.domain.evidence_json import evidence_hash
from chart_binder.domain.tags import TrackTags
from chart_binder.musicbrainz.index.service import IndexService
from chart_binder.musicbrainz.source import MusicBrainzSource
path, stop, ids = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
count, seen = 0, {}
while not stop.exists():
    source = MusicBrainzSource(IndexService(path))
    for mbid in ids:
        bundle = source.gather(TrackTags(recording_mbid=mbid))
        assert seen.setdefault(mbid, evidence_hash(bundle)) == evidence_hash(bundle)
        count += 1
print(count)
"""
"""Opens an index again and again, and looks recordings up in it."""


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dump(tmp_path_factory.mktemp("dump"), recordings=RECORDINGS, archive=True).parent


@pytest.fixture(scope="module")
def built(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the dump."""
    path = tmp_path_factory.mktemp("built") / "index"
    build(dump, path)
    return path


def test_a_million_recordings(tmp_path: Path) -> None:
    dump, out = write_dump(tmp_path / "dump", recordings=1_000_000), tmp_path / "index"
    tables = sum(path.stat().st_size for path in (dump / "mbdump").iterdir())
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([*CANON, str(dump), f"--out={out}"], check=True, capture_output=True)
    spent = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    size = out.stat().st_size
    sys.stderr.write(
        f"\n1 M recordings: tables {tables / 1e6:,.0f} MB, index {size / 1e6:,.0f} MB,"
        f" {spent:,.0f} s, {cpu:,.0f} CPU s, peak {used.ru_maxrss / 1024:,.0f} MB\n"
    )
    assert size * 40 < 9e9, "40 M recordings, by proportion"
    assert cpu * 40 / 4 < 30 * 60, "on four cores, by proportion"
    assert used.ru_maxrss * 1024 < 4e9


def test_a_build_that_is_killed_at_any_moment_leaves_the_old_index(
    dump: Path, tmp_path: Path
) -> None:
    out, temporary = tmp_path / "index", tmp_path / "temporary"
    temporary.mkdir()
    call = [*CANON, str(dump), f"--out={out}", f"--temporary={temporary}"]
    chance = random.Random(30)
    whole, killed = 60.0, 0
    while killed < 30:
        out.write_bytes(OLD_INDEX)
        started = time.monotonic()
        with subprocess.Popen(
            call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            try:
                _, err = process.communicate(timeout=chance.uniform(0.1, 1) * whole)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                if out.read_bytes() == OLD_INDEX:
                    killed += 1
                else:  # the process had replaced it, and was about to end
                    check_index(out, SilentMeter())
            else:
                assert process.returncode == 0, err
                whole = min(whole, time.monotonic() - started)
    subprocess.run(call, check=True, capture_output=True)
    check_index(out, SilentMeter())
    assert {*tmp_path.iterdir()} == {out, temporary}
    assert [*temporary.iterdir()] == []


def test_an_archive_that_is_cut_at_twenty_places(dump: Path, tmp_path: Path) -> None:
    content = (dump / "mbdump.tar.bz2").read_bytes()
    out, source = tmp_path / "index", tmp_path / "mbdump.tar.bz2"
    out.write_bytes(OLD_INDEX)
    for place in range(20):
        source.write_bytes(content[: len(content) * place // 20])
        with pytest.raises(IndexFileError, match="fetch it again"):
            build(source, out)
        assert out.read_bytes() == OLD_INDEX
        assert {*tmp_path.iterdir()} == {out, source}


@pytest.mark.parametrize("tenths", [2, 4, 5, 6, 7, 8])
def test_a_disk_that_becomes_full(dump: Path, tmp_path: Path, built: Path, tenths: int) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    started = time.monotonic()
    subprocess.run(
        [*CANON, str(dump), f"--out={tmp_path / 'timed'}"], check=True, capture_output=True
    )
    after_s = (time.monotonic() - started) * tenths / 10
    folder = tmp_path / "small"
    folder.mkdir()
    call = ["unshare", "-rm", sys.executable, "-c", FILL, str(folder), str(after_s), *CANON]
    ran = subprocess.run([*call, str(dump)], check=True, capture_output=True, text=True)
    status, is_old, names, words = ran.stdout.splitlines()[-1].split(" ", 3)
    if status == "0":
        pytest.skip("the build was faster than the disk was filled")
    assert (status, is_old, names) == ("1", "True", "['index']"), ran.stdout
    assert "there is no space left in" in words


def test_processes_read_while_a_build_replaces_the_file(
    dump: Path, built: Path, tmp_path: Path
) -> None:
    path, stop = tmp_path / "index", tmp_path / "stop"
    shutil.copy(built, path)
    rows = (dump / "mbdump" / "recording").read_text(encoding="utf-8").splitlines()[:100]
    ids = [row.split("\t")[1] for row in rows]
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READ, str(path), str(stop), *ids],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for _ in range(3):
        build(dump, path)
    stop.touch()
    for reader in readers:
        out, err = reader.communicate(timeout=60)
        assert reader.returncode == 0, err
        assert int(out) > 1_000
