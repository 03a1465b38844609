"""A recorded transcript in place of a model server."""

from pathlib import Path

from chart_binder.config import LLMConfig
from chart_binder.errors import ConfigError
from chart_binder.react.replay import Replay
from chart_binder.react.transcript import TranscriptDefectError, load_transcript


def connect(config: LLMConfig) -> Replay:
    """Return a model that plays the transcript file `model_id`; raise `ConfigError`."""
    path = Path(config.model_id)
    try:
        return Replay(load_transcript(path), model_id=path.name)
    except OSError as error:
        raise ConfigError(
            f"llm.model_id: transcript {str(path)!r} cannot be read ({error.strerror or error})"
        ) from error
    except TranscriptDefectError as error:
        raise ConfigError(f"llm.model_id: {str(path)!r} is no transcript: {error}") from error
