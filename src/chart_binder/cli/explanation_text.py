"""The explanation of a decision: the rule path, the dates, why others lost, and a timeline.

In a timeline what matters lies within days, what follows within decades: the distance between two
dates in the drawing grows with the logarithm of the days between them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import accumulate, pairwise

import msgspec

from chart_binder.cli.decision_text import (
    decision_lines,
    musicbrainz_page,
    sibling_text,
    siblings_of,
)
from chart_binder.cli.output import display_width, fit, labelled, terminal_width, wrap
from chart_binder.config import RulesConfig
from chart_binder.domain.dates import PartialDate
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Considered, Verdict
from chart_binder.jobs.decide import Case
from chart_binder.jobs.explain import (
    Appearance,
    DateSource,
    LeadWindow,
    appearances,
    lead_window,
    why_not,
)
from chart_binder.rules.recordings import format_length

_INDENT = 2
_MAX_NAME = 44
_MIN_DRAWING = 12
_MAX_SIBLINGS, _MAX_TITLES = 5, 2
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


def explanation_lines(path: str, case: Case, rules_config: RulesConfig) -> Iterator[str]:
    """Yield the decision, the rule path, the dates, and why every other candidate lost."""
    yield from decision_lines(path, case, explained=True)
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return
    for one in case.bundle.recording_candidates:
        if one.mb_recording_id == case.decision.recording_mbid:
            parts = (one.title, one.disambiguation, format_length(one.length_ms))
            yield from labelled("recording", ", ".join(filter(None, parts)))
            yield from labelled("", musicbrainz_page("recording", one.mb_recording_id))
    yield from _siblings(case.bundle)
    yield from ("", "  The rules, in their order:")
    for considered in _rule_path(case, verdict):
        yield from wrap(f"{considered.rule}: {considered.said}", "    ", 6)
    if candidates := appearances(case.bundle):
        heading = "The dates compared, of official releases that have the recording:"
        yield ""
        yield from wrap(heading, "  ")
    for candidate in candidates:
        yield from _dates(candidate)
    rivals = why_not(case, rules_config)
    if rivals:
        yield from ("", f"  {'Why not another:' if case.decision.crg_mbid else 'The candidates:'}")
    for rival in rivals:
        yield from wrap(f"{rival.title}: {rival.why_not}", "    ", 6)
        yield f"      {musicbrainz_page('release-group', rival.release_group)}"


def _siblings(bundle: EvidenceBundle) -> Iterator[str]:
    """Yield the other recordings of the performance, with what each is on."""
    found = siblings_of(bundle)
    label = "siblings"
    for one in found[:_MAX_SIBLINGS]:
        titles = [f"'{group.title}'" for group in one.groups]
        more = f" and {len(titles) - _MAX_TITLES} more" if len(titles) > _MAX_TITLES else ""
        named = ", ".join(titles[:_MAX_TITLES])
        yield from labelled(label, f"{sibling_text(one)}; on {named}{more}")
        label = ""
    if len(found) > _MAX_SIBLINGS:
        yield from labelled("", f"and {len(found) - _MAX_SIBLINGS} more")
    if bundle.has_no_sibling:
        yield from labelled(label, "none: MusicBrainz has no other recording of this performance")
    elif bundle.possible_sibling:
        yield from labelled(label, bundle.possible_sibling.removeprefix("; "))


def explanation_object(case: Case, rules_config: RulesConfig) -> dict[str, object]:
    """Return an explanation for JSON; empty for a case without evidence."""
    verdict = case.verdict
    if verdict is None or case.bundle is None:
        return {}
    explained: dict[str, object] = {
        "path": tuple(_rule_path(case, verdict)),
        "appearances": appearances(case.bundle),
        "lead_window": lead_window(case.bundle, rules_config),
        "rivals": why_not(case, rules_config),
    }
    if siblings := siblings_of(case.bundle):
        explained["siblings"] = [
            {
                "recording_mbid": one.mb_recording_id,
                "because": one.because,
                "release_groups": [group.mb_rg_id for group in one.groups],
            }
            for one in siblings
        ]
    return {"explanation": msgspec.to_builtins(explained)}


def _rule_path(case: Case, verdict: Verdict) -> Iterator[Considered]:
    """Yield the rules that were tried, and the model last, where its answer decided."""
    yield from verdict.path
    if case.decision.decided_by == "llm" and case.decision.crg_rule:
        yield Considered(case.decision.crg_rule, case.decision.rationale or "")


def _dates(one: Appearance) -> Iterator[str]:
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


def _source(source: DateSource) -> str:
    if source.release is None:
        return "the group's own date, for no release of it is listed"
    more = f" (and {source.others} more of that date)" if source.others else ""
    return f"{source.said or 'a release of unknown country and label'}{more}"


def case_timeline(case: Case, rules_config: RulesConfig) -> Iterator[str]:
    """Yield the timeline of a case with its heading; nothing for a case without candidates."""
    if case.bundle is None:
        return
    candidates, window = appearances(case.bundle), lead_window(case.bundle, rules_config)
    drawn = timeline_lines(candidates, window, case.decision.crg_mbid, terminal_width())
    if candidates:
        title = "When it appeared (the further ahead, the closer the years stand together):"
        yield from ("", *wrap(title, "  "), *drawn)


def timeline_lines(
    candidates: Sequence[Appearance], window: LeadWindow | None, chosen: str | None, width: int
) -> Iterator[str]:
    """Yield the timeline, no line wider than `width` columns; `chosen` is marked with `>`."""
    wanted = max([display_width(_name(one)) for one in candidates], default=0)
    room = max(width - _INDENT - 4 - _MIN_DRAWING, 1)
    name_width = min(max(wanted, len(_WINDOW)), _MAX_NAME, max(width // 2, 1), room)
    drawing_width = max(width - _INDENT - name_width - 4, 1)
    columns = place_days(_days(candidates, window), drawing_width)
    rows: list[tuple[str, str, str]] = []
    for one in candidates:
        mark = ">" if one.release_group == chosen else " "
        rows.append((mark, _name(one), _candidate(one, columns, drawing_width)))
        if window and window.single == one.release_group:
            rows.append((" ", _WINDOW, _window(window, columns, drawing_width)))
    for mark, name, drawing in rows:
        yield f"{'':{_INDENT}}{mark} {fit(name, name_width)}  {drawing}".rstrip()
    if columns:
        axis = _axis(columns, window, drawing_width)
        yield f"{'':{_INDENT}}{'':{name_width + 2}}  {axis}".rstrip()
    yield from _legend({letter for _, _, drawing in rows for letter in drawing}, width)


def place_days(days: Iterable[int], width: int) -> dict[int, int]:
    """Return the column of each day, given as an ordinal, on a line of `width` columns."""
    ordered = sorted(set(days))
    lengths = [math.log1p(later - earlier) for earlier, later in pairwise(ordered)]
    total = sum(lengths) or 1.0
    placed = zip(ordered, accumulate(lengths, initial=0.0), strict=False)
    return {day: round(at / total * (width - 1)) for day, at in placed}


def _name(one: Appearance) -> str:
    return f"{one.kind} {''.join(letter if letter.isprintable() else ' ' for letter in one.title)}"


def _days(candidates: Sequence[Appearance], window: LeadWindow | None) -> Iterator[int]:
    for one in candidates:
        yield from (day.toordinal() for day in (one.since, one.by) if day and one.counts)
        for span in _unofficial_spans(one):
            yield from span
    if window:
        days = (window.earliest, window.from_, window.to, window.latest)
        yield from (day.toordinal() for day in days if day)


def _candidate(one: Appearance, columns: Mapping[int, int], width: int) -> str:
    line = [" "] * width
    for span in _unofficial_spans(one):
        _draw(line, columns, span, "x" * 4)
    if one.counts and one.since and one.by:
        is_of_group = any(source.release is None for source in one.sources)
        span = one.since.toordinal(), one.by.toordinal()
        _draw(line, columns, span, "[~]~" if is_of_group else "[-]o")
    elif one.counts:
        line[::4] = "?" * len(line[::4])
    elif not any(source.date for source in one.aside):
        line[:2] = "x?"[:width]
    return "".join(line)


def _draw(line: list[str], columns: Mapping[int, int], span: tuple[int, int], letters: str) -> None:
    """Draw a span with the letters for its start, its inside, its end, and a single day."""
    first, last = (columns[day] for day in span)
    if span[0] == span[1]:
        line[first] = letters[3]
        return
    if first == last:  # two columns at least, however near the ends are
        first, last = (first, last + 1) if last + 1 < len(line) else (max(first - 1, 0), last)
    line[first : last + 1] = letters[1] * (last + 1 - first)
    line[first], line[last] = letters[0], letters[2]


def _window(window: LeadWindow, columns: Mapping[int, int], width: int) -> str:
    line = [" "] * width
    for first, last, letter in (
        (window.earliest, window.latest, ":"),
        (window.from_, window.to, "="),
    ):
        if first and last:
            start, end = (columns[day.toordinal()] for day in (first, last))
            line[start : end + 1] = letter * (end + 1 - start)
    return "".join(line)


def _unofficial_spans(one: Appearance) -> Iterator[tuple[int, int]]:
    dates = (PartialDate.parse(source.date) for source in one.aside)
    return ((when.first, when.last) for when in dates if when.is_known)


def _axis(columns: Mapping[int, int], window: LeadWindow | None, width: int) -> str:
    """Return the dates that fit, each right or left of a bar at its column; the ends go first."""
    line = [" "] * width
    bounds = [day.toordinal() for day in (window.to, window.latest) if day] if window else []
    for day in (min(columns), max(columns), *bounds, *columns):
        text = date.fromordinal(day).isoformat()
        column = columns[day]
        for start, label in ((column, f"|{text}"), (column - len(text), f"{text}|")):
            end = start + len(label)
            around = line[max(start - 1, 0) : end + 1]
            if start >= 0 and end <= width and not "".join(around).strip():
                line[start:end] = label
                break
    return "".join(line)


def _legend(used: set[str], width: int) -> Iterator[str]:
    line = ""
    for text in (text for letter, text in _LEGEND.items() if letter in used):
        longer = f"{line}, {text}" if line else text
        if line and _INDENT + len(longer) > width:
            yield f"{'':{_INDENT}}{line}"[:width]
            longer = text
        line = longer
    if line:
        yield f"{'':{_INDENT}}{line}"[:width]
