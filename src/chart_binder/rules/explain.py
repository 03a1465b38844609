"""Explanations: why a case is open, and why each other candidate was not chosen.

A question about a date names the day before and after which the rules answer differently.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice, product
from operator import attrgetter, itemgetter
from typing import TypeAlias

from msgspec.structs import replace

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, time_between
from chart_binder.domain.evidence import RecordingCandidate
from chart_binder.domain.media import first_day_on_sale
from chart_binder.domain.remarks import set_off
from chart_binder.domain.verdict import Rival, RuleStep
from chart_binder.domain.vocabulary import ReleaseGroupId, bare_id
from chart_binder.rules.candidates import (
    MAX_NAMED,
    Candidate,
    Role,
    candidates_of,
    count_unofficial,
    either,
    with_span,
)
from chart_binder.rules.contest import Contest, build_contest, soundtracks_perhaps_first
from chart_binder.rules.missing_original import MISSING
from chart_binder.rules.premiere import RuleResults, Ruling, possible_answers
from chart_binder.rules.questions import (
    MAX_QUESTIONS,
    Answer,
    BundleChange,
    DraftQuestion,
    Undecided,
    day_answers,
    in_groups,
    premiere_answer,
    releases_of_unknown_status,
    set_fields,
    set_releases,
    status_questions,
)
from chart_binder.rules.recordings import (
    SortedRecordings,
    describe_file,
    format_length,
    title_wanted,
    via_sibling,
)
from chart_binder.rules.ties import home_countries

_MAX_CLOSE = 8
"""If more candidates are close, no days are tried, and their exact dates are asked for."""
_MAX_COMBINATIONS = 6
_MAX_SPANS = 4
"""If more spans of days lead to different answers, none is listed."""
_MAX_REMARK = 80
_NOWHERE = ""

_Excluded: TypeAlias = Sequence[tuple[RecordingCandidate, str]]


def undecided(contest: Contest, results: RuleResults) -> Undecided:
    """Return why the rules cannot decide, and the questions that would settle the case."""
    path = _path(results)
    if not any(candidate.counts for candidate in contest.candidates):
        return Undecided(*_nothing_official(contest), path)
    questions, possible = list(results.doubts), results.possible
    if len(possible) > 1:
        questions += date_questions(contest, possible)
        because = f"the facts known do not tell whether it is {either(possible)}"
    elif possible:
        because = f"{either(possible)} may not be where it came out first"
    else:
        because = "only compilations carry it, and the original is not among them"
    return Undecided(because, questions or [tie_question(contest, possible)], path)


def _nothing_official(contest: Contest) -> tuple[str, Sequence[DraftQuestion]]:
    title = contest.bundle.recording_title
    subject = f"'{title}'" if title else "the recording"
    text = f"{MISSING}: on which record did {subject} come out?"
    about = dict.fromkeys(recording.mb_recording_id for recording in contest.recordings)
    original = DraftQuestion("missing_original", text, tuple(about))
    if not contest.candidates:
        return "no record is known that carries it", [original]
    counts = ((record.name, count_unofficial(record.unofficial)) for record in contest.candidates)
    names = sorted(f"{name} ({count})" for name, count in counts)
    unknown = releases_of_unknown_status(contest.candidates)
    questions = status_questions(unknown, list(unknown)) or [original]
    return f"no official release of it is known, only {'; '.join(names[:3])}", questions


def recordings_disagree(
    chosen: Candidate | None, contest: Contest, results: RuleResults, recordings: SortedRecordings
) -> Undecided | None:
    """Return why the case is open if the recordings lead to different records; else None.

    A recording that leads to a compilation does not count unless that compilation is the decision:
    it is probably a duplicate that nobody has merged. A soundtrack compilation counts if it may be
    the earliest. If the file's length fits only recordings of another version than the title names,
    or if several artists have the same name, every recording counts, even one that leads to no
    record.
    """
    if len(recordings.versions) == 1:
        return None
    describe = _describe_version if title_wanted(contest.bundle) else _describe_song
    homes: dict[str, tuple[str, Sequence[RecordingCandidate]]] = {}
    for version in recordings.versions:
        candidates = candidates_of(version, contest.artist)
        of_version = build_contest(version, candidates, contest.bundle, contest.settings)
        possible = possible_answers(of_version)
        if recordings.each_counts and not possible:
            homes[_NOWHERE] = describe(version), version
        soundtracks = [] if of_version.works else soundtracks_perhaps_first(of_version.compilations)
        for candidate in (*possible, *soundtracks):
            counts = candidate.role is not Role.COMPILATION or candidate in soundtracks
            is_chosen = chosen is not None and candidate.id == chosen.id
            if counts or is_chosen or recordings.each_counts:
                homes[candidate.id] = f"{describe(version)} on {candidate.name}", version
    if chosen:
        described = f"{describe(chosen.recordings)} on {chosen.name}"
        homes.setdefault(chosen.id, (described, chosen.recordings))
    if len(homes) <= 1:
        return None
    answers: dict[str, list[BundleChange]] = {}
    for name, version in sorted(homes.values(), key=itemgetter(0)):
        answers.setdefault(name, []).append(_keep_only(version))
    names = ", or ".join(sorted(name for name, _ in homes.values()))
    about = sorted({take.mb_recording_id for _, version in homes.values() for take in version})
    text = f"which recording is {describe_file(contest.bundle)}: {names}?"
    question = DraftQuestion("which_copy", text, tuple(about), [*answers.items()])
    because = "the recordings found came out on different records"
    if recordings.artists:
        because = f"{because}, by {len(recordings.artists)} artists of one name"
    return Undecided(because, [question], _path(results))


def _keep_only(version: Sequence[RecordingCandidate]) -> BundleChange:
    ids = {recording.mb_recording_id for recording in version}
    return lambda bundle: replace(
        bundle,
        recording_candidates=tuple(
            take for take in bundle.recording_candidates if take.mb_recording_id in ids
        ),
    )


def _describe_song(version: Sequence[RecordingCandidate]) -> str:
    """Return title, length and artist, because the recordings may be of different songs."""
    title = next((recording.title for recording in version if recording.title), None)
    return " ".join(filter(None, (title and f"'{title}'", _describe_version(version))))


def _describe_version(version: Sequence[RecordingCandidate]) -> str:
    """Return length, artist and remark of a recording: `3:00 (mono)`, `3:00 by A feat. B`."""
    length_ms = next((recording.length_ms for recording in version if recording.length_ms), None)
    remarks = [recording.disambiguation or set_off(recording.title or "") for recording in version]
    remarks += ["mono" for recording in version if recording.intent.is_mono]
    remark = next(filter(None, remarks), "")[:_MAX_REMARK]
    artist = next((recording.artist.name for recording in version if recording.artist), None)
    by = f" by {artist}" if artist else ""
    if not remark:
        return f"{format_length(length_ms)}{by}"
    return f"{format_length(length_ms)} ({remark}){by}" if length_ms else f"'{remark}'{by}"


def _path(results: RuleResults) -> tuple[RuleStep, ...]:
    return tuple(RuleStep(code, _undecided_reason(ruling)) for code, ruling in results.rulings)


def _undecided_reason(ruling: Ruling) -> str:
    if not ruling.choices:
        return ruling.reason
    if ruling.doubts:
        return f"would choose {either(ruling.choices)}, but {ruling.doubts[0].text}"
    return f"may choose {either(ruling.choices)}: the facts known do not tell"


# Questions whose answers would settle an open case.


def tie_question(contest: Contest, possible: Sequence[Candidate]) -> DraftQuestion:
    """Return the question which record came out first, for a case that no date would settle.

    If all came out on one day, it asks which came out on that day in the artist's country.
    """
    days = {day for candidate in possible for day in (candidate.first, candidate.last)}
    about = tuple(candidate.id for candidate in possible[:MAX_NAMED])
    text = f"which of them came out first: {either(possible)}?"
    answers: list[Answer] = []
    if len(days) == 1:
        text = (
            "which of them came out on that day in the artist's country, or on a label that goes"
            f" before the others': {either(possible)}?"
        )
        country, day = contest.artist.country, days.pop()
        answers = [
            (candidate.name, [_in_country(country, candidate, day)])
            for candidate in possible[:MAX_NAMED]
            if country and home_countries(country)
        ]
    answers = answers or [*map(premiere_answer, possible)]
    return DraftQuestion("tie", text, about, answers if len(answers) <= MAX_NAMED else ())


def _in_country(country: str, candidate: Candidate, day: int) -> BundleChange:
    change = set_releases(
        lambda release: release.is_official and release.when.first == release.when.last == day,
        country=country,
    )
    if candidate.is_weak:
        change = set_fields(countries=(country,))
    return in_groups(change, (candidate.id,))


_Groups: TypeAlias = frozenset[str]
_Change: TypeAlias = tuple[int, _Groups]
"""A day, and the rules' answer if a candidate came out from then on, before the next change."""
_Changes: TypeAlias = Mapping[ReleaseGroupId, Sequence[_Change]]
_NOBODY = ReleaseGroupId("")
"""Stands for an open case: two compilations are too close to each other."""


def date_questions(contest: Contest, possible: Sequence[Candidate]) -> Sequence[DraftQuestion]:
    """Return questions about the dates that would decide between the possible answers.

    Each day that can make a difference is tried for a vague date. If those dates alone do not
    settle the case, the dates that matter beside them are asked for too.
    """
    early = [compilation.candidate for compilation in contest.early_compilations]
    by_id = {record.id: record for record in (*contest.firsts, *contest.albums, *early, *possible)}
    close = sorted(by_id.values(), key=attrgetter("first", "last", "title", "id"))
    vague = [candidate for candidate in close if candidate.first != candidate.last]
    if len(close) > _MAX_CLOSE:
        return [_ask_day(candidate) for candidate in vague[:MAX_QUESTIONS]]
    changes: _Changes = {record.id: [*_changes(record, close, contest)] for record in vague}
    alone = [candidate for candidate in vague if len(changes[candidate.id]) > 1]
    beside = _dates_that_matter_beside(alone, changes, close, contest)
    questions = [
        _ask_day(candidate, spans) if beside else _ask_side(candidate, spans, close)
        for candidate in vague
        if (candidate in alone or candidate in beside) and (spans := changes[candidate.id])
    ]
    return questions[:MAX_QUESTIONS]


def _dates_that_matter_beside(
    alone: Sequence[Candidate], changes: _Changes, close: Sequence[Candidate], contest: Contest
) -> Sequence[Candidate]:
    """Return the candidates whose dates matter together with the dates that matter `alone`.

    Some dates matter only once the others are known. Others rule out an answer whatever they are:
    an undated album is ignored beside a dated record, but not once its date is known.
    """
    if not alone:
        return []
    answer_now = _answer(close, contest)
    ids = {name for name, (first, *_) in changes.items() if first[1] != answer_now}
    names = [candidate.id for candidate in alone]
    combinations = product(*([day for day, _ in changes[name]] for name in names))
    for days in islice(combinations, _MAX_COMBINATIONS):
        day_of = dict(zip(names, days, strict=True))
        tried = [
            with_span(record, day, day) if (day := day_of.get(record.id)) else record
            for record in close
        ]
        if len(_answer(tried, contest)) > 1:
            vague = [record for record in tried if record.first != record.last]
            for record in vague:
                if len([*islice(_changes(record, tried, contest), 2)]) > 1:
                    ids.add(record.id)
    return [candidate for candidate in close if candidate.id in ids and candidate not in alone]


def _changes(record: Candidate, close: Sequence[Candidate], contest: Contest) -> Iterator[_Change]:
    """Yield each day from which the candidate's date leads to another answer, and that answer."""
    previous: _Groups | None = None
    for day in _days_that_matter(record, close, contest.settings.lead_window_days):
        tried = [with_span(rival, day, day) if rival is record else rival for rival in close]
        answer = _answer(tried, contest)
        if answer != previous:
            yield day, answer
            previous = answer


def _answer(candidates: Sequence[Candidate], contest: Contest) -> _Groups:
    recordings, bundle, settings = contest.recordings, contest.bundle, contest.settings
    tried = build_contest(recordings, candidates, bundle, settings, contest.tie_break)
    answer = frozenset(chosen.id for chosen in possible_answers(tried))
    is_clear = all(early.is_alone for early in tried.early_compilations)
    return answer if is_clear else answer | {_NOBODY}


def _days_that_matter(candidate: Candidate, close: Sequence[Candidate], window: int) -> list[int]:
    """Return the days on which the answer may change, and the first possible day."""
    bounds = {day for rival in close if rival is not candidate for day in (rival.first, rival.last)}
    steps = (0, 1, -window, 1 - window, window, window + 1)
    days = {day + step for day in bounds for step in steps}
    inside = {day for day in days if candidate.first < day <= candidate.last}
    return sorted({max(candidate.first, 2), *inside} - {LAST_DAY})


def _ask_side(
    candidate: Candidate, changes: Sequence[_Change], close: Sequence[Candidate]
) -> DraftQuestion:
    """Ask whether it came out before a day or later; ask for the day if several matter."""
    answers = [answer for _, answer in changes]
    if len(changes) > 2 or not all(map(_is_single_group, answers)):  # noqa: PLR2004
        return _ask_day(candidate, changes)
    names: dict[str, str] = {rival.id: rival.name for rival in close}
    earlier, later = (names[next(iter(answer))] for answer in answers)
    day = date.fromordinal(changes[1][0])
    question = f"{_doubtful_date(candidate)}: before or after {day}?"
    text = f"{question} Before: {earlier}; on that day or later: {later}"
    return DraftQuestion("date", text, (candidate.id,), _answers(candidate, changes), question)


def _ask_day(candidate: Candidate, changes: Sequence[_Change] = ()) -> DraftQuestion:
    text = f"{_doubtful_date(candidate)}: on which day did it come out?"
    return DraftQuestion("date", text, (candidate.id,), _answers(candidate, changes))


def _is_single_group(answer: _Groups) -> bool:
    return len(answer) == 1 and _NOBODY not in answer


def _answers(candidate: Candidate, changes: Sequence[_Change]) -> Sequence[Answer]:
    if not 1 < len(changes) <= _MAX_SPANS:
        return ()
    starts = [(day, _is_single_group(answer)) for day, answer in changes]
    is_any_dated = candidate.since.is_known or candidate.hint
    on_sale = FIRST_DAY if is_any_dated else first_day_on_sale(candidate.official)
    return day_answers(candidate.id, starts, candidate.last, on_sale)


def _doubtful_date(candidate: Candidate) -> str:
    if not candidate.since.is_known:
        group = candidate.group.first_date
        return f"{candidate.name} has no date{f' (its group: {group})' if group.is_known else ''}"
    if candidate.own_date and candidate.own_date.first == candidate.first:
        doubt = f"its group is dated {candidate.own_date}"
    elif candidate.hint:
        doubt = f"a release of it, on a medium of later years, is dated {candidate.hint}"
    elif not candidate.is_dated:
        doubt = "a release of it has no date"
    elif candidate.since == candidate.by:
        return f"{candidate.name} is only dated {candidate.when}"
    else:
        doubt = f"a release of it is only dated {candidate.since}"
    return f"{candidate.name} was out by {candidate.by}, but {doubt}"


# Why the others were not chosen.


def explain_losers(
    contest: Contest, chosen: Candidate | None, excluded: _Excluded = ()
) -> tuple[Rival, ...]:
    """Return the candidates that were not chosen and why, earliest first."""
    crg, winner = (chosen.id, chosen.name) if chosen else (None, "")
    window = contest.settings.lead_window_days
    losers = []
    for candidate in contest.candidates:
        if candidate.id != crg:
            via = via_sibling(candidate.recordings) if len(contest.recordings) > 1 else ""
            rival = _rival(candidate, chosen, winner, window)
            losers.append(rival.adding(via) if via else rival)
    return (*losers, *_of_excluded(contest, excluded))


def explain_losers_to_override(
    contest: Contest, crg: str, excluded: _Excluded
) -> tuple[Rival, ...]:
    """Return the candidates that a person did not choose."""
    names = {bare_id(candidate.id): candidate.name for candidate in contest.candidates}
    choice = f"; a person chose {names.get(crg, 'another record')}"
    rivals = explain_losers(contest, None, excluded)
    return tuple(rival.adding(choice) for rival in rivals if bare_id(rival.release_group) != crg)


def _of_excluded(contest: Contest, excluded: _Excluded) -> Iterator[Rival]:
    """Yield the groups that have only excluded recordings, each with the first reason."""
    if not excluded:
        return
    listed = {candidate.id for candidate in contest.candidates}
    reasons: dict[str, str] = {}
    for recording, why in sorted(excluded, key=itemgetter(1)):
        for group in recording.groups:
            reasons.setdefault(group.mb_rg_id, why)
    for candidate in candidates_of([recording for recording, _ in excluded], contest.artist):
        if candidate.id not in listed:
            reason = reasons[candidate.id]
            yield Rival(candidate.id, candidate.title, reason, reason)


def _rival(candidate: Candidate, chosen: Candidate | None, winner: str, window: int) -> Rival:
    described, reason = f"{candidate.kind} ({candidate.when})", ""
    if not candidate.counts:
        described, reason = candidate.kind, _nothing_but_unofficial(candidate)
    elif chosen:
        reason = _why_lost(candidate, chosen, winner, window)
    why_not = f"{described}: {reason}" if reason else described
    return Rival(candidate.id, candidate.title, why_not, reason)


def _nothing_but_unofficial(candidate: Candidate) -> str:
    return f"nothing official, only {count_unofficial(candidate.unofficial)}"


def _why_lost(candidate: Candidate, chosen: Candidate, winner: str, window: int) -> str:
    if candidate.first > chosen.last:  # the usual case
        return f"{_days_later(candidate, chosen)}later than {winner}"
    if not candidate.is_dated:
        return "nothing says that it came out first"
    if candidate.role is Role.COMPILATION:
        if candidate.is_by_others:
            return "a record by others, which counts like a compilation"
        return f"no compilation of the artist's own, more than {window} days before the rest"
    if candidate.last < chosen.first and candidate.role is Role.SINGLE:
        return f"led to {winner} {_days_later(chosen, candidate)}later"
    is_one_day = candidate.first == candidate.last == chosen.first == chosen.last
    how = f"the same day as {winner}, which" if is_one_day else f"whatever its day, {winner}"
    return f"{how} goes before it"


def _days_later(later: Candidate, earlier: Candidate) -> str:
    if later.first != later.last or earlier.first != earlier.last:
        return ""
    days = later.first - earlier.last
    return f"{time_between(days, days)} "
