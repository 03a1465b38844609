"""The adjudicator's run, shown on standard error as it happens."""

from collections.abc import Iterator

import click

from chart_binder.cli.harmless import harmless
from chart_binder.react.transcript import AnyEvent, Observed, Replied, Result, Run, Said, Stepped


class Watching:
    """Shows runs as they happen: every event, and every reply while it is written."""

    def __init__(self) -> None:
        self._turn = 0
        self._heard: list[str] = []

    def hear(self, piece: str) -> None:
        """Write a piece of the reply that is being given."""
        if not self._heard:
            click.echo(f"--- turn {self._turn + 1}: reply", err=True)
        self._heard.append(piece)
        click.echo(harmless(piece), nl=False, err=True)

    def see(self, event: AnyEvent) -> None:
        """Write an event; of a reply that was heard, what is known at its end."""
        heard, self._heard = "".join(self._heard), []
        if heard:
            click.echo(err=True)
        if isinstance(event, Run):
            self._turn = 0
        if isinstance(event, Replied):
            self._turn = event.iteration
        # A reply is cut before what ended it, of which a part may have been heard.
        was_heard = isinstance(event, Replied) and heard.startswith(event.content or "?")
        show_event(event, was_heard=was_heard)


def show_event(event: AnyEvent, *, was_heard: bool = False) -> None:
    """Write one event of a run to standard error."""
    for line in event_lines(event, was_heard=was_heard):
        click.echo(harmless(line), err=True)


def event_lines(event: AnyEvent, *, was_heard: bool = False) -> Iterator[str]:
    """Yield one event of a run as lines for a person; `was_heard`: the reply's text is out."""
    match event:
        case Run():
            parts = (event.id, event.model_id, event.dialect, event.prompt_version)
            yield f"=== run {', '.join(filter(None, parts))}"
        case Said():
            yield f"--- {event.role}"
            yield event.content
        case Replied():
            yield f"--- turn {event.iteration}: {'said' if was_heard else 'reply'}{_cost(event)}"
            if event.thinking:
                yield f"(thinking) {event.thinking}"
            if not was_heard:
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
