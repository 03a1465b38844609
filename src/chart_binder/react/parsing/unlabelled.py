"""The answer in a reply that is nothing but its JSON object, perhaps behind a sentence.

No label says that the model gives it, so what stands before it must not say anything else: that a
page or the user wrote it, that it is an example, a plan, a quotation. Where the words leave a doubt
there is no answer; the model is told so and has more turns.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from chart_binder.react.parsing.advice import NO_DIALECT
from chart_binder.react.parsing.answers import introduces
from chart_binder.react.parsing.labels import Directive, holds_foreign, kind_of, label_at, pattern
from chart_binder.react.parsing.lenient_json import LenientJSONError, Scanned, find_objects
from chart_binder.react.parsing.lexer import speak
from chart_binder.react.parsing.turns import ASKING, Turn, find_turn
from chart_binder.react.steps import Finish

_NOTE: Final = "an answer without its label"
_THOUGHT_TAGS: Final = frozenset({"thought", "thoughts"})
_TAG: Final = re.compile(r"</?thoughts?>", re.IGNORECASE)
_MAX_NEARBY: Final = 400
_SHORT: Final = 3
_OPENING_FENCE: Final = re.compile(
    r"(?:\A|\n)[ \t]*(?P<mark>`{3,}|~{3,})[ ]?(?:json\w?)?[ \t]*\n\s*\Z", re.IGNORECASE
)
_LIST_ITEM: Final = re.compile(r"\W{0,3}\d{1,2}[.)]\W|[-*+•–][ ]")
# What is left of marks of thinking that are no tags.
_THINKING: Final = re.compile(r"[<>|]|\A(?:analysis|commentary)(?=[A-Z])|\bthought process\b")
_WORD: Final = re.compile(r"[^\W\d_]{2}|[^\W\d_a-zA-Z]")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？]")
_PAIRS: Final = ("“”", "„“", "«»", "‹›", "「」", "『』", "《》", "()", "[]", "（）", "【】")


def unlabelled_answer(reply: str, keys: Sequence[str] = ()) -> Finish | None:
    """Return the answer in a reply that is nothing but one JSON object, or None.

    The object may be fenced, and sentences may stand before it that are the model's own. It has the
    first of `keys`, and none that is not one of them; without `keys` any object is taken.
    """
    spoken = speak(reply, _THOUGHT_TAGS)
    if spoken.unclosed or not spoken.text.rstrip(" \t\n`~").endswith("}"):
        return None
    turn = find_turn(spoken.text, NO_DIALECT)
    place = _only_object(turn)
    if place is None or not _has_keys(place[1].value, keys):
        return None
    at, scanned = place
    words = _words_before(turn.text, at, scanned)
    if words is None or not _gives(words):
        return None
    thought = _without_label(words.strip())
    return Finish(turn.text[at : scanned.end], thought, (*spoken.notes, _NOTE))


def _only_object(turn: Turn) -> tuple[int, Scanned] | None:
    """Return the one object of a turn and its place, or None if the turn holds anything else."""
    is_broken_off = turn.ended_by or turn.notes or turn.refused
    if is_broken_off or ASKING.search(turn.text) or not all(map(_is_allowed, turn.directives)):
        return None
    try:
        objects = list(find_objects(turn.said, closed=True))
    except LenientJSONError:
        return None
    return objects[0] if len(objects) == 1 else None


def _is_allowed(directive: Directive) -> bool:
    """Tell whether a label may stand in the reply: a thought's, or the object itself."""
    is_object = directive.kind == "object" or directive.name.casefold() == "json"
    return is_object or (directive.kind == "thought" and not directive.is_tag)


def _has_keys(value: object, keys: Sequence[str]) -> bool:
    if not isinstance(value, Mapping) or not value:
        return False
    names = [str(name).strip().casefold() for name in value]
    return not keys or (keys[0] in names and len({*names}) == len(names) and {*names} <= {*keys})


def _words_before(text: str, at: int, scanned: Scanned) -> str | None:
    """Return the words before an object at `at`, or None if there is anything behind it.

    A line break ends them unless the object stands on their line.
    """
    before, after = text[:at], text[scanned.end :].strip()
    fence = _OPENING_FENCE.search(before)
    if fence is not None:
        before = f"{before[: fence.start()]}\n"
        after = after.removeprefix(fence["mark"])
    before = _TAG.sub("\n", before)
    return None if after or "```" in before or "~~~" in before else before


def _without_label(words: str) -> str:
    label = label_at(words.partition("\n")[0])
    return words[label.value :].strip() if label and label.kind == "thought" else words


def _gives(before: str) -> bool:
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
    return not is_doubtful and _leads_up(_without_label(line), is_last=is_on_its_own_line)


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
        len(sentence.split()) <= _SHORT or pattern("without_a_clause").match(sentence) is not None
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
