"""Reads JSON as models write it: as strict JSON, or with repairs that leave only one meaning.

The library `json-repair` is not used, because it needs seconds for 10 kB of braces, takes the last
of several objects, and accepts infinity.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final, NoReturn

MAX_DEPTH: Final = 50
MAX_PIECES: Final = 1200
"""The largest number of pieces of a value that needs repairs; strict JSON has no limit."""
_MAX_OBJECTS: Final = 16
_CLOSERS: Final = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "‘": "’‘'", "’": "’'"}
"""Each quotation mark with the marks that close it."""
_LITERALS: Final = {
    "true": "true",
    "false": "false",
    **dict.fromkeys(("null", "none", "undefined"), "null"),
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
# All quantifiers are possessive, so that a pattern that does not match fails without backtracking.
_SPACE: Final = re.compile(r"[\s\ufeff\u200b]*+")
_KEY: Final = re.compile(r"[\w$][\w$-]{0,63}+")
_MEMBER: Final = re.compile(
    rf"[{''.join(_CLOSERS)}]|{_KEY.pattern}[ \t]{{0,8}}+(?:[:：](?!//)|=(?!=))"
)
_COMMENT: Final = re.compile(r"(?:#|//)[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?")
_WORDS: Final = re.compile(r"(?>(?:(?!\s(?:#|//)|/\*)[^,，;{}\[\]()\"“”\n]){1,400})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|\Z)", re.DOTALL)
# What may follow the end of a string, by the closing bracket of the object, list or call around it.
_AFTER_STRING: Final = {
    "]": r"{space}(?:[,，\]}}/]|\Z|```)|\s++\#",
    "}": r"{space}(?:[}}\]/]|\Z|```|[,，]{space}(?:\Z|[}}/#]|{member}))|\s++\#"
    r"|[^\S\n]*+\n{space}(?:{member})",
}
_AFTER_STRING[")"] = rf"{_AFTER_STRING['}']}|{{space}}(?:[)）]|[,，]{{space}}\))"
_INCHES: Final = re.compile(r"[ )-]\w")


class Repair(StrEnum):
    """A repair of JSON, with the text of its note."""

    UNQUOTED = "value without quotes"
    INNER_QUOTES = "inner quotes without a backslash"
    NO_LAST_BRACE = "missing last }"
    NO_LAST_BRACKET = "missing last ]"
    NO_LAST_PARENTHESIS = "missing last )"
    COMMENT = "comment left out"
    COLON = "a sign other than a colon"
    COMMA = "missing comma"
    TRAILING_COMMA = "trailing comma"
    KEY = "key without quotes"
    QUOTES = "other quotes"
    LITERAL = "literal of another language"
    ZERO = "a number without its zero"


_NO_LAST: Final = {Repair.NO_LAST_BRACE, Repair.NO_LAST_BRACKET, Repair.NO_LAST_PARENTHESIS}


class LenientJSONError(ValueError):
    """A value cannot be read; the text is a clause that says why."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A value, the place after it, and the repairs that it needed, each once."""

    value: object
    end: int
    repairs: tuple[Repair, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the repairs."""
        return tuple(f"repaired JSON: {repair}" for repair in self.repairs)

    @property
    def is_closed(self) -> bool:
        """Whether the text had the last closing bracket."""
        return _NO_LAST.isdisjoint(self.repairs)


def read_json(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the first JSON object in `text`, with notes on repairs.

    Raises `LenientJSONError` if it cannot be read, because the text after it may be a part of it.
    """
    if '{"' not in text:
        text = text.replace('\\"', '"')  # an object in a string
    for _, scanned in find_objects(text):
        return dict(scanned.value), scanned.notes  # type: ignore[call-overload]
    raise LenientJSONError("there is no JSON object in it")


def find_objects(text: str, *, closed: bool = False) -> Iterator[tuple[int, Scanned]]:
    """Yield the JSON objects in a text, each with its place; braces around words are skipped."""
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            return
        end = at + 1
        if opens_object(text, at):
            fence = text.find("```", at)
            scanned = scan(text, at, fence if fence >= 0 else len(text), closed=closed)
            end = scanned.end
            yield at, scanned
        at = text.find("{", end)
    raise LenientJSONError("there are too many braces in it")


def scan(text: str, start: int, limit: int | None = None, *, closed: bool = False) -> Scanned:
    """Read the object or list that begins at `start`, or the `(name=value, ...)` of a call.

    Strict JSON may end anywhere; a value that needs repairs must end before `limit`. A value is
    repaired if only one meaning is possible. A missing last bracket is repaired, too, unless the
    value must be `closed`. Raises `LenientJSONError` in all other cases.
    """
    strict = read_strictly(text, start)
    return strict or _Repairer(text, start, limit, is_closed=closed).read()


def scan_string(text: str, start: int, limit: int) -> Scanned:
    """Read the quoted string that begins at `start`, as the argument of a call."""
    strict = None if text.startswith('"""', start) else read_strictly(text, start)
    if strict is not None and strict.end <= limit:
        return strict
    reader = _Repairer(text, start, limit)
    value = reader.read_string(")")
    return Scanned(value, reader.pos, tuple(reader.repairs))


def scan_quoted(text: str) -> Scanned | None:
    """Read the string at the beginning of a text; None if its mark only begins a word.

    Raises `LenientJSONError` if the string is never closed.
    """
    if not opens_string(text[:1]):
        return None
    try:
        return scan_string(text, 0, len(text))
    except LenientJSONError:
        if text[0] in '"“' and text.find(text[0], 1) < 0:  # an apostrophe may begin a word
            raise
        return None


def read_strictly(text: str, start: int) -> Scanned | None:
    """Return the JSON value that begins at `start`, or None if it is not strict JSON.

    Raises `LenientJSONError` for a value that cannot be repaired, such as NaN or a key with two
    values.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except LenientJSONError:
        raise
    except (ValueError, RecursionError):
        return None
    opened = text.count("[", start, end) + text.count("{", start, end)
    if opened > MAX_DEPTH and is_deep(value):
        raise LenientJSONError(f"it is nested more than {MAX_DEPTH} deep")
    if "\\u" in text[start:end]:  # it may be half a surrogate pair
        value = json.loads(encodable_text(json.dumps(value, ensure_ascii=False)))
    return Scanned(value, end)


def skip_space(text: str, start: int) -> int:
    """Return the place of the next character that is not white space."""
    match = _SPACE.match(text, start)
    return match.end() if match else start


def opens_string(char: str) -> bool:
    """Return whether a character is a quotation mark that can begin a string."""
    return char in _CLOSERS


def opens_object(text: str, at: int) -> bool:
    """Return whether the brace at `at` begins an object and does not just enclose words."""
    inside = skip_space(text, at + 1)
    return text[inside : inside + 1] in "}/#`«„「＂" or begins_member(text, inside)


def begins_member(text: str, start: int) -> bool:
    """Return whether a quoted key, or an unquoted key with a colon, begins at `start`."""
    return _MEMBER.match(text, start) is not None


def is_deep(value: object) -> bool:
    """Return whether a value is nested deeper than `MAX_DEPTH`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        values = (
            container.values() if isinstance(container, dict) else container for container in level
        )
        level = [
            child for container in values for child in container if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def encodable_text(text: str) -> str:
    """Replace each half of a surrogate pair in a text by U+FFFD, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # escapes join the pairs; this is faster than a codec that fails
        joined: str = json.loads(json.dumps(text))
        marked = joined.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return marked.replace("\ufffd" * 3, "\ufffd")  # one for each byte of the half
    return text


def object_of(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return the members of an object, or raise `LenientJSONError` for a key with two values."""
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members and members[key] != value:
            raise LenientJSONError(f"the key {key!r} is given twice with different values")
        members[key] = value
    return members


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise LenientJSONError(f"the number {number[:24]} is too large")
    return value


def _refuse(constant: str) -> NoReturn:
    raise LenientJSONError(f"{constant} is not a JSON value")


_DECODER: Final = json.JSONDecoder(
    strict=False, object_pairs_hook=object_of, parse_float=_finite, parse_constant=_refuse
)


class _Repairer:
    """Rewrites one object, list or call as strict JSON, piece by piece, and reads that."""

    __slots__ = ("brackets", "is_closed", "last", "limit", "pieces", "pos", "repairs", "text")

    def __init__(self, text: str, pos: int, limit: int | None, *, is_closed: bool = False) -> None:
        self.text = text
        self.pos = pos
        self.limit = len(text) if limit is None else limit
        self.is_closed = is_closed
        self.repairs: dict[Repair, None] = {}  # in order
        self.pieces: list[str] = []
        self.last = "["  # the last character written
        self.brackets: list[str] = []  # the closing brackets of open objects, lists and calls

    def read(self) -> Scanned:
        """Read from a bracket to its closing bracket."""
        while self.brackets or not self.pieces:
            ended = self.pos
            self.skip()
            if self.pos >= self.limit:
                self.write_end()
            else:
                self.write_next(is_new_line="\n" in self.text[ended : self.pos])
        try:
            value = _DECODER.decode(" ".join(self.pieces))
        except json.JSONDecodeError as error:
            raise LenientJSONError(f"it is not JSON: {error.msg.lower()}") from error
        return Scanned(value, self.pos, tuple(self.repairs))

    def skip(self) -> None:
        """Skip white space and comments."""
        self.pos = min(skip_space(self.text, self.pos), self.limit)
        while comment := _COMMENT.match(self.text, self.pos, self.limit):
            self.repairs[Repair.COMMENT] = None
            self.write("")
            self.pos = min(skip_space(self.text, comment.end()), self.limit)

    def write(self, piece: str) -> None:
        """Write a piece, or raise `LenientJSONError` if there are too many."""
        self.pieces.append(piece)
        self.last = piece[-1:] or self.last
        if len(self.pieces) > MAX_PIECES:
            raise LenientJSONError("it is too long to be repaired, and it is not strict JSON")

    def write_end(self) -> None:
        """Write the last bracket if nothing else is missing."""
        is_whole = self.last not in "{[,:" and len(self.brackets) == 1
        if not is_whole or self.is_closed or Repair.INNER_QUOTES in self.repairs:
            raise LenientJSONError(f"it ends without the closing {self.brackets[-1]}")
        self.repairs[Repair(f"missing last {self.brackets[-1]}")] = None
        self.close()

    def close(self) -> None:
        self.write("]" if self.brackets.pop() == "]" else "}")

    def write_next(self, *, is_new_line: bool) -> None:
        """Write the next bracket, sign, string or word."""
        char, closer = self.text[self.pos], self.brackets[-1] if self.brackets else ""
        if char == closer:
            if self.last == ",":
                self.drop_comma()
            self.close()
        elif char in ",，":
            self.write(",")
        elif char in ":：=" and closer != "]":
            self.repairs |= {} if char == ":" else {Repair.COLON: None}
            self.write(":")
        else:
            if self.last not in "{[,:" and is_new_line and begins_member(self.text, self.pos):
                self.repairs[Repair.COMMA] = None
                self.write(",")
            self.write_value(char, closer)
            return
        self.pos += 1

    def drop_comma(self) -> None:
        place = max(place for place, piece in enumerate(self.pieces) if piece == ",")
        self.pieces[place] = ""
        self.repairs[Repair.TRAILING_COMMA] = None

    def write_value(self, char: str, closer: str) -> None:
        if self.last not in "{[,:":
            self.write("0")  # the decoder will report the missing sign
            self.brackets.clear()
            return
        is_key = closer != "]" and self.last in "{," and bool(closer)
        if bracket := {"{": "}", "[": "]", "(": "" if closer else ")"}.get(char):
            if len(self.brackets) >= MAX_DEPTH:
                raise LenientJSONError(f"it is nested more than {MAX_DEPTH} deep")
            self.brackets.append(bracket)
            self.write("[" if char == "[" else "{")
            self.pos += 1
        elif opens_string(char):
            self.write(json.dumps(self.read_string("" if is_key else closer)))
        elif is_key and (key := _KEY.match(self.text, self.pos, self.limit)):
            self.repairs[Repair.KEY] = None
            self.write(json.dumps(key[0]))
            self.pos = key.end()
        else:
            self.write_word()

    def read_string(self, closer: str) -> str:
        """Read a string; marks inside it without a backslash must come in pairs."""
        mark = self.text[self.pos]
        match = _string(mark, closer).match(self.text, self.pos, self.limit)
        body = match[1] if match else ""
        if match is None or not match.end(1) < self.limit:
            begun = self.text[self.pos + 1 : min(self.pos + 25, self.limit)]
            raise LenientJSONError(f"the string that begins with {begun!r} is never closed")
        self.pos = match.end()
        if mark != '"':
            self.repairs[Repair.QUOTES] = None
        is_inside = False
        new_line = body.find("\n") % (len(body) + 1)
        for quote in re.finditer(rf"\\.|([{_CLOSERS[mark]}])", body, re.DOTALL) if closer else ():
            at = quote.start()
            char_before, char_after = body[at - 1 : at], body[at + 1 : at + 2]
            if quote[1] is None:
                continue
            is_inches = char_before.isdigit() and _INCHES.match(body, at + 1) is not None
            if not is_inches and not (
                char_before.isalpha() and char_after.isalpha()
            ):  # an apostrophe
                if char_before.isalnum() != is_inside:
                    raise LenientJSONError("code or words follow a string: a mark in it needs \\")
                is_inside = not is_inside
            if self.is_closed and new_line < at:
                raise LenientJSONError("a string is never closed")
            self.repairs[Repair.INNER_QUOTES] = None
            self.write("")
        return encodable_text(_ESCAPE.sub(_unescaped, body))

    def write_word(self) -> None:
        """Write a number, a literal of JSON, Python or JavaScript, or text without quotes."""
        match = _WORDS.match(self.text, self.pos, self.limit)
        words = match[0].strip() if match else ""
        if not words.strip("."):
            excerpt = self.text[self.pos : min(self.pos + 12, self.limit)]
            raise LenientJSONError(f"a value was expected, but found {excerpt!r}")
        self.pos += len(match[0]) if match else 0
        small = words.casefold()
        if small.lstrip("+-") in ("nan", "inf", "infinity"):
            _refuse(words)
        if small in _LITERALS:
            if words not in ("true", "false", "null"):
                self.repairs[Repair.LITERAL] = None
            self.write(_LITERALS[small])
        elif self.pos == self.limit and not self.text[self.limit - 1].isspace():
            raise LenientJSONError(f"it ends inside the value {words[:24]!r}")
        elif _NUMBER.fullmatch(words):
            self.write(words)
        elif words[0] == "." and _NUMBER.fullmatch(f"0{words}"):
            self.repairs[Repair.ZERO] = None
            self.write(f"0{words}")
        elif ": " in words or words.endswith(":") or words[0] in "+.":
            raise LenientJSONError(f"the value {words[:24]!r} is not in quotes")
        else:
            self.repairs[Repair.UNQUOTED] = None
            self.write(json.dumps(encodable_text(words)))


@cache
def _string(mark: str, closer: str) -> re.Pattern[str]:
    """Return the pattern of a string before a closing bracket; without one, of a key."""
    ends = _CLOSERS[mark]
    pattern_after = _AFTER_STRING.get(closer, "").format(
        space=_SPACE.pattern, member=_MEMBER.pattern
    )
    inner_quote = rf"|[{ends}](?!{pattern_after})" if closer else ""
    return re.compile(rf"{mark}((?>(?:[^{ends}\\]++|\\.{inner_quote})*))[{ends}]", re.DOTALL)


def _unescaped(escape: re.Match[str]) -> str:
    digits, char = escape.groups()
    if digits:
        return chr(int(digits, 16))
    return _ESCAPES.get(char, "\\" + char if char.isalnum() else char) if char else "\\"
