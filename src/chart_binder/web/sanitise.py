"""Text from outside, so that it can be read but cannot speak.

What a page says may look like the protocol of the conversation it lands in: a label that ends a
turn, a control token of a model family, a character nobody sees. Every such form is turned into
its nearest harmless likeness; the words stay legible to a person and to the model.
"""

import re
import unicodedata

# Categories that show nothing: controls, format marks (joiners, direction, tags), lone
# surrogates, private use. Unassigned characters stay: they may be newer than our tables.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
_VARIATION_SELECTORS = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef\u115f\u1160\u3164\uffa0\u034f]"
)
_MOST_MARKS = re.compile(r"([\u0300-\u036f]{3})[\u0300-\u036f]+")
# <|im_end|>, <s>, </think>, <start_of_turn>, <<SYS>>: every angle bracket that opens a word.
_ANGLED = re.compile(r"<(?=[A-Za-z|/!?<_])")
_ANGLED_END = re.compile(r"(?<=[A-Za-z0-9|/>_\"'])>")
# [INST], [/INST], [TOOL_CALLS], [gMASK]
_BRACKETED = re.compile(r"\[(/?\s?(?:[A-Z][A-Z_ ]{2,30}|g?MASK))\]")
_FENCE = re.compile(r"`{3,}|~{3,}")
_LABEL = re.compile(
    r"(?<![A-Za-z])(final[\s_-]*answer|observations?|thoughts?|action(?:\s+input)?|tool\s+(?:call|result|output)s?"
    r"|system|user|assistant|human|developer)([\s*_`#\"]{0,8}):",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s+")


def inert(text: str) -> str:
    """Return text on one line, without unseen characters, tokens, fences or protocol labels."""
    return _defused(_SPACES.sub(" ", _seen(text)).strip())


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
    text = _ANGLED_END.sub("›", _ANGLED.sub("‹", text))
    text = _BRACKETED.sub(r"(\1)", text)
    text = _FENCE.sub("'''", text)
    return _LABEL.sub(_unlabelled, text)


def _unlabelled(label: re.Match[str]) -> str:
    return f"{label[1]}{label[2].rstrip()} –"
