"""Records that cannot be read are named in a line each, and fail the command that goes on."""

from dataclasses import dataclass

from chart_binder.cli.render.tags import shown_path
from chart_binder.cli.write import say
from chart_binder.domain.records import UnreadDecision
from chart_binder.jobs.stored_decisions import path_from_bytes


@dataclass
class LeftOut:
    """Tells of records that are left out; `status` is 1 as soon as there is one."""

    status: int = 0

    def decision(self, left_out: UnreadDecision) -> None:
        """Tell of a decision."""
        self.record(f"{where(left_out)}{left_out.problem}; decide it again: canon decide")

    def record(self, problem: str) -> None:
        """Tell of a record by what is wrong with it."""
        self.status = 1
        say([f"left out: {problem}"])


def where(left_out: UnreadDecision) -> str:
    """Return the file that a decision is about, as far as that is known, before a problem."""
    return "" if left_out.path is None else f"{shown_path(path_from_bytes(left_out.path))}: "
