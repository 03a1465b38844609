"""Documents: what each source said in a run, read off the observations that the tools gave.

An observation is a page, or a list of search results; each result is a source of its own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from chart_binder.domain.naming import plain_text
from chart_binder.domain.vocabulary import fold
from chart_binder.react.sanitize import one_line
from chart_binder.react.transcript import AnyEvent, Observed, Stepped
from chart_binder.web.passages import CELLS, GAPS, may_be_caption, names_columns
from chart_binder.web.sites import host_of, independent_sources, normal_address, registered_site

if TYPE_CHECKING:
    from chart_binder.domain.dates_in_text import Mention

MAX_PASSAGE = 700
"""Characters of a passage, with its page's title and heading."""
_FETCHING = frozenset({"web_fetch", "wikipedia", "musicbrainz"})
"""The tools that read a page itself, rather than what a search engine says of it."""
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_PAGE_HEAD = re.compile(r"\ATitle: (.*)\n(?:Address: .*\n)?(?:Published: .*\n)?")
_REMARK = re.compile(
    r"^\((?:passages about|the page|nothing on|no passage|some search|\d+ more).*\)$", re.MULTILINE
)
_ENTRY = re.compile(r"^([0-9]+)\. (.*)\n[ ]*(https?://\S+)[ ]*$", re.IGNORECASE | re.MULTILINE)
"""An entry of a search: its number, its title, and below it the address that it is of."""
_ENTRY_SITE = re.compile(r" \([^()]*\)$")
_DIRECT = re.compile(r"^‹?(?:Answer|Infobox)\b.*", re.MULTILINE)  # a label is shown in marks
_LAST = re.compile(r"\((https?://\S+)\)[ ]*$", re.IGNORECASE)
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """What one source said in this run: a page, or one entry among search results.

    `addresses` begins with the one where it was read in the end; `number` is that of a result.
    """

    addresses: tuple[str, ...]
    title: str
    text: str
    number: int | None = None
    is_fetched: bool = False

    @property
    def address(self) -> str:
        """Where it was read."""
        return self.addresses[0]

    @property
    def site(self) -> str:
        """The registered domain that is responsible for it."""
        return registered_site(self.address)

    @cached_property
    def mentions(self) -> "Sequence[Mention]":
        """The dates in the text."""
        from chart_binder.domain.dates_in_text import find_dates  # compiles 0.1 s of expressions

        return find_dates(self.text)

    @cached_property
    def normal(self) -> tuple[str, list[int]]:
        """The text as quotes are compared, with the offset of each of its characters."""
        return plain_text(self.text)

    def line(self, place: int) -> tuple[int, int]:
        """Return where the line around an offset begins and ends."""
        end = self.text.find("\n", place)
        return self.text.rfind("\n", 0, place) + 1, len(self.text) if end < 0 else end

    def headings(self, place: int, *, of_table: bool = True) -> tuple[str, ...]:
        """Return the headings above an offset, widest first, then its table's caption and columns.

        A heading is above what follows it until one as wide; the page's own is left out where a
        narrower one is there.
        """
        starts, above = self._above
        sections, table = above[bisect_right(starts, place) - 1]
        return (*sections, *(table if of_table else ()))

    @cached_property
    def _above(self) -> tuple[list[int], list[tuple[list[str], list[str]]]]:
        """Where each line begins, the headings above it, and the caption and columns of a row.

        What an excerpt leaves out ends no table; a line of one cell is the caption of what follows.
        """
        starts, above = [0], list[tuple[list[str], list[str]]]()
        open_ones: list[tuple[int, str]] = []
        caption = columns = ""
        is_in_table = False
        for line in self.text.split("\n"):
            shown = [text for width, text in open_ones if width > 1] or [t for _, t in open_ones]
            named = (caption, columns if is_in_table else "") if CELLS in line else ()
            above.append((shown, list(filter(None, named))))
            if CELLS in line:
                columns = columns if is_in_table else names_columns(line) * line
                is_in_table = True
            elif line not in GAPS:
                caption = may_be_caption(line) * line
                is_in_table = is_in_table and caption != ""
            if line.startswith("#"):
                width = len(line) - len(line.lstrip("#"))
                open_ones = [each for each in open_ones if each[0] < width]
                open_ones.append((width, line.lstrip("# ")))
            starts.append(starts[-1] + len(line) + 1)
        return starts[:-1], above

    def passage(self, place: int, end: int) -> str:
        """Return the text around a span, with the page's title and the nearest heading."""
        head = [f"Page: {self.title[:120]}"] if self.title else []
        head += [f"Under: {each[:120]}" for each in self.headings(place)]
        room = MAX_PASSAGE - sum(len(line) + 1 for line in head)
        begin, stop = self.line(place)[0], self.line(max(place, end - 1))[1]
        if stop - begin <= room:  # neighbouring lines, as many as there is room for
            while begin > 0 and stop - self.line(begin - 1)[0] <= room - (room // 3):
                begin = self.line(begin - 1)[0]
            while stop < len(self.text) and self.line(stop + 1)[1] - begin <= room:
                stop = self.line(stop + 1)[1]
        else:
            begin = max(begin, place - room // 2)
            stop = min(stop, begin + room)
        return "\n".join((*map(one_line, head), *map(one_line, self.text[begin:stop].split("\n"))))


def read_documents(events: Iterable[AnyEvent]) -> tuple[Document, ...]:
    """Return what the sources of a run said, in the order in which they were read.

    An entry of a search is of the address on its own line alone, whatever else it names, and is one
    only where the tool says that it read that address: a page may imitate entries. What
    stands before the entries is of the sources that none of them is of, where those are one site.
    """
    tool: str | None = None
    found: list[Document] = []
    for event in events:
        if isinstance(event, Stepped):
            tool = event.tool
        elif isinstance(event, Observed) and not event.error and event.sources:
            found += _documents(event, is_fetched=tool in _FETCHING)
    return tuple(found)


def _documents(observed: Observed, *, is_fetched: bool) -> Iterator[Document]:
    content = _REMARK.sub("", observed.content)
    read = set(map(normal_address, observed.sources))
    starts = [each for each in _ENTRY.finditer(content) if normal_address(each[3]) in read]
    head = content[: starts[0].start()] if starts else content
    owned = {normal_address(start[3]) for start in starts}
    for line in _DIRECT.findall(head):
        last = _LAST.search(line)
        if last and normal_address(last[1]) in read:
            owned.add(normal_address(last[1]))
            yield Document((last[1],), "", _without_addresses(line[: last.start()]))
    others = [each for each in observed.sources if normal_address(each) not in owned]
    if others and len(independent_sources(others)) == 1:
        page = _PAGE_HEAD.match(head)
        text = _DIRECT.sub("", head[page.end() :] if page else head)
        text = _without_addresses(_QUOTE_MARK.sub("", text)).strip("\n")
        yield Document(tuple(others), page[1] if page else "", text, is_fetched=is_fetched)
    ends = (*(each.start() for each in starts), len(content))
    for start, end in zip(starts, ends[1:], strict=True):
        title = _ENTRY_SITE.sub("", start[2])
        text = _without_addresses(content[start.end() : end]).strip("\n")
        yield Document((start[3],), title, f"{title}\n{text}", int(start[1]))


def _without_addresses(text: str) -> str:
    """Drop addresses: one that names a date proves nothing, as the model may have made it up."""
    return _ADDRESS.sub(" ", text)


# What a source names.

_MIN_NAME = 4
_RESULT_NUMBER = re.compile(
    r"(?:search )?(?:result|source|observation)?\s*[\[(#]?(\d{1,2})[\])]?\.?"
)
_NO_NAME = re.compile(
    r"(?:(?:the|above|this|that|fetched|web|search|internet|page|site|source|result|observation|turn"
    r"|tool|article|_fetch|_search)s?[ :#]*|[\[(]?\d{1,2}(?!\d)[\])]?\.?[ ]*)+"
)
"""A source in words that name none: what is cited is looked for in all that was read."""
_BARE_HOST = re.compile(r"(?:www\.)?((?:[a-z0-9-]+\.)+[a-z]{2,})/?", re.IGNORECASE)


def documents_named(source: str, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the documents that a source names: by address, result number, host or page title.

    Without a source it is all of them; none where nothing that was read is named.
    """
    written = source.strip().strip("<>\"'` ")
    if not written:
        return documents
    if "//" in written:
        return _of_addresses([written], documents)
    plain = " ".join(fold(written).split())
    return next(filter(None, _named_by(written, plain, documents)), ())


def _named_by(
    written: str, plain: str, documents: Sequence[Document]
) -> Iterator[Sequence[Document]]:
    """Yield the documents that a text may mean, what it says most plainly first."""
    if number := _RESULT_NUMBER.fullmatch(plain):
        results = (d.address for d in documents if d.number == int(number[1]))
        yield _of_addresses(results, documents)
    if host := _BARE_HOST.fullmatch(plain):
        yield [d for d in documents if f".{host_of(d.address)}".endswith(f".{host[1]}")]
    if "/" in plain and "." in plain.partition("/")[0]:
        yield _of_addresses([f"https://{written}"], documents)
    if len(plain) >= _MIN_NAME:
        yield [d for d in documents if plain in " ".join(fold(d.title).split())]
        yield [d for d in documents if (title := fold(d.title)) and title in plain]
        yield [d for d in documents if fold(d.site.partition(".")[0]) == plain]
        names = plain.split()
        yield [d for d in documents if d.site.partition(".")[0] in names]
    if _NO_NAME.fullmatch(plain) and not plain.strip("[]().# ").isdigit():
        yield documents


def _of_addresses(written: Iterable[str], documents: Sequence[Document]) -> Sequence[Document]:
    wanted = set(map(normal_address, written))
    return [d for d in documents if not wanted.isdisjoint(map(normal_address, d.addresses))]
