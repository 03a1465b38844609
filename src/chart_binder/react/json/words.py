"""Strings, numbers, words as models write them inside JSON."""

import re
from typing import Final, Literal, TypeAlias

from chart_binder.react.json.strict import LenientJSONError, encodable_text, finite, refuse

MAX_PIECES: Final = 1024
"""How many pieces a value that needs repairs may have; one that needs none may have any number."""

CODE: Final = (
    'code follows a quotation mark, and nobody runs it: write one string, with \\" for a mark in it'
)
"""What is wrong with `"Killer" + " Queen"`, which may be one string with two marks in it."""

UNQUOTED: Final = "value without quotes"
INNER: Final = "inner quotes without a backslash"
"""The notes on what may be words rather than values."""

Context: TypeAlias = Literal["key", "member", "item", "argument"]

# Every quantifier is possessive: a pattern that does not match gives up without trying again.
_SPACE = re.compile(r"[\s\ufeff\u200b]*+")
_KEY = re.compile(r"[\w$][\w$-]{0,63}+")
_KEY_THEN_VALUE = re.compile(r"[\w$][\w$-]{0,63}+[ \t]{0,8}+(?:[:：](?!//)|=(?!=))")
_WORDS = re.compile(r"[^,，;{}｛｝\[\]［］()\"“”\n]{1,400}+")
_NUMBER = re.compile(
    r"[-+]?+(?:(?:0|[1-9]\d{0,399}+)(?P<point>\.\d{0,399}+)?+|(?P<parts>\.\d{1,399}+))"
    r"(?P<power>[eE][-+]?+\d{1,9}+)?+"
)
_COMMENT_AFTER_WORDS = re.compile(r"\s(?:#|//|/\*)|/\*")
_CLOSERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": '”“"',
    "”": '”"',
    "„": '“”"',
    "‘": "’‘'",
    "’": "’'",
    "«": "»",
    "「": "」",
    "＂": '＂"',
}
_PLAIN = {quote: re.compile(rf"[^{closers}\\]*+") for quote, closers in _CLOSERS.items()}
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_REFUSED = frozenset({"nan", "inf", "infinity"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_SIGNS = frozenset("{}[],:=\"'")
_ENDS = frozenset("}]｝］")
_OPERATION = re.compile(r"\s*+\+(?!\+)|\.\w{1,32}+\(|\s++%\s*+\(")
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class Cursor:
    """A place in a text, with what was repaired on the way there."""

    __slots__ = ("limit", "notes", "pieces", "pos", "text", "unsure")

    def __init__(self, text: str, pos: int, limit: int) -> None:
        self.text = text
        self.pos = pos
        self.limit = limit
        self.notes: dict[str, None] = {}
        self.pieces = 0
        self.unsure = False

    @property
    def char(self) -> str:
        """The character here, or nothing at the end."""
        return self.text[self.pos] if self.pos < self.limit else ""

    def spend(self) -> None:
        """Count one piece, so that the work has an end."""
        self.pieces += 1
        if self.pieces > MAX_PIECES:
            raise self.error("it is too long to be repaired, and it is not strict JSON")

    def error(self, problem: str, *, cut: bool = False) -> LenientJSONError:
        """Return the error for a defect found here."""
        return LenientJSONError(problem, self.pos, cut=cut)

    def note(self, repair: str) -> None:
        """Remember a repair."""
        self.notes[repair] = None

    def skip(self) -> None:
        """Pass white space or comments."""
        char = self.char
        if char in _SIGNS or char.isalnum():
            return
        self.pos = min(skip_space(self.text, self.pos), self.limit)
        while self.pos < self.limit and (end := self._comment_end()):
            self.spend()
            self.note("comment left out")
            self.pos = min(skip_space(self.text, end), self.limit)

    def _comment_end(self) -> int:
        text, pos = self.text, self.pos
        if text.startswith("/*", pos):
            end = text.find("*/", pos + 2, self.limit)
            return end + 2 if end >= 0 else self.limit
        if text[pos] == "#" or text.startswith("//", pos):
            end = text.find("\n", pos, self.limit)
            return end + 1 if end >= 0 else self.limit
        return 0


def skip_space(text: str, start: int) -> int:
    """Return the place of the next character that is not white space."""
    found = _SPACE.match(text, start)
    return found.end() if found else start


def opens_string(char: str) -> bool:
    """Tell whether a character is a quotation mark that can begin a string."""
    return char in _PLAIN


def is_operand(text: str, at: int) -> bool:
    """Tell whether code goes on with the string that ends here: `+`, `.format(`, `% (`."""
    return _OPERATION.match(text, at) is not None


def begins_member(text: str, start: int) -> bool:
    """Tell whether a quoted key, or an unquoted one with its colon, stands here."""
    return text[start : start + 1] in _PLAIN or _KEY_THEN_VALUE.match(text, start) is not None


def read_key(cursor: Cursor) -> str:
    """Read an object's key."""
    if opens_string(cursor.char):
        return read_string(cursor, "key")
    if not cursor.char:
        raise cursor.error("it ends where a key was expected", cut=True)
    found = _KEY.match(cursor.text, cursor.pos, cursor.limit)
    if found is None:
        raise cursor.error(f"a key was expected, but found {_shown(cursor)}")
    if found.end() == cursor.limit:
        raise cursor.error("it ends inside a key", cut=True)
    cursor.note("key without quotes")
    cursor.pos = found.end()
    return found.group()


def read_string(cursor: Cursor, context: Context) -> str:
    """Read a quoted string; `context` says what may stand after it."""
    start, quote = cursor.pos, cursor.char
    if quote != '"':
        cursor.note("other quotes")
    if context != "key" and cursor.text.startswith(quote * 3, start) and quote in "\"'":
        return _triple(cursor, quote * 3)
    parts: list[str] = []
    inside = loose = False
    cursor.pos += 1
    while True:
        cursor.spend()
        plain = _PLAIN[quote].match(cursor.text, cursor.pos, cursor.limit)
        parts.append(plain.group() if plain else "")
        cursor.pos += len(parts[-1])
        if cursor.pos >= cursor.limit:
            begun = "".join(parts)[:24]
            raise cursor.error(f"the string that begins with {begun!r} is never closed", cut=True)
        char = cursor.char
        cursor.pos += 1
        if char == "\\":
            parts.append(_escape(cursor))
        elif context == "key" or _closes(cursor, context):
            return encodable_text("".join(parts))
        elif _begins_another(cursor, char):
            raise cursor.error("two strings stand side by side without a comma")
        elif is_operand(cursor.text, cursor.pos):
            raise cursor.error(CODE)
        else:
            opens = cursor.char.isalnum() and not cursor.text[cursor.pos - 2].isalnum()
            if opens and loose:
                raise cursor.error("two strings stand in one value, with words between them")
            inside, loose = opens, loose or not (opens or inside)
            cursor.note(INNER)
            cursor.unsure = True
            parts.append(char)


def _triple(cursor: Cursor, quote: str) -> str:
    start = cursor.pos + 3
    end = cursor.text.find(quote, start, cursor.limit)
    if end < 0:
        raise cursor.error(f"the string in {quote} is never closed", cut=True)
    cursor.note("other quotes")
    cursor.pos = end + 3
    return cursor.text[start:end]


def _escape(cursor: Cursor) -> str:
    char = cursor.char
    cursor.pos += 1
    if char == "u" and (digits := _HEX.match(cursor.text, cursor.pos, cursor.limit)):
        cursor.pos = digits.end()
        return chr(int(digits.group(), 16))
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char in '"\\/':
        return char
    cursor.note("unknown escape")
    return "\\" + char if char.isalnum() else char


def _begins_another(cursor: Cursor, quote: str) -> bool:
    """Tell whether a second string follows the one just closed, rather than its own end."""
    after = skip_space(cursor.text, cursor.pos)
    if after == cursor.pos or cursor.text[after : after + 1] != quote:
        return False
    following = skip_space(cursor.text, after + 1)
    return following < cursor.limit and cursor.text[following] not in "}]),，"


def _closes(cursor: Cursor, context: Context) -> bool:
    """Tell whether the quotation mark just passed ends its string, by what stands after it."""
    text, limit = cursor.text, cursor.limit
    after = min(skip_space(text, cursor.pos), limit)
    if after == limit or text[after] in _ENDS or text.startswith(("//", "/*", "```"), after):
        return True
    char = text[after]
    if char in ",，":
        following = min(skip_space(text, after + 1), limit)
        return (
            context == "item"
            or following == limit
            or text[following] in "}｝/#."
            or (context == "argument" and text[following] in ")）")
            or begins_member(text, following)
        )
    if char in ")）":
        return context == "argument"
    spaced = text[cursor.pos : after]
    if char == "#":
        return bool(spaced)
    return "\n" in spaced and (
        opens_string(char) if context == "item" else begins_member(text, after)
    )


def read_word(cursor: Cursor) -> object:
    """Read a number, a literal of JSON, Python or JavaScript, or text without quotes."""
    found = _WORDS.match(cursor.text, cursor.pos, cursor.limit)
    words = found.group() if found else ""
    if comment := _COMMENT_AFTER_WORDS.search(words):
        words = words[: comment.start()]
    end, words = cursor.pos + len(words), words.strip()
    if not words.strip("."):
        raise cursor.error(f"a value was expected, but found {_shown(cursor)}")
    folded = words.casefold()
    if folded.lstrip("+-") in _REFUSED:
        refuse(words)
    if folded in _LITERALS:
        _note_literal(cursor, words)
        cursor.pos = end
        return _LITERALS[folded]
    if end == cursor.limit and not cursor.text[end - 1].isspace():
        raise cursor.error(f"it ends inside the value {words[:24]!r}", cut=True)
    cursor.pos = end
    return _number(cursor, words)


def _note_literal(cursor: Cursor, words: str) -> None:
    if words not in ("true", "false", "null"):
        cursor.note("literal of another language")


def _number(cursor: Cursor, words: str) -> int | float | str:
    number = _NUMBER.fullmatch(words)
    if number is None:
        if ": " in words or words.endswith(":"):
            raise cursor.error(f"the value {words[:24]!r} is not in quotes")
        cursor.note(UNQUOTED)
        return encodable_text(words)
    if words[0] in "+." or words.endswith("."):
        cursor.note("number of another language")
    return finite(words) if number.lastgroup else int(words)


def _shown(cursor: Cursor) -> str:
    shown = cursor.text[cursor.pos : min(cursor.pos + 12, cursor.limit)]
    return repr(shown) if shown else "the end"
