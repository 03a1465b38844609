"""What the loop adds to a three-turn run: `python tests/benchmarks/bench_loop.py`.

The model and the tool answer at once. The yardstick is the least that a run must do in any
program: build the messages, ask three times, read two JSON objects and call one function twice.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from chart_binder.react.conversation import Message, Reply, Terms
from chart_binder.react.dialects.classic import Classic
from chart_binder.react.loop import converse
from chart_binder.react.tools import Tool, Toolbox
from chart_binder.react.transcript import AnyEvent

REPLIES = (
    'Thought: one\nAction: add\nAction Input: {"a": 1, "b": 2}',
    'Thought: two\nAction: add\nAction Input: {"a": 3, "b": 3}',
    "Thought: done\nFinal Answer: 6",
)
OPENING = (Message("system", "Add up. " * 300), Message("user", "What is 1 + 2 + 3? " * 200))
ROUNDS, REPEATS = 15, 100
LIMIT_MS = 2.0


class Instant:
    """A model that has its replies ready."""

    model_id = "instant"

    def reply(self, messages: Sequence[Message], terms: Terms) -> Reply:
        """Return the reply of this turn."""
        return Reply(REPLIES[len(messages) // 2 - 1])


def add(a: int, b: int) -> str:
    """Add two whole numbers."""
    return str(a + b)


def loop() -> None:
    """Run three turns."""
    events: list[AnyEvent] = []
    ending = converse(
        Instant(),
        Classic(),
        Toolbox([Tool.of(add)]),
        OPENING,
        judge=lambda text, _: text,
        watch=events.append,
    )
    assert ending.answer == "6"


def least() -> None:
    """Do the least that three turns take."""
    messages = list(OPENING)
    model = Instant()
    for _ in range(2):
        reply = model.reply(messages, Terms()).content
        shown = add(**json.loads(reply[reply.index("{") :]))
        messages += [Message("assistant", reply), Message("user", f"Observation: {shown}")]
    assert model.reply(messages, Terms()).content.endswith("6")


def ms(run: Callable[[], None]) -> float:
    """Return the milliseconds of one run, on average over many."""
    started = time.perf_counter()
    for _ in range(REPEATS):
        run()
    return (time.perf_counter() - started) / REPEATS * 1000


def main() -> int:
    """Print both figures and return 1 if the loop is over its limit."""
    rounds = [(ms(loop), ms(least)) for _ in range(ROUNDS)]
    added = statistics.median(mine - bare for mine, bare in rounds)
    ratio = statistics.median(mine / bare for mine, bare in rounds)
    print(f"three turns: the loop adds {added:.3f} ms (limit {LIMIT_MS}; {ratio:.0f} x the least)")
    return int(added > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
