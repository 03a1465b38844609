"""All rules are asked, and what they may choose is weighed over every way the facts can fall."""

from collections.abc import Sequence

import msgspec

from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest
from chart_binder.rules.ruling import Ruling
from chart_binder.rules.table import RULES


class Weighed(msgspec.Struct, frozen=True, eq=False):
    """What the rules make of a contest."""

    asked: Sequence[tuple[str, Ruling]]
    possible: Sequence[Candidate]
    """What may be the answer: one candidate, where the unknown facts make no difference."""
    doubts: Sequence[str]

    @property
    def chosen(self) -> Candidate | None:
        """The decision, if there is one."""
        return self.possible[0] if len(self.possible) == 1 and not self.doubts else None


def weigh(contest: Contest) -> Weighed:
    """Ask every rule.

    A rule answers with what it may choose when the unknown days fall one way or another. If all
    answers together name one candidate, it is the decision whatever the true days are, and the
    first rule that named it is the one that fires.
    """
    asked = [(code, ask(contest)) for code, ask in RULES]
    possible: dict[str, Candidate] = {}
    doubts: dict[str, None] = {}
    for _, ruling in asked:
        for one in ruling.choices:
            possible.setdefault(one.group.mb_rg_id, one)
        if ruling.doubts:
            doubts |= dict.fromkeys(ruling.doubts)
    return Weighed(asked, list(possible.values()), list(doubts))
