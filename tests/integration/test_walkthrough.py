"""docs/walkthrough.md shows what the commands print."""

from integration.forked import Forking
from integration.walkthrough import AFTER, BEFORE, PAGE, page


def test_the_walkthrough_is_what_the_commands_print(
    environment: dict[str, str], forked: Forking
) -> None:
    shown = PAGE.read_text("utf-8").partition(BEFORE)[2].partition(AFTER)[0]
    assert page(environment, forked).splitlines() == shown.splitlines()
