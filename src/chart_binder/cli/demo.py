"""`canon demo`: the whole pipeline, with no network and no model."""

import sys
from collections.abc import Iterable, Iterator
from functools import partial

import click

from chart_binder.cli.logs import about_file, set_up_logging
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.output import Form, Results, decision_lines
from chart_binder.cli.progress import event_lines
from chart_binder.cli.render.decision import explanation_lines
from chart_binder.cli.terminal import harmless, terminal_width, wrapped
from chart_binder.config import LogConfig, RulesConfig
from chart_binder.config.load import config_candidates, found_file
from chart_binder.demo import Demo, prepare_demo
from chart_binder.domain.verdict import Decided
from chart_binder.jobs.decide import Case
from chart_binder.react.transcript import AnyEvent, Said
from chart_binder.wiring import decider, evidence_for_files

_OPENING = (
    "Two audio files, their MusicBrainz evidence and one recorded run of a model are shipped with"
    " canon. What follows is the real pipeline on them: no network, no model. (The audio is a tone;"
    " the tags and the evidence are of real recordings. The first is tagged with a compilation it"
    " was ripped from. In the second the single's date is cut to its year, so that the rules must"
    " leave it open, and the pages the model reads are made up.)"
)
_NEXT = {
    "canon decide FILE...": "by the rules, with evidence from MusicBrainz",
    "canon doctor": "what is missing for the rest",
}
_KEYS = """\
  [musicbrainz]
  contact = "you@example.org"  # MusicBrainz asks for one
  [llm]
  enabled = true
  model_id = "llama3.2"        # after: ollama pull llama3.2
  [llm.searxng]
  # a SearXNG with JSON among its search.formats
  url = "http://127.0.0.1:8888"
"""
_COMMAND = 32
"""The column in which it is said what a command does."""


@click.command("demo")
@common_options
@pass_session
def command(session: Session) -> int:
    """Decide two shipped files, one by rules, one by a recorded run of a model."""
    set_up_logging(LogConfig(), session.verbosity)
    with prepare_demo() as demo:
        return _play(session, demo)


def _play(session: Session, demo: Demo) -> int:
    talks = not session.as_json
    width = terminal_width()
    if talks:
        _say(wrapped(_OPENING, width, "", 0))
        click.echo()
    pipeline = decider(demo.config, record=None, watch=_show_event if talks else None)
    results = Results(session.as_json, Form(partial(_explained, demo.config.rules), lambda _: {}))
    with evidence_for_files(demo.config) as gather:
        for audio in demo.audio:
            about_file(audio.name)
            results.show(audio.name, pipeline.attempt(partial(gather, audio)))
    if talks:
        click.echo()
        _say(_closing(width))
    sys.stdout.flush()
    return results.status


def _closing(width: int) -> Iterator[str]:
    """Yield what to do next; the keys are not folded, for they are copied."""
    yield "For your own files:"
    for command_line, about in _NEXT.items():
        yield from wrapped(about, width, f"  {command_line}".ljust(_COMMAND), _COMMAND)
    yield from wrapped(_where_to_set(), width, "", 0)
    yield from _KEYS.splitlines()


def _where_to_set() -> str:
    file = found_file()
    looks = "To let a model look into what the rules leave open,"
    if file:
        return f"{looks} set these keys in {file.absolute()}, each in the table that the file has:"
    return f"{looks} make {config_candidates()[-1]} with"


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _explained(knobs: RulesConfig, path: str, case: Case) -> Iterator[str]:
    """Show the rule path of what the rules decided; the other's run was shown as it happened."""
    if isinstance(case.verdict, Decided):
        return explanation_lines(path, case, knobs)
    return decision_lines(path, case)


def _show_event(event: AnyEvent) -> None:
    """Show the run among the results, the system prompt left out for its length."""
    if isinstance(event, Said) and event.role == "system":
        click.echo("--- system prompt (`canon -vv decide` shows it)")
        return
    for line in event_lines(event):
        click.echo(harmless(line))
