"""Calls and answers in an object, in words or in a tag: the tool that is named, what it is given.

Lenient, for a call that is understood does no harm. Everything here reads a piece of a reply that
`steps` has found to be live.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from itertools import count
from typing import Final, TypeAlias

from chart_binder.react.arguments import clean_name, folded, members_end, read_members
from chart_binder.react.parsing.advice import Defect
from chart_binder.react.parsing.labels import Directive, is_known_tag, meanings, pattern
from chart_binder.react.parsing.lenient_json import (
    LenientJSONError,
    begins_member,
    opens_object,
    opens_string,
    read_json,
    scan,
    scan_quoted,
    scan_string,
    skip_space,
)
from chart_binder.react.steps import FinalAnswer, ToolCall

Taken: TypeAlias = ToolCall | FinalAnswer | Defect
"""A step, or why what asks for one is none."""
Given: TypeAlias = tuple[Mapping[str, object] | str, tuple[str, ...]]
"""The arguments of a call, and notes on what was repaired."""

_ROLES: Final[dict[str, str]] = meanings("keys")
"""What the keys of an object stand for."""
_NAMES: Final[dict[str, str]] = meanings("names")
"""What words in the place of a tool or of its arguments mean."""
_IDS: Final = ("id", "call_id", "tool_call_id", "tool_use_id", "callId")
_OTHERS: Final = ("user", "tool", "system", "function")
_TOOL_IN_WORDS: Final = re.compile(r"\b[a-z]\w*_\w+\b")
_MAX_CALLS: Final = 16
_MAX_NAME: Final = 300
_MAX_NO_TOOL: Final = 80
_NAME_END: Final = re.compile(
    r"[(（\[{:：\"“「|]|<[/|]|\s(?:'|(?=\w{1,32}+ ?=|https?://))|[\s,;*]{1,4}(?=action[ _]input\b)",
    re.IGNORECASE,
)
_PYTHON: Final = re.compile(  # what Python would work out
    r"\*{1,2}+\s*[\[({]|[bfru]{1,2}([\"']).*\1\Z|[^+\n]{1,200}\+\s*[\"']", re.IGNORECASE
)
_FENCED: Final = re.compile(
    r"(?:\s*(?:\$?json(?:_blob)?|blob)\s*[:：]?\s*(?=[{\[`\n]))?"
    r"(?:\s*(?P<mark>`{3,}|~{3,})[ \t]*(?:\$?json\w*|\w{0,12}(?=\s))?\s*)?",
    re.IGNORECASE,
)
"""What stands before words in a fence: a word for JSON, the marks of the fence."""
_FENCE_CLOSES: Final = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})")
_LEAD: Final = re.compile(r"[^\n{}\"'`:：]{3,80}[:：]\s{0,8}(?:`{3}\w{0,8}\s{1,8})?(?=\{)")
"""Words in front of an object of arguments: `The arguments are: {...}`."""
_CLOSING: Final = re.compile(r"</[\w ]{1,24}>\Z")
_LONGEST_CLOSING: Final = 32
_LINK: Final = re.compile(r"\[[^\[\]\n]*\]\((https?://[^\s<>]+)\)|<(https?://[^\s<>]+)>")
_PAUSE: Final = re.compile(r"[\s(\[*_`.<]*(?<!\w)PAUSE[\s)\]*_`.>]*\Z")
_INVENTED: Final = re.compile(r"\s(?:Observation|观察)[ ]?\d{0,3}[ ]?[:：]")
_EMPHASIS: Final = "*_` \t"


def without_closing_tags(words: str) -> str:
    """Return words without the closing tags that they end with."""
    words = words.rstrip()
    while tag := _CLOSING.search(words[-_LONGEST_CLOSING:]):
        words = words[: len(words) - len(tag[0])].rstrip()
    return words


def is_finisher(name: str) -> bool:
    """Tell whether a name written in a tool's place means the final answer."""
    return _NAMES.get(folded(name)) == "answer"


def is_no_tool(name: str) -> bool:
    """Tell whether a name written in a tool's place says that there is none."""
    return not name or (
        len(name) <= _MAX_NO_TOOL and pattern("no_tool").fullmatch(name) is not None
    )


def announces(name: str) -> bool:
    """Tell whether a word in a tool's place says that its name comes next (`function: add`)."""
    return _NAMES.get(folded(name)) == "announcement"


def identified(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return calls each with an id of its own: the one it has, else the next free number."""
    used: set[str] = set()
    named: list[ToolCall] = []
    for number, call in enumerate(calls, start=1):
        own = call.id
        if not re.fullmatch(r"[\w.:-]{1,64}", own) or own in used:
            taken = used.union(other.id for other in calls)
            own = next(free for free in map(str, count(number)) if free not in taken)
        used.add(own)
        named.append(replace(call, id=own, further_calls=()))
    return named


# An object that is a whole turn, or a call.


def read_turn(turn: Mapping[str, object], *, tagged: bool = False) -> Taken | None:
    """Return the step an object stands for, or None where it is no turn.

    What is `tagged` as a call, or labelled so, needs no word for arguments. No answer counts beside
    an observation, which the model made up.
    """
    parts: dict[str, object] = {}
    others: dict[str, object] = {}
    for key, value in turn.items():
        role = _ROLES.get(folded(key))
        if role is None:
            others[key] = value
        elif value is not None:
            parts.setdefault(role, value)
    content = turn.get("content")  # Anthropic's, among other blocks
    blocks = content if isinstance(content, list) else []
    uses = [
        block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    if calls := parts.get("calls") or uses:
        step = _read_calls(calls if isinstance(calls, list) else [calls])
    else:
        step = _step_of(parts, others, tagged=tagged)
    if isinstance(step, FinalAnswer) and parts.get("observation", "") not in ("", [], {}):
        return Defect("observation")
    if isinstance(step, FinalAnswer) and turn.get("role") in _OTHERS:
        return Defect("speaker")
    if isinstance(step, ToolCall | FinalAnswer) and isinstance(
        thought := parts.get("thought"), str
    ):
        step = replace(step, thought=step.thought or thought)
    if isinstance(step, ToolCall):
        ids = (str(turn[key]) for key in _IDS if isinstance(turn.get(key), str | int))
        step = replace(step, id=step.id or next(ids, ""))
    return step


def _step_of(
    parts: Mapping[str, object], others: Mapping[str, object], *, tagged: bool
) -> Taken | None:
    """Read the parts of a turn; a call comes before an answer."""
    for part in ("tool", "name"):
        value = parts.get(part)
        if isinstance(value, Mapping):
            return read_turn(value, tagged=True)
        if isinstance(value, str) and (part == "tool" or tagged or "input" in parts):
            name = clean_name(value)
            if not is_no_tool(name):
                given = parts.get("input", others)
                is_answered = is_finisher(name) and not given
                return step_named(name, parts.get("answer", given) if is_answered else given)
    if not parts and len(others) == 1:
        (name, given), *_ = others.items()
        is_call = isinstance(given, Mapping) and (tagged or _TOOL_IN_WORDS.fullmatch(name))
        if is_call or tagged:
            return step_named(name, given) if is_call else None
    is_other = any(isinstance(other, str | list | dict) for other in others.values() if other)
    return FinalAnswer(_as_text(parts["answer"])) if "answer" in parts and not is_other else None


def _read_calls(calls: Sequence[object]) -> Taken | None:
    """Return the first step of a list of calls, those after it that are calls with it."""
    steps = (read_turn(call, tagged=True) for call in calls[:_MAX_CALLS] if isinstance(call, dict))
    found = [step for step in steps if step is not None]
    if not found:
        return None
    first, *further = found
    if isinstance(first, ToolCall):
        return replace(
            first, further_calls=tuple(step for step in further if isinstance(step, ToolCall))
        )
    return Defect("called") if isinstance(first, FinalAnswer) and further else first


def step_named(name: str, given: object) -> ToolCall | FinalAnswer:
    """Return the call of a tool, or the answer where a name such as `finish` stands for it."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        with suppress(LenientJSONError):
            given = read_json(given)[0]
    if not is_finisher(clean_name(name)):
        bare = given if isinstance(given, Mapping) else _as_text(given) or {}
        return ToolCall(clean_name(name), bare)
    if isinstance(given, Mapping) and len(given) == 1:
        (key, inner), *_ = given.items()
        given = inner if _ROLES.get(folded(key)) in ("answer", "input") else given
    return FinalAnswer(_as_text(given))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_object(text: str, *, tagged: bool) -> tuple[Taken | None, int]:
    """Return the step of an object, or a list of calls, that a text begins with, and its end."""
    found = scan(text, skip_space(text, 0))
    if isinstance(found.value, dict):
        step = read_turn(found.value, tagged=tagged)
    else:
        step = _read_calls(found.value) if isinstance(found.value, list) else None
    if isinstance(step, FinalAnswer) and not found.is_closed:
        raise LenientJSONError("its last bracket is missing")
    return step and replace(step, notes=(*found.notes, *step.notes)), found.end


# A call in words.


def read_action(own: str, given: str | None) -> Taken | None:
    """Read an action: its `own` words, and what is `given` under a label of its own.

    Returns None where no tool is named.
    """
    own, _ = _without_fence(own)
    name, rest = _name(own)
    blob = own if name or given is None else _without_fence(given)[0]
    if _opens_object(blob):
        return _object_action(blob)
    if is_no_tool(name):
        return None
    said = _TOOL_IN_WORDS.findall(name) if " " in name else ()
    if len(said) == 1 and not re.search(r"\bno[tr]?\b|n['’]t\b", name):
        name = said[0]
    behind = rest.lstrip(" \t,;|")
    if label := pattern("input_label").match(behind):
        given, rest = given or behind[label.end() :], ""
    try:
        arguments, notes = _given(name, rest, given)
    except LenientJSONError as error:
        return Defect("arguments", str(error), name)
    if not is_finisher(name):
        return ToolCall(name, arguments, notes=notes)
    if isinstance(arguments, Mapping) and arguments:
        return step_named(name, arguments)
    answer = (given or rest).strip().lstrip(":：").strip()
    return FinalAnswer(answer) if answer.strip("()") else None


def _given(name: str, rest: str, given: str | None) -> Given:
    """Return what a tool is given: under a label, behind its name, or in the lines below it."""
    if given is not None:
        again = given.strip().strip("`")
        if again.startswith(f"{name}("):  # named once more
            return read_in_brackets(again[len(name) :])
        found = read_given(given)
        if found[0]:
            return found
    rest = rest.lstrip(_EMPHASIS)
    if rest[:1] in ("(", "（", "["):
        return read_in_brackets(rest)
    is_colon = rest[:1] in (":", "：")
    line, _, below = rest[is_colon:].partition("\n")
    if not line.strip(" \t,;|-"):
        members = read_members(below[: members_end(below, 0, len(below))].rstrip("\n"))
        if members:
            return members, ()
    words = rest[is_colon:].lstrip(" \t\n,;|-").rstrip()
    begins = words.startswith(("{", "[", '"', "“", "`", "~~~", "http")) or begins_member(words, 0)
    is_one = bool(line.strip()) or "\n" not in words
    return read_given(words) if begins or (is_colon and is_one) else ({}, ())


def _name(own: str, *, is_announced: bool = False) -> tuple[str, str]:
    """Return the tool's name on the first line of an action, and all that follows it."""
    line, _, below = own.partition("\n")
    stripped = line.lstrip(_EMPHASIS)
    if inner := re.match(r"[\[(<【]\s*([^\[\](){}<>【】\n]{1,80})[\])>】]", stripped):
        return clean_name(inner[1]), f"{stripped[inner.end() :]}\n{below}"
    found = _NAME_END.search(line, 0, _MAX_NAME)
    if found is None or found.start() == 0:
        return clean_name(_PAUSE.sub("", line[:_MAX_NAME])), f"\n{below}"
    name, rest = clean_name(line[: found.start()]), own[found.start() :]
    if rest[0] in ":：" and announces(name) and not is_announced:
        return _name(rest[1:], is_announced=True)
    return name, rest


def _object_action(own: str) -> Taken:
    try:
        step, _ = read_object(own, tagged=True)
    except LenientJSONError as error:
        return Defect("turn", str(error))
    return step or Defect("no tool")


def _opens_object(text: str) -> bool:
    at = skip_space(text, 0)
    if text.startswith("[", at):
        at = skip_space(text, at + 1)
    return text.startswith("{", at) and opens_object(text, at)


def _without_fence(text: str) -> tuple[str, bool]:
    """Return the words in a fence that a text begins with, or the text; and whether one does."""
    if not (opened := _FENCED.match(text)) or not opened["mark"]:
        return text[opened.end() if opened else 0 :].strip(), False
    return _FENCE_CLOSES.split(text[opened.end() :], maxsplit=1)[0].strip(), True


# The arguments of a call.


def read_given(words: str) -> Given:
    """Read arguments: an object, one in a list or a string, else bare text.

    Bare text is all of a fence, the lines of the form `name: value`, or else one line.
    """
    text, is_fenced = _without_fence(words)
    if not is_fenced:
        text = _PAUSE.sub("", text) if "PAUSE" in text[-_MAX_NAME:] else text
        text = text.lstrip("*_")
        text = text.strip("`") if not text.startswith("``") else text
        if text[:1] not in ("{", "[") and (observed := _INVENTED.search(text)):
            text = text[: observed.start()].rstrip()
    if text[:1] in ("{", "｛"):
        return _object(text)
    if (lead := _LEAD.match(text)) and _opens_object(text[lead.end() :]):
        return _object(_without_fence(text[lead.end() :])[0])
    if text.startswith("[") and text[1:].lstrip()[:1] in ("{", '"', "'", "]"):
        listed = scan(text, 0)
        match listed.value:
            case [dict() | str() as only]:
                return only, listed.notes
            case values:
                return text[: listed.end] if values else {}, listed.notes
    return _string(text) or _bare(text, is_fenced=is_fenced)


def _object(text: str) -> Given:
    if text.startswith('{\\"'):
        text = text.replace('\\"', '"')
    is_doubled = text.startswith("{{")  # a template's braces
    if text[0] != "{" or not opens_object(text, int(is_doubled)):
        raise LenientJSONError("the braces hold no key in quotes with a colon after it")
    found = scan(text, int(is_doubled))
    assert isinstance(found.value, dict)
    return found.value, (*(["repaired JSON: doubled braces"] * is_doubled), *found.notes)


def _string(text: str) -> Given | None:
    """Read a text that is one string, or an object inside one."""
    found = scan_quoted(text)
    if found is None or text[found.end :].partition("\n")[0].strip(_EMPHASIS + ".,;"):
        return None
    inner = str(found.value)
    return _object(inner.lstrip()) if _opens_object(inner) else (inner, found.notes)


def read_in_brackets(text: str) -> Given:
    """Read what stands in the brackets of a call: `("x")`, `(a=1)`, `({...})`, `[x]`."""
    inside = skip_space(text, 1)
    is_string = opens_string(text[inside : inside + 1])
    if text[0] == "(" and begins_member(text, inside) and not is_string:
        called = scan(text, 0, len(text))
        assert isinstance(called.value, dict)
        return called.value, called.notes
    if text.startswith("{", inside):
        return _object(text[inside:])
    if is_string:
        found = scan_string(text, inside, len(text))
        if re.match(r"\s*+,?\s*+(?:[)）\]]|\Z)", text[found.end :]):
            return str(found.value) or {}, found.notes
    line = text.partition("\n")[0]
    closed = line.rfind({"(": ")", "（": "）"}.get(text[0], "]"))
    if closed < 0:
        raise LenientJSONError(f"the bracket {text[0]} is never closed")
    return _words(line[1:closed].strip())


def _bare(text: str, *, is_fenced: bool) -> Given:
    end = len(text) if is_fenced else members_end(text, 0, len(text))
    words = text[:end].strip() or text.partition("\n")[0].strip()
    words = without_closing_tags(words)
    words = words.strip(_EMPHASIS) if words.endswith(("`", "**")) else words
    if link := _LINK.fullmatch(words):
        words = link[1] or link[2]
    if words.startswith(("http://", "https://")):
        words = words.replace("\\_", "_")  # as Markdown has it; no address holds a backslash
    return _words(words)


def _words(words: str) -> Given:
    if _PYTHON.match(words):
        raise LenientJSONError("it is an expression of Python rather than a value")
    return ({} if not words or _NAMES.get(words.casefold()) == "nothing" else words), ()


# A call in a tag.

_ATTRIBUTE: Final = re.compile(
    r"(?P<name>[\w-]{1,64}+)\s{0,4}+=\s{0,4}+(?:(?P<mark>[\"'])(?P<value>.*?)(?P=mark)|(?P<bare>[\w.-]+))(?=\s|/|\Z)",
    re.DOTALL,
)
_PARAMETERS: Final = (
    re.compile(
        r"<(?:parameter|param|arg|argument)(?:=|\s+name\s*=\s*)[\"']?(?P<name>[\w-]{1,64}+)[\"']?[^<>\n]{0,60}>"
        r"(?P<value>(?>(?:[^<]++|<(?!/?(?:parameter|param|arg|argument|function|invoke|tool_call)\b))*))"
    ),
    re.compile(
        r"<arg_key>(?P<name>[^<]{1,64}+)</arg_key>\s*<arg_value>(?P<value>[^<]*+)</arg_value>"
    ),
    re.compile(r"<(?P<name>[\w-]{1,64}+)>(?P<value>[^<]*+)</(?P=name)>"),
)
"""Arguments in tags: `<parameter=url>...`, `<arg_key>...`, `<url>...</url>`."""
_NAMING: Final = re.compile(
    r"\s*(?:<(?:function|invoke|tool)(?:=[\"']?|\s+name=[\"'])(?P<attribute>[\w.-]{1,80})[\"']?\s*>"
    r"|<(?P<tag>name|tool_name|function|tool|invoke)>\s*(?P<element>[\w.-]{1,80})\s*(?:</(?P=tag)>)?"
    r"|(?P<word>[\w.-]{1,80})\s*(?=<arg_key>)"
    r"|<(?P<own>[a-z]+_\w{1,60})>(?=.*</(?P=own)>))",
    re.DOTALL,
)
"""What names a tool inside the tag of a call."""
_AROUND: Final = re.compile(
    r"</(?:function|invoke|arguments|parameters|tool|input)>\s*"
    r"|\A\s*<(?:arguments|parameters|input|args)>"
)


_NESTED: Final = re.compile(r"\A\s*<(?:tool_call|function_call)>")


def call_in(body: str, tag: Directive) -> Taken | None:
    """Return the call in a tag's body, or in its attributes."""
    attributes = {
        found["name"]: unescape(found["value"] or found["bare"] or "")
        for found in _ATTRIBUTE.finditer(tag.attributes)
    }
    names = [attributes.pop(key, "") for key in ("name", "tool", "function")]
    own = re.match(r"=\s*[\"']?([\w.-]{1,80})", tag.attributes)
    named = next(filter(None, (*names, own[1] if own else "")), "")
    identifier = attributes.pop("id", "")
    named = named or ("" if is_known_tag(tag.name) else tag.name)
    body = _NESTED.sub("", body)
    body, _ = _without_fence(body)
    body = body.replace("&quot;", '"') if body.startswith("{&quot;") else body
    if not named and (inner := _NAMING.match(body)):
        named = next(filter(None, inner.group("attribute", "element", "word", "own")))
        body = body[inner.end() :]
    try:
        step = _named_call(named, attributes, body, tag) if named else _unnamed_call(body)
    except LenientJSONError as error:
        found = re.search(r"[\"'](?:name|tool|action)[\"']\s*:\s*[\"']([\w.-]{1,80})", body)
        named = named or (found[1] if found else "")
        return Defect("arguments" if tag.closed or named else "turn", str(error), named)
    return replace(step, id=identifier) if isinstance(step, ToolCall) and identifier else step


def _named_call(named: str, attributes: dict[str, str], body: str, tag: Directive) -> Taken:
    words = _AROUND.sub("", body).strip()
    if words.startswith("{"):
        return read_action(named, words) or Defect("no tool")
    given = attributes.pop("arguments", "") or attributes.pop("input", "") or attributes
    if given:
        return step_named(named, given)
    if not tag.closed and re.search(r"<(?:parameter|arg_value)[^<]*\Z", body):
        raise LenientJSONError("a parameter is never closed")
    for parameter in _PARAMETERS:
        pairs = ((pair["name"], pair["value"]) for pair in parameter.finditer(words))
        if values := {name.strip(): unescape(value).strip() for name, value in pairs}:
            return step_named(named, values)
    return read_action(named, words or None) or Defect("no tool")


def _unnamed_call(body: str) -> Taken | None:
    if not body.startswith(("{", "[")):
        return read_action(body, None) if body else None
    steps: list[Taken] = []
    while body.startswith(("{", "[")) and len(steps) < _MAX_CALLS:
        step, end = read_object(body, tagged=True)
        if step is None:
            is_none = re.search(r"[\"'](?:name|tool|action)[\"']\s*:", body)
            return None if is_none else Defect("no tool")
        steps.append(step)
        body = body[end:].lstrip() if isinstance(step, ToolCall) else ""
    first, *further = steps
    further_calls = [call for step in further if isinstance(step, ToolCall) for call in step.calls]
    return (
        replace(first, further_calls=(*first.further_calls, *further_calls))
        if isinstance(first, ToolCall)
        else first
    )
