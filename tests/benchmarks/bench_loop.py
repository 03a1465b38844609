"""What the loop adds to a three-turn run: `python tests/benchmarks/bench_loop.py`.

The model and the tool answer at once. The yardstick is the least that a run must do in any
program: build the messages, ask three times, read the JSON objects and call one function twice.
Three kinds of replies: the answer on the line of its label, the answer in a fence as the prompts
ask for it (both read at one look), and labels in bold, which the whole parser reads (no limit).
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from chart_binder.react.conversation import GenerationOptions, Message, Reply
from chart_binder.react.dialect import Classic
from chart_binder.react.loop import Hooks, Task, converse
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import AnyEvent

CALLS = (
    'Thought: one\nAction: add\nAction Input: {"a": 1, "b": 2}',
    'Thought: two\nAction: add\nAction Input: {"a": 3, "b": 3}',
)
LINE = (*CALLS, 'Thought: done\nFinal Answer: {"sum": 6}')
FENCED = (*CALLS, 'Thought: done\nFinal Answer:\n```json\n{"sum": 6}\n```')
BOLD = tuple(
    reply.replace("Action", "**Action").replace(":", ":**", 2).replace("Thought", "**Thought")
    for reply in LINE
)
REPLIES = {"on one line": LINE, "in a fence": FENCED, "in bold": BOLD}
OPENING = (Message("system", "Add up. " * 300), Message("user", "What is 1 + 2 + 3? " * 200))
ROUNDS, REPEATS = 15, 100
LIMIT_MS = 2.0


class Instant:
    """A model that has its replies ready."""

    model_id = "instant"

    def __init__(self, replies: Sequence[str]) -> None:
        self._replies = replies

    def reply(self, messages: Sequence[Message], options: GenerationOptions) -> Reply:
        """Return the reply of this turn."""
        return Reply(self._replies[len(messages) // 2 - 1])


def add(a: int, b: int) -> str:
    """Add two whole numbers."""
    return str(a + b)


def loop(replies: Sequence[str]) -> None:
    """Run three turns."""
    events: list[AnyEvent] = []
    ending = converse(
        Instant(replies),
        Classic(),
        Toolbox([Tool.of(add)]),
        Task(OPENING, lambda text, _: text),
        Hooks(events.append),
    )
    assert ending.answer is not None
    assert '{"sum": 6}' in ending.answer


def least(replies: Sequence[str]) -> None:
    """Do the least that three turns take."""
    messages = list(OPENING)
    model = Instant(replies)
    for _ in range(2):
        reply = model.reply(messages, GenerationOptions()).content
        shown = add(**json.loads(reply[reply.index("{") : reply.index("}") + 1]))
        messages += [Message("assistant", reply), Message("user", f"Observation: {shown}")]
    reply = model.reply(messages, GenerationOptions()).content
    assert json.loads(reply[reply.index("{") : reply.index("}") + 1]) == {"sum": 6}


def ms(run: Callable[[Sequence[str]], None], replies: Sequence[str]) -> float:
    """Return the milliseconds of one run, on average over many."""
    started = time.perf_counter()
    for _ in range(REPEATS):
        run(replies)
    return (time.perf_counter() - started) / REPEATS * 1000


def main() -> int:
    """Print the figures of each kind of replies; return 1 if the loop is over its limit."""
    over = 0
    for kind, replies in REPLIES.items():
        rounds = [(ms(loop, replies), ms(least, replies)) for _ in range(ROUNDS)]
        added = statistics.median(mine - bare for mine, bare in rounds)
        ratio = statistics.median(mine / bare for mine, bare in rounds)
        limit = "no limit" if replies is BOLD else f"limit {LIMIT_MS}"
        cost = f"{added:.3f} ms ({limit}; {ratio:.0f} x the least)"
        print(f"three turns {kind:<12} the loop adds {cost}")
        over |= replies is not BOLD and added > LIMIT_MS
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
