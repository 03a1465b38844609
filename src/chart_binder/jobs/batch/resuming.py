"""Which files of a library have work left: what an earlier run settled is not done again."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from chart_binder.audio.files import shown
from chart_binder.domain.kept import KeptDecision, UnreadDecision
from chart_binder.domain.overriding import KeptOverride
from chart_binder.errors import AudioError, DamagedRecordError
from chart_binder.jobs.batch.answered import is_answer
from chart_binder.jobs.batch.work import Settled
from chart_binder.jobs.decision import Cause, State
from chart_binder.jobs.file_names import names_of
from chart_binder.jobs.keeping import kept_bundle, kept_decision
from chart_binder.jobs.kept_case import Under, file_status
from chart_binder.jobs.overrides import override_for
from chart_binder.jobs.same_file import why_another
from chart_binder.jobs.standing import standing_decisions

if TYPE_CHECKING:
    from chart_binder.store.store import Store


_log = logging.getLogger(__name__)


class Which(StrEnum):
    """Files that `--only` chooses, by how their last decision stands."""

    OPEN = "open"
    FAILED = "failed"
    REVIEW = "review"


_WHICH: Mapping[str, Which] = {
    State.INDETERMINATE: Which.OPEN,
    State.ERROR: Which.FAILED,
    State.REVIEW: Which.REVIEW,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which files are decided: by default those whose decision is not there, or not today's.

    `only` are those whose last decision stands so; without any, all. `anew` decides also what is
    decided already, unless one of `runs` did that.
    """

    only: frozenset[Which] = frozenset()
    anew: bool = False
    runs: frozenset[str] = frozenset()


class Fate(StrEnum):
    """What is to happen with a file."""

    DECIDE = "decide"
    RESUME = "resume"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Resuming:
    """Holds files against what the store has of them; every method may raise `StoreError`."""

    store: "Store"
    choice: Choice
    under: Under
    overrides: Callable[[], Mapping[str, KeptOverride]]

    def fates(self, paths: Sequence[Path]) -> Iterator[tuple[Path, Fate, Settled | None]]:
        """Yield what is to happen with files, and what they were settled as where that stands."""
        standing = standing_decisions(self.store, [*map(names_of, paths)])
        for path, kept in zip(paths, standing, strict=True):
            try:
                fate = self._fate(path, kept)
            except DamagedRecordError as error:
                fate = self._unread(path, error), None
            yield path, *fate

    def _unread(self, path: Path, error: DamagedRecordError) -> Fate:
        """Say what is to happen with a file of whose decision nothing is known: it failed."""
        if self.choice.only and Which.FAILED not in self.choice.only:
            _log.warning("%s: left out: %s", shown(path), error)
            return Fate.LEAVE
        _log.warning("%s: decided again: %s", shown(path), error)
        return Fate.DECIDE

    def _fate(
        self, path: Path, kept: KeptDecision | UnreadDecision | None
    ) -> tuple[Fate, Settled | None]:
        if isinstance(kept, UnreadDecision):
            raise DamagedRecordError(kept.problem)
        if self.choice.only:
            which = _WHICH.get(kept.state) if kept else None
            if kept is None or kept.pinned or which not in self.choice.only:
                return Fate.LEAVE, None
            if not self._is_done_anew(kept) or not self._stands(kept, path):
                return Fate.DECIDE, None
        if kept is None or not (kept.pinned or self._stands(kept, path)):
            return Fate.DECIDE, None
        settled = Settled(path, kept_decision(kept), is_resumed=True, is_pinned=kept.pinned)
        return Fate.RESUME, settled

    def _stands(self, kept: KeptDecision, path: Path) -> bool:
        """Say whether a decision would be made again just so, as far as can be told at once."""
        return (
            (not self.choice.anew or self._is_done_anew(kept))
            and _is_result(kept)
            and kept.rules_version == self.under.rules
            and self._is_asked(kept)
            and self._is_ruled(kept)
            and _is_same_file(self.store, path, kept)
        )

    def _is_done_anew(self, kept: KeptDecision) -> bool:
        return kept.run_id in self.choice.runs

    def _is_asked(self, kept: KeptDecision) -> bool:
        """Say whether whoever would be asked now was asked, where the rules left it open.

        Where no model would be, what one answered before stands.
        """
        if kept.decided_by in ("rules", "override") or not self.under.adjudicator:
            return True
        return kept.adjudicator == self.under.adjudicator

    def _is_ruled(self, kept: KeptDecision) -> bool:
        """Say whether a person's verdict on the recording, or that there is none, is in it."""
        overrides = self.overrides()
        ruled = overrides.get(kept.recording_mbid or "")
        if ruled is None and overrides and kept.decided_by not in ("rules", "override"):
            # What was left open names no recording, and a model's answer perhaps another of them.
            bundle = kept_bundle(self.store, kept)
            ruled = override_for(bundle, overrides) if bundle else None
        if ruled is None:
            return kept.decided_by != "override"
        return kept.decided_by == "override" and kept.crg_mbid == ruled.crg_mbid


def _is_result(kept: KeptDecision) -> bool:
    """Say whether something came of it: a look-up that failed is made again."""
    match kept.state:
        case State.ERROR:
            return kept_decision(kept).cause is Cause.NOTHING_FOUND
        case State.INDETERMINATE:
            return is_answer(kept_decision(kept).adjudication)
    return True


def _is_same_file(store: "Store", path: Path, kept: KeptDecision) -> bool:
    status = file_status(path)
    if status is None:
        return False
    if (status.st_size, status.st_mtime_ns) == (kept.file_size, kept.file_mtime_ns):
        return True
    try:
        return why_another(store, path, kept) is None
    except (AudioError, OSError):  # reading it anew says what is wrong
        return False
