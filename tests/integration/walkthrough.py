"""The pages that follow one user: `python tests/integration/walkthrough.py` runs their commands.

Each block of a page that begins with `$ canon` gets what that command prints, in their order; a
test holds the pages to it. Where a block has a line `...`, it keeps as many lines before and after
as it has.
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
from integration.compilation import BUNDLES, TITLE, compilation_files
from integration.forked import Forking, forking
from integration.services import RHAPSODY, asking, file_of
from servers.musicbrainz import MusicBrainzStandIn

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("quickstart", "walkthrough")
_BLOCK = re.compile(
    r"(?<=^```console\n)\$ (canon [^\n]*)\n(.*?)(?=^```$)", re.MULTILINE | re.DOTALL
)


def page(name: str, environment: dict[str, str], forked: Forking) -> str:
    """Return a page with what its commands print, run in a home folder of their own."""
    with compilation_home(environment, RHAPSODY["bundle"]) as (place, settings):
        work = place / "Music"
        files = _music(name, work)
        before = [file.read_bytes() for file in files]

        def printed(block: re.Match[str]) -> str:
            words = shlex.split(block[1])[1:]
            _, lines = run_on_terminal(words, work, settings, forked)
            shown = block[2].splitlines()
            if "..." in shown:
                first = shown.index("...")
                lines[first : len(lines) - (len(shown) - first - 1)] = ["..."]
            return in_words("\n".join((f"$ {block[1]}", *lines, "")), place)

        text = _BLOCK.sub(printed, (DOCS / f"{name}.md").read_text("utf-8"))
        assert [file.read_bytes() for file in files] == before, "the last command is `canon undo`"
    return text


def _music(name: str, folder: Path) -> list[Path]:
    if name == "walkthrough":
        return compilation_files(folder / TITLE, "flac")
    (folder / "Greatest Hits").mkdir()
    song = file_of(RHAPSODY["bundle"], folder / "Greatest Hits", "01 Bohemian Rhapsody.flac",
                   artist="Queen", album="Greatest Hits", date="1981")  # fmt: skip
    return [song]


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
def compilation_home(
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
        homes = {
            "XDG_DATA_HOME": f"{folder}/.local/share", "XDG_CONFIG_HOME": f"{folder}/.config"
        }  # fmt: skip
        settings = environment | asking(mb) | homes | {"HOME": folder}
        yield place, settings


def main() -> None:
    """Write the pages."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with forking() as forked:
        for name in PAGES:
            (DOCS / f"{name}.md").write_text(page(name, environment, forked), "utf-8")


if __name__ == "__main__":
    main()
