"""Arguments are fitted to a tool's parameters where they can fit in one way only."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import FieldInfo

from chart_binder.react.json.scanner import scan, scan_call
from chart_binder.react.json.strict import LenientJSONError
from chart_binder.react.tool_names import folded

_WRAPPERS: Final = frozenset(
    {"arguments", "args", "parameters", "params", "actioninput", "toolinput", "input", "kwargs"}
)


class UnfitError(ValueError):
    """Arguments do not fit; the text is one clause that says why."""


def fit(given: Mapping[str, object] | str, fields: Sequence[FieldInfo]) -> dict[str, object]:
    """Return arguments by parameter name.

    Bare text is the one argument a tool needs; `name: value` lines, `name="value"` pairs, values in
    order are read too. Keys may differ in case or punctuation; an unknown key alone stands for the
    one argument that is missing; other unknown ones are left out, as is null for an optional one.

    Raises `UnfitError`.
    """
    if isinstance(given, str):
        return fit_mapping(_from_text(given.strip(), fields), fields)
    return fit_mapping(given, fields)


def fit_mapping(given: Mapping[str, object], fields: Sequence[FieldInfo]) -> dict[str, object]:
    """Return the members of an object by parameter name, or raise `UnfitError`."""
    by_fold = {folded(field.name): field for field in fields}
    fitted: dict[str, object] = {}
    unknown: dict[str, object] = {}
    for key, value in given.items():
        field = by_fold.get(folded(key))
        if field is None:
            unknown[key] = value
        elif value is not None or field.required:
            fitted.setdefault(field.name, _coerced(value, field))
    missing = [field for field in fields if field.required and field.name not in fitted]
    if not missing:
        return fitted
    if not fitted and (inner := _wrapped(unknown)) is not None:
        return fit(inner, fields)
    if len(missing) == len(unknown) == 1:
        (value,) = unknown.values()
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return {**fitted, missing[0].name: _coerced(value, missing[0])}
    names = " and ".join(f"`{field.name}`" for field in missing)
    found = ", ".join(f"`{key}`" for key in given) or "nothing"
    raise UnfitError(f"missing required field{'s'[: len(missing) - 1]} {names}, found {found}")


def _wrapped(unknown: Mapping[str, object]) -> Mapping[str, object] | str | None:
    for key, value in unknown.items():
        if folded(key) in _WRAPPERS and isinstance(value, Mapping | str):
            return value
    return None


def _coerced(value: object, field: FieldInfo) -> object:
    if field.type is not str:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value


def _from_text(text: str, fields: Sequence[FieldInfo]) -> Mapping[str, object]:
    if not text:
        return {}
    if pairs := _pairs(text, fields) or _lines(text, fields):
        return pairs
    needed = [field for field in fields if field.required] or list(fields[:1])
    if text[0] in "\"'" and len(fields) > 1 and (values := _in_order(text, fields)):
        return values
    if len(needed) == 1:
        return {needed[0].name: text}
    if values := _in_order(text, fields):
        return values
    raise UnfitError(f"it needs a JSON object with {', '.join(field.name for field in needed)}")


def _pairs(text: str, fields: Sequence[FieldInfo]) -> Mapping[str, object] | None:
    """Read `query="x", limit=5`."""
    name, sign, _ = text.partition("=")
    if not sign or folded(name) not in {folded(field.name) for field in fields}:
        return None
    try:
        found = scan_call(f"({text})", 0, len(text) + 2).value
    except LenientJSONError:
        return None
    return found if isinstance(found, dict) else None


def _lines(text: str, fields: Sequence[FieldInfo]) -> Mapping[str, object] | None:
    """Read one `name: value` or `name = value` a line."""
    known = {folded(field.name): field.name for field in fields}
    members: dict[str, object] = {}
    for line in text.splitlines():
        sign = min((at for at in map(line.find, ":：=") if at >= 0), default=-1)
        name = known.get(folded(line[:sign].strip(" \"'-*`"))) if sign >= 0 else None
        if name is None:
            return None
        members[name] = line[sign + 1 :].strip().strip("\"'").rstrip(",")
    return members


def _in_order(text: str, fields: Sequence[FieldInfo]) -> Mapping[str, object] | None:
    """Read `2, 3` as the values of the parameters in order."""
    try:
        found = scan(f"[{text}]", 0).value
    except LenientJSONError:
        return None
    fewest = sum(field.required for field in fields)
    if not isinstance(found, list) or not fewest <= len(found) <= len(fields):
        return None
    return dict(zip((field.name for field in fields), found, strict=False))
