"""A service that fails is asked less and less, and then no more."""

from chart_binder.jobs.batch.run import MAX_FAILURES, CircuitBreaker


def test_the_pause_doubles_and_a_success_ends_it() -> None:
    now = [0.0]
    trouble = CircuitBreaker(clock=lambda: now[0])
    pauses, may_go = [], [trouble.may_go]
    for _ in range(MAX_FAILURES):
        trouble.met("no answer")
        pauses.append(trouble.ready_at - now[0])
        may_go.append(trouble.may_go)
        now[0] = trouble.ready_at
        may_go.append(trouble.may_go)
    assert may_go == [True, *[False, True] * MAX_FAILURES]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60]
    over = [trouble.is_over]
    trouble.met(None)
    assert [*over, trouble.is_over, trouble.may_go] == [True, False, True]


def test_what_was_asked_before_a_pause_counts_once() -> None:
    now = [0.0]
    trouble = CircuitBreaker(clock=lambda: now[0])
    for _ in range(2 * MAX_FAILURES):
        trouble.met("no answer")
    trouble.met("no answer at all")
    assert (trouble.in_a_row, trouble.why, trouble.ready_at) == (1, "no answer at all", 0.5)
    outage_s = 0.0
    while not trouble.is_over:
        outage_s = now[0] = trouble.ready_at
        trouble.met("no answer")
        trouble.met("no answer")
    assert outage_s == 63.5
