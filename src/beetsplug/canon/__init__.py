"""The plug-in `canon` of beets: the command `beet canon`, an import stage, fields and templates."""

import os
import shlex
import shutil
import signal
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beets import ui
from beets.exceptions import UserError
from beets.plugins import BeetsPlugin
from confuse import ConfigError

from chart_binder.errors import INTERRUPTED, CanonError, counted
from chart_binder.files import path_text, safe_text

from . import fields

if TYPE_CHECKING:
    from beets.importer import ImportSession, ImportTask
    from beets.library import Item, Library

    from chart_binder.batch import BatchResult, FileResult
    from chart_binder.config import Config
    from chart_binder.jobs.review import ReviewCase

_DEFAULTS = {"auto": False, "original_date": False, "config": None}
_REVIEW = "review"
_HELP = "decide when and where tracks were first released"
_STOPPING = b"canon: stops within two seconds, and keeps what is decided\n"
_USAGE = "%prog [options] [QUERY]\n       %prog review [QUERY]"


class CanonPlugin(BeetsPlugin):
    """Decides the items of a library, and keeps the decisions in fields that start with `canon_`.

    Only `beet canon --write`, and an import if `canon.auto` is on, change beets' library.
    """

    item_types = fields.ITEM_TYPES

    def __init__(self) -> None:
        super().__init__()
        self.config.add(_DEFAULTS)
        self.template_fields |= {
            "canon_year": fields.first_year,
            "canon_decade": fields.first_decade,
        }
        self.template_funcs |= {
            "canon_year": fields.year_template,
            "canon_decade": fields.decade_template,
        }
        self.import_stages = [self.decide_imported]
        self.register_listener("import_task_files", self.decide_moved)
        self._paths_before: dict[int | None, Path] = {}

    def commands(self) -> Sequence[ui.Subcommand]:
        """Return the command `beet canon`."""
        command = ui.Subcommand("canon", help=_HELP)
        command.parser.usage = _USAGE
        command.parser.add_option(
            "-w",
            "--write",
            action="store_true",
            help="store the fields in beets' library, instead of only showing them",
        )
        command.parser.add_option(
            "--offline", action="store_true", help="send no request; use stored answers alone"
        )
        command.func = self.run
        return [command]

    def run(self, lib: "Library", opts: Any, args: list[str]) -> None:
        """Run `beet canon` or `beet canon review`."""
        try:
            config = self.settings(offline=bool(opts.offline))
            if args[:1] == [_REVIEW]:
                self._review(lib, config, args[1:])
            else:
                self._decide(lib, config, args, writes=bool(opts.write))
        except CanonError as error:
            raise UserError(f"canon: {error}") from error

    def settings(self, *, offline: bool = False) -> "Config":
        """Return canon's configuration, after a check of the section `canon` of beets' own.

        Raises `CanonError` and confuse's `ConfigError`.
        """
        from chart_binder.config.load import load_settings

        for key in self.config.keys():  # noqa: SIM118 - a view, which has no __iter__ of keys
            if key not in _DEFAULTS:
                raise CanonError(
                    f"beets' configuration has no key canon.{key}: {', '.join(_DEFAULTS)} are"
                    " allowed; canon's other keys are in its own file, which canon.config names"
                )
        named = self.config["config"]
        file = Path(named.as_filename()) if named.get() else None
        flags = {"musicbrainz.offline": True} if offline else {}
        settings = load_settings(file, os.environ, flags)
        for warning in settings.warnings:
            self._log.warning("{}", warning)
        return settings.config

    # The command.

    def _decide(self, lib: "Library", config: "Config", query: list[str], *, writes: bool) -> None:
        from .items import decide_items

        items = list(lib.items(query))
        if not items:
            ui.print_("no item matches the query" if query else "the library is empty")
            return
        with_date = self.config["original_date"].get(bool)
        counts: Counter[str] = Counter()

        def finish(item: "Item", file: "FileResult") -> None:
            counts[file.decision.state] += 1
            if self._show(item, file, with_date=with_date):
                counts["changed"] += 1
                if writes:
                    _store(item)

        with _stop_on_interrupt() as is_stopped:
            result = decide_items(
                items,
                config,
                finish,
                call=["canon", *(["--write"] if writes else []), *query],
                to_stop=is_stopped,
                on_message=self._log.info,
            )
        _print_summary(counts, result, len(items), writes=writes, query=query)
        if result.status == INTERRUPTED:  # threads may still wait for answers
            lib._close()  # noqa: SLF001 - as beets does at its end
            sys.stdout.flush()
            os._exit(INTERRUPTED)

    def _show(self, item: "Item", file: "FileResult", *, with_date: bool) -> bool:
        """Set the fields of an item, print what changed, and return whether anything did."""
        decision = file.decision
        if decision.state == "error":  # another try may succeed, so the fields stay
            ui.print_(f"{item}\n{_wrapped(f'error: {decision.failure}')}")
            return False
        fields.apply_decision(item, decision, with_original_date=with_date)
        names = (*fields.STORED_FIELDS, *fields.DATE_PARTS)
        has_changed: bool = ui.show_model_changes(item, fields=names)
        if has_changed and decision.rationale:
            group = f"belongs to {decision.crg_title} ({decision.crg_type}): "
            ui.print_(_wrapped((group if decision.state == "decided" else "") + decision.rationale))
        return has_changed

    def _review(self, lib: "Library", config: "Config", query: list[str]) -> None:
        from .items import waiting_items

        canon = self._canon_call()
        count = 0
        for item, case in waiting_items(lib.items(query), config):
            count += 1
            ui.print_(f"{item}\n{_wrapped(f'{case.decision.state}: {_need(case)}')}")
            path = str(case.path)
            name = path if path == path_text(path) else case.record.id  # of any bytes
            ui.print_(f"  {canon} review show {shlex.quote(name)}")
        needs = counted(count, "case needs", "cases need") if count else "nothing needs"
        ui.print_(f"{needs} you")
        if count:
            ui.print_(f"next: {canon} review --interactive, then beet canon --write")

    def _canon_call(self) -> str:
        """Return `canon`, with the configuration file that beets' configuration names."""
        named = self.config["config"]
        return f"canon --config {shlex.quote(named.as_filename())}" if named.get() else "canon"

    # The import.

    def decide_imported(self, session: "ImportSession", task: "ImportTask") -> None:
        """Decide imported items before beets names and writes their files, if `canon.auto` is on.

        Whatever fails is a warning: the import goes on.
        """
        del session
        with self._warning():
            if not self.config["auto"].get(bool):
                return
            with_date = self.config["original_date"].get(bool)

            def finish(item: "Item", file: "FileResult") -> None:
                if file.decision.state == "error":
                    self._log.warning("{}: {}", item, file.decision.failure)
                    return
                fields.apply_decision(item, file.decision, with_original_date=with_date)
                item.store()

            from .items import path_of

            items = task.imported_items()
            self._decide_files(items, finish)
            self._paths_before |= {item.id: path_of(item) for item in items}

    def decide_moved(self, session: "ImportSession", task: "ImportTask") -> None:
        """Store the decisions on imported items under the paths that their files have now."""
        del session
        if not self._paths_before:
            return
        from .items import path_of

        before = [(item, self._paths_before.pop(item.id, None)) for item in task.imported_items()]
        moved = {path: item for item, path in before if path and path != path_of(item)}
        if moved:
            with self._warning():
                self._decide_files([*moved.values()], lambda _item, _file: None, left=[*moved])

    @contextmanager
    def _warning(self) -> Iterator[None]:
        """Make a failure a warning, a wrong value in beets' configuration included."""
        try:
            yield
        except (CanonError, ConfigError) as error:
            self._log.warning("not decided: {}", error)

    def _decide_files(
        self,
        items: Sequence["Item"],
        on_item: "Callable[[Item, FileResult], None]",
        left: Sequence[Path] = (),
    ) -> None:
        """Decide items, and forget paths that their files have left.

        Raises `CanonError` and confuse's `ConfigError`.
        """
        from .items import decide_items, forget_gone

        config, stage = self.settings(), threading.current_thread()

        def is_stopped() -> bool:  # beets sets the flag at Ctrl-C, and waits for the stage
            return getattr(stage, "abort_flag", False)

        decide_items(items, config, on_item, call=["import"], to_stop=is_stopped)
        forget_gone(left, config)


def _store(item: "Item") -> None:
    """Store an item, and write its tags if beets may and a field of them changed."""
    has_new_tags = any(name in item._dirty for name in fields.DATE_PARTS)  # noqa: SLF001
    item.store()
    if has_new_tags and ui.should_write():
        item.try_write()


def _need(case: "ReviewCase") -> str:
    """Return in a few words why a case waits."""
    from chart_binder.jobs.review import asked_briefly

    decision = case.decision
    if decision.failure:
        return f"{decision.failure}; correct its tags in beets, then `beet canon` tries again"
    proposal = case.proposal
    title = case.labels.titles.get(proposal.crg_mbid) if proposal else None
    texts = (asked_briefly(case), title and f"{title!r} is proposed")
    return "; ".join(filter(None, texts)) or decision.rationale or "no reason was given"


def _wrapped(text: str) -> str:
    """Return a sentence as indented lines of the terminal's width."""
    width = shutil.get_terminal_size().columns
    return textwrap.fill(
        safe_text(text), width, initial_indent="  ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _print_summary(
    counts: Counter[str], result: "BatchResult", items: int, *, writes: bool, query: list[str]
) -> None:
    from chart_binder.jobs.decision import WAITING_STATES, State

    changed = counts.pop("changed", 0)
    states = ", ".join(f"{counts[state]:,} {state}" for state in State if counts[state])
    ui.print_(f"{counted(counts.total(), 'item')}: {states or 'none decided'}")
    if result.stopped:
        left = counted(items - counts.total(), "item")
        ui.print_(f"stopped: {result.stopped}; {left} left, and the same command continues")
    if changed and writes:
        ui.print_(f"{counted(changed, 'item')} changed in beets' library")
    elif changed:
        call = shlex.join(["beet", "canon", "--write", *query])
        ui.print_(f"nothing is written to beets' library; next: {call}")
    if any(counts[state] for state in WAITING_STATES):
        ui.print_(f"see what waits for you: {shlex.join(['beet', 'canon', _REVIEW, *query])}")


@contextmanager
def _stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed; the second Ctrl-C ends beets."""
    request = threading.Event()

    def handle(number: int, frame: object) -> None:
        del number, frame
        if request.is_set():
            os._exit(INTERRUPTED)
        request.set()
        os.write(2, _STOPPING)  # printing is unsafe in a handler, which may interrupt a print

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield request.is_set
    finally:
        signal.signal(signal.SIGINT, before)
