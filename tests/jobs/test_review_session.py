"""A review of many cases: what the person is asked, and what is refused or taken back."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from chart_binder.config import Config
from chart_binder.domain.evidence import EvidenceBundle, RecordingCandidate
from chart_binder.domain.records import now_utc
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import EntityKind, RecordingId
from chart_binder.errors import CanonError, StoreError
from chart_binder.jobs.named_records import IN_TERMINAL, ON_PAGE, Hints, Lookups, NamedRecord
from chart_binder.jobs.overrides import ContradictionError, SeveralRecordingsError
from chart_binder.jobs.review import QUEUED
from chart_binder.jobs.review_index import ReviewIndex
from chart_binder.jobs.review_session import (
    ConfirmationNeededError,
    PersonVerdict,
    ReviewSession,
    VerdictAction,
    VerdictDesk,
)
from chart_binder.store import Store
from chart_binder.store.reviews import SavedVerdicts
from jobs.test_review import OTHER, RECORDING, RULES, Put, proposing, put, with_recordings

__all__ = ["put"]
THIRD = "22222222-2222-4222-8222-222222222222"
SECOND = msgspec.structs.replace(RECORDING, mb_recording_id=RecordingId(OTHER))


def record(kind: EntityKind, mbid: str) -> NamedRecord:
    return NamedRecord(kind, mbid, "Bohemian Rhapsody", "Queen")


def sibling(bundle: EvidenceBundle, mbid: RecordingId) -> RecordingCandidate:
    return msgspec.structs.replace(RECORDING, mb_recording_id=mbid, relation="sibling")


@pytest.fixture
def session(store: Store) -> ReviewSession:
    lookups = Lookups(lambda kind, mbid: mbid, record, sibling)
    return ReviewSession(store, Config(), lookups)


def test_the_recording_is_asked_for_if_several_are_possible(
    session: ReviewSession, put: Put
) -> None:
    case = put("a", proposing(with_recordings(RECORDING, SECOND))).record.id
    date = PersonVerdict(VerdictAction.DATE, "1975")
    with pytest.raises(SeveralRecordingsError) as asked:
        session.give(case, date)
    assert {*asked.value.recordings} == {RECORDING.mb_recording_id, OTHER}
    assert session.done == {}
    named = msgspec.structs.replace(date, recording=OTHER)
    assert session.give(case, named).words == "1975 is right"
    assert [*session.store.overrides.all()] == [OTHER]


def test_an_override_by_another_file_is_replaced_only_on_request(
    session: ReviewSession, put: Put
) -> None:
    recording = RecordingId(RECORDING.mb_recording_id)
    before = OverrideRecord(recording, None, None, "mine", now_utc(), same_as=RecordingId(OTHER))
    session.store.overrides.put(before)
    case = put("a", proposing()).record.id
    same = PersonVerdict(VerdictAction.SAME, THIRD)
    with pytest.raises(ConfirmationNeededError, match="'Bohemian Rhapsody' by 'Queen'"):
        session.give(case, same)
    with pytest.raises(ContradictionError):
        session.give(case, same, is_sure=True)
    assert session.store.overrides.all() == {recording: before}
    session.give(case, msgspec.structs.replace(same, replaces=True), is_sure=True)
    assert session.store.overrides.all()[recording].same_as == THIRD
    assert session.undo()[0] == case
    assert session.store.overrides.all() == {recording: before}


@pytest.mark.parametrize("hints", [IN_TERMINAL, ON_PAGE])
def test_advice_names_options_in_the_terminal_and_keys_on_the_page(
    session: ReviewSession, put: Put, hints: Hints
) -> None:
    case = put("a", proposing())
    desk = VerdictDesk(session.store, RULES, session.lookups, lambda *_: None, hints)
    there = PersonVerdict(VerdictAction.THERE, THIRD)
    with pytest.raises(CanonError) as undated:
        desk.give(case, there)
    unlisted = dataclasses.replace(session.lookups, record=lambda kind, mbid: None)
    with pytest.raises(CanonError) as unknown:
        dataclasses.replace(desk, lookups=unlisted).give(case, there)
    errors = [str(error.value) for error in (undated, unknown)]
    assert [hints.name_date in errors[0], hints.force in errors[1]] == [True, True]
    assert ["--" in error for error in errors] == [hints is IN_TERMINAL] * 2
    notes = desk.give(case, PersonVerdict(VerdictAction.CHOOSE, THIRD))[1].notes
    assert notes[-1].endswith(f"saved anyway{hints.name_release}")


def test_a_verdict_that_was_changed_since_is_not_taken_back(
    session: ReviewSession, put: Put
) -> None:
    case = put("a", proposing()).record.id
    session.give(case, PersonVerdict(VerdictAction.ACCEPT))
    session.store.overrides.remove(RecordingId(RECORDING.mb_recording_id))
    with pytest.raises(CanonError, match="changed since: 1 of 1 verdict"):
        session.undo()
    with pytest.raises(CanonError, match="no verdict of this session"):
        session.undo()


def test_what_cannot_be_accepted_is_left_when_many_are(session: ReviewSession, put: Put) -> None:
    cases = [put(name, proposing(bundle)).record.id for name, bundle in (
        ("a", with_recordings(RECORDING)), ("b", with_recordings(RECORDING, SECOND)),
        ("c", with_recordings(SECOND)),
    )]  # fmt: skip
    result, problems = session.accept_all([*cases, "gone"])
    assert (result.words, [*problems]) == ("accepted together: 2", [cases[1], "gone"])
    assert session.accept_all([cases[0]])[0].words == "accepted together: 0"
    assert session.undo()[1] == result
    assert session.done == {}
    session.is_ending = True
    result, problems = session.accept_all([cases[0]])
    assert (result.saved, problems) == ((), {cases[0]: "the server was stopped"})


def test_many_verdicts_are_saved_and_taken_back_in_one_transaction(
    session: ReviewSession, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [put(name, proposing(with_recordings(recording))).record.id
             for name, recording in (("a", RECORDING), ("b", SECOND))]  # fmt: skip
    save = session.store.verdicts.save

    def save_one(*arguments: Any, **options: Any) -> SavedVerdicts:
        if session.store.verdicts.newest(1):
            raise StoreError("the disk is full")
        return save(*arguments, **options)

    monkeypatch.setattr(session.store.verdicts, "save", save_one)
    with pytest.raises(StoreError, match="full"):
        session.accept_all(cases)
    monkeypatch.undo()
    assert (session.store.verdicts.newest(1), session.store.overrides.all()) == ((), {})
    session.accept_all(cases)
    assert len(session.store.verdicts.newest(3)) == 2
    session.undo()
    assert (session.store.verdicts.newest(1), session.store.overrides.all()) == ((), {})


def test_the_index_follows_the_store_and_keeps_the_places_of_settled_cases(
    session: ReviewSession, put: Put, tmp_path: Path
) -> None:
    first, second = (put(name, proposing(with_recordings(recording))).record.id
                     for name, recording in (("a", RECORDING), ("b", SECOND)))  # fmt: skip
    index = ReviewIndex(session.store, QUEUED)
    index.start()
    assert [item.id for item in index.all()] == [first, second]
    assert (index.total, index.items[0].band, index.items[0].files) == (2, "low", 1)
    session.give(first, PersonVerdict(VerdictAction.KEEP))
    third = msgspec.structs.replace(RECORDING, mb_recording_id=RecordingId(THIRD))
    new = put("c", proposing(with_recordings(third))).record.id
    (tmp_path / "c").unlink()
    index.refresh(session.done)
    assert [(item.id, item.is_gone) for item in index.items] == [
        (first, False), (second, False), (new, True),
    ]  # fmt: skip
    index.refresh(())  # too soon to look again
    assert index.total == 3
