"""Who wants a run to end lets the file in hand be finished, unless they say so again."""

import os
import signal

import pytest

from chart_binder.cli.progress import finishing_in_hand


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_in_hand_is_finished_unless_it_is_asked_again(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with finishing_in_hand() as wish:
        found = [wish.to_stop]
        os.kill(os.getpid(), number)
        found.append(wish.to_stop)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert found == [False, True]
    assert signal.getsignal(number) is before
