"""The results of model exams, stored in one file for all models, and what they permit.

A model is identified by the kind and address of its server, its name, and the model that gives the
second readings. If the build that the server reports (a digest or a size) differs from that of the
exam, the model has been replaced since.
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
    """The model that was examined, and the version of the exam."""

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
    """The score of a model in an exam; `build` is what its server reports of it, or empty."""

    model: ExaminedModel
    score: Score
    build: str
    seconds: float
    checked_at_utc: str

    @classmethod
    def now(cls, config: LLMConfig, score: Score, build: str, seconds: float) -> "ExamResult":
        """Return the result of an exam that has just ended after `seconds`."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return cls(ExaminedModel.of(config), score, build, round(seconds, 1), now)

    @property
    def text(self) -> str:
        """The score and what it permits, as text for a person."""
        share = f"checked {self.checked_at_utc[:10]}: {self.score.text}"
        if self.score.is_enough:
            return f"passed the check: its reading of prose may decide ({share})"
        return f"below the bar: only structure decides, and prose is a proposal ({share})"


def find_result(path: Path, config: LLMConfig) -> ExamResult | None:
    """Return the stored result of the configured model, or None. Raises `FileError`."""
    model = ExaminedModel.of(config)
    return next((result for result in _read(path) if result.model == model), None)


def save_result(path: Path, result: ExamResult) -> None:
    """Store a result in place of an earlier one of the same model. Raises `FileError`."""
    remaining = [earlier for earlier in _read(path) if earlier.model != result.model]
    content = json.dumps(msgspec.to_builtins([*remaining, result]), indent=1, ensure_ascii=False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(content + "\n", "utf-8")
        temporary.replace(path)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({error.strerror or error})") from error


def _read(path: Path) -> Sequence[ExamResult]:
    try:
        return decode_json(path.read_bytes(), list[ExamResult])
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = f"{path}: holds no results of `{HOW_TO_CHECK}` ({error}): delete it"
        raise FileError(problem) from error
