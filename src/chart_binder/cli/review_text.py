"""Cases of the review queue as text and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from chart_binder.cli.decision_text import (
    NO_GROUP,
    missing_facts,
    musicbrainz_page,
    outcome_rows,
    recording_lines,
)
from chart_binder.cli.output import (
    display_width,
    fit,
    labelled,
    labelled_list,
    printable,
    terminal_width,
    wrap,
)
from chart_binder.domain.records import UnwrittenRecord, VerdictRecord, local_time
from chart_binder.domain.verdict import Decided, Open, OverrideRecord, Verdict
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.errors import counted
from chart_binder.files import path_text
from chart_binder.jobs.decide import State, advice_for
from chart_binder.jobs.overrides import VerdictResult
from chart_binder.jobs.review import CandidateRow, ReviewCase
from chart_binder.jobs.stored_decisions import path_from_bytes

NO_ALBUM = "no album"
_GAP = 2
_HEAD = ("", "", "appeared", "country", "releases", "type", "title")
_MAX_COUNTRIES = 4
_MIN_TITLE = 8
_FEW_RELEASES = 3
_MOST_LINES, _MOST_ROWS = 15, 3
_FEW_FILES = 3
_HEADLINES = {State.REVIEW: "for review"}
_GONE = "the file is gone: keep takes it out of the queue"
_LAPSED = "the override that decided it was removed: canon decide, or canon batch, decides it again"


def album_cases_lines(cases: Sequence[ReviewCase]) -> Iterator[str]:
    """Yield the cases of one album: a line with counts, then each as a short block."""
    folder = cases[0].file.album.folder
    counts = Counter(case.decision.state for case in cases)
    texts = [f"{counts[state]} {state}" for state in State if counts[state]]
    if gone := sum(case.is_gone for case in cases):
        texts.append(f"{gone} of them gone")
    head = f"{cases[0].album or NO_ALBUM}: {', '.join(texts)}"
    yield from wrap(f"{head}  [{path_text(folder)}]", "", 2)
    for case in cases:
        yield ""
        yield from _queued_lines(case, folder)


def _queued_lines(case: ReviewCase, folder: Path) -> Iterator[str]:
    path = case.path
    yield from _heading(case, path.relative_to(folder) if path.is_relative_to(folder) else path)
    yield from _decision(case)
    yield from _damage(case)
    if case.decision.state is State.DECIDED:  # it is listed only because its override was removed
        yield from labelled("to do", _LAPSED)
    yield from labelled("", case.problem)
    yield from labelled_list("missing", missing_facts(case.decision))
    yield from labelled("decision", case.kept.id)


def queued_object(case: ReviewCase) -> dict[str, Any]:
    """Return a case of the list for JSON."""
    of_decision = (
        "state", "artist", "title", "first_release", "rationale", "missing_facts", "questions",
    )  # fmt: skip
    return {
        "decision_id": case.kept.id,
        "files": case.files,
        "is_there": not case.is_gone,
        "damage": case.damage,
        **{name: getattr(case.decision, name) for name in of_decision},
        "album": case.album,
        "name": case.bundle.name if case.bundle else None,
        "evidence_hash": case.kept.evidence_hash,
        "decided_at_utc": case.kept.decided_at_utc,
        "proposal": case.proposal,
        "problem": case.problem,
    }


def case_lines(
    case: ReviewCase,
    rules: Verdict | None,
    *,
    lapsed: bool = False,
    whole: bool = False,
) -> Iterator[str]:
    """Yield what a person needs to judge a case; `rules` is what they say now."""
    yield from _heading(case)
    yield from _outcome(case)
    yield from labelled("decision", f"{case.kept.id}, {local_time(case.kept.decided_at_utc)}")
    yield from _damage(case)
    if lapsed:
        yield from labelled("to do", _LAPSED)
    yield from _rules_now(case, rules)
    if isinstance(rules, Open):
        yield from labelled("open", rules.because)
        yield from labelled_list("missing", rules.missing_facts)
    if case.rows:
        yield ""
        yield from _table(case.rows)
    for row in case.rows:
        yield from _releases(row, None if whole else _FEW_RELEASES)
    yield from labelled_list("to mend", mending_pages(case, rules))
    yield from _proposal(case)


def settled_lines(case: ReviewCase, verdict: VerdictRecord | None) -> Iterator[str]:
    """Yield that nobody has to look at a case: a person decided it, or it was decided before."""
    yield path_text(case.path)
    if verdict:
        why = f": {verdict.reason}" if verdict.reason else ""
        said = f"a person said {verdict.verdict}{why} ({local_time(verdict.at_utc)})"
        yield from labelled("reviewed", said)
    elif case.decision.state is State.DECIDED:
        yield from _decision(case)
    else:
        yield from labelled("decided", "an override for its recording decides it")


_MENDED: Mapping[str, Sequence[str]] = {
    "date": ("release", "release-group"),
    "status": ("release",),
    "type": ("release-group",),
    "contradiction": ("release", "release-group"),
    "missing_original": ("recording", "release"),
    "which_copy": ("recording",),
    "tie": ("release",),
}
"""What is to be edited at MusicBrainz to answer a question, by its kind, the best first."""
_MOST_PAGES = 3


def mending_pages(case: ReviewCase, rules: Verdict | None) -> Sequence[str]:
    """Return the pages at MusicBrainz on which what a case lacks can be added."""
    if case.bundle is None or not isinstance(rules, Open):
        return ()
    groups = {group.mb_rg_id: group for group in case.bundle.groups}
    recordings = [one for one in case.bundle.recording_candidates if not one.is_sibling]
    pages: dict[str, None] = {}
    for question in rules.questions:
        ids: dict[str, list[str]] = {"recording": [], "release-group": [], "release": []}
        for mbid in question.about:
            group = groups.get(ReleaseGroupId(mbid))
            kind = "release" if mbid in case.labels.home else "recording"
            ids["release-group" if group else kind].append(mbid)
            if group and question.kind in ("date", "tie"):
                vague = (one for one in group.editions if one.when.first < one.when.last)
                ids["release"] += [one.mb_release_id for one in vague if one.is_official]
        kinds = _MENDED[question.kind]
        mended = next((kind for kind in kinds if ids[kind]), kinds[0])
        named = ids[mended] or [one.mb_recording_id for one in recordings]
        if ids[mended] or mended == "recording":
            pages |= {f"{musicbrainz_page(mended, mbid)}/edit": None for mbid in named}
    return [*pages][:_MOST_PAGES]


def brief_lines(case: ReviewCase, rules: Verdict | None, *, lapsed: bool = False) -> list[str]:
    """Return what a person needs first, in fifteen lines at most; `case_lines` has everything."""
    lines = [*_heading(case), *_damage(case), *_outcome(case)]
    if lapsed:
        lines += labelled("to do", _LAPSED)
    lines += _rules_now(case, rules)
    if isinstance(rules, Open):
        lines += labelled("open", next(iter(rules.missing_facts), rules.because))
    facts = case.result.facts if case.result else ()
    for fact in sorted(facts, key=lambda fact: not fact.verified)[:1]:
        lines += labelled("quote", f'"{fact.quote or fact.value}" ({fact.source or "no source"})')
    if rows := _candidates_asked_about(case.rows, rules):
        lines += _table(rows)
    if len(rows) < len(case.rows):
        lines.append(f"and {counted(len(case.rows) - len(rows), 'more candidate')}: m shows all")
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = ["...  m shows all"]
    return lines


def _rules_now(case: ReviewCase, rules: Verdict | None) -> Iterator[str]:
    """Yield what the rules decide now, where that is not what was decided."""
    if isinstance(rules, Decided):
        before = case.decision
        known = (before.crg_mbid, before.rr_mbid, before.crg_rule)
        if (rules.crg, rules.rr, rules.crg_rule) != known:
            now = f"{rules.because}  [{rules.crg_rule}]: decide it again"
            yield from labelled("rules now", now)


def _candidates_asked_about(
    rows: Sequence[CandidateRow], rules: Verdict | None
) -> list[CandidateRow]:
    """Return the candidates that matter most, in their order: proposed, asked about, earliest."""
    questions = rules.questions if isinstance(rules, Open) else ()
    about = {mbid for one in questions for mbid in one.about}
    ranked = sorted(rows, key=lambda row: (not row.is_proposed, row.release_group not in about))
    return [row for row in rows if row in ranked[:_MOST_ROWS]]


def case_object(case: ReviewCase, rules: Verdict | None) -> dict[str, Any]:
    """Return a case for JSON."""
    question = rules and {
        "because": rules.because,
        "missing_facts": rules.missing_facts,
        "questions": rules.questions if isinstance(rules, Open) else (),
    }
    return queued_object(case) | {
        "question": question,
        "decided_by_rules_now": rules.crg if isinstance(rules, Decided) else None,
        "candidates": case.rows,
        "to_mend": mending_pages(case, rules),
        "adjudication": msgspec.to_builtins(case.result),
        "error": case.decision.error,
        "transcript_id": case.kept.transcript_id,
    }


def ruled_lines(case: ReviewCase, done: str, ruled: VerdictResult) -> Iterator[str]:
    """Yield what a person's verdict led to."""
    files = f", with {counted(ruled.files - 1, 'more file')}" if ruled.files > 1 else ""
    yield f"{path_text(case.path)}: {done}{files}"
    override = ruled.saved.override
    if override and override.crg_mbid:
        is_known = case.labels.label_of(override.crg_mbid)
        name = case.labels.name_of(override.crg_mbid) if is_known else NO_GROUP
        yield from labelled("belongs to", name)
        yield from labelled("", musicbrainz_page("release-group", override.crg_mbid))
        release = override.rr_mbid and musicbrainz_page("release", override.rr_mbid)
        yield from labelled("release", release)
    if override:
        yield from date_lines(override)
        yield from labelled("recording", musicbrainz_page("recording", override.recording_mbid))
        yield from labelled("because", override.reason)
    for note in ruled.notes:
        yield from labelled("note", note)


def date_lines(override: OverrideRecord) -> Iterator[str]:
    """Yield what an override says of the first date and of another recording."""
    yield from labelled("first out", override.first_date)
    yield from labelled("same as", musicbrainz_page("recording", override.same_as or ""))


def ruled_object(case: ReviewCase, done: str, ruled: VerdictResult) -> dict[str, Any]:
    """Return what a person's verdict led to, for JSON."""
    return {
        "decision_id": case.kept.id,
        "done": done,
        "files": ruled.files,
        "override": ruled.saved.override,
        "in_place_of": ruled.saved.before,
        "notes": ruled.notes,
    }


def _heading(case: ReviewCase, path: Path | None = None) -> Iterator[str]:
    more = f" (and {counted(case.files - 1, 'more file')})" if case.files > 1 else ""
    gone = " (not there any more)" if case.is_gone else ""
    yield f"{path_text(path or case.path)}{gone}{more}"
    yield from recording_lines(case.decision)


def _damage(case: ReviewCase) -> Iterator[str]:
    if case.damage:
        yield from labelled("damaged", f"{case.damage}; decide it again: canon decide")


def _outcome(case: ReviewCase) -> Iterator[str]:
    """Yield the decision, or why there is none and what to do about it."""
    if case.decision.failure:
        yield from labelled(case.decision.state, case.decision.failure)
        yield from labelled("to do", _GONE if case.is_gone else advice_for(case.decision.cause))
    else:
        yield from _decision(case)


def _decision(case: ReviewCase) -> Iterator[str]:
    """Yield what was decided, or what is proposed where nothing was."""
    decision, proposal = case.decision, case.proposal
    if decision.state is State.DECIDED and decision.crg_mbid:
        group = case.labels.id_of(decision.crg_mbid) or decision.crg_mbid
        said = f"{case.labels.name_of(group)}, by {decision.decided_by}"
    elif proposal:
        title = case.labels.titles.get(proposal.crg_mbid)
        name = f"{proposal.label} '{title}'" if title else NO_GROUP
        by = f"confidence {proposal.confidence:.2f}" if case.result else "by the rules"
        said = f"{name} is proposed, {by}"
    else:
        said = decision.failure or decision.rationale or "nothing is proposed"
    return labelled(_HEADLINES.get(decision.state, decision.state), said)


def _table(rows: Sequence[CandidateRow]) -> Iterator[str]:
    lines = [_HEAD, *map(_cells, rows)]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    taken = sum(widths[:-1]) + _GAP * (len(_HEAD) - 1)
    widths[-1] = max(terminal_width() - taken, _MIN_TITLE)
    for line in lines:
        cells = (fit(text, width) for text, width in zip(line, widths, strict=True))
        yield (" " * _GAP).join(cells).rstrip()


def _cells(row: CandidateRow) -> tuple[str, ...]:
    countries = " ".join(row.countries[:_MAX_COUNTRIES])
    more = " .." if len(row.countries) > _MAX_COUNTRIES else ""
    mark = ">" if row.is_proposed else ""
    releases = str(len(row.releases))
    found = f"{countries}{more}" or "-"
    return mark, row.label, row.appeared, found, releases, row.kind, printable(row.title)


def _releases(row: CandidateRow, most: int | None) -> Iterator[str]:
    yield from labelled(row.label, musicbrainz_page("release-group", row.release_group))
    for release in row.releases[:most]:
        yield from labelled(f"  {release.label}", release.said)
    if most is not None and len(row.releases) > most:
        yield from labelled("", f"and {len(row.releases) - most} more; -v shows all")


def _proposal(case: ReviewCase) -> Iterator[str]:
    result = case.result
    if result is None:
        return
    yield ""
    model = result.model_id or "of no name"
    yield from labelled("model", f"{model}: {result.rationale or 'no reason'}")
    for label, text in outcome_rows(result, case.bundle):
        yield from labelled(label.removeprefix("release "), text)
    if case.kept.transcript_id:
        yield from labelled("transcript", f"canon review show {case.kept.id} --transcript")


def unwritten_lines(why: str, files: Sequence[UnwrittenRecord]) -> Iterator[str]:
    """Yield the reason why files were not written, with the first of them."""
    yield from wrap(f"not written, {counted(len(files), 'file')}: {why}", "", 2)
    for one in files[:_FEW_FILES]:
        yield f"  {path_text(path_from_bytes(one.path))}"
    if len(files) > _FEW_FILES:
        yield f"  and {counted(len(files) - _FEW_FILES, 'other')}"
