"""A reply that comes piece by piece ends before a line after which nothing counts."""

from collections.abc import Iterable

from chart_binder.react.conversation import Enough
from chart_binder.react.reading.thinking import spoken

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
        said = spoken(text)
        return bool(said.text.strip()) and not said.unclosed
