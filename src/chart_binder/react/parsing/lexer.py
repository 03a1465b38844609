"""Normalizes a reply: no thinking, no invisible characters and markup, tags for native tokens.

Each family of models marks its thinking differently.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import tomli

from chart_binder.react.parsing.lenient_json import encodable_text

Span: TypeAlias = tuple[int, int]

MAX_MARKS: Final = 256
_LONGEST_LINE: Final = 2000


class _Family(NamedTuple):
    """How a family of models marks its thinking; `marks.toml` explains the fields."""

    name: str
    opens: str
    closes: str
    alone: str = "all"


MARKS: Final = tomli.loads((files(__package__) / "marks.toml").read_text("utf-8"))
FAMILIES: Final = tuple(_Family(**family) for family in MARKS["thinking"])
"""The marks of each family; a mark may also close the thinking of another family."""
_MEANINGS: Final = {
    f"{sign}{at}": (sign == "opens", family)
    for at, family in enumerate(FAMILIES)
    for sign in ("opens", "closes")
}


@dataclass(frozen=True, slots=True)
class VisibleText:
    """The text of a reply outside its thoughts; `notes` name what was removed.

    `is_unclosed` means that the end of the thinking was not marked. If `is_undivided`, words marked
    the beginning of an unclosed thought, so that the thought is still in `text` and no answer
    counts. If `has_too_many_marks`, the reply cannot be read.
    """

    text: str
    notes: tuple[str, ...] = ()
    has_thought: bool = False
    is_unclosed: bool = False
    is_undivided: bool = False
    has_too_many_marks: bool = False


def strip_thinking(text: str, dialect_tags: frozenset[str] = frozenset()) -> VisibleText:
    """Return a reply without its thinking: between marks, before a single end mark, or unclosed.

    The tags `dialect_tags` belong to the dialect and do not mark thinking.
    """
    marks = list(islice(_marks(text, dialect_tags), MAX_MARKS + 1))
    if not marks:
        return VisibleText(text)
    if len(marks) > MAX_MARKS:
        return VisibleText("", ("thinking discarded",), has_thought=True, is_unclosed=True)
    blocks, opened = _thoughts(text, marks)
    notes = ("thinking discarded",) * bool(blocks)
    undivided = opened is not None and opened.alone == "before"
    return VisibleText(_without(text, blocks), notes, bool(blocks), opened is not None, undivided)


def compile_mark(text: str) -> re.Pattern[str]:
    """Compile a pattern of `marks.toml`."""
    for name, part in MARKS["parts"].items():
        text = text.replace(f"@{name}@", part)
    return re.compile(text.replace("\n", ""), re.MULTILINE)


_SIGN: Final = compile_mark(MARKS["sign"])


@cache
def _marks_of_all() -> re.Pattern[str]:
    pairs = (
        f"(?P<opens{at}>{f.opens})|(?P<closes{at}>{f.closes})" for at, f in enumerate(FAMILIES)
    )
    return compile_mark(f"(?i){'|'.join(pairs)}")


def _marks(text: str, dialect_tags: frozenset[str]) -> Iterator[re.Match[str]]:
    end = 0
    for sign in _SIGN.finditer(text):
        mark = _marks_of_all().match(text, sign.start()) if sign.start() >= end else None
        if mark and mark[0].strip("<>|/ ").lower() not in dialect_tags and is_used(text, mark):
            end = mark.end()
            yield mark


# An open string of a JSON object: the quotation mark follows `{`, `[`, `:` or a comma.
_IN_STRING: Final = re.compile(r"[{:,\[][ ]{0,4}(?:\"(?:[^\"\\\n]|\\.)*|'[^'\n]*)\Z")


def is_used(text: str, mark: re.Match[str]) -> bool:
    """Return whether a tag is used and not just mentioned in quotation marks."""
    char_before, char_after = (
        text[mark.start() - 1 : mark.start()],
        text[mark.end() : mark.end() + 1],
    )
    if (
        char_before
        and char_before in "`\"'"
        and (
            char_after in "`\"'"
            or (char_before == "`" and text[mark.start() - 3 : mark.start()] != "```")
        )
    ):
        return False
    start = max(text.rfind("\n", 0, mark.start()) + 1, mark.start() - _LONGEST_LINE)
    line = text[start : mark.start()]
    return _IN_STRING.search(line) is None


def _thoughts(text: str, marks: list[re.Match[str]]) -> tuple[list[Span], _Family | None]:
    """Return the blocks of thinking, and the family that marks the beginning of an unclosed one."""
    blocks: list[Span] = []
    begin, opened = 0, None
    for mark in marks:
        opens, family = _MEANINGS[mark.lastgroup or ""]
        if opens and opened is None:
            begin, opened = mark.start(), family
        elif not opens and opened is not None:
            if family is opened or family.alone in ("all", "first"):
                blocks.append((begin, mark.end()))
                opened = None
        elif opens or family.alone == "no":
            continue
        elif family.alone == "first" and (blocks or text.find("<|channel|>", 0, mark.start()) >= 0):
            blocks.append(mark.span())
        else:
            blocks = [(0, mark.start() if family.alone == "before" else mark.end())]
    if opened is not None and opened.alone != "before":
        blocks.append((begin, len(text)))
    return blocks, opened


def _without(text: str, blocks: list[Span]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in blocks:
        line = text[at:start].rpartition("\n")[2].strip()
        # The words on both sides must not form a label; after a sentence a new line may begin.
        ends = {**dict.fromkeys(".!?。", "\n"), **dict.fromkeys(":：", " ")}
        pieces += [text[at:start], ends.get(line[-1], " … ") if line else ""]
        at = end
    return "".join([*pieces, text[at:]]) if blocks else text


_MAX_NEARBY: Final = 400
_MAX_TOKENS: Final = 64
_MOST_SIGNS: Final = {
    "<": 1024,
    "\n": 4096,
    "`": 2048,
    "\\": 8192,
    "&": 2048,
    " to=": 128,
    "\ufffd": 2048,
}
"""The largest number of each sign; no honest reply has more, and each may cost time."""
# Invisible characters, and escape sequences of terminals.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\uffa0\ufeff\ufe00-\ufe0f\U000e0000-\U000e0fff]+"
    "|\x1b\\[[0-9;]{0,16}[A-Za-z]"
)
_LIKENESS: Final = str.maketrans(
    {"＜": "<", "＞": ">", "＊": "*", "＃": "#"}
    | dict.fromkeys(
        "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
        " ",
    )
    | dict.fromkeys("∶ː˸꞉։፡﹕︓︰᛬", ":")
    | {chr(0x24B6 + place): chr(0x41 + place + 6 * (place > 25)) for place in range(52)}  # noqa: PLR2004
)
_WIDE_TAG: Final = re.compile(r"[<＜][^<>＜＞\n]{1,40}[>＞]")
_LINE_END: Final = re.compile("\r\n?|[\x0b\x0c\x1c\x1d\x85\u2028\u2029]")
_UNLIKE: Final = re.compile(f"[{re.escape(''.join(map(chr, _LIKENESS)))}]")
_MARKUP: Final = re.compile(
    r"<(?=[/bseiuBSEIU])/?(?:b|strong|em|i|u|br|span)[ ]{0,2}/?>", re.IGNORECASE
)
# A tag with a step right after it on the line.
_GLUED: Final = re.compile(
    r"</thoughts?>(?=[ \t]*[^\s])"
    r"|<(?:response|answer|final_answer)>(?=[*_ ]{0,4}(?:Thought|Action|(?:Final )?Answer)\b)",
    re.IGNORECASE,
)

# The answer of models that write it in tags after their thought.
_OUTPUT: Final = re.compile(
    r"(\A|</thoughts?>)\s*<output>\s*(?=\{|```)(.*\S)\s*</output>\s*\Z", re.IGNORECASE | re.DOTALL
)
_TURN_END: Final = compile_mark(MARKS["turns"]["end"])
_OWN_TURN: Final = compile_mark(MARKS["turns"]["own"])
_TURN_SIGNS: Final = ("|>", "|turn>", "</s>", "eos>", "_turn>", "INST]", "｜>", "|]")
_OTHER_TURN: Final = re.compile(r"\s*(?!(?:assistant|model)\b)[a-z_]+\s*(?:\n|<)")
_CALL: Final = '\n<tool_call name="{}">'
_TOKENS: Final = tuple(
    (compile_mark(token), _CALL if meaning == "call" else meaning)
    for token, meaning in MARKS["tokens"]
)
"""Native tokens for calls, which a server passed on as text, with the tags that replace them."""
_TOKEN: Final = re.compile(r"<\||\|>|｜|_function_|\[TOOL_| to=|:tool_call>|:function_calls>")


def cut_at_turn_end(text: str) -> str:
    """Return the text up to a control token that ends the turn, without leading control tokens."""
    if not any(sign in text for sign in _TURN_SIGNS):
        return text
    leading = _OWN_TURN.match(text)
    start = leading.end() if leading else 0
    if start and _OTHER_TURN.match(text, start):
        return ""
    ends = (end for end in _TURN_END.finditer(text, start) if is_used(text, end))
    first = next(ends, None)
    return text[start : first.start() if first else len(text)]


def visible_text(reply: str, dialect_tags: frozenset[str] = frozenset()) -> VisibleText:
    """Return a reply without thoughts and invisible characters, and with native tokens as tags."""
    text = _LINE_END.sub("\n", encodable_text(reply))
    if any(text.count(sign) > max_count for sign, max_count in _MOST_SIGNS.items()):
        return VisibleText("", has_too_many_marks=True)
    text = normalize_characters(text)
    if "<" in text:
        text = _MARKUP.sub(lambda tag: "" if is_used(text, tag) else tag[0], text, count=MAX_MARKS)
        text = _GLUED.sub(
            lambda tag: f"{tag[0]}\n" if is_used(text, tag) else tag[0], text, count=MAX_MARKS
        )
    visible = strip_thinking(text, dialect_tags)
    text = visible.text
    if text.rstrip()[-9:].casefold() == "</output>" and (output := _OUTPUT.search(text)):
        has_thought = visible.has_thought or bool(output[1])
        text = f"{text[: output.end(1)]}\n{output[2]}" if has_thought else text
    text = tokens_as_tags(text)
    own_text = cut_at_turn_end(text)
    is_cut = len(own_text) < len(text)
    notes = (*visible.notes, *["text after the end of the turn discarded"] * is_cut)
    return replace(visible, text=own_text, notes=notes)


def normalize_characters(text: str) -> str:
    """Return a text without invisible characters, and with similar signs replaced by ASCII."""
    if text.isascii() and "\x1b" not in text:
        return text
    text = _INVISIBLE.sub("", text)
    if "＜" in text or "<ｔ" in text:
        text = _WIDE_TAG.sub(lambda tag: unicodedata.normalize("NFKC", tag[0]), text)
    return text.translate(_LIKENESS) if _UNLIKE.search(text) else text


def tokens_as_tags(text: str) -> str:
    """Replace native tokens of calls by tags, unless the words before a token quote it."""
    if not _TOKEN.search(text):
        return text
    for pattern, meaning in _TOKENS:
        if "channel" not in pattern.pattern or "<|channel|>" in text or " to=" in text:
            text = pattern.sub(partial(_token_as_tag, text, meaning), text, count=_MAX_TOKENS)
    return text


def _token_as_tag(text: str, meaning: str, token: re.Match[str]) -> str:
    text_before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()][
        -_MAX_NEARBY:
    ].strip()
    is_quoted = text_before.startswith(">") or text_before.endswith(("'", '"', "`", "“", "(", "«"))
    if is_quoted or not is_used(text, token):
        return token[0]
    return meaning.format(*(group or "" for group in token.groups()))
