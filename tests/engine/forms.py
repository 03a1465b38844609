"""The form of a step as a grammar, made from what a dialect itself writes."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import FinalAnswer, ToolCall

HOLE: Final = "@@"
PAGE: Final = "https://discography.example/single"
ELSEWHERE: Final = "11111111-2222-4333-8444-555555555555"

_ID: Final = {"enum": ["C1", "C2", "C3", "C9", "unknown", ELSEWHERE]}
_RELEASE: Final = {"enum": ["C1.R1", "C2.R1", "C3.R1", None]}
_SURE: Final = {"enum": [0.9, "90%", "high", 1, 0.95, "0.99", 0.7, "low"]}
_FACT: Final = {
    "type": "object",
    "properties": {
        "about": {"enum": ["C1", "C2", "C1.R1", "C7", ""]},
        "field": {"enum": ["first_release_date", "title"]},
        "value": {"enum": ["1975-10-31", "1975-09-02", "1975", "1974-01-01", "NaN"]},
        "quote": {"enum": ["out on 31 October 1975", "never said", ""]},
        "source": {"enum": [PAGE, "1", "", "https://never-read.example/"]},
    },
    "required": ["about", "field", "value", "quote", "source"],
    "additionalProperties": False,
}


def form_of(dialect: Dialect, *, bounded: bool) -> str:
    """Return a grammar in llguidance's Lark: one call of a tool, or one final answer.

    Its confidence is `bounded`, or any number that JSON can write.
    """
    acts = (
        dialect.render(ToolCall("web_search", {"query": HOLE}, HOLE)),
        dialect.render(ToolCall("web_fetch", {"url": PAGE}, HOLE)),
    )
    finish = dialect.render(FinalAnswer(f"{HOLE}{HOLE}", HOLE))
    return "\n".join(_rules((*acts, finish), _answer(_SURE if bounded else {"type": "number"})))


def _answer(confidence: Mapping[str, object]) -> Mapping[str, object]:
    return {
        "type": "object",
        "properties": {
            "crg_mbid": _ID,
            "rr_mbid": _RELEASE,
            "confidence": confidence,
            "rationale": {"type": "string", "maxLength": 12},
            "facts": {"anyOf": [{"const": []}, {"type": "array", "items": _FACT, "maxItems": 2}]},
        },
        "required": ["crg_mbid", "rr_mbid", "confidence", "rationale", "facts"],
        "additionalProperties": False,
        "x-guidance": {"whitespace_flexible": False},
    }


def _rules(templates: tuple[str, ...], answer: Mapping[str, object]) -> Iterator[str]:
    yield f"start: {' | '.join(f's{number}' for number in range(len(templates)))}"
    for number, template in enumerate(templates):
        yield f"s{number}: {' '.join(_parts(template))}"
    yield r"words: /[A-Za-z0-9 ,.é日本]{1,24}/"
    yield f"answer: %json {json.dumps(answer)}"


def _parts(template: str) -> Iterator[str]:
    """Yield the literal parts of a template, `words` in each hole, an answer in a double one."""
    for number, around in enumerate(template.split(f"{HOLE}{HOLE}")):
        if number:
            yield "answer"
        for place, literal in enumerate(around.split(HOLE)):
            if place:
                yield "words"
            if literal:
                yield json.dumps(literal)
