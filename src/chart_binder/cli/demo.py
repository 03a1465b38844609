"""`canon demo`: the whole pipeline, with no network and no model."""

import sys
from collections.abc import Iterator
from functools import partial

import click

from chart_binder.cli.explanation import explanation_lines
from chart_binder.cli.harmless import harmless
from chart_binder.cli.logs import about_file, set_up_logging
from chart_binder.cli.options import Session, common_options, pass_session
from chart_binder.cli.results import Form, Results
from chart_binder.cli.text import decision_lines
from chart_binder.cli.watching import event_lines
from chart_binder.config import LogConfig
from chart_binder.domain.verdict import Decided
from chart_binder.jobs.decide import Case
from chart_binder.jobs.demo import Demo, laid_out
from chart_binder.react.transcript import AnyEvent, Said
from chart_binder.settings import config_candidates, found_file
from chart_binder.wiring import decider, evidence_for_files

_OPENING = """\
Two audio files, their MusicBrainz evidence and one recorded run of a model are shipped with canon.
What follows is the real pipeline on them: no network, no model. (The audio is a tone; the tags and
the evidence are of real recordings. The first is tagged with a compilation it was ripped from. In
the second the single's date is cut to its year, so that the rules must leave it open, and the
pages the model reads are made up.)
"""
_CLOSING = """\
For your own files:
  canon decide FILE...          by the rules, with evidence from MusicBrainz
  canon doctor                  what is missing for the rest
To let a model look into what the rules leave open, {where}:
  [musicbrainz]
  contact = "you@example.org"   # MusicBrainz asks for one
  [llm]
  enabled = true
  model_id = "llama3.2"         # after: ollama pull llama3.2
  [llm.searxng]
  url = "http://127.0.0.1:8888" # a SearXNG with JSON among its search.formats
"""


@click.command("demo")
@common_options
@pass_session
def command(session: Session) -> int:
    """Decide two shipped files, one by rules, one by a recorded run of a model."""
    set_up_logging(LogConfig(), session.verbosity)
    with laid_out() as demo:
        return _play(session, demo)


def _play(session: Session, demo: Demo) -> int:
    talks = not session.as_json
    if talks:
        click.echo(_OPENING)
    pipeline = decider(demo.config, record=None, watch=_show_event if talks else None)
    results = Results(session.as_json, Form(_explained, lambda _: {}))
    with evidence_for_files(demo.config) as gather:
        for audio in demo.audio:
            about_file(audio.name)
            results.show(audio.name, pipeline.attempt(partial(gather, audio)))
    if talks:
        click.echo()
        click.echo(_CLOSING.format(where=_where_to_set()), nl=False)
    sys.stdout.flush()
    return results.status


def _where_to_set() -> str:
    file = found_file()
    if file:
        return f"set in {file.absolute()}"
    return f"make {config_candidates()[-1]} with"


def _explained(path: str, case: Case) -> Iterator[str]:
    """Show the rule path of what the rules decided; the other's run was shown as it happened."""
    if isinstance(case.verdict, Decided):
        return explanation_lines(path, case)
    return decision_lines(path, case)


def _show_event(event: AnyEvent) -> None:
    """Show the run among the results, the system prompt left out for its length."""
    if isinstance(event, Said) and event.role == "system":
        click.echo("--- system prompt (`canon -vv decide` shows it)")
        return
    for line in event_lines(event):
        click.echo(harmless(line))
