"""A model without a server, which replies as a script says."""

from collections.abc import Iterable, Sequence

from chart_binder.react.conversation import ChatError, GenerationOptions, Message, Reply


class Scripted:
    """Plays `replies` one by one, each as it is given.

    They are not cut at a stop string, so that a script can hold what a disobedient model writes.
    `asked` holds the conversations it was asked to continue, in order. The adjudicator's second
    readings are answered from `readings`, in order, and are `unclear` when those are used up.
    """

    def __init__(
        self,
        replies: Iterable[str | Reply],
        model_id: str = "scripted",
        readings: Iterable[str] = (),
    ) -> None:
        if isinstance(replies, str):
            raise TypeError(f"replies must be a list of texts, such as [{replies!r}], not a text")
        self._replies = tuple(Reply(each) if isinstance(each, str) else each for each in replies)
        self.model_id = model_id
        self.readings = list(readings)
        self.asked: list[tuple[Message, ...]] = []

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:  # noqa: ARG002
        """Return the next reply, or raise `ChatError` when all have been given."""
        self.asked.append(tuple(messages))
        if len(self.asked) > len(self._replies):
            has = f"the script has {len(self._replies)} replies"
            raise ChatError(f"{has} and the conversation asks for one more")
        return self._replies[len(self.asked) - 1]
