"""A service that fails is asked less and less, and then no more."""

from chart_binder.jobs.batch.run import MAX_FAILURES, CircuitBreaker


def test_the_pause_doubles_and_a_success_ends_it() -> None:
    now = [0.0]
    breaker = CircuitBreaker(clock=lambda: now[0])
    pauses, allows_call = [], [breaker.allows_call]
    for _ in range(MAX_FAILURES):
        breaker.record("no answer")
        pauses.append(breaker.ready_at - now[0])
        allows_call.append(breaker.allows_call)
        now[0] = breaker.ready_at
        allows_call.append(breaker.allows_call)
    assert allows_call == [True, *[False, True] * MAX_FAILURES]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 60]
    over = [breaker.is_open]
    breaker.record(None)
    assert [*over, breaker.is_open, breaker.allows_call] == [True, False, True]


def test_what_was_asked_before_a_pause_counts_once() -> None:
    now = [0.0]
    breaker = CircuitBreaker(clock=lambda: now[0])
    for _ in range(2 * MAX_FAILURES):
        breaker.record("no answer")
    breaker.record("no answer at all")
    assert (breaker.failures_in_a_row, breaker.last_error, breaker.ready_at) == (
        1,
        "no answer at all",
        0.5,
    )
    outage_s = 0.0
    while not breaker.is_open:
        outage_s = now[0] = breaker.ready_at
        breaker.record("no answer")
        breaker.record("no answer")
    assert outage_s == 63.5
