"""Labels: the words at the beginning of a line that say what follows (`Action:`, `Final Answer:`).

A label is known by its words in any case and decoration (`**Action 1:**`, `### Action`,
`[Action]`, `1. Action -`), in the languages that models fall into.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal[
    "thought", "action", "input", "answer", "observation", "speaker", "pause", "call", "calls"
]
"""What a label or a tag announces; `call` and `calls` are tags alone."""

MAX_DIRECTIVES: Final = 256
"""How many labels, and how many tags, of one reply are looked at."""
NAMES: Final[dict[Kind, str]] = {
    "thought": """thought thoughts thinking reasoning reflection analysis plan gedanke
        gedanken überlegung pensée réflexion raisonnement pensamiento razonamiento pensiero
        ragionamento pensamento raciocínio gedachte мысль размышление рассуждение myśl düşünce
        tanke 思考 想法 思路 考え 생각""",
    "action": """action actionname nextaction actionstep toolaction tool toolname toolcall
        tooltouse usetool function functionname functioncall callfunction actiontotake
        actiontaken 工具调用 工具名 工具名称 调用工具 aktion handlung werkzeug acción
        herramienta azione strumento ação ferramenta actie действие инструмент akcja eylem
        outil 行动 行動 动作 動作 工具 アクション 행동 도구""",
    "input": """inputparameters inputtotheaction inputtoaction actionsinput actioninput
        toolinput functioninput input arguments args parameters params actionarguments
        actionargs actionparameters toolarguments toolargs toolparameters functionarguments
        functionargs aktionseingabe aktionsinput eingabe entréedelaction entrée
        entradadelaacción entradadeacción entrada inputdellazione inputazione entradadaação
        actieinvoer invoer вводдействия входныеданные ввод wejścieakcji eylemgirdisi 行动输入
        動作輸入 动作输入 行動輸入 工具输入 输入 輸入 行動入力 アクション入力 アクションの入力
        入力 행동입력 입력""",
    "answer": """finalanswer finalresponse finalresult answer finaldecision return
        endgültigeantwort finaleantwort abschließendeantwort endantwort antwort réponsefinale
        réponse respuestafinal respuesta rispostafinale risposta respostafinal resposta
        eindantwoord definitiefantwoord antwoord окончательныйответ финальныйответ
        итоговыйответ ответ ostatecznaodpowiedź odpowiedźkońcowa soncevap nihaicevap
        slutgiltigtsvar 最终答案 最終答案 最终回答 最終回答 最終的な答え 答案 回答 최종답변
        최종답""",
    "observation": """observation observations obs observed toolresult toolresults tooloutput
        toolresponse functionresult functionoutput functionresponse actionresult actionoutput
        toolreply apiresponse 搜索结果 工具返回 返回结果 검색결과 beobachtung beobachtungen
        ergebnis observación resultado osservazione risultato observação observatie resultaat
        résultat наблюдение результат obserwacja gözlem 观察 观察结果 觀察 観察 観察結果 结果
        結果 관찰""",
    "speaker": "user human system question usermessage systemmessage humanmessage newquestion"
    " 用户 问题",
    "pause": "pause",
}
_DASHED: Final = ("action", "input", "answer", "observation")
"""The last words of labels that a dash may follow; of others it may be prose."""
_MAX_LINES: Final = 2048
# What no label lacks: a sign behind its words, or around them.
_SIGN: Final = re.compile(r"[:：{\#*\[【✿=—–`P-](?:(?<!P)|(?<=P)AUSE)")
_STOP_WORDS: Final = frozenset(
    [
        "a",
        "and",
        "are",
        "as",
        "current",
        "das",
        "der",
        "die",
        "do",
        "el",
        "first",
        "follows",
        "format",
        "here",
        "heres",
        "i",
        "il",
        "in",
        "is",
        "json",
        "la",
        "le",
        "ma",
        "meine",
        "mi",
        "my",
        "need",
        "new",
        "next",
        "no",
        "now",
        "number",
        "object",
        "our",
        "raw",
        "so",
        "step",
        "the",
        "then",
        "therefore",
        "this",
        "thus",
        "to",
        "use",
        "your",
    ]
)
_MOST_WORDS: Final = 7
_KINDS: Final[dict[str, Kind]] = {}
# A line begins: bullets, numbers, headings, emoji; then signs of emphasis or brackets.
_LABEL: Final = re.compile(
    r"\n(?P<lead>[ \t]*+(?:(?:[-*+•]|\(?[\da-z]\d?[.)]|\#{1,6}|\*{1,3}\d{1,2}[.)]"
    r"|[Ss]tep[ ]\d{1,2}[:.)]|[^\w\s\"'“‘`*<>\[({«»„「‹›&~_|#✿【\\/-]{1,3})[ \t]++)*+)"
    r"(?P<open>[*_`\[【✿]*+)[ \t]?"
    r"(?P<words>[^\W\d_]++(?:(?:[ \t_'’\\#-]{1,2}|(?<=\d)|(?=\d))[^\W_]++){0,6}+)"
    r"(?P<aside>(?:[ ]?\([^()\n]{0,40}+\)|[ ]?\[[^\[\]\n]{0,20}+\]|[ ]?\#?\d{1,3}[.)]?)?+)"
    r"(?P<close>[*_`\])】✿]*+)[ \t]*+"
    r"(?:(?P<colon>[:：∶ː꞉։;]|-{1,2}>?(?= )|[–—]|={1,2}>?)[*_`\])】]*+"
    r"|(?P<end>(?=\n|\Z))|(?P<object>(?=[{`]))|)"
    r"[ \t]*+"
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A label or a tag in a reply: where it begins, and where its words do.

    `end` is where its words end for sure (the closing tag; the text's end for a label), `after`
    the place behind that. `attributes` are those of a tag; a tag without words of its own is
    `closed`.
    """

    kind: Kind
    start: int
    value: int
    end: int
    after: int
    name: str = ""
    attributes: str = ""
    is_tag: bool = False
    closed: bool = False
    emphasis: str = ""


def find_labels(text: str) -> list[Directive]:
    """Return the labels that begin a line, in order, `MAX_DIRECTIVES` at most."""
    found: list[Directive] = []
    lines = f"\n{text}\n"
    sign = _SIGN.search(lines)
    for _ in range(_MAX_LINES):
        if sign is None or len(found) == MAX_DIRECTIVES:
            break
        label = _LABEL.match(lines, lines.rfind("\n", 0, sign.start()))
        kind = _kind(label) if label else None
        if label and kind:
            value = min(label.end() - 1, len(text))
            end = len(text)
            found.append(Directive(kind, label.start(), value, end, end, emphasis=label["open"]))
        sign = _SIGN.search(lines, lines.find("\n", sign.start()))
    return found


def label_at(line: str) -> Directive | None:
    """Return the label that a line begins with, if it does."""
    label = _LABEL.match(f"\n{line}")
    kind = _kind(label) if label else None
    if label is None or kind is None:
        return None
    return Directive(kind, 0, label.end() - 1, len(line), len(line))


def _kind(label: re.Match[str]) -> Kind | None:
    words = label["words"]
    kind = kind_of(words)
    if kind is None:
        return None
    if label["colon"] is None:
        is_set_off = "#" in label["lead"] or bool(label["open"] and label["close"])
        is_pause = kind == "pause" and words.isupper()
        if not (is_pause or is_set_off or (label["object"] is not None and _is_plain(kind))):
            return None
        if is_set_off and label["open"][:1] in "`_" and kind not in ("action", "answer", "input"):
            return None
    elif (kind == "pause" and not words.isupper()) or (
        label["colon"] not in ":：∶ː꞉։" and words.split()[-1].casefold() not in _DASHED
    ):
        return None
    return kind


def _is_plain(kind: Kind) -> bool:
    """Tell whether a label asks for something, and is known without a colon before an object."""
    return kind in ("action", "input", "answer", "observation")


@lru_cache(4096)
def kind_of(words: str) -> Kind | None:
    """Return what the words of a label announce, or None where they are no label."""
    folded = unicodedata.normalize("NFKC", words).casefold().replace("_", " ")
    parts = re.findall(r"[^\W\d_]+", folded.replace("'", "").replace("’", "").replace("-", ""))
    if len(parts) > _MOST_WORDS or not parts:
        return None
    for start in range(len(parts)):
        if start and parts[start - 1] not in _STOP_WORDS:
            break
        for end in range(len(parts), start, -1):
            if end < len(parts) and parts[end] not in _STOP_WORDS:
                break
            word = "".join(parts[start:end])
            if kind := _kinds().get(word) or _kinds().get(word.rstrip("是为為은는は")):
                return kind
    return None


def _kinds() -> dict[str, Kind]:
    if not _KINDS:
        _KINDS.update((word, kind) for kind, words in NAMES.items() for word in words.split())
    return _KINDS
