"""A fault that passes is met by asking again, a few times, before the deadline."""

import logging
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from time import sleep

from chart_binder.chat.http import Deadline
from chart_binder.react.conversation import ChatError, Reply

_log = logging.getLogger(__name__)

_BROKEN = 500
"""What a server also says that takes a field and broke once, as llama.cpp does where a reply
by schema was cut."""

Fields = Mapping[str, object]
"""A part of a request, by the names on the wire."""


class DeclinedError(ChatError):
    """A server understood a request and did not take it as it is: its status, its words."""

    def __init__(self, problem: str, status: int, words: str) -> None:
        super().__init__(problem)
        self.status = status
        self.words = words


@dataclass(frozen=True, slots=True)
class Optional:
    """A field of a request that can be left out.

    Words of a refusal that hold one of `marks` are about it; `statuses` are those of servers that
    do not say what they refuse.
    """

    name: str
    marks: tuple[str, ...]
    statuses: Container[int]


class Concessions:
    """Remembers what a server declined, once a request without it was taken.

    What it may only have broken on is asked for again in the next request.
    Threads may share it: at worst one more request is declined.
    """

    def __init__(self, optional: tuple[Optional, ...]) -> None:
        self._optional = optional
        self._declined: frozenset[str] = frozenset()

    def ask(self, optional: Fields, ask: Callable[[Fields], Reply]) -> Reply:
        """Return what `ask` returns for as many of the optional fields as the server takes."""
        kept = {name: value for name, value in optional.items() if name not in self._declined}
        declined = set[str]()
        while True:
            try:
                reply = ask(kept)
            except DeclinedError as refusal:
                blamed = self._blamed(kept, refusal)
                if not blamed:
                    raise
                _log.info("asking again without %s: %s", ", ".join(sorted(blamed)), refusal)
                kept = {name: value for name, value in kept.items() if name not in blamed}
                declined |= blamed if refusal.status != _BROKEN else set()
            else:
                self._declined |= declined
                return reply

    def _blamed(self, kept: Fields, refusal: DeclinedError) -> frozenset[str]:
        left = [part for part in self._optional if part.name in kept]
        words = refusal.words.casefold()
        named = [part.name for part in left if any(mark in words for mark in part.marks)]
        return frozenset(named or (part.name for part in left if refusal.status in part.statuses))


OLLAMA_NAME = "Ollama"
OPENAI_NAME = "the server"
"""Whichever it is of those that speak OpenAI's format."""


@dataclass(frozen=True, slots=True)
class Health:
    """What was found; each problem is a sentence that ends in what to do about it.

    `server` is what the server calls itself, `context_length` the context in tokens that the model
    can have there, if its server tells; `loaded_length` the one that it has at the moment, loaded.
    """

    address: str
    model_id: str
    server: str | None = None
    models: tuple[str, ...] = ()
    context_length: int | None = None
    problems: tuple[str, ...] = ()
    loaded_length: int | None = None

    @property
    def is_well(self) -> bool:
        """Whether the model can be asked as things are."""
        return not self.problems


PATIENCE_S = 10.0  # none of the questions makes a server load a model


PAUSES_S = (0.1, 0.4)  # before the second try and before the third


class PassingError(ChatError):
    """A fault that may be gone in a moment, met before anything of a reply had come.

    `after_s` is how long its server asks to wait, in seconds.
    """

    def __init__(self, problem: str, after_s: float = 0.0) -> None:
        super().__init__(problem)
        self.after_s = after_s


def patiently(ask: Callable[[], Reply], deadline: Deadline) -> Reply:
    """Return what `ask` returns; its third `PassingError` is final, and any other `ChatError`."""
    for pause_s in PAUSES_S:
        try:
            return ask()
        except PassingError as error:
            wait_s = max(pause_s, error.after_s)
            if deadline.left <= wait_s:
                raise
            sleep(wait_s)
    return ask()
