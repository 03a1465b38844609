"""The worlds of `cases/`: what they claim of their evidence, their pages and their searches."""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.verdict import Decided
from chart_binder.rules.decide import decide
from chart_binder.rules.first_release import year_case
from chart_binder.web.page_text import from_html
from llm.verdicts.play import patched, said_of
from models.worlds import SETS, YEAR_SETS, World, worlds

WORLDS = worlds()
YEARS = [world for name in YEAR_SETS for world in worlds(name)]
each_year = pytest.mark.parametrize("world", YEARS, ids=lambda world: world.id)
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.id)


@each_world
def test_the_rules_leave_the_evidence_open(world: World) -> None:
    assert not isinstance(decide(world.evidence.bundle, RulesConfig()), Decided)


@each_world
def test_the_truth_decides_for_the_answer(world: World) -> None:
    assert patched(world.evidence, world.truth) == world.answer


@each_world
def test_what_misleads_would_decide_for_another_record(world: World) -> None:
    assert bool(world.misleading) is world.set.endswith("misleading")
    if world.misleading:
        assert patched(world.evidence, world.misleading) == world.misled_to
        assert world.misled_to != world.answer


@each_world
def test_each_search_finds_pages_that_exist(world: World) -> None:
    assert not world.searches[-1][0], "the last rule holds for any query about it"
    query = (
        f"{world.evidence.document['artist']['name']} {world.evidence.document['recording_title']}"
    )
    assert world.finds(query)
    assert world.finds("best restaurants nearby") == []
    for words, _ in world.searches[:-1]:
        assert world.finds(f"{query} {' '.join(words)}") != world.finds(query)


@pytest.mark.parametrize("world", [*WORLDS, *YEARS], ids=lambda world: world.id)
def test_what_is_judged_stands_on_a_page(world: World) -> None:
    shown = [
        "\n".join((result.title, result.page.snippet, *from_html(result.page.html).blocks))
        for result in world.pages.values()
    ]
    missing = [
        truth.piece
        for truth in world.truths
        if not any(said_of(truth.piece, text) for text in shown)
    ]
    assert missing == []


@each_world
def test_a_page_tells_the_truth_where_one_is_said_to(world: World) -> None:
    values = set(world.truth.values())
    told = {truth.date for truth in world.truths if truth.reading == "first_release"} & values
    dates = {value for key, value in world.truth.items() if key.endswith("date")}
    assert bool(told) is bool(world.told_by and dates)
    assert bool(world.why)


@each_world
def test_an_honest_reader_is_not_misled(world: World) -> None:
    for key, value in world.misleading.items():
        record, _, field = key.partition("/")
        readings = [truth for truth in world.truths if truth.date in (value, field)]
        assert readings, "no page holds it"
        assert all(truth.reading != "first_release" or truth.record != record for truth in readings)


def test_the_sets_are_as_large_and_varied_as_they_are_meant_to_be() -> None:
    sizes = {name: len(worlds(name)) for name in SETS}
    assert sizes == {
        "right": 60, "misleading": 107, "detour": 40, "values_right": 12, "values_misleading": 12
    }  # fmt: skip
    artists = {world.evidence.document["artist"]["name"] for world in WORLDS}
    assert len(artists) == len(WORLDS)
    assert len({world.language for world in WORLDS}) >= 12


@each_year
def test_the_rules_decide_the_group_and_leave_the_year_open(world: World) -> None:
    bundle = world.evidence.bundle
    question = year_case(bundle, decide(bundle, RulesConfig()), RulesConfig())
    assert question is not None
    assert [one.kind for one in question.questions] == ["year"]


@each_year
def test_the_year_is_on_a_page_where_one_is_said_to_tell_it(world: World) -> None:
    shown = "\n".join(f"{one.page.title} {one.page.html}" for one in world.pages.values())
    firsts = {truth.date[:4] for truth in world.truths if truth.reading == "first_release"}
    assert bool(world.told_by) is world.set.startswith("year_right")
    assert not world.told_by or (world.answer in firsts and world.answer in shown)
    assert world.answer != world.misled_to
    assert world.misled_to in shown


def test_more_than_twenty_of_the_years_are_misleading() -> None:
    assert {name: len(worlds(name)) for name in YEAR_SETS} == {
        "year_right": 40, "year_misleading": 32
    }  # fmt: skip


def test_about_a_third_of_the_results_cannot_be_read_or_are_off_the_point() -> None:
    results = [world.pages[key] for world in WORLDS for _, keys in world.searches for key in keys]
    useless = [result for result in results if not result.is_useful]
    assert 0.30 <= len(useless) / len(results) <= 0.42
