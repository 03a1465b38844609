"""What was answered of some evidence counts where it was asked by whom it should have been."""

from pathlib import Path

import msgspec

from chart_binder.domain.records import KeptDecision, KeptEvidence, KeptRun, now_utc
from chart_binder.jobs.batch.resume import AnswerCache
from chart_binder.jobs.decide import Decision, State
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.store import open_store


def test_a_refresh_takes_the_answers_of_its_own_runs_alone(tmp_path: Path) -> None:
    result = AdjudicationResult(Outcome.REJECTED, evidence_hash="e")
    decision = Decision(State.INDETERMINATE, evidence_hash="e", adjudication=result)
    kept = KeptDecision(
        id="d", run_id="yesterday", path=b"/a", file_size=1, file_mtime_ns=1, recording_mbid=None,
        state="indeterminate", decided_by=None, crg_mbid=None, rr_mbid=None, evidence_hash="e",
        rules_version="r", trace=None, document=msgspec.json.encode(decision),
        decided_at_utc=now_utc(), adjudicator="asked",
    )  # fmt: skip
    with open_store(f"sqlite:///{tmp_path / 'canon.db'}") as store:
        store.runs.begin(KeptRun(id="yesterday", command="batch", started_at_utc=now_utc()))
        store.decisions.put(kept, KeptEvidence("e", b"{}"), None)
        for runs, is_known in ((set(), True), ({"yesterday"}, True), ({"now"}, False)):
            answered = AnswerCache(store, "asked", frozenset(runs))
            assert (answered.get("e") is not None) == is_known
