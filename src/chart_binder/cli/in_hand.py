"""Ctrl-C lets the file in hand be finished before a run ends."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import click


@dataclass(slots=True)
class Wish:
    """Whether somebody wants the run to end."""

    to_stop: bool = False


@contextmanager
def finishing_in_hand(what: str = "the file in hand is") -> Iterator[Wish]:
    """Yield what says that Ctrl-C was pressed; pressed again, it interrupts at once.

    `what` is done before the run stops.
    """
    wish = Wish()

    def heard(number: int, frame: FrameType | None) -> None:
        del number, frame
        if wish.to_stop:
            raise KeyboardInterrupt
        wish.to_stop = True
        click.echo(f"canon: stops when {what} done; again: at once", err=True)

    before = signal.signal(signal.SIGINT, heard)
    try:
        yield wish
    finally:
        signal.signal(signal.SIGINT, before)
