"""What the page of a case shows: the question, the candidates, the proposal with its facts."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chart_binder.domain.records import YEAR, local_time
from chart_binder.domain.verdict import Open, Verdict
from chart_binder.domain.vocabulary import area_name
from chart_binder.files import path_text
from chart_binder.jobs import wording
from chart_binder.jobs.decision import State
from chart_binder.jobs.named_records import ON_PAGE
from chart_binder.jobs.review import (
    CandidateRow,
    ReviewCase,
    override_removed,
    overrides_near,
    reasons,
)
from chart_binder.jobs.review_index import QueueItem
from chart_binder.jobs.review_session import Likeness, ReviewSession, alike, why_settled
from chart_binder.jobs.review_words import KEYS, need_text, pages_to_edit
from chart_binder.pages.audio import media_type
from chart_binder.pages.timeline import timeline
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.labels import labelled_candidates

if TYPE_CHECKING:
    from chart_binder.domain.evidence import Release

_LIKENESS = {
    Likeness.ALBUM: "of this album",
    Likeness.REASON: "with this reason",
    Likeness.PROPOSAL: "for this record",
}


class CandidateView(NamedTuple):
    """A candidate with the key that chooses it, and its first release in parts."""

    key: str
    row: CandidateRow
    why: str
    country: str
    label: str
    format: str


def case_values(
    session: ReviewSession, case: ReviewCase, item: QueueItem | None, items: Sequence[QueueItem]
) -> dict[str, object]:
    """Return the values of the template `case.html`."""
    config, decision = session.config, case.decision
    verdict = case.present_verdict(config.rules)
    lapsed = override_removed(case, overrides_near(session.store, case))
    candidates = [*labelled_candidates(case.bundle)] if case.bundle else []
    scale = timeline(candidates)
    views = _candidates(case, verdict, dict(candidates))
    need = need_text(case, verdict, config, ON_PAGE, lapsed=lapsed)
    is_open = case.proposes_only_date or lapsed or decision.state is not State.DECIDED
    first = decision.first_release
    return {
        "case": case,
        "state": YEAR if case.proposes_only_date else decision.state,
        "artist": decision.artist or _tag(case, "artist"),
        "heading": decision.title or _tag(case, "title") or path_text(case.path.name),
        "album": case.album,
        "path": path_text(case.path),
        "has_audio": not case.is_gone
        and decision.state is not State.UNREADABLE
        and media_type(case.path) is not None,
        "first": wording.first_release_text(first) if first else None,
        "doubt": first.because if first and not first.year_certain else None,
        "question": _question(case, verdict) if is_open and not lapsed else None,
        "need": need if is_open else None,
        "shown": [view for view in views if view.key or view.row.is_proposed],
        "hidden": [view for view in views if not (view.key or view.row.is_proposed)],
        "timeline": scale,
        "rows": {row.label: row for row in scale.rows} if scale else {},
        "can_accept": case.proposal is not None
        and (case.proposes_only_date or bool(case.proposal.label)),
        "alike": _alike(items, item),
        "alike_keys": {"album": "f", "reason": "e", "proposal": "g"},
        "fix_at": pages_to_edit(case, verdict),
        "decided_at": local_time(case.record.decided_at_utc),
        "status": _state(session, case),
        **_proposal(case),
    }


def _question(case: ReviewCase, verdict: Verdict | None) -> str | None:
    """Return the first open question about the record in a sentence, if there is one."""
    is_about_record = not (case.damage or case.decision.failure or case.proposes_only_date)
    if is_about_record and isinstance(verdict, Open) and verdict.questions:
        return verdict.questions[0].brief
    return None


def _tag(case: ReviewCase, name: str) -> str | None:
    return next(iter(case.file.fields.get(name, ())), None)


def _state(session: ReviewSession, case: ReviewCase) -> dict[str, object]:
    """Return whether a case waits; if not, why, and what can be taken back."""
    if session.waits(case):
        return {"waits": True, "can_undo": False}
    text, latest = why_settled(session.store, case)
    here = session.done.get(case.record.id)
    has_verdict = here or session.store.verdicts.on_equal(case.record)
    is_latest = latest == case.record.id
    return {
        "waits": False, "settled": f"your verdict: {here.words}" if here else text,
        "can_undo": is_latest and has_verdict, "latest": None if is_latest else latest,
    }  # fmt: skip


def _candidates(
    case: ReviewCase, verdict: Verdict | None, candidates: Mapping[str, Candidate]
) -> list[CandidateView]:
    why = reasons(case, verdict)
    keys = dict(zip((row.label for row in case.rows), KEYS, strict=False))
    return [
        CandidateView(
            keys.get(row.label, ""), row, why.get(row.release_group, ""),
            *_first_release(candidates[row.label]),
        )
        for row in case.rows
    ]  # fmt: skip


def _first_release(candidate: Candidate) -> tuple[str, str, str]:
    """Return country, label and format of the first release, each as far as it is known."""
    releases: Sequence[Release] = candidate.official or candidate.unofficial
    first = min(releases, key=lambda release: (release.when.last, release.mb_release_id),
                default=None)  # fmt: skip
    if first is None:
        return "", "", ""
    return area_name(first.place) or "", first.label or "", first.format or ""


def _proposal(case: ReviewCase) -> dict[str, object]:
    """Return what is proposed in words, by whom, and the facts by claim."""
    proposal, result = case.proposal, case.result
    named = None
    if proposal:
        group = case.labels.name_of(proposal.crg_mbid) if proposal.label else wording.NO_GROUP
        named = f"first released {proposal.first_date}" if proposal.first_date else group
    return {
        "proposed": named,
        "result": result,
        "problem": case.problem,
        "confidence": proposal.confidence if proposal and result else None,
        "facts": wording.facts_by_claim(result.facts) if result else (),
        "checks": wording.shown_checks(result) if result else (),
        "subjects": wording.entity_names(case.bundle, whole=True),
    }


def _alike(items: Sequence[QueueItem], item: QueueItem | None) -> list[tuple[str, str, int]]:
    """Return in what other proposals are like this one, in words, and how many there are."""
    if item is None or not item.proposal:
        return []
    counts = [(by, sum(1 for _ in alike(items, item, by))) for by in Likeness]
    return [(by.value, _LIKENESS[by], count) for by, count in counts if count > 1]
