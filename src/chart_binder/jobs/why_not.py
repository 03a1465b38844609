"""Why each other candidate lost, a model's decision included."""

from collections.abc import Container, Iterator

from msgspec.structs import replace

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Decided, Open, Rival
from chart_binder.jobs.decide import Case
from chart_binder.llm.result import AdjudicationResult
from chart_binder.llm.settling import with_facts
from chart_binder.rules.candidates import Candidate, candidates_of
from chart_binder.rules.contest import contest
from chart_binder.rules.decide import decide
from chart_binder.rules.lineup import line_up
from chart_binder.rules.rivals import rivals
from chart_binder.rules.weighing import weigh

_LONGEST_REASON = 200


def why_not(case: Case, knobs: RulesConfig) -> tuple[Rival, ...]:
    """Return every candidate that was not chosen, each with one line; of an open case all of them.

    Where the verified facts let the rules confirm what a model said, it is their reason. Else a
    candidate lost by the evidence as it is, where that rules it out, or by the model's word.
    """
    if case.verdict is None:
        return ()
    result = case.decision.adjudication
    if case.bundle is None or result is None or case.decision.crg_mbid is None:
        return case.verdict.rivals
    assert isinstance(case.verdict, Open)  # only what is open is asked of a model
    crg = case.decision.crg_mbid
    again = decide(with_facts(case.bundle, result.facts), knobs) if result.facts else None
    if isinstance(again, Decided) and again.crg == crg:
        return tuple(_by_facts(again, case.verdict))
    said = _said(case.bundle, crg, result)
    if isinstance(again, Decided):
        other = _name(case.bundle, again.crg)
        said = f"with the verified facts in, {again.crg_rule} gives {other}, but {said}"
    return tuple(_by_word(case.bundle, crg, said, knobs))


def _by_facts(again: Decided, before: Open) -> Iterator[Rival]:
    """Yield the reasons of the rules, and of which of them the facts are a part."""
    known = {one.release_group: one.why_not for one in before.rivals}
    for one in again.rivals:
        is_new = known.get(one.release_group) != one.why_not
        told = f"{one.why_not}, with the verified facts in" if is_new else one.why_not
        yield replace(one, why_not=told)


def _by_word(bundle: EvidenceBundle, crg: str, said: str, knobs: RulesConfig) -> Iterator[Rival]:
    lineup = line_up(bundle)
    field = contest(lineup.kept, bundle.performer, knobs)
    running: dict[str, Candidate] = {one.group.mb_rg_id: one for one in field.candidates}
    possible = {one.group.mb_rg_id for one in weigh(field).possible}
    chosen = running.get(crg)
    by_model = {
        name: f"{one.kind} ({one.when}): {said}"
        for name, one in running.items()
        if one.counts and not _is_out(one, chosen, possible)
    }
    for rival in rivals(field, chosen, lineup.left_out):
        if rival.release_group != crg:
            yield replace(rival, why_not=by_model.get(rival.release_group, rival.why_not))


def _is_out(one: Candidate, chosen: Candidate | None, possible: Container[str]) -> bool:
    """Whether the evidence as it is rules a candidate out for a reason that holds in any case."""
    if chosen is None or one.group.mb_rg_id in possible:
        return False
    return one.first > chosen.last or not one.is_dated


def _said(bundle: EvidenceBundle, crg: str, result: AdjudicationResult) -> str:
    reason = result.rationale or "no reason was given"
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[:_LONGEST_REASON].rstrip()} ..."
    return f"the model chose {_name(bundle, crg)}: {reason}"


def _name(bundle: EvidenceBundle, crg: str) -> str:
    for one in candidates_of(bundle.recording_candidates):
        if one.group.mb_rg_id == crg:
            return one.name
    return "a record that the evidence lacks"
