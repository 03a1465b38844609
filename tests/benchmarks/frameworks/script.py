"""The run that every framework is put through: two look-ups and an answer."""

from typing import Final

QUESTION: Final = "How many are there under first and second together?"
KEYS: Final = ("first", "second")
VALUE: Final = "3"
ANSWER: Final = "6"
THOUGHTS: Final = ("I look the first one up.", "Now the second one.", "Three and three.")

looked_up: list[str] = []
"""The keys that were really asked for, in order."""


def look_up(key: str) -> str:
    """Look a number up.

    Args:
        key: what it stands under
    """
    looked_up.append(key)
    return VALUE


def in_labels(action_input: str, answer: str) -> tuple[str, ...]:
    """Return the replies as labelled lines; `action_input` has a place for the key."""
    acts = tuple(
        f"Thought: {thought}\nAction: look_up\nAction Input: {action_input % key}"
        for thought, key in zip(THOUGHTS, KEYS, strict=False)
    )
    return (*acts, f"Thought: {THOUGHTS[-1]}\n{answer} {ANSWER}")
