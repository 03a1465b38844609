"""A reply is taken part by part, until it is whole or cannot be."""

from collections.abc import Generator
from contextlib import closing

from chart_binder.chat.aloud import UnsaidError
from chart_binder.chat.deadline import Deadline
from chart_binder.chat.draft import Draft, Part
from chart_binder.chat.faults import LATE, Asked, Fault
from chart_binder.chat.patience import PassingError
from chart_binder.react.conversation import ChatError, Reply

COUNTS_S = 2.0  # what a server may take for its counts once the model has ended
UNFINISHED = Fault(
    "{server} at {address} ended its reply before it was done: look into the server's log"
)
ENDLESS = Fault(
    "model {model!r} at {address} went on past {detail} bytes, more than llm.max_tokens hold: "
    "look whether its server keeps to the limit it is given"
)
SILENT = Fault(
    "model {model!r} at {address} answered with nothing{detail}: choose another model, give it "
    "more context, or look into the server's log"
)
CALLED = Fault(
    "model {model!r} at {address} answered with a tool call of its server's own{detail}, where "
    "text was asked for: start the server without its tool parser, set llm.prompting to raw, or "
    "choose another model"
)
_WORDLESS = {
    "length": Fault(
        "model {model!r} at {address} spent all its tokens without a word of an answer{detail}: "
        "raise llm.max_tokens"
    ),
    "tool_calls": CALLED,
    "content_filter": Fault(
        "the server of model {model!r} at {address} filtered its whole answer out{detail}: "
        "choose another model or server"
    ),
}
"""By why it ended."""


def take(parts: Generator[Part, None, None], draft: Draft, asked: Asked, wait: Deadline) -> Reply:
    """Return the reply that the parts make, and hang up as soon as the rest does not count.

    Raises `ChatError`; `PassingError` only while nothing of the reply has come. What goes wrong
    after the model's last word costs the counts alone.
    """
    try:
        _fill(draft, parts, wait)
    except ChatError as error:
        if isinstance(error, PassingError) and draft.begun and not draft.is_whole:
            raise ChatError(str(error)) from error
        if not draft.is_whole:
            raise
    if draft.overflows:
        raise ENDLESS.error(asked, str(draft.most_bytes))
    if not draft.is_whole:
        raise (LATE if wait.passed else UNFINISHED).error(asked)
    if not draft.content.strip():
        fault = CALLED if draft.calls else _WORDLESS.get(draft.done_reason or "", SILENT)
        if fault is SILENT and draft.thinking and draft.done_reason == "stop":
            raise UnsaidError(str(fault.error(asked, ", though it was thinking")))
        raise fault.error(asked, ", though it was thinking" if draft.thinking else "")
    return draft.reply()


def _fill(draft: Draft, parts: Generator[Part, None, None], wait: Deadline) -> None:
    with closing(parts):
        for part in parts:
            draft.add(part)
            if draft.overflows or draft.is_over:
                return
            if draft.is_whole:
                wait.shorten(COUNTS_S)
