"""Binds the arguments that a model wrote to a tool's parameters, and coerces them to its schema.

An ambiguous argument is refused with advice. The lax mode of pydantic is not used, because it reads
`True` as 1 and `"86400"` as a date, and refuses a choice in another case.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

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

Schema: TypeAlias = Mapping[str, Any]

_DECORATION: Final = " \t\n*`\"'“”‘’「」.,;:：!。，"
_BRACKETS: Final = {"[": "]", "(": ")", "<": ">", "{": "}", "【": "】"}
_NAMESPACES: Final = re.compile(
    r"\A(?:(?:functions?|tools?|actions?|api|default_api)\.(?=.)){1,3}", re.IGNORECASE
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
CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The place between two words of a name in camel case."""
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
        elif value is not None or name in required or _takes_null(members[name], definitions):
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
    for name, value in bound.items():
        unusable += _unknown_inside(value, members[name], definitions, name)
    if unusable:
        names = " and ".join(f"`{key}`" for key in unusable)
        raise ArgumentsError(f"it has no argument{'' if len(unusable) == 1 else 's'} {names}")
    return BoundArguments(bound, tuple(f"ignored the argument `{key}`" for key in unknown))


def _suits(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a value has a type of the schema; a text of digits counts as a number."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    schema = resolved(schema, definitions)
    return any(_has_type(value, part, definitions) for part in alternatives_of(schema) or (schema,))


def _unknown_inside(value: object, schema: Schema, definitions: Schema, at: str) -> Iterator[str]:
    """Yield the paths of keys inside a value that are not in its schema."""
    schema = resolved(schema, definitions)
    kinds = [part for part in alternatives_of(schema) if part.get("type") != "null"]
    if kinds:
        schema = resolved(kinds[0], definitions) if len(kinds) == 1 else {}
    members: Mapping[str, Schema] = schema.get("properties", {})
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for part in value:
            yield from _unknown_inside(part, items, definitions, at)
    if isinstance(value, dict) and members and not schema.get("additionalProperties"):
        for key, part in value.items():
            if key in members:
                yield from _unknown_inside(part, members[key], definitions, f"{at}.{key}")
            elif _may_matter(key, part):
                yield f"{at}.{key}"


def _unwrapped(unknown: Mapping[str, object], wrapper: str) -> dict[str, object] | str | None:
    """Return the value of a key that contains all arguments, or None."""
    values = (
        _parsed(value, "{")
        for key, value in unknown.items()
        if folded(key) in _WRAPPERS or key == wrapper
    )
    return next((value for value in values if isinstance(value, str | dict)), None)


def _whole_value(text: str, doubtful: frozenset[Repair] = frozenset()) -> Any:
    """Return the value of a JSON text; None if it is not JSON or needs a `doubtful` repair."""
    try:
        scanned = scan(text, 0)
    except LenientJSONError:
        return None
    is_certain = doubtful.isdisjoint(scanned.repairs) and not text[scanned.end :].strip()
    return scanned.value if is_certain else None


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
    values = _whole_value(f"[{text}]", doubtful) or []
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


def members_end(text: str, at: int, limit: int) -> int:
    """Return where the lines that `read_members` reads end; `at` if there are none."""
    return max((line.end() for line in _lines_with_members(text[at:limit])), default=0) + at


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
    members = _whole_value(f"{{{text}}}", _DOUBTFUL)
    return members if isinstance(members, dict) else None


def clean_name(text: str) -> str:
    """Return a name without the emphasis, quotes or brackets around it, `()` and `functions.`.

    In Markdown a backslash may precede an underscore.
    """
    name = text.replace("\\_", "_").strip(_DECORATION).removesuffix("()").strip(_DECORATION)
    if name and name[-1] == _BRACKETS.get(name[0]):
        name = name[1:-1].strip(_DECORATION)
    return _NAMESPACES.sub("", name)


def folded(name: str) -> str:
    """Return a name without case, width, spaces, hyphens and underscores."""
    if name.isascii() and name.isidentifier():
        return name.replace("_", "").lower()
    return re.sub(r"[\s_-]", "", unicodedata.normalize("NFKC", name)).casefold()


def same_name(text: str, names: Collection[str]) -> str | None:
    """Return the name that equals a text, else the only name that equals it when folded."""
    if text in names:
        return text
    folded_text = folded(text)
    matches = [name for name in names if folded(name) == folded_text]
    return matches[0] if len(matches) == 1 else None


# Values are coerced to a schema before validation if only one meaning is possible.

_MAX_REFERENCES: Final = 10
_INTEGER: Final = re.compile(r"([+-]?[0-9]{1,30})(?:\.0{1,30})?")
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?"
)
_DATE: Final = re.compile(
    r"([0-9]{4})(?:([-/.])([0-9]{1,2})\2([0-9]{1,2})|([0-9]{2})([0-9]{2}))"
    r"(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?"
)
_BOOLEANS: Final = dict.fromkeys(("true", "yes", "on"), True) | dict.fromkeys(
    ("false", "no", "off"), False
)
_NULLS: Final = frozenset({"", "null", "none", "nil"})
_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def coerce(value: object, schema: Schema, definitions: Schema) -> object:
    """Return a value converted to the type of a schema, or unchanged if its meaning is not certain.

    `"3"` becomes 3, 3 becomes `"3"`, `"True"` becomes true, and `"null"` becomes null unless text
    is expected. A single item becomes a list, and JSON in a text becomes its list or object. A name
    becomes the choice that differs only in case and punctuation, and `1975/10/31` a date. Text with
    commas becomes a list of numbers or choices, but never of texts, because a title may contain a
    comma. The result must still be validated.
    """
    schema = resolved(schema, definitions)
    if alternatives := alternatives_of(schema):
        return _to_one_of(value, alternatives, definitions)
    if choice := choices(schema):
        if type(value) not in (str, int) or _is_among(value, choice):
            return value
        by_name = {str(item): item for item in choice}
        name = same_name(str(value), by_name)
        return value if name is None else by_name[name]
    kind = schema.get("type", "")
    if kind == "array":
        return _to_list(value, schema, definitions)
    if kind == "object":
        return _to_object(value, schema, definitions)
    convert = _to_date if schema.get("format") == "date" else _BY_TYPE.get(kind)
    return convert(value) if convert else value


def _to_one_of(value: object, alternatives: Sequence[Schema], definitions: Schema) -> object:
    """Return a value coerced to the alternative whose type it has, else to one that it can become.

    If it has the types of several, an alternative that leaves it unchanged is preferred. If it can
    become several different values, it is returned unchanged.
    """
    coerced = [(schema, coerce(value, schema, definitions)) for schema in alternatives]
    unchanged = [new for schema, new in coerced if _has_type(value, schema, definitions)]
    if unchanged:
        return next((new for new in unchanged if repr(new) == repr(value)), unchanged[0])
    fitted = [new for schema, new in coerced if _has_type(new, schema, definitions)]
    return fitted[0] if fitted and all(new == fitted[0] for new in fitted) else value


def _has_type(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a value has the type of a schema; the limits are not checked."""
    schema = resolved(schema, definitions)
    if choice := choices(schema):
        return _is_among(value, choice)
    if schema.get("format") == "date":
        return isinstance(value, str) and bool(_DATE.fullmatch(value)) and _to_date(value) == value
    kinds = _PYTHON_TYPES.get(schema.get("type", ""))
    return kinds is None or type(value) in kinds


def _is_among(value: object, choice: Sequence[object]) -> bool:
    return any(type(item) is type(value) and item == value for item in choice)


def _to_list(value: object, schema: Schema, definitions: Schema) -> object:
    value = _parsed(value, "[")
    items = schema.get("items")
    item = resolved(items, definitions) if isinstance(items, dict) else {}
    if isinstance(value, list):
        kinds = chain(schema.get("prefixItems", ()), repeat(item))
        return [coerce(part, kind, definitions) for part, kind in zip(value, kinds, strict=False)]
    if value is None or not (choices(item) or item.get("type") in _BY_TYPE):
        return value
    return _split_items(value, item, definitions)


def _split_items(value: object, item: Schema, definitions: Schema) -> object:
    """Return a list of one item, or of the numbers or choices between commas."""
    if not isinstance(value, str) or "," not in value:
        return [coerce(value, item, definitions)]
    parts = [coerce(part.strip(), item, definitions) for part in value.split(",")]
    is_title = item.get("type") == "string" and item.get("format") != "date"
    if is_title and not choices(item):
        return value
    return parts if all(_has_type(part, item, definitions) for part in parts) else value


def _to_object(value: object, schema: Schema, definitions: Schema) -> object:
    value = _parsed(value, "{")
    if not isinstance(value, dict):
        return value
    members: Mapping[str, Schema] = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    additional_schema: Schema = additional if isinstance(additional, dict) else {}
    fitted: dict[str, object] = {}
    for key, part in value.items():
        name = same_name(key, members) or key
        fitted.setdefault(name, coerce(part, members.get(name, additional_schema), definitions))
    return fitted


def _parsed(value: object, opener: str) -> object:
    """Return the list or object that a text contains as JSON, else the value itself."""
    if not isinstance(value, str) or not value.strip().startswith(opener):
        return value
    parsed = _whole_value(value.strip())
    return value if parsed is None else parsed


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema that a reference points to; any other schema is returned unchanged."""
    for _ in range(_MAX_REFERENCES):
        combined = schema.get("allOf", ())
        reference = (combined[0] if len(combined) == 1 else schema).get("$ref")
        if reference is None:
            break
        schema = definitions.get(reference.rpartition("/")[2], {})
    return schema


def _takes_null(schema: Schema, definitions: Schema) -> bool:
    """Return whether a schema allows null."""
    schema = resolved(schema, definitions)
    return any(part.get("type") == "null" for part in alternatives_of(schema) or (schema,))


def choices(schema: Schema) -> Sequence[object]:
    """Return the allowed values if the schema lists them."""
    return (schema["const"],) if "const" in schema else schema.get("enum", ())


def alternatives_of(schema: Schema) -> Sequence[Schema]:
    """Return the alternatives of a schema, if there are several."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return schema.get("anyOf") or schema.get("oneOf") or ()


def _to_text(value: object) -> object:
    """Return a number, or a list of one text, as text; return any other value unchanged."""
    if type(value) in (int, float):
        return json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def _to_integer(value: object) -> object:
    """Return a whole number (`"3"`, 3.0) as an integer; return any other value unchanged."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    match = _INTEGER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(match[1]) if match else value


def _to_number(value: object) -> object:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    integer = _to_integer(value)
    number = float(value)
    return integer if isinstance(integer, int) else number if math.isfinite(number) else value


def _to_boolean(value: object) -> object:
    if type(value) is int and value in (0, 1):
        return bool(value)
    return _BOOLEANS.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _to_null(value: object) -> object:
    return None if isinstance(value, str) and value.strip().casefold() in _NULLS else value


def _to_date(value: object) -> object:
    """Return a date that begins with its year in ISO form; return any other value unchanged."""
    match = _DATE.fullmatch(str(value).strip()) if type(value) in (str, int) else None
    if match is None:
        return value
    year, month, day = match[1], match[3] or match[5], match[4] or match[6]
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return value


Coercion = Callable[[object], object]
_BY_TYPE: Final[Mapping[str, Coercion]] = {
    "string": _to_text,
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "null": _to_null,
}
"""The coercion for each type of a JSON schema."""
