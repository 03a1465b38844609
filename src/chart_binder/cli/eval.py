"""`canon eval`: decide every bundle of a golden file, and score the decisions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.output import adjudication_lines, readable, row
from chart_binder.cli.progress import Watching
from chart_binder.cli.render.tags import require_no_song
from chart_binder.cli.terminal import harmless
from chart_binder.domain.vocabulary import bare_id
from chart_binder.errors import CanonError, UsageError
from chart_binder.files import read_lines
from chart_binder.jobs.calibrate import Calibration, KnownAnswer
from chart_binder.jobs.decide import Decider
from chart_binder.jobs.evaluate import (
    EvaluationReport,
    Mark,
    RuleRow,
    ScoredCase,
    ScoreTotals,
    evaluate,
    forget,
    read_golden,
)
from chart_binder.llm.result import AdjudicationResult
from chart_binder.wiring import decider, transcripts_folder

_FAMILIES = {"CRG": "release group (CRG)", "RR": "release (RR) where right"}
_TALLY = "{:<28} {:>6} {:>6} {:>6} {:>6} {:>7} {:>9} {:>10}"
_RULE = "{:<30} {:>9} {:>8} {:>6} {:>6} {:>6}"
_BAND = "{:<12} {:>8} {:>11} {:>12}"
_NOT_ENABLED = (
    "--adjudicate: no model is enabled; llm.enabled = true enables the one that is configured"
    " (`canon config path` says in which file), and `canon doctor` says whether it is ready"
)
_NO_MODEL = "--adjudicate: musicbrainz.offline is true, so that no model can be asked but a replay"


@click.command("eval")
@click.argument("file", type=click.Path(path_type=str))
@click.option("--adjudicate", is_flag=True, help="Send open cases to the configured adjudicator.")
@click.option(
    "--answers",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write each answer of the adjudicator, right or wrong, for `canon calibrate`.",
)
@common_options
@pass_session
def command(session: Session, file: str, adjudicate: bool, answers: Path | None) -> int:
    """Decide every bundle of a golden FILE (JSON lines, - for standard input), and score it.

    A line is {"id", "bundle", "expected": {"crg_mbid", "rr_mbid", "rr_acceptable", "crg_rule",
    "rr_rule"}}; a crg_mbid of null means that the case must stay open.

    With --adjudicate the transcript of each run is kept; it is named where a case is listed.

    Exit status: 0 all as expected, 3 some open that should be decided, 1 something wrong, a line
    ill-formed or no case at all.
    """
    if answers and not adjudicate:
        raise UsageError("--answers: only with --adjudicate are there any")
    if answers:
        require_no_song("--answers", answers)
        if answers.exists() and Path(file).exists() and answers.samefile(file):
            raise UsageError(f"--answers: {answers} is what is scored; name another file")
    decide = _decider(session, adjudicate).decide
    with _learner(answers) as learn:
        report = evaluate(read_golden(read_lines(file)), decide, learn)
    if not report.crg.cases and not report.ill_formed:
        raise CanonError(f"{readable(file)}: holds no case, so there is nothing to score")
    if session.as_json:
        click.echo(msgspec.json.encode(report))
    else:
        for line in _lines(report):
            click.echo(harmless(line))
    return report.status


@contextmanager
def _learner(file: Path | None) -> Iterator[Callable[[KnownAnswer], object]]:
    """Yield what takes each answer down as it is known, in a file if one is named."""
    if file is None:
        yield forget
        return
    try:
        stream = file.open("wb", buffering=0)
    except OSError as error:
        raise CanonError(f"{file}: cannot be written ({error.strerror or error})") from error
    with stream:
        yield lambda known: stream.write(known.line())


def _decider(session: Session, adjudicate: bool) -> Decider:
    """Return what decides, without anybody's overrides: rules and model are what is scored."""
    if not adjudicate:
        return Decider(session.config.rules)
    watching = Watching() if session.shows_run else None
    asking = decider(
        session.config,
        record=transcripts_folder(),
        watch=watching.see if watching else None,
        listen=watching.hear if watching else None,
    )
    if asking.adjudicator is None:
        raise UsageError(_NO_MODEL if session.config.llm.enabled else _NOT_ENABLED)
    return asking


def _lines(report: EvaluationReport) -> Iterator[str]:
    yield _TALLY.format(
        "", "cases", "right", "wrong", "open", "failed", "accuracy", "precision"
    ).rstrip()
    yield _tally(_FAMILIES["CRG"], report.crg)
    yield _tally(_FAMILIES["RR"], report.rr)
    yield f"{report.rightly_open} of the cases rightly open"
    yield ""
    yield _RULE.format("rule", "expected", "decided", "right", "wrong", "open")
    yield from map(_rule, report.rules)
    if report.calibration:
        yield ""
        yield from _calibrated(report.calibration)
    for title, cases in (
        ("Not as expected:", report.wrong),
        ("Open, though they should be decided:", report.open),
    ):
        for number, case in enumerate(cases):
            yield from () if number else ("", title)
            yield from _case(case)
    for number, bad in enumerate(report.ill_formed):
        yield from () if number else ("", "Ill-formed lines:")
        yield from row(f"line {bad.line}", bad.problem)


def _tally(name: str, tally: ScoreTotals) -> str:
    counts = (tally.cases, tally.right, tally.wrong, tally.open, tally.failed)
    return _TALLY.format(name, *counts, _share(tally.accuracy), _share(tally.precision))


def _rule(line: RuleRow) -> str:
    return _RULE.format(line.rule, line.expected, line.decided, line.right, line.wrong, line.open)


def _calibrated(found: Calibration) -> Iterator[str]:
    yield _BAND.format("confidence", "answers", "mean", "share right")
    for band in found.bands:
        name = f"{band.least:.1f} to {band.most:.1f}"
        yield _BAND.format(name, band.answers, f"{band.confidence:.2f}", _share(band.share_right))
    yield (
        f"{found.right} of {found.answers} answers right, Brier score {found.brier_score:.3f},"
        f" expected calibration error {found.expected_calibration_error:.3f}"
    )


def _case(case: ScoredCase) -> Iterator[str]:
    yield f"  {case.id} (line {case.line}): {case.name}"
    expected, found = case.expected, case.decision
    yield from row("expected", _named(case, expected.crg_mbid, expected.crg_rule))
    yield from row("found", _named(case, found.crg_mbid, found.crg_rule))
    if case.rr in (Mark.WRONG, Mark.OPEN) or case.is_by_another_rule:
        wanted = " or ".join(sorted(filter(None, expected.releases or ()))) or "none"
        yield from row("release", f"expected {wanted}{_by(expected.rr_rule)}")
        yield from row("", f"found {found.rr_mbid or 'none'}{_by(found.rr_rule)}")
    if found.error:
        yield from row("failed", found.error)
    if found.adjudication:
        yield from _answer(case, found.adjudication)
    for number, considered in enumerate(case.path):
        yield from row("" if number else "path", f"{considered.rule}: {considered.said}")
    for number, fact in enumerate(found.missing_facts):
        yield from row("" if number else "missing", fact)


def _answer(case: ScoredCase, result: AdjudicationResult) -> Iterator[str]:
    """Yield what the model said: the group too, where its answer was not taken."""
    if result.crg_mbid and result.crg_mbid != case.decision.crg_mbid:
        yield from row("answered", _named(case, result.crg_mbid, None))
    if result.rationale:
        yield from row("because", result.rationale)
    yield from adjudication_lines(result, case.decision.state)


def _named(case: ScoredCase, group: str | None, rule: str | None) -> str:
    if not group:
        return f"open{_by(rule)}"
    title = case.titles.get(bare_id(group))
    named = f"{title} ({group})" if title else f"{group}, which the evidence lacks"
    return f"{named}{_by(rule)}"


def _by(rule: str | None) -> str:
    return f"  [{rule}]" if rule else ""


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
