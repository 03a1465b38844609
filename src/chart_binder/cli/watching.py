"""The adjudicator's run, shown on standard error as it happens."""

from collections.abc import Iterator

import click

from chart_binder.cli.results import harmless
from chart_binder.react.transcript import AnyEvent, Observed, Replied, Result, Run, Said, Stepped


def show_event(event: AnyEvent) -> None:
    """Write one event of a run to standard error."""
    for line in event_lines(event):
        click.echo(harmless(line), err=True)


def event_lines(event: AnyEvent) -> Iterator[str]:
    """Yield one event of a run as lines for a person."""
    match event:
        case Run():
            parts = (event.id, event.model_id, event.dialect, event.prompt_version)
            yield f"=== run {', '.join(filter(None, parts))}"
        case Said():
            yield f"--- {event.role}"
            yield event.content
        case Replied():
            yield f"--- turn {event.iteration}: reply{_cost(event)}"
            if event.thinking:
                yield f"(thinking) {event.thinking}"
            yield event.content
        case Stepped():
            yield f"--- turn {event.iteration}: {event.kind}{_call(event)}"
            yield from (f"(note) {note}" for note in event.notes)
        case Observed():
            yield f"--- turn {event.iteration}: observation ({event.seconds:.1f} s)"
            yield event.content
        case Result():
            said = event.result.get("rationale") or event.result.get("problem") or "no reason given"
            yield f"=== {event.result.get('outcome')}: {said}"


def _cost(event: Replied) -> str:
    tokens = f", {event.completion_tokens} tokens" if event.completion_tokens else ""
    return f" ({event.seconds:.1f} s{tokens})"


def _call(event: Stepped) -> str:
    return f" {event.tool} {event.arguments}" if event.tool else ""
