"""The passages of `canon model check`: chosen from the set, and as varied as they should be."""

from collections import Counter

from chart_binder.llm.model_exam import MAX_LET_THROUGH, MIN_TAKEN, Score, read_passages, read_runs
from models.make_exam import FILE, line_of
from models.passages import read_questions


def test_each_passage_is_one_of_the_set() -> None:
    known = {line_of(one) for part in ("tune", "held") for one in read_questions(part)}
    lines = FILE.read_text("utf-8").splitlines(keepends=True)
    assert [line for line in lines if line not in known] == []


def test_they_are_half_true_most_in_prose_and_of_many_languages() -> None:
    passages = read_passages()
    assert Counter(passage.is_first for passage in passages) == {True: 30, False: 30}
    prose = sum(not passage.place.is_structured for passage in passages)
    assert prose == 40
    languages = Counter(passage.language for passage in passages)
    assert len(languages) >= 10
    assert languages["en"] <= 42
    assert len({passage.release for passage in passages}) == len(passages)


def test_the_runs_have_answers_of_both_kinds() -> None:
    runs = read_runs()
    assert len(runs) == 10
    assert 3 <= sum(run.right == "C1" for run in runs) <= 7
    assert sum(bool(run.later) for run in runs) == 3


def test_neither_agreeing_nor_guessing_is_enough() -> None:
    def is_enough(taken: int, let_through: int) -> bool:
        return Score(30, taken, 30, let_through, 10, 10).is_enough

    assert is_enough(24, 4)
    assert not is_enough(23, 4)
    assert not is_enough(24, 5)
    assert not is_enough(30, 30)
    assert not is_enough(0, 0)
    assert not any(is_enough(hits, hits) for hits in range(31))  # who guesses takes as many of each
    assert (MIN_TAKEN, MAX_LET_THROUGH) == (0.8, 0.15)
