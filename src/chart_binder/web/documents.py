"""Documents: what each source said in a run, and which sources are independent of one another.

An observation is a page, or a list of search results; each result is a source of its own. A site,
its mirrors and its archived pages count as one source. The table of second-level domains is our
own: by the public suffix list two pages of `github.io` would be two sources.
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
from chart_binder.react.transcript import AnyEvent, Observed, Stepped
from chart_binder.web.passages import CELLS, GAPS, may_be_caption, names_columns

if TYPE_CHECKING:
    from chart_binder.domain.dates_in_text import Mention

MAX_PASSAGE = 700
"""Characters of a passage, with its page's title and heading."""
LINKED_PAGES = "linked_pages"
"""The tool by which code reads what MusicBrainz links to; no model is offered it."""
_LINKED = "Linked by MusicBrainz to release-group/"
_LINKED_DATE = re.compile(rf"{_LINKED}(\S+)\nfirst release{re.escape(CELLS)}(\d{{4}}\S*)\n")
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


@dataclass(frozen=True)
class SourceText:
    """The text of a document as code searches it; `addresses` begins with the document's own."""

    addresses: tuple[str, ...]
    title: str
    text: str
    number: int | None = None
    is_fetched: bool = False
    linked: tuple[str, str] | None = None
    """The id of the release group that MusicBrainz links to it, and the date it has in structure;
    None for any other page."""
    links: tuple[tuple[str, str], ...] = ()
    """Text and address of links that may lead on."""

    @classmethod
    @lru_cache(256)
    def of(cls, document: Document, *, is_linked: bool = False) -> "SourceText":
        """Return the text of a document, with the headings above it as lines of their own.

        Addresses are left out of it: a date in one proves nothing, as the model may have made it
        up.
        """
        headings = (f"{'#' * level} {text}" for level, text in enumerate(document.headings, 1))
        # No page has headings of this kind: they are lines of its text.
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
        """Where it was read in the end."""
        return self.addresses[0]

    @property
    def is_cut(self) -> bool:
        """Whether it is of a page that was read, and leaves some of the page out."""
        return self.is_fetched and not set(GAPS).isdisjoint(self.text.split("\n"))

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

        The page's own is left out where a narrower one is there.
        """
        starts, above = self._headings_by_line
        sections, table = above[bisect_right(starts, place) - 1]
        return (*sections, *(table if of_table else ()))

    @cached_property
    def _headings_by_line(self) -> tuple[list[int], list[tuple[list[str], list[str]]]]:
        """Where each line begins, the headings above it, and the caption and columns of a row.

        What an excerpt leaves out ends no table; a line of one cell is the caption of what follows.
        """
        starts, above = [0], list[tuple[list[str], list[str]]]()
        open_headings: list[tuple[int, str]] = []
        caption = columns = ""
        is_in_table = False
        for line in self.text.split("\n"):
            sections = [heading for heading in open_headings if heading[0] > 1] or open_headings
            shown = [text for _, text in sections]
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
                open_headings = [heading for heading in open_headings if heading[0] < width]
                open_headings.append((width, line.lstrip("# ")))
            starts.append(starts[-1] + len(line) + 1)
        return starts[:-1], above

    def passage(self, place: int, end: int) -> str:
        """Return the text around a span, with the page's title and the nearest heading."""
        head = [f"Page: {self.title[:120]}"] if self.title else []
        head += [f"Under: {heading[:120]}" for heading in self.headings(place)]
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


def read_documents(events: Iterable[AnyEvent]) -> tuple[SourceText, ...]:
    """Return what the sources of a run said, in the order in which they were read."""
    texts: list[SourceText] = []
    is_linked = False
    for event in events:
        if isinstance(event, Stepped):
            is_linked = event.tool == LINKED_PAGES
        elif isinstance(event, Observed) and not event.error:
            documents = documents_of(event.observation)
            texts += (SourceText.of(document, is_linked=is_linked) for document in documents)
    return tuple(texts)


def linked_document(document: Document, group: str, date: str, statement: str) -> Document:
    """Return what a page that MusicBrainz links to a release group states as its first date.

    The heading tells that it is such a page; it counts in what `LINKED_PAGES` returned alone.
    """
    text = f"first release{CELLS}{date}\n{statement}"
    return replace(document, headings=(f"{_LINKED}{group}",), text=text)


def documents_of(observation: Observation) -> tuple[Document, ...]:
    """Return the documents of an observation, as a plug-in may leave them out.

    Without documents it is one of its only source, which was not fetched; of several sources
    nothing tells which of them said what.
    """
    if observation.documents or len(set(map(normal_address, observation.sources))) != 1:
        return observation.documents
    return (Document(observation.sources[0], text=observation.content),)


# What a source names.

_MIN_NAME = 4
_RESULT_NUMBER = re.compile(
    r"(?:search )?(?:result|source|observation)?\s*[\[(#]?(\d{1,2})[\])]?\.?"
)
_BARE_HOST = re.compile(r"(?:www\.)?((?:[a-z0-9-]+\.)+[a-z]{2,})/?", re.IGNORECASE)


def documents_named(source: str, documents: Sequence[SourceText]) -> Sequence[SourceText]:
    """Return the documents that a source names: by address, result number, host or page title.

    Without a source it is all of them.
    """
    name = source.strip().strip("<>\"'` ")
    if not name:
        return documents
    if "//" in name:
        return _of_addresses([name], documents)
    plain = " ".join(fold(name).split())
    return next(filter(None, _named_by(name, plain, documents)), ())


def _named_by(
    name: str, plain: str, documents: Sequence[SourceText]
) -> Iterator[Sequence[SourceText]]:
    if number := _RESULT_NUMBER.fullmatch(plain):
        results = (d.address for d in documents if d.number == int(number[1]))
        yield _of_addresses(results, documents)
    if host := _BARE_HOST.fullmatch(plain):
        yield [d for d in documents if f".{host_of(d.address)}".endswith(f".{host[1]}")]
    if "/" in plain and "." in plain.partition("/")[0]:
        yield _of_addresses([f"https://{name}"], documents)
    if len(plain) >= _MIN_NAME:
        yield [d for d in documents if plain in " ".join(fold(d.title).split())]
        yield [d for d in documents if (title := fold(d.title)) and title in plain]
        yield [d for d in documents if d.site.partition(".")[0] in plain.split()]


def _of_addresses(
    addresses: Iterable[str], documents: Sequence[SourceText]
) -> Sequence[SourceText]:
    wanted = set(map(normal_address, addresses))
    return [d for d in documents if not wanted.isdisjoint(map(normal_address, d.addresses))]


# Sites and addresses.

_SITES = tomli.loads(files("chart_binder.web").joinpath("sites.toml").read_text("utf-8"))
SAME_SOURCE: Mapping[str, Sequence[str]] = _SITES["same_source"]
"""Sites that repeat what another says: mirrors, derived data, one shop in many countries."""
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
"""A site in an address of another: any whole address; a bare name first in a path or a value."""
_MOST_ESCAPED = 3  # times


def independent_sources(sources: Iterable[str]) -> frozenset[str]:
    """Return the sites of some URLs, each once; URLs that do not tell their site are left out.

    URLs that name one site, in themselves or as an address that they contain, count once.
    """
    groups: list[tuple[str, frozenset[str]]] = []
    for source in sources:
        if owner := registered_site(source):
            sites = frozenset({owner, *_sites_named_in(source)}) - {""}
            overlapping = [group for group in groups if group[1] & sites]
            groups = [group for group in groups if group not in overlapping]
            first = overlapping[0][0] if overlapping else owner
            groups.append((first, sites.union(*(others for _, others in overlapping))))
    return frozenset(first for first, _ in groups)


def registered_site(source: str) -> str:
    """Return the registered domain of the site that is responsible for a URL.

    An archived, translated or relayed page is that of its site, and of nobody where the address
    does not tell which; a site that repeats another (`SAME_SOURCE`) is that other one. What is no
    address is taken as it is.
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
    """Yield the sites that the path and the query of an address name."""
    parts = _innermost_parts(source)
    for text in (parts.path, f"?{parts.query}") if parts else ():
        plain = text
        for _ in range(_MOST_ESCAPED):
            plain = unquote(plain)
        for whole, bare in _NAMED.findall(plain):
            if whole or bare.rpartition(".")[2].lower() not in _SITES["files"]:
                yield registered_site(f"http://{whole or bare}")


_NAMESPACE = re.compile(r"(?!anexo:)[^:]*:\S")
"""`Talk:Queen`, in any language; the colon of an article's title has a space behind it.

`Anexo:` holds the lists of Wikipedia in Spanish and Portuguese, which are articles.
"""
_UNCHECKED = frozenset(_SITES["unchecked"])
_UNCHECKED_LAST = frozenset({"annotation", "edits", "history", "ratings", "reviews", "tags"})
_SAME_SITE = r"(?:www\.)?(?:(?:[a-z]{2}|simple)\.)?(?:m\.)?"
"""What may stand before a site's name: `www.`, a language, `m.`; a blog or a forum is another."""


def is_checked_page(address: str, sites: Sequence[str]) -> bool:
    """Return whether an address is a page of one of some sites that its editors check.

    Talk, user and draft pages are not checked, nor what a query asks a site for.
    """
    parts = urlsplit(address)
    names = "|".join(map(re.escape, sites))
    if parts.query or not names or not re.fullmatch(f"{_SAME_SITE}(?:{names})", host_of(address)):
        return False
    folders = fold(unquote(parts.path)).replace("_", " ").strip("/").split("/")
    is_unchecked = _UNCHECKED & {folders[0], *folders[:-1]} or _UNCHECKED_LAST & {*folders[2:]}
    return not (is_unchecked or "sandbox" in folders or any(map(_NAMESPACE.match, folders)))


def host_of(address: str) -> str:
    """Return the host of an address; an empty text for what is no address."""
    try:
        return _host(urlsplit(address))
    except ValueError:
        return ""


_MOBILE = re.compile(r"^([a-z-]+\.)?(?:m|mobile)\.(?=[^.]+\.)")  # en.m.wikipedia.org
_TRACKING = re.compile(r"(?:^|&)(?:utm_\w+|fbclid|gclid)=[^&]*")
_PLAIN = "".join(map(chr, range(0x21, 0x7F)))


def normal_address(url: str) -> tuple[str, str, str]:
    """Return what makes two ways of writing an address the same: host with port, path, query."""
    try:
        parts = urlsplit(url.strip().strip("<>"))
        port = parts.port
    except ValueError:
        return url, "", ""
    host = _MOBILE.sub(r"\1", _host(parts).removeprefix("www."))
    host += f":{port}" if port not in {None, 80, 443} else ""
    query = _TRACKING.sub("", parts.query).strip("&")
    return host, _spelled(parts.path).rstrip("/"), _spelled(query)


def _spelled(part: str) -> str:
    """Return a part of an address with nothing escaped, a letter a byte."""
    return unquote(quote(part, safe=_PLAIN), "latin-1")


def _innermost_parts(source: str) -> SplitResult | None:
    """Return the parts of an address, of the innermost where one shows another; None for none."""
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
        inner = _SCHEME.sub("", match[1], count=1)
        target = f"http://{inner}" if "." in inner.partition("/")[0] else ""
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
