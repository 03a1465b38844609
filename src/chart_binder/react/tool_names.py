"""Which tool a model means by the name it wrote."""

import re
import unicodedata
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

_DECORATION: Final = " \t\n*`\"'“”‘’「」.,;:：!。，"
_BRACKETS: Final = {"[": "]", "(": ")", "<": ">", "{": "}", "【": "】"}
_SPACES: Final = frozenset(
    "function functions tool tools action actions api default_api".split()  # noqa: SIM905
)
_LEAD: Final = frozenset(
    "use using call calling run running invoke invoking execute try do the a an my i will should"  # noqa: SIM905
    " need to now let me us tool function action name is perform performing conduct make".split()
)
_REMARK: Final = frozenset(
    "to for with because so in order on about using via tool function again".split()  # noqa: SIM905
)
_ABOUT: Final = frozenset({"about", "because", "for", "in", "on", "to", "using", "via", "with"})
_DENIAL: Final = frozenset(
    "not no none never nothing without instead rather skip skipped skipping avoid except cannot"  # noqa: SIM905
    " unable impossible unnecessary unneeded needless useless unavailable disabled forbidden broken"
    " fail fails failed failing stop stopped already tried done but dont wont cant isnt doesnt"
    " nicht kein keine nein ohne pas non sans nie sin nunca".split()
)
_DENIAL_MARKS: Final = re.compile(
    r"n['’]t\b|~~|[❌✗✘🚫⛔]|[别勿]|不[要用需能是可该應应使必]|[无無][需法]", re.IGNORECASE
)
_QUOTED: Final = re.compile(r"\"[^\"]*\"|“[^”]*”|「[^」]*」|《[^》]*》")
_WORD: Final = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*|[^\w\s]")
_GOES_ON: Final = re.compile(
    r"(?![:#]\d{1,3}(?!\w))(?:[./\\:@#+%&=|^$?!;,~-]\w|[$?@#%&^=+~/\\]|\(\)\w)"
)
# 使用 web_search 工具: "use the tool web_search", in one word with its name or not.
_USE: Final = re.compile(r"\A[请我要将来先]{0,3}(?:使用|调用|执行|运行|用)(?:工具)?[\s:：]*")
_TOOL: Final = re.compile(r"\s*(?:工具|函数)\Z")
_SUFFIX: Final = re.compile(r"(?:[ _-]|(?<=[a-z]))(?:Tool|Function|(?<=[ _-])(?:tool|function))$")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST: Final = 600


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
    return _same(written, known, _by_fold(known))


def _by_fold(known: Iterable[str]) -> Mapping[str, Sequence[str]]:
    names: dict[str, list[str]] = {}
    for name in known:
        names.setdefault(folded(name), []).append(name)
    return names


def _same(written: str, known: Container[str], by_fold: Mapping[str, Sequence[str]]) -> str | None:
    if written in known:
        return written
    alike = by_fold.get(folded(written), ())
    return alike[0] if len(alike) == 1 else None


def meant(written: str, known: Collection[str]) -> str | None:
    """Return the one known name that is meant, or None.

    Case, spaces, hyphens, underscores or camel case make no difference where that leaves one name.
    Words that introduce the name (`use the web_search tool`) or remark on it (`web_search - to find
    the date`) are passed over. A name that merely resembles a known one means nothing, nor does one
    that goes on (`web_search.images`), one among denials (`not web_search`), or one of two. A tool
    of one word is a word like any other in a remark (`web_search for the Wikipedia page`).
    """
    name = clean_name(_TOOL.sub("", _USE.sub("", clean_name(written))))
    if exact := same_name(name, known) or same_name(_SUFFIX.sub("", name), known):
        return exact
    if len(name) > _LONGEST:
        return None
    words = [*_WORD.finditer(name)]
    found = [*_occurrences(name, words, known)]
    if not found:
        return None
    first, length, only = found[0]
    others = {other for _, _, other in found} - {only}
    if others and not _are_asides(others, words[first + length :]):
        return None
    start, end = words[first].start(), words[first + length - 1].end()
    if _GOES_ON.match(name, end) or _is_denied(name[:start], name[end:]):
        return None
    introduced = all(map(_introduces, words[:first]))
    return only if introduced and _is_remark(words[first + length :]) else None


def _occurrences(
    text: str, words: Sequence[re.Match[str]], known: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield where a known name stands as whole words, its length in words, and the name."""
    longest = max((len(_parts(name)) for name in known), default=0)
    by_fold = _by_fold(known)
    at = 0
    while at < len(words):
        for length in range(min(longest, len(words) - at), 0, -1):
            last = words[at + length - 1]
            span = text[words[at].start() : last.end()]
            if not last.group()[0].isalnum():
                continue
            if name := _same(span, known, by_fold):
                yield at, length, name
                at += length - 1
                break
        at += 1


def _parts(name: str) -> list[str]:
    return re.split(r"[\s_-]+", _CAMEL.sub(" ", name))


def _are_asides(names: Iterable[str], remark: Sequence[re.Match[str]]) -> bool:
    return remark[0].group().casefold() in _ABOUT and all(len(_parts(name)) == 1 for name in names)


def _is_denied(before: str, after: str) -> bool:
    """Tell whether words around a name take it back; what is quoted after it is a title."""
    around = f"{before} {_QUOTED.sub('', after)}"
    words = {word.casefold() for word in _WORD.findall(around)}
    return bool(_DENIAL & words or _DENIAL_MARKS.search(around))


def _introduces(word: re.Match[str]) -> bool:
    text = word.group()
    return text.casefold() in _LEAD or text.isdigit() or not text[0].isalnum()


def _is_remark(words: Sequence[re.Match[str]]) -> bool:
    first = words[0].group() if words else ""
    return not first or not first[0].isalnum() or first.casefold() in _REMARK
