"""Everything that is printed: wrapped text for a terminal, JSON lines, and logs.

Text from outside goes through `files.safe_text`. Logs go to standard error, as lines on a terminal
and as JSON otherwise. Lines are coloured when they are printed, after wrapping; the code that makes
them knows no style. Other packages log through the standard library, for programs that embed
them.
"""

import base64
import logging
import os
import re
import shlex
import shutil
import sys
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chart_binder.errors import CanonError
from chart_binder.files import path_text, replace_file, safe_text

if TYPE_CHECKING:
    import structlog

    from chart_binder.config import LogConfig
    from chart_binder.domain.records import UnreadDecision


_GOOD, _WAITING, _BAD, _DATE = "green", "yellow", "red", "cyan"
_STATES = {
    **dict.fromkeys(("decided", "ok", "written", "put back"), _GOOD),
    **dict.fromkeys(
        ("review", "undecided", "unmatched", "unreadable", "warning", "not written"), _WAITING
    ),
    **dict.fromkeys(("error", "failed"), _BAD),
}
"""The colour of each state."""
_STYLED = re.compile(
    r"https?://\S+"  # addresses stay plain
    r"|(?<=  )(?P<before>(?:(?!  |; ).){1,40}?) -> (?P<after>.+)"
    # States and bare years count only as labels or cells, not within sentences.
    rf"|(?:^ *|(?<=  )|(?<=: ))(?P<state>{'|'.join(_STATES)})(?=  |:|,|$)"
    r"|(?P<date>(?<![\w/-])(?:1[89]|20)\d\d-\d\d(?:-\d\d)?(?![\w-])"
    r"|(?:^ *|(?<=  )|(?<=\()|(?<=released ))(?:1[89]|20)\d\d(?=  |\)|,| or earlier|\?|$))"
)
MAX_WORDS = 8
"""The most words of a call that is shown in full."""


@dataclass
class PrintOptions:
    """How the results and notes of a call are printed."""

    quiet: bool = False
    output: str = "text"
    colour: str = "auto"

    @property
    def as_json(self) -> bool:
        """Whether results are printed as JSON lines."""
        return self.output == "json"


print_options: ContextVar[PrintOptions] = ContextVar("print options", default=PrintOptions())  # noqa: B039
"""The options of this call; they are not changed here."""


def is_coloured(*, err: bool) -> bool:
    """Return whether a stream is coloured; for `auto`, `NO_COLOR` (no-color.org) turns it off."""
    colour = print_options.get().colour
    if colour != "auto":
        return colour == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (sys.stderr if err else sys.stdout).isatty()


def coloured(line: str) -> str:
    """Return a line with its states, dates and changes in colour."""
    return _STYLED.sub(_styled, line)


def _styled(match: re.Match[str]) -> str:
    text = match[0]
    if match["before"]:
        return f"{click.style(match['before'], _BAD)} -> {click.style(match['after'], _GOOD)}"
    for name in ("state", "date"):
        if word := match[name]:
            words = word.lstrip(" ")
            colour = _DATE if name == "date" else _STATES[words]
            return text.removesuffix(words) + click.style(words, colour)
    return text


MAX_WIDTH = 100
"""Lines longer than this are hard to read, however wide a terminal is."""
_LABEL_WIDTH = 12
_INDENT = 2
_LEAST_FOLDER = 8
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_RATE_UNITS = ((1, "s"), (60, "min"), (3600, "h"))
_TENTHS_BELOW_S = 10

# Spaces beyond ASCII, such as U+00A0 and U+3000, are part of a name.
_WORD = re.compile(r"([ \t\n\r\f\v]*)((?:`canon [^`\n]{0,40}`|[^ \t\n\r\f\v])+)")
"""A word, or a short call of this program in backticks."""
_ADDRESS = re.compile(r"\W?https?://")
_CALL = re.compile(r"(?:(\S.*\S)? {2,}|([^:]{1,40}:) )?(canon .*)")
"""A call of canon that is a whole line, or follows a label."""


def worst(*statuses: int) -> int:
    """Return the exit status for several files: 1 if any has 1, else 3 if any has 3, else 0."""
    return min(statuses, key=(1, 3, 0).index)


def printable(text: str) -> str:
    """Return text with a space in place of each unprintable character."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def one_line(text: str) -> str:
    """Return typed text as one line of valid Unicode."""
    return " ".join(path_text(text).split())


def print_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print lines without control characters; on a terminal, wrapped to its width."""
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    width = terminal_edge() if is_terminal else sys.maxsize
    has_colour = is_coloured(err=err)
    for line in lines:
        for part in narrowed(safe_text(line), width):
            click.echo(coloured(part) if has_colour else part, err=err, color=has_colour)


def terminal_edge() -> int:
    """Return the width of the terminal, or `COLUMNS`; in a pipe it is unlimited."""
    return shutil.get_terminal_size((0, 0)).columns or sys.maxsize


def print_error(text: str) -> None:
    """Print a message on standard error, after `canon: `."""
    print_lines([f"canon: {text}"], err=True)


def print_notes(lines: Iterable[str]) -> None:
    """Print lines beside the results, on standard error, unless the call is quiet."""
    if not print_options.get().quiet:
        print_lines(map(path_text, lines), err=True)


def canon_call(*words: str) -> str:
    """Return a call of canon, quoted for a shell; a call with many paths is described."""
    if len(words) > MAX_WORDS:
        lead = [word for word in words if word is words[0] or word.startswith("--")]
        return shell_call("canon", *lead, "with", "the", "same", "paths")
    return shell_call("canon", *words)


def shell_call(*words: str) -> str:
    """Return a call of a program, quoted for a shell."""
    return shlex.join(map(path_text, words))


def print_next(call: str) -> None:
    """Print the next step, if there is one, as a note."""
    if call and not print_options.get().as_json:
        print_notes([f"next: {call}"])


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    import msgspec

    click.echo(msgspec.json.encode(value))


def file_object(path: str | Path, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a file; a name that is not UTF-8 is added in base64."""
    name = path_text(path)
    is_utf8 = name == str(path)
    raw = {} if is_utf8 else {"path_b64": base64.b64encode(os.fsencode(path)).decode()}
    return {"path": name} | fields | raw


def write_file(path: str | Path | None, content: bytes) -> None:
    """Write a file, or standard output if `path` is None. Raises `CanonError`."""
    if path is None:
        click.echo(content, nl=False)
        return
    try:
        replace_file(path, content)
    except OSError as error:
        raise CanonError(f"{path}: cannot be written ({error.strerror or error})") from error


class SkippedRecords:
    """Reports unreadable records of the store; `status` becomes 1 with the first one."""

    status = 0

    def decision(self, unread: "UnreadDecision") -> None:
        """Report a decision, with its file if that is known."""
        from chart_binder.jobs.stored_decisions import path_from_bytes

        where = "" if unread.path is None else f"{path_text(path_from_bytes(unread.path))}: "
        self.record(f"{where}{unread.problem}; decide it again: canon decide")

    def record(self, problem: str) -> None:
        """Report a problem with a record."""
        self.status = 1
        print_lines([path_text(f"left out: {problem}")], err=True)


def count_text(counts: Mapping[Any, int], words: Mapping[Any, str]) -> str:
    """Return the nonzero counts in the order of `words`; counts without a word come last."""
    texts = (f"{counts[name]:,} {words.get(name, name)}" for name in {**words, **counts}
             if counts.get(name))  # fmt: skip
    return ", ".join(texts)


def line_width() -> int:
    """Return the width of lines: that of the terminal, at most `MAX_WIDTH`; in a pipe unlimited."""
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        return sys.maxsize
    return min(shutil.get_terminal_size((MAX_WIDTH, 0)).columns, MAX_WIDTH)


def display_width(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return a text of exactly `width` columns: padded, or cut with `..` at the end."""
    columns = display_width(text)
    if columns > width:
        dots = ".."[:width]
        cut, columns = "", len(dots)
        for character in text:
            if columns + _character_width(character) > width:
                break
            cut += character
            columns += _character_width(character)
        text = cut + dots
    return text + " " * (width - columns)


def shortened(text: str, width: int) -> str:
    """Return a text of at most `width` columns, cut with `..` at the end."""
    return text if display_width(text) <= width else fit(text, width).rstrip()


def with_folder(title: str, folder: str, width: int | None = None) -> str:
    """Return a heading with its folder, cut at the start, if possible at a separator."""
    width = line_width() if width is None else width
    title, folder = (printable(safe_text(text)) for text in (title, folder))
    title = shortened(title, width)
    room = width - display_width(title) - len("  []")
    if room < _LEAST_FOLDER:
        return title
    ends = (f"{_ELLIPSIS}{folder[at:]}" for at in range(1, len(folder)) if folder[at] == os.sep)
    cut = shortened(folder[::-1], room)[::-1]
    fitting = (text for text in chain([folder], ends) if display_width(text) <= room)
    return f"{title}  [{next(fitting, cut)}]"


def table(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield rows in columns; the first column is aligned left, the others right."""
    texts = [list(map(str, row)) for row in rows]
    widths = [max(map(display_width, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (
            fit(text, width) if at == 0 else " " * (width - display_width(text)) + text
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def wrap(
    text: str, head: str = "", indent: int | None = None, width: int | None = None
) -> Iterator[str]:
    """Yield lines of a text, the first with `head` in front, the others indented.

    Counts columns, which `textwrap` does not. Words stay whole, so that an id or an address can be
    copied; an address that is too long for its line starts a new one, with less indent.
    """
    width = line_width() if width is None else width
    indent = len(head) if indent is None else indent
    line, columns, has_word = head, display_width(head), False
    for gap, word in _WORD.findall(text):
        length = display_width(word)
        if has_word and columns + len(gap) + length > width:
            yield line
            line, columns, has_word = " " * indent, indent, False
        if not has_word and columns + length > width and _ADDRESS.match(word):
            yield from [line.rstrip()] if line.strip() else []
            line = " " * max(0, min(indent, _INDENT, width - length))
            columns = len(line)
        space = gap if has_word else ""
        line += " " * len(space) + word
        columns += len(space) + length
        has_word = True
    if has_word:
        yield line


def narrowed(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, wrapped at `width`; calls of canon stay whole."""
    for line in text.split("\n"):
        if display_width(line) <= width:
            yield line
            continue
        if match := _CALL.fullmatch(line):
            *label, call = filter(None, match.groups())
            yield from (*label, f"{'':{_INDENT if label else 0}}{call}")
            continue
        words = line.lstrip(" ")
        indent = min(len(line) - len(words), width // 2)
        yield from wrap(words, " " * indent, min(indent + 2, width // 2), width)


def labelled(
    label: str, text: str | None, width: int = _LABEL_WIDTH, indent: int = _INDENT
) -> Iterator[str]:
    """Yield an indented label of `width` columns and its text, wrapped; nothing without a text."""
    return wrap(text or "", f"{'':{indent}}{label:<{width}} ")


def labelled_list(
    label: str, texts: Iterable[str], width: int = _LABEL_WIDTH, indent: int = _INDENT
) -> Iterator[str]:
    """Yield several texts, one below the other, the first with the label."""
    for text in texts:
        yield from labelled(label, text, width, indent)
        label = ""


def note_lines(label: str, text: str | None, indent: int = _INDENT) -> Iterator[str]:
    """Yield `label: text`, wrapped; nothing for an empty text."""
    return wrap(text or "", f"{'':{indent}}{label}: ", indent + _INDENT)


def duration(seconds: float) -> str:
    """Return a time in words: `1 h 4 min`, `12 s`, `0.3 s`."""
    if seconds < _TENTHS_BELOW_S:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for (smaller, name), (size, unit) in reversed(tuple(pairwise(_RATE_UNITS))):
        if whole >= size:
            smaller_units = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {smaller_units} {name}" if smaller_units else "")
    return f"{whole} s"


def rate_text(per_second: float, noun: str = "") -> str:
    """Return a rate, at least 1 in its unit of time: `1.5/s`, `12 files/min`, `3/h`."""
    units = ((size, unit) for size, unit in _RATE_UNITS if per_second * size >= 1)
    size, unit = next(units, _RATE_UNITS[-1])
    return f"{per_second * size:,.{1 if unit == 's' else 0}f}{noun and f' {noun}'}/{unit}"


_LEVELS = {0: None, 1: logging.INFO, 2: logging.DEBUG}
_log_context: ContextVar[dict[str, str]] = ContextVar("log_context", default={})  # noqa: B039 (never changed in place)


def set_up_logging(config: "LogConfig", verbosity: int, *, is_quiet: bool = False) -> None:
    """Send logs to standard error: ours from the configured level, others from warnings up."""
    is_text = config.format == "console" or (config.format == "auto" and sys.stderr.isatty())
    root = logging.getLogger()
    root.handlers[:] = [_LogHandler(is_text=is_text)]
    root.setLevel(logging.ERROR if is_quiet else logging.WARNING)
    level = _LEVELS[min(verbosity, 2)] or config.level.upper()
    logging.getLogger("chart_binder").setLevel(logging.ERROR if is_quiet else level)
    _log_context.set({"run": uuid.uuid4().hex[:8]})


def set_log_file(path: str | Path) -> None:
    """Add the name of the current file to every following log line."""
    _log_context.set(_log_context.get() | {"file": path_text(path)})


class _LogHandler(logging.Handler):
    """Prints to the current standard error; imports structlog for the first line."""

    def __init__(self, *, is_text: bool) -> None:
        super().__init__()
        self.is_text = is_text

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self._formatter.format(record)
            if self.is_text:
                print_lines(text.splitlines(), err=True)
            else:
                click.echo(text, err=True)
        except Exception:  # noqa: BLE001 - as the handlers of the standard library do
            self.handleError(record)

    @cached_property
    def _formatter(self) -> "structlog.stdlib.ProcessorFormatter":
        import structlog

        last: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
        if self.is_text:
            last = [structlog.dev.ConsoleRenderer(colors=False)]
        return structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                lambda _logger, _name, line: {**_log_context.get(), **line},
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(
                    fmt="%H:%M:%S" if self.is_text else "iso", utc=not self.is_text
                ),
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
