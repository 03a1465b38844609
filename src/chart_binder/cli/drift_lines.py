"""What a decision was beside what it would be, as lines for a person and as JSON."""

from collections.abc import Iterator, Mapping

from chart_binder.cli.tag_lines import change_lines, told_line
from chart_binder.cli.text import found, group_name, release_name
from chart_binder.jobs.drift import Drift, Stand
from chart_binder.jobs.tag_changes import FieldChange


def drift_lines(drift: Drift, done: str | None) -> Iterator[str]:
    """Yield what would differ and why; `done` is what was made of it."""
    if drift.why:
        yield from told_line("failed", drift.why)
    if drift.now:
        causes = " and ".join(drift.causes)
        yield from told_line(done or "would differ", f"by {causes}")
        names = _names(drift)
        yield from change_lines(tuple(_named(change, names) for change in drifted(drift)))
        yield from told_line("because", drift.now.decision.rationale or "no reason was given")
        yield from told_line("decision", drift.kept.id)


def drifted(drift: Drift) -> tuple[FieldChange, ...]:
    """Return what differs in the decision, nothing where one of the two cannot be told."""
    if drift.now is None or drift.was is None:
        return ()
    was, now = drift.was, drift.now.decision
    pairs = (
        ("state", was.state.value, now.state.value),
        ("release group", was.crg_mbid, now.crg_mbid),
        ("release", was.rr_mbid, now.rr_mbid),
        ("rule", was.crg_rule, now.crg_rule),
    )
    return tuple(
        FieldChange(name, tuple(filter(None, (old,))), tuple(filter(None, (new,))))
        for name, old, new in pairs
        if old != new
    )


def drift_facts(drift: Drift, done: str | None) -> dict[str, object]:
    """Return the same as JSON has it."""
    return {
        "decision_id": drift.kept.id,
        "state": drift.stand,
        "done": done if drift.stand is Stand.DIFFERS else None,
        "causes": drift.causes,
        "why": drift.why,
        "decided_at_utc": drift.kept.decided_at_utc,
        "rules_version": drift.kept.rules_version,
        "evidence_hash": drift.kept.evidence_hash,
        "old": drift.was,
        "new": drift.now.decision if drift.now else None,
    }


def _names(drift: Drift) -> Mapping[str, str]:
    """Return what the evidence calls the ids of both decisions."""
    names: dict[str, str] = {}
    bundle = drift.now.bundle if drift.now else None
    for one in (drift.was, drift.now and drift.now.decision):
        group, release = found(bundle, one.crg_mbid, one.rr_mbid) if one else (None, None)
        if group:
            names[group.mb_rg_id] = group_name(group)
        if release:
            names[release.mb_release_id] = release_name(release)
    return names


def _named(change: FieldChange, names: Mapping[str, str]) -> FieldChange:
    old, new = (
        tuple(" ".join(filter(None, (text, names.get(text)))) for text in side)
        for side in (change.old, change.new)
    )
    return FieldChange(change.field, old, new)
