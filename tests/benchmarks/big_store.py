"""A large store whose waiting cases have evidence and a model's proposal."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copy

import msgspec

from chart_binder.config import RulesConfig
from chart_binder.domain.evidence import Artifact, EvidenceBundle
from chart_binder.domain.evidence_json import evidence_hash, read_bundle
from chart_binder.domain.records import StoredCase
from chart_binder.jobs.decision import Case, State
from chart_binder.jobs.pipeline import Pipeline, apply_answer, decide_bundle
from chart_binder.jobs.stored_decisions import RunVersions, rules_version, stored_case
from chart_binder.llm.result import AdjudicationResult, Check, Fact, Outcome
from chart_binder.store import open_store
from golden.bundles import golden, year_only_single

AUDIO = Path(__file__).parents[1] / "audio" / "files" / "bare.flac"
BATCH = 2_000
ARTISTS = ("Queen", "Nina Simone", "Björk", "Fela Kuti", "Hikaru Utada", "Can")
ALBUM = "6b47c9a0-b9e1-3df9-a5e8-50a6ce0dbdbd"
ANSWER = AdjudicationResult(
    Outcome.REVIEW, ALBUM, None, confidence=0.7,
    rationale="A page about the single names the day on which it came out in the shops.",
    facts=(
        Fact(ALBUM, "date", "1975-11-21", "https://example.org/opera",
             "A Night at the Opera was released on 21 November 1975", verified=True),
        Fact("361a28b7-4588-44a6-8c96-86c1efb8258f", "date", "1975-10-31",
             "https://example.org/single", "released by EMI on 31 October 1975",
             problem="only one source says so", before="1975"),
    ),
    checks=(Check("sources", passed=False, detail="one source, and two are needed"),),
    problem="one of two sources for the single's date", model_id="a model", iterations=4,
)  # fmt: skip


def cases(music: Path, count: int, every: int) -> Iterator[StoredCase]:
    """Yield decisions on files in a folder; one of `every` waits, half of those with a proposal.

    The files that wait are there.
    """
    pipeline = Pipeline(RulesConfig())
    versions = RunVersions("run", rules_version(RulesConfig()), "adjudicator")
    opened = decide_bundle(pipeline, _bundle(year_only_single()))
    answered, decided = (
        apply_answer(pipeline, opened, ANSWER),
        decide_bundle(pipeline, _bundle(golden("lead-bohemian"))),
    )
    for number in range(count):
        waits = number % every == 0
        model = answered if number // every % 2 == 0 else opened
        yield _stored(music, model if waits else decided, number, versions)


def _bundle(document: object) -> EvidenceBundle:
    return read_bundle(msgspec.json.encode(document))


def _stored(music: Path, model: Case, number: int, versions: RunVersions) -> StoredCase:
    """Return a case as of another file: its artist, title, recording and album are its own."""
    assert model.bundle is not None
    artist, title = ARTISTS[number // 1_000 % len(ARTISTS)], f"Song {number}"
    album = f"Album {number // 12}"
    recording = msgspec.structs.replace(
        model.bundle.recording_candidates[0],
        mb_recording_id=f"00000000-0000-4000-8000-{number:012}", title=title,
    )  # fmt: skip
    bundle = msgspec.structs.replace(
        model.bundle, recording_title=title, recording_candidates=(recording,),
        artist=msgspec.structs.replace(model.bundle.performer, name=artist),
        artifact=Artifact(355_000, {"artist": artist, "title": title, "album": album}),
    )  # fmt: skip
    decision = msgspec.structs.replace(
        model.decision, evidence_hash=evidence_hash(bundle), artist=artist, title=title,
        recording_mbid=recording.mb_recording_id,
    )  # fmt: skip
    path = music / artist / album / f"{number:06}.flac"
    if model.decision.state is not State.DECIDED:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.hardlink_to(_file(music))
    return stored_case(replace(model, bundle=bundle, decision=decision), path, None, versions)


def _file(music: Path) -> Path:
    """Return an audio file in the folder, of which every waiting file is a link."""
    file = music / "song.flac"
    if not file.exists():
        music.mkdir(parents=True, exist_ok=True)
        copy(AUDIO, file)
    return file


def make_store(folder: Path, count: int, every: int = 20) -> Path:
    """Make a store with `count` decisions, of which one of `every` waits; return its path."""
    path = folder / "canon.db"
    with open_store(f"sqlite:///{path}") as store:
        batch: list[StoredCase] = []
        for case in cases(folder / "music", count, every):
            batch.append(case)
            if len(batch) == BATCH:
                store.decisions.put_all(batch)
                batch = []
        store.decisions.put_all(batch)
    return path
