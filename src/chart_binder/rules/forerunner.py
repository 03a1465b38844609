"""A compilation may be the premiere, if it is the artist's own and long before everything else."""

from collections.abc import Iterator, Sequence

import msgspec

from chart_binder.domain.dates import FIRST_DAY, Answer
from chart_binder.domain.evidence import Artist
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.credits import is_by
from chart_binder.rules.roles import Role


class Forerunner(msgspec.Struct, frozen=True, eq=False):
    """A compilation that may be the premiere of what other records carry too."""

    candidate: Candidate
    is_own: Answer
    """Whether it is credited to the artist."""
    is_certain: bool
    """Whether it is the artist's own and certainly earlier than the rest by the whole window."""


def forerunners(
    compilations: Sequence[Candidate], works: Sequence[Candidate], artist: Artist, window: int
) -> Sequence[Forerunner]:
    """Return the compilations that may precede everything else by more than `window` days."""
    dated = [one for one in compilations if one.first > FIRST_DAY]
    rest = [*dated, *works]
    lasts = sorted([one.last for one in rest])[:2]
    found = []
    for one in dated:
        soonest_other = lasts[-1] if one.last == lasts[0] else lasts[0]
        if len(lasts) > 1 and one.first + window >= soonest_other:
            continue
        is_own = is_by(set(_names(artist, works)), one.group, one.official)
        if is_own is not False:
            latest = one.last + window
            is_ahead = all(latest < other.first for other in rest if other is not one)
            found.append(Forerunner(one, is_own, is_own is True and is_ahead))
    return found


def _names(artist: Artist, works: Sequence[Candidate]) -> Iterator[str]:
    """Yield the artist's names: as in the evidence, and as credited on singles and albums."""
    if artist.name:
        yield artist.name
    for work in works:
        if work.role in (Role.SINGLE, Role.ALBUM):
            names = (work.group.artist_credit, *(one.artist_credit for one in work.official))
            yield from filter(None, names)
