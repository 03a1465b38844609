"""JSON as models write it: strict JSON first, then repairs that leave only one meaning.

`json-repair` is no substitute: it needs seconds for 10 kB of braces, takes the last of several
objects, and lets infinity and half surrogate pairs pass.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Literal, NoReturn, TypeAlias

MAX_DEPTH: Final = 50
MAX_PIECES: Final = 400
"""How many pieces a value that needs repairs may have; one that needs none may have any number."""
UNQUOTED: Final = "value without quotes"
INNER: Final = "inner quotes without a backslash"
"""The two repairs whose result may be words rather than values."""

Context: TypeAlias = Literal["key", "member", "item", "argument"]
"""Where a string stands, which decides what may follow it."""

_MAX_CANDIDATES: Final = 64
_CLOSERS: Final = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "‘": "’‘'", "’": "’'"}
"""A quotation mark with the marks that close it."""
_CONTEXTS: Final[dict[str, Context]] = {"}": "member", "]": "item", ")": "argument"}
_LITERALS: Final = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
# Every quantifier is possessive: a pattern that does not match gives up without trying again.
_SPACE: Final = re.compile(r"[\s\ufeff\u200b]*+")
_PLAIN: Final = {mark: re.compile(rf"[^{ends}\\]*+") for mark, ends in _CLOSERS.items()}
_KEY: Final = re.compile(r"[\w$][\w$-]{0,63}+")
_KEY_THEN_VALUE: Final = re.compile(rf"{_KEY.pattern}[ \t]{{0,8}}+(?:[:：](?!//)|=(?!=))")
_COMMENT: Final = re.compile(r"(?:#|//)[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?")
_WORDS: Final = re.compile(r"(?>(?:(?!\s(?:#|//)|/\*)[^,，;{}\[\]()\"“”\n]){1,400})")
_BRACE: Final = re.compile(r"\{")
_INCHES: Final = re.compile(r"[ )-]\w")
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_FENCED: Final = re.compile(r"(?:`{3}|~{3})[^\S\n]{0,4}+\w{0,12}+\s{0,80}+(?=[{\[])")


class LenientJSONError(ValueError):
    """A value cannot be read; the text is one clause that names the defect."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """A value, the place after it, and what had to be repaired."""

    value: object
    end: int
    notes: tuple[str, ...] = ()


def read_json(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the JSON object in `text`, with notes on what was repaired.

    An object in a code fence comes before any other; among several the first counts. Braces around
    mere words (`{C1}`) are no object.

    Raises `LenientJSONError` where there is no object, or the first one cannot be read: what
    follows a broken object may be a part of it, and is never taken in its place.
    """
    if '{"' not in text:
        text = text.replace('\\"', '"')  # an object in a string
    fenced = (text.find("{", fence.end()) for fence in _FENCED.finditer(text))
    braces = (brace.start() for brace in islice(_BRACE.finditer(text), _MAX_CANDIDATES))
    for at in chain(fenced, braces):
        if at >= 0 and opens_object(text, at):
            fence = text.find("```", at)
            found = scan(text, at, fence if fence >= 0 else len(text))
            if isinstance(found.value, dict):
                return found.value, found.notes
    raise LenientJSONError("there is no JSON object in it")


def scan(text: str, start: int, limit: int | None = None, *, closed: bool = False) -> Scanned:
    """Read the value that begins at `start`.

    Strict JSON may end anywhere; a value that needs repairs must end before `limit`. Repaired are
    defects that leave one meaning: other quotes, inner quotes without backslash, spare or missing
    commas, comments, literals of Python, keys or words without quotes, and, unless the value must
    be `closed`, one missing last bracket. Raises `LenientJSONError` for everything else.
    """
    strict = read_strictly(text, start)
    if strict is not None:
        return strict
    reader = _Reader(text, start, len(text) if limit is None else limit, closed=closed)
    return reader.scanned(reader.value("item", 0))


def scan_call(text: str, start: int, limit: int) -> Scanned:
    """Read `(name=value, ...)` as an object; `start` is the place of the bracket."""
    reader = _Reader(text, start, limit)
    return reader.scanned(reader.members(")", 1))


def scan_string(text: str, start: int, limit: int) -> Scanned:
    """Read the quoted string that begins at `start`, as the argument of a call."""
    strict = None if text.startswith('"""', start) else read_strictly(text, start)
    if strict is not None and strict.end <= limit:
        return strict
    reader = _Reader(text, start, limit)
    return reader.scanned(reader.string("argument"))


def read_strictly(text: str, start: int) -> Scanned | None:
    """Return the JSON value that begins at `start`, or None where the text is not quite JSON.

    Raises `LenientJSONError` for what no repair can help: NaN, infinity, a key with two different
    values, nesting deeper than `MAX_DEPTH`.
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
    return text[start : start + 1] in _PLAIN or _KEY_THEN_VALUE.match(text, start) is not None


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
    """Reads one value with repairs; `unsure` where a repair makes a missing bracket doubtful."""

    __slots__ = ("closed", "limit", "notes", "pieces", "pos", "text", "unsure")

    def __init__(self, text: str, pos: int, limit: int, *, closed: bool = False) -> None:
        self.text = text
        self.pos = pos
        self.limit = limit
        self.notes: dict[str, None] = {}
        self.pieces = 0
        self.closed = self.unsure = closed

    def scanned(self, value: object) -> Scanned:
        return Scanned(value, self.pos, tuple(f"repaired JSON: {note}" for note in self.notes))

    def value(self, context: Context, depth: int) -> object:
        self.spend()
        self.skip()
        if not self.char:
            raise LenientJSONError("it ends where a value was expected")
        closer = {"{": "}", "[": "]"}.get(self.char)
        if closer and depth >= MAX_DEPTH:
            raise LenientJSONError(f"it is nested more than {MAX_DEPTH} deep")
        if closer:
            return self.members(closer, depth + 1)
        return self.string(context) if opens_string(self.char) else self.word()

    def members(self, closer: str, depth: int) -> dict[str, object] | list[object]:
        """Read an object, a list, or the arguments of a call, up to the bracket that closes it."""
        context = _CONTEXTS[closer]
        pairs: list[tuple[str, object]] = []
        self.pos += 1
        self.skip()
        while self.char != closer:
            key = "" if context == "item" else self.key()
            pairs.append((key, self.value(context, depth)))
            if not self.goes_on(closer):
                break
        else:
            self.pos += 1
        return [value for _, value in pairs] if context == "item" else object_of(pairs)

    def goes_on(self, closer: str) -> bool:
        """Pass a comma, or forgive a missing one; False where only the last bracket is missing."""
        ended = self.pos
        self.skip()
        if not self.char:
            if self.unsure:
                raise LenientJSONError(f"it ends without the closing {closer}")
            self.unsure = True
            self.note(f"missing last {closer}")
            return False
        if self.char in ",，":
            self.pos += 1
            self.skip()
            if not self.char:
                raise LenientJSONError("it ends after a comma")
            if self.char == closer:
                self.note("trailing comma")
        elif self.char != closer:
            is_new_line = "\n" in self.text[ended : self.pos] and closer != "]"
            if not (is_new_line and begins_member(self.text, self.pos)):
                raise LenientJSONError(
                    f"{self.shown()} stands where a comma or {closer} was expected"
                )
            self.note("missing comma")
        return True

    def key(self) -> str:
        """Read a key and its colon."""
        if not self.char:
            raise LenientJSONError("it ends where a key was expected")
        if opens_string(self.char):
            key = self.string("key")
        elif found := _KEY.match(self.text, self.pos, self.limit):
            key = found.group()
            self.note("key without quotes")
            self.pos = found.end()
        else:
            raise LenientJSONError(f"a key was expected, but found {self.shown()}")
        self.skip()
        if not self.char:
            raise LenientJSONError(f"it ends after the key {key!r}")
        if self.char not in ":：=":
            raise LenientJSONError(f"there is no colon after the key {key!r}")
        if self.char != ":":
            self.note("another sign for the colon")
        self.pos += 1
        return key

    def string(self, context: Context) -> str:
        """Read a string; marks inside it that no backslash precedes must come in pairs."""
        mark = self.char
        if mark != '"':
            self.note("other quotes")
        parts: list[str] = []
        is_inside = False
        self.pos += 1
        while True:
            self.spend()
            plain = _PLAIN[mark].match(self.text, self.pos, self.limit)
            parts.append(plain.group() if plain else "")
            self.pos += len(parts[-1])
            char = self.char
            if not char:
                begun = "".join(parts)[:24]
                raise LenientJSONError(f"the string that begins with {begun!r} is never closed")
            self.pos += 1
            if char == "\\":
                parts.append(self.escape())
                continue
            if context == "key" or self.closes(context):
                return encodable_text("".join(parts))
            before = self.text[self.pos - 2]
            is_inches = before.isdigit() and _INCHES.match(self.text, self.pos) is not None
            if not is_inches and not (before.isalpha() and self.char.isalpha()):  # an apostrophe
                if before.isalnum() != is_inside:
                    raise LenientJSONError("code or words follow a string: a mark in it needs \\")
                is_inside = not is_inside
            if self.closed and "\n" in "".join(parts):
                raise LenientJSONError("a string is never closed")
            self.note(INNER)
            self.unsure = True
            parts.append(char)

    def escape(self) -> str:
        char = self.char
        self.pos += 1
        if char == "u" and (digits := _HEX.match(self.text, self.pos, self.limit)):
            self.pos = digits.end()
            return chr(int(digits.group(), 16))
        return _ESCAPES.get(char, "\\" + char if char.isalnum() else char)

    def closes(self, context: Context) -> bool:
        """Tell whether the quotation mark just passed ends its string, by what stands after it."""
        after = min(skip_space(self.text, self.pos), self.limit)
        char = self.text[after : after + 1] if after < self.limit else ""
        spaced = self.text[self.pos : after]
        if char in (",", "，"):
            following = min(skip_space(self.text, after + 1), self.limit)
            is_last = following == self.limit or self.text[following] in "}/#)"
            return context == "item" or is_last or begins_member(self.text, following)
        if char in (")", "）"):
            return context == "argument"
        if "\n" in spaced and begins_member(self.text, after):
            return True
        return char in "}]/" or (char == "#" and bool(spaced)) or self.text.startswith("```", after)

    def word(self) -> object:
        """Read a number, a literal of JSON, Python or JavaScript, or text without quotes."""
        found = _WORDS.match(self.text, self.pos, self.limit)
        words = found.group() if found else ""
        end, words = self.pos + len(words), words.strip()
        if not words.strip("."):
            raise LenientJSONError(f"a value was expected, but found {self.shown()}")
        small = words.casefold()
        if small.lstrip("+-") in ("nan", "inf", "infinity"):
            _refuse(words)
        if small in _LITERALS:
            if words not in ("true", "false", "null"):
                self.note("literal of another language")
            self.pos = end
            return _LITERALS[small]
        if end == self.limit and not self.text[end - 1].isspace():
            raise LenientJSONError(f"it ends inside the value {words[:24]!r}")
        self.pos = end
        number = read_strictly(words, 0)
        if number is not None and number.end == len(words):
            return number.value
        if ": " in words or words.endswith(":") or words[0] in "+.":
            raise LenientJSONError(f"the value {words[:24]!r} is not in quotes")
        self.note(UNQUOTED)
        return encodable_text(words)

    @property
    def char(self) -> str:
        return self.text[self.pos] if self.pos < self.limit else ""

    def skip(self) -> None:
        """Pass white space and comments."""
        if self.char.isalnum() or self.char in "{}[],:=\"'":
            return
        self.pos = min(skip_space(self.text, self.pos), self.limit)
        while comment := _COMMENT.match(self.text, self.pos, self.limit):
            self.spend()
            self.note("comment left out")
            self.pos = min(skip_space(self.text, comment.end()), self.limit)

    def spend(self) -> None:
        """Count one piece, so that the work has an end."""
        self.pieces += 1
        if self.pieces > MAX_PIECES:
            raise LenientJSONError("it is too long to be repaired, and it is not strict JSON")

    def note(self, repair: str) -> None:
        self.notes[repair] = None

    def shown(self) -> str:
        return repr(self.text[self.pos : min(self.pos + 12, self.limit)])
