"""Text from outside is made inert: it can be read, it cannot speak for the protocol."""

import re
import unicodedata

# Control tokens of common chat templates: ChatML, Llama 2 and 3, Gemma, Mistral, Phi, DeepSeek.
_TOKENS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|\[/?INST\]|<</?SYS>>|</?s>"
    r"|<(?:start|end)_of_turn>|<(?:bos|eos|pad|unk)>"
    r"|</?(?:think|thinking|tool_call|tool_response|observation|response|thought)>"
    r"|\[/?(?:TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\]",
    re.IGNORECASE,
)
_OPENERS = str.maketrans("<[>]|", "‹⁅›⁆¦")
_LABELS = re.compile(
    r"^(?P<lead>[\s>*_#`\-\d.]*)(?P<label>final answer|answer|action input|action|observation|"
    r"thought|question|pause)(?P<tail>[\s*_`]*[:：])",
    re.IGNORECASE | re.MULTILINE,
)
_KEPT_CONTROLS = "\n\t"


def inert(text: str) -> str:
    """Return the text without invisible characters, control tokens or live protocol labels.

    A person still reads the same words: tokens keep their letters between look-alike brackets,
    and a label at the start of a line gets a bar in front of it.
    """
    visible = "".join(kept for character in text if (kept := _visible(character)))
    harmless = _TOKENS.sub(lambda token: token.group().translate(_OPENERS), visible)
    return _LABELS.sub(r"\g<lead>¦ \g<label>\g<tail>", harmless)


def one_line(text: str, most: int = 200) -> str:
    """Return inert text on one line, at most `most` characters long."""
    line = " ".join(inert(text).replace("`", "'").split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def bounded(text: str, most: int) -> str:
    """Return at most `most` characters, with a last line that says what was cut."""
    if len(text) <= most:
        return text
    note = f"\n[cut: the first {{}} of {len(text)} characters]"
    room = max(0, most - len(note) - 4)
    return text[:room] + note.format(room)


def _visible(character: str) -> str:
    if character in _KEPT_CONTROLS:
        return character
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category in ("Cf", "Cs", "Co", "Cn") else character
