"""The pages that follow one user show what the commands print; walkthrough.py writes it."""

import pytest

from integration.forked import Forking
from integration.walkthrough import DOCS, PAGES, page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_its_commands_print(
    name: str, environment: dict[str, str], forked: Forking
) -> None:
    shown = (DOCS / f"{name}.md").read_text("utf-8")
    assert shown.count("$ canon") >= 4
    assert page(name, environment, forked).splitlines() == shown.splitlines()
