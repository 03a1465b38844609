"""What stands in markup that quotes, such as `<blockquote>`, is shown rather than said."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from chart_binder.react.reading.near import lowered

_MAX_MARKS: Final = 256

_SHOWING: Final = (
    "blockquote|pre|quote|quotation|page|webpage|document|details|tools|xmp|textarea|untrusted"
)
_MENTIONING: Final = "code|q|cite|samp|excerpt|snippet|article|html|body|content|source|example"
# Every way to begin has a character to search for; what must stand before it is looked up after.
_OTHERS: Final = "quote|code|page|snippet|document|content|article|website|webpage|text"
_OPENING: Final = re.compile(
    r"<(?=[!a-z])(?:(?P<comment>!--)|(?P<data>!\[cdata\[)"
    rf"|(?P<element>{_SHOWING}|{_MENTIONING})\b[^<>\n]{{0,80}}+>"
    r"|[a-z][\w-]{0,40}+[ \t][^<>\n\"'=]{0,80}+=[ ]?(?P<attribute>[\"'])(?=\n))"
    r"|<(?P<angles><<)(?=\n)"
    rf"|\[(?=[a-w \t\n])(?:(?P<bracketed>{_OTHERS})(?:[ =][^\[\]\n]{{0,80}}+)?+\]"
    r"|(?<!\S\[)(?P<square>)[ \t]{0,8}+(?=\n)(?!\n\s{0,8}[\[{\"']))"
    r"|\((?=[ \t\n])(?<!\S\()(?P<round>)[ \t]{0,8}+(?=\n)"
    r"|\"(?P<double_marks>\"\")|'(?P<single_marks>'')|'(?<!\S')(?P<twice>')(?=\n)"
    r"|\\begin\{(?P<environment>verbatim|lstlisting|quote|quotation)\}"
    r"|\$(?<!\S\$)(?P<formula>\$)(?=\n)"
    r"|`(?=[`\n])(?<![`\w]`)(?:(?P<double>`)(?!`)|(?<!\S`)(?P<single>)(?=\n))"
)
_BEGUN: Final = tuple(
    re.compile(rf"{word}(?<=[-=*#][-=*# ]{word})[ ][^\n]{{0,24}}\b(?:{_OTHERS})\b")
    for word in ("begin", "start")
)
_ENDED: Final = re.compile(r"[-=*#]{2}[ ]?end\b|\Z")
_CLOSERS: Final[dict[str, tuple[str, ...]]] = {
    "comment": ("-->",),
    "data": (r"\]\]>",),
    "element": ("</{}",),
    "bracketed": (r"\[/{}", r"\[end\b"),
    "attribute": ("{}>", "{}/>"),
    "double_marks": ('"""',),
    "single_marks": ("'''",),
    "angles": (r"\n[ \t]*+>>>",),
    "twice": (r"\n[ \t]*+''(?!')",),
    "environment": (r"\\end\{{{}",),
    "formula": (r"\n[ \t]*+\$\$",),
    "double": ("``", "''"),
    "single": (r"\n[ \t]*+`",),
    "round": (r"\n[ \t]*+\)",),
    "square": (r"\n[ \t]*+\]",),
}
"""What ends each of them, as patterns; `{}` is what it began with."""
_TO_THE_END: Final = frozenset({"comment", "data", "attribute", "environment"})
_ALONE: Final = frozenset({"element", "bracketed", "double_marks", "single_marks"})
_SHOWN: Final = frozenset(_SHOWING.split("|"))


def marked_passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where markup shows something that goes over lines.

    What nothing closes goes to the end where it begins with a comment, an attribute, an element
    that begins its line, or a mark that is alone on its line; other marks without a partner open
    nothing. After `_MAX_MARKS` marks all the rest is shown.
    """
    if "\n" not in text:
        return
    small = lowered(text)
    ahead: dict[str, int] = {}
    at = 0
    for _ in range(_MAX_MARKS):
        opening = _OPENING.search(small, at)
        if opening is None:
            return
        at = opening.end()
        kind = opening.lastgroup or ""
        ends = [_find(small, end.format(opening[kind]), at, ahead) for end in _CLOSERS[kind]]
        end = min((end for end in ends if end >= 0), default=-1)
        if end < 0 and _goes_on(opening):
            end = len(text)
        if end > small.find("\n", at) >= 0:
            yield opening.start(), end
        at = max(at, end)
    yield at, len(text)


def ruled_passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where a page goes that begins with such words as `=== BEGIN PAGE ===`."""
    small = lowered(text)
    for begun in _BEGUN:
        at = 0
        for opening in islice(begun.finditer(small), _MAX_MARKS):
            if opening.start() >= at and (ended := _ENDED.search(small, opening.end())):
                at = ended.end()
                yield opening.start(), at


def _goes_on(opening: re.Match[str]) -> bool:
    """Tell whether what begins here ends with the text where nothing closes it."""
    if opening.lastgroup in _TO_THE_END:
        return True
    text = opening.string
    if text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip():
        return False
    if opening["element"] in _SHOWN:
        return True
    line_end = text.find("\n", opening.end())
    return opening.lastgroup in _ALONE and not text[opening.end() : line_end].strip()


def _find(text: str, closer: str, at: int, ahead: dict[str, int]) -> int:
    """Return where a closer follows, or -1; what was seen ahead is not looked for again."""
    if closer not in ahead or 0 <= ahead[closer] < at:
        found = re.compile(closer).search(text, at)
        ahead[closer] = found.start() if found else -1
    return ahead[closer]
