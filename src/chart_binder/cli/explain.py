"""`canon explain`: the decision, the rule path, and why every other candidate lost."""

from collections.abc import Iterator

import click

from chart_binder.cli.decide import decide_all, evidence_option
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.output import Form
from chart_binder.cli.render.decision import explanation, explanation_lines, timeline_lines
from chart_binder.cli.terminal import terminal_width, wrapped
from chart_binder.jobs.decide import Case
from chart_binder.jobs.explain import appearances, lead_window


@click.command("explain")
@click.argument("paths", nargs=-1, type=click.Path(path_type=str))
@evidence_option("Explain this evidence bundle; - for standard input.")
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
@common_options
@pass_session
def command(session: Session, paths: tuple[str, ...], evidence: str | None, offline: bool) -> int:
    """Decide files or folders, and show the rule path and why every other candidate lost.

    With -v a timeline is drawn of when the recording appeared on what. The decision is not kept:
    `canon decide` does that. What was looked up is, and the transcript of a model's run, by the
    path that is shown.

    Exit status: 0 every file decided, 3 some left open or for review, 1 some failed.
    """

    def lines(shown: str, case: Case) -> Iterator[str]:
        yield from explanation_lines(shown, case, session.config.rules)
        if session.verbosity:
            yield from _timeline(session, case)

    form = Form(lines, lambda case: explanation(case, session.config.rules))
    return decide_all(session, paths, evidence, offline=offline, form=form)


def _timeline(session: Session, case: Case) -> Iterator[str]:
    if case.bundle is None:
        return
    window = lead_window(case.bundle, session.config.rules)
    width = terminal_width()
    drawn = list(timeline_lines(appearances(case.bundle), window, case.decision.crg_mbid, width))
    if drawn:
        yield ""
        title = "When it appeared (the further ahead, the closer the years stand together):"
        yield from wrapped(title, width, "  ", 2)
        yield from drawn
