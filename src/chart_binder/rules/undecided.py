"""An open case says why it is open, and which facts would settle it."""

from collections.abc import Sequence

from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.intent import set_off
from chart_binder.domain.verdict import Considered, Open
from chart_binder.rules.candidates import Candidate
from chart_binder.rules.contest import Contest, contest
from chart_binder.rules.lineup import Lineup, minutes
from chart_binder.rules.rivals import rivals
from chart_binder.rules.roles import gathers
from chart_binder.rules.ruling import Ruling
from chart_binder.rules.settling import either, missing_dates, undated_tie
from chart_binder.rules.statuses import copies
from chart_binder.rules.unsure import questions, unsure_among
from chart_binder.rules.weighing import Weighed, weigh

_LONGEST_REMARK = 80


def left_open(field: Contest, weighed: Weighed, lineup: Lineup, bundle: EvidenceBundle) -> Open:
    """Return an open verdict with the facts that would settle it."""
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
    unsure = unsure_among(field.candidates)
    facts = questions(unsure, list(unsure)) or (fact,)
    return f"no official release of it is known, only {known}", facts


def _path(weighed: Weighed) -> tuple[Considered, ...]:
    return tuple(Considered(code, _said(ruling)) for code, ruling in weighed.asked)


def _said(ruling: Ruling) -> str:
    if not ruling.choices:
        return ruling.said
    if ruling.doubts:
        return f"would choose {either(ruling.choices)}, but {ruling.doubts[0]}"
    return f"may choose {either(ruling.choices)}: the facts known do not tell"


def objection_to(
    chosen: Candidate, field: Contest, weighed: Weighed, lineup: Lineup
) -> Open | None:
    """Return an open verdict, if the recordings kept lead to different records.

    One that leads to a compilation raises no objection, if that is not what was decided for: it is
    taken for a copy that nobody merged.
    """
    if len(lineup.versions) == 1:
        return None
    homes: dict[str, str] = {}
    for version in lineup.versions:
        own = contest(version, field.artist, field.knobs)
        for one in weigh(own).possible:
            if not gathers(one.group) or one.group.mb_rg_id == chosen.group.mb_rg_id:
                homes[one.group.mb_rg_id] = f"{_told(version)} on {one.name}"
    homes.setdefault(chosen.group.mb_rg_id, f"{_told(chosen.carriers)} on {chosen.name}")
    if len(homes) == 1:
        return None
    fact = f"which recording is it: {', or '.join(sorted(homes.values()))}?"
    because = "the recordings found came out on different records"
    return Open(because, (fact,), _path(weighed), rivals(field, None, lineup.left_out))


def _told(version: Sequence[RecordingCandidate]) -> str:
    """Return what to call a recording: `3:00 (mono)`; its length, and what is said of it."""
    length_ms = next((one.length_ms for one in version if one.length_ms), None)
    remarks = [one.disambiguation or set_off(one.title or "") for one in version]
    remarks += ["mono" for one in version if one.intent.is_mono]
    remark = next(filter(None, remarks), "")[:_LONGEST_REMARK]
    if not remark:
        return minutes(length_ms)
    return f"{minutes(length_ms)} ({remark})" if length_ms else f"'{remark}'"
