"""Finds the live labels, tags and bare calls of a model's turn, in order.

A directive is live if it stands outside thoughts, quotations and other enclosing marks, and before
the first invented observation or a line of another speaker; a call may stand in a fence. A mark
that is never closed encloses nothing, except a fence and a tag alone on its line.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Final, TypeAlias

from chart_binder.react.parsing.advice import DialectRules
from chart_binder.react.parsing.attribution import introduces_quotation
from chart_binder.react.parsing.labels import (
    WORDS,
    Directive,
    Kind,
    find_labels,
    find_tags,
    is_known_tag,
    is_mentioned,
    kind_of,
    label_at,
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
"""The beginning of a step in any dialect."""
_MAX_REPAIRED: Final = 16
_MAX_NEARBY: Final = 400
_MAX_MARKS: Final = 512
"""The largest number of marks; everything after it counts as quoted."""
_MAX_FENCES: Final = 1024
_MAX_BARE: Final = 16
_THOUGHT_ENDS: Final = re.compile(r"</thoughts?>", re.IGNORECASE)
_ROLE: Final = re.compile(r"[*_#\s]*(?:user|human|system)\b", re.IGNORECASE)
_INNER_TURN: Final = re.compile(
    r"\s*<(?:tool_call|function_call|invoke|function=|answer>|final_answer>|response>)"
)
_FENCE: Final = re.compile(
    r"^(?P<before>[ \t]*(?:(?:[-*+•]|\d{1,3}[.)]|[>＞])[ \t]+)*)(?P<mark>`{3,}|~{3,})"
    r"[ ]?(?P<words>[^`\n]*)$",
    re.MULTILINE,
)
_FENCE_CLOSES: Final = re.compile(r"\s{0,8}(?:`{3,}|~{3,})[ \t]*(?=\n|\Z)")
# A bare object, or a tool's name before brackets or an object, at the beginning of a line.
_BARE: Final = re.compile(
    r"^(?:(?:<\|\w{4,24}\|>|functools)?[ \t]*(?=\{|\[[ ]{0,4}\{)"
    r"|(?>(?:<\|\w{4,24}\|>)?)[ \t`]{0,4}+"
    r"(?>(?:[-*+•][ ]|\d{1,2}[.)][ ]|>>>[ ]|[Ss]tep \d: )?)\[?+[ ]?+"
    r"(?>(?:[a-z]\w{0,31}+ = |print\(|await |(?:Tool )?[Cc]all: ?|Tool: ?){0,2})"
    r"(?>(?:functions\.)?)(?P<mark>(?:\"(?=function_call|tool_call))?)(?P<name>[A-Za-z]\w{1,63}+)(?P=mark)(?>(?:\.call)?)"
    r"(?:(?P<call>(?=\((?:[\"'“{]|[A-Za-z]\w{0,63} ?=)))|[ ]?:?[ ]?\n?(?=\{)))",
    re.MULTILINE,
)
_PAIRS: Final[dict[str, list[str]]] = {opener: closers for opener, *closers in WORDS["pairs"]}
"""Marks that enclose words: each opening mark with its closing marks."""
_CLOSED_BY: Final = {
    closer: tuple(opener for opener, closers in _PAIRS.items() if closer in closers)
    for closer in sorted({closer for closers in _PAIRS.values() for closer in closers})
}
_MARK: Final = re.compile(
    r"(?=[\"'<>/*~$`“”„«»‹›「」『』《》〈〉〝〞〟＂❝❞‚‘’（）＇｢｣&{}()\[\]【】\\-])(?:"
    r"\"\"\"|\'\'\'?|<!--|-->|<<<|>>>|/\*|\*/|~~|\$\$|(?<!`)``(?!`)|&quot;|\\begin\{|\\end\{"
    r"|\{\{quote\||\}\}|\{(?=\n)|(?<!`)`(?!`)|\[(?!\s{0,8}\{)|[^\s<>/*~$`&\\{\[-])"
)
_WORDLIKE: Final = (*"\"'`’([【", "''")
"""Marks that do not open after a letter, and do not close before one."""
# A line that is a rule.
_RULE: Final = re.compile(
    r"^[ \t]{0,8}(?:(?P<sign>[^\w\s{}()\[\]<>`~|.,;\"'“”])(?>(?P=sign){0,80})|--8<--)"
    r"(?P<words>(?<=:::)\w{1,20}|(?<=[-=~+%]{2})[ \w?!]{1,40}+(?P=sign){2,80})?[ \t]*$"
    r"|^(?:BEGIN|END)[ ]\w{1,20}$",
    re.MULTILINE,
)
_MARKDOWN: Final = ("-", "*", "=", "_")
"""The signs of Markdown's rules, which quote only if the line above introduces a quotation."""
_TAG: Final = re.compile(
    r"<{1,2}+(?P<slash>/?)(?P<name>[A-Za-z?][\w?-]{0,39}+)(?P<rest>[^<>\n]{0,200}+)>"
    r"|\[(?P<slash2>/?)(?P<name2>[A-Za-z]\w{2,20}+)(?P<rest2>[^<>\n\[\]]{0,200}+)\](?![(:])"
)
_SHOWING: Final = ("quote", "page", "code", "web")
_PLAIN_TAG: Final = re.compile(r"br|hr|json|\d+|\w*input|action\w*|tool_\w+")
"""Tags that neither announce nor enclose anything."""


@dataclass(slots=True)
class ReplyTurn:
    """A turn: its live directives, and its thoughts.

    `text_without_thoughts` has blanks in place of thoughts. A label or tag of the kind `ended_by`
    ends the turn at `end`. `rejections` say why requests for a step do not count, mostly as keys of
    `ADVICE`. `inline` is the first tag of a step among words.
    """

    text: str
    rules: DialectRules
    end: int
    text_without_thoughts: str = ""
    directives: list[Directive] = field(default_factory=list)
    thoughts: list[Span] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ended_by: str = ""
    rejections: set[str] = field(default_factory=set)
    inline: str = ""


def find_turn(text: str, rules: DialectRules) -> ReplyTurn:
    """Return the turn in a text: its live directives, and where it ends."""
    turn = ReplyTurn(text, rules, len(text))
    tags = find_tags(text)
    turn.thoughts = _thoughts_in(text, tags)
    turn.text_without_thoughts = _blanked(text, turn.thoughts)
    is_asked = False
    for directive in _EnclosureScan(turn.text_without_thoughts).run(
        [*find_labels(turn.text_without_thoughts), *tags, *_find_bare(turn.text_without_thoughts)]
    ):
        if _ends_turn(turn, directive):
            turn.end, turn.ended_by = directive.start, directive.kind
            break
        if _is_live(turn, directive) and not (is_asked and directive.kind in ("object", "named")):
            turn.directives.append(directive)
            is_asked |= directive.kind in ("action", "answer", "call")
    if turn.ended_by == "observation":
        turn.notes.append(INVENTED)
    return turn


def is_within(spans: Sequence[Span], at: int) -> bool:
    """Return whether a place is in a span; the spans are in order and do not overlap."""
    place = bisect_right(spans, at, key=itemgetter(0))
    return place > 0 and at < spans[place - 1][1]


def _blanked(text: str, spans: Sequence[Span]) -> str:
    for start, end in spans:
        text = f"{text[:start]}\n{' ' * (end - start - 1)}{text[end:]}"
    return text


def object_end(text: str, start: int, *, repairs: bool = True) -> int:
    """Return the end of the JSON object after a label, or `start` if there is none."""
    at = skip_space(text, start)
    is_fenced = text.startswith("```", at)
    if is_fenced:
        at = text.find("{", at, at + 20) if "{" in text[at : at + 20] else at
    if not text.startswith(("{", "["), at):
        return start
    scanned = None
    with suppress(LenientJSONError):
        scanned = scan(text, at, closed=True) if repairs else read_strictly(text, at)
    closing = _FENCE_CLOSES.match(text, scanned.end) if scanned and is_fenced else None
    return closing.end() if closing else scanned.end if scanned else start


def _find_fences(text: str, end: int | None = None) -> list[re.Match[str]]:
    """Return the lines that open or close a fence."""
    if "```" not in text and "~~~" not in text:
        return []
    return list(islice(_FENCE.finditer(text, 0, len(text) if end is None else end), _MAX_FENCES))


def _find_bare(text: str) -> Iterator[Directive]:
    for mark in islice(_BARE.finditer(text), _MAX_BARE):
        kind: Kind = "named" if mark["name"] else "object"
        places = (mark.start(), mark.end(), len(text), len(text))
        yield Directive(kind, *places, mark["name"] or "", closed=mark["call"] is None)


def _thoughts_in(text: str, tags: list[Directive]) -> list[Span]:
    """Return the thoughts in tags; the text before a closing tag that was not opened is one."""
    spans: list[Span] = []
    for tag in tags:
        if tag.kind == "thought" and tag.closed and (not spans or tag.start >= spans[-1][1]):
            spans.append((tag.start, tag.tag_end))
    closing_tags = (tag for tag in _THOUGHT_ENDS.finditer(text) if not spans and is_used(text, tag))
    ends = [tag.end() for tag in islice(closing_tags, _MAX_REPAIRED)]
    is_fenced = bool(ends) and len(_find_fences(text, ends[-1])) % 2 == 1
    return [(0, ends[-1])] if ends and not is_fenced else spans


def _ends_turn(turn: ReplyTurn, directive: Directive) -> bool:
    """Return whether a label or tag ends the model's turn."""
    if is_within(turn.thoughts, directive.start):
        return directive.is_tag and directive.kind == "observation"
    is_end = directive.kind in ("observation", "speaker", "pause")
    if not is_end or (directive.is_tag and is_mentioned(turn.text, directive)):
        return False
    if directive.is_shown:
        turn.rejections |= {"shown"} if directive.kind == "observation" else set()
        return False
    if directive.kind == "speaker" and not directive.is_tag and not turn.directives:
        return _ROLE.match(turn.text, directive.start) is not None and not directive.is_fenced
    if directive.kind == "observation" and directive.is_fenced:
        turn.rejections.add("observation in a fence")
    return directive.kind == "pause" or not directive.is_fenced or directive.name == "output"


def _is_live(turn: ReplyTurn, directive: Directive) -> bool:
    """Return whether a label or tag counts; record the reason if it does not."""
    if directive.is_tag and directive.kind == "thought" and directive.closed:
        if ASKING.search(turn.text, directive.content_start, directive.end):
            turn.rejections.add("thought")
        return False
    if is_within(turn.thoughts, directive.start):
        return directive.kind == "thought"
    if directive.is_tag and is_mentioned(turn.text, directive):
        is_asking = directive.kind in ("action", "answer", "call", "calls")
        turn.rejections.add("inline" if is_asking else "mentioned")
        turn.inline = turn.inline or f"<{directive.name}>" * is_asking
        return False
    if directive.is_shown:
        turn.rejections.add("fenced")
        return False
    return directive.kind != "speaker" or directive.is_fenced


# Quoted directives.

_Event: TypeAlias = tuple[int, str, tuple[str, ...], bool]
"""A place, what it opens, what it closes, and whether what it opens needs no end."""


class _EnclosureScan:
    """One pass over a text that marks each directive as fenced or shown."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.directives: list[Directive] = []
        self.opened: dict[str, tuple[int, bool]] = {}
        self.fences: list[re.Match[str]] = []
        self.fenced_from = 0
        self.repaired = 0
        self.has_call = False
        self.is_over = False

    def run(self, directives: list[Directive]) -> list[Directive]:
        """Return the directives outside the content of others, in order."""
        events: list[tuple[int, int, Callable[[], int]]] = [
            *((mark.start(), 0, partial(self.fence, mark)) for mark in _find_fences(self.text)),
            *((directive.start, 1, partial(self.add, directive)) for directive in directives),
            *((event[0], 2, partial(self.enclose, event)) for event in _enclosing(self.text)),
        ]
        end = 0
        for start, _, handle in sorted(events, key=itemgetter(0, 1)):
            if self.is_over:
                break
            end = handle() if start >= end else end
        for since, is_endless in self.opened.values():
            self.show(since if is_endless else len(self.directives))
        if self.fences:
            self.end_fence(len(self.text))
        return self.directives

    def add(self, directive: Directive) -> int:
        """Add a directive, and return the end of its content, in which nothing is live."""
        text = self.text
        line = text.rfind("\n", 0, directive.start) + 1
        is_in_line_of_code = directive.kind == "answer" and "``" in directive.emphasis
        directive.is_shown = text[line : line + 80].lstrip()[:1] == ">" or is_in_line_of_code
        directive.is_fenced = bool(self.fences)
        self.has_call |= directive.kind in ("action", "call")
        is_step = directive.kind in ("call", "answer")
        if directive.is_tag and is_step and not is_mentioned(text, directive):
            if directive.kind == "answer" and _contains_turn(text, directive):
                return directive.content_start
            self.directives.append(directive)
            return directive.tag_end
        self.directives.append(directive)
        is_quoted = directive.is_shown or directive.is_fenced
        if directive.kind == "observation" and not (is_quoted or is_mentioned(text, directive)):
            # The text after it must not change a call before it, as the end of a quotation would.
            self.is_over = self.has_call
        if directive.kind in ("answer", "input") and not self.fences:
            self.repaired += 1
            return object_end(text, directive.content_start, repairs=self.repaired < _MAX_REPAIRED)
        is_body = directive.kind == "named" and directive.name.islower() and not self.fences
        if is_body or directive.kind in ("answer", "input", "action", "object"):
            return object_end(text, directive.content_start, repairs=False)
        return directive.start

    def fence(self, mark: re.Match[str]) -> int:
        """Open or close a fence; a fence with words opens another inside a fence."""
        at, words = mark.start(), mark["words"].strip()
        outer = self.fences[-1]["mark"] if self.fences else ""
        if not self.fences or (words and mark["mark"][0] == outer[0]):
            if not self.fences:
                self.fenced_from = len(self.directives)
                if _is_output(words):
                    size = len(self.text)
                    self.directives.append(Directive("observation", at, at, size, size, "output"))
            self.fences.append(mark)
        elif mark["mark"].startswith(outer) and not words and not mark["before"].strip():
            self.fences.pop()
            if not self.fences:
                self.end_fence(at)
        return at

    def end_fence(self, end: int) -> None:
        for directive in self.directives[self.fenced_from :]:
            directive.end = min(directive.end, end)

    def enclose(self, event: _Event) -> int:
        """Close what a mark closes, or open what it opens."""
        at, opens, closes, is_endless = event
        closing = [mark for mark in closes if mark in self.opened]
        for mark in closing:
            self.show(self.opened.pop(mark)[0])
        if opens and not closing:
            self.opened.setdefault(opens, (len(self.directives), is_endless))
        return at

    def show(self, since: int) -> None:
        for directive in self.directives[since:]:
            directive.is_shown = True


def _contains_turn(text: str, tag: Directive) -> bool:
    """Return whether the tag of an answer encloses a whole turn."""
    label = label_at(text[tag.content_start : tag.end].lstrip().partition("\n")[0])
    is_labelled = label is not None and label.kind not in ("input", "pause", "answer")
    return is_labelled or _INNER_TURN.match(text, tag.content_start) is not None


def _is_output(words: str) -> bool:
    """Return whether the first line of a fence says that it contains a tool's output."""
    name = re.split(r"[^\w-]", words, maxsplit=1)[0].casefold()
    return name in ("output", "outputs", "result", "results") or kind_of(name) == "observation"


def _enclosing(text: str) -> Iterator[_Event]:
    """Yield what opens or closes quotations, brackets, blocks and tags without a meaning."""
    at = 0
    for mark in islice(_MARK.finditer(text), _MAX_MARKS):
        at, sign = mark.start(), mark[0]
        is_word = sign in _WORDLIKE
        opens = sign in _PAIRS and not (is_word and text[at - 1 : at].isalnum())
        closes = not (is_word and text[mark.end() : mark.end() + 1].isalnum())
        yield at, sign if opens else "", _CLOSED_BY.get(sign, ()) if closes else (), False
    if at and _MARK.search(text, at + 1):
        yield at, "many marks", (), True
    for rule in islice(_RULE.finditer(text), _MAX_MARKS):
        sign = rule["sign"] or ""
        is_quoting = sign not in _MARKDOWN or rule["words"] or _is_introduced(text, rule.start())
        yield rule.start(), f"rule {sign}" * bool(is_quoting), (f"rule {sign}",), False
    for tag in islice(_TAG.finditer(text), _MAX_MARKS):
        name = (tag["name"] or tag["name2"]).casefold()
        is_known = tag["name"] and (is_known_tag(name) or _PLAIN_TAG.fullmatch(name))
        if is_known or (tag["rest"] or "").endswith("/"):
            continue
        if tag["slash"] or tag["slash2"]:
            yield tag.start(), "", (f"tag {name}",), False
            continue
        text_before = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
        text_after = text[tag.end() : text.find("\n", tag.end()) % (len(text) + 1)]
        is_alone = not (text_before + text_after).strip() and (
            bool(tag["name"]) or name in _SHOWING
        )
        yield tag.start(), f"tag {name}", (), is_alone


def _is_introduced(text: str, rule: int) -> bool:
    """Return whether the line above a rule introduces a quotation below it."""
    above = text[max(0, rule - _MAX_NEARBY) : rule].rstrip().rpartition("\n")[2]
    return introduces_quotation(above)
