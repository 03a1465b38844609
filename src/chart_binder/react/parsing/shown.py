"""What of a turn is shown rather than said: fences, quotations, blocks, what a line introduces.

A passage is shown where its beginning *and* its end stand around it: an apostrophe or a mark that
nothing closes shows nothing. Only a fence, and a tag on a line of its own, need no end.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final

from chart_binder.react.parsing.lexer import Span

_MAX_FENCES: Final = 1024
_MAX_MARKS: Final = 512
"""After so many marks everything counts as quoted."""
_MAX_NEARBY: Final = 400
_CODE_INDENT: Final = 4
_FENCE: Final = re.compile(
    r"^(?P<before>[ \t]*(?:(?:[-*+•]|\d{1,3}[.)]|[>＞])[ \t]+)*)(?P<mark>`{3,}|~{3,})"
    r"(?P<words>[^`\n]*)$",
    re.MULTILINE,
)
# A mark that opens a quotation or a bracket; inches, apostrophes, and braces of objects do not.
_OPENER: Final = re.compile(
    r"(?=[\"'<~/$`“”„«»‹「『《〈〝〟＂❝‚‘（＇｢&{(\[【])(?:"
    r"\"\"\"|\'\'\'|<!--|<<<|/\*|~~|\$\$|(?<!`)``(?!`)|(?<=\w )```(?!\w*\n)|\'\'"
    r"|[“”„«‹「『《〈〝〟＂❝‚‘（＇｢]|(?<!\w)(?:\"|»(?=\w)|'(?=[\w\n]))|(?<![`\w])`(?!`)|&quot;"
    r"|\{(?=\n)|(?<!\w)[(\[【](?![^()\[\]【】\n]{0,400}+[)\]】]))"
)
_CLOSERS: Final = {
    **dict(zip("«»【{‹「『《〈❝‚（｢", "»«】}›」』》〉❞‘）｣", strict=True)),
    "(": r"\)",
    "[": r"\]",
    "“": '[”"]',
    "„": '[“”"]',
    "〝": "[〞〟]",
    "‘": r"’(?!\w)",
    '"': '["”](?!\\w)',
    "'": r"(?<=[\w.!?}\n])'(?!\w)",
    "``": "``|''",
    "<!--": "-->",
    "<<<": ">>>",
    "/*": r"\*/",
}
"""What closes a mark that does not close itself."""
_CLOSING: Final = {mark: re.compile(closer) for mark, closer in _CLOSERS.items()}
# A line that only rules off, a tag or a word in brackets on a line of its own.
_EDGE: Final = re.compile(
    r"^[ \t]{0,8}(?:(?P<rule>(?P<sign>[^\w\s{}()\[\]<>`~|.,;\"'“”])(?P=sign){0,80}+|--8<--)"
    r"(?P<words>(?<=:::)\w{1,20}|(?<=[-=~+%]{2})[ \w?!]{1,40}+(?P=sign){2,80})?[ \t]*$"
    r"|\\(?P<tex>begin|end)\{|\{\{(?P<open>quote\|)|(?P<shut>\}\})[ \t]*$"
    r"|(?P<begin>BEGIN|END)[ ]\w{1,20}$)",
    re.MULTILINE,
)
_TAGS: Final = re.compile(
    r"<{1,2}+(?P<slash>/?)(?P<name>[A-Za-z?][\w?-]{0,39}+)(?P<rest>[^<>\n]{0,200}+)>"
    r"|\[(?P<slash2>/?)(?P<name2>[A-Za-z]\w{2,20}+)(?P<rest2>[^<>\n\[\]]{0,200}+)\](?![(:])"
)
_SHOWING: Final = ("quote", "page", "code", "web")
_KNOWN_TAGS: Final = re.compile(
    r"(?:tool|function)_?calls?|invoke|tool_?use|function|call|action\w*"
    r"|(?:final_?)?(?:answer|response)|thoughts?|think(?:ing)?|reasoning|observations?|tool_\w+|br|hr|json|\d+|\w*input",
    re.IGNORECASE,
)
# The model's own announcement of its answer, which may end in a colon.
_OWN: Final = re.compile(
    r"\bmy (?:final |own )?(?:answer|decision|conclusion|choice|verdict)\b|\bfinal answer\b"
    r"|\bI(?:['’]ll| will| can)(?: now)?\b(?! not| never)"
    r"|\blet me (?:answer|decide|conclude|finali[sz]e)"
    r"|\A\W*(?:thoughts?\W+)?(?:based on|given|considering)\b"
    r"|\A\W*(?:so|therefore|thus|hence|done|ok(?:ay)?|sure|yes|now|finally)?\W*\Z"
    r"|\A\W*(?:final )?(?:action|action input|thoughts?|thinking|reasoning|answer|response|result"
    r"|decision|conclusion|output|json|analysis|summary|step \d+)\W*\Z",
    re.IGNORECASE,
)
_UNFINISHED: Final = re.compile(
    r"\b(?:says?|said|saying|writes?|wrote|reads?|states?|stated|wants?|wanted|tells?|told|asks?"
    r"|asked|claims?|claimed|that|returns?|returned|shows?|showed|contains?|lists?|prints?"
    r"|displays?|suggests?|instructs?)[\s\"'“(]*\Z|[(\[{「“‘«]\s*\Z",
    re.IGNORECASE,
)


def find_fences(text: str) -> list[Span]:
    """Return what stands inside code fences, each from its opening line to its closing one.

    A fence that is never closed goes on to the end.
    """
    spans: list[Span] = []
    opened: list[re.Match[str]] = []
    if "```" not in text and "~~~" not in text:
        return spans
    for mark in islice(_FENCE.finditer(text), _MAX_FENCES):
        has_words = bool(mark["words"].strip())
        outer = opened[-1]["mark"] if opened else ""
        if not opened or (has_words and mark["mark"][0] == outer[0]):
            opened.append(mark)  # in a fence, one with words opens another
        elif mark["mark"].startswith(outer) and not has_words and not mark["before"].strip():
            begin = opened.pop()
            if not opened:
                spans.append((begin.start(), mark.end()))
    if opened:
        spans.append((opened[0].start(), len(text)))
    return spans


def find_quotations(text: str, last: int) -> list[Span]:
    """Return the quotations and brackets that begin before `last` and are closed.

    Each goes from its mark to the one that closes it. `text` has blanks for objects.
    """
    spans: list[Span] = []
    endless: set[str] = set()
    at = seen = 0
    while mark := _OPENER.search(text, at, last):
        seen += 1
        if seen > _MAX_MARKS:
            return [*spans, (mark.start(), len(text))]
        at = mark.end()
        if mark[0] in endless:
            continue
        closer = _CLOSING.get(mark[0]) or re.compile(re.escape(mark[0]))
        if found := closer.search(text, at):
            spans.append((mark.start(), found.end()))
            at = found.end()
        else:
            endless.add(mark[0])
    return spans


def find_blocks(text: str) -> list[Span]:
    """Return what stands between two rules, in a tag that announces nothing, and the like."""
    spans: list[Span] = []
    opened: dict[str, int] = {}
    for edge in islice(_EDGE.finditer(text), _MAX_MARKS):
        sign = edge["sign"] or ("-" if edge["rule"] else "")
        key = sign or ("tex" if edge["tex"] else "begin" if edge["begin"] else "{{")
        closes = edge["shut"] or "end" in (edge["tex"], (edge["begin"] or "").lower())
        if key in opened and (sign or closes):
            spans.append((opened.pop(key), edge.end()))
        elif not closes:
            opened.setdefault(key, edge.start())
    return merged([*spans, *_tag_blocks(text)])


def _tag_blocks(text: str) -> list[Span]:
    """Return what stands in tags that announce nothing; one alone on its line needs no end."""
    spans: list[Span] = []
    opened: dict[str, tuple[int, bool]] = {}
    for tag in islice(_TAGS.finditer(text), _MAX_MARKS):
        name = (tag["name"] or tag["name2"]).casefold()
        if (tag["name"] and _KNOWN_TAGS.fullmatch(name)) or (tag["rest"] or "").endswith("/"):
            continue
        if tag["slash"] or tag["slash2"]:
            if name in opened:
                spans.append((opened.pop(name)[0], tag.end()))
        elif name not in opened:
            start = text.rfind("\n", 0, tag.start()) + 1
            line = text[start : text.find("\n", tag.end()) % (len(text) + 1)]
            is_alone = line.strip() == tag[0] and (bool(tag["name"]) or name in _SHOWING)
            opened[name] = (tag.start(), is_alone)
    return spans + [(start, len(text)) for start, is_alone in opened.values() if is_alone]


def is_within(spans: Sequence[Span], at: int, *, inside: int = 0) -> bool:
    """Tell whether a place is in one of some spans, or at least so far inside it.

    The spans are in order, and none overlaps another.
    """
    place = bisect_right(spans, at - inside, key=itemgetter(0))
    return place > 0 and at < spans[place - 1][1]


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def is_introduced(text: str, at: int) -> bool:
    """Tell whether the line above an answer at a place introduces it as somebody else's.

    It does where it ends with a colon or within a clause, unless it announces the model's own
    answer. A line that begins with signs or deep in belongs to what stands above all that do.
    """
    start = text.rfind("\n", 0, at) + 1
    lead = re.match(r"\W*", text[start : at + 80].partition("\n")[0])[0]  # type: ignore[index]
    lines = text[max(0, start - 4 * _MAX_NEARBY) : start].split("\n")
    if lead.strip() or len(lead.expandtabs()) >= _CODE_INDENT:
        sign = lead[:_CODE_INDENT].rstrip("<*") or " "
        above = [line for line in lines if line.strip() and not line.startswith(sign)]
        lines = above or lines
    line = next((line for line in reversed(lines) if re.search(r"\w", line)), "")
    amid = text[start:at]
    return introduces(amid if re.search(r"\w", amid) else line)


def introduces(line: str) -> bool:
    """Tell whether a line introduces somebody else's words."""
    line = re.sub(r"<[^<>]{0,80}>", "", line[-_MAX_NEARBY:]).strip(" \t*_`~")
    sentence = re.split(r"[.!?](?=\s)|[。！？]", line)[-1]
    is_led = sentence.endswith((":", "：")) or _UNFINISHED.search(sentence) is not None
    return is_led and not _OWN.search(sentence)
