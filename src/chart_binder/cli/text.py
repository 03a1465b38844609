"""A decision as lines for a person."""

from collections.abc import Iterator

from chart_binder.cli.columns import terminal_width, wrapped
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.ids import MBID
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Decision, State
from chart_binder.llm.result import AdjudicationResult, counted

SITE = "https://musicbrainz.org"
_HEADLINES = {
    State.DECIDED: "belongs to",
    State.REVIEW: "for review",
    State.INDETERMINATE: "left open",
    State.ERROR: "decided",
}
_INDENT = 2
_LABEL = 12


def decision_lines(path: str, case: Case) -> Iterator[str]:
    """Yield a decision as a short block: what, where, by which rule, why."""
    decision = case.decision
    yield path
    if case.bundle:
        yield from wrapped(case.bundle.name, terminal_width(), " " * _INDENT, _INDENT)
    if decision.state is State.ERROR:
        yield from row("failed", decision.error or "no reason was given")
    if decision.crg_mbid:  # beside an error: what was decided and could not be kept
        yield from _answer(case, decision, decision.crg_mbid)
    elif decision.state is not State.ERROR:
        yield from row("left open", f"{decision.crg_rule}")
    if decision.rationale:
        yield from row("because", decision.rationale)
    for number, fact in enumerate(decision.missing_facts):
        yield from row("" if number else "missing", fact)
    if decision.adjudication:
        yield from adjudication_lines(decision.adjudication, decision.state)


def _answer(case: Case, decision: Decision, crg: str) -> Iterator[str]:
    group, release = found(case.bundle, crg, decision.rr_mbid)
    named = group_name(group) if group else "a release group the evidence lacks"
    yield from row(_HEADLINES[decision.state], f"{named}  [{decision.crg_rule}]")
    yield from row("", page("release-group", crg))
    if decision.rr_mbid:
        shown = release_name(release) if release else "none that the evidence has of that group"
        yield from row("release", f"{shown}  [{decision.rr_rule}]")
        yield from row("", page("release", decision.rr_mbid))
    else:
        yield from row("release", f"none can be named  [{decision.rr_rule}]")


def page(entity: str, known_as: str) -> str:
    """Return the address of a MusicBrainz page; what is no UUID has none, and is shown itself."""
    if not MBID.fullmatch(known_as):
        return known_as  # a bundle's producer may have ids of its own
    return f"{SITE}/{entity}/{known_as}"


def found(
    bundle: EvidenceBundle | None, crg: str | None, rr: str | None
) -> tuple[ReleaseGroup | None, Release | None]:
    """Return what two ids stand for in the evidence, where it has them."""
    groups = [
        group
        for recording in (bundle.recording_candidates if bundle else ())
        for group in recording.groups
        if group.mb_rg_id == crg
    ]
    releases = (edition for group in groups for edition in group.editions)
    return (
        next(iter(groups), None),
        next((edition for edition in releases if edition.mb_release_id == rr), None),
    )


def group_name(group: ReleaseGroup) -> str:
    """Return a release group's title with its type."""
    primary, secondary = group.types
    kinds = " + ".join(filter(None, (primary, *secondary)))
    return f"{group.title or group.mb_rg_id} ({kinds or 'type unknown'})"


def release_name(release: Release) -> str:
    """Return what tells a release from another: date, place, label, format."""
    parts = (
        str(release.when), release.place, release.label, release.catno, release.format,
        release.disambiguation and f"({release.disambiguation})",
    )  # fmt: skip
    return " ".join(filter(None, parts))


def adjudication_lines(result: AdjudicationResult, state: State) -> Iterator[str]:
    """Yield which model answered and how sure, what the checks found, where the run is recorded."""
    turns = counted(result.iterations, "turn")
    yield from row("model", f"{result.model_id}, {turns}, confidence {result.confidence:.2f}")
    if result.problem and state is not State.ERROR:
        yield from row("", result.problem)
    for check in result.checks:
        yield from row("", f"{'ok' if check.passed else 'NOT OK'}: {check.detail}")
    if isinstance(result.transcript, str):
        yield from row("transcript", result.transcript)


def row(label: str, text: str) -> Iterator[str]:
    """Yield a label and its text, the text wrapped below itself."""
    head = f"{'':{_INDENT}}{label:<{_LABEL}} "
    yield from wrapped(text, terminal_width(), head, len(head))
