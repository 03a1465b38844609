"""Where in a reply a model speaks for itself: outside fences, quotations, JSON strings."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int]

MAX_MARKS: Final = 128
"""How many fences, marks or tags of one sort are looked at; what follows them is quoted."""
_MAX_QUOTATIONS: Final = 512
_MAX_STRINGS: Final = 2048
_NEAR: Final = 96
"""How far from the beginning of its line a word may stand that is looked for."""

# A run of fence marks is looked at once, from its first mark on.
_FENCE: Final = re.compile(r"(?:```(?<!````)`*+[^`\n]*+|~~~(?<!~~~~)~*+[^\n]*+)$", re.MULTILINE)
_OPENER: Final = re.compile(r"\s*+(?:`{3,}+|~{3,}+)(?:[ \t]*+\w{0,12}+(?=[ \t]*+[\n{\[]))?+\s*+")
_LANGUAGE: Final = re.compile(r"[A-Za-z][\w+-]{0,11}")
_BULLET: Final = re.compile(r"(?:[-*+•]|\d{1,3}[.)])")
_OPENS_LINE: Final = re.compile(r"(?:<[^\n]*>|[^\w\n]*(?:\w+[ _-]?){1,4}[*_`\]】]*[:：][*_`]*)?")
_STRING: Final = re.compile(
    # A JSON string on one line, told from prose by what stands around its marks.
    r"[\n{\[,:(=：，][^\S\n]{0,8}+(?P<inside>"
    r"\"(?:[^\"\\]++|\\.|\"(?!{after}))*+(?P<closed>\")?+"
    r"|'(?:[^'\\]++|\\.|'(?!{after}))*+(?P<closed_single>')?+)".replace(
        "{after}", r"[^\S\n]{0,7}+(?:[}\],:)：，>]|\Z)"
    )
)
# A quotation on one line, else a mark that has no partner there. Nothing is looked at twice, and
# each way to begin is a character to search for.
_QUOTATION: Final = re.compile(
    r"\"(?:(?<=\d\")|[^\"\n]*+\"|)"  # a mark for inches opens nothing
    r"|'(?!(?<=\w')\w)(?:(?<!\w')(?:[^'\n]|(?<=\w)'(?=\w))*+'(?!\w)|)"
    r"|“(?:[^“”\n]*+”|)|„(?:[^„“\n]*+“|)|«(?:[^«»\n]*+»|)|»(?:[^«»\n]*+«|)|‹(?:[^‹›\n]*+›|)"
    r"|›(?:[^‹›\n]*+‹|)|「(?:[^「」\n]*+」|)|『(?:[^『』\n]*+』|)|”|」|』"
)
_ENDS_LINE: Final = re.compile(r"[.,;:]?[ \t]{0,4}(?:\n|\Z)")
_CLOSES: Final = {
    '"': '"',
    "'": "'",
    "“": "”",
    "„": "“",
    "«": "»",
    "»": "«",
    "‹": "›",
    "›": "‹",
    "「": "」",
    "『": "』",
}
# What markup shows goes over lines: an opening, with a pattern for what closes it.
_QUOTING: Final = (
    "blockquote|pre|quote|quotation|page|webpage|document|details|tools|xmp|textarea|untrusted"
)
_MENTIONING: Final = "code|q|cite|samp|excerpt|snippet|article|html|body|content|source|example"
_PAGE: Final = "quote|code|page|snippet|document|content|article|website|webpage|text"
_MARKUP: Final[dict[str, tuple[str, str, str]]] = {
    "comment": ("<", "!--", "-->"),
    "data": ("<", r"!\[cdata\[", r"\]\]>"),
    "quoting": ("<", rf"(?P<tag>{_QUOTING})\b[^<>\n]{{0,80}}+>", "</{tag}"),
    "mentioning": ("<", rf"(?P<word>{_MENTIONING})\b[^<>\n]{{0,80}}+>", "</{word}"),
    "attribute": (
        "<",
        r"[a-z][\w-]{0,40}+ [^<>\n\"'=]{0,80}+= ?(?P<mark>[\"'])(?=\n)",
        "{mark}/?>",
    ),
    "bracketed": (
        r"\[",
        rf"(?P<name>{_PAGE})(?:[ =][^\[\]\n]{{0,80}}+)?+\]",
        r"\[(?:/{name}|end\b)",
    ),
    "environment": (r"\\", r"begin\{(?P<kind>verbatim|lstlisting|quot\w+)\}", r"\\end\{{{kind}"),
    "double_marks": ('"', '""', '"""'),
    "single_marks": ("'", "''", "'''"),
    "typed": ("`", r"(?<![`\w]`)`(?=[^`\s])", "''"),
    "alone": (  # a mark alone on its line
        r"\n",
        r"[ \t]{0,8}+(?P<alone><<<|\$\$|''|``|`|\[|\()[ \t]{0,8}+(?=\n)(?!\n\s{0,8}[\[{\"'])",
        r"\n[ \t]*+{partner}(?![`'])",
    ),
    "ruled": (
        r"\n",
        rf"[-=*#]{{2,40}}+ ?(?:begin|start) [^\n]{{0,24}}\b(?:{_PAGE})\b",
        r"[-=*#]{{2}}[ ]?end\b",
    ),
}
"""What begins each of them: a character to search for, then a pattern; a pattern for its end."""
_PARTNER: Final = {"<<<": ">>>", "$$": r"\$\$", "[": r"\]", "(": r"\)"}
_TO_THE_END: Final = ("comment", "data", "quoting", "attribute", "environment", "ruled")
"""Markup that quotes up to the end of the text where nothing closes it."""
_OPENING: Final = re.compile(
    "|".join(
        rf"{sign}(?=[!a-z \t<$'`\"\[(=*#-])(?:"
        + "|".join(f"(?P<is_{name}>{row[1]})" for name, row in _MARKUP.items() if row[0] == sign)
        + ")"
        for sign in dict.fromkeys(row[0] for row in _MARKUP.values())
    )
)

# Characters that show nothing, letters that look like others: Greek, Cyrillic, wide, of formulas.
_UNSEEN: Final = (
    "\x00-\x08\x0b-\x1a\x1c-\x1f\x7f\u00ad\u0300-\u036f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_ESCAPES: Final = re.compile(r"(?:\x1b(?:\[[0-9;]{0,16}[A-Za-z])?+)++")
_HIDING: Final = re.compile(f"[{_UNSEEN}]++")
_DISGUISED: Final = re.compile(
    f"[\x1b{_UNSEEN}\u02d0\u0370-\u04ff\u24b6-\u24e9\uff1c\uff1e\uff21-\uff5a]"
)
# Letters beyond the first 65,536 make a class slow to search for.
_TAGS_BEYOND: Final = re.compile("[\U000e0000-\U000e0fff]++")
_BEYOND: Final = re.compile("[\U0001d400-\U0001d7ff\U000e0000-\U000e0fff]")
_LIKENESS: Final[dict[str, str]] = {
    chr(code): unicodedata.normalize("NFKC", chr(code))
    for codes in (range(0x24B6, 0x24EA), range(0xFF1C, 0xFF5B), range(0x1D400, 0x1D800))
    for code in codes
} | dict(zip("оОеЕаАсСѕЅіІνορвВнНтТː", "oOeEaAcCsSiIvopbBhHtT:", strict=True))
_MAX_REPLACED: Final = 64


class Regions:
    """The fences and quotations of a text, looked for when they are first asked about."""

    def __init__(self, text: str) -> None:
        self._text = text

    def hides(self, at: int) -> bool:
        """Tell whether a place stands in a closed fence or in a quotation over lines."""
        return span_around(self.closed, at) is not None or self.quotes(at)

    def quotes(self, at: int) -> bool:
        """Tell whether a place stands in a quotation over lines."""
        return span_around(self._quotations, at) is not None

    def is_open(self, at: int) -> bool:
        """Tell whether a place stands in a fence that nothing closes."""
        return at >= self.opened

    @cached_property
    def fences(self) -> list[tuple[int, int | None]]:
        """The fences in order, without their marks; the last may have no end."""
        return find_fences(self._text)

    @cached_property
    def closed(self) -> list[Span]:
        """The fences that are closed."""
        return [(start, end) for start, end in self.fences if end is not None]

    @cached_property
    def opened(self) -> int:
        """Where the fence begins that nothing closes, or a place after the end."""
        return next((at for at, end in self.fences if end is None), len(self._text) + 1)

    @cached_property
    def _quotations(self) -> list[Span]:
        merged: list[Span] = []
        for start, end in sorted([*_quotations(self._text), *_markup(self._text)]):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged


def span_around(spans: Sequence[Span], at: int) -> Span | None:
    """Return that of the spans, which are in order, that a place is inside of."""
    place = bisect_left(spans, (at + 1,)) - 1
    return spans[place] if place >= 0 and at < spans[place][1] else None


def find_fences(text: str) -> list[tuple[int, int | None]]:
    """Return the fences of a text in order, without their marks; the last may have no end.

    A fence may open after a bullet, a label or a tag on the same line, and close before a closing
    tag. One inside another, with a language, after a bullet or further in, is a part of it if both
    are closed. After more than `MAX_MARKS` of their lines the rest of the text counts as fenced.
    """
    if "```" not in text and "~~~" not in text:
        return []
    runs = list(islice(_FENCE.finditer(text), MAX_MARKS + 1))
    found, is_nested = _pair_fences(runs[:MAX_MARKS], text, nested=True)
    if is_nested and found[-1][1] is None:
        found, _ = _pair_fences(runs[:MAX_MARKS], text, nested=False)
    if len(runs) > MAX_MARKS and not (found and found[-1][1] is None):
        found.append((runs[-1].end(), None))
    return found


def _pair_fences(
    runs: Sequence[re.Match[str]], text: str, *, nested: bool
) -> tuple[list[tuple[int, int | None]], bool]:
    """Return the fences, and whether one may have been inside another."""
    found: list[tuple[int, int | None]] = []
    opened, marks, indent = -1, "", 0
    inside, is_nested = 0, False
    for run in runs:
        words = run.group().lstrip(run.group()[0])
        before = text[text.rfind("\n", 0, run.start()) + 1 : run.start()]
        if opened < 0:
            bare = _BULLET.sub("", before.strip(), count=1) if len(before) < _NEAR else before
            if not bare.strip() or _OPENS_LINE.fullmatch(before[:_NEAR].strip()):
                opened, indent = run.end(), len(before)
                marks = run.group()[: len(run.group()) - len(words)]
        elif not run.group().startswith(marks):
            continue
        elif nested and _opens_inside(before, words.strip(), indent, begun=inside > 0):
            inside, is_nested = inside + 1, True
        elif not words.strip() or words.strip().startswith("</"):
            if not inside:
                found.append((opened, run.start()))
                opened = -1
            inside = max(0, inside - 1)
    return ([*found, (opened, None)] if opened >= 0 else found), is_nested


def _opens_inside(before: str, words: str, indent: int, *, begun: bool) -> bool:
    lead = before.strip(" \t>")
    if lead:
        return _BULLET.fullmatch(lead) is not None
    if words:
        return _LANGUAGE.fullmatch(words) is not None
    return not begun and len(before) > indent


def skip_fence_opener(text: str, start: int) -> int:
    """Return the place after the opening of a fence with its language, if one opens here."""
    opener = _OPENER.match(text, start)
    return opener.end() if opener else start


def without_outer_fence(text: str) -> str | None:
    """Return a reply without the fence that it stands in as a whole, closed or not."""
    text = text.strip()
    found = find_fences(text) if text.startswith(("```", "~~~")) else []
    if not found or (found[0][1] is not None and text[found[0][1] :].strip("`~ \n")):
        return None
    start, end = found[0]
    return text[start:] if end is None else text[start : text.rfind("\n") + 1]


def outside_strings(found: Iterable[re.Match[str]], text: str) -> Iterator[re.Match[str]]:
    """Yield those matches, in order, that stand neither in a JSON string nor in back-quotes.

    Those after the first `_MAX_QUOTATIONS`, or behind `_MAX_STRINGS` strings, are not looked at.
    """
    line_end = -1
    span, strings = (0, 0), iter(list[Span]())
    budget = iter(range(_MAX_STRINGS))
    for count, match in enumerate(found):
        at = match.start()
        if count >= _MAX_QUOTATIONS:
            yield match
            continue
        if at > line_end:
            line_start, line_end = text.rfind("\n", 0, at) + 1, end_of_line(text, at)
            span, strings = (0, 0), _strings(text, line_start, line_end, budget)
        while span[1] <= at and (following := next(strings, None)):
            span = following
        in_back_quotes = text[match.end() : match.end() + 1] == "`" == text[at - 1 : at]
        if not span[0] < at < span[1] and not in_back_quotes:
            yield match


def _strings(text: str, start: int, end: int, budget: Iterator[int]) -> Iterator[Span]:
    """Yield where the JSON strings of one line begin or end."""
    for string, _ in zip(_STRING.finditer(f"\n{text[start:end]}"), budget, strict=False):
        if not (string["closed"] or string["closed_single"]):
            return
        # the line break that was put before the line moves every place by one
        yield start + string.start("inside") - 1, start + string.end() - 2


def _quotations(text: str) -> Iterator[Span]:
    """Yield from where to where whole lines stand in quotation marks.

    A mark without a partner on its line opens a quotation, which such a mark on a later line
    closes. After `_MAX_QUOTATIONS` marks all the rest is quoted.
    """
    opened, closer = -1, ""
    for count, found in enumerate(_QUOTATION.finditer(text)):
        if count == _MAX_QUOTATIONS:
            yield found.start(), len(text)
            return
        mark, at = found.group(), found.start()
        if len(mark) > 1 or (mark == '"' and text[at - 1 : at].isdigit() and at):
            continue
        if mark == closer and (mark not in "\"'" or _may_close(text, at)):
            if opened <= at:
                yield opened, end_of_line(text, at)
            closer = ""
        elif (not closer or closer in "\"'") and mark in _CLOSES and _may_open(text, at):
            opened, closer = end_of_line(text, at) + 1, _CLOSES[mark]


def _may_open(text: str, at: int) -> bool:
    before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if text[at] not in "\"'":
        return True
    is_set_off = not before or before.isspace() or before in "([{:=,"
    return is_set_off and (not after.isspace() or after == "\n")


def _may_close(text: str, at: int) -> bool:
    """Tell a straight mark that ends a line or a sentence from one that begins a word."""
    after = text[at + 1 : at + 2]
    if text[at] == "'":
        return bool(_ENDS_LINE.match(text, at + 1))
    return not _may_open(text, at) or not after or after.isspace() or after in "}],:).;!?"


def _markup(text: str) -> Iterator[Span]:
    """Yield from where to where markup shows something that goes over lines."""
    if "\n" not in text:
        return
    small = f"\n{lowered(text)}"  # so that every place is one further on
    ahead: dict[str, int] = {}
    at = 0
    for _ in range(MAX_MARKS):
        opening = _OPENING.search(small, at)
        if opening is None:
            return
        at = opening.end()
        kind = next(name for name in _MARKUP if opening[f"is_{name}"] is not None)
        groups = opening.groupdict("")
        partner = _PARTNER.get(groups["alone"], groups["alone"])
        closer = _MARKUP[kind][2].format(**groups, partner=partner)
        end = _find(small, closer, at, ahead)
        if end < 0 and _is_to_the_end(opening, kind):
            end = len(small)
        if end > small.find("\n", at) >= 0:
            yield max(0, opening.start() - 1), end - 1
        at = max(at, end)
    yield at - 1, len(text)


def _is_to_the_end(opening: re.Match[str], kind: str) -> bool:
    text = opening.string
    before = text[text.rfind("\n", max(0, opening.start() - _NEAR), opening.start()) + 1 :]
    begins = not before[: max(0, opening.start() - len(text) + len(before))].strip()
    if kind in _TO_THE_END:
        return begins or kind != "quoting"
    ends = not text[opening.end() : end_of_line(text, opening.end())].strip()
    return kind in ("mentioning", "bracketed", "double_marks", "single_marks") and begins and ends


def _find(text: str, closer: str, at: int, ahead: dict[str, int]) -> int:
    """Return where a closer follows, or -1; what was seen ahead is not looked for again."""
    if closer not in ahead or 0 <= ahead[closer] < at:
        found = re.compile(closer).search(text, at)
        ahead[closer] = found.start() if found else -1
    return ahead[closer]


def end_of_line(text: str, at: int, limit: int | None = None) -> int:
    """Return where the line ends that a place is on, at most `limit`."""
    limit = len(text) if limit is None else limit
    end = text.find("\n", at, limit)
    return limit if end < 0 else end


@lru_cache(4)
def lowered(text: str) -> str:
    """Return a text in small letters, with every place as it was."""
    return text.replace("İ", "I").lower()  # the one letter that would move places


def lines_with(words: Iterable[str], text: str, most: int) -> list[int]:
    """Return where those lines begin, in order, that hold a word near it; of one word `most`.

    Searching for words is much faster than a look at every line, of which there may be as many as
    letters.
    """
    found = (islice(_lines(word, text), most) for word in words if word in text)
    return sorted({start for starts in found for start in starts})


def _lines(word: str, text: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        start = text.rfind("\n", max(0, at - _NEAR), at) + 1
        if start or at <= _NEAR:
            yield start
        end = text.find("\n", at)
        at = text.find(word, end) if end >= 0 else -1


def undisguised(text: str) -> str:
    """Fold letters in disguise, drop what cannot be seen; every line stays a line."""
    beyond = not text.isascii() and _BEYOND.search(text)
    if not beyond and not _DISGUISED.search(text):
        return text
    seen = _HIDING.sub("", _ESCAPES.sub("", text) if "\x1b" in text else text)
    seen = _TAGS_BEYOND.sub("", seen) if beyond else seen
    if seen.isascii():
        return seen
    letters = set(seen) & _LIKENESS.keys()
    if len(letters) > _MAX_REPLACED:
        return seen.translate({ord(letter): _LIKENESS[letter] for letter in letters})
    for letter in letters:
        seen = seen.replace(letter, _LIKENESS[letter])
    return seen
