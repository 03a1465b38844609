"""What of a reply the model says in its own voice: not what it thinks, quotes or passes on."""

import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from chart_binder.react.parsing.lenient_json import encodable_text

Span: TypeAlias = tuple[int, int]

_MAX_MARKS: Final = 256
_MAX_NEARBY: Final = 400
_MAX_TOKENS: Final = 64
_LONGEST_LINE: Final = 8000
_MAX_QUOTE_MARKS: Final = 512
_MOST_SIGNS: Final = {"<": 1024, "\n": 4096, "`": 2048, "&": 2048}
"""No honest reply has more of them, and each may cost time."""
# Characters that nobody sees, and escape sequences of terminals.
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\uffa0\ufeff\ufe00-\ufe0f\U000e0000-\U000e0fff]+"
    "|\x1b\\[[0-9;]{0,16}[A-Za-z]"
)
_LIKENESS: Final = str.maketrans(
    {"＜": "<", "＞": ">", "＊": "*", "＃": "#"}
    | dict.fromkeys(
        "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
        " ",
    )
    | dict.fromkeys("∶ː˸꞉։፡﹕︓︰᛬", ":")
)
_UNLIKE: Final = re.compile(f"[{re.escape(''.join(map(chr, _LIKENESS)))}]")
_MARKUP: Final = re.compile(
    r"<(?=[/bseiupBSEIUP])/?(?:b|strong|em|i|u|p|br|span)[ ]{0,2}/?>", re.IGNORECASE
)
_THOUGHT_ENDS: Final = re.compile(r"(</(?:thought|thoughts)>)(?=[ \t]*[^\s])", re.IGNORECASE)
_THINK: Final = re.compile(
    r"[<\[◁](?=[ |/trasciTRASCI])(?:(?<=<)\|?[ ]{0,2}(?P<close>/?)[ ]{0,2}(?:antml:|seed:)?"
    r"(?P<name>think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad|cot"
    r"|inner_?(?:monologue|thoughts?))(?:[ ][^<>\n]{0,60})?[ ]{0,2}\|?>"
    r"|(?<!<)(?P<close2>/?)think[\]▷]"
    r"|(?<=<)\|(?:begin_of_thought|start_thinking)\|>"
    r"|(?<=<)(?P<closed>\|(?:end_of_thought|end_thinking)\|>))",
    re.IGNORECASE,
)
# Control tokens of the model families: another turn begins, or the model's own ends.
_TURN_END: Final = re.compile(
    r"[<\[](?:\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|call|start|im_start"
    r"|start_header_id|(?:start|end)_of_role|(?:START|END)_OF_TURN_TOKEN|im_user|user|human|system"
    r"|tool|ipython|environment|USER_TOKEN|SYSTEM_TOKEN)\|>?\]?|/s>|eos>|(?:end|start)_of_turn>"
    r"|/?INST\]|｜(?:end▁of▁sentence|User|System)｜>)"
)
_OWN_TURN: Final = re.compile(
    r"\s*(?:(?:<s>|<bos>|<\|begin_of_text\|>|assistant(?=\s*[<\n])|model(?=\n)|<\|(?:im_start|start"
    r"|start_header_id|end_header_id|start_of_role|end_of_role|im_end|eot_id|end|START_OF_TURN_TOKEN"
    r"|CHATBOT_TOKEN|assistant|im_assistant|im_middle)\|>|<(?:start|end)_of_turn>|</s>|\[/INST\]"
    r"|<｜(?:Assistant|end▁of▁sentence)｜>|\[\|assistant\|\])\s*)+"
)
_OTHER_TURN: Final = re.compile(
    r"\s*(?:user|human|system|tool|ipython|function|environment)\s*(?:\n|<)"
)
_NAME: Final = r"[ ]{0,2}(?:functions\.)?([\w.-]{1,80})(?::\d{1,6})?[ ]{0,2}"
_CONSTRAIN: Final = (
    r"(?:<\|channel\|>\w{1,16}[ ]{0,2})?(?:<\|constrain\|>)?(?:json|code)?[ ]{0,2}<\|message\|>"
)
_CALL: Final = '\n<tool_call name="{}">'
_TOKENS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (
            (
                r"<\|channel\|>analysis<\|message\|>((?:[^<]++|<(?!\|(?:end|call|start|channel)\|>))*+)"
                r"(?:<\|(?:end|call)\|>)?"
            ),
            "<think>{}</think>",
        ),
        # DeepSeek (older ones have the word `function` before the name), Kimi
        (rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?{_NAME}(?:<｜tool▁sep｜>|\n)", _CALL),
        (r"<(/?)｜DSML｜", "<{}"),
        (rf"<\|tool_call_begin\|>{_NAME}<\|tool_call_argument_begin\|>", _CALL),
        (r"<(?:｜tool▁calls▁begin｜|\|tool_calls?_section_begin\|)>", "\n<tool_calls>"),
        (r"<(?:｜tool▁calls▁end｜|\|tool_calls?_section_end\|)>", "</tool_calls>"),
        (r"<(?:｜tool▁call▁end｜|\|tool_call_end\|)>", "</tool_call>"),
        (r"<｜tool▁outputs?▁begin｜>|\[TOOL_RESULTS\]", "\n<tool_response>"),
        (r"<｜tool▁outputs?▁end｜>|\[/TOOL_RESULTS\]", "</tool_response>\n"),
        (r"\[TOOL_CALLS\]", "\nAction: "),  # Mistral
        (r"<\|tool_call_start\|>|<\|action_start\|><\|plugin\|>", "\n"),  # LFM, InternLM
        (r"<\|action_end\|>", "\n"),
        (r"(?:<\|end\|>)?<\|start\|>assistant(?=<\|channel\|>)", "\n"),
        # gpt-oss writes messages in channels; one with an address is a call
        (
            rf"(?:<\|start\|>assistant)?[ ]?(?:<\|channel\|>\w{{1,16}}[ ])?to={_NAME}{_CONSTRAIN}",
            _CALL,
        ),
        (r"<\|channel\|>final[^<\n]{0,40}<\|message\|>(?=\s*(?:\{|```))", "\nFinal Answer: "),
        (r"<\|channel\|>final[^<\n]{0,40}<\|message\|>", "\n"),
        (r"<\|channel\|>commentary[^<\n]{0,40}<\|message\|>", ""),
    )
)
"""Tokens of a model's own for calls, which a server let through as text, with what they mean."""
_TOKEN_SIGNS: Final = (
    "<｜tool",
    "｜DSML｜",
    "<|tool_call",
    "<|action_start",
    "<|channel|>",
    "[TOOL_",
    " to=",
)
_FENCE: Final = re.compile(
    r"^(?P<before>[ \t]*(?:(?:[-*+•]|\d{1,3}[.)]|[>＞])[ \t]+)*)(?P<mark>`{3,}|~{3,})"
    r"(?P<words>[^`\n]*)$",
    re.MULTILINE,
)
_QUOTE_MARK: Final = re.compile(
    r"[-\"'<~`“”„«»「」『』‹›](?:(?<=[“”„«»「」『』‹›])|(?<=\")(?:\"\")?|(?<=<)!--|(?<=-)->|(?<=~)~"
    r"|(?<=`)(?:(?<!``)`(?!`)|(?<![`\w]`)(?!`)|(?<!``)(?![`\w]))"
    r"|(?<=')(?:''?|(?:(?<=\A')|(?<=\n')|(?<=[:：] '))(?=[\w\n])|(?<==')(?=\n)"
    r"|(?<=[\w.!?]')(?=\W)))"
)
_CLOSERS: Final = {
    '"""': ('"""',), "'''": ("'''",), "<!--": ("-->",), "~~": ("~~",), '"': ('"', "”"),
    "“": ("”", '"'), "„": ("“", "”", '"'), "«": ("»",), "「": ("」",), "『": ("』",),
    "‹": ("›",), "»": ("«",), "``": ("''", "``"), "''": ("''",), "`": ("`",), "'": ("'",),
}  # fmt: skip
_REPORTS: Final = re.compile(
    r"\b(?:says?|said|saying|states?|stated|reads|wants?|wanted|tells?|told|asks?|asked|contains?"
    r"|contained|containing|shows?|showed|shown|claims?|claimed|suggests?|suggested|demands?"
    r"|instruct\w*|orders?|ordered|quot\w+|lists|includes?|included|returned|returns|writes|wrote"
    r"|print\w*|displays?|supposed|according|such as|form(?:at)? is|inject\w*|ignor\w+|repeat|never"
    r"|pretends?|bait|fake|example|template|like this|pages?|sites?|websites?|articles?|snippets?"
    r"|comments?|sources?|documents?|posts?|prompts?)\b|说|写道|要求|显示|内容|页面|网页|网站|文章|例如|引用|注入",
    re.IGNORECASE,
)
_OWN_VOICE: Final = re.compile(
    r"\A\W*(?:thought\W{1,8})?(?:based on|given|considering)\b|\bI(?:['’]ll| will| can| now)\b"
    r"|\bmy (?:final )?(?:answer|decision|conclusion)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a reply says aloud; `notes` tell what was left out.

    `thought` tells whether there was any thinking, `unclosed` that it never ended.
    """

    text: str
    notes: tuple[str, ...] = ()
    thought: bool = False
    unclosed: bool = False
    countless: bool = False


def strip_thinking(reply: str, said_in: frozenset[str] = frozenset()) -> Spoken:
    """Return a reply without its thinking, or anything after the end of the model's own turn.

    Tags named in `said_in` hold words of the turn, for they belong to its dialect. Thinking is a
    pair of tags, everything before a closing tag that nothing opened (the prompt did), or
    everything after a tag that is never closed.
    """
    text = reply
    blocks: list[Span] = []
    unclosed = False
    if any(sign in reply for sign in "<[◁"):
        marks = (mark for mark in _THINK.finditer(reply) if _is_used(reply, mark))
        tags = [
            tag
            for tag in islice(marks, _MAX_MARKS + 1)
            if (tag["name"] or "").lower() not in said_in
        ]
        if len(tags) > _MAX_MARKS:
            return Spoken("", ("thinking discarded",), thought=True, unclosed=True)
        blocks, unclosed = _thoughts(tags, len(reply))
        text = _without(reply, blocks)
    own = _own_turn(text)
    told = [(bool(blocks), "thinking discarded")]
    told.append((len(own) < len(text), "text after the end of the turn discarded"))
    notes = tuple(note for is_so, note in told if is_so)
    return Spoken(own, notes, bool(blocks), unclosed)


# A string of an object is open: its mark stands behind a sign of JSON.
_IN_STRING: Final = re.compile(r"[{:,\[][ ]{0,4}(?:\"[^\"\n]*|'[^'\n]*)\Z")


def _is_used(text: str, mark: re.Match[str]) -> bool:
    """Tell whether a tag is used rather than mentioned in quotation marks."""
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    if (
        before
        and before in "`\"'"
        and (after in "`\"'" or (before == "`" and text[mark.start() - 3 : mark.start()] != "```"))
    ):
        return False
    start = max(text.rfind("\n", 0, mark.start()) + 1, mark.start() - _LONGEST_LINE)
    line = text[start : mark.start()]
    return _IN_STRING.search(line) is None


def _thoughts(tags: list[re.Match[str]], length: int) -> tuple[list[Span], bool]:
    """Return the blocks of thinking, and whether the last one is never closed."""
    blocks: list[Span] = []
    begin: int | None = None
    for tag in tags:
        if tag["close"] or tag["close2"] or tag["closed"]:
            if begin is None:
                blocks = [(0, tag.end())]  # all before it was thought
            else:
                blocks.append((begin, tag.end()))
            begin = None
        elif begin is None:
            begin = tag.start()
    if begin is None:
        return blocks, False
    return [*blocks, (begin, length)], True


def _without(text: str, blocks: list[Span]) -> str:
    kept: list[str] = []
    at = 0
    for start, end in blocks:
        piece = text[at:start]
        is_amid_line = bool(piece.rpartition("\n")[2].strip())
        kept += [piece, " … " if is_amid_line else ""]  # nothing new may come together there
        at = end
    return "".join([*kept, text[at:]]) if blocks else text


def _own_turn(text: str) -> str:
    """Cut where a control token ends the turn, leaving out those before the first word."""
    if not any(sign in text for sign in ("|>", "</s>", "eos>", "_turn>", "INST]", "｜>", "|]")):
        return text
    leading = _OWN_TURN.match(text)
    start = leading.end() if leading else 0
    if start and _OTHER_TURN.match(text, start):
        return ""
    ends = (end for end in _TURN_END.finditer(text, start) if _is_used(text, end))
    first = next(ends, None)
    return text[start : first.start() if first else len(text)]


def speak(reply: str, said_in: frozenset[str]) -> Spoken:
    """Return what a reply says aloud, its characters seen, its native tokens as tags."""
    text = encodable_text(reply).replace("\r\n", "\n").replace("\r", "\n")
    if any(text.count(sign) > most for sign, most in _MOST_SIGNS.items()):
        return Spoken("", countless=True)
    text = see(text)
    if "<" in text:
        text = _MARKUP.sub(
            lambda tag: "" if _is_used(text, tag) else tag[0], text, count=_MAX_MARKS
        )
        text = _THOUGHT_ENDS.sub(
            lambda tag: f"{tag[0]}\n" if _is_used(text, tag) else tag[0], text, count=_MAX_MARKS
        )
    if any(sign in text[:4096] or sign in text for sign in _TOKEN_SIGNS):
        text = tokens_as_tags(text)
    return strip_thinking(text, said_in)


def without_markup(text: str) -> str:
    """Return a text without the tags of HTML for emphasis and the like."""
    return _MARKUP.sub("", text)


def see(text: str) -> str:
    """Return a text without characters that nobody sees, its signs as ASCII has them."""
    if text.isascii() and "\x1b" not in text:
        return text
    text = _UNSEEN.sub("", text)
    return text.translate(_LIKENESS) if _UNLIKE.search(text) else text


def tokens_as_tags(text: str) -> str:
    """Return a reply with native tokens of calls as tags, unless words before quote them."""
    for pattern, meaning in _TOKENS:
        if "channel" not in pattern.pattern or "<|channel|>" in text or " to=" in text:
            text = pattern.sub(partial(_tag, text, meaning), text, count=_MAX_TOKENS)
    return text


def _tag(text: str, meaning: str, token: re.Match[str]) -> str:
    line = text[text.rfind("\n", 0, token.start()) + 1 : token.start()][-_MAX_NEARBY:]
    before = line.strip()
    is_open = bool(before) and before[-1] not in ".!?:。>]})"
    if (
        before.startswith(">")
        or before.endswith(("'", '"', "`", "“", "(", "«"))
        or not _is_used(text, token)
    ):
        return token[0]
    if is_reported(line) or (is_open and is_reported(f"{line}:")):
        return token[0]
    return meaning.format(*(group or "" for group in token.groups()))


def find_fences(text: str) -> list[Span]:
    """Return what stands inside code fences, each from its opening line to its closing one.

    A fence that is never closed goes on to the end.
    """
    spans: list[Span] = []
    opened: list[re.Match[str]] = []
    if "```" not in text and "~~~" not in text:
        return spans
    for mark in islice(_FENCE.finditer(text), 4 * _MAX_MARKS):
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


def is_within(spans: list[Span], at: int) -> bool:
    """Tell whether a place is inside one of some spans."""
    return any(start <= at < end for start, end in spans)


class Quotations:
    """Which places of a text are inside a quotation that was opened before them.

    After `_MAX_QUOTE_MARKS` marks everything counts as quoted.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._seen = 0
        self._opened = ""

    def is_open_at(self, at: int) -> bool:
        """Tell whether a quotation is open at a place; places are asked for in order."""
        while self._seen < _MAX_QUOTE_MARKS:
            mark = _QUOTE_MARK.search(self._text, self._at, at + 3)
            if mark is None or mark.start() >= at:
                self._at = max(self._at, at)
                break
            self._see(mark)
            self._at = mark.end()
            self._seen += 1
        return bool(self._opened) or self._seen == _MAX_QUOTE_MARKS

    def _see(self, mark: re.Match[str]) -> None:
        sign = mark[0]
        if self._opened:
            if sign in _CLOSERS[self._opened]:
                self._opened = ""
            return
        before, after = (
            self._text[mark.start() - 1 : mark.start()],
            self._text[mark.end() : mark.end() + 1],
        )
        is_inch = sign == '"' and before.isdigit()
        if (
            sign in _CLOSERS
            and not is_inch
            and (sign != "'" or not (before.isalnum() or after in " \t"))
        ):
            self._opened = sign


_BLOCK: Final = re.compile(
    r"\n[ \t]{0,80}+(?P<open><<<|\$\$|[=\-*#~ ]{0,80}(?:begin|start)\b"
    r"|\[(?:page|quote|web)[^\]\n]*\]|\\begin\{|<(?:pre|code|q|blockquote|page|document|quote"
    r"|article|snippet|html|body|content|source|example|details|summary)\b[^>\n]*>"
    r"|<!\[cdata\[)|\n[^\w\n]{0,80}(?:>>>|\$\$|[=\-*#~ ]{0,80}end\b|\[/|\\end\{|</|\]\]>)"
)


def is_in_block(words: str) -> bool:
    """Tell whether words open a passage that is shown, and do not close it."""
    marks = list(_BLOCK.finditer(f"\n{words}\n".lower()))
    return bool(marks) and marks[-1]["open"] is not None


def is_reported(words: str) -> bool:
    """Tell whether words say that somebody else wrote what follows them right after a colon.

    An indented line belongs to what the last line above it that is not indented says.
    """
    if words.endswith("    "):
        words = re.sub(r"(?:\n(?:[ ]{4}[^\n]*|[ \t]*))*\Z", "", words[-_MAX_NEARBY * 4 :])
    line = re.sub(r"(?:<[^<>]*>|\[[^\[\]]*\])\Z", "", _last_line(words))
    is_led = line.endswith((":", "：", '"', "“", "says", "said", "reads"))
    return is_led and bool(_REPORTS.search(line)) and not _OWN_VOICE.search(line)


def _last_line(words: str) -> str:
    """Return the last sentence of the last line with letters in it, without emphasis or fence."""
    lines = [line for line in words[-_MAX_NEARBY:].split("\n") if re.search(r"\w", line)]
    return re.split(r"[.!?](?=\s)|[。！？]", (lines or [""])[-1].strip(" \t*_`~"))[-1].strip()
