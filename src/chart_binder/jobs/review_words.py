"""The words for cases of the review queue that the terminal and the pages share."""

from collections.abc import Mapping, Sequence

from chart_binder.config import Config
from chart_binder.domain.verdict import Decided, Open, Verdict
from chart_binder.domain.vocabulary import ReleaseGroupId
from chart_binder.jobs.decision import State, advice_for
from chart_binder.jobs.named_records import IN_TERMINAL, Hints
from chart_binder.jobs.review import ReviewCase, asked_briefly, missing_sources
from chart_binder.jobs.wording import musicbrainz_page

KEYS = "123456789"
"""The keys of the first candidates, in order."""
LAPSED = "the override that decided it has been removed: decide it again with `canon decide`"
_PAGES_TO_EDIT: Mapping[str, Sequence[str]] = {
    "date": ("release", "release-group"),
    "status": ("release",),
    "type": ("release-group",),
    "contradiction": ("release", "release-group"),
    "missing_original": ("recording", "release"),
    "which_copy": ("recording",),
    "tie": ("release",),
}
"""The pages to edit at MusicBrainz to answer a question, by its kind, the best first."""
_MOST_PAGES = 3


def short_need(case: ReviewCase, config: Config, hints: Hints = IN_TERMINAL) -> str:
    """Return in a few words why a case needs a person."""
    if case.damage:
        return f"damaged, decide it again: {case.damage}"
    if case.is_gone:
        return f"the file is gone: {hints.keep}"
    if case.decision.state is State.DECIDED:
        return _year_proposed(case) or LAPSED
    if case.decision.failure:
        return case.decision.failure
    if short := missing_sources(case, config.llm, config.rules):
        return short
    proposal = case.proposal
    title = case.labels.titles.get(proposal.crg_mbid) if proposal else None
    proposed = f"'{title}' is proposed" if title else ""
    return "; ".join(filter(None, (asked_briefly(case), proposed))) or _need_by_rules(case, None)


def _year_proposed(case: ReviewCase) -> str | None:
    """Return the proposal for the year alone, if there is one."""
    date = case.proposal.first_date if case.proposal else None
    return date and f"the group is decided, and a first date is proposed: {date}"


def need_text(
    case: ReviewCase,
    verdict: Verdict | None,
    config: Config,
    hints: Hints = IN_TERMINAL,
    *,
    lapsed: bool,
) -> str:
    """Return in a sentence why a case needs a person."""
    if case.damage:
        return f"{case.damage}; decide it again: canon decide"
    if lapsed:
        return LAPSED
    if failure := case.decision.failure:
        if case.is_gone:
            return f"{failure}: the file is gone: {hints.keep}"
        return f"{failure}: {advice_for(case.decision.cause)}"
    if case.proposes_only_date:
        return short_need(case, config, hints)
    return missing_sources(case, config.llm, config.rules) or _need_by_rules(case, verdict)


def _need_by_rules(case: ReviewCase, verdict: Verdict | None) -> str:
    if isinstance(verdict, Decided):
        return f"the rules decide it now ({verdict.because}): run `canon decide`"
    if isinstance(verdict, Open) and verdict.questions:
        return verdict.questions[0].brief
    return case.decision.rationale or case.problem or "say what is right"


def pages_to_edit(case: ReviewCase, verdict: Verdict | None) -> Sequence[str]:
    """Return the pages at MusicBrainz on which the missing facts can be entered."""
    if case.bundle is None or not isinstance(verdict, Open):
        return ()
    groups = {group.mb_rg_id: group for group in case.bundle.groups}
    candidates = case.bundle.recording_candidates
    own_ids = [item.mb_recording_id for item in candidates if not item.is_sibling]
    pages: dict[str, None] = {}
    for question in verdict.questions:
        ids: dict[str, list[str]] = {"recording": [], "release-group": [], "release": []}
        for mbid in question.about:
            group = groups.get(ReleaseGroupId(mbid))
            kind = "release" if mbid in case.labels.home else "recording"
            ids["release-group" if group else kind].append(mbid)
            if group and question.kind in ("date", "tie"):
                official = (release for release in group.editions if release.is_official)
                vague = (release for release in official if release.when.first < release.when.last)
                ids["release"] += [release.mb_release_id for release in vague]
        kinds = _PAGES_TO_EDIT[question.kind]
        kind_to_edit = next((kind for kind in kinds if ids[kind]), kinds[0])
        mbids = ids[kind_to_edit] or own_ids
        if ids[kind_to_edit] or kind_to_edit == "recording":
            pages |= {f"{musicbrainz_page(kind_to_edit, mbid)}/edit": None for mbid in mbids}
    return [*pages][:_MOST_PAGES]
