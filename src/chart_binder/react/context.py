"""The conversation as it is sent: append-only while it fits the window, then ever shorter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chart_binder.react.conversation import ChatError, Message, Role
from chart_binder.react.dialect import Dialect
from chart_binder.react.sanitize import bounded, one_line
from chart_binder.react.steps import Act

# Lists of ids and dates have about two and a half bytes a token in the vocabularies of today's
# models, prose in any script has more; no prompt as a whole has over six.
_DENSE = 1 / 2.5
_THIN = 1 / 6
_DENSEST = 1.5  # a vocabulary of single bytes, with what a template puts around them
_TEMPLATE_BYTES = 40  # what a chat template puts around one message, as bytes of text


class Gauge:
    """Estimates tokens by bytes of UTF-8: too many rather than too few, until a server counts.

    What was counted is then known, and only what was added since is estimated.
    """

    def __init__(self) -> None:
        self._rate = _DENSE
        self._counted = 0

    @property
    def has_counted(self) -> bool:
        """Whether the estimate rests on a server's count."""
        return self._counted > 0

    def learn(self, messages: Sequence[Message], tokens: int | None) -> None:
        """Take over what a server counted, unless it cannot have counted them all.

        Some servers leave out what their cache held.
        """
        if not tokens:
            return
        counted = size(messages)
        if _THIN <= tokens / counted <= _DENSEST:
            self._rate, self._counted = tokens / counted, counted

    def tokens(self, messages: Sequence[Message]) -> int:
        """Return about how many tokens the messages take, rather too many."""
        return self.tokens_of(size(messages))

    def tokens_of(self, total: int) -> int:
        """Return the same for messages of so many bytes, as `size` counts them."""
        known = min(total, self._counted)
        return round(known * self._rate + (total - known) * max(self._rate, _DENSE))

    def fewest(self, messages: Sequence[Message]) -> int:
        """Return a number of tokens that the messages take for certain."""
        return self.tokens(messages) if self._counted else round(size(messages) * _THIN)


def size(messages: Sequence[Message]) -> int:
    """Return the bytes of the messages, with those of the template around them."""
    return sum([_bytes(message.content) + _TEMPLATE_BYTES for message in messages])


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


_SHORT = 500
_MOST_OF_A_GIST = 200
_MOST_SOURCES = 5
_MOST_OF_A_SOURCE = 200


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one call, or of a turn that called nothing."""

    content: str
    sources: tuple[str, ...] = ()
    call: Act | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """A turn as it stays in the conversation: what was said, and what was heard.

    `act` is what was done, if anything; `closing` stands below what was heard.
    """

    said: str
    act: Act | None
    heard: tuple[Heard, ...]
    closing: str = ""


class Context:
    """A conversation that stays within `window` tokens; 0 is a window without end.

    The opening is sent whole, whatever it takes. Where the rest does not fit beside it, what was
    heard is shortened, the oldest first, then reduced to a line that names its sources; what the
    model said is trimmed after that. What is short stays short, so that the prefix settles again
    and a prompt cache can be reused.
    """

    def __init__(
        self, opening: Sequence[Message], dialect: Dialect, role: Role = "user", window: int = 0
    ) -> None:
        self.gauge = Gauge()
        self._opening = len(opening)
        self._messages = list(opening)
        self._size = size(opening)
        self._rounds: list[Round] = []
        self._dialect = dialect
        self._role = role
        self._window = window

    @property
    def tokens(self) -> int:
        """About how many tokens the conversation takes now."""
        return self.gauge.tokens_of(self._size)

    def add(self, turn: Round) -> None:
        """Append a turn."""
        self._rounds.append(turn)
        written = self._written(turn)
        self._messages += written
        self._size += size(written)

    def close(self, closing: str) -> None:
        """Put a last word below what was heard in the last turn."""
        self._put(len(self._rounds) - 1, replace(self._rounds[-1], closing=closing))

    def messages(self) -> tuple[Message, ...]:
        """Return what to send, shortened as far as it must be.

        Raises `ChatError` where it cannot be short enough: for certain, as far as nothing was
        counted yet.
        """
        for shorten, which in _MEASURES:
            for place in range(len(self._rounds))[which]:
                if self._fits():
                    return tuple(self._messages)
                self._put(place, shorten(self._rounds[place], self._dialect))
        if self._fits():
            return tuple(self._messages)
        fewest = self.gauge.fewest(self._messages)
        if fewest > self._window:
            raise ChatError(
                f"the prompt takes about {fewest} tokens where num_ctx less max_tokens leaves"
                f" {self._window}: raise num_ctx by {fewest - self._window} at least"
            )
        return tuple(self._messages)

    def _fits(self) -> bool:
        return not self._window or self.tokens <= self._window

    def _put(self, place: int, turn: Round) -> None:
        if turn != self._rounds[place]:
            self._rounds[place] = turn
            at = self._opening + 2 * place
            written = self._written(turn)
            self._size += size(written) - size(self._messages[at : at + 2])
            self._messages[at : at + 2] = written

    def _written(self, turn: Round) -> tuple[Message, Message]:
        seen = (self._dialect.observation(heard.content, heard.call) for heard in turn.heard)
        shown = "\n".join(seen)
        closed = f"{shown}\n\n{turn.closing}" if turn.closing else shown
        return Message("assistant", turn.said), Message(self._role, closed)


def _cut(turn: Round, dialect: Dialect) -> Round:
    del dialect
    return replace(
        turn,
        heard=tuple(replace(heard, content=bounded(heard.content, _SHORT)) for heard in turn.heard),
    )


def _in_a_line(turn: Round, dialect: Dialect) -> Round:
    del dialect
    return replace(turn, heard=tuple(map(_told, turn.heard)))


def _told(heard: Heard) -> Heard:
    named = (one_line(source, _MOST_OF_A_SOURCE) for source in heard.sources[:_MOST_SOURCES])
    sources = " ".join(named)
    line = f"(shortened to make room; it came from {sources})" if sources else "(shortened)"
    return replace(heard, content=line) if len(line) < len(heard.content) else heard


def _trimmed(turn: Round, dialect: Dialect) -> Round:
    return replace(turn, said=min(turn.said, _gist(turn.act, dialect), key=len))


def _gist(act: Act | None, dialect: Dialect) -> str:
    """Return the least that shows what a turn did: its calls, without a thought."""
    if act is None:
        return "(no step)"
    also = tuple(replace(each, thought="") for each in act.also)
    return bounded(dialect.render(replace(act, thought="", also=also)), _MOST_OF_A_GIST)


_OLDER, _NEWEST = slice(None, -1), slice(-1, None)
_MEASURES: tuple[tuple[Callable[[Round, Dialect], Round], slice], ...] = (
    (_cut, _OLDER),
    (_in_a_line, _OLDER),
    (_cut, _NEWEST),
    (_trimmed, _OLDER),
    (_in_a_line, _NEWEST),
    (_trimmed, _NEWEST),
)
"""How turns are made shorter, one by one, until all fits: what the model has not read yet, and its
own thoughts on what it has, stay longest."""
