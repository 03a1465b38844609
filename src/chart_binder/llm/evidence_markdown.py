"""The evidence as markdown for the model: the same text for the same evidence."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate, Release
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.llm.answer import labelled_candidates, labelled_releases
from chart_binder.llm.prompt import load_prompt
from chart_binder.react.sanitize import bounded, one_line
from chart_binder.rules.candidates import Candidate, Role

MAX_CHARS = 9_000
"""About 2,600 tokens, which leaves room for the prompt and five turns in 8,192."""

_MAX_NAME_CHARS = 200
_MAX_REASONS = 8

Trace = Verdict | Sequence[str] | str | None
Labelled = Sequence[tuple[str, Candidate]]


@dataclass(frozen=True, slots=True)
class _Detail:
    """A level of detail: candidates in full, releases of each, candidates in one line."""

    full: int
    releases: int
    brief: int


_DETAILS = tuple(
    _Detail(*row) for row in ((24, 6, 60), (16, 4, 60), (12, 2, 40), (8, 2, 30), (6, 1, 20))
)


def evidence_markdown(bundle: EvidenceBundle, trace: Trace = None, task: str | None = None) -> str:
    """Return the evidence with its open question, in less detail the more there is of it.

    What is left out is summarised. `task` is the question at the end, by default the prompt's.
    """
    candidates = list(labelled_candidates(bundle))
    asked = load_prompt().task if task is None else task
    question = "\n".join([*map(_sanitized, _question(trace)), "", "## Your Task", asked]).rstrip()
    room = MAX_CHARS - len(question) - 1
    facts = ""
    for detail in _DETAILS:
        facts = "\n".join(map(_sanitized, _facts(bundle, candidates, detail)))
        if len(facts) <= room:
            break
    return f"{bounded(facts, room)}\n{question}"


def _sanitized(line: str) -> str:
    """Return a line with its names sanitized, so that none can imitate a step."""
    text = line.lstrip(" ")
    return " " * (len(line) - len(text)) + one_line(text)


def _facts(bundle: EvidenceBundle, candidates: Labelled, detail: _Detail) -> Iterator[str]:
    yield "# Recording Evidence"
    yield ""
    yield f"## Artist: {_name(bundle.performer.name or 'unknown')}"
    yield f"Country of origin: {bundle.performer.country or 'unknown'}"
    yield ""
    yield f"## Recording Title: {_name(bundle.recording_title or 'unknown')}"
    for recording in sorted(bundle.recording_candidates, key=lambda r: r.mb_recording_id)[:8]:
        yield f"- {', '.join(_recording(recording))}"
    if (more := len(bundle.recording_candidates) - 8) > 0:
        yield f"- and {more} more recordings of the same song"
    yield ""
    yield "## Release Group Candidates"
    yield from _candidates(candidates, bundle.performer.country, detail)
    yield ""
    yield "## Timeline"
    yield from _timeline(candidates, detail)
    yield ""


def _question(trace: Trace) -> Iterator[str]:
    reasons = list(_reasons(trace))
    yield "## Why this is open"
    yield from (f"- {one_line(reason, 400)}" for reason in reasons[:_MAX_REASONS])
    if (more := len(reasons) - _MAX_REASONS) > 0:
        yield f"- and {more} more questions"


def _recording(recording: RecordingCandidate) -> Iterator[str]:
    yield f'recording {_name(recording.mb_recording_id)} "{_name(recording.title or "")}"'
    if recording.disambiguation:
        yield f"({_name(recording.disambiguation)})"
    if recording.length_ms:
        minutes, seconds = divmod(round(recording.length_ms / 1000), 60)
        yield f"{minutes}:{seconds:02}"
    if recording.isrcs:
        more = len(recording.isrcs) - 4
        shown = " ".join(map(_name, recording.isrcs[:4]))
        yield f"ISRC {shown}" + (f" and {more} more" if more > 0 else "")
    if recording.first_date.is_known:
        yield f"first release date by MusicBrainz {recording.first_date} (a hint only)"


def _candidates(candidates: Labelled, home: str | None, detail: _Detail) -> Iterator[str]:
    by_weight = sorted(candidates, key=lambda pair: pair[1].role is Role.COMPILATION)
    full = {label for label, _ in by_weight[: detail.full]}
    brief = {label for label, _ in by_weight[detail.full : detail.full + detail.brief]}
    for number, (label, candidate) in enumerate(candidates, start=1):
        if label in full:
            yield from _in_full(number, label, candidate, home, detail.releases)
        elif label in brief:
            yield f"{number}. {label} {_title(candidate)}, {_appearance(candidate)}"
    rest = [candidate for _, candidate in by_weight[detail.full + detail.brief :]]
    if rest:
        counts = sorted(Counter(candidate.kind for candidate in rest).items())
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts)
        years = sorted(candidate.since.text[:4] for candidate in rest if candidate.is_dated)
        span = f"{years[0]} to {years[-1]}" if years else "undated"
        yield f"And {len(rest)} more candidates: {kinds}, {span}."


def _in_full(
    number: int, label: str, candidate: Candidate, home: str | None, most: int
) -> Iterator[str]:
    yield f"{number}. {label} {_title(candidate)}"
    yield f"   - this recording appeared on it: {_appearance(candidate)}"
    yield f"   - id: {_name(candidate.group.mb_rg_id)}"
    releases = list(labelled_releases(label, candidate))
    if releases:
        yield f"   - its releases with this recording: {len(releases)}"
    shown = releases[:most]
    if home and all(release.place != home for _, release in shown):
        shown += [pair for pair in releases if pair[1].place == home][:1]
    for release_label, release in shown:
        yield f"     - {release_label}: {', '.join(_release(release))}"
    rest = [release for pair in releases if pair not in shown for release in pair[1:]]
    if rest:
        yield f"     - and {len(rest)} more: {_summary(rest)}"


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
            yield one_line(part, 80)
    yield f"id {_name(release.mb_release_id)}"


def _summary(releases: Sequence[Release]) -> str:
    statuses = Counter(release.standing or "status unknown" for release in releases)
    countries = sorted({release.place for release in releases if release.place})
    years = sorted({release.when.text[:4] for release in releases if release.when.is_known})
    parts = (
        ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())),
        f"{years[0]} to {years[-1]}" if years else "",
        " ".join(countries[:20]),
    )
    return "; ".join(filter(None, parts))


def _timeline(candidates: Labelled, detail: _Detail) -> Iterator[str]:
    dated = [(label, candidate) for label, candidate in candidates if candidate.is_dated]
    shown = dated[: detail.full]
    for label, candidate in shown:
        aside = "" if candidate.counts else " (not official)"
        yield f"- {candidate.when}: {label} {candidate.kind}{aside}"
    if len(dated) > len(shown):
        yield f"- and {len(dated) - len(shown)} later ones"
    undated = [label for label, candidate in candidates if not candidate.is_dated]
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
        case Sequence():
            yield from trace
        case _:
            yield trace.because
            yield from trace.missing_facts


def _name(text: str) -> str:
    return one_line(text, _MAX_NAME_CHARS)
