"""The conversations and dated statements of `verdicts/`: what is decided, and what is not.

What the data claim is tested too: that the rules leave each bundle open, that a right answer is the
one that the truth decides, and that each passage an honest reader judges stands on its page.
"""

import pytest

from chart_binder.config import RulesConfig
from chart_binder.domain.verdict import Decided
from chart_binder.rules.decide import decide
from chart_binder.web.page_text import from_html
from llm.verdicts.play import (
    Page,
    Played,
    case_of,
    cases,
    patched,
    play,
    said_of,
    statements,
    table,
)

RIGHT = [one for one in cases() if one.wanted]
WRONG = [one for one in cases() if not one.wanted]
STATED = [case_of(number, said) for number, said in enumerate(statements(), 1)]


def _share(played: list[Played], *, right: bool) -> float:
    return sum(one.is_right is right for one in played) / len(played)


# Of the long tables, every third case is quick enough for each run.
by_part = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])


@pytest.mark.parametrize("part", range(4))  # so that several processes share them
def test_an_honest_second_reading_lets_no_wrong_answer_be_decided(part: int) -> None:
    played = [play(case) for case in WRONG[part::4]]
    assert [one.case.id for one in played if one.is_wrong] == [], table(played)


@by_part
def test_a_lying_second_reading_lets_at_most_five_of_a_hundred_be_decided(step: int) -> None:
    lying = [play(case, is_lying=True) for case in WRONG[::step]]
    assert sum(one.is_wrong for one in lying) <= 0.05 * len(lying), table(lying)


@by_part
def test_at_least_95_of_a_hundred_right_answers_are_decided(step: int) -> None:
    played = [play(case) for case in RIGHT[::step]]
    assert _share(played, right=True) >= 0.95, table(played)
    assert [one.case.id for one in played if one.decided not in {"", one.case.wanted}] == []


@by_part
def test_at_most_four_of_a_hundred_other_dates_are_decided(step: int) -> None:
    played = [play(case) for case in STATED[::step] if not case.wanted]
    assert sum(bool(one.decided) for one in played) / len(played) <= 0.04, table(played)


@by_part
def test_at_least_96_of_a_hundred_release_dates_are_decided(step: int) -> None:
    played = [play(case) for case in STATED[::step] if case.wanted]
    assert _share(played, right=True) >= 0.96, table(played)


EVERY = [*RIGHT, *WRONG, *STATED]


def test_the_rules_leave_every_case_open() -> None:
    verdicts = {one.id: decide(one.evidence.bundle, RulesConfig()) for one in EVERY}
    assert [name for name, verdict in verdicts.items() if isinstance(verdict, Decided)] == []


def test_the_truth_decides_for_what_is_wanted() -> None:
    known = [one for one in (*RIGHT, *WRONG) if one.truth]
    decided = {one.id: patched(one.evidence, one.truth) for one in known}
    assert decided == {one.id: one.wanted or one.answer for one in known}
    assert len(known) >= len(RIGHT)


def test_what_is_judged_stands_on_its_page() -> None:
    pages = {page.url: page for case in EVERY for page in case.pages.values()}
    missing = {
        url: one.piece
        for url, page in pages.items()
        for one in page.truths
        if not said_of(one.piece, _shown(page))
    }
    assert missing == {}


def _shown(page: Page) -> str:
    return "\n".join((page.title, *from_html(page.html).blocks))
