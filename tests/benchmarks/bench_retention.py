"""How many of a page's dated facts reach the model, beside as long a beginning of its text.

Measured at 2,000 characters, at those of a fetched page as installed, and at the part that each of
four pages has in a search. Exits with 1 where less than nine in ten are kept at 2,000, or no more
than the beginning has.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chart_binder.config import FetchConfig
from hostile.retention import IN_A_SEARCH, LEAST, retained
from web.shapes import SHAPES


def main() -> int:
    """Print a line a page, then the sums."""
    print(f"{'page':45} {'facts':>5} {'shown':>6} {'start':>6}")
    kept = [(shape, retained(shape)) for shape in SHAPES]
    for shape, (shown, beginning) in kept:
        print(f"{shape.name:45} {len(shape.facts):5} {shown:6} {beginning:6}")
    every = sum(len(shape.facts) for shape, _ in kept)
    shares = [sum(counts[at] for _, counts in kept) / every for at in (0, 1)]
    print(f"{'share of dated facts':45} {every:5} {shares[0]:6.0%} {shares[1]:6.0%}")
    for most in (FetchConfig().max_chars, IN_A_SEARCH):
        there = [sum(counts) for counts in zip(*(retained(s, most) for s in SHAPES), strict=True)]
        shown, beginning = (count / every for count in there)
        print(f"{f'the same in {most:,} characters':45} {every:5} {shown:6.0%} {beginning:6.0%}")
    return 0 if shares[0] >= LEAST and shares[0] > shares[1] else 1


if __name__ == "__main__":
    sys.exit(main())
