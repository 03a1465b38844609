"""The review queue in memory: a short entry for each case, to be filtered, sorted and counted."""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from chart_binder.domain.records import YEAR, DecisionRecord, UnreadDecision
from chart_binder.domain.tags import album_folder
from chart_binder.domain.vocabulary import MBID, fold
from chart_binder.errors import DamagedRecordError, StoreError
from chart_binder.files import path_text
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.review import review_case
from chart_binder.jobs.stored_decisions import path_from_bytes, read_decision, stored_artifact

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.reviews import WaitingCase

REASONS: Mapping[str, str] = {
    "missing_original": "the original is missing",
    "date": "a date is missing",
    "tie": "which came out first",
    "contradiction": "two dates contradict each other",
    "which_copy": "which recording it is",
    "status": "official or not",
    "type": "the type of a record",
    YEAR: "a year is proposed",
    "unmatched": "no recording was found",
    "unreadable": "the file cannot be read",
    "lapsed": "its override was removed",
    "damaged": "its record is damaged",
    "other": "something else",
}
"""Why a case waits: the kinds of questions, and what else there is, in words."""
CONFIDENCES: Mapping[str, str] = {
    "high": "0.80 or more", "medium": "0.60 to 0.79", "low": "below 0.60", "none": "no proposal",
}  # fmt: skip
SORTS: Mapping[str, str] = {
    "album": "album", "artist": "artist", "confidence": "confidence", "files": "files",
    "newest": "newest first",
}  # fmt: skip
DONE = "done"
"""The state of cases with a verdict of this session."""
_HIGH, _MEDIUM = 0.8, 0.6
_PAUSE_S = 5.0


class QueueItem(msgspec.Struct, frozen=True, kw_only=True):
    """A case of the queue in short; `proposal` is a release group's id or a date, if any.

    `because` is the reason by which proposals are accepted together. A verdict is for all `files`.
    """

    id: str
    path: bytes
    state: str
    reason: str
    need: str
    decided_at_utc: str
    files: int
    is_gone: bool
    artist: str = ""
    title: str = ""
    album: str = ""
    confidence: float | None = None
    proposal: str | None = None
    because: str | None = None
    album_key: str = ""
    """The folder and the title of the album, by which its cases are recognised."""

    @property
    def name(self) -> str:
        """Artist and title, or the file's name if they are unknown."""
        credit = " - ".join(filter(None, (self.artist, self.title)))
        return credit or path_text(self.path.rpartition(b"/")[2])

    @property
    def band(self) -> str:
        """The key in `CONFIDENCES`."""
        if self.confidence is None:
            return "none"
        bands = (("high", _HIGH), ("medium", _MEDIUM), ("low", 0.0))
        return next(name for name, least in bands if self.confidence >= least)


class QueueFilter(msgspec.Struct, frozen=True):
    """Which cases are shown, and in which order; empty values show all."""

    state: str = ""
    reason: str = ""
    artist: str = ""
    album: str = ""
    confidence: str = ""
    text: str = ""
    sort: str = ""

    @property
    def values(self) -> dict[str, str]:
        """The values that are not empty, by name."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}

    def matches(self, item: QueueItem) -> bool:
        """Return whether an item is shown; the state `DONE` is the caller's business."""
        texts = (item.artist, item.title, item.album, path_text(item.path))
        return (
            self.state in ("", DONE, item.state)
            and self.reason in ("", item.reason)
            and self.confidence in ("", item.band)
            and fold(self.artist) in fold(item.artist)
            and fold(self.album) in fold(item.album)
            and (not self.text or any(fold(self.text) in fold(text) for text in texts))
        )

    def sorted(self, items: Sequence[QueueItem]) -> Sequence[QueueItem]:
        """Return items in the chosen order; those of the queue are together by album."""
        key = _SORT_KEYS.get(self.sort)
        return sorted(items, key=key, reverse=self.sort != "artist") if key else items


_SORT_KEYS: Mapping[str, Callable[[QueueItem], Any]] = {
    "artist": lambda item: (fold(item.artist), fold(item.title)),
    "confidence": lambda item: item.confidence or 0.0,
    "files": lambda item: item.files,
    "newest": lambda item: item.decided_at_utc,
}


@dataclass
class ReviewIndex:
    """The waiting cases, read in the background; `refresh` reads them anew after a change."""

    store: "Store"
    states: Collection[str]
    under: Collection[bytes] = ()
    total: int = 0
    items: list[QueueItem] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What is wrong with decisions that cannot be read."""
    _complete: threading.Event = field(default_factory=threading.Event)
    _some: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stamp: object = None
    _next_look: float = 0.0

    def start(self) -> None:
        """Begin to read the queue in a thread of its own."""
        threading.Thread(target=self._begin, daemon=True).start()

    def first(self) -> Sequence[QueueItem]:
        """Return what was read so far, as soon as that is anything."""
        self._some.wait()
        return self.items

    def all(self) -> Sequence[QueueItem]:
        """Return the whole queue."""
        self._complete.wait()
        return self.items

    def item(self, decision_id: str) -> QueueItem | None:
        """Return the item of a case, if it was read."""
        return next((item for item in self.items if item.id == decision_id), None)

    def refresh(self, settled: Collection[str]) -> None:
        """Read the queue again if the store changed; items in `settled` keep their places.

        At most one thread reads, and not more often than every few seconds.
        """
        if not self._complete.is_set() or time.monotonic() < self._next_look:
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            if (stamp := self.store.waiting.stamp()) != self._stamp:
                began, waiting = time.monotonic(), list[QueueItem]()
                self._read(waiting)
                self._merge(waiting, settled)
                self._stamp = stamp
                self._next_look = time.monotonic() + _PAUSE_S + 10 * (time.monotonic() - began)
        finally:
            self._lock.release()

    def _merge(self, waiting: Sequence[QueueItem], settled: Collection[str]) -> None:
        """Keep the order of items that still wait or were settled here; put new ones last."""
        new = {item.id: item for item in waiting}
        before = [new.pop(item.id, item) for item in self.items
                  if item.id in new or item.id in settled]  # fmt: skip
        self.items = [*before, *new.values()]
        self.total = len(self.items)

    def _begin(self) -> None:
        try:
            self._stamp = self.store.waiting.stamp()
            self._read(self.items)
            self.total = len(self.items)
        except StoreError as error:
            self.problems = [*self.problems, str(error)]
        finally:
            self._some.set()
            self._complete.set()

    def _read(self, items: list[QueueItem]) -> None:
        """Append the waiting cases, those of files that are gone or unreadable last."""
        unanswerable: list[QueueItem] = []
        for item in self._waiting():
            is_last = item.is_gone or item.state == State.UNREADABLE
            (unanswerable if is_last else items).append(item)
            if items:
                self._some.set()
        items += unanswerable

    def _waiting(self) -> Iterator[QueueItem]:
        problems: list[str] = []

        def unread(decision: UnreadDecision) -> None:
            problems.append(decision.problem)

        for states in ({*self.states} - {YEAR}, {YEAR} & {*self.states}):
            cases = self.store.waiting.cases(states, self.under, unread) if states else ()
            for waiting in cases:
                self.total = self.total or waiting.cases_left
                item = _item(self.store, waiting)
                if YEAR not in states or item.proposal:
                    yield item
        self.problems = problems


def _item(store: "Store", waiting: "WaitingCase") -> QueueItem:
    record = waiting.decision
    item = QueueItem(
        id=record.id, path=record.path, state=record.state, reason="damaged",
        need=REASONS["damaged"], decided_at_utc=record.decided_at_utc, files=waiting.files,
        is_gone=not os.path.lexists(record.path),
    )  # fmt: skip
    try:
        decision, artifact = read_decision(record), stored_artifact(record)
    except DamagedRecordError:
        return item
    reason = _reason(decision)
    proposal, confidence, because = _proposal(store, record, decision, reason)
    tags = (artifact and artifact.tags) or {}
    return msgspec.structs.replace(
        item, state=YEAR if reason == YEAR else decision.state, reason=reason,
        need=_need(decision, reason), artist=decision.artist or tags.get("artist") or "",
        title=decision.title or tags.get("title") or "", album=tags.get("album") or "",
        proposal=proposal, confidence=confidence, because=because,
        album_key=f"{_folder(record.path.rpartition(b'/')[0])}\0{fold(tags.get('album') or '')}",
    )  # fmt: skip


@lru_cache(maxsize=4_096)
def _folder(folder: bytes) -> str:
    return path_text(album_folder(path_from_bytes(folder) / "file"))


def _reason(decision: Decision) -> str:
    if decision.state is State.DECIDED:
        return YEAR if decision.decided_by == "rules" else "lapsed"
    if decision.state in (State.UNMATCHED, State.UNREADABLE):
        return decision.state
    kinds = [question.kind for question in decision.questions]
    return next((kind for kind in kinds if kind in REASONS), "other")


def _need(decision: Decision, reason: str) -> str:
    """Return in a sentence why a case waits, without a look at its evidence."""
    if reason in (YEAR, "lapsed"):
        return REASONS[reason]
    question = decision.questions[0].brief if decision.questions else None
    return decision.failure or question or decision.rationale or REASONS[reason]


def _proposal(
    store: "Store", record: DecisionRecord, decision: Decision, reason: str
) -> tuple[str | None, float | None, str | None]:
    """Return proposal, confidence and common reason as `ReviewCase` has them."""
    if reason == YEAR:
        of_year = review_case(store, record).proposal
        return (of_year.first_date, of_year.confidence, None) if of_year else (None, None, None)
    answer = decision.model_answer
    proposed = answer or (decision if decision.state is State.REVIEW else None)
    if proposed is None or not proposed.crg_mbid:
        return None, None, None
    group = proposed.crg_mbid if MBID.fullmatch(proposed.crg_mbid) else path_text(record.path)
    because = (answer.problem if answer else None) or decision.rationale
    return group, proposed.confidence or 0.0, because
