"""What docs/batch.md and docs/automation.md show is so: commands, programs and recipes are run."""

import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from docs.pages import blocks, page
from golden.bundles import golden, year_only_single
from integration import compilation
from integration.compilation import TITLE, compilation_files
from integration.conftest import Canon
from integration.services import asking, file_of, flac
from servers.musicbrainz import MusicBrainzStandIn

NAME, PROGRAMS = "docs/batch.md", "docs/automation.md"
PAGE = page(NAME) + page(PROGRAMS)
BUNDLES = [golden("lead-hanae"), golden("s90-aiko"), year_only_single()]
_DIFFERS = re.compile(  # a rate is told of what takes a while alone
    r", [\d.]+/(?:s|min|h)$|\(\S*\d:\d+\)|\(musicbrainz.org\)|\(….…:…\)|01[0-9a-z]{18}"
    r"|[\d.,:-]*\d| +"
)


def shown(name: str) -> list[str]:
    """Return the lines of an output on the page, with what differs from run to run alike."""
    return alike(PAGE.partition(f"<!-- {name} -->\n```text\n")[2].partition("```")[0])


def alike(text: str) -> list[str]:
    return [_DIFFERS.sub("~", line).strip("~") for line in text.splitlines()]


@pytest.fixture
def music(home: Path) -> Path:
    """A library of four files: two that rules decide, one left open, one that nobody knows."""
    folder = home / "Music"
    folder.mkdir()
    for number, bundle in enumerate(BUNDLES):
        file_of(bundle, folder, f"{number:02}.flac")
    flac(folder, "03.flac", recording="00000000-0000-4000-8000-000000000000")
    return folder


@pytest.fixture
def library(home: Path) -> None:
    """A compilation of ten tracks, two of them left open, and a file that nobody knows."""
    folder = home / "work" / "music"
    compilation_files(folder / TITLE, "flac")
    (folder / "Unsorted").mkdir()
    flac(folder / "Unsorted", "01.flac", recording="00000000-0000-4000-8000-000000000000")


@pytest.fixture
def bare(home: Path) -> dict[str, str]:
    """What cron or systemd gives a program, with `canon` where pipx puts it."""
    program = home / ".local" / "bin" / "canon"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m chart_binder "$@"\n')
    program.chmod(0o755)
    return {"HOME": str(home), "PATH": f"{program.parent}:/usr/bin:/bin", "SHELL": "/bin/sh"}


@pytest.mark.usefixtures("library")
def test_every_command_of_the_page_prints_what_it_shows(canon: Canon, home: Path) -> None:
    with MusicBrainzStandIn(compilation.BUNDLES) as mb:
        settings = asking(mb) | {"COLUMNS": "100"}
        summary = canon("batch", "music", "--write", **settings)
        last = summary.err.splitlines()[-1]
        assert alike(summary.out + last) == shown("summary")
        whole = canon("runs", "show", **settings).out.replace(str(home / "work"), "/home/you")
        for line in filter(None, blocks(NAME, "sh")[0].splitlines()):
            words = shlex.split(line.replace("~/Music", "music"), comments=True)
            ran = canon(*words[1:], **settings)
            needs_model = "--ask-years" in words and "--ask-years needs a model" in ran.err
            assert ran.status in (0, 1, 3) or needs_model, (line, ran.err)
    lines = alike(whole)
    places = [lines.index(line) for line in shown("show") if line != "..."]
    assert places == sorted(places)


def test_pipelines_are_answered(
    canon: Canon, music: Path, home: Path, bare: dict[str, str]
) -> None:
    shutil.copy(music / "00.flac", home / "work" / "song.flac")
    printing, _, command = blocks(PROGRAMS, "sh")[0].strip().rpartition(" | ")
    lines = subprocess.run(["sh", "-c", printing], check=True, capture_output=True).stdout
    lines += b'{"id": "c", "bundle": {"artist": {}}}\n'
    python = next(code for code in blocks(PROGRAMS, "python") if "Popen" in code)
    with MusicBrainzStandIn(BUNDLES) as mb:
        piped = canon(*command.split()[1:], stdin=lines, **asking(mb))
        asked = subprocess.run(
            [sys.executable, "-c", python],
            env=bare | asking(mb), cwd=home / "work", check=True, timeout=60, capture_output=True,
        )  # fmt: skip
    told = {line["id"]: line["state"] for line in piped.lines}
    assert told == {"a": "decided", "b": "error", "c": "error"}, piped.err
    assert "failures       1 cannot be read, 1 with an ill-formed bundle" in piped.err
    assert asked.stdout.decode() == "0 decided None\n1 error file\n"


def test_the_program_of_the_page_runs(
    music: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = next(code for code in blocks(PROGRAMS, "python") if "run_batch" in code)
    monkeypatch.chdir(home)
    for name in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name))
    with MusicBrainzStandIn(BUNDLES) as mb:
        for name, value in asking(mb).items():
            monkeypatch.setenv(name, value)
        exec(compile(code.replace("/srv/music", str(music)), "example", "exec"), {})
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 6  # a line a file, one for what is unmatched, and the result
    assert any("03.flac nothing_found" in line for line in out)
    assert out[-1].startswith("3 None {'musicbrainz_requests': ")


def test_the_units_of_the_page_decide_at_night(canon: Canon, music: Path, home: Path) -> None:
    unit = ConfigParser(interpolation=None, strict=True)
    unit.read_string(blocks(PROGRAMS, "ini")[0])
    program, *words = shlex.split(unit["Service"]["ExecStart"].replace("%h", str(home)))
    assert Path(program).name == "canon"
    (music / "03.flac").unlink()
    done = canon(*words, knowing=BUNDLES)
    assert "decided        2\n" in done.out
    assert str(done.status) in unit["Service"]["SuccessExitStatus"].split()


@pytest.mark.skipif(not shutil.which("flock"), reason="flock, of util-linux, is not here")
def test_the_line_for_cron_decides(music: Path, home: Path, bare: dict[str, str]) -> None:
    (line,) = re.findall(r"^\d+ \d+ \* \* \* (.*)$", PAGE, re.MULTILINE)
    assert "%" not in line  # cron would end the command there
    (music / "00.flac").rename(music / "nächtlich ♪.flac")
    (home / ".config" / "canon").mkdir(parents=True)
    with MusicBrainzStandIn(BUNDLES) as mb:
        (home / ".config" / "canon" / "config.toml").write_text(
            f'[musicbrainz]\nhostname = "{mb.hostname}"\nhttps = false\nrate_limit_per_s = 0\n'
        )
        done = subprocess.run(["/bin/sh", "-c", line], env=bare, cwd=home, check=False, timeout=60)
    said = (home / "canon.log").read_text("utf-8")
    assert done.returncode == 3, said  # one file is known to nobody
    assert "decided        2\n" in said
    assert "Traceback" not in said
