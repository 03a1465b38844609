"""A compilation may be the premiere, if it is the artist's own and long before everything else."""

from collections.abc import Iterator, Sequence

import msgspec

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, Answer
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
    """Whether it is the artist's own and certainly earlier than the rest."""


def forerunners(
    compilations: Sequence[Candidate], works: Sequence[Candidate], artist: Artist, window: int
) -> Sequence[Forerunner]:
    """Return the compilations that may precede every work by more than `window` days.

    Other compilations must only not be earlier. Were they held to the window too, a later
    compilation could undo the decision for an earlier one.
    """
    dated = [one for one in compilations if one.first > FIRST_DAY]
    if not dated:
        return ()
    soonest = min([one.last for one in dated])
    soonest_work = min([one.last for one in works], default=LAST_DAY)
    found = []
    for one in dated:
        if one.first > soonest or one.first + window >= soonest_work:
            continue
        is_own = is_by(set(_names(artist, works)), one.group, one.official)
        if is_own is not False:
            is_ahead = all(one.last <= other.first for other in dated if other is not one) and all(
                one.last + window < work.first for work in works
            )
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
