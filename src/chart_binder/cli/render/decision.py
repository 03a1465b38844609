"""Decisions as text: a short block, an explanation with the rule path, and a model's answer."""

from collections.abc import Iterator, Sequence

import msgspec

from chart_binder.cli.output import labelled, labelled_list, terminal_width, wrap
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, Release, ReleaseGroup
from chart_binder.domain.verdict import Considered, Rival, Verdict
from chart_binder.domain.vocabulary import MBID
from chart_binder.jobs.decide import Case, Decision, State
from chart_binder.jobs.explain import Appearance, Source, appearances, lead_window, why_not
from chart_binder.llm.result import AdjudicationResult, Fact, counted
from chart_binder.rules.recordings import format_length

SITE = "https://musicbrainz.org"
_HEADLINES = {
    State.DECIDED: "belongs to",
    State.REVIEW: "for review",
    State.INDETERMINATE: "left open",
    State.ERROR: "decided",
}


def musicbrainz_page(entity: str, mbid: str) -> str:
    """Return the address of a MusicBrainz page; an id that is no UUID has none and is returned."""
    return f"{SITE}/{entity}/{mbid}" if MBID.fullmatch(mbid) else mbid


def find_entities(
    bundle: EvidenceBundle | None, crg: str | None, rr: str | None
) -> tuple[ReleaseGroup | None, Release | None]:
    """Return the release group and the release of two ids, where the evidence has them."""
    groups = [
        group
        for recording in (bundle.recording_candidates if bundle else ())
        for group in recording.groups
        if group.mb_rg_id == crg
    ]
    releases = (release for group in groups for release in group.editions)
    return (
        next(iter(groups), None),
        next((release for release in releases if release.mb_release_id == rr), None),
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


def decision_lines(path: str, case: Case) -> Iterator[str]:
    """Yield a decision as a short block: the recording, where it belongs, by which rule, why."""
    decision = case.decision
    yield path
    if case.bundle:
        yield from wrap(case.bundle.name, terminal_width(), "  ", 2)
    if decision.state is State.ERROR:
        yield from labelled("failed", decision.error or "no reason was given")
    if decision.crg_mbid:  # beside an error: what was decided and could not be kept
        yield from _decided(case, decision, decision.crg_mbid)
    elif decision.state is not State.ERROR:
        yield from labelled("left open", f"{decision.crg_rule}")
    if decision.rationale:
        yield from labelled("because", decision.rationale)
    yield from labelled_list("missing", decision.missing_facts)
    if decision.adjudication:
        yield from adjudication_lines(decision.adjudication, decision.state)


def _decided(case: Case, decision: Decision, crg: str) -> Iterator[str]:
    group, release = find_entities(case.bundle, crg, decision.rr_mbid)
    name = group_name(group) if group else "a release group the evidence lacks"
    yield from labelled(_HEADLINES[decision.state], f"{name}  [{decision.crg_rule}]")
    yield from labelled("", musicbrainz_page("release-group", crg))
    if decision.rr_mbid:
        name = release_name(release) if release else "none that the evidence has of that group"
        yield from labelled("release", f"{name}  [{decision.rr_rule}]")
        yield from labelled("", musicbrainz_page("release", decision.rr_mbid))
    else:
        yield from labelled("release", f"none can be named  [{decision.rr_rule}]")


def adjudication_lines(result: AdjudicationResult, state: State) -> Iterator[str]:
    """Yield which model answered and how sure, the checks' findings, and the transcript's file."""
    turns = counted(result.iterations, "turn")
    yield from labelled("model", f"{result.model_id}, {turns}, confidence {result.confidence:.2f}")
    if result.problem and state is not State.ERROR:
        yield from labelled("", result.problem)
    for check in result.checks:
        yield from labelled("", f"{'ok' if check.passed else 'NOT OK'}: {check.detail}")
    if isinstance(result.transcript, str):
        yield from labelled("transcript", result.transcript)


def explanation_lines(path: str, case: Case, knobs: RulesConfig) -> Iterator[str]:
    """Yield the decision, the rule path, the dates, and why every other candidate lost."""
    yield from decision_lines(path, case)
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return
    yield from _recording(case.decision.recording_mbid, case.bundle)
    yield from ("", "  The rules, in their order:")
    for considered in _rule_path(case, verdict):
        yield from _item(f"{considered.rule}: {considered.said}")
    if candidates := appearances(case.bundle):
        heading = "The dates compared, of official releases that have the recording:"
        yield ""
        yield from wrap(heading, terminal_width(), "  ", 2)
    for one in candidates:
        yield from _dates(one)
    yield from _rivals(why_not(case, knobs), is_decided=case.decision.crg_mbid is not None)


def explanation_object(case: Case, knobs: RulesConfig) -> dict[str, object]:
    """Return an explanation for JSON; empty for a case without evidence."""
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return {}
    explained: dict[str, object] = {
        "path": msgspec.to_builtins(tuple(_rule_path(case, verdict))),
        "appearances": msgspec.to_builtins(appearances(case.bundle)),
        "lead_window": msgspec.to_builtins(lead_window(case.bundle, knobs)),
        "rivals": msgspec.to_builtins(why_not(case, knobs)),
    }
    return {"explanation": explained}


def _rule_path(case: Case, verdict: Verdict) -> Iterator[Considered]:
    """Yield the rules that were tried, and the model last, where its answer decided."""
    yield from verdict.path
    if case.decision.decided_by == "llm" and case.decision.crg_rule:
        yield Considered(case.decision.crg_rule, case.decision.rationale or "")


def _recording(mbid: str | None, bundle: EvidenceBundle) -> Iterator[str]:
    """Yield which of the recordings the decision is about."""
    same = (one for one in bundle.recording_candidates if one.mb_recording_id == mbid)
    known = next(same, None)
    if known:
        parts = (known.title, known.disambiguation, format_length(known.length_ms))
        yield from labelled("recording", ", ".join(filter(None, parts)))
        yield from labelled("", musicbrainz_page("recording", known.mb_recording_id))


def _dates(one: Appearance) -> Iterator[str]:
    """Yield when the recording came out on a candidate, and the releases that say so."""
    name = f"the {one.kind} '{one.title}'"
    if not one.sources:
        reason = "no date is known" if one.counts else "nothing official is known"
        yield from labelled("  -", f"{name}: {reason}")
    for number, source in enumerate(one.sources):
        release = _source(source)
        text = f"at the latest: {release}" if number else f"{name}: {release}"
        yield from labelled(f"  {source.date}", text)
        if source.release:
            yield from labelled("", musicbrainz_page("release", source.release))
    for source in one.aside:
        text = f"does not count: {_source(source)}, {source.status or 'of unknown status'}"
        yield from labelled(f"  {source.date or '-'}", text)


def _source(source: Source) -> str:
    if source.release is None:
        return "the group's own date, for no release of it is listed"
    more = f" (and {source.others} more of that date)" if source.others else ""
    return f"{source.said or 'a release without particulars'}{more}"


def _rivals(rivals: Sequence[Rival], *, is_decided: bool) -> Iterator[str]:
    if rivals:
        yield from ("", f"  {'Why not another:' if is_decided else 'The candidates:'}")
    for rival in rivals:
        yield from _item(f"{rival.title}: {rival.why_not}")
        yield f"      {musicbrainz_page('release-group', rival.release_group)}"


def _item(text: str) -> Iterator[str]:
    return wrap(text, terminal_width(), "    ", 6)


def outcome_lines(result: AdjudicationResult, bundle: EvidenceBundle | None) -> Iterator[str]:
    """Yield a model's answer with the names from the evidence, its checks, facts and cost."""
    group, release = find_entities(bundle, result.crg_mbid, result.rr_mbid)
    yield f"release group  {_id_and_name(result.crg_mbid, group_name(group) if group else '')}"
    yield f"release        {_id_and_name(result.rr_mbid, release_name(release) if release else '')}"
    yield f"confidence     {result.confidence:.2f}{_stated_confidence(result)}"
    for number, check in enumerate(result.checks):
        outcome = "ok" if check.passed else "NOT OK"
        yield f"{'' if number else 'checks':<14} {outcome}: {check.detail}"
    for number, fact in enumerate(result.facts):
        yield f"{'' if number else 'facts':<14} {_fact(fact)}"
    if result.problem and result.rationale:  # else the problem is printed as the reason
        yield f"problem        {result.problem}"
    usage = result.usage
    yield (
        f"took           {counted(result.iterations, 'turn')},"
        f" {usage.prompt_tokens} + {usage.completion_tokens} tokens,"
        f" {usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    )


def _stated_confidence(result: AdjudicationResult) -> str:
    """Return the confidence that the model stated, where another is reported."""
    stated = result.stated_confidence
    differs = stated is not None and f"{stated:.2f}" != f"{result.confidence:.2f}"
    return f" (stated: {stated:.2f})" if differs else ""


def _id_and_name(mbid: str | None, name: str) -> str:
    return " ".join(filter(None, (mbid or "none", name)))


def _fact(fact: Fact) -> str:
    verified = "verified" if fact.verified else "NOT verified"
    return f"{verified}: {fact.field} {fact.value} of {fact.about} ({fact.source})"
