"""Logs go to standard error: lines for a person on a terminal, JSON otherwise.

The rooms log through the standard library, so that a program that embeds them decides; structlog
gives the lines their form, with the run and the file on each.
"""

import logging
import sys
import uuid

import structlog

from chart_binder.config import LogConfig

_BY_VERBOSITY = {0: None, 1: logging.INFO, 2: logging.DEBUG}
_OURS = "chart_binder"


def set_up_logging(config: LogConfig, verbosity: int) -> None:
    """Send all logs to standard error; ours from the level asked for, others from warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=_form(config),
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    level = _BY_VERBOSITY[min(verbosity, 2)] or config.level.upper()
    logging.getLogger(_OURS).setLevel(level)
    structlog.contextvars.bind_contextvars(run=uuid.uuid4().hex[:8])


def about_file(path: str) -> None:
    """Put the file's name on every line that follows."""
    structlog.contextvars.bind_contextvars(file=path)


def _form(config: LogConfig) -> list[structlog.typing.Processor]:
    is_terminal = sys.stderr.isatty()
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if config.format == "console" or (config.format == "auto" and is_terminal):
        return [remove_meta, structlog.dev.ConsoleRenderer(colors=is_terminal)]
    return [
        remove_meta,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
