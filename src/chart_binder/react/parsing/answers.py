"""The JSON object of an answer, found in the words under its label."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Final

from chart_binder.react.parsing.labels import fold, label_at, pattern
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    find_objects,
    read_strictly,
)

Found = tuple[dict[str, object], tuple[str, ...]]

_QUOTED: Final = "the JSON object stands among other words, as if you quoted it"
_FENCE: Final = re.compile(r"(?:`{3,}|~{3,})[ ]?\w{0,12}\s*\Z|`\Z")
_TAG: Final = re.compile(
    r"(?:<(?:(?:answer|final_answer|response|json|output|pre|code)>|!\[CDATA\[)\s*){1,3}\Z"
    r"|\A\s*\[\s*\Z",
    re.IGNORECASE,
)
_SHORT: Final = 2
_FOREIGN: Final = re.compile(
    r"obs.*|observ.*|.*(?:search|tool|function|action|web)\w*(?:result|output|response)s?|tool|role"
    r"|searchresults?|toolcalls?|action|actioninput"
)
"""Keys that no answer has: those of a call, or of what a tool returned."""
_MARKS: Final = (">", "]", '"', "“", "”", "»", "'", "--", "form is", "format is")
_CONTINUED: Final = re.compile(
    r"[ \t`]*(?:[,;]?[ \t]*(?!(?:and|because|since|as|given)\b)[a-z]"
    r"|[-–—][ \t]*(?:is|was|would|but|not|which|that|as|from|says?|said)\b|[\"'”’»])"
)


def read_answer_object(text: str, key: str = "") -> Found:
    """Return the one object in an answer's words, with notes on what was repaired.

    It may be fenced or bare, with any prose before or after it. Objects without `key` do not count
    beside one that has it. A list of one object, or a string that holds it, is that object.

    Raises `LenientJSONError` with the defect: there is none, it cannot be read, its last bracket is
    missing, it is quoted, it holds what a tool returns, or another one differs from it.
    """
    bare = text.strip()
    if bare.startswith('"{') and (string := read_strictly(bare, 0)) is not None:
        text = str(string.value)
    if '"' not in text and "&quot;" in text:
        text = html.unescape(text)
    found = list(_answers(text, key))
    found = [each for each in found if _has(each[0], key)] or found
    if not found:
        raise LenientJSONError("there is no JSON object in it")
    if any(value != found[0][0] for value, _ in found):
        raise LenientJSONError("there are two different JSON objects in it")
    _check_keys(found[0][0])
    return found[0]


def _has(members: Mapping[str, object], key: str) -> bool:
    return not key or key in {name.strip().casefold() for name in members}


def _check_keys(members: Mapping[str, object]) -> None:
    names = {name: re.sub(r"[\s_-]", "", fold(name)) for name in members}
    if len(set(names.values())) < len(names):
        raise LenientJSONError("it has one key twice")
    foreign = next((name for name, bare in names.items() if _FOREIGN.fullmatch(bare)), None)
    if foreign is not None:
        raise LenientJSONError(f"it has a key {foreign!r}, which no answer has")


def _answers(text: str, key: str) -> Iterator[Found]:
    """Yield the objects in an answer's words; none of them may be quoted."""
    seen: object = None
    for at, found in find_objects(text, closed=True):
        if isinstance(found.value, dict):
            is_new = _has(found.value, key) and found.value != seen
            if is_new and _is_shown(text[:at], text[found.end :]):
                raise LenientJSONError(_QUOTED)
            seen = found.value
            yield found.value, found.notes


def _is_shown(before: str, after: str) -> bool:
    """Tell whether the words around an object show it rather than give it as the answer.

    The words before it are a whole sentence, or end with a colon that does not stand behind a mere
    name or a verb of saying; the line goes on behind it with a new sentence, if at all.
    """
    is_listed = before.rstrip().endswith("[")
    if _CONTINUED.match(after) or is_listed != after.lstrip().startswith("]"):
        return True
    line = before.rpartition("\n")[2]
    if line.lstrip().startswith((">", "＞")) or ("```" in before and label_at(line)):
        return True
    bare = _TAG.sub("", _FENCE.sub("", before[-400:])).rstrip(" \t*_")
    said = bare.rstrip().rpartition("\n")[2].strip(" *_#")
    if not said:
        return False
    if pattern("denied").search(said):
        return True
    if said.endswith((":", "：")):
        sentence = re.split(r"[.!?:：](?=\s)|[。！？]", said.rstrip(":："))[-1].strip()
        is_name = len(sentence.split()) <= _SHORT and not pattern("announced").search(sentence)
        return is_name or pattern("unfinished").search(sentence) is not None
    is_whole = said.endswith((".", "!", "?", "。"))
    is_led = said.startswith(">") or said.endswith(_MARKS) or introduces(said)
    return not is_whole and (is_led or not bare.endswith("\n"))


# Words that introduce what follows as somebody else's.

_MAX_NEARBY: Final = 400
_CODE_INDENT: Final = 4


# A label of an answer that somebody else gives; an item of a numbered list.
_ASIDE: Final = re.compile(
    r"[^\n:：({]{0,40}\([^\n:)]{0,40}\b(?:not|page|site|user|example|fake)\b", re.IGNORECASE
)
_ITEM: Final = re.compile(r"[ \t*]{0,8}(\d{1,2})[.)]")
_TAGS: Final = re.compile(r"<[^<>\n]{0,80}>")
_PLAN: Final = re.compile(r"\bplan\b[^\n]{0,40}:", re.IGNORECASE)
_ACTION: Final = re.compile(r"\n\W{0,4}Action\b", re.IGNORECASE)


def is_introduced(text: str, at: int) -> bool:
    """Tell whether the line above an answer at a place introduces it as somebody else's.

    It does where it ends with a colon or within a clause, unless it announces the model's own
    answer. A line that begins with signs or deep in belongs to what stands above all that do.
    """
    start = text.rfind("\n", 0, at) + 1
    lead = re.match(r"\W*", text[start : at + 80].partition("\n")[0])[0]  # type: ignore[index]
    lines = text[max(0, start - 4 * _MAX_NEARBY) : start].split("\n")
    if _ASIDE.match(text, at) or _is_planned(text, at, lines):
        return True
    if lead.strip() or len(lead.expandtabs()) >= _CODE_INDENT:
        sign = lead[:_CODE_INDENT].rstrip("<*") or " "
        above = [line for line in lines if line.strip() and not line.startswith(sign)]
        lines = above or lines
    line = next((line for line in reversed(lines) if re.search(r"\w", _TAGS.sub("", line))), "")
    amid = text[start:at]
    return introduces(amid if re.search(r"\w", amid) else line)


def _is_planned(text: str, at: int, above: list[str]) -> bool:
    """Tell whether an answer is an item of a list of steps to come.

    It is the next number, the item above it is no label, and the list is called a plan or an action
    follows.
    """
    last = next((line for line in reversed(above) if line.strip()), "")
    item, before = _ITEM.match(text, text.rfind("\n", 0, at) + 1), _ITEM.match(last)
    is_next = item is not None and before is not None and int(item[1]) == int(before[1]) + 1
    is_ahead = _ACTION.search(text, at) or any(map(_PLAN.search, above))
    return is_next and label_at(last) is None and bool(is_ahead)


def introduces(line: str) -> bool:
    """Tell whether a line introduces somebody else's words."""
    line = _TAGS.sub("", line[-_MAX_NEARBY:]).strip(" \t*_`~")
    sentence = re.split(r"[.!?](?=\s)|[。！？]", line)[-1]
    is_led = sentence.endswith((":", "：")) or pattern("unfinished").search(sentence) is not None
    return is_led and not pattern("own").search(sentence)
