"""An object without a label is a model's own turn only where no words make it somebody else's."""

import re
from typing import Final

_FENCE: Final = re.compile(r"(?:`{3,}|~{3,})[ \t]*\w{0,12}[ \t]*\Z|\bjson\s*\Z", re.IGNORECASE)
_TOKEN: Final = re.compile(r"(?:<\|\w{1,24}\|>\s{0,4}){1,3}\Z|functools\s*\Z")
_LABEL: Final = re.compile(r"\A\W{0,16}(?:thoughts?|思考|想法)\W{0,8}", re.IGNORECASE)
_REPORT: Final = (
    r"says?|said|saying|states?|stated|reads|wants?|wanted|tells?|told|asks?|asked|contains?"
    r"|contained|containing|shows?|showed|shown|claims?|claimed|suggests?|suggested|demands?"
    r"|instructs?|instructed|orders?|ordered|quotes?|quoted|quoting|lists|includes?|included"
    r"|returned|writes|wrote|printed|prints|displays?|supposed|according|example|such as"
    r"|inject(?:ed|ion|s)?|ignor(?:e|es|ed|ing)|repeat|never|instead|pretends?|trust|bait|fake"
    r"|pages?|sites?|websites?|articles?|snippets?|comments?|sources?|documents?|posts?|prompts?"
    r"|页面|网页|网站|文章|说|写道|要求|显示|内容|例如|引用|注入|忽略"
)
# These look at small letters.
_REPORTED: Final = re.compile(rf"(?<![a-z])(?:{_REPORT})(?![a-z])")
_BEGUN: Final = re.compile(
    rf"(?<![a-z])(?:{_REPORT})(?![a-z])[^\n.!?:：。]{{0,100}}+"
    r"[:：][ \t]{0,8}+(?:\n|\Z|[\"“'«‹「`>])"
)
_OWN: Final = re.compile(
    r"(?<![a-z])(?:answer|final|json|result|here|so|thus|therefore|conclude|response|output|it is"
    r"|reduces? to)(?![a-z])|答案|结论|因此|所以"
)
_DOUBT: Final = re.compile(
    r"(?<![a-z])(?:cannot|can't|can’t|unable|unsure|unknown|not|no)(?![a-z])|不能|无法|不知"
)
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？]|\n[ \t]*\n")
_INDENTED: Final = re.compile(r"(?:[ ]{4}|[ ]{0,3}\t)")
_OWN_VOICE: Final = re.compile(
    r"\A\W*(?:thought\W{1,8})?(?:based on|given|considering)\b|\bI(?:['’]ll| will| can| now)\b"
    r"|\bmy (?:final )?(?:answer|decision|conclusion)\b",
    re.IGNORECASE,
)
_WRAPPER: Final = re.compile(r"<(?:json|answer|output|response|final_?answer)>", re.IGNORECASE)
_STRING: Final = ('"', "'", "“")
"""What an answer begins with that is a string with the object inside."""
_ENDED: Final = (".", "!", "?", "。", "！", "？", ")", "）", "…")
_CLOSING: Final = re.compile(
    r"(?:[\s`~*_}\])>;.]|</?[\w ]{1,24}>|<\|/?\w{1,24}\|>|PAUSE\b|\[?/?END\]?)*+"
)
LOOKED_AT: Final = 4000
"""Letters of what is said before or after that are looked at."""
_END_AT_MOST: Final = 128
_LEAD_IN_AT_MOST: Final = 240


def is_own_turn(before: str, after: str) -> bool:
    """Tell whether an object that is a turn is meant as one, by the words around it.

    Nothing but closing marks may follow, unless the reply begins with the object; those before may
    not be a sentence that has just come to say what somebody else wrote.
    """
    rest = _after(after)
    led = _before(before)
    if not led:
        return not _REPORTED.search(rest)
    return not rest and not _is_reported(led)


def is_own_answer(before: str, after: str) -> bool:
    """Tell whether an object without any label is meant as an answer: as a turn, but stricter.

    The last sentence before it must be whole, or else announce an answer.
    """
    led = _before(before)
    if not led or led.endswith(_ENDED):
        return is_own_turn(before, after)
    return is_own_turn(before, after) and _OWN.search(_last_sentence(led)) is not None


def is_lead_in(words: str, after: str = "") -> bool:
    """Tell whether words before an object, under the label of an answer, are at most a lead-in.

    That is one sentence that reports or doubts nothing; after more, the object is quoted. Where it
    announces no answer, the words after the object may not doubt, either.
    """
    led = _before(words)
    if not led or led in _STRING or _WRAPPER.fullmatch(led):
        return True
    if len(led) > _LEAD_IN_AT_MOST or led.endswith((">", '"', "“", "'", "`", "«", "「")):
        return False
    whole = _SENTENCE_END.split(led.rstrip(".!?。！？"))
    if len(whole) > 1 or _REPORTED.search(led) or _DOUBT.search(led):
        return False
    return _OWN.search(led) is not None or not _DOUBT.search(_after(after))


def is_passed_on(text: str, at: int) -> bool:
    """Tell whether words right before a place say that somebody else wrote what stands there.

    They end in a colon, or introduce a passage that is indented; marks may stand in between.
    """
    start = text.rfind("\n", 0, at) + 1
    before = text[max(0, start - LOOKED_AT) : start].splitlines()
    lines = [line for line in before if any(map(str.isalnum, line))]
    is_indented = _INDENTED.match(text, start) is not None
    outer = [line for line in lines if is_indented and not _INDENTED.match(line)]
    last = (outer or lines or [""])[-1]
    led = _last_sentence(last.strip(" \t*_`~"))
    is_introduced = led.endswith((":", "：")) or (bool(outer) and not led.endswith(_ENDED))
    return is_introduced and bool(_REPORTED.search(led)) and not _OWN_VOICE.search(led)


def _before(words: str) -> str:
    """Return the words before an object, in small letters, without what opens or labels it."""
    words = words[-LOOKED_AT:].rstrip().rstrip("[").rstrip()
    words = _without_end(_FENCE, _without_end(_TOKEN, words)).strip(" \t\n*_`~")
    return _LABEL.sub("", words, count=1).lower()


def _without_end(end: re.Pattern[str], words: str) -> str:
    found = end.search(words, max(0, len(words) - _END_AT_MOST))
    return words[: found.start()] if found else words


def _after(words: str) -> str:
    """Return the words after an object, in small letters, without what closes it."""
    closed = _CLOSING.match(words)
    return words[closed.end() if closed else 0 :].strip()[:LOOKED_AT].lower()


def _is_reported(led: str) -> bool:
    if _BEGUN.search(led):
        return True
    last = "" if led.endswith(_ENDED) else _last_sentence(led)
    return _REPORTED.search(last) is not None or "://" in last


def _last_sentence(led: str) -> str:
    *_, last = _SENTENCE_END.split(led)
    return last
