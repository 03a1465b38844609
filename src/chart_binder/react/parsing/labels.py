"""Labels at line starts, and lines on which a model writes what only a tool can say."""

import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from chart_binder.react.parsing.lexer import lines_with, lowered, undisguised

Kind: TypeAlias = Literal[
    "thought", "action", "input", "observation", "pause", "answer", "turn", "speaker", "object"
]
MAX_LABELS: Final = 128
COLONS: Final = ":：﹕︓"
LIKE_COLONS: Final = COLONS + "︰∶꞉։፡"
_LONGEST: Final = 400
_FEWEST: Final = 3
"""Letters of a stop word that was cut, where it stands alone on its line."""
_ALIKE: Final = 0.85
_ASKING: Final = frozenset({"action", "input", "answer"})

# Spaces stand for hyphens, underscores or nothing, too.
NAMES: Final[dict[Kind, str]] = {
    "thought": "thought|thoughts|gedanke|pensée|réflexion|pensamiento|pensamento|pensiero|gedachte"
    "|мысль|思考|想法|思路|考え|생각",
    "action": "action|next action|action name|action taken|action to perform|action to take|tool"
    "|tool name|tool call|tool calls|tool to call|tool to use|function|function name|function call"
    "|aktion|acción|ação|azione|actie|действие|行动|行動|动作|動作|操作|工具|工具名|工具名称"
    "|工具调用|調用工具|调用工具|アクション|행동",
    "input": "action input|action inputs|action s input|action arguments|action args"
    "|action parameters|input|inputs|input arguments|input for the action|input for the tool"
    "|input parameters|input to the action|input to the tool|tool input|tool arguments|tool args"
    "|tool parameters|function arguments|arguments|args|parameters|params|entrée de l action"
    "|entrée d action|entrée|aktionseingabe|aktion eingabe|aktions input|eingabe"
    "|entrada de la acción|entrada de acción|entrada|entrada da ação|entrada de ação"
    "|input dell azione|input azione|actie invoer|invoer|ввод действия|ввод|аргументы|行动输入"
    "|行动 输入|行动参数|行動輸入|行動入力|行動の入力|动作输入|動作輸入|操作输入|工具输入|工具参数"
    "|输入|輸入|参数|參數|入力|アクション入力|アクションの入力|행동 입력",
    "pause": "pause",
    "answer": "final answer|answer|final|final response|final output|final result|final decision"
    "|endgültige antwort|finale antwort|abschliessende antwort|antwort|réponse finale|réponse"
    "|respuesta final|respuesta|resposta final|resposta|risposta finale|risposta|eindantwoord"
    "|definitief antwoord|antwoord|окончательный ответ|итоговый ответ|финальный ответ|ответ"
    "|最终答案|最終答案|最终回答|最終回答|最終的な回答|最终结果|最终答复|答案|回答|최종 답변|답변",
    "turn": "question|问题|問題",
    "speaker": "user|human|system|environment|instruction|instructions|用户|用戶",
}
SIGNS: Final = (
    *("thought", "action", "tool", "function", "input", "arg", "param", "obs", "pau", "final"),
    *("answer", "question", "user", "human", "system", "environ", "instruct", "aktion", "azione"),
    *("actie", "eingabe", "entr", "invoer", "antwo", "spue", "spos", "acció", "ação", "répon"),
    *"✿мдвоа思想考생动動作操工ア행输輸参參入观觀観관终終案答답用问問回",
)
"""Of these each name has one, but for thoughts in other languages, which end nothing."""
_QWEN: Final[dict[str, Kind]] = {
    "function": "action",
    "args": "input",
    "result": "observation",
    "return": "answer",
}
"""What the labels between flowers mean (`✿ARGS✿: {...}`), as Qwen's own prompts have them."""
_ALONE: Final = frozenset({"user", "human", "system", "tool"})
"""What a template of chats leaves on a line of its own where somebody else's turn begins."""
_BETWEEN: Final = re.compile(r"[\s\\_'’-]+(?:\#?\d+[\s_-]+)?")
KINDS: Final[dict[str, Kind]] = {
    _BETWEEN.sub("", name): kind for kind, names in NAMES.items() for name in names.split("|")
}
_BARE: Final = frozenset(
    "thought action actioninput finalanswer pause".split()  # noqa: SIM905
) | {name for name in KINDS if not name.isascii()}
"""Labels that count without a colon, alone on their line."""
_FORM: Final = re.compile(
    r"(.+?)(?:[ ](?:in|as(?:[ ]an?)?))?[ ]json(?:[ ](?:format|object|string))?"
)

# A bounded look at the beginning of a line; possessive quantifiers try nothing twice.
_LINE: Final = re.compile(
    r"[^\w\n\"'“”‘’„«「『>＞‹›{(|/\\<\[【✿*`]{0,16}+"  # spaces, bullets, emoji
    r"(?:\*[ \t]{1,8}+)?+(?:\d{1,3}+[.)、][ \t]{0,8}+)?+"  # a bullet, a number
    r"(?:[Ss]tep[ ]\d{1,3}+[ ]?[:.–-][ ]?)?+"
    r"(?:\((?:\d{1,3}+|[a-z])\)[ ]{0,2}+)?+(?P<markup><(?:b|i|u|p|em|strong|h[1-6])>)?+"
    r"(?P<mark>[*_`]{0,4}+)(?:\d{1,3}+[.)、][ ]?)?+(?:(?P<angle><)|(?P<bracket>[\[【])|✿)?+[ ]?"
    r"(?P<name>[^\W\d_]{2,24}+"
    r"(?:(?:[ ]\#?\d{1,3}+)?+(?:[^\S\n]{1,3}+|\\?+[_-]|(?<=[ l][lLdD])['’]|['’](?=s[ _-]))"
    r"[^\W\d_]{1,24}+){0,5}+)"
    r"(?:[ ]?\#?\d{1,3}+)?+(?:[ ]?\([^()\n]{0,40}+\))?+"
    r"(?(angle)(?:[ ]\w{1,20}+=[^<>\n]{0,80}+)?+)[^\S\n]{0,4}+"
    r"(?:(?(markup)</\w{1,6}+>|(?!)))?+"
    r"(?P<close>[*_`]{0,4}+)(?P<shut>[\]】>✿])?+[*_`]{0,4}+[^\S\n]{0,4}+"
    rf"(?:(?P<colon>[{COLONS}])|(?=\n|\Z)|"
    r"(?:[-–—=]{1,2}+>?+[ ]{0,2}+)?+(?=\{)|(?(shut)|(?!)))"
)
_AFTER_COLON: Final = re.compile(r"[ ]?(?:</(?:b|i|u|p|em|strong|h[1-6])>|[\]】])")

_OBSERVED: Final = frozenset(
    undisguised(
        "obs observation observations observed observacion observación observação observacao"
        " observatie osservazione beobachtung beobachtungen observasjon наблюдение ipython"
        " 观察 观察结果 观察到 观察内容 观测 觀察 觀察結果 觀察到 観察 観察結果 관찰 관찰결과"
    ).split()
)
_OBSERVED_TAG: Final = re.compile(
    r"obs(?:ervations?)?|ipython|观察|(?:tool|function)(?:responses?|results?|outputs?)"
    r"|\w{0,24}?(?:tool|function|call|search|action|api|web|query|execution)"
    r"(?:results?|outputs?|responses?|returns?)|(?:results?|outputs?|responses?)from\w{1,24}"
)
_RESULT_TAG: Final = frozenset({"output", "outputs", "information", "documents", "context"})
_RESULTS: Final = frozenset(
    undisguised(
        "result results output outputs resultado resultados resultat resultats résultat résultats"
        " risultato risultati 结果 結果 결과"
    ).split()
)
"""Results that may be a tool's, or just what a model concludes."""
_TOOL_RESULTS: Final = frozenset(
    "搜索结果 工具结果 工具返回 工具返回结果 工具输出 返回结果 检索结果 查询结果 执行结果 运行结果"  # noqa: SIM905
    " 行动结果 搜尋結果 工具結果 返回結果 執行結果 検索結果 実行結果 검색결과 도구결과".split()
)
_RETURNS: Final = frozenset({"response", "responses", "return", "returns", "returned"})
_OBSERVED_SIGNS: Final = (
    *("obs", "serva", "vation", "beob", "tool", "function", "ipyth", "pau", "sult", "output"),
    *("return", "<info", "<doc", "<context"),
    *("блюд", "观察", "观测", "觀察", "観察", "관찰", "果", "工具", "결과"),
)
_TOOLS: Final = (
    r"tool|web|search|system|api|function|environment|execution|query|검색|도구"
    r"|action(?=[ _-])|[a-z]{1,30}_\w{1,30}+"
)
_MARKUP: Final = (
    r"<(?=[^\w<>/|\n])"
    r"|</?(?:b|i|u|p|em|strong|br|div|span|li|td|tr|h[1-6]|small|font)\b[^<>\n]{0,40}+>"
)
_OBSERVED_LINE: Final = re.compile(
    r"^(?P<quoted>[ \t]{0,8}+(?:[-*+][ ]{1,4}+)?+>[> \t]{0,16}+)?"
    rf"(?P<lead>(?:[^\w\n<>&]|>(?<!^>)|&(?!lt;)|{_MARKUP}){{0,24}}+)"
    r"(?:(?:step ?\d{1,3}+|\(?(?:\d{1,3}+|[a-z])[).、])(?!\w)[^\w\n<]{0,12}+)?+"
    rf"(?:{_MARKUP}|[*_`\"']){{0,4}}+"
    rf"(?:(?:(?P<tool>{_TOOLS})|new|next|first|second|third|last|latest|hypothetical|fake|mock"
    r"|(?:simulat|expect|imagin|assum)ed)(?:['’]s)?[ :_-]{1,3}){0,2}"
    r"(?:(?:<|&lt;)\|?[ ]?/?[ ]?(?P<tag>[^\W\d][\w-]{1,32}+)(?P<shut>[^\w\n][^\n]{0,80}+)?"
    r"|(?P<word>(?:[^\W\d_]|[013](?=[013]?[^\W\d_])){2,16}+)"
    r"(?P<after>[^\n]{0,160}+))",
    re.IGNORECASE | re.MULTILINE,
)
_COUNTED: Final = re.compile(
    r"(?:[ \t]{0,2}+\#?\d{1,3}+)?+(?:[ ]?[\[(][^\[\]()]{0,40}+[\])])?+"
    rf"(?:[ ](?:from|by|of|for|after|in|no\.?)[ ][^\s{LIKE_COLONS}]{{1,60}}+"
    rf"(?=[^\S\n]?[{LIKE_COLONS}]))?+"
)
_SET_OFF: Final = re.compile(
    rf"[^\S\n]{{0,4}}+(?:[{LIKE_COLONS};；=|.。>\]}})】〉→⇒]|[–—]|-{{1,3}}>|-{{1,3}}(?=\s)|</|<br"
    rf"|[*_~`\"'”’]{{1,4}}+[^\S\n]{{0,2}}+(?:[{LIKE_COLONS};=|–—-]|$)|[^\w]{{0,12}}$)"
)
_RESULT_COLON: Final = re.compile(
    rf"[*_`\"'\])]{{0,4}}+[^\S\n]{{0,4}}+(?:[{LIKE_COLONS}]|[-=–]>|→|[-–—][ ])|[\]】][ ]"
)
_FROM_TOOL: Final = re.compile(rf"[ ](?:from|of|by)[ ](?:the[ ])?(?:{_TOOLS})(?:[ _-]\w{{1,24}}+)?")
_SAID_BARELY: Final = re.compile(r"\s{1,4}+(?:[^\W\d_a-z]|\d|[\"'{\[“<])")
# A member of an object, which whoever reads the object looks into.
_VALUE: Final = re.compile(r"[\"'][ \t]{0,4}+[:：][ \t]{0,4}+[\"'{\[\d\-ntfNTF]")


class Label(NamedTuple):
    """A label: `start` is where its line begins, `value` where the words it labels begin.

    `mark` is the emphasis or back-quote it opens with, which its words may close. One that is
    `fenced`, in a code fence that nothing closes, asks for nothing, but ends what was asked before.
    """

    kind: Kind
    start: int
    value: int
    mark: str = ""
    fenced: bool = False


class Sight(NamedTuple):
    """A line that begins an observation, or a pause for one; `quoted` in a block quote.

    A `result` is what a model may have concluded itself. `cut` is a stop word that was cut in the
    middle. What is not `sure` is an observation only where a tool was called before.
    """

    kind: Literal["observation", "pause", "result"]
    start: int = 0
    quoted: bool = False
    cut: bool = False
    sure: bool = True


def find_labels(text: str) -> Iterator[Label]:
    """Yield the labels at line starts, whatever they stand in, at most `MAX_LABELS`.

    Read are decorated ones (`**Action:**`, `1. Action:`, `### Final Answer`, `[Action]`), other
    spellings (`action_input`, `Tool Input`) and other languages.
    """
    starts = lines_with(SIGNS, lowered(text), MAX_LABELS)
    yield from islice(filter(None, (label_at(text, start) for start in starts)), MAX_LABELS)


def label_at(text: str, start: int) -> Label | None:
    """Return the label of the line that begins at `start`, if it has one."""
    found = _LINE.match(text, start)
    name = _fold(found["name"]) if found else ""
    kind = _kind(found, name) if found else None
    if found is None or kind is None or not _is_set_off(found, name, kind):
        return None
    if kind in _ASKING and "~~" in text[found.start() : found.start("name")]:
        return None  # struck out
    mark, value = found["mark"], found.end()
    end = text.find("\n", value)
    if mark.endswith("```") and mark in text[value : end if end >= 0 else len(text)]:
        return None  # a fence on one line
    if mark and found["close"]:
        mark = ""
    elif mark and found["colon"] and text.startswith(mark, value):
        value += len(mark)
        mark = ""
    if (found["markup"] or found["bracket"]) and (after := _AFTER_COLON.match(text, value)):
        value = after.end()
    return Label(kind, found.start(), value, mark)


def is_label(text: str, start: int, end: int) -> bool:
    """Tell whether all there is between two places of a line is a label."""
    before = text[start:end] if end - start <= _LONGEST else ""
    found = label_at(before, 0)
    return found is not None and not before[found.value :].strip()


@lru_cache(256)
def _fold(name: str) -> str:
    """Fold case, numbers or the signs between words out of a label.

    `The final answer is`, `最终答案为` or `Action Input in JSON format` is one, too.
    """
    words = _BETWEEN.split(name.casefold().replace("ß", "ss"))
    if len(words) > 1 and words[-1] == "is":
        words.pop()
    bare, whole = "".join(words[1:]), "".join(words)
    if words[0] in ("the", "my", "your") and KINDS.get(bare) == "answer":
        return bare
    if words[0] in KINDS and (form := _FORM.fullmatch(" ".join(words))):
        given = form[1].replace(" ", "")
        return given if KINDS.get(given) == "input" else whole
    return whole[:-1] if whole[-1] in "是为為はは은는" and whole[:-1] in KINDS else whole


def _kind(found: re.Match[str], name: str) -> Kind | None:
    if found["shut"] == "✿":
        return _QWEN.get(name)
    if name in ("result", "return"):
        return None
    is_heading = "#" in found.string[found.start() : found.start("name")]
    if name in ("instruction", "instructions") and not is_heading:
        return None
    return "speaker" if _is_alone(found, name) else KINDS.get(name)


def _is_alone(found: re.Match[str], name: str) -> bool:
    """Tell whether all of a line is the name of somebody else who speaks."""
    is_all = name in _ALONE and found[0].rstrip() == name
    return is_all and not found.string.startswith("{", found.end())


def _is_set_off(found: re.Match[str], name: str, kind: Kind) -> bool:
    """Tell whether something separates the label from prose that begins with the same word."""
    if found["colon"] or found["shut"] or name in _BARE or (found["mark"] and found["close"]):
        return True
    is_heading = "#" in found.string[found.start() : found.start("name")]
    return kind == "speaker" and (is_heading or _is_alone(found, name))


def begins_observation(line: str, *, after_action: bool = False) -> bool:
    """Tell whether a line begins an observation, however it is decorated, disguised or misspelt.

    Prose that begins with the same word does not, unless it comes after an action. Looks at the
    beginning of the line, for a bounded time.
    """
    found = next(find_observations(line[:400]), None)
    if found is None or found.kind != "observation" or found.quoted:
        return False
    return found.sure or after_action


def find_observations(text: str) -> Iterator[Sight]:
    """Yield the lines of a text on which an observation begins, in time linear in its length.

    After `MAX_LABELS` lines that may begin one the next is taken to do so.
    """
    plain = undisguised(text)
    line = at = 0
    starts = lines_with(_OBSERVED_SIGNS, lowered(plain), MAX_LABELS + 1)
    for count, start in enumerate(starts):
        found = _OBSERVED_LINE.match(plain, start)
        seen = _sight(found) if found and count < MAX_LABELS else None
        if found is None or (seen is None and count < MAX_LABELS):
            continue
        if plain is text:
            at = start
        else:  # folding moves places, but keeps lines
            for _ in range(plain.count("\n", line, start)):
                at = text.index("\n", at) + 1
            line = start
        yield (seen or Sight("observation"))._replace(start=at, quoted=found["quoted"] is not None)
        if count >= MAX_LABELS:
            return


def _sight(found: re.Match[str]) -> Sight | None:  # noqa: PLR0911 (a row of forms)
    if found["tag"]:
        return _tag(found["tag"], (found["shut"] or "").strip(" \t*_`"))
    word, after = found["word"].casefold(), found["after"]
    if after[:1].isdigit() and word == "pause":
        return None
    if word in _RESULTS | _RETURNS | _TOOL_RESULTS:
        return None if _VALUE.match(after) else _result(found, word, after)
    if len(word) > 1 and "pause".startswith(word) and found["word"][:2].upper() == "PA":
        return _pause(found["word"], after)
    word = word.translate({ord("0"): "o", ord("1"): "i", ord("3"): "e"})
    is_whole = word in _OBSERVED or _is_misspelt(word)
    if not is_whole and not "observation".startswith(word):
        return None
    if not any(map(str.isalnum, after)):
        is_label = len(word) >= _FEWEST and not after.startswith((",", "!", "?"))
        return Sight("observation", cut=not is_whole) if is_label else None
    if not is_whole or _VALUE.match(after):
        return None
    counted = _COUNTED.match(after)
    rest = after[counted.end() :] if counted else after
    if _SET_OFF.match(rest):
        return Sight("observation")
    if word != "observation" or not rest[0].isspace():
        return None
    sure = found["word"][0].isupper() and _SAID_BARELY.match(rest) is not None
    return Sight("observation", sure=sure)


def _pause(word: str, after: str) -> Sight | None:
    if word == "PAUSE" or (word.upper() == "PAUSE" and not any(map(str.isalnum, after))):
        return Sight("pause")
    is_cut = _FEWEST <= len(word) < len("PAUSE") and not after.strip(" \t*_`.-")
    return Sight("pause", cut=True) if is_cut else None


def _result(found: re.Match[str], word: str, after: str) -> Sight | None:
    """Tell a line that begins a result, with what sets it off, from prose."""
    before = found.string[found.start() : found.start("word")]
    tool = bool(found["tool"]) and ":" not in before[found.end("tool") - found.start() :]
    if named := _FROM_TOOL.match(after):
        tool, after = True, after[named.end() :]
    elif counted := _COUNTED.match(after):
        after = after[counted.end() :]
    tool = tool or word in _TOOL_RESULTS
    if not tool and word not in _RESULTS:
        return None
    is_alone = not any(map(str.isalnum, after)) and not after.startswith((".", ",", "!", "?"))
    if not _RESULT_COLON.match(after) and not (is_alone and re.search(r"[#*`_=]", before)):
        return None
    return Sight("observation" if tool else "result")


@lru_cache(256)
def _tag(written: str, after: str) -> Sight | None:
    name = written.replace("_", "").replace("-", "").casefold()
    if name in _RESULT_TAG:
        return Sight("result")
    if _OBSERVED_TAG.fullmatch(name) or _is_misspelt(name):
        return Sight("observation")
    is_cut = (len(name) > _FEWEST and "observation".startswith(name)) or name.startswith("toolresp")
    return Sight("observation", cut=True) if is_cut and after[:1] in ("", ">") else None


@lru_cache(256)
def _is_misspelt(word: str) -> bool:
    """Tell whether a word is that for an observation but for a letter or two."""
    likeness = difflib.SequenceMatcher(None, word, "observation", autojunk=False)
    return (
        (word[0] == "o" or not word.isascii())
        and len(word) > len("observa")
        and likeness.ratio() > _ALIKE
    )
