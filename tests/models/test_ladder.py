"""What is decided in the worlds, by a robot that writes what the program proposes, and by a model.

A sample is played on every run; `python tests/models/ladder.py` plays all of them. Tests with the
marker `model` ask the server that `CANON_TEST_MODEL_URL` names.
"""

import os

import pytest

from chart_binder.react.tools import ToolError
from models.ladder import interval, line, sets
from models.playing import URL, play, serving
from models.worlds import SETS, worlds

needs_model = pytest.mark.skipif(not os.environ.get(URL), reason=f"{URL} names no server")
by_part = pytest.mark.parametrize("step", [15, pytest.param(1, marks=pytest.mark.slow)])


@by_part
def test_an_honest_reader_lets_no_misleading_world_be_decided_wrongly(step: int) -> None:
    played = [play(world) for world in worlds("misleading")[::step]]
    assert [each.world.id for each in played if each.outcome == "wrong"] == []
    assert any(each.pages for each in played)


@by_part
def test_a_reader_that_agrees_to_everything_is_led_astray_in_few_worlds(step: int) -> None:
    played = [play(world, reader="agreeing") for world in worlds("misleading")[::step]]
    assert sum(each.outcome == "wrong" for each in played) <= len(played) // 20


@by_part
def test_most_worlds_whose_pages_tell_the_answer_are_decided(step: int) -> None:
    played = [play(world) for world in worlds("right")[::step]]
    assert sum(each.outcome == "right" for each in played) >= 0.8 * len(played)
    assert [each.world.id for each in played if each.outcome == "wrong"] == []


@pytest.mark.parametrize("reader", ["honest", "agreeing"])
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_statuses_countries_and_types_are_decided_rightly_whoever_reads(
    reader: str, step: int
) -> None:
    played = [play(world, reader=reader) for world in worlds("values_right")[::step]]
    assert [each.world.id for each in played if each.outcome != "right"] == []
    played = [play(world, reader=reader) for world in worlds("values_misleading")[::step]]
    assert [each.world.id for each in played if each.outcome == "wrong"] == []


@by_part
def test_no_year_is_certain_and_wrong_whoever_reads(step: int) -> None:
    found = [play(world) for world in worlds("year_misleading")[::step]]
    found += [play(world, reader="agreeing") for world in worlds("year_misleading")[::step]]
    assert [each.world.id for each in found if each.outcome == "wrong"] == []
    assert all(each.first and not each.first.year_certain for each in found)


@by_part
def test_years_that_pages_tell_are_certain_and_say_by_what(step: int) -> None:
    told = [each for each in worlds("year_right") if each.told_by != "prose"]
    played = [play(world) for world in told[::step]]
    right = [each for each in played if each.outcome == "right"]
    assert len(right) >= 0.9 * len(played)
    assert [each.world.id for each in played if each.outcome == "wrong"] == []
    assert all(each.first and "verified" in each.first.because for each in right)


def test_one_page_of_prose_makes_a_proposal_of_a_year() -> None:
    told = [each for each in worlds("year_right") if each.told_by == "prose"]
    assert {play(world).outcome for world in told} == {"proposed right"}


def test_code_alone_takes_one_turn_and_decides_as_the_robot_does() -> None:
    world = next(each for each in worlds("right") if each.told_by == "structure")
    played = play(world, chat="code")
    assert (played.outcome, played.result.iterations) == ("right", 1)


@pytest.mark.parametrize("name", SETS)
def test_every_page_of_a_world_is_served_as_it_is_said_to_be(name: str) -> None:
    statuses = {result.status for world in worlds(name) for result in world.pages.values()}
    for status in statuses:
        world, result = next(
            (world, result)
            for world in worlds(name)
            for result in world.pages.values()
            if result.status == status and not result.page.to
        )
        with serving(world) as (web, _, tools):
            fetch = next(tool for tool in tools if tool.name == "web_fetch")
            address = web.addressed(result.page.url)
            if status in ("", "robots"):  # it is obeyed for pages that are opened unasked
                assert fetch.call({"url": address}).run().sources == (address,)
            else:
                with pytest.raises(ToolError):
                    fetch.call({"url": address}).run()


def test_an_interval_holds_the_share_and_stays_between_none_and_all() -> None:
    for count, total in ((0, 100), (3, 100), (100, 100), (0, 0)):
        low, high = interval(count, total)
        assert 0 <= low <= 100 * count / max(1, total) <= high <= 100
    assert [round(each, 1) for each in interval(3, 100)] == [1.0, 8.5]


def test_a_line_says_how_many_were_decided() -> None:
    played = [play(world, chat="code") for world in worlds("right")[:2]]
    cells = [cell.strip() for cell in line("right", played).strip("|").split("|")]
    right = sum(each.outcome == "right" for each in played)
    assert cells[:2] == ["right", "2"]
    assert cells[2].startswith(f"{right} (")
    sizes = {name: len(each) for name, each in sets(["right", "statements"]).items()}
    assert (sizes.pop("statements, release"), sizes.pop("statements, other")) == (100, 100)
    assert sum(sizes.values()) == 60


@pytest.mark.model
@needs_model
def test_a_model_decides_no_misleading_world_wrongly() -> None:
    played = [play(world, "model", "real") for world in worlds("misleading")[::10]]
    assert [each.world.id for each in played if each.outcome == "wrong"] == []


@pytest.mark.model
@needs_model
def test_a_model_decides_worlds_whose_pages_tell_the_answer() -> None:
    played = [play(world, "model", "honest") for world in worlds("right")[::10]]
    assert sum(each.outcome == "right" for each in played) >= 0.7 * len(played)
