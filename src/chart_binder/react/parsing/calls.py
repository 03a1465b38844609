"""Reads calls and answers in an object, in words or in a tag: the tool, and its arguments.

This is lenient, because a call that is understood does no harm. Each function takes a part of a
reply in which `steps` looks for a call.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from itertools import count
from typing import Final, TypeAlias

from chart_binder.react.arguments import members_end, read_members
from chart_binder.react.coercion import clean_name, folded
from chart_binder.react.parsing.advice import ParseProblem
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

ParsedStep: TypeAlias = ToolCall | FinalAnswer | ParseProblem
"""A step, or the reason why it could not be read."""
ParsedArguments: TypeAlias = tuple[Mapping[str, object] | str, tuple[str, ...]]
"""The arguments of a call, and notes on what was repaired."""

_ROLES: Final[dict[str, str]] = meanings("keys")
"""The meanings of the keys of an object."""
_NAMES: Final[dict[str, str]] = meanings("names")
"""The meanings of words in the place of a tool or of its arguments."""
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
_PYTHON: Final = re.compile(  # expressions that Python would evaluate
    r"\*{1,2}+\s*[\[({]|[bfru]{1,2}([\"']).*\1\Z|[^+\n]{1,200}\+\s*[\"']", re.IGNORECASE
)
_FENCED: Final = re.compile(
    r"(?:\s*(?:\$?json(?:_blob)?|blob)\s*[:：]?\s*(?=[{\[`\n]))?"
    r"(?:\s*(?P<mark>`{3,}|~{3,})[ \t]*(?:\$?json\w*|\w{0,12}(?=\s))?\s*)?",
    re.IGNORECASE,
)
"""The beginning of a fence: a word for JSON, and the marks of the fence."""
_FENCE_CLOSES: Final = re.compile(r"\n?[ \t]*(?:`{3,}|~{3,})")
_LEAD: Final = re.compile(r"[^\n{}\"'`:：]{3,80}[:：]\s{0,8}(?:`{3}\w{0,8}\s{1,8})?(?=\{)")
"""Words before an object of arguments: `The arguments are: {...}`."""
_CLOSING: Final = re.compile(r"</[\w ]{1,24}>\Z")
_LONGEST_CLOSING: Final = 32
_LINK: Final = re.compile(r"\[[^\[\]\n]*\]\((https?://[^\s<>]+)\)|<(https?://[^\s<>]+)>")
_PAUSE: Final = re.compile(r"[\s(\[*_`.<]*(?<!\w)PAUSE[\s)\]*_`.>]*\Z")
_INVENTED: Final = re.compile(r"\s(?:Observation|观察)[ ]?\d{0,3}[ ]?[:：]")
_EMPHASIS: Final = "*_` \t"


def without_closing_tags(words: str) -> str:
    """Return words without closing tags at their end."""
    words = words.rstrip()
    while tag := _CLOSING.search(words[-_LONGEST_CLOSING:]):
        words = words[: len(words) - len(tag[0])].rstrip()
    return words


def is_answer_name(name: str) -> bool:
    """Return whether a name in the place of a tool means the final answer."""
    return _NAMES.get(folded(name)) == "answer"


def is_no_tool(name: str) -> bool:
    """Return whether a name in the place of a tool means that no tool is called."""
    return not name or (
        len(name) <= _MAX_NO_TOOL and pattern("no_tool").fullmatch(name) is not None
    )


def announces_tool_name(name: str) -> bool:
    """Return whether a word in the place of a tool announces its name (`function: add`)."""
    return _NAMES.get(folded(name)) == "announcement"


def with_ids(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return calls with unique ids: the id of the call, or the next free number."""
    used_ids: set[str] = set()
    calls_with_ids: list[ToolCall] = []
    for number, call in enumerate(calls, start=1):
        call_id = call.id
        if not re.fullmatch(r"[\w.:-]{1,64}", call_id) or call_id in used_ids:
            all_ids = used_ids.union(call.id for call in calls)
            call_id = next(free for free in map(str, count(number)) if free not in all_ids)
        used_ids.add(call_id)
        calls_with_ids.append(replace(call, id=call_id, further_calls=()))
    return calls_with_ids


# Objects that are a whole turn or a call.


def read_turn(members: Mapping[str, object], *, tagged: bool = False) -> ParsedStep | None:
    """Return the step of an object, or None if it is not a turn.

    An object that is `tagged` or labelled as a call needs no key for arguments. An answer beside an
    observation does not count, because the model invented the observation.
    """
    parts: dict[str, object] = {}
    unknown: dict[str, object] = {}
    for key, value in members.items():
        role = _ROLES.get(folded(key))
        if role is None:
            unknown[key] = value
        elif value is not None:
            parts.setdefault(role, value)
    content = members.get("content")  # Anthropic's, among other blocks
    blocks = content if isinstance(content, list) else []
    uses = [
        block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    if calls := parts.get("calls") or uses:
        step = _read_calls(calls if isinstance(calls, list) else [calls])
    else:
        step = _step_of(parts, unknown, tagged=tagged)
    if isinstance(step, FinalAnswer) and parts.get("observation", "") not in ("", [], {}):
        return ParseProblem("observation")
    if isinstance(step, FinalAnswer) and members.get("role") in _OTHERS:
        return ParseProblem("speaker")
    if isinstance(step, ToolCall | FinalAnswer) and isinstance(
        thought := parts.get("thought"), str
    ):
        step = replace(step, thought=step.thought or thought)
    if isinstance(step, ToolCall):
        ids = (str(members[key]) for key in _IDS if isinstance(members.get(key), str | int))
        step = replace(step, id=step.id or next(ids, ""))
    return step


def _step_of(
    parts: Mapping[str, object], unknown: Mapping[str, object], *, tagged: bool
) -> ParsedStep | None:
    """Read the parts of a turn; a call takes precedence over an answer."""
    for part in ("tool", "name"):
        value = parts.get(part)
        if isinstance(value, Mapping):
            return read_turn(value, tagged=True)
        if isinstance(value, str) and (part == "tool" or tagged or "input" in parts):
            name = clean_name(value)
            if not is_no_tool(name):
                arguments = parts.get("input", unknown)
                is_answered = is_answer_name(name) and not arguments
                return step_named(
                    name, parts.get("answer", arguments) if is_answered else arguments
                )
    if not parts and len(unknown) == 1:
        (name, arguments), *_ = unknown.items()
        is_call = isinstance(arguments, Mapping) and (tagged or _TOOL_IN_WORDS.fullmatch(name))
        if is_call or tagged:
            return step_named(name, arguments) if is_call else None
    is_other = any(isinstance(value, str | list | dict) for value in unknown.values() if value)
    return FinalAnswer(_as_text(parts["answer"])) if "answer" in parts and not is_other else None


def _read_calls(calls: Sequence[object]) -> ParsedStep | None:
    """Return the first step of a list of calls, with the calls after it."""
    steps = (read_turn(call, tagged=True) for call in calls[:_MAX_CALLS] if isinstance(call, dict))
    steps_found = [step for step in steps if step is not None]
    if not steps_found:
        return None
    first, *later_steps = steps_found
    if isinstance(first, ToolCall):
        calls_after = tuple(step for step in later_steps if isinstance(step, ToolCall))
        return replace(first, further_calls=calls_after)
    return ParseProblem("called") if isinstance(first, FinalAnswer) and later_steps else first


def step_named(name: str, arguments: object) -> ToolCall | FinalAnswer:
    """Return the call of a tool, or an answer for a name such as `finish`."""
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        with suppress(LenientJSONError):
            arguments = read_json(arguments)[0]
    if not is_answer_name(clean_name(name)):
        bare = arguments if isinstance(arguments, Mapping) else _as_text(arguments) or {}
        return ToolCall(clean_name(name), bare)
    if isinstance(arguments, Mapping) and len(arguments) == 1:
        (key, value), *_ = arguments.items()
        arguments = value if _ROLES.get(folded(key)) in ("answer", "input") else arguments
    return FinalAnswer(_as_text(arguments))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_object(text: str, *, tagged: bool) -> tuple[ParsedStep | None, int]:
    """Return the step of an object or a list of calls at the beginning of a text, and its end."""
    scanned = scan(text, skip_space(text, 0))
    if isinstance(scanned.value, dict):
        step = read_turn(scanned.value, tagged=tagged)
    else:
        step = _read_calls(scanned.value) if isinstance(scanned.value, list) else None
    if isinstance(step, FinalAnswer) and not scanned.is_closed:
        raise LenientJSONError("its last bracket is missing")
    return step and replace(step, notes=(*scanned.notes, *step.notes)), scanned.end


# Calls in words.


def read_action(words: str, input_text: str | None) -> ParsedStep | None:
    """Read an action from its words, and from the text under the label of its input.

    Returns None if no tool is named.
    """
    words, _ = _without_fence(words)
    name, words_after = _split_name(words)
    text = words if name or input_text is None else _without_fence(input_text)[0]
    if _opens_object(text):
        return _object_action(text)
    if is_no_tool(name):
        return None
    stripped = words_after.lstrip(" \t,;|")
    if label := pattern("input_label").match(stripped):
        input_text, words_after = input_text or stripped[label.end() :], ""
    try:
        arguments, notes = _call_arguments(name, words_after, input_text)
    except LenientJSONError as error:
        return ParseProblem("arguments", str(error), name)
    if not is_answer_name(name):
        return ToolCall(name, arguments, notes=notes)
    if isinstance(arguments, Mapping) and arguments:
        return step_named(name, arguments)
    answer = (input_text or words_after).strip().lstrip(":：").strip()
    return FinalAnswer(answer) if answer.strip("()") else None


def _call_arguments(name: str, words_after: str, input_text: str | None) -> ParsedArguments:
    """Return the arguments of a call: under a label, after the name, or in the lines below it."""
    if input_text is not None:
        bare_input = input_text.strip().strip("`")
        if bare_input.startswith(f"{name}("):  # the name is repeated
            return read_bracketed(bare_input[len(name) :])
        parsed = read_arguments(input_text)
        if parsed[0]:
            return parsed
    words_after = words_after.lstrip(_EMPHASIS)
    if words_after[:1] in ("(", "（", "["):
        return read_bracketed(words_after)
    is_colon = words_after[:1] in (":", "：")
    line, _, below = words_after[is_colon:].partition("\n")
    if not line.strip(" \t,;|-"):
        members = read_members(below[: members_end(below)].rstrip("\n"))
        if members:
            return members, ()
    words = words_after[is_colon:].lstrip(" \t\n,;|-").rstrip()
    begins = words.startswith(("{", "[", '"', "“", "`", "~~~", "http")) or begins_member(words, 0)
    is_one_line = bool(line.strip()) or "\n" not in words
    return read_arguments(words) if begins or (is_colon and is_one_line) else ({}, ())


def _split_name(words: str, *, is_announced: bool = False) -> tuple[str, str]:
    """Return the name of the tool on the first line of an action, and the words after it."""
    line, _, below = words.partition("\n")
    stripped = line.lstrip(_EMPHASIS)
    if bracketed := re.match(r"[\[(<【]\s*([^\[\](){}<>【】\n]{1,80})[\])>】]", stripped):
        return clean_name(bracketed[1]), f"{stripped[bracketed.end() :]}\n{below}"
    name_end = _NAME_END.search(line, 0, _MAX_NAME)
    if name_end is None or name_end.start() == 0:
        return clean_name(_PAUSE.sub("", line[:_MAX_NAME])), f"\n{below}"
    name, words_after = clean_name(line[: name_end.start()]), words[name_end.start() :]
    if words_after[0] in ":：" and announces_tool_name(name) and not is_announced:
        return _split_name(words_after[1:], is_announced=True)
    return name, words_after


def _object_action(text: str) -> ParsedStep:
    try:
        step, _ = read_object(text, tagged=True)
    except LenientJSONError as error:
        return ParseProblem("turn", str(error))
    return step or ParseProblem("no tool")


def _opens_object(text: str) -> bool:
    at = skip_space(text, 0)
    if text.startswith("[", at):
        at = skip_space(text, at + 1)
    return text.startswith("{", at) and opens_object(text, at)


def _without_fence(text: str) -> tuple[str, bool]:
    """Return the words in a fence at the beginning of a text, and whether there is a fence."""
    if not (opened := _FENCED.match(text)) or not opened["mark"]:
        return text[opened.end() if opened else 0 :].strip(), False
    return _FENCE_CLOSES.split(text[opened.end() :], maxsplit=1)[0].strip(), True


# The arguments of a call.


def read_arguments(words: str) -> ParsedArguments:
    """Read arguments: an object, also in a list or a string, or bare text.

    Bare text is the whole content of a fence, the lines of the form `name: value`, or one line.
    """
    text, is_fenced = _without_fence(words)
    if not is_fenced:
        text = _PAUSE.sub("", text) if "PAUSE" in text[-_MAX_NAME:] else text
        text = text.lstrip("*_")
        text = text.strip("`") if not text.startswith("``") else text
        if text[:1] not in ("{", "[") and (observed := _INVENTED.search(text)):
            text = text[: observed.start()].rstrip()
    if text[:1] in ("{", "｛"):
        return _object_arguments(text)
    if (lead := _LEAD.match(text)) and _opens_object(text[lead.end() :]):
        return _object_arguments(_without_fence(text[lead.end() :])[0])
    if text.startswith("[") and text[1:].lstrip()[:1] in ("{", '"', "'", "]"):
        listed = scan(text, 0)
        match listed.value:
            case [dict() | str() as single]:
                return single, listed.notes
            case values:
                return text[: listed.end] if values else {}, listed.notes
    return _quoted_arguments(text) or _unquoted_arguments(text, is_fenced=is_fenced)


def _object_arguments(text: str) -> ParsedArguments:
    if text.startswith('{\\"'):
        text = text.replace('\\"', '"')
    is_doubled = text.startswith("{{")  # the braces of a template
    if text[0] != "{" or not opens_object(text, int(is_doubled)):
        raise LenientJSONError("the braces hold no key in quotes with a colon after it")
    scanned = scan(text, int(is_doubled))
    assert isinstance(scanned.value, dict)
    return scanned.value, (*(["repaired JSON: doubled braces"] * is_doubled), *scanned.notes)


def _quoted_arguments(text: str) -> ParsedArguments | None:
    """Read a text that is a string, or a string that contains an object."""
    scanned = scan_quoted(text)
    if scanned is None or text[scanned.end :].partition("\n")[0].strip(_EMPHASIS + ".,;"):
        return None
    value = str(scanned.value)
    return _object_arguments(value.lstrip()) if _opens_object(value) else (value, scanned.notes)


def read_bracketed(text: str) -> ParsedArguments:
    """Read the arguments in the brackets of a call: `("x")`, `(a=1)`, `({...})`, `[x]`."""
    inside = skip_space(text, 1)
    is_string = opens_string(text[inside : inside + 1])
    if text[0] == "(" and begins_member(text, inside) and not is_string:
        scanned = scan(text, 0, len(text))
        assert isinstance(scanned.value, dict)
        return scanned.value, scanned.notes
    if text.startswith("{", inside):
        return _object_arguments(text[inside:])
    if is_string:
        scanned_string = scan_string(text, inside, len(text))
        if re.match(r"\s*+,?\s*+(?:[)）\]]|\Z)", text[scanned_string.end :]):
            return str(scanned_string.value) or {}, scanned_string.notes
    line = text.partition("\n")[0]
    closed = line.rfind({"(": ")", "（": "）"}.get(text[0], "]"))
    if closed < 0:
        raise LenientJSONError(f"the bracket {text[0]} is never closed")
    return _text_arguments(line[1:closed].strip())


def _unquoted_arguments(text: str, *, is_fenced: bool) -> ParsedArguments:
    end = len(text) if is_fenced else members_end(text)
    words = text[:end].strip() or text.partition("\n")[0].strip()
    words = without_closing_tags(words)
    words = words.strip(_EMPHASIS) if words.endswith(("`", "**")) else words
    if link := _LINK.fullmatch(words):
        words = link[1] or link[2]
    if words.startswith(("http://", "https://")):
        words = words.replace("\\_", "_")  # as in Markdown; no address contains a backslash
    return _text_arguments(words)


def _text_arguments(words: str) -> ParsedArguments:
    if _PYTHON.match(words):
        raise LenientJSONError("it is an expression of Python rather than a value")
    return ({} if not words or _NAMES.get(words.casefold()) == "nothing" else words), ()


# Calls in tags.

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
"""The name of a tool inside the tag of a call."""
_AROUND: Final = re.compile(
    r"</(?:function|invoke|arguments|parameters|tool|input)>\s*"
    r"|\A\s*<(?:arguments|parameters|input|args)>"
)


_NESTED: Final = re.compile(r"\A\s*<(?:tool_call|function_call)>")


def call_in(body: str, tag: Directive) -> ParsedStep | None:
    """Return the call in the content or the attributes of a tag."""
    attributes = {
        match["name"]: unescape(match["value"] or match["bare"] or "")
        for match in _ATTRIBUTE.finditer(tag.attributes)
    }
    names = [attributes.pop(key, "") for key in ("name", "tool", "function")]
    tag_name = re.match(r"=\s*[\"']?([\w.-]{1,80})", tag.attributes)
    tool = next(filter(None, (*names, tag_name[1] if tag_name else "")), "")
    identifier = attributes.pop("id", "")
    tool = tool or ("" if is_known_tag(tag.name) else tag.name)
    body = _NESTED.sub("", body)
    body, _ = _without_fence(body)
    body = body.replace("&quot;", '"') if body.startswith("{&quot;") else body
    if not tool and (naming := _NAMING.match(body)):
        tool = next(filter(None, naming.group("attribute", "element", "word", "own")))
        body = body[naming.end() :]
    try:
        step = _named_call(tool, attributes, body, tag) if tool else _unnamed_call(body)
    except LenientJSONError as error:
        match = re.search(r"[\"'](?:name|tool|action)[\"']\s*:\s*[\"']([\w.-]{1,80})", body)
        tool = tool or (match[1] if match else "")
        return ParseProblem("arguments" if tag.closed or tool else "turn", str(error), tool)
    return replace(step, id=identifier) if isinstance(step, ToolCall) and identifier else step


def _named_call(tool: str, attributes: dict[str, str], body: str, tag: Directive) -> ParsedStep:
    words = _AROUND.sub("", body).strip()
    if words.startswith("{"):
        return read_action(tool, words) or ParseProblem("no tool")
    arguments = attributes.pop("arguments", "") or attributes.pop("input", "") or attributes
    if arguments:
        return step_named(tool, arguments)
    if not tag.closed and re.search(r"<(?:parameter|arg_value)[^<]*\Z", body):
        raise LenientJSONError("a parameter is never closed")
    for parameter in _PARAMETERS:
        pairs = ((pair["name"], pair["value"]) for pair in parameter.finditer(words))
        if values := {name.strip(): unescape(value).strip() for name, value in pairs}:
            return step_named(tool, values)
    return read_action(tool, words or None) or ParseProblem("no tool")


def _unnamed_call(body: str) -> ParsedStep | None:
    if not body.startswith(("{", "[")):
        return read_action(body, None) if body else None
    steps: list[ParsedStep] = []
    while body.startswith(("{", "[")) and len(steps) < _MAX_CALLS:
        step, end = read_object(body, tagged=True)
        if step is None:
            is_none = re.search(r"[\"'](?:name|tool|action)[\"']\s*:", body)
            return None if is_none else ParseProblem("no tool")
        steps.append(step)
        body = body[end:].lstrip() if isinstance(step, ToolCall) else ""
    first, *later_steps = steps
    further_calls = [
        call for step in later_steps if isinstance(step, ToolCall) for call in step.calls
    ]
    return (
        replace(first, further_calls=(*first.further_calls, *further_calls))
        if isinstance(first, ToolCall)
        else first
    )
