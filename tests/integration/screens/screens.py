"""The screens that are seen most: `python tests/integration/screens/screens.py` writes them.

Each is what a command prints at 80 columns, or as many as its name ends with, in a file NAME.txt
beside this one.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from mutagen.flac import FLAC

from golden.bundles import year_only_single
from integration.forked import Forking, forking
from integration.sampler import TITLE, mbid, sampler_files
from integration.services import file_of, final, flac, replaying
from integration.terminal import walking
from integration.walkthrough import in_words, run_on_terminal, sampler_home

FOLDER = Path(__file__).parent
COLUMNS = 80
_CERTAIN, _OPEN = f"{TITLE}/03 Song 3.flac", f"{TITLE}/09 Song 9.flac"
_PROPOSED = "proposed.flac"
_GROUP = mbid("group Rumours")
_REASON = ("--reason", "the sleeve says so")
_STEPS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("help", 0, ("--help",)),
    ("review_nothing", 0, ("review", "list")),
    ("demo", 0, ("demo",)),
    ("decide_decided", 0, ("decide", _CERTAIN)),
    ("decide_undecided", 3, ("decide", _OPEN)),
    ("decide_unmatched", 3, ("decide", "unmatched.flac")),
    ("decide_unreadable", 3, ("decide", "unreadable.mp3")),
    ("decide_failed", 1, ("decide", "failed.flac")),
    ("batch_summary", 3, ("batch", TITLE)),
    ("batch_60", 3, ("batch", TITLE)),
    ("batch_120", 3, ("batch", TITLE)),
    ("explain", 0, ("explain", _CERTAIN)),
    ("write_diff", 3, ("write", TITLE)),
    ("write_apply", 3, ("write", TITLE, "--apply")),
    ("verify", 0, ("verify", TITLE)),
    ("review_list", 3, ("review", "list")),
    ("review_list_60", 3, ("review", "list")),
    ("review_list_120", 3, ("review", "list")),
    ("review_list_pipe", 3, ("review", "list")),
    ("review_show", 3, ("review", "show", _OPEN)),
    ("review_show_60", 3, ("review", "show", _OPEN)),
    ("review_show_120", 3, ("review", "show", _OPEN)),
    ("review_show_pipe", 3, ("review", "show", _OPEN)),
    ("review_absent_pipe", 1, ("review", "show", "absent.flac")),
    ("review_accept_pipe", 1, ("review", "accept", _OPEN)),
    ("review_walk", 3, ("review", "walk")),
    ("review_walk_pipe", 2, ("review", "walk")),
    ("ls", 0, ("ls",)),
    ("ls_60", 0, ("ls",)),
    ("ls_120", 0, ("ls",)),
    ("ls_reasons", 0, ("ls", "-v", "--limit=3")),
    ("ls_nothing", 0, ("ls", "artist:nobody else")),
    ("runs_show", 0, ("runs", "show")),
    ("undo_changed_since", 3, ("undo", "--dry-run")),
    ("undo", 3, ("undo",)),
    ("drift", 0, ("drift", TITLE)),
    ("doctor", 0, ("doctor",)),
    ("override_set", 0, ("override", "set", _CERTAIN, "--crg", _GROUP, *_REASON)),
    ("override_list", 0, ("override", "list")),
    ("review_choose", 0, ("review", "choose", _OPEN, "C1")),
    ("config_path", 0, ("config", "path")),
    ("config_error", 2, ("--config", "bad.toml", "decide", _CERTAIN)),
    ("mistyped", 2, ("decied", _CERTAIN)),
    ("review_glance", 3, ("review", "walk", _PROPOSED)),
    ("review_glance_60", 3, ("review", "walk", _PROPOSED)),
    ("review_glance_120", 3, ("review", "walk", _PROPOSED)),
)
"""Each screen's name, its exit status, and the words after `canon`, in the order they are run.

A walk is on a terminal of 24 lines; a name that ends with `pipe` is of a call without a terminal.
"""
_CLOSED = {
    "decide_failed": {"CANON_MUSICBRAINZ__HOSTNAME": "localhost:9"},
    "doctor": {
        "CANON_LLM__BASE_URL": "http://localhost:9",
        "CANON_LLM__SEARXNG__URL": "http://localhost:9",
    },
}
"""The services that a screen shows as out of reach: nothing listens at their port."""
NAMES = tuple(name for name, _, _ in _STEPS)


def columns_of(name: str) -> int:
    """Return how wide the terminal of a screen is: as its name ends, or 80 columns."""
    end = name.rpartition("_")[2]
    if end == "pipe":
        return sys.maxsize
    return int(end) if end.isdigit() else COLUMNS


def screens(environment: dict[str, str], forked: Forking) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each screen, run one after the other in a home of their own."""
    with sampler_home(environment, year_only_single()) as (place, settings):
        work = place / "Music"
        _fill(work)
        for name, expected, words in _STEPS:
            if name == "undo_changed_since":
                _change(work / _CERTAIN)
            if name == "review_glance":
                _propose(work, place, settings, forked)
            more = _CLOSED.get(name, {})
            if name.endswith("pipe"):
                status, lines = _in_pipe([*words], work, settings, forked)
            elif "walk" in words:
                status, lines = _walk(place, settings, words, columns_of(name))
            else:
                status, lines = run_on_terminal(
                    [*words], work, settings | more, forked, columns_of(name)
                )
            printed = "\n".join([f"$ canon {' '.join(words)}", *lines])
            assert status == expected, f"exit status {status}, not {expected}:\n{printed}"
            yield name, in_words(f"{printed}\n", place)


def _fill(work: Path) -> None:
    """Make the files that the screens are about."""
    sampler_files(work / TITLE, "flac")
    flac(work, "unmatched.flac", title="Nowhere", artist="Nobody")
    (work / "unreadable.mp3").write_text("This is text.\n" * 100)
    flac(work, "failed.flac", title="Elsewhere", artist="Somebody")
    (work / "bad.toml").write_text("[batch]\njobs = 'many'\n")


def _propose(work: Path, place: Path, settings: dict[str, str], forked: Forking) -> None:
    """Make a file for which a model proposes a release group."""
    file_of(year_only_single(), work, _PROPOSED, artist="Queen")
    model = replaying(place, final(confidence=0.7))
    run_on_terminal(["decide", _PROPOSED], work, settings | model, forked)


def _in_pipe(
    words: list[str], work: Path, settings: dict[str, str], forked: Forking
) -> tuple[int, list[str]]:
    """Run `canon` with its output in files; return its exit status and what stands there."""
    streams = tuple(work.with_name(name) for name in ("input", "output", "errors"))
    for file in streams:
        file.write_bytes(b"")
    status = forked(words, streams, work, settings)
    return status, [line for file in streams for line in file.read_text("utf-8").splitlines()]


def _walk(
    place: Path, settings: dict[str, str], words: tuple[str, ...], columns: int
) -> tuple[int, list[str]]:
    """Show the first case and leave."""
    with walking(place, settings, *words, folder="Music", columns=columns, rows=24) as terminal:
        printed = terminal.until("? keys")
        terminal.press(("q", ""))
        return terminal.ended(), printed.splitlines()


def _change(file: Path) -> None:
    """Change what was written to a file, as another tagger does."""
    audio = FLAC(file)
    audio["ORIGINALDATE"], audio["COMMENT"] = ["1978"], ["played"]
    audio.save()


def main() -> None:
    """Write the files."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with forking() as forked:
        for name, text in screens(environment, forked):
            (FOLDER / f"{name}.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
