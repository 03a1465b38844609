"""A whole exchange with a tool that a model shows in a fence or a quotation is one it made up."""

import re
from collections.abc import Sequence
from typing import Final

from chart_binder.react.reading.around import Around
from chart_binder.react.reading.near import lowered
from chart_binder.react.reading.observed import Sight, sights

# In small letters, after a line break; every way to begin has a character to search for.
_ASKED: Final = re.compile(
    r"\n[^\w\n<]{0,16}+(?:\d{1,3}[.)][ ]?)?(?:next )?"
    r"(?:action|tool|function|行动|行動|动作|動作|工具)[ \w-]{0,16}[\])*_`】✿]{0,4}[ ]?[:：\[(]"
    r"|<(?:\|?[ ]?(?:tool_?|function_?|tool-|function-)(?:calls?|use)\b|invoke\b|function=)"
    r"|\"(?:action|tool|name)[\"'][ ]?:"
    r"|'(?:action|tool|name)[\"'][ ]?:"
)
_QUOTE: Final = re.compile(r"(?:^[ \t]{0,8}+(?:[-*+][ ]{1,4}+)?+>[^\n]*+(?:\n|\Z))++", re.MULTILINE)
_BLANK: Final = " \t\n`~"


def invented_exchange(text: str, seen: Sequence[Sight], around: Around) -> int:
    """Return where an observation begins that is shown with the call before it, or the end.

    Nobody but the model has put it there. One that a fence begins with counts, too.
    """
    quotes = ((quote.start(), quote.end()) for quote in _QUOTE.finditer(text))
    quote = fence = (0, 0)
    asked = len(text)
    for sight in seen:
        if sight.kind != "observation":
            continue
        if sight.quoted:
            while quote[1] <= sight.start and (following := next(quotes, None)):
                quote = following
                asked = quote[0] + _first_call(text[quote[0] : quote[1]])
        elif shown := around.fence(sight.start):
            if shown != fence:
                fence = shown
                is_first = not text[fence[0] : sight.start].strip(_BLANK)
                shown_here = text[fence[0] : fence[1]]
                asked = fence[0] + (0 if is_first else _first_call(shown_here))
        else:
            continue
        if asked <= sight.start:
            return sight.start
    return len(text)


def imagined_exchange(text: str, thoughts: Sequence[tuple[int, int]]) -> int:
    """Return where an observation begins that a thought holds with the call before it, or -1."""
    for start, end in thoughts:
        thought = text[start:end]
        asked = _first_call(thought)
        for sight in sights(thought) if asked < len(thought) else ():
            if sight.kind == "observation" and asked < sight.start:
                return start + sight.start
    return -1


def _first_call(text: str) -> int:
    """Return where the first call begins in a text, or its end."""
    asked = _ASKED.search("\n" + lowered(text).replace(">", " "))
    if asked is None:
        return len(text)
    # the line break that was put before the text is that of the first line
    return asked.start() - (not asked.group().startswith("\n"))
