"""A decision as lines for a person."""

import textwrap
from collections.abc import Iterator

from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.jobs.decide import Case
from chart_binder.jobs.decision import Decision, State
from chart_binder.llm.result import AdjudicationResult, counted

SITE = "https://musicbrainz.org"
_HEADLINES = {
    State.DECIDED: "belongs to",
    State.REVIEW: "for review",
    State.INDETERMINATE: "left open",
    State.ERROR: "failed",
}
_INDENT = 2
_LABEL = 12
_WIDTH = 100


def decision_lines(path: str, case: Case) -> Iterator[str]:
    """Yield a decision as a short block: what, where, by which rule, why."""
    decision = case.decision
    yield path
    if case.bundle:
        yield f"{'':{_INDENT}}{case.bundle.name}"
    if decision.state is State.ERROR:
        yield from row("failed", decision.error or "no reason was given")
    elif decision.crg_mbid:
        yield from _answer(case, decision, decision.crg_mbid)
    else:
        yield from row("left open", f"{decision.crg_rule}")
    if decision.rationale:
        yield from row("because", decision.rationale)
    for number, fact in enumerate(decision.missing_facts):
        yield from row("" if number else "missing", fact)
    if decision.adjudication:
        yield from _adjudication(decision.adjudication, decision.state)


def _answer(case: Case, decision: Decision, crg: str) -> Iterator[str]:
    group, release = _found(case.bundle, crg, decision.rr_mbid)
    named = _group(group) if group else "a release group the evidence lacks"
    yield from row(_HEADLINES[decision.state], f"{named}  [{decision.crg_rule}]")
    yield from row("", f"{SITE}/release-group/{crg}")
    if decision.rr_mbid:
        shown = _release(release) if release else "a release the evidence lacks"
        yield from row("release", f"{shown}  [{decision.rr_rule}]")
        yield from row("", f"{SITE}/release/{decision.rr_mbid}")
    else:
        yield from row("release", f"none can be named  [{decision.rr_rule}]")


def _found(
    bundle: EvidenceBundle | None, crg: str, rr: str | None
) -> tuple[ReleaseGroup | None, Release | None]:
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


def _group(group: ReleaseGroup) -> str:
    primary, secondary = group.types
    kinds = " + ".join(filter(None, (primary, *secondary)))
    return f"{group.title or group.mb_rg_id} ({kinds or 'type unknown'})"


def _release(release: Release) -> str:
    parts = (
        str(release.when), release.place, release.label, release.catno, release.format,
        release.disambiguation and f"({release.disambiguation})",
    )  # fmt: skip
    return " ".join(filter(None, parts))


def _adjudication(result: AdjudicationResult, state: State) -> Iterator[str]:
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
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
