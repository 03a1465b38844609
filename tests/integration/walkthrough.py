"""The way from a sampler to a written and undone album: `python tests/integration/walkthrough.py`.

Writes what the commands print into docs/walkthrough.md; a test holds the page to it.
"""

import fcntl
import os
import pty
import re
import shlex
import struct
import sys
import tempfile
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.bundles import Bundle
from integration.forked import Forking, forking
from integration.sampler import BUNDLES, TITLE, sampler_files
from integration.services import asking
from servers.musicbrainz import MusicBrainzStandIn

PAGE = Path(__file__).parents[2] / "docs" / "walkthrough.md"
BEFORE, AFTER = "<!-- printed -->\n", "<!-- /printed -->\n"
WHOLE = (0, 0)
STEPS = (
    ("Decide. Nothing is written to the files; what MusicBrainz says is stored.",
     f'canon decide "{TITLE}"', (14, 6)),
    ("All of them in a list.",
     "canon ls", WHOLE),
    ("One of them: why this, and why no other?",
     f'canon explain "{TITLE}/03 Song 3.flac"', WHOLE),
    ("Why is this one open?",
     f'canon explain "{TITLE}/09 Song 9.flac"', (14, 0)),
    ("What would change in the tags? The album stays an album.",
     f'canon write "{TITLE}"', WHOLE),
    ("Write it.",
     f'canon write "{TITLE}" --apply', WHOLE),
    ("Do the files hold what was written?",
     f'canon verify "{TITLE}"', WHOLE),
    ("What waits for you?",
     "canon review list", WHOLE),
    ("Take it back: the files are what they were, byte for byte.",
     "canon undo", WHOLE),
)  # fmt: skip
"""What each step is for, its command, and how many lines are shown from its start and its end."""


def printed(work: Path, environment: dict[str, str], forked: Forking) -> Iterator[str]:
    """Yield the lines of the page: each command with what it printed on a terminal."""
    files = sampler_files(work / TITLE, "flac")
    before = [file.read_bytes() for file in files]
    for about, command, (first, last) in STEPS:
        status, lines = run_on_terminal(shlex.split(command)[1:], work, environment, forked)
        if first or last:
            lines[first : len(lines) - last] = ["..."]
        yield from (about, "", "```console", f"$ {command}", *lines, "```", "")
        yield from (f"Exit status {status}.", "") if status else ()
    assert [file.read_bytes() for file in files] == before


def run_on_terminal(
    words: list[str], work: Path, environment: dict[str, str], forked: Forking, columns: int = 90
) -> tuple[int, list[str]]:
    """Run `canon` on a terminal; return its exit status and what stood there."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(_all_from, leader)
        terminal = Path(os.ttyname(follower))
        streams = (Path(os.devnull), terminal, terminal)
        status = forked(words, streams, work, environment | {"TERM": "dumb"})
        os.close(follower)
    os.close(leader)
    lines = reading.result().decode().split("\n")[:-1]
    return status, [line.rpartition("\r")[2] for line in lines]  # what replaced a progress bar


def _all_from(leader: int) -> bytes:
    pieces = []
    with suppress(OSError):  # the terminal is closed when the program ends
        while piece := os.read(leader, 65536):
            pieces.append(piece)
    return b"".join(pieces).replace(b"\r\n", b"\n")


def in_words(text: str, place: Path) -> str:
    """Return printed text with what differs from run to run alike: places, ids, times, seconds."""
    text = text.replace(str(place), "/home/you")
    for pattern, word in (
        (r"\b01[0-9a-hjkmnp-tv-z]{18}\b", "01m8a0example0000000"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: UTC)?", "2026-11-23 10:30"),
        (r"127\.0\.0\.1:\d+", "musicbrainz.org"),
        (r"\b\d+(?:\.\d)? s\b(?:, [\d.]+/(?:s|min))?", "0.5 s"),
        (r" +\n", "\n"),
    ):
        text = re.sub(pattern, word, text)
    return text


@contextmanager
def sampler_home(
    environment: dict[str, str], *more: Bundle
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield a home folder with a folder `Music`, and the environment of a program that uses them.

    Its path has the same length wherever this runs, for lines are wrapped.
    """
    with (
        tempfile.TemporaryDirectory(dir="/tmp", prefix="canon-") as folder,
        MusicBrainzStandIn([*BUNDLES, *more]) as mb,
    ):
        place = Path(folder)
        (place / "Music").mkdir()
        homes = {f"XDG_{name}_HOME": f"{folder}/{name.lower()}" for name in ("DATA", "CONFIG")}
        settings = environment | asking(mb) | homes | {"HOME": folder}
        yield place, settings


def page(environment: dict[str, str], forked: Forking) -> str:
    """Return what the commands print, run in a home folder of their own."""
    with sampler_home(environment) as (place, settings):
        lines = [*printed(place / "Music", settings, forked)]
    return in_words("".join(f"{line}\n" for line in lines), place)


def main() -> None:
    """Write the page."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    head, _, rest = PAGE.read_text("utf-8").partition(BEFORE)
    tail = rest.partition(AFTER)[2]
    with forking() as forked:
        shown = page(environment, forked)
    PAGE.write_text(f"{head}{BEFORE}{shown}{AFTER}{tail}", "utf-8")


if __name__ == "__main__":
    main()
