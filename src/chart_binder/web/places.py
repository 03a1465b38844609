"""Places of quotes and values in documents, and what surrounds them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from chart_binder.domain.dates_in_text import Mention
from chart_binder.web import clauses
from chart_binder.web.documents import SourceText
from chart_binder.web.passages import CELLS, GAPS, may_be_caption

_LONGEST_ENTRY = 150
"""The most characters of a list entry that states a fact; a longer one tells a story."""
_MOST_BOX_LINES = 12
_LABELLED = re.compile(r"[^.:]{1,60}: ")
_SENTENCE_END = re.compile(r"(?<!\d)[.!?] (?=[^\Wa-z\d])")


@dataclass(frozen=True)
class Place:
    """A place in a document: a value or a quote, with what surrounds it."""

    document: SourceText
    start: int
    end: int

    @classmethod
    def of(cls, document: SourceText, mention: Mention) -> "Place":
        """Return the place of a date in a document."""
        return cls(document, mention.start, mention.end)

    @property
    def passage(self) -> str:
        """The text around the place, with the page's title and headings."""
        return self.document.passage(self.start, self.end)

    @property
    def value(self) -> str:
        """The text of the place itself."""
        return self.document.text[self.start : self.end]

    @property
    def line(self) -> str:
        """The line in which it begins."""
        return self.document.text[slice(*self.document.line(self.start))]

    @property
    def offset(self) -> int:
        """How many characters of its line precede it."""
        return self.start - self.document.line(self.start)[0]

    @property
    def column(self) -> int:
        """How many cells of its row precede its own."""
        return self.line[: self.offset].count(CELLS)

    @property
    def column_names(self) -> Sequence[str]:
        """The names of the columns of its table; empty if nothing names them."""
        headings = reversed(self.document.headings(self.start))
        return next((heading.split(CELLS) for heading in headings if CELLS in heading), ())

    @property
    def clause(self) -> str:
        """The clause that contains it."""
        return clauses.clause_around(self.document.text, self.start, self.end)

    @property
    def row_or_clause(self) -> str:
        """The row that contains it; outside of rows, the clause."""
        return self.line if self.is_row else self.clause

    @property
    def above(self) -> tuple[str, ...]:
        """The headings above it, and the page's title."""
        return (*self.document.headings(self.start), self.document.title)

    @property
    def is_row(self) -> bool:
        """Whether it is in a row of a table."""
        return CELLS in self.line

    @property
    def box(self) -> Sequence[str]:
        """The other lines of the box around its row: rows and short lines.

        A row of more than two cells is in no box. A gap in an excerpt does not end a box.
        """
        if self.line.count(CELLS) > 1:
            return ()
        text, (start, end) = self.document.text, self.document.line(self.start)
        sides = reversed(text[:start].split("\n")[:-1]), iter(text[end + 1 :].split("\n"))
        lines = (islice(takewhile(_is_in_box, side), _MOST_BOX_LINES) for side in sides)
        return [*chain.from_iterable(lines)]

    @property
    def is_structured(self) -> bool:
        """Whether it is in a row, after a label in its line, or in a short entry of a list."""
        line = self.line
        is_short = len(line) <= _LONGEST_ENTRY and not _SENTENCE_END.search(line)
        is_entry = line.startswith("- ") and is_short
        return is_entry or not self.is_prose

    @property
    def is_prose(self) -> bool:
        """Whether it is neither in a row nor after a label in its line."""
        label = _LABELLED.match(self.line)
        return not (self.is_row or (label and label.end() <= self.offset))


def _is_in_box(line: str) -> bool:
    is_labelled = line.count(CELLS) == 1 or bool(_LABELLED.match(line))
    return is_labelled or may_be_caption(line) or line in GAPS
