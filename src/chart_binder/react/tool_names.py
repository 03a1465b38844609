"""Which tool a model means by the name it wrote."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_DECORATION: Final = " \t\n*`\"'“”‘’「」.,;:：!。，"
_BRACKETS: Final = {"[": "]", "(": ")", "<": ">", "{": "}", "【": "】"}
_SPACES = frozenset(
    {"function", "functions", "tool", "tools", "action", "actions", "api", "default_api"}
)
_LEAD = frozenset(
    {
        "use",
        "using",
        "call",
        "calling",
        "run",
        "running",
        "invoke",
        "invoking",
        "execute",
        "try",
        "do",
        "the",
        "a",
        "an",
        "my",
        "i",
        "will",
        "should",
        "need",
        "to",
        "now",
        "let",
        "me",
        "us",
        "tool",
        "function",
        "action",
        "name",
        "is",
    }
)
_REMARK = frozenset(
    {
        "to",
        "for",
        "with",
        "because",
        "so",
        "in",
        "order",
        "on",
        "about",
        "using",
        "via",
        "tool",
        "function",
        "again",
    }
)
_DENIAL = frozenset(
    {
        "not",
        "no",
        "none",
        "never",
        "without",
        "instead",
        "skip",
        "avoid",
        "don",
        "dont",
        "won",
        "wont",
        "nothing",
        "cannot",
        "except",
    }
)
_WORD = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*|[^\w\s]")
_SUFFIX = re.compile(r"(?:[ _-]|(?<=[a-z]))(?:Tool|Function|(?<=[ _-])(?:tool|function))$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST: Final = 200


def clean_name(written: str) -> str:
    """Strip the decoration of a name: emphasis, quotes, brackets, empty calls, `functions.`."""
    name = written.strip(_DECORATION).removesuffix("()").strip(_DECORATION)
    if name and name[-1] == _BRACKETS.get(name[0]):
        name = name[1:-1].strip(_DECORATION)
    space, dot, bare = name.partition(".")
    return bare if dot and space.casefold() in _SPACES and bare else name


def folded(name: str) -> str:
    """Fold case, spaces, hyphens, underscores out of a name."""
    return re.sub(r"[\s_-]", "", name).casefold()


def meant(written: str, known: Iterable[str]) -> str | None:
    """Return the one known name that is meant, or None.

    Case, spaces, hyphens, underscores or camel case make no difference. Words that introduce the
    name (`use the web_search tool`) or remark on it (`web_search - to find the date`) are passed
    over. A name that merely resembles a known one means nothing, nor does one among denials
    (`not web_search`), nor one of two.
    """
    by_fold = {folded(name): name for name in known}
    name = clean_name(written)
    if exact := by_fold.get(folded(name)) or by_fold.get(folded(_SUFFIX.sub("", name))):
        return exact
    words = _WORD.findall(name[:_LONGEST])
    if _DENIAL & {word.casefold() for word in words}:
        return None
    found = [(at, length, name) for at, length, name in _occurrences(words, by_fold)]
    if len({name for _, _, name in found}) != 1:
        return None
    at, length, only = found[0]
    introduced = all(
        word.casefold() in _LEAD or word.isdigit() or not word[0].isalnum() for word in words[:at]
    )
    return only if introduced and _is_remark(words[at + length :]) else None


def _occurrences(
    words: Sequence[str], by_fold: Mapping[str, str]
) -> Iterable[tuple[int, int, str]]:
    """Yield where a known name stands as whole words, its length in words, and the name."""
    longest = max((len(_parts(name)) for name in by_fold.values()), default=0)
    at = 0
    while at < len(words):
        for length in range(longest, 0, -1):
            name = by_fold.get(folded("".join(words[at : at + length])))
            if name is not None and at + length <= len(words):
                yield at, length, name
                at += length - 1
                break
        at += 1


def _parts(name: str) -> list[str]:
    return re.split(r"[\s_-]+", _CAMEL.sub(" ", name))


def _is_remark(words: Sequence[str]) -> bool:
    return not words or not words[0].isalnum() or words[0].casefold() in _REMARK
