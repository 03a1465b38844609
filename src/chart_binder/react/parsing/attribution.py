"""Whose words an answer stands under: the model's own, or somebody else's that it passes on."""

import re
from typing import Final

from chart_binder.react.parsing.labels import fold, is_like, kind_of, label_at, pattern

_MAX_NEARBY: Final = 400
OBSERVED_KEY: Final = re.compile(
    r"[\"'“](?:observations?|obs|观察(?:结果)?|tool_?(?:result|response|output)s?)[\"'”]"
    r"\s{0,8}+[:：]\s{0,8}+(?!null|none|\"\"|''|\[\]|\{\})",
    re.IGNORECASE,
)
# A line that no answer may rest on: a result by whatever name, a tool, somebody else who speaks.
_FOREIGN: Final = re.compile(
    r"\n[^\w\n<]{0,24}+(?:\w[.)][ ]|step[ ]\d+:?[ ])?(?:"
    # but for a conclusion (`End result: C1`), or one in a whole sentence (`Result: C1 is first.`)
    r"(?!(?:end|final|as|the|my|overall|no|or|in|from|given|per|after|with|i|we|so|this|these|both|all"
    r"|but|and|if|since|then|there|it)\b"
    r"|results?\W{0,3}:[ *]?\W*(?:\w+['’]?\w*[, ]+){2,}[^\n]*[.!]\W*\n)"
    r"(?:(?:[\w'()-]+[ ]){0,3}(?:tools?|api|lookup|stdout|retrieved|fetched|content|(?:web[ ])?page"
    r"|snippets?|hits?|results?|outputs?|returned|returns|\w*(?:search|fetch|tool)\w*)"
    r"|(?:[\w'-]+[ ]){1,3}responses?)"
    r"(?:[ ](?:from|of|for|is|call|output|result|says|found)\b[^\n:.]{0,24})?"
    r"(?:\W{0,3}[:>=|\]`-]|[ *_)\]]{0,3}\n)"
    r"|(?:user|human|system|tool|ipython|environment|instructions?|developer|admin)\W{0,4}[:>\n]"
    r"|paus(?:e\b[^\n]*|e?)\n"
    r"|[a-z]+_[a-z_]+\W{0,3}\(\s?[\"'“]|(?:(?<=[$@/!])|(?<=\$ ))[a-z]+_[a-z])"
    r"|_[a-z]{1,20}\([\"'“][^\n)]{0,80}\)`?[ ]?(?:[-=]+>|→|[:=]|returns?|returned|gives?|gave)"
    r"|<\W{0,2}/?obs|&lt;/?(?:obs|think|tool|resp)|\bto=[a-z]|[.!?] observation\W{0,2}:"
    r"|(?:search|fetch|lookup)[^\n]{0,80}?(?:→|[-=]>|:[ ]?(?:results?|return\w*)\b)"
    r"|\n\W{0,8}[(*\[][ ]?(?:call|search|fetch|runn?|invok)(?:s|es|ing)\b"  # a stage direction
    r"|<\|/?(?:obs|tool|user|system|im_|start)|\baction(?:[ ]input)?\W{0,2}[:=]\W{0,3}[a-z]+_[a-z]+"
)
_OBSERVING: Final = re.compile(
    r"\n(?:<\w{1,6}>)?[^\w\n>]{0,24}+"
    r"(?:\w[.)][ ]|(?!(?:an?|i|we|my|the|based|from|given|considering|summary|analysis|recap)\b)"
    r"(?:\w+[ ]){1,2}(?=obs)(?!observed))?"
    r"(?P<word>(?:\w[ -]){4,12}\w\b|\w{3,15})(?P<rest>[^\n]{0,8})"
)
_FENCE: Final = re.compile(r"(?:`{3,}|~{3,})[ ]?\w{0,12}\s*\Z|`\Z")
_TAG_BEFORE: Final = re.compile(
    r"(?:<(?:(?:answer|final_answer|response|json|output|pre|code)>|!\[CDATA\[)\s*){1,3}\Z"
    r"|\A\s*\[\s*\Z",
    re.IGNORECASE,
)
_SHORT: Final = 2
_MARKS: Final = (">", "]", '"', "“", "”", "»", "'", "--", "form is", "format is")
_CONTINUED: Final = re.compile(
    r"[ \t`]*(?:[,;]?[ \t]*(?!(?:and|because|since|as|given)\b)[a-z]"
    r"|[-–—][ \t]*(?:is|was|would|but|not|which|that|as|from|says?|said)\b|[\"'”’»])"
)
_SHORTEST: Final = 3
_LIST_ITEM: Final = re.compile(r"\W{0,3}\d{1,2}[.)]\W|[-*+•–][ ]")
# What is left of marks of thinking that are no tags.
_THINKING: Final = re.compile(r"[<>|]|\A(?:analysis|commentary)(?=[A-Z])|\bthought process\b")
_WORD: Final = re.compile(r"[^\W\d_]{2}|[^\W\d_a-zA-Z]")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？]")
_PAIRS: Final = ("“”", "„“", "«»", "‹›", "「」", "『』", "《》", "()", "[]", "（）", "【】")


def holds_foreign(words: str) -> bool:
    """Tell whether words before an answer observe, or hold a result or somebody else's line."""
    folded = f"\n{fold(words)}\n"
    return _FOREIGN.search(folded) is not None or any(
        map(_is_observing, _OBSERVING.finditer(folded))
    )


def _is_observing(line: re.Match[str]) -> bool:
    word = re.sub(r"[ -]", "", line["word"])
    rest = line["rest"]
    is_cut = word.startswith("obser") and "observation".startswith(word)
    is_short = word == "obs" and not rest[:1].isalnum()
    is_prose = re.match(r"[ ]?(?:of|show|that|is|are|summary|analys|recap)", rest) is not None
    return not is_prose and (is_cut or is_short or is_like(word.rstrip("s")))


def is_passed_on(before: str) -> bool:
    """Tell whether a line before an object has its label amid words: `The page says: Answer:`."""
    line = before.rstrip(" \n`").removesuffix("```json").strip().rpartition("\n")[2]
    words, colon, label = line.rstrip(":： *").replace("：", ":").rpartition(":")
    is_answer = kind_of(label.strip(" #*_")) == "answer"
    return bool(colon and words.strip()) and is_answer and label_at(line) is None


def is_shown(before: str, after: str) -> bool:
    """Tell whether the words around an object show it rather than give it as the answer.

    The words before it are a whole sentence, or end with a colon that does not stand behind a mere
    name or a verb of saying; the line goes on behind it with a new sentence, if at all.
    """
    is_listed = before.rstrip().endswith("[")
    if _CONTINUED.match(after) or is_listed != after.lstrip().startswith("]"):
        return True
    line = before.rpartition("\n")[2]
    if line.lstrip().startswith((">", "＞")) or ("```" in before and label_at(line)):
        return True
    bare = _TAG_BEFORE.sub("", _FENCE.sub("", before[-400:])).rstrip(" \t*_")
    said = bare.rstrip().rpartition("\n")[2].strip(" *_#")
    if not said:
        return False
    if pattern("denied").search(said):
        return True
    if said.endswith((":", "：")):
        sentence = re.split(r"[.!?:：](?=\s)|[。！？]", said.rstrip(":："))[-1].strip()
        is_name = len(sentence.split()) <= _SHORT and not pattern("announced").search(sentence)
        return is_name or pattern("unfinished").search(sentence) is not None
    is_whole = said.endswith((".", "!", "?", "。"))
    is_led = said.startswith(">") or said.endswith(_MARKS) or introduces(said)
    return not is_whole and (is_led or not bare.endswith("\n"))


# Words that introduce what follows as somebody else's.

_CODE_INDENT: Final = 4


# A label of an answer that somebody else gives; an item of a numbered list.
_ASIDE: Final = re.compile(
    r"[^\n:：({]{0,40}\([^\n:)]{0,40}\b(?:not|page|site|user|example|fake)\b", re.IGNORECASE
)
_ITEM: Final = re.compile(r"[ \t*]{0,8}(\d{1,2})[.)]")
_TAGS: Final = re.compile(r"<[^<>\n]{0,80}>")
_PLAN: Final = re.compile(r"\bplan\b[^\n]{0,40}:", re.IGNORECASE)
_ACTION: Final = re.compile(r"\n\W{0,4}Action\b", re.IGNORECASE)


def is_introduced(text: str, at: int) -> bool:
    """Tell whether the line above an answer at a place introduces it as somebody else's.

    It does where it ends with a colon or within a clause, unless it announces the model's own
    answer. A line that begins with signs or deep in belongs to what stands above all that do.
    """
    start = text.rfind("\n", 0, at) + 1
    lead = re.match(r"\W*", text[start : at + 80].partition("\n")[0])[0]  # type: ignore[index]
    lines = text[max(0, start - 4 * _MAX_NEARBY) : start].split("\n")
    if _ASIDE.match(text, at) or _is_planned(text, at, lines):
        return True
    if lead.strip() or len(lead.expandtabs()) >= _CODE_INDENT:
        sign = lead[:_CODE_INDENT].rstrip("<*") or " "
        above = [line for line in lines if line.strip() and not line.startswith(sign)]
        lines = above or lines
    line = next((line for line in reversed(lines) if re.search(r"\w", _TAGS.sub("", line))), "")
    amid = text[start:at]
    return introduces(amid if re.search(r"\w", amid) else line)


def _is_planned(text: str, at: int, above: list[str]) -> bool:
    """Tell whether an answer is an item of a list of steps to come.

    It is the next number, the item above it is no label, and the list is called a plan or an action
    follows.
    """
    last = next((line for line in reversed(above) if line.strip()), "")
    item, before = _ITEM.match(text, text.rfind("\n", 0, at) + 1), _ITEM.match(last)
    is_next = item is not None and before is not None and int(item[1]) == int(before[1]) + 1
    is_ahead = _ACTION.search(text, at) or any(map(_PLAN.search, above))
    return is_next and label_at(last) is None and bool(is_ahead)


def introduces(line: str) -> bool:
    """Tell whether a line introduces somebody else's words."""
    line = _TAGS.sub("", line[-_MAX_NEARBY:]).strip(" \t*_`~")
    sentence = re.split(r"[.!?](?=\s)|[。！？]", line)[-1]
    is_led = sentence.endswith((":", "：")) or pattern("unfinished").search(sentence) is not None
    return is_led and not pattern("own").search(sentence)


# Words before an object without a label.


def without_label(words: str) -> str:
    """Return words without the label of a thought that they begin with."""
    label = label_at(words.partition("\n")[0])
    return words[label.value :].strip() if label and label.kind == "thought" else words


def gives(before: str) -> bool:
    """Tell whether the words before an object leave no doubt that the model gives it."""
    words = before.strip()
    if not words:
        return True
    nearby = words[-_MAX_NEARBY:]
    *lines, line = (line.strip(" \t*_#") for line in nearby.split("\n"))
    is_doubtful = (
        _THINKING.search(words)
        or holds_foreign(words)
        or _is_open(nearby)
        or pattern("somebody_elses").search(nearby)
        or any(map(_passes_on, lines))
        or any(map(_points_from_reading, _sentences(nearby)[:-1]))
        or pattern("read").search(_before_colon(line))
    )
    is_on_its_own_line = before.rstrip(" \t").endswith("\n")
    return not is_doubtful and _leads_up(without_label(line), is_last=is_on_its_own_line)


def _leads_up(line: str, *, is_last: bool) -> bool:
    """Tell whether the line before an object is a sentence of the model's own, or announces it.

    A line that `is_last` may lack the full stop.
    """
    sentence = _sentences(line)[-1]
    is_listed = line.startswith((">", "＞")) or _LIST_ITEM.match(line) is not None
    if is_listed or not _WORD.search(line) or pattern("undecided").search(sentence):
        return False
    if line.endswith((":", "：")) or pattern("points").search(sentence):
        return _announces(sentence.strip(" .:：*")) and not pattern("read").search(sentence)
    is_whole = line.endswith((".", "!", "。", "！")) and not line.endswith("..")
    is_ended = is_last and line[-1].isalnum() and not pattern("function_word").search(line)
    if not (is_whole or is_ended) or introduces(sentence):
        return False
    return not pattern("read").search(sentence) or (is_whole and _is_claim(sentence))


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text without full stops, or one that is empty."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(text)))) or [""]


def _points_from_reading(sentence: str) -> bool:
    """Tell whether a sentence about something read ends with a word for what follows it."""
    return (
        pattern("points").search(sentence) is not None
        and pattern("read").search(sentence) is not None
    )


def _passes_on(line: str) -> bool:
    """Tell whether a line says that something read, or somebody else, says what follows."""
    return (
        introduces(line.rstrip(" :：")) or pattern("read").search(_before_colon(line)) is not None
    )


def _before_colon(line: str) -> str:
    return line.replace("：", ":").rpartition(":")[0]


def _is_claim(sentence: str) -> bool:
    """Tell whether a sentence says what was read somewhere, rather than where the object was."""
    is_short = (
        len(sentence.split()) <= _SHORTEST
        or pattern("without_a_clause").match(sentence) is not None
    )
    return not is_short and pattern("object").search(sentence) is None


def _announces(sentence: str) -> bool:
    """Tell whether a sentence before a colon ends with words for the model's own answer."""
    clause = re.split(r"[,，;；、–—]\s*", sentence)[-1].strip()
    return kind_of(clause) == "answer" or pattern("announcement").fullmatch(clause) is not None


def _is_open(words: str) -> bool:
    """Tell whether a quotation or a bracket is still open at the end of some words."""
    if words.count('"') % 2 or words.count("`") % 2:
        return True
    return any(words.count(pair[0]) > words.count(pair[1]) for pair in _PAIRS)
