"""Words such as `Tool Result` or `Output` stand before what only a tool can say."""

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from chart_binder.react.reading.disguise import undisguised
from chart_binder.react.reading.labels import COLONS

Whose: TypeAlias = Literal["tool", "anybody"]
"""Whose a result is by its name: a tool's, or perhaps just what a model concludes."""

LIKE_COLONS: Final = COLONS + "︰∶꞉։፡"
TOOLS: Final = (
    r"tool|web|search|system|api|function|environment|execution|query|검색|도구"
    r"|action(?=[ _-])|[a-z]{1,30}_\w{1,30}+"
)
"""Before a result or an observation, as a pattern: whose it is."""
SIGNS: Final = ("sult", "output", "return", "<info", "<doc", "<context", "果", "工具", "결과")
"""Of these each of the words has one, where whoever looks looks for `tool` or `function`, too."""

_OF_TOOLS: Final = frozenset(
    "搜索结果 工具结果 工具返回 工具返回结果 工具输出 返回结果 检索结果 查询结果 执行结果 运行结果"  # noqa: SIM905
    " 行动结果 搜尋結果 工具結果 返回結果 執行結果 検索結果 実行結果 검색결과 도구결과".split()
)
_RESULTS: Final = frozenset(
    undisguised(
        "result results output outputs resultado resultados resultat resultats résultat résultats"
        " risultato risultati 结果 結果 결과"
    ).split()
)
_RETURNS: Final = frozenset({"response", "responses", "return", "returns", "returned"})
WORDS: Final = _OF_TOOLS | _RESULTS | _RETURNS
"""All words for results, in small letters."""
_COLON: Final = re.compile(
    rf"[*_`\"'\])]{{0,4}}+[^\S\n]{{0,4}}+(?:[{LIKE_COLONS}]|[-=–]>|→|[-–—][ ])"
)
_FROM_TOOL: Final = re.compile(rf"[ ](?:from|of|by)[ ](?:the[ ])?(?:{TOOLS})(?:[ _-]\w{{1,24}}+)?")
_COUNTED: Final = re.compile(r"(?:[ ]?\#?\d{1,3}+)?+(?:[ ]?[\[(][^\[\]()]{0,40}+[\])])?+")
_HEADING: Final = re.compile(r"[#*`_=]")
_TAG_OF_TOOL: Final = re.compile(
    r"\w{0,24}?(?:tool|function|call|search|action|api|web|query|execution)"
    r"(?:results?|outputs?|responses?|returns?)"
    r"|(?:results?|outputs?|responses?)from\w{1,24}"
)
_TAGS: Final = frozenset({"output", "outputs", "information", "documents", "context"})


def whose_label(word: str, before: str, after: str, *, of_tool: bool) -> Whose | None:
    """Tell whose result a line begins with, if one: by its `WORDS`, what is before and after them.

    A colon, an arrow or a dash must follow, or nothing where the line is a heading or opens a
    fence. `of_tool` tells that a tool is named before it.
    """
    if named := _FROM_TOOL.match(after):
        of_tool, after = True, after[named.end() :]
    elif counted := _COUNTED.match(after):
        after = after[counted.end() :]
    of_tool = word in _OF_TOOLS or (of_tool and word in _RESULTS | _RETURNS)
    if not of_tool and word not in _RESULTS:
        return None
    if _COLON.match(after):
        return "tool" if of_tool else "anybody"
    is_alone = not any(map(str.isalnum, after)) and not after.startswith((".", ",", "!", "?"))
    if not is_alone or not _HEADING.search(before):
        return None
    return "tool" if of_tool else "anybody"


@lru_cache(256)
def whose_tag(name: str) -> Whose | None:
    """Tell whose result a tag holds, if any, by its name in small letters without signs."""
    if _TAG_OF_TOOL.fullmatch(name):
        return "tool"
    return "anybody" if name in _TAGS else None
