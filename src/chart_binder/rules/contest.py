"""The contest for one recording: the candidates by role, and which of them may be the earliest."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache
from operator import attrgetter
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, Answer, PartialDate
from chart_binder.domain.evidence import Artist, EvidenceBundle, RecordingCandidate, Release
from chart_binder.domain.media import is_before_its_time, is_too_early
from chart_binder.domain.vocabulary import NO_COUNTRIES, country_code
from chart_binder.rules.candidates import (
    Candidate,
    Role,
    candidates_in,
    candidates_of,
    is_soundtrack,
    with_group_date,
    with_hint,
    with_span,
)
from chart_binder.rules.names import is_named, names_on
from chart_binder.rules.recordings import sorted_recordings

_BLOCKING_UNDATED = (Role.SINGLE, Role.SOUNDTRACK)
"""An undated record of these roles may be the premiere, so it keeps the case open."""

_DAYS_A_YEAR = 366
_MEAN_YEAR, _MANY_YEARS = 365.25, 2

_INTENTS = (
    ("is_live", "live"), ("is_remix", "remix"), ("is_demo", "demo"),
    ("is_radio_edit", "radio edit"),
)  # fmt: skip


class Contest(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The candidates for one recording, sorted by what they can decide."""

    candidates: Sequence[Candidate]
    works: Sequence[Candidate]
    """Official records that are no compilations; undated ones only where they block."""
    undated: Sequence[Candidate]
    """Works set aside: they have no date and are neither singles nor soundtracks."""
    compilations: Sequence[Candidate]
    firsts: Sequence[Candidate]
    """The works that may be the earliest; exactly one if the known dates settle it."""
    singles: Sequence[Candidate]
    albums: Sequence[Candidate]
    """The studio albums that may be the earliest studio album."""
    early_compilations: "Sequence[EarlyCompilation]"
    """Compilations that may nevertheless be the premiere."""
    dated_compilations: Sequence[Candidate]
    """The compilations of which at least the group is dated."""
    tie_break: "TieBreak"
    recordings: Sequence[RecordingCandidate]
    bundle: EvidenceBundle
    """The evidence without recordings; `siblings` is `looked_up` only if none was found."""
    settings: RulesConfig

    @property
    def artist(self) -> Artist:
        """The artist, perhaps unknown."""
        return self.bundle.performer

    @property
    def intent(self) -> str:
        """`live`, `remix`, `demo` or `radio edit` where the recording is one; else empty."""
        return self.tie_break.intent

    @property
    def what(self) -> str:
        """A noun for a recording of this intent."""
        return f"a {self.intent}" if self.intent != "live" else "a live recording"


def contest_of(bundle: EvidenceBundle, settings: RulesConfig) -> Contest:
    """Return the contest for the recordings of a bundle that may be the file's.

    It is built once for a bundle, which keeps it.
    """

    def build() -> Contest:
        recordings, candidates = sorted_recordings(bundle).possible, candidates_meant(bundle)
        return build_contest(recordings, candidates, _without_recordings(bundle), settings)

    return bundle.once(("contest", settings), build)


def candidates_meant(bundle: EvidenceBundle) -> Sequence[Candidate]:
    """Return the candidates of the recordings that may be the file's, which are made once."""
    recordings = sorted_recordings(bundle).possible
    if len(recordings) == len(bundle.recording_candidates):
        return candidates_in(bundle)
    return bundle.once("candidates meant", lambda: candidates_of(recordings, bundle.performer))


def contest_on_trial(bundle: EvidenceBundle, contest: Contest) -> Contest:
    """Return the contest for a bundle in which something of another contest's was changed.

    The candidates of groups that are not changed are taken from that contest.
    """
    recordings = sorted_recordings(bundle).possible
    unchanged = {id(candidate.group): candidate for candidate in contest.candidates}
    candidates = candidates_of(recordings, bundle.performer, unchanged)
    return build_contest(recordings, candidates, _without_recordings(bundle), contest.settings)


def _without_recordings(bundle: EvidenceBundle) -> EvidenceBundle:
    siblings = bundle.siblings if bundle.has_no_sibling else None
    return replace(bundle, recording_candidates=(), siblings=siblings)


def build_contest(
    recordings: Sequence[RecordingCandidate],
    candidates: Sequence[Candidate],
    bundle: EvidenceBundle,
    settings: RulesConfig,
) -> Contest:
    """Return the contest for recordings that stand for one song; `bundle` is without recordings."""
    country, labels = bundle.performer.country, settings.label_authority_order
    tie_break = TieBreak(intent_of(recordings), country, labels)
    return _contest(candidates, recordings, bundle, tie_break, settings)


def with_candidates(contest: Contest, candidates: Sequence[Candidate]) -> Contest:
    """Return the contest for the same recordings with other candidates."""
    return _contest(
        candidates, contest.recordings, contest.bundle, contest.tie_break, contest.settings
    )


def _contest(
    candidates: Sequence[Candidate],
    recordings: Sequence[RecordingCandidate],
    bundle: EvidenceBundle,
    tie_break: "TieBreak",
    settings: RulesConfig,
) -> Contest:
    others, compilations, soundtracks = _by_role(candidates, settings.reissue_long_gap_years)
    others, undated = _without_undated(others, soundtracks, settings.lead_window_days)
    works = [*others, *soundtracks]
    firsts = possibly_earliest(works, tie_break)
    spans = (
        candidate if candidate.is_dated else with_group_date(candidate)
        for candidate in compilations
    )
    dated = [candidate for candidate in spans if candidate]
    early: Sequence[EarlyCompilation] = ()
    if dated and settings.compilation_premiere:
        window = settings.lead_window_days
        early = _early_compilations(dated, soundtracks, others, bundle.performer, window)
        if any(compilation.precedes_all for compilation in early):
            firsts = []
    return Contest(
        candidates=candidates,
        works=works,
        undated=undated,
        compilations=compilations,
        firsts=firsts,
        singles=[candidate for candidate in firsts if candidate.role is Role.SINGLE],
        albums=possibly_earliest(
            [candidate for candidate in works if candidate.role is Role.ALBUM], tie_break
        ),
        early_compilations=early,
        dated_compilations=dated,
        tie_break=tie_break,
        recordings=recordings,
        bundle=bundle,
        settings=settings,
    )


def _by_role(
    candidates: Sequence[Candidate], gap_years: int
) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Return the official candidates as works, compilations, and dated compilations run as works.

    The latter are soundtracks; an undated one is among the works.
    """
    counting = [
        candidate if candidate.hint is None and candidate.own_date is None else with_hint(candidate)
        for candidate in candidates
        if candidate.official or candidate.is_weak
    ]
    works = [candidate for candidate in counting if candidate.role is not Role.COMPILATION]
    compilations = [candidate for candidate in counting if candidate.role is Role.COMPILATION]
    works = _with_undated_pressings(works, compilations, gap_years)
    soundtracks = _soundtracks_as_works(compilations, is_any_work=bool(works))
    if soundtracks:
        ids = {candidate.id for candidate in soundtracks}
        compilations = [candidate for candidate in compilations if candidate.id not in ids]
        works += [candidate for candidate in soundtracks if not candidate.is_dated]
        soundtracks = [candidate for candidate in soundtracks if candidate.is_dated]
    return works, compilations, soundtracks


def _with_undated_pressings(
    works: list[Candidate], compilations: Sequence[Candidate], gap_years: int
) -> list[Candidate]:
    """Return the works; a single counts as undated if all its dated pressings are reissues.

    They are reissues if every dated single came out more than `reissue_long_gap_years` after
    another record. The pressing without a date may be the original, if its medium
    was on sale when that record came out.
    """
    singles = [candidate for candidate in works if candidate.role is Role.SINGLE]
    records = (*works, *compilations) if singles else ()
    dated = [candidate.last for candidate in records if candidate.first > FIRST_DAY]
    if not dated:
        return works
    first = min(dated)
    late = first + gap_years * _DAYS_A_YEAR
    if any(candidate.is_dated and candidate.last <= late for candidate in singles):
        return works
    year = str(date.fromordinal(first).year)
    undated = {
        candidate.id
        for candidate in singles
        if any(
            release.date is None and not is_too_early(release.format, year)
            for release in candidate.official
        )
    }
    return [
        with_span(candidate, FIRST_DAY, candidate.last) if candidate.id in undated else candidate
        for candidate in works
    ]


def intent_of(recordings: Sequence[RecordingCandidate]) -> str:
    """Return the kind of performance that all recordings are of; else an empty text."""
    intents = {
        next((name for flag, name in _INTENTS if getattr(flags, flag)), "")
        for flags in [recording.intent for recording in recordings]
    }
    return next(iter(intents)) if len(intents) == 1 else ""


def _soundtracks_as_works(
    compilations: Sequence[Candidate], *, is_any_work: bool
) -> list[Candidate]:
    """Return the soundtrack compilations that run as works.

    Beside a work, dated or not, such a record is where the recording came out if it is the
    earliest. Among compilations alone it runs as a work only if it is certainly no later than every
    other dated one.
    """
    soundtracks = [
        candidate
        for candidate in compilations
        if candidate.kind != "compilation" and is_soundtrack(candidate.group)
    ]
    if soundtracks and not is_any_work:
        soonest = _two_least(candidate.first for candidate in compilations if candidate.is_dated)
        is_alone = len(compilations) == 1
        soundtracks = [
            candidate
            for candidate in soundtracks
            if is_alone
            or (candidate.is_dated and candidate.last <= _least_of_others(soonest, candidate.first))
        ]
    return [replace(candidate, role=Role.SOUNDTRACK) for candidate in soundtracks]


def _without_undated(
    works: list[Candidate], soundtracks: Sequence[Candidate], window: int
) -> tuple[list[Candidate], list[Candidate]]:
    """Split off undated albums and the like, if any work is dated.

    One stays if by its group's date it may be the earliest, or an album within the window.
    """
    undated = [work for work in works if not work.is_dated and work.role not in _BLOCKING_UNDATED]
    if not undated:
        return works, []
    dated = [
        candidate.last
        for candidate in (*works, *soundtracks)
        if candidate.is_dated and candidate.last < LAST_DAY
    ]
    if not dated:
        return works, []
    soonest = min(dated) + window
    early = {
        candidate.id: candidate
        for candidate in filter(None, map(with_group_date, undated))
        if candidate.first <= soonest
    }
    split = [candidate for candidate in undated if candidate.id not in early]
    gone = {candidate.id for candidate in split}
    return [
        early.get(candidate.id, candidate) for candidate in works if candidate.id not in gone
    ], split


# Ties: what decides between records of the same day.

_FORMER = {
    "SU": (
        "AM", "AZ", "BY", "EE", "GE", "KG", "KZ", "LT", "LV", "MD", "RU", "TJ", "TM", "UA", "UZ",
    ),
    "YU": ("BA", "CS", "HR", "ME", "MK", "RS", "SI", "XK"),
    "CS": ("ME", "RS"),
    "XC": ("CZ", "SK"),
    "XG": ("DE",),
}  # fmt: skip
"""MusicBrainz' codes of former countries, with their successors (ISO 3166-3, and `X` codes)."""


@lru_cache(maxsize=512)
def home_countries(country: str | None) -> frozenset[str]:
    """Return a country with its predecessors and successors; none for worldwide and Europe."""
    if not country or country in NO_COUNTRIES:
        return frozenset()
    former = {old for old, new in _FORMER.items() if country in new}
    return frozenset({country, *former, *_FORMER.get(country, ())})


def label_rank(order: Sequence[str], names: Sequence[str | None]) -> int:
    """Return the index in `order` of the best of some labels; its length if none is in it."""
    if not order:
        return 0
    folded = {name.casefold() for name in names if name}
    return next((n for n, label in enumerate(order) if label.casefold() in folded), len(order))


Key: TypeAlias = tuple[int, bool, int]


class TieBreak:
    """Sort keys for records of the same day; the smaller key wins.

    First the role: a soundtrack, then a studio album or a record typed for the recording's intent,
    then the rest. Then a release of that day in the artist's country, then label authority.

    Which releases are of that day may be unknown: `best` counts all that may be, `worst` only
    those that must be. The countries and labels of a group, which are those of all its releases,
    count only where no release is listed.

    Open cases are tried day by day with the same releases, so keys are cached.
    """

    __slots__ = ("_best", "_home", "_labels", "_worst", "intent")

    def __init__(self, intent: str, country: str | None, labels: Sequence[str]) -> None:
        self.intent = intent
        self._home = home_countries(country)
        self._labels = labels
        self._best: dict[str, Key] = {}
        self._worst: dict[str, Key] = {}

    def best(self, candidate: Candidate) -> Key:
        """Return the key on the first day it may have come out."""
        if (key := self._best.get(candidate.group.mb_rg_id)) is None:
            key = self._best[candidate.id] = self._key_on(
                candidate, candidate.since, attrgetter("first")
            )
        return key

    def worst(self, candidate: Candidate) -> Key:
        """Return the key on the last day it may have come out."""
        if (key := self._worst.get(candidate.group.mb_rg_id)) is None:
            key = self._worst[candidate.id] = self._key_on(
                candidate, candidate.by, attrgetter("last")
            )
        return key

    def _key_on(
        self, candidate: Candidate, day: PartialDate, edge: Callable[[PartialDate], int]
    ) -> Key:
        is_day = day.first == day.last  # then a bare year that ends on it counts as undated
        releases = [
            release
            for release in candidate.official
            if (release.date == day.text if is_day else edge(release.when) == edge(day))
            and not is_before_its_time(release)
        ]
        return self._key(candidate, releases)

    def _key(self, candidate: Candidate, releases: Sequence[Release]) -> Key:
        countries = {release.place for release in releases}
        labels = [release.label for release in releases]
        if candidate.is_weak:
            countries |= {*map(country_code, candidate.group.countries or ())}
            labels += candidate.group.labels or ()
        is_home = not self._home.isdisjoint(countries - {None})
        return self._role_rank(candidate), not is_home, label_rank(self._labels, labels)

    def _role_rank(self, candidate: Candidate) -> int:
        if candidate.role is Role.SOUNDTRACK:
            return 0
        if self.intent:
            return 1 if self.intent in [kind.casefold() for kind in candidate.group.kinds] else 2
        return 1 if candidate.role is Role.ALBUM else 2


def possibly_earliest(works: Sequence[Candidate], tie_break: TieBreak) -> Sequence[Candidate]:
    """Return the works that may be the earliest, however the unknown days fall.

    Exact: some choice of days makes each of them, and no other, the earliest.
    """
    if len(works) <= 1:
        return works
    soonest = min([work.last for work in works])
    close = [work for work in works if work.first <= soonest]
    if len(close) == 1 or all(work.first < soonest for work in close):
        return close
    least = min(tie_break.worst(work) for work in close if work.last == soonest)
    return [work for work in close if work.first < soonest or tie_break.best(work) <= least]


# Compilations that may be the premiere.

_NEVER = 2 * LAST_DAY


class EarlyCompilation(msgspec.Struct, frozen=True, eq=False):
    """A compilation by the artist that may precede every work by more than the lead window."""

    candidate: Candidate
    is_own: Answer
    is_alone: bool
    """Whether every other compilation came out later by more than the window."""
    precedes_all: bool
    """Whether it is certain that no work can be where the recording came out."""


def _early_compilations(
    compilations: Sequence[Candidate],
    soundtracks: Sequence[Candidate],
    works: Sequence[Candidate],
    artist: Artist,
    window: int,
) -> Sequence[EarlyCompilation]:
    """Return the compilations that may precede every work by more than `window` days.

    One of the artist's own is the premiere if every other compilation is later by more than the
    window too. If another may be nearer, the case is open; if another is surely much earlier, it is
    ruled out. `soundtracks` are compilations that run as works: those it must precede by however
    little.
    """
    work_last = min([work.last for work in works], default=_NEVER)
    early = [collection for collection in compilations if collection.first + window < work_last]
    if not early:
        return ()
    others = (*compilations, *soundtracks)
    soonest, first = (
        _two_least(candidate.last for candidate in others),
        _two_least(candidate.first for candidate in others),
    )
    work_first = min([work.first for work in works], default=_NEVER)
    sound_last = min([soundtrack.last for soundtrack in soundtracks], default=_NEVER)
    sound_first = min([soundtrack.first for soundtrack in soundtracks], default=_NEVER)
    soonest_work = min(work_first, sound_first)
    names = _artist_names(artist, works)
    early_compilations = []
    for compilation in early:
        other_last = _least_of_others(soonest, compilation.last)
        if compilation.first >= sound_last or compilation.first > other_last + window:
            continue
        is_own = compilation.is_own
        if not is_own and soonest_work <= compilation.last + window:
            continue
        if is_own is False and is_named(names, compilation.group, compilation.official) is False:
            if soonest_work < _NEVER:
                early_compilations.append(
                    EarlyCompilation(compilation, is_own=False, is_alone=True, precedes_all=True)
                )
            continue
        other_first = first[compilation.first == first[0]]
        is_ahead = compilation.last + window < work_first and compilation.last < sound_first
        precedes_all = is_own is True and is_ahead and compilation.last <= other_first + window
        is_alone = compilation.last + window < other_first
        early_compilations.append(
            EarlyCompilation(compilation, is_own or None, is_alone, precedes_all)
        )
    return early_compilations


def _two_least(days: Iterable[int]) -> tuple[int, int]:
    first, second, *_ = *sorted(days)[:2], _NEVER, _NEVER
    return first, second


def _least_of_others(two_least: tuple[int, int], day: int) -> int:
    """Return the smallest day of all but the one whose day is `own`."""
    least, second = two_least
    return second if day == least else least


def _artist_names(artist: Artist, works: Sequence[Candidate]) -> set[str]:
    credited = [work for work in works if work.role in (Role.SINGLE, Role.ALBUM)]
    names = {name for work in credited for name in names_on(work.group, work.official)}
    return names | {artist.name} if artist.name else names


def time_between(least: int, most: int) -> str:
    """Return a number of days, or the range of it, in words: in years from two years on."""
    unit = "day"
    if least >= _MANY_YEARS * _MEAN_YEAR:
        least, most, unit = round(least / _MEAN_YEAR), round(most / _MEAN_YEAR), "year"
    if least < most:
        return f"{least} to {most} {unit}s"
    return f"{most} {unit}{'s' if most > 1 else ''}"
