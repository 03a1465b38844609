"""The passages of a page that bear on when, where and on what a recording came out."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LONGEST_PIECE = 400
_SHORTEST_PIECE = 30
_OPENING = 3  # pieces
_GAP = "[...]"
_SENTENCE_END = re.compile(r"(?<=[.!?;。])\s+|(?<=。)")
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_WORD = re.compile(r"\w+")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


# What an answer about a release rests on.
_TELLING = _words(
    "release released releases issued date year single album ep lp cd vinyl cassette label labels"
    " catalog catalogue cat format country recorded recording soundtrack compilation original"
    " first premiere debut promo reissue remaster charted"
)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Blocks in the page's order with gaps marked; `shown` of `total` characters are in it."""

    lines: tuple[str, ...]
    shown: int
    total: int


def excerpt(blocks: Sequence[str], max_chars: int, wanted: str = "", per_line: int = 1) -> Excerpt:
    """Choose blocks worth at most `max_chars`, with `per_line` characters added to each.

    A page that fits is shown whole. Of a longer one the opening is kept, then what has dates,
    words about releases, and words of `wanted` (a title, an artist, a question), which count most.
    """
    longest = min(_LONGEST_PIECE, max(_SHORTEST_PIECE, max_chars // 5))
    pieces = [piece for block in blocks for piece in _pieces(block, longest)]
    total = sum(len(piece) + per_line for piece in pieces)
    if total <= max_chars or not pieces:
        return Excerpt(tuple(pieces), total, total)
    words = _words(wanted)
    order = sorted(range(len(pieces)), key=lambda at: (-_worth(pieces[at], at, words), at))
    chosen: set[int] = set()
    room = max_chars - len(_GAP) - per_line
    for at in order:
        heading = _heading_of(pieces, at)
        new = {at, heading} - chosen if heading is not None else {at} - chosen
        cost = sum(len(pieces[one]) + len(_GAP) + 2 * per_line for one in new)
        if cost <= room:
            chosen |= new
            room -= cost
    return Excerpt(
        _with_gaps(pieces, chosen), sum(len(pieces[at]) + per_line for at in chosen), total
    )


def _pieces(block: str, longest: int) -> Iterable[str]:
    """Cut a long block at the ends of sentences, and where there are none anywhere."""
    if len(block) <= longest:
        return [block]
    pieces = [""]
    for sentence in _SENTENCE_END.split(block):
        if pieces[-1] and len(pieces[-1]) + len(sentence) >= longest:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]} {sentence}".strip()
    return [
        piece[start : start + longest]
        for piece in pieces
        for start in range(0, len(piece), longest)
    ]


def _worth(piece: str, at: int, wanted: frozenset[str]) -> float:
    words = _words(piece)
    worth = 2.0 * min(len(_YEAR.findall(piece)), 2) + min(len(words & _TELLING), 4)
    worth += 4.0 * len(words & wanted)
    if at < _OPENING:
        worth += 4.0  # the opening says what the page is about
    if piece.startswith("#"):
        worth /= 4  # a heading comes along with what stands under it
    return worth / math.sqrt(len(piece) + 40)


def _heading_of(pieces: Sequence[str], at: int) -> int | None:
    for above in range(at - 1, max(at - 40, -1), -1):
        if pieces[above].startswith("#"):
            return above
    return None


def _with_gaps(pieces: Sequence[str], chosen: set[int]) -> tuple[str, ...]:
    lines: list[str] = []
    last = -1
    for at in sorted(chosen):
        if at != last + 1:
            lines.append(_GAP)
        lines.append(pieces[at])
        last = at
    if chosen and last != len(pieces) - 1:
        lines.append(_GAP)
    return tuple(lines)
