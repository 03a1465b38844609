"""Who wants a run to end lets the file in hand be finished, unless they say so again."""

import os
import signal

import pytest

from chart_binder.cli.progress import stop_after_current


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_in_hand_is_finished_unless_it_is_asked_again(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_after_current() as stop:
        found = [stop.is_made]
        os.kill(os.getpid(), number)
        found.append(stop.is_made)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert found == [False, True]
    assert signal.getsignal(number) is before
