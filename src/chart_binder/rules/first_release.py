"""The first release of a recording: when, where and on which record it first came out.

If a single leads to an album, the single is the first release and the album the canonical group.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import FIRST_DAY, PartialDate
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.media import is_before_its_time
from chart_binder.domain.patches import THE_RECORDING, with_stated_single
from chart_binder.domain.remarks import remarks_in
from chart_binder.domain.verdict import (
    BestKnown,
    Decided,
    FirstRelease,
    Open,
    OverrideRecord,
    Question,
    SaidBy,
    Verdict,
)
from chart_binder.domain.vocabulary import ReleaseGroupId, bare_id, fold, isrc
from chart_binder.rules.candidates import (
    Candidate,
    Role,
    candidates_of,
    either,
    is_soundtrack,
    role_and_noun,
)
from chart_binder.rules.contest import Contest, build_contest, candidates_meant, contest_of
from chart_binder.rules.missing_original import is_explained, may_gather
from chart_binder.rules.questions import Contradiction, find_contradictions, readings_of
from chart_binder.rules.recordings import recording_of, sorted_recordings
from chart_binder.rules.representative import first_by_content, first_of_day
from chart_binder.rules.ties import home_countries, possibly_earliest
from chart_binder.rules.year import YearCase, year_doubt

_PRECISIONS = (10, 7, 4)
"""The lengths of a day, a month and a year as text."""
NOTHING_DATED = "no official record that has it is dated"
YEAR_QUESTION = "In which year was this recording first released?"
_STATED = ("CRG:MANUAL_OVERRIDE", "CRG:STATED_PREMIERE")
_OF_VERSIONS = frozenset({"Live", "Remix", "Demo", "DJ-mix"})
"""A record of these types may have another performance or mix than a single has."""
_MAX_ABOUT = 6


def first_release(
    bundle: EvidenceBundle, verdict: Verdict, settings: RulesConfig
) -> FirstRelease | None:
    """Return the earliest official release of the file's recording; None if none is known.

    If several records came out on that day, the canonical group of `verdict` is returned if it is
    one of them, else the record that wins the tie. If the file may hold any of several recordings,
    or if descriptions of a record contradict each other, the result is what all readings have in
    common. A date stated by a verified fact counts as that of a single that MusicBrainz does not
    list.
    """
    if bundle.stated_first:
        listed = with_stated_single(bundle, bundle.stated_first)
        return _without_ids(first_release(listed, verdict, settings))
    first = _first_listed(bundle, verdict, settings)
    if first and not first.year_certain:
        return replace(first, best_known=_best_known(first, contest_of(bundle, settings)))
    return first


def _best_known(first: FirstRelease, contest: Contest) -> BestKnown | UnsetType:
    """Return the earliest date in MusicBrainz if its year is before that of the first release."""
    hints = {
        f"the recording is dated {recording.first_date}": recording.first_date
        for recording in contest.recordings
        if not is_explained(recording.first_date, contest)
    }
    for candidate in contest.candidates:
        if own_date := candidate.own_date:
            hints[f"the release group of {candidate.name} is dated {own_date}"] = own_date
    earlier = [pair for pair in hints.items() if "" < pair[1].text[:4] < first.date[:4]]
    if not earlier:
        return UNSET
    sign, date = min(earlier, key=lambda pair: (pair[1].first, pair[0]))
    because = f"{sign}; the earliest record listed is dated {first.year}"
    return BestKnown(date.text, because)


def _first_listed(
    bundle: EvidenceBundle, verdict: Verdict, settings: RulesConfig
) -> FirstRelease | None:
    crg = verdict.crg if isinstance(verdict, Decided) else None
    contest = contest_of(bundle, settings)
    if len(contest.recordings) == 1 and bundle.all_ids.is_each_once:
        return _doubted(_first_of_reading(contest, crg), verdict)

    readings: list[FirstRelease | None] = []
    clashes: Sequence[Contradiction] = ()
    if not bundle.all_ids.is_each_once:
        clashes = find_contradictions(sorted_recordings(bundle).possible, candidates_meant(bundle))
    for _, tried in readings_of(bundle, clashes):
        for version in sorted_recordings(tried).versions:
            reading, mix = contest, _without_mono(version)
            if tried is not bundle or len(mix) != len(contest.recordings):
                candidates = candidates_of(mix, bundle.performer)
                reading = build_contest(mix, candidates, contest.bundle, settings)
            readings.append(_first_of_reading(reading, crg))
    return _doubted(_in_common(readings), verdict)


def _doubted(first: FirstRelease | None, verdict: Verdict) -> FirstRelease | None:
    """Return the first release; its year is uncertain if the case asks for a missing original."""
    questions = verdict.questions if isinstance(verdict, Open) else ()
    texts = (question.text for question in questions if question.kind == "missing_original")
    missing = next(texts, None)
    if first is None or missing is None or not first.year_certain:
        return first
    return replace(first, year_certain=False, because=missing)


def with_override(
    first: FirstRelease | None, override: OverrideRecord, bundle: EvidenceBundle
) -> FirstRelease | None:
    """Return the first release, changed by what a person has stated.

    The person's date always replaces its date. The record is then one that may have that date,
    preferably the person's release group. If the person gave no date, the year becomes certain if
    the first release is in the person's group.
    """
    crg = bare_id(override.crg_mbid or "")
    is_there = first is not None and bare_id(first.release_group_mbid or "none") == crg
    certain = {
        "year_certain": True, "because": override.because, "by": SaidBy.PERSON, "best_known": UNSET,
    }  # fmt: skip
    if override.first_date is None:
        return replace(first, **certain) if first and is_there and not first.year_certain else first
    date = PartialDate.parse(override.first_date)
    groups = {bare_id(record.mb_rg_id): record for record in bundle.groups}
    editions_by_id = {mbid: _editions_of(group, date) for mbid, group in groups.items()}
    carriers = {mbid: editions for mbid, editions in editions_by_id.items() if editions}
    chosen = crg if crg and (crg in carriers or crg not in groups) else None
    if chosen is None or is_there:
        fitting = first if first and date.overlaps(PartialDate.parse(first.date)) else None
        if fitting and (fitting.release_group_mbid or len(carriers) != 1):
            return replace(fitting, date=date.text, **certain)
        chosen = next(iter(carriers)) if len(carriers) == 1 else crg
    editions = carriers.get(chosen, ())
    release = next((copy for copy in editions if copy.mb_release_id == override.rr_mbid), None)
    release = release or (editions[0] if len(editions) == 1 else None)
    group = groups.get(chosen)
    return FirstRelease(
        date.text,
        year_certain=True,
        because=override.because,
        release_mbid=release.mb_release_id if release else None,
        release_group_mbid=group.mb_rg_id if group else override.crg_mbid,
        title=group.title if group else None,
        country=release.place if release else None,
        recording_mbid=override.recording_mbid,
        type=role_and_noun(*group.types)[1] if group else None,
        label=release.label if release else None,
        by=SaidBy.PERSON,
    )


def _editions_of(group: ReleaseGroup, date: PartialDate) -> Sequence[Release]:
    """Return the official releases of a group that may have come out on a date."""
    return [
        release
        for release in group.editions
        if release.is_official and release.when.is_known and release.when.overlaps(date)
    ]


def _without_ids(first: FirstRelease | None) -> FirstRelease | None:
    """Return a first release without the ids of a single that MusicBrainz does not list."""
    if first is None or first.release_group_mbid != THE_RECORDING:
        return first
    because = f"a verified source dates the single {first.title!r} {first.date}"
    return replace(
        first,
        release_mbid=None,
        release_group_mbid=None,
        because=because if first.year_certain else first.because,
    )


def year_case(bundle: EvidenceBundle, verdict: Verdict, settings: RulesConfig) -> Open | None:
    """Return an open case that asks for the year of a decided case.

    Return None if the case is open or the year is certain. The question is about the records that
    may be earlier than the first one listed, and about the recording itself if it may be on a
    single of its title that is not listed.
    """
    if not isinstance(verdict, Decided) or verdict.crg_rule in _STATED:
        return None
    first = first_release(bundle, verdict, settings)
    if first and first.year_certain:
        return None
    doubt = first.because if first else NOTHING_DATED
    because = f"the release group is decided, and the year is not certain: {doubt}"
    question = Question("year", YEAR_QUESTION, tuple(_perhaps_earlier(bundle, first, settings)))
    return Open(because, (question,), verdict.path, verdict.rivals)


def _perhaps_earlier(
    bundle: EvidenceBundle, first: FirstRelease | None, settings: RulesConfig
) -> Iterator[str]:
    contest = contest_of(bundle, settings)
    year = str(first.year) if first else ""
    vague = [record for record in contest.candidates if record.counts and not record.is_dated]
    title = fold(bundle.recording_title or "")
    is_listed = any(record.role is Role.SINGLE and fold(record.title) == title for record in vague)
    if title and not is_listed and not _is_version(bundle, contest):
        yield THE_RECORDING
    with_date = [record for record in contest.candidates if record.own_date]
    ids = [record.id for record in vague]
    ids += [record.id for record in with_date if str(record.own_date)[:4] < year]
    if first and first.release_group_mbid:
        ids.append(first.release_group_mbid)
    yield from list(dict.fromkeys(ids))[:_MAX_ABOUT]


def _is_version(bundle: EvidenceBundle, contest: Contest) -> bool:
    """Return whether the recording may be another performance or mix than the single's."""
    title_remarks = [remarks_in(bundle.recording_title, None)]
    remarks = (*title_remarks, *(recording.remarks for recording in contest.recordings))
    if any(remark.kinds - {"mono"} or remark.telling or remark.part for remark in remarks):
        return True
    return any(not _OF_VERSIONS.isdisjoint(record.group.kinds) for record in contest.candidates)


# A reading assumes one recording in the file and one description of each record.


def _without_mono(version: Sequence[RecordingCandidate]) -> Sequence[RecordingCandidate]:
    """Return the recordings of a version without its mono mixes, unless all are mono.

    A mono mix is another recording, and the file holds it only if the title says so. The mono mixes
    are kept if one of them shares an ISRC with another mix.
    """
    mono = [recording for recording in version if recording.intent.is_mono]
    stereo = [recording for recording in version if not recording.intent.is_mono]
    codes, other_codes = (
        {isrc(code) for take in mix for code in take.isrcs or ()} for mix in (mono, stereo)
    )
    return version if not stereo or codes & other_codes else stereo


def _in_common(readings: Sequence[FirstRelease | None]) -> FirstRelease | None:
    """Return what all readings have in common; None if their years differ."""
    firsts = [first for first in readings if first]
    if len(firsts) < len(readings) or len({first.year for first in firsts}) != 1:
        return None
    dates = sorted({first.date for first in firsts})
    precision = next(n for n in _PRECISIONS if dates[0][:n] == dates[-1][:n])
    is_certain = all(first.year_certain for first in firsts)
    because = min(first.because for first in firsts if first.year_certain is is_certain)
    if len(dates) > 1:
        because = f"{' or '.join(dates)}, by which recording or description is right; {because}"
    names = (
        "release_mbid", "release_group_mbid", "title", "country", "recording_mbid", "type", "label",
    )  # fmt: skip
    values = {name: {getattr(first, name) for first in firsts} for name in names}
    return replace(
        firsts[0],
        date=dates[0][:precision],
        year_certain=is_certain,
        because=because,
        via_sibling=all(first.via_sibling for first in firsts),
        **{name: shared.pop() if len(shared) == 1 else None for name, shared in values.items()},
    )


# The earliest release of one reading.


def _first_of_reading(contest: Contest, crg: ReleaseGroupId | None) -> FirstRelease | None:
    firsts = _earliest_records(contest)
    if not firsts:
        return None
    chosen, when = firsts, firsts[0].since
    if len(firsts) > 1:
        when = min([record.since for record in firsts], key=lambda date: (date.first, -date.last))
        if when.first == when.last:
            chosen = _before_others(firsts, contest, crg)
    case = YearCase(contest, firsts, when.text[:4])
    doubt = year_doubt(case)
    group = chosen[0].group if len(chosen) == 1 else None
    release = _release(chosen[0], when, contest) if group else None
    carrier = _carrier(chosen, release, contest)
    return FirstRelease(
        when.text,
        doubt is None,
        doubt or _certainty(chosen, release, case),
        release.mb_release_id if release else None,
        group.mb_rg_id if group else None,
        group.title if group else None,
        release.place if release else None,
        carrier.mb_recording_id if carrier else None,
        carrier.is_sibling if carrier else False,
        chosen[0].kind if group else None,
        release.label if release else None,
    )


def _earliest_records(contest: Contest) -> Sequence[Candidate]:
    """Return the official records that may be the first, or those of the first day if it is known.

    A compilation with a vague date is left out if a work may be earlier, unless the rules ask
    whether the compilation was first.
    """
    dated = [record for record in contest.candidates if record.first > FIRST_DAY and record.counts]
    works = [record for record in dated if not _is_compilation(record)]
    start = min([work.first for work in works], default=FIRST_DAY)
    early_ids = {early.candidate.id for early in contest.early_compilations}
    dated = [
        candidate
        for candidate in dated
        if candidate.first == candidate.last
        or candidate.last < start
        or start == FIRST_DAY
        or candidate.id in early_ids
        or not _is_compilation(candidate)
    ]
    if len(dated) <= 1:
        return dated
    soonest = min([candidate.last for candidate in dated])
    close = [candidate for candidate in dated if candidate.first <= soonest]
    is_day = min([candidate.first for candidate in close]) == soonest
    close = [record for record in close if record.first == record.last] if is_day else close
    return sorted(close, key=attrgetter("first", "last", "name"))


def _is_compilation(candidate: Candidate) -> bool:
    return candidate.role is Role.COMPILATION and not is_soundtrack(candidate.group)


def _before_others(
    firsts: Sequence[Candidate], contest: Contest, crg: ReleaseGroupId | None
) -> Sequence[Candidate]:
    """Return the record that comes before the others of its day; several if nothing decides."""
    canonical = [candidate for candidate in firsts if candidate.id == crg]
    works = [candidate for candidate in firsts if not may_gather(candidate)]
    return canonical or possibly_earliest(works or firsts, contest.tie_break)


def _release(first: Candidate, when: PartialDate, contest: Contest) -> Release | None:
    """Return the release of a date, preferably one from the artist's country."""
    pool = [release for release in first.official if release.date == when.text]
    if len(pool) > 1:
        home = home_countries(contest.artist.country)
        pool = [release for release in pool if not is_before_its_time(release)]
        pool = [release for release in pool if release.place in home] or pool
        return first_by_content(first_of_day(pool, first.group, contest.settings))
    return pool[0] if pool else None


def _carrier(
    records: Sequence[Candidate], release: Release | None, contest: Contest
) -> RecordingCandidate | None:
    """Return the recording on a release; a sibling only if no other recording is on it."""
    if len(contest.recordings) == 1:
        return contest.recordings[0]
    carriers = {take.mb_recording_id: take for record in records for take in record.recordings}
    if len(records) > 1 and len(carriers) > 1:
        return None
    rr = release.mb_release_id if release else None
    return carriers[recording_of([*carriers.values()], rr, contest.bundle)]


def _certainty(chosen: Sequence[Candidate], release: Release | None, case: YearCase) -> str:
    if case.contest.bundle.has_no_sibling and not case.is_any_work_of_the_year:
        return "only compilations have it, and no other recording of it was found"
    if len(chosen) == 1:
        pulled = (
            f"; it was {release.standing} later".lower() if release and release.is_pulled else ""
        )
        return f"nothing in the evidence is earlier{pulled}"
    return f"whichever was first, it came out in this year: {either(chosen)}"
