"""What is shown while a command works: progress, a model's run, and the answer to signals."""

import io
import logging
import os
import pty
import signal
import sys
import termios
import time
from collections import Counter
from pathlib import Path

import click
import pytest

from chart_binder.cli.output import rate_text, set_up_logging
from chart_binder.cli.progress import Progress, bar_line, end_line, stage_line
from chart_binder.cli.run_events import LiveRun
from chart_binder.cli.terminal import stop_after_current
from chart_binder.config import LogConfig
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.llm.events import ResultEvent, StartEvent
from chart_binder.musicbrainz.server import MusicBrainzServer
from chart_binder.react.transcript import ObservationEvent, ReplyEvent

REPLY = "Thought: hm\nAction: x"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tally(files: int, **counts: int) -> BatchTally:
    return BatchTally(files=files, worked=files, states=Counter(counts))


@pytest.mark.parametrize(
    ("width", "total", "shown"),
    [
        (1, 0, "12,345 files"),
        (300, 0, "12,345 files, "),
        (1, 100_000, "12,345 of 100,000 files"),
        (23, 100_000, "12,345 of 100,000 files"),
        (300, 100_000, "[###---------------------------] 12,345 of 100,000 files, "),
    ],
)
def test_a_bar_fits_its_terminal_and_always_counts_the_files(
    width: int, total: int, shown: str
) -> None:
    line = bar_line(tally(12_345, error=3, review=12, undecided=4_000), total, 9.0, width)
    assert len(line) <= max(width, len(shown))
    assert line.startswith(shown)
    assert line.endswith("3 error, 12 review, 4,000 undecided") == (width == 300)


def test_a_wide_bar_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MusicBrainzServer, "sent_by_all", 0)
    state = tally(50, error=3, review=2, undecided=1)
    state.started -= 36_000
    assert bar_line(state, 100, 36_000.0, 96) == (
        "[############------------] 50 of 100 files, about 10 h left, 5/h, 3 error,"
        " 2 review, 1 undecided"
    )
    assert bar_line(None, 100, 7.2, 40) == "[------------------] 0 of 100 files, 7 s"
    assert bar_line(None, 0, 7.2, 40) == "0 files, 7 s"


@pytest.mark.parametrize(
    ("rate", "shown"),
    [(1234.56, "1,234.6/s"), (1.0, "1.0/s"), (0.5, "30/min"), (0.01, "36/h"), (0, "0/h")],
)
def test_a_rate_has_a_unit_in_which_it_is_at_least_one(rate: float, shown: str) -> None:
    assert rate_text(rate) == shown


@pytest.mark.parametrize(
    ("worked", "resumed", "total", "seconds", "has_estimate"),
    [
        (0, 90, 100, 60, False), (1, 0, 7, 60, False), (3, 0, 7, 60, True), (3, 0, 7, 2, False),
        (29, 0, 100_000, 60, False), (30, 0, 100_000, 60, True),
    ],
)  # fmt: skip
def test_the_time_left_is_estimated_once_enough_files_were_worked_on(
    worked: int, resumed: int, total: int, seconds: float, has_estimate: bool
) -> None:
    state = BatchTally(files=worked + resumed, worked=worked, resumed=resumed)
    state.started -= seconds
    assert ("left" in bar_line(state, total, seconds, 99)) == has_estimate


@pytest.mark.parametrize(("stage", "line"), [
    (("load tables", 0, 409, "MB", 0.5), "load tables, 0 of 409 MB, 0.5 s"),
    (("load tables", 100, 400, "MB", 4), "load tables, 100 of 400 MB, 25.0 MB/s, about 12 s left"),
    (("unpack", 6, 60, "MB", 4), "unpack, 6 of 60 MB, 1.5 MB/s, about 36 s left"),
    (("write title", 4e6, 4e6, "rows", 80), "write title, 4,000,000 of 4,000,000 rows, 1 min 20 s"),
    (("join tracks", 25, 100, "%", 3), "join tracks, 25 %, about 9.0 s left"),
    (("check pages", 0, 0, "", 61), "check pages, 1 min 1 s"),
])  # fmt: skip
def test_a_stage_shows_rate_and_time_left(
    stage: tuple[str, float, float, str, float], line: str
) -> None:
    assert stage_line(*stage) == line


@pytest.mark.parametrize(("stage", "line"), [
    (("load tables", 409, "MB", 10), "load tables: 409 MB in 10 s, 40.9 MB/s"),
    (("join tracks", 100, "%", 61), "join tracks: 1 min 1 s"),
    (("check pages", 0, "", 3), "check pages: 3.0 s"),
])  # fmt: skip
def test_the_end_of_a_stage_shows_its_rate(stage: tuple[str, float, str, float], line: str) -> None:
    assert end_line(*stage) == line


def test_a_message_stands_above_the_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A line of the log, too, which is wrapped as any other."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setenv("COLUMNS", "60")
    set_up_logging(LogConfig(), 0)
    with Progress([tmp_path]) as bar:
        bar.show(tally(5))
        click.echo("canon: something", err=True)
        click.echo("canon: more", err=True)
        sys.stderr.write("and more\n")
        bar.show(tally(6))
        logging.getLogger("chart_binder").warning("a word " * 20)
    assert sys.stderr is terminal
    lines = terminal.getvalue().split("\n")
    assert lines[0].endswith("\rcanon: something")
    assert "5 files" in lines[0]
    assert lines[1:3] == ["canon: more", "and more"]
    bar_shown, _, logged = lines[3].rpartition("\r")
    assert "6 files" in bar_shown
    assert "warning" in logged
    assert max(map(len, [logged, *lines[4:]])) <= 60
    assert " ".join(lines[4:]).count("a word") > 10


@pytest.mark.parametrize("width", [20, 60, 120])
def test_a_real_terminal_shows_the_bar_on_one_line_and_nothing_of_it_afterwards(
    width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, width))
    with os.fdopen(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress([tmp_path]) as bar:
            bar.show(tally(1_234_567, error=3, review=12, undecided=4))
        drawn = ""
        while drawn.count("\r") < 3:  # they come when the system is ready to hand them over
            drawn += os.read(seen, 10_000).decode()
    os.close(seen)
    first, _, rest = drawn.removeprefix("\r").partition("\r")
    assert len(first) == width - 1
    assert ("3 error" in first) == (width >= 60)
    assert rest == " " * (width - 1) + "\r"


def test_the_bar_moves_while_nothing_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It begins after a second where little is to be done, and counts the requests."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(MusicBrainzServer, "sent_by_all", 12)
    with Progress([tmp_path], after_s=0.5) as bar:
        bar.update()
        assert terminal.getvalue() == ""
        while "12 requests, 1 s" not in terminal.getvalue():
            time.sleep(0.05)
        with bar.hidden():
            assert terminal.getvalue().endswith("\r")
            shown = terminal.getvalue()
            time.sleep(1.2)
            assert terminal.getvalue() == shown


def test_without_a_terminal_lines_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with Progress([tmp_path]) as lines:
        lines.show(tally(5))
        lines.shown_at -= 11  # as if so many seconds had gone by
        lines.update()
    assert capsys.readouterr().err.startswith("canon: 5 files, ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_to_stop_and_the_second_interrupts(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_after_current() as stop:
        found = [stop.is_set()]
        os.kill(os.getpid(), number)
        found.append(stop.is_set())
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert found == [False, True]
    assert signal.getsignal(number) is before


def shown(capsys: pytest.CaptureFixture[str], *happened: object) -> str:
    """Return what is printed of pieces of replies and of events, in order."""
    live = LiveRun()
    for each in happened:
        if isinstance(each, str):
            live.on_token(each)
        else:
            live.on_event(each)  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert not out
    return err


WHOLE = ReplyEvent(REPLY, 1, thinking="secretly", completion_tokens=9, seconds=2.1)
SHOWN: dict[str, tuple[list[object], str]] = {
    "a piece at once": (["Thought: h"], "--- turn 1: reply\nThought: h"),
    "not twice": (
        ["Thought: hm\nAct", "ion: x", WHOLE],
        (
            f"--- turn 1: reply\n{REPLY}\n"
            "--- turn 1: end of reply (2.1 s, 9 tokens)\n(thinking) secretly\n"
        ),
    ),
    "whole": ([ReplyEvent(REPLY, 1)], f"--- turn 1: reply (0.0 s)\n{REPLY}\n"),
    "whole, after a part": (
        ["Thought", ReplyEvent(REPLY, 1)],
        f"--- turn 1: reply\nThought\n--- turn 1: reply (0.0 s)\n{REPLY}\n",
    ),
    "broken off": (
        ["Thought", ResultEvent({"outcome": "error", "problem": "the server went away"})],
        "--- turn 1: reply\nThought\n=== error: the server went away\n",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_reply_is_shown_once(capsys: pytest.CaptureFixture[str], name: str) -> None:
    happened, printed = SHOWN[name]
    assert shown(capsys, *happened) == printed


def test_turns_are_counted_anew_in_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    turn = ("a", ReplyEvent("a", 1), ObservationEvent("b", 1), "c", ReplyEvent("c", 2))
    text = shown(capsys, StartEvent(id="1"), *turn, StartEvent(id="2"), *turn)
    heads = [line for line in text.splitlines() if line.endswith(": reply")]
    assert heads == ["--- turn 1: reply", "--- turn 2: reply"] * 2


def test_control_characters_of_a_model_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    bidirectional = map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
    characters = "".join(("\x1b\x07\x9b\r", *bidirectional))
    replaced = "\ufffd" * len(characters)
    text = shown(capsys, *characters, ReplyEvent(characters, 1), ObservationEvent(characters, 1))
    assert [line for line in text.splitlines() if "\ufffd" in line] == [replaced] * 2
    assert not set(characters) & set(text)
