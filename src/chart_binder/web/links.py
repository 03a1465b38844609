"""Links on a page that may lead to the page of a record or to a list of records.

The page's author chooses its links. Therefore a link counts only if it stays on the page's host and
its text names a record of the evidence or a list of records.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urljoin, urlsplit

from chart_binder.domain.vocabulary import spaced_words
from chart_binder.web.documents import SourceText, is_checked_page, normal_address
from chart_binder.web.markup import Links
from chart_binder.web.structure import CODE, lists_records
from chart_binder.web.subject import Subject

if TYPE_CHECKING:
    from chart_binder.web.fetch import WebPage

_MOST_LINKS: Final = 12
_LONGEST_ADDRESS: Final = 200
_UNQUOTED: Final = "%/:?@!$&'()*,;=~+"
_STRANGE: Final = re.compile(r"[\s<>{}\[\]|`]")
"""Characters that no path of an article has, but injected instructions may have."""
_NAMESPACE: Final = re.compile(r":[^/_\s]")
"""`Category:1986_albums`; in a title a space follows the colon."""
_YEAR: Final = re.compile(r"(?:1[89]|20)\d\d")


def links_of(page: "WebPage", about: str) -> Links:
    """Return the text and address of the links that may lead to pages about records, best first.

    `about` has the artist and the titles, separated by " / ".
    """
    names = [name for name in map(spaced_words, about.split(" / ")) if name.strip()]
    chosen: dict[str, tuple[int, str]] = {}
    for text, target in page.extract.links:
        words = spaced_words(text)
        signs = (
            any(name in words for name in names[1:]),
            lists_records(text) and not _YEAR.search(text),
            CODE.search(text) is not None,
            any(name in words for name in names[:1]),
        )
        address = _address(page.url, target) if any(signs) else ""
        if address:
            chosen.setdefault(address, (signs.index(True), text))
    best = sorted(chosen.items(), key=lambda item: item[1][0])[:_MOST_LINKS]
    return tuple((text, address) for address, (_, text) in best)


def _address(base: str, target: str) -> str:
    """Return the address of another page on the same host; an empty string for any other target."""
    try:
        address = quote(urljoin(base, target).partition("#")[0], safe=_UNQUOTED)
        page, link = urlsplit(base), urlsplit(address)
    except ValueError:
        return ""
    is_near = (link.scheme, link.netloc) == (page.scheme, page.netloc) and not link.query
    is_plain = not (_NAMESPACE.search(link.path) or _STRANGE.search(unquote(link.path)))
    is_page = is_near and is_plain and len(address) <= _LONGEST_ADDRESS
    return address if is_page and normal_address(address) != normal_address(base) else ""


def links_to_follow(
    documents: Sequence[SourceText], subjects: Sequence[Subject], trusted: Iterable[str]
) -> Iterator[tuple[str, bool]]:
    """Yield addresses that were not read yet, the best first, and whether the site is trusted.

    The link names a subject, a list of records of its artist, or another record of the evidence.
    The page with the link must tell the subject from records of the same title.
    """
    sites = tuple(trusted)
    visited = {normal_address(address) for document in documents for address in document.addresses}
    ranks: dict[str, int] = {}
    for document in documents:
        page = f"{document.title} {document.text}"
        distinct = [subject for subject in subjects if subject.is_told_apart_in(page)]
        for text, address in document.links:
            rank = min((_rank(text, document, subject) for subject in distinct), default=_NO_RANK)
            if rank < _NO_RANK and normal_address(address) not in visited:
                ranks[address] = min(rank, ranks.get(address, _NO_RANK))
    for address in sorted(ranks, key=lambda address: ranks[address]):
        yield address, is_checked_page(address, sites)


_NO_RANK: Final = 3


def _rank(text: str, document: SourceText, subject: Subject) -> int:
    """Return a rank: 0 if a link leads to the record, 1 to a list, 2 to another record, else 3."""
    if subject.is_named_or_numbered_in(text):
        return 0
    if lists_records(text) and subject.is_told_apart_in(f"{document.title} {text}"):
        return 1
    return 2 if subject.names_other(text) else _NO_RANK
