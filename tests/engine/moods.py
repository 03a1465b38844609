"""What a model likes to write, whatever its weights."""

from typing import Any, Final

import numpy as np

from engine.settings import Mood
from engine.vocabulary import END_ID, PIECES, TOKENS, numbers_of

_SPACE: Final = 0x20
_HALF: Final = 0x80
_DELETE: Final = 0x7F
_CONTROLS: Final = tuple(piece for piece in PIECES if b"|" in piece or piece.startswith(b"<"))


def liking(mood: Mood) -> Any:
    """Return what is added to the scores of all tokens."""
    scores = np.zeros(len(TOKENS))
    scores[:_SPACE] = scores[_DELETE:256] = -4.0
    scores[END_ID] = -1.0
    pieces = numbers_of(PIECES)
    match mood:
        case "protocol":
            scores[pieces] = 2.0
        case "bytes":
            scores[:256] = 0.0
            scores[pieces] = -9.0
        case "controls":
            scores[:_SPACE] = 3.0
            scores[numbers_of(_CONTROLS)] = 4.0
        case "numbers":
            scores[numbers_of([bytes([byte]) for byte in b'0123456789.eE+-"'])] = 6.0
    return scores
