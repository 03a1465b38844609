"""A recorded transcript in place of a model server."""

from pathlib import Path

from chart_binder.config import LLMConfig
from chart_binder.errors import CanonError, ConfigError
from chart_binder.files import read_file
from chart_binder.react.transcript import Replay, TranscriptDefectError, read_transcript


def connect(config: LLMConfig) -> Replay:
    """Return a model that plays the transcript file `model_id`; raise `ConfigError`."""
    path = Path(config.model_id)
    try:
        lines = read_file(path).splitlines(keepends=True)
        return Replay(read_transcript(lines), model_id=path.name)
    except CanonError as error:
        raise ConfigError(f"llm.model_id: {error}") from error
    except TranscriptDefectError as error:
        raise ConfigError(f"llm.model_id: {str(path)!r} is no transcript: {error}") from error
