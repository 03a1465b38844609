"""Which services failed while a case was looked into: then not to know says little."""

from collections.abc import Iterable, Iterator

from chart_binder.llm.result import Check
from chart_binder.react.tools import SAYS_NOTHING
from chart_binder.react.transcript import AnyEvent, Observed, Stepped

UNANSWERED = "unanswered"
"""The name of the check: a run that came to nothing without a service is worth another."""


def unanswered(events: Iterable[AnyEvent]) -> Iterator[Check]:
    """Yield a check for each tool whose last call in the run failed for its service's sake."""
    last: dict[str, str] = {}
    tool = ""
    for event in events:
        if isinstance(event, Stepped):
            tool = event.tool or ""
        elif isinstance(event, Observed) and tool:
            error = event.error or ""
            last[tool] = error if error.endswith(SAYS_NOTHING) else ""
    for name, error in last.items():
        if error:
            told = error.removesuffix(SAYS_NOTHING).strip()
            yield Check(UNANSWERED, passed=False, detail=f"{name}: {told}")
