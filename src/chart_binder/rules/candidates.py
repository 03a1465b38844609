"""Candidates: release groups with their role and the span of days on which the recording came out.

The span is that of the earliest official release that contains the recording. The group's own first
date is used only where no release is listed.
"""

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import compress
from operator import attrgetter, not_

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, UNKNOWN, PartialDate
from chart_binder.domain.evidence import RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.vocabulary import type_names
from chart_binder.rules.names import is_various


class Role(enum.Enum):
    """What a record can be, as far as the rules tell records apart."""

    SOUNDTRACK = "soundtrack"
    ALBUM = "album"
    """A studio album: an Album by one artist, without any type in `_NO_STUDIO_ALBUM`."""
    SINGLE = "single"
    """A single or EP, including those of remixes and demos."""
    LIVE = "live"
    OTHER = "other"
    """Any other original work: a remix album, a broadcast, a tribute by many artists."""
    COMPILATION = "compilation"
    """A collection of earlier recordings: a compilation or a DJ mix."""


_COLLECTIONS = ("Compilation", "DJ-mix")
_NO_STUDIO_ALBUM = frozenset({*_COLLECTIONS, "Soundtrack", "Live", "Remix"})
"""Secondary types of an Album that no single leads to; mixtapes and demo albums are not listed."""


@lru_cache(maxsize=1_024)
def role_and_noun(primary: str | None, secondary: tuple[str, ...]) -> tuple[Role, str]:
    """Return the role of a group by its types, and a noun such as `single` or `live album`.

    Types are those of MusicBrainz (musicbrainz.org/doc/Release_Group/Type).
    """
    record, kinds = type_names(primary, secondary)
    return _role(record, kinds), _noun(record, kinds)


def _role(record: str | None, kinds: tuple[str, ...]) -> Role:
    if any(kind in _COLLECTIONS for kind in kinds):
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
    return " ".join([*(kind.lower() for kind in kinds[:1]), noun])


def is_compilation(group: ReleaseGroup) -> bool:
    """Whether the types say compilation or DJ mix, including soundtrack compilations."""
    return role_and_noun(group.primary_type, group.secondary_types or ())[0] is Role.COMPILATION


def is_soundtrack(group: ReleaseGroup) -> bool:
    """Whether the types say soundtrack, including soundtrack compilations."""
    return "Soundtrack" in type_names(group.primary_type, group.secondary_types or ())[1]


class Candidate(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A release group that carries the recording, eligible or not.

    The recording came out on it on some day from `first` to `last` (proleptic Gregorian
    ordinals). `since` is the date that gives `first`, `by` the one that gives `last`.
    """

    group: ReleaseGroup
    role: Role
    kind: str
    """A noun for the record: `single`, `live album` ..."""
    first: int
    last: int
    since: PartialDate
    by: PartialDate
    official: tuple[Release, ...]
    unofficial: tuple[Release, ...]
    """Releases that decide nothing: promotional, bootleg, pseudo, withdrawn, of unknown status."""
    recordings: tuple[RecordingCandidate, ...]
    """The recordings that are on it."""

    @property
    def is_weak(self) -> bool:
        """Whether its date is only the group's own, because no release is listed."""
        return not self.group.releases

    @property
    def counts(self) -> bool:
        """Whether the recording can have come out on it officially."""
        return bool(self.official) or not self.group.releases

    @property
    def is_dated(self) -> bool:
        """Whether at least the year is known."""
        return self.first > FIRST_DAY

    @property
    def when(self) -> str:
        """The appearance date; two dates where releases are dated with different precision."""
        if self.since is self.by or self.since == self.by:
            return self.since.text or "date unknown"
        return f"{self.since.text}, {self.by.text} at the latest"

    @property
    def title(self) -> str:
        """The title, or the id if there is none."""
        return self.group.title or self.group.mb_rg_id

    @property
    def name(self) -> str:
        """`the single 'Killer Queen'`."""
        return f"the {self.kind} '{self.title}'"

    @property
    def dated_name(self) -> str:
        """`the single 'Killer Queen' (1974-10-11)`, with a remark if the date is a weak one."""
        remark = ""
        if self.is_weak and self.is_dated:
            remark = ", the group's own date"
        elif self.since.is_known and None in [one.date for one in self.official]:
            remark = "; another release has no date"
        return f"the {self.kind} '{self.title}' ({self.when}{remark})"


_SPAN = attrgetter("first", "last")
_ORDER = attrgetter("first", "last", "group.mb_rg_id")


def candidates_of(recordings: Sequence[RecordingCandidate]) -> list[Candidate]:
    """Return one candidate for each group that carries one of the recordings, earliest first."""
    if len(recordings) == 1:
        groups = recordings[0].rg_candidates or ()
        if len({group.mb_rg_id for group in groups}) == len(groups):
            carriers = (recordings[0],)
            return sorted([candidate_of(group, carriers) for group in groups], key=_ORDER)
    return sorted([candidate_of(*pair) for pair in _merged_groups(recordings)], key=_ORDER)


def with_group_date(candidate: Candidate) -> Candidate | None:
    """Return an undated candidate with its group's date as the lower bound; None if unknown.

    The group's date is that of its earliest release, which may lack this recording.
    """
    first = candidate.group.first_date.first
    return with_span(candidate, first, LAST_DAY) if first > FIRST_DAY else None


def with_span(candidate: Candidate, first: int, last: int) -> Candidate:
    """Return the candidate as if it had come out on some day from `first` to `last`."""
    return replace(candidate, first=first, last=last)


def candidate_of(group: ReleaseGroup, recordings: tuple[RecordingCandidate, ...]) -> Candidate:
    """Return the candidate for a group that carries the recordings."""
    releases = group.releases or ()
    official, unofficial = releases, releases[:0]
    if day := earliest_day(releases):
        since = by = PartialDate.parse(day)
    else:
        are_official = [release.is_official for release in releases]
        official = tuple(compress(releases, are_official))
        unofficial = tuple(compress(releases, map(not_, are_official)))
        if official:
            since, by = _bounds(official)
        else:
            since = by = UNKNOWN if releases else group.first_date
    role, noun = role_and_noun(group.primary_type, group.secondary_types or ())
    if role is Role.ALBUM and is_various(group, official):
        role, noun = Role.OTHER, "various-artists album"
    return Candidate(
        group, role, noun, since.first, by.last, since, by, official, unofficial, recordings
    )


_DAY_LENGTH = len("YYYY-MM-DD")
AFTER_ANY_DATE = ":"


def earliest_day(releases: Sequence[Release]) -> str | None:
    """Return the earliest date, if it is a whole day and every release has the status Official.

    This fast path fits most groups, some of which have hundreds of releases. Dates sort as text: a
    year before its months, a month before its days; so if the least text is a whole date, no
    release can be earlier.
    """
    earliest = AFTER_ANY_DATE
    for release in releases:
        if release.status != "Official":
            return None
        if (date := release.date) and date < earliest:
            earliest = date
    return earliest if len(earliest) == _DAY_LENGTH else None


def _bounds(releases: Sequence[Release]) -> tuple[PartialDate, PartialDate]:
    """Return the dates that bound the day of the earliest release from below and from above."""
    written = {release.date for release in releases if release.date}
    least = min(written, default="")
    # What is later than the least is left out.
    dates = [PartialDate.parse(date) for date in written if date.startswith(least)]
    since = min(dates, key=_SPAN, default=UNKNOWN)
    if since.first == since.last or not dates:
        return since, since
    by = min(dates, key=lambda date: (date.last, -date.first))
    return (by if by.first == since.first else since), by


def _merged_groups(
    recordings: Sequence[RecordingCandidate],
) -> Iterator[tuple[ReleaseGroup, tuple[RecordingCandidate, ...]]]:
    found: dict[str, list[tuple[ReleaseGroup, RecordingCandidate]]] = {}
    for recording in recordings:
        for group in recording.groups:
            found.setdefault(group.mb_rg_id, []).append((group, recording))
    for pairs in found.values():
        carriers = {id(recording): recording for _, recording in pairs}
        yield _merged([group for group, _ in pairs]), tuple(carriers.values())


def _merged(groups: Sequence[ReleaseGroup]) -> ReleaseGroup:
    """Return one group with the releases of all; the most detailed one gives the other fields."""
    if len(groups) == 1:
        return groups[0]
    main = max(groups, key=_detail)
    releases = {release for group in groups for release in group.editions}
    dates = [group.first_date for group in groups if group.first_date.is_known]
    first = min(dates, key=lambda date: (date.last, date.first), default=UNKNOWN)
    credit = max((group.artist_credit for group in groups if group.artist_credit), default=None)
    primary = max((group.primary_type for group in groups if group.primary_type), default=None)
    return replace(
        main,
        artist_credit=main.artist_credit or credit,
        primary_type=main.primary_type or primary,
        first_release_date=first.text or None,
        premiere=next((group.premiere for group in groups if group.premiere), main.premiere),
        releases=tuple(sorted(releases, key=str)),
    )


def _detail(group: ReleaseGroup) -> tuple[int, bool, bool, str, str]:
    """Return a sort key for descriptions of one group that ignores its releases and dates.

    Where descriptions contradict each other, a decision stands only if it is the same by each
    (`ambiguity.contradictions_that_matter`).
    """
    names = ("secondary_types", "labels", "countries")
    lists = {name: tuple(sorted(getattr(group, name) or ())) for name in names}
    plain = replace(group, releases=None, first_release_date=None, **lists)
    given = bool(group.primary_type), bool(group.artist_credit)
    return len(group.kinds), *given, f"{group.types} {group.artist_credit}", str(plain)


NEVER_OUT = frozenset({"Pseudo-Release", "Withdrawn", "Cancelled"})
"""Statuses of releases that never came out, or only on paper, such as a transliteration."""

_UNOFFICIAL_NOUNS = {
    "Promotion": ("a promotional copy", "promotional copies"),
    "Bootleg": ("a bootleg", "bootlegs"),
    "Pseudo-Release": ("a pseudo-release", "pseudo-releases"),
    "Withdrawn": ("a withdrawn release", "withdrawn releases"),
    "Cancelled": ("a cancelled release", "cancelled releases"),
}
_UNKNOWN_STATUS = ("a release of unknown status", "releases of unknown status")


def describe_unofficial(release: Release) -> str:
    """Return a noun for an unofficial release by its status: `a bootleg`."""
    return _UNOFFICIAL_NOUNS.get(release.standing or "", _UNKNOWN_STATUS)[0]


def count_unofficial(releases: Sequence[Release]) -> str:
    """Return nouns for several: `2 bootlegs and a promotional copy`, `a bootleg of 2008`."""
    if len(releases) == 1 and releases[0].when.is_known:
        return f"{describe_unofficial(releases[0])} of {releases[0].when}"
    nouns = (_UNOFFICIAL_NOUNS.get(one.standing or "", _UNKNOWN_STATUS) for one in releases)
    counted = sorted(Counter(nouns).items())
    return " and ".join(one if n == 1 else f"{n} {many}" for (one, many), n in counted)
