"""Answers of earlier runs are reused, and interrupted refreshes continued."""

import msgspec
import pytest

from chart_binder.domain.records import DecisionRecord, EvidenceRecord, Measures, RunRecord, now_utc
from chart_binder.jobs.batch.resume import AdjudicationCache, interrupted_refresh
from chart_binder.jobs.decision import Decision, State
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.store import Store

ASKED = ("--refresh", "/music")
NOW = RunRecord(id="now", command="batch", arguments=ASKED, started_at_utc="2026-11-21T12:00:00Z")


def keep(
    store: Store,
    day: str,
    arguments: tuple[str, ...] = ASKED,
    stopped: str | None = None,
    status: int | None = 1,
) -> None:
    """Keep a run of one day, with its name, that ended an hour after it began."""
    at = f"2026-11-{day}T12:00:00Z"
    store.runs.begin(RunRecord(id=day, command="batch", arguments=arguments, started_at_utc=at))
    store.runs.measure(day, {}, msgspec.json.encode(Measures(seconds=3600, stopped=stopped)))
    if status is not None:
        store.runs.end(day, f"2026-11-{day}T13:00:00Z", status, {})


def test_it_goes_on_from_where_the_first_of_them_began(store: Store) -> None:
    keep(store, "10", status=3)
    keep(store, "12", status=None)
    keep(store, "13", stopped="MusicBrainz failed 8 times in a row")
    keep(store, "14", ("/music",))
    keep(store, "15", ("--jobs=8", "--write", *ASKED), status=130)
    found = interrupted_refresh(store, NOW)
    assert found
    assert found.runs == {"12", "13", "15", "now"}
    assert found.since == 1794484800


@pytest.mark.parametrize(
    ("day", "last", "status", "now"),
    [
        *[("20", ASKED, status, ASKED) for status in (0, 1, 3)],
        ("13", ASKED, 130, ASKED),  # long ago
        ("20", ("--refresh", "/other"), 130, ASKED),
        ("20", ("--refresh", "--only=error", "/music"), 130, ASKED),
        ("20", ("--refresh", "--stdin"), 130, ("--refresh", "--stdin")),
    ],
)
def test_one_that_ended_long_ago_or_was_asked_otherwise_starts_again(
    store: Store, day: str, last: tuple[str, ...], status: int, now: tuple[str, ...]
) -> None:
    keep(store, "12", status=130)
    keep(store, day, last, status=status)
    assert interrupted_refresh(store, msgspec.structs.replace(NOW, arguments=now)) is None


def test_a_refresh_takes_the_answers_of_its_own_runs_alone(store: Store) -> None:
    result = AdjudicationResult(Outcome.REJECTED, evidence_hash="e")
    decision = Decision(State.UNDECIDED, evidence_hash="e", adjudication=result)
    kept = DecisionRecord(
        id="d", run_id="yesterday", path=b"/a", file_size=1, file_mtime_ns=1, recording_mbid=None,
        state="undecided", decided_by=None, crg_mbid=None, rr_mbid=None, evidence_hash="e",
        rules_version="r", trace=None, document=msgspec.json.encode(decision),
        decided_at_utc=now_utc(), adjudicator="asked",
    )  # fmt: skip
    store.runs.begin(RunRecord(id="yesterday", command="batch", started_at_utc=now_utc()))
    store.decisions.put(kept, EvidenceRecord("e", b"{}"), None)
    for runs, is_known in ((set(), True), ({"yesterday"}, True), ({"now"}, False)):
        answers = AdjudicationCache(store, "asked", frozenset(runs))
        assert (answers.get("e") is not None) == is_known
