"""What waits for a person: open, the latest of its file, and not ruled on by anybody."""

import msgspec
import pytest

from chart_binder.domain.records import DecisionRecord, VerdictKind, VerdictRecord
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId
from chart_binder.store import Store
from store.records import NOW, ODD_PATH, decision

LATER = "2026-11-22T00:00:00.000000Z"
OPEN = ("review", "undecided")


def waits(number: int, path: bytes | None = None, **changes: object) -> DecisionRecord:
    changes = {"evidence_hash": f"hash{number}"} | changes
    made = decision(number, path or b"/music/%d.flac" % number, "review")
    return msgspec.structs.replace(made, **changes)


def said(number: int, kind: VerdictKind, crg: str | None = None, at: str = LATER) -> VerdictRecord:
    return VerdictRecord(decision_id=f"decision{number}", verdict=kind, crg_mbid=crg, at_utc=at)


def override(crg: str = "group", at: str = LATER) -> OverrideRecord:
    return OverrideRecord(RecordingId("recording"), ReleaseGroupId(crg), None, "mine", at)


def queue(store: Store, *under: bytes) -> list[tuple[str, int, int]]:
    cases = store.waiting.cases(OPEN, under)
    return [
        (each.decision.id.removeprefix("decision"), each.files, each.cases_left) for each in cases
    ]


def test_the_latest_of_each_file_waits_if_it_is_open(store: Store) -> None:
    store.decisions.put_all(
        (each, None, None)
        for each in (
            waits(1),
            waits(2),
            waits(3, b"/music/2.flac", state="decided"),
            waits(4, state="undecided"),
            waits(5, state="error"),
            waits(6, evidence_hash=None),
        )
    )
    assert queue(store) == [("1", 1, 3), ("4", 1, 2), ("6", 1, 1)]
    assert [each.decision.id for each in store.waiting.cases(["review"])] == [
        "decision1", "decision6",
    ]  # fmt: skip
    assert store.waiting.has("decision1", OPEN)
    assert not store.waiting.has("decision2", OPEN)


def test_the_cases_of_a_folder_are_together(store: Store) -> None:
    paths = (b"/b/1.flac", b"/a/1.flac", b"/b/CD 2/1.flac", b"/a/2.flac", ODD_PATH, b"/b/2.flac")
    store.decisions.put_all((waits(n, path), None, None) for n, path in enumerate(paths))
    assert [name for name, _, _ in queue(store)] == ["0", "2", "5", "1", "3", "4"]
    assert [left for _, _, left in queue(store)] == [6, 5, 4, 3, 2, 1]


def test_files_of_one_evidence_are_one_case(store: Store) -> None:
    for number in range(1, 8):
        store.decisions.put(waits(number, evidence_hash=f"hash{number % 3}"))
    assert queue(store) == [("5", 2, 3), ("6", 2, 2), ("7", 3, 1)]
    store.decisions.put(waits(8, evidence_hash="hash1", state="undecided"))
    assert queue(store) == [("5", 2, 3), ("6", 2, 2), ("7", 4, 1)], "that with an answer is shown"
    same = store.waiting.of_evidence("hash1", OPEN)
    assert [each.id for each in same] == [f"decision{n}" for n in (1, 4, 7, 8)]


def test_files_and_folders_are_looked_for_by_name(store: Store) -> None:
    store.decisions.put(waits(1, b"/music/a/1.flac"))
    store.decisions.put(waits(2, b"/music/ab/2.flac"))
    store.decisions.put(waits(3, ODD_PATH))
    assert queue(store, b"/music/a") == [("1", 1, 1)]
    assert queue(store, b"/music/ab/2.flac", ODD_PATH) == [("2", 1, 2), ("3", 1, 1)]
    assert len(queue(store, b"/")) == 3
    assert queue(store, b"/music/%") == []


@pytest.mark.parametrize("kind", list(VerdictKind))
def test_what_was_ruled_on_waits_no_more(store: Store, kind: VerdictKind) -> None:
    store.decisions.put(waits(1))
    store.decisions.put(waits(2))
    store.verdicts.save([said(1, kind)])
    assert queue(store) == [("2", 1, 1)]


def test_a_verdict_holds_until_evidence_rules_or_the_answer_change(store: Store) -> None:
    first = waits(1)
    store.decisions.put(first)
    store.verdicts.save([said(1, VerdictKind.KEEP)])

    def again(number: int, **changes: object) -> DecisionRecord:
        new = msgspec.structs.replace(first, id=f"decision{number}", **changes)
        store.decisions.put(new)
        return new

    same = again(2)
    assert queue(store) == []
    found = store.verdicts.on_equal(same)
    assert found is not None
    assert found.decision_id == "decision1"
    others: list[dict[str, str | None]] = [
        {"evidence_hash": "other"}, {"rules_version": "2"}, {"crg_mbid": None},
    ]  # fmt: skip
    for number, changes in enumerate(others, start=3):
        new = again(number, **changes)
        assert queue(store) == [(str(number), 1, 1)]
        assert store.verdicts.on_equal(new) is None


def test_an_override_for_the_recording_set_since_settles_it(store: Store) -> None:
    store.decisions.put(waits(1))
    store.overrides.put(override(at="2026-01-01T00:00:00.000000Z"))
    assert queue(store) == [("1", 1, 1)], "it was there, and did not apply"
    store.overrides.put(override())
    assert queue(store) == []
    store.overrides.remove(RecordingId("recording"))
    assert queue(store) == [("1", 1, 1)]


def test_what_an_override_decided_waits_once_that_is_removed(store: Store) -> None:
    store.overrides.put(override())
    store.decisions.put(waits(1, state="decided", decided_by="override"))
    assert queue(store) == []
    store.overrides.remove(RecordingId("recording"))
    assert queue(store) == [("1", 1, 1)]
    assert list(store.waiting.cases(["review"])) == []
    store.verdicts.save([said(1, VerdictKind.KEEP)])
    assert queue(store) == []


def test_a_verdict_goes_with_the_override_it_came_with(store: Store) -> None:
    store.decisions.put(waits(2))  # it names no recording
    ruled = said(2, VerdictKind.REJECT, "group")
    kept = said(2, VerdictKind.KEEP, at=NOW)
    store.verdicts.save([kept])
    store.verdicts.save([ruled], override())
    assert store.verdicts.history("decision2") == (ruled, kept)
    store.overrides.remove(RecordingId("recording"))
    assert store.verdicts.history("decision2") == (kept,)
    store.verdicts.save([ruled], override())
    store.overrides.put(override("another"))
    assert store.verdicts.history("decision2") == (kept,)


def test_a_ruling_is_taken_back_exactly(store: Store) -> None:
    for number in (1, 2):
        store.decisions.put(waits(number))
    first = store.verdicts.save([said(1, VerdictKind.ACCEPT, "group")], override())
    assert (first.before, first.verdicts_before) == ((), ())
    then = "2026-11-23T00:00:00.000000Z"
    second = store.verdicts.save(
        [said(2, VerdictKind.REJECT, "another", at=then)], override("another", then)
    )
    assert store.verdicts.history("decision1") == ()
    store.verdicts.take_back(second)
    assert store.overrides.all() == {"recording": override()}
    assert store.verdicts.history("decision1") == (said(1, VerdictKind.ACCEPT, "group"),)
    assert store.verdicts.history("decision2") == ()
    store.verdicts.take_back(first)
    assert store.overrides.all() == {}
    assert queue(store) == [("1", 1, 2), ("2", 1, 1)]
