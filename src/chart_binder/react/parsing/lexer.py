"""A reply without unseen characters and markup; its native tokens become tags."""

import re
import unicodedata
from dataclasses import replace
from functools import partial
from typing import Final

from chart_binder.react.parsing.lenient_json import encodable_text
from chart_binder.react.parsing.thinking import MAX_MARKS, Spoken, is_used, strip_thinking

_MAX_NEARBY: Final = 400
_MAX_TOKENS: Final = 64
_MOST_SIGNS: Final = {
    "<": 1024,
    "\n": 4096,
    "`": 2048,
    "\\": 8192,
    "&": 2048,
    " to=": 128,
    "\ufffd": 2048,
}
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
    | {chr(0x24B6 + place): chr(0x41 + place + 6 * (place > 25)) for place in range(52)}  # noqa: PLR2004
)
_WIDE_TAG: Final = re.compile(r"[<＜][^<>＜＞\n]{1,40}[>＞]")
_LINE_END: Final = re.compile("\r\n?|[\x0b\x0c\x1c\x1d\x85\u2028\u2029]")
_UNLIKE: Final = re.compile(f"[{re.escape(''.join(map(chr, _LIKENESS)))}]")
_MARKUP: Final = re.compile(
    r"<(?=[/bseiuBSEIU])/?(?:b|strong|em|i|u|br|span)[ ]{0,2}/?>", re.IGNORECASE
)
# A step glued to the tag before it.
_GLUED: Final = re.compile(
    r"</thoughts?>(?=[ \t]*[^\s])"
    r"|<(?:response|answer|final_answer)>(?=[*_ ]{0,4}(?:Thought|Action|(?:Final )?Answer)\b)",
    re.IGNORECASE,
)


# Control tokens of the model families: another turn begins, or the model's own ends.
_TURN_END: Final = re.compile(
    r"[<\[](?:\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|call|start|im_start"
    r"|start_header_id|(?:start|end)_of_role|(?:START|END)_OF_TURN_TOKEN|im_user|user|human|system"
    r"|tool|ipython|environment|USER_TOKEN|SYSTEM_TOKEN|assistant_end|end_message|user_start)\|>?\]?"
    r"|\|turn>|turn\|>|/s>|eos>|(?:end|start)_of_turn>"
    r"|/?INST\]|｜(?:end▁of▁sentence|User|System)｜>)"
)
_OWN_TURN: Final = re.compile(
    r"\s*(?:(?:<s>|<bos>|<\|begin_of_text\|>|assistant(?=\s*[<\n])|model(?=\n)|<\|(?:im_start|start"
    r"|start_header_id|end_header_id|start_of_role|end_of_role|im_end|eot_id|end|START_OF_TURN_TOKEN"
    r"|CHATBOT_TOKEN|assistant|assistant_start|im_assistant|im_middle)\|>|<\|turn>(?=model\n)|<(?:start|end)_of_turn>|</s>|\[/INST\]"
    r"|<｜(?:Assistant|end▁of▁sentence)｜>|\[\|assistant\|\])\s*)+"
)
_TURN_SIGNS: Final = ("|>", "|turn>", "</s>", "eos>", "_turn>", "INST]", "｜>", "|]")
_OTHER_TURN: Final = re.compile(r"\s*(?!(?:assistant|model)\b)[a-z_]+\s*(?:\n|<)")
_NAME: Final = r"[ ]{0,2}(?:functions\.)?([\w.-]{1,80})(?::\d{1,6})?[ ]{0,2}"
_CONSTRAIN: Final = (
    r"(?:<\|channel\|>\w{1,16}[ ]{0,2})?(?:<\|constrain\|>)?(?:json|code)?[ ]{0,2}<\|message\|>"
)
_OF_ASSISTANT: Final = r"(?:<\|start\|>assistant)?[ ]?(?:<\|channel\|>\w{1,16}[ ])?"
_CALL: Final = '\n<tool_call name="{}">'
_TOKENS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        # DeepSeek (older ones have the word `function` before the name), Kimi
        (rf"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?{_NAME}(?:<｜tool▁sep｜>|\n)", _CALL),
        (r"<(/?)(?:｜DSML｜|\w{1,12}:(?=tool_call|function_call|invoke|parameter))", "<{}"),
        (r"<\|(?:START|END)_RESPONSE\|>", "\n"),  # Command R
        (r"(?:<\|message_model\|>)?<\|content(?:_text)?\|>", "\n"),  # Inkling, Solar
        (r"(?:<\|message_model\|>)?<\|content_invoke_tool_json\|>", "\n<tool_call>"),
        (rf"<\|tool_call>\s?call:{_NAME}(?=\{{)", _CALL),  # Gemma 4
        (r"<tool_call\|>", "</tool_call>"),
        (r"<\|\"\|>", '"'),
        (r"<\|tool_response>", "\n<tool_response>"),
        (r"<\|open\|>call tool=\"([\w.-]{1,80})\"[^<\n]{0,40}<\|sep\|>", _CALL),  # Kimi K3
        (r"<\|open\|>argument key=\"([\w-]{1,64})\"[^<\n]{0,40}<\|sep\|>", "<parameter={}>"),
        (r"<\|close\|>argument<\|sep\|>", "</parameter>"),
        (r"<\|close\|>call<\|sep\|>", "</tool_call>"),
        (r"<\|(?:open|close)\|>(?:response|tools)<\|sep\|>", "\n"),
        (rf"<\|tool_call_begin\|>{_NAME}<\|tool_call_argument_begin\|>", _CALL),
        (r"<(?:｜tool▁calls▁begin｜|\|tool_calls?_section_begin\|)>", "\n<tool_calls>"),
        (r"<(?:｜tool▁calls▁end｜|\|tool_calls?_section_end\|)>", "</tool_calls>"),
        (r"<(?:｜tool▁call▁end｜|\|tool_call_end\|)>", "</tool_call>"),
        (r"<｜tool▁outputs?▁begin｜>|\[TOOL_RESULTS\]", "\n<tool_response>"),
        (r"<｜tool▁outputs?▁end｜>|\[/TOOL_RESULTS\]", "</tool_response>\n"),
        (r"\[TOOL_CALLS\]", "\nAction: "),  # Mistral
        (r"(?:<\|end\|>)?<\|start\|>assistant(?=<\|channel\|>)", "\n"),
        # gpt-oss writes messages in channels; one with an address is a call
        (rf"(?=[< t]){_OF_ASSISTANT}to={_NAME}{_CONSTRAIN}", _CALL),
        (  # gpt-oss behind a server that removed the tokens
            (
                r"(?:assistant(?:commentary|analysis)?|\Acommentary) to=(?:functions\.)?"
                r"([\w.-]{1,80}?)(?:commentary|analysis)?[ ]?(?:json|code)?(?=\s{0,2}\{)"
            ),
            _CALL,
        ),
        (r"<\|channel\|>final[^<\n]{0,40}<\|message\|>(?=\s*(?:\{|```))", "\nFinal Answer: "),
        (r"<\|channel\|>final[^<\n]{0,40}<\|message\|>", "\n"),
        (r"<\|channel\|>commentary[^<\n]{0,40}<\|message\|>", ""),
    )
)
"""Tokens of a model's own for calls, which a server let through as text, with what they mean."""
_TOKEN_SIGNS: Final = ("<|", "|>", "｜", "[TOOL_", " to=", ":tool_call>", ":function_calls>")


def _own_turn(text: str) -> str:
    """Cut where a control token ends the turn, leaving out those before the first word."""
    if not any(sign in text for sign in _TURN_SIGNS):
        return text
    leading = _OWN_TURN.match(text)
    start = leading.end() if leading else 0
    if start and _OTHER_TURN.match(text, start):
        return ""
    ends = (end for end in _TURN_END.finditer(text, start) if is_used(text, end))
    first = next(ends, None)
    return text[start : first.start() if first else len(text)]


def speak(reply: str, dialect_tags: frozenset[str] = frozenset()) -> Spoken:
    """Return a reply without thoughts and unseen characters, its native tokens as tags."""
    text = _LINE_END.sub("\n", encodable_text(reply))
    if any(text.count(sign) > most for sign, most in _MOST_SIGNS.items()):
        return Spoken("", countless=True)
    text = see(text)
    if "<" in text:
        text = _MARKUP.sub(lambda tag: "" if is_used(text, tag) else tag[0], text, count=MAX_MARKS)
        text = _GLUED.sub(
            lambda tag: f"{tag[0]}\n" if is_used(text, tag) else tag[0], text, count=MAX_MARKS
        )
    spoken = strip_thinking(text, dialect_tags)
    text = tokens_as_tags(spoken.text)
    own_turn = _own_turn(text)
    is_cut = len(own_turn) < len(text)
    notes = (*spoken.notes, *["text after the end of the turn discarded"] * is_cut)
    return replace(spoken, text=own_turn, notes=notes)


def without_markup(text: str) -> str:
    """Return a text without the tags of HTML for emphasis and the like."""
    return _MARKUP.sub("", text)


def see(text: str) -> str:
    """Return a text without characters that nobody sees, its signs as ASCII has them."""
    if text.isascii() and "\x1b" not in text:
        return text
    text = _UNSEEN.sub("", text)
    if "＜" in text or "<ｔ" in text:
        text = _WIDE_TAG.sub(lambda tag: unicodedata.normalize("NFKC", tag[0]), text)
    return text.translate(_LIKENESS) if _UNLIKE.search(text) else text


def tokens_as_tags(text: str) -> str:
    """Return a reply with native tokens of calls as tags, unless words before quote them."""
    if not any(sign in text for sign in _TOKEN_SIGNS):
        return text
    for pattern, meaning in _TOKENS:
        if "channel" not in pattern.pattern or "<|channel|>" in text or " to=" in text:
            text = pattern.sub(partial(_tag, text, meaning), text, count=_MAX_TOKENS)
    return text


def _tag(text: str, meaning: str, token: re.Match[str]) -> str:
    before = text[text.rfind("\n", 0, token.start()) + 1 : token.start()][-_MAX_NEARBY:].strip()
    is_quoted = before.startswith(">") or before.endswith(("'", '"', "`", "“", "(", "«"))
    if is_quoted or not is_used(text, token):
        return token[0]
    return meaning.format(*(group or "" for group in token.groups()))
