"""A server that declines a part of a request is asked again without it."""

import logging
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

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
