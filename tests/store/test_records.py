"""Records and overrides come back as they were saved, from either database."""

from pathlib import Path

import msgspec
import pytest

from chart_binder.domain.records import (
    AuditRecord,
    AuditVerdict,
    DecisionRecord,
    EvidenceRecord,
    TranscriptRecord,
    UnwrittenRecord,
    VerdictKind,
    VerdictRecord,
)
from chart_binder.domain.verdict import OverrideRecord
from chart_binder.domain.vocabulary import RecordingId, ReleaseGroupId, ReleaseId
from chart_binder.errors import StoreError
from chart_binder.store import Store, open_store, read_overrides
from chart_binder.store.decisions import ForgottenCounts
from store.records import NOW, ODD_PATH, decision, run, write

SONG = b"/music/song.flac"


def test_a_decision_comes_back_as_it_was_put(store: Store) -> None:
    plain = decision(1)
    odd = msgspec.structs.replace(
        decision(2, ODD_PATH), transcript_id="t", artifact=b"{}", trace="evh=1;é"
    )
    store.decisions.put(plain)
    store.decisions.put(odd)
    assert store.decisions.by_id("decision1") == plain
    assert store.decisions.latest(ODD_PATH) == odd
    assert store.decisions.by_id("absent") is None
    assert store.decisions.latest(b"/absent") is None
    assert store.decisions.history(b"/absent") == ()


def test_the_last_decision_on_a_file_counts_with_the_others_kept(store: Store) -> None:
    made = [decision(1), decision(2, state="error"), decision(3, b"/other")]
    for each in made:
        store.decisions.put(each)
    assert store.decisions.latest(SONG) == made[1]
    assert store.decisions.history(SONG) == (made[1], made[0])


def test_a_decision_that_is_kept_is_not_changed_by_another_of_its_name(store: Store) -> None:
    store.decisions.put(decision(1))
    store.decisions.put(decision(1, state="error"))
    assert store.decisions.history(SONG) == (decision(1),)


def test_decisions_are_gone_through_by_state_run_and_path(store: Store) -> None:
    for number in range(203):  # more than two pages
        state = "decided" if number % 3 else "review"
        store.decisions.put(decision(number, b"/song/%d" % (number % 200), state))
    other = msgspec.structs.replace(decision(5_000, b"/last"), run_id="later")
    store.decisions.put(other)
    latest = [one.id for one in store.decisions.iterate()]
    every = [f"decision{n}" for n in (*range(203), 5_000)]
    assert latest == every[3:], "three files were decided twice"
    counts = [store.decisions.count_of_run(run_id) for run_id in ("run", "later", "absent")]
    assert counts == [203, 1, 0]
    review = [one.id for one in store.decisions.iterate({"review"})]
    assert review == [f"decision{n}" for n in range(3, 203, 3)]


def test_what_is_put_while_decisions_are_gone_through_does_not_come_up(store: Store) -> None:
    for number in range(3):
        store.decisions.put(decision(number, b"/song/%d" % number, "review"))
    seen = 0
    for one in store.decisions.iterate({"review"}):
        seen += 1
        store.decisions.put(decision(100 + seen, one.path, "review"))
    assert seen == 3
    assert len(list(store.decisions.iterate())) == 3


def test_the_same_evidence_is_kept_once_with_its_decisions(store: Store) -> None:
    first = EvidenceRecord("hash", b'{"artist":"\xe5\xae\x89"}' * 1_000)
    store.decisions.put(decision(1), first, TranscriptRecord("run-1", b"{}\n"))
    store.decisions.put(decision(2), EvidenceRecord("hash", b"fetched at another time"))
    assert store.evidence.get("hash") == first
    assert store.transcripts.get("run-1") == TranscriptRecord("run-1", b"{}\n")
    assert store.evidence.get("absent") is None
    assert store.transcripts.get("absent") is None


def test_a_run_is_begun_and_ended(store: Store) -> None:
    store.runs.begin(run(1))
    store.runs.begin(run(1))
    assert store.runs.get("run1") == run(1)
    store.runs.end("run1", NOW, 3, {"review": 2})
    ended = msgspec.structs.replace(run(1), ended_at_utc=NOW, status=3, counts={"review": 2})
    assert store.runs.get("run1") == ended
    assert store.runs.get("absent") is None


def test_the_last_run_is_found_by_command(store: Store) -> None:
    assert store.runs.latest() is None
    for number in range(102):
        store.runs.begin(run(number, "write" if number == 7 else "decide"))
    last = store.runs.latest()
    assert last == run(101)
    assert store.runs.newest(1, "write") == (run(7, "write"),)
    assert store.runs.newest(1, "undo") == ()
    assert store.runs.newest(2) == (run(101), run(100))
    assert store.runs.newest(9, "write") == (run(7, "write"),)
    assert [one.id for one in store.runs.iterate()] == [f"run{n}" for n in reversed(range(102))]
    assert [one.id for one in store.runs.beginning_with("run1")] == ["run101", "run100"]
    assert [one.id for one in store.runs.beginning_with("run7")] == ["run79", "run78"]
    for odd in ("_un7", "%", "absent"):
        assert store.runs.beginning_with(odd) == ()


def test_the_newest_verdict_counts(store: Store) -> None:
    verdicts = [
        VerdictRecord(decision_id="decision1", verdict=VerdictKind.REJECT, reason="no", at_utc=NOW),
        VerdictRecord(
            decision_id="decision1", verdict=VerdictKind.ACCEPT, crg_mbid="g", rr_mbid="r",
            at_utc=NOW,
        ),
    ]  # fmt: skip
    for verdict in verdicts:
        store.verdicts.save([verdict])
    assert store.verdicts.history("decision1") == (verdicts[1], verdicts[0])
    assert store.verdicts.history("absent") == ()


def test_the_newest_verdict_on_a_sample_counts_for_each_decision(store: Store) -> None:
    said = [("d1", "wrong"), ("d2", "right"), ("d1", "unsure")]
    for decision_id, verdict in said:
        store.audits.put(
            AuditRecord(decision_id=decision_id, verdict=AuditVerdict(verdict), at_utc=NOW)
        )
    assert [(one.decision_id, one.verdict) for one in store.audits.latest().values()] == [
        ("d1", "unsure"), ("d2", "right"),
    ]  # fmt: skip
    assert store.verdicts.history("d1") == (), "it is no verdict that changes a decision"


def test_files_that_were_not_written_stay_until_they_are(store: Store) -> None:
    def refused(path: bytes, why: str, decision_id: str | None = "d1") -> UnwrittenRecord:
        return UnwrittenRecord(path=path, decision_id=decision_id, why=why, at_utc=NOW)

    one, other = refused(SONG, "busy"), refused(ODD_PATH, "busy", None)
    store.unwritten.update([one, other], [])
    assert {each.path: each for each in store.unwritten.all()} == {SONG: one, ODD_PATH: other}
    store.unwritten.update([refused(SONG, "left out")], [ODD_PATH, b"/never/heard/of"])
    assert [(each.path, each.why) for each in store.unwritten.all()] == [(SONG, "left out")]
    store.unwritten.update([], [SONG])
    assert list(store.unwritten.all()) == []


def test_an_intent_stays_open_until_it_is_done_or_failed(store: Store) -> None:
    for number, path in enumerate((SONG, ODD_PATH, SONG)):
        store.journal.intend(write(number, path))
    assert store.journal.open_intents() == (write(0), write(1, ODD_PATH), write(2))
    store.journal.done("write0", NOW)
    store.journal.failed("write1", NOW, "the disk is full")
    assert store.journal.open_intents() == (write(2),)
    assert store.journal.counts("run") == {"done": 1, "failed": 1, "intended": 1}
    assert store.journal.counts("absent") == {}
    done = msgspec.structs.replace(write(0), state="done", done_at_utc=NOW)
    assert store.journal.of_path(SONG) == (write(2), done)
    failed = store.journal.get("write1")
    assert failed is not None
    assert (failed.state, failed.problem) == ("failed", "the disk is full")
    for number in range(3, 205):
        store.journal.intend(write(number))
    assert [one.id for one in store.journal.of_run("run")] == [
        f"write{number}" for number in reversed(range(205))
    ]


def test_only_what_is_done_can_be_undone(store: Store) -> None:
    store.journal.intend(write(1))
    with pytest.raises(
        StoreError, match="cannot mark the write 'write1' as undone: it is intended"
    ):
        store.journal.undone("write1", NOW)
    store.journal.done("write1", NOW)
    store.journal.done("write1", NOW)
    store.journal.undone("write1", NOW)
    store.journal.intend(write(1))
    with pytest.raises(StoreError, match="done: it is undone"):
        store.journal.done("write1", NOW)
    with pytest.raises(StoreError, match="it is not stored"):
        store.journal.done("absent", NOW)


def test_a_very_long_key_is_kept_like_any_other(store: Store) -> None:
    longest = "artist é " * 2_000
    store.answers.put(longest, b"body", 1.5)
    store.answers.put(f"{longest}!", b"other", 1.5)
    kept = store.answers.get(longest)
    assert kept is not None
    assert kept.body == b"body"
    store.answers.forget(longest)
    assert store.answers.get(longest) is None
    assert store.answers.get(f"{longest}!") is not None


def answered(number: int, adjudicator: str | None, known: str = "hash") -> DecisionRecord:
    return msgspec.structs.replace(
        decision(number, b"/song/%d" % number), adjudicator=adjudicator, evidence_hash=known
    )


def test_what_a_model_answered_is_found_by_its_evidence_and_how_it_was_asked(store: Store) -> None:
    one, other = answered(1, "llama"), answered(2, "qwen")
    store.decisions.put_all(
        [(kept, None, None) for kept in (one, other, answered(3, None), answered(4, "qwen", "x"))]
    )
    assert store.decisions.by_evidence("hash", "llama") == one
    assert store.decisions.by_evidence("hash", "qwen") == other
    assert store.decisions.by_evidence("hash", "another") is None
    assert store.decisions.by_evidence("absent", "qwen") is None


def test_of_decisions_that_are_put_together_all_are_kept_or_none(store: Store) -> None:
    bad = msgspec.structs.replace(decision(2), trace="a lone surrogate: \udcff")
    both = [(decision(1), EvidenceRecord("hash", b"{}"), None), (bad, None, None)]
    with pytest.raises(StoreError, match="cannot store this") as caught:
        store.decisions.put_all(both)
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError):
        store.decisions.put(msgspec.structs.replace(decision(3), file_size=2**70))
    assert store.decisions.history(SONG) == ()
    assert store.evidence.get("hash") is None
    store.decisions.put_all(both[:1])
    assert store.decisions.by_id("decision1") == decision(1)


RULED = OverrideRecord(
    RecordingId("rec"), ReleaseGroupId("group"), ReleaseId("release"), "I was there", "2026-11-02"
)


def test_a_save_that_fails_among_others_is_undone_alone(store: Store) -> None:
    other = msgspec.structs.replace(RULED, recording_mbid=RecordingId("other"))
    bad = msgspec.structs.replace(RULED, reason="a lone surrogate: \udcff")
    store.overrides.put(RULED)
    with store.together():
        with pytest.raises(StoreError, match="cannot store this"):
            store.overrides.put(bad)
        store.overrides.put(other)
    assert store.overrides.all() == {"rec": RULED, "other": other}


def test_overrides_are_read_as_they_were_put_last_until_they_are_removed(url: str) -> None:
    other = msgspec.structs.replace(RULED, recording_mbid=RecordingId("other"), rr_mbid=None)
    newer = msgspec.structs.replace(RULED, rr_mbid=None, reason="on second thoughts")
    with open_store(url) as store:
        for override in (RULED, other, newer):
            store.overrides.put(override)
        assert read_overrides(url) == {"rec": newer, "other": other}, "beside an open store"
    assert read_overrides(url) == {"rec": newer, "other": other}
    with open_store(url) as store:
        store.overrides.remove(RULED.recording_mbid)
        store.overrides.remove(RULED.recording_mbid)
    assert read_overrides(url) == {"other": other}


def test_reading_makes_no_store(tmp_path: Path) -> None:
    assert read_overrides(f"sqlite:///{tmp_path}/absent/store.db") == {}
    assert list(tmp_path.iterdir()) == []


def test_a_store_whose_tables_have_names_that_are_no_text_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    url = f"sqlite:///{path}"
    open_store(url).close()
    torn = path.read_bytes().replace(b"CREATE TABLE runs", b"CREXTE TABLE runs")
    path.write_bytes(torn.replace(b"runsruns", b"ru\xff\xfe" * 2))
    for read in (read_overrides, lambda url: open_store(url).close()):
        with pytest.raises(StoreError, match="is damaged"):
            read(url)


def test_what_is_forgotten_takes_what_hangs_on_it_alone_with_it(store: Store) -> None:
    paths = (b"/music/a/1.flac", b"/music/a/2.flac", b"/music/ab/3.flac", b"/music/a%")
    for number, path in enumerate(paths):
        shared = "both" if number else "alone"
        made = msgspec.structs.replace(
            decision(number, path), evidence_hash=shared, transcript_id=shared
        )
        store.decisions.put(made, EvidenceRecord(shared, b"{}"), TranscriptRecord(shared, b"{}"))
        store.audits.put(AuditRecord(decision_id=made.id, verdict=AuditVerdict.RIGHT, at_utc=NOW))
        store.unwritten.update(
            [UnwrittenRecord(path=path, why="why", at_utc=NOW, decision_id=made.id)], []
        )
    store.decisions.put(decision(9, paths[0]))
    named = [b"/music/a/", *(b"/none/%d" % number for number in range(300))]
    assert store.decisions.forget(named, is_dry=True) == ForgottenCounts(2, 3)
    assert store.decisions.history(paths[0]) != ()
    assert store.decisions.forget(named) == ForgottenCounts(2, 3)
    assert {one.path for one in store.decisions.iterate()} == {*paths[2:]}
    assert {*store.audits.latest()} == {"decision2", "decision3"}
    assert {one.path for one in store.unwritten.all()} == {*paths[2:]}
    assert store.evidence.of(["both", "alone"]).keys() == {"both"}
    assert store.transcripts.of(["both", "alone"]).keys() == {"both"}
    assert store.decisions.forget([paths[3], b"/"]) == ForgottenCounts(2, 2)
