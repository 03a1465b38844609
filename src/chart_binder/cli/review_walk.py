"""`canon review walk`: the review queue in a terminal, with a key for each verdict."""

import dataclasses
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from chart_binder.cli import options, output, progress
from chart_binder.cli.decision_text import musicbrainz_page
from chart_binder.cli.override import name_records, read_record
from chart_binder.cli.review_text import (
    KEYS,
    NO_ALBUM,
    ScreenPart,
    case_lines,
    case_parts,
    mending_pages,
    ruled_lines,
    screen,
)
from chart_binder.config import Config
from chart_binder.domain.records import now_utc
from chart_binder.domain.vocabulary import MBID
from chart_binder.errors import CanonError, StoreError, UsageError, counted
from chart_binder.files import path_text
from chart_binder.jobs.named_records import read_first_date
from chart_binder.jobs.overrides import PersonChoice, VerdictResult, accept, choose, keep, reject
from chart_binder.jobs.review import (
    ReviewCase,
    ask_model,
    can_be_asked,
    is_overridden,
    is_queue_empty,
    is_waiting,
    override_removed,
    queue_by_album,
    read_case_transcript,
    review_case,
    review_queue,
)
from chart_binder.jobs.stored_decisions import LazyRun, new_run
from chart_binder.llm.events import ReadingEvent, ResultEvent
from chart_binder.react.transcript import AnyEvent, StepEvent
from chart_binder.wiring import (
    MusicBrainzOverrides,
    rules_and_model,
    run_versions,
    transcripts_folder,
    why_no_model,
)

if TYPE_CHECKING:
    from chart_binder.store import Store
    from chart_binder.store.reviews import SavedVerdicts

_NO_BREAK = "\N{NO-BREAK SPACE}"
_RECORD = "a candidate's number, or the id or address of a release group or a release"
_LEAVE = frozenset({"q", progress.CTRL_D})
_PREVIEWED = 10
_LEAST_LINES = 12
"""On a terminal of fewer lines a case is shown as on one of so many."""
_PASTED = re.compile(r"\S*musicbrainz\.org/([a-z-]+)/\S+", re.IGNORECASE)


class _Next(Enum):
    """What follows a key: the same case, another one, or the end."""

    STAY = auto()
    FORWARD = auto()
    LEAVE = auto()


_Key = tuple[str, str, Callable[[ReviewCase], _Next], object]


@dataclass(frozen=True, slots=True)
class _Given:
    """A verdict of this walk on a case, in words and as it was saved."""

    case: ReviewCase
    words: str
    saved: "SavedVerdicts"


@dataclass
class Walk:
    """A walk through the queue, with the verdicts given since it began."""

    store: "Store"
    config: Config
    states: Collection[str]
    done: list[_Given] = field(default_factory=list)
    again: list[tuple[ReviewCase, bool]] = field(default_factory=list)
    """Cases to show before the queue goes on, the next last, and whether even with a verdict."""
    heads: dict[str, str] = field(default_factory=dict)
    shown: list[ReviewCase] = field(default_factory=list)
    skipped: output.SkippedRecords = field(default_factory=output.SkippedRecords)
    paths: Collection[Path] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    """What a person said is wrong with a decision, by its id: asked again, it is the default."""

    def run(self, paths: Collection[Path]) -> int:
        """Show cases until the end or until the person leaves. Raises `CanonError`."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("walking the queue needs a terminal: `canon review list` does without")
        kept = self.store.overrides.all()
        self.paths = paths
        total = 0
        found = review_queue(self.store, kept, self.states, paths, self.skipped.decision)
        queue = chain.from_iterable(queue_by_album(found))
        while True:
            if self.again:
                leads = self._show(*self.again.pop())
            elif queued := next(queue, None):
                total = total or queued.left
                self.heads[queued.case.record.id] = f"{total - queued.left + 1} of {total}"
                leads = self._show(queued.case)
            elif self._ask_at_end() is _Next.LEAVE:
                break
            if leads is _Next.LEAVE:
                self._say(f"{len(self.done)} reviewed")
                output.print_next(options.same_call())
                return self.skipped.status or 3
        nothing = is_queue_empty(self.store, self.store.overrides.all(), self.states, paths)
        return self.skipped.status or (0 if nothing else 3)

    def _ask_at_end(self) -> _Next:
        end = f"the end of the queue: {len(self.done)} reviewed"
        if not self.done:
            return self._say(end, _Next.LEAVE)
        self._say(f"{end}; u undo the last, q quit")
        while (key := progress.read_key()) not in _LEAVE:
            if key == "u":
                return self._undo(None)
            self._say("no such key; u undo the last, q quit")
        return _Next.LEAVE

    def _show(self, case: ReviewCase, is_back: bool = False) -> _Next:  # noqa: FBT002
        """Show a case until it is done with; one with a verdict only if the person went back."""
        waits = is_waiting(self.store, case, self.states)
        ruled = self.store.overrides.all()
        given = self._given_on(case)
        if (not waits or is_overridden(case, ruled)) and not (given and is_back):
            said = given.words if given else "reviewed meanwhile"
            return self._say(f"{path_text(case.path)}: {said}", _Next.FORWARD)
        if not self.shown or self.shown[-1] is not case:
            self.shown.append(case)
        self._draw(case)
        while True:
            try:
                leads = self._do(progress.read_key(), case)
            except StoreError:
                raise
            except CanonError as error:
                leads = self._say(str(error))
            if leads is not _Next.STAY:
                return leads

    def _draw(self, case: ReviewCase) -> _Next:
        """Print a case with its keys, prose cut to the height of the terminal."""
        given, verdict = self._given_on(case), case.question(self.config.rules)
        place = self.heads.get(case.record.id, "again")
        name = f"--- {place}: {path_text(case.path.name)}  [{case.album or NO_ALBUM}]"
        head = ["", output.shortened(output.printable(name), output.terminal_width())]
        lapsed = override_removed(case, self.store.overrides.all())
        parts = [*case_parts(case, verdict, self.config, head, lapsed=lapsed, is_brief=True)]
        if given:
            words = f"your verdict: {given.words}; u takes it back, s keeps it"
            parts.append(ScreenPart([*output.wrap(words)]))
        room = max(shutil.get_terminal_size().lines, _LEAST_LINES) - 1  # the cursor has a line
        keys = self._key_lines(case)
        lines = screen(parts, room - len(keys))
        if len(lines) + len(keys) > room:
            keys = [f"keys: {' '.join(key for key, *_ in self._of_use(case))}"]
        output.print_lines([*lines, *keys])
        return _Next.STAY

    def _do(self, key: str, case: ReviewCase) -> _Next:
        if key in _LEAVE:
            return _Next.LEAVE
        if key == progress.CTRL_L:
            return self._draw(case)
        if key in {*KEYS}:
            return self._choose(case, key)
        if len(key) > 1:
            return self._pasted(case, key)
        if key not in (keys := self._keys(case)):
            self._say("no such key")
            return self._legend(case)
        return keys[key][2](case)

    def _keys(self, case: ReviewCase) -> dict[str, _Key]:
        """Return each key: its name, what it does, in words and in code, and if it is of use."""
        proposed, found = case.proposal and case.proposal.label, case.rows or case.proposal
        return {
            "a": ("accept", "the proposal is right: it becomes an override",
                  self._accept, proposed),
            "1": ("choose that candidate",
                  "the candidate of this number is right: an override, too",
                  self._legend, case.rows),
            "d": ("date", "say when it first came out: that becomes an override, too",
                  self._say_date, case.bundle),
            "w": ("where", "say where it first came out, listed or not: its date counts",
                  self._say_where, case.bundle),
            "=": ("same as", "name another recording at MusicBrainz of the same performance",
                  self._say_same, case.bundle),
            "r": ("reject", "what is proposed is wrong: asks for the reason and for what is right",
                  self._reject, found),
            "k": ("keep",
                  "leave it open: out of the queue until evidence, rules or the answer change",
                  self._keep, True),
            "x": ("not this recording",
                  "the file is another one: not written until its tags lead to it",
                  self._not_this_recording, found),
            "f": ("accept the folder", "accept every proposal of this folder, after a list",
                  self._accept_folder, proposed),
            "e": ("accept all with this reason", "accept proposals with this reason, after a list",
                  self._accept_equal, proposed),
            "l": ("let the model look", "ask the model about it now, and keep what it answers",
                  self._ask_model, self._has_model and can_be_asked(case)),
            "m": ("more", "show every candidate and release, and the model's answer",
                  self._whole, True),
            "p": ("play", "play the file", self._play, self.config.review.player),
            "b": ("back", "show the case before this one again; its verdict is kept",
                  self._back, len(self.shown) > 1),
            "s": ("skip", "decide nothing now: it stays in the queue", self._skip, True),
            "t": ("transcript", "show what the model did",
                  self._transcript, case.record.transcript_id),
            "o": ("addresses", "show the pages of candidates and cited facts, and where to mend",
                  self._addresses, case.rows),
            "u": ("undo", "take back the verdict on this case, else the last one of this walk",
                  self._undo, self.done),
            "q": ("quit", "leave: every verdict is kept, and the same command goes on",
                  self._legend, True),
            "?": ("keys", "explain the keys", self._explain_keys, True),
        }  # fmt: skip

    def _of_use(self, case: ReviewCase) -> Iterator[tuple[str, str, str]]:
        """Yield keys, candidates' from the first to the last, with their names and what they do."""
        many = min(len(case.rows), len(KEYS))
        for key, (name, does, _, is_of_use) in self._keys(case).items():
            if is_of_use:
                yield f"1-{many}" if key == "1" and many > 1 else key, name, does

    def _key_lines(self, case: ReviewCase) -> Sequence[str]:
        names = (f"{key} {name}".replace(" ", _NO_BREAK) for key, name, _ in self._of_use(case))
        return [line.replace(_NO_BREAK, " ") for line in output.wrap(", ".join(names))]

    def _legend(self, case: ReviewCase) -> _Next:
        output.print_lines(self._key_lines(case))
        return _Next.STAY

    def _explain_keys(self, case: ReviewCase) -> _Next:
        for key, name, does in self._of_use(case):
            output.print_lines(output.wrap(f"{name}: {does}", f"{key:<4} "))
        return _Next.STAY

    def _keep(self, case: ReviewCase) -> _Next:
        return self._ruled(case, "kept out of the queue", keep(self.store, case))

    def _skip(self, case: ReviewCase) -> _Next:
        return self._say(f"{path_text(case.path)}: skipped", _Next.FORWARD)

    def _accept(self, case: ReviewCase) -> _Next:
        if case.proposal is None:
            raise CanonError("nothing is proposed: press the number of the candidate that is right")
        return self._ruled(case, "accepted", accept(self.store, case, self.config.rules))

    def _reject(self, case: ReviewCase) -> _Next:
        _require_candidates(case)
        kept = self.reasons.get(case.record.id, "")
        reason = _ask(
            "what is wrong (Ctrl-C: back)" if kept else "what is wrong (Enter: back)", kept
        )
        if not reason:
            return self._say("not rejected")
        self.reasons[case.record.id] = reason

        def right(text: str) -> _Next:
            return (
                self._choose(case, text, reason)
                if text
                else self._ruled(case, "rejected", reject(self.store, case, reason))
            )

        question = f"which is right ({_RECORD}; Enter: none of them)"
        return self._ask_until(question, right, "not rejected", takes_none=True)

    def _not_this_recording(self, case: ReviewCase) -> _Next:
        """Keep a file out of the queue and unwritten until its tags lead to another recording."""
        _require_candidates(case)
        said = reject(self.store, case, "the file is not this recording")
        return self._ruled(case, "not this recording: correct its tags", said)

    def _accept_folder(self, case: ReviewCase) -> _Next:
        return self._accept_all(case, lambda one: one.path.parent == case.path.parent)

    def _accept_equal(self, case: ReviewCase) -> _Next:
        def reason(one: ReviewCase) -> str | None:
            return one.problem or one.decision.rationale

        return self._accept_all(case, lambda one: reason(one) == reason(case))

    def _accept_all(self, case: ReviewCase, is_alike: Callable[[ReviewCase], bool]) -> _Next:
        if case.proposal is None:
            raise CanonError("nothing is proposed here")
        kept = self.store.overrides.all()
        queue = review_queue(self.store, kept, self.states, self.paths, self.skipped.decision)
        alike = [one.case for one in queue if one.case.proposal and is_alike(one.case)]
        for one in alike[:_PREVIEWED]:
            title = one.labels.titles.get(one.proposal.crg_mbid) if one.proposal else None
            output.print_lines(
                output.wrap(f"{path_text(one.path)} -> {title or 'unknown'}", "  ", 4)
            )
        more = f", {len(alike) - _PREVIEWED} of them not shown" if len(alike) > _PREVIEWED else ""
        asked = f"accept {counted(len(alike), 'proposal')}{more}? (y, Enter: no)"
        if (_ask(asked) or "").casefold() != "y":
            return self._say("none accepted")
        for one in alike:
            try:
                self._ruled(one, "accepted", accept(self.store, one, self.config.rules))
            except StoreError:
                raise
            except CanonError as error:
                self._say(str(error))
        return _Next.FORWARD

    def _whole(self, case: ReviewCase) -> _Next:
        lapsed = override_removed(case, self.store.overrides.all())
        verdict = case.question(self.config.rules)
        output.print_lines(case_lines(case, verdict, self.config, lapsed=lapsed, whole=True))
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

    def _back(self, case: ReviewCase) -> _Next:
        if len(self.shown) < 2:  # noqa: PLR2004 (this one and one before it)
            return self._say("this is the first")
        self.shown.pop()
        self.again += [(case, False), (self.shown.pop(), True)]
        return _Next.FORWARD

    def _choose(
        self, case: ReviewCase, text: str, reason: str = "", *, there: bool = False
    ) -> _Next:
        """Take a candidate's number, a label, or the id or address of any record."""
        label = f"C{text}" if text.isdecimal() else text
        if re.fullmatch(r"C\d+(\.R\d+)?", label.upper()) and label.upper() not in case.labels.ids:
            labels = ", ".join(row.label for row in case.rows) or "none"
            raise CanonError(f"{label}: no such candidate; there is {labels}")
        crg, rr = read_record(self.config, case.labels, label)
        done = f"it came out on {label}" if there else f"{label} is right"
        return self._named(case, done, PersonChoice(crg, rr), reason, there=there)

    def _pasted(self, case: ReviewCase, text: str) -> _Next:
        """Take an id or an address that was pasted in place of a key."""
        page = _PASTED.fullmatch(text)
        if page and page[1] == "recording":
            return self._is_same(case, text)
        if page or MBID.fullmatch(text):
            return self._choose(case, text)
        return self._say("no such key, id or address")

    def _say_date(self, case: ReviewCase) -> _Next:
        def keep_date(text: str) -> _Next:
            date = read_first_date(text, now_utc())
            return self._named(case, f"{date} is right", PersonChoice(first_date=date))

        question = "when it first came out: YYYY, YYYY-MM or YYYY-MM-DD (Enter: back)"
        return self._ask_until(question, keep_date, "no date is kept")

    def _say_where(self, case: ReviewCase) -> _Next:
        question = f"where it first came out ({_RECORD}; Enter: back)"
        return self._ask_until(
            question, lambda text: self._choose(case, text, there=True), "no record is kept"
        )

    def _say_same(self, case: ReviewCase) -> _Next:
        question = "the id or address of the recording that is the same (Enter: back)"
        return self._ask_until(
            question, lambda text: self._is_same(case, text), "no recording is kept"
        )

    def _is_same(self, case: ReviewCase, text: str) -> _Next:
        same = options.read_mbid(text, "recording")
        return self._named(case, f"it is the same as {same}", PersonChoice(same_as=same))

    def _ask_until(
        self,
        question: str,
        act: Callable[[str], _Next],
        otherwise: str,
        *,
        takes_none: bool = False,
    ) -> _Next:
        """Ask for a line until it can be acted on, or until the person goes back."""
        while (text := _ask(question)) or (takes_none and text == ""):
            try:
                return act(text)
            except StoreError:
                raise
            except CanonError as error:
                self._say(str(error))
        return self._say(otherwise)

    def _named(
        self,
        case: ReviewCase,
        done: str,
        named: PersonChoice,
        reason: str = "",
        *,
        there: bool = False,
    ) -> _Next:
        """Keep what a person says is right; what the evidence lacks is shown before."""
        found, notes = name_records(
            self.config, case.bundle, named, asks=True, force=False, there=there
        )
        ruled = choose(self.store, case, found, reason, self.config.rules)
        return self._ruled(case, done, replace(ruled, notes=(*notes, *ruled.notes)))

    @property
    def _has_model(self) -> bool:
        return not why_no_model(self.config)

    def _ask_model(self, case: ReviewCase) -> _Next:
        """Ask the model about a case, and show it again with the answer unless that decides it."""
        llm = self.config.llm
        self._say(f"asking {llm.model_id}; Ctrl-C: back")
        run = LazyRun(self.store, new_run("review", options.command_line()))
        pipeline = dataclasses.replace(
            rules_and_model(self.config, record=transcripts_folder(), on_event=_print_step),
            overrides=MusicBrainzOverrides(self.config),
            versions=run_versions(self.config, run.run.id),
            asks_years=case.is_year or llm.ask == "year",
        )
        try:
            decision = ask_model(self.store, case, pipeline, run)
        except KeyboardInterrupt:
            return self._say("stopped; nothing is kept")
        self.shown.pop()
        latest = self.store.decisions.latest(case.record.path)
        answered = review_case(self.store, latest, case.files) if latest else case
        if not is_waiting(self.store, answered, self.states):
            because = f"{decision.state}: {decision.rationale or 'no reason was given'}"
            return self._say(f"{path_text(case.path)}: {because}", _Next.FORWARD)
        self.heads[answered.record.id] = self.heads.get(case.record.id, "again")
        self.again.append((answered, False))
        return _Next.FORWARD

    def _transcript(self, case: ReviewCase) -> _Next:
        for event in read_case_transcript(self.store, case):
            output.print_lines(progress.event_lines(event))
        return self._legend(case)

    def _addresses(self, case: ReviewCase) -> _Next:
        for each in case.rows:
            page = musicbrainz_page("release-group", each.release_group)
            output.print_lines([f"{each.label:<4} {page}"])
        sources = (fact.source for fact in (case.result.facts if case.result else ()))
        output.print_lines(f"fact {source}" for source in dict.fromkeys(filter(None, sources)))
        pages = mending_pages(case, case.question(self.config.rules))
        output.print_lines(f"to mend: {page}" for page in pages)
        return self._legend(case)

    def _given_on(self, case: ReviewCase) -> _Given | None:
        of_case = (one for one in reversed(self.done) if one.case.record.id == case.record.id)
        return next(of_case, None)

    def _undo(self, case: ReviewCase | None) -> _Next:
        if not self.done:
            return self._say("no verdict was given since you began")
        given = (case and self._given_on(case)) or self.done[-1]
        is_unchanged = self.store.verdicts.take_back(given.saved)
        self.done = [one for one in self.done if one is not given]
        if not is_unchanged:
            path = path_text(given.case.path)
            return self._say(f"{path}: its verdict was changed since, so nothing is taken back")
        if case and case.record.id != given.case.record.id:
            self.again.append((case, False))
        self.again.append((given.case, True))
        said = f"taken back, to look at again: {path_text(given.case.path)}"
        return self._say(said, _Next.FORWARD)

    def _ruled(self, case: ReviewCase, done: str, ruled: VerdictResult) -> _Next:
        self.done.append(_Given(case, done, ruled.saved))
        output.print_lines(ruled_lines(case, done, ruled))
        return _Next.FORWARD

    def _say(self, text: str, then: _Next = _Next.STAY) -> _Next:
        output.print_lines(output.wrap(text))
        return then


def _print_step(event: AnyEvent) -> None:
    if isinstance(event, StepEvent | ReadingEvent | ResultEvent):
        output.print_lines(progress.event_lines(event))


def _require_candidates(case: ReviewCase) -> None:
    """Raise `CanonError` where nothing was found that could be wrong."""
    if not (case.rows or case.proposal):
        raise CanonError("no candidate was found: k keeps it out of the queue, s skips it")


def _ask(question: str, default: str = "") -> str | None:
    """Ask for a line; return `None` for Ctrl-C."""
    try:
        said: str = click.prompt(question, default=default, show_default=bool(default))
    except click.Abort:
        return None
    return output.one_line(said)
