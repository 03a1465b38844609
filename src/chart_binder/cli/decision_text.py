"""Decisions as text: the decision, a model's answer with its checks, and the explanation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from chart_binder.cli.output import (
    display_width,
    fit,
    labelled,
    labelled_list,
    line_width,
    printable,
    shortened,
    wrap,
)
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.verdict import Rival, RuleStep, SaidBy, Verdict
from chart_binder.errors import counted
from chart_binder.jobs.decision import Case, Cause, Decision, State, advice_for
from chart_binder.jobs.explain import (
    WITH_FACTS,
    Appearance,
    DateSource,
    appearances,
    lead_window,
    why_not,
)
from chart_binder.jobs.wording import (
    NO_GROUP,
    claim_text,
    entity_names,
    facts_by_claim,
    first_release_text,
    musicbrainz_page,
    shown_checks,
)
from chart_binder.llm.result import AdjudicationResult, Fact
from chart_binder.rules.recordings import format_length

_FIRST_FIELDS = (
    "state", "decided_by", "artist", "title", "first_release", "crg_mbid", "crg_title", "crg_type",
)  # fmt: skip
_NO_RELEASE = "none that the evidence has of that group"
_HEADLINES = {
    State.DECIDED: "belongs to",
    State.REVIEW: "review",
    State.UNDECIDED: "undecided",
    State.ERROR: "decided",
}


def decision_object(decision: Decision) -> dict[str, Any]:
    """Return a decision for JSON, with its subject and the first release at the start."""
    fields: dict[str, Any] = msgspec.to_builtins(decision)
    return {name: fields[name] for name in _FIRST_FIELDS} | fields


def recording_lines(
    decision: Decision, *, explained: bool = False, with_year: bool = True
) -> Iterator[str]:
    """Yield artist, title and first release, and on request why its year is certain or not."""
    if name := " - ".join(filter(None, (decision.artist, decision.title))):
        yield from wrap(name, "  ")
    if first := decision.first_release:
        is_open = decision.state in (State.UNDECIDED, State.REVIEW)
        note = "; `canon write` can already write it" if first.year_certain and is_open else ""
        brief = f", year certain{note}" if first.year_certain and not explained else ""
        yield from wrap(f"first released {first_release_text(first)}{brief}", "  ", 4)
        if explained or (with_year and not first.year_certain):
            certain = "" if first.year_certain else "not "
            yield from labelled("year", f"{certain}certain: {first.because}{note}")


def decision_lines(
    path: str, case: Case, *, explained: bool = False, brief: bool = False
) -> Iterator[str]:
    """Yield a decision as a short block; if `explained`, with the effect of each answer.

    If `brief`, leave out addresses, all but one missing fact, and the checks of a model.
    """
    decision, siblings = case.decision, case.decision.siblings
    yield path
    is_undecided = decision.state is State.UNDECIDED
    with_year = not (brief and is_undecided)
    yield from recording_lines(decision, explained=explained, with_year=with_year)
    yield from labelled(decision.state, decision.failure)
    if is_undecided:
        yield from labelled("undecided", decision.rationale or "no reason was given")
    if decision.crg_mbid:  # with an error, the decision that could not be stored
        yield from _belonging(case, decision.crg_mbid, brief=brief)
    result = decision.model_answer
    if result and brief:
        problem = f": {result.problem}" if result.problem and not decision.failure else ""
        yield from labelled("model", f"{_model_text(result)}{problem}")
    if explained and not brief and decision.questions:
        yield from _questions(case)
    elif brief:
        first, *further = decision.missing_facts or [""]
        remainder = (
            f"and {counted(len(further), 'other fact')}: see canon explain" if further else ""
        )
        yield from labelled_list("missing", filter(None, (first, remainder)))
    else:
        yield from labelled_list("missing", decision.missing_facts)
    is_dated = decision.first_release and decision.first_release.by is SaidBy.PERSON
    if siblings and not (explained or is_dated):
        is_useful = siblings.looked_up or decision.state is not State.DECIDED
        yield from labelled("siblings", siblings.said if is_useful or not brief else "")
    if decision.hint:
        yield from labelled("to do", f"answer it with `canon review`; {decision.hint}")
    elif decision.cause is Cause.UNIDENTIFIED:
        yield from labelled("to do", advice_for(decision.cause))
    if result and not brief:
        names = entity_names(case.bundle, whole=True)
        yield from adjudication_lines(result, decision.state, names)


def _belonging(case: Case, crg: str, *, brief: bool) -> Iterator[str]:
    decision, names = case.decision, entity_names(case.bundle)
    name = f"{names.get(crg, NO_GROUP)}  [{decision.crg_rule}]"
    yield from labelled(_HEADLINES[decision.state], name)
    if not brief:
        yield from labelled("", musicbrainz_page("release-group", crg))
    rule = "" if brief else f"  [{decision.rr_rule}]"
    if decision.rr_mbid:
        yield from labelled("release", f"{names.get(decision.rr_mbid, _NO_RELEASE)}{rule}")
        if not brief:
            yield from labelled("", musicbrainz_page("release", decision.rr_mbid))
    elif not brief:
        yield from labelled("release", f"none can be named{rule}")
    for sibling in [] if brief else siblings_of(case.bundle):
        if sibling.mb_recording_id == decision.recording_mbid:
            yield from labelled("through", sibling_text(sibling))
            yield from labelled("", musicbrainz_page("recording", sibling.mb_recording_id))
    yield from labelled("because", decision.rationale)


def _questions(case: Case) -> Iterator[str]:
    label, names = "missing", entity_names(case.bundle)
    for question in case.decision.questions:
        text = question.brief
        if question.kind != "missing_original":  # its text begins with the name of its kind
            text = f"[{question.kind.replace('_', ' ')}] {text}"
        yield from labelled(label, text)
        label = ""
        for answer in question.possibilities:
            yield from labelled(
                "", f"- {answer.answer}: {names.get(answer.crg or '', 'still open')}"
            )


def siblings_of(bundle: EvidenceBundle | None) -> Sequence[RecordingCandidate]:
    """Return the other recordings of the same performance in the evidence."""
    recordings = bundle.recording_candidates if bundle else ()
    return [recording for recording in recordings if recording.is_sibling]


def sibling_text(sibling: RecordingCandidate) -> str:
    """Return which recording is a sibling, and why."""
    because = f": {sibling.because}" if sibling.because else ""
    return f"a sibling recording ({_recording_name(sibling)}){because}"


def _recording_name(recording: RecordingCandidate) -> str:
    parts = (recording.title, recording.disambiguation, format_length(recording.length_ms))
    return ", ".join(filter(None, parts))


def _model_text(result: AdjudicationResult) -> str:
    return f"{result.model_id}, {counted(result.iterations, 'turn')}"


def adjudication_lines(
    result: AdjudicationResult, state: State, names: Mapping[str, str]
) -> Iterator[str]:
    """Yield the model with its confidence, its checks and facts; `names` are by id."""
    yield from labelled("model", f"{_model_text(result)}, confidence {result.confidence:.2f}")
    if result.problem and state is not State.ERROR:
        yield from labelled("", result.problem)
    for label, text in examination(result, names):
        yield from labelled(label, text)
    if isinstance(result.transcript, str):
        yield from labelled("transcript", result.transcript)


def outcome_rows(
    result: AdjudicationResult, bundle: EvidenceBundle | None, group_label: str = "release group"
) -> Iterator[tuple[str, str]]:
    """Yield labels and texts for the answer of a model, its checks, facts and cost."""
    names = entity_names(bundle)
    for label, mbid in ((group_label, result.crg_mbid), ("release", result.rr_mbid)):
        yield label, " ".join(filter(None, (mbid or "none", names.get(mbid or ""))))
    yield "confidence", f"{result.confidence:.2f}"
    if result.problem and result.rationale:  # otherwise the problem is printed as the reason
        yield "problem", result.problem
    yield from examination(result, entity_names(bundle, whole=True))
    usage = result.usage
    readings = f", {counted(usage.readings, 'second reading')}" if usage.readings else ""
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    seconds = f"{usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    yield "took", f"{counted(result.iterations, 'turn')}{readings}, {tokens}, {seconds}"


def examination(result: AdjudicationResult, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield labels and texts for checks and facts, each label once."""
    label = "checks"
    for check in shown_checks(result):
        yield label, f"{'ok' if check.passed else 'NOT OK'}: {check.detail}"
        label = ""
    label = "facts"
    for claim, facts in facts_by_claim(result.facts):
        yield label, claim_text(claim, names)
        label = ""
        for text in chain.from_iterable(map(_citation, facts)):
            yield label, text


def _citation(fact: Fact) -> Iterator[str]:
    source = f"{fact.source or 'no source'}{', trusted' if fact.trusted else ''}"
    why_not = f": {fact.problem}" if fact.problem else ""
    yield f"{'verified' if fact.verified else 'NOT verified'}: {source}{why_not}"
    if fact.quote:
        yield f'quote: "{fact.quote}"'
    for reading in fact.readings:
        source = "" if reading.source == fact.source else f", {reading.source}"
        yield f"second reading ({reading.kind}): {reading.reading}{source}"


_INDENT = 2
_MAX_SIBLINGS, _MAX_TITLES = 5, 2
_MAX_CANDIDATES, _FEW_CANDIDATES = 10, 4
_NAMES_SHARE, _REASONS_SHARE, _LEAST_REASON = 45, 60, 26


def explanation_lines(
    path: str, case: Case, rules_config: RulesConfig, *, brief: bool = False, whole: bool = False
) -> Iterator[str]:
    """Yield the decision, the candidates with the reason why each lost, and the rules.

    If `brief`, leave out addresses; if `whole`, add every rule and all dates of the candidates.
    """
    yield from decision_lines(path, case, explained=True, brief=brief)
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return
    for recording in () if brief else case.bundle.recording_candidates:
        if recording.mb_recording_id == case.decision.recording_mbid:
            yield from labelled("recording", _recording_name(recording))
            yield from labelled("", musicbrainz_page("recording", recording.mb_recording_id))
    is_open = case.decision.state is not State.DECIDED
    if whole or (not brief and (is_open or case.bundle.siblings == "looked_up")):
        yield from _siblings(case.bundle)
    candidates = appearances(case.bundle)
    chosen = next((row for row in candidates if row.release_group == case.decision.crg_mbid), None)
    lost = why_not(case, rules_config)
    if rows := [*_candidate_lines(candidates, chosen, lost.rivals, whole=whole)]:
        most = len(rows) if whole else _FEW_CANDIDATES if brief else _MAX_CANDIDATES
        facts = WITH_FACTS if lost.by_facts else ""
        yield ""
        yield from wrap(f"The candidates, by their first official release{facts}:", "  ")
        yield from candidate_table(rows[:most])
        if len(rows) > most:
            yield f"    and {len(rows) - most} more{'' if brief else ': -v shows all'}"
    if not (brief and case.decision.adjudication):
        yield from _rule_lines(case, verdict, chosen, whole=whole or brief)


def _rule_lines(
    case: Case, verdict: Verdict, chosen: Appearance | None, *, whole: bool
) -> Iterator[str]:
    """Yield the rules with reasons; unless `whole`, of a decided case only the rules that chose."""
    decision, steps = case.decision, [*_rule_path(case, verdict)]
    chosen_steps = [step for step in steps if step.rule in (decision.crg_rule, decision.rr_rule)]
    if whole or decision.state is not State.DECIDED:
        chosen_steps = steps
    yield from (
        "",
        "  The rules, in their order:" if chosen_steps == steps else "  The rules that chose:",
    )
    for step in chosen_steps:
        reason = "see above" if step.said == decision.rationale else _say_once(step.said, chosen)
        yield from wrap(f"{step.rule}: {reason}", "    ", 6)
    if hidden := len(steps) - len(chosen_steps):
        yield from wrap(
            f"and {counted(hidden, 'rule')} that did not apply: -v shows all", "    ", 6
        )


def _say_once(text: str, candidate: Appearance | None) -> str:
    """Return a reason with `that single` in place of the name of a candidate named before."""
    if candidate is None:
        return text
    name = re.escape(f"the {candidate.kind} '{candidate.title}'")
    return re.sub(rf"{name}(?: \(\d{{4}}[-\d]*\))?", f"that {candidate.kind}", text)


class CandidateLine(NamedTuple):
    """A row of the table of candidates: the text before the name, and the lines below the row."""

    head: str
    name: str
    reason: str
    below: Sequence[str]


def _candidate_lines(
    candidates: Sequence[Appearance],
    chosen: Appearance | None,
    rivals: Sequence[Rival],
    *,
    whole: bool,
) -> Iterator[CandidateLine]:
    """Yield all candidates by date, then those that were excluded."""
    excluded = {rival.release_group: rival for rival in rivals}
    for candidate in candidates:
        rival = excluded.pop(candidate.release_group, None)
        reason = _say_once(rival.reason if rival else "", chosen)
        why = "chosen" if candidate is chosen else reason
        mark = ">" if candidate is chosen else " "
        day = candidate.sources[0].date if candidate.sources else "-"
        page = labelled("", musicbrainz_page("release-group", candidate.release_group))
        below = [*page, *_dates(candidate)] if whole else []
        name = f"{candidate.title} ({candidate.kind})"
        yield CandidateLine(f"  {mark} {day:<10}  ", name, why, below)
    for rival in excluded.values():
        why = _say_once(rival.why_not, chosen)
        page = labelled("", musicbrainz_page("release-group", rival.release_group))
        below = [*page] if whole else []
        yield CandidateLine(f"    {'-':<10}  ", rival.title, why, below)


def candidate_table(rows: Sequence[CandidateLine], *, is_cut: bool = False) -> Iterator[str]:
    """Yield a row for each candidate, cut to one line if `is_cut`.

    Otherwise the reason has its own lines on a narrow terminal.
    """
    width = line_width()
    longest = max(display_width(printable(row.name)) for row in rows)
    reasons = max(display_width(printable(row.reason)) for row in rows)
    names = min(longest, width * _NAMES_SHARE // 100)
    for head, name, reason, below in rows:
        room = width - display_width(head) - _INDENT
        if is_cut:
            name_width = min(longest, room - min(reasons, room * _REASONS_SHARE // 100))
            line = f"{head}{fit(printable(name), name_width)}{'':{_INDENT}}{printable(reason)}"
            yield shortened(line, width)
        elif room + _INDENT - names < _LEAST_REASON:
            yield from wrap(printable(name), head)
            yield from wrap(reason, " " * len(head))
        else:
            row = f"{head}{fit(printable(name), names)}{'':{_INDENT}}"
            yield from wrap(reason, row, display_width(row)) if reason else [row.rstrip()]
        yield from below


def _siblings(bundle: EvidenceBundle) -> Iterator[str]:
    siblings, texts = siblings_of(bundle), [bundle.sibling_lookup]
    for sibling in siblings[:_MAX_SIBLINGS]:
        titles = [f"'{group.title}'" for group in sibling.groups]
        remainder = f" and {len(titles) - _MAX_TITLES} more" if len(titles) > _MAX_TITLES else ""
        texts.append(f"{sibling_text(sibling)}; on {', '.join(titles[:_MAX_TITLES])}{remainder}")
    if len(siblings) > _MAX_SIBLINGS:
        texts.append(f"and {len(siblings) - _MAX_SIBLINGS} more")
    if not bundle.has_no_sibling and bundle.possible_sibling:
        texts.append(bundle.possible_sibling)
    yield from labelled_list("siblings", texts)


def explanation_object(case: Case, rules_config: RulesConfig) -> dict[str, object]:
    """Return an explanation for JSON; empty for a case without evidence."""
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return {}
    explained: dict[str, object] = {
        "path": tuple(_rule_path(case, verdict)),
        "appearances": appearances(case.bundle),
        "lead_window": lead_window(case.bundle, rules_config),
        "rivals": why_not(case, rules_config).with_remarks,
    }
    if siblings := siblings_of(case.bundle):
        explained["siblings"] = [
            {
                "recording_mbid": sibling.mb_recording_id,
                "because": sibling.because,
                "release_groups": [group.mb_rg_id for group in sibling.groups],
            }
            for sibling in siblings
        ]
    return {"explanation": msgspec.to_builtins(explained)}


def _rule_path(case: Case, verdict: Verdict) -> Iterator[RuleStep]:
    """Yield the rules that were tried, and last the model, if its answer decided."""
    yield from verdict.path
    if case.decision.decided_by == "llm" and case.decision.crg_rule:
        yield RuleStep(case.decision.crg_rule, case.decision.rationale or "")


def _dates(candidate: Appearance) -> Iterator[str]:
    """Yield the releases that give a candidate its dates, and those that do not count."""
    for number, source in enumerate(candidate.sources):
        release = _source(source)
        yield from labelled(f"  {source.date}", f"at the latest: {release}" if number else release)
        if source.release:
            yield from labelled("", musicbrainz_page("release", source.release))
    for source in candidate.aside:
        text = f"does not count: {_source(source)}, {source.status or 'of unknown status'}"
        yield from labelled(f"  {source.date or '-'}", text)


def _source(source: DateSource) -> str:
    if source.release is None:
        return "the date of the group, because no release of it is listed"
    remainder = f" (and {source.others} more of that date)" if source.others else ""
    return f"{source.description or 'a release of unknown country and label'}{remainder}"
