"""A call in tokens of a model's own, which a server let through as text, is the tags it means."""

import re
from itertools import islice
from typing import Final

from chart_binder.react.reading.own_words import is_own_turn
from chart_binder.react.reading.quoted import outside_strings

_MAX_TOKENS: Final = 64
_LOOKED_AT: Final = 200
_SIGNS: Final = ("<｜tool", "｜DSML｜", "<|tool_call", "<|channel|>", "[TOOL_")
_SHOWING: Final = ("'", '"', "`", "“", "‘", "„", "«", "「", "『", "(", "（")

_NAME: Final = r"[ ]{0,2}+(?:functions\.)?+([\w.-]{1,80}+)(?::\d{1,6}+)?+[ ]{0,2}+"
_CALL: Final = '<tool_call name="{}">'
# gpt-oss writes messages in channels; one with an address is a call
_ASSISTANT: Final = "<|start|>assistant"
_CHANNEL: Final = r"<\|(?:end\|><\|)?+(?:start\|>assistant<\|)?+channel\|>"
_FORMAT: Final = r"[ ]{0,2}+(?:<\|constrain\|>)?+(?:json|code)?+[ ]{0,2}+<\|message\|>"
_NEXT: Final = r"<\|(?:end\|>|start\|>assistant|channel\|>(?:analysis|commentary|final)\b)"
_ROWS: Final[dict[str, tuple[str, str]]] = {
    # DeepSeek: older models have the word `function` before the name
    "deepseek": (
        rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?+{_NAME}(?:<｜tool▁sep｜>|\n)",
        _CALL,
    ),
    "dsml": (r"<(/?)｜DSML｜", "<{}"),
    # Kimi: the name has the number of the call behind a colon
    "kimi": (rf"<\|tool_call_begin\|>{_NAME}<\|tool_call_argument_begin\|>", _CALL),
    "calls": (r"<(?:｜tool▁calls▁begin｜|\|tool_calls?_section_begin\|)>", "<tool_calls>"),
    "called": (r"<(?:｜tool▁calls▁end｜|\|tool_calls?_section_end\|)>", "</tool_calls>"),
    "end": (r"<(?:｜tool▁call▁end｜|\|tool_call_end\|)>", "</tool_call>"),
    "output": (r"<｜tool▁outputs?▁begin｜>", "<tool_response>"),
    "outputs": (r"<｜tool▁outputs?▁end｜>", "</tool_response>"),
    # Mistral: the token of a call is a label as well
    "mistral": (r"\[TOOL_CALLS\]", "[TOOL_CALLS]"),
    "result": (r"\[TOOL_RESULTS\]", "<tool_response>"),
    "results": (r"\[/TOOL_RESULTS\]", "</tool_response>"),
    "to": (
        rf"<\|(?:end\|><\|)?+start\|>assistant[ ]to={_NAME}<\|channel\|>\w{{1,16}}+{_FORMAT}",
        _CALL,
    ),
    "channel": (
        rf"{_CHANNEL}\w{{1,16}}+[ ]to={_NAME}(?:<\|channel\|>\w{{1,16}}+)?+{_FORMAT}",
        _CALL,
    ),
    "analysis": (
        rf"{_CHANNEL}analysis<\|message\|>((?:[^<]++|(?!{_NEXT})<)*+)(?={_NEXT})",
        "<think>{}</think>",
    ),
    "aside": (rf"{_CHANNEL}commentary<\|message\|>", ""),
    "final": (rf"{_CHANNEL}final<\|message\|>", ""),
}
"""Each token as a pattern, with what stands for it; `{}` is its only group."""


def _beginning(sign: str) -> str:
    """Return one pattern for the rest of all tokens that begin with a sign."""
    rows = ((name, token) for name, (token, _) in _ROWS.items() if token.startswith(sign))
    return "|".join(f"(?P<{name}>{token.removeprefix(sign)})" for name, token in rows)


_TOKEN: Final = re.compile(rf"<(?=[|｜/])(?:{_beginning('<')})|\[(?:{_beginning(chr(92) + '[')})")


def in_tags(text: str) -> str:
    """Return a reply with such tokens as tags, where the model says them itself.

    They may follow its words on a line, as tags may not, but no words that quote or report.
    """
    if not any(sign in text for sign in _SIGNS):
        return text
    text = f"{_ASSISTANT}{text}" if text.startswith(" to=") else text
    kept: list[str] = []
    at = 0
    for token in islice(outside_strings(_TOKEN.finditer(text), text), _MAX_TOKENS):
        row, start = token.lastgroup or "", token.start()
        tag = _ROWS[row][1].format(*token.groups("")[token.lastindex or 0 :])
        closes = tag.startswith("</")
        if not kept and (closes or row == "final"):
            continue  # what the prompt began, or another form
        follows = closes or (bool(kept) and not text[at:start].strip())
        if not follows and not _is_own(text, start):
            continue
        kept += [text[at:start], tag if follows and tag else f"\n{tag}"]
        at = token.end()
    return "".join([*kept, text[at:]])


def _is_own(text: str, start: int) -> bool:
    """Tell whether a token stands at the start of a line, or after words of the model's own."""
    line = text[text.rfind("\n", 0, start) + 1 : start].strip()
    if line.startswith((">", "＞")) or line.endswith(_SHOWING):
        return False
    return not line or line.endswith((">", "]", "}")) or is_own_turn(line[-_LOOKED_AT:], "")
