"""Metrics of a batch are what their format says, whatever they count."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chart_binder.domain.records import KeptRun, Measures, StageCost
from chart_binder.jobs.batch.report import metrics_json, prometheus_text
from servers.prometheus import read_text

RUN = KeptRun(id="r1", command="batch", started_at_utc="2026-11-21T15:45:00.500000Z")


@given(name=st.text(st.characters(codec="utf-8")), count=st.integers(0, 10**12))
@settings(max_examples=40)
def test_a_label_of_any_letters_is_read_back(name: str, count: int) -> None:
    found = Measures(rules={name: count}, tags={f'"{name}\\': 1})
    families = read_text(prometheus_text(RUN, found))
    assert families["canon_batch_rules_total"].samples == {(("rule", name),): count}
    assert families["canon_batch_tags_total"].samples == {(("fate", f'"{name}\\'),): 1}


def test_what_is_counted_by_fixed_names_is_there_from_the_beginning() -> None:
    families = read_text(prometheus_text(RUN, Measures()))
    for name, count in {
        "files": 4, "decisions": 3, "errors": 9, "stage_seconds": 6, "stage_files": 6,
        "musicbrainz_requests": 1, "prompt_tokens": 1,
    }.items():  # fmt: skip
        assert list(families[f"canon_batch_{name}_total"].samples.values()) == [0] * count, name
    assert families["canon_batch_start_time_seconds"].samples == {(): 1795275900.5}
    assert not {"canon_batch_end_time_seconds", "canon_batch_exit_status"} & families.keys()


def test_a_run_that_ended_says_when_and_how() -> None:
    run = KeptRun(
        id="r1", command="batch", started_at_utc=RUN.started_at_utc,
        ended_at_utc="2026-11-21T15:46:00.500000Z", status=3,
    )  # fmt: skip
    found = Measures(
        files=3, states={"decided": 2, "review": 1}, stages={"rules": StageCost(3, 0.25)}
    )
    families = read_text(prometheus_text(run, found))
    assert families["canon_batch_end_time_seconds"].samples == {(): 1795275960.5}
    assert families["canon_batch_exit_status"].samples == {(): 3}
    assert families["canon_batch_files_total"].samples[(("state", "review"),)] == 1
    assert families["canon_batch_stage_seconds_total"].samples[(("stage", "rules"),)] == 0.25
    assert families["canon_batch_info"].samples == {(("run", "r1"),): 1}
    same = json.loads(metrics_json(run, found))
    assert (same["run"], same["status"], same["states"]) == ("r1", 3, found.states)


@pytest.mark.parametrize(
    "text",
    ["x 1\n", "# HELP a b\n# TYPE a counter\na 1\n", "# HELP a_total b\n# TYPE a_total counter",
     '# HELP a b\n# TYPE a gauge\na{b="\\t"} 1\n', "# HELP a b\n# TYPE a gauge\na 1\na 1\n"],
)  # fmt: skip
def test_what_reads_them_here_is_strict(text: str) -> None:
    with pytest.raises((ValueError, KeyError, StopIteration)):
        read_text(text)
