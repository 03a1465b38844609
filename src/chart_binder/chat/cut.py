"""A reply that comes piece by piece ends before a line after which nothing counts."""

from collections.abc import Iterable

from chart_binder.react.conversation import Enough
from chart_binder.react.reading.thinking import spoken

LONGEST_LINE = 160
"""Characters of a line that are looked at: a label is far shorter."""
_EFFORT = 4  # characters read again for each that came, whatever the text
_FREE = 50_000  # and so many more


class Cut:
    """Follows a text line by line, and is `made` where `enough` says that it may end.

    A line is looked at once, as soon as it is whole or `LONGEST_LINE` long. The time this takes is
    linear in the length of the text.
    """

    def __init__(self, enough: Enough) -> None:
        self.made = False
        self.text = ""
        self._enough = enough
        self._pieces: list[str] = []
        self._length = 0
        self._line = ""
        self._begins = 0
        self._is_seen = False
        self._read = 0

    def take(self, piece: str) -> None:
        """Go on with the next piece of the text; where the cut is made, `text` is what stays."""
        self._pieces.append(piece)
        first, *others = piece.split("\n")
        self._go_on(first)
        for other in others:
            self._look()
            if self.made:
                return
            self._length += 1
            self._line, self._begins, self._is_seen = "", self._length, False
            self._go_on(other)
        if len(self._line) == LONGEST_LINE:
            self._look()

    def _go_on(self, words: str) -> None:
        self._line += words[: LONGEST_LINE - len(self._line)]
        self._length += len(words)

    def _look(self) -> None:
        if self._is_seen:
            return
        self._is_seen = True
        if self._enough.suspects(self._line) and self._is_affordable():
            before = "".join(self._pieces)[: self._begins]
            if self._enough.settled(before, self._line):
                self.made, self.text = True, before.removesuffix("\n")

    def _is_affordable(self) -> bool:
        takes = self._begins + LONGEST_LINE
        if self._read + takes > _EFFORT * self._begins + _FREE:
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
