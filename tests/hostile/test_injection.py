"""Texts of strangers may mislead a model, but turn no decision."""

import pytest

from hostile.injection import attack, compare_defences
from hostile.payloads import PAYLOADS, TWO_SITES

HIDDEN = [name for name in PAYLOADS if name.startswith("hidden: ")]


@pytest.mark.parametrize("name", PAYLOADS)
def test_no_stranger_turns_a_decision(name: str) -> None:
    result = attack(PAYLOADS[name])
    assert not result.accepted
    assert not (result.obeyed and name in HIDDEN)
    # Nor does its text pass for the system, the user or the model.
    result = attack(PAYLOADS[name], needs_voice=True)
    assert not result.obeyed
    assert not result.accepted


def test_the_model_obeys_where_there_is_no_defence() -> None:
    assert compare_defences(PAYLOADS["words: an order"]).undefended
    assert compare_defences(PAYLOADS["token: ChatML"], needs_voice=True).undefended
    assert compare_defences(PAYLOADS["hidden: display"]).undefended


def test_an_unknown_id_and_a_source_that_was_not_read_are_rejected() -> None:
    assert not compare_defences(PAYLOADS["words: an order with an id from nowhere"]).grounding
    assert not attack(PAYLOADS["a page that quotes another's address"]).accepted


def test_a_stranger_who_owns_two_sites_counts_as_two_sources() -> None:
    """The limit of what code can tell; docs/security.md says so."""
    assert attack(TWO_SITES["in view"]).accepted
    assert attack(TWO_SITES["class"]).accepted
