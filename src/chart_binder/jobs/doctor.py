"""Is everything a run needs reachable and right; where not, what to do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from chart_binder.errors import CanonError


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look into: `ask` returns what was found, or raises `CanonError` with the fix."""

    name: str
    is_needed: bool
    ask: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of a check."""

    name: str
    is_needed: bool
    is_well: bool
    said: str


def examine(checks: Iterable[Check]) -> Iterator[Finding]:
    """Carry the checks out, one after the other."""
    for check in checks:
        try:
            yield Finding(check.name, check.is_needed, is_well=True, said=check.ask())
        except CanonError as error:
            yield Finding(check.name, check.is_needed, is_well=False, said=str(error))


def status(findings: Iterable[Finding]) -> int:
    """Return the exit status: 0 all well, 3 something optional amiss, 1 something needed."""
    broken = [finding.is_needed for finding in findings if not finding.is_well]
    return 1 if any(broken) else 3 if broken else 0
