"""Tags: `<tool_call>`, `<response>` and their like, of whatever model family."""

import re
from itertools import islice
from typing import Final

from chart_binder.react.parsing.labels import MAX_DIRECTIVES, Directive, Kind

_NAMES_OF: Final[dict[Kind, str]] = {
    "call": "toolcall functioncall invoke tooluse function call usetool",
    "calls": "toolcalls functioncalls",
    "action": "action tool toolname",
    "input": "actioninput toolinput actionarguments toolarguments",
    "answer": "response answer finalanswer finalresponse",
    "observation": "observation observations obs toolresponse toolresponses toolresult"
    " toolresults tooloutput functionresponse functionresult functionresults",
    "thought": "thought thoughts think thinking reasoning",
    "speaker": "user human system environment",
}
_NAMES: Final = {name: kind for kind, names in _NAMES_OF.items() for name in names.split()}
_INNER: Final = frozenset({"arg_key", "arg_value", "tool_name"})
_OBSERVING: Final = re.compile(
    r"(?!final)\w*(?:results?|outputs?|response(?:from\w*)?)|obs\w*|information|context|documents?"
    r"|ipython"
)
_TAG: Final = re.compile(
    r"<(?=[ /A-Za-z])[ ]{0,2}+(?P<slash>/?)[ ]{0,2}+(?P<name>[A-Za-z][\w-]{1,31}+)"
    r"(?P<attributes>(?:[ =:\n][^<>]{0,2000}+)?+)(?P<closed>(?<=/))?+>"
)
_MAX_TRIES: Final = 4


def find_tags(text: str) -> list[Directive]:
    """Return the tags that announce something, in order, each with where its words end.

    A tag begins a line, or follows another tag or the end of a sentence; one amid words is talked
    about. Words in a tag that is never closed go on to the end of the text.
    """
    if "<" not in text:
        return []
    every = list(islice(_TAG.finditer(text), 8 * MAX_DIRECTIVES))
    closed = {mark["name"] for mark in every if mark["slash"]}
    kinds = ((mark, _kind_of(mark, closed)) for mark in every)
    marks = list(islice(((mark, kind) for mark, kind in kinds if kind), MAX_DIRECTIVES))
    closing = {mark.start() for mark, _ in marks if mark["slash"]}
    return [
        _directive(text, marks, place)
        for place in range(len(marks))
        if marks[place][0].start() not in closing
    ]


def _kind_of(mark: re.Match[str], closed: set[str]) -> Kind | None:
    """Return what a tag announces; one with an underscore in its name is named as a tool."""
    name = mark["name"].casefold()
    folded = name.replace("_", "").replace("-", "")
    if kind := _NAMES.get(folded):
        return kind
    if _OBSERVING.fullmatch(folded):
        return "observation"
    is_given = bool(mark["attributes"].strip(" /")) or mark["name"] in closed
    return "call" if "_" in name and name not in _INNER and is_given else None


def _directive(text: str, marks: list[tuple[re.Match[str], Kind]], place: int) -> Directive:
    mark, kind = marks[place]
    end = after = len(text)
    closed = False
    is_empty = mark["attributes"].endswith("/")
    tries = 0
    for other, other_kind in [] if is_empty else marks[place + 1 :]:
        if other_kind != kind or (not other["slash"] and kind != "call"):
            continue
        if other["slash"] and other["name"] != mark["name"] and "_" in other["name"] + mark["name"]:
            continue
        tries += 1
        if tries < _MAX_TRIES and _in_string(text, mark.end(), other.start()):
            continue
        if other["slash"]:
            end, after, closed = other.start(), other.end(), True
        elif not text[mark.end() : other.start()].strip():
            continue
        else:  # the next call ends one that is never closed
            end = after = other.start()
        break
    if is_empty:
        end = after = mark.end()
    attributes = mark["attributes"].strip().rstrip("/").strip()
    places = (mark.start(), mark.end(), end, after)
    name = mark["name"].casefold()
    return Directive(kind, *places, name, attributes, is_tag=True, closed=closed or is_empty)


def _in_string(text: str, start: int, at: int) -> bool:
    """Tell whether a place is inside a JSON string of an object that begins at `start`."""
    if not text[start : start + 80].lstrip().startswith("{"):
        return False
    inside = text[max(start, at - 4000) : at]
    is_odd = len(re.findall(r'(?<!\\)"', inside)) % 2 == 1
    return is_odd and '"' in text[at : at + 400].partition("\n")[0]


def is_talked_about(text: str, tag: Directive) -> bool:
    """Tell whether a tag stands amid words, so that it is mentioned rather than used."""
    line = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    before = re.sub(r"<[^<>]*>", "", line[-400:]).rstrip()
    return re.search(r"\w", before) is not None and before[-1] not in ".!?:;>)]}*。！？：*`"


def is_known(name: str) -> bool:
    """Tell whether a tag has a name of its own rather than that of a tool."""
    return name.replace("_", "").replace("-", "") in _NAMES
