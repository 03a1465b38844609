"""What a model thinks, or writes after the end of its turn, it does not say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chart_binder.react.parsing.attribution import is_own
from chart_binder.react.parsing.lexer import MAX_MARKS, Span, lowered, outside_strings

_THOUGHT: Final = "thinking discarded"
_PUT_IN_PLACE: Final = " … "
# Each pattern looks a bounded distance ahead, whatever the text.
_TAG: Final = re.compile(
    r"[<\[◁](?=[ |/]|th|re|an|sc|co|in|se)"
    r"(?:(?<=<)\|?+[ ]{0,2}+(?P<close>/?+)[ ]{0,2}+(?:antml:|seed:)?+(?P<name>(?>think(?:ing)?"
    r"|thoughts?|reasoning|reflection|analysis|scratchpad|cot|inner_?(?:monologue|thoughts?)))"
    r"(?:[ ][^<>\n]{0,60}+)?+[ ]{0,2}+\|?+>"
    r"|(?<!<)(?P<close2>/?)think[\]▷]"
    r"|(?<=<)\|(?:begin_of_thought|start_thinking|channel\|>analysis<\|message)\|>"
    r"|(?<=<)(?P<closed>\|(?:end_of_thought|end_thinking|channel\|>final<\|message)\|>))"
)
_SIGNS: Final = (
    *("think", "thought", "reasoning", "reflection", "analysis", "scratchpad", "cot"),
    *("monologue", "<|channel|>", "_of_thought|>"),
)
# Control tokens of the model families.
_TURN_END: Final = (
    r"[<\[](?:\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|call|start|im_start"
    r"|start_header_id|(?:start|end)_of_role|(?:START|END)_OF_TURN_TOKEN)\|>"
    r"|/s>|eos>|(?:end|start)_of_turn>|/?INST\]|｜end▁of▁sentence｜>)"
)
_SPEAKS: Final = re.compile(  # somebody else's turn begins
    r"[<\[](?:\|(?:(?:im_)?(?:user|human|system|tool|ipython|environment)|(?:USER|SYSTEM)_TOKEN)\|"
    r"|｜(?:User|System)｜)[>\]]"
)
_ANY_END: Final = re.compile(rf"{_TURN_END}|{_SPEAKS.pattern}")
_ENDS: Final = ("|>", "/s>", "eos>", "_turn>", "INST]", "｜>", "|]")
_OWN_NAME: Final = r"<\|(?:assistant|CHATBOT_TOKEN)\|>|\[\|assistant\|\]|<｜Assistant｜>"
_LEADING: Final = re.compile(rf"(?:\s*+(?:assistant|model)?+\s*+(?:{_TURN_END}|{_OWN_NAME}))++")
_BEGUN: Final = re.compile(r"\A\s{0,80}+(?:<s>|<bos>|<\|begin_of_text\|>)")
_ANOTHER: Final = re.compile(
    rf"\s{{0,8}}+(?:(?:user|human|system|tool|ipython|function|environment)(?:\s{{0,2}}\n|<)"
    rf"|{_SPEAKS.pattern})"
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a reply says aloud; `notes` tell what was left out.

    `thought` tells whether there was any thinking, `unclosed` that it never ended.
    """

    text: str
    notes: tuple[str, ...] = ()
    thought: bool = False
    unclosed: bool = False


def strip_thinking(reply: str, said_in: frozenset[str] = frozenset()) -> Spoken:
    """Return a reply without its thinking, or anything after the end of the model's own turn.

    Tags named in `said_in` hold words of the turn, for they belong to its dialect. Thinking is a
    pair of tags, everything before a closing tag that nothing opened (the prompt did), or
    everything after a tag that is never closed. A tag inside a JSON string or in back-quotes is
    text; a reply with more than `MAX_MARKS` tags is all thinking. Where thinking is taken out of
    the middle of a line something stays in its place, so that nothing new comes together there.
    """
    begun = _BEGUN.match(reply)
    reply = reply[begun.end() :] if begun else reply
    small = lowered(reply)
    blocks: list[Span] = []
    unclosed = False
    if any(sign in small for sign in _SIGNS if sign not in said_in):
        hidden = (tag for tag in _TAG.finditer(small) if tag["name"] not in said_in)
        tags = list(islice(outside_strings(hidden, reply), MAX_MARKS + 1))
        if len(tags) > MAX_MARKS:
            return Spoken("", (_THOUGHT,), thought=True, unclosed=True)
        blocks, unclosed = _blocks(reply, tags)
    text = _without(reply, blocks)
    own = _own_turn(text)
    notes = [_THOUGHT] if blocks else []
    notes += ["text after the end of the turn discarded"] if len(own) < len(text) else []
    return Spoken(own, tuple(notes), bool(blocks), unclosed)


def _blocks(reply: str, tags: Sequence[re.Match[str]]) -> tuple[list[Span], bool]:
    """Return the blocks of thinking, and whether the last one is never closed."""
    blocks: list[Span] = []
    depth = begin = closed = reopened = touching = 0
    for tag in tags:
        if tag["close"] or tag["close2"] or tag["closed"]:
            depth -= 1
            if depth < 0:
                blocks, depth = [(0, tag.end())], 0
            elif depth == 0:
                blocks.append((begin, tag.end()))
            closed, reopened = tag.end(), 0
        else:
            begin = begin if depth else tag.start()
            reopened = reopened or tag.start()
            if depth == 0 or reply[touching : tag.start()].strip():
                depth += 1
            touching = tag.end()
    if not depth:
        return blocks, False
    if closed <= begin:
        return [*blocks, (begin, len(reply))], True
    # What is open is closed at the last closing tag: tags mentioned in thinking open nothing.
    blocks = [*blocks, (begin, closed)]
    return ([*blocks, (reopened, len(reply))], True) if reopened else (blocks, False)


def _without(reply: str, blocks: Sequence[Span]) -> str:
    kept: list[str] = []
    at, in_line = 0, False
    for start, end in blocks:
        piece = reply[at:start]
        in_line = bool(piece[piece.rfind("\n") + 1 :].strip()) or (in_line and "\n" not in piece)
        kept += [piece, _PUT_IN_PLACE if in_line else ""]
        at = end
    return "".join([*kept, reply[at:]]) if blocks else reply


def _own_turn(text: str) -> str:
    """Cut where a control token ends the turn, leaving out those before the first word."""
    if not any(sign in text for sign in _ENDS):
        return text
    leading = _LEADING.match(text)
    start = leading.end() if leading else 0
    if (start and _ANOTHER.match(text, start)) or _SPEAKS.match(text, start):
        return ""
    ends = outside_strings(_ANY_END.finditer(text, start), text)
    own = text[start : next((token.start() for token in ends), len(text))]
    return own.removeprefix("assistant\n") if start or len(own) < len(text) else text


_MAX_TOKENS: Final = 64
_LOOKED_AT: Final = 200
_TOKEN_SIGNS: Final = ("<｜tool", "｜DSML｜", "<|tool_call", "<|channel|>", "[TOOL_")
_SHOWING: Final = ("'", '"', "`", "“", "‘", "„", "«", "「", "『", "(", "（")
_NAME: Final = r"[ ]{0,2}+(?:functions\.)?+([\w.-]{1,80}+)(?::\d{1,6}+)?+[ ]{0,2}+"
_CALL: Final = '<tool_call name="{}">'
# gpt-oss writes messages in channels; one with an address is a call
_CHANNEL: Final = r"<\|(?:end\|><\|)?+(?:start\|>assistant<\|)?+channel\|>"
_FORMAT: Final = r"[ ]{0,2}+(?:<\|constrain\|>)?+(?:json|code)?+[ ]{0,2}+<\|message\|>"
_NEXT: Final = r"<\|(?:end\|>|start\|>assistant|channel\|>(?:analysis|commentary|final)\b)"
_TOKENS: Final[dict[str, tuple[str, str]]] = {
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
"""Tokens of a model's own for calls, which a server let through as text, with what they mean."""


def _beginning(sign: str) -> str:
    """Return one pattern for the rest of all tokens that begin with a sign."""
    rows = ((name, token) for name, (token, _) in _TOKENS.items() if token.startswith(sign))
    return "|".join(f"(?P<{name}>{token.removeprefix(sign)})" for name, token in rows)


_TOKEN: Final = re.compile(rf"<(?=[|｜/])(?:{_beginning('<')})|\[(?:{_beginning(chr(92) + '[')})")


def tokens_as_tags(text: str) -> str:
    """Return a reply with native tokens of calls as tags, where the model says them itself.

    They may follow its words on a line, as tags may not, but no words that quote or report.
    """
    if not any(sign in text for sign in _TOKEN_SIGNS):
        return text
    text = f"<|start|>assistant{text}" if text.startswith(" to=") else text
    kept: list[str] = []
    at = 0
    for token in islice(outside_strings(_TOKEN.finditer(text), text), _MAX_TOKENS):
        row, start = token.lastgroup or "", token.start()
        tag = _TOKENS[row][1].format(*token.groups("")[token.lastindex or 0 :])
        closes = tag.startswith("</")
        if not kept and (closes or row == "final"):
            continue  # what the prompt began, or another form
        follows = closes or (bool(kept) and not text[at:start].strip())
        line = text[text.rfind("\n", 0, start) + 1 : start].strip()
        is_shown = line.startswith((">", "＞")) or line.endswith(_SHOWING)
        begins = not line or line.endswith((">", "]", "}")) or is_own(line[-_LOOKED_AT:])
        if not follows and (is_shown or not begins):
            continue
        kept += [text[at:start], tag if follows and tag else f"\n{tag}"]
        at = token.end()
    return "".join([*kept, text[at:]])
