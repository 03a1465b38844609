"""What could be read as a label, or as a whole turn, is written so that no reader takes it for one.

There is no list of labels here: whether words are one, the readers of replies are asked.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from chart_binder.react.json.lenient import opens_object
from chart_binder.react.reading.labels import label_at
from chart_binder.react.reading.observed import begins_observation

_ROLES: Final = ("system", "user", "assistant", "human", "developer")
"""Who else may seem to speak; most are no labels of the protocol."""
_WORDS: Final = r"(?<![^\W\d_])[^\W\d_]++(?:[ _-]{1,3}+[^\W\d_]++){0,5}+"
# Readers take numbered ones, too: Action 1, Observation[2], Action Input (JSON)
_MARKS: Final = r"[ *_`#\"'\])】>✿]{0,8}+"
_SET_OFF: Final = re.compile(
    rf"(?P<words>{_WORDS})(?P<after>{_MARKS}(?:[\[(#]?\d{{1,3}}+[\])]?)?+"
    rf"(?:[ ]?\([^()\n]{{0,40}}+\))?+{_MARKS})"
    r"(?:(?P<colon>[:∶ː꞉։፡])|[-–—=]{0,3}+>?+[ ]{0,2}+(?=\{))"
)
_NOT_YET_MARKED: Final = re.compile(r"(?<![‹\w])[^\W\d_]++(?:[ _-]{1,3}+[^\W\d_]++){0,4}+(?![›\w])")
_MOST_WORDS: Final = 5
_MOST_LETTERS: Final = 12
"""Of a name in a script without spaces."""
_MOST_TRIES: Final = 3
_OBJECT: Final = re.compile(r"^(?:functools)?[ ]?(?:\[[ ]?){0,3}(?=\{)", re.MULTILINE)
_CALL: Final = re.compile(
    r"^[ `]{0,4}(?:\[[ ]?)?(?:functions\.)?[A-Za-z]\w{1,63}+(?=\((?:[\"'“{]|[A-Za-z]\w{0,63}+ ?=))",
    re.MULTILINE,
)
_MAY_ASK: Final = re.compile(r"[({\[<]")
"""What no call or answer lacks, where nothing is a label."""
_MOST_LOOKS: Final = 200
_SHOWN: Final = "> "
"""A block quote, which only shows, in every dialect."""


def unlabelled(line: str) -> str:
    """Return a line whose labels are marked as words: `‹Final Answer› – 7`."""
    if ":" in line or "{" in line or not line.isascii():
        line = "".join(_marked(line))
    for _ in range(_MOST_TRIES):
        label = label_at(line, 0)
        if label is None or label.kind == "observation":
            return line
        line = _NOT_YET_MARKED.sub(r"‹\g<0>›", line, count=1)
    return _quoted(line)


def unstarted(text: str) -> str:
    """Return a text in which no line begins with an object, or with a call in brackets."""
    if "{" in text:
        text = _OBJECT.sub(lambda at: _shown_object(at, text), text)
    return _CALL.sub(rf"{_SHOWN}\g<0>", text) if "(" in text else text


def unread(text: str) -> str:
    """Return a text in which nothing is read as a step, however it is written.

    The readers of replies look at each line alone, then at the whole. After `_MOST_LOOKS` lines
    that have what a step needs, all others that have it are shown as quoted.
    """
    if not _MAY_ASK.search(text):
        return text
    from chart_binder.react.misread import is_step  # noqa: PLC0415  # 50 ms of modules

    looks = 0
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if not line.startswith(">") and _MAY_ASK.search(line):
            looks += 1
            lines[place] = _quoted(line) if looks > _MOST_LOOKS or is_step(line) else line
    whole = "\n".join(lines)
    return "\n".join(map(_quoted, lines)) if is_step(whole) else whole


def _quoted(line: str) -> str:
    return line if line.startswith(">") else f"{_SHOWN}{line}"


def _marked(line: str) -> Iterator[str]:
    at = 0
    while label := _SET_OFF.search(line, at):
        words, after = label["words"], label["after"]
        yield line[at : label.start()]
        ends = not line[label.end() :].strip()
        start = next((at for at in _names(words) if _is_label(words[at:], heads=ends)), None)
        if start is None:
            yield words
            at = label.end("words")
        else:
            set_off = f"{after.rstrip()} –" if label["colon"] else label[0][len(words) :]
            yield f"{words[:start]}‹{words[start:]}›{set_off}"
            at = label.end()
    yield line[at:]


def _names(words: str) -> Iterator[int]:
    """Yield where the last words begin, the most of them first; without spaces, letters."""
    starts = [0, *(found.end() for found in re.finditer(r"[ _-]+", words))]
    yield from starts[-_MOST_WORDS:]
    if not words[-1].isascii():
        yield from range(max(starts[-1] + 1, len(words) - _MOST_LETTERS), len(words))


@lru_cache(4096)
def _is_label(words: str, *, heads: bool) -> bool:
    """Tell whether words are a label where a colon follows.

    One that `heads` lines, as a tool's own `Search results:` does, is left as it is: it asks for
    nothing, and by it a model is found out that makes such results up.
    """
    if words.casefold() in _ROLES:
        return True
    label = label_at(f"{words}:", 0)
    if label and not (heads and label.kind == "observation"):
        return True
    return " " not in words and begins_observation(f"{words}: x")


def _shown_object(at: re.Match[str], text: str) -> str:
    return f"{_SHOWN}{at[0]}" if opens_object(text, at.end()) else at[0]
