"""`canon explain`: the decision, the rule path, and why every other candidate lost."""

import click
import msgspec

from chart_binder.cli.decide import decide_all
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.results import Form
from chart_binder.cli.text import explanation_lines
from chart_binder.jobs.decide import Case


def _explanation(case: Case) -> dict[str, object]:
    verdict = case.verdict
    if verdict is None:
        return {}
    shown: dict[str, object] = msgspec.to_builtins({"path": verdict.path, "rivals": verdict.rivals})
    return {"explanation": shown}


@click.command("explain")
@click.argument("path", required=False, type=click.Path(path_type=str))
@click.option("--evidence", type=str, help="Explain this evidence bundle; - for standard input.")
@click.option("--offline", is_flag=True, help="Open no socket: cached evidence only.")
@common_options
@pass_session
def command(session: Session, path: str | None, evidence: str | None, offline: bool) -> int:
    """Decide one file, and show the rule path and why every other candidate lost."""
    paths = (path,) if path else ()
    return decide_all(
        session, paths, evidence, offline=offline, form=Form(explanation_lines, _explanation)
    )
