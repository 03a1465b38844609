"""Answers known to be right or wrong stand in a file, one a line, for a calibration to be fitted.

`canon eval --adjudicate --answers FILE` writes one; a queue of reviewed decisions may as well.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from chart_binder.domain.evidence_json import defect
from chart_binder.errors import CanonError
from chart_binder.llm.result import AdjudicationResult

Confidence = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer of which somebody knows whether it was right: `{"confidence": 0.9, "right": true}`.

    `confidence` is what the model stated, 0..1, before any calibration; `id` is for a person.
    """

    confidence: Confidence
    right: bool
    id: str | None = None

    @classmethod
    def of(cls, result: AdjudicationResult, *, right: bool, name: str | None = None) -> "Known":
        """Return what a run's answer has to teach: its own figure, and how it turned out."""
        stated = result.stated_confidence
        return cls(result.confidence if stated is None else stated, right, name)

    def line(self) -> bytes:
        """Return the line that stands for it in a file."""
        return msgspec.json.encode(self) + b"\n"


def read_answers(lines: Iterable[bytes], place: str) -> Iterator[Known]:
    """Read every line; other keys are left aside. Raises `CanonError` with the line's number."""
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(BOM_UTF8) if number == 1 else line
        if not text.strip():
            continue
        try:
            yield _DECODER.decode(text)
        except msgspec.ValidationError as error:
            told = ": ".join(filter(None, defect(error)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            told = str(error)
        else:
            continue
        raise CanonError(
            f'{place}: line {number}: {told}; {{"confidence": 0.9, "right": true}} is allowed'
        )


_DECODER = msgspec.json.Decoder(Known)
