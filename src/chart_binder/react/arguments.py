"""Arguments are laid on a tool's parameters where they can fit in one way only."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chart_binder.react.json.members import read_members
from chart_binder.react.json.scanner import scan, scan_call, scan_string
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.json.words import INNER, UNQUOTED, skip_space
from chart_binder.react.tool_names import folded, same_name

_WRAPPERS: Final = frozenset(
    {"arguments", "args", "parameters", "params", "actioninput", "toolinput", "input", "kwargs"}
)
_ASIDES: Final = frozenset(
    {"thought", "reason", "reasoning", "explanation", "purpose", "goal", "note", "status", "type"}
    | {"because", "why", "output", "expectedoutput", "result"}
)
"""What models say of a call beside its arguments."""
_QUOTES: Final = "\"'"
_NAMED: Final = re.compile(r"\w{1,64}=[^=\s]")
"""A pair as calls have it, whatever its name; with spaces around its sign it may be words."""
_NAME_AT_MOST: Final = 66
_MEMBER: Final = re.compile(r",[ ]{1,4}(?=\w{1,64}[ ]?[:：=])")


class UnfitError(ValueError):
    """Arguments do not fit; the text is one clause that says why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a tool takes under a name; `nullable` where null is a value of its own."""

    name: str
    required: bool
    nullable: bool = False


def fit(
    given: Mapping[str, object] | str, parameters: Sequence[Parameter], whole: str = ""
) -> dict[str, object]:
    """Return arguments by parameter name.

    Bare text is the one argument a tool needs; `name: value` lines, `name="value"` pairs, values in
    order are read too. Keys may differ in case or punctuation. An unknown key alone stands for the
    one argument that is missing, unless it is an aside such as `reason`; other unknown ones are
    left out, as is null for an optional one. All of them may stand inside one key, such as
    `arguments`, or `whole`.

    Raises `UnfitError`.
    """
    if isinstance(given, str):
        given = _from_text(given.strip(), parameters)
    fitted, unknown = _sorted_out(given, parameters)
    missing = [each for each in parameters if each.required and each.name not in fitted]
    if not fitted and parameters:
        if (inner := _wrapped(unknown, whole)) is not None:
            return fit(inner, parameters)
        missing = missing or list(parameters[:1] if any(unknown.values()) else ())
    if not missing:
        return fitted
    own = [value for key, value in unknown.items() if folded(key) not in _ASIDES]
    if len(missing) == len(own) == 1:
        (value,) = own
        if isinstance(value, str | int | float | list) and not isinstance(value, bool):
            return {**fitted, missing[0].name: value}
    raise UnfitError(_told(missing, given))


def _sorted_out(
    given: Mapping[str, object], parameters: Sequence[Parameter]
) -> tuple[dict[str, object], dict[str, object]]:
    """Return what is known by its parameter's name, and what is not known."""
    by_name = {each.name: each for each in parameters}
    fitted: dict[str, object] = {}
    unknown: dict[str, object] = {}
    for key in sorted(given, key=lambda key: key not in by_name):  # exact names first
        name, value = same_name(key, by_name), given[key]
        if name is None:
            unknown[key] = value
        elif value is not None or by_name[name].required or by_name[name].nullable:
            fitted.setdefault(name, value)
    return fitted, unknown


def _told(missing: Iterable[Parameter], given: Mapping[str, object]) -> str:
    names = [f"`{each.name}`" for each in missing]
    found = ", ".join(f"`{key}`" for key in given) or "nothing"
    return f"missing required field{'s'[: len(names) - 1]} {' and '.join(names)}, found {found}"


def _wrapped(unknown: Mapping[str, object], whole: str) -> Mapping[str, object] | str | None:
    for key, value in unknown.items():
        if folded(key) in _WRAPPERS or key == whole:
            if isinstance(value, str):
                return _object(value) or value
            if isinstance(value, Mapping):
                return value
    return None


def _object(text: str) -> Mapping[str, object] | None:
    try:
        found = scan(text.strip(), 0).value if text.lstrip().startswith("{") else None
    except LenientJSONError:
        return None
    return found if isinstance(found, dict) else None


def _from_text(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object]:
    if not text:
        return {}
    names = [each.name for each in parameters]
    if len(text) <= _NAME_AT_MOST and (name := same_name(text.rstrip(":： "), names)):
        raise UnfitError(f"found the name `{name}` in place of its value")
    if pairs := _pairs(text, parameters) or _members(text, parameters):
        return pairs
    if mixed := _mixed(text, parameters):
        return mixed
    needed = [each.name for each in parameters if each.required] or names[:1]
    in_order = len(needed) > 1 or (text[0] in _QUOTES and len(names) > 1)
    values = _values(text, sure=not in_order)
    if in_order and values and len(needed) <= len(values) <= len(names):
        return dict(zip(names, values, strict=False))
    is_call = text[0] in _QUOTES and len(values) > 1
    if len(needed) == 1 and not is_call:
        return {needed[0]: values[0] if text[0] == "[" and len(values) == 1 else text}
    found = f", found {len(values)} value{'s'[: len(values) - 1]}" if values else ""
    raise UnfitError(f"it needs a JSON object with {', '.join(needed)}{found}")


def _values(text: str, *, sure: bool) -> Sequence[object]:
    """Read `2, 3` or `[2, 3]`; where it must be `sure`, not what may be words with commas.

    A list alone is one value there.
    """
    try:
        found = scan(f"[{text}]", 0)
    except LenientJSONError:
        return ()
    doubtful = (INNER, UNQUOTED) if sure else INNER
    if any(note.endswith(doubtful) for note in found.notes):
        return ()
    match found.value:
        case [list() as listed] if not sure:
            return listed
        case list() as values:
            return values
        case _:
            return ()


def _pairs(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read `query="x", limit=5`."""
    name, sign, _ = text.partition("=")
    if not sign or same_name(name, [each.name for each in parameters]) is None:
        return None
    return _named(text)


def _named(text: str) -> Mapping[str, object] | None:
    try:
        found = scan_call(f"({text})", 0, len(text) + 2).value
    except LenientJSONError:
        return None
    return found if isinstance(found, dict) else None


def _mixed(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read `"Killer Queen", artist="Queen"`: values in quotes in order, then pairs."""
    values: list[object] = []
    at = 0
    while at < len(text) and text[at] in _QUOTES and len(values) < len(parameters):
        try:
            found = scan_string(text, at, len(text))
        except LenientJSONError:
            return None
        values.append(found.value)
        at = skip_space(text, found.end)
        if not text.startswith(",", at):
            return None
        at = skip_space(text, at + 1)
    if not values:
        return None
    rest = text[at:]
    named = _named(rest) if _NAMED.match(rest) else _pairs(rest, parameters)
    if named is None:
        return None
    in_order = dict(zip((each.name for each in parameters), values, strict=False))
    by_name = {same_name(key, [each.name for each in parameters]) for key in named}
    return None if by_name & in_order.keys() else {**in_order, **named}


def _members(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read `name: value` lines, or members with commas between them, if the first is known."""
    known = [each.name for each in parameters]
    first = re.split("[:：=]", text[:_NAME_AT_MOST], maxsplit=1)[0].strip(" -*+•_`\"'“”")
    if same_name(first, known) is None:
        return None
    try:
        return read_members("\n".join(_apart(text, known)))
    except LenientJSONError as error:
        raise UnfitError(str(error)) from error


def _apart(text: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a text, those apart that stand on one with commas between them."""
    for line in text.splitlines():
        parts = _MEMBER.split(line)
        are_known = all(same_name(re.split("[:：=]", part)[0].strip(), known) for part in parts)
        yield from parts if are_known else (line,)
