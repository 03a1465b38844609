"""The review queue is walked in a terminal, a key for each verdict."""

import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from chart_binder.cli.harmless import harmless
from chart_binder.cli.results import readable
from chart_binder.cli.review_lines import case_lines, ruled_lines
from chart_binder.cli.text import SITE
from chart_binder.cli.watching import event_lines
from chart_binder.config import Config
from chart_binder.errors import CanonError, StoreError, UsageError
from chart_binder.jobs.review_case import ReviewCase, is_overridden, transcript_of
from chart_binder.jobs.review_queue import is_empty, review_queue
from chart_binder.jobs.review_ruling import Ruled, accept, chosen, keep, reject
from chart_binder.llm.result import Fact

if TYPE_CHECKING:
    from chart_binder.store.store import Store
    from chart_binder.store.verdicts import Ruling

_KEYS = (
    "a accept, 1-9 choose that candidate, r reject, k keep, s skip, t transcript, o addresses,"
    " u undo, q quit"
)
_CHOSEN = "chosen in review"
_DIGITS = frozenset("123456789")


def walk(store: "Store", config: Config, states: Collection[str], paths: Collection[Path]) -> int:
    """Walk the queue, and return the exit status. Raises `CanonError`."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("walking the queue needs a terminal: `canon review list` does without")
    return _Walk(store, config, states).through(paths)


class _Next(Enum):
    """Where a key leads."""

    STAY = auto()
    ON = auto()
    BACK = auto()
    LEAVE = auto()


@dataclass
class _Walk:
    """Where a person stands in the queue, and what they ruled since they began."""

    store: "Store"
    config: Config
    states: Collection[str]
    done: list[tuple[ReviewCase, "Ruling"]] = field(default_factory=list)
    taken_back: list[ReviewCase] = field(default_factory=list)

    def through(self, paths: Collection[Path]) -> int:
        """Show every case until the end or until the person leaves."""
        for queued in review_queue(self.store, self.store.overrides.all(), self.states, paths):
            left = f"{queued.left} to look at" if queued.left > 1 else "the last"
            self._say(f"\n--- {left}; {_KEYS}")
            pending = [queued.case]
            while pending:
                case = pending.pop()
                match self._look_at(case):
                    case _Next.LEAVE:
                        self._say(f"{len(self.done)} ruled on; the same command goes on")
                        return 3
                    case _Next.BACK:
                        pending += [case, self.taken_back.pop()]
        self._say(f"the end of the queue: {len(self.done)} ruled on")
        return 0 if is_empty(self.store, self.store.overrides.all(), self.states, paths) else 3

    def _look_at(self, case: ReviewCase) -> _Next:
        """Show one case until it is ruled on or skipped; return where that leads."""
        waits = self.store.waiting.has(case.kept.id, self.states)
        if not waits or is_overridden(case, self.store.overrides.all()):
            self._say(f"{readable(str(case.path))}: ruled on meanwhile")
            return _Next.ON
        self._show(case)
        while True:
            try:
                leads = self._did(click.getchar().casefold(), case)
            except EOFError:
                return _Next.LEAVE
            except StoreError:
                raise
            except CanonError as error:
                self._say(str(error))
            else:
                if leads is not _Next.STAY:
                    return leads

    def _did(self, key: str, case: ReviewCase) -> _Next:
        """Do what a key stands for, and return where that leads."""
        if key in _DIGITS:
            return self._choose(case, key, _CHOSEN)
        action = _ACTIONS.get(key)
        if action is None:
            self._say(f"no such key; {_KEYS}")
            return _Next.STAY
        return action(self, case)

    def _accept(self, case: ReviewCase) -> _Next:
        return self._ruled(case, "accepted", accept(self.store, case))

    def _keep(self, case: ReviewCase) -> _Next:
        return self._ruled(case, "left as it is", keep(self.store, case))

    def _reject(self, case: ReviewCase) -> _Next:
        reason = _asked("what is wrong (Enter: back)")
        if reason:
            right = _asked("which candidate is right (its number; Enter: none of them)")
            if right:
                return self._choose(case, right, reason)
            if right is not None:
                return self._ruled(case, "rejected", reject(self.store, case, reason))
        self._say("not rejected")
        return _Next.STAY

    def _choose(self, case: ReviewCase, number: str, reason: str) -> _Next:
        label = f"C{number.upper().removeprefix('C')}"
        group = case.labels.ids.get(label) if "." not in label else None
        if group is None:
            raise CanonError(f"{label}: no such candidate; C1 to C{len(case.rows)} are there")
        return self._ruled(case, f"{label} is right", chosen(self.store, case, group, reason))

    def _skip(self, case: ReviewCase) -> _Next:
        self._say(f"{readable(str(case.path))}: skipped")
        return _Next.ON

    def _transcript(self, case: ReviewCase) -> _Next:
        for event in transcript_of(self.store, case):
            self._print(event_lines(event))
        return _Next.STAY

    def _addresses(self, case: ReviewCase) -> _Next:
        for each in case.rows:
            self._say(f"{each.label:<4} {SITE}/release-group/{each.release_group}")
        for source in dict.fromkeys(fact.source for fact in _facts(case)):
            self._say(f"fact {source}")
        return _Next.STAY

    def _undo(self, case: ReviewCase) -> _Next:
        del case
        if not self.done:
            self._say("nothing was ruled on since you began")
            return _Next.STAY
        before, ruling = self.done.pop()
        self.store.verdicts.take_back(ruling)
        self._say(f"{readable(str(before.path))}: taken back, to look at again")
        self.taken_back.append(before)
        return _Next.BACK

    def _leave(self, case: ReviewCase) -> _Next:
        del case
        return _Next.LEAVE

    def _ruled(self, case: ReviewCase, done: str, ruled: Ruled) -> _Next:
        self.done.append((case, ruled.ruling))
        self._print(ruled_lines(case, done, ruled))
        return _Next.ON

    def _show(self, case: ReviewCase) -> None:
        self._print(case_lines(case, case.question(self.config.rules)))

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            click.echo(harmless(line))

    def _say(self, text: str) -> None:
        click.echo(harmless(text))


_Action: TypeAlias = Callable[[_Walk, ReviewCase], _Next]
_ACTIONS: dict[str, _Action] = {
    "a": _Walk._accept,  # noqa: SLF001 - a table of its own methods
    "k": _Walk._keep,  # noqa: SLF001
    "r": _Walk._reject,  # noqa: SLF001
    "s": _Walk._skip,  # noqa: SLF001
    "t": _Walk._transcript,  # noqa: SLF001
    "o": _Walk._addresses,  # noqa: SLF001
    "u": _Walk._undo,  # noqa: SLF001
    "q": _Walk._leave,  # noqa: SLF001
}


def _facts(case: ReviewCase) -> tuple[Fact, ...]:
    return case.result.facts if case.result else ()


def _asked(question: str) -> str | None:
    """Ask for a line; `None` where the person thinks better of it (Ctrl-C)."""
    try:
        said: str = click.prompt(question, default="", show_default=False)
    except click.Abort:
        return None
    return " ".join(readable(said).split())
