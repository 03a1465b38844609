"""Explanations: why a case is open, and why each other candidate was not chosen."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias

from msgspec.structs import replace

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, set_off
from chart_binder.domain.verdict import Considered, Open, Rival, Verdict
from chart_binder.domain.vocabulary import bare_id
from chart_binder.rules.ambiguity import releases_of_unknown_status, status_questions
from chart_binder.rules.assumptions import Asked, BundleChange, Undecided
from chart_binder.rules.candidates import (
    Candidate,
    Role,
    candidates_of,
    count_unofficial,
)
from chart_binder.rules.contest import Contest, Ruling, build_contest
from chart_binder.rules.premiere import RuleResults, apply_rules
from chart_binder.rules.questions import date_questions, either, tie_question
from chart_binder.rules.recordings import SortedRecordings, format_length, via_sibling

_MAX_REMARK = 80
_NOWHERE = ""

_Excluded: TypeAlias = Sequence[tuple[RecordingCandidate, str]]


def undecided(contest: Contest, results: RuleResults, bundle: EvidenceBundle) -> Undecided:
    """Return why the rules cannot decide, with the questions that would settle it."""
    path = _path(results)
    if not any(one.counts for one in contest.candidates):
        return Undecided(*_nothing_official(contest, bundle), path)
    asked, possible = list(results.doubts), results.possible
    if len(possible) > 1:
        asked += date_questions(contest, possible)
        because = f"the facts known do not tell whether it is {either(possible)}"
    elif possible:
        because = f"{either(possible)} may not be where it came out first"
    else:
        because = "only compilations carry it, and the original is not among them"
    return Undecided(because, asked or [tie_question(contest, possible)], path)


def _nothing_official(contest: Contest, bundle: EvidenceBundle) -> tuple[str, Sequence[Asked]]:
    title = f"'{bundle.recording_title}'" if bundle.recording_title else "the recording"
    text = (
        f"the original release is missing from the evidence: on which record did {title} come out?"
    )
    about = dict.fromkeys(one.mb_recording_id for one in contest.recordings)
    original = Asked("missing_original", text, tuple(about))
    if not contest.candidates:
        return "no record is known that carries it", [original]
    names = (f"{one.name} ({count_unofficial(one.unofficial)})" for one in contest.candidates)
    unknown = releases_of_unknown_status(contest.candidates)
    asked = status_questions(unknown, list(unknown)) or [original]
    return f"no official release of it is known, only {'; '.join(sorted(names)[:3])}", asked


def recordings_disagree(
    chosen: Candidate | None, contest: Contest, results: RuleResults, recordings: SortedRecordings
) -> Undecided | None:
    """Return why the case is open, if the recordings kept lead to different records.

    One that leads to a compilation does not count, unless that compilation is the decision: it is
    taken for a duplicate that nobody merged. Where the file's length fits only those of another
    kind than wanted, or they are by several artists of one name, each counts, and one that leads
    nowhere too.
    """
    if len(recordings.versions) == 1:
        return None
    homes: dict[str, tuple[str, Sequence[RecordingCandidate]]] = {}
    for version in recordings.versions:
        own = build_contest(version, contest.bundle, contest.settings)
        possible = apply_rules(own).possible
        if recordings.each_counts and not possible:
            homes[_NOWHERE] = _describe_version(version), version
        for one in possible:
            is_chosen = chosen is not None and one.group.mb_rg_id == chosen.group.mb_rg_id
            if one.role is not Role.COMPILATION or is_chosen or recordings.each_counts:
                homes[one.group.mb_rg_id] = f"{_describe_version(version)} on {one.name}", version
    if chosen:
        described = f"{_describe_version(chosen.recordings)} on {chosen.name}"
        homes.setdefault(chosen.group.mb_rg_id, (described, chosen.recordings))
    if len(homes) <= 1:
        return None
    answers: dict[str, list[BundleChange]] = {}
    for name, version in sorted(homes.values(), key=itemgetter(0)):
        answers.setdefault(name, []).append(_only_of(version))
    names = ", or ".join(sorted(name for name, _ in homes.values()))
    about = sorted({one.mb_recording_id for _, version in homes.values() for one in version})
    asked = Asked(
        "which_copy", f"which recording is it: {names}?", tuple(about), [*answers.items()]
    )
    because = "the recordings found came out on different records"
    if recordings.artists:
        because = f"{because}, by {len(recordings.artists)} artists of one name"
    return Undecided(because, [asked], _path(results))


def _only_of(version: Sequence[RecordingCandidate]) -> BundleChange:
    """Return the evidence as if it had been found for one of the versions alone."""
    ids = {one.mb_recording_id for one in version}
    return lambda bundle: replace(
        bundle,
        recording_candidates=tuple(
            one for one in bundle.recording_candidates if one.mb_recording_id in ids
        ),
    )


def _describe_version(version: Sequence[RecordingCandidate]) -> str:
    """Return length, artist and remark of a recording: `3:00 (mono)`, `3:00 by A feat. B`."""
    length_ms = next((one.length_ms for one in version if one.length_ms), None)
    remarks = [one.disambiguation or set_off(one.title or "") for one in version]
    remarks += ["mono" for one in version if one.intent.is_mono]
    remark = next(filter(None, remarks), "")[:_MAX_REMARK]
    artist = next((one.artist.name for one in version if one.artist), None)
    by = f" by {artist}" if artist else ""
    if not remark:
        return f"{format_length(length_ms)}{by}"
    return f"{format_length(length_ms)} ({remark}){by}" if length_ms else f"'{remark}'{by}"


def _path(results: RuleResults) -> tuple[Considered, ...]:
    return tuple(Considered(code, _undecided_reason(ruling)) for code, ruling in results.rulings)


def _undecided_reason(ruling: Ruling) -> str:
    if not ruling.choices:
        return ruling.reason
    if ruling.doubts:
        return f"would choose {either(ruling.choices)}, but {ruling.doubts[0].text}"
    return f"may choose {either(ruling.choices)}: the facts known do not tell"


# Why the others were not chosen.


def explain_losers(
    contest: Contest, chosen: Candidate | None, excluded: _Excluded = ()
) -> tuple[Rival, ...]:
    """Return the candidates that were not chosen, the earliest first."""
    crg, winner = (chosen.group.mb_rg_id, chosen.name) if chosen else (None, "")
    window = contest.settings.lead_window_days
    losers = [
        Rival(name, one.title, _why_not(one, chosen, winner, window))
        for one in contest.candidates
        if (name := one.group.mb_rg_id) != crg
    ]
    if len(contest.recordings) > 1:
        via = {one.group.mb_rg_id: via_sibling(one.recordings) for one in contest.candidates}
        losers = [replace(one, why_not=one.why_not + via[one.release_group]) for one in losers]
    return (*losers, *_of_excluded(contest, excluded))


def explain_losers_to_override(
    contest: Contest, crg: str, excluded: _Excluded, by_rules: Verdict
) -> tuple[Rival, ...]:
    """Return the candidates that a person did not choose.

    `crg` is the group they chose, which the evidence may lack; `by_rules` is what the rules say
    without the person.
    """
    names = {bare_id(one.group.mb_rg_id): one.name for one in contest.candidates}
    ruled = f"a person chose {names.get(crg, 'another record')}; by the rules alone"
    losers = []
    for one in contest.candidates:
        if bare_id(group := one.group.mb_rg_id) == crg:
            continue
        if isinstance(by_rules, Open):
            alone = "the case is open"
        elif by_rules.crg == group:
            alone = "it would be this one"
        elif bare_id(by_rules.crg) == crg:
            alone = "it would be that, too"
        else:
            alone = f"it would be {names[bare_id(by_rules.crg)]}"
        known = (
            one.when if one.counts else f"nothing official, only {count_unofficial(one.unofficial)}"
        )
        losers.append(Rival(group, one.title, f"{one.kind} ({known}): {ruled} {alone}"))
    others = (
        replace(one, why_not=f"{ruled} it does not count: {one.why_not}")
        for one in _of_excluded(contest, excluded)
        if bare_id(one.release_group) != crg
    )
    return (*losers, *others)


def _of_excluded(contest: Contest, excluded: _Excluded) -> Iterator[Rival]:
    """Yield the groups that carry excluded recordings only, each with the first reason."""
    if not excluded:
        return
    known = {one.group.mb_rg_id for one in contest.candidates}
    reasons: dict[str, str] = {}
    for recording, why in sorted(excluded, key=itemgetter(1)):
        for group in recording.groups:
            reasons.setdefault(group.mb_rg_id, why)
    for one in candidates_of([recording for recording, _ in excluded]):
        if one.group.mb_rg_id not in known:
            yield Rival(one.group.mb_rg_id, one.title, reasons[one.group.mb_rg_id])


def _why_not(one: Candidate, chosen: Candidate | None, winner: str, window: int) -> str:
    if not one.counts:
        return f"{one.kind}: nothing official, only {count_unofficial(one.unofficial)}"
    if chosen is None:
        return f"{one.kind} ({one.when})"
    return f"{one.kind} ({one.when}): {_lost(one, chosen, winner, window)}"


def _lost(one: Candidate, chosen: Candidate, winner: str, window: int) -> str:
    if one.first > chosen.last:  # the usual case
        return f"{_days(one, chosen)}later than {winner}"
    if not one.is_dated:
        return "nothing says that it came out first"
    if one.role is Role.COMPILATION:
        return f"no compilation of the artist's own, more than {window} days before the rest"
    if one.last < chosen.first and one.role is Role.SINGLE:
        return f"led to {winner} {_days(chosen, one)}later"
    if one.first == one.last == chosen.first == chosen.last:
        return f"the same day as {winner}, which goes before it"
    return f"whatever its day, {winner} goes before it"


def _days(later: Candidate, earlier: Candidate) -> str:
    if later.first != later.last or earlier.first != earlier.last:
        return ""
    days = later.first - earlier.last
    return f"{days} days " if days > 1 else "1 day "
