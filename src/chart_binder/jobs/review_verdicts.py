"""Verdicts on cases of the queue as a person gives them: with a key, a number, a date or an id."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.records import now_utc
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import CanonError
from chart_binder.jobs.choices import Confirm, Lookups, name_records, read_mbid, read_record
from chart_binder.jobs.named_records import read_first_date
from chart_binder.jobs.overrides import PersonChoice, VerdictResult, VerdictSaver
from chart_binder.jobs.review import ReviewCase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chart_binder.store import Store

NO_EVIDENCE = (
    "no id is taken here, because no recording was found: write the recording's id, or the right"
    " artist and title, into the file's tags, then decide it again (canon decide)"
)
_ADDRESS = re.compile(r"\S*musicbrainz\.org/([a-z-]+)/\S+", re.IGNORECASE)
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

    def give(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        """Save a verdict; return it in words, and its effect. Raises `CanonError`."""
        ways: Mapping[VerdictAction, Callable[..., tuple[str, VerdictResult]]] = {
            VerdictAction.ACCEPT: self._accept,
            VerdictAction.CHOOSE: self._choose,
            VerdictAction.THERE: self._choose,
            VerdictAction.DATE: self._date,
            VerdictAction.SAME: self._same,
            VerdictAction.REJECT: self._reject,
            VerdictAction.NOT_THIS: self._not_this,
            VerdictAction.KEEP: self._keep,
        }
        return ways[verdict.action](case, verdict)

    def _accept(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        if case.proposal is None:
            raise CanonError("nothing is proposed: press the number of the candidate that is right")
        return "accepted", self._saver(verdict).accept(case, verdict.reason, verdict.recording)

    def _saver(self, verdict: PersonVerdict) -> VerdictSaver:
        return VerdictSaver(self.store, self.rules, replaces=verdict.replaces)

    def _keep(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        return "kept out of the queue", self._saver(verdict).keep(case, verdict.reason)

    def _not_this(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        """Keep a file out of the queue, and unwritten, until its tags name another recording."""
        require_candidates(case)
        reason = verdict.reason or "the file is not this recording"
        result = self._saver(verdict).reject(case, reason)
        return "not this recording: correct its tags", result

    def _reject(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        require_candidates(case)
        if not verdict.reason:
            raise CanonError("say in a few words what is wrong")
        if verdict.text:
            return self._choose(case, verdict)
        return "rejected", self._saver(verdict).reject(case, verdict.reason)

    def _choose(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        """Take a candidate's number, a label, or the id or address of any record."""
        text = verdict.text.strip()
        page = _ADDRESS.fullmatch(text)
        if case.bundle is None and (page or MBID.fullmatch(text)):
            raise CanonError(NO_EVIDENCE)
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

    def _date(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        date = read_first_date(verdict.text, now_utc())
        return f"{date} is right", self._save(case, PersonChoice(first_date=date), verdict)

    def _same(self, case: ReviewCase, verdict: PersonVerdict) -> tuple[str, VerdictResult]:
        same = read_mbid(verdict.text, "recording")
        return f"it is the same as {same}", self._save(case, PersonChoice(same_as=same), verdict)

    def _save(
        self, case: ReviewCase, person_choice: PersonChoice, verdict: PersonVerdict
    ) -> VerdictResult:
        """Save what a person says is right, after a look at what the evidence lacks."""
        person_choice = msgspec.structs.replace(person_choice, recording_mbid=verdict.recording)
        is_there = verdict.action is VerdictAction.THERE
        choice, notes = name_records(
            self.lookups, case.bundle, person_choice, self.confirm, with_date=is_there
        )
        ruled = self._saver(verdict).choose(case, choice, verdict.reason)
        return msgspec.structs.replace(ruled, notes=(*notes, *ruled.notes))


def is_pasted(text: str) -> bool:
    """Return whether a text is an id of MusicBrainz, or the address of one of its pages."""
    return bool(_ADDRESS.fullmatch(text) or MBID.fullmatch(text))


def require_candidates(case: ReviewCase) -> None:
    """Raise `CanonError` if no candidate was found."""
    if not (case.rows or case.proposal):
        raise CanonError("no candidate was found: k keeps it out of the queue")
