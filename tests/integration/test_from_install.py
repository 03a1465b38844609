"""A stranger's way: install, first look, configuration, an album decided, written and undone."""

import subprocess
import sys
from pathlib import Path

import pytest

from integration.compilation import TITLE, compilation_files
from integration.walkthrough import compilation_home

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
def test_an_album_is_written_checked_and_undone_by_a_fresh_install(tmp_path: Path) -> None:
    def run(words: list[str], status: int = 0, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    run([sys.executable, "-m", "venv", "fresh"])
    run(["fresh/bin/pip", "install", "--quiet", str(REPOSITORY)])
    with compilation_home({"PATH": "/usr/bin:/bin"}) as (place, environment):

        def canon(*words: str, status: int = 0) -> str:
            return run([f"{tmp_path}/fresh/bin/canon", *words], status, environment)

        files = compilation_files(place / "Music" / TITLE, "flac")
        before = [file.read_bytes() for file in files]
        album = str(files[0].parent)
        assert "Start with `canon demo`" in canon("--help")
        assert "next: canon decide FOLDER" in canon("demo")
        assert "next: canon decide FOLDER" in canon("init", "--yes")
        assert "does not exist" in canon("decide", f"{album}/nothing.flac", status=1)
        assert f"next: canon write '{album}'" in canon("decide", album, status=3)
        assert f"next: canon write '{album}' --apply" in canon("write", album, status=3)
        assert [file.read_bytes() for file in files] == before
        assert "to undo it: canon undo" in canon("write", album, "--apply", status=3)
        assert sum(file.read_bytes() != old for file, old in zip(files, before, strict=True)) == 8
        canon("verify", album)
        canon("undo")
        assert [file.read_bytes() for file in files] == before
