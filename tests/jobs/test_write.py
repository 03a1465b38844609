"""Which decisions may be written, with and without a verdict of a person; plans of albums."""

import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import VerdictKind, VerdictRecord
from chart_binder.domain.tag_policies import ChosenIds
from chart_binder.jobs.decision import Decision, State
from chart_binder.jobs.pipeline import Pipeline, decide_bundle, file_case, save_file
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, saved_run
from chart_binder.jobs.write import (
    PlanOrReport,
    TagPlan,
    TagPlanner,
    WriteReport,
    WriteStatus,
    writable_ids,
)
from chart_binder.jobs.write_albums import albums_in, plan_album
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.store import Store, open_store
from integration.compilation import CERTAIN, bundle, compilation_files

RECORDING, GROUP, RELEASE, OTHER = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "1234")
RULES = Decision(State.DECIDED, "rules", GROUP, RELEASE, RECORDING, trace="evh=1")


def by_model(outcome: Outcome = Outcome.ACCEPTED, state: State = State.DECIDED) -> Decision:
    result = AdjudicationResult(outcome, GROUP, RELEASE, 0.9)
    return Decision(state, "llm", GROUP, RELEASE, RECORDING, trace="evh=1", adjudication=result)


def said(kind: VerdictKind, crg: str | None = None, reason: str = "") -> VerdictRecord:
    return VerdictRecord(
        decision_id="d", verdict=kind, crg_mbid=crg, reason=reason, at_utc="2026-01-01T00:00:00Z"
    )


ACCEPT, REJECT = said(VerdictKind.ACCEPT), said(VerdictKind.REJECT, reason="a cover")
TAKEN = ChosenIds(RECORDING, GROUP, RELEASE, "evh=1")


@pytest.mark.parametrize(
    ("decision", "verdict", "chosen"),
    [
        (RULES, None, TAKEN),
        (RULES, REJECT, "a person rejected it: a cover"),
        (by_model(), None, TAKEN),
        (by_model(), ACCEPT, TAKEN),
        (by_model(Outcome.REVIEW, state=State.REVIEW), None, "a person has to look at it"),
        (by_model(Outcome.REVIEW, state=State.REVIEW), ACCEPT, TAKEN),
        (by_model(), REJECT, "a person rejected it"),
        (by_model(), said(VerdictKind.ACCEPT, OTHER), ChosenIds(RECORDING, OTHER, None, "evh=1")),
        (Decision(State.ERROR, error="asleep"), None, "error: asleep"),
        (Decision(State.UNDECIDED, rationale="dim"), None, "undecided: dim"),
        (Decision(State.UNDECIDED, rationale="dim"), ACCEPT, "nothing was decided: dim"),
        (Decision(State.DECIDED, "rules", "group-7"), None, "'group-7' is not a MusicBrainz id"),
    ],
)
def test_writable_ids(
    decision: Decision, verdict: VerdictRecord | None, chosen: ChosenIds | str
) -> None:
    ids = writable_ids(decision, verdict)
    if isinstance(chosen, str):
        assert isinstance(ids, str)
        assert chosen in ids
    else:
        assert ids == chosen


@pytest.fixture
def decided(tmp_path: Path) -> Iterator[tuple[Store, list[Path]]]:
    """The files of an album with their decisions in a store."""
    files = compilation_files(tmp_path / "music", "flac", with_ids=False, songs=CERTAIN)
    with open_store(f"sqlite:///{tmp_path / 'canon.db'}") as store:
        with saved_run(store, "decide", []) as run:
            versions = RunVersions(run.run.id, rules_version(RulesConfig()))
            pipeline = Pipeline(RulesConfig(), versions=versions)
            for file, song in zip(files, CERTAIN, strict=True):
                decide_it = partial(decide_bundle, pipeline, read_bundle(bundle(song)))
                save_file(pipeline, file_case(file, decide_it), run)
        yield store, files


def planned(store: Store, files: list[Path]) -> list[PlanOrReport]:
    (album,) = albums_in(files)
    return list(plan_album(TagPlanner(store, {}), album))


def test_the_records_of_an_album_are_read_together(decided: tuple[Store, list[Path]]) -> None:
    queries = list[str]()

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        queries.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        assert all(isinstance(item, TagPlan) and item.is_changed for item in planned(*decided))
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    assert sum(query.startswith("SELECT") for query in queries) == 3, (
        "decisions, evidence and verdicts"
    )


def test_a_damaged_record_is_only_that_of_its_file(decided: tuple[Store, list[Path]]) -> None:
    store, files = decided
    with sqlite3.connect(files[0].parents[1] / "canon.db") as database:
        database.execute("UPDATE evidence SET document = x'00' WHERE rowid = 3")
    reports = [item for item in planned(store, files) if isinstance(item, WriteReport)]
    assert [item.status for item in reports] == [WriteStatus.FAILED]
    assert "is damaged" in (reports[0].why or "")
