"""The contest for one recording: the candidates by role, and which of them may be the earliest."""

from collections.abc import Iterable, Sequence
from datetime import date
from functools import cached_property
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, Answer
from chart_binder.domain.evidence import Artist, EvidenceBundle, RecordingCandidate
from chart_binder.domain.media import is_too_early
from chart_binder.rules.candidates import (
    SPAN,
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
from chart_binder.rules.ties import TieBreak, possibly_earliest

BLOCKING_UNDATED = (Role.SINGLE, Role.SOUNDTRACK)
"""An undated record with one of these roles may be the premiere, so it keeps the case open."""

_DAYS_A_YEAR = 366
_NEVER = 2 * LAST_DAY

_INTENTS = (
    ("is_live", "live"), ("is_remix", "remix"), ("is_demo", "demo"),
    ("is_radio_edit", "radio edit"),
)  # fmt: skip


class EarlyCompilation(msgspec.Struct, frozen=True, eq=False):
    """A compilation by the artist that may precede every work by more than the lead window."""

    candidate: Candidate
    is_own: Answer
    is_alone: bool
    """Whether every other compilation came out later by more than the lead window."""
    precedes_all: bool
    """Whether it is certain that the recording did not first come out on a work."""


class Contest(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The candidates for one recording, sorted into groups that the rules use."""

    candidates: Sequence[Candidate]
    works: Sequence[Candidate]
    """Official records except compilations; undated ones only if they keep the case open."""
    undated: Sequence[Candidate]
    """Works that are ignored because they have no date and are neither singles nor soundtracks."""
    compilations: Sequence[Candidate]
    firsts: Sequence[Candidate]
    """The works that may be the earliest; exactly one if the dates decide."""
    singles: Sequence[Candidate]
    albums: Sequence[Candidate]
    """The studio albums that may be the earliest studio album."""
    early_compilations: Sequence[EarlyCompilation]
    """Compilations that may be the premiere."""
    dated_compilations: Sequence[Candidate]
    """The compilations with a date: of a release, or else of the group."""
    tie_break: TieBreak
    recordings: Sequence[RecordingCandidate]
    bundle: EvidenceBundle
    """The evidence without recordings; its `siblings` is `looked_up` only if none was found."""
    settings: RulesConfig

    @cached_property
    def first_listed(self) -> Candidate | None:
        """The earliest official record that has a date."""
        listed = [record for record in self.candidates if record.first > FIRST_DAY]
        listed = [record for record in listed if record.counts]
        earliest = min(map(SPAN, listed), default=None)
        same = (record for record in listed if SPAN(record) == earliest)
        return min(same, key=attrgetter("name"), default=None)

    @property
    def artist(self) -> Artist:
        """The artist, who may be unknown."""
        return self.bundle.performer

    @property
    def intent(self) -> str:
        """`live`, `remix`, `demo` or `radio edit` if the recording is one; else an empty text."""
        return self.tie_break.intent

    @property
    def intent_noun(self) -> str:
        """A noun for a recording of this intent."""
        return f"a {self.intent}" if self.intent != "live" else "a live recording"


def contest_of(bundle: EvidenceBundle, settings: RulesConfig) -> Contest:
    """Return the contest for the recordings of a bundle that may be the file's.

    The bundle caches it.
    """

    def build() -> Contest:
        recordings, candidates = sorted_recordings(bundle).possible, candidates_meant(bundle)
        return build_contest(recordings, candidates, _without_recordings(bundle), settings)

    return bundle.once(("contest", settings), build)


def candidates_meant(bundle: EvidenceBundle) -> Sequence[Candidate]:
    """Return the candidates of the recordings that may be the file's; the bundle caches them."""
    recordings = sorted_recordings(bundle).possible
    if len(recordings) == len(bundle.recording_candidates):
        return candidates_in(bundle)
    return bundle.once("candidates meant", lambda: candidates_of(recordings, bundle.performer))


def contest_on_trial(bundle: EvidenceBundle, contest: Contest) -> Contest:
    """Return the contest for a changed copy of the bundle of `contest`.

    Candidates of groups that did not change are reused.
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
    tie_break: TieBreak | None = None,
) -> Contest:
    """Return the contest for recordings of one song; `bundle` has no recordings.

    A `tie_break` of the same recordings may be given, because it caches its keys.
    """
    if tie_break is None:
        country, labels = bundle.performer.country, settings.label_authority_order
        tie_break = TieBreak(intent_of(recordings), country, labels)
    contenders, compilations, soundtracks = _by_role(candidates, settings.reissue_long_gap_years)
    contenders, undated = _without_undated(contenders, soundtracks, settings.lead_window_days)
    works = [*contenders, *soundtracks]
    firsts = possibly_earliest(works, tie_break)
    spans = (record if record.is_dated else with_group_date(record) for record in compilations)
    dated = [record for record in spans if record]
    early: Sequence[EarlyCompilation] = ()
    if dated and settings.compilation_premiere:
        window = settings.lead_window_days
        early = early_compilations(dated, soundtracks, contenders, bundle.performer, window)
        if any(compilation.precedes_all for compilation in early):
            firsts = []
    return Contest(
        candidates=candidates,
        works=works,
        undated=undated,
        compilations=compilations,
        firsts=firsts,
        singles=[work for work in firsts if work.role is Role.SINGLE],
        albums=possibly_earliest([work for work in works if work.role is Role.ALBUM], tie_break),
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
    """Return the works, the compilations and the soundtracks among the official candidates.

    The soundtracks are soundtrack compilations that count as works. Undated ones are among the
    works.
    """
    counting = [
        candidate if candidate.hint is None and candidate.own_date is None else with_hint(candidate)
        for candidate in candidates
        if candidate.counts
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
    """Return the works, with a single as undated if all its dated pressings may be reissues.

    They may be if every dated single came out more than `gap_years` after some other record. A
    pressing without a date may then be the original, if its medium was on sale when that record
    came out.
    """
    singles = [work for work in works if work.role is Role.SINGLE]
    records = (*works, *compilations) if singles else ()
    last_days = [record.last for record in records if record.first > FIRST_DAY]
    if not last_days:
        return works
    first = min(last_days)
    late = first + gap_years * _DAYS_A_YEAR
    if any(single.is_dated and single.last <= late for single in singles):
        return works
    year = str(date.fromordinal(first).year)
    undated = {
        single.id
        for single in singles
        if any(
            release.date is None and not is_too_early(release.format, year)
            for release in single.official
        )
    }
    return [with_span(work, FIRST_DAY, work.last) if work.id in undated else work for work in works]


def intent_of(recordings: Sequence[RecordingCandidate]) -> str:
    """Return the intent that all recordings have in common; an empty text if they differ."""
    intents = {
        next((name for flag, name in _INTENTS if getattr(flags, flag)), "")
        for flags in [recording.intent for recording in recordings]
    }
    return next(iter(intents)) if len(intents) == 1 else ""


def _soundtracks_as_works(
    compilations: Sequence[Candidate], *, is_any_work: bool
) -> list[Candidate]:
    """Return the soundtrack compilations that count as works.

    All of them count if there is any other work, dated or not. Otherwise those count that may be
    the earliest, if one of them is certainly no later than every other dated compilation.
    """
    soundtracks = [record for record in compilations if is_soundtrack(record.group)]
    if soundtracks and not is_any_work and len(compilations) > 1:
        soonest = two_least(record.first for record in compilations if record.is_dated)
        soundtracks = soundtracks_perhaps_first(compilations)
        if all(record.last > least_of_others(soonest, record.first) for record in soundtracks):
            return []
    return [replace(record, role=Role.SOUNDTRACK) for record in soundtracks]


def soundtracks_perhaps_first(compilations: Sequence[Candidate]) -> list[Candidate]:
    """Return the dated soundtrack compilations that no other compilation certainly precedes."""
    dated = [record for record in compilations if record.is_dated]
    soonest = min([record.last for record in dated], default=FIRST_DAY)
    return [record for record in dated if record.first <= soonest and is_soundtrack(record.group)]


def _without_undated(
    works: list[Candidate], soundtracks: Sequence[Candidate], window: int
) -> tuple[list[Candidate], list[Candidate]]:
    """Return the works to compare, and the undated works to ignore, such as undated albums.

    None is ignored unless some work is dated. An undated work is not ignored if its group's date is
    so early that it may be the earliest work, or an album within the window after a single.
    """
    undated = [work for work in works if not work.is_dated and work.role not in BLOCKING_UNDATED]
    if not undated:
        return works, []
    records = (*works, *soundtracks)
    last_days = [record.last for record in records if record.is_dated and record.last < LAST_DAY]
    if not last_days:
        return works, []
    soonest = min(last_days) + window
    by_group_date = filter(None, map(with_group_date, undated))
    early = {work.id: work for work in by_group_date if work.first <= soonest}
    ignored = [work for work in undated if work.id not in early]
    ids = {work.id for work in ignored}
    return [early.get(work.id, work) for work in works if work.id not in ids], ignored


# Compilations that may be the premiere.


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
    rival_records = (*compilations, *soundtracks)
    soonest = two_least(record.last for record in rival_records)
    first = two_least(record.first for record in rival_records)
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
