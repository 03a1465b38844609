"""Compilations that may be the premiere, because they precede every work."""

from collections.abc import Iterable, Sequence

import msgspec

from chart_binder.domain.dates import LAST_DAY, Answer
from chart_binder.domain.evidence import Artist
from chart_binder.rules.candidates import Candidate, Role
from chart_binder.rules.names import is_named, names_on

_NEVER = 2 * LAST_DAY


class EarlyCompilation(msgspec.Struct, frozen=True, eq=False):
    """A compilation by the artist that may precede every work by more than the lead window."""

    candidate: Candidate
    is_own: Answer
    is_alone: bool
    """Whether every other compilation came out later by more than the lead window."""
    precedes_all: bool
    """Whether it is certain that the recording did not first come out on a work."""


def early_compilations(
    compilations: Sequence[Candidate],
    soundtracks: Sequence[Candidate],
    works: Sequence[Candidate],
    artist: Artist,
    window: int,
) -> Sequence[EarlyCompilation]:
    """Return the compilations that may precede every work by more than `window` days.

    A compilation by the artist is the premiere if every other compilation is also more than
    `window` days later. The case is open if another compilation may be closer. A compilation is
    left out if another is certainly more than `window` days earlier, or if it does not precede the
    `soundtracks`, which are compilations that count as works.
    """
    work_last = min([work.last for work in works], default=_NEVER)
    early = [collection for collection in compilations if collection.first + window < work_last]
    if not early:
        return ()
    others = (*compilations, *soundtracks)
    soonest = two_least(record.last for record in others)
    first = two_least(record.first for record in others)
    work_first = min([work.first for work in works], default=_NEVER)
    sound_last = min([soundtrack.last for soundtrack in soundtracks], default=_NEVER)
    sound_first = min([soundtrack.first for soundtrack in soundtracks], default=_NEVER)
    soonest_work = min(work_first, sound_first)
    names = _artist_names(artist, works)
    results = []
    for record in early:
        other_last = least_of_others(soonest, record.last)
        if record.first >= sound_last or record.first > other_last + window:
            continue
        is_own = record.is_own
        if not is_own and soonest_work <= record.last + window:
            continue
        if is_own is False and is_named(names, record.group, record.official) is False:
            if soonest_work < _NEVER:
                results.append(EarlyCompilation(record, is_own, is_alone=True, precedes_all=True))
            continue
        other_first = first[record.first == first[0]]
        is_ahead = record.last + window < work_first and record.last < sound_first
        precedes_all = is_own is True and is_ahead and record.last <= other_first + window
        is_alone = record.last + window < other_first
        results.append(EarlyCompilation(record, is_own or None, is_alone, precedes_all))
    return results


def two_least(days: Iterable[int]) -> tuple[int, int]:
    """Return the two least days; if there are fewer, days that are later than any date."""
    first, second, *_ = *sorted(days)[:2], _NEVER, _NEVER
    return first, second


def least_of_others(least_days: tuple[int, int], day: int) -> int:
    """Return the least of all days except the one `day`, by the two least of all days."""
    least, second = least_days
    return second if day == least else least


def _artist_names(artist: Artist, works: Sequence[Candidate]) -> set[str]:
    credited = [work for work in works if work.role in (Role.SINGLE, Role.ALBUM)]
    names = {name for work in credited for name in names_on(work.group, work.official)}
    return names | {artist.name} if artist.name else names
