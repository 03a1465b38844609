"""The events of a model's run as text, in a stored run or as they happen."""

from collections.abc import Iterator

import click

from chart_binder.cli.output import print_lines
from chart_binder.files import safe_text
from chart_binder.llm.events import EvidenceEvent, ReadingEvent, ResultEvent, StartEvent
from chart_binder.react import transcript


class LiveRun:
    """Shows runs of a model on standard error: every event, and replies as they arrive."""

    def __init__(self) -> None:
        self._turn = 0
        self._pieces: list[str] = []

    def on_token(self, piece: str) -> None:
        """Write a piece of the reply that is being received."""
        if not self._pieces:
            click.echo(f"--- turn {self._turn + 1}: reply", err=True)
        self._pieces.append(piece)
        click.echo(safe_text(piece), nl=False, err=True)

    def on_event(self, event: transcript.AnyEvent) -> None:
        """Write an event; if its reply was shown already, only the line that ends it."""
        streamed_text, self._pieces = "".join(self._pieces), []
        if streamed_text:
            click.echo(err=True)
        if isinstance(event, StartEvent):
            self._turn = 0
        if isinstance(event, transcript.ReplyEvent):
            self._turn = event.iteration
        # A reply ends before its stop sequence; part of that may have been shown.
        is_shown = isinstance(event, transcript.ReplyEvent) and streamed_text.startswith(
            event.content or "?"
        )
        print_lines(event_lines(event, is_shown=is_shown), err=True)


def event_lines(event: transcript.AnyEvent, *, is_shown: bool = False) -> Iterator[str]:
    """Yield an event of a run as lines, without the text of a reply if it `is_shown` already."""
    match event:
        case StartEvent():
            parts = ("model", event.model_id), ("dialect", event.dialect), (
                "prompt", event.prompt_version,
            )  # fmt: skip
            details = (f"{name} {value}" for name, value in parts if value)
            yield f"=== {', '.join((f'run {event.id}', *details))}"
        case transcript.MessageEvent():
            yield f"--- {event.role}"
            yield event.content
        case transcript.ReplyEvent():
            tokens = f", {event.completion_tokens} tokens" if event.completion_tokens else ""
            name = "end of reply" if is_shown else "reply"
            yield f"--- turn {event.iteration}: {name} ({event.seconds:.1f} s{tokens})"
            if event.thinking:
                yield f"(thinking) {event.thinking}"
            if not is_shown:
                yield event.content
        case transcript.StepEvent():
            call = f" {event.tool} {event.arguments}" if event.tool else ""
            yield f"--- turn {event.iteration}: {event.kind}{call}"
            yield from filter(None, [event.thought])
            yield from (f"(note) {note}" for note in event.notes)
        case transcript.ObservationEvent():
            yield f"--- turn {event.iteration}: observation ({event.seconds:.1f} s)"
            yield event.observation.shown
        case ReadingEvent() | EvidenceEvent():
            yield from _check_lines(event)
        case ResultEvent():
            result = event.result
            reason = result.get("rationale") or result.get("problem") or "no reason given"
            yield f"=== {result.get('outcome')}: {reason}"


def _check_lines(event: ReadingEvent | EvidenceEvent) -> Iterator[str]:
    if isinstance(event, EvidenceEvent):
        answer = event.problem or "its recordings of this performance go into the evidence"
        yield f"--- turn {event.iteration}: {event.record} at MusicBrainz: {answer}"
        return
    about = f"of fact {event.fact + 1}, {event.kind}, {event.seconds:.1f} s"
    yield f"--- turn {event.iteration}: second reading ({about}): {event.reading}"
    yield from filter(None, (event.source, event.content))
