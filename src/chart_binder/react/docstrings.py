"""A docstring is read for what a model needs: what a tool does, what each argument means."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SECTION = re.compile(r"(Args|Arguments|Parameters|Params|Raises|Exceptions):\s*")
_OF_ARGUMENTS = frozenset({"Args", "Arguments", "Parameters", "Params"})
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Documented:
    """What a docstring says: of the whole, and of each argument by its name."""

    about: str
    arguments: Mapping[str, str]


def read_docstring(text: str) -> Documented:
    """Read a docstring whose arguments, if it tells of them, stand below `Args:` (Google style).

    What it raises is left out: a model is told when it happens. Everything else is kept.
    """
    lines = inspect.cleandoc(text).splitlines()
    about: list[str] = []
    arguments: dict[str, str] = {}
    at = 0
    while at < len(lines):
        section = _SECTION.fullmatch(lines[at])
        if section is None:
            about.append(lines[at].rstrip())
            at += 1
            continue
        end = _end(lines, at + 1)
        if section[1] in _OF_ARGUMENTS:
            arguments |= dict(_entries(lines[at + 1 : end]))
        at = end
    return Documented("\n".join(about).strip(), arguments)


def _end(lines: Sequence[str], start: int) -> int:
    """Return where a section ends: at the next line that is not indented."""
    for at in range(start, len(lines)):
        if lines[at].strip() and not lines[at][0].isspace():
            return at
    return len(lines)


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each argument with its description; deeper lines go on with the one before."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    name, words = "", list[str]()
    for line in filter(str.strip, lines):
        entry = _ENTRY.fullmatch(line.strip()) if _indent(line) == indent else None
        if entry:
            if name:
                yield name, " ".join(words)
            name, words = entry[1], [entry[2]] if entry[2] else []
        else:
            words.append(line.strip())
    if name:
        yield name, " ".join(words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
