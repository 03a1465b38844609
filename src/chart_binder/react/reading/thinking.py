"""A model's thinking never counts as what it says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from chart_binder.react.reading.near import lowered
from chart_binder.react.reading.quoted import outside_strings

_MAX_TAGS: Final = 256
# Each pattern looks a bounded distance ahead, whatever the text.
_TAG = re.compile(
    r"[<\[◁](?=[ |/]|th|re|an|sc|co|in|se)"
    r"(?:(?<=<)\|?+[ ]{0,2}+(?P<close>/?+)[ ]{0,2}+(?:antml:|seed:)?+(?P<name>(?>think(?:ing)?"
    r"|thoughts?|reasoning|reflection|analysis|scratchpad|cot|inner_?(?:monologue|thoughts?)))"
    r"(?:[ ][^<>\n]{0,60}+)?+[ ]{0,2}+\|?+>"
    r"|(?<!<)(?P<close2>/?)think[\]▷]"
    r"|(?<=<)\|(?:begin_of_thought|start_thinking|channel\|>analysis<\|message)\|>"
    r"|(?<=<)(?P<closed>\|(?:end_of_thought|end_thinking|channel\|>final<\|message)\|>))"
)
_SIGNS = (
    *("think", "thought", "reasoning", "reflection", "analysis", "scratchpad", "cot"),
    *("monologue", "<|channel|>", "_of_thought|>"),
)
_TURN_END = re.compile(
    r"[<\[](?:\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|call|start|im_start"
    r"|start_header_id|(?:start|end)_of_role|(?:START|END)_OF_TURN_TOKEN)\|>"
    r"|/s>|eos>|(?:end|start)_of_turn>|/?INST\]|｜end▁of▁sentence｜>)"
)
_SPEAKS = re.compile(
    r"[<\[](?:\|(?:(?:im_)?(?:user|human|system|tool|ipython|environment)|(?:USER|SYSTEM)_TOKEN)\|"
    r"|｜(?:User|System)｜)[>\]]"
)
"""What begins a turn of somebody else."""
_ANY_END = re.compile(rf"{_TURN_END.pattern}|{_SPEAKS.pattern}")
_ENDS = ("|>", "/s>", "eos>", "_turn>", "INST]", "｜>", "|]")
_OWN_NAME: Final = r"<\|(?:assistant|CHATBOT_TOKEN)\|>|\[\|assistant\|\]|<｜Assistant｜>"
_LEADING = re.compile(rf"(?:\s*+(?:assistant|model)?+\s*+(?:{_TURN_END.pattern}|{_OWN_NAME}))++")
_BEGUN = re.compile(r"\A\s{0,80}+(?:<s>|<bos>|<\|begin_of_text\|>)")
_ANOTHER = re.compile(
    rf"\s{{0,8}}+(?:(?:user|human|system|tool|ipython|function|environment)(?:\s{{0,2}}\n|<)"
    rf"|{_SPEAKS.pattern})"
)
_THOUGHT: Final = "thinking discarded"
_PUT_IN_PLACE = " … "


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a reply says aloud.

    `notes` tell what was left out, `unclosed` that the thinking never ended.
    """

    text: str
    notes: tuple[str, ...] = ()
    unclosed: bool = False

    @property
    def thought(self) -> bool:
        """Whether there was any thinking."""
        return _THOUGHT in self.notes


def spoken(reply: str, aloud: frozenset[str] = frozenset()) -> Spoken:
    """Return a reply without its thinking, or anything after the end of the model's own turn.

    Tags named in `aloud` hold words of the turn, for they belong to its dialect.

    Thinking is a pair of tags, everything before a closing tag that nothing opened (the prompt
    did), or everything after a tag that is never closed. A tag inside a JSON string or in
    back-quotes is text; a reply with more than `_MAX_TAGS` tags is all thinking. Where thinking is
    taken out of the middle of a line something stays in its place, so that nothing new comes
    together there.
    """
    begun = _BEGUN.match(reply)
    reply = reply[begun.end() :] if begun else reply
    tags = _tags(reply, aloud)
    if len(tags) > _MAX_TAGS:
        return Spoken("", (_THOUGHT,), unclosed=True)
    blocks, unclosed = _blocks(reply, tags)
    text = _without(reply, blocks)
    notes = (_THOUGHT,) if blocks else ()
    own = _own_turn(text)
    if len(own) < len(text):
        return Spoken(own, (*notes, "text after the end of the turn discarded"), unclosed)
    return Spoken(text, notes, unclosed)


def _tags(reply: str, aloud: frozenset[str]) -> list[re.Match[str]]:
    small = lowered(reply)
    if not any(sign in small for sign in _SIGNS if sign not in aloud):
        return []
    hidden = (tag for tag in _TAG.finditer(small) if tag["name"] not in aloud)
    return list(islice(outside_strings(hidden, reply), _MAX_TAGS + 1))


def _blocks(reply: str, tags: Sequence[re.Match[str]]) -> tuple[list[tuple[int, int]], bool]:
    blocks: list[tuple[int, int]] = []
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
            if depth == 0:
                begin = tag.start()
            reopened = reopened or tag.start()
            if depth == 0 or reply[touching : tag.start()].strip():
                depth += 1
            touching = tag.end()
    if not depth:
        return blocks, False
    return _unbalanced(reply, blocks, begin, closed, reopened)


def _unbalanced(
    reply: str, blocks: list[tuple[int, int]], begin: int, closed: int, reopened: int
) -> tuple[list[tuple[int, int]], bool]:
    """Close what is open at the last closing tag: tags mentioned in thinking open nothing."""
    if closed <= begin:
        return [*blocks, (begin, len(reply))], True
    blocks = [*blocks, (begin, closed)]
    return ([*blocks, (reopened, len(reply))], True) if reopened else (blocks, False)


def _without(reply: str, blocks: Sequence[tuple[int, int]]) -> str:
    kept: list[str] = []
    at, line_open = 0, False
    for start, end in blocks:
        piece = reply[at:start]
        last_line = piece[piece.rfind("\n") + 1 :]
        line_open = bool(last_line.strip()) or (line_open and "\n" not in piece)
        kept += [piece, _PUT_IN_PLACE if line_open else ""]
        at = end
    return "".join([*kept, reply[at:]]) if blocks else reply


def _own_turn(text: str) -> str:
    """Cut where a control token ends the turn, leaving out those before the first word.

    A turn that one begins for somebody else is not the model's own.
    """
    if not any(sign in text for sign in _ENDS):
        return text
    leading = _LEADING.match(text)
    start = leading.end() if leading else 0
    if (start and _ANOTHER.match(text, start)) or _SPEAKS.match(text, start):
        return ""
    ends = outside_strings(_ANY_END.finditer(text, start), text)
    own = text[start : next((token.start() for token in ends), len(text))]
    return own.removeprefix("assistant\n") if start or len(own) < len(text) else text
