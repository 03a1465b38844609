"""What a person ruled goes before every rule."""

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.ids import RecordingId, ReleaseGroupId, ReleaseId, bare_id
from chart_binder.domain.verdict import Considered, Decided, Override, Verdict
from chart_binder.rules.contest import Contest
from chart_binder.rules.lineup import Lineup, standing_on
from chart_binder.rules.representative import INDETERMINATE, choose
from chart_binder.rules.rivals import overruled_rivals

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
