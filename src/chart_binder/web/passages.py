"""The passages of a page that bear on when, where and on what a recording came out."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chart_binder.web.worth import Question, worths

GAP = "…"
_LONGEST_PIECE = 260
_SHORTEST_PIECE = 30
_LONGEST_HEAD = 160
_FARTHEST_HEADING = 40
_FEWEST_COLUMNS = 3
_PART_END = re.compile(r"(?<=[.!?;] )|(?<=。)|(?= \| )")
_WORD_END = re.compile(r"(?<= )")
_BETWEEN_CELLS = " | "
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Blocks in the page's order with gaps marked; `shown` of `total` characters are in it."""

    lines: tuple[str, ...]
    shown: int
    total: int


def excerpt(
    blocks: Sequence[str], max_chars: int, about: str = "", find: str = "", per_line: int = 1
) -> Excerpt:
    """Choose blocks worth at most `max_chars`, with `per_line` characters added to each.

    A page that fits is shown whole. Of a longer one those passages are shown that have words to
    `find`, then those with dates, words about releases and words of what the question is `about`,
    each under its heading or under the names of its table's columns.
    """
    longest = min(_LONGEST_PIECE, max(_SHORTEST_PIECE, max_chars // 5))
    pieces = [piece for block in blocks for piece in _pieces(block, longest)]
    total = sum(len(piece) + per_line for piece in pieces)
    if total <= max_chars or not pieces:
        return Excerpt(tuple(pieces), total, total)
    worth = worths(pieces, Question.of(about, find))
    heads = _heads(pieces)
    choice = _Choice(pieces, max_chars, per_line)
    for at in sorted(range(len(pieces)), key=lambda at: (-worth[at], at)):
        choice.take(at, heads[at])
    return Excerpt(tuple(choice.lines()), choice.shown, total)


class _Choice:
    """The pieces chosen so far; `shown` counts their characters."""

    def __init__(self, pieces: Sequence[str], room: int, per_line: int) -> None:
        self._pieces = pieces
        self._per_line = per_line
        self._gap = len(GAP) + per_line
        self._room = room - self._gap  # as long as nothing is chosen, all is one gap
        self._chosen: set[int] = set()

    @property
    def shown(self) -> int:
        return sum(len(self._pieces[at]) + self._per_line for at in self._chosen)

    def take(self, at: int, head: int | None) -> None:
        """Choose a piece and its head, if both fit."""
        new = {at} if head is None else {at, head}
        new -= self._chosen
        room = self._room
        for each in new:
            left_out = sum(self._is_left_out(beside) for beside in (each - 1, each + 1))
            self._chosen.add(each)  # in the middle of a gap it makes two; between two pieces, none
            room -= len(self._pieces[each]) + self._per_line + self._gap * (left_out - 1)
        if room < 0:
            self._chosen -= new
        else:
            self._room = room

    def lines(self) -> Iterator[str]:
        """Yield what is chosen, in the page's order."""
        last = -1
        for at in sorted(self._chosen):
            if at != last + 1:
                yield GAP
            yield self._pieces[at]
            last = at
        if last != len(self._pieces) - 1:
            yield GAP

    def _is_left_out(self, at: int) -> bool:
        return 0 <= at < len(self._pieces) and at not in self._chosen


def _pieces(block: str, longest: int) -> Iterator[str]:
    """Cut a long block at the ends of sentences or cells, else between words, else anywhere."""
    piece = ""
    for part in _parts(block, longest) if len(block) > longest else [block]:
        if piece and len(piece) + len(part) > longest:
            yield piece.strip(" |")
            piece = ""
        piece += part
    yield piece.strip(" |")


def _parts(text: str, longest: int) -> Iterator[str]:
    for part in _PART_END.split(text):
        if len(part) <= longest:
            yield part
            continue
        for word in _WORD_END.split(part):
            yield from (word[at : at + longest] for at in range(0, len(word), longest))


def _heads(pieces: Sequence[str]) -> list[int | None]:
    """Return what must be read above each piece: the names of its columns, else its heading."""
    heads: list[int | None] = []
    heading = columns = None
    is_row = [piece.count(_BETWEEN_CELLS) >= _FEWEST_COLUMNS - 1 for piece in pieces]
    for at, piece in enumerate(pieces):
        if piece.startswith("#"):
            heading = at
        if not is_row[at]:
            columns = None
        elif at == 0 or not is_row[at - 1]:
            columns = at if _names_columns(piece) else None
        head = heading if columns is None else columns
        is_near = head is not None and (head == columns or at - head <= _FARTHEST_HEADING)
        heads.append(head if is_near and head != at else None)
    return heads


def _names_columns(row: str) -> bool:
    return len(row) <= _LONGEST_HEAD and not _DIGIT.search(row)
