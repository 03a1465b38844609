"""Candidates: release groups with their role and the days on which they may have come out.

The span is that of the earliest official release with the recording. A release dated only by year
or month counts as undated if another has a whole date within that year or month, and so does one
dated before its medium was on sale. The group's own date is used only if no release is listed.
"""

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, UNKNOWN, Answer, PartialDate, same_day
from chart_binder.domain.evidence import (
    Artist,
    EvidenceBundle,
    RecordingCandidate,
    Release,
    ReleaseGroup,
)
from chart_binder.domain.media import is_before_its_time, is_too_early
from chart_binder.domain.title_words import best_of_pattern
from chart_binder.domain.vocabulary import ReleaseGroupId, fold, type_names
from chart_binder.rules.names import is_by, is_various


class Role(enum.Enum):
    """The kinds of record that the rules distinguish."""

    SOUNDTRACK = "soundtrack"
    ALBUM = "album"
    """A studio album: an Album by one artist, without any type in `_NO_STUDIO_ALBUM`."""
    SINGLE = "single"
    """A single or EP, including those of remixes and demos."""
    LIVE = "live"
    OTHER = "other"
    """Any other original work: a remix album, a broadcast."""
    COMPILATION = "compilation"
    """A record that gathers recordings: a compilation, a DJ mix, any record by other artists."""


_COLLECTIONS = ("Compilation", "DJ-mix")
_NO_STUDIO_ALBUM = frozenset({*_COLLECTIONS, "Soundtrack", "Live", "Remix"})
"""An Album with one of these secondary types is not a studio album; mixtapes and demos are."""


@lru_cache(maxsize=1_024)
def role_and_noun(primary: str | None, secondary: tuple[str, ...]) -> tuple[Role, str]:
    """Return the role of a group with these MusicBrainz types, and a noun such as `live album`."""
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
    """Return whether the types include compilation or DJ mix."""
    return role_and_noun(group.primary_type, group.secondary_types or ())[0] is Role.COMPILATION


def is_soundtrack(group: ReleaseGroup) -> bool:
    """Return whether the types include soundtrack."""
    return "Soundtrack" in type_names(group.primary_type, group.secondary_types or ())[1]


@lru_cache(maxsize=4_096)
def is_best_of(title: str) -> bool:
    """Return whether an album's title says that it is a best-of."""
    return bool(best_of_pattern().search(fold(title)))


class Candidate(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A release group with the recording, whether or not it can be chosen.

    It came out between the days `first` and `last`, which are ordinals: the first day of the date
    `since` and the last day of the date `by`.
    """

    group: ReleaseGroup
    role: Role
    kind: str
    first: int
    last: int
    since: PartialDate
    by: PartialDate
    official: tuple[Release, ...]
    unofficial: tuple[Release, ...]
    """Releases that the rules ignore: promotional, bootleg, pseudo, cancelled, unknown status."""
    recordings: tuple[RecordingCandidate, ...]
    hint: PartialDate | None = None
    """The earlier date of a release whose medium was not on sale then, such as a CD of 1966."""
    own_date: PartialDate | None = None
    """The group's own date, if all releases are later and no unofficial copy explains it."""
    is_own: Answer = None
    """Whether it is credited to the artist; None if that is unknown."""

    @property
    def id(self) -> ReleaseGroupId:
        """The id of the release group."""
        return self.group.mb_rg_id

    @property
    def is_weak(self) -> bool:
        """Whether the group lists no release, so that its only date is its own."""
        return not self.group.releases

    @property
    def counts(self) -> bool:
        """Whether the recording may have come out on it officially."""
        return bool(self.official) or not self.group.releases

    @property
    def is_dated(self) -> bool:
        """Whether at least the year is known."""
        return self.first > FIRST_DAY

    @property
    def when(self) -> str:
        """The date as text; two dates if releases are dated with different precision."""
        if self.since is self.by or self.since == self.by:
            return self.since.text or "date unknown"
        return f"{self.since.text}, {self.by.text} at the latest"

    @property
    def title(self) -> str:
        """The title, or the id if there is none."""
        return self.group.title or self.id

    @property
    def is_by_others(self) -> bool:
        """Whether it counts as a compilation only because other artists are credited."""
        return self.role is Role.COMPILATION and self.is_own is False and not self.is_collection

    @property
    def is_collection(self) -> bool:
        """Whether its type or title says that it gathers recordings."""
        return is_compilation(self.group) or is_best_of(self.group.title or "")

    @property
    def name(self) -> str:
        """`the single 'Killer Queen'`."""
        return f"the {self.kind} '{self.title}'"

    @property
    def dated_name(self) -> str:
        """`the single 'Killer Queen' (1974-10-11)`, with a remark if the date is doubtful."""
        remark = ""
        if self.is_weak:
            remark = ", the group's own date" if self.is_dated else ""
        elif self.since.is_known:
            dates, day_text = {release.date for release in self.official}, self.since.text
            vague = day_text[:4] if day_text[:4] in dates else day_text[:7]
            vague = vague if vague in dates else day_text
            remark = f"; another release is only dated {vague}" if vague != day_text else ""
            remark += "; another release has no date" if None in dates else ""
        if self.hint:
            remark += f"; one of {self.hint} is on a medium of later years"
        if self.own_date and self.role is Role.SINGLE:
            remark += f"; its group is dated {self.own_date}"
        if self.is_by_others and not is_various(self.group, self.official):
            remark += ", by others"
        return f"the {self.kind} '{self.title}' ({self.when}{remark})"


MAX_NAMED = 3


def either(candidates: Sequence[Candidate]) -> str:
    """Return the names of the first few candidates, joined by `or`, and how many more there are."""
    names = [candidate.dated_name for candidate in candidates[:MAX_NAMED]]
    if len(candidates) > MAX_NAMED:
        names.append(f"{len(candidates) - MAX_NAMED} more")
    return " or ".join(names)


SPAN = attrgetter("first", "last")
_ORDER = attrgetter("first", "last", "group.mb_rg_id")
_NONE: Mapping[int, Candidate] = {}


def candidates_in(bundle: EvidenceBundle) -> Sequence[Candidate]:
    """Return the candidates of all recordings of a bundle; the bundle caches them."""
    recordings, artist = bundle.recording_candidates, bundle.performer
    return bundle.once("candidates", lambda: candidates_of(recordings, artist))


def candidates_of(
    recordings: Sequence[RecordingCandidate],
    artist: Artist,
    cached: Mapping[int, Candidate] = _NONE,
) -> list[Candidate]:
    """Return a candidate for each group with any of the recordings, earliest first.

    `artist` is the evidence's artist. `cached` maps the `id()` of a group to its candidate, which
    is used again.
    """
    candidates = [
        cached.get(id(group)) or _candidate_of(group, by, _artists(by, artist))
        for group, by in _merged_groups(recordings)
    ]
    return sorted(candidates, key=_ORDER)


def with_group_date(candidate: Candidate) -> Candidate | None:
    """Return an undated candidate that starts on its group's date; None if there is no date."""
    first = candidate.group.first_date.first
    return with_span(candidate, first, LAST_DAY) if first > FIRST_DAY else None


def with_hint(candidate: Candidate) -> Candidate:
    """Return the candidate with the date of its hint as the first day if that is possible.

    For a single, the group's own date counts like a hint. A date after the last day on which the
    candidate may have come out is ignored.
    """
    own_date = candidate.own_date if candidate.role is Role.SINGLE else None
    dates = (date for date in (candidate.hint, own_date) if date)
    days = [date.first for date in dates if date.first <= candidate.last]
    return with_span(candidate, min(days), candidate.last) if days else candidate


def with_span(candidate: Candidate, first: int, last: int) -> Candidate:
    """Return the candidate with other first and last days."""
    return replace(candidate, first=first, last=last)


def _candidate_of(
    group: ReleaseGroup, recordings: tuple[RecordingCandidate, ...], artists: tuple[Artist, ...]
) -> Candidate:
    """Return the candidate for a group that carries the recordings."""
    official = releases = group.releases or ()
    day, unofficial = _earliest_day(releases)
    if unofficial:
        excluded = {id(release) for release in unofficial}
        official = tuple(
            [copy for copy in releases if copy.status == "Official" or id(copy) not in excluded]
        )
    hint = None
    if day:
        since = by = PartialDate.parse(day)
    elif official:
        since, by, hint = _bounds(official)
    else:
        since = by = UNKNOWN if releases else group.first_date
    is_own = is_by(artists, group, official)
    role, noun = _role_of(group, official, is_own)
    own_date = _unexplained_own_date(group, since, hint, unofficial) if official else None
    return Candidate(
        group, role, noun, since.first, by.last, since, by, official, tuple(unofficial), recordings,
        hint, own_date, is_own,
    )  # fmt: skip


def _artists(recordings: Sequence[RecordingCandidate], artist: Artist) -> tuple[Artist, ...]:
    return (artist, *(recording.artist for recording in recordings if recording.artist))


def _role_of(group: ReleaseGroup, official: Sequence[Release], is_own: Answer) -> tuple[Role, str]:
    """Return role and noun: a record by other artists is a compilation, whatever its type."""
    role, noun = role_and_noun(group.primary_type, group.secondary_types or ())
    if is_own is False and role not in (Role.COMPILATION, Role.SOUNDTRACK):
        return Role.COMPILATION, f"various-artists {noun}" if is_various(group, official) else noun
    is_untyped = role is Role.OTHER and not (group.types[0] or group.kinds)
    may_be_album = role is Role.ALBUM or is_untyped
    if may_be_album and group.title and is_best_of(group.title):
        return Role.COMPILATION, f"best-of {noun}"
    return role, noun


def _unexplained_own_date(
    group: ReleaseGroup, since: PartialDate, hint: PartialDate | None, copies: Sequence[Release]
) -> PartialDate | None:
    """Return the group's own date if all its releases are later and nothing explains it.

    An unofficial copy of that date explains it, and so does `hint`, the date of a release whose
    medium was not on sale then.
    """
    if not group.first_release_date or not since.is_known:
        return None
    if group.first_release_date >= since.text or group.first_date.last >= since.first:
        return None
    date, listed = group.first_date, [copy.when for copy in copies if copy.when.is_known]
    listed += [hint] if hint else []
    return None if any(same_day(date, when) is not False for when in listed) else date


_DAY_LENGTH = len("YYYY-MM-DD")
_AFTER_ANY_DATE = ":"


def _earliest_day(releases: Sequence[Release]) -> tuple[str | None, list[Release]]:
    """Return the earliest date of the official releases and the list of unofficial releases.

    The date is None unless it is a whole date on which the medium was on sale. One pass is enough,
    because dates sort as text, a year before its months and a month before its days: if the least
    text is a whole date, no release can be earlier. Some groups have hundreds of releases.
    """
    earliest, first, unofficial = _AFTER_ANY_DATE, None, []
    for release in releases:
        if release.status != "Official" and not release.is_official:
            unofficial.append(release)
        elif (date := release.date) and date < earliest:
            earliest, first = date, release
    if first is None or len(earliest) != _DAY_LENGTH or is_too_early(first.format, earliest[:4]):
        return None, unofficial
    return earliest, unofficial


def _bounds(releases: Sequence[Release]) -> tuple[PartialDate, PartialDate, PartialDate | None]:
    """Return the dates before and after which the earliest release cannot have come out.

    The third value is an earlier date of a release whose medium was not on sale then, or None.
    """
    early = {release.date for release in releases if release.format and is_before_its_time(release)}
    dates_written = {release.date for release in releases if release.date}
    if early:
        timely = (release for release in releases if not is_before_its_time(release))
        dates_written = {release.date for release in timely if release.date}
        early -= dates_written
    least_text = min(dates_written, default="")
    while len(least_text) in _VAGUE_LENGTHS and any(
        len(date) == _DAY_LENGTH and date.startswith(least_text) for date in dates_written
    ):
        dates_written.remove(least_text)
        least_text = min(dates_written)
    # Dates of later years, months or days cannot be the earliest.
    dates = [PartialDate.parse(date) for date in dates_written if date.startswith(least_text)]
    since = min(dates, key=SPAN, default=UNKNOWN)
    by = since
    if since.first != since.last and dates:
        by = min(dates, key=lambda date: (date.last, -date.first))
        since = by if by.first == since.first else since
    hint = min(map(PartialDate.parse, early), key=SPAN, default=None)
    if hint and not FIRST_DAY < hint.first < (since.first if since.is_known else LAST_DAY):
        hint = None
    return since, by, hint


_VAGUE_LENGTHS = (len("YYYY"), len("YYYY-MM"))


def _merged_groups(
    recordings: Sequence[RecordingCandidate],
) -> Iterator[tuple[ReleaseGroup, tuple[RecordingCandidate, ...]]]:
    pairs_by_id: dict[str, list[tuple[ReleaseGroup, RecordingCandidate]]] = {}
    for recording in recordings:
        for group in recording.groups:
            pairs_by_id.setdefault(group.mb_rg_id, []).append((group, recording))
    for pairs in pairs_by_id.values():
        carriers = {id(recording): recording for _, recording in pairs}
        yield _merged([group for group, _ in pairs]), tuple(carriers.values())


def _merged(groups: Sequence[ReleaseGroup]) -> ReleaseGroup:
    """Return a group with the releases of all; the most detailed group gives the other fields."""
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
    """Return a sort key for descriptions of a group, which ignores releases and dates.

    `questions.contradictions_that_matter` finds contradictions between the descriptions.
    """
    names = ("secondary_types", "labels", "countries")
    lists = {name: tuple(sorted(getattr(group, name) or ())) for name in names}
    plain = replace(group, releases=None, first_release_date=None, **lists)
    has_type, has_credit = bool(group.primary_type), bool(group.artist_credit)
    content = f"{group.types} {group.artist_credit}"
    return len(group.kinds), has_type, has_credit, content, str(plain)


_UNOFFICIAL_NOUNS = {
    "Promotion": ("a promotional copy", "promotional copies"),
    "Bootleg": ("a bootleg", "bootlegs"),
    "Pseudo-Release": ("a pseudo-release", "pseudo-releases"),
    "Cancelled": ("a cancelled release", "cancelled releases"),
}
_UNKNOWN_STATUS = ("a release of unknown status", "releases of unknown status")


def describe_unofficial(release: Release) -> str:
    """Return a noun for the status of an unofficial release: `a bootleg`."""
    return _UNOFFICIAL_NOUNS.get(release.standing or "", _UNKNOWN_STATUS)[0]


def count_unofficial(releases: Sequence[Release]) -> str:
    """Return nouns with numbers: `2 bootlegs and a promotional copy`, `a bootleg of 2008`."""
    if len(releases) == 1 and releases[0].when.is_known:
        return f"{describe_unofficial(releases[0])} of {releases[0].when}"
    nouns = (_UNOFFICIAL_NOUNS.get(release.standing or "", _UNKNOWN_STATUS) for release in releases)
    counted = sorted(Counter(nouns).items())
    return " and ".join(noun if n == 1 else f"{n} {many}" for (noun, many), n in counted)
