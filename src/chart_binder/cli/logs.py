"""Logs go to standard error: lines for a person on a terminal, JSON otherwise.

The rooms log through the standard library, so that a program that embeds them decides; structlog
gives the lines their form, with the run and the file on each. It is loaded with the first line:
most runs have nothing to say.
"""

import logging
import sys
import uuid
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import structlog

    from chart_binder.config import LogConfig

_BY_VERBOSITY = {0: None, 1: logging.INFO, 2: logging.DEBUG}
_OURS = "chart_binder"
_about: ContextVar[dict[str, str]] = ContextVar("about", default={})  # noqa: B039 (never changed in place)


def set_up_logging(config: "LogConfig", verbosity: int) -> None:
    """Send all logs to standard error; ours from the level asked for, others from warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(config))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    level = _BY_VERBOSITY[min(verbosity, 2)] or config.level.upper()
    logging.getLogger(_OURS).setLevel(level)
    _about.set({"run": uuid.uuid4().hex[:8]})


def about_file(path: str) -> None:
    """Put the file's name on every line that follows."""
    _about.set(_about.get() | {"file": path})


class _Formatter(logging.Formatter):
    """Leaves the form of a line to structlog."""

    def __init__(self, config: "LogConfig") -> None:
        super().__init__()
        self._config = config

    def format(self, record: logging.LogRecord) -> str:
        return self._structlog.format(record)

    @cached_property
    def _structlog(self) -> "structlog.stdlib.ProcessorFormatter":
        import structlog

        is_terminal = sys.stderr.isatty()
        last: list[structlog.typing.Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
        if self._config.format == "console" or (self._config.format == "auto" and is_terminal):
            last = [structlog.dev.ConsoleRenderer(colors=is_terminal)]
        return structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                _with_context,
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )


def _with_context(
    logger: object, name: str, line: "structlog.typing.EventDict"
) -> "structlog.typing.EventDict":
    del logger, name
    return {**_about.get(), **line}
