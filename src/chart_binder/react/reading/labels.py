"""A label at the start of a line says what a model means by the words after it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, TypeAlias

import msgspec

from chart_binder.react.reading.near import lines_near, lowered

Kind: TypeAlias = Literal[
    "thought", "action", "input", "observation", "pause", "answer", "turn", "object"
]

MAX_LABELS: Final = 512
_LONGEST: Final = 400

# Written with spaces; hyphens, underscores or nothing may stand in their place.
_NAMES: Final[dict[Kind, tuple[str, ...]]] = {
    "thought": ("thought", "thoughts", "思考", "想法", "思路", "考え", "생각"),
    "action": (
        "action",
        "next action",
        "action name",
        "tool",
        "tool name",
        "tool call",
        "tool calls",
        "tool to use",
        "function",
        "function name",
        "function call",
        "行动",
        "行動",
        "动作",
        "動作",
        "操作",
        "工具",
        "工具名称",
        "アクション",
        "행동",
    ),
    "input": (
        "action input",
        "action inputs",
        "action arguments",
        "action args",
        "action parameters",
        "input",
        "inputs",
        "tool input",
        "tool arguments",
        "tool args",
        "tool parameters",
        "function arguments",
        "arguments",
        "args",
        "parameters",
        "params",
        "行动输入",
        "行动 输入",
        "行动参数",
        "行動輸入",
        "行動入力",
        "动作输入",
        "動作輸入",
        "操作输入",
        "工具输入",
        "工具参数",
        "输入",
        "輸入",
        "参数",
        "參數",
        "入力",
        "アクション入力",
        "행동 입력",
    ),
    "observation": (
        "obs",
        "observation",
        "observations",
        "observation result",
        "tool response",
        "tool result",
        "tool results",
        "tool output",
        "search result",
        "search results",
        "function response",
        "function result",
        "result",
        "return",
        "观察",
        "观察结果",
        "觀察",
        "觀察結果",
        "观测",
        "観察",
        "관찰",
    ),
    "pause": ("pause",),
    "answer": (
        "final answer",
        "answer",
        "final",
        "final response",
        "final output",
        "final result",
        "final decision",
        "最终答案",
        "最終答案",
        "最终回答",
        "最終回答",
        "最终结果",
        "最终答复",
        "答案",
        "回答",
        "최종 답변",
        "답변",
    ),
    "turn": ("question", "user", "human", "用户", "用戶", "问题", "問題"),
}
_BARE: Final = frozenset(
    {
        "thought",
        "action",
        "actioninput",
        "observation",
        "observations",
        "finalanswer",
        "pause",
        *(name for names in _NAMES.values() for name in names if not name.isascii()),
    }
)
"""Labels that count without a colon, alone on their line."""

_QWEN: Final[dict[str, Kind]] = {
    "function": "action",
    "args": "input",
    "result": "observation",
    "return": "answer",
}
"""What the labels between flowers mean (`✿ARGS✿: {...}`), as Qwen's own prompts have them."""


_ARTICLES: Final = ("the", "my", "your")


@lru_cache(256)
def _folded(name: str) -> str:
    """Fold case or the signs between words out of a label; `The final answer is` is one too."""
    words = re.split(r"[\s_-]+", name.casefold())
    if len(words) > 1 and words[-1] == "is":
        words.pop()
    bare = "".join(words[1:])
    return bare if words[0] in _ARTICLES and _KINDS.get(bare) == "answer" else "".join(words)


_KINDS: Final[dict[str, Kind]] = {
    _folded(name): kind for kind, names in _NAMES.items() for name in names
}
_ASKING: Final = frozenset({"action", "input", "answer"})
_NEEDS_FLOWERS = frozenset({"result", "return"})

_SIGNS: Final = (
    *("thought", "action", "tool", "function", "input", "arg", "param", "obs", "result", "return"),
    *("pause", "final", "answer", "question", "user", "human"),
    *"思想考생动動作操工ア행输輸参參入观觀観관终終案答답用问問",
)
"""Of these each name has one."""

# A bounded look at the beginning of a line; possessive quantifiers try nothing twice.
_LINE = re.compile(
    r"[^\w\n\"'“”‘’„«「『>＞{(|/\\<\[【✿*`]{0,16}+"  # spaces, bullets, emoji
    r"(?:\*[ \t]{1,8}+)?+(?:\d{1,3}+[.)、][ \t]{0,8}+)?+"  # a bullet, a number
    r"(?:[Ss]tep[ ]\d{1,3}+[ ]?[:.–-][ ]?)?+"
    r"(?:\((?:\d{1,3}+|[a-z])\)[ ]{0,2}+)?+(?P<markup><(?:b|i|u|p|em|strong|h[1-6])>)?+"
    r"(?P<mark>[*_`]{0,4}+)(?:\d{1,3}+[.)、][ ]?)?+(?:(?P<angle><)|(?P<bracket>[\[【])|✿)?+[ ]?"
    r"(?P<name>[^\W\d_]{2,24}+(?:(?:[^\S\n]{1,3}+|[_-])[^\W\d_]{1,24}+){0,4}+)"
    r"(?:[ ]?\#?\d{1,3}+)?+(?:[ ]?\([^()\n]{0,40}+\))?+"
    r"(?(angle)(?:[ ]\w{1,20}+=[^<>\n]{0,80}+)?+)[ \t]{0,4}+"
    r"(?:(?(markup)</\w{1,6}+>|(?!)))?+"
    r"(?P<close>[*_`]{0,4}+)(?P<shut>[\]】>✿])?+[*_`]{0,4}+[ \t]{0,4}+"
    r"(?:(?P<colon>[:：﹕])|(?=\n|\Z)|(?:[-–—=]{1,2}+>?[ ]{0,2}+)?+(?=\{)|(?(shut)|(?!)))"
)
_AFTER_COLON = re.compile(r"[ ]?(?:</(?:b|i|u|p|em|strong|h[1-6])>|[\]】])")


class Label(msgspec.Struct, frozen=True, gc=False):
    """A label: `start` is where its line begins, `value` where the words it labels begin.

    `mark` is the emphasis or back-quote it opens with, which its words may close. One that is
    `fenced`, in a code fence that nothing closes, asks for nothing, but ends what was asked before.
    """

    kind: Kind
    start: int
    value: int
    mark: str = ""
    fenced: bool = False


def labels(text: str) -> Iterator[Label]:
    """Yield the labels at line starts, whatever they stand in.

    Read are decorated ones (`**Action:**`, `1. Action:`, `### Final Answer`, `[Action]`),
    other spellings (`action_input`, `Tool Input`), Chinese, Japanese or Korean ones. What a model
    piles up beyond `MAX_LABELS` labels, or lines with the same word of one, is not looked at.
    """
    starts = lines_near(_SIGNS, lowered(text), MAX_LABELS)
    yield from islice(filter(None, (label_at(text, start) for start in starts)), MAX_LABELS)


def label_at(text: str, start: int) -> Label | None:
    """Return the label of the line that begins at `start`, if it has one."""
    found = _LINE.match(text, start)
    return _label(found, _folded(found["name"])) if found else None


def is_label(text: str, start: int, end: int) -> bool:
    """Tell whether all there is between two places of a line is a label."""
    if end - start > _LONGEST:
        return False
    before = text[start:end]
    found = label_at(before, 0)
    return found is not None and not before[found.value :].strip()


def _label(found: re.Match[str], name: str) -> Label | None:
    kind = _KINDS.get(name)
    if found["shut"] == "✿":
        kind = _QWEN.get(name)
    elif name in _NEEDS_FLOWERS:
        return None
    if kind is None or not _is_set_off(found, name):
        return None
    if kind in _ASKING and "~~" in found.string[found.start() : found.start("name")]:
        return None  # struck out
    mark, value = found["mark"], found.end()
    if mark.endswith("```") and mark in found.string[value : _line_end(found.string, value)]:
        return None  # a fence on one line
    if mark and found["close"]:
        mark = ""
    elif mark and found["colon"] and found.string.startswith(mark, value):
        value += len(mark)
        mark = ""
    if (found["markup"] or found["bracket"]) and (after := _AFTER_COLON.match(found.string, value)):
        value = after.end()
    return Label(kind, found.start(), value, mark)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _is_set_off(found: re.Match[str], name: str) -> bool:
    """Tell whether something separates the label from prose that begins with the same word."""
    if found["colon"] or found["shut"]:
        return True
    return name in _BARE or bool(found["mark"] and found["close"])
