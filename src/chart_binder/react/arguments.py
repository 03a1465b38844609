"""Arguments as a model wrote them: bound to a tool's parameters, coerced to its JSON schema.

Whatever could mean two things is refused, with advice. Our own code rather than a validator's lax
mode: pydantic's takes `True` for 1 and `"86400"` for a date, and refuses a choice in another case.
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
    INNER,
    UNQUOTED,
    LenientJSONError,
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
"""Keys under which models explain a call, beside its arguments."""
_EXPLANATIONS: Final = frozenset(
    {"thought", "thoughts", "reason", "reasoning", "explanation", "purpose", "because", "why"}
    | {"rationale", "justification"}
)
"""Unknown keys that change nothing in what a call asks for."""
_EXTRAS: Final = (_REMARKS - _EXPLANATIONS) | frozenset(
    {"id", "callid", "toolcallid", "limit", "topk", "topn", "maxresults", "numresults"}
)
"""Unknown keys that are ignored if their value suits no parameter that has none."""
_QUOTES: Final = "\"'"
CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Between two words of a name in camel case."""
_KEYWORD: Final = re.compile(r"\w{1,64}=[^=\s]")
"""A keyword argument of any name; with spaces around its sign it may be prose."""
_MAX_NAME_CHARS: Final = 66
_NEXT_MEMBER: Final = re.compile(r",[ ]{1,4}(?=\w{1,64}[ ]?[:：=])")
_LINES_AT_MOST: Final = 32
_MEMBER_LINE: Final = re.compile(
    r"[ \t]*+(?>(?:[-*+•][ \t]{1,4}+)?)(?!```)[*_`\"'“]{0,4}+(?P<name>(?:[Ss]earch )?[\w-]{1,64}+)"
    r"[*_`\"'”]{0,4}+[ \t]?(?:[:：](?!//)|=(?!=))[*_`]{0,2}+(?![ \t]*+(?:[\[{｛]|```))"
    r"(?![^\n]{0,200}[{｛]\s{0,4}+[\"'“/])(?P<value>[^\n]++)(?:\n|\Z)"
)


class ArgumentsError(ValueError):
    """Arguments cannot be used; the text is one clause that says which, and why."""


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """Arguments by the names of a schema's members; `notes` say which unknown ones are ignored."""

    values: dict[str, object]
    notes: tuple[str, ...] = ()


def bind(arguments: Mapping[str, object] | str, schema: Schema, whole: str = "") -> BoundArguments:
    """Return arguments by the names of a schema's members, each value coerced to its member.

    Bare text is the one argument that a tool needs; `name: value` lines, `name="value"` pairs and
    values in order are read too. Keys may differ in case or punctuation. An unknown key alone
    stands for the one argument that is missing, unless it is a remark such as `reason`; `null` for
    an optional member is left out. All arguments may stand inside one key, such as `arguments`, or
    `whole`.

    Raises `ArgumentsError`, also for an unknown key that may mean something (`_ignored`).
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
    if not bound and members and (inner := _unwrapped(unknown, whole)) is not None:
        return bind(inner, schema)
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
    found = ", ".join(f"`{key}`" for key in arguments) or "nothing"
    raise ArgumentsError(f"missing required field{plural} {names}, found {found}")


def _may_matter(key: str, value: object) -> bool:
    return folded(key) not in _EXPLANATIONS and value not in (None, "", [], {})


def _without_unknown(
    bound: dict[str, object], unknown: Mapping[str, object], schema: Schema
) -> BoundArguments:
    """Return bound arguments, or raise `ArgumentsError` for an unknown key that may mean something.

    Explanations and empty values are ignored. What a model adds to many calls, such as `limit`, is
    ignored if its value suits no parameter that is left: then it is no wrong name of one.
    """
    if schema.get("additionalProperties"):
        return BoundArguments({**bound, **unknown})
    members: Mapping[str, Schema] = schema.get("properties", {})
    definitions = schema.get("$defs", {})
    left = [member for name, member in members.items() if name not in bound]
    wrong = [
        key
        for key, value in unknown.items()
        if _may_matter(key, value)
        and not (
            folded(key) in _EXTRAS
            and not any(_suits(value, member, definitions) for member in left)
        )
    ]
    for name, value in bound.items():
        wrong += _unknown_inside(value, members[name], definitions, name)
    if wrong:
        names = " and ".join(f"`{key}`" for key in wrong)
        raise ArgumentsError(f"it has no argument{'' if len(wrong) == 1 else 's'} {names}")
    return BoundArguments(bound, tuple(f"ignored the argument `{key}`" for key in unknown))


def _suits(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a parameter could take a value; digits in quotes count as a number."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    schema = resolved(schema, definitions)
    return any(_has_type(value, part, definitions) for part in alternatives_of(schema) or (schema,))


def _unknown_inside(value: object, schema: Schema, definitions: Schema, at: str) -> Iterator[str]:
    """Yield the paths of keys inside a value that its schema does not have."""
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


def _unwrapped(unknown: Mapping[str, object], whole: str) -> dict[str, object] | str | None:
    """Return what stands inside a key that holds all of the arguments, or None."""
    inner = (
        _parsed(value, "{")
        for key, value in unknown.items()
        if folded(key) in _WRAPPERS or key == whole
    )
    return next((each for each in inner if isinstance(each, str | dict)), None)


def _whole_value(text: str, doubtful: tuple[str, ...]) -> Any:
    """Return the value that a whole text writes in JSON, or None, also after a doubtful repair."""
    try:
        found = scan(text, 0)
    except LenientJSONError:
        return None
    is_doubtful = any(note.endswith(doubtful) for note in found.notes)
    return None if is_doubtful or text[found.end :].strip() else found.value


def _from_text(text: str, names: Sequence[str], needed: Sequence[str]) -> Mapping[str, object]:
    """Return the arguments that a text writes in some other form than a JSON object."""
    if not text:
        return {}
    if len(text) <= _MAX_NAME_CHARS and (name := same_name(text.rstrip(":： "), names)):
        raise ArgumentsError(f"found the name `{name}` in place of its value")
    if members := _values_and_keywords(text, names) or _member_lines(text, names):
        return members
    in_order = len(needed) > 1 or (text[0] in _QUOTES and len(names) > 1)
    # Where one text is wanted, words without quotes are no values of a list.
    values = _whole_value(f"[{text}]", (INNER,) if in_order else (INNER, UNQUOTED)) or []
    if in_order and len(values) == 1 and isinstance(values[0], list):
        (values,) = values
    if in_order and values and len(needed) <= len(values) <= len(names):
        return dict(zip(names, values, strict=False))
    is_call = text[0] in _QUOTES and len(values) > 1
    if len(needed) == 1 and not is_call:
        return {needed[0]: values[0] if text[0] == "[" and len(values) == 1 else text}
    found = f", found {len(values)} value{'' if len(values) == 1 else 's'}" if values else ""
    raise ArgumentsError(f"it needs a JSON object with {', '.join(needed)}{found}")


def _values_and_keywords(text: str, names: Sequence[str]) -> Mapping[str, object] | None:
    """Read `query="x", limit=5`, if the first name is a parameter's.

    Quoted values may stand before it, in order: `"Lyon", after="08:00"`.
    """
    values: list[object] = []
    at = 0
    try:
        while at < len(text) and text[at] in _QUOTES and len(values) < len(names):
            found = scan_string(text, at, len(text))
            values.append(found.value)
            at = skip_space(text, found.end)
            if not text.startswith(",", at):
                return None
            at = skip_space(text, at + 1)
        first, sign, _ = text[at:].partition("=")
        is_known = bool(sign) and same_name(first, names) is not None
        if not is_known and not (values and _KEYWORD.match(text, at)):
            return None
        named = scan(f"({text[at:]})", 0, len(text) - at + 2).value
    except LenientJSONError:
        return None
    in_order = dict(zip(names, values, strict=False))
    if not isinstance(named, dict) or in_order.keys() & {same_name(key, names) for key in named}:
        return None
    return in_order | named


def _member_lines(text: str, known: Sequence[str]) -> Mapping[str, object] | None:
    """Read `name: value` lines, or members separated by commas, if the first name is known."""
    first = re.split("[:：=]", text[:_MAX_NAME_CHARS], maxsplit=1)[0].strip(" -*+•_`\"'“”")
    if same_name(first, known) is None:
        return None
    lines: list[str] = []
    for line in text.splitlines():  # a line of several known members is read one by one
        parts = _NEXT_MEMBER.split(line)
        are_known = all(same_name(re.split("[:：=]", part)[0].strip(), known) for part in parts)
        lines += parts if are_known else [line]
    try:
        return read_members("\n".join(lines))
    except LenientJSONError as error:
        raise ArgumentsError(str(error)) from error


def read_members(text: str) -> Mapping[str, object] | None:
    """Read `- query: Killer Queen` a line, or `"query": "Killer Queen", "limit": 5`.

    Returns None for anything else. What a line says is text, without quotation marks around it.
    Raises `LenientJSONError` where they are not closed, or a brace is that nothing opens.
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
    """Return where the lines that `read_members` reads end; `at` where none begins."""
    return max((line.end() for line in _lines_with_members(text[at:limit])), default=0) + at


def _lines_with_members(text: str) -> Iterator[re.Match[str]]:
    at = 0
    for _ in range(_LINES_AT_MOST):
        if not (line := _MEMBER_LINE.match(text, at)):
            return
        yield line
        at = line.end()


def _without_marks(value: str) -> str | None:
    """Return the words of a value, or None where it only begins with a string."""
    value = value.strip().removesuffix(",")
    if not value or not opens_string(value[0]):
        return value
    found = scan_quoted(value)
    return str(found.value) if found and found.end == len(value) else None


def _members_on_one_line(text: str) -> Mapping[str, object] | None:
    if text.endswith("}") and "{" not in text:
        text = text[:-1]
    found = _whole_value(f"{{{text}}}", (UNQUOTED, INNER))
    return found if isinstance(found, dict) else None


def clean_name(written: str) -> str:
    """Strip the decoration of a name: emphasis, quotes, brackets, empty calls, `functions.`.

    In Markdown an underscore may have a backslash before it.
    """
    name = written.replace("\\_", "_").strip(_DECORATION).removesuffix("()").strip(_DECORATION)
    if name and name[-1] == _BRACKETS.get(name[0]):
        name = name[1:-1].strip(_DECORATION)
    return _NAMESPACES.sub("", name)


def folded(name: str) -> str:
    """Fold case, width, spaces, hyphens, underscores out of a name."""
    if name.isascii() and name.isidentifier():
        return name.replace("_", "").lower()
    return re.sub(r"[\s_-]", "", unicodedata.normalize("NFKC", name)).casefold()


def same_name(written: str, known: Collection[str]) -> str | None:
    """Return the known name that is written, else the only one that is the same when folded."""
    if written in known:
        return written
    wanted = folded(written)
    alike = [name for name in known if folded(name) == wanted]
    return alike[0] if len(alike) == 1 else None


# Values coerced to a schema where they can mean one thing only, before validation.

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
    """Return a value in the type that a schema asks for, or as it is where that is not certain.

    `"3"` becomes 3 and 3 becomes `"3"`, `"True"` true, `"null"` null where no text is wanted; a
    lone item becomes a list of one, JSON in a text the list or object that it writes; a name the
    choice that it equals but for case and punctuation; `1975/10/31` a date. Text with commas
    becomes a list of numbers or choices, but never of texts, for a title may contain a comma. The
    result is still to be validated.
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
    """Take the alternative that a value has already, else the one that it can be bent to.

    Of several that it has, one goes first in which nothing needs to be bent.
    """
    bent = [(schema, coerce(value, schema, definitions)) for schema in alternatives]
    own = [new for schema, new in bent if _has_type(value, schema, definitions)]
    if own:
        return next((new for new in own if repr(new) == repr(value)), own[0])
    fitted = [new for schema, new in bent if _has_type(new, schema, definitions)]
    return fitted[0] if fitted and all(new == fitted[0] for new in fitted) else value


def _has_type(value: object, schema: Schema, definitions: Schema) -> bool:
    """Return whether a value has the type that is wanted; its limits are not looked at."""
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
    """Return a list of one item, or of those between commas where each is a number or a choice."""
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
    others = schema.get("additionalProperties")
    other: Schema = others if isinstance(others, dict) else {}
    fitted: dict[str, object] = {}
    for key, part in value.items():
        name = same_name(key, members) or key
        fitted.setdefault(name, coerce(part, members.get(name, other), definitions))
    return fitted


def _parsed(value: object, opener: str) -> object:
    """Return the list or object that a text writes in JSON, else the value."""
    if not isinstance(value, str) or not value.strip().startswith(opener):
        return value
    read = _whole_value(value.strip(), ())
    return value if read is None else read


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema that a reference leads to."""
    for _ in range(_MAX_REFERENCES):
        whole = schema.get("allOf", ())
        reference = (whole[0] if len(whole) == 1 else schema).get("$ref")
        if reference is None:
            break
        schema = definitions.get(reference.rpartition("/")[2], {})
    return schema


def _takes_null(schema: Schema, definitions: Schema) -> bool:
    """Return whether null is a value of its own."""
    schema = resolved(schema, definitions)
    return any(part.get("type") == "null" for part in alternatives_of(schema) or (schema,))


def choices(schema: Schema) -> Sequence[object]:
    """Return the only values that are allowed, if the schema lists them."""
    return (schema["const"],) if "const" in schema else schema.get("enum", ())


def alternatives_of(schema: Schema) -> Sequence[Schema]:
    """Return the schemas of which one must hold, if there are several."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return schema.get("anyOf") or schema.get("oneOf") or ()


def _to_text(value: object) -> object:
    """Write a number out; take the one text out of a list."""
    if type(value) in (int, float):
        return json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def _to_integer(value: object) -> object:
    """Read a whole number, also one with zeros behind its point."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    found = _INTEGER.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(found[1]) if found else value


def _to_number(value: object) -> object:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    whole = _to_integer(value)
    read = float(value)
    return whole if isinstance(whole, int) else read if math.isfinite(read) else value


def _to_boolean(value: object) -> object:
    if type(value) is int and value in (0, 1):
        return bool(value)
    return _BOOLEANS.get(value.strip().casefold(), value) if isinstance(value, str) else value


def _to_null(value: object) -> object:
    return None if isinstance(value, str) and value.strip().casefold() in _NULLS else value


def _to_date(value: object) -> object:
    """Read a date that begins with its year: others have two meanings."""
    found = _DATE.fullmatch(str(value).strip()) if type(value) in (str, int) else None
    if found is None:
        return value
    year, month, day = found[1], found[3] or found[5], found[4] or found[6]
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
"""How each type of a JSON schema is read."""
