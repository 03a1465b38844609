"""Cases of the review queue as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from chart_binder.cli.decision_text import (
    CandidateLine,
    candidate_table,
    outcome_rows,
    recording_lines,
)
from chart_binder.cli.output import (
    canon_call,
    display_width,
    fit,
    labelled,
    labelled_list,
    line_width,
    printable,
    shortened,
    terminal_edge,
    with_folder,
    wrap,
)
from chart_binder.config import Config
from chart_binder.domain.records import UnwrittenRecord, VerdictRecord, local_time
from chart_binder.domain.verdict import Decided, Open, OverrideRecord, Verdict
from chart_binder.domain.vocabulary import area_name
from chart_binder.errors import counted
from chart_binder.files import path_text
from chart_binder.jobs.decision import State
from chart_binder.jobs.overrides import DECIDE_AGAIN, OverrideEffect, VerdictResult
from chart_binder.jobs.review import CandidateRow, ReviewCase, reasons
from chart_binder.jobs.review_words import KEYS, need_text, pages_to_edit, short_need
from chart_binder.jobs.stored_decisions import path_from_bytes
from chart_binder.jobs.wording import (
    NO_ALBUM,
    NO_GROUP,
    entity_names,
    musicbrainz_page,
)

_MAX_COUNTRIES = 2
_NAMES_SHARE = 40
_FEW_FILES = 3


# The list.


def album_cases_lines(cases: Sequence[ReviewCase], config: Config) -> Iterator[str]:
    """Yield the cases of one album: a line with counts, then a line for each."""
    folder = cases[0].file.album.folder
    counts = Counter(case.decision.state for case in cases)
    texts = [f"{counts[state]} {state}" for state in State if counts[state]]
    head = f"{cases[0].album or NO_ALBUM}: {', '.join(texts)}"
    yield with_folder(head, path_text(folder))
    rows = [(_file_name(case, folder), case.decision.state, short_need(case, config))
            for case in cases]  # fmt: skip
    edge = terminal_edge()
    longest = max(display_width(name) for name, *_ in rows)
    width, states = min(longest, edge * _NAMES_SHARE // 100), max(len(row[1]) for row in rows)
    for name, state, needed in rows:
        line = f"  {fit(name, width)}  {state:<{states}}  {printable(needed)}"
        yield shortened(line, edge)


def _file_name(case: ReviewCase, folder: Path) -> str:
    path = case.path.relative_to(folder) if case.path.is_relative_to(folder) else case.path
    other_files = f" (and {case.files - 1} more)" if case.files > 1 else ""
    return printable(f"{path_text(path)}{other_files}")


def queued_object(case: ReviewCase, config: Config) -> dict[str, Any]:
    """Return a case of the list for JSON."""
    of_decision = (
        "state", "artist", "title", "first_release", "rationale", "missing_facts", "questions",
    )  # fmt: skip
    return {
        "decision_id": case.record.id,
        "files": case.files,
        "is_there": not case.is_gone,
        "damage": case.damage,
        **{name: getattr(case.decision, name) for name in of_decision},
        "needs": short_need(case, config),
        "album": case.album,
        "name": case.bundle.name if case.bundle else None,
        "evidence_hash": case.record.evidence_hash,
        "decided_at_utc": case.record.decided_at_utc,
        "proposal": case.proposal,
        "problem": case.problem,
    }


# A case.


class ScreenPart(NamedTuple):
    """Lines of a screen. To save room, parts of low `rank` are cut first, to `least` lines."""

    lines: list[str]
    rank: int = 0
    least: int | None = None


def screen(parts: Sequence[ScreenPart], room: int) -> list[str]:
    """Return the lines of the parts, with prose cut to fit into `room` lines."""
    lines = [[*part.lines] for part in parts]
    for number in sorted(range(len(parts)), key=lambda number: parts[number].rank):
        least = parts[number].least
        excess = sum(map(len, lines)) - room
        if least is None or excess <= 0 or len(lines[number]) <= least:
            continue
        part_lines = lines[number][: max(least, len(lines[number]) - excess)]
        if part_lines:
            part_lines[-1] = f"{shortened(part_lines[-1], line_width() - 3)} .."
        lines[number] = part_lines
    return [line for part_lines in lines for line in part_lines]


def case_parts(
    case: ReviewCase,
    verdict: Verdict | None,
    config: Config,
    head: Sequence[str],
    *,
    lapsed: bool,
    is_brief: bool = False,
    whole: bool = False,
) -> Iterator[ScreenPart]:
    """Yield a case at a glance: the need, the candidates with their reasons, the proposal.

    If `is_brief`, a candidate takes one line, and those without a key are only counted.
    """
    first = case.decision.first_release
    yield ScreenPart([*head])
    yield ScreenPart([*recording_lines(case.decision, with_year=False)], 5, 1)
    if first and not first.year_certain and (whole or not _lacks_original(case)):
        yield ScreenPart([*labelled("year", f"not certain: {first.because}")], 1, 0)
    needed = ""
    if case.decision.state is State.DECIDED and not lapsed:
        yield ScreenPart([*_decided(case, verdict)])
    if case.proposes_only_date or lapsed or case.decision.state is not State.DECIDED:
        needed = need_text(case, verdict, config, lapsed=lapsed)
        yield ScreenPart([*wrap(needed, "  Needs you: ", 4)], 6, 1)
    rows = case.rows
    if rows:
        listed_rows = _rows_shown(rows, verdict) if is_brief else rows
        yield ScreenPart([""], 0, 0)
        yield ScreenPart(
            [*candidate_table(_table(case, verdict, listed_rows, whole=whole), is_cut=is_brief)]
        )
        if hidden := len(rows) - len(listed_rows):
            yield ScreenPart([f"  and {counted(hidden, 'more candidate')}"])
        yield ScreenPart([""], 0, 0)
    yield from _proposal_parts(case, needed, whole=whole)


def _lacks_original(case: ReviewCase) -> bool:
    """Return whether the evidence lacks the record on which the recording first came out."""
    return any(question.kind == "missing_original" for question in case.decision.questions)


def _rows_shown(rows: Sequence[CandidateRow], verdict: Verdict | None) -> Sequence[CandidateRow]:
    """Return the candidates that have a key, are proposed, or are in a question."""
    questions = verdict.questions if isinstance(verdict, Open) else ()
    about = {mbid for question in questions for mbid in question.about}
    return [row for number, row in enumerate(rows)
            if number < len(KEYS) or row.is_proposed or row.release_group in about]  # fmt: skip


def _table(
    case: ReviewCase, verdict: Verdict | None, rows: Sequence[CandidateRow], *, whole: bool = False
) -> Sequence[CandidateLine]:
    """Return rows of candidates: label, date, countries, title, reason; if `whole`, releases."""
    why = reasons(case, verdict)
    places = [
        " ".join(
            [
                *(area_name(code) or "" for code in row.countries[:_MAX_COUNTRIES]),
                *[".."] * (len(row.countries) > _MAX_COUNTRIES),
            ]
        )
        for row in rows
    ]
    labels, width = max(len(row.label) for row in rows), max(map(len, places))
    return [
        CandidateLine(
            head=f"{'>' if row.is_proposed else ' '} {row.label:<{labels}}  {_day(row):<10}  "
            + (f"{place:<{width}}  " if width else ""),
            name=f"{row.kind} {row.title}",
            reason=why.get(row.release_group, ""),
            below=[*_releases(row)] if whole else [],
        )
        for row, place in zip(rows, places, strict=True)
    ]


def _day(row: CandidateRow) -> str:
    day = row.appeared.partition(",")[0]
    return day if day[:1].isdigit() else "-"


def _releases(row: CandidateRow) -> Iterator[str]:
    yield from labelled("", musicbrainz_page("release-group", row.release_group))
    for release in row.releases:
        yield from labelled(f"  {release.label}", release.description)


def _proposal_parts(case: ReviewCase, needed: str, *, whole: bool) -> Iterator[ScreenPart]:
    result, proposal = case.result, case.proposal
    if proposal:
        answer = case.labels.name_of(proposal.crg_mbid) if proposal.label else NO_GROUP
        if proposal.first_date:
            answer = f"first released {proposal.first_date}"
        by = f"by the model, confidence {proposal.confidence:.2f}" if result else "by the rules"
        yield ScreenPart([*labelled("proposed", f"{answer}, {by}")], 7, 1)
    if result is None:
        return
    yield ScreenPart([*labelled("because", result.rationale)], 2, 0)
    if whole:  # the checks and facts follow
        return
    if result.problem and needed not in result.problem:
        yield ScreenPart([*labelled("problem", result.problem)], 3, 0)
    for fact in sorted(result.facts, key=lambda fact: not fact.verified)[:1]:
        label, text = ("quote", f'"{fact.quote}"') if fact.quote else ("found", fact.value)
        yield ScreenPart([*labelled(label, f"{text} ({fact.source or 'no source'})")], 4, 1)


def case_lines(
    case: ReviewCase,
    verdict: Verdict | None,
    config: Config,
    *,
    lapsed: bool = False,
    whole: bool = False,
) -> Iterator[str]:
    """Yield a case; if `whole`, with releases, addresses, and a model's checks and facts."""
    head = [f"{path_text(case.path)}{_more(case)}"]
    for part in case_parts(case, verdict, config, head, lapsed=lapsed, whole=whole):
        yield from part.lines
    if whole and isinstance(verdict, Open):
        yield from labelled_list("missing", (question.brief for question in verdict.questions[1:]))
    if whole and case.result:
        yield from labelled("model", case.result.model_id)
        for label, text in outcome_rows(case.result, case.bundle, "group"):
            yield from labelled(label, text)
    yield from labelled_list("fix at", pages_to_edit(case, verdict))
    yield from labelled("decision", f"{case.record.id}, {local_time(case.record.decided_at_utc)}")
    if case.record.transcript_id:
        yield from labelled("transcript", f"canon review show {case.record.id} --transcript")


def next_call(case: ReviewCase, *, lapsed: bool) -> str:
    """Return the command that takes a case out of the queue."""
    command = ["decide"]
    verdict: list[str] = []
    if case.is_gone:
        command = ["review", "keep"]
    elif case.rows and not (lapsed or case.damage):
        command = ["review", "choose"]
        verdict = ["--first", "DATE"] if _lacks_original(case) else ["CANDIDATE"]
        if case.proposal and (case.proposal.label or case.proposes_only_date):
            command, verdict = ["review", "accept"], []
    return canon_call(*command, str(case.path), *verdict)


def _more(case: ReviewCase) -> str:
    gone = " (not there any more)" if case.is_gone else ""
    return f"{gone} (and {counted(case.files - 1, 'more file')})" if case.files > 1 else gone


def _decided(case: ReviewCase, verdict: Verdict | None = None) -> Iterator[str]:
    """Yield the decision, and what the rules decide now if that differs."""
    before = case.decision
    group = case.labels.id_of(before.crg_mbid) or before.crg_mbid or ""
    yield from labelled(before.state, f"{case.labels.name_of(group)}, by {before.decided_by}")
    stored = (before.crg_mbid, before.rr_mbid, before.crg_rule)
    if isinstance(verdict, Decided) and (verdict.crg, verdict.rr, verdict.crg_rule) != stored:
        now = f"{verdict.because}  [{verdict.crg_rule}]: decide it again"
        yield from labelled("rules now", now)


def settled_lines(
    case: ReviewCase, verdict: VerdictRecord | None, override: OverrideRecord | None = None
) -> Iterator[str]:
    """Yield why a case needs no verdict: it has one, or an override, or it is decided."""
    yield path_text(case.path)
    if verdict:
        why = f": {verdict.reason}" if verdict.reason else ""
        is_date = override and override.first_date and verdict.at_utc == override.set_at_utc
        if override and is_date and not verdict.crg_mbid:
            words = f"said: first released {override.first_date}"
        else:
            words = f"said {verdict.verdict}"
        text = f"a person {words}{why} ({local_time(verdict.at_utc)})"
        yield from labelled("reviewed", text)
    elif case.decision.state is State.DECIDED:
        yield from _decided(case)
    else:
        yield from labelled("decided", "an override for its recording decides it")


def case_object(case: ReviewCase, verdict: Verdict | None, config: Config) -> dict[str, Any]:
    """Return a case for JSON."""
    question = verdict and {
        "because": verdict.because,
        "missing_facts": verdict.missing_facts,
        "questions": verdict.questions if isinstance(verdict, Open) else (),
    }
    why = reasons(case, verdict)
    return queued_object(case, config) | {
        "question": question,
        "decided_by_rules_now": verdict.crg if isinstance(verdict, Decided) else None,
        "candidates": [
            msgspec.to_builtins(row) | {"why": why.get(row.release_group)} for row in case.rows
        ],
        "to_mend": pages_to_edit(case, verdict),
        "adjudication": msgspec.to_builtins(case.decision.adjudication),
        "year_answer": msgspec.to_builtins(case.decision.year_answer or None),
        "error": case.decision.error,
        "transcript_id": case.record.transcript_id,
    }


def verdict_lines(case: ReviewCase, words: str, result: VerdictResult) -> Iterator[str]:
    """Yield the effect of a verdict."""
    files = f", with {counted(result.files - 1, 'more file')}" if result.files > 1 else ""
    yield f"{path_text(case.path)}: {words}{files}"
    if result.saved.override:
        yield from override_lines(result.saved.override, OverrideEffect(bundle=case.bundle))
    yield from labelled_list("note", _notes(result))


def _notes(result: VerdictResult) -> tuple[str, ...]:
    return (*result.notes, DECIDE_AGAIN) if result.decide_again else result.notes


def override_lines(override: OverrideRecord, effect: OverrideEffect) -> Iterator[str]:
    """Yield an override as a short block, with the names and files that it affects."""
    names = entity_names(effect.bundle)
    if effect.bundle:
        yield from labelled("recording", effect.bundle.name)
    page = musicbrainz_page("recording", override.recording_mbid)
    yield from labelled("" if effect.bundle else "recording", page)
    if override.crg_mbid:
        page = musicbrainz_page("release-group", override.crg_mbid)
        yield from labelled_list("belongs to", filter(None, [names.get(override.crg_mbid), page]))
        page = musicbrainz_page("release", override.rr_mbid) if override.rr_mbid else "by the rules"
        yield from labelled_list("release", filter(None, [names.get(override.rr_mbid or ""), page]))
    yield from labelled("first date", override.first_date)
    yield from labelled("same as", musicbrainz_page("recording", override.same_as or ""))
    yield from labelled("because", override.reason)
    yield from labelled("set at", local_time(override.set_at_utc))
    yield from labelled_list("files", (path_text(path) for path in effect.files))


def verdict_object(case: ReviewCase, words: str, result: VerdictResult) -> dict[str, Any]:
    """Return the effect of a verdict for JSON."""
    return {
        "decision_id": case.record.id,
        "done": words,
        "files": result.files,
        "override": result.saved.override,
        "in_place_of": result.saved.before,
        "notes": _notes(result),
    }


def unwritten_lines(why: str, files: Sequence[UnwrittenRecord]) -> Iterator[str]:
    """Yield the reason why files were not written, with the first of them."""
    yield from wrap(f"not written, {counted(len(files), 'file')}: {why}", "", 2)
    for file in files[:_FEW_FILES]:
        yield f"  {path_text(path_from_bytes(file.path))}"
    if len(files) > _FEW_FILES:
        yield f"  and {counted(len(files) - _FEW_FILES, 'other')}"
