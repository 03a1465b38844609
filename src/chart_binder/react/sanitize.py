"""Sanitizes text that tools return, so that nothing in it is read as a part of the protocol.

Labels, control tokens of model families and invisible characters are removed or replaced by
similar harmless characters. The words stay legible to a person and to the model. `reserved` are
further labels, in lower case, that only the program may write: what it adds to observations.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from chart_binder.react.conversation import encodable
from chart_binder.react.parsing.advice import NO_DIALECT
from chart_binder.react.parsing.answers import unlabelled_answer
from chart_binder.react.parsing.labels import label_at
from chart_binder.react.parsing.lenient_json import opens_object
from chart_binder.react.parsing.steps import read_reply
from chart_binder.react.steps import Document, FinalAnswer, Observation, ToolCall

_COLONS: Final = str.maketrans(dict.fromkeys("∶ː˸꞉։፡", ":"))
# Invisible characters: controls, format marks (joiners, direction, tags), lone surrogates, private
# use. Unassigned characters stay, because they may be newer than Python's tables.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co"})
_VARIATION_SELECTORS = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef\u115f\u1160\u3164\uffa0\u034f]"
)
_EXCESS_MARKS = re.compile(r"([\u0300-\u036f]{3})[\u0300-\u036f]+")
# <|im_end|>, <s>, </think>, <tool_call>, <<SYS>>: every angle bracket that opens a word. The parser
# allows spaces (`< response >`), so the words of the protocol are matched after spaces, too.
_OWN_TAGS = (
    r"think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad|cot|response|observations?"
    r"|answer|final[_-]?(?:answer|response)|tool[_-]?\w{1,12}|function[_-]?\w{0,12}|invoke"
    r"|param(?:eter)?|search[_-]?results?|results?|action|pause"
)
_ANGLED = re.compile(
    rf"<(?=[A-Za-z|/!?<_]|\s{{1,4}}/?\s{{0,4}}(?:{_OWN_TAGS})(?:\s{{0,4}}>|\s{{1,4}}\w{{1,12}}=))",
    re.IGNORECASE,
)
_SPACED_END = re.compile(rf"(‹\s{{0,4}}/?\s{{0,4}}(?:{_OWN_TAGS})\s{{1,4}})>", re.IGNORECASE)
_ANGLED_END = re.compile(r"(?<=[A-Za-z0-9|/>_\"'])>")
# Llama 2, Mistral, GLM, BERT, InternLM2, LM Studio: by name, because [PIAS] is a record label.
# EXAONE has names between bars: [|user|].
_BRACKETED = re.compile(
    r"\[(/?\s?(?:INST|SYS|(?:END_)?TOOL_[A-Z]{1,16}|AVAILABLE_TOOLS|SYSTEM_PROMPT|MODEL_SETTINGS"
    r"|THINK|ARGS|CALL_ID|UNUSED_TOKEN_\d{1,6}|IMG|IMG_BREAK|IMG_END|PREFIX|SUFFIX|MIDDLE"
    r"|CLS|SEP|PAD|BOS|EOS|g?MASK|(?:BEGIN|END)\sFINAL\sRESPONSE|\|\s?/?\w{1,32}\s?\|))\]",
    re.IGNORECASE,
)
_MINIMAX = re.compile(r"\](~!?b)[\[\]]|\[(e~)\[")
_KIMI = str.maketrans("◁▷", "‹›")
# Words that mark thinking: those of Granite, and those of gpt-oss if a server removed the tokens.
_WORDED = re.compile(
    r"\bhere(?:['’]s| is) my (?:thought process|response)(?=:)"
    r"|assistant(?=final|analysis|commentary|\sto=)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"`{3,}|~{3,}")
# Alpaca and Vicuna: everyday words, which begin a turn only as a heading.
_HEADED = re.compile(r"(#{2,4}\s{0,4}(?:instructions?|input|response))\s{0,4}:", re.IGNORECASE)
_PAUSE = re.compile(r"^([\s*_`.-]{0,8})PAUSE([\s*_`.-]{0,8})$")
_ROLES: Final = ("system", "user", "assistant", "human", "developer")
"""Other speakers; most of these words are not labels of the protocol."""
LOOKED_UP: Final = "Already looked up:"
"""The label of the results of opening calls."""
_LABELS: Final = (*_ROLES, LOOKED_UP.removesuffix(":").casefold())
_WORDS: Final = r"(?<![^\W\d_])[^\W\d_]++(?>(?:[ _-]{1,3}+[^\W\d_]++){0,5})"
# The parser also reads numbered labels: Action 1, Observation[2], Action Input (JSON)
_MARKS: Final = r"[ *_`#\"'\])】>✿]{0,8}+"
_SET_OFF: Final = re.compile(
    rf"(?P<words>{_WORDS})(?P<after>{_MARKS}(?>(?:[\[(#]?\d{{1,3}}+[\])]?)?)"
    rf"(?>(?:[ ]?\([^()\n]{{0,40}}+\))?){_MARKS})"
    r"(?:(?P<colon>[:∶ː꞉։፡])|[-–—=]{0,3}+>?+[ ]{0,2}+(?=\{))"
)
_NOT_YET_MARKED: Final = re.compile(
    r"(?<![‹\w])[^\W\d_]++(?>(?:[ _-]{1,3}+[^\W\d_]++){0,4})(?![›\w])"
)
_SPACES: Final = re.compile(r"[ _-]+")
_MAX_WORDS: Final = 5
_MAX_LETTERS: Final = 12
"""The longest name in a script without spaces."""
_MAX_TRIES: Final = 3
_OBJECT: Final = re.compile(r"^(?:functools)?[ ]?(?:\[[ ]?){0,3}(?=\{)", re.MULTILINE)
_CALL: Final = re.compile(
    r"^[ `]{0,4}(?:\[[ ]?)?(?:functions\.)?[A-Za-z]\w{1,63}+(?=\((?:[\"'“{]|[A-Za-z]\w{0,63}+ ?=))",
    re.MULTILINE,
)
_MAY_BE_STEP: Final = re.compile(r"[({\[<]")
"""A character that every call or answer without a label contains."""
_MAX_PARSED_LINES: Final = 200
_QUOTE_PREFIX: Final = "> "
"""The prefix of a block quote, which no dialect reads as a step."""


def sanitize(text: str, reserved: frozenset[str] = frozenset()) -> str:
    """Return text without invisible characters, control tokens, fences or labels of the protocol.

    Lines are kept, except empty ones at both ends; other white space becomes one space.
    """
    lines = (_sanitized_line(line, reserved) for line in text.splitlines())
    return _quote_steps(_quote_objects("\n".join(lines).strip("\n")))


def one_line(
    text: str, max_chars: int | None = None, reserved: frozenset[str] = frozenset()
) -> str:
    """Return sanitized text on one line, cut to `max_chars` characters."""
    line = _quote_objects(_sanitized_line(text, reserved))
    line = _quoted(line) if unlabelled_answer(line) else line
    return line if max_chars is None or len(line) <= max_chars else f"{line[: max_chars - 1]}…"


def bounded(text: str, max_chars: int) -> str:
    """Return at most `max_chars` characters of a text; a last line says what was cut."""
    if len(text) <= max_chars:
        return text
    note = f"\n[cut: the first {{}} of {len(text)} characters]"
    room = max(0, max_chars - len(note) - 4)
    return text[:room].rstrip() + note.format(room)


_MAX_HEADING = 200
"""The longest title or heading of a document, in characters."""
_MAX_HEADINGS = 6


def sanitized_observation(
    observation: Observation, reserved: frozenset[str] = frozenset()
) -> Observation:
    """Return an observation whose content and documents are sanitized."""
    return replace(
        observation,
        content=sanitize(observation.content, reserved),
        sources=tuple(map(encodable, observation.sources)),
        error=observation.error and encodable(observation.error),
        documents=tuple(_inert_document(document, reserved) for document in observation.documents),
    )


def _inert_document(document: Document, reserved: frozenset[str]) -> Document:
    line = partial(one_line, reserved=reserved)
    return replace(
        document,
        address=encodable(document.address),
        title=line(document.title),
        headings=tuple(map(line, document.headings)),
        text=sanitize(document.text, reserved),
        aliases=tuple(map(encodable, document.aliases)),
        links=tuple((line(text), encodable(address)) for text, address in document.links),
    )


def bounded_observation(observation: Observation, max_chars: int) -> Observation:
    """Return an observation with at most `max_chars` characters each of content and of documents.

    Documents that do not fit are dropped.
    """
    content = bounded(observation.content, max_chars)
    documents = tuple(_bounded_documents(observation.documents, max_chars))
    return replace(observation, content=content, documents=documents)


def _bounded_documents(documents: Iterable[Document], chars_left: int) -> Iterator[Document]:
    for document in documents:
        if chars_left <= 0:
            return
        text = document.text
        if len(text) > chars_left:  # a date that is cut would be another date
            text = text[: chars_left + 1].rpartition(
                "\n" if "\n" in text[: chars_left + 1] else " "
            )[0]
        headings = tuple(heading[:_MAX_HEADING] for heading in document.headings[-_MAX_HEADINGS:])
        yield replace(document, title=document.title[:_MAX_HEADING], headings=headings, text=text)
        chars_left -= len(document.text) + 1


def _sanitized_line(text: str, reserved: frozenset[str]) -> str:
    return _escape_labels(_without_tokens(" ".join(_visible_text(text).split())), reserved)


def _visible_text(text: str) -> str:
    """Normalize look-alike characters (NFKC) and drop invisible ones."""
    if text.isascii() and text.isprintable():
        return text
    folded = unicodedata.normalize("NFKC", text).translate(_COLONS)
    visible = "".join(
        character
        for character in folded
        if character.isspace() or unicodedata.category(character) not in _INVISIBLE
    )
    return _EXCESS_MARKS.sub(r"\1", _VARIATION_SELECTORS.sub("", visible))


def _without_tokens(text: str) -> str:
    text = _MINIMAX.sub(r"(\1\2)", _FENCE.sub("'''", text).translate(_KIMI))
    text = _SPACED_END.sub(r"\1›", _ANGLED_END.sub("›", _ANGLED.sub("‹", text)))
    text = _PAUSE.sub(r"\1(PAUSE)\2", _BRACKETED.sub(r"(\1)", text))
    text = _WORDED.sub(r"‹\g<0>›", text)
    return _HEADED.sub(r"\1 –", text)


def _escape_labels(line: str, reserved: frozenset[str]) -> str:
    """Return a line whose labels are marked as mere words: `‹Final Answer› – 7`."""
    if ":" in line or "{" in line or not line.isascii():
        line = "".join(_with_marked_labels(line, reserved))
    for _ in range(_MAX_TRIES):
        label = label_at(line)
        if label is None or label.kind == "observation":
            return line
        line = _NOT_YET_MARKED.sub(r"‹\g<0>›", line, count=1)
    return _quoted(line)


def _with_marked_labels(line: str, reserved: frozenset[str]) -> Iterator[str]:
    at = 0
    while label := _SET_OFF.search(line, at):
        words, marks = label["words"], label["after"]
        yield line[at : label.start()]
        is_last = not line[label.end() :].strip()
        start = next((at for at in _name_starts(words)
                      if _is_label(words[at:], reserved, is_heading=is_last)), None)  # fmt: skip
        if start is None:
            yield words
            at = label.end("words")
        else:
            set_off = f"{marks.rstrip()} –" if label["colon"] else label[0][len(words) :]
            yield f"{words[:start]}‹{words[start:]}›{set_off}"
            at = label.end()
    yield line[at:]


def _name_starts(words: str) -> Iterator[int]:
    """Yield where a name may begin: at the last words, or at letters if there are no spaces."""
    starts = [0, *(space.end() for space in _SPACES.finditer(words))]
    yield from starts[-_MAX_WORDS:]
    if not words[-1].isascii():
        yield from range(max(starts[-1] + 1, len(words) - _MAX_LETTERS), len(words))


@lru_cache(4096)
def _is_label(words: str, reserved: frozenset[str], *, is_heading: bool) -> bool:
    """Return whether words before a colon are a label of the protocol or one of `reserved`.

    If they end their line and so are a heading (`is_heading`), several words for an observation
    (`Search results:`) are allowed.
    """
    plain = _SPACES.sub(" ", words.casefold())
    if plain in _LABELS or plain in reserved:
        return True
    label = label_at(f"{words}:")
    return label is not None and not (is_heading and " " in words and label.kind == "observation")


def _quote_objects(text: str) -> str:
    """Quote the lines of a text that begin with an object or with a call in brackets."""
    if "{" in text:
        text = _OBJECT.sub(
            lambda at: f"{_QUOTE_PREFIX}{at[0]}" if opens_object(text, at.end()) else at[0], text
        )
    return _CALL.sub(rf"{_QUOTE_PREFIX}\g<0>", text) if "(" in text else text


def _quote_steps(text: str) -> str:
    """Quote each line that is read as a step, or all lines if the whole text is read as one."""
    if not _MAY_BE_STEP.search(text):
        return text
    parsed = 0
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if not line.startswith(">") and _MAY_BE_STEP.search(line):
            parsed += 1
            is_step = parsed > _MAX_PARSED_LINES or _is_step(line)
            lines[place] = _quoted(line) if is_step else line
    text_with_quotes = "\n".join(lines)
    return "\n".join(map(_quoted, lines)) if _is_step(text_with_quotes) else text_with_quotes


def _is_step(text: str) -> bool:
    is_read = isinstance(read_reply(text, NO_DIALECT), ToolCall | FinalAnswer)
    return is_read or unlabelled_answer(text) is not None


def _quoted(line: str) -> str:
    return line if line.startswith(">") else f"{_QUOTE_PREFIX}{line}"
