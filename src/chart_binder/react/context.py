"""What is sent to the model: an append-only conversation, shortened where it must fit a window."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chart_binder.react.conversation import Message, Role
from chart_binder.react.dialect import Dialect
from chart_binder.react.sanitize import bounded, one_line
from chart_binder.react.steps import Observation, ToolCall

# Lists of ids and dates have about two and a half bytes a token in the vocabularies of today's
# models, prose in any script has more; no prompt as a whole has over six.
_TOKENS_PER_BYTE = 1 / 2.5
_MIN_TOKENS_PER_BYTE = 1 / 6
_MAX_TOKENS_PER_BYTE = 1.5  # a vocabulary of single bytes, with what a template puts around them
_TEMPLATE_BYTES = 40  # what a chat template puts around one message, as bytes of text

_CUT_CHARS = 500
_MAX_GIST_CHARS = 200
_MAX_SOURCES = 5
_MAX_SOURCE_CHARS = 200


def size_of(messages: Sequence[Message]) -> int:
    """Return the bytes of the messages in UTF-8, with those of the chat template around them."""
    return sum(
        [_TEMPLATE_BYTES + len(each.content.encode("utf-8", "replace")) for each in messages]
    )


def fewest_tokens(messages: Sequence[Message]) -> int:
    """Return a number of tokens that the messages take at least, in any vocabulary."""
    return round(size_of(messages) * _MIN_TOKENS_PER_BYTE)


def most_tokens(messages: Sequence[Message]) -> int:
    """Return a number of tokens that the messages hardly exceed."""
    return round(size_of(messages) * _TOKENS_PER_BYTE)


class TokenEstimate:
    """Estimates the tokens of a growing conversation by its bytes, rather too many than too few."""

    def __init__(self) -> None:
        self._rate = _TOKENS_PER_BYTE
        self._counted = 0

    @property
    def has_counted(self) -> bool:
        """Whether the estimate rests on a server's count."""
        return self._counted > 0

    def learn(self, messages: Sequence[Message], tokens: int | None) -> None:
        """Take over what a server counted, unless it left out what its cache held."""
        size = size_of(messages)
        if tokens and _MIN_TOKENS_PER_BYTE <= tokens / size <= _MAX_TOKENS_PER_BYTE:
            self._rate, self._counted = tokens / size, size

    def tokens(self, messages: Sequence[Message]) -> int:
        """Return about how many tokens the messages take."""
        return self.tokens_of(size_of(messages))

    def tokens_of(self, size: int) -> int:
        """Return about how many tokens messages of this size in bytes (`size_of`) take."""
        known = min(size, self._counted)
        return round(known * self._rate + (size - known) * max(self._rate, _TOKENS_PER_BYTE))


@dataclass(frozen=True, slots=True)
class CallResult:
    """What the model is shown for one call, or for a turn without a call.

    No progress is what was malformed, refused, repeated or not run.
    """

    call: ToolCall | None
    observation: Observation
    is_progress: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the model's text, its calls if any, what it was shown, and a line below that."""

    reply: str
    call: ToolCall | None
    results: tuple[CallResult, ...]
    closing: str = ""


class ContextFullError(Exception):
    """A conversation does not fit into the context, however far it is shortened."""


class Context:
    """A conversation that stays within `window` tokens; 0 means no limit.

    The opening is always sent whole. Where the rest does not fit, observations are cut, then
    reduced to a line that names their sources, the oldest first; after that the model's own texts
    are reduced to their calls. What was shortened stays so, for a prompt cache.
    """

    def __init__(
        self, opening: Sequence[Message], dialect: Dialect, role: Role = "user", window: int = 0
    ) -> None:
        self.estimate = TokenEstimate()
        self._opening = len(opening)
        self._messages = list(opening)
        self._size = size_of(opening)
        self._turns: list[Turn] = []
        self._dialect = dialect
        self._role = role
        self._window = window or math.inf

    @property
    def tokens(self) -> int:
        """About how many tokens the conversation takes now."""
        return self.estimate.tokens_of(self._size)

    def add(self, turn: Turn) -> None:
        """Append a turn."""
        self._turns.append(turn)
        written = self._written(turn)
        self._messages += written
        self._size += size_of(written)

    def close(self, closing: str) -> None:
        """Set the closing line of the last turn."""
        self._replace(len(self._turns) - 1, replace(self._turns[-1], closing=closing))

    def messages(self) -> tuple[Message, ...]:
        """Return what to send, shortened as far as it must be.

        Raises `ContextFullError` if even the shortest form is certainly too long.
        """
        for content, which in _STEPS:
            for place in range(len(self._turns))[which]:
                if self.tokens <= self._window:
                    return tuple(self._messages)
                self._replace(place, _shortened(self._turns[place], content, self._dialect))
        has_counted = self.estimate.has_counted
        tokens = self.tokens if has_counted else fewest_tokens(self._messages)
        if min(tokens, self.tokens) > self._window:
            raise ContextFullError(
                f"the prompt takes about {tokens} tokens where num_ctx less max_tokens leaves"
                f" {self._window}: raise num_ctx by {tokens - self._window} at least"
            )
        return tuple(self._messages)

    def _replace(self, place: int, turn: Turn) -> None:
        if turn != self._turns[place]:
            self._turns[place] = turn
            at = self._opening + 2 * place
            written = self._written(turn)
            self._size += size_of(written) - size_of(self._messages[at : at + 2])
            self._messages[at : at + 2] = written

    def _written(self, turn: Turn) -> tuple[Message, Message]:
        shown = "\n".join(
            self._dialect.observation(each.observation.shown, each.call) for each in turn.results
        )
        closed = f"{shown}\n\n{turn.closing}" if turn.closing else shown
        return Message("assistant", turn.reply), Message(self._role, closed)


_Content = Callable[[Observation], str]


def _sources_line(observation: Observation) -> str:
    named = (one_line(each, _MAX_SOURCE_CHARS) for each in observation.sources[:_MAX_SOURCES])
    sources = " ".join(named)
    line = f"(shortened to make room; it came from {sources})" if sources else "(shortened)"
    return min(observation.content, line, key=len)


def _short(observation: Observation, content: _Content) -> Observation:
    """Return an observation with shorter content, without the remark that was about it."""
    return replace(observation, content=content(observation), remark=None)


def _shortened(turn: Turn, content: _Content | None, dialect: Dialect) -> Turn:
    if content:
        shown = tuple(
            replace(each, observation=_short(each.observation, content)) for each in turn.results
        )
        return replace(turn, results=shown)
    gist = "(no step)"
    if turn.call:
        also = tuple(replace(each, thought="") for each in turn.call.also)
        calls = dialect.render(replace(turn.call, thought="", also=also))
        gist = bounded(calls, _MAX_GIST_CHARS)
    return replace(turn, reply=min(turn.reply, gist, key=len))


def _cut(observation: Observation) -> str:
    return bounded(observation.content, _CUT_CHARS)


_OLDER, _NEWEST = slice(None, -1), slice(-1, None)
_STEPS: tuple[tuple[_Content | None, slice], ...] = (
    (_cut, _OLDER),
    (_sources_line, _OLDER),
    (_cut, _NEWEST),
    (None, _OLDER),
    (_sources_line, _NEWEST),
    (None, _NEWEST),
)
"""How turns are shortened, one by one, until all fits: observations, or thoughts (None)."""
