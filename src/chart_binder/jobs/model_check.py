"""The results of the exams of models: kept in a file by model, and what follows from them.

A model is known by its server's kind and address, its name, and who reads for it. What the server
says of its build (a digest, or a size) tells whether it is still the one that was examined.
"""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from chart_binder.config import LLMConfig
from chart_binder.errors import FileError, masked
from chart_binder.files import decode_json
from chart_binder.llm.model_exam import EXAM, Score

HOW_TO_CHECK = "canon model check"


class ExaminedModel(msgspec.Struct, frozen=True):
    """Which model was examined, and by which version of the exam."""

    provider: str
    address: str
    model_id: str
    reader_model_id: str
    exam: str = EXAM

    @classmethod
    def of(cls, config: LLMConfig) -> "ExaminedModel":
        """Return the configured model."""
        reader = config.acceptance.reader_model_id or config.model_id
        return cls(config.provider, masked(config.base_url), config.model_id, reader)


class ExamResult(msgspec.Struct, frozen=True):
    """What a model got in an exam, and when; `build` is what its server says of it, if anything."""

    model: ExaminedModel
    score: Score
    build: str
    seconds: float
    checked_at_utc: str

    @classmethod
    def now(cls, config: LLMConfig, score: Score, build: str, seconds: float) -> "ExamResult":
        """Return the result of an exam that has just ended."""
        at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return cls(ExaminedModel.of(config), score, build, round(seconds, 1), at)

    @property
    def text(self) -> str:
        """What it got and what follows, for a person."""
        share = f"checked {self.checked_at_utc[:10]}: {self.score.text}"
        if self.score.is_enough:
            return f"{share}: may decide prose"
        return f"below the bar: structure alone decides; prose is a proposal ({share})"


def find_result(place: Path, config: LLMConfig) -> ExamResult | None:
    """Return the stored result of the configured model. Raises `FileError`."""
    model = ExaminedModel.of(config)
    return next((each for each in _read(place) if each.model == model), None)


def save_result(place: Path, result: ExamResult) -> None:
    """Store a result in place of an earlier one of the same model. Raises `FileError`."""
    others = [each for each in _read(place) if each.model != result.model]
    content = json.dumps(msgspec.to_builtins([*others, result]), indent=1, ensure_ascii=False)
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(content + "\n", "utf-8")
        temporary.replace(place)
    except OSError as error:
        raise FileError(f"{place}: cannot be written ({error.strerror or error})") from error


def _read(place: Path) -> Sequence[ExamResult]:
    try:
        return decode_json(place.read_bytes(), list[ExamResult])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise FileError(f"{place}: cannot be read ({error.strerror or error})") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{place}: holds no results of `{HOW_TO_CHECK}` ({error}): delete it"
        raise FileError(problem) from error
