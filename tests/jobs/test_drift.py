"""Stored decisions are compared with those of a frozen batch, and no model is asked."""

from pathlib import Path

import msgspec
import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.records import DecisionRecord
from chart_binder.domain.verdict import Verdict
from chart_binder.errors import LookupFailedError
from chart_binder.jobs.batch import Worker
from chart_binder.jobs.batch.resume import AdjudicationCache, ResumeCheck
from chart_binder.jobs.drift import Drift, DriftCause, DriftCheck, DriftState
from chart_binder.jobs.gather import StoredEvidence
from chart_binder.jobs.pipeline import Pipeline, decide_bundle, file_case, save_file
from chart_binder.jobs.stored_decisions import (
    LazyRun,
    RunVersions,
    new_run,
    path_bytes,
    rules_version,
)
from chart_binder.llm.result import AdjudicationResult, Outcome
from chart_binder.store import Store
from golden.bundles import golden, year_only_single

RULES = RulesConfig()
OTHER_RULES = RulesConfig(reissue_long_gap_years=RULES.reissue_long_gap_years + 1)
"""Rules of another version, which come to the same."""
ALBUM = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
SINGLE = golden("lead-bohemian")["recording_candidates"][0]["rg_candidates"][0]["mb_rg_id"]
OPEN = read_bundle(year_only_single())


class Model:
    """An adjudicator that accepts one release group, and counts how often it is asked."""

    def __init__(self, group: str = ALBUM) -> None:
        self.group = group
        self.asked = 0

    def adjudicate(
        self, evidence_bundle: EvidenceBundle, decision_trace: Verdict | None = None
    ) -> AdjudicationResult:
        del decision_trace
        self.asked += 1
        return AdjudicationResult(
            Outcome.ACCEPTED, crg_mbid=self.group, evidence_hash=evidence_hash(evidence_bundle)
        )


def versions(model: str, rules: RulesConfig = RULES) -> RunVersions:
    return RunVersions("run", rules_version(rules), model)


def decide(
    store: Store,
    path: Path,
    evidence: EvidenceBundle | LookupFailedError,
    model: Model | None = None,
    name: str = "",
) -> None:
    """Decide a file as `canon decide` does, with a model of a name or with none."""
    path.write_bytes(b"audio")

    def gather() -> EvidenceBundle:
        if isinstance(evidence, LookupFailedError):
            raise evidence
        return evidence

    pipeline = Pipeline(RULES, model, versions=versions(name))
    file = file_case(path, lambda: decide_bundle(pipeline, gather()))
    save_file(pipeline, file, LazyRun(store, new_run("decide")))


def record_of(store: Store, path: Path) -> DecisionRecord:
    record = store.decisions.latest(path_bytes(path))
    assert record is not None
    return record


def drift(
    store: Store,
    path: Path,
    model: Model | None = None,
    name: str = "",
    rules: RulesConfig = RULES,
) -> Drift:
    """Compare the decision on a file with that of a batch of today's model and rules."""
    evidence, versions_now = StoredEvidence(store), versions(name, rules)
    worker = Worker(Pipeline(rules, model, evidence=evidence, versions=versions_now))
    resume = ResumeCheck(store, versions_now, dict, is_frozen=True)
    check = DriftCheck(store, worker, resume, AdjudicationCache(store, name))
    rows = list(store.decisions.iterate())
    compared = check.compare(path, record_of(store, path))
    assert list(store.decisions.iterate()) == rows
    return compared


@pytest.fixture
def song(store: Store, tmp_path: Path) -> Path:
    """A file that a model decided."""
    path = tmp_path / "song.flac"
    decide(store, path, OPEN, Model(), "llama")
    return path


@pytest.mark.parametrize(
    ("name", "rules", "state", "causes"),
    [
        ("llama", RULES, DriftState.UNCHANGED, ()),
        ("qwen", RULES, DriftState.TO_ASK, ()),
        ("", RULES, DriftState.UNCHANGED, ()),
        ("", OTHER_RULES, DriftState.DIFFERS, (DriftCause.RULES,)),
    ],
    ids=["same model", "other model", "no model", "no model and other rules"],
)
def test_an_answer_stands_as_long_as_a_batch_would_not_ask_again(
    store: Store,
    song: Path,
    name: str,
    rules: RulesConfig,
    state: DriftState,
    causes: tuple[DriftCause, ...],
) -> None:
    model = Model(SINGLE) if name else None
    result = drift(store, song, model, name, rules)
    assert (result.state, result.causes) == (state, causes)
    assert model is None or model.asked == 0
    assert result.after is None or (result.after.crg_mbid == ALBUM) == (rules is RULES)


def test_another_models_answer_to_the_same_evidence_is_a_difference(
    store: Store, song: Path, tmp_path: Path
) -> None:
    decide(store, tmp_path / "other.flac", OPEN, Model(SINGLE), "qwen")
    result = drift(store, song, Model(), "qwen")
    assert (result.state, result.causes) == (DriftState.DIFFERS, (DriftCause.MODEL,))
    assert result.after is not None
    assert result.after.crg_mbid == SINGLE
    assert drift(store, song, Model(), "llama").state is DriftState.UNCHANGED


def test_a_failed_look_up_is_made_good_by_the_evidence_before_it(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "song.flac"
    artifact = Artifact(355_000, {"title": "as tagged before"})
    bundle = msgspec.structs.replace(read_bundle(golden("lead-bohemian")), artifact=artifact)
    decide(store, path, bundle)
    decide(store, path, LookupFailedError("down"))
    assert record_of(store, path).state == "error", "its tags are others"
    result = drift(store, path)
    assert (result.state, result.causes) == (DriftState.DIFFERS, (DriftCause.EVIDENCE,))
    assert result.after is not None
    assert result.after.crg_mbid == ALBUM


def test_a_file_that_never_had_evidence_is_never_decided(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "song.flac"
    decide(store, path, LookupFailedError("down"))
    assert drift(store, path).state is DriftState.NEVER
