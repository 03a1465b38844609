"""What one rule says of a contest."""

from collections.abc import Sequence

import msgspec

from chart_binder.rules.candidates import Candidate


class Ruling(msgspec.Struct, frozen=True, eq=False):
    """The candidates a rule may choose, over every way the unknown days can fall.

    None: the rule does not fire, and `said` is why. One: if no other rule may choose another
    candidate, that is the decision, and `said` is its reason. With `doubts` the rule would choose,
    were it not for facts that contradict; they name what is missing.
    """

    choices: Sequence[Candidate]
    said: str
    doubts: tuple[str, ...] = ()


def passes(why: str) -> Ruling:
    """Return the ruling of a rule that does not fire."""
    return Ruling((), why)
