"""The decision of the rules on an evidence bundle, and a person's override."""

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Decided, Open, Override, Question, RuleStep, Verdict
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.rules.candidates import Candidate, Role
from chart_binder.rules.contest import Contest, contest_of, contest_on_trial
from chart_binder.rules.explain import (
    explain_losers,
    explain_losers_to_override,
    recordings_disagree,
    undecided,
)
from chart_binder.rules.premiere import RuleResults, apply_rules
from chart_binder.rules.questions import (
    DraftQuestion,
    Undecided,
    contradictions_that_matter,
    find_contradictions,
    questions_of,
    records_of_unknown_type,
    releases_of_unknown_status,
    statuses_that_matter,
    types_that_matter,
)
from chart_binder.rules.recordings import (
    SortedRecordings,
    part_mismatch,
    recording_of,
    sorted_recordings,
    via_sibling,
)
from chart_binder.rules.representative import INDETERMINATE, choose_release

MANUAL_OVERRIDE = "MANUAL_OVERRIDE"


def decide(
    bundle: EvidenceBundle, settings: RulesConfig, override: Override | None = None
) -> Verdict:
    """Return the decision of the rules on evidence.

    The order of the evidence makes no difference. If the answer depends on an unknown fact, the
    verdict is open and has the questions that would settle it. Unknown facts are the exact day of a
    partial date, a missing status or type, and which of two contradictory descriptions is right. A
    person's `override` precedes every rule.
    """
    if override:
        return _overridden(override, bundle, settings)
    return bundle.once(("verdict", settings), lambda: _by_rules(bundle, settings))


def group_settled(bundle: EvidenceBundle, settings: RulesConfig) -> ReleaseGroupId | None:
    """Return the group that the rules decide for, or None if the case is open; ask no question."""
    contest = contest_of(bundle, settings)
    crg = bundle.once(("settled", settings), lambda: _settle(bundle, contest))
    return crg if bundle.complete is not False else None


def _by_rules(bundle: EvidenceBundle, settings: RulesConfig) -> Verdict:
    contest, recordings = contest_of(bundle, settings), sorted_recordings(bundle)
    verdict = _decided_or_undecided(bundle, contest, recordings)
    if isinstance(verdict, Decided):
        if bundle.complete is False:
            return _doubt_incomplete(verdict, bundle)
        if apart := part_mismatch(bundle, recordings.possible):
            return _doubt_recording(verdict, f"{apart}: is it the same?", apart)
        return _doubt_file_name(verdict, bundle) if bundle.is_named_by_file else verdict

    def settle(tried: EvidenceBundle) -> ReleaseGroupId | None:
        return _settle(tried, contest_on_trial(tried, contest))

    questions = questions_of(verdict.questions, bundle, settle)
    losers = explain_losers(contest, None, recordings.excluded)
    because = verdict.because
    if bundle.complete is False:
        because = f"{because}; {_cut_short(bundle)}"
    return Open(because, questions, verdict.path, losers)


def _cut_short(bundle: EvidenceBundle) -> str:
    unread = bundle.provenance and bundle.provenance.unread
    return f"the evidence is cut short ({unread or 'more was found than was read'})"


def _doubt_incomplete(verdict: Decided, bundle: EvidenceBundle) -> Open:
    """Return an open case for incomplete evidence, with the decision on the part that was read."""
    text = f"{_cut_short(bundle)}: does anything that was not read show an earlier release?"
    return Open(
        f"the evidence is cut short; by what was read, {verdict.because}",
        (Question("missing_original", text, (verdict.crg,)),),
        verdict.path,
        verdict.rivals,
        verdict,
    )


def _doubt_file_name(verdict: Decided, bundle: EvidenceBundle) -> Open:
    """Return an open case for a recording known only from the file's name, with its decision."""
    artist = bundle.tags.get("artist") or bundle.performer.name
    title = bundle.tags.get("title") or bundle.recording_title
    text = f"is the file what its name says, {title!r} by {artist!r}?"
    return _doubt_recording(verdict, text, "artist or title are from the file's name")


def _doubt_recording(verdict: Decided, text: str, doubt: str) -> Open:
    """Return an open case for a recording that may not be the file's, with its decision."""
    because = f"{doubt}; if it is right, {verdict.because}"
    question = Question("which_copy", text, (verdict.recording,))
    return Open(because, (question,), verdict.path, verdict.rivals, verdict)


def _decided_or_undecided(
    bundle: EvidenceBundle, contest: Contest, recordings: SortedRecordings
) -> Decided | Undecided:
    """Return the decision, or the undecided case if the decision depends on an unknown fact."""
    results = apply_rules(contest)
    chosen = results.chosen
    apart = None
    if chosen or recordings.artists:
        apart = recordings_disagree(chosen, contest, results, recordings)
    if apart or chosen is None:
        return apart or undecided(contest, results)
    verdict = _decided(chosen, contest, results, recordings)
    unknown, questions = _ambiguities(chosen, bundle, contest)
    if questions:
        because = f"{unknown} is unknown, and the decision turns on it"
        return Undecided(because, questions, verdict.path)
    return verdict


def _settle(bundle: EvidenceBundle, contest: Contest) -> ReleaseGroupId | None:
    """Return the chosen group, or None if the choice depends on anything ambiguous."""
    chosen = _choose(contest, sorted_recordings(bundle))
    if chosen is None or _ambiguities(chosen, bundle, contest)[1]:
        return None
    return chosen.id


def _choose(contest: Contest, recordings: SortedRecordings) -> Candidate | None:
    """Return the chosen candidate or None; releases of unknown status count as unofficial."""
    results = apply_rules(contest)
    if results.chosen and recordings_disagree(results.chosen, contest, results, recordings):
        return None
    return results.chosen


def _decided(
    chosen: Candidate, contest: Contest, results: RuleResults, recordings: SortedRecordings
) -> Decided:
    path, because, rule = [], "", ""
    for rule, ruling in results.rulings:
        because = ruling.reason
        path.append(RuleStep(rule, because))
        if ruling.choices:
            break
    release = choose_release(chosen, contest.artist.country, contest.settings)
    path.append(RuleStep(release.rule, release.reason))
    rr = release.release.mb_release_id if release.release else None
    recording = recording_of(chosen.recordings, rr, contest.bundle)
    return Decided(
        crg=chosen.id,
        rr=rr,
        recording=recording,
        crg_rule=rule,
        rr_rule=release.rule,
        because=because + via_sibling(chosen.recordings, recording),
        path=tuple(path),
        rivals=explain_losers(contest, chosen, recordings.excluded),
        missing_facts=() if rr else (f"which release of {chosen.name} contains the recording?",),
    )


def _ambiguities(
    chosen: Candidate, bundle: EvidenceBundle, contest: Contest
) -> tuple[str, tuple[DraftQuestion, ...]]:
    """Return what the decision depends on besides dates, and the questions that would settle it.

    Both are empty if it depends on nothing else.
    """

    def settle(tried: EvidenceBundle) -> ReleaseGroupId | None:
        choice = _choose(contest_on_trial(tried, contest), sorted_recordings(tried))
        return choice.id if choice else None

    if not bundle.all_ids.is_each_once:
        clashes = find_contradictions(contest.recordings, contest.candidates)
        if clashes and (drafts := contradictions_that_matter(chosen.id, clashes, bundle, settle)):
            return "which of two descriptions is right", drafts
    statuses = releases_of_unknown_status(contest.candidates)
    untyped = records_of_unknown_type(contest.candidates)
    if not (statuses or untyped):
        return "", ()
    until = chosen.last + contest.settings.lead_window_days
    if chosen.role is Role.COMPILATION:  # any work may rule it out, however late it is
        until = LAST_DAY
    if questions := statuses_that_matter(chosen.id, statuses, until, bundle, settle):
        return "the status of a release", questions
    return "the type of a record", types_that_matter(chosen.id, untyped, until, bundle, settle)


def _overridden(override: Override, bundle: EvidenceBundle, settings: RulesConfig) -> Decided:
    """Return a person's decision; the rules add the recording, and the release if none is given."""
    contest, recordings = contest_of(bundle, settings), sorted_recordings(bundle)
    crg = bare_id(override.crg)
    chosen = next((group for group in contest.candidates if bare_id(group.id) == crg), None)
    because = override.reason or "a person decided so"
    path = [RuleStep(f"CRG:{MANUAL_OVERRIDE}", because)]
    rr = ReleaseId(bare_id(override.rr)) if override.rr else None
    rule = f"RR:{MANUAL_OVERRIDE}" if rr else INDETERMINATE
    if rr is None and chosen:
        release = choose_release(chosen, contest.artist.country, settings)
        rr = release.release.mb_release_id if release.release else None
        rule = release.rule
        path.append(RuleStep(rule, release.reason))
    carriers = tuple(chosen.recordings if chosen else recordings.possible)
    return Decided(
        crg=chosen.id if chosen else ReleaseGroupId(crg),
        rr=rr,
        recording=recording_of(carriers, rr, bundle) if carriers else RecordingId(""),
        crg_rule=f"CRG:{MANUAL_OVERRIDE}",
        rr_rule=rule,
        because=because,
        path=tuple(path),
        rivals=explain_losers_to_override(contest, crg, recordings.excluded),
    )
