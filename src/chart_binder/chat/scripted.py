"""Models without a server: one that says what it was told to say, and a recorded transcript."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from chart_binder.config import LLMConfig
from chart_binder.errors import CanonError, ConfigError
from chart_binder.files import read_file
from chart_binder.react.conversation import ChatError, Message, Reply, Terms
from chart_binder.react.transcript import (
    Read,
    ReadingScript,
    Replay,
    TranscriptDefectError,
    read_transcript,
)


class Scripted:
    """Plays `replies` one by one, each as it is given.

    They are not cut at a stop string, so that a script can hold what a disobedient model writes.
    `asked` holds the conversations it was asked to continue, in order. Second readings are answered
    from `readings`, in order, and are `unclear` when those are used up.
    """

    def __init__(
        self,
        replies: Iterable[str | Reply],
        model_id: str = "scripted",
        readings: Iterable[str] = (),
    ) -> None:
        self._replies = tuple(Reply(each) if isinstance(each, str) else each for each in replies)
        self.model_id = model_id
        self.readings = ReadingScript(Read(reading=each) for each in readings)
        self.asked: list[tuple[Message, ...]] = []

    def opening_calls(self) -> tuple[()]:
        """Return no calls, because a script begins with its first reply."""
        return ()

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:  # noqa: ARG002
        """Return the next reply, or raise `ChatError` when all have been given."""
        self.asked.append(tuple(messages))
        if len(self.asked) > len(self._replies):
            has = f"the script has {len(self._replies)} replies"
            raise ChatError(f"{has} and the conversation asks for one more")
        return self._replies[len(self.asked) - 1]


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
