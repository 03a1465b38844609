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
from chart_binder.react.parsing.labels import Directive, holds_foreign, kind_of, label_at
from chart_binder.react.parsing.lenient_json import LenientJSONError, Scanned, find_objects
from chart_binder.react.parsing.lexer import speak
from chart_binder.react.parsing.turns import ASKING, Turn, find_turn
from chart_binder.react.steps import Finish

_NOTE: Final = "an answer without its label"
_THOUGHT_TAGS: Final = frozenset({"thought", "thoughts"})
_TAG: Final = re.compile(r"</?thoughts?>", re.IGNORECASE)
_MAX_CHARS: Final = 20_000
"""No honest reply that is nothing but an answer is longer."""
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

# Words anywhere near an object that make it an example, a plan, a quotation, or the user's.
_SOMEBODY_ELSES: Final = re.compile(
    r"\b(?:examples?|e\.g|for instance|samples?|templates?|formats?|schema|syntax|placeholders?"
    r"|dummy|hypothe\w+|drafts?|preliminary|tentative\w*|quot(?:e[ds]?|ing|ation)|verbatim|cop(?:y|ied)"
    r"|instruct\w*|injections?|fake|users?|prompts?|somebody|someone|plan(?:s|ned|ning)?|step \d"
    r"|(?:first|next|then|later|afterwards|after that|once),? I|in the form|look(?:s|ed)? like"
    r"|(?:would|could|might)(?: \w+){0,3} (?:answer|say|write|reply|respond|finish|end|conclude"
    r"|give|return|output|be (?:this|the following))"
    r"|(?:wants?|wanted|asks?|asked|tells?|told|expects?|expected|requires?|supposed)"
    r"(?: \w+){0,2} to"
    r"|(?:wants?|asks?|asked|tells?|told) (?:me|us)|such as|something like|along the lines"
    r"|(?:cannot|can['’]?t|won['’]?t|don['’]?t|didn['’]?t|not|never|refuse to)(?: \w+){0,2}"
    r" (?:answer|give|write|finish|use|accept|follow|take|believe|trust|repeat|mine|my|yet)"
    r"|reject\w*|refus\w+|ignor\w+|disregard\w*"
    r"|beispiel\w*|vorlage|zitat|zitier\w*|benutzer|nutzer|würde|exempl\w+|utilisateur|modèle|devrait"
    r"|ejemplo|usuario|cita|citado|plantilla|esempio|utente|exemplo|usuário|voorbeeld|gebruiker"
    r"|exempel|przykład\w*|örnek\w*|пример\w*|пользовател\w*|формат\w*|цитат\w*|formato|formaat)\b"
    r"|[例引格]|形式|模板|预设|用户|用戶|使用者|ユーザー|计划|計画|예시|형식|사용자",
    re.IGNORECASE,
)
# In the sentence before an object: it does not hold yet, or not at all.
_UNDECIDED: Final = re.compile(
    r"\b(?:if|unless|until|as soon as|wrong|incorrect|false|mistaken|next|alternative\w*)\b"
    r"|\b(?:earlier|previous|old|(?:an)?other|their|his|her|\w+['’]s)(?: \w+)?"
    r" (?:answer|reply|response|decision|choice|model)\b"
    r"|\b(?:not|never|nicht|pas|niet|не)(?: \w+)?\W*\Z"
    r"|\b(?:I(?:['’]ll| will| should| must| need to| have to| want to| am going to)|let me|let['’]s"
    r"|need to|have to|must|still)(?: \w+)? (?:search|look|check|verify|fetch|find|read|open"
    r"|confirm|see|try|wait|know|need)\b",
    re.IGNORECASE,
)
# What a model reads, or who speaks in it.
_READ: Final = re.compile(
    r"\b(?:(?:web)?(?:pages?|sites?)|articles?|observ\w*|obs|results?|search\w*|snippets?|tools?"
    r"|outputs?|sources?|texts?|documents?|content|headings?|infobox|tables?|rows?|wikip\w*"
    r"|discogs\w*|musicbrainz\w*|system|assistant|web|internet|links?|hits?|quer(?:y|ies)|found|read"
    r"|seite|quelle|artikel|ergebnis|beobacht\w*|sagt|steht|résultat|source|dit|página|resultado"
    r"|pagina|risultato|fonte|pagină|resultaat|bron|страниц\w*|источник\w*|результат\w*|сайт\w*"
    r"|стат[ьеи]\w*|strona|sayfa|sida)\b"
    r"|[页頁网網站]|文章|搜索|观察|觀察|結果|结果|ページ|サイト|記事|페이지|결과|说|說|写|寫",
    re.IGNORECASE,
)
# In a sentence about something read: what may be the object.
_OBJECT: Final = re.compile(
    r"\b(?:answers?|objects?|json|repl(?:y|ies)|responses?|lines?|blocks?|following|follows|as such"
    r"|antwort|zeile|réponse|ligne|respuesta|línea|risposta|riga|resposta|linha|antwoord|ответ\w*"
    r"|строк\w*)\b|\b(?:says?|said|states?|reads?|writes?|shows?|gives?|has|ends?|contains?|prints?"
    r"|returns?|lists?|suggests?)(?: \w+)?(?: (?:it|here))?\W*\Z|答",
    re.IGNORECASE,
)
# At the end of a sentence: it points at what follows.
_POINTS: Final = re.compile(
    r"\b(?:this|these|that|those|thus|so|follow(?:s|ing)|below|dies\w*|folg\w+|ceci|cela|ainsi|suivant\w*"
    r"|esto|así|siguiente|questo|così|seguente|isto|assim|seguinte|dit|zo|volgende|это|так"
    r"|следующ\w*)\W*\Z|(?:以下|如下|这|這|此|こう|次の|다음)\W*\w{0,6}\W*\Z",
    re.IGNORECASE,
)
_FUNCTION_WORD: Final = re.compile(
    r"\b(?:is|are|was|were|be|am|the|an?|my|to|of|for|and|or|but|then|in|on|at|from|if|not)\Z",
    re.IGNORECASE,
)
_WITHOUT_A_CLAUSE: Final = re.compile(
    r"\W*(?:(?:according|thanks) to|as per|per|from|via|in|on|laut|nach|selon|d'après|según|secondo"
    r"|segundo|volgens|согласно|по)\b[^,，]*\Z|(?:据|根据|根據)[^,，]*\Z",
    re.IGNORECASE,
)
# The model's own announcement, which ends with a colon.
_ANNOUNCEMENT: Final = re.compile(
    r"(?:(?:so|thus|therefore|hence|now|ok(?:ay)?|sure|done|finally|then|and)[, ]*){0,2}"
    r"(?:(?:here(?:['’]s| is| are)|this is) )?(?:(?:my|the) )?(?:final |own )?"
    r"(?:answer|decision|conclusion|choice|verdict|json(?: object)?|it is)"
    r"(?: in json)?(?: is| as json| follows)?|here (?:it is|you (?:are|go))"
    r"|.{0,3}(?:最终|最終)?(?:答案|答え|回答|结论|結論)(?:如下|は以下(?:の通り)?|为|是)?",
    re.IGNORECASE,
)


def unlabelled_answer(reply: str, keys: Sequence[str] = ()) -> Finish | None:
    """Return the answer in a reply that is nothing but one JSON object, or None.

    The object may be fenced, and sentences may stand before it that are the model's own. It has the
    first of `keys`, and none that is not one of them; without `keys` any object is taken.
    """
    if len(reply) > _MAX_CHARS:
        return None
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
    is_broken_off = turn.ended_by or turn.notes or turn.refused or turn.quoted is not None
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
        or _SOMEBODY_ELSES.search(nearby)
        or any(map(_passes_on, lines))
        or any(map(_points_from_reading, _sentences(nearby)[:-1]))
        or _READ.search(_before_colon(line))
    )
    is_on_its_own_line = before.rstrip(" \t").endswith("\n")
    return not is_doubtful and _leads_up(_without_label(line), is_last=is_on_its_own_line)


def _leads_up(line: str, *, is_last: bool) -> bool:
    """Tell whether the line before an object is a sentence of the model's own, or announces it.

    A line that `is_last` may lack the full stop.
    """
    sentence = _sentences(line)[-1]
    is_listed = line.startswith((">", "＞")) or _LIST_ITEM.match(line) is not None
    if is_listed or not _WORD.search(line) or _UNDECIDED.search(sentence):
        return False
    if line.endswith((":", "：")) or _POINTS.search(sentence):
        return _announces(sentence.strip(" .:：*")) and not _READ.search(sentence)
    is_whole = line.endswith((".", "!", "。", "！")) and not line.endswith("..")
    is_ended = is_last and line[-1].isalnum() and not _FUNCTION_WORD.search(line)
    if not (is_whole or is_ended) or introduces(sentence):
        return False
    return not _READ.search(sentence) or (is_whole and _is_claim(sentence))


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text without full stops, or one that is empty."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(text)))) or [""]


def _points_from_reading(sentence: str) -> bool:
    """Tell whether a sentence about something read ends with a word for what follows it."""
    return _POINTS.search(sentence) is not None and _READ.search(sentence) is not None


def _passes_on(line: str) -> bool:
    """Tell whether a line says that something read, or somebody else, says what follows."""
    return introduces(line.rstrip(" :：")) or _READ.search(_before_colon(line)) is not None


def _before_colon(line: str) -> str:
    return line.replace("：", ":").rpartition(":")[0]


def _is_claim(sentence: str) -> bool:
    """Tell whether a sentence says what was read somewhere, rather than where the object was."""
    is_short = len(sentence.split()) <= _SHORT or _WITHOUT_A_CLAUSE.match(sentence) is not None
    return not is_short and _OBJECT.search(sentence) is None


def _announces(sentence: str) -> bool:
    """Tell whether a sentence before a colon ends with words for the model's own answer."""
    clause = re.split(r"[,，;；、–—]\s*", sentence)[-1].strip()
    return kind_of(clause) == "answer" or _ANNOUNCEMENT.fullmatch(clause) is not None


def _is_open(words: str) -> bool:
    """Tell whether a quotation or a bracket is still open at the end of some words."""
    if words.count('"') % 2 or words.count("`") % 2:
        return True
    return any(words.count(pair[0]) > words.count(pair[1]) for pair in _PAIRS)
