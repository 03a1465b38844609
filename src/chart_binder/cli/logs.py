"""Logs go to standard error: lines for a person on a terminal, JSON otherwise."""

import logging
import sys
import uuid

import structlog

from chart_binder.config import LogConfig

_BY_VERBOSITY = {0: None, 1: logging.INFO, 2: logging.DEBUG}
_OURS = "chart_binder"


def set_up_logging(config: LogConfig, verbosity: int) -> None:
    """Send the logs of structlog and of the standard library to standard error, in one form.

    Every line carries the run id, and what was bound by `about_file`.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_form(config))
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)  # other libraries speak up only when something is wrong
    level = _BY_VERBOSITY.get(min(verbosity, 2)) or config.level.upper()
    logging.getLogger(_OURS).setLevel(level)
    structlog.contextvars.bind_contextvars(run=uuid.uuid4().hex[:8])


def about_file(path: str) -> None:
    """Put the file's name on every line that follows."""
    structlog.contextvars.bind_contextvars(file=path)


def _form(config: LogConfig) -> list[structlog.typing.Processor]:
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    as_console = config.format == "console" or (config.format == "auto" and sys.stderr.isatty())
    if as_console:
        return [remove_meta, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    return [
        remove_meta,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]
