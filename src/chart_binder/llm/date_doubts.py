"""Words around a date may say that it is not known, is no date of its own, or did not happen."""

import re

from chart_binder.llm.month_names import MONTHS

NEAR = 60
"""How many characters on either side of a date are looked at."""

_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})(?![^\W\d_])"
_FILLER = (
    r"(?:(?:the|in|on|for|of|it|be|in the|sometime|about|around|early|mid|late|beginning|start|"
    r"middle|end|summer|spring|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day),?"
    r"[- ]+){0,5}"
)
_VAGUE = (
    r"(?:circa|ca\.?|c\.|around|about|approximately|approx\.?|roughly|before|until|till|after|by|"
    r"(?:prior|previous|subsequent) to|(?:later|earlier) than|estimated|est\.|"
    r"possibly|probably|perhaps|maybe|presumably|supposedly|allegedly|reportedly|likely|"
    r"vor|nach|um|vers|avant|apres|около|до|после)"
)
_DENIED = (
    r"(?:(?:not|never|cannot|\w+n't|nicht|nie|kein|jamais|nunca)"
    r"(?: (?:been|be|yet|officially|actually|commercially|appear|come|out|released|issued|"
    r"published|put|available|sold|until|veroffentlicht)){0,4})"
)
_PLANNED = (
    r"(?:(?:planned|scheduled|intended|slated|due|expected|announced|set)"
    r"(?: (?:to be )?(?:release|released|issued|published|come out))? (?:for|on|in|by)|"
    r"(?:planned|scheduled|intended|expected)|"
    r"(?:cancell?ed|postponed|delayed|shelved|withdrawn|unreleased)(?: (?:from|to|until|till))?)"
)
_BETWEEN = r"(?:between|zwischen|entre|tra|fra|между)"
_TO = r"(?:to|until|till|til|thru|through|bis|or|oder|ou)"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th|er)?\.?"

_BEFORE = re.compile(
    "(?:"
    rf"\b(?:{_VAGUE}|{_DENIED}|{_PLANNED}|{_BETWEEN}):?[ ]+{_FILLER}|"
    # circa1974, c.1974
    r"\b(?:circa|ca?\.)|[~≈±][ ]?|"
    rf"\b{_BETWEEN} [^.;\n]{{1,40}}[ ](?:and|und|et|y|e|и|&)[ ]{_FILLER}|"
    # 1970 to, 28 September -, October or
    rf"(?:[0-9|]|{_MONTH})[ ]{_TO}[ ]{_FILLER}|"
    rf"\b(?:{_DAY} ?{_MONTH}|{_MONTH}\.? ?{_DAY}),?[ ]?[-–—/][ ]?|"
    rf"\b{_MONTH}\.?[-–—/]"
    ")$"
)
_AFTER = re.compile(
    rf"[ ]?\(?\?|[ ]{_TO}[ ]{_FILLER}(?:[0-9|]|'[0-9]|{_MONTH})|"
    r"[ ]?[(\[](?:cancell?ed|planned|scheduled|postponed|unreleased|unconfirmed|estimated|approx|"
    r"circa|ca\.|not|never)\b"
)


def is_doubted(before: str, after: str) -> bool:
    """Whether what stands next to a date, in folded text, keeps it from being told.

    Signs and words of vagueness (circa, before, possibly, 1974?), of what did not come about (not
    released on, planned for), and either end of a span (from 1970 to 1974, 1974 or 1975).
    """
    return bool(_BEFORE.search(before[-NEAR:]) or _AFTER.match(after[:NEAR]))
