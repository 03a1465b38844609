"""One JSON value at a known place, with small repairs."""

from typing import Final

from chart_binder.react.json.strict import (
    MAX_DEPTH,
    LenientJSONError,
    Scanned,
    members_of,
    read_strictly,
    too_deep,
)
from chart_binder.react.json.words import (
    Context,
    Cursor,
    begins_member,
    opens_string,
    read_key,
    read_string,
    read_word,
)

_COMMAS: Final = ",，"
_BRACES: Final = {"{": "}", "｛": "｝"}
_BRACKETS: Final = {"[": "]", "［": "］"}
_OPENERS: Final = frozenset({*_BRACES, *_BRACKETS})
_LIST_ENDS: Final = frozenset(_BRACKETS.values())


def scan(text: str, start: int, limit: int | None = None) -> Scanned:
    """Read the value that begins at `start`.

    A value that is strict JSON may end anywhere; one that needs repairs must end before `limit`.
    Repaired are only defects that leave one meaning: other quotes, inner quotes without backslash,
    spare or missing commas, comments, literals of Python, keys or words without quotes, one missing
    last bracket. Everything else raises `LenientJSONError`, above all a value that is cut off.
    """
    strict = read_strictly(text, start)
    if strict is not None:
        return strict
    cursor = Cursor(text, start, len(text) if limit is None else limit)
    return _finished(start, cursor, _value(cursor, "item", 0))


def scan_call(text: str, start: int, limit: int, closer: str = ")") -> Scanned:
    """Read `(name=value, ...)` as an object; `start` is the place of the bracket."""
    cursor = Cursor(text, start, limit)
    return _finished(start, cursor, _object(cursor, closer, 1))


def scan_string(text: str, start: int, limit: int) -> Scanned:
    """Read the quoted string that begins at `start`, as the argument of a call."""
    strict = None if text.startswith('"""', start) else read_strictly(text, start)
    if strict is not None and strict.end <= limit:
        return strict
    cursor = Cursor(text, start, limit)
    return _finished(start, cursor, read_string(cursor, "argument"))


def _finished(start: int, cursor: Cursor, value: object) -> Scanned:
    notes = tuple(f"repaired JSON: {note}" for note in cursor.notes)
    return Scanned(value, start, cursor.pos, notes)


def _value(cursor: Cursor, context: Context, depth: int) -> object:
    cursor.spend()
    cursor.skip()
    char = cursor.char
    if not char:
        raise cursor.error("it ends where a value was expected", cut=True)
    if char in _OPENERS:
        if depth >= MAX_DEPTH:
            raise too_deep(cursor.pos)
        if char in "｛［":
            cursor.note("full-width brackets")
        if char in _BRACES:
            return _object(cursor, _BRACES[char], depth + 1)
        return _array(cursor, _BRACKETS[char], depth + 1)
    if opens_string(char):
        return read_string(cursor, context)
    return read_word(cursor)


def _object(cursor: Cursor, closer: str, depth: int) -> dict[str, object]:
    members: list[tuple[str, object]] = []
    context: Context = "argument" if closer in ")）" else "member"
    cursor.pos += 1
    cursor.skip()
    while cursor.char != closer:
        key = read_key(cursor)
        _pass_colon(cursor, key)
        members.append((key, _value(cursor, context, depth)))
        _pass_comma(cursor, key, closer)
        if not cursor.char:
            return members_of(members)
    cursor.pos += 1
    return members_of(members)


def _pass_colon(cursor: Cursor, key: str) -> None:
    cursor.skip()
    if not cursor.char:
        raise cursor.error(f"it ends after the key {key!r}", cut=True)
    if cursor.char not in ":：=":
        raise cursor.error(f"there is no colon after the key {key!r}")
    if cursor.char != ":":
        cursor.note("another sign for the colon")
    cursor.pos += 2 if cursor.text.startswith("=>", cursor.pos) else 1


def _pass_comma(cursor: Cursor, key: str, closer: str) -> None:
    """Come to the next key, the closing bracket, or an end that may lack just that bracket."""
    ended = cursor.pos
    cursor.skip()
    if not cursor.char:
        _forgive_missing(cursor, closer)
    elif cursor.char in _COMMAS:
        _pass_commas(cursor, closer)
    elif cursor.char != closer:
        new_line = "\n" in cursor.text[ended : cursor.pos]
        if not (new_line and begins_member(cursor.text, cursor.pos)):
            found = cursor.text[cursor.pos : min(cursor.pos + 12, cursor.limit)]
            raise cursor.error(
                f"after the value of {key!r} stands {found!r} instead of a comma or {closer}"
            )
        cursor.note("missing comma")


def _pass_commas(cursor: Cursor, closer: str) -> None:
    cursor.pos += 1
    cursor.skip()
    while closer not in _LIST_ENDS and cursor.char and cursor.char in _COMMAS:
        cursor.spend()
        cursor.note("spare comma")
        cursor.pos += 1
        cursor.skip()
    if not cursor.char:
        raise cursor.error("it ends after a comma", cut=True)
    if cursor.char == closer:
        cursor.note("trailing comma")


def _forgive_missing(cursor: Cursor, closer: str) -> None:
    """Let one closing bracket be missing, unless other repairs make it doubtful what was meant."""
    if cursor.unsure:
        raise cursor.error(f"it ends without the closing {closer}", cut=True)
    cursor.unsure = True
    cursor.note(f"missing last {closer}")


def _array(cursor: Cursor, closer: str, depth: int) -> list[object]:
    items: list[object] = []
    cursor.pos += 1
    cursor.skip()
    while cursor.char != closer:
        items.append(_value(cursor, "item", depth))
        cursor.skip()
        if not cursor.char:
            _forgive_missing(cursor, closer)
            return items
        if cursor.char in _COMMAS:
            _pass_commas(cursor, closer)
        elif cursor.char != closer:
            raise cursor.error(f"in a list stands {cursor.char!r} instead of a comma or {closer}")
    cursor.pos += 1
    return items


__all__ = ["LenientJSONError", "Scanned", "scan", "scan_call", "scan_string"]
