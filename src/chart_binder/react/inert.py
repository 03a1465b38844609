"""Text from outside is made inert: it can be read, it cannot speak for the protocol.

What a page or a tag says may look like the conversation it lands in: a label that ends a turn, a
control token of a model family, a character nobody sees. Every such form is turned into its
nearest harmless likeness; the words stay legible to a person and to the model.
"""

import re
import unicodedata

from chart_binder.react.unspoken import unlabelled, unread, unstarted

# Categories that show nothing: controls, format marks (joiners, direction, tags), lone
# surrogates, private use. Unassigned characters stay: they may be newer than our tables.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_VARIATION_SELECTORS = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef\u115f\u1160\u3164\uffa0\u034f]"
)
_MOST_MARKS = re.compile(r"([\u0300-\u036f]{3})[\u0300-\u036f]+")
# <|im_end|>, <s>, </think>, <tool_call>, <<SYS>>: every angle bracket that opens a word. Readers
# forgive spaces (`< response >`), so the protocol's own words are known behind them, too.
_OWN_TAGS = (
    r"think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad|cot|response|observations?"
    r"|answer|final[_-]?(?:answer|response)|tool[_-]?\w{1,12}|function[_-]?\w{0,12}|invoke"
    r"|param(?:eter)?|search[_-]?results?|results?|action|pause"
)
_ANGLED = re.compile(
    rf"<(?=[A-Za-z|/!?<_]|\s{{1,4}}/?\s{{0,4}}(?:{_OWN_TAGS})(?:\s{{0,4}}>|\s{{1,4}}\w{{1,12}}=))",
    re.IGNORECASE,
)
_SPACED_END = re.compile(rf"(‹\s{{0,4}}/?\s{{0,4}}(?:{_OWN_TAGS})\s{{1,4}})>", re.IGNORECASE)
_ANGLED_END = re.compile(r"(?<=[A-Za-z0-9|/>_\"'])>")
# Llama 2, Mistral, GLM, BERT, InternLM2, LM Studio; by name, for [PIAS] is a record label. Names
# between bars are EXAONE's: [|user|].
_BRACKETED = re.compile(
    r"\[(/?\s?(?:INST|SYS|(?:END_)?TOOL_[A-Z]{1,16}|AVAILABLE_TOOLS|SYSTEM_PROMPT|MODEL_SETTINGS"
    r"|THINK|ARGS|CALL_ID|UNUSED_TOKEN_\d{1,6}|IMG|IMG_BREAK|IMG_END|PREFIX|SUFFIX|MIDDLE"
    r"|CLS|SEP|PAD|BOS|EOS|g?MASK|\|\s?/?\w{1,32}\s?\|))\]",
    re.IGNORECASE,
)
_MINIMAX = re.compile(r"\]~!?b[\[\]]|\[e~\[")
_KIMI = str.maketrans("◁▷", "‹›")
_FENCE = re.compile(r"`{3,}|~{3,}")
# Alpaca, Vicuna: words of every day, and a turn's beginning only as a heading.
_HEADED = re.compile(r"(#{2,4}\s{0,4}(?:instructions?|input|response))\s{0,4}:", re.IGNORECASE)
_PAUSE = re.compile(r"^([\s*_`.-]{0,8})PAUSE([\s*_`.-]{0,8})$")


def inert(text: str) -> str:
    """Return text without unseen characters, control tokens, fences or protocol labels.

    Lines stay lines, but for empty ones at the ends; other white space becomes one space.
    """
    return unread(unstarted("\n".join(map(_line, text.splitlines())).strip("\n")))


def one_line(text: str, most: int | None = None) -> str:
    """Return inert text on one line, at most `most` characters long."""
    line = unstarted(_line(text))
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def bounded(text: str, most: int) -> str:
    """Return at most `most` characters, with a last line that says what was cut."""
    if len(text) <= most:
        return text
    note = f"\n[cut: the first {{}} of {len(text)} characters]"
    room = max(0, most - len(note) - 4)
    return text[:room] + note.format(room)


def _line(text: str) -> str:
    return _defused(" ".join(_seen(text).split()))


def _seen(text: str) -> str:
    """Fold look-alike forms together (NFKC) and drop what cannot be seen."""
    if text.isascii() and text.isprintable():
        return text
    folded = unicodedata.normalize("NFKC", text)
    kept = "".join(
        character
        for character in folded
        if character.isspace() or unicodedata.category(character) not in _UNSEEN
    )
    return _MOST_MARKS.sub(r"\1", _VARIATION_SELECTORS.sub("", kept))


def _defused(text: str) -> str:
    text = _MINIMAX.sub(_in_brackets, _FENCE.sub("'''", text).translate(_KIMI))
    text = _SPACED_END.sub(r"\1›", _ANGLED_END.sub("›", _ANGLED.sub("‹", text)))
    text = _PAUSE.sub(r"\1(PAUSE)\2", _BRACKETED.sub(r"(\1)", text))
    return unlabelled(_HEADED.sub(r"\1 –", text))


def _in_brackets(token: re.Match[str]) -> str:
    return f"({token[0].strip('[]')})"
