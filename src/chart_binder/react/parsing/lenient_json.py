"""JSON as models write it: strict JSON first, then repairs that leave only one meaning.

`json-repair` needs seconds for 10 kB of braces, takes the last of several objects, passes infinity.
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
"""How many pieces a value that needs repairs may have; one that needs none may have any number."""
_MAX_OBJECTS: Final = 16
_CLOSERS: Final = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "‘": "’‘'", "’": "’'"}
"""A quotation mark with the marks that close it."""
_LITERALS: Final = {
    "true": "true",
    "false": "false",
    **dict.fromkeys(("null", "none", "undefined"), "null"),
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
# Every quantifier is possessive: a pattern that does not match gives up without trying again.
_SPACE: Final = re.compile(r"[\s\ufeff\u200b]*+")
_KEY: Final = re.compile(r"[\w$][\w$-]{0,63}+")
_MEMBER: Final = re.compile(
    rf"[{''.join(_CLOSERS)}]|{_KEY.pattern}[ \t]{{0,8}}+(?:[:：](?!//)|=(?!=))"
)
_COMMENT: Final = re.compile(r"(?:#|//)[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?")
_WORDS: Final = re.compile(r"(?>(?:(?!\s(?:#|//)|/\*)[^,，;{}\[\]()\"“”\n]){1,400})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|\Z)", re.DOTALL)
# What may stand behind the mark that closes a string, by the bracket that closes what it is in.
_BEHIND_STRING: Final = {
    "]": r"{space}(?:[,，\]}}/]|\Z|```)|\s++\#",
    "}": r"{space}(?:[}}\]/]|\Z|```|[,，]{space}(?:\Z|[}}/#]|{member}))|\s++\#"
    r"|[^\S\n]*+\n{space}(?:{member})",
}
_BEHIND_STRING[")"] = rf"{_BEHIND_STRING['}']}|{{space}}(?:[)）]|[,，]{{space}}\))"
_INCHES: Final = re.compile(r"[ )-]\w")


class Repair(StrEnum):
    """A repair of JSON, with the text of its note."""

    UNQUOTED = "value without quotes"
    INNER_QUOTES = "inner quotes without a backslash"
    NO_LAST_BRACE = "missing last }"
    NO_LAST_BRACKET = "missing last ]"
    NO_LAST_PARENTHESIS = "missing last )"
    COMMENT = "comment left out"
    COLON = "another sign for the colon"
    COMMA = "missing comma"
    TRAILING_COMMA = "trailing comma"
    KEY = "key without quotes"
    QUOTES = "other quotes"
    LITERAL = "literal of another language"
    ZERO = "a number without its zero"


_NO_LAST: Final = {
    "}": Repair.NO_LAST_BRACE,
    "]": Repair.NO_LAST_BRACKET,
    ")": Repair.NO_LAST_PARENTHESIS,
}


class LenientJSONError(ValueError):
    """A value cannot be read; the text is one clause that names the defect."""


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
        """Whether the last bracket is there."""
        return not any(repair in _NO_LAST.values() for repair in self.repairs)


def read_json(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the first JSON object in `text`, with notes on what was repaired.

    Raises `LenientJSONError` if it cannot be read: what follows it may be a part of it.
    """
    if '{"' not in text:
        text = text.replace('\\"', '"')  # an object in a string
    for _, found in find_objects(text):
        return dict(found.value), found.notes  # type: ignore[call-overload]
    raise LenientJSONError("there is no JSON object in it")


def find_objects(text: str, *, closed: bool = False) -> Iterator[tuple[int, Scanned]]:
    """Yield the JSON objects in a text, each with its place; braces around mere words are none."""
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            return
        end = at + 1
        if opens_object(text, at):
            fence = text.find("```", at)
            found = scan(text, at, fence if fence >= 0 else len(text), closed=closed)
            end = found.end
            yield at, found
        at = text.find("{", end)
    raise LenientJSONError("there are too many braces in it")


def scan(text: str, start: int, limit: int | None = None, *, closed: bool = False) -> Scanned:
    """Read the object or list that begins at `start`, or the `(name=value, ...)` of a call.

    Strict JSON may end anywhere; a value that needs repairs must end before `limit`. Repaired is
    what leaves one meaning; a missing last bracket is, unless the value must be `closed`. Raises
    `LenientJSONError` for everything else.
    """
    strict = read_strictly(text, start)
    return strict or _Reader(text, start, limit, is_closed=closed).read()


def scan_string(text: str, start: int, limit: int) -> Scanned:
    """Read the quoted string that begins at `start`, as the argument of a call."""
    strict = None if text.startswith('"""', start) else read_strictly(text, start)
    if strict is not None and strict.end <= limit:
        return strict
    reader = _Reader(text, start, limit)
    value = reader.string(")")
    return Scanned(value, reader.pos, tuple(reader.repairs))


def scan_quoted(text: str) -> Scanned | None:
    """Read the string that a text begins with; None where its mark only begins a word.

    Raises `LenientJSONError` where the string is never closed.
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
    """Return the JSON value that begins at `start`, or None where the text is not quite JSON.

    Raises `LenientJSONError` for what no repair can help, such as NaN or a key with two values.
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
    if "\\u" in text[start:end]:  # half a surrogate pair may be written so
        value = json.loads(encodable_text(json.dumps(value, ensure_ascii=False)))
    return Scanned(value, end)


def skip_space(text: str, start: int) -> int:
    """Return the place of the next character that is not white space."""
    found = _SPACE.match(text, start)
    return found.end() if found else start


def opens_string(char: str) -> bool:
    """Tell whether a character is a quotation mark that can begin a string."""
    return char in _CLOSERS


def opens_object(text: str, at: int) -> bool:
    """Tell whether the brace at `at` begins an object rather than stands around words."""
    inside = skip_space(text, at + 1)
    return text[inside : inside + 1] in "}/#`«„「＂" or begins_member(text, inside)


def begins_member(text: str, start: int) -> bool:
    """Tell whether a quoted key, or an unquoted one with its colon, stands here."""
    return _MEMBER.match(text, start) is not None


def is_deep(value: object) -> bool:
    """Tell whether a value is nested deeper than `MAX_DEPTH`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [child for each in inner for child in each if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def encodable_text(text: str) -> str:
    """Return a text that can be encoded: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # escapes join pairs, faster than a codec that fails
        joined: str = json.loads(json.dumps(text))
        marked = joined.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return marked.replace("\ufffd" * 3, "\ufffd")  # a mark for each byte of a half
    return text


def object_of(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return an object's members; one key with two different values has no one meaning."""
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


class _Reader:
    """Writes one object, list or call again as strict JSON, piece by piece, and has that read."""

    __slots__ = ("brackets", "is_closed", "last", "limit", "pieces", "pos", "repairs", "text")

    def __init__(self, text: str, pos: int, limit: int | None, *, is_closed: bool = False) -> None:
        self.text = text
        self.pos = pos
        self.limit = len(text) if limit is None else limit
        self.is_closed = is_closed
        self.repairs: dict[Repair, None] = {}  # in order
        self.pieces: list[str] = []
        self.last = "["  # the last character that was written
        self.brackets: list[str] = []  # those that will close what is open

    def read(self) -> Scanned:
        """Read from a bracket to the one that closes it."""
        while self.brackets or not self.pieces:
            ended = self.pos
            self.skip()
            if self.pos >= self.limit:
                self.end()
            else:
                self.piece(is_new_line="\n" in self.text[ended : self.pos])
        try:
            value = _DECODER.decode(" ".join(self.pieces))
        except json.JSONDecodeError as error:
            raise LenientJSONError(f"it is not JSON: {error.msg.lower()}") from error
        return Scanned(value, self.pos, tuple(self.repairs))

    def skip(self) -> None:
        """Pass white space and comments."""
        self.pos = min(skip_space(self.text, self.pos), self.limit)
        while comment := _COMMENT.match(self.text, self.pos, self.limit):
            self.repairs[Repair.COMMENT] = None
            self.spend("")
            self.pos = min(skip_space(self.text, comment.end()), self.limit)

    def spend(self, piece: str) -> None:
        """Write a piece, as long as there are not too many, so that the work has an end."""
        self.pieces.append(piece)
        self.last = piece[-1:] or self.last
        if len(self.pieces) > MAX_PIECES:
            raise LenientJSONError("it is too long to be repaired, and it is not strict JSON")

    def end(self) -> None:
        """Write the last bracket where it alone is missing."""
        is_whole = self.last not in "{[,:" and len(self.brackets) == 1
        if not is_whole or self.is_closed or Repair.INNER_QUOTES in self.repairs:
            raise LenientJSONError(f"it ends without the closing {self.brackets[-1]}")
        self.repairs[_NO_LAST[self.brackets[-1]]] = None
        self.close()

    def close(self) -> None:
        self.spend("]" if self.brackets.pop() == "]" else "}")

    def piece(self, *, is_new_line: bool) -> None:
        """Write the next bracket, sign, string or word."""
        char, closer = self.text[self.pos], self.brackets[-1] if self.brackets else ""
        if char == closer:
            if self.last == ",":
                self.drop_comma()
            self.close()
        elif char in ",，":
            self.spend(",")
        elif char in ":：=" and closer != "]":
            self.repairs |= {} if char == ":" else {Repair.COLON: None}
            self.spend(":")
        else:
            if self.last not in "{[,:" and is_new_line and begins_member(self.text, self.pos):
                self.repairs[Repair.COMMA] = None
                self.spend(",")
            self.value(char, closer)
            return
        self.pos += 1

    def drop_comma(self) -> None:
        place = max(place for place, piece in enumerate(self.pieces) if piece == ",")
        self.pieces[place] = ""
        self.repairs[Repair.TRAILING_COMMA] = None

    def value(self, char: str, closer: str) -> None:
        if self.last not in "{[,:":
            self.spend("0")  # the decoder names the sign that is missing before it
            self.brackets.clear()
            return
        is_key = closer != "]" and self.last in "{," and bool(closer)
        if bracket := {"{": "}", "[": "]", "(": "" if closer else ")"}.get(char):
            if len(self.brackets) >= MAX_DEPTH:
                raise LenientJSONError(f"it is nested more than {MAX_DEPTH} deep")
            self.brackets.append(bracket)
            self.spend("[" if char == "[" else "{")
            self.pos += 1
        elif opens_string(char):
            self.spend(json.dumps(self.string("" if is_key else closer)))
        elif is_key and (key := _KEY.match(self.text, self.pos, self.limit)):
            self.repairs[Repair.KEY] = None
            self.spend(json.dumps(key[0]))
            self.pos = key.end()
        else:
            self.word()

    def string(self, closer: str) -> str:
        """Read a string; marks inside it that no backslash precedes must come in pairs."""
        mark = self.text[self.pos]
        found = _string(mark, closer).match(self.text, self.pos, self.limit)
        body = found[1] if found else ""
        if found is None or not found.end(1) < self.limit:
            begun = self.text[self.pos + 1 : min(self.pos + 25, self.limit)]
            raise LenientJSONError(f"the string that begins with {begun!r} is never closed")
        self.pos = found.end()
        if mark != '"':
            self.repairs[Repair.QUOTES] = None
        is_inside = False
        new_line = body.find("\n") % (len(body) + 1)
        for inner in re.finditer(rf"\\.|([{_CLOSERS[mark]}])", body, re.DOTALL) if closer else ():
            at = inner.start()
            before, after = body[at - 1 : at], body[at + 1 : at + 2]
            if inner[1] is None:
                continue
            is_inches = before.isdigit() and _INCHES.match(body, at + 1) is not None
            if not is_inches and not (before.isalpha() and after.isalpha()):  # an apostrophe
                if before.isalnum() != is_inside:
                    raise LenientJSONError("code or words follow a string: a mark in it needs \\")
                is_inside = not is_inside
            if self.is_closed and new_line < at:
                raise LenientJSONError("a string is never closed")
            self.repairs[Repair.INNER_QUOTES] = None
            self.spend("")
        return encodable_text(_ESCAPE.sub(_unescaped, body))

    def word(self) -> None:
        """Write a number, a literal of JSON, Python or JavaScript, or text without quotes."""
        found = _WORDS.match(self.text, self.pos, self.limit)
        words = found[0].strip() if found else ""
        if not words.strip("."):
            shown = self.text[self.pos : min(self.pos + 12, self.limit)]
            raise LenientJSONError(f"a value was expected, but found {shown!r}")
        self.pos += len(found[0]) if found else 0
        small = words.casefold()
        if small.lstrip("+-") in ("nan", "inf", "infinity"):
            _refuse(words)
        if small in _LITERALS:
            if words not in ("true", "false", "null"):
                self.repairs[Repair.LITERAL] = None
            self.spend(_LITERALS[small])
        elif self.pos == self.limit and not self.text[self.limit - 1].isspace():
            raise LenientJSONError(f"it ends inside the value {words[:24]!r}")
        elif _NUMBER.fullmatch(words):
            self.spend(words)
        elif words[0] == "." and _NUMBER.fullmatch(f"0{words}"):
            self.repairs[Repair.ZERO] = None
            self.spend(f"0{words}")
        elif ": " in words or words.endswith(":") or words[0] in "+.":
            raise LenientJSONError(f"the value {words[:24]!r} is not in quotes")
        else:
            self.repairs[Repair.UNQUOTED] = None
            self.spend(json.dumps(encodable_text(words)))


@cache
def _string(mark: str, closer: str) -> re.Pattern[str]:
    """Return the pattern of a string in what a bracket closes; the mark of a key ends it."""
    ends = _CLOSERS[mark]
    behind = _BEHIND_STRING.get(closer, "").format(space=_SPACE.pattern, member=_MEMBER.pattern)
    inner = rf"|[{ends}](?!{behind})" if closer else ""
    return re.compile(rf"{mark}((?>(?:[^{ends}\\]++|\\.{inner})*))[{ends}]", re.DOTALL)


def _unescaped(escape: re.Match[str]) -> str:
    digits, char = escape.groups()
    if digits:
        return chr(int(digits, 16))
    return _ESCAPES.get(char, "\\" + char if char.isalnum() else char) if char else "\\"
