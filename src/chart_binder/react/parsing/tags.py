"""Tags that a model writes its turn in, what stands in them, and tokens that mean such tags."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Final, Literal, NamedTuple, TypeAlias

from chart_binder.react.arguments import clean_name, folded
from chart_binder.react.parsing.advice import Defect
from chart_binder.react.parsing.answers import read_answer
from chart_binder.react.parsing.calls import Taken, read_action, read_given
from chart_binder.react.parsing.json_turns import is_no_tool, noted, read_tagged_call, step_named
from chart_binder.react.parsing.labels import is_label
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    opens_object,
    read_json,
    scan,
    skip_space,
)
from chart_binder.react.parsing.lexer import (
    MAX_MARKS,
    Regions,
    Span,
    lowered,
    outside_strings,
    skip_fence_opener,
)
from chart_binder.react.steps import Act, Finish

TagKind: TypeAlias = Literal["thought", "call", "calls", "observation", "answer"]

# Patterns of names in small letters; a hyphen, an underscore or nothing stands between two words.
_NAMES: Final[dict[TagKind, str]] = {
    "thought": "thoughts?",
    "calls": "(?:tool|function)[_-]?calls",
    "observation": "observations?|tool[_-]?(?:responses?|results?|output)|search[_-]?results?"
    "|function[_-]?(?:response|results?)|results?",
    "answer": "(?:final[_-]?)?(?:response|answer)",
    "call": "tool[_-]?(?:call|use)|function[_-]?call|invoke|function|tool|action",
}
_NEEDS_TOOL: Final = frozenset({"invoke", "function", "tool", "action"})
"""Tags that open a call only where they name its tool: `<function=web_search>`."""


# Each pattern looks a bounded distance ahead or back, whatever the text.
_TAG: Final = re.compile(
    r"<(?=[ /]|th|to|fu|ob|se|re|an|fi|in|ac)[ ]{0,2}+(?P<close>/?+)[ ]{0,2}+(?:antml:)?+(?>"
    + "|".join(f"(?P<{kind}>{names})(?=[ \t=/>])" for kind, names in _NAMES.items())
    + r")(?P<rest>[ \t=/][^<>\n]{0,1000}+)?+>"
)
_TOOL: Final = re.compile(
    r"(?:^\s*=\s*|\b(?:(?:tool_?|function_?)?name|tool)\s*=\s*)[\"']?(?P<tool>[^\"'\s/>]{1,100})",
    re.IGNORECASE,
)
_ID: Final = re.compile(
    r"\b(?:call_|tool_call_)?id\s*=\s*[\"']?(?P<id>[^\"'\s/>]{1,100})", re.IGNORECASE
)
_LEAD: Final = re.compile(r"[^\w\n\"'“”‘’„«「『>＞‹›{(|/\\<\[【✿`~]{0,16}+(?:\d{1,3}+[.)、][ ]?)?+")
_LEAD_AT_MOST: Final = 24
_CLOSERS: Final = re.compile(r"(?:\s{0,80}+(?:`{3,}|</[\w ]{1,24}>))*+")
_MAX_DIRECTIVES: Final = 32
_MAX_CALLS: Final = 16
_WELL_FORMED_ID: Final = re.compile(r"[\w.:-]{1,64}")
_TOOL_SAID: Final = re.compile(r"[\"']?name[\"']?\s{0,4}:\s{0,4}[\"']([\w .-]{1,64})[\"']")
_NEAR: Final = 300
_ATTRIBUTE: Final = re.compile(
    r"\s*+(?P<key>[\w.:-]{1,64}+)\s*+=\s*+"
    r"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s\"'/>]++))(?=[\s/>])"
)
_BEGUN: Final = re.compile(r"<\s*+[\w:-]++(?:\s*+=\s*+[\"']?[^\"'\s/>]++[\"']?)?+")
_ENDED: Final = re.compile(r"\s*+/?+\s*+>")
_MAX_ELEMENTS: Final = 32
_OPEN: Final = re.compile(
    r"<(?P<whole>(?:antml:)?+(?P<name>[A-Za-z_][\w.-]{0,63}+))(?P<rest>[ =][^<>\n]{0,200}+)?+>"
)
_KEY: Final = re.compile(r"(?:^ ?=|\b(?:name|key) ?=) ?[\"']?(?P<key>[\w.-]{1,64})")
_NEXT: Final = re.compile(r"</|<(?:antml:)?(?:parameter|param|arg|argument)\b")
_CHARACTERS: Final = {
    "&lt;": "<",
    "&gt;": ">",
    "&quot;": '"',
    "&#34;": '"',
    "&apos;": "'",
    "&#39;": "'",
    "&amp;": "&",  # the last one, for it may begin what looks like another
}
_PARAMETER: Final = frozenset({"parameter", "param", "arg", "argument", "input"})
_GIVEN: Final = frozenset({"arguments", "args", "parameters", "params", "input", "toolinput"})
_TOOL_NAME: Final = frozenset({"name", "toolname", "tool", "function", "functionname"})
_CALL: Final = frozenset({"function", "invoke", "tool", "call"})
_OWN: Final = _TOOL_NAME | {"id", "callid", "toolcallid"}
"""Attributes of a call itself, rather than arguments."""


class Tag(NamedTuple):
    """A tag that the protocol knows; `leads` tells whether it stands where one can be live.

    That is at the start of a line, or right after another tag or a label. `tool` and `id` are what
    its attributes say. One that is `fenced` stands in a code fence that nothing closes.
    """

    kind: TagKind
    name: str
    start: int
    end: int
    closes: bool = False
    leads: bool = True
    tool: str = ""
    id: str = ""
    fenced: bool = False

    @property
    def opens(self) -> bool:
        """Whether it begins something, where it is live."""
        return self.leads and not self.closes

    @property
    def is_observation(self) -> bool:
        """Whether it begins or ends what only a tool can say."""
        return self.kind == "observation" and (self.leads or self.closes)


def find_tags(text: str, regions: Regions) -> list[Tag]:
    """Return the tags outside fences, quotations, back-quotes or JSON strings, in order.

    What a model piles up beyond `MAX_MARKS` is not looked at.
    """
    found: list[Tag] = []
    led: dict[TagKind, bool] = {"thought": True}
    after = 0
    matches = outside_strings(_TAG.finditer(lowered(text)), text) if "<" in text else ()
    for match in islice(matches, MAX_MARKS):
        start = match.start()
        if regions.hides(start):
            continue
        tag = _tag(text, match, fenced=regions.is_open(start))
        if tag.closes:
            tag = tag._replace(leads=led.get(tag.kind, False))
        elif tag.name in _NEEDS_TOOL and not tag.tool:
            continue
        else:
            tag = tag._replace(leads=_leads(text, start, after))
        led[tag.kind] = tag.leads
        after = tag.end if tag.leads else after
        found.append(tag)
    return found


def _tag(text: str, match: re.Match[str], *, fenced: bool) -> Tag:
    kind = next(kind for kind in _NAMES if match[kind])
    name = match[kind].replace("_", "").replace("-", "")
    rest = text[match.start("rest") : match.end("rest")]
    tool, its_id = (_TOOL.search(rest), _ID.search(rest)) if rest else (None, None)
    return Tag(
        kind,
        name,
        *match.span(),
        closes=bool(match["close"]),
        tool=tool["tool"] if tool else "",
        id=its_id["id"] if its_id else "",
        fenced=fenced,
    )


def _leads(text: str, start: int, after: int) -> bool:
    """Tell whether a tag stands at the start of a line, or after a live tag or a label on it."""
    line = max(text.rfind("\n", 0, start) + 1, after)
    if not text[line:start].strip() or is_label(text, line, start):
        return True
    return start - line <= _LEAD_AT_MOST and _LEAD.fullmatch(text, line, start) is not None


def find_thoughts(tags: Sequence[Tag]) -> list[Span]:
    """Return from where to where closed thoughts go.

    A closing tag that nothing opened ends a thought that began with the reply; one that nothing
    closes hides nothing.
    """
    spans: list[Span] = []
    opened: Tag | None = None
    for tag in tags:
        if tag.kind != "thought" or not (tag.closes or tag.leads):
            continue
        if not tag.closes:
            opened = tag
        else:
            spans = [*spans, (opened.start, tag.end)] if opened else [(0, tag.end)]
            opened = None
    return spans


def first_in_tags(text: str, tags: Sequence[Tag], asking: Sequence[int]) -> Taken | None:
    """Return the step of the first live tag that asks for something, or None.

    Calls go together up to the first tag or label (the places in `asking`, in order) that asks for
    something else. Of those after the first, one that cannot be read ends them, too.
    """
    calls: list[Act] = []
    notes: tuple[str, ...] = ()
    start = end = 0
    for taken in _directives(text, tags):
        is_apart = any(end <= at < taken.start for at in asking)
        if calls and (is_apart or not isinstance(taken.step, Act)):
            break
        if not isinstance(taken.step, Act):
            return taken
        start, end = (start if calls else taken.start), taken.end
        notes += taken.step.notes
        calls.append(replace(taken.step, notes=()))
    if not calls:
        return None
    first, *also = identified(calls)
    return Taken(replace(first, notes=notes, also=tuple(also)), end, start, "tags")


def identified(calls: Sequence[Act]) -> list[Act]:
    """Return calls each with an id of its own: the one it has, else the next free number."""
    used: set[str] = set()
    named: list[Act] = []
    for number, call in enumerate(calls, start=1):
        its_id = call.id
        if not _WELL_FORMED_ID.fullmatch(its_id) or its_id in used:
            taken = used.union(other.id for other in calls)
            its_id = next(free for free in map(str, count(number)) if free not in taken)
        used.add(its_id)
        named.append(replace(call, id=its_id))
    return named


def _directives(text: str, tags: Sequence[Tag]) -> Iterator[Taken]:
    """Yield the calls and answers in order, up to an observation."""
    end = given = 0
    for place, tag in enumerate(tags):
        if given == _MAX_DIRECTIVES or (tag.start >= end and tag.is_observation):
            return
        if tag.start < end or tag.fenced:
            continue
        follows = end > 0 and not text[end : tag.start].strip()
        if tag.closes or not (tag.leads or follows):
            continue
        if tag.kind == "call" or (tag.kind == "calls" and _opens_list(text, tag)):
            steps, end = _read_call(text, tag, _limit(text, tags, place))
            given += 1
            end = _after_closers(text, end)
            yield from (Taken(step, end, tag.start, "tags") for step in steps)
        elif tag.kind == "answer":
            inner = tags[place + 1] if place + 1 < len(tags) else tag
            if inner.kind == "answer" and not inner.closes and _follows(text, tag, inner):
                words, after = read_answer(text, inner.end, _limit(text, tags, place + 1))
            else:
                words, after = read_answer(text, tag.end, _limit(text, tags, place))
            given += 1
            end = _after_closers(text, after)
            if words:
                yield Taken(Finish(words), end, tag.start, "tags")


def _opens_list(text: str, tag: Tag) -> bool:
    """Tell whether the tag around several calls holds them as objects."""
    return text.startswith(("[", "{"), skip_fence_opener(text, skip_space(text, tag.end)))


def _limit(text: str, tags: Sequence[Tag], place: int) -> int:
    """Return where the words of a tag end: before its closing tag, or what else is live."""
    tag = tags[place]
    for other in tags[place + 1 :]:
        same = other.kind == tag.kind
        if other.closes and same and (tag.kind != "call" or other.name == tag.name):
            return other.start
        is_inside = same and _follows(text, tag, other)
        if other.opens and other.kind != "calls" and not is_inside:
            return other.start
    return len(text)


def _follows(text: str, tag: Tag, other: Tag) -> bool:
    """Tell whether a second tag of the same kind is how the words of the first are written."""
    return skip_space(text, tag.end) == other.start and (tag.kind, tag.name) != ("call", other.name)


def _after_closers(text: str, end: int) -> int:
    closers = _CLOSERS.match(text, end)
    return closers.end() if closers else end


Steps: TypeAlias = list[Act | Finish | Defect]


def _read_call(text: str, tag: Tag, limit: int) -> tuple[Steps, int]:
    """Read what a call's tag opens, up to `limit`, which strict JSON may go beyond.

    Returns the steps in it, none for a call of no tool, and the place after its words.
    """
    if text[tag.start : tag.end - 1].rstrip().endswith("/"):
        limit = tag.end
    at = min(skip_fence_opener(text, skip_space(text, tag.end)), limit)
    fence = text.find("```", at, limit)
    inner = fence if fence >= 0 else limit
    beside = _attributes(text, tag) if tag.tool else {}
    try:
        if at < limit and text[at] in "{[":
            steps, limit = _read_objects(text, at, inner, tag)
        elif beside == {} or text.startswith("<", at, limit):
            steps = _read_words(text, at, inner, tag)
        else:
            steps = [step_named(tag.tool, _given_in(beside, text[at:limit].strip()))]
    except LenientJSONError as error:
        said = _TOOL_SAID.search(text, at, min(at + _NEAR, limit))
        return [Defect("given", str(error), tag.tool or (said[1] if said else ""))], limit
    dropped = ("attributes of a tag discarded",) if beside and at < limit else ()
    steps = [noted(step, *dropped) for step in steps]
    return [
        replace(step, id=step.id or tag.id) if isinstance(step, Act) else step for step in steps
    ], limit


def _read_objects(text: str, at: int, limit: int, tag: Tag) -> tuple[Steps, int]:
    """Read one object after the other, or a list of them."""
    if text[at] == "{" and not opens_object(text, at):
        if text.startswith(('{\\"', "{&quot;"), at):
            value, notes = read_json(_unescaped(text[at:limit]))
            return list(_steps_in(value, notes, tag)), limit
        raise LenientJSONError("the braces hold no key in quotes with a colon after it", at)
    steps: Steps = []
    end = at
    while len(steps) < _MAX_CALLS and at < limit and text[at] in "{[":
        found = scan(text, at, limit)
        end = found.end
        steps += _steps_in(found.value, found.notes, tag)
        at = skip_space(text, end)
        at = skip_space(text, at + 1) if text.startswith(",", at) else at
    return steps, end


def _steps_in(value: object, notes: tuple[str, ...], tag: Tag) -> Iterator[Act | Finish | Defect]:
    for call in value if isinstance(value, list) else [value]:
        step = read_tagged_call(call) if isinstance(call, Mapping) else None
        repeats = isinstance(step, Act) and folded(step.tool) == folded(clean_name(tag.tool))
        if tag.tool and isinstance(call, Mapping) and not repeats:
            step = step_named(tag.tool, call)
        values = call.values() if isinstance(call, Mapping) else ()
        if step is not None:
            yield noted(step, *notes)
        elif not any(isinstance(each, str) and is_no_tool(clean_name(each)) for each in values):
            yield Defect("no tool in object", notes=notes)


def _read_words(text: str, at: int, limit: int, tag: Tag) -> Steps:
    body = text[at:limit].strip()
    if body.startswith("<") or "<arg_key>" in body:
        call = _read_elements(body, tag.tool, ended=limit < len(text))
        return [step_named(*call)] if call and not is_no_tool(clean_name(call[0])) else []
    if tag.tool:
        found = read_given(text, at, limit)
        return [noted(step_named(tag.tool, found.arguments), *found.notes)]
    taken = read_action(text, (at, limit), None)
    return [taken.step] if taken else []


def _attributes(text: str, tag: Tag) -> Mapping[str, str] | None:
    """Return the attributes of a tag but for the tool's name or the call's id.

    Returns None where they are not quite of the form `a="b"`.
    """
    named = _BEGUN.match(text, tag.start)
    at = named.end() if named else tag.start
    found: dict[str, str] = {}
    while pair := _ATTRIBUTE.match(text, at, tag.end):
        at = pair.end()
        if folded(pair["key"]) not in _OWN and pair[0].strip() != 'type="function"':
            found[pair["key"]] = _unescaped(pair["double"] or pair["single"] or pair["bare"] or "")
    return found if _ENDED.match(text, at) else None


def _given_in(found: Mapping[str, str] | None, beside: str) -> Mapping[str, object] | str:
    """Return what attributes give a tool: each an argument, or one that holds them all."""
    if beside:
        raise LenientJSONError("it has attributes in its tag, and words inside")
    if found is None:
        raise LenientJSONError('the attributes of its tag are not of the form a="b"')
    whole = next((value.strip() for key, value in found.items() if folded(key) in _GIVEN), "")
    if len(found) > 1 or not whole:
        return found
    return read_json(whole)[0] if whole.startswith("{") else whole


def _unescaped(text: str) -> str:
    for entity, character in _CHARACTERS.items():
        text = text.replace(entity, character)
    return text


class _Element(NamedTuple):
    """An element: its name, the key that stands in its tag, its text."""

    name: str
    key: str
    text: str
    closed: bool


def _elements(text: str, *, ended: bool) -> Iterator[_Element]:
    """Yield the elements of a text, those inside them left as text.

    One that lacks its closing tag ends before the next tag. Where nothing has `ended` the text it
    may have been cut off: raises `LenientJSONError` if it stops inside an element.
    """
    at = 0
    for _ in range(_MAX_ELEMENTS):
        if not (opening := _OPEN.search(text, at)):
            return
        name, start = folded(opening["name"]), opening.end()
        key = _KEY.search(opening["rest"] or "")
        end = text.find(f"</{opening['whole']}>", start)
        closed = end >= 0
        if closed and name in _CALL:
            opened = text.rfind("<param", start, end)
            after = text.find("</param", max(opened, start))
            if opened >= 0 and end < after and not 0 <= text.find("<param", end) < after:
                raise LenientJSONError(f"a value holds </{opening['whole']}>", end)
        if not closed:
            is_outer = name in _CALL | _GIVEN
            following = None if is_outer else _NEXT.search(text, start)
            end = following.start() if following else len(text)
            if not following and not ended and not is_outer:
                raise LenientJSONError(
                    f"the text of <{opening['name']}> is never closed", end, cut=True
                )
        yield _Element(opening["name"], key["key"] if key else "", text[start:end].strip(), closed)
        at = end


def _read_elements(
    text: str, tool: str = "", *, ended: bool
) -> tuple[str, Mapping[str, object] | str] | None:
    """Return the tool and the arguments of a call, or None where no tool is named.

    `tool` is its name where the tag around it says so. Raises `LenientJSONError`.
    """
    before = text[: max(text.find("<"), 0)].strip()
    tool = tool or (before.splitlines()[0] if before else "")
    arguments: dict[str, object] = {}
    key = ""
    for element in _elements(text, ended=ended):
        name, ended_here = folded(element.name), ended or element.closed
        if not tool and name in _TOOL_NAME and not (name in _CALL and element.key):
            tool = element.text
        elif not tool:
            named = element.key if name in _CALL and element.key else element.name
            return _read_elements(element.text, named, ended=ended_here)
        elif name == "argkey":
            key = element.text
        elif name == "argvalue":
            arguments[key] = _unescaped(element.text)
        elif name in _GIVEN and not (element.key and name in _PARAMETER):
            return tool, _whole_given(element.text, ended=ended_here)
        else:
            named = element.key if name in _PARAMETER and element.key else element.name
            arguments[named] = _unescaped(element.text)
    return (tool, arguments) if tool else None


def _whole_given(text: str, *, ended: bool) -> Mapping[str, object] | str:
    if text.startswith("{"):
        return read_json(text)[0]
    if not text.startswith("<"):
        return _unescaped(text)
    return {each.key or each.name: _unescaped(each.text) for each in _elements(text, ended=ended)}
