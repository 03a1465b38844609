"""A reply as far as it has come."""

from dataclasses import dataclass
from typing import Final

from chart_binder.chat.cut import AtStop, Cut
from chart_binder.react.conversation import Reply, Terms

BYTES_A_TOKEN = 16  # of content and thinking: the average of any text stays far below
FEWEST_BYTES = 1_000_000
_MOST_TOKENS: Final = 2**53  # far more than there are


@dataclass(frozen=True, slots=True)
class Part:
    """What a server sends at once: a piece of a reply, or the whole.

    `done_reason` says that the model has come to its end, `is_last` that the server has: between
    the two, counts may come; those that make no sense are unknown. `calls` says that the server
    read a call of a tool of its own out of the reply.
    """

    content: str = ""
    thinking: str = ""
    done_reason: str | None = None
    prompt_tokens: object = None
    completion_tokens: object = None
    is_last: bool = False
    calls: bool = False


class Draft:
    """A reply that is being written, on `terms`; the listener hears its content as it comes.

    What comes whole, or has come to its end, is left as it is.
    """

    def __init__(self, terms: Terms, max_tokens: int) -> None:
        self.most_bytes = max(FEWEST_BYTES, BYTES_A_TOKEN * max_tokens)
        self.begun = False
        self.calls = False
        self._bytes = 0
        self._listen = terms.listen or _nobody
        self._cut = Cut(terms.enough or AtStop(terms.stop))
        self._contents: list[str] = []
        self._thoughts: list[str] = []
        self._is_last = False
        self._done_reason: str | None = None
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None

    def add(self, part: Part) -> None:
        """Take the next part; a reply that goes on where nothing counts any more ends there."""
        self.begun = True
        self._bytes += _size(part.content) + _size(part.thinking)
        if part.thinking:
            self._thoughts.append(part.thinking)
        self._done_reason = part.done_reason or self._done_reason
        self._prompt_tokens = _counted(part.prompt_tokens) or self._prompt_tokens
        self._completion_tokens = _counted(part.completion_tokens) or self._completion_tokens
        self.calls = self.calls or part.calls
        self._is_last = part.is_last
        if self.is_whole:
            self._say(self._cut.rest() + part.content)
        else:
            self._say(self._cut.let_through(part.content))

    @property
    def overflows(self) -> bool:
        """Whether more has come than so many tokens can hold, with words or without."""
        return self._bytes > self.most_bytes

    @property
    def is_whole(self) -> bool:
        """Whether the model has said all it will, or all that counts."""
        return self._cut.made or self._is_last or self._done_reason is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be waited for, not even counts."""
        return self._cut.made or self._is_last

    @property
    def done_reason(self) -> str | None:
        """Why it ended; `stop` also for a cut of our own."""
        return "stop" if self._cut.made else self._done_reason

    @property
    def content(self) -> str:
        """The text, as far as it counts."""
        return "".join(self._contents)

    @property
    def thinking(self) -> str | None:
        """What the server sent apart from the content."""
        return "".join(self._thoughts) or None

    def reply(self) -> Reply:
        """Return the reply with what is known about it."""
        return Reply(
            self.content,
            thinking=self.thinking,
            done_reason=self.done_reason,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
        )

    def _say(self, piece: str) -> None:
        if piece:
            self._contents.append(piece)
            self._listen(piece)


def _nobody(piece: str) -> None:
    del piece


def _counted(tokens: object) -> int | None:
    """Return a count of tokens, whole and above 0 (which some servers say of a full cache hit)."""
    if isinstance(tokens, bool) or not isinstance(tokens, int | float):
        return None
    return int(tokens) if 0 < tokens <= _MOST_TOKENS and tokens == int(tokens) else None


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
