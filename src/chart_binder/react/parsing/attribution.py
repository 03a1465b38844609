"""Decides by the words around an answer whether it is the model's own or a quotation."""

import re
from collections.abc import Mapping
from typing import Final

from chart_binder.react.parsing.labels import fold, is_like, kind_of, label_at, pattern

_MAX_NEARBY: Final = 400
_WRAPPER: Final = re.compile(
    r"(?:(?:<(?:(?:answer|final_answer|response|json|output|pre|code)>|!\[CDATA\[)\s*){1,3}"
    r"|\A\s*\[\s*)?(?:(?:`{3,}|~{3,})[ ]?\w{0,12}\s*|`)?\Z",
    re.IGNORECASE,
)
"""Tags, a bracket or a fence right before an object."""
_MARKS: Final = (">", "]", '"', "“", "”", "»", "'", "--", "form is", "format is")
_LIST_ITEM: Final = re.compile(r"\W{0,3}\d{1,2}[.)]\W|[-*+•–][ ]")
_ITEM: Final = re.compile(r"[ \t*]{0,8}(\d{1,2})[.)]")
_TAGS: Final = re.compile(r"<[^<>\n]{0,80}>")
_WORD: Final = re.compile(r"[^\W\d_]{2}|[^\W\d_a-zA-Z]")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？]")
_COLONS: Final = (":", "：")
_PAIRS: Final = ("“”", "„“", "«»", "‹›", "「」", "『』", "《》", "()", "[]", "（）", "【】")
_LABEL: Final = re.compile(r"\b[A-Z]\d{1,3}\b(?:\.[A-Z]\d{1,3})?")
"""A label of the evidence: `C1.R2`."""
_CODE_INDENT: Final = 4
_NAME: Final = 2
"""At most this many words before a colon are a name."""
_CLAUSE: Final = 4
_THEIRS: Final = ("theirs", "read", "somebody_elses")
_PLAN: Final = re.compile(r"\bplan\b[^\n]{0,40}:", re.IGNORECASE)
_ACTION: Final = re.compile(r"\n\W{0,4}Action\b", re.IGNORECASE)
_DOUBTS: Final = (
    (True, "line", ("denied",)),
    (False, "nearby", ("somebody_elses",)),
    (False, "before colons", ("read",)),
    (False, "earlier sentences", ("points", "read")),
    (False, "sentence", ("undecided",)),
    (False, "sentence", ("unready",)),
)
"""Signs of a quotation: whether there is a label, the words, and patterns that all match there."""


def contains_foreign_words(words: str) -> bool:
    """Return whether words before an answer contain an observation, a result or another speaker."""
    folded = f"\n{fold(words)}\n"
    texts = {"foreign": folded, "called": folded, "results": f"\n{words.casefold()}\n"}
    is_foreign = any(pattern(name).search(text) for name, text in texts.items())
    return is_foreign or any(map(_is_observing, pattern("observing").finditer(folded)))


def _is_observing(line: re.Match[str]) -> bool:
    word = re.sub(r"[ -]", "", line["word"])
    tail = line["rest"]
    is_cut = word.startswith("obser") and "observation".startswith(word)
    is_short = word == "obs" and not tail[:1].isalnum()
    is_prose = re.match(r"[ ]?(?:of|show|that|is|are|summary|analys|recap)", tail) is not None
    return not is_prose and (is_cut or is_short or is_like(word.rstrip("s")))


# The words above a label.


def is_attributed(text: str, at: int) -> bool:
    """Return whether the line above an answer's label attributes it to somebody else.

    If the label's line begins with a sign or is indented, so may the lines above it; then the line
    above all of these is meant.
    """
    start = text.rfind("\n", 0, at) + 1
    lead = re.match(r"\W*", text[start : at + 80].partition("\n")[0])[0]  # type: ignore[index]
    lines = text[max(0, start - 4 * _MAX_NEARBY) : start].split("\n")
    if pattern("aside").match(text, at) or _is_planned(text, at, lines):
        return True
    if lead.strip() or len(lead.expandtabs()) >= _CODE_INDENT:
        sign = lead[:_CODE_INDENT].rstrip("<*") or " "
        lines = [line for line in lines if line.strip() and not line.startswith(sign)] or lines
    line = next((line for line in reversed(lines) if re.search(r"\w", _TAGS.sub("", line))), "")
    amid = text[start:at]
    line = amid if re.search(r"\w", amid) else line
    sentence = _sentences(line[-_MAX_NEARBY:].strip(" \t*_`~"))[-1]
    is_led = sentence.endswith(_COLONS) and not pattern("own").search(sentence)
    is_theirs = is_led and any(pattern(name).search(sentence) for name in _THEIRS)
    return is_theirs or introduces_quotation(line, is_labelled=True) or is_disowned(line)


def is_disowned(line: str) -> bool:
    """Return whether a line ends with a sentence that says that no answer follows."""
    sentence = _SENTENCE_END.split(line[-_MAX_NEARBY:].strip(" \t.!*_`#。！"))[-1]
    return any(pattern(name).search(sentence) for name in ("unready", "disowned"))


def is_withdrawn(text_after: str, members: Mapping[str, object]) -> bool:
    """Return whether the words after an answer withdraw it, or choose a label not in its object."""
    labels = set(filter(_LABEL.fullmatch, map(str, members.values())))
    for sentence in _sentences(text_after) if labels else ():
        mentioned = _LABEL.findall(sentence)
        chosen = [list(filter(None, choice)) for choice in pattern("chosen").findall(sentence)]
        chosen += [mentioned] if mentioned and pattern("last").search(sentence) else []
        if any(map(labels.isdisjoint, chosen)):
            return True
    return any(pattern(name).search(text_after) for name in ("unready", "withdrawn"))


def _is_planned(text: str, at: int, above: list[str]) -> bool:
    """Return whether an answer is the next item of a numbered list of planned steps."""
    last = next((line for line in reversed(above) if line.strip()), "")
    item, previous_item = _ITEM.match(text, text.rfind("\n", 0, at) + 1), _ITEM.match(last)
    if not (item and previous_item and int(item[1]) == int(previous_item[1]) + 1):
        return False
    is_ahead = _ACTION.search(text, at) or any(map(_PLAN.search, above))
    return label_at(last) is None and bool(is_ahead)


def introduces_quotation(line: str, *, is_labelled: bool = False) -> bool:
    """Return whether a line introduces somebody else's words, with a colon or an open clause.

    Above the label of an answer, a colon does so only after a name or a verb of saying.
    """
    line = _TAGS.sub("", line[-_MAX_NEARBY:]).strip(" \t*_`~")
    sentence = _SENTENCE_END.split(line)[-1]
    is_led = sentence.endswith(_COLONS) or pattern("unfinished").search(sentence) is not None
    if is_labelled and line.endswith(_COLONS):
        clause = re.split(r"[:：]\s", sentence.rstrip(":： "))[-1].strip()
        is_name = len(clause.split()) <= _NAME and not pattern("announced").search(clause)
        is_led = is_name or pattern("unfinished").search(clause) is not None
    return is_led and not pattern("own").search(sentence)


# The words before an object.


def is_own_answer(text_before: str, text_after: str = "", *, is_labelled: bool) -> bool:
    """Return whether the words around an object show that it is the model's own answer.

    Under a label they must not contradict that; without a label they must leave no doubt.
    """
    bare = _WRAPPER.sub("", text_before[-_MAX_NEARBY:]) if is_labelled else text_before
    nearby = bare[-_MAX_NEARBY:].strip()
    lines = [line.strip(" \t*_#") for line in nearby.split("\n")]
    line = lines[-1] if is_labelled else without_thought(lines[-1])
    *_, sentence = earlier = _sentences(nearby)
    parts = {
        "nearby": [nearby],
        "line": [line],
        "before colons": [line.replace("：", ":").rpartition(":")[0] for line in lines],
        "earlier sentences": earlier[:-1],
        "sentence": [sentence],
    }
    for labelled, part, names in _DOUBTS:
        if labelled == is_labelled and any(
            all(pattern(name).search(words) for name in names) for words in parts[part]
        ):
            return False
    is_last = bare.rstrip(" \t*_").endswith("\n")
    if is_labelled:
        is_allowed = not line or _allows_answer(line, is_last=is_last)
        return is_allowed and not _is_embedded(text_before, text_after)
    is_open = re.search("[<>|]", bare) or contains_foreign_words(bare) or _is_open(nearby)
    is_sourced = any(_names_source(words) for above in lines for words in _sentences(above))
    is_passed_on = is_sourced or any(
        introduces_quotation(above.rstrip(" :：")) for above in lines[:-1]
    )
    return not nearby or (not (is_open or is_passed_on) and _precedes_answer(line, is_last=is_last))


def _is_embedded(text_before: str, text_after: str) -> bool:
    """Return whether an object under a label stands in a quotation, a list or a sentence."""
    line = text_before.rpartition("\n")[2].lstrip()
    is_listed = text_before.rstrip().endswith("[") != text_after.lstrip().startswith("]")
    is_quoted = line.startswith((">", "＞")) or (
        "```" in text_before and label_at(line) is not None
    )
    return is_listed or is_quoted or pattern("not_after").match(text_after) is not None


def _allows_answer(line: str, *, is_last: bool) -> bool:
    """Return whether the line before an object under a label allows it to be the answer."""
    if line.endswith(_COLONS):
        return not introduces_quotation(line, is_labelled=True)
    is_led = line.startswith(">") or line.endswith(_MARKS) or introduces_quotation(line)
    return line.endswith((".", "!", "?", "。")) or (is_last and not is_led)


def _precedes_answer(line: str, *, is_last: bool) -> bool:
    """Return whether a line is a sentence of the model, or announces its answer.

    If it `is_last`, it may lack the full stop.
    """
    sentence = _sentences(line)[-1]
    if line.startswith((">", "＞")) or _LIST_ITEM.match(line) or not _WORD.search(line):
        return False
    is_read = pattern("read").search(sentence) is not None
    if line.endswith(_COLONS) or pattern("points").search(sentence):
        return not is_read and _announces_answer(sentence.strip(" .:：*"))
    is_whole = line.endswith((".", "!", "。", "！")) and not line.endswith("..")
    is_ended = is_last and line[-1].isalnum() and not pattern("function_word").search(line)
    if not (is_whole or is_ended) or introduces_quotation(sentence):
        return False
    # A sentence about something that was read must say what it was, not where the object is from.
    is_clause = len(sentence.split()) >= _CLAUSE and not pattern("without_a_clause").match(sentence)
    return not is_read or (is_whole and is_clause and not pattern("object").search(sentence))


def _names_source(sentence: str) -> bool:
    """Return whether a sentence only names a source (`According to Discogs`)."""
    clause = re.split("[:：]", sentence)[-1].strip()
    return len(clause.split()) <= _CLAUSE and bool(pattern("without_a_clause").match(clause))


def _announces_answer(sentence: str) -> bool:
    """Return whether a sentence before a colon ends with words for the model's answer."""
    clause = re.split(r"[,，;；、–—]\s*", sentence)[-1].strip()
    return kind_of(clause) == "answer" or pattern("announcement").fullmatch(clause) is not None


def _is_open(words: str) -> bool:
    """Return whether a quotation or a bracket is open at the end of some words."""
    if words.count('"') % 2 or words.count("`") % 2:
        return True
    return any(words.count(pair[0]) > words.count(pair[1]) for pair in _PAIRS)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text without full stops, or one empty sentence."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(text)))) or [""]


def without_thought(words: str) -> str:
    """Return words without the label of a thought at their beginning."""
    label = label_at(words.partition("\n")[0])
    return words[label.content_start :].strip() if label and label.kind == "thought" else words
