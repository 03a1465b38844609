"""`canon calibrate`: fit what a model's confidence is worth from answers known to be right."""

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from chart_binder.cli.left_out import LeftOut
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.output import readable
from chart_binder.cli.render.tags import require_no_song
from chart_binder.cli.terminal import harmless
from chart_binder.errors import CanonError, UsageError
from chart_binder.files import read_lines
from chart_binder.jobs.calibrate import (
    Calibration,
    FittedCalibration,
    KnownAnswer,
    fit_and_measure,
    read_answers,
    reviewed_answers,
)
from chart_binder.llm.confidence import ConfidenceMap
from chart_binder.store import open_store
from chart_binder.wiring import store_url

_ROW = "{:<12} {:>12} {:>28}"


@click.command("calibrate")
@click.argument("file", required=False, type=click.Path(path_type=str))
@click.option(
    "--from-reviews",
    is_flag=True,
    help="Fit from what people accepted and rejected of the configured model's answers.",
)
@click.option(
    "--answers-out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the answers that were reviewed to this file.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Store the calibration, for [llm.acceptance] calibration.",
)
@common_options
@pass_session
def command(
    session: Session,
    file: str | None,
    from_reviews: bool,
    answers_out: Path | None,
    out: Path | None,
) -> int:
    """Fit what confidence is worth from FILE (JSON lines, - for standard input), or from reviews.

    A line is {"confidence": 0.9, "right": true}: what the model stated, and whether it was right.
    `canon eval --adjudicate --answers FILE` writes such lines. With --from-reviews, right is what a
    person accepted in `canon review`, wrong what they rejected.

    Exit status: 0 confidence is nearer to the truth with the calibration, 3 it is not, and nothing
    is stored; 1 there are too few answers, a line cannot be read, or a reviewed answer was left
    out, for the store's record of it is damaged.
    """
    if from_reviews == (file is not None):
        raise UsageError("name one: FILE with answers, or --from-reviews")
    if answers_out and not from_reviews:
        raise UsageError("--answers-out: only with --from-reviews; FILE has the answers already")
    for option, written in (("--answers-out", answers_out), ("--out", out)):
        if written:
            require_no_song(option, written)
    source = answers_out or file
    if out and source and _is_same(source, out):
        done = "written to" if answers_out else "read from"
        raise click.UsageError(f"-o {out} names the file that the answers are {done}")
    unread = LeftOut()
    found = fit_and_measure(
        _reviewed(session, answers_out, unread) if file is None else _in_file(file)
    )
    if session.as_json:
        click.echo(msgspec.json.encode(found))
    else:
        for line in _lines(found):
            click.echo(harmless(line))
    if not found.is_better:
        click.echo("canon: it would not help, so nothing is stored", err=True)
        return unread.status or 3
    if out:
        _store(found.map, out)
        click.echo(
            f"stored; to use it: llm.acceptance.calibration = {str(out.resolve())!r}", err=True
        )
    return unread.status


def _in_file(file: str) -> list[KnownAnswer]:
    return list(read_answers(read_lines(file), readable(file)))


def _reviewed(session: Session, answers_out: Path | None, unread: LeftOut) -> list[KnownAnswer]:
    with open_store(store_url(session.config)) as store:
        answers = reviewed_answers(store, session.config.llm.model_id, unread.record)
    if answers_out:
        _write(answers_out, b"".join(each.line() for each in answers))
    return answers


def _is_same(file: str | Path, out: Path) -> bool:
    """Whether the calibration would take the place of the answers, by whatever names."""
    try:
        return file != "-" and (out == Path(file) or out.samefile(file))
    except OSError:
        return False  # one of them is not there yet, or cannot be looked at


def _store(found: ConfidenceMap, out: Path) -> None:
    _write(out, msgspec.json.format(msgspec.json.encode(found)) + b"\n")


def _write(file: Path, content: bytes) -> None:
    try:
        file.write_bytes(content)
    except OSError as error:
        raise CanonError(f"{file}: cannot be written ({error.strerror or error})") from error


def _lines(found: FittedCalibration) -> Iterator[str]:
    yield _ROW.format("stated", "worth", "").rstrip()
    for point in found.map.points:
        yield _ROW.format(f"{point.stated:.2f}", f"{point.right:.2f}", "").rstrip()
    yield ""
    yield _ROW.format(f"{found.map.answers} answers", "Brier score", "expected calibration error")
    for name, measured in (("as stated", found.as_stated), ("calibrated", found.calibrated)):
        yield _measured(name, measured)
    yield "(calibrated: each fifth of the answers, by what the other four say)"


def _measured(name: str, found: Calibration) -> str:
    error = found.expected_calibration_error
    return _ROW.format(name, f"{found.brier_score:.3f}", f"{error:.3f}")
