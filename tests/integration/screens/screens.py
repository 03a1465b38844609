"""The screens of all commands: `python tests/integration/screens/screens.py` writes them.

COMMAND.txt beside this file holds what its calls print, each below the call: what it is for, where
there is nothing, and the first mistake that a new user makes.
"""

import os
import re
import select
import shlex
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from mutagen.flac import FLAC

from chart_binder.cli.main import COMMANDS
from golden.bundles import year_only_single
from integration.compilation import COMPILATION_GROUP, TITLE, compilation_files
from integration.forked import Forking, forking
from integration.services import call, file_of, final, flac, replaying
from integration.terminal import walking
from integration.test_model_check import OPENAI, answering, well
from integration.walkthrough import compilation_home, in_words, run_on_terminal
from servers.openai import OpenAIStandIn

FOLDER = Path(__file__).parent
_GOLDEN = FOLDER.parents[1] / "golden" / "decisions.jsonl"
_PROPOSED = "proposed.flac"
_PLACES = {
    "title": TITLE,
    "certain": f"{TITLE}/03 Song 3.flac",
    "open": f"{TITLE}/09 Song 9.flac",
    "compilation": COMPILATION_GROUP,
    "no_musicbrainz": "CANON_MUSICBRAINZ__HOSTNAME=localhost:9",
    "no_model": "CANON_LLM__BASE_URL=http://localhost:9",
}
_EXAM = ["model", "check"]
_LONGEST = 12
"""Of what is long by nature so many lines are kept."""
_LONG = ("man", "completion bash", "config show", "config prompt", "tools list", "transcript show")
_PIPE = "pipe"

CALLS = """
0 80 --help
0 80 demo
2 80 demo song.flac

0 80 ls
0 80 review list
0 80 drift
0 80 runs list
1 80 runs show
0 80 override list
0 80 transcript list
0 80 audit --report
1 80 playlist
0 80 forget absent.flac
1 80 undo
3 80 write '{title}'
0 80 verify '{title}'
1 80 eval empty.jsonl
0 80 config path
0 80 decide Empty
0 80 explain Empty
0 80 batch Empty

0 60,80,120,pipe decide '{certain}'
3 60,80,120,pipe decide '{open}'
3 80 decide unmatched.flac
3 80 decide unreadable.mp3
1 80 {no_musicbrainz} decide failed.flac
1 80 decide absent.flac
2 80 decide
2 80 --config bad.toml decide '{certain}'
2 80 decied '{certain}'
0 80 explain '{certain}'
1 80 explain absent.flac
3 60,80,120,pipe batch '{title}'
2 80 batch
1 80 batch absent
3 60,80,120,pipe write '{title}'
3 80 write '{title}' --apply
1 80 write absent
2 80 write '{title}' --policy=ids
0 80 verify '{title}'
3 80 verify '{open}'
1 80 verify absent
3 60,80,120,pipe review list
3 60,80,120,pipe review show '{open}'
0 80 review show '{certain}'
1 80,pipe review show absent.flac
1 80 review accept '{open}'
3 80 review --interactive
2 pipe review --interactive
0 60,80,120,pipe ls
0 80 ls -v --limit=3
0 80 ls 'artist:nobody else'
2 80 ls year:soon
0 80 report --html page.html
2 80 report
0 80,pipe runs list --limit=2
0 80 runs show
1 80 runs show 01zzz
0 80 audit artist:rumours
0 80 audit --report
2 pipe audit
0 80 playlist decade:1970
0 80 playlist decade:1970 -o seventies.m3u8
2 80 playlist -o list.xspf
0 80 drift '{title}'
1 80 drift absent.flac
= change
3 80 verify '{certain}'
3 80 undo --dry-run
3 80 undo
1 80 undo absent
0 80 eval golden.jsonl
0 80 eval --dates list.csv
2 80 eval
0 80 override set '{certain}' --crg {compilation} --reason 'the sleeve says so'
0 80 override list
3 80 drift '{certain}'
0 80 override remove '{certain}' --dry-run
2 80 override set '{certain}'
1 80 override remove '{open}'
0 80 review choose '{open}' C1
= propose
3 60,80,120 review --interactive proposed.flac
3 80 review show proposed.flac
0 80 transcript list
0 80 transcript show proposed.flac
0 80 transcript parse reply.txt
1 80 transcript show absent.flac
0 80 forget proposed.flac --dry-run
0 80 forget proposed.flac
2 80 forget

0 80 {no_model} CANON_LLM__SEARXNG__URL=http://localhost:9 doctor
1 80 {no_musicbrainz} {no_model} CANON_LLM__SEARXNG__ENABLED=false doctor
0 80 model check
1 80 {no_model} model check
0 80 {no_model} init --yes --dry-run
2 80 init
0 80 index path
1 80 index show
0 80 config show
0 80 config prompt
0 80 config set musicbrainz.contact me@example.org
0 80 config path
2 80 config set musicbrains.contact me@example.org
0 80 tools list
2 80 tools run telepathy {{}}
0 80 completion bash
2 80 completion basch
0 80 man
2 80 man ls
"""
"""Exit status, columns of the terminal or `pipe`, variables, and the words after `canon`; or what
is done between two calls, of which each finds what those before it left.
"""


class Screen(NamedTuple):
    """A call, as wide as its terminal; in a pipe `columns` is 0."""

    status: int
    columns: int
    variables: dict[str, str]
    words: list[str]

    @property
    def shown_columns(self) -> int:
        """How wide its lines may be."""
        return self.columns or sys.maxsize

    @property
    def heading(self) -> str:
        """The call as a person types it, with where it is printed."""
        width = {80: "", 0: "  # in a pipe"}.get(self.columns, f"  # {self.columns} columns")
        set_to = "".join(f"{name}={value} " for name, value in self.variables.items())
        return f"$ {set_to}{shlex.join(['canon', *self.words])}{width}"

    @property
    def command(self) -> str:
        """The command, or `help` where none is called."""
        return next((word for word in self.words if word in COMMANDS), "help")


def read_calls() -> Iterator[Screen | str]:
    """Yield the screens in the order in which they are made, and the names of what is between."""
    for line in filter(None, CALLS.splitlines()):
        status, columns, *words = shlex.split(line.format(**_PLACES))
        if status == "=":
            yield columns
            continue
        count = next(at for at, word in enumerate([*words, ""]) if not word.startswith("CANON_"))
        variables = dict(word.split("=", 1) for word in words[:count])
        for width in columns.split(","):
            wide = 0 if width == _PIPE else int(width)
            yield Screen(int(status), wide, variables, words[count:])


def make_screens(environment: dict[str, str], forked: Forking) -> dict[str, str]:
    """Return the text of the file of each command; its calls run in one home, in their order."""
    printed: dict[str, list[str]] = {}
    with (
        compilation_home(environment, year_only_single()) as (place, settings),
        OpenAIStandIn(answering(well), models=({"id": "qwen3"},)) as model,
    ):
        work = place / "Music"
        _fill(work)
        exam = OPENAI | {"CANON_LLM__BASE_URL": model.url}
        for screen in read_calls():
            if screen == "change":
                _change(work / _PLACES["certain"])
            elif screen == "propose":
                _propose(work, place, settings, forked)
            elif isinstance(screen, Screen):
                more = exam if screen.words == _EXAM and not screen.variables else {}
                status, lines = _run(screen, place, settings | more, forked)
                text = "".join(f"{line}\n" for line in [screen.heading, *_shortened(screen, lines)])
                text = _alike(text, model.url, place)

                assert status == screen.status, f"exit status {status}:\n{text}"
                printed.setdefault(screen.command, []).append(text)
    return {command: "\n".join(texts) for command, texts in printed.items()}


def _alike(text: str, model: str, place: Path) -> str:
    """Return printed text with what differs from run to run alike."""
    ollama = "127.0.0.1:11434"
    text = text.replace(model, f"http://{ollama}").replace(ollama, ollama.replace(".", "_"))
    text = re.sub(r"(?<=checked )\d{4}-\d\d-\d\d", "2026-11-23", text)
    text = re.sub(r"^\d\d:\d\d:\d\d ", "10:30:00 ", text, flags=re.MULTILINE)
    text = re.sub(r"(?<=canon )[\d.]+(?=\"$)", "1.0.0", text, flags=re.MULTILINE)
    text = re.sub(r"(?<==== run )\w+", "0123456789ab", text)
    text = text.replace(f"../{place.name}", "../you")
    return in_words(text, place).replace(ollama.replace(".", "_"), ollama)


def _fill(work: Path) -> None:
    """Make the files that the screens are about."""
    compilation_files(work / TITLE, "flac")
    (work / "Empty").mkdir()
    flac(work, "unmatched.flac", title="Nowhere", artist="Nobody")
    (work / "unreadable.mp3").write_text("This is text.\n" * 100)
    flac(work, "failed.flac", title="Elsewhere", artist="Somebody")
    (work / "bad.toml").write_text("[batch]\njobs = 'many'\n")
    (work / "empty.jsonl").touch()
    with _GOLDEN.open("rb") as decisions:
        (work / "golden.jsonl").write_bytes(b"".join(islice(decisions, 3)))
    (work / "list.csv").write_text("artist,title,year\nArtist of Rumours,Song 3,1977\n")
    (work / "reply.txt").write_text(call("web_search", query="Queen single"))


def _propose(work: Path, place: Path, settings: dict[str, str], forked: Forking) -> None:
    """Make a file for which a model proposes a release group."""
    file_of(year_only_single(), work, _PROPOSED, artist="Queen")
    model = replaying(place, final(confidence=0.7))
    run_on_terminal(["decide", _PROPOSED], work, settings | model, forked)


def _run(
    screen: Screen, place: Path, settings: dict[str, str], forked: Forking
) -> tuple[int, list[str]]:
    """Run a call; return its exit status and what it prints."""
    work, settings = place / "Music", settings | screen.variables
    if not screen.columns:
        return _in_pipe(screen.words, work, settings, forked)
    if _is_walk(screen):
        return _walk(screen, place, settings)
    return run_on_terminal(screen.words, work, settings, forked, screen.columns)


def _is_walk(screen: Screen) -> bool:
    return "--interactive" in screen.words or (
        screen.command == "audit" and "--report" not in screen.words
    )


def _shortened(screen: Screen, lines: list[str]) -> list[str]:
    is_long = " ".join(screen.words).startswith(_LONG) and screen.status == 0
    return [*lines[:_LONGEST], "..."] if is_long and len(lines) > _LONGEST else lines


def _in_pipe(
    words: list[str], work: Path, settings: dict[str, str], forked: Forking
) -> tuple[int, list[str]]:
    """Run `canon` with its output in files; return its exit status and what stands there."""
    streams = tuple(work.with_name(name) for name in ("input", "output", "errors"))
    for file in streams:
        file.write_bytes(b"")
    status = forked(words, streams, work, settings)
    return status, [line for file in streams for line in file.read_text("utf-8").splitlines()]


def _walk(screen: Screen, place: Path, settings: dict[str, str]) -> tuple[int, list[str]]:
    """Show the first case and leave."""
    with walking(
        place, settings, *screen.words, folder="Music", columns=screen.columns, rows=24
    ) as terminal:
        printed = terminal.until("? keys\n")
        if screen.command == "audit":
            terminal.press(("r", ""))
            printed += terminal.until("q quits\n")
        terminal.press(("q", ""))
        status = terminal.ended()
        while select.select([terminal.leader], [], [], 0)[0]:
            printed += os.read(terminal.leader, 65536).decode().replace("\r\n", "\n")
        return status, printed.splitlines()


def _change(file: Path) -> None:
    """Change what was written to a file, as another tagger does."""
    audio = FLAC(file)
    audio["ORIGINALDATE"], audio["COMMENT"] = ["1978"], ["played"]
    audio.save()


def main() -> None:
    """Write the files."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with forking() as forked:
        for command, text in make_screens(environment, forked).items():
            (FOLDER / f"{command}.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
