"""`canon review`: cases that need a person, and the person's verdicts."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from chart_binder.cli import options, output, review_text
from chart_binder.cli.override import answer_options, check_options, confirming, mbid_option
from chart_binder.cli.review_walk import Walk
from chart_binder.cli.run_events import event_lines
from chart_binder.errors import CanonError, UsageError, counted, how_to_install
from chart_binder.files import path_text
from chart_binder.jobs.decision import State, read_states
from chart_binder.jobs.named_records import (
    Lookups,
    PersonChoice,
    name_records,
    read_label,
    read_record,
)
from chart_binder.jobs.overrides import VerdictResult, VerdictSaver
from chart_binder.jobs.pipeline import override_for
from chart_binder.jobs.review import (
    QUEUED,
    ReviewCase,
    find_case,
    is_overridden,
    is_queue_empty,
    is_waiting,
    override_removed,
    queue_by_album,
    review_queue,
    unwritten_files,
)
from chart_binder.jobs.stored_decisions import path_bytes, path_from_bytes
from chart_binder.wiring import record_lookups

if TYPE_CHECKING:
    from chart_binder.react.transcript import AnyEvent
    from chart_binder.store import Store

_LISTED, _LABELS_NAMED = 50, 6
_WAYS = {"--interactive": "walk", "--web": "web"}
"""Options that stand for commands."""
_STATUS = (
    "Exit status: 0 the verdict is stored, 1 it cannot be stored (the message says why), 2 bad"
    " usage or configuration."
)


class _ReviewGroup(options.Group):
    """Reads `canon review [PATH...]` as `review list`; `--interactive`, `--web` name commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not (args or ctx.resilient_parsing):  # shells complete the commands
            args = ["list"]
        commands = [_WAYS[argument] for argument in args if argument in _WAYS]
        arguments = [argument for argument in args if argument not in _WAYS]
        is_help = {*args} & {"-h", "--help"}
        if commands and not is_help and not {*arguments[:1]} & {*self.commands}:
            args = [commands[-1], *arguments]
        elif args and not (is_help or ctx.resilient_parsing or {*args} & {*self.commands}):
            args = ["list", *args] if args[0].startswith("-") or Path(args[0]).exists() else args
        return super().parse_args(ctx, args)


@click.group("review", cls=_ReviewGroup)
@click.option(
    "--interactive", is_flag=True, expose_value=False, help="Walk the queue with single keys."
)
@click.option("--web", is_flag=True, expose_value=False, help="Review in a browser.")
@options.common_options
def review() -> None:
    """List and show the cases that need you, and store your verdict.

    The queue has the latest decision of each file that nobody has reviewed yet: those in state
    review, undecided, unmatched or unreadable, and decided ones for which a model proposes a year.
    Files whose tags were not written follow, grouped by the reason.
    `canon review --interactive [PATH...]` does what `walk` does, and `--web` what `web` does.

    Exit status of list, show, walk and web: 0 nothing needs you, 3 something does, 1 an error, 2
    bad usage or configuration; of a verdict: 0 it is stored.
    """


_PATHS = click.argument("paths", metavar="[PATH]...", nargs=-1, type=options.PATH)
_NAME = click.argument("name", metavar="PATH_OR_DECISION", type=options.PATH_OR_ID)


def _read_states(ctx: click.Context, param: click.Parameter, text: str) -> frozenset[str]:
    del ctx, param
    try:
        return read_states(text, QUEUED)
    except ValueError as error:
        raise UsageError(f"--state {path_text(text)!r}: {error}") from error


def _read_reason(ctx: click.Context, param: click.Parameter, text: str) -> str:
    del ctx
    words = output.one_line(text)
    if param.required and not words:
        raise UsageError("--reason is blank: say in a few words what is wrong")
    return words


_STATES = options.option(
    "--state",
    "Only these states, separated by commas.",
    into="states",
    default=",".join(QUEUED),
    show_default=True,
    callback=_read_states,
    shell_complete=options.completed(lambda: QUEUED),
)
_REASON = partial(options.option, "--reason", callback=_read_reason)
_SHOWN_REASON = _REASON("Your reason, which is shown with the decision.", default="")
_RR = options.option("--rr", "The release: a label (C2.R1), an id or an address.")


_dry_option = options.flag(
    "--dry-run", "is_dry", "Show what would be stored, and store only what was looked up."
)
_override_options = options.together(
    mbid_option(
        "--recording ID", "The recording that is meant, if there are several.", "recording"
    ),
    options.flag(
        "--replace",
        "replaces",
        "Replace what a person decided about the recording by another file or id.",
    ),
    _dry_option,
)


@review.command("list")
@_PATHS
@_STATES
@options.option(
    "--limit N",
    "List at most this many; 0 for all.",
    type=click.IntRange(0),
    default=_LISTED,
    show_default=True,
)
@options.pass_session
def list_queue(
    session: options.Session, paths: tuple[str, ...], states: frozenset[str], limit: int
) -> int:
    """List the queue by album; if files or folders are named, only what is in them.

    Files with the same evidence are one entry, and a verdict counts for all of them.

    Exit status: 0 nothing needs you, 3 something does, 1 an error, 2 bad usage or configuration.
    """
    listed_count, remaining, lines = 0, 0, list[str]()
    skipped = output.SkippedRecords()
    override_records, named_paths = session.overrides, list(map(Path, paths))
    with session.open_store() as store:
        queue = review_queue(store, override_records, states, named_paths, skipped.decision)
        for album in queue_by_album(islice(queue, limit or None)):
            if not session.as_json:
                cases = [queued.case for queued in album]
                lines += [""] * bool(listed_count)
                lines += review_text.album_cases_lines(cases, session.config)
            for queued in album if session.as_json else ():
                output.print_json(
                    output.file_object(
                        queued.case.path, review_text.queued_object(queued.case, session.config)
                    )
                )
            listed_count, remaining = listed_count + len(album), album[-1].cases_left - 1
        is_whole = states == set(QUEUED)
        unwritten = _list_unwritten(session, store, named_paths, lines) if is_whole else []
    is_cut = remaining and listed_count == limit
    remainder = f", and {remaining} more: --limit 0 lists all" if is_cut else ""
    not_written = f"; {counted(len(unwritten), 'file')} not written" if unwritten else ""
    show = output.print_notes if session.as_json else output.print_lines
    needs = "nothing needs you"
    if listed_count:
        needs = f"{counted(listed_count, 'case needs', 'cases need')} you"
    show([f"{needs}{remainder}{not_written}", *lines])
    if listed_count:
        output.print_next(output.canon_call("review", "--interactive"))
    elif unwritten:  # `write` says what helps
        output.print_next(output.canon_call("write", *(paths or [str(unwritten[0])])))
    return skipped.status or (3 if listed_count or unwritten else 0)


def _list_unwritten(
    session: options.Session, store: "Store", named_paths: Sequence[Path], lines: list[str]
) -> list[Path]:
    """Return the files whose tags were not written; print them as JSON or add them to `lines`."""
    paths: list[Path] = []
    for why, files in unwritten_files(store, named_paths):
        paths += [path_from_bytes(file.path) for file in files]
        if not session.as_json:
            lines += ["", *review_text.unwritten_lines(why, files)]
            continue
        for file in files:
            fields = {"decision_id": file.decision_id, "state": "not written", "why": why,
                      "at_utc": file.at_utc}  # fmt: skip
            output.print_json(output.file_object(path_from_bytes(file.path), fields))
    return paths


@review.command("show")
@_NAME
@options.flag("--transcript", "Also print the stored run of the model.")
@options.pass_session
def show(session: options.Session, name: str, transcript: bool) -> int:
    """Show a case: the candidates side by side, the open question, the proposal, and why.

    Of a decided file only the decision is shown. With -v each candidate has all its releases.

    Exit status: 0 it does not need you, 3 it does, 1 an error (it could not be decided, or there is
    no decision or transcript), 2 bad usage or configuration.
    """
    with session.open_store() as store:
        case = find_case(store, name)
        rules = case.present_verdict(session.config.rules)
        events: Sequence[AnyEvent] = ()
        if transcript:
            from chart_binder.jobs.transcripts import stored_recording  # slow to import

            events = stored_recording(store, [case.record], case.record.id).events
        override_records = session.overrides
        has_override = is_overridden(case, override_records)
        waits = is_waiting(store, case) and not has_override
        lapsed = override_removed(case, override_records)
        verdict = None if waits else store.verdicts.on_equal(case.record)
    fields = review_text.case_object(case, rules, session.config) | {
        "waits": waits,
        "has_lapsed": lapsed,
        "verdict": verdict,
        "transcript": events if transcript else None,
    }
    whole = session.verbosity > 0
    rules_verdict = None if has_override else rules
    if waits or lapsed or whole or case.decision.state is State.ERROR:
        lines = review_text.case_lines(
            case, rules_verdict, session.config, lapsed=lapsed, whole=whole
        )
    else:
        override = override_for(case.bundle, override_records) if case.bundle else None
        lines = review_text.settled_lines(case, verdict, override)
    run = chain.from_iterable(map(event_lines, events))
    session.show(output.file_object(case.path, fields), chain(lines, run))
    output.print_next(review_text.next_call(case, lapsed=lapsed) if waits or lapsed else "")
    return 1 if case.decision.state is State.ERROR else 3 if waits else 0


@review.command("accept", epilog=_STATUS)
@_NAME
@_SHOWN_REASON
@_override_options
@options.pass_session
def accept_proposal(session: options.Session, name: str, reason: str, **flags: Any) -> None:
    """Accept the proposal: it becomes an override, which `decide`, `batch` and `write` use.

    The verified facts of the proposal count for the first release.
    """
    _save_verdict(session, name, "accepted", VerdictSaver.accept, reason, **flags)


@review.command("choose", epilog=_STATUS)
@_NAME
@click.argument("candidate", metavar="[CANDIDATE]", required=False)
@_RR
@options.flag("--there", "It first came out on CANDIDATE: the date of that record counts.")
@_SHOWN_REASON
@_override_options
@answer_options
@check_options
@options.pass_session
def choose_candidate(
    session: options.Session,
    name: str,
    candidate: str | None,
    rr: str | None,
    reason: str,
    *,
    there: bool,
    **settings: Any,
) -> None:
    """Store what is right as an override: a candidate, a first date, or the same recording.

    CANDIDATE is a label of `show` (C2, C2.R1), or the id or address of a release group or release.
    A record that is not listed is looked up and shown.
    """
    first_date, same_as = settings.pop("first_date"), settings.pop("same_as")
    if not (candidate or first_date or same_as):
        raise UsageError("say what is right: CANDIDATE, --first or --same-as")
    if not candidate and (rr or there):
        raise UsageError("--rr and --there are about CANDIDATE: name it")
    if there and first_date:
        raise UsageError("--there and --first both give the date: choose one of them")
    person = PersonChoice(candidate, rr, first_date, same_as, settings.pop("recording"))
    answers = (candidate, first_date, same_as and f"the same as {same_as}")
    words = f"{', '.join(filter(None, answers))} is right"
    save = VerdictSaver.choose
    _save_verdict(session, name, words, save, reason, choice=person, with_date=there, **settings)


@review.command("reject", epilog=_STATUS)
@_NAME
@_REASON("Your reason, which is stored with the verdict.", required=True)
@options.option("--crg", "The right release group: a label of `show` (C2), an id or an address.")
@_RR
@_override_options
@check_options
@options.pass_session
def reject_proposal(
    session: options.Session,
    name: str,
    reason: str,
    crg: str | None,
    rr: str | None,
    **settings: Any,
) -> None:
    """Reject the proposal; with --crg the right release group becomes an override.

    Without --crg the case only leaves the queue, and its tags are not written.
    """
    if rr and not crg:
        raise UsageError("--rr names a release of the group that --crg names: give both")
    person = PersonChoice(crg, rr, recording_mbid=settings.pop("recording"))
    _save_verdict(session, name, "rejected", VerdictSaver.reject, reason, choice=person, **settings)


@review.command("keep", epilog=_STATUS)
@_NAME
@_REASON("Your reason.", default="")
@_dry_option
@options.pass_session
def keep_open(session: options.Session, name: str, reason: str, *, is_dry: bool) -> None:
    """Leave a case open, and out of the queue until evidence, rules or a model's answer change."""
    _save_verdict(session, name, "kept out of the queue", VerdictSaver.keep, reason, is_dry=is_dry)


def _save_verdict(
    session: options.Session,
    name: str,
    words: str,
    save: Callable[..., VerdictResult],
    reason: str,
    *,
    is_dry: bool,
    replaces: bool = False,
    **settings: Any,
) -> None:
    """Store and print a verdict; a choice in `settings` may have labels and addresses."""
    notes: tuple[str, ...] = ()
    if is_dry:
        session.create_no_store()
    with session.open_store() as store:
        case = find_case(store, name)
        if "choice" in settings:
            flags = {key: settings.pop(key, False) for key in ("force", "with_date", "yes")}
            lookups, confirm = record_lookups(session.config), confirming(session, yes=flags["yes"])
            choice = _with_ids(lookups, case, settings["choice"])
            choice, notes = name_records(lookups, case.bundle, choice, confirm, **flags)
            settings["choice"] = choice
        saver = VerdictSaver(store, session.config.rules, replaces=replaces, is_dry=is_dry)
        result = save(saver, case, reason=reason, **settings)
    words = f"{words} (not stored: --dry-run)" if is_dry else words
    result = msgspec.structs.replace(result, notes=(*notes, *result.notes))
    fields = output.file_object(
        case.path, review_text.verdict_object(case, words, result) | {"dry_run": is_dry}
    )
    session.show(fields, review_text.verdict_lines(case, words, result))
    is_next = result.saved.override and not is_dry
    command = "decide" if result.decide_again else "write"
    output.print_next(output.canon_call(command, str(case.path)) if is_next else "")


def _with_ids(lookups: Lookups, case: ReviewCase, choice: PersonChoice) -> PersonChoice:
    """Return a choice with ids in place of the labels and addresses of its records."""
    crg, rr = choice.crg_mbid, choice.rr_mbid
    group, release = read_record(lookups.record, case.labels, crg) if crg else (None, None)
    chosen_release = read_label(case.labels, rr, "release") if rr else release
    if release not in (None, chosen_release):
        raise UsageError(f"{crg} and --rr {rr} are two releases: name one of them")
    return msgspec.structs.replace(choice, crg_mbid=group, rr_mbid=chosen_release)


@review.command("walk")
@_PATHS
@_STATES
@options.pass_session
def walk_queue(session: options.Session, paths: tuple[str, ...], states: frozenset[str]) -> int:
    """Review the queue in the terminal with single keys; leave and come back at any time.

    Every verdict is stored at once.

    Exit status: 0 nothing needs you any more, 3 something does, 1 an error, 2 bad usage or no
    terminal, 130 interrupted.
    """
    if session.as_json:
        raise UsageError("--interactive needs a terminal and text: leave out --output json")
    with session.open_store() as store:
        return Walk(store, session.config, states).run(list(map(Path, paths)))


@review.command("web")
@_PATHS
@_STATES
@options.option("--port N", "The port; by default a free one.", type=click.IntRange(0, 65535))
@options.flag("--no-open", "Only print the address; do not open a browser.")
@options.flag("--keep", "Serve on after an hour without a request.")
@options.pass_session
def serve_page(
    session: options.Session,
    paths: tuple[str, ...],
    states: frozenset[str],
    port: int | None,
    *,
    no_open: bool,
    keep: bool,
) -> int:
    """Review the queue on a page in a browser: cases with their audio, by keys or by hand.

    The page is served to this machine alone. Its address, which is printed, opens the page once.
    Ctrl-C ends the server, and so does an hour without a request.

    Exit status: 0 nothing waits any more, 3 something does, 1 an error, 2 bad usage or
    configuration.
    """
    options.refuse_json(session, "an address", "canon review list")
    try:
        from chart_binder.pages.server import IDLE_S, serve_review
    except ImportError as error:
        advice = how_to_install("web")
        raise CanonError(f"the review page is not installed ({error}): {advice}") from error
    from chart_binder.jobs.review_index import ReviewIndex

    queue_paths = [*map(Path, paths)]

    def announce(address: str) -> None:
        output.print_lines([address])
        output.print_notes(["canon: Ctrl-C ends the server"])
        if not no_open:
            threading.Thread(target=click.launch, args=(address,), daemon=True).start()

    with session.open_store() as store:
        index = ReviewIndex(store, states, [*map(path_bytes, queue_paths)])
        index.start()
        serve_review(
            store, session.config, index, announce, port=port or 0, idle_s=None if keep else IDLE_S
        )
        nothing = is_queue_empty(store, store.overrides.all(), states, queue_paths)
    return 0 if nothing else 3
