"""A candidate is a release group with what counts of it: when this recording came out on it.

What counts is the earliest official release that contains the recording; the group's own first
date stands in only where no release is listed at all.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress
from operator import attrgetter, not_

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, UNKNOWN, PartialDate, parse
from chart_binder.domain.evidence import RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.vocabulary import type_names
from chart_binder.rules.names import is_various


class Role(enum.Enum):
    """The parts that the rules tell apart."""

    SOUNDTRACK = "soundtrack"
    ALBUM = "album"
    """A studio album: an Album by one artist, of none of the types in `_NO_STUDIO_ALBUM`."""
    SINGLE = "single"
    """A single or EP, remixes and demos included."""
    LIVE = "live"
    OTHER = "other"
    """An official work all the same: a remix album, a broadcast, a tribute by many artists."""
    COMPILATION = "compilation"
    """It gathers what came out elsewhere: a compilation or a DJ's mix."""


_GATHERING = ("Compilation", "DJ-mix")
_NO_STUDIO_ALBUM = frozenset({*_GATHERING, "Soundtrack", "Live", "Remix"})
"""Secondary types of an Album that no single leads to; a mixtape or a demo album is one."""


@lru_cache(maxsize=1_024)
def part_of(primary: str | None, secondary: tuple[str, ...]) -> tuple[Role, str]:
    """Return the role by the types of a group, and what to call such a record.

    Types are MusicBrainz' own (musicbrainz.org/doc/Release_Group/Type); the noun is `single`,
    `live album`, `remix EP`, `DJ mix` ...
    """
    record, kinds = type_names(primary, secondary)
    return _role(record, kinds), _noun(record, kinds)


def _role(record: str | None, kinds: tuple[str, ...]) -> Role:
    if any(kind in _GATHERING for kind in kinds):
        return Role.COMPILATION
    if "Soundtrack" in kinds:
        return Role.SOUNDTRACK
    if "Live" in kinds:
        return Role.LIVE
    if record in ("Single", "EP"):
        return Role.SINGLE
    is_studio = record == "Album" and _NO_STUDIO_ALBUM.isdisjoint(kinds)
    return Role.ALBUM if is_studio else Role.OTHER


def _noun(record: str | None, kinds: tuple[str, ...]) -> str:
    noun = {"Album": "album", "Single": "single", "EP": "EP"}.get(record or "", "record")
    if "Compilation" in kinds:
        return "soundtrack compilation" if "Soundtrack" in kinds else "compilation"
    if "DJ-mix" in kinds:
        return "DJ mix"
    if "Soundtrack" in kinds:
        return "soundtrack" if noun != "single" else "soundtrack single"
    if "Mixtape/Street" in kinds:
        return "mixtape"
    return " ".join([*(kind.casefold() for kind in kinds[:1]), noun])


def gathers(group: ReleaseGroup) -> bool:
    """Whether it is a compilation by its types, be it one that runs as a soundtrack."""
    role, _ = part_of(group.primary_type, group.secondary_types or ())
    return role is Role.COMPILATION


def is_soundtrack(group: ReleaseGroup) -> bool:
    """Whether it is a soundtrack, be it one of songs that were out before."""
    return _sounds(group.primary_type, group.secondary_types or ())


@lru_cache(maxsize=1_024)
def _sounds(primary: str | None, secondary: tuple[str, ...]) -> bool:
    return "Soundtrack" in type_names(primary, secondary)[1]


_SPAN = attrgetter("first", "last")
_ORDER = attrgetter("first", "last", "group.mb_rg_id")
_NONE: tuple[Release, ...] = ()
_DAY = len("YYYY-MM-DD")
_LATE = ":"
"""As text, later than any date."""
_LISTS = ("secondary_types", "labels", "countries")


class Candidate(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A release group in the running, or one that cannot be, with the reasons kept.

    The recording came out on it on some day from `first` to `last` (proleptic Gregorian
    ordinals). `since` is the date that gives `first`, `by` the one that gives `last`.
    """

    group: ReleaseGroup
    role: Role
    kind: str
    """What to call the record: `single`, `live album` ..."""
    first: int
    last: int
    since: PartialDate
    by: PartialDate
    official: tuple[Release, ...]
    aside: tuple[Release, ...]
    """Releases that decide nothing: promotional, bootleg, pseudo, withdrawn, of no known status."""
    carriers: tuple[RecordingCandidate, ...]
    """The recordings that are on it."""

    @property
    def is_weak(self) -> bool:
        """Whether its date is only the group's own, as no release is listed."""
        return not self.group.releases

    @property
    def counts(self) -> bool:
        """Whether it can be where the recording came out officially."""
        return bool(self.official) or not self.group.releases

    @property
    def is_dated(self) -> bool:
        """Whether at least the year is known."""
        return self.first > FIRST_DAY

    @property
    def when(self) -> str:
        """The appearance date, in words where releases differ in how exactly they are dated."""
        if self.since is self.by or self.since == self.by:
            return self.since.text or "date unknown"
        return f"{self.since.text}, {self.by.text} at the latest"

    @property
    def is_partly_dated(self) -> bool:
        """Whether some official release of it is dated, others are not."""
        return self.since.is_known and None in [one.date for one in self.official]

    @property
    def title(self) -> str:
        """The title, or the id of a nameless one."""
        return self.group.title or self.group.mb_rg_id

    @property
    def name(self) -> str:
        """`the single 'Killer Queen'`."""
        return f"the {self.kind} '{self.title}'"

    @property
    def dated_name(self) -> str:
        """`the single 'Killer Queen' (1974-10-11)`, with what makes the date a weaker one."""
        remark = ""
        if self.is_weak and self.is_dated:
            remark = ", the group's own date"
        elif self.is_partly_dated:
            remark = "; another release has no date"
        return f"the {self.kind} '{self.title}' ({self.when}{remark})"


def candidates_of(recordings: Sequence[RecordingCandidate]) -> list[Candidate]:
    """Join recordings into one candidate for each group that carries one, the earliest first."""
    return sorted(_candidates(recordings), key=_ORDER)


def hinted(candidate: Candidate) -> Candidate | None:
    """Return an undated candidate as no earlier than its group; nothing, if that has no date.

    The group's date is that of its earliest release, be it one without this recording.
    """
    first = candidate.group.first_date.first
    return at(candidate, first, LAST_DAY) if first > FIRST_DAY else None


def at(candidate: Candidate, first: int, last: int) -> Candidate:
    """Return the candidate as if it had come out on some day from `first` to `last`."""
    return replace(candidate, first=first, last=last)


def _candidates(recordings: Sequence[RecordingCandidate]) -> list[Candidate]:
    if len(recordings) == 1:
        carriers = (recordings[0],)
        groups = recordings[0].rg_candidates or ()
        if len({group.mb_rg_id for group in groups}) == len(groups):
            return [_candidate(group, carriers) for group in groups]
    return [_candidate(group, carriers) for group, carriers in _joined(recordings)]


def _candidate(group: ReleaseGroup, carriers: tuple[RecordingCandidate, ...]) -> Candidate:
    releases = group.releases or ()
    official, aside = releases, _NONE
    if day := _plain_day(releases):
        since = by = parse(day)
    else:
        counts = [release.is_official for release in releases]
        official = tuple(compress(releases, counts))
        aside = tuple(compress(releases, map(not_, counts)))
        if official:
            since, by = _appearance(official)
        else:
            since = by = UNKNOWN if releases else group.first_date
    role, kind = part_of(group.primary_type, group.secondary_types or ())
    if role is Role.ALBUM and is_various(group, official):
        role, kind = Role.OTHER, "various-artists album"
    return Candidate(group, role, kind, since.first, by.last, since, by, official, aside, carriers)


def _plain_day(releases: Sequence[Release]) -> str | None:
    """Return the earliest date, if it is a day and all releases say that they are official.

    It is so of most groups, of which some have hundreds of releases: one look at each is enough.
    As text, dates are in order: a year goes before its months, a month before its days; so where a
    whole date is least, none can be earlier. One that is unknown tells nothing beside it.
    """
    earliest = _LATE
    for release in releases:
        if release.status != "Official":
            return None
        if (date := release.date) and date < earliest:
            earliest = date
    return earliest if len(earliest) == _DAY else None


def _appearance(releases: Sequence[Release]) -> tuple[PartialDate, PartialDate]:
    """Return the dates that bound the earliest release: from the one on, by the other."""
    written = {release.date for release in releases if release.date}
    least = min(written, default="")
    dates = [parse(date) for date in written if date.startswith(least)]  # the rest is later
    since = min(dates, key=_SPAN, default=UNKNOWN)
    if since.first == since.last or not dates:
        return since, since
    by = min(dates, key=lambda date: (date.last, -date.first))
    return (by if by.first == since.first else since), by


def _joined(
    recordings: Iterable[RecordingCandidate],
) -> Iterator[tuple[ReleaseGroup, tuple[RecordingCandidate, ...]]]:
    found: dict[str, list[tuple[ReleaseGroup, RecordingCandidate]]] = {}
    for recording in recordings:
        for group in recording.groups:
            found.setdefault(group.mb_rg_id, []).append((group, recording))
    for pairs in found.values():
        carriers = {id(recording): recording for _, recording in pairs}
        yield _merged([group for group, _ in pairs]), tuple(carriers.values())


def _merged(groups: Sequence[ReleaseGroup]) -> ReleaseGroup:
    """Return one group with the releases of all; the wordiest of them speaks for the rest."""
    if len(groups) == 1:
        return groups[0]
    spokesman = max(groups, key=_wording)
    releases = {release for group in groups for release in group.editions}
    dates = [group.first_date for group in groups if group.first_date.is_known]
    first = min(dates, key=lambda date: (date.last, date.first), default=UNKNOWN)
    credit = max((group.artist_credit for group in groups if group.artist_credit), default=None)
    primary = max((group.primary_type for group in groups if group.primary_type), default=None)
    in_order = tuple(sorted(releases, key=str))
    return replace(
        spokesman,
        artist_credit=spokesman.artist_credit or credit,
        primary_type=spokesman.primary_type or primary,
        first_release_date=first.text or None,
        releases=in_order,
    )


def _wording(group: ReleaseGroup) -> tuple[int, bool, bool, str, str]:
    """Return what puts descriptions in order, neither releases nor dates among it.

    Where they contradict, a decision stands only if it is the same by each (`contradicting`).
    """
    lists = {name: tuple(sorted(getattr(group, name) or ())) for name in _LISTS}
    plain = replace(group, releases=None, first_release_date=None, **lists)
    told = bool(group.primary_type), bool(group.artist_credit)
    return len(group.kinds), *told, f"{group.types} {group.artist_credit}", str(plain)
