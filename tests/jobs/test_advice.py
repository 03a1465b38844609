"""Whoever is told of a failure is told what helps against it."""

from chart_binder.jobs.decide import Cause, advice_for


def test_every_cause_has_an_advice_of_its_own_kind() -> None:
    unknown = advice_for(None)
    assert [cause for cause in Cause if advice_for(cause) == unknown] == []
    assert "--frozen" in advice_for(Cause.NOT_LOOKED_UP)
