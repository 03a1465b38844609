"""The rules decide where a recording came out, or say what is missing to decide it."""

from chart_binder.config import RulesConfig
from chart_binder.domain.dates import LAST_DAY
from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.verdict import Considered, Decided, Open, Override, Verdict
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.rules.ambiguity import (
    contradictions_among,
    turning,
    unsettled,
    unsure_among,
    untold,
    untyped_among,
)
from chart_binder.rules.candidates import Candidate, Role
from chart_binder.rules.contest import Contest, contest
from chart_binder.rules.explain import overruled_rivals, rivals
from chart_binder.rules.premiere import Weighed, weigh
from chart_binder.rules.questions import left_open, objection_to
from chart_binder.rules.recordings import Lineup, line_up, standing_on
from chart_binder.rules.representative import INDETERMINATE, choose

MANUAL_OVERRIDE = "MANUAL_OVERRIDE"


def overruled(
    override: Override, field: Contest, lineup: Lineup, bundle: EvidenceBundle, alone: Verdict
) -> Decided:
    """Return what a person ruled; the release and the recording by the rules, where not given.

    `alone` is what the rules say without the person.
    """
    crg = bare_id(override.crg)
    same = (one for one in field.candidates if bare_id(one.group.mb_rg_id) == crg)
    chosen = next(same, None)
    said = override.reason or "a person ruled so"
    path = [Considered(f"CRG:{MANUAL_OVERRIDE}", said)]
    rr = ReleaseId(bare_id(override.rr)) if override.rr else None
    rule = f"RR:{MANUAL_OVERRIDE}"
    carriers = tuple(chosen.carriers if chosen else lineup.kept)
    if rr is None and chosen:
        release = choose(chosen.official, chosen.group, field.artist.country, field.knobs)
        rr = release.release.mb_release_id if release.release else None
        rule = release.rule
        path.append(Considered(rule, release.said))
    elif rr is None:
        rule = INDETERMINATE
    return Decided(
        crg=chosen.group.mb_rg_id if chosen else ReleaseGroupId(crg),
        rr=rr,
        recording=standing_on(carriers, rr, bundle) if carriers else RecordingId(""),
        crg_rule=f"CRG:{MANUAL_OVERRIDE}",
        rr_rule=rule,
        because=said,
        path=tuple(path),
        rivals=overruled_rivals(field, crg, lineup.left_out, alone),
    )


def decide(bundle: EvidenceBundle, knobs: RulesConfig, override: Override | None = None) -> Verdict:
    """Return the decision of the rules on evidence.

    The same evidence in any order gives the same verdict. What is decided stays decided whatever
    the true day is behind each partial date, whatever the status is of a release that has none,
    and whichever of two descriptions of one record is right; otherwise the verdict is open and
    names the facts that would settle it. A person's `override` goes before every rule.
    """
    lineup = line_up(bundle)
    field = contest(lineup.kept, bundle.performer, knobs)
    if override:
        return overruled(override, field, lineup, bundle, decide(bundle, knobs))
    verdict = _ruled(field, lineup, bundle)
    if isinstance(verdict, Decided):
        what, facts = _turning_on(verdict, field, bundle)
        if facts:
            because = f"{what} is unknown, and the decision turns on it"
            return Open(because, facts, verdict.path, rivals(field, None, lineup.left_out))
    return verdict


def _turning_on(
    verdict: Decided, field: Contest, bundle: EvidenceBundle
) -> tuple[str, tuple[str, ...]]:
    """Return what is unknown besides days and turns the decision, with the facts to ask for."""

    def ruled(tried: EvidenceBundle) -> Verdict:
        return _undoubted(tried, field.knobs)

    if not bundle.listed.is_each_once:
        said_twice = contradictions_among(field.candidates, field.recordings)
        if said_twice and (facts := unsettled(verdict, said_twice, bundle, ruled)):
            return "which of two descriptions is right", facts
    unsure, untyped = unsure_among(field.candidates), untyped_among(field.candidates)
    if not (unsure or untyped):
        return "", ()
    chosen = next(one for one in field.candidates if one.group.mb_rg_id == verdict.crg)
    until = chosen.last + field.knobs.lead_window_days
    if chosen.role is Role.COMPILATION:  # any work, however late, may undo it
        until = LAST_DAY
    if facts := turning(verdict, unsure, until, bundle, ruled):
        return "the status of a release", facts
    return "the type of a record", untold(verdict, untyped, until, bundle, ruled)


def _undoubted(bundle: EvidenceBundle, knobs: RulesConfig) -> Verdict:
    """Return the decision where what has no status is not official."""
    lineup = line_up(bundle)
    return _ruled(contest(lineup.kept, bundle.performer, knobs), lineup, bundle)


def _ruled(field: Contest, lineup: Lineup, bundle: EvidenceBundle) -> Verdict:
    weighed = weigh(field)
    chosen = weighed.chosen
    if chosen is None:
        return left_open(field, weighed, lineup, bundle)
    objection = objection_to(chosen, field, weighed, lineup)
    return objection or _decided(chosen, field, weighed, lineup, bundle)


def _decided(
    chosen: Candidate, field: Contest, weighed: Weighed, lineup: Lineup, bundle: EvidenceBundle
) -> Decided:
    path, because, rule = [], "", ""
    for rule, ruling in weighed.asked:
        because = ruling.said
        path.append(Considered(rule, because))
        if ruling.choices:
            break
    group = chosen.group
    release = choose(chosen.official, group, field.artist.country, field.knobs)
    path.append(Considered(release.rule, release.said))
    rr = release.release.mb_release_id if release.release else None
    return Decided(
        crg=group.mb_rg_id,
        rr=rr,
        recording=standing_on(chosen.carriers, rr, bundle),
        crg_rule=rule,
        rr_rule=release.rule,
        because=because,
        path=tuple(path),
        rivals=rivals(field, chosen, lineup.left_out),
        missing_facts=() if rr else (f"which release of {chosen.name} contains the recording?",),
    )
