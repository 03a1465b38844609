"""What a reply is constrained to, exactly: a grammar over tokens, by llguidance."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import llguidance
import numpy as np
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

from engine.vocabulary import END_ID, TOKENS, tokens_of

BOUNDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})


class _Vocabulary:
    """The vocabulary as llguidance wants it told."""

    eos_token_id = END_ID
    bos_token_id = None
    tokens: Final = TOKENS
    special_token_ids = (END_ID,)

    def __call__(self, text: bytes) -> list[int]:
        return tokens_of(text)


@cache
def _tokenizer() -> Any:
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Vocabulary()))


@cache
def of_schema(schema: str, *, flexible: bool = True) -> str:
    """Return the grammar of the JSON that a schema describes."""
    overrides = {"whitespace_flexible": flexible}
    grammar: str = llguidance.LLMatcher.grammar_from_json_schema(schema, overrides=overrides)
    return grammar


def of_lark(text: str) -> str:
    """Return a grammar written in llguidance's kind of Lark."""
    grammar: str = llguidance.LLMatcher.grammar_from_lark(text)
    return grammar


def unbounded(schema: Any) -> Any:
    """Return a schema without the bounds of its numbers, as llama.cpp's converter reads it."""
    if isinstance(schema, Mapping):
        return {key: unbounded(value) for key, value in schema.items() if key not in BOUNDS}
    return [unbounded(each) for each in schema] if isinstance(schema, list) else schema


class Constraint:
    """One reply's way through a grammar."""

    def __init__(self, grammar: str) -> None:
        self._matcher = llguidance.LLMatcher(_tokenizer(), grammar)
        self._bits = allocate_token_bitmask(1, len(TOKENS))
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    def allowed(self) -> Any:
        """Return which tokens may be next, as booleans."""
        fill_next_token_bitmask(self._matcher, self._bits)
        bits = np.unpackbits(self._bits.view(np.uint8), bitorder="little")
        return bits[: len(TOKENS)].astype(bool)

    def take(self, token: int) -> None:
        """Go on with a token that was allowed."""
        if not self._matcher.consume_token(token):
            raise ValueError(self._matcher.get_error())
