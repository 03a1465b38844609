"""A compilation may be the premiere, if it is the artist's own and long before everything else."""

from collections.abc import Iterable, Sequence

import msgspec

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, Answer
from chart_binder.domain.evidence import Artist
from chart_binder.rules.candidates import Candidate, hinted
from chart_binder.rules.credits import is_by, names_on
from chart_binder.rules.roles import Role

_NEVER = 2 * LAST_DAY
_MOST_NEAR = 3


class Forerunner(msgspec.Struct, frozen=True, eq=False):
    """A compilation that may be long before every work, with no compilation long before it."""

    candidate: Candidate
    is_own: Answer
    """Whether it is credited to the artist."""
    is_alone: bool
    """Whether no other compilation may have come out within the window of it, or before."""
    outruns: bool
    """Whether it is all that for certain, so that no work can be where the recording came out."""

    @property
    def is_certain(self) -> bool:
        """Whether it is the premiere whatever the true days are."""
        return self.outruns and self.is_alone


class Precursors(msgspec.Struct, frozen=True, eq=False):
    """The dated records that gather what may have come out elsewhere."""

    compilations: Sequence[Candidate]
    soundtracks: Sequence[Candidate]
    """Those that run as works: a compilation has to be before them, not long before."""

    def near(self, one: Candidate, window: int) -> list[Candidate]:
        """Return the first few others that may be within `window` days of a forerunner."""
        everything = (*self.compilations, *self.soundtracks)
        close = (each for each in everything if each.first <= one.last + window)
        others = (each for each in close if each.group.mb_rg_id != one.group.mb_rg_id)
        return [each for each, _ in zip(others, range(_MOST_NEAR), strict=False)]


def precursors(compilations: Sequence[Candidate], soundtracks: Sequence[Candidate]) -> Precursors:
    """Leave out what has no date; the group's date stands in as the earliest day it may be."""
    spans = [one if one.first > FIRST_DAY else hinted(one) for one in compilations]
    return Precursors([one for one in spans if one], soundtracks)


def forerunners(
    field: Precursors, works: Sequence[Candidate], artist: Artist, window: int
) -> Sequence[Forerunner]:
    """Return the compilations that may precede every work by more than `window` days.

    One of them is the premiere if every other compilation is more than the window later too. If
    another may be nearer, nobody knows which was first; that one is much earlier rules it out.
    """
    work_last = min([one.last for one in works], default=_NEVER)
    early = [one for one in field.compilations if one.first + window < work_last]
    if not early:
        return ()
    others = (*field.compilations, *field.soundtracks)
    soonest, first = two_least(one.last for one in others), two_least(one.first for one in others)
    work_first = min([one.first for one in works], default=_NEVER)
    sound_last = min([one.last for one in field.soundtracks], default=_NEVER)
    sound_first = min([one.first for one in field.soundtracks], default=_NEVER)
    names: set[str] | None = None
    found = []
    for one in early:
        other_last = soonest[one.last == soonest[0]]
        if one.first >= sound_last or one.first > other_last + window:
            continue
        names = names or _names(artist, works)
        is_own = is_by(names, one.group, one.official)
        if is_own is False:
            continue
        other_first = first[one.first == first[0]]
        is_ahead = one.last + window < work_first and one.last < sound_first
        is_early = one.last <= other_first + window
        outruns = is_own is True and is_ahead and is_early
        found.append(Forerunner(one, is_own, one.last + window < other_first, outruns))
    return found


def two_least(days: Iterable[int]) -> tuple[int, int]:
    """Return the least day of all, then that of all but one which has it."""
    first, second, *_ = *sorted(days)[:2], _NEVER, _NEVER
    return first, second


def _names(artist: Artist, works: Sequence[Candidate]) -> set[str]:
    """Return the artist's names: as in the evidence, and as credited on singles and albums."""
    credited = [work for work in works if work.role in (Role.SINGLE, Role.ALBUM)]
    names = {name for work in credited for name in names_on(work.group, work.official)}
    return names | {artist.name} if artist.name else names
