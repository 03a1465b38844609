"""Whether words make what stands beside them somebody else's: a page's, a user's, an example."""

import re
from typing import Final

LOOKED_AT: Final = 4000
"""Letters of what is said before or after that are looked at."""
_END_AT_MOST: Final = 128
_FENCE: Final = re.compile(r"(?:`{3,}|~{3,})[ \t]*\w{0,12}[ \t]*\Z|\bjson\s*\Z", re.IGNORECASE)
_TOKEN: Final = re.compile(r"(?:<\|\w{1,24}\|>\s{0,4}){1,3}\Z|functools\s*\Z")
_LABEL: Final = re.compile(r"\A\W{0,16}(?:thoughts?|思考|想法)\W{0,8}", re.IGNORECASE)
_VERBS: Final = (
    r"says?|said|saying|states?|stated|reads|wants?|wanted|tells?|told|asks?|asked|contains?"
    r"|contained|containing|shows?|showed|shown|claims?|claimed|suggests?|suggested|demands?"
    r"|instructs?|instructed|orders?|ordered|quotes?|quoted|quoting|lists|includes?|included"
    r"|returned|writes|wrote|printed|prints|displays?|supposed|according|such as|form(?:at)? is"
    r"|说|写道|要求|显示|内容"
)
_SOURCES: Final = (
    r"inject(?:ed|ion|s)?|ignor(?:e|es|ed|ing)|repeat|never|instead|pretends?|trust|bait|fake"
    r"|example|template|like this|pages?|sites?|websites?|articles?|snippets?|comments?|sources?"
    r"|documents?|posts?|prompts?"
    r"|页面|网页|网站|文章|例如|引用|注入|忽略"
)
_REPORT: Final = f"{_VERBS}|{_SOURCES}"
# These look at small letters.
_REPORTED: Final = re.compile(rf"(?<![a-z])(?:{_REPORT})(?![a-z])")
_OF_SOURCES: Final = re.compile(rf"(?<![a-z])(?:{_SOURCES})(?![a-z])")
_BEGUN: Final = re.compile(
    rf"(?<![a-z])(?:{_REPORT})(?![a-z])[^\n.!?:：。]{{0,100}}+"
    r"[:：][ \t]{0,8}+(?:\n|\Z|[\"“'«‹「`>])"
)
_QUOTES: Final = re.compile(
    r"\b(?:(?:say|read|state|want|tell|ask|contain|claim|suggest|demand|instruct|write)s?|said|told"
    r"|(?:state|want|ask|contain|claim|suggest|demand|instruct)e?d|wrote|example|form(?:at)? is"
    r"|template)(?!\w)[^\n.!?]{0,16}\Z"
)
_OWN_VOICE: Final = re.compile(
    r"\A\W*(?:thought\W{1,8})?(?:based on|given|considering)\b|\bI(?:['’]ll| will| can| now)\b"
    r"|\bmy (?:final )?(?:answer|decision|conclusion)\b",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？]|\n[ \t]*\n")
_ENDED: Final = (".", "!", "?", "。", "！", "？", ")", "）", "…")
_INDENTED: Final = re.compile(r"(?:[ ]{4}|[ ]{0,3}\t)")
_CLOSING: Final = re.compile(
    r"(?:[\s`~*_}\])>;.]|</?[\w ]{1,24}>|<\|/?\w{1,24}\|>|PAUSE\b|\[?/?END\]?)*+"
)


def is_own(before: str, after: str = "") -> bool:
    """Tell whether a call or a turn without a label is meant as one, by the words around it.

    Nothing but closing marks may follow, unless the reply begins with it; those before may not be a
    sentence that has just come to say what somebody else wrote.
    """
    closed = _CLOSING.match(after)
    rest = after[closed.end() if closed else 0 :].strip()[:LOOKED_AT].lower()
    led = _words_before(before)
    if not led:
        return not _OF_SOURCES.search(rest)
    return not rest and not _is_reported(led)


def is_passed_on(text: str, at: int) -> bool:
    """Tell whether words right before a place say that somebody else wrote what stands there.

    They end in a colon, or introduce a passage that is indented; marks may stand in between.
    """
    start = text.rfind("\n", 0, at) + 1
    before = text[max(0, start - LOOKED_AT) : start].splitlines()
    lines = [line for line in before if any(map(str.isalnum, line))]
    is_indented = _INDENTED.match(text, start) is not None
    outer = [line for line in lines if is_indented and not _INDENTED.match(line)]
    led = _last_sentence((outer or lines or [""])[-1].strip(" \t*_`~"))
    is_introduced = led.endswith((":", "：")) or (bool(outer) and not led.endswith(_ENDED))
    return is_introduced and bool(_REPORTED.search(led)) and not _OWN_VOICE.search(led)


def is_quoted_by(before: str) -> bool:
    """Tell whether words before an object, under the label of an answer, quote it.

    They do where they end in a mark of quotation, or with a verb that reports.
    """
    led = _words_before(before)
    return (led.endswith(('"', "“", "«", "「")) and len(led) > 1) or bool(_QUOTES.search(led))


def _words_before(words: str) -> str:
    """Return the words before an object, in small letters, without what opens or labels it."""
    words = words[-LOOKED_AT:].rstrip().rstrip("[").rstrip()
    for end in (_TOKEN, _FENCE):
        found = end.search(words, max(0, len(words) - _END_AT_MOST))
        words = words[: found.start()] if found else words
    return _LABEL.sub("", words.strip(" \t\n*_`~"), count=1).lower()


def _is_reported(led: str) -> bool:
    last = "" if led.endswith(_ENDED) else _last_sentence(led)
    return bool(_BEGUN.search(led) or _REPORTED.search(last)) or "://" in last


def _last_sentence(led: str) -> str:
    *_, last = _SENTENCE_END.split(led)
    return last
