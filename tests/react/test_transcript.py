"""Transcripts: written line by line, read back whole, also when the run was killed."""

import json
from pathlib import Path

import pytest

from chart_binder.llm.events import ResultEvent, StartEvent, read_run
from chart_binder.react.transcript import (
    AnyEvent,
    MessageEvent,
    ObservationEvent,
    ReplyEvent,
    StepEvent,
    TranscriptDefectError,
    read_transcript,
    record_in,
)

EVENTS: tuple[AnyEvent, ...] = (
    StartEvent(id="1", started_at="2026-11-21T10:00:00Z", model_id="m", dialect="classic"),
    MessageEvent("system", "You are ..."),
    MessageEvent("user", "# Recording Evidence"),
    ReplyEvent("Thought: …", 1, None, "stop", 812, 44, 1.9),
    StepEvent("act", 1, "web_search", {"query": "x"}, ("a note",)),
    ObservationEvent("nothing", 1, ("https://a.example/",), seconds=0.2),
    ResultEvent({"outcome": "accepted"}),
)


def test_every_event_is_flushed_as_it_happens_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with path.open("wb") as stream:
        record = record_in(stream)
        for count, event in enumerate(EVENTS, start=1):
            record(event)
            lines = path.read_bytes().splitlines(keepends=True)
            assert tuple(read_run(lines)) == EVENTS[:count]
    assert json.loads(lines[3]) == {
        "type": "reply", "iteration": 1, "content": "Thought: …", "thinking": None,
        "done_reason": "stop", "prompt_tokens": 812, "completion_tokens": 44, "seconds": 1.9,
    }  # fmt: skip


def test_a_transcript_is_written_to_a_path_and_read_from_it(tmp_path: Path) -> None:
    path, events = tmp_path / "run.jsonl", [*EVENTS[1:6]]
    for target in (path, str(path)):
        [*map(record_in(target), events)]
        with path.open("rb") as stream:
            assert list(read_transcript(stream)) == list(read_transcript(target)) == events
    with pytest.raises(FileNotFoundError):
        list(read_transcript(tmp_path / "other.jsonl"))


def test_a_canned_transcript_needs_replies_alone_and_is_numbered() -> None:
    lines = [
        b'{"type": "reply", "content": "a"}\n',
        b'{"type": "observation", "content": "b"}\n',
        b"\n",
        b'{"type": "reply", "content": "c", "unknown": 1}',
    ]
    assert list(read_transcript(lines)) == [
        ReplyEvent("a", 1), ObservationEvent("b", 1), ReplyEvent("c", 2),
    ]  # fmt: skip


def test_an_observation_without_a_status_failed_if_it_has_an_error() -> None:
    lines = [
        b'{"type": "observation", "content": "a"}\n',
        b'{"type": "observation", "content": "b", "error": "b"}\n',
        b'{"type": "observation", "content": "c", "error": "c", "status": "refused"}\n',
    ]
    events = [event for event in read_transcript(lines) if isinstance(event, ObservationEvent)]
    statuses = [event.observation.status.value for event in events]
    assert statuses == ["ok", "failed", "refused"]


def test_a_last_line_cut_by_a_kill_is_passed_over() -> None:
    lines = [b'{"type": "reply", "content": "a"}\n', b'{"type": "observ']
    assert list(read_transcript(lines)) == [ReplyEvent("a", 1)]


@pytest.mark.parametrize(
    ("line", "word"),
    [(b"{", "line 2"), (b'{"type": "sermon"}', "sermon"), (b'{"type": "reply"}', "content"),
     (b"\xff", "line 2")],
)  # fmt: skip
def test_any_other_line_that_makes_no_sense_is_named(line: bytes, word: str) -> None:
    lines = [b'{"type": "reply", "content": "a"}\n', line + b"\n", b"\n"]
    with pytest.raises(TranscriptDefectError, match=word):
        list(read_transcript(lines))


def test_the_engine_knows_no_event_about_evidence_and_a_run_none_of_another_version() -> None:
    for line in (b'{"type": "run"}', b'{"type": "reading"}', b'{"type": "evidence"}'):
        assert len(list(read_run([line + b"\n"]))) == 1
        with pytest.raises(TranscriptDefectError, match="line 1: Invalid value"):
            list(read_transcript([line + b"\n"]))
    with pytest.raises(TranscriptDefectError, match="it is of version 2, and only version 1 is"):
        list(read_run([b'{"type": "run", "version": 2}\n']))
