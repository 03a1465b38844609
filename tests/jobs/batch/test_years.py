"""The years of a batch: what is asked first, once a recording, for how long, and what is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from chart_binder.batch import BatchOptions
from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.patches import FIRST_RELEASE, THE_RECORDING
from chart_binder.domain.records import new_id
from chart_binder.domain.verdict import Verdict
from chart_binder.errors import UsageError
from chart_binder.jobs.batch import Album, Worker
from chart_binder.jobs.batch.years import SECONDS_A_RUN, YearQueue, is_asked_about
from chart_binder.jobs.decision import FileOutcome
from chart_binder.jobs.gather import EvidenceLookup
from chart_binder.jobs.pipeline import Pipeline, decide_by_rules
from chart_binder.jobs.stored_decisions import (
    RunVersions,
    earlier_decision,
    path_bytes,
    read_decision,
    rules_version,
    stored_case,
)
from chart_binder.llm.result import AdjudicationResult, Fact, Outcome, Usage
from chart_binder.store import Store
from llm.verdicts.play import load_evidence

RULES = RulesConfig()


def song(title: str, record: str, tagged: str) -> EvidenceBundle:
    raw = {"artist": "Lena Frost", "country": "GB", "title": title, "records": [record]}
    bundle = load_evidence(title, raw).bundle
    return replace(bundle, artifact=Artifact(tags={"date": tagged}))


BEST = 'C | Album+Compilation | Best | 1981-03-02 GB [R 1, 12" Vinyl]'
SCORE = 'O | Album+Soundtrack | Score | {} GB [R 2, 12" Vinyl]'
SONGS = {
    "a.flac": song("Gate", SCORE.format("1990-01-01"), "1991"),
    "b.flac": song("Mill", SCORE.format("1970-01-01"), "1999"),
    "c.flac": song("Tram", BEST, "1981"),
    "d.flac": song("Tram", BEST, "2001"),
    "e.flac": song("Rail", 'A | Album | Rails | 1981-03-02 GB [R 3, 12" Vinyl]', "1981"),
}


@dataclass
class Model:
    """Dates every song 1965, or fails; `asked` has their titles."""

    outcome: Outcome = Outcome.ACCEPTED
    asked: list[str] = field(default_factory=list)

    def adjudicate(self, evidence: EvidenceBundle, _: Verdict | None = None) -> AdjudicationResult:
        self.asked.append(evidence.recording_title or "")
        fact = Fact(
            THE_RECORDING, FIRST_RELEASE, "1965-05-05", "https://en.wikipedia.org/wiki/It",
            verified=True, trusted=True, cited=False,
        )  # fmt: skip
        crg = evidence.groups[0].mb_rg_id
        usage = Usage(model_seconds=9.0, tool_seconds=1.0)
        return AdjudicationResult(self.outcome, crg, facts=(fact,), usage=usage, problem="late")


@dataclass
class Gathered:
    songs: dict[str, EvidenceBundle]
    requests: int = 0

    def of(self, paths: Sequence[Path]) -> EvidenceLookup:
        return lambda path: self.songs[path.name]


def decided(
    store: Store, folder: Path, model: Model, songs: dict[str, EvidenceBundle] = SONGS
) -> tuple[Worker, list[FileOutcome]]:
    """Decide files by rules, as the first part of a batch does."""
    versions = RunVersions(new_id(), rules_version(RULES), "model")
    worker = Worker(Pipeline(RULES, model, evidence=Gathered(songs), versions=versions))
    paths = tuple(folder / name for name in songs)
    for path in paths:
        path.write_bytes(b"tiny")
    outcomes = list(worker.gather(Album(paths)).outcomes)
    store.decisions.put_all([one.stored for one in outcomes if one.stored])
    return worker, outcomes


def asked(
    store: Store, worker: Worker, outcomes: Sequence[FileOutcome], seconds: float | None = None
) -> tuple[YearQueue, dict[str, FileOutcome]]:
    queue = YearQueue(1, seconds)
    for one in outcomes:
        queue.takes(one)
    return queue, {one.path.name: one for one in queue.ask(store, worker.pipeline, lambda: False)}


def test_compilations_are_first_then_the_largest_gap_and_each_performance_once(
    store: Store, tmp_path: Path
) -> None:
    model = Model()
    worker, outcomes = decided(store, tmp_path, model)
    _, found = asked(store, worker, outcomes)
    assert model.asked == ["Tram", "Mill", "Gate"]
    assert found.keys() == {"a.flac", "b.flac", "c.flac", "d.flac"}, "the album's year is certain"
    for name, one in found.items():
        first = one.decision.first_release
        assert first
        assert (first.date, first.year_certain) == ("1965-05-05", True)
        kept = store.decisions.latest(path_bytes(tmp_path / name))
        assert kept
        assert read_decision(kept) == one.decision
    assert sorted(name for name, one in found.items() if one.is_answered_before) == ["c.flac"]


def test_when_the_time_is_over_the_rest_is_left_as_it_is(store: Store, tmp_path: Path) -> None:
    worker, outcomes = decided(store, tmp_path, model := Model())
    queue, found = asked(store, worker, outcomes, seconds=0.0)
    assert (model.asked, queue.files_left) == ([], 4)
    assert all(one.decision.first_release for one in found.values())
    assert not any(one.decision.year_answer for one in found.values())


def test_a_model_that_fails_three_times_is_asked_no_more(store: Store, tmp_path: Path) -> None:
    songs = {f"{n}.flac": song(f"Song {n}", BEST, "1981") for n in range(6)}
    model = Model(Outcome.ERROR)
    worker, outcomes = decided(store, tmp_path, model, songs)
    queue, found = asked(store, worker, outcomes)
    assert (len(model.asked), len(found), queue.files_left) == (3, 6, 3)
    assert all(is_asked_about(one.decision) for one in found.values()), "another run asks again"


def test_answers_stay_when_the_same_evidence_is_decided_again(store: Store, tmp_path: Path) -> None:
    worker, outcomes = decided(store, tmp_path, Model(Outcome.REVIEW))
    _, found = asked(store, worker, outcomes)
    assert not any(is_asked_about(one.decision) for one in found.values())
    path = tmp_path / "c.flac"
    case = decide_by_rules(worker.pipeline, SONGS["c.flac"])
    again = stored_case(case, path, path.stat(), worker.pipeline.versions)
    kept = earlier_decision(store, again[0], case.decision)
    assert kept == found["c.flac"].decision
    assert kept.year_answer


def test_the_estimate_counts_performances_and_the_time_of_the_model(
    store: Store, tmp_path: Path
) -> None:
    worker, outcomes = decided(store, tmp_path, Model(Outcome.ERROR))
    queue = YearQueue()
    assert [queue.takes(one) for one in outcomes] == [True, True, True, True, False]
    before = queue.estimate()
    assert (before.files, before.runs, before.seconds_a_run) == (4, 3, SECONDS_A_RUN)
    _, found = asked(store, worker, outcomes)
    after = YearQueue()
    assert all(map(after.takes, found.values()))
    assert after.estimate().seconds_a_run == 10.0
    assert after.estimate().hours == pytest.approx(3 * 10 / 3600)


@pytest.mark.parametrize(
    "options",
    [
        {"ask_years": True, "write": True},
        {"ask_years": True, "dry_run": True},
        {"ask_seconds": 3600.0},
        {"ask_years": True, "ask_seconds": 0.0},
    ],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        BatchOptions(**options).check()  # type: ignore[arg-type]
