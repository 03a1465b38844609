"""What is planned for files is written into them, or why it is not."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chart_binder.audio.held import HeldError
from chart_binder.audio.saving import Saved
from chart_binder.errors import AudioError, CanonError, DamagedRecordError, StoreError
from chart_binder.jobs.journalled import WritingRun
from chart_binder.jobs.tag_changes import FieldChange, changes_of
from chart_binder.jobs.tag_plan import Plan, Planned, Planner, Refusal


class Fate(StrEnum):
    """How it went with the tags of one file."""

    PLANNED = "planned"
    WRITTEN = "written"
    UNDONE = "undone"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one file; `why` where nothing was written that somebody may have expected."""

    path: Path
    fate: Fate
    changes: tuple[FieldChange, ...] = ()
    why: str | None = None
    plan: Plan | None = None
    decision_id: str | None = None
    write_id: str | None = None
    run_id: str | None = None
    lost: tuple[str, ...] = ()


def told_of(
    planner: Planner,
    path: Path,
    run: WritingRun | None,
    plan: Callable[[], Planned] | None = None,
) -> Told:
    """Plan for one file, and write it where there is a run to write in.

    `plan` plans for it otherwise than by what is kept.

    Raises `StoreError`: without a store nothing can be planned, nor journalled.
    """
    try:
        planned = plan() if plan else planner.plan(path)
        return _told(planned) if run is None else _applied(planned, run)
    except DamagedRecordError as error:
        return Told(path, Fate.FAILED, why=str(error))
    except StoreError:
        raise
    except (CanonError, OSError) as error:
        return Told(path, Fate.FAILED, why=str(error))


def _told(planned: Planned) -> Told:
    if isinstance(planned, Refusal):
        known = planned.decision.id if planned.decision else None
        return Told(planned.path, Fate.REFUSED, why=planned.why, decision_id=known)
    fate = Fate.PLANNED if planned.is_changed else Fate.UNCHANGED
    return Told(planned.path, fate, planned.changes, plan=planned, decision_id=planned.decision.id)


def _applied(planned: Planned, run: WritingRun) -> Told:
    if isinstance(planned, Refusal):
        return _told(planned)
    try:
        saved, write = run.save(planned.path, planned.change, planned.decision.id)
    except HeldError as error:
        return Told(
            planned.path, Fate.REFUSED, why=str(error), plan=planned,
            decision_id=planned.decision.id,
        )  # fmt: skip
    except AudioError as error:
        return Told(planned.path, Fate.FAILED, planned.changes, str(error), planned)
    return Told(
        planned.path,
        Fate.WRITTEN if saved.changed else Fate.UNCHANGED,
        _changes(saved),
        plan=planned,
        decision_id=planned.decision.id,
        write_id=write.id if write else None,
        run_id=run.run.id if write else None,
        lost=saved.lost,
    )


def _changes(saved: Saved) -> tuple[FieldChange, ...]:
    return changes_of(saved.before, saved.after) if saved.changed else ()
