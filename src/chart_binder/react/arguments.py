"""Arguments are laid on a tool's parameters where they can fit in one way only."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chart_binder.react.json.scanner import scan, scan_call, scan_string
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.json.words import skip_space
from chart_binder.react.tool_names import folded, same_name

_WRAPPERS: Final = frozenset(
    {"arguments", "args", "parameters", "params", "actioninput", "toolinput", "input", "kwargs"}
)
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
    order are read too. Keys may differ in case or punctuation; an unknown key alone stands for the
    one argument that is missing; other unknown ones are left out, as is null for an optional one.
    All of them may stand inside one key, such as `arguments`, or `whole`.

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
    if len(missing) == len(unknown) == 1:
        (value,) = unknown.values()
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
    if pairs := _pairs(text, parameters) or _lines(text, parameters):
        return pairs
    if mixed := _mixed(text, parameters):
        return mixed
    needed = [each for each in parameters if each.required] or list(parameters[:1])
    if text[0] in "\"'" and len(parameters) > 1 and (values := _in_order(text, parameters)):
        return values
    if len(needed) == 1:
        return {needed[0].name: text}
    if values := _in_order(text, parameters):
        return values
    raise UnfitError(f"it needs a JSON object with {', '.join(each.name for each in needed)}")


def _pairs(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read `query="x", limit=5`."""
    name, sign, _ = text.partition("=")
    if not sign or same_name(name, [each.name for each in parameters]) is None:
        return None
    try:
        found = scan_call(f"({text})", 0, len(text) + 2).value
    except LenientJSONError:
        return None
    return found if isinstance(found, dict) else None


def _mixed(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read `"Killer Queen", artist="Queen"`: values in quotes in order, then pairs."""
    values: list[object] = []
    at = 0
    while at < len(text) and text[at] in "\"'" and len(values) < len(parameters):
        try:
            found = scan_string(text, at, len(text))
        except LenientJSONError:
            return None
        values.append(found.value)
        at = skip_space(text, found.end)
        if not text.startswith(",", at):
            return None
        at = skip_space(text, at + 1)
    named = _pairs(text[at:], parameters) if values else None
    if named is None:
        return None
    in_order = dict(zip((each.name for each in parameters), values, strict=False))
    by_name = {same_name(key, [each.name for each in parameters]) for key in named}
    return None if by_name & in_order.keys() else {**in_order, **named}


def _lines(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read one `name: value` or `name = value` a line."""
    known = [each.name for each in parameters]
    members: dict[str, object] = {}
    for line in _members(text, known):
        sign = min((at for at in map(line.find, ":：=") if at >= 0), default=-1)
        name = same_name(line[:sign].strip(" \"'-*`"), known) if sign >= 0 else None
        if name is None:
            return None
        members[name] = line[sign + 1 :].strip().strip("\"'").rstrip(",")
    return members


def _members(text: str, known: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a text, those apart that stand on one with commas between them."""
    for line in text.splitlines():
        parts = _MEMBER.split(line)
        are_known = all(same_name(re.split("[:：=]", part)[0].strip(), known) for part in parts)
        yield from parts if are_known else (line,)


def _in_order(text: str, parameters: Sequence[Parameter]) -> Mapping[str, object] | None:
    """Read `2, 3` as the values of the parameters in order."""
    try:
        found = scan(f"[{text}]", 0).value
    except LenientJSONError:
        return None
    fewest = sum(each.required for each in parameters)
    if not isinstance(found, list) or not fewest <= len(found) <= len(parameters):
        return None
    return dict(zip((each.name for each in parameters), found, strict=False))
