"""The messages for the model: an append-only conversation, shortened if it does not fit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chart_binder.react.conversation import Message, Role
from chart_binder.react.dialect import Dialect
from chart_binder.react.sanitize import bounded, one_line
from chart_binder.react.steps import Observation, ToolCall

# Lists of ids and dates have about two and a half bytes a token in current vocabularies, and prose
# in any script has more. No whole prompt has more than six.
_TOKENS_PER_BYTE = 1 / 2.5
_MIN_TOKENS_PER_BYTE = 1 / 6
_MAX_TOKENS_PER_BYTE = 1.5  # a vocabulary of single bytes, with the text of a chat template
_TEMPLATE_BYTES = 40  # the text of a chat template around one message

_CUT_CHARS = 500
_MAX_CALLS_CHARS = 200
_MAX_SOURCES = 5
_MAX_SOURCE_CHARS = 200


def size_of(messages: Sequence[Message]) -> int:
    """Return the size of messages in bytes of UTF-8, with the chat template around them."""
    contents = [message.content.encode("utf-8", "replace") for message in messages]
    return sum(_TEMPLATE_BYTES + len(content) for content in contents)


def fewest_tokens(messages: Sequence[Message]) -> int:
    """Return the smallest number of tokens that messages can have in any vocabulary."""
    return round(size_of(messages) * _MIN_TOKENS_PER_BYTE)


def most_tokens(messages: Sequence[Message]) -> int:
    """Return an estimate of the tokens of messages that is rarely too low."""
    return round(size_of(messages) * _TOKENS_PER_BYTE)


class TokenEstimate:
    """Estimates the tokens of a growing conversation from its bytes, rather too high than low."""

    def __init__(self) -> None:
        self._rate = _TOKENS_PER_BYTE
        self._counted = 0

    @property
    def has_counted(self) -> bool:
        """Whether the estimate is based on a count of the server."""
        return self._counted > 0

    def learn(self, messages: Sequence[Message], tokens: int | None) -> None:
        """Use a server's count, unless it is so low that the server left out cached tokens."""
        size = size_of(messages)
        if tokens and _MIN_TOKENS_PER_BYTE <= tokens / size <= _MAX_TOKENS_PER_BYTE:
            self._rate, self._counted = tokens / size, size

    def tokens(self, messages: Sequence[Message]) -> int:
        """Estimate the number of tokens of messages."""
        return self.tokens_of(size_of(messages))

    def tokens_of(self, size: int) -> int:
        """Estimate the number of tokens of messages of this size in bytes (`size_of`)."""
        counted = min(size, self._counted)
        return round(counted * self._rate + (size - counted) * max(self._rate, _TOKENS_PER_BYTE))


@dataclass(frozen=True, slots=True)
class CallResult:
    """What the model is shown for one call, or for a turn without a call.

    `is_progress` is false if the step was unreadable, refused, repeated or not run.
    """

    call: ToolCall | None
    observation: Observation
    is_progress: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the model's text, its call if any, the results, and a closing line below them.

    `answer_stands` is that of the message with the results.
    """

    reply: str
    call: ToolCall | None
    results: tuple[CallResult, ...]
    closing: str = ""
    answer_stands: bool = False


class ContextFullError(Exception):
    """Even the shortest form of a conversation does not fit into the context."""


class Context:
    """A conversation that stays within `window` tokens; 0 means no limit.

    The opening is always sent whole, and observations in messages of the `role`. If the turns do
    not fit, observations are cut, then reduced to a line that names their sources, the oldest
    first; after that the model's texts are reduced to their calls. A shortened turn stays short, so
    that a prompt cache can be used.
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
        """An estimate of the tokens of the conversation."""
        return self.estimate.tokens_of(self._size)

    def add(self, turn: Turn) -> None:
        """Append a turn."""
        self._turns.append(turn)
        messages = self._messages_of(turn)
        self._messages += messages
        self._size += size_of(messages)

    def close(self, closing: str) -> None:
        """Set the closing line of the last turn."""
        self._replace(len(self._turns) - 1, replace(self._turns[-1], closing=closing))

    def messages(self) -> tuple[Message, ...]:
        """Return the messages to send, shortened as far as necessary.

        Raises `ContextFullError` if even the shortest form is certainly too long.
        """
        for shorten, places in _SHORTENINGS:
            for place in range(len(self._turns))[places]:
                if self.tokens <= self._window:
                    return tuple(self._messages)
                self._replace(place, _shortened(self._turns[place], shorten, self._dialect))
        has_counted = self.estimate.has_counted
        tokens = self.tokens if has_counted else fewest_tokens(self._messages)
        if min(tokens, self.tokens) > self._window:
            raise ContextFullError(
                f"the prompt takes about {tokens} tokens, but num_ctx minus max_tokens leaves"
                f" {self._window}: raise num_ctx by {tokens - self._window} at least"
            )
        return tuple(self._messages)

    def _replace(self, place: int, turn: Turn) -> None:
        if turn != self._turns[place]:
            self._turns[place] = turn
            start = self._opening + 2 * place
            messages = self._messages_of(turn)
            self._size += size_of(messages) - size_of(self._messages[start : start + 2])
            self._messages[start : start + 2] = messages

    def _messages_of(self, turn: Turn) -> tuple[Message, Message]:
        observations = "\n".join(
            self._dialect.observation(result.observation.shown, result.call)
            for result in turn.results
        )
        content = f"{observations}\n\n{turn.closing}" if turn.closing else observations
        shown = Message(self._role, content, turn.answer_stands)
        return Message("assistant", turn.reply), shown


_Shorten = Callable[[Observation], str]
"""Returns the content of an observation in a shorter form."""


def _sources_line(observation: Observation) -> str:
    lines = (one_line(source, _MAX_SOURCE_CHARS) for source in observation.sources[:_MAX_SOURCES])
    sources = " ".join(lines)
    line = f"(shortened to make room; it came from {sources})" if sources else "(shortened)"
    return min(observation.content, line, key=len)


def _shortened(turn: Turn, shorten: _Shorten | None, dialect: Dialect) -> Turn:
    """Return a turn with shorter observations without remarks, or with only the model's calls."""
    if shorten:
        results: list[CallResult] = []
        for result in turn.results:
            content = shorten(result.observation)
            shorter = replace(result.observation, content=content, remark=None)
            results.append(replace(result, observation=shorter))
        return replace(turn, results=tuple(results))
    calls = "(no step)"
    if turn.call:
        further = tuple(replace(call, thought="") for call in turn.call.further_calls)
        rendered = dialect.render(replace(turn.call, thought="", further_calls=further))
        calls = bounded(rendered, _MAX_CALLS_CHARS)
    return replace(turn, reply=min(turn.reply, calls, key=len))


def _cut(observation: Observation) -> str:
    return bounded(observation.content, _CUT_CHARS)


_OLDER, _NEWEST = slice(None, -1), slice(-1, None)
_SHORTENINGS: tuple[tuple[_Shorten | None, slice], ...] = (
    (_cut, _OLDER),
    (_sources_line, _OLDER),
    (_cut, _NEWEST),
    (None, _OLDER),
    (_sources_line, _NEWEST),
    (None, _NEWEST),
)
"""How turns are shortened, in order: their observations (None: the model's text), and which."""
