"""A review of cases: what a verdict asks for, and verdicts in any order, each to be undone."""

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

import msgspec

from chart_binder.config import Config, RulesConfig
from chart_binder.domain.records import DecisionRecord, local_time, now_utc
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import CanonError, StoreError, counted
from chart_binder.jobs.decision import advice_for
from chart_binder.jobs.named_records import (
    IN_TERMINAL,
    ON_PAGE,
    Confirm,
    Hints,
    Lookups,
    NamedRecord,
    PersonChoice,
    name_records,
    read_first_date,
    read_mbid,
    read_record,
)
from chart_binder.jobs.overrides import VerdictResult, VerdictSaver
from chart_binder.jobs.review import (
    ReviewCase,
    is_overridden,
    is_waiting,
    overrides_near,
    review_case,
    same_evidence,
)
from chart_binder.jobs.review_index import QueueItem

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.reviews import SavedVerdicts


_ADDRESS = re.compile(r"\S*musicbrainz\.org/([a-z-]+)/\S+", re.IGNORECASE)
_TOGETHER = 100
T = TypeVar("T")
_LABEL = re.compile(r"C\d+(\.R\d+)?")


class VerdictAction(StrEnum):
    """What a person says about a case."""

    ACCEPT = "accept"
    CHOOSE = "choose"
    THERE = "there"
    DATE = "date"
    SAME = "same"
    REJECT = "reject"
    NOT_THIS = "not_this"
    KEEP = "keep"


class PersonVerdict(msgspec.Struct, frozen=True):
    """A verdict as typed: `text` is a candidate, a date or a recording, as the action asks for.

    `recording` says which recording is meant, if several are possible. If it `replaces`, it also
    counts against an override by another file.
    """

    action: VerdictAction
    text: str = ""
    reason: str = ""
    recording: str | None = None
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class VerdictDesk:
    """Saves verdicts; `confirm` asks the person about records that were looked up."""

    store: "Store"
    rules: RulesConfig
    lookups: Lookups
    confirm: Confirm
    hints: Hints = IN_TERMINAL

    def give(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        """Save a verdict; return it in words, and its effect. Raises `CanonError`."""
        saver = self._saver(verdict)
        match verdict.action:
            case VerdictAction.ACCEPT:
                if case.proposal is None:
                    problem = "nothing is proposed: press the number of the candidate that is right"
                    raise CanonError(problem)
                return "accepted", saver.accept(case, verdict.reason, verdict.recording)
            case VerdictAction.KEEP:
                return "kept out of the queue", saver.keep(case, verdict.reason)
            case VerdictAction.REJECT | VerdictAction.NOT_THIS:
                return self._reject(case, verdict)
            case VerdictAction.DATE:
                require_evidence(case)
                date = read_first_date(verdict.text, now_utc())
                return f"{date} is right", self._save(case, PersonChoice(first_date=date), verdict)
            case VerdictAction.SAME:
                return self._same(case, verdict)
        return self._choose(case, verdict)

    def _saver(self, verdict: PersonVerdict) -> VerdictSaver:
        return VerdictSaver(self.store, self.rules, self.hints, verdict.replaces)

    def _reject(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        require_candidates(case)
        if verdict.action is VerdictAction.NOT_THIS:
            reason = verdict.reason or "the file is not this recording"
            result = self._saver(verdict).reject(case, reason)
            return "not this recording: correct its tags", result
        if not verdict.reason:
            raise CanonError("say in a few words what is wrong")
        if verdict.text:
            return self._choose(case, verdict)
        return "rejected", self._saver(verdict).reject(case, verdict.reason)

    def _choose(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        """Take a candidate's number, a label, or the id or address of any record."""
        text = verdict.text.strip()
        page = _ADDRESS.fullmatch(text)
        require_evidence(case)
        if page and page[1] == "recording" and verdict.action is VerdictAction.CHOOSE:
            return self._same(case, verdict)
        label = f"C{text}" if text.isdecimal() else text
        if _LABEL.fullmatch(label.upper()) and label.upper() not in case.labels.ids:
            labels = ", ".join(row.label for row in case.rows) or "none"
            raise CanonError(f"{label}: no such candidate; there is {labels}")
        crg, rr = read_record(self.lookups.record, case.labels, label)
        is_there = verdict.action is VerdictAction.THERE
        words = f"it came out on {label}" if is_there else f"{label} is right"
        return words, self._save(case, PersonChoice(crg, rr), verdict)

    def _same(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        require_evidence(case)
        same = read_mbid(verdict.text, "recording")
        return f"it is the same as {same}", self._save(case, PersonChoice(same_as=same), verdict)

    def _save(
        self, case: ReviewCase, person_choice: PersonChoice, verdict: PersonVerdict
    ) -> VerdictResult:
        """Save what a person says is right, after a look at what the evidence lacks."""
        person_choice = msgspec.structs.replace(person_choice, recording_mbid=verdict.recording)
        is_there = verdict.action is VerdictAction.THERE
        choice, notes = name_records(
            self.lookups,
            case.bundle,
            person_choice,
            self.confirm,
            with_date=is_there,
            hints=self.hints,
        )
        ruled = self._saver(verdict).choose(case, choice, verdict.reason)
        return msgspec.structs.replace(ruled, notes=(*notes, *ruled.notes))


def is_pasted(text: str) -> bool:
    """Return whether a text is an id of MusicBrainz, or the address of one of its pages."""
    return bool(_ADDRESS.fullmatch(text) or MBID.fullmatch(text))


def require_evidence(case: ReviewCase) -> None:
    """Raise `CanonError` if no recording was found, which a date or a record could be about."""
    if case.bundle is None:
        advice = advice_for(case.decision.cause)
        raise CanonError(f"no recording was found to give a date or a record for: {advice}")


def require_candidates(case: ReviewCase) -> None:
    """Raise `CanonError` if no candidate was found."""
    if not (case.rows or case.proposal):
        raise CanonError("no candidate was found: k keeps it out of the queue")


class ConfirmationNeededError(CanonError):
    """A record was looked up, or something seems wrong: the person must confirm it first."""


class SettledMeanwhileError(CanonError):
    """A case does not wait any more; `latest` is the id of its file's last decision, if any."""

    def __init__(self, text: str, latest: str | None) -> None:
        super().__init__(text)
        self.latest = latest


class Likeness(StrEnum):
    """What proposals that are accepted together have in common."""

    ALBUM = "album"
    REASON = "reason"
    PROPOSAL = "proposal"


@dataclass(frozen=True, slots=True)
class SessionVerdict:
    """A verdict of this session in words, with what was saved; several if given together."""

    words: str
    files: int
    saved: tuple["SavedVerdicts", ...]
    notes: tuple[str, ...] = ()
    decide_again: bool = False


@dataclass
class ReviewSession:
    """The verdicts by the review page, of one person or several; threads may share it."""

    store: "Store"
    config: Config
    lookups: Lookups
    done: dict[str, SessionVerdict] = field(default_factory=dict)
    """The verdicts that were not taken back, by the id of the decision, the newest last."""
    is_ending: bool = False
    """Whether an acceptance of many cases stops before its next case."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def case(self, decision_id: str, files: int | None = None) -> ReviewCase:
        """Return a case by the id of its decision; count its files unless they are known.

        Raises `CanonError`.
        """
        record = self.store.decisions.by_id(decision_id)
        if record is None:
            raise CanonError(f"{decision_id!r:.60} is not the id of a decision")
        return review_case(self.store, record, files or len(same_evidence(self.store, record)))

    def waits(self, case: ReviewCase) -> bool:
        """Return whether a case waits, and no override settles it."""
        overrides = overrides_near(self.store, case)
        return is_waiting(self.store, case) and not is_overridden(case, overrides)

    def give(
        self, decision_id: str, verdict: PersonVerdict, *, is_sure: bool = False
    ) -> SessionVerdict:
        """Save a verdict on a case that waits. Raises `CanonError`.

        Unless the person `is_sure`, `ConfirmationNeededError` tells what was looked up.
        """
        with self._lock:
            case = self._waiting_case(decision_id)
            words, ruled = self._desk(is_sure=is_sure).give(case, verdict)
            saved = (ruled.saved,)
            result = SessionVerdict(words, ruled.files, saved, ruled.notes, ruled.decide_again)
            self._remember([decision_id], result)
        return result

    def accept_all(self, ids: Sequence[str]) -> tuple[SessionVerdict, Mapping[str, str]]:
        """Accept the proposals of cases that wait; return the others' problems by their ids."""
        accepted: dict[str, VerdictResult] = {}
        problems: dict[str, str] = {}
        with self._lock:
            try:
                for part in in_parts(ids):
                    with self.store.together():
                        accepted_here = self._accept(part, problems)
                    accepted |= accepted_here
            finally:  # what was saved before the store failed can be taken back
                saved = tuple(ruled.saved for ruled in accepted.values())
                files = sum(ruled.files for ruled in accepted.values())
                result = SessionVerdict(f"accepted together: {len(accepted)}", files, saved)
                self._remember([*accepted], result)
        return result, problems

    def _accept(self, ids: Iterable[str], problems: dict[str, str]) -> dict[str, VerdictResult]:
        """Accept proposals, and note the problems of those that cannot be accepted."""
        accepted: dict[str, VerdictResult] = {}
        desk, verdict = self._desk(is_sure=False), PersonVerdict(VerdictAction.ACCEPT)
        for decision_id in ids:
            try:
                if self.is_ending:
                    raise CanonError("the server was stopped")  # noqa: TRY301
                case = self._waiting_case(decision_id)
                accepted[decision_id] = desk.give(case, verdict)[1]
            except StoreError:
                raise
            except CanonError as error:
                problems[decision_id] = str(error)
        return accepted

    def undo(self, decision_id: str | None = None) -> tuple[str, SessionVerdict]:
        """Take back the verdict on a decision, or the last one; return the decision's id, too.

        A verdict of an earlier session is read from the store. Raises `CanonError`.
        """
        with self._lock:
            newest = next(reversed(self.done), None) if decision_id is None else decision_id
            if newest is None:
                raise CanonError("there is no verdict of this session to take back")
            verdict = self.done.get(newest) or self._earlier_verdict(newest)
            taken_back: list[bool] = []
            for part in in_parts(verdict.saved[::-1]):
                with self.store.together():
                    taken_back += map(self.store.verdicts.take_back, part)
            self.done = {id_: earlier for id_, earlier in self.done.items() if earlier != verdict}
        if not all(taken_back):
            changed = f"{taken_back.count(False)} of {counted(len(taken_back), 'verdict')}"
            raise CanonError(f"not taken back, because it was changed since: {changed}")
        return newest, verdict

    def _desk(self, *, is_sure: bool) -> VerdictDesk:
        confirm = _trust if is_sure else _ask_first
        return VerdictDesk(self.store, self.config.rules, self.lookups, confirm, ON_PAGE)

    def _waiting_case(self, decision_id: str) -> ReviewCase:
        case = self.case(decision_id, files=1)  # they are counted with the verdict
        if not self.waits(case):
            raise SettledMeanwhileError(*why_settled(self.store, case))
        return case

    def _remember(self, ids: Collection[str], verdict: SessionVerdict) -> None:
        self.done = {id_: earlier for id_, earlier in self.done.items() if id_ not in ids}
        self.done |= dict.fromkeys(ids, verdict)

    def _earlier_verdict(self, decision_id: str) -> SessionVerdict:
        record = self.store.decisions.by_id(decision_id)
        verdict = self.store.verdicts.on_equal(record) if record else None
        if verdict is None:
            raise CanonError("there is no verdict on this case to take back")
        saved = self.store.verdicts.saved_with(verdict)
        return SessionVerdict(verdict.verdict, len(saved.verdicts), (saved,))


def in_parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield items in parts, each for a transaction that keeps other programs waiting briefly."""
    return (items[start : start + _TOGETHER] for start in range(0, len(items), _TOGETHER))


def _trust(records: Sequence[NamedRecord], problem: str | None) -> None:
    """Take what the person confirmed."""
    del records, problem


def _ask_first(records: Sequence[NamedRecord], problem: str | None) -> None:
    texts = [*map(str, records), *filter(None, [problem])]
    raise ConfirmationNeededError("; ".join(texts))


def why_settled(store: "Store", case: ReviewCase) -> tuple[str, str | None]:
    """Return why a case does not wait any more, and the id of its file's last decision."""
    latest = store.decisions.latest(case.record.path)
    if latest is None:
        return "its file was taken out of the store", None
    if latest.id != case.record.id:
        at = local_time(latest.decided_at_utc)
        return f"the file was decided again at {at}: {latest.state}", latest.id
    if verdict := store.verdicts.on_equal(case.record):
        return f"a person said {verdict.verdict} at {local_time(verdict.at_utc)}", latest.id
    if is_overridden(case, overrides_near(store, case)):
        return "an override for its recording settles it", latest.id
    return "it does not wait for a person", latest.id


def alike(items: Sequence[QueueItem], item: QueueItem, by: Likeness) -> Iterator[QueueItem]:
    """Yield the items with a proposal that have something in common with one, itself included."""
    keys: Mapping[Likeness, Callable[[QueueItem], object]] = {
        Likeness.ALBUM: lambda queued: queued.album_key,
        Likeness.REASON: lambda queued: queued.because,
        Likeness.PROPOSAL: lambda queued: queued.proposal,
    }
    key, value = keys[by], keys[by](item)
    return (queued for queued in items if queued.proposal and key(queued) == value)


def reviewed(store: "Store", limit: int) -> Iterator[tuple[DecisionRecord, str]]:
    """Yield the decisions with the last verdicts, with what was said and when; newest first."""
    decision_ids: set[str] = set()
    for verdict in store.verdicts.newest(limit):
        record = store.decisions.by_id(verdict.decision_id)
        if record and record.id not in decision_ids:
            decision_ids.add(record.id)
            yield record, f"{verdict.verdict}, {local_time(verdict.at_utc)}"
