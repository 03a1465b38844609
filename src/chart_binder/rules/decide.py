"""The rules decide where a recording came out, or say what is missing to decide it."""

from collections.abc import Sequence

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.ids import RecordingId
from chart_binder.domain.verdict import Considered, Decided, Open, Override, Verdict
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest, contest
from chart_binder.rules.lineup import Lineup, line_up, minutes
from chart_binder.rules.representative import INDETERMINATE, choose
from chart_binder.rules.rivals import rivals
from chart_binder.rules.ruling import Ruling
from chart_binder.rules.settling import either, missing_dates, undated_tie
from chart_binder.rules.statuses import copies
from chart_binder.rules.weighing import Weighed, weigh

MANUAL_OVERRIDE = "MANUAL_OVERRIDE"


def decide(bundle: EvidenceBundle, knobs: RulesConfig, override: Override | None = None) -> Verdict:
    """Return the decision of the rules on evidence in normal form (`read_bundle`).

    The same evidence in any order gives the same verdict. What is decided stays decided whatever
    the true day is behind each partial date; otherwise the verdict is open and names the facts
    that would settle it. A person's `override` goes before every rule.
    """
    lineup = line_up(bundle)
    field = contest(lineup.kept, bundle.performer, knobs)
    if override:
        return _overruled(override, field, lineup, bundle)
    weighed = weigh(field)
    chosen = weighed.chosen
    if chosen is None:
        return _open(field, weighed, lineup, bundle)
    objection = _objection(chosen, lineup, field) if len(lineup.versions) > 1 else None
    if objection:
        because = "the recordings found came out on different records"
        return Open(because, (objection,), _path(weighed), rivals(field, None, lineup.left_out))
    return _decided(chosen, field, weighed, lineup, bundle)


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
        recording=_recording(chosen.carriers, rr, bundle),
        crg_rule=rule,
        rr_rule=release.rule,
        because=because,
        path=tuple(path),
        rivals=rivals(field, chosen, lineup.left_out),
        missing_facts=() if rr else (f"which release of {chosen.name} contains the recording?",),
    )


def _recording(
    carriers: Sequence[RecordingCandidate], release: str | None, bundle: EvidenceBundle
) -> RecordingId:
    """Return the recording that a decision stands on: the one on the release, nearest in length."""
    if len(carriers) == 1:
        return carriers[0].mb_recording_id
    duration_ms = (bundle.artifact and bundle.artifact.duration_ms) or 0

    def order(one: RecordingCandidate) -> tuple[bool, int, str]:
        releases = {edition.mb_release_id for group in one.groups for edition in group.editions}
        apart_ms = abs(one.length_ms - duration_ms) if one.length_ms and duration_ms else 0
        return release not in releases, apart_ms, one.mb_recording_id

    return min(carriers, key=order).mb_recording_id


def _open(field: Contest, weighed: Weighed, lineup: Lineup, bundle: EvidenceBundle) -> Open:
    losers = rivals(field, None, lineup.left_out)
    path = _path(weighed)
    if not any(one.counts for one in field.candidates):
        return Open(*_nothing_official(field, bundle), path, losers)
    facts = list(weighed.doubts)
    if len(weighed.possible) > 1:
        facts += missing_dates(field, weighed.possible)
        because = f"the facts known do not tell whether it is {either(weighed.possible)}"
    elif weighed.possible:
        because = f"{either(weighed.possible)} may not be where it came out first"
    else:
        because = "only compilations carry it, and the original is not among them"
    return Open(because, tuple(facts) or (undated_tie(weighed.possible),), path, losers)


def _nothing_official(field: Contest, bundle: EvidenceBundle) -> tuple[str, tuple[str, ...]]:
    title = f"'{bundle.recording_title}'" if bundle.recording_title else "the recording"
    fact = (
        f"the original release is missing from the evidence: on which record did {title} come out?"
    )
    if not field.candidates:
        return "no record is known that carries it", (fact,)
    known = "; ".join(sorted(f"{one.name} ({copies(one.aside)})" for one in field.candidates)[:3])
    return f"no official release of it is known, only {known}", (fact,)


def _path(weighed: Weighed) -> tuple[Considered, ...]:
    return tuple(Considered(code, _said(ruling)) for code, ruling in weighed.asked)


def _said(ruling: Ruling) -> str:
    if not ruling.choices:
        return ruling.said
    if ruling.doubts:
        return f"would choose {either(ruling.choices)}, but {ruling.doubts[0]}"
    return f"may choose {either(ruling.choices)}: the facts known do not tell"


def _objection(chosen: Candidate, lineup: Lineup, field: Contest) -> str | None:
    """Return which recording is meant, if the recordings kept lead to different records.

    A recording that only compilations carry raises none: it is taken for a copy that nobody merged.
    """
    homes: dict[str, str] = {}
    for version in lineup.versions:
        own = contest(version, field.artist, field.knobs)
        for one in weigh(own).possible if own.works else ():
            length = minutes(next((r.length_ms for r in version if r.length_ms), None))
            homes.setdefault(one.group.mb_rg_id, f"{length} on {one.name}")
    if set(homes) <= {chosen.group.mb_rg_id}:
        return None
    return f"which recording is it: {', or '.join(homes.values())}?"


def _overruled(
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
        recording=_recording(carriers, rr, bundle) if carriers else RecordingId(""),
        crg_rule=f"CRG:{MANUAL_OVERRIDE}",
        rr_rule=rule,
        because=said,
        path=tuple(path),
        rivals=rivals(field, chosen, lineup.left_out),
    )
