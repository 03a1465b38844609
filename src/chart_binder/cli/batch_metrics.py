"""Metrics of a batch in a file, for a collector that reads it now and then."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import msgspec

from chart_binder.cli.results import readable
from chart_binder.cli.written_file import require_no_song
from chart_binder.domain.kept import KeptRun, now_utc
from chart_binder.domain.measures import Measures
from chart_binder.errors import UsageError
from chart_binder.jobs.breaking_off import breaking_off
from chart_binder.jobs.metrics import metrics_json, prometheus_text

if TYPE_CHECKING:
    from chart_binder.batch import BatchResult, FileResult

_EVERY_S = 5.0
_AS_JSON = ".json"
_FAILED, _INTERRUPTED = 1, 130


@dataclass(slots=True)
class MetricsFile:
    """A file that is replaced whole every few seconds; one named `*.json` holds JSON."""

    path: str
    run: KeptRun
    last: "FileResult | None" = None
    written_at: float = 0.0
    is_broken: bool = False

    def tick(self, file: "FileResult | None" = None) -> None:
        """Write how far the run has come, where that is due."""
        self.last = file or self.last
        if self.last and time.monotonic() - self.written_at >= _EVERY_S:
            self._try(self.last.so_far.measures(), None)

    def end(self, result: "BatchResult") -> None:
        """Write what the run came to."""
        self.run = msgspec.structs.replace(self.run, id=result.run_id)
        self._try(result.measures, result.status)

    def broken_off(self, error: BaseException) -> None:
        """Write that the run ended before its end."""
        status = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _FAILED
        self._try(self.last.so_far.measures() if self.last else Measures(), status)

    def begin(self) -> None:
        """Write that nothing is done yet.

        Raises `UsageError` where the file cannot be written, or is a song.
        """
        require_no_song("--metrics", self.path)
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # noqa: PTH110, PTH113
            raise UsageError(f"--metrics {readable(self.path)}: it is no file that can be replaced")
        try:
            self._write(Measures())
        except OSError as error:
            raise UsageError(f"--metrics {readable(self.path)}: {error.strerror}") from error

    def _try(self, found: Measures, status: int | None) -> None:
        """Write; a disk that is full is no reason to end the run."""
        if self.last:
            self.run = msgspec.structs.replace(self.run, id=self.last.run_id)
        if status is not None:
            ended = now_utc()
            self.run = msgspec.structs.replace(self.run, status=status, ended_at_utc=ended)
        try:
            self._write(found)
        except OSError as error:
            if not self.is_broken:
                why = error.strerror
                click.echo(f"canon: --metrics {readable(self.path)}: {why}; goes on", err=True)
            self.is_broken = True

    def _write(self, found: Measures) -> None:
        self.written_at = time.monotonic()
        is_json = self.path.endswith(_AS_JSON)
        text = (metrics_json if is_json else _prometheus)(self.run, found)
        target = os.path.realpath(self.path)  # a link stays, and leads to the new file
        folder, name = os.path.split(target)
        # The collector reads `*.prom`, so it passes over this name.
        temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")  # noqa: PTH118 - any bytes
        try:
            with open(temporary, "wb") as file:  # noqa: PTH123 - as the umask says, for others read
                file.write(text)
            os.replace(temporary, target)  # noqa: PTH105
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise


@contextmanager
def metrics_file(path: str | None) -> Iterator[MetricsFile | None]:
    """Yield the file that a run's metrics are written into, if one was asked for."""
    if path is None:
        yield None
        return
    run = KeptRun(id="", command="batch", started_at_utc=now_utc())
    metrics = MetricsFile(path, run)
    metrics.begin()
    with breaking_off(metrics.broken_off):
        yield metrics


def _prometheus(run: KeptRun, found: Measures) -> bytes:
    return prometheus_text(run, found).encode()
