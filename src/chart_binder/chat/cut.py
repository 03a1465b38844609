"""A text ends before the first stop string in it, however the pieces it comes in are split."""

from collections.abc import Iterable


class Cut:
    """Lets a text through piece by piece.

    The stop string whose last letter comes first ends the text; of two that end together, the
    longer. So the result is the same for every way to split the text. What may be the beginning of
    a stop string is held back until the next piece tells.
    """

    def __init__(self, stop: Iterable[str]) -> None:
        self._stop = tuple(filter(None, stop))
        self._held = ""
        self.made = False

    def let_through(self, piece: str) -> str:
        """Return what is certain to stay, now that `piece` has come; nothing after the cut."""
        if self.made:
            return ""
        text = self._held + piece
        found = [(at + len(stop), at) for stop in self._stop if (at := text.find(stop)) >= 0]
        if found:
            self.made, self._held = True, ""
            return text[: min(found)[1]]
        certain = len(text) - self._suspicious(text)
        self._held = text[certain:]
        return text[:certain]

    def rest(self) -> str:
        """Return what was held back: no more pieces come."""
        held, self._held = self._held, ""
        return held

    def _suspicious(self, text: str) -> int:
        """Return how many letters at the end of the text may begin a stop string."""
        reach = max(map(len, self._stop), default=1) - 1
        return next(
            (
                size
                for size in range(min(reach, len(text)), 0, -1)
                if any(stop.startswith(text[-size:]) for stop in self._stop)
            ),
            0,
        )
