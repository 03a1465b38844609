"""A transformer of random weights: one block, two heads, a window of a few dozen tokens."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from engine.vocabulary import TOKENS

WIDTH: Final = 32
HEADS: Final = 2
WINDOW: Final = 48
SHARPNESS: Final = 2.0  # how far the scores of tokens lie apart


@cache
def network(seed: int) -> "Network":
    """Return the network of these weights."""
    return Network(seed)


class Network:
    """Scores every token as the next one; the same seed gives the same weights."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        scale = 1 / np.sqrt(WIDTH)
        self._embedding = random.normal(0, 1, (len(TOKENS), WIDTH))
        # Not the embedding again: a token would like nothing better than itself.
        self._scores = random.normal(0, SHARPNESS * scale, (len(TOKENS), WIDTH))
        keys, values, query, out = (random.normal(0, scale, (WIDTH, WIDTH)) for _ in range(4))
        # No token's key or value depends on its place, so all of them are known beforehand.
        self._keys = _by_head(self._embedding @ keys)
        self._values = _by_head(self._embedding @ values)
        self._query, self._out = query, out
        self._wide = random.normal(0, scale, (WIDTH, 4 * WIDTH))
        self._narrow = random.normal(0, scale / 2, (4 * WIDTH, WIDTH))
        slopes = np.array([0.05, 0.4])  # one head looks far back, the other does not
        self._distance = -slopes[:, None] * np.arange(WINDOW - 1, -1, -1)

    def scores(self, tokens: Sequence[int]) -> Any:
        """Return a score for each token of the vocabulary to follow these."""
        seen = list(tokens[-WINDOW:])
        last = self._embedding[seen[-1]]
        query = (last @ self._query).reshape(HEADS, WIDTH // HEADS, 1)
        attention = (self._keys[:, seen] @ query)[:, :, 0] / np.sqrt(WIDTH / HEADS)
        shares = _shares(attention + self._distance[:, -len(seen) :])
        mixed = (shares[:, None, :] @ self._values[:, seen]).reshape(WIDTH)
        hidden = _normal(last + mixed @ self._out)
        hidden = _normal(hidden + np.maximum(hidden @ self._wide, 0) @ self._narrow)
        return self._scores @ hidden


def _by_head(rows: Any) -> Any:
    return rows.reshape(-1, HEADS, WIDTH // HEADS).transpose(1, 0, 2).copy()


def _shares(scores: Any) -> Any:
    exponents = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


def _normal(hidden: Any) -> Any:
    return hidden / np.sqrt(np.mean(hidden * hidden) + 1e-6)
