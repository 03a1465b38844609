"""The names of labels, and how models spell them."""

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "thought", "action", "input", "observation", "pause", "answer", "turn", "speaker", "object"
]

# Written with spaces; hyphens, underscores or nothing may stand in their place.
NAMES: Final[dict[Kind, tuple[str, ...]]] = {
    "thought": ("thought", "thoughts", "思考", "想法", "思路", "考え", "생각"),
    "action": (
        "action",
        "next action",
        "action name",
        "action taken",
        "action to perform",
        "action to take",
        "tool",
        "tool name",
        "tool call",
        "tool calls",
        "tool to call",
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
        "工具名",
        "工具名称",
        "工具调用",
        "調用工具",
        "调用工具",
        "アクション",
        "행동",
    ),
    "input": (
        "action input",
        "action inputs",
        "action s input",
        "action arguments",
        "action args",
        "action parameters",
        "input",
        "inputs",
        "input arguments",
        "input for the action",
        "input for the tool",
        "input parameters",
        "input to the action",
        "input to the tool",
        "tool input",
        "tool arguments",
        "tool args",
        "tool parameters",
        "function arguments",
        "arguments",
        "args",
        "parameters",
        "params",
        "entrée de l'action",
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
    "turn": ("question", "问题", "問題"),
    "speaker": (
        "user",
        "human",
        "system",
        "environment",
        "instruction",
        "instructions",
        "用户",
        "用戶",
    ),
}

QWEN: Final[dict[str, Kind]] = {
    "function": "action",
    "args": "input",
    "result": "observation",
    "return": "answer",
}
"""What the labels between flowers mean (`✿ARGS✿: {...}`), as Qwen's own prompts have them."""

NEEDS_FLOWERS: Final = frozenset({"result", "return"})
"""Names that are labels between flowers alone."""

NEEDS_HEADING: Final = frozenset({"instruction", "instructions"})
"""Names that are words of every day, but for a heading."""

ALONE: Final = frozenset({"user", "human", "system", "tool"})
"""What a template of chats leaves on a line of its own where somebody else's turn begins."""

SIGNS: Final = (
    *("thought", "action", "tool", "function", "input", "arg", "param", "obs", "result", "return"),
    *("pause", "final", "answer", "question", "user", "human", "system", "environ", "instruct"),
    *"思想考생动動作操工ア행输輸参參入观觀観관终終案答답用问問",
)
"""Of these each name has one."""

_ARTICLES: Final = ("the", "my", "your")
_COPULAS: Final = ("是", "为", "為", "は", "은", "는")
_BETWEEN: Final = re.compile(r"[\s\\_'’-]+(?:\#?\d+[\s_-]+)?")
_FORM: Final = re.compile(
    r"(.+?)(?:[ ](?:in|as(?:[ ]an?)?))?[ ]json(?:[ ](?:format|object|string))?"
)
"""What a label says of the form of its words: `Action Input in JSON format`."""


def _words(name: str) -> list[str]:
    return _BETWEEN.split(name.casefold())


KINDS: Final[dict[str, Kind]] = {
    "".join(_words(name)): kind for kind, names in NAMES.items() for name in names
}


BARE: Final = frozenset(
    {
        "thought",
        "action",
        "actioninput",
        "observation",
        "observations",
        "finalanswer",
        "pause",
        *(name for name in KINDS if not name.isascii()),
    }
)
"""Labels that count without a colon, alone on their line."""


@lru_cache(256)
def folded(name: str) -> str:
    """Fold case, numbers or the signs between words out of a label.

    `The final answer is`, `最终答案为` or `Action Input in JSON format` is one too.
    """
    words = _words(name)
    if len(words) > 1 and words[-1] == "is":
        words.pop()
    bare, whole = "".join(words[1:]), "".join(words)
    if words[0] in _ARTICLES and KINDS.get(bare) == "answer":
        return bare
    if words[0] in KINDS and (form := _FORM.fullmatch(" ".join(words))):
        given = form[1].replace(" ", "")
        return given if KINDS.get(given) == "input" else whole
    return whole[:-1] if whole.endswith(_COPULAS) and whole[:-1] in KINDS else whole
