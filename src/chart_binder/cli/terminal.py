"""Interrupts and keys: how a person at the terminal stops or steers a command."""

import os
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from chart_binder.cli.output import print_error
from chart_binder.errors import INTERRUPTED

CTRL_D, CTRL_L = "\x04", "\x0c"
_MAX_PASTED = 4096
_SETTLED_S = 0.1


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """End the process on an interrupt, without waiting for other threads."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OSError):
            print_error("interrupted")
        exit_at_once(INTERRUPTED)


def exit_at_once(status: int) -> NoReturn:
    """Flush the output and end the process, without waiting for other threads."""
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


@contextmanager
def handling(
    handler: Callable[[int, FrameType | None], object], *signals: signal.Signals
) -> Iterator[None]:
    """Handle signals until the end of the block."""
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def stop_after_current(message: str = "stops after the current file") -> Iterator[threading.Event]:
    """Turn the first SIGINT or SIGTERM into a request to stop, the second into an interrupt."""
    request = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        if request.is_set():
            raise KeyboardInterrupt
        request.set()
        print_error(f"{message}; press Ctrl-C again to stop at once")

    with handling(handle, signal.SIGINT, signal.SIGTERM):
        yield request


class _TerminalResized(Exception):  # noqa: N818 (no error)
    """The terminal has another size."""


def read_key() -> str:
    """Wait for a key or for pasted text, and return it in lower case.

    A closed terminal counts as Ctrl-D, a resized one as Ctrl-L. Text typed before the call is
    discarded.
    """

    def end_wait(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise _TerminalResized

    stream = sys.stdin.fileno()
    before, handler = termios.tcgetattr(stream), signal.signal(signal.SIGWINCH, end_wait)
    try:
        tty.setcbreak(stream)
        text = os.read(stream, _MAX_PASTED).decode("utf-8", "replace")
        return (text.strip() or text[:1] or CTRL_D).casefold()
    except _TerminalResized:
        signal.signal(signal.SIGWINCH, signal.SIG_IGN)
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
        time.sleep(_SETTLED_S)  # until the user has stopped dragging the window
        return CTRL_L
    except OSError:
        return CTRL_D
    finally:
        signal.signal(signal.SIGWINCH, handler)
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
