"""A line on which a model begins to write what only a tool can say."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from chart_binder.react.reading.near import lines_near, lowered

_OBSERVATION: Final = "observation"
_NAMES: Final = frozenset(
    "obs observation observations observed observacion observación observação observacao"  # noqa: SIM905
    " observatie osservazione beobachtung beobachtungen observasjon наблюдение"
    " 观察 观察结果 观察到 观察内容 观测 觀察 觀察結果 觀察到 観察 観察結果 관찰 관찰결과".split()
)
_TAG_NAMES: Final = frozenset(
    "obs observation observations toolresponse toolresponses toolresult toolresults tooloutput"  # noqa: SIM905
    " tooloutputs functionresponse functionresult functionresults functionoutput ipython"
    " 观察".split()
)
_CALLS: Final = ("toolcall", "functioncall")
_FEWEST: Final = 3
"""Letters of a stop word that was cut, where it stands alone on its line."""
_CLOSE_TO: Final = 9
"""Letters that a word needs to be taken for the label with one letter wrong."""

# Characters that show nothing, letters that look like others: Greek, Cyrillic, wide, of formulas.
_UNSEEN: Final = (
    "\x00-\x08\x0b-\x1a\x1c-\x1f\x7f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_ESCAPES: Final = re.compile(r"(?:\x1b(?:\[[0-9;]{0,16}[A-Za-z])?+)++")
_HIDING: Final = re.compile(f"[{_UNSEEN}]++")
_DISGUISED: Final = re.compile(
    f"[\x1b{_UNSEEN}\u0370-\u04ff\u24b6-\u24e9\uff1c\uff1e\uff21-\uff5a]"
)
# Letters beyond the first 65,536 make a class slow to search for.
_HIDING_BEYOND: Final = re.compile("[\U000e0000-\U000e0fff]++")
_DISGUISED_BEYOND: Final = re.compile("[\U0001d400-\U0001d7ff\U000e0000-\U000e0fff]")
_COMPATIBLE: Final = (range(0x24B6, 0x24EA), range(0xFF1C, 0xFF5B), range(0x1D400, 0x1D800))
_LIKENESS: Final[dict[int, str]] = {
    code: unicodedata.normalize("NFKC", chr(code)) for codes in _COMPATIBLE for code in codes
}
_WIDE: Final = re.compile("[\u24b6-\u24e9\uff1c-\uff5a]")
_ALIKE: Final = tuple(zip("оОеЕаАсСѕЅіІνορвВнНтТ", "oOeEaAcCsSiIvopbBhHtT", strict=True))
_MARKUP: Final = (
    r"<(?=[^\w<>/|\n])"
    r"|</?(?:b|i|u|p|em|strong|br|div|span|li|td|tr|h[1-6]|small|font)\b[^<>\n]{0,40}+>"
)
_ORDINAL: Final = r"(?:step ?\d{1,3}+|\(?(?:\d{1,3}+|[a-z])[).、])(?!\w)"
_WHOSE: Final = (
    r"(?:tool|web|search|new|next|first|second|third|last|latest|system|api|function"
    r"|environment|[a-z]{1,30}_\w{1,30}+)(?:['’]s)?[ :_-]{1,3}"
)
_SPACED: Final = " ".join(_OBSERVATION)
# Whatever one letter is wrong, either half of the word is right.
_SIGNS: Final = (
    *("obs", "vation", "o b s", "beob", "osserv", "набл", "观察", "观测", "觀察", "観察", "관찰"),
    *("tool", "function", "ipyth", "pau"),
)
_MAX_LINES: Final = 512
_LINE: Final = re.compile(
    r"^(?P<quoted>[ \t]{0,8}+(?:[-*+][ ]{1,4}+)?+>[> \t]{0,16}+)?"
    rf"(?P<lead>(?:[^\w\n<>&]|>(?<!^>)|&(?!lt;)|{_MARKUP}){{0,24}}+)"
    rf"(?:{_ORDINAL}[^\w\n<]{{0,12}}+)?+(?:{_MARKUP}|[*_`\"']){{0,4}}+(?:{_WHOSE}){{0,2}}"
    r"(?:(?P<angle>(?:<|&lt;)\|?[ ]?/?[ ]?)(?P<tag>[^\W\d][\w-]{1,20}+)"
    r"(?P<shut>[^\w\n][^\n]{0,80}+)?"
    rf"|(?P<pause>PAU(?:SE?)?+)(?!\w)(?P<waiting>[^\n]{{0,80}}+)"
    rf"|(?P<word>{_SPACED}|[^\W\d_]{{2,16}}+)(?P<after>[^\n]{{0,160}}+))",
    re.IGNORECASE | re.MULTILINE,
)
_COUNTED: Final = re.compile(
    r"(?:[ \t]{0,2}+\#?\d{1,3}+)?+(?:[ ]?[\[(][^\[\]()]{0,40}+[\])])?+"
    r"(?:[ ](?:from|by|of|for|after|in|no\.?)[ ][^\s:：]{1,60}+(?=[ ]?[:：]))?+"
)
_SET_OFF: Final = re.compile(
    r"[ \t]{0,4}+(?:[:：;；=|.。>\]})】〉→⇒]|[–—]|-{1,3}>|-{1,3}(?=\s)|</|<br"
    r"|[*_~`\"'”’]{1,4}+[ \t]{0,2}+(?:[:：;=|–—-]|$)|[^\w]{0,12}$)"
)
_SAID_BARELY: Final = re.compile(r"\s{1,4}+(?:[^\W\d_a-z]|\d|[\"'{\[“<])")
# A member of an object, which whoever reads the object looks into.
_VALUE: Final = re.compile(r"[\"'][ \t]{0,4}+[:：][ \t]{0,4}+[\"'{\[\d\-ntfNTF]")


Kind: TypeAlias = Literal["observation", "pause"]
_Seen: TypeAlias = tuple[Kind, bool, bool]
"""The kind of a sight, whether it is cut, whether it is sure."""
_OBSERVED: Final[_Seen] = ("observation", False, True)
_CUT: Final[_Seen] = ("observation", True, True)


class Sight(msgspec.Struct, frozen=True, gc=False):
    """A line that begins an observation, or a pause for one; `quoted` in a block quote.

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


def undisguised(text: str) -> str:
    """Fold letters in disguise, drop what cannot be seen; every line stays a line."""
    beyond = not text.isascii() and _DISGUISED_BEYOND.search(text)
    if not beyond and not _DISGUISED.search(text):
        return text
    seen = _HIDING.sub("", _ESCAPES.sub("", text) if "\x1b" in text else text)
    seen = _HIDING_BEYOND.sub("", seen) if beyond else seen
    if seen.isascii():
        return seen
    for letter, like in _ALIKE:
        seen = seen.replace(letter, like)
    return seen.translate(_LIKENESS) if beyond or _WIDE.search(seen) else seen


def _seen(found: re.Match[str]) -> _Seen | None:
    if found["pause"]:
        return _pause(found["pause"], found["waiting"])
    if found["tag"]:
        return _tag(found["tag"], (found["shut"] or "").strip(" \t*_`"))
    word = found["word"].replace(" ", "").casefold()
    return _label(found, word) if word.startswith(_FIRST) and _is_name(word) else None


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


_FIRST: Final = tuple({name[:2] for name in _NAMES})
