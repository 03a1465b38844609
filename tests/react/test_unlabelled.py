"""A reply that is nothing but the object of an answer is one without its label, in every dialect.

The replies are those of `replies/classic.unlabelled.jsonl`. What is taken there is not taken any
more where it is thought, quoted, passed on, or where something else stands beside it.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.bench_parse import work
from chart_binder import plugins
from chart_binder.llm.answer import ANSWER_KEYS
from chart_binder.react.dialect import Dialect, read_step
from chart_binder.react.parsing.answers import unlabelled_answer
from chart_binder.react.sanitize import one_line, sanitize
from chart_binder.react.steps import FinalAnswer, Unreadable
from corpus import rows

GROUP = "chart_binder.dialects"
every_dialect = pytest.mark.parametrize("name", plugins.names(GROUP))
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "replies" / "classic.unlabelled.jsonl")
    .read_text("utf-8")
    .splitlines()
]
TAKEN = [row["text"] for row in ROWS if row["expect"]["kind"] == "finish"]
OTHER = '{"crg_mbid": "C2", "confidence": 0.9}'

AROUND = tuple(rows(__file__, "around"))
"""What makes a reply only thought or shown."""
BEFORE = tuple(rows(__file__, "before"))
"""What attributes the reply to somebody else, or is somebody else's itself."""
AFTER = tuple(rows(__file__, "after"))


def variants(reply: str) -> Iterator[str]:
    """Yield a reply as no answer any more, in each of these ways."""
    yield from (around.format(reply) for around in AROUND)
    yield from (f"{before}{reply}" for before in BEFORE)
    yield from (f"{reply}{after}" for after in AFTER)


def load(name: str) -> Dialect:
    dialect: Dialect = plugins.load(GROUP, name)()
    return dialect


@every_dialect
def test_replies_without_a_label_are_read_alike_in_every_dialect(name: str) -> None:
    dialect = load(name)
    kinds = {"finish": FinalAnswer, "malformed": Unreadable}
    steps = [(row, read_step(dialect, row["text"], ANSWER_KEYS)) for row in ROWS]
    assert [row for row, step in steps if type(step) is not kinds[row["expect"]["kind"]]] == []


@every_dialect
def test_nothing_is_taken_that_is_thought_or_shown_or_passed_on(name: str) -> None:
    dialect = load(name)
    changed = [text for reply in TAKEN if "<" not in reply for text in variants(reply)]
    assert len(changed) > 500
    steps = [(text, read_step(dialect, text, ANSWER_KEYS)) for text in changed]
    assert [text for text, step in steps if isinstance(step, FinalAnswer)] == []


@every_dialect
def test_without_keys_an_answer_needs_its_label(name: str) -> None:
    dialect = load(name)
    assert all(isinstance(read_step(dialect, reply), Unreadable) for reply in TAKEN)


def test_an_observation_that_is_repeated_alone_is_no_answer() -> None:
    for reply in TAKEN:
        assert unlabelled_answer(sanitize(reply)) is None
        assert unlabelled_answer(one_line(reply)) is None
        for line in sanitize(reply).splitlines():
            assert unlabelled_answer(f"Thought: I know enough now.\n{line}") is None


@pytest.mark.parametrize("piece", ["The album leads. ", "C1: ", "(", '"', "“", "the ", "is, "])
def test_reading_takes_work_linear_in_the_length(piece: str) -> None:
    texts = (f"{piece * (size // len(piece))}\n{OTHER}" for size in (4_000, 16_000))
    small, large = (work(unlabelled_answer, text) for text in texts)
    assert large <= 4.5 * small + 500
