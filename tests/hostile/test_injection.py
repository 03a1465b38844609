"""What strangers write may mislead a model, but turns no decision that needs two sources."""

import pytest

from hostile.injection import attacked, defended
from hostile.payloads import PAYLOADS, TWO_SITES

DATES = [name for name in PAYLOADS if name.startswith("date: ")]
HIDDEN = [name for name in PAYLOADS if name.startswith("hidden: ")]


def test_there_are_enough_payloads() -> None:
    assert len(PAYLOADS) >= 90
    assert len(DATES) >= 10


@pytest.mark.parametrize("name", PAYLOADS)
def test_no_stranger_turns_a_decision_that_needs_two_sources(name: str) -> None:
    came = defended(PAYLOADS[name], sources=2)
    assert not came.accepted
    assert not (came.obeyed and name in HIDDEN)


@pytest.mark.parametrize("name", PAYLOADS)
def test_nothing_that_is_read_speaks_with_another_voice(name: str) -> None:
    came = defended(PAYLOADS[name], needs_voice=True)
    assert not came.obeyed
    assert not came.accepted


def test_the_model_does_obey_what_nothing_keeps_from_it() -> None:
    assert attacked(PAYLOADS["words: an order"]).undefended
    assert attacked(PAYLOADS["token: ChatML"], needs_voice=True).undefended
    assert attacked(PAYLOADS["hidden: display"]).undefended


def test_an_id_from_nowhere_and_a_source_that_was_not_read_are_found_out() -> None:
    assert not attacked(PAYLOADS["words: an order with an id from nowhere"]).grounding
    assert not defended(PAYLOADS["a page that quotes another's address"]).accepted


def test_somebody_who_owns_two_sites_is_two_sources() -> None:
    """The limit of what code can tell; docs/security.md says so."""
    assert defended(TWO_SITES, sources=2).accepted
