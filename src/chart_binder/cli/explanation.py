"""A decision explained: the rule path, the dates compared, and why every other candidate lost."""

from collections.abc import Iterator, Sequence

import msgspec

from chart_binder.cli.columns import terminal_width, wrapped
from chart_binder.cli.text import decision_lines, page, row
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Considered, Rival, Verdict
from chart_binder.jobs.appearances import Appearance, Source, appearances, lead_window
from chart_binder.jobs.decide import Case
from chart_binder.jobs.why_not import why_not
from chart_binder.rules.lineup import minutes


def explanation_lines(path: str, case: Case, knobs: RulesConfig) -> Iterator[str]:
    """Yield the decision with the rule path, and for every other candidate why it lost."""
    yield from decision_lines(path, case)
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return
    yield from _recording(case.decision.recording_mbid, case.bundle)
    yield from ("", "  The rules, in their order:")
    for considered in _path(case, verdict):
        yield from _item(f"{considered.rule}: {considered.said}")
    yield from _dates(appearances(case.bundle))
    yield from _rivals(why_not(case, knobs), is_chosen=case.decision.crg_mbid is not None)


def explanation(case: Case, knobs: RulesConfig) -> dict[str, object]:
    """Return the same as plain values; nothing for a case that evidence was not found for."""
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return {}
    shown: dict[str, object] = {
        "path": msgspec.to_builtins(tuple(_path(case, verdict))),
        "appearances": msgspec.to_builtins(appearances(case.bundle)),
        "lead_window": msgspec.to_builtins(lead_window(case.bundle, knobs)),
        "rivals": msgspec.to_builtins(why_not(case, knobs)),
    }
    return {"explanation": shown}


def _path(case: Case, verdict: Verdict) -> Iterator[Considered]:
    """Yield what was asked, the model last where its answer is what there is."""
    yield from verdict.path
    if case.decision.decided_by == "llm" and case.decision.crg_rule:
        yield Considered(case.decision.crg_rule, case.decision.rationale or "")


def _recording(named: str | None, bundle: EvidenceBundle) -> Iterator[str]:
    """Yield which recording the decision stands on."""
    same = (one for one in bundle.recording_candidates if one.mb_recording_id == named)
    known = next(same, None)
    if known:
        parts = (known.title, known.disambiguation, minutes(known.length_ms))
        yield from row("recording", ", ".join(filter(None, parts)))
        yield from row("", page("recording", known.mb_recording_id))


def _dates(candidates: Sequence[Appearance]) -> Iterator[str]:
    """Yield when the recording came out on each candidate, and what says so."""
    if candidates:
        yield ""
        yield from _heading("The dates compared, of official releases that have the recording:")
    for one in candidates:
        yield from _dated(one)


def _dated(one: Appearance) -> Iterator[str]:
    name = f"the {one.kind} '{one.title}'"
    if not one.sources:
        reason = "no date is known" if one.counts else "nothing official is known"
        yield from row("  -", f"{name}: {reason}")
    for number, source in enumerate(one.sources):
        said = f"{name}: {_said(source)}" if not number else f"at the latest: {_said(source)}"
        yield from row(f"  {source.date}", said)
        if source.release:
            yield from row("", page("release", source.release))
    for source in one.aside:
        yield from row(
            f"  {source.date or '-'}", f"does not count: {_said(source)}, {_status(source)}"
        )


def _said(source: Source) -> str:
    if source.release is None:
        return "the group's own date, for no release of it is listed"
    more = f" (and {source.others} more of that date)" if source.others else ""
    return f"{source.said or 'a release without particulars'}{more}"


def _status(source: Source) -> str:
    return source.status or "of unknown status"


def _rivals(found: Sequence[Rival], *, is_chosen: bool) -> Iterator[str]:
    if found:
        yield from ("", f"  {'Why not another:' if is_chosen else 'The candidates:'}")
    for rival in found:
        yield from _item(f"{rival.title}: {rival.why_not}")
        yield f"      {page('release-group', rival.release_group)}"


def _heading(text: str) -> Iterator[str]:
    return wrapped(text, terminal_width(), "  ", 2)


def _item(text: str) -> Iterator[str]:
    return wrapped(text, terminal_width(), "    ", 6)
