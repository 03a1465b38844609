"""A bar is as wide as its terminal, and what is said meanwhile stands above it."""

import io
import os
import pty
import sys
import termios
from collections import Counter
from pathlib import Path

import click
import pytest

from chart_binder.cli.progress import bar_line, progress
from chart_binder.cli.render.run import rate_text
from chart_binder.jobs.batch.report import Tally


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tally(files: int, **counts: int) -> Tally:
    return Tally(files=files, worked=files, states=Counter(counts))


@pytest.mark.parametrize("width", [1, 20, 39, 59, 99, 300])
@pytest.mark.parametrize("total", [0, 100_000])
def test_a_line_is_never_wider_than_its_terminal(width: int, total: int) -> None:
    line = bar_line(tally(12_345, error=3, review=12, indeterminate=4_000), total, 9.0, width)
    assert len(line) <= width or line.startswith("12,345 ")
    assert line.endswith("12,345 files" if not total else "12,345 of 100,000 files") or width > 30


def test_a_wide_terminal_shows_all_of_it() -> None:
    state = tally(50, error=3, review=2, indeterminate=1)
    state.started -= 36_000
    line = bar_line(state, 100, 36_000.0, 99)
    assert line == (
        "[#############--------------] 50 of 100 files, about 10 h left, 5/h, 3 failed,"
        " 2 for review, 1 open"
    )
    assert bar_line(None, 100, 7.2, 40) == "[------------------] 0 of 100 files, 7 s"
    assert bar_line(None, 0, 7.2, 40) == "0 files, 7 s"


@pytest.mark.parametrize(
    ("rate", "told"),
    [(1234.56, "1,234.6/s"), (1.0, "1.0/s"), (0.5, "30/min"), (0.01, "36/h"), (0, "0/h")],
)
def test_a_rate_is_told_in_a_unit_that_shows_it(rate: float, told: str) -> None:
    assert rate_text(rate) == told


def test_what_is_settled_already_says_nothing_of_how_long_the_rest_takes() -> None:
    state = Tally(files=90, resumed=90)
    assert "left" not in bar_line(state, 100, 1.0, 99)


@pytest.mark.parametrize(
    ("worked", "total", "seconds", "is_told"),
    [
        (1, 7, 60, False),
        (3, 7, 60, True),
        (3, 7, 2, False),
        (29, 100_000, 60, False),
        (30, 100_000, 60, True),
    ],
)
def test_how_long_the_rest_takes_is_told_once_it_can_be_known(
    worked: int, total: int, seconds: float, is_told: bool
) -> None:
    state = tally(worked)
    state.started -= seconds
    assert ("left" in bar_line(state, total, seconds, 99)) == is_told


def test_a_message_stands_above_the_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress([tmp_path], is_all=True, is_drawn=True) as bar:
        bar.show(tally(5))
        click.echo("canon: something", err=True)
        click.echo("canon: more", err=True)
        sys.stderr.write("and more\n")
    assert sys.stderr is terminal
    lines = terminal.getvalue().split("\n")
    assert lines[0].endswith("\rcanon: something")
    assert lines[1:] == ["canon: more", "and more", ""]
    assert "5 files" in lines[0]


@pytest.mark.parametrize("width", [20, 60, 120])
def test_a_real_terminal_keeps_it_on_one_line(
    width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, width))
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with progress([tmp_path], is_all=True, is_drawn=True) as bar:
            bar.show(tally(1_234_567, error=3, review=12, indeterminate=4))
        drawn = ""
        while drawn.count("\r") < 3:  # they come when the system is ready to hand them over
            drawn += os.read(seen, 10_000).decode()
    os.close(seen)
    first, _, rest = drawn.removeprefix("\r").partition("\r")
    assert len(first) == width - 1
    assert ("failed" in first) == (width >= 60)
    assert rest == " " * (width - 1) + "\r", "nothing of it is left"


def test_without_a_terminal_nothing_is_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with progress([tmp_path], is_all=True, is_drawn=True) as bar:
        bar.show(tally(5))
        bar.last -= 11  # type: ignore[attr-defined]  # as if so many seconds had gone by
        bar.show()
    assert capsys.readouterr().err.startswith("canon: 5 files, ")
