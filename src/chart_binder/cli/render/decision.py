"""Appearances drawn as a timeline, one line a candidate.

What matters lies within days, what follows within decades: between two dates the line is as long
as the logarithm of the days between them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import pairwise

import msgspec

from chart_binder.cli.output import decision_lines, found, group_name, page, release_name, row
from chart_binder.cli.terminal import columns, fitted, terminal_width, wrapped
from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Considered, Rival, Verdict
from chart_binder.jobs.decide import Case
from chart_binder.jobs.explain import (
    Appearance,
    LeadWindow,
    Source,
    appearances,
    lead_window,
    why_not,
)
from chart_binder.llm.result import AdjudicationResult, Fact, counted
from chart_binder.rules.recordings import format_length


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
        parts = (known.title, known.disambiguation, format_length(known.length_ms))
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


def outcome_lines(result: AdjudicationResult, bundle: EvidenceBundle | None) -> Iterator[str]:
    """Yield the answer, and what the code found when it checked it; names are the evidence's."""
    group, release = found(bundle, result.crg_mbid, result.rr_mbid)
    yield f"release group  {_named(result.crg_mbid, group_name(group) if group else '')}"
    yield f"release        {_named(result.rr_mbid, release_name(release) if release else '')}"
    yield f"confidence     {result.confidence:.2f}{_stated(result)}"
    for number, check in enumerate(result.checks):
        came_out = "ok" if check.passed else "NOT OK"
        yield f"{'' if number else 'checks':<14} {came_out}: {check.detail}"
    for number, fact in enumerate(result.facts):
        yield f"{'' if number else 'facts':<14} {_fact(fact)}"
    if result.problem and result.rationale:  # else the problem is the first thing said
        yield f"problem        {result.problem}"
    usage = result.usage
    yield (
        f"took           {counted(result.iterations, 'turn')},"
        f" {usage.prompt_tokens} + {usage.completion_tokens} tokens,"
        f" {usage.model_seconds:.1f} s model, {usage.tool_seconds:.1f} s tools"
    )


def _stated(result: AdjudicationResult) -> str:
    """Return the model's own figure, where another is reported."""
    stated = result.stated_confidence
    is_other = stated is not None and f"{stated:.2f}" != f"{result.confidence:.2f}"
    return f" (stated: {stated:.2f})" if is_other else ""


def _named(mbid: str | None, name: str) -> str:
    return " ".join(filter(None, (mbid or "none", name)))


def _fact(fact: Fact) -> str:
    standing = "verified" if fact.verified else "NOT verified"
    return f"{standing}: {fact.field} {fact.value} of {fact.about} ({fact.source})"


_INDENT = 2
_MOST_NAME = 44
_LEAST_DRAWING = 12
_WINDOW = "lead window"
_LEGEND = {
    "o": "o that day",
    "[": "[--] some day within",
    "~": "~~ by the group's own date",
    "x": "x not official",
    "?": "? no date",
    "=": "== an album here is led to",
    ":": ":: may be led to",
}
"""By the character in the drawing that it explains."""


def timeline_lines(
    candidates: Sequence[Appearance],
    window: LeadWindow | None,
    chosen: str | None,
    width: int,
) -> Iterator[str]:
    """Yield the timeline, no line wider than `width` columns; `chosen` is marked with `>`."""
    wanted = max([columns(_name(one)) for one in candidates], default=0)
    room = max(width - _INDENT - 4 - _LEAST_DRAWING, 1)
    name_width = min(max(wanted, len(_WINDOW)), _MOST_NAME, max(width // 2, 1), room)
    scale = Scale(_days(candidates, window), max(width - _INDENT - name_width - 4, 1))
    drawn = list(_rows(candidates, window, scale, chosen))
    for mark, name, drawing in drawn:
        yield f"{'':{_INDENT}}{mark} {fitted(name, name_width)}  {drawing}".rstrip()
    if scale.days:
        yield f"{'':{_INDENT}}{'':{name_width + 2}}  {_axis(scale, window)}".rstrip()
    used = {letter for _, _, drawing in drawn for letter in drawing}
    yield from _legend(used, width)


class Scale:
    """Days on a line of `width` columns."""

    def __init__(self, days: Iterable[int], width: int) -> None:
        self.days = sorted(set(days))
        self.width = width
        lengths = [math.log1p(later - earlier) for earlier, later in pairwise(self.days)]
        whole = sum(lengths)
        self._columns = dict.fromkeys(self.days[:1], 0)
        past = 0.0
        for day, length in zip(self.days[1:], lengths, strict=True):
            past += length
            self._columns[day] = round(past / whole * (width - 1))

    def column(self, day: int) -> int:
        """Return the column of a day; it must be one of those given."""
        return self._columns[day]


def _name(one: Appearance) -> str:
    title = "".join(letter if letter.isprintable() else " " for letter in one.title)
    return f"{one.kind} {title}"


def _days(candidates: Sequence[Appearance], window: LeadWindow | None) -> Iterator[int]:
    """Yield every day that is drawn."""
    for one in candidates:
        yield from (day.toordinal() for day in (one.since, one.by) if day and one.counts)
        for span in _spans_aside(one):
            yield from span
    if window:
        days = (window.earliest, window.from_, window.to, window.latest)
        yield from (day.toordinal() for day in days if day)


def _rows(
    candidates: Sequence[Appearance], window: LeadWindow | None, scale: Scale, chosen: str | None
) -> Iterator[tuple[str, str, str]]:
    for one in candidates:
        mark = ">" if one.release_group == chosen else " "
        yield mark, _name(one), _candidate(one, scale)
        if window and window.single == one.release_group:
            yield " ", _WINDOW, _window(window, scale)


def _candidate(one: Appearance, scale: Scale) -> str:
    line = [" "] * scale.width
    for first, last in _spans_aside(one):
        _draw(line, scale, (first, last), "x" * 4)
    if one.counts and one.since and one.by:
        is_weak = any(source.release is None for source in one.sources)
        span = one.since.toordinal(), one.by.toordinal()
        _draw(line, scale, span, "[~]~" if is_weak else "[-]o")
    elif one.counts:
        line[::4] = "?" * len(line[::4])
    elif not any(source.date for source in one.aside):
        line[:2] = "x?"[: scale.width]
    return "".join(line)


def _draw(line: list[str], scale: Scale, span: tuple[int, int], letters: str) -> None:
    """Draw a span with the letters for its start, its inside, its end, and a single day."""
    first, last = map(scale.column, span)
    if span[0] == span[1]:
        line[first] = letters[3]
        return
    if first == last:  # a span is seen as one, however near its ends
        first, last = (first, last + 1) if last + 1 < scale.width else (max(first - 1, 0), last)
    line[first : last + 1] = letters[1] * (last + 1 - first)
    line[first], line[last] = letters[0], letters[2]


def _window(window: LeadWindow, scale: Scale) -> str:
    line = [" "] * scale.width
    _fill(line, scale, (window.earliest, window.latest), ":")
    if window.from_ and window.to:
        _fill(line, scale, (window.from_, window.to), "=")
    return "".join(line)


def _fill(line: list[str], scale: Scale, span: tuple[date, date], letter: str) -> None:
    first, last = (scale.column(day.toordinal()) for day in span)
    line[first : last + 1] = letter * (last + 1 - first)


def _spans_aside(one: Appearance) -> Iterator[tuple[int, int]]:
    dates = (PartialDate.parse(source.date) for source in one.aside)
    return ((when.first, when.last) for when in dates if when.is_known)


def _axis(scale: Scale, window: LeadWindow | None) -> str:
    """Return the dates that there is room for, each with a bar at its place; the ends go first."""
    line = [" "] * scale.width
    bounds = [day.toordinal() for day in (window.to, window.latest) if day] if window else []
    for day in (scale.days[0], scale.days[-1], *bounds, *scale.days):
        _label(line, scale.column(day), date.fromordinal(day).isoformat())
    return "".join(line)


def _label(line: list[str], column: int, text: str) -> None:
    for start, label in ((column, f"|{text}"), (column - len(text), f"{text}|")):
        end = start + len(label)
        around = line[max(start - 1, 0) : end + 1]
        if start >= 0 and end <= len(line) and not "".join(around).strip():
            line[start:end] = label
            return


def _legend(used: set[str], width: int) -> Iterator[str]:
    """Yield what the letters of the drawing mean, as many to a line as fit."""
    texts: Sequence[str] = [text for letter, text in _LEGEND.items() if letter in used]
    line = ""
    for text in texts:
        longer = f"{line}, {text}" if line else text
        if line and _INDENT + len(longer) > width:
            yield f"{'':{_INDENT}}{line}"[:width]
            longer = text
        line = longer
    if line:
        yield f"{'':{_INDENT}}{line}"[:width]
