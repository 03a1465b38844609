"""Decisions are saved with evidence, transcript and versions, or the result is an error."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from chart_binder.config import LLMConfig, RulesConfig
from chart_binder.domain.evidence import Artifact
from chart_binder.domain.evidence_json import read_bundle
from chart_binder.domain.records import DecisionRecord
from chart_binder.jobs.decision import Case, Cause, Decision, State, advice_for
from chart_binder.jobs.pipeline import Pipeline, decide_bundle, file_case, save_file
from chart_binder.jobs.stored_decisions import (
    LazyRun,
    RunVersions,
    adjudicator_version,
    path_bytes,
    rules_version,
    saved_run,
    stored_bundle,
)
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.react.transcript import MessageEvent
from chart_binder.store import Store
from golden.bundles import golden

RULES = RulesConfig()
ALBUM = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"


@dataclass
class Saver:
    """Saves the decisions of one run."""

    run: LazyRun

    @property
    def store(self) -> Store:
        return self.run.store

    def decide_and_save(self, path: Path, decide_it: Callable[[], Case]) -> Case:
        versions = RunVersions(self.run.run.id, rules_version(RULES))
        pipeline = Pipeline(RULES, versions=versions)
        return save_file(pipeline, file_case(path, decide_it), self.run)


@pytest.fixture
def saver(store: Store) -> Iterator[Saver]:
    with saved_run(store, "decide", ("music",)) as run:
        yield Saver(run)


@pytest.fixture
def song(tmp_path: Path) -> Path:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/song \xff.flac"))
    path.write_bytes(b"audio")
    return path


def deciding(duration_ms: int = 355_000) -> Callable[[], Case]:
    bundle = msgspec.structs.replace(
        read_bundle(golden("lead-bohemian")), artifact=Artifact(duration_ms, {"title": "as tagged"})
    )
    return lambda: decide_bundle(Pipeline(RULES), bundle)


def latest(store: Store, path: Path) -> DecisionRecord:
    record = store.decisions.latest(path_bytes(path))
    assert record is not None
    return record


def test_files_that_share_evidence_keep_their_tags(
    saver: Saver, song: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "other.flac"
    changed.write_bytes(b"more audio")
    saver.decide_and_save(song, deciding(355_000))
    case = saver.decide_and_save(changed, deciding(356_000))
    assert latest(saver.store, song).evidence_hash == latest(saver.store, changed).evidence_hash
    assert stored_bundle(saver.store, latest(saver.store, changed)) == case.bundle


def test_what_is_no_file_is_not_kept(saver: Saver, tmp_path: Path) -> None:
    for path in (tmp_path / "absent.flac", tmp_path):
        saver.decide_and_save(path, deciding())
    assert list(saver.store.decisions.iterate()) == []
    assert saver.store.runs.latest() is None


@pytest.mark.parametrize("is_file", [True, False])
def test_a_transcript_is_kept_from_its_file_or_as_it_came(
    saver: Saver, song: Path, tmp_path: Path, is_file: bool
) -> None:
    event = MessageEvent(role="user", content="what is it?")
    recorded = tmp_path / "2026-run.jsonl"
    recorded.write_bytes(msgspec.json.encode(event) + b"\n")
    result = AdjudicationResult(Outcome.REVIEW, transcript=str(recorded) if is_file else (event,))
    decision = Decision(State.REVIEW, adjudication=result)
    saver.decide_and_save(song, lambda: Case(decision))
    name = latest(saver.store, song).transcript_id
    assert name is not None
    assert name == "2026-run" or not is_file
    record = saver.store.transcripts.get(name)
    assert record is not None
    assert record.document == recorded.read_bytes()


def test_a_transcript_that_is_gone_costs_no_decision(saver: Saver, song: Path) -> None:
    result = AdjudicationResult(Outcome.REVIEW, transcript="/absent.jsonl")
    saver.decide_and_save(song, lambda: Case(Decision(State.REVIEW, adjudication=result)))
    assert latest(saver.store, song).transcript_id is None


NOW = adjudicator_version(LLMConfig(), RULES)


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({"enabled": True, "base_url": "http://x:1", "timeout_s": 1.0, "stream": True}, True),
        ({"searxng": {"url": "http://elsewhere:2", "timeout_s": 1.0}}, True),
        ({"model_id": "another"}, False),
        ({"temperature": 1.0}, False),
        ({"prompt": {"rules": "Toss a coin."}}, False),
        ({"tools": {"wikipedia": False}}, False),
        ({"acceptance": {"min_sources": 3}}, False),
    ],
)
def test_a_model_version_ignores_addresses_and_timeouts(
    changed: dict[str, Any], is_same: bool
) -> None:
    assert (adjudicator_version(LLMConfig.model_validate(changed), RULES) == NOW) == is_same


def test_a_model_version_changes_with_the_rules() -> None:
    changed = RulesConfig(lead_window_days=1)
    assert rules_version(RULES) == rules_version(RulesConfig()) != rules_version(changed)
    assert adjudicator_version(LLMConfig(), changed) != NOW


def test_every_cause_has_an_advice_of_its_own_kind() -> None:
    unknown = advice_for(None)
    assert [cause for cause in Cause if advice_for(cause) == unknown] == []
    assert "--frozen" in advice_for(Cause.NOT_LOOKED_UP)
