"""Questions whose answers decide an open case, and the change of evidence that an answer means.

Every possible value of an unknown status or type is tried, and each of several contradictory
descriptions. If the rules do not always choose the same group, a question asks for the value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import combinations, product
from math import prod
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from chart_binder.domain.dates import FIRST_DAY, LAST_DAY, same_day
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release, ReleaseGroup
from chart_binder.domain.verdict import Possibility, Question, QuestionKind, RuleStep
from chart_binder.domain.vocabulary import MBID, STATUSES, ReleaseGroupId, ReleaseId, non_blank
from chart_binder.rules.candidates import Candidate, role_and_noun

GroupChange: TypeAlias = Callable[[ReleaseGroup], ReleaseGroup | None]
"""Takes a group and returns a changed copy; None if the recording would not be on it."""
BundleChange: TypeAlias = Callable[[EvidenceBundle], EvidenceBundle]
Answer: TypeAlias = tuple[str, Sequence[BundleChange]]
"""An answer in words, and the changes that it may mean.

It leads to a group if the rules choose that group after each of the changes.
"""
Settle: TypeAlias = Callable[[EvidenceBundle], ReleaseGroupId | None]
"""Returns the group that the rules choose for a bundle; None if the case is open."""


_MAX_ANSWERS = 8
_FIRST_RECORDING = date(1857, 3, 25).toordinal()
"""The day of the phonautograph patent; no recording is older."""


class DraftQuestion(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A question with its possible answers, before these are tried."""

    kind: QuestionKind
    text: str
    about: tuple[str, ...] = ()
    answers: Sequence[Answer] = ()
    without_answers: str = ""


class Undecided(msgspec.Struct, frozen=True, eq=False):
    """An open case before the answers to its questions are tried."""

    because: str
    questions: Sequence[DraftQuestion]
    path: tuple[RuleStep, ...]


def questions_of(
    drafts: Iterable[DraftQuestion], bundle: EvidenceBundle, settle: Settle
) -> tuple[Question, ...]:
    """Return the questions, with the group of each answer if any answer settles the case."""
    questions = []
    for draft in drafts:
        possibilities = []
        for answer, changes in draft.answers if len(draft.answers) <= _MAX_ANSWERS else ():
            groups = (settle(change(bundle)) for change in changes)
            first = next(groups, None)
            is_settled = first is not None and all(crg == first for crg in groups)
            possibilities.append(Possibility(answer, first if is_settled else None))
        settles = any(possibility.crg for possibility in possibilities)
        answers = tuple(possibilities) if settles else ()
        questions.append(
            Question(draft.kind, draft.text, draft.about, answers, draft.without_answers)
        )
    return tuple(questions)


def in_groups(change: GroupChange, ids: Iterable[str]) -> BundleChange:
    """Return the change of a bundle that changes the groups with these ids."""
    return lambda bundle: with_groups(bundle, change, frozenset(ids))


def with_groups(
    bundle: EvidenceBundle, change: GroupChange, ids: Sequence[str] | frozenset[str] | None = None
) -> EvidenceBundle:
    """Return the bundle with its groups changed: those in `ids`, or all if it is None."""
    recordings = []
    for recording in bundle.recording_candidates:
        groups = (
            change(group) if ids is None or group.mb_rg_id in ids else group
            for group in recording.groups
        )
        recordings.append(replace(recording, rg_candidates=tuple(filter(None, groups))))
    return replace(bundle, recording_candidates=tuple(recordings))


def set_fields(**fields: object) -> GroupChange:
    """Return a change that sets fields of a group."""
    return lambda group: replace(group, **fields)


def premiere_answer(candidate: Candidate) -> Answer:
    """Return the answer that the recording first came out on the candidate."""
    change = in_groups(set_fields(premiere=True), (candidate.id,))
    return f"it first came out on {candidate.name}", [change]


def set_releases(chosen: Callable[[Release], bool], **fields: object) -> GroupChange:
    """Return a change that sets fields of those releases of a group that are `chosen`."""

    def change(group: ReleaseGroup) -> ReleaseGroup:
        if not any(map(chosen, group.editions)):
            return group
        releases = (replace(copy, **fields) if chosen(copy) else copy for copy in group.editions)
        return replace(group, releases=tuple(releases))

    return change


def day_answers(
    group: str, spans: Sequence[tuple[int, bool]], last: int, on_sale: int = FIRST_DAY
) -> Sequence[Answer]:
    """Return an answer for each span of days in which a recording may have come out on a group.

    `spans` has the first day of each span, and whether the span may settle the case; the last span
    ends on the day `last`. An answer tries the first and the last day of its span. Spans before
    `on_sale`, the day on which the group's media went on sale, are left out. Return nothing if the
    first span would end before the first recording ever made, as it does between undated records.
    """
    starts = [start for start, _ in spans]
    if starts[1] <= _FIRST_RECORDING:
        return ()
    ends = [*(day - 1 for day in starts[1:]), min(last, LAST_DAY - 1)]
    answers = []
    for (start, may_settle), end in zip(spans, ends, strict=True):
        if end < on_sale:
            continue
        span = f"from {date.fromordinal(start)} to {date.fromordinal(end)}"
        if start == starts[0]:
            span = f"before {date.fromordinal(end + 1)}"
        elif start == starts[-1]:
            span = f"on {date.fromordinal(start)} or later"
        elif start == end:
            span = f"on {date.fromordinal(start)}"
        days = sorted({max(start, on_sale), end}) if may_settle else ()
        answers.append((span, [_dated_on(day, group) for day in days]))
    return answers


def _dated_on(day: int, group_id: str) -> BundleChange:
    """Return a change that gives a day to a group's official releases of a vague date or none."""
    text = date.fromordinal(day).isoformat()

    def change(group: ReleaseGroup) -> ReleaseGroup | None:
        if not group.releases:
            return replace(group, first_release_date=text)
        official = [release for release in group.releases if release.is_official]
        may_be = [release for release in official if release.when.first <= day <= release.when.last]
        chosen = [release for release in may_be if release.when.is_known] or may_be
        return set_releases(lambda release: release in chosen, date=text)(group)

    return in_groups(change, (group_id,))


MAX_QUESTIONS = 5
_MAX_SUBSETS = 4
"""Every subset of up to so many releases is tried as official; of more, each alone and all."""
_MAX_RELEASES_ALONE = 32
"""If there are more releases, only the earliest are tried alone: each try costs a decision."""
_MAX_RECORDS_ALONE = 4
_TRIED_TYPES = ("Album", "Single")
"""The primary types that can change an answer: an EP counts as a single, others as other works.

If no secondary type (Compilation, Live ...) is given, the record has none.
"""
_MAX_READINGS = 32
"""If there are more combinations of contradictory descriptions, none is tried."""


UnknownStatuses: TypeAlias = dict[ReleaseId, tuple[Candidate, Release]]


def releases_of_unknown_status(candidates: Sequence[Candidate]) -> UnknownStatuses:
    """Return the releases of unknown status by id, earliest first."""
    pairs = [
        (candidate, release)
        for candidate in candidates
        for release in candidate.unofficial
        if release.status not in STATUSES and release.may_be_official
    ]
    pairs.sort(key=lambda pair: (pair[1].when.last, pair[1].when.first, pair[1].mb_release_id))
    return {release.mb_release_id: (candidate, release) for candidate, release in pairs}


def statuses_that_matter(
    crg: str, unknown: UnknownStatuses, until: int, bundle: EvidenceBundle, settle: Settle
) -> tuple[DraftQuestion, ...]:
    """Return questions about the statuses on which the choice of the group `crg` depends.

    A release after the day `until` cannot change it, unless its group has an earlier date.
    """
    relevant = [
        release_id
        for release_id, (candidate, release) in unknown.items()
        if _is_relevant(candidate, release, until)
    ]

    def changes_decision(ids: Sequence[ReleaseId]) -> bool:
        tried = with_groups(bundle, _with_status("Official", ids))
        return settle(tried) != crg

    first = next((ids for ids in _subsets(relevant) if changes_decision(ids)), None)
    if first is None:
        return ()
    alone = [mbid for mbid in relevant[:_MAX_RELEASES_ALONE] if changes_decision((mbid,))]
    return status_questions(unknown, alone or first)


def status_questions(
    unknown: UnknownStatuses, ids: Sequence[ReleaseId]
) -> tuple[DraftQuestion, ...]:
    """Return questions about the statuses of releases, one for each record and date."""
    alternatives = (("official", ("Official",)), ("not official", ("Bootleg", "Promotion")))
    answers = alternatives if len(unknown) <= _MAX_RELEASES_ALONE else ()
    questions: dict[str, list[tuple[Candidate, Release]]] = {}
    for candidate, release in map(unknown.__getitem__, ids):
        when = release.when.text or "undated"
        text = f"is the {when} release of '{candidate.title}' official?"
        questions.setdefault(text, []).append((candidate, release))
    return tuple(
        DraftQuestion(
            "status",
            text,
            tuple(release.mb_release_id for _, release in same),
            [
                (answer, [_status_change(status, same) for status in statuses])
                for answer, statuses in answers
            ],
        )
        for text, same in [*questions.items()][:MAX_QUESTIONS]
    )


def _status_change(status: str, pairs: Sequence[tuple[Candidate, Release]]) -> BundleChange:
    change = _with_status(status, [release.mb_release_id for _, release in pairs])
    return in_groups(change, [candidate.id for candidate, _ in pairs])


def _with_status(status: str, releases: Sequence[ReleaseId]) -> GroupChange:
    ids = frozenset(releases)
    return set_releases(
        lambda copy: copy.mb_release_id in ids and copy.may_be_official, status=status
    )


def _is_relevant(candidate: Candidate, release: Release, until: int) -> bool:
    """Return whether a release, if it is official, could give its record a date until a day.

    An undated release, or one later than the record's date, could not. It counts only if it has
    another credit, because it may then change whose record it is.
    """
    group_date = candidate.group.first_date
    if release.when.first > until and not (group_date.is_known and group_date.first <= until):
        return False
    if not candidate.is_dated:
        return True
    if release.artist_credit not in (None, candidate.group.artist_credit):
        return True
    return release.when.is_known and release.when.first <= candidate.last


def _subsets(ids: Sequence[ReleaseId]) -> Iterator[tuple[ReleaseId, ...]]:
    if len(ids) > _MAX_SUBSETS:
        yield from ((release_id,) for release_id in ids[:_MAX_RELEASES_ALONE])
        yield tuple(ids)
        return
    for size in range(1, len(ids) + 1):
        yield from combinations(ids, size)


def records_of_unknown_type(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the records without a type, or with one that MusicBrainz does not have."""
    return [record for record in candidates if record.counts and record.group.types == (None, ())]


def types_that_matter(
    crg: str, untyped: Sequence[Candidate], until: int, bundle: EvidenceBundle, settle: Settle
) -> tuple[DraftQuestion, ...]:
    """Return questions about the types on which the choice of the group `crg` depends.

    A record after the day `until` cannot change it, unless its group has an earlier date.
    """
    days = [min(record.first, (record.own_date or record.since).first) for record in untyped]
    early = [record for record, day in zip(untyped, days, strict=True) if day <= until]
    together = [early] if len(early) > 1 else []
    for few in (*([candidate] for candidate in early[:_MAX_RECORDS_ALONE]), *together):
        ids = frozenset(candidate.id for candidate in few)
        for primary in _TRIED_TYPES:
            tried = with_groups(bundle, set_fields(primary_type=primary), ids)
            if settle(tried) != crg:
                return tuple(map(_type_question, few[:_MAX_RECORDS_ALONE]))
    return ()


def _type_question(candidate: Candidate) -> DraftQuestion:
    group = (candidate.id,)
    answers = (("an album", "Album"), ("a single or an EP", "Single"))
    return DraftQuestion(
        "type",
        f"what is {candidate.dated_name}, which has no known type: an album, a single or an EP?",
        group,
        [(answer, [in_groups(set_fields(primary_type=kind), group)]) for answer, kind in answers],
    )


class Contradiction(msgspec.Struct, frozen=True, eq=False):
    """A record or release that the evidence describes in several ways."""

    question: str
    groups: Sequence[str]
    readings: Sequence[GroupChange]
    """For each description, the change of the groups if it is right."""
    names: Sequence[str]
    """For each description, the answer that it is right."""
    releases: Sequence[str] = ()

    @property
    def draft(self) -> DraftQuestion:
        """The question, with an answer for each description; equal answers are one."""
        answers: dict[str, list[BundleChange]] = {}
        for name, reading in zip(self.names, self.readings, strict=True):
            answers.setdefault(name, []).append(in_groups(reading, self.groups))
        about = (*self.groups, *self.releases)
        return DraftQuestion("contradiction", self.question, about, [*answers.items()])


def find_contradictions(
    recordings: Sequence[RecordingCandidate], candidates: Sequence[Candidate]
) -> Sequence[Contradiction]:
    """Return the records and releases that the evidence describes in several ways."""
    copies: dict[str, list[ReleaseGroup]] = {}
    for recording in recordings:
        for group in recording.groups:
            copies.setdefault(group.mb_rg_id, []).append(group)
    contradictions: list[Contradiction] = []
    for candidate in candidates:
        descriptions = copies.get(candidate.id, ())
        if len(descriptions) > 1:
            contradictions += _about_group(candidate, descriptions)
        releases = candidate.group.editions
        if len({release.mb_release_id for release in releases}) < len(releases):
            contradictions += _about_releases(candidate)
    return [*contradictions, *_in_several_groups(candidates)]


def readings_of(
    bundle: EvidenceBundle, contradictions: Sequence[Contradiction]
) -> Iterator[tuple[tuple[int, ...], EvidenceBundle]]:
    """Yield the bundle with one description chosen for each contradiction, in every combination.

    The numbers are those of the chosen descriptions. Yield nothing if there are too many.
    """
    if prod(len(clash.readings) for clash in contradictions) > _MAX_READINGS:
        return
    for numbers in product(*(range(len(clash.readings)) for clash in contradictions)):
        tried = bundle
        for clash, number in zip(contradictions, numbers, strict=True):
            tried = with_groups(tried, clash.readings[number], clash.groups)
        yield numbers, tried


def contradictions_that_matter(
    crg: str, contradictions: Sequence[Contradiction], bundle: EvidenceBundle, settle: Settle
) -> tuple[DraftQuestion, ...]:
    """Return questions about the contradictions on which the choice of the group `crg` depends."""
    questions = tuple(clash.draft for clash in contradictions)
    chosen = {numbers: settle(tried) for numbers, tried in readings_of(bundle, contradictions)}
    if not chosen:
        return questions[:MAX_QUESTIONS]
    if set(chosen.values()) == {crg}:
        return ()
    matter = [question for place, question in enumerate(questions) if _depends_on(place, chosen)]
    return tuple(matter or questions)[:MAX_QUESTIONS]


def _depends_on(place: int, chosen: Mapping[tuple[int, ...], str | None]) -> bool:
    """Return whether the answer changes if only the description at one place changes."""
    answers: dict[tuple[int, ...], set[str | None]] = {}
    for numbers, answer in chosen.items():
        answers.setdefault((*numbers[:place], *numbers[place + 1 :]), set()).add(answer)
    return any(len(groups) > 1 for groups in answers.values())


def _about_group(candidate: Candidate, copies: Sequence[ReleaseGroup]) -> Iterator[Contradiction]:
    """Yield contradictions in type, credit and date; a missing value contradicts nothing."""
    title = candidate.title

    def clash(
        text: str, names: Sequence[str], fields: Iterable[Mapping[str, object]]
    ) -> Contradiction:
        readings = [set_fields(**values) for values in fields]
        return Contradiction(f"the evidence {text}", (candidate.id,), readings, names)

    types = sorted({copy.types for copy in copies if copy.primary_type or copy.kinds}, key=str)
    if len(types) > 1:
        nouns = [_with_article(role_and_noun(*pair)[1]) for pair in types]
        fields = ({"primary_type": primary, "secondary_types": kinds} for primary, kinds in types)
        yield clash(f"calls '{title}' both {' and '.join(nouns)}: which is it?", nouns, fields)
    names = sorted({credit for copy in copies if (credit := non_blank(copy.artist_credit))})
    if len({name.casefold() for name in names}) > 1:
        text = f"credits '{title}' both to {' and '.join(names)}: which is right?"
        yield clash(text, names, [{"artist_credit": name} for name in names])
    dates = sorted({copy.first_date for copy in copies}, key=str)
    if any(same_day(*pair) is False for pair in combinations(dates, 2)):
        days = [date.text for date in dates if date.is_known]
        text = f"dates '{title}' both {' and '.join(days)}: which is right?"
        yield clash(text, days, [{"first_release_date": day} for day in days])


def _about_releases(candidate: Candidate) -> Iterator[Contradiction]:
    described: dict[str, list[Release]] = {}
    for release in candidate.group.editions:
        described.setdefault(release.mb_release_id, []).append(release)
    for release_id, copies in sorted(described.items()):
        if len(copies) == 1:
            continue
        ordered = sorted(copies, key=str)
        days = sorted({str(copy.when) for copy in ordered if copy.when.is_known})
        statuses = sorted({copy.standing for copy in ordered if copy.standing})
        subject = f"the release {release_id} of '{candidate.title}' both"
        if any(
            same_day(*pair) is False for pair in combinations([copy.when for copy in ordered], 2)
        ):
            problem = f"dates {subject} {' and '.join(days)}"
            names = [str(copy.when) for copy in ordered]
        elif len(statuses) > 1:
            problem = f"calls {subject} {' and '.join(statuses)}"
            names = [copy.standing or "of unknown status" for copy in ordered]
        else:
            continue
        readings = [_with_description(copy) for copy in ordered]
        question = f"the evidence {problem}: which is right?"
        yield Contradiction(question, (candidate.id,), readings, names, (release_id,))


def _in_several_groups(candidates: Sequence[Candidate]) -> Iterator[Contradiction]:
    """Yield contradictions of releases with a MusicBrainz id that several groups list."""
    listed: dict[str, dict[str, str]] = {}
    for candidate in candidates:
        for release in candidate.group.editions:
            listed.setdefault(release.mb_release_id, {})[candidate.id] = candidate.name
    for release_id, names in sorted(listed.items()):
        if len(names) > 1 and MBID.fullmatch(release_id):
            both = " and ".join(sorted(names.values()))
            question = (
                f"the evidence lists the release {release_id} on both {both}: on which is it?"
            )
            groups = sorted(names)
            yield Contradiction(
                question,
                groups,
                [_only_in(group, release_id) for group in groups],
                [names[group] for group in groups],
                (release_id,),
            )


def _with_description(right: Release) -> GroupChange:
    """Return a change that replaces all descriptions of a release by one."""

    def change(group: ReleaseGroup) -> ReleaseGroup:
        editions = group.editions
        same = (right if copy.mb_release_id == right.mb_release_id else copy for copy in editions)
        return replace(group, releases=tuple(dict.fromkeys(same)) if group.releases else None)

    return change


def _only_in(home: str, release_id: str) -> GroupChange:
    """Return a change that removes a release from groups other than `home`, and empty groups."""

    def change(group: ReleaseGroup) -> ReleaseGroup | None:
        if group.mb_rg_id == home:
            return group
        releases = tuple(
            release for release in group.editions if release.mb_release_id != release_id
        )
        return replace(group, releases=releases) if releases or not group.releases else None

    return change


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"
