"""What a person ruled goes before every rule."""

from chart_binder.domain.evidence import EvidenceBundle
from chart_binder.domain.ids import RecordingId
from chart_binder.domain.verdict import Considered, Decided, Override
from chart_binder.rules.contest import Contest
from chart_binder.rules.lineup import Lineup, standing_on
from chart_binder.rules.representative import INDETERMINATE, choose
from chart_binder.rules.rivals import rivals

MANUAL_OVERRIDE = "MANUAL_OVERRIDE"


def overruled(
    override: Override, field: Contest, lineup: Lineup, bundle: EvidenceBundle
) -> Decided:
    """Return what a person ruled; the release and the recording by the rules, where not given."""
    same = (one for one in field.candidates if one.group.mb_rg_id == override.crg)
    chosen = next(same, None)
    said = override.reason or "a person ruled so"
    path = [Considered(f"CRG:{MANUAL_OVERRIDE}", said)]
    rr, rule = override.rr, f"RR:{MANUAL_OVERRIDE}"
    carriers = tuple(chosen.carriers if chosen else lineup.kept)
    if rr is None and chosen:
        release = choose(chosen.official, chosen.group, field.artist.country, field.knobs)
        rr = release.release.mb_release_id if release.release else None
        rule = release.rule
        path.append(Considered(rule, release.said))
    elif rr is None:
        rule = INDETERMINATE
    return Decided(
        crg=override.crg,
        rr=rr,
        recording=standing_on(carriers, rr, bundle) if carriers else RecordingId(""),
        crg_rule=f"CRG:{MANUAL_OVERRIDE}",
        rr_rule=rule,
        because=said,
        path=tuple(path),
        rivals=rivals(field, chosen, lineup.left_out),
    )
