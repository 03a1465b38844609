"""Verdicts in review and overrides: what they apply to, replace and refuse."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from chart_binder.config import AcceptanceConfig, LLMConfig, RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle, RecordingCandidate
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.records import local_time
from chart_binder.domain.verdict import SaidBy
from chart_binder.errors import CanonError
from chart_binder.jobs.decision import Case, Decision, State
from chart_binder.jobs.named_records import PersonChoice
from chart_binder.jobs.overrides import (
    ContradictionError,
    SeveralRecordingsError,
    VerdictSaver,
)
from chart_binder.jobs.pipeline import (
    OverrideLookup,
    Pipeline,
    apply_answer,
    decide_bundle,
    file_case,
    save_file,
)
from chart_binder.jobs.review import (
    ReviewCase,
    find_case,
    is_queue_empty,
    missing_sources,
    reasons,
    review_queue,
)
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, saved_run
from chart_binder.llm.result import AdjudicationResult, Check, Fact, Outcome
from chart_binder.store import Store
from golden.bundles import golden, year_only_single

RULES = RulesConfig()
OPEN = ("review", "undecided")
BUNDLE = read_bundle(year_only_single())
(RECORDING,) = BUNDLE.recording_candidates
SINGLE, ALBUM = (group.mb_rg_id for group in RECORDING.groups[:2])
OTHER = "11111111-1111-4111-8111-111111111111"


def with_recordings(*recordings: RecordingCandidate) -> EvidenceBundle:
    return msgspec.structs.replace(BUNDLE, recording_candidates=recordings)


def proposing(
    bundle: EvidenceBundle = BUNDLE, crg: str = ALBUM, rr: str | None = None, *,
    confidence: float = 0.7, model: str = "m", state: State = State.REVIEW,
) -> Case:  # fmt: skip
    digest = evidence_hash(bundle)
    result = AdjudicationResult(
        Outcome.REVIEW, crg, rr, 0.5, confidence, model_id=model, evidence_hash=digest
    )
    shown = crg if state is State.REVIEW else None
    decision = Decision(state, "llm", shown, evidence_hash=digest, adjudication=result)
    return Case(decision, bundle)


def left_open(bundle: EvidenceBundle = BUNDLE) -> Case:
    return decide_bundle(Pipeline(RULES), bundle)


Put = Callable[[object, Case], ReviewCase]


@pytest.fixture
def put(store: Store, tmp_path: Path) -> Iterator[Put]:
    """Save the decision of a case on a new file, by its name, and return it with its record."""
    with saved_run(store, "decide", ()) as run:

        def save(name: object, case: Case) -> ReviewCase:
            path = tmp_path / str(name)
            path.write_bytes(b"audio")
            versions = RunVersions(run.run.id, rules_version(RULES))
            file = file_case(path, lambda: case)
            save_file(Pipeline(RULES, versions=versions), file, run)
            return find_case(store, str(path))

        yield save


def queue(store: Store) -> list[str]:
    return [queued.case.path.name for queued in review_queue(store, store.overrides.all(), OPEN)]


def test_a_proposal_too_unsure_to_decide_can_be_accepted(store: Store, put: Put) -> None:
    case = put("a", proposing(state=State.UNDECIDED))
    ruled = VerdictSaver(store, RULES).accept(case)
    assert ruled.saved.override is not None
    assert ruled.saved.override.crg_mbid == ALBUM
    assert queue(store) == []
    assert is_queue_empty(store, store.overrides.all(), OPEN)


def test_what_the_rules_propose_by_cut_evidence_can_be_accepted(store: Store, put: Put) -> None:
    cut = msgspec.structs.replace(read_bundle(golden("lead-bohemian")), complete=False)

    def never(*_: object) -> AdjudicationResult:
        raise AssertionError("no fact makes such evidence whole")

    pipeline = Pipeline(RULES, SimpleNamespace(adjudicate=never))
    decided = decide_bundle(pipeline, cut)
    assert (decided.decision.state, decided.decision.decided_by) == (State.REVIEW, "rules")
    case = put("a", decided)
    assert case.proposal is not None
    assert (case.proposal.crg_mbid, case.proposal.label) == (ALBUM, "C2")
    ruled = VerdictSaver(store, RULES).accept(case)
    assert ruled.saved.override is not None
    assert ruled.saved.override.crg_mbid == ALBUM
    again = decide_bundle(
        Pipeline(RULES, overrides=OverrideLookup(store.overrides.all)), cut
    ).decision
    assert (again.state, again.decided_by, again.crg_mbid) == (State.DECIDED, "override", ALBUM)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        (left_open(), "nothing is proposed"),
        (proposing(crg=OTHER), "is not in the evidence"),
        (Case(Decision(State.ERROR, error="asleep")), "error: asleep"),
        (Case(Decision(State.DECIDED, "rules", ALBUM)), "decided by the rules"),
        (Case(Decision(State.DECIDED, "override", ALBUM)), "nothing is proposed"),
    ],
)
def test_what_cannot_be_accepted_is_named(store: Store, put: Put, case: Case, problem: str) -> None:
    decided = put("a", case)
    with pytest.raises(CanonError, match=problem):
        VerdictSaver(store, RULES).accept(decided)
    assert store.overrides.all() == {}
    assert store.verdicts.history(decided.record.id) == ()


def test_a_proposed_release_of_another_group_is_left_to_the_rules(store: Store, put: Put) -> None:
    of_the_single = RECORDING.groups[0].editions[0].mb_release_id
    ruled = VerdictSaver(store, RULES).accept(put("a", proposing(rr=of_the_single)))
    assert ruled.saved.override is not None
    assert ruled.saved.override.rr_mbid is None
    assert "the rules choose one" in ruled.notes[0]


def test_of_several_recordings_on_the_record_one_must_be_named(store: Store, put: Put) -> None:
    second = msgspec.structs.replace(RECORDING, mb_recording_id=OTHER)
    case = put("a", proposing(with_recordings(RECORDING, second)))
    with pytest.raises(SeveralRecordingsError):
        VerdictSaver(store, RULES).accept(case)
    with pytest.raises(CanonError, match=r"cannot be the file's; allowed: .*, "):
        VerdictSaver(store, RULES).accept(case, recording=SINGLE)
    assert VerdictSaver(store, RULES).accept(case, recording=OTHER).files == 1
    assert queue(store) == []


def test_a_file_of_another_length_is_ruled_on_by_itself(
    store: Store, put: Put, tmp_path: Path
) -> None:
    short = msgspec.structs.replace(RECORDING, mb_recording_id=OTHER, length_ms=100_000)
    long = msgspec.structs.replace(RECORDING, length_ms=355_000)
    bundle = with_recordings(long, short)
    for name, length in (("a", 355_000), ("b", 100_000), ("c", 355_000)):
        heard = msgspec.structs.replace(bundle, artifact=Artifact(length))
        put(name, proposing(heard))
    ruled = VerdictSaver(store, RULES).accept(find_case(store, str(tmp_path / "a")))
    assert ruled.files == 2
    assert queue(store) == ["b"]


def test_a_second_verdict_takes_the_place_of_the_first(store: Store, put: Put) -> None:
    for name in "ab":
        case = put(name, proposing())
    first = VerdictSaver(store, RULES).accept(case)
    assert first.files == 2
    assert VerdictSaver(store, RULES).reject(case, "no").files == 2
    assert store.overrides.all() == {}
    assert queue(store) == []
    second = VerdictSaver(store, RULES).reject(case, "the single", PersonChoice(SINGLE))
    assert [override.crg_mbid for override in store.overrides.all().values()] == [SINGLE]
    third = VerdictSaver(store, RULES).keep(case)
    assert "is removed: C1 'Bohemian Rhapsody', said 2" in third.notes[0]
    store.verdicts.take_back(third.saved)
    assert [override.crg_mbid for override in store.overrides.all().values()] == [SINGLE]
    assert store.verdicts.history(case.record.id)[0] == second.saved.verdicts[0]


def test_another_override_is_not_replaced_unasked(store: Store, put: Put, tmp_path: Path) -> None:
    VerdictSaver(store, RULES).accept(put("copy", proposing()), "heard it")
    renamed = msgspec.structs.replace(RECORDING, title="Bohemian Rhapsody (2011 mix)")
    second = put("other", proposing(with_recordings(renamed), SINGLE))
    (first,) = store.overrides.all().values()
    when = local_time(first.set_at_utc)
    text = rf" C2 .*, said {when} \(heard it\), .*copy too"
    with pytest.raises(ContradictionError, match=text):
        VerdictSaver(store, RULES).accept(second)
    with pytest.raises(ContradictionError):
        VerdictSaver(store, RULES).reject(second, "no", PersonChoice(RECORDING.groups[2].mb_rg_id))
    assert list(store.overrides.all().values()) == [first]
    ruled = VerdictSaver(store, RULES, replaces=True).accept(second)
    assert [override.crg_mbid for override in store.overrides.all().values()] == [SINGLE]
    assert "in place of C2" in ruled.notes[0]
    assert f"applies to {tmp_path / 'copy'} too" in ruled.notes[0]


def test_a_case_with_damaged_evidence_is_listed(store: Store, put: Put, tmp_path: Path) -> None:
    put("a", left_open())
    renamed = msgspec.structs.replace(RECORDING, mb_recording_id=OTHER)
    put("b", left_open(with_recordings(renamed)))
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute(
            "UPDATE evidence SET document = x'00' WHERE hash = ?", (evidence_hash(BUNDLE),)
        )
    connection.close()
    damaged, sound = (queued.case for queued in review_queue(store, {}, OPEN))
    assert "damaged" in (damaged.damage or "")
    assert sound.damage is None
    VerdictSaver(store, RULES).keep(damaged)
    assert queue(store) == ["b"]


def test_files_that_are_gone_come_last(store: Store, put: Put, tmp_path: Path) -> None:
    for number, name in enumerate("abc"):
        recording = msgspec.structs.replace(RECORDING, length_ms=1000 * number)
        put(name, left_open(with_recordings(recording)))
    (tmp_path / "a").unlink()
    assert queue(store) == ["b", "c", "a"]


def test_a_case_is_found_until_it_is_decided_again(store: Store, put: Put, tmp_path: Path) -> None:
    first = put("a", proposing())
    assert find_case(store, first.record.id).record == first.record
    put("a", left_open())
    assert find_case(store, first.record.id).proposal == first.proposal, "no model was asked"
    put("a", proposing(crg=SINGLE))
    with pytest.raises(CanonError, match="was decided again since"):
        find_case(store, first.record.id)
    with pytest.raises(CanonError, match="neither a file nor"):
        find_case(store, "01absent")
    (tmp_path / "a").unlink()
    assert find_case(store, str(tmp_path / "a")).is_gone


ON_31_OCTOBER = Fact(
    SINGLE, "first_release_date", "1975-10-31", "https://one.example/", "31 October", verified=True
)


def answered(outcome: Outcome, *facts: Fact, checks: tuple[Check, ...] = ()) -> Case:
    """Return the open case with a model's answer."""
    result = AdjudicationResult(outcome, ALBUM, None, 0.5, facts=facts, checks=checks)
    digest = evidence_hash(BUNDLE)
    pipeline = Pipeline(RULES)
    return apply_answer(
        pipeline,
        decide_bundle(pipeline, BUNDLE),
        msgspec.structs.replace(result, evidence_hash=digest),
    )


@pytest.mark.parametrize("outcome", [Outcome.ACCEPTED, Outcome.REVIEW, Outcome.REJECTED])
def test_a_verified_fact_counts_for_the_first_release(outcome: Outcome) -> None:
    """With sources enough, and whatever becomes of the group."""
    trusted = msgspec.structs.replace(ON_31_OCTOBER, trusted=True)
    again = msgspec.structs.replace(ON_31_OCTOBER, source="https://two.example/")
    denied = Check("contradiction", passed=False, detail="another page says otherwise")
    cases = (
        (answered(outcome, trusted), "1975-10-31"),
        (answered(outcome, ON_31_OCTOBER, again), "1975-10-31"),
        (answered(outcome, ON_31_OCTOBER), "1975"),
        (answered(outcome, msgspec.structs.replace(trusted, verified=False)), "1975"),
        (answered(outcome, trusted, checks=(denied,)), "1975"),
    )
    for case, date in cases:
        first = case.decision.first_release
        assert first is not None
        assert (first.date, first.by is SaidBy.FACTS) == (date, date != "1975"), case.decision


def test_what_needs_one_more_source_says_so(put: Put) -> None:
    """Only if nothing else is in the way."""
    short = Check("sources", passed=False, detail="one more independent source")
    denied = Check("contradiction", passed=False, detail="another page says otherwise")
    needs = (
        ((ON_31_OCTOBER,), (short,), LLMConfig(), "one of two sources for the single's date"),
        ((ON_31_OCTOBER,), (short, denied), LLMConfig(), None),
        ((ON_31_OCTOBER,), (), LLMConfig(), None),
        ((), (short,), LLMConfig(), None),
        (
            (ON_31_OCTOBER,),
            (short,),
            LLMConfig(acceptance=AcceptanceConfig(min_sources=3)),
            "one of three sources for the single's date",
        ),
    )
    for number, (facts, checks, config, text) in enumerate(needs):
        case = put(number, answered(Outcome.REVIEW, *facts, checks=checks))
        assert missing_sources(case, config, RULES) == text


def test_each_candidate_says_why_it_leads_or_not(put: Put) -> None:
    case = put("a", left_open())
    why = [*reasons(case, case.present_verdict(RULES)).values()]
    assert why[:2] == ["if before 1975-08-23", "if on 1975-08-23 or later"]
    assert why[2].endswith("years later")
    case = put("b", left_open(read_bundle(golden("lead-bohemian"))))
    why = [*reasons(case, case.present_verdict(RULES)).values()]
    assert "the rules choose it" in why
    assert any("led to" in text for text in why)


def test_a_dry_verdict_keeps_nothing(store: Store, put: Put) -> None:
    case = put("a", proposing())
    before = VerdictSaver(store, RULES).accept(put("b", proposing()))
    store.verdicts.take_back(before.saved)
    for result in (
        VerdictSaver(store, RULES, is_dry=True).accept(case),
        VerdictSaver(store, RULES, is_dry=True).choose(case, PersonChoice(SINGLE), ""),
        VerdictSaver(store, RULES, is_dry=True).choose(case, PersonChoice(first_date="1975"), ""),
        VerdictSaver(store, RULES, is_dry=True).reject(case, "no"),
        VerdictSaver(store, RULES, is_dry=True).keep(case),
    ):
        assert result.files == 2
    assert store.overrides.all() == {}
    assert store.verdicts.history(case.record.id) == ()
    assert queue(store) == ["b"]


def test_accepting_a_proposal_keeps_its_facts(store: Store, put: Put) -> None:
    """Those too that have too few sources to count by themselves."""
    case = put("a", answered(Outcome.REVIEW, ON_31_OCTOBER))
    override = VerdictSaver(store, RULES).accept(case).saved.override
    assert override is not None
    assert (override.crg_mbid, override.first_date) == (ALBUM, "1975-10-31")
    decided = decide_bundle(
        Pipeline(RULES, overrides=OverrideLookup(store.overrides.all)), BUNDLE
    ).decision
    first = decided.first_release
    assert first is not None
    assert (first.date, first.year_certain, first.by) == ("1975-10-31", True, SaidBy.PERSON)
    assert (first.release_group_mbid, decided.crg_mbid) == (SINGLE, ALBUM)
    nothing = VerdictSaver(store, RULES, replaces=True).accept(put("b", proposing())).saved.override
    assert nothing is not None
    assert nothing.first_date == "1975-10-31", "it holds for the recording"
