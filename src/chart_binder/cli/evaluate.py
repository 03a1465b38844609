"""`canon eval`: score decisions, and compare first releases with a list of years."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import click
import msgspec

from chart_binder.cli import options, output
from chart_binder.cli.decide import live_pipeline
from chart_binder.cli.decision_text import adjudication_lines
from chart_binder.cli.progress import Progress
from chart_binder.domain.vocabulary import bare_id
from chart_binder.errors import CanonError, UsageError, counted
from chart_binder.files import path_text, read_file, read_lines
from chart_binder.jobs import evaluate
from chart_binder.jobs.batch.report import BatchTally
from chart_binder.jobs.decision import Case, FileOutcome
from chart_binder.jobs.pipeline import Pipeline, decide_bundle
from chart_binder.jobs.wording import first_release_text
from chart_binder.wiring import musicbrainz_evidence, why_no_model

_WORST = 10


@click.command("eval")
@click.argument("file", required=False, type=options.PATH)
@options.option(
    "--dates FILE.csv",
    "Compare first releases with a list of artist, title, year and, if known, isrc.",
    type=options.PATH,
)
@options.flag("--adjudicate", "Send open cases to the configured adjudicator.")
@options.pass_session
def eval_golden(
    session: options.Session, file: str | None, dates: str | None, adjudicate: bool
) -> int:
    """Decide every bundle of a golden FILE (JSON lines, - for standard input), and score it.

    A line is {"id", "bundle", "expected": {"crg_mbid", "rr_mbid", "rr_acceptable", "crg_rule",
    "rr_rule", "first_release": {"date", "year_certain", "release_group_mbid"}}}; a crg_mbid of null
    means that the case must stay open.

    With --dates FILE.csv each row of a list is looked up at MusicBrainz instead, by its ISRC or by
    artist and title, and its first release is compared with the year of the list.

    With --adjudicate the transcript of each run is stored, and named with each listed case.

    Exit status: 0 all as expected, 3 some are open that should be decided, 1 something is wrong, a
    line is ill-formed or there is no case. With --dates: 0 every row has a first release, 3 some
    have none, 1 a look-up failed or a line is ill-formed.
    """
    if (file is None) == (dates is None):
        raise UsageError("name one: a golden FILE, or a list of years with --dates FILE.csv")
    pipeline = _pipeline(session, adjudicate=adjudicate)
    if dates is not None:
        return _compare_years(session, dates, pipeline)
    assert file is not None
    report = evaluate.evaluate(
        evaluate.read_golden(read_lines(file)), partial(decide_bundle, pipeline)
    )
    if not report.crg.cases and not report.ill_formed:
        raise CanonError(f"{path_text(file)}: no case to score")
    session.show(report, _report_lines(report))
    if report.open and not adjudicate and session.config.llm.enabled and file != "-":
        output.print_next(output.canon_call("eval", file, "--adjudicate"))
    return report.status


def _pipeline(session: options.Session, *, adjudicate: bool) -> Pipeline:
    """Return the pipeline without overrides, because rules and model are scored."""
    if not adjudicate:
        return Pipeline(session.config.rules)
    pipeline = live_pipeline(session)
    if pipeline.adjudicator is None:
        raise UsageError(f"--adjudicate: {why_no_model(session.config)}")
    return pipeline


def _compare_years(session: options.Session, dates: str, pipeline: Pipeline) -> int:
    rows = list(evaluate.read_years(read_file(dates), path_text(dates)))
    with (
        session.open_store() as store,
        Progress(total=len(rows), noun="rows", is_quiet=session.quiet) as bar,
    ):
        tally = BatchTally()

        def count(case: Case) -> None:
            tally.add_file(FileOutcome(Path(), case.decision), None)
            bar.show(tally)

        gather = musicbrainz_evidence(session.config, store).by_tags
        report = evaluate.compare_years(rows, gather, pipeline, worst=_WORST, on_row=count)
    session.show(report, _year_lines(report))
    return report.status


def _year_lines(report: evaluate.YearReport) -> Iterator[str]:
    lines = counted(len(report.ill_formed), "ill-formed line")
    ill_formed = f", and {lines}" if report.ill_formed else ""
    yield from output.labelled("rows", f"{report.rows}{ill_formed}")
    counts = (
        (report.not_found, "not known to MusicBrainz"),
        (report.undated, "without an official, dated release"),
        (report.failed, "that could not be looked up"),
    )
    without = "".join(f"; {count} {words}" for count, words in counts if count)
    decided = f"{report.decided.rows} ({_percent(report.share_decided)})"
    yield from output.labelled("decided", f"{decided}{without}")
    yield ""
    rows: list[Sequence[object]] = [("", "rows", "exact", "within 1 year", "more than 2 years off")]
    for name, shares in (("decided", report.decided), ("year certain", report.certain)):
        total, *values = msgspec.structs.astuple(shares)
        cells = zip(values[:3], values[3:], strict=True)
        rows.append((name, total, *(f"{count} {_percent(share)}" for count, share in cells)))
    yield from output.table(rows)
    yield from _section("Furthest off:", map(_off_lines, report.worst))
    without_year = (
        output.wrap(f"{_name(compared.row)}: {compared.problem}", "  ", 4)
        for compared in report.without_year
    )
    yield from _section("Without a first release:", without_year)
    yield from _ill_formed_lines(report.ill_formed)


def _off_lines(compared: evaluate.ComparedYear) -> Iterator[str]:
    release = first_release_text(compared.first_release) if compared.first_release else "never"
    text = f"{_name(compared.row)}: {compared.row.year} in the list, first released {release}"
    return output.wrap(text, f"{compared.off:+5d}  ")


def _name(row: evaluate.ListedYear) -> str:
    return f"{row.artist} - {row.title} (line {row.line})"


def _section(title: str, entries: Iterable[Iterable[str]]) -> Iterator[str]:
    lines = list(chain.from_iterable(entries))
    return iter(["", title, *lines] if lines else [])


def _ill_formed_lines(lines: Sequence[evaluate.InvalidLine]) -> Iterator[str]:
    problems = (output.labelled(f"line {line.line}", line.problem) for line in lines)
    return _section("Ill-formed lines:", problems)


_RULE_COLUMNS = (
    "(decided: cases that the rule decided, or that INDETERMINATE left open; right and wrong count"
    " these; open: expected cases that were left open; a case that is rightly open counts as right)"
)


def _report_lines(report: evaluate.EvaluationReport) -> Iterator[str]:
    yield from _first_release_lines(report.first_release)
    totals = (("release group (CRG)", report.crg), ("release (RR), CRG right", report.rr))
    rows: list[Sequence[object]] = [("", *evaluate.ScoreTotals.__struct_fields__)]
    for name, total in totals:
        *counts, accuracy, precision = msgspec.structs.astuple(total)
        rows.append((name, *counts, _percent(accuracy), _percent(precision)))
    yield from output.table(rows)
    yield f"{counted(report.rightly_open, 'case')} rightly open"
    yield ""
    rules = map(msgspec.structs.astuple, report.rules)
    yield from output.table([evaluate.RuleRow.__struct_fields__, *rules])
    yield from output.wrap(_RULE_COLUMNS)
    yield from _section("Not as expected:", map(_case_lines, report.wrong))
    yield from _section("Open, though they should be decided:", map(_case_lines, report.open))
    yield from _ill_formed_lines(report.ill_formed)


def _first_release_lines(totals: evaluate.FirstReleaseTotals) -> Iterator[str]:
    if not totals.cases:
        return
    counts = (
        (totals.wrong_year, "of a wrong year that is called certain"),
        (totals.wrongly_certain, "called certain without reason"),
        (totals.wrongly_uncertain, "called uncertain without reason"),
        (totals.wrong_date, "of another date"),
        (totals.wrong_group, "on another release group"),
    )
    texts = [f"{totals.right} of {totals.cases} right"]
    texts += [f"{count} {words}" for count, words in counts if count]
    yield from output.wrap(", ".join(texts), "first release: ")
    yield ""


def _case_lines(case: evaluate.ScoredCase) -> Iterator[str]:
    yield f"  {case.id} (line {case.line}): {case.name}"
    expected, decision = case.expected, case.decision
    if case.first is evaluate.Grade.WRONG:
        first = case.decision.first_release
        first_text = first_release_text(first) if first else "none"
        yield from output.labelled("first", f"expected {_expected_first(case)}, found {first_text}")
        if first:
            yield from output.labelled("", first.because)
    yield from output.labelled("expected", _group(case, expected.crg_mbid, expected.crg_rule))
    yield from output.labelled("found", _group(case, decision.crg_mbid, decision.crg_rule))
    if case.rr in (evaluate.Grade.WRONG, evaluate.Grade.OPEN) or case.is_by_another_rule:
        releases = " or ".join(sorted(filter(None, expected.releases or ()))) or "none"
        yield from output.labelled("release", f"expected {releases}{_rule(expected.rr_rule)}")
        yield from output.labelled(
            "", f"found {decision.rr_mbid or 'none'}{_rule(decision.rr_rule)}"
        )
    yield from output.labelled("failed", decision.error)
    if result := decision.adjudication:
        if result.crg_mbid and result.crg_mbid != decision.crg_mbid:  # not accepted
            yield from output.labelled("answered", _group(case, result.crg_mbid, None))
        yield from output.labelled("because", result.rationale)
        yield from adjudication_lines(result, decision.state, case.titles)
    yield from output.labelled_list("path", (f"{step.rule}: {step.said}" for step in case.path))
    yield from output.labelled_list("missing", decision.missing_facts)


def _expected_first(case: evaluate.ScoredCase) -> str:
    expected = case.expected.first_release
    if not isinstance(expected, evaluate.ExpectedRelease):
        return "none"
    group = expected.release_group_mbid or None
    on = f" ({case.titles.get(group, group)})" if group else ""
    return f"{expected.date}{'' if expected.year_certain else ' or earlier'}{on}"


def _group(case: evaluate.ScoredCase, group: str | None, rule: str | None) -> str:
    if not group:
        return f"open{_rule(rule)}"
    title = case.titles.get(bare_id(group))
    name = f"{title} ({group})" if title else f"{group}, which the evidence lacks"
    return f"{name}{_rule(rule)}"


def _rule(rule: str | None) -> str:
    return f"  [{rule}]" if rule else ""


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
