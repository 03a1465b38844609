"""A model without a server, which replies as a script says."""

from collections.abc import Iterable, Sequence

from chart_binder.react.conversation import ChatError, GenerationOptions, Message, Reply


class Scripted:
    """Gives `replies` one after the other, unchanged.

    They are not cut at a stop string, so a script can play a model that goes on writing. `asked`
    holds the conversations that it was asked to continue, in order. `readings` answer the
    adjudicator's second readings, in order; after the last one they are `unclear`.
    """

    def __init__(
        self,
        replies: Iterable[str | Reply],
        model_id: str = "scripted",
        readings: Iterable[str] = (),
    ) -> None:
        if isinstance(replies, str):
            raise TypeError(f"replies must be a list of texts, such as [{replies!r}], not a text")
        self._replies = tuple(
            Reply(reply) if isinstance(reply, str) else reply for reply in replies
        )
        self.model_id = model_id
        self.readings = list(readings)
        self.asked: list[tuple[Message, ...]] = []

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:  # noqa: ARG002
        """Return the next reply. Raises `ChatError` if there is none."""
        self.asked.append(tuple(messages))
        if len(self.asked) > len(self._replies):
            has = f"the script has {len(self._replies)} replies"
            raise ChatError(f"{has} and the conversation asks for one more")
        return self._replies[len(self.asked) - 1]
