"""`canon demo`: the whole pipeline, with no network and no model."""

import sys
from collections.abc import Iterator
from functools import partial

import click

from chart_binder.cli.decide import CaseFormat, Results
from chart_binder.cli.options import Session, pass_session
from chart_binder.cli.output import print_lines, set_log_file, set_up_logging, terminal_width, wrap
from chart_binder.cli.progress import event_lines
from chart_binder.cli.render.decision import decision_lines
from chart_binder.cli.render.explanation import explanation_lines
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
_ABOUT_COLUMN = 32


@click.command("demo")
@pass_session
def demo(session: Session) -> int:
    """Decide two shipped files, one by rules, one by a recorded run of a model."""
    set_up_logging(LogConfig(), session.verbosity)
    with prepare_demo() as shipped:
        return _decide(session, shipped)


def _decide(session: Session, shipped: Demo) -> int:
    has_text = not session.as_json
    width = terminal_width()
    if has_text:
        print_lines(wrap(_OPENING, width, "", 0))
        click.echo()
    pipeline = decider(shipped.config, record=None, watch=_show_event if has_text else None)
    results = Results(session.as_json, CaseFormat(partial(_case_lines, shipped.config.rules)))
    with evidence_for_files(shipped.config) as gather:
        for audio in shipped.audio:
            set_log_file(audio.name)
            results.show(audio.name, pipeline.attempt(partial(gather, audio)))
    if has_text:
        click.echo()
        print_lines(_closing(width))
    sys.stdout.flush()
    return results.status


def _closing(width: int) -> Iterator[str]:
    """Yield what to do next; the keys are not wrapped, for they are copied."""
    yield "For your own files:"
    for command_line, about in _NEXT.items():
        yield from wrap(about, width, f"  {command_line}".ljust(_ABOUT_COLUMN), _ABOUT_COLUMN)
    file = found_file()
    if file:
        where = f"set these keys in {file.absolute()}, each in the table that the file has:"
    else:
        where = f"make {config_candidates()[-1]} with"
    text = f"To let a model look into what the rules leave open, {where}"
    yield from wrap(text, width, "", 0)
    yield from _KEYS.splitlines()


def _case_lines(knobs: RulesConfig, path: str, case: Case) -> Iterator[str]:
    """Yield the rule path of what the rules decided; a run of the model was shown before."""
    if isinstance(case.verdict, Decided):
        return explanation_lines(path, case, knobs)
    return decision_lines(path, case)


def _show_event(event: AnyEvent) -> None:
    """Print an event of the run among the results, without the long system prompt."""
    if isinstance(event, Said) and event.role == "system":
        click.echo("--- system prompt (`canon -vv decide` shows it)")
    else:
        print_lines(event_lines(event))
