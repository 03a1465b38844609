"""The file of `--report`: a line for each file of a run, there as soon as it is told."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from chart_binder.cli.results import readable
from chart_binder.cli.written_file import require_no_song
from chart_binder.errors import UsageError


class ReportFile:
    """Takes lines; a disk that is full ends the report, not the run."""

    def __init__(self, path: str) -> None:
        """Open the file anew. Raises `UsageError` where it cannot be written, or is a song."""
        self.is_broken = False
        self._name = readable(path)
        require_no_song("--report", path)
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            raise UsageError(f"--report {self._name}: {error.strerror}") from error

    def write(self, line: bytes) -> None:
        """Write a line."""
        if self.is_broken:
            return
        try:
            os.write(self._descriptor, line + b"\n")
        except OSError as error:
            self.is_broken = True
            told = f"canon: --report {self._name}: {error.strerror}; it ends here"
            click.echo(told, err=True)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


@contextmanager
def report_file(path: str | None) -> Iterator[ReportFile | None]:
    """Yield the file that a run is reported into, if one was asked for."""
    report = ReportFile(path) if path is not None else None
    try:
        yield report
    finally:
        if report:
            report.close()
