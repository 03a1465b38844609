"""One turn of a recorded run, as a part of a page."""

from collections.abc import Iterator

import msgspec

from chart_binder.cli.markup import Content, Markup, element, link
from chart_binder.react.dialect import Dialect
from chart_binder.react.steps import Act, Finish, Step
from chart_binder.react.transcript import Observed, Replied, Stepped
from chart_binder.react.turns import Exchange, Turn

_WORTH_TELLING_S = 0.05


def turn_section(turn: Turn, dialect: Dialect | None) -> Markup:
    """Return thought, calls, notes and observations of a turn, and the reply as it was written.

    The thought stands in the reply alone: without its `dialect` the reply is all there is to show.
    """
    reply = turn.reply
    step = dialect.parse(reply.content) if dialect and reply else None
    return element(
        "article",
        element("h3", f"Turn {turn.number}", *_cost(reply)),
        *(_said(reply, step) if reply else ()),
        *(part for exchange in turn.exchanges for part in _exchanged(exchange)),
        _folded("The reply as written", reply.content) if reply and _is_read(step) else None,
    )


def _cost(reply: Replied | None) -> Iterator[Content]:
    if reply is None:
        return
    told = [f"{reply.seconds:.1f} s"] if reply.seconds else []
    if reply.prompt_tokens or reply.completion_tokens:
        told.append(f"{reply.prompt_tokens or 0} + {reply.completion_tokens or 0} tokens")
    if reply.done_reason not in (None, "stop"):
        told.append(f"ended by {reply.done_reason}")
    if told:
        yield element("small", ", ".join(told))


def _said(reply: Replied, step: Step | None) -> Iterator[Content]:
    if reply.thinking:
        yield _folded("Thinking", reply.thinking)
    if not _is_read(step):
        yield element("pre", reply.content, dir="auto")
    if isinstance(step, Act | Finish) and step.thought:
        yield element("p", step.thought, class_="thought", dir="auto")
    if isinstance(step, Finish):
        yield element("h4", "Answer")
        yield element("pre", step.answer, dir="auto")


def _is_read(step: Step | None) -> bool:
    """Whether the parts of a reply say all that it says."""
    return isinstance(step, Act | Finish)


def _folded(title: str, text: str) -> Markup:
    return element("details", element("summary", title), element("pre", text, dir="auto"))


def _exchanged(exchange: Exchange) -> Iterator[Content]:
    if exchange.step:
        yield from _stepped(exchange.step)
    if exchange.observation:
        yield _observed(exchange.observation)


def _stepped(step: Stepped) -> Iterator[Content]:
    if step.tool:
        yield element(
            "p", element("b", step.tool), " ", element("code", _arguments(step)), class_="call"
        )
    elif step.kind == "malformed":
        yield element("p", "This reply was not understood.", class_="problem")
    if step.notes:
        notes = (element("li", note, dir="auto") for note in step.notes)
        yield element("ul", *notes, class_="notes")


def _arguments(step: Stepped) -> str:
    if isinstance(step.arguments, str):
        return step.arguments
    return msgspec.json.encode(step.arguments or {}).decode()


def _observed(seen: Observed) -> Markup:
    took = f"{seen.seconds:.1f} s" if seen.seconds >= _WORTH_TELLING_S else ""
    sources = [element("li", link(source)) for source in seen.sources]
    return element(
        "div",
        element("h4", "Observation", element("small", took) if took else None),
        element("pre", seen.content, dir="auto"),
        element("ul", *sources, class_="sources") if sources else None,
        class_="observation failed" if seen.error else "observation",
    )
