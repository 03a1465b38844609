"""What a call's tag gives its tool in attributes: `<tool_call name="add" a="1" b="2"/>`."""

import re
from collections.abc import Mapping
from typing import Final

from chart_binder.react.json.scanner import scan
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.reading.elements import GIVEN, unescaped
from chart_binder.react.reading.tags import Tag
from chart_binder.react.tool_names import folded

_NAME = re.compile(r"<\s*+[\w:-]++(?:\s*+=\s*+[\"']?[^\"'\s/>]++[\"']?)?+")
_ATTRIBUTE = re.compile(
    r"\s*+(?P<key>[\w.:-]{1,64}+)\s*+=\s*+"
    r"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s\"'/>]++))(?=[\s/>])"
)
_END = re.compile(r"\s*+/?+\s*+>")
_OWN: Final = frozenset(
    {"name", "tool", "toolname", "function", "functionname", "id", "callid", "toolcallid"}
)


def closes_itself(text: str, tag: Tag) -> bool:
    """Tell whether a tag has nothing inside: `<tool_call ... />`."""
    return text[tag.start : tag.end - 1].rstrip().endswith("/")


def attributes(text: str, tag: Tag) -> Mapping[str, str] | None:
    """Return the attributes of a tag but for the tool's name or the call's id.

    Returns None where they are not quite of the form `a="b"`.
    """
    named = _NAME.match(text, tag.start)
    at = named.end() if named else tag.start
    found: dict[str, str] = {}
    while pair := _ATTRIBUTE.match(text, at, tag.end):
        at = pair.end()
        key, value = pair["key"], pair["double"] or pair["single"] or pair["bare"] or ""
        if folded(key) not in _OWN and (key, value) != ("type", "function"):
            found[key] = unescaped(value)
    return found if _END.match(text, at) else None


def given_in(found: Mapping[str, str] | None, beside: str) -> Mapping[str, object] | str:
    """Return what attributes give a tool: each an argument, or one that holds them all.

    Raises `LenientJSONError` where they cannot be read, or words stand `beside` them in the tags.
    """
    if beside:
        raise LenientJSONError("it has attributes in its tag, and words inside")
    if found is None:
        raise LenientJSONError('the attributes of its tag are not of the form a="b"')
    match [*found.items()]:
        case [(key, whole)] if folded(key) in GIVEN:
            return _whole(whole.strip())
        case _:
            return found


def _whole(value: str) -> Mapping[str, object] | str:
    if not value.startswith("{"):
        return value
    found = scan(value, 0)
    if value[found.end :].strip() or not isinstance(found.value, dict):
        raise LenientJSONError("more than one object stands in an attribute of its tag")
    return found.value
