"""A model's own turn: the labels and tags in it that are live, in order.

Live is what stands outside thoughts, quotations and blocks, up to the first observation that the
model made up, or a line of somebody else. What stands in a fence is kept, for a call may. A passage
is quoted where its beginning *and* its end stand around it: an apostrophe or a mark that nothing
closes quotes nothing. Only a fence, and a tag on a line of its own, need no end.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Final

from chart_binder.react.parsing.advice import DialectRules
from chart_binder.react.parsing.answers import introduces
from chart_binder.react.parsing.labels import (
    Directive,
    find_labels,
    find_tags,
    is_talked_about,
    kind_of,
)
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    read_strictly,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import Span, is_used

INVENTED: Final = "invented observation discarded"
ASKING: Final = re.compile(
    r"Final Answer ?[:：]|Action ?[:：]|<(?:tool_call|response|final_answer|answer)\b"
)
"""What begins a step in the form of any dialect."""
_MAX_REPAIRED: Final = 16
_MAX_NEARBY: Final = 400
_THOUGHT_ENDS: Final = re.compile(r"</thoughts?>", re.IGNORECASE)
_FENCE_WORDS: Final = re.compile(r"[\s>*+•\d.)-]{0,40}+(?:`{3,80}+|~{3,80}+)[ ]?(\w{3,24})")
_ROLE: Final = re.compile(r"[*_#\s]*(?:user|human|system)\b", re.IGNORECASE)


@dataclass(slots=True)
class Turn:
    """A turn: its directives, and what of its text is shown or thought.

    `ended_by` is the kind of the label or tag that ends it at `end`, `quoted` the places of
    observations in quotations. `refused` holds what there is of what counts for nothing: `fenced`,
    `thought`, `no tool` and other keys of advice.
    """

    text: str
    rules: DialectRules
    is_inner: bool = False
    said: str = ""
    directives: list[Directive] = field(default_factory=list)
    fences: list[Span] = field(default_factory=list)
    blocks: list[Span] = field(default_factory=list)
    shown: list[Span] = field(default_factory=list)
    thoughts: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended_by: str = ""
    end: int = 0
    quoted: list[int] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)


def find_turn(text: str, rules: DialectRules, *, is_inner: bool = False) -> Turn:
    """Return the turn in what a model says aloud; `is_inner` for one in the tag of an answer."""
    turn = Turn(text, rules, is_inner, end=len(text))
    tags = find_tags(text)
    turn.thoughts = _thoughts_in(text, tags)
    turn.said = blanked(text, turn.thoughts)
    turn.fences = find_fences(turn.said)
    found = sorted([*find_labels(turn.said), *tags], key=lambda each: each.start)
    own = [each for each in found if not is_within(turn.thoughts, each.start)]
    bodies = list(_bodies(text, own, turn.fences))
    said = blanked(turn.said, bodies)
    last = found[-1].start + 1 if found else 0
    turn.blocks = find_blocks(said)
    turn.shown = merged([*find_quotations(said, last), *turn.blocks])
    for each in found:
        if is_within(bodies, each.start):
            continue
        if _ends_turn(turn, each):
            turn.end, turn.ended_by = each.start, each.kind
            break
        if _is_live(turn, each):
            turn.directives.append(each)
    output = next(
        (start for start, _ in turn.fences[:_MAX_REPAIRED] if _is_output(text, start)), None
    )
    if output is not None and output < turn.end:
        turn.end, turn.ended_by = output, "observation"
        turn.directives = [each for each in turn.directives if each.start < output]
    if turn.ended_by == "observation":
        turn.notes.append(INVENTED)
    return turn


def blanked(text: str, spans: Sequence[Span]) -> str:
    """Return a text with blanks in place of some spans of it, which are in order."""
    kept: list[str] = []
    at = 0
    for start, end in spans:
        kept += [text[at:start], "\n" * (end > start), " " * (end - start - 1)]
        at = end
    return "".join([*kept, text[at:]])


def object_end(text: str, start: int, *, repairs: bool = True) -> int:
    """Return the end of the JSON object that follows a label, where nothing is live; or `start`."""
    at = skip_space(text, start)
    if text.startswith("```", at):
        at = text.find("{", at, at + 20) if "{" in text[at : at + 20] else at
    if not text.startswith("{", at):
        return start
    try:
        found = scan(text, at, closed=True) if repairs else read_strictly(text, at)
    except LenientJSONError:
        return start
    return found.end if found else start


def _bodies(text: str, found: Sequence[Directive], fences: list[Span]) -> Iterator[Span]:
    """Yield the objects under labels, and what stands in the tags of calls and answers."""
    end = count = 0
    for each in found:
        if each.start < end:
            continue
        if each.is_tag and each.kind in ("call", "answer") and not is_talked_about(text, each):
            start, end = each.start + 1, each.after
        elif each.kind in ("answer", "input") and not is_within(fences, each.start):
            start, count = each.value, count + 1
            end = object_end(text, start, repairs=count < _MAX_REPAIRED)
        elif each.kind in ("answer", "input", "action"):
            start, end = each.value, object_end(text, each.value, repairs=False)
        else:
            continue
        if end > start:
            yield start, end


def _ends_turn(turn: Turn, found: Directive) -> bool:
    """Tell whether a label or tag is not of the model's own turn any more."""
    if is_within(turn.thoughts, found.start):
        return found.is_tag and found.kind == "observation"
    if found.kind not in ("observation", "speaker", "pause"):
        return False
    if found.is_tag and is_talked_about(turn.text, found):
        return False
    if _is_shown(turn, found):
        turn.quoted += [found.start] * (found.kind == "observation")
        return False
    is_fenced = is_within(turn.fences, found.start)
    if found.kind == "speaker" and not found.is_tag and not turn.directives:
        is_asked_by_itself = _ROLE.match(turn.text, found.start) is None
        return not is_asked_by_itself and not is_fenced
    if found.kind == "observation" and is_fenced:
        turn.refused.add("observation in a fence")
    return found.kind == "pause" or not is_fenced


def _is_live(turn: Turn, found: Directive) -> bool:
    """Tell whether a label or tag counts, and note why it does not."""
    if found.is_tag and found.kind == "thought" and found.closed:
        if ASKING.search(turn.text, found.value, found.end):
            turn.refused.add("thought")
        return False
    if is_within(turn.thoughts, found.start):
        return found.kind == "thought"
    if found.is_tag and is_talked_about(turn.text, found):
        turn.refused.add("inline")
        return False
    if _is_shown(turn, found):
        turn.refused.add("fenced")
        return False
    return found.kind != "speaker" or is_within(turn.fences, found.start)


def _is_shown(turn: Turn, found: Directive) -> bool:
    line_start = turn.text.rfind("\n", 0, found.start) + 1
    is_block_quote = turn.text[line_start : line_start + 80].lstrip()[:1] == ">"
    return is_block_quote or is_within(turn.shown, found.start, inside=1)


def _is_output(text: str, fence: int) -> bool:
    """Tell whether a fence says in its first line that it holds a tool's output."""
    words = _FENCE_WORDS.match(text, fence)
    name = words[1].casefold() if words else ""
    return name in ("output", "outputs", "result", "results") or kind_of(name) == "observation"


def _thoughts_in(text: str, tags: list[Directive]) -> list[Span]:
    """Return the thoughts in tags; all before a closing tag that nothing opens is one."""
    spans: list[Span] = []
    for tag in tags:
        if tag.kind == "thought" and tag.closed and (not spans or tag.start >= spans[-1][1]):
            spans.append((tag.start, tag.after))
    used = (end for end in _THOUGHT_ENDS.finditer(text) if not spans and is_used(text, end))
    ends = [end.span() for end in islice(used, _MAX_REPAIRED)]
    if ends and not is_within(find_fences(text), ends[-1][0]):
        return [(0, ends[-1][1])]
    return spans


# What is shown rather than said.

_MAX_FENCES: Final = 1024
_MAX_MARKS: Final = 512
"""After so many marks everything counts as quoted."""
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
    r"^[ \t]{0,8}(?:(?P<rule>(?P<sign>[^\w\s{}()\[\]<>`~|.,;\"'“”])(?>(?P=sign){0,80})|--8<--)"
    r"(?P<words>(?<=:::)\w{1,20}|(?<=[-=~+%]{2})[ \w?!]{1,40}+(?P=sign){2,80})?[ \t]*$"
    r"|\\(?P<tex>begin|end)\{|\{\{(?P<open>quote\|)|(?P<shut>\}\})[ \t]*$"
    r"|(?P<begin>BEGIN|END)[ ]\w{1,20}$)",
    re.MULTILINE,
)
_TAGS: Final = re.compile(
    r"<{1,2}+(?P<slash>/?)(?P<name>[A-Za-z?][\w?-]{0,39}+)(?P<rest>[^<>\n]{0,200}+)>"
    r"|\[(?P<slash2>/?)(?P<name2>[A-Za-z]\w{2,20}+)(?P<rest2>[^<>\n\[\]]{0,200}+)\](?![(:])"
)
_RULES: Final = ("-", "*", "=", "_")
"""Signs of the rules of Markdown, which divide a reply; they quote only what a line introduces."""
_SHOWING: Final = ("quote", "page", "code", "web")
_KNOWN_TAGS: Final = re.compile(
    r"(?:tool|function)_?calls?|invoke|tool_?use|function|call|action\w*"
    r"|(?:final_?)?(?:answer|response)|thoughts?|think(?:ing)?|reasoning|observations?|tool_\w+|br|hr|json|\d+|\w*input",
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
        elif not closes and (sign not in _RULES or edge["words"] or _is_led(text, edge.start())):
            opened.setdefault(key, edge.start())
    return merged([*spans, *_tag_blocks(text)])


def _is_led(text: str, rule: int) -> bool:
    """Tell whether the line above a rule introduces what stands below it."""
    above = text[max(0, rule - _MAX_NEARBY) : rule].rstrip().rpartition("\n")[2]
    return introduces(above)


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
