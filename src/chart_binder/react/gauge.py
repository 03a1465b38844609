"""How many tokens a conversation takes, estimated until its server has counted."""

from collections.abc import Sequence

from chart_binder.react.conversation import Message

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
