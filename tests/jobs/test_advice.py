"""Whoever is told of a failure is told what helps against it."""

from chart_binder.jobs.decide import Cause
from chart_binder.jobs.stored_decisions import what_to_do


def test_every_cause_has_an_advice_of_its_own_kind() -> None:
    unknown = what_to_do(None)
    assert [cause for cause in Cause if what_to_do(cause) == unknown] == []
    assert "--frozen" in what_to_do(Cause.NOT_LOOKED_UP)
