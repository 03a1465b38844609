"""Names of tools and arguments as models write them: cleaned of decoration, and compared."""

import re
import unicodedata
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Final

_DECORATION: Final = " \t\n*`\"'“”‘’「」.,;:：!。，"
_BRACKETS: Final = {"[": "]", "(": ")", "<": ">", "{": "}", "【": "】"}
_SPACES: Final = frozenset(
    "function functions tool tools action actions api default_api".split()  # noqa: SIM905
)


def clean_name(written: str) -> str:
    """Strip the decoration of a name: emphasis, quotes, brackets, empty calls, `functions.`.

    In Markdown an underscore may have a backslash before it.
    """
    name = written.replace("\\_", "_").strip(_DECORATION).removesuffix("()").strip(_DECORATION)
    if name and name[-1] == _BRACKETS.get(name[0]):
        name = name[1:-1].strip(_DECORATION)
    for _ in range(3):
        space, dot, bare = name.partition(".")
        if not (dot and bare and space.casefold() in _SPACES):
            break
        name = bare
    return name


def folded(name: str) -> str:
    """Fold case, width, spaces, hyphens, underscores out of a name."""
    if name.isascii() and name.isidentifier():
        return name.replace("_", "").lower()
    return re.sub(r"[\s_-]", "", unicodedata.normalize("NFKC", name)).casefold()


def same_name(written: str, known: Collection[str]) -> str | None:
    """Return the name that is written, else the only one that is the same when folded."""
    return find_folded(written, known, by_folded_name(known))


def by_folded_name(known: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the names by their folded forms."""
    names: dict[str, list[str]] = {}
    for name in known:
        names.setdefault(folded(name), []).append(name)
    return names


def find_folded(
    written: str, known: Container[str], by_fold: Mapping[str, Sequence[str]]
) -> str | None:
    """Return what `same_name` does; `by_fold` holds the known names by their folded forms."""
    if written in known:
        return written
    alike = by_fold.get(folded(written), ())
    return alike[0] if len(alike) == 1 else None
