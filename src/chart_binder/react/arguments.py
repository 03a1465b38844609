"""Binds the arguments that a model wrote to the parameters of a tool.

An ambiguous argument is refused with advice. The lax mode of pydantic is not used, because it reads
`True` as 1 and `"86400"` as a date, and refuses a choice in another case.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chart_binder.react.coercion import (
    Schema,
    alternatives_of,
    coerce,
    folded,
    has_type,
    parsed_text,
    resolved,
    same_name,
    takes_null,
    whole_value,
)
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    Repair,
    object_of,
    opens_string,
    scan,
    scan_quoted,
    scan_string,
    skip_space,
)

_WRAPPERS: Final = frozenset(
    {"arguments", "args", "parameters", "params", "actioninput", "toolinput", "input", "kwargs"}
)
_REMARKS: Final = frozenset(
    {"thought", "reason", "reasoning", "explanation", "purpose", "goal", "note", "status", "type"}
    | {"because", "why", "output", "expectedoutput", "result"}
)
"""Keys with which models explain a call beside its arguments."""
_EXPLANATIONS: Final = frozenset(
    {"thought", "thoughts", "reason", "reasoning", "explanation", "purpose", "because", "why"}
    | {"rationale", "justification"}
)
"""Unknown keys that do not change the meaning of a call."""
_EXTRAS: Final = (_REMARKS - _EXPLANATIONS) | frozenset(
    {"id", "callid", "toolcallid", "limit", "topk", "topn", "maxresults", "numresults"}
)
"""Unknown keys that are ignored unless their value suits a parameter that has no value yet."""
_QUOTES: Final = "\"'"
_DOUBTFUL: Final = frozenset({Repair.UNQUOTED, Repair.INNER_QUOTES})
"""Repairs whose result may be words rather than values."""
_KEYWORD: Final = re.compile(r"\w{1,64}=[^=\s]")
"""A keyword argument with any name; with spaces around the sign it may be prose."""
_MAX_NAME_CHARS: Final = 66
_NEXT_MEMBER: Final = re.compile(r",[ ]{1,4}(?=\w{1,64}[ ]?[:：=])")
_LINES_AT_MOST: Final = 32
_MEMBER_LINE: Final = re.compile(
    r"[ \t]*+(?>(?:[-*+•][ \t]{1,4}+)?)(?!```)[*_`\"'“]{0,4}+(?P<name>(?:[Ss]earch )?[\w-]{1,64}+)"
    r"[*_`\"'”]{0,4}+[ \t]?(?:[:：](?!//)|=(?!=))[*_`]{0,2}+(?![ \t]*+(?:[\[{｛]|```))"
    r"(?![^\n]{0,200}[{｛]\s{0,4}+[\"'“/])(?P<value>[^\n]++)(?:\n|\Z)"
)


class ArgumentsError(ValueError):
    """Arguments cannot be used; the text is a clause that says which, and why."""


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """Arguments by the names of a schema's members; `notes` name the ignored unknown ones."""

    values: dict[str, object]
    notes: tuple[str, ...] = ()


def bind(
    arguments: Mapping[str, object] | str, schema: Schema, wrapper: str = ""
) -> BoundArguments:
    """Return the arguments by the names of a schema's members, each coerced to its member's type.

    A text may have `name: value` lines, `name="value"` pairs or values in order; any other text is
    the only required argument. Keys may differ in case or punctuation. If one argument is missing
    and one key is unknown, the key is read as that argument, unless it is a remark such as
    `reason`. `null` for an optional member is ignored. All arguments may be inside one key:
    `arguments`, a similar word, or the `wrapper`.

    Raises `ArgumentsError` if a required argument is missing, if the text cannot be read, or if an
    unknown key may matter.
    """
    members: Mapping[str, Schema] = schema.get("properties", {})
    definitions = schema.get("$defs", {})
    required = [name for name in members if name in schema.get("required", ())]
    if isinstance(arguments, str):
        arguments = _from_text(arguments.strip(), [*members], required or [*members][:1])
    bound: dict[str, object] = {}
    unknown: dict[str, object] = {}
    for key in sorted(arguments, key=lambda key: key not in members):  # exact names first
        name, value = same_name(key, members), arguments[key]
        if name is None:
            unknown[key] = value
        elif value is not None or name in required or takes_null(members[name], definitions):
            bound.setdefault(name, coerce(value, members[name], definitions))
    if not bound and members and (unwrapped := _unwrapped(unknown, wrapper)) is not None:
        return bind(unwrapped, schema)
    missing = [name for name in required if name not in bound]
    if not (missing or bound) and len(members) == 1:
        missing = [*members] if any(map(_may_matter, unknown, unknown.values())) else []
    if not missing:
        return _without_unknown(bound, unknown, schema)
    candidates = [key for key in unknown if folded(key) not in _REMARKS]
    if len(missing) == len(candidates) == 1:
        (name,), (key,) = missing, candidates
        value = unknown.pop(key)
        if isinstance(value, str | int | float | list) and not isinstance(value, bool):
            bound[name] = coerce(value, members[name], definitions)
            return _without_unknown(bound, unknown, schema)
    names = " and ".join(f"`{name}`" for name in missing)
    plural = "" if len(missing) == 1 else "s"
    received = ", ".join(f"`{key}`" for key in arguments) or "nothing"
    raise ArgumentsError(f"missing required field{plural} {names}, found {received}")


def _may_matter(key: str, value: object) -> bool:
    return folded(key) not in _EXPLANATIONS and value not in (None, "", [], {})


def _without_unknown(
    bound: dict[str, object], unknown: Mapping[str, object], schema: Schema
) -> BoundArguments:
    """Return the bound arguments, or raise `ArgumentsError` for an unknown key that may matter.

    Explanations and empty values are ignored. A key that models add to many calls, such as `limit`,
    is ignored unless its value suits an unbound parameter, because the key may mean that parameter.
    """
    if schema.get("additionalProperties"):
        return BoundArguments({**bound, **unknown})
    members: Mapping[str, Schema] = schema.get("properties", {})
    definitions = schema.get("$defs", {})
    unbound = [member for name, member in members.items() if name not in bound]
    unusable = [
        key
        for key, value in unknown.items()
        if _may_matter(key, value)
        and not (
            folded(key) in _EXTRAS
            and not any(_suits(value, member, definitions) for member in unbound)
        )
    ]
    if unusable:
        names = " and ".join(f"`{key}`" for key in unusable)
        raise ArgumentsError(f"it has no argument{'' if len(unusable) == 1 else 's'} {names}")
    return BoundArguments(bound, tuple(f"ignored the argument `{key}`" for key in unknown))


def _suits(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a value has a type of the schema; a text of digits counts as a number."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    schema = resolved(schema, definitions)
    return any(has_type(value, part, definitions) for part in alternatives_of(schema) or (schema,))


def _unwrapped(unknown: Mapping[str, object], wrapper: str) -> dict[str, object] | str | None:
    """Return the value of a key that contains all arguments, or None."""
    values = (
        parsed_text(value, "{")
        for key, value in unknown.items()
        if folded(key) in _WRAPPERS or key == wrapper
    )
    return next((value for value in values if isinstance(value, str | dict)), None)


def _from_text(text: str, names: Sequence[str], needed: Sequence[str]) -> Mapping[str, object]:
    """Read arguments that are not written as a JSON object."""
    if not text:
        return {}
    if len(text) <= _MAX_NAME_CHARS and (name := same_name(text.rstrip(":： "), names)):
        raise ArgumentsError(f"found the name `{name}` in place of its value")
    if members := _values_and_keywords(text, names) or _member_lines(text, names):
        return members
    in_order = len(needed) > 1 or (text[0] in _QUOTES and len(names) > 1)
    # If the tool needs one text, words without quotes are not the values of a list.
    doubtful = frozenset({Repair.INNER_QUOTES}) if in_order else _DOUBTFUL
    values = whole_value(f"[{text}]", doubtful) or []
    if in_order and len(values) == 1 and isinstance(values[0], list):
        (values,) = values
    if in_order and values and len(needed) <= len(values) <= len(names):
        return dict(zip(names, values, strict=False))
    are_quoted_values = text[0] in _QUOTES and len(values) > 1
    if len(needed) == 1 and not are_quoted_values:
        return {needed[0]: values[0] if text[0] == "[" and len(values) == 1 else text}
    received = f", found {len(values)} value{'' if len(values) == 1 else 's'}" if values else ""
    raise ArgumentsError(f"it needs a JSON object with {', '.join(needed)}{received}")


def _values_and_keywords(text: str, names: Sequence[str]) -> Mapping[str, object] | None:
    """Read `query="x", limit=5` if the first name is that of a parameter.

    Quoted values may precede it, in order: `"Lyon", after="08:00"`.
    """
    values: list[object] = []
    at = 0
    try:
        while at < len(text) and text[at] in _QUOTES and len(values) < len(names):
            scanned = scan_string(text, at, len(text))
            values.append(scanned.value)
            at = skip_space(text, scanned.end)
            if not text.startswith(",", at):
                return None
            at = skip_space(text, at + 1)
        first_name, sign, _ = text[at:].partition("=")
        has_parameter = bool(sign) and same_name(first_name, names) is not None
        if not has_parameter and not (values and _KEYWORD.match(text, at)):
            return None
        keywords = scan(f"({text[at:]})", 0, len(text) - at + 2).value
    except LenientJSONError:
        return None
    in_order = dict(zip(names, values, strict=False))
    if not isinstance(keywords, dict) or in_order.keys() & {
        same_name(key, names) for key in keywords
    }:
        return None
    return in_order | keywords


def _member_lines(text: str, names: Sequence[str]) -> Mapping[str, object] | None:
    """Read `name: value` lines, or members with commas, if the first name is a parameter's."""
    first_name = re.split("[:：=]", text[:_MAX_NAME_CHARS], maxsplit=1)[0].strip(" -*+•_`\"'“”")
    if same_name(first_name, names) is None:
        return None
    lines: list[str] = []
    for line in text.splitlines():  # a line may have several members
        parts = _NEXT_MEMBER.split(line)
        are_known = all(same_name(re.split("[:：=]", part)[0].strip(), names) for part in parts)
        lines += parts if are_known else [line]
    try:
        return read_members("\n".join(lines))
    except LenientJSONError as error:
        raise ArgumentsError(str(error)) from error


def read_members(text: str) -> Mapping[str, object] | None:
    """Read lines such as `- query: Killer Queen`, or `"query": "Killer Queen", "limit": 5`.

    Returns None for anything else. The value on a line is text, without quotation marks around it.
    Raises `LenientJSONError` if a quotation mark is not closed or a closing brace was not opened.
    """
    lines = [*_lines_with_members(text)]
    if not lines or text[lines[-1].end() :].strip():
        return _members_on_one_line(text)
    values = [_without_marks(line["value"]) for line in lines]
    if None in values:
        if members := _members_on_one_line(text):
            return members
        if text.endswith("}"):
            raise LenientJSONError("it closes a brace that nothing opens")
    pairs = [
        (line["name"], line["value"].strip() if value is None else value)
        for line, value in zip(lines, values, strict=True)
    ]
    try:
        return object_of(pairs)
    except LenientJSONError:
        return None


def members_end(text: str) -> int:
    """Return where the lines that `read_members` reads end; 0 if there are none."""
    return max((line.end() for line in _lines_with_members(text)), default=0)


def _lines_with_members(text: str) -> Iterator[re.Match[str]]:
    at = 0
    for _ in range(_LINES_AT_MOST):
        if not (line := _MEMBER_LINE.match(text, at)):
            return
        yield line
        at = line.end()


def _without_marks(value: str) -> str | None:
    """Return a value without quotation marks, or None if words follow its string."""
    value = value.strip().removesuffix(",")
    if not value or not opens_string(value[0]):
        return value
    scanned = scan_quoted(value)
    return str(scanned.value) if scanned and scanned.end == len(value) else None


def _members_on_one_line(text: str) -> Mapping[str, object] | None:
    if text.endswith("}") and "{" not in text:
        text = text[:-1]
    members = whole_value(f"{{{text}}}", _DOUBTFUL)
    return members if isinstance(members, dict) else None
