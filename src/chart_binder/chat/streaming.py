"""Server-sent events: what a server says piece by piece over one response.

The format is https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream;
names, ids and delays of events mean nothing to a chat model and are passed over.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from chart_binder.chat.capabilities import PassingError
from chart_binder.chat.faults import LATE, Asked, Fault
from chart_binder.chat.http import Deadline
from chart_binder.chat.served_model import UnsaidError
from chart_binder.react.conversation import ChatError, Enough, Reply, Terms
from chart_binder.react.parsing.thinking import strip_thinking

LOOK = 40
"""Characters of a line that are looked at: no label is longer."""
_EFFORT = 4  # characters read again for each that came, whatever the text
_FREE = 50_000  # and so many more


class Cut:
    """Lets a text through piece by piece, up to a line where `enough` says that it may end.

    The beginning of each line is held back until it is whole or `LOOK` long, and looked at then:
    once, so that the result is the same for every way to split the text. The time it takes is
    linear in the length of the text.
    """

    def __init__(self, enough: Enough) -> None:
        self.made = False
        self._enough = enough
        self._through: list[str] = []
        self._length = 0
        self._line: str | None = ""
        self._break = ""
        self._read = 0

    def let_through(self, piece: str) -> str:
        """Return what is certain to stay, now that `piece` has come; nothing after the cut."""
        begun = len(self._through)
        first, *others = piece.split("\n")
        self._go_on(first)
        for other in others:
            self._decide()
            if self.made:
                break
            self._line, self._break = "", "\n"
            self._go_on(other)
        return "".join(self._through[begun:])

    def rest(self) -> str:
        """Return what was held back: the text is whole, so nothing is cut off."""
        begun = len(self._through)
        self._pass()
        return "".join(self._through[begun:])

    def _go_on(self, words: str) -> None:
        if self.made:
            return
        if self._line is None:
            self._let(words)
            return
        self._line += words
        if len(self._line) >= LOOK:
            self._decide()

    def _decide(self) -> None:
        """Let a line through that was held back, or end the text before it."""
        if self._line is None:
            return
        if self._enough.suspects(self._line[:LOOK]) and self._is_affordable():
            before = "".join(self._through) + self._break
            self.made = self._enough.settled(before, self._line[:LOOK])
        if not self.made:
            self._pass()

    def _pass(self) -> None:
        if not self.made and self._line is not None:
            self._let(self._break + self._line)
            self._line = None

    def _let(self, text: str) -> None:
        if text:
            self._through.append(text)
            self._length += len(text)

    def _is_affordable(self) -> bool:
        takes = self._length + LOOK
        if self._read + takes > _EFFORT * self._length + _FREE:
            return False
        self._read += takes
        return True


class AtStop:
    """Finds enough where a line begins with a stop string, unless the model is thinking there."""

    def __init__(self, stop: Iterable[str]) -> None:
        self._marks = tuple(filter(None, (each.lstrip("\n") for each in stop)))

    def suspects(self, line: str) -> bool:
        """Tell whether a stop string begins the line."""
        return line.startswith(self._marks)

    def settled(self, text: str, line: str) -> bool:
        """Tell whether something was said aloud before."""
        del line
        said = strip_thinking(text)
        return bool(said.text.strip()) and not said.unclosed


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


COUNTS_S = 2.0  # what a server may take for its counts once the model has ended
UNFINISHED = Fault(
    "{server} at {address} ended its reply before it was done: look into the server's log"
)
ENDLESS = Fault(
    "model {model!r} at {address} went on past {detail} bytes, more than llm.max_tokens hold: "
    "look whether its server keeps to the limit it is given"
)
SILENT = Fault(
    "model {model!r} at {address} answered with nothing{detail}: choose another model, give it "
    "more context, or look into the server's log"
)
CALLED = Fault(
    "model {model!r} at {address} answered with a tool call of its server's own{detail}, where "
    "text was asked for: start the server without its tool parser, set llm.prompting to raw, or "
    "choose another model"
)
_WORDLESS = {
    "length": Fault(
        "model {model!r} at {address} spent all its tokens without a word of an answer{detail}: "
        "raise llm.max_tokens"
    ),
    "tool_calls": CALLED,
    "content_filter": Fault(
        "the server of model {model!r} at {address} filtered its whole answer out{detail}: "
        "choose another model or server"
    ),
}
"""By why it ended."""


def take(parts: Generator[Part, None, None], draft: Draft, asked: Asked, wait: Deadline) -> Reply:
    """Return the reply that the parts make, and hang up as soon as the rest does not count.

    Raises `ChatError`; `PassingError` only while nothing of the reply has come. What goes wrong
    after the model's last word costs the counts alone.
    """
    try:
        _fill(draft, parts, wait)
    except ChatError as error:
        if isinstance(error, PassingError) and draft.begun and not draft.is_whole:
            raise ChatError(str(error)) from error
        if not draft.is_whole:
            raise
    if draft.overflows:
        raise ENDLESS.error(asked, str(draft.most_bytes))
    if not draft.is_whole:
        raise (LATE if wait.passed else UNFINISHED).error(asked)
    if not draft.content.strip():
        fault = CALLED if draft.calls else _WORDLESS.get(draft.done_reason or "", SILENT)
        if fault is SILENT and draft.thinking and draft.done_reason == "stop":
            raise UnsaidError(str(fault.error(asked, ", though it was thinking")))
        raise fault.error(asked, ", though it was thinking" if draft.thinking else "")
    return draft.reply()


def _fill(draft: Draft, parts: Generator[Part, None, None], wait: Deadline) -> None:
    with closing(parts):
        for part in parts:
            draft.add(part)
            if draft.overflows or draft.is_over:
                return
            if draft.is_whole:
                wait.shorten(COUNTS_S)


_DATA = (b"data", b"error")  # old llama.cpp: a failure stands in a field of that name
_BOM = b"\xef\xbb\xbf"


def events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event; the last one may lack the empty line that ends it."""
    data: list[bytes] = []
    for line in _lines(pieces):
        name, _, value = line.partition(b":")
        if not line and data:
            yield b"\n".join(data)
            data = []
        elif name in _DATA:
            data.append(value.removeprefix(b" "))
    if data:
        yield b"\n".join(data)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines without their ends, of which there are three kinds, as soon as they end."""
    begun: list[bytes] = []
    for piece in filter(None, pieces):
        if begun and begun[-1].endswith(b"\r") and not piece.startswith(b"\n"):
            yield _joined(begun)
        first, *more = piece.splitlines(keepends=True)
        begun.append(first)
        if more:
            yield _joined(begun)
            yield from (line.rstrip(b"\r\n") for line in more[:-1])
            begun.append(more[-1])
        if begun[-1].endswith(b"\n"):  # after \r, the \n may come with the next piece
            yield _joined(begun)
    if begun:
        yield _joined(begun)


def _joined(begun: list[bytes]) -> bytes:
    line = b"".join(begun).rstrip(b"\r\n").removeprefix(_BOM)
    begun.clear()
    return line
