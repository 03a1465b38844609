"""A prompt goes in, pieces of a reply come out, token by token."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engine.constraint import Constraint
from engine.network import Network
from engine.vocabulary import END_ID, TOKENS, tokens_of

COLDEST: Final = 0.01


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a reply is wanted. `liking` is added to the scores of all tokens before one is drawn."""

    prompt: str
    most_tokens: int
    window: int
    temperature: float
    seed: int
    liking: Any
    stop: Sequence[str] = ()
    grammar: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A piece of a reply; the last one says why it is the last, the others say nothing."""

    text: str
    reason: str | None = None
    prompt_tokens: int = 0
    tokens: int = 0


def written(network: Network, wanted: Wanted) -> Iterator[Written]:
    """Yield a reply as it is written: valid Unicode, its last piece empty."""
    prompt = _kept(tokens_of(wanted.prompt), wanted.window)
    pen = _Pen(wanted.stop)
    count, reason = 0, "length"
    for token in _drawn(network, wanted, prompt):
        if token == END_ID:
            reason = "stop"
            break
        count += 1
        text = pen.write(TOKENS[token])
        if text:
            yield Written(text)
        if pen.stopped:
            reason = "stop"
            break
        if count == wanted.most_tokens:
            break
    if rest := pen.rest():
        yield Written(rest)
    yield Written("", reason, len(prompt), count)


def _kept(prompt: list[int], window: int) -> list[int]:
    """Cut a prompt that overflows the window to its second half, in silence, as Ollama does."""
    return prompt if len(prompt) <= window else prompt[-(window // 2) :]


def _drawn(network: Network, wanted: Wanted, prompt: list[int]) -> Iterator[int]:
    random = np.random.default_rng((wanted.seed, len(prompt)))
    constraint = Constraint(wanted.grammar) if wanted.grammar else None
    tokens = list(prompt)
    while True:
        scores = (network.scores(tokens) + wanted.liking) / max(wanted.temperature, COLDEST)
        if constraint:
            scores = np.where(constraint.allowed(), scores, -np.inf)
        # The largest of the scores with Gumbel noise is a draw from their softmax.
        token = int(np.argmax(scores + random.gumbel(size=len(TOKENS))))
        yield token
        if constraint:
            constraint.take(token)
        tokens.append(token)


class _Pen:
    """Bytes become text as a server sends it: whole letters, nothing of a stop string."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = tuple(filter(None, stop))
        self._held = ""
        self.stopped = False

    def write(self, piece: bytes) -> str:
        """Return what can be sent now."""
        self._held += self._decoder.decode(piece)
        ends = [at for at in map(self._held.find, self._stop) if at >= 0]
        if ends:
            self.stopped = True
            return self._sent(min(ends), drop=True)
        return self._sent(len(self._held) - self._possible())

    def rest(self) -> str:
        """Return what was held back, when nothing more comes."""
        if self.stopped:
            return ""
        self._held += self._decoder.decode(b"", final=True)
        return self._sent(len(self._held))

    def _sent(self, length: int, *, drop: bool = False) -> str:
        sent, self._held = self._held[:length], "" if drop else self._held[length:]
        return sent

    def _possible(self) -> int:
        """Return how many of the last letters may be the beginning of a stop string."""
        longest = max(map(len, self._stop), default=1) - 1
        for length in range(min(longest, len(self._held)), 0, -1):
            if any(stop.startswith(self._held[-length:]) for stop in self._stop):
                return length
        return 0
