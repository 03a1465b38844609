"""The documents of a run, and which of their sources are independent of one another.

An observation is a page or a list of search results; each result is a source of its own. A site,
its mirrors and its archived pages count as one source. The table of second-level domains is our
own because the public suffix list would make two sources of two pages on `github.io`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urlsplit

import tomli

from chart_binder.domain.vocabulary import fold, plain_text
from chart_binder.react.sanitize import one_line
from chart_binder.react.steps import Document, Observation
from chart_binder.react.transcript import AnyEvent, ObservationEvent, StepEvent
from chart_binder.web.markup import Links
from chart_binder.web.passages import CELLS, GAPS, may_be_caption, names_columns

if TYPE_CHECKING:
    from chart_binder.domain.dates_in_text import Mention

MAX_PASSAGE = 700
"""The most characters of a passage, with its page's title and headings."""
LINKED_PAGES = "linked_pages"
"""The tool with which code reads what MusicBrainz links to; no model can call it."""
_LINKED = "Linked by MusicBrainz to release-group/"
_LINKED_DATE = re.compile(rf"{_LINKED}(\S+)\nfirst release{re.escape(CELLS)}(\d{{4}}\S*)\n")
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


@dataclass(frozen=True)
class SourceText:
    """The text of a document as code searches it; its own address is the first of `addresses`."""

    addresses: tuple[str, ...]
    title: str
    text: str
    number: int | None = None
    """The place among the results of a search; None for any other document."""
    is_fetched: bool = False
    linked: tuple[str, str] | None = None
    """The id of the release group that MusicBrainz links to it, and the date that its structure
    states; None for any other page."""
    links: Links = ()
    """The links that may lead to pages about records."""

    @classmethod
    @lru_cache(256)
    def of(cls, document: Document, *, is_linked: bool = False) -> "SourceText":
        """Return the text of a document below lines with its headings.

        Addresses in the text are removed: a date in an address proves nothing, because the model
        may have made it up.
        """
        headings = (f"{'#' * level} {text}" for level, text in enumerate(document.headings, 1))
        # Only code sets headings; the headings of a page are lines of its text.
        linked = document.headings and _LINKED_DATE.match(
            "\n".join((*document.headings, document.text))
        )
        return cls(
            (document.address, *document.aliases),
            document.title,
            "\n".join((*headings, _ADDRESS.sub(" ", document.text))),
            document.number,
            document.is_fetched,
            (linked[1], linked[2]) if linked and is_linked else None,
            document.links,
        )

    @property
    def address(self) -> str:
        """Where the document was read, after redirects."""
        return self.addresses[0]

    @property
    def is_cut(self) -> bool:
        """Whether it is an excerpt of a page that was fetched."""
        return self.is_fetched and not set(GAPS).isdisjoint(self.text.split("\n"))

    @property
    def site(self) -> str:
        """The registered domain of the site that is responsible for the document."""
        return registered_site(self.address)

    @cached_property
    def mentions(self) -> "Sequence[Mention]":
        """The dates in the text."""
        from chart_binder.domain.dates_in_text import find_dates  # compiles 0.1 s of expressions

        return find_dates(self.text)

    @cached_property
    def normal(self) -> tuple[str, list[int]]:
        """The text as quotes are compared to it, and the offset in `text` of each character."""
        return plain_text(self.text)

    def line(self, place: int) -> tuple[int, int]:
        """Return the offsets at which the line around `place` begins and ends."""
        end = self.text.find("\n", place)
        return self.text.rfind("\n", 0, place) + 1, len(self.text) if end < 0 else end

    def headings(self, place: int, *, of_table: bool = True) -> tuple[str, ...]:
        """Return the headings above an offset, widest first, then its table's caption and columns.

        The heading of the whole page is left out if there is a narrower one. Without `of_table`,
        return the headings alone.
        """
        starts, above = self._headings_by_line
        sections, table = above[bisect_right(starts, place) - 1]
        return (*sections, *(table if of_table else ()))

    @cached_property
    def _headings_by_line(self) -> tuple[list[int], list[tuple[list[str], list[str]]]]:
        """The offset of each line; for each, its headings and its table's caption and columns.

        A gap in an excerpt does not end a table. A line without cells may caption the next table.
        """
        starts, above = [0], list[tuple[list[str], list[str]]]()
        open_headings: list[tuple[int, str]] = []
        caption = columns = ""
        is_in_table = False
        for line in self.text.split("\n"):
            sections = [heading for heading in open_headings if heading[0] > 1] or open_headings
            headings = [text for _, text in sections]
            table = (caption, columns if is_in_table else "") if CELLS in line else ()
            above.append((headings, list(filter(None, table))))
            if CELLS in line:
                columns = columns if is_in_table else names_columns(line) * line
                is_in_table = True
            elif line not in GAPS:
                caption = may_be_caption(line) * line
                is_in_table = is_in_table and caption != ""
            if line.startswith("#"):
                width = len(line) - len(line.lstrip("#"))
                open_headings = [heading for heading in open_headings if heading[0] < width]
                open_headings.append((width, line.lstrip("# ")))
            starts.append(starts[-1] + len(line) + 1)
        return starts[:-1], above

    def passage(self, place: int, end: int) -> str:
        """Return the text around a span, below the page's title and the headings above it.

        It has at most `MAX_PASSAGE` characters.
        """
        head = [f"Page: {self.title[:120]}"] if self.title else []
        head += [f"Under: {heading[:120]}" for heading in self.headings(place)]
        room = MAX_PASSAGE - sum(len(line) + 1 for line in head)
        begin, stop = self.line(place)[0], self.line(max(place, end - 1))[1]
        if stop - begin <= room:  # add as many neighbouring lines as fit
            while begin > 0 and stop - self.line(begin - 1)[0] <= room - (room // 3):
                begin = self.line(begin - 1)[0]
            while stop < len(self.text) and self.line(stop + 1)[1] - begin <= room:
                stop = self.line(stop + 1)[1]
        else:
            begin = max(begin, place - room // 2)
            stop = min(stop, begin + room)
        return "\n".join((*map(one_line, head), *map(one_line, self.text[begin:stop].split("\n"))))


def read_documents(events: Iterable[AnyEvent]) -> tuple[SourceText, ...]:
    """Return the documents of a run, in the order in which they were read."""
    texts: list[SourceText] = []
    is_linked = False
    for event in events:
        if isinstance(event, StepEvent):
            is_linked = event.tool == LINKED_PAGES
        elif isinstance(event, ObservationEvent) and not event.error:
            documents = documents_of(event.observation)
            texts += (SourceText.of(document, is_linked=is_linked) for document in documents)
    return tuple(texts)


def linked_document(document: Document, group: str, date: str, statement: str) -> Document:
    """Return a page that MusicBrainz links to `group`, with the first release date that it states.

    The heading marks it as such a page. It counts only in an observation of `LINKED_PAGES`.
    """
    text = f"first release{CELLS}{date}\n{statement}"
    return replace(document, headings=(f"{_LINKED}{group}",), text=text)


def documents_of(observation: Observation) -> tuple[Document, ...]:
    """Return the documents of an observation, or its content as one if a plug-in gave none.

    If the observation has several sources and no documents, nothing tells which source said what:
    return none.
    """
    if observation.documents or len(set(map(normal_address, observation.sources))) != 1:
        return observation.documents
    return (Document(observation.sources[0], text=observation.content),)


# Documents by the name that a model gives to its source.

_MIN_NAME = 4
_RESULT_NUMBER = re.compile(
    r"(?:search )?(?:result|source|observation)?\s*[\[(#]?(\d{1,2})[\])]?\.?"
)
_BARE_HOST = re.compile(r"(?:www\.)?((?:[a-z0-9-]+\.)+[a-z]{2,})/?", re.IGNORECASE)


def documents_named(source: str, documents: Sequence[SourceText]) -> Sequence[SourceText]:
    """Return the documents that `source` names: by address, result number, host or page title.

    Return all documents if `source` is blank.
    """
    name = source.strip().strip("<>\"'` ")
    if not name:
        return documents
    if "//" in name:
        return _at_urls([name], documents)
    folded = " ".join(fold(name).split())
    return next(filter(None, _named_by(name, folded, documents)), ())


def _named_by(
    name: str, folded: str, documents: Sequence[SourceText]
) -> Iterator[Sequence[SourceText]]:
    if number := _RESULT_NUMBER.fullmatch(folded):
        results = (d.address for d in documents if d.number == int(number[1]))
        yield _at_urls(results, documents)
    if host := _BARE_HOST.fullmatch(folded):
        yield [d for d in documents if f".{host_of(d.address)}".endswith(f".{host[1]}")]
    if "/" in folded and "." in folded.partition("/")[0]:
        yield _at_urls([f"https://{name}"], documents)
    if len(folded) >= _MIN_NAME:
        yield [d for d in documents if folded in " ".join(fold(d.title).split())]
        yield [d for d in documents if (title := fold(d.title)) and title in folded]
        yield [d for d in documents if d.site.partition(".")[0] in folded.split()]


def _at_urls(urls: Iterable[str], documents: Sequence[SourceText]) -> Sequence[SourceText]:
    addresses = set(map(normal_address, urls))
    return [d for d in documents if not addresses.isdisjoint(map(normal_address, d.addresses))]


# Sites and addresses.

_SITES = tomli.loads(files("chart_binder.web").joinpath("sites.toml").read_text("utf-8"))
SAME_SOURCE: Mapping[str, Sequence[str]] = _SITES["same_source"]
"""The sites that repeat a site: mirrors, derived data, a shop's sites in other countries."""
_ORIGINAL = {copy: original for original, copies in SAME_SOURCE.items() for copy in copies}
_WRAPPED = [
    (re.compile(host), re.compile(f"{path}(.*)", re.IGNORECASE))
    for host, path in _SITES["wrapped"].items()
]
_SCHEME = re.compile(r"\Ahttps?:/+", re.IGNORECASE)
_TRANSLATED = ".translate.goog"
_NAMED = re.compile(
    r"https?:/{1,3}(?=([^\s&]+))|(?:^/*|[=?])((?:[a-z0-9-]+\.)+[a-z]{2,})(?=[/:?&]|$)",
    re.IGNORECASE,
)
"""A site that an address contains: a whole URL, or a host name that begins a path or a value."""
_MOST_ESCAPED = 3  # times that an address within an address may be escaped


def independent_sources(sources: Iterable[str]) -> frozenset[str]:
    """Return one site for each group of URLs that depend on one another.

    Two URLs depend on one another if they share a site: their own, or one in an address that they
    contain. URLs whose site is unknown are ignored.
    """
    groups: list[tuple[str, frozenset[str]]] = []
    for source in sources:
        if owner := registered_site(source):
            sites = frozenset({owner, *_sites_named_in(source)}) - {""}
            overlapping = [group for group in groups if group[1] & sites]
            groups = [group for group in groups if group not in overlapping]
            first = overlapping[0][0] if overlapping else owner
            groups.append((first, sites.union(*(overlap for _, overlap in overlapping))))
    return frozenset(first for first, _ in groups)


def registered_site(source: str) -> str:
    """Return the registered domain of the site that is responsible for a URL.

    An archived, translated or relayed page belongs to the original site; if the address does not
    name that site, return an empty string. A site of `SAME_SOURCE` belongs to the site that it
    repeats. Return text that is not a URL as it is.
    """
    parts = _innermost_parts(source)
    if parts is None:
        return source
    host = _host(parts)
    if host.endswith(_TRANSLATED):
        names = host.removesuffix(_TRANSLATED).split("--")
        host = "-".join(name.replace("-", ".") for name in names)
    site = _registered(host)
    return _ORIGINAL.get(site, site)


def _sites_named_in(source: str) -> Iterator[str]:
    """Yield the sites that the path and the query of a URL name."""
    parts = _innermost_parts(source)
    for text in (parts.path, f"?{parts.query}") if parts else ():
        unescaped = text
        for _ in range(_MOST_ESCAPED):
            unescaped = unquote(unescaped)
        for url, host in _NAMED.findall(unescaped):
            if url or host.rpartition(".")[2].lower() not in _SITES["files"]:
                yield registered_site(f"http://{url or host}")


_NAMESPACE = re.compile(r"(?!anexo:)[^:]*:\S")
"""`Talk:Queen`, in any language; in an article's title a space follows the colon.

The lists below `Anexo:` of the Spanish and Portuguese Wikipedia are articles.
"""
_UNCHECKED = frozenset(_SITES["unchecked"])
_UNCHECKED_LAST = frozenset({"annotation", "edits", "history", "ratings", "reviews", "tags"})
_SAME_SITE = r"(?:www\.)?(?:(?:[a-z]{2}|simple)\.)?(?:m\.)?"
"""What may precede a site's name: `www.`, a language, `m.`. Any other subdomain is another site."""


def is_checked_page(address: str, sites: Sequence[str]) -> bool:
    """Return whether an address is a page on one of `sites` that the site's editors check.

    They do not check talk, user and draft pages, nor pages with a query in the address.
    """
    parts = urlsplit(address)
    names = "|".join(map(re.escape, sites))
    if parts.query or not names or not re.fullmatch(f"{_SAME_SITE}(?:{names})", host_of(address)):
        return False
    folders = fold(unquote(parts.path)).replace("_", " ").strip("/").split("/")
    is_unchecked = _UNCHECKED & {folders[0], *folders[:-1]} or _UNCHECKED_LAST & {*folders[2:]}
    return not (is_unchecked or "sandbox" in folders or any(map(_NAMESPACE.match, folders)))


def host_of(address: str) -> str:
    """Return the host of an address, or an empty string if it is not a URL."""
    try:
        return _host(urlsplit(address))
    except ValueError:
        return ""


_MOBILE = re.compile(r"^([a-z-]+\.)?(?:m|mobile)\.(?=[^.]+\.)")  # en.m.wikipedia.org
_TRACKING = re.compile(r"(?:^|&)(?:utm_\w+|fbclid|gclid)=[^&]*")
_PLAIN = "".join(map(chr, range(0x21, 0x7F)))


def normal_address(url: str) -> tuple[str, str, str]:
    """Return host with port, path and query, the same for all spellings of an address."""
    try:
        parts = urlsplit(url.strip().strip("<>"))
        port = parts.port
    except ValueError:
        return url, "", ""
    host = _MOBILE.sub(r"\1", _host(parts).removeprefix("www."))
    host += f":{port}" if port not in {None, 80, 443} else ""
    query = _TRACKING.sub("", parts.query).strip("&")
    return host, _bytes_as_text(parts.path).rstrip("/"), _bytes_as_text(query)


def _bytes_as_text(part: str) -> str:
    """Return a part of an address with each byte, escaped or not, as one character."""
    return unquote(quote(part, safe=_PLAIN), "latin-1")


def _innermost_parts(source: str) -> SplitResult | None:
    """Return the parts of a URL, or of the innermost one that it wraps; None if it is malformed."""
    address = source.strip().strip("<>")
    while True:
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        path = unquote(parts.path)
        matches = (before.match(path) for host, before in _WRAPPED if host.fullmatch(_host(parts)))
        match = next(filter(None, matches), None)
        if match is None:
            return parts
        inner_address = _SCHEME.sub("", match[1], count=1)
        target = f"http://{inner_address}" if "." in inner_address.partition("/")[0] else ""
        address = f"{target}?{parts.query}" if parts.query else target


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def _registered(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        labels = host.split(".")
    deep = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SITES["second_levels"]  # noqa: PLR2004
    return ".".join(labels[-3:] if deep else labels[-2:])


_HEAD = re.compile(r"^(?:Page|Under): .*\n|^#.*$", re.MULTILINE)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
"""A word; in scripts without spaces, a letter."""
_NEXT = re.compile(r"[.!?]\s+(?=[^\sa-z0-9])|[。！？\n]")
"""The end of a sentence that another one follows: not `Feb. 4`."""
_RUN_WORDS, _MIN_SENTENCE = 5, 25
"""The length of a run in words, and of the shortest sentence that counts in characters."""
_LETTER_RUN_WEIGHT = 0.4
"""The weight of a shared run of letters, in scripts without spaces."""
_ONE_SENTENCE, _SEVERAL_SENTENCES = 18, 8
"""The shared runs that make two passages one text: in a single sentence, and in several."""


def is_copied(passage: str, other: str) -> bool:
    """Return whether two passages are copies of one text, so that they count as one source.

    Only sentences are compared, not rows or headings. Two sites may by chance use the same short
    sentence for a release date, but not one of more than twenty words.
    """
    other_runs = frozenset[tuple[str, ...]]().union(*_runs(other))
    shared = [
        sum(
            1 if len("".join(run)) > _RUN_WORDS else _LETTER_RUN_WEIGHT
            for run in sentence & other_runs
        )
        for sentence in _runs(passage)
    ]
    is_one = sum(weight > 1 for weight in shared) <= 1
    return sum(shared) >= (_ONE_SENTENCE if is_one else _SEVERAL_SENTENCES)


@lru_cache(64)
def _runs(passage: str) -> Sequence[frozenset[tuple[str, ...]]]:
    rows = (row for row in _NEXT.split(_HEAD.sub("", passage)) if CELLS not in row)
    words = [_WORD.findall(fold(row)) for row in rows if len(row) >= _MIN_SENTENCE]
    return [
        frozenset(tuple(row[at : at + _RUN_WORDS]) for at in range(len(row) - 4)) for row in words
    ]
