"""docs/walkthrough.md shows what the commands print."""

from integration.walkthrough import AFTER, BEFORE, PAGE, page


def test_the_walkthrough_is_what_the_commands_print(environment: dict[str, str]) -> None:
    shown = PAGE.read_text("utf-8").partition(BEFORE)[2].partition(AFTER)[0]
    assert page(environment).splitlines() == shown.splitlines()
