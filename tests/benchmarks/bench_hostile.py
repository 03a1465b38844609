"""What hostile servers cost a fetch: seconds, CPU seconds and megabytes, the dearest first.

Seconds are those of the clock, less those that the process waited for a processor.

`bench_hostile.py [WORDS]`: only the answers with these words in their name. Exits with 1 where one
costs more than it may.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.answers import ANSWERS, HostileServer
from hostile.harness import MAX_DELAY_S, MAX_GROWTH_MB, Measuring, Outcome

_SHOWN = 25


def main() -> int:
    """Measure, print, and hold to the limits."""
    words = " ".join(sys.argv[1:])
    outcomes: dict[str, Outcome] = {}
    with Measuring() as fetch, HostileServer() as server:
        for name, hostile in ANSWERS.items():
            if words in name:
                outcomes[name] = server.fetched(hostile, fetch)
    over = [name for name, outcome in outcomes.items() if _is_too_dear(name, outcome)]
    dearest = sorted(outcomes, key=lambda name: -max(_costs(name, outcomes[name])))
    print(f"{'seconds':>8} {'CPU':>6} {'MB':>6}  came of   answer")
    for name in dearest[:_SHOWN]:
        it = outcomes[name]
        print(
            f"{it.own_seconds:8.2f} {it.cpu_seconds:6.2f} {it.grown_mb:6.1f}  {it.result:8}  {name}"
        )
    most_mb = max(outcome.grown_mb for outcome in outcomes.values())
    late = max(outcomes[name].own_seconds - ANSWERS[name].timeout_s for name in outcomes)
    print(f"{len(outcomes)} answers: at most {most_mb:.1f} MB, {late:+.2f} s after the deadline")
    for name in over:
        print(f"TOO DEAR: {name}")
    return 1 if over else 0


def _costs(name: str, outcome: Outcome) -> tuple[float, float]:
    """Return the shares of what is allowed that an answer used up."""
    allowed_s = ANSWERS[name].timeout_s + MAX_DELAY_S
    return outcome.grown_mb / MAX_GROWTH_MB, outcome.own_seconds / allowed_s


def _is_too_dear(name: str, outcome: Outcome) -> bool:
    return max(_costs(name, outcome)) >= 1 or outcome.result not in ANSWERS[name].may


if __name__ == "__main__":
    sys.exit(main())
