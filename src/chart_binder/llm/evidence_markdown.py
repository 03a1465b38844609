"""The evidence as markdown for the model; the same evidence always gives the same text."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release
from chart_binder.domain.verdict import Decided, Open, Question, QuestionKind, Verdict
from chart_binder.domain.vocabulary import RecordingId, minutes
from chart_binder.llm.prompt import RESERVED_LABELS, load_prompt
from chart_binder.react.sanitize import bounded, one_line
from chart_binder.rules.candidates import Candidate, Role, describe_unofficial
from chart_binder.rules.labels import labelled_candidates, labelled_releases

_line = partial(one_line, reserved=RESERVED_LABELS)

MAX_CHARS = 9_000
"""About 2,600 tokens, which leaves room for the prompt and five turns in 8,192 tokens."""

_MAX_NAME_CHARS = 200
_MAX_REASONS = 8
_MAX_ABOUT = 6
_MAX_RECORDINGS = 8
_FEW_LATER = 3
"""If there are more later compilations, they are summarised."""
_WINDOW_DAYS = RulesConfig().lead_window_days

_BY_RECORD = "or a missing record (its id) that the tool musicbrainz shows."
_ANSWERED_BY: Mapping[QuestionKind, str] = {
    "missing_original": f"Answered by: a premiere fact, {_BY_RECORD}",
    "tie": f"Answered by: a premiere fact, {_BY_RECORD}",
    "which_copy": "It can only be proposed.",
    "year": "Answered by: a date of this song by this artist with the name of the record (the field"
    f" first_release), {_BY_RECORD}",
}
"""What answers a question besides the fields of candidates, by the kind of the question."""

Trace = Verdict | Sequence[str] | str | None
Labelled = Sequence[tuple[str, Candidate]]


class _Contents(NamedTuple):
    """What the markdown shows: candidates, and numbers of recordings if there are several."""

    candidates: Labelled
    later: Labelled
    """The compilations that are summarised."""
    recordings: Mapping[RecordingId, str]


class _Detail(NamedTuple):
    """How many candidates are shown in full, with how many releases, and how many in one line."""

    full: int
    releases: int
    brief: int


_DETAILS = tuple(
    map(_Detail._make, ((24, 6, 60), (16, 4, 60), (12, 2, 40), (8, 2, 30), (6, 1, 20)))
)


def evidence_markdown(bundle: EvidenceBundle, trace: Trace = None, task: str | None = None) -> str:
    """Return the evidence, why it is open, and the question; much evidence is shown in less detail.

    `trace` is the verdict, or reasons in words. `task` is the question, by default the prompt's.
    """
    labelled = list(labelled_candidates(bundle))
    names = sorted({recording.mb_recording_id for recording in bundle.recording_candidates})
    recordings = {name: f"M{n}" for n, name in enumerate(names, 1)} if len(names) > 1 else {}
    asked_about = {name for question in _questions(trace) for name in question.about}
    later = _later_compilations(labelled, asked_about)
    summarised = {label for label, _ in later}
    candidates = [pair for pair in labelled if pair[0] not in summarised]
    contents = _Contents(candidates, later, recordings)
    reasons = map(_sanitized, _why_open(trace, labelled, recordings))
    task = load_prompt().task if task is None else task
    question = "\n".join([*reasons, "", "## Your Task", task]).rstrip()
    room = MAX_CHARS - len(question) - 1
    facts = ""
    for detail in _DETAILS:
        facts = "\n".join(map(_sanitized, _facts(bundle, contents, detail)))
        if len(facts) <= room:
            break
    return f"{bounded(facts, room)}\n{question}"


def _sanitized(line: str) -> str:
    """Return a line in which no name can imitate a step."""
    text = line.lstrip(" ")
    return " " * (len(line) - len(text)) + _line(text)


def _later_compilations(labelled: Labelled, asked_about: set[str]) -> Labelled:
    """Return the compilations long after the first other record, if many and not asked about."""
    records = [
        candidate
        for _, candidate in labelled
        if candidate.role is not Role.COMPILATION and candidate.counts
    ]
    since = min((candidate.last for candidate in records if candidate.is_dated), default=None)
    if since is None:
        return []
    later = [
        (label, candidate)
        for label, candidate in labelled
        if candidate.role is Role.COMPILATION
        and candidate.counts
        and candidate.first > since + _WINDOW_DAYS
        and candidate.group.mb_rg_id not in asked_about
        and asked_about.isdisjoint(release.mb_release_id for release in candidate.group.editions)
    ]
    return later if len(later) > _FEW_LATER else []


def _facts(bundle: EvidenceBundle, contents: _Contents, detail: _Detail) -> Iterator[str]:
    yield from ("# Recording Evidence", "")
    yield f"## Artist: {_name(bundle.performer.name or 'unknown')}"
    yield f"Country of origin: {bundle.performer.country or 'unknown'}"
    yield ""
    yield f"## Recording Title: {_name(bundle.recording_title or 'unknown')}"
    by_id = sorted(bundle.recording_candidates, key=lambda r: r.mb_recording_id)
    for recording in by_id[:_MAX_RECORDINGS]:
        number = contents.recordings.get(recording.mb_recording_id)
        yield f"- {f'{number}: ' if number else ''}{', '.join(_recording(recording))}"
    if (hidden_count := len(by_id) - _MAX_RECORDINGS) > 0:
        yield f"- and {hidden_count} more recordings of the same song"
    yield from ("", "## Release Group Candidates")
    yield from _candidates(contents, bundle.performer.country, detail)
    yield from ("", "## Timeline")
    yield from _timeline(contents, detail)
    yield ""


def _why_open(
    trace: Trace, labelled: Labelled, recordings: Mapping[RecordingId, str]
) -> Iterator[str]:
    reasons, questions = list(_reasons(trace)), _questions(trace)
    yield "## Why this is open"
    yield from (f"- {_line(reason, 400)}" for reason in reasons[:_MAX_REASONS])
    labels = {str(name): number for name, number in recordings.items()}
    for label, candidate in labelled if questions else ():
        labels.setdefault(candidate.group.mb_rg_id, label)
        for release_label, release in labelled_releases(label, candidate):
            labels.setdefault(release.mb_release_id, release_label)
    for number, question in enumerate(questions[:_MAX_REASONS], 1):
        about = _first_names(filter(None, map(labels.get, question.about)), _MAX_ABOUT)
        kind = question.kind.replace("_", " ")
        head = f"Q{number} ({kind}{f', about {about}' if about else ''})"
        yield f"- {head}: {_line(question.text, 400)}"
        answers = [
            f"{labels.get(answer.crg or '', 'still open')} if {_line(answer.answer, 120)}"
            for answer in question.possibilities
        ]
        if answers:
            yield f"  Leads to: {_line('; '.join(answers), 400)}"
        if question.kind in _ANSWERED_BY:
            yield f"  {_ANSWERED_BY[question.kind]}"
    if (hidden_count := max(len(reasons), len(questions)) - _MAX_REASONS) > 0:
        yield f"- and {hidden_count} more questions"


def _first_names(names: Iterable[str], limit: int) -> str:
    """Return at most `limit` names, and how many more there are."""
    all_names = list(names)
    hidden = f" and {len(all_names) - limit} more" if len(all_names) > limit else ""
    return f"{' '.join(all_names[:limit])}{hidden}"


def _recording(recording: RecordingCandidate) -> Iterator[str]:
    yield f'recording {_name(recording.mb_recording_id)} "{_name(recording.title or "")}"'
    if recording.disambiguation:
        yield f"({_name(recording.disambiguation)})"
    if recording.artist:
        yield f"by {_name(recording.artist.name or recording.artist.mb_artist_id or '')}"
    if recording.length_ms:
        yield minutes(recording.length_ms)
    if recording.isrcs:
        hidden_count = len(recording.isrcs) - 4
        isrc_text = " ".join(map(_name, recording.isrcs[:4]))
        yield f"ISRC {isrc_text}" + (f" and {hidden_count} more" if hidden_count > 0 else "")
    if recording.first_date.is_known:
        yield f"first release date by MusicBrainz {recording.first_date} (a hint only)"
    if recording.is_sibling:
        why = f" ({_line(recording.because)})" if recording.because else ""
        yield f"a sibling: another recording of the same performance{why}"


def _candidates(contents: _Contents, home: str | None, detail: _Detail) -> Iterator[str]:
    by_weight = sorted(contents.candidates, key=lambda pair: pair[1].role is Role.COMPILATION)
    full = {label for label, _ in by_weight[: detail.full]}
    brief = {label for label, _ in by_weight[detail.full : detail.full + detail.brief]}
    for label, candidate in contents.candidates:
        if label not in full and label not in brief:
            continue
        head = f"{label.removeprefix('C')}. {label} {_title(candidate)}"
        carried = _carried(candidate, contents.recordings)
        if label in full:
            yield head
            yield f"   - this recording appeared on it: {_appearance(candidate)}"
            yield from (f"   - {line}" for line in carried)
            yield from _ids_and_releases(label, candidate, home, detail.releases)
        else:
            yield ", ".join((head, _appearance(candidate), *carried))
    hidden = [candidate for _, candidate in by_weight[detail.full + detail.brief :]]
    if hidden:
        counts = sorted(Counter(candidate.kind for candidate in hidden).items())
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts)
        span = _years(candidate.since for candidate in hidden if candidate.is_dated) or "undated"
        yield f"And {len(hidden)} more candidates: {kinds}, {span}."
    if later := contents.later:
        first, last = later[0][0], later[-1][0]
        is_run = int(last[1:]) - int(first[1:]) == len(later) - 1
        exception = "" if is_run else ", without those listed"
        yield (
            f"And {len(later)} later compilations ({first} to {last}{exception}),"
            f" {_years(candidate.since for _, candidate in later)}: each came"
            f" out more than {_WINDOW_DAYS} days after the earliest other record."
        )


def _carried(candidate: Candidate, numbers: Mapping[RecordingId, str]) -> Sequence[str]:
    if not numbers:
        return ()
    carried = {numbers[recording.mb_recording_id] for recording in candidate.recordings}
    ordered = sorted(carried, key=lambda number: (len(number), number))
    return (f"carries {_first_names(ordered, _MAX_RECORDINGS)}",)


def _years(dates: Iterable[PartialDate]) -> str:
    years = sorted(date.text[:4] for date in dates)
    return f"{years[0]} to {years[-1]}" if years else ""


def _ids_and_releases(
    label: str, candidate: Candidate, home: str | None, max_releases: int
) -> Iterator[str]:
    yield f"   - id: {_name(candidate.group.mb_rg_id)}"
    releases = list(labelled_releases(label, candidate))
    if releases:
        yield f"   - its releases with this recording: {len(releases)}"
    listed_releases = releases[:max_releases]
    if home and all(release.place != home for _, release in listed_releases):
        listed_releases += [pair for pair in releases if pair[1].place == home][:1]
    for release_label, release in listed_releases:
        yield f"     - {release_label}: {', '.join(_release(release))}"
    hidden = [release for pair in releases if pair not in listed_releases for release in pair[1:]]
    if hidden:
        yield f"     - and {len(hidden)} more: {_summary(hidden)}"


def _title(candidate: Candidate) -> str:
    group = candidate.group
    primary, secondary = group.types
    kinds = " + ".join(filter(None, (primary, *secondary))) or "type unknown"
    credit = f", by {_name(group.artist_credit)}" if group.artist_credit else ""
    return f'"{_name(candidate.title)}" ({_name(kinds)}{credit})'


def _appearance(candidate: Candidate) -> str:
    if not candidate.counts:
        return "only on releases that are not official"
    if candidate.is_weak:
        return f"{candidate.when} (the group's own date: no release is listed)"
    if not candidate.is_dated:
        return "date unknown"
    exact = candidate.first == candidate.last
    return candidate.when if exact else f"{candidate.when} (the day is not known)"


def _release(release: Release) -> Iterator[str]:
    yield str(release.when)
    yield release.place or "country unknown"
    yield release.standing or "status unknown"
    imprint = " ".join(filter(None, (release.label, release.catno)))
    for part in (imprint, release.format, release.disambiguation):
        if part:
            yield _line(part, 80)
    yield f"id {_name(release.mb_release_id)}"


def _summary(releases: Sequence[Release]) -> str:
    statuses = Counter(release.standing or "status unknown" for release in releases)
    countries = sorted({release.place for release in releases if release.place})
    parts = (
        ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())),
        _years(release.when for release in releases if release.when.is_known),
        " ".join(countries[:20]),
    )
    return "; ".join(filter(None, parts))


def _timeline(contents: _Contents, detail: _Detail) -> Iterator[str]:
    """Yield the dates in order; an earlier unofficial release of a record has a line of its own."""
    dated, undated = [], []
    for label, candidate in contents.candidates:
        releases = [*labelled_releases(label, candidate)][len(candidate.official) :]
        early = [pair for pair in releases if pair[1].when.last < candidate.last]
        for release_label, release in early[:1]:
            when, description = release.when, describe_unofficial(release)
            aside = "" if release.may_be_official else " (not official)"
            text = f"{when}: {release_label}, {description} of the {candidate.kind}{aside}"
            dated.append((when.first, when.last, text))
        if candidate.is_dated:
            text = f"{candidate.when}: {label} {candidate.kind}"
            dated.append((candidate.first, candidate.last, text))
        elif not early:
            undated.append(label)
    dated.sort(key=lambda entry: entry[:2])
    entries = dated[: detail.full]
    yield from (f"- {text}" for *_, text in entries)
    if len(dated) > len(entries):
        yield f"- and {len(dated) - len(entries)} later ones"
    if contents.later:
        years = _years(candidate.since for _, candidate in contents.later)
        yield f"- {years}: {len(contents.later)} later compilations"
    if undated:
        yield f"- date unknown: {' '.join(undated[: detail.brief])}"


def _reasons(trace: Trace) -> Iterator[str]:
    match trace:
        case None:
            yield "The rules that decide most recordings left this one open."
        case str():
            yield trace
        case Decided():
            yield f"The rules say {trace.crg_rule}, yet a closer look is asked for: {trace.because}"
        case Open():
            yield trace.because
        case _:
            yield from trace


def _questions(trace: Trace) -> Sequence[Question]:
    return trace.questions if isinstance(trace, Open) else ()


def _name(text: str) -> str:
    return _line(text, _MAX_NAME_CHARS)
