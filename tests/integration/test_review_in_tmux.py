"""`canon review --interactive` in tmux, 24 lines of 80 columns: forty cases by keys alone."""

import os
import re
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.verdict import Open
from chart_binder.domain.vocabulary import MBID
from chart_binder.rules.decide import decide
from golden.bundles import CASES, Bundle, year_only_single
from integration.conftest import Canon
from integration.services import ALBUM, SINGLE, file_of, final, open_bundles, replaying

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed"),
]
COLUMNS, LINES, CASES_SHOWN = 80, 24, 40
_ROW = re.compile(r"^[> ] C\d+ ", re.MULTILINE)


class Tmux:
    """A program in a window of tmux, which somebody sees and types into."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def run(self, *words: str) -> str:
        """Run a command of tmux."""
        call = ["tmux", "-S", str(self.socket), *words]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout

    def screen(self) -> str:
        """Return what is seen now."""
        return self.run("capture-pane", "-p").rstrip()

    def until(self, text: str, below: str = "") -> str:
        """Wait until the text is seen, wherever its lines end; return the screen.

        Text above the last `below` does not count.
        """
        deadline = time.monotonic() + 30
        while text not in " ".join((screen := self.screen()).rpartition(below or "\0")[2].split()):
            assert time.monotonic() < deadline, f"no {text!r} in:\n{screen}"
            time.sleep(0.02)
        return screen

    def key(self, key: str) -> None:
        """Press a key, or paste a text, once the program waits for one."""
        leader = os.open(self.run("display", "-p", "#{pane_tty}").strip(), os.O_RDWR | os.O_NOCTTY)
        deadline = time.monotonic() + 30
        while termios.tcgetattr(leader)[3] & termios.ICANON:
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.01)
        os.close(leader)
        self.run("send-keys", "-l", key)

    def line(self, text: str) -> None:
        """Type a line."""
        self.run("send-keys", "-l", text)
        self.run("send-keys", "Enter")

    def resize(self, columns: int, lines: int) -> None:
        self.run("resize-window", "-x", str(columns), "-y", str(lines))


@contextmanager
def reviewing(home: Path, environment: dict[str, str]) -> Iterator[Tmux]:
    """Run the review in a window of its own."""
    tmux = Tmux(home / "tmux")
    program = f"{sys.executable} -m chart_binder review --interactive; echo status $?; sleep 60"
    settings = {"NO_COLOR": "1", "TERM": "xterm"} | environment
    subprocess.run(
        ["tmux", "-S", str(tmux.socket), "-f", os.devnull, "new-session", "-d",
         "-x", str(COLUMNS), "-y", str(LINES), program],
        env=settings, cwd=home, check=True,
    )  # fmt: skip
    tmux.run("set", "-g", "status", "off")
    tmux.resize(COLUMNS, LINES)
    try:
        yield tmux
    finally:
        tmux.run("kill-server")


def _golden_open() -> list[tuple[str, Bundle]]:
    """Return the golden cases that the rules leave open, by name."""
    rules = RulesConfig()
    return [
        (name, case["bundle"])
        for name, case in CASES.items()
        if all(MBID.fullmatch(one["mb_recording_id"])
               for one in case["bundle"]["recording_candidates"])
        and isinstance(decide(read_bundle(case["bundle"]), rules), Open)
    ]  # fmt: skip


@pytest.fixture
def forty(canon: Canon, home: Path) -> dict[str, int]:
    """Forty cases that wait: the number of candidates of each, by the name of its file."""
    named = _golden_open()
    files = [file_of(bundle, home, f"{name}.flac") for name, bundle in named]
    canon("decide", *files, knowing=[bundle for _, bundle in named]).must_end(3)
    wanted = CASES_SHOWN - 1 - len(canon("review", "list", "--output=json").lines)
    bundles = open_bundles(wanted)
    files = [file_of(one, home, f"open {number}.flac") for number, one in enumerate(bundles)]
    canon("decide", *files, knowing=bundles).must_end(3)
    proposed = file_of(year_only_single(), home, "proposed.flac")
    canon(
        "decide", proposed, knowing=[year_only_single()], **replaying(home, final(confidence=0.7))
    ).must_end(3)
    paths = [Path(line["path"]) for line in canon("review", "list", "--output=json").lines]
    assert len(paths) == CASES_SHOWN
    return {
        path.name: len(canon("review", "show", path, "--output=json").line["candidates"])
        for path in paths
    }


class Reviewer:
    """Somebody who looks at every case before they press a key."""

    def __init__(self, tmux: Tmux, candidates: dict[str, int], names: list[str]) -> None:
        self.tmux, self.candidates, self.names = tmux, candidates, names

    def see(self, number: int) -> str:
        """Return the case of this number, which shows what it needs and every candidate."""
        name = self.names[number - 1]
        self.tmux.until(f"--- {number} of {len(self.names)}: {name}")
        screen = self.tmux.until("? keys", below="--- ")
        shown = screen[screen.rindex("--- ") :]
        assert "Needs you: " in shown, screen
        assert len(_ROW.findall(shown)) >= min(self.candidates[name], 9), screen
        return shown

    def types(self, key: str, *lines: tuple[str, str]) -> None:
        """Press a key, and type lines, each after the words that ask for it."""
        self.tmux.key(key)
        for words, line in lines:
            self.tmux.until(words)
            self.tmux.line(line)

    def changes_their_mind(self, number: int) -> None:
        self.tmux.key("1")
        self.see(number + 1)
        self.tmux.key("u")
        self.see(number)
        self.tmux.key("1")

    def drags_the_window(self, number: int) -> None:
        for size in ((60, 20), (120, 40), (COLUMNS, LINES)):
            self.tmux.run("send-keys", "-R")
            self.tmux.resize(*size)
            shown = self.see(number)
            assert max(map(len, shown.splitlines())) <= size[0]
        self.tmux.key("s")

    def takes(self, number: int) -> None:
        """Do something else with each of the first cases, and keep the others."""
        match number:
            case 1:
                self.types("?")
                self.tmux.until("reject: the proposal is wrong")
                self.tmux.key("k")
            case 2:
                self.changes_their_mind(number)
            case 3:
                self.drags_the_window(number)
            case 4:
                self.types(
                    "r", ("what is wrong", "not this one"), ("which is right", "C99"),
                    ("C99: no such candidate", ""),
                )  # fmt: skip
            case 5:
                self.types("d", ("when it first came out", "1971-02-30"), ("not a date", "1971-02"))
            case _:
                self.tmux.key("k")


def test_forty_cases_by_keys_alone(
    canon: Canon, home: Path, environment: dict[str, str], forty: dict[str, int]
) -> None:
    names = [*forty]
    offline = environment | {"CANON_MUSICBRAINZ__OFFLINE": "true"}
    with reviewing(home, offline) as tmux:
        reviewer = Reviewer(tmux, forty, names)
        for number in range(1, 21):
            reviewer.see(number)
            reviewer.takes(number)
        tmux.until("--- 21 of 40")
        tmux.key("q")
        tmux.until("status 3")
    decided = canon("review", "show", home / names[3], "--output=json").line
    assert decided["verdict"]["reason"] == "not this one", "kept through an error"
    left = [names[2], *names[20:]]
    with reviewing(home, offline) as tmux:
        reviewer = Reviewer(tmux, forty, left)
        for number, name in enumerate(left, 1):
            shown = reviewer.see(number)
            if name == "proposed.flac":
                assert "a accept" in shown
                tmux.key("a")
            elif name.startswith("open") and number % 2:
                tmux.key(f"https://musicbrainz.org/release-group/{SINGLE}")
            else:
                tmux.key("k")
        tmux.until(f"the end of the queue: {len(left)} reviewed")
        tmux.key("q")
        tmux.until("status 0")
    assert canon("review", "list", "--output=json").lines == []
    kept = canon("override", "list", "--output=json").lines
    assert {SINGLE, ALBUM, None} <= {line["crg_mbid"] for line in kept}
    assert "1971-02" in [line["first_date"] for line in kept]
