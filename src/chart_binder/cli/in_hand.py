"""Ctrl-C, or a supervisor that ends the program, lets the file in hand be finished first."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

import click

INTERRUPTED = 130


@dataclass(slots=True)
class Wish:
    """Whether somebody wants the run to end."""

    to_stop: bool = False


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the program when it is interrupted, whatever its other threads wait for."""
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OSError):
            click.echo("canon: interrupted", err=True)
            sys.stdout.flush()
        os._exit(INTERRUPTED)


@contextmanager
def finishing_in_hand(what: str = "the file in hand is") -> Iterator[Wish]:
    """Yield what says that somebody wants the run to end; asked again, it ends at once.

    `what` is done before the run stops.
    """
    wish = Wish()

    def heard(number: int, frame: FrameType | None) -> None:
        del number, frame
        if wish.to_stop:
            raise KeyboardInterrupt
        wish.to_stop = True
        click.echo(f"canon: stops when {what} done; again: at once", err=True)

    before = {each: signal.signal(each, heard) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield wish
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
