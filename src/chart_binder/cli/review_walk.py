"""`canon review walk`: the review queue in a terminal, with a key for each verdict."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chart_binder.cli.output import SkippedRecords, one_line, print_lines, wrap
from chart_binder.cli.progress import event_lines
from chart_binder.cli.render.decision import musicbrainz_page
from chart_binder.cli.render.review import NO_ALBUM, brief_lines, case_lines, ruled_lines
from chart_binder.config import Config
from chart_binder.errors import CanonError, StoreError, UsageError, counted
from chart_binder.files import path_text
from chart_binder.jobs.overrides import VerdictResult, accept, choose, keep, reject
from chart_binder.jobs.review import (
    ReviewCase,
    is_overridden,
    is_queue_empty,
    override_removed,
    queue_by_album,
    read_case_transcript,
    review_queue,
)

if TYPE_CHECKING:
    from chart_binder.store.reviews import SavedVerdicts
    from chart_binder.store.store import Store

_DIGITS = frozenset("123456789")
_CTRL_D = "\x04"
_NO_BREAK = "\N{NO-BREAK SPACE}"
_LEAVE = frozenset({"q", _CTRL_D})
_PREVIEWED = 10


class _Next(Enum):
    """What follows a key: the same case, the next, the one that was taken back, or the end."""

    STAY = auto()
    FORWARD = auto()
    BACK = auto()
    LEAVE = auto()


@dataclass
class Walk:
    """A walk through the queue, with the verdicts given since it began."""

    store: "Store"
    config: Config
    states: Collection[str]
    done: list[tuple[ReviewCase, "SavedVerdicts"]] = field(default_factory=list)
    taken_back: list[ReviewCase] = field(default_factory=list)
    shown: list[ReviewCase] = field(default_factory=list)
    skipped: SkippedRecords = field(default_factory=SkippedRecords)
    paths: Collection[Path] = ()

    def run(self, paths: Collection[Path]) -> int:
        """Show every case until the end or until the person leaves; return the exit status.

        Raises `CanonError`.
        """
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("walking the queue needs a terminal: `canon review list` does without")
        kept = self.store.overrides.all()
        self.paths = paths
        total = 0
        queue = review_queue(self.store, kept, self.states, paths, self.skipped.decision)
        for queued in chain.from_iterable(queue_by_album(queue)):
            total = total or queued.left
            place = f"--- {total - queued.left + 1} of {total}: {queued.case.album or NO_ALBUM}"
            print_lines(["", *wrap(one_line(place), "", 4)])
            if self._show(queued.case) is _Next.LEAVE:
                return self._quit()
        while self._ask_at_end() is _Next.BACK:
            if self._show(self.taken_back.pop()) is _Next.LEAVE:
                return self._quit()
        nothing = is_queue_empty(self.store, self.store.overrides.all(), self.states, paths)
        return self.skipped.status or (0 if nothing else 3)

    def _show(self, case: ReviewCase) -> _Next:
        """Show a case until it is done with, and those before it that are taken back meanwhile."""
        pending = [case]
        while pending:
            now = pending.pop()
            leads = self._show_one(now)
            if leads is _Next.LEAVE:
                return leads
            if leads is _Next.BACK:
                pending += [now, self.taken_back.pop()]
        return _Next.FORWARD

    def _ask_at_end(self) -> _Next:
        ruled = f"the end of the queue: {len(self.done)} ruled on"
        if not self.done:
            return self._say(ruled, _Next.LEAVE)
        self._say(f"{ruled}; u undo the last, q quit")
        while (key := _key()) not in _LEAVE:
            if key == "u":
                return self._undo()
            self._say("no such key; u undo the last, q quit")
        return _Next.LEAVE

    def _quit(self) -> int:
        self._say(f"{len(self.done)} ruled on; the same command goes on")
        return self.skipped.status or 3

    def _show_one(self, case: ReviewCase) -> _Next:
        waits = self.store.waiting.has(case.kept.id, self.states)
        ruled = self.store.overrides.all()
        if not waits or is_overridden(case, ruled):
            return self._say(f"{path_text(case.path)}: ruled on meanwhile", _Next.FORWARD)
        lapsed = override_removed(case, ruled)
        print_lines(brief_lines(case, case.question(self.config.rules), lapsed=lapsed))
        if not self.shown or self.shown[-1] is not case:
            self.shown.append(case)
        self._legend(case)
        while True:
            try:
                leads = self._do(_key(), case)
            except StoreError:
                raise
            except CanonError as error:
                leads = self._say(str(error))
            if leads is not _Next.STAY:
                return leads

    def _do(self, key: str, case: ReviewCase) -> _Next:
        if key in _DIGITS:
            return self._choose(case, key)
        actions: dict[str, Callable[[ReviewCase], _Next]] = {
            "a": self._accept,
            "k": lambda case: self._ruled(case, "left as it is", keep(self.store, case)),
            "r": self._reject,
            "x": self._not_this_recording,
            "f": self._accept_folder,
            "e": self._accept_equal,
            "m": self._whole,
            "p": self._play,
            "b": lambda _: self._back(),
            "s": lambda case: self._say(f"{path_text(case.path)}: skipped", _Next.FORWARD),
            "t": self._transcript,
            "o": self._addresses,
            "u": lambda _: self._undo(),
            "?": self._legend,
        } | dict.fromkeys(_LEAVE, lambda _: _Next.LEAVE)
        if key not in actions:
            self._say("no such key")
        return actions.get(key, self._legend)(case)

    def _legend(self, case: ReviewCase) -> _Next:
        """Print the keys that do something for a case."""
        many = min(len(case.rows), len(_DIGITS))
        keys = {
            "a accept": case.proposal and case.proposal.label,
            "1 choose that candidate": many == 1,
            f"1-{many} choose that candidate": many > 1,
            "r reject": True,
            "k keep": True,
            "x not this recording": True,
            "f accept the folder": case.proposal and case.proposal.label,
            "e accept all with this reason": case.proposal and case.proposal.label,
            "m more": True,
            "p play": self.config.review.player,
            "b back": len(self.shown) > 1,
            "s skip": True,
            "t transcript": case.kept.transcript_id,
            "o addresses": case.rows,
            "u undo": self.done,
            "q quit": True,
            "? keys": True,
        }
        keys_text = ", ".join(key.replace(" ", _NO_BREAK) for key, does in keys.items() if does)
        print_lines(line.replace(_NO_BREAK, " ") for line in wrap(keys_text))
        return _Next.STAY

    def _accept(self, case: ReviewCase) -> _Next:
        if case.proposal is None:
            raise CanonError("nothing is proposed: press the number of the candidate that is right")
        return self._ruled(case, "accepted", accept(self.store, case))

    def _reject(self, case: ReviewCase) -> _Next:
        reason = _ask("what is wrong (Enter: back)")
        if reason:
            right = _ask("which candidate is right (its number; Enter: none of them)")
            if right:
                return self._choose(case, right, reason)
            if right is not None:
                return self._ruled(case, "rejected", reject(self.store, case, reason))
        return self._say("not rejected")

    def _not_this_recording(self, case: ReviewCase) -> _Next:
        """Keep a file out of the queue and unwritten until its tags lead to another recording."""
        said = reject(self.store, case, "the file is not this recording")
        return self._ruled(case, "not this recording: correct its tags", said)

    def _accept_folder(self, case: ReviewCase) -> _Next:
        return self._accept_all(case, lambda one: one.path.parent == case.path.parent)

    def _accept_equal(self, case: ReviewCase) -> _Next:
        def reason(one: ReviewCase) -> str | None:
            return one.problem or one.decision.rationale

        return self._accept_all(case, lambda one: reason(one) == reason(case))

    def _accept_all(self, case: ReviewCase, is_alike: Callable[[ReviewCase], bool]) -> _Next:
        """Accept the proposals of cases that are alike, after showing which they are."""
        if case.proposal is None:
            raise CanonError("nothing is proposed here")
        kept = self.store.overrides.all()
        queue = review_queue(self.store, kept, self.states, self.paths, self.skipped.decision)
        alike = [one.case for one in queue if one.case.proposal and is_alike(one.case)]
        for one in alike[:_PREVIEWED]:
            title = one.labels.titles.get(one.proposal.crg_mbid) if one.proposal else None
            print_lines(wrap(f"{path_text(one.path)} -> {title or 'unknown'}", "  ", 4))
        more = f", {len(alike) - _PREVIEWED} of them not shown" if len(alike) > _PREVIEWED else ""
        asked = f"accept {counted(len(alike), 'proposal')}{more}? (y, Enter: no)"
        if (_ask(asked) or "").casefold() != "y":
            return self._say("none accepted")
        for one in alike:
            try:
                self._ruled(one, "accepted", accept(self.store, one))
            except StoreError:
                raise
            except CanonError as error:
                self._say(str(error))
        return _Next.FORWARD

    def _whole(self, case: ReviewCase) -> _Next:
        """Print everything that is known of a case."""
        lapsed = override_removed(case, self.store.overrides.all())
        rules = case.question(self.config.rules)
        print_lines(case_lines(case, rules, lapsed=lapsed, whole=True))
        return self._legend(case)

    def _play(self, case: ReviewCase) -> _Next:
        """Play the file with `[review] player`, without a shell; wait until it ends."""
        words = shlex.split(self.config.review.player)
        if not words:
            raise CanonError('no player is configured: set [review] player = "mpv --no-video"')
        path = str(case.path.absolute())
        call = [word.replace("{path}", path) for word in words]
        try:
            subprocess.run(  # noqa: S603 (the person's own command, never from a found file)
                call if call != words else [*call, path], check=False
            )
        except OSError as error:
            raise CanonError(f"{words[0]!r} cannot be run: {error.strerror or error}") from error
        return self._legend(case)

    def _back(self) -> _Next:
        """Look at the case before this one once more."""
        if len(self.shown) < 2:  # noqa: PLR2004 (this one and one before it)
            return self._say("this is the first")
        self.shown.pop()
        self.taken_back.append(self.shown.pop())
        return _Next.BACK

    def _choose(self, case: ReviewCase, number: str, reason: str = "") -> _Next:
        label = f"C{number.upper().removeprefix('C')}"
        group = case.labels.ids.get(label) if "." not in label else None
        if group is None:
            there = f"C1 to C{len(case.rows)} are there" if case.rows else "there is none"
            raise CanonError(f"{label}: no such candidate; {there}")
        return self._ruled(case, f"{label} is right", choose(self.store, case, group, reason))

    def _transcript(self, case: ReviewCase) -> _Next:
        for event in read_case_transcript(self.store, case):
            print_lines(event_lines(event))
        return self._legend(case)

    def _addresses(self, case: ReviewCase) -> _Next:
        for each in case.rows:
            page = musicbrainz_page("release-group", each.release_group)
            print_lines([f"{each.label:<4} {page}"])
        sources = (fact.source for fact in (case.result.facts if case.result else ()))
        print_lines(f"fact {source}" for source in dict.fromkeys(filter(None, sources)))
        return self._legend(case)

    def _undo(self) -> _Next:
        if not self.done:
            return self._say("nothing was ruled on since you began")
        before, ruling = self.done.pop()
        self.store.verdicts.take_back(ruling)
        self.taken_back.append(before)
        return self._say(f"taken back, to look at again: {path_text(before.path)}", _Next.BACK)

    def _ruled(self, case: ReviewCase, done: str, ruled: VerdictResult) -> _Next:
        self.done.append((case, ruled.saved))
        print_lines(ruled_lines(case, done, ruled))
        return _Next.FORWARD

    def _say(self, text: str, then: _Next = _Next.STAY) -> _Next:
        print_lines(wrap(text))
        return then


def _key() -> str:
    """Wait for a key; a terminal that is gone counts as Ctrl-D."""
    try:
        return click.getchar().casefold()
    except EOFError:
        return _CTRL_D


def _ask(question: str) -> str | None:
    """Ask for a line; return `None` for Ctrl-C."""
    try:
        said: str = click.prompt(question, default="", show_default=False)
    except click.Abort:
        return None
    return one_line(said)
