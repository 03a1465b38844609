"""Cases of the review queue as lines for a person, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from chart_binder.cli.output import page, readable, row
from chart_binder.cli.render.decision import outcome_lines
from chart_binder.cli.terminal import columns, fitted, terminal_width, wrapped
from chart_binder.domain.records import KeptVerdict
from chart_binder.domain.verdict import Decided, Verdict
from chart_binder.jobs.decide import State, advice_for
from chart_binder.jobs.overrides import VerdictResult
from chart_binder.jobs.review import CandidateRow, ReviewCase
from chart_binder.llm.result import counted

_GAP = 2
_HEAD = ("", "", "appeared", "country", "releases", "type", "title")
_MOST_PLACES = 4
_LEAST_TITLE = 8
_FEW = 3
_OUTCOME = 15
"""Columns of the labels of `outcome_lines`."""
_LAPSED = "the ruling that decided it is no more: canon decide, or canon batch, decides it again"
_STATES = {State.REVIEW: "for review", State.INDETERMINATE: "left open"}


def queued_lines(case: ReviewCase) -> Iterator[str]:
    """Yield a case as a short block of the list."""
    yield from _heading(case)
    yield from row(_state(case), _came_to(case))
    yield from _damage(case)
    if case.decision.state is State.DECIDED:  # else nobody would have to look at it
        yield from row("to do", _LAPSED)
    problem = case.result.problem if case.result else None
    if problem:
        yield from row("", problem)
    for number, fact in enumerate(case.decision.missing_facts):
        yield from row("" if number else "missing", fact)
    yield from row("decision", case.kept.id)


def queued_object(case: ReviewCase) -> dict[str, Any]:
    """Return the same as plain values."""
    decision = case.decision
    return {
        "decision_id": case.kept.id,
        "files": case.files,
        "is_there": not case.is_gone,
        "damage": case.damage,
        "state": decision.state,
        "name": case.bundle.name if case.bundle else None,
        "evidence_hash": case.kept.evidence_hash,
        "decided_at_utc": case.kept.decided_at_utc,
        "proposal": case.proposal,
        "rationale": decision.rationale,
        "problem": case.result.problem if case.result else None,
        "missing_facts": decision.missing_facts,
    }


def case_lines(
    case: ReviewCase,
    rules: Verdict | None,
    verdict: KeptVerdict | None = None,
    *,
    waits: bool = True,
    lapsed: bool = False,
    whole: bool = False,
) -> Iterator[str]:
    """Yield everything that a person needs to rule on a case; `whole`: every release, too.

    `lapsed`: a person's ruling decided it, and is no more.
    """
    yield from _heading(case)
    if case.decision.state is State.ERROR:
        yield from _failed(case)
    else:
        yield from row(_state(case), _came_to(case))
    yield from row("decision", f"{case.kept.id}, {case.kept.decided_at_utc}")
    yield from _damage(case)
    if lapsed:
        yield from row("to do", _LAPSED)
    elif not waits and case.decision.state is not State.ERROR:
        yield from row("settled", _settled(verdict))
    yield from _question(rules)
    if case.rows:
        yield ""
        yield from _table(case.rows)
    for one in case.rows:
        yield from _records(one, None if whole else _FEW)
    yield from _proposal(case)


def case_object(case: ReviewCase, rules: Verdict | None) -> dict[str, Any]:
    """Return the same as plain values."""
    asked = {"because": rules.because, "missing_facts": rules.missing_facts} if rules else None
    return queued_object(case) | {
        "question": asked,
        "decided_by_rules_now": rules.crg if isinstance(rules, Decided) else None,
        "candidates": case.rows,
        "adjudication": msgspec.to_builtins(case.result),
        "error": case.decision.error,
        "transcript_id": case.kept.transcript_id,
    }


def ruled_lines(case: ReviewCase, done: str, ruled: VerdictResult) -> Iterator[str]:
    """Yield what a ruling came to."""
    files = f", with {counted(ruled.files - 1, 'more file')}" if ruled.files > 1 else ""
    yield f"{readable(str(case.path))}: {done}{files}"
    override = ruled.saved.override
    if override:
        known = {known: label for label, known in case.labels.ids.items()}
        label = known.get(override.crg_mbid)
        title = case.labels.titles.get(override.crg_mbid)
        named = f"{label} '{title}'" if label else "a release group the evidence lacks"
        yield from row("belongs to", named)
        yield from row("", page("release-group", override.crg_mbid))
        if override.rr_mbid:
            yield from row("release", page("release", override.rr_mbid))
        yield from row("recording", page("recording", override.recording_mbid))
        yield from row("because", override.reason)
    for note in ruled.notes:
        yield from row("note", note)


def ruled_object(case: ReviewCase, done: str, ruled: VerdictResult) -> dict[str, Any]:
    """Return the same as plain values."""
    return {
        "decision_id": case.kept.id,
        "done": done,
        "files": ruled.files,
        "override": ruled.saved.override,
        "in_place_of": ruled.saved.before,
        "notes": ruled.notes,
    }


def _heading(case: ReviewCase) -> Iterator[str]:
    more = f" (and {counted(case.files - 1, 'more file')})" if case.files > 1 else ""
    gone = " (not there any more)" if case.is_gone else ""
    yield f"{readable(str(case.path))}{gone}{more}"
    if case.bundle:
        yield from wrapped(case.bundle.name, terminal_width(), "  ", 2)


def _failed(case: ReviewCase) -> Iterator[str]:
    yield from row("failed", case.decision.error or "no reason was given")
    yield from row("to do", advice_for(case.decision.cause))


def _damage(case: ReviewCase) -> Iterator[str]:
    if case.damage:
        yield from row("damaged", f"{case.damage}; decide it again: canon decide")


def _state(case: ReviewCase) -> str:
    return _STATES.get(case.decision.state, case.decision.state.value)


def _proposed(case: ReviewCase) -> str:
    proposal = case.proposal
    if proposal is None:
        return "nothing is proposed" if case.result else "no model was asked"
    title = case.labels.titles.get(proposal.crg_mbid)
    named = f"{proposal.label} '{title}'" if title else "a release group the evidence lacks"
    return f"{named} is proposed, confidence {proposal.confidence:.2f}"


def _came_to(case: ReviewCase) -> str:
    """Return what was decided, or what is proposed where nothing was."""
    decision = case.decision
    if decision.state is not State.DECIDED or decision.adjudication or not decision.crg_mbid:
        return _proposed(case)
    group = case.labels.id_of(decision.crg_mbid) or decision.crg_mbid
    return f"{case.labels.name_of(group)}, by {decision.decided_by}"


def _settled(verdict: KeptVerdict | None) -> str:
    if verdict is None:
        return "nobody has to look at it"
    why = f": {verdict.reason}" if verdict.reason else ""
    return f"a person said {verdict.verdict}{why} ({verdict.at_utc})"


def _question(rules: Verdict | None) -> Iterator[str]:
    if rules is None:
        return
    if isinstance(rules, Decided):
        yield from row("rules now", f"{rules.because}  [{rules.crg_rule}]: decide it again")
        return
    yield from row("open", rules.because)
    for number, fact in enumerate(rules.missing_facts):
        yield from row("" if number else "missing", fact)


def _table(rows: Sequence[CandidateRow]) -> Iterator[str]:
    """Yield the candidates below each other in columns, no line wider than the terminal."""
    cells = [_HEAD, *map(_cells, rows)]
    widths = [max(columns(line[place]) for line in cells) for place in range(len(_HEAD))]
    taken = sum(widths[:-1]) + _GAP * (len(_HEAD) - 1)
    widths[-1] = max(terminal_width() - taken, _LEAST_TITLE)
    gap = " " * _GAP
    for line in cells:
        parts = (fitted(text, width) for text, width in zip(line, widths, strict=True))
        yield gap.join(parts).rstrip()


def _records(one: CandidateRow, most: int | None) -> Iterator[str]:
    """Yield a candidate's address, and its releases with their labels."""
    yield from row(one.label, page("release-group", one.release_group))
    for each in one.releases[:most]:
        yield from row(f"  {each.label}", each.said)
    if (more := len(one.releases[most or len(one.releases) :])) > 0:
        yield from row("", f"and {more} more; -v shows all")


def _cells(one: CandidateRow) -> tuple[str, ...]:
    places = " ".join(one.countries[:_MOST_PLACES])
    more = " .." if len(one.countries) > _MOST_PLACES else ""
    mark = ">" if one.is_proposed else ""
    releases = str(len(one.releases))
    title = "".join(letter if letter.isprintable() else " " for letter in one.title)
    return mark, one.label, one.appeared, f"{places}{more}" or "-", releases, one.kind, title


def _proposal(case: ReviewCase) -> Iterator[str]:
    result = case.result
    if result is None:
        return
    yield ""
    yield from row("model", f"{result.model_id or 'of no name'}: {result.rationale or 'no reason'}")
    for line in outcome_lines(result, case.bundle):
        label = line[:_OUTCOME].strip().removeprefix("release ")
        yield from row(label, line[_OUTCOME:])
    if case.kept.transcript_id:
        yield from row("transcript", f"canon review show {case.kept.id} --transcript")
