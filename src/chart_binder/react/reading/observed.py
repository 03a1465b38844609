"""A line on which a model begins to write what only a tool can say."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from chart_binder.react.reading.disguise import undisguised
from chart_binder.react.reading.near import lines_near, lowered
from chart_binder.react.reading.results import (
    LIKE_COLONS,
    SIGNS,
    TOOLS,
    WORDS,
    Whose,
    whose_label,
    whose_tag,
)

_OBSERVATION: Final = "observation"
_NAMES: Final = frozenset(
    undisguised(
        "obs observation observations observed observacion observación observação observacao"
        " observatie osservazione beobachtung beobachtungen observasjon наблюдение ipython"
        " 观察 观察结果 观察到 观察内容 观测 觀察 觀察結果 觀察到 観察 観察結果 관찰 관찰결과"
    ).split()
)
_TAG_NAMES: Final = frozenset(
    "obs observation observations toolresponse toolresponses toolresult toolresults tooloutput"  # noqa: SIM905
    " tooloutputs functionresponse functionresult functionresults functionoutput ipython"
    " 观察".split()
)
_DIGITS: Final = str.maketrans("013", "oie")
_CALLS: Final = ("toolcall", "functioncall")
_FEWEST: Final = 3
"""Letters of a stop word that was cut, where it stands alone on its line."""
_CLOSE_TO: Final = 9
"""Letters that a word needs to be taken for the label with one letter wrong."""

_MARKUP: Final = (
    r"<(?=[^\w<>/|\n])"
    r"|</?(?:b|i|u|p|em|strong|br|div|span|li|td|tr|h[1-6]|small|font)\b[^<>\n]{0,40}+>"
)
_ORDINAL: Final = r"(?:step ?\d{1,3}+|\(?(?:\d{1,3}+|[a-z])[).、])(?!\w)"
_WHOSE: Final = (
    rf"(?:(?P<tool>{TOOLS})|new|next|first|second|third|last|latest|(?:simulat|expect|imagin|assum)ed"
    r"|hypothetical|fake|mock)(?:['’]s)?[ :_-]{1,3}"
)
_SPACED: Final = " ".join(_OBSERVATION)
# Whatever one letter is wrong, either half of the word is right.
_SIGNS: Final = (
    *(
        "obs",
        "0bs",
        "vation",
        "o b s",
        "beob",
        "osserv",
        "блюд",
        "观察",
        "观测",
        "觀察",
        "観察",
        "관찰",
    ),
    *("tool", "function", "ipyth", "pau", *SIGNS),
)
_MAX_LINES: Final = 256
_LINE: Final = re.compile(
    r"^(?P<quoted>[ \t]{0,8}+(?:[-*+][ ]{1,4}+)?+>[> \t]{0,16}+)?"
    rf"(?P<lead>(?:[^\w\n<>&]|>(?<!^>)|&(?!lt;)|{_MARKUP}){{0,24}}+)"
    rf"(?:{_ORDINAL}[^\w\n<]{{0,12}}+)?+(?:{_MARKUP}|[*_`\"']){{0,4}}+(?:{_WHOSE}){{0,2}}"
    r"(?:(?P<angle>(?:<|&lt;)\|?[ ]?/?[ ]?)(?P<tag>[^\W\d][\w-]{1,32}+)"
    r"(?P<shut>[^\w\n][^\n]{0,80}+)?"
    rf"|(?P<pause>PAU(?:SE?)?+)(?!\w)(?P<waiting>[^\n]{{0,80}}+)"
    rf"|(?P<word>{_SPACED}|(?:[^\W\d_]|[013](?=[013]?[^\W\d_])){{2,16}}+)(?P<after>[^\n]{{0,160}}+))",
    re.IGNORECASE | re.MULTILINE,
)
_COUNTED: Final = re.compile(
    r"(?:[ \t]{0,2}+\#?\d{1,3}+)?+(?:[ ]?[\[(][^\[\]()]{0,40}+[\])])?+"
    rf"(?:[ ](?:from|by|of|for|after|in|no\.?)[ ][^\s{LIKE_COLONS}]{{1,60}}+"
    rf"(?=[^\S\n]?[{LIKE_COLONS}]))?+"
)
_SET_OFF: Final = re.compile(
    rf"[^\S\n]{{0,4}}+(?:[{LIKE_COLONS};；=|.。>\]}})】〉→⇒]|[–—]|-{{1,3}}>|-{{1,3}}(?=\s)|</|<br"
    rf"|[*_~`\"'”’]{{1,4}}+[^\S\n]{{0,2}}+(?:[{LIKE_COLONS};=|–—-]|$)|[^\w]{{0,12}}$)"
)
_SAID_BARELY: Final = re.compile(r"\s{1,4}+(?:[^\W\d_a-z]|\d|[\"'{\[“<])")
# A member of an object, which whoever reads the object looks into.
_VALUE: Final = re.compile(r"[\"'][ \t]{0,4}+[:：][ \t]{0,4}+[\"'{\[\d\-ntfNTF]")


Kind: TypeAlias = Literal["observation", "pause", "result"]
_Seen: TypeAlias = tuple[Kind, bool, bool]
"""The kind of a sight, whether it is cut, whether it is sure."""
_OBSERVED: Final[_Seen] = ("observation", False, True)
_CUT: Final[_Seen] = ("observation", True, True)
_RESULT_OF: Final[dict[Whose, _Seen]] = {"tool": _OBSERVED, "anybody": ("result", False, True)}


class Sight(msgspec.Struct, frozen=True, gc=False):
    """A line that begins an observation, or a pause for one; `quoted` in a block quote.

    A `result` is what a model may have concluded itself; an answer after it rests on nobody knows.
    `cut` is a stop word that was cut in the middle. What is not `sure` has just words after the
    label, which makes it one only where a tool was called before.
    """

    start: int
    quoted: bool
    kind: Kind
    cut: bool = False
    sure: bool = True


def begins_observation(line: str, *, after_action: bool = False) -> bool:
    """Tell whether a line begins an observation, however it is decorated, disguised or misspelt.

    Prose that begins with the same word does not, unless it comes after an action. A word that was
    cut in the middle does where it stands alone. Looks at the beginning of the line, for a bounded
    time.
    """
    found = next(sights(line[:400]), None)
    if found is None or found.kind != "observation" or found.quoted:
        return False
    return found.sure or after_action


def sights(text: str) -> Iterator[Sight]:
    """Yield the lines of a text on which an observation begins, in time linear in its length.

    After `_MAX_LINES` lines that may begin one the next is taken to do so.
    """
    plain = undisguised(text)
    line = at = 0
    for count, found in enumerate(_lines(plain)):
        seen = _seen(found) if count < _MAX_LINES else _OBSERVED
        if seen is None:
            continue
        if plain is text:
            at = found.start()
        else:  # folding moves places, but keeps lines
            for _ in range(plain.count("\n", line, found.start())):
                at = text.index("\n", at) + 1
            line = found.start()
        yield Sight(at, found["quoted"] is not None, *seen)
        if count == _MAX_LINES:
            return


def _lines(plain: str) -> Iterator[re.Match[str]]:
    """Yield the beginnings of lines where a sign of an observation is near."""
    starts = lines_near(_SIGNS, lowered(plain), _MAX_LINES + 1)
    yield from filter(None, (_LINE.match(plain, start) for start in starts))


def _seen(found: re.Match[str]) -> _Seen | None:
    if found["pause"]:
        return _pause(found["pause"], found["waiting"])
    if found["tag"]:
        return _tag(found["tag"], (found["shut"] or "").strip(" \t*_`"))
    word = found["word"].replace(" ", "").casefold()
    if word in WORDS:
        whose = _whose(found, word)
        return _RESULT_OF[whose] if whose else None
    word = word.translate(_DIGITS)
    return _label(found, word) if _is_name(word) else None


def _whose(found: re.Match[str], word: str) -> Whose | None:
    if _VALUE.match(found["after"]):
        return None
    before, line = found.string[found.start() : found.start("word")], found.string
    tool = found["tool"] and ":" not in line[found.end("tool") : found.start("word")]
    return whose_label(word, before, found["after"], of_tool=bool(tool))


def _pause(word: str, after: str) -> _Seen | None:
    if word == "PAUSE" or (word.upper() == "PAUSE" and not any(map(str.isalnum, after))):
        return "pause", False, True
    is_cut = len(word) < len("PAUSE") and not after.strip(" \t*_`.-")
    return ("pause", True, True) if is_cut else None


def _tag(written: str, after: str) -> _Seen | None:
    seen = _tag_name(written)
    return None if seen is _CUT and after[:1] not in ("", ">") else seen


@lru_cache(256)
def _tag_name(written: str) -> _Seen | None:
    name = written.replace("_", "").replace("-", "").casefold()
    if whose := whose_tag(name):
        return _RESULT_OF[whose]
    if name in _TAG_NAMES or _is_misspelt(name):
        return _OBSERVED
    cut = len(name) > _FEWEST and any(known.startswith(name) for known in _TAG_NAMES)
    return _CUT if cut and not any(call.startswith(name) for call in _CALLS) else None


def _label(found: re.Match[str], word: str) -> _Seen | None:
    after = found["after"]
    is_whole = word in _NAMES or _is_misspelt(word)
    if not any(map(str.isalnum, after)):
        is_label = len(word) >= _FEWEST and not after.startswith((",", "!", "?"))
        return ("observation", not is_whole, True) if is_label else None
    if not is_whole or _VALUE.match(after):
        return None
    counted = _COUNTED.match(after)
    rest = after[counted.end() :] if counted else after
    if _SET_OFF.match(rest):
        return _OBSERVED
    if word != _OBSERVATION or not rest[0].isspace():
        return None
    sure = found["word"][0].isupper() and _SAID_BARELY.match(rest) is not None
    return "observation", False, sure


@lru_cache(256)
def _is_name(word: str) -> bool:
    return word in _NAMES or _OBSERVATION.startswith(word) or _is_misspelt(word)


@lru_cache(256)
def _is_misspelt(word: str) -> bool:
    """Tell whether one letter less, more, other or moved makes the label of a word."""
    if len(word) < _CLOSE_TO:
        return False
    return any(_one_edit(word, name) for name in (_OBSERVATION, f"{_OBSERVATION}s"))


def _one_edit(word: str, name: str) -> bool:
    start = next(
        (at for at, (a, b) in enumerate(zip(word, name, strict=False)) if a != b),
        min(len(word), len(name)),
    )
    rests = (word[start:], name[start:])
    longer, shorter = sorted(rests, key=len, reverse=True)
    if len(longer) - len(shorter) == 1:
        return longer[1:] == shorter
    if len(longer) != len(shorter):
        return False
    is_moved = word[-1] == name[-1] and sorted(word) == sorted(name)
    return rests[0][1:] == rests[1][1:] or is_moved
