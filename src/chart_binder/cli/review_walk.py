"""`canon review --interactive`: the review queue in a terminal, with a key for each verdict."""

import dataclasses
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from chart_binder.cli import options, output
from chart_binder.cli.override import confirm
from chart_binder.cli.review_text import ScreenPart, case_lines, case_parts, screen, verdict_lines
from chart_binder.cli.run_events import event_lines
from chart_binder.cli.terminal import CTRL_D, CTRL_L, read_key
from chart_binder.config import Config
from chart_binder.errors import CanonError, StoreError, UsageError, counted
from chart_binder.files import path_text
from chart_binder.jobs.overrides import VerdictResult
from chart_binder.jobs.review import (
    ReviewCase,
    ask_model,
    can_be_asked,
    is_overridden,
    is_queue_empty,
    is_waiting,
    override_removed,
    queue_by_album,
    review_case,
    review_queue,
)
from chart_binder.jobs.review_session import (
    PersonVerdict,
    VerdictAction,
    VerdictDesk,
    in_parts,
    is_pasted,
    require_candidates,
    require_evidence,
)
from chart_binder.jobs.review_words import KEYS, pages_to_edit
from chart_binder.jobs.stored_decisions import LazyRun, new_run
from chart_binder.jobs.wording import NO_ALBUM, musicbrainz_page
from chart_binder.llm.events import ReadingEvent, ResultEvent
from chart_binder.react.transcript import AnyEvent, StepEvent
from chart_binder.wiring import (
    MusicBrainzOverrides,
    record_lookups,
    rules_and_model,
    run_versions,
    transcripts_folder,
    why_no_model,
)

if TYPE_CHECKING:
    from chart_binder.store import Store

_NO_BREAK = "\N{NO-BREAK SPACE}"
_RECORD = "a candidate's number, or the id or address of a release group or a release"
_QUESTIONS = {
    VerdictAction.DATE: (
        "when it first came out: YYYY, YYYY-MM or YYYY-MM-DD (Enter: back)", "no date is stored",
    ),
    VerdictAction.THERE: (
        f"where it first came out ({_RECORD}; Enter: back)", "no record is stored",
    ),
    VerdictAction.SAME: (
        "the id or address of the recording that is the same (Enter: back)",
        "no recording is stored",
    ),
}  # fmt: skip
"""The question about a verdict, and what is said if there is no answer."""
_LEAVE_KEYS = frozenset({"q", CTRL_D})
_PREVIEWED = 10
_LEAST_LINES = 12
"""A case is shown as on a terminal of at least this many lines."""


class _NextStep(Enum):
    """What follows a key: the same case, another one, or the end."""

    STAY = auto()
    FORWARD = auto()
    LEAVE = auto()


class _Key(NamedTuple):
    """A key of the walk; it can be used if `usable` is truthy, such as a list of candidates."""

    name: str
    act: Callable[[ReviewCase], _NextStep]
    about: str
    usable: object = True


@dataclass(frozen=True, slots=True)
class _WalkVerdict:
    """A verdict of this walk on a case, in words and as stored."""

    case: ReviewCase
    words: str
    result: VerdictResult


@dataclass
class Walk:
    """A walk through the queue, with its verdicts so far."""

    store: "Store"
    config: Config
    states: Collection[str]
    done: list[_WalkVerdict] = field(default_factory=list)
    again: list[tuple[ReviewCase, bool]] = field(default_factory=list)
    """Cases to show before the queue continues, last one first; True if also with a verdict."""
    heads: dict[str, str] = field(default_factory=dict)
    past_cases: list[ReviewCase] = field(default_factory=list)
    skipped: output.SkippedRecords = field(default_factory=output.SkippedRecords)
    paths: Collection[Path] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    """What a person said is wrong with a decision, by its id: the default if asked again."""

    def run(self, paths: Collection[Path]) -> int:
        """Show cases until the queue ends or the person leaves. Raises `CanonError`."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("--interactive needs a terminal; `canon review list` does not")
        stored = self.store.overrides.all()
        self.paths = paths
        total = 0
        cases = review_queue(self.store, stored, self.states, paths, self.skipped.decision)
        queue = chain.from_iterable(queue_by_album(cases))
        while True:
            if self.again:
                step = self._show(*self.again.pop())
            elif queued := next(queue, None):
                total = total or queued.cases_left
                self.heads[queued.case.record.id] = f"{total - queued.cases_left + 1} of {total}"
                step = self._show(queued.case)
            elif self._ask_at_end() is _NextStep.LEAVE:
                break
            if step is _NextStep.LEAVE:
                self._print_text(f"{len(self.done)} reviewed")
                words = options.command_line(is_absolute=False)
                output.print_next(output.canon_call("review", "--interactive", *words))
                return self.skipped.status or 3
        output.print_next(self._call_after())
        nothing = is_queue_empty(self.store, self.store.overrides.all(), self.states, paths)
        return self.skipped.status or (0 if nothing else 3)

    def _call_after(self) -> str:
        """Return the command that applies the verdicts of this walk; empty if there is none."""
        applied = [verdict for verdict in self.done if verdict.result.saved.override]
        if not applied:
            return ""
        command = "decide" if any(verdict.result.decide_again for verdict in applied) else "write"
        folder = os.path.commonpath([verdict.case.path.parent for verdict in applied])
        return output.canon_call(command, *(map(str, self.paths) if self.paths else [folder]))

    def _ask_at_end(self) -> _NextStep:
        end = f"the end of the queue: {len(self.done)} reviewed"
        if not self.done:
            return self._print_text(end, _NextStep.LEAVE)
        self._print_text(f"{end}; u undo the last, q quit")
        while (key := read_key()) not in _LEAVE_KEYS:
            if key == "u":
                return self._undo(None)
            self._print_text("no such key; u undo the last, q quit")
        return _NextStep.LEAVE

    def _show(self, case: ReviewCase, is_back: bool = False) -> _NextStep:  # noqa: FBT002
        """Show a case until a key leaves it; if it has a verdict, only if the person went back."""
        waits = is_waiting(self.store, case, self.states)
        override_records = self.store.overrides.all()
        verdict = self._verdict_on(case)
        if (not waits or is_overridden(case, override_records)) and not (verdict and is_back):
            words = verdict.words if verdict else "reviewed meanwhile"
            return self._print_text(f"{path_text(case.path)}: {words}", _NextStep.FORWARD)
        if not self.past_cases or self.past_cases[-1] is not case:
            self.past_cases.append(case)
        self._print_case(case)
        while True:
            try:
                step = self._handle_key(read_key(), case)
            except StoreError:
                raise
            except CanonError as error:
                step = self._print_text(str(error))
            if step is not _NextStep.STAY:
                return step

    def _print_case(self, case: ReviewCase) -> _NextStep:
        """Print a case with its keys, with prose cut to the height of the terminal."""
        walk_verdict, verdict = self._verdict_on(case), case.present_verdict(self.config.rules)
        place = self.heads.get(case.record.id, "again")
        name = f"--- {place}: {path_text(case.path.name)}  [{case.album or NO_ALBUM}]"
        head = ["", output.shortened(output.printable(name), output.line_width())]
        lapsed = override_removed(case, self.store.overrides.all())
        parts = [*case_parts(case, verdict, self.config, head, lapsed=lapsed, is_brief=True)]
        if walk_verdict:
            words = f"your verdict: {walk_verdict.words}; u takes it back, s keeps it"
            parts.append(ScreenPart([*output.wrap(words)]))
        room = max(shutil.get_terminal_size().lines, _LEAST_LINES) - 1  # one line is for the cursor
        keys = self._key_lines(case)
        lines = screen(parts, room - len(keys))
        if len(lines) + len(keys) > room:
            keys = [f"keys: {' '.join(key for key, *_ in self._usable_keys(case))}"]
        output.print_lines([*lines, *keys])
        return _NextStep.STAY

    def _handle_key(self, key: str, case: ReviewCase) -> _NextStep:
        if key in _LEAVE_KEYS:
            return _NextStep.LEAVE
        if key == CTRL_L:
            return self._print_case(case)
        if key in {*KEYS} or is_pasted(key):
            return self._give(VerdictAction.CHOOSE, case, key)
        if len(key) > 1:
            return self._print_text("no such key, id or address")
        if key not in (keys := self._keys(case)):
            self._print_text("no such key")
            return self._legend(case)
        return keys[key].act(case)

    def _keys(self, case: ReviewCase) -> dict[str, _Key]:
        """Return all keys, whether they can be used or not."""
        return self._verdict_keys(case) | self._other_keys(case)

    def _verdict_keys(self, case: ReviewCase) -> dict[str, _Key]:
        proposed, has_findings = case.proposal and case.proposal.label, case.rows or case.proposal
        return {
            "a": _Key("accept", partial(self._give, VerdictAction.ACCEPT),
                      "the proposal is right", proposed),
            "1": _Key("choose a candidate", self._legend,
                      "the candidate with this number is right", case.rows),
            "d": _Key("first date", partial(self._ask_for, VerdictAction.DATE),
                      "type the date when it first came out", case.bundle),
            "w": _Key("first record", partial(self._ask_for, VerdictAction.THERE),
                      "type the record on which it first came out, listed or not; its date counts",
                      case.bundle),
            "=": _Key("same performance", partial(self._ask_for, VerdictAction.SAME),
                      "type another MusicBrainz recording of the same performance", case.bundle),
            "r": _Key("reject", self._reject,
                      "the proposal is wrong; say why, and what is right", has_findings),
            "k": _Key("leave open", partial(self._give, VerdictAction.KEEP),
                      "take it out of the queue until evidence, rules or the answer change"),
            "x": _Key("not this recording", partial(self._give, VerdictAction.NOT_THIS),
                      "the file is another recording; it is not written until its tags change",
                      has_findings),
            "f": _Key("accept the folder", partial(self._accept_all, _folder),
                      "list the proposals in this folder, then accept them all", proposed),
            "e": _Key("accept all with this reason", partial(self._accept_all, _reason),
                      "list the proposals with this reason, then accept them all", proposed),
        }  # fmt: skip

    def _other_keys(self, case: ReviewCase) -> dict[str, _Key]:
        return {
            "l": _Key("let the model look", self._ask_model,
                      "ask the model about it now, and keep its answer",
                      not why_no_model(self.config) and can_be_asked(case)),
            "m": _Key("more", self._show_everything,
                      "show every candidate and release, and the model's answer"),
            "p": _Key("play", self._play, "play the file", self.config.review.player),
            "b": _Key("back", self._back,
                      "show the previous case again; its verdict stays", len(self.past_cases) > 1),
            "s": _Key("skip", self._skip, "decide nothing now; it stays in the queue"),
            "t": _Key("transcript", self._transcript,
                      "show what the model did", case.record.transcript_id),
            "o": _Key("pages", self._addresses,
                      "show the pages of candidates and cited facts, and where to fix them",
                      case.rows),
            "u": _Key("undo", self._undo,
                      "take back the verdict on this case, or else the last one of this walk",
                      self.done),
            "q": _Key("quit", self._legend,
                      "stop here; every verdict is saved, and the same command continues"),
            "?": _Key("keys", self._explain_keys, "explain the keys"),
        }  # fmt: skip

    def _usable_keys(self, case: ReviewCase) -> Iterator[tuple[str, str, str]]:
        """Yield the usable keys with their names and help."""
        many = min(len(case.rows), len(KEYS))
        for letter, key in self._keys(case).items():
            if key.usable:
                yield f"1-{many}" if letter == "1" and many > 1 else letter, key.name, key.about

    def _key_lines(self, case: ReviewCase) -> Sequence[str]:
        keys = self._usable_keys(case)
        names = (f"{key} {name}".replace(" ", _NO_BREAK) for key, name, _ in keys)
        return [line.replace(_NO_BREAK, " ") for line in output.wrap(", ".join(names))]

    def _legend(self, case: ReviewCase) -> _NextStep:
        output.print_lines(self._key_lines(case))
        return _NextStep.STAY

    def _explain_keys(self, case: ReviewCase) -> _NextStep:
        for key, name, about in self._usable_keys(case):
            output.print_lines(output.wrap(f"{name}: {about}", f"{key:<4} "))
        return _NextStep.STAY

    def _skip(self, case: ReviewCase) -> _NextStep:
        return self._print_text(f"{path_text(case.path)}: skipped", _NextStep.FORWARD)

    def _reject(self, case: ReviewCase) -> _NextStep:
        require_candidates(case)
        earlier = self.reasons.get(case.record.id, "")
        reason = _ask(
            "what is wrong (Ctrl-C: back)" if earlier else "what is wrong (Enter: back)", earlier
        )
        if not reason:
            return self._print_text("not rejected")
        self.reasons[case.record.id] = reason

        def right(text: str) -> _NextStep:
            return self._give(VerdictAction.REJECT, case, text, reason)

        question = f"which is right ({_RECORD}; Enter: none of them)"
        return self._ask_until(question, right, "not rejected", takes_none=True)

    def _accept_all(self, key: Callable[[ReviewCase], object], case: ReviewCase) -> _NextStep:
        """Accept the proposals of all cases with the same `key`, once the person has seen them."""
        if case.proposal is None:
            raise CanonError("nothing is proposed here")
        stored = self.store.overrides.all()
        queue = review_queue(self.store, stored, self.states, self.paths, self.skipped.decision)
        alike = [item.case for item in queue if item.case.proposal and key(item.case) == key(case)]
        for similar in alike[:_PREVIEWED]:
            proposal = similar.proposal
            title = similar.labels.titles.get(proposal.crg_mbid) if proposal else None
            output.print_lines(
                output.wrap(f"{path_text(similar.path)} -> {title or 'unknown'}", "  ", 4)
            )
        hidden = len(alike) - _PREVIEWED
        remainder = f", {hidden} of them not shown" if hidden > 0 else ""
        question = f"accept {counted(len(alike), 'proposal')}{remainder}? (y, Enter: no)"
        if (_ask(question) or "").casefold() != "y":
            return self._print_text("none accepted")
        for part in in_parts(alike):
            with self.store.together():
                for similar in part:
                    try:
                        self._give(VerdictAction.ACCEPT, similar)
                    except StoreError:
                        raise
                    except CanonError as error:
                        self._print_text(str(error))
        return _NextStep.FORWARD

    def _show_everything(self, case: ReviewCase) -> _NextStep:
        lapsed = override_removed(case, self.store.overrides.all())
        verdict = case.present_verdict(self.config.rules)
        output.print_lines(case_lines(case, verdict, self.config, lapsed=lapsed, whole=True))
        return self._legend(case)

    def _play(self, case: ReviewCase) -> _NextStep:
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

    def _back(self, case: ReviewCase) -> _NextStep:
        if len(self.past_cases) < 2:  # noqa: PLR2004 (this case and the previous one)
            return self._print_text("this is the first")
        self.past_cases.pop()
        self.again += [(case, False), (self.past_cases.pop(), True)]
        return _NextStep.FORWARD

    def _ask_for(self, action: VerdictAction, case: ReviewCase) -> _NextStep:
        require_evidence(case)
        question, otherwise = _QUESTIONS[action]
        return self._ask_until(question, partial(self._give, action, case), otherwise)

    def _ask_until(
        self,
        question: str,
        act: Callable[[str], _NextStep],
        otherwise: str,
        *,
        takes_none: bool = False,
    ) -> _NextStep:
        """Ask for a line until it works or the person goes back."""
        while (text := _ask(question)) or (takes_none and text == ""):
            try:
                return act(text)
            except StoreError:
                raise
            except CanonError as error:
                self._print_text(str(error))
        return self._print_text(otherwise)

    def _give(
        self, action: VerdictAction, case: ReviewCase, text: str = "", reason: str = ""
    ) -> _NextStep:
        """Save a verdict; show first what the evidence lacks."""
        desk = VerdictDesk(self.store, self.config.rules, record_lookups(self.config), confirm)
        return self._record(case, *desk.give(case, PersonVerdict(action, text, reason)))

    def _ask_model(self, case: ReviewCase) -> _NextStep:
        """Ask the model about a case; show the case again unless the answer decides it."""
        llm = self.config.llm
        self._print_text(f"asking {llm.model_id}; Ctrl-C: back")
        run = LazyRun(self.store, new_run("review", options.command_line()))
        pipeline = dataclasses.replace(
            rules_and_model(self.config, record=transcripts_folder(), on_event=_print_step),
            overrides=MusicBrainzOverrides(self.config),
            versions=run_versions(self.config, run.run.id),
            asks_years=case.proposes_only_date or llm.ask == "year",
        )
        try:
            decision = ask_model(self.store, case, pipeline, run)
        except KeyboardInterrupt:
            return self._print_text("stopped; nothing is stored")
        self.past_cases.pop()
        latest = self.store.decisions.latest(case.record.path)
        answered = review_case(self.store, latest, case.files) if latest else case
        if not is_waiting(self.store, answered, self.states):
            because = f"{decision.state}: {decision.rationale or 'no reason was given'}"
            return self._print_text(f"{path_text(case.path)}: {because}", _NextStep.FORWARD)
        self.heads[answered.record.id] = self.heads.get(case.record.id, "again")
        self.again.append((answered, False))
        return _NextStep.FORWARD

    def _transcript(self, case: ReviewCase) -> _NextStep:
        from chart_binder.jobs.transcripts import stored_recording  # slow to import

        for event in stored_recording(self.store, [case.record], case.record.id).events:
            output.print_lines(event_lines(event))
        return self._legend(case)

    def _addresses(self, case: ReviewCase) -> _NextStep:
        for row in case.rows:
            page = musicbrainz_page("release-group", row.release_group)
            output.print_lines([f"{row.label:<4} {page}"])
        sources = (fact.source for fact in (case.result.facts if case.result else ()))
        output.print_lines(f"fact {source}" for source in dict.fromkeys(filter(None, sources)))
        pages = pages_to_edit(case, case.present_verdict(self.config.rules))
        output.print_lines(f"fix at: {page}" for page in pages)
        return self._legend(case)

    def _verdict_on(self, case: ReviewCase) -> _WalkVerdict | None:
        verdicts = {verdict.case.record.id: verdict for verdict in self.done}
        return verdicts.get(case.record.id)

    def _undo(self, case: ReviewCase | None) -> _NextStep:
        if not self.done:
            return self._print_text("there is no verdict to undo")
        verdict = (case and self._verdict_on(case)) or self.done[-1]
        is_unchanged = self.store.verdicts.take_back(verdict.result.saved)
        self.done = [earlier for earlier in self.done if earlier is not verdict]
        if not is_unchanged:
            reason = "its verdict was changed since, so nothing is taken back"
            return self._print_text(f"{path_text(verdict.case.path)}: {reason}")
        if case and case.record.id != verdict.case.record.id:
            self.again.append((case, False))
        self.again.append((verdict.case, True))
        text = f"taken back, to look at again: {path_text(verdict.case.path)}"
        return self._print_text(text, _NextStep.FORWARD)

    def _record(self, case: ReviewCase, words: str, result: VerdictResult) -> _NextStep:
        self.done.append(_WalkVerdict(case, words, result))
        output.print_lines(verdict_lines(case, words, result))
        return _NextStep.FORWARD

    def _print_text(self, text: str, then: _NextStep = _NextStep.STAY) -> _NextStep:
        output.print_lines(output.wrap(text))
        return then


def _folder(case: ReviewCase) -> Path:
    return case.path.parent


def _reason(case: ReviewCase) -> str | None:
    return case.problem or case.decision.rationale


def _print_step(event: AnyEvent) -> None:
    if isinstance(event, StepEvent | ReadingEvent | ResultEvent):
        output.print_lines(event_lines(event))


def _ask(question: str, default: str = "") -> str | None:
    """Ask for a line; return `None` for Ctrl-C."""
    try:
        answer: str = click.prompt(question, default=default, show_default=bool(default))
    except click.Abort:
        return None
    return output.one_line(answer)
