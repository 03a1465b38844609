"""Which sources are independent: a site, its mirrors and its archived pages count as one.

Our own table of second-level domains: by the public suffix list two pages of `github.io` would be
two sources.
"""

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

# Where a country's registry sells names one level down: bbc.co.uk, not co.uk.
_SECOND_LEVELS = frozenset(
    {"ac", "ad", "co", "com", "edu", "gob", "gov", "go", "gr", "ltd", "me", "ne", "net", "nom"}
    | {"or", "org", "plc"}
)

SAME_SOURCE = {
    "wikipedia.org": (
        "wikimedia.org", "wikidata.org", "dbpedia.org", "wikiwand.com", "wiki2.org", "wikimili.com",
        "alchetron.com", "en-academic.com", "infogalactic.com", "justapedia.org", "kiddle.co",
        "knowpia.com", "linkfang.org", "wikizero.com", "zxc.wiki",
    ),
    "musicbrainz.org": (
        "acousticbrainz.org", "coverartarchive.org", "critiquebrainz.org", "listenbrainz.org",
        "metabrainz.org", "musicbrainz.eu",
    ),
    "last.fm": ("lastfm.com", "lastfm.de", "lastfm.es", "lastfm.fr", "lastfm.it", "lastfm.jp"),
    "amazon.com": (
        "amazon.ca", "amazon.co.jp", "amazon.co.uk", "amazon.de", "amazon.es", "amazon.fr",
        "amazon.it",
    ),
}  # fmt: skip
"""Sites that repeat what another says: mirrors, derived data, one shop in many countries."""

_ORIGINAL = {copy: original for original, copies in SAME_SOURCE.items() for copy in copies}
_TIME = r"(?:[0-9*][0-9a-z_*]*/)?"
_WRAPPED = tuple(
    (re.compile(host), re.compile(rf"{path}(?P<inner>.*)", re.IGNORECASE))
    for host, path in (
        (r"(?:web|wayback)\.archive\.org", rf"/+(?:web/+)?{_TIME}"),
        (
            r"(?:www\.)?archive\.(?:fo|is|li|md|ph|today|vn)",
            rf"/+(?:(?:newest|oldest|o/\w+)/)?{_TIME}",
        ),
        (r"r\.jina\.ai", "/+"),
        (r"(?:www\.)?google\.[a-z]{2,3}(?:\.[a-z]{2})?", "/+amp/(?:s/)?"),
        (r"(?:[^.]+\.)?cdn\.ampproject\.org", "/+(?:[a-z]{1,3}/)?(?:s/)?"),
    )
)
"""Who shows pages of others, and what stands before the address of such a page in its own."""
_SCHEME = re.compile(r"https?:/+", re.IGNORECASE)
_TRANSLATED = ".translate.goog"
_HYPHEN = "\0"


_NAMED = re.compile(
    r"https?:/{1,3}(?=([^\s&]+))|(?:^/*|[=?])((?:[a-z0-9-]+\.)+[a-z]{2,})(?=[/:?&]|$)",
    re.IGNORECASE,
)
"""A site in an address of another: any whole address; a bare name first in a path or a value."""
_FILES = frozenset(
    {"asp", "aspx", "cgi", "css", "csv", "do", "gif", "htm", "html", "jpg", "js", "json", "jsp"}
    | {"md", "pdf", "php", "png", "rss", "shtml", "svg", "txt", "xhtml", "xml"}
)
_MOST_ESCAPED = 3  # times


def independent_sources(sources: Iterable[str]) -> frozenset[str]:
    """Return the sites of some URLs, each once; URLs that do not tell their site are left out.

    A URL that contains another site may be a copy of that site's page: the two count once, and so
    do two URLs that contain the same site.
    """
    standing: list[tuple[str, frozenset[str]]] = []
    for source in sources:
        if owner := registered_site(source):
            known = frozenset({owner, *_named_in(source)}) - {""}
            shared = [each for each in standing if each[1] & known]
            standing = [each for each in standing if each not in shared]
            named = shared[0][0] if shared else owner
            standing.append((named, known.union(*(others for _, others in shared))))
    return frozenset(named for named, _ in standing)


def registered_site(source: str) -> str:
    """Return the registered domain of the site that is responsible for a URL.

    Two hosts below one such name are no independent sources. An archived, translated or relayed
    page is that of its site, and of nobody where the address does not tell which; a site that
    repeats another (`SAME_SOURCE`) is that other one. What is no address is taken as it is.
    """
    parts = _unwrapped(source)
    if parts is None:
        return source
    host = _host(parts)
    if host.endswith(_TRANSLATED):
        host = host.removesuffix(_TRANSLATED).replace("--", _HYPHEN).replace("-", ".")
        host = host.replace(_HYPHEN, "-")
    site = _registered(host)
    return _ORIGINAL.get(site, site)


def _named_in(source: str) -> Iterator[str]:
    """Yield the sites that the path and the query of an address name."""
    parts = _unwrapped(source)
    for text in (parts.path, f"?{parts.query}") if parts else ():
        plain = text
        for _ in range(_MOST_ESCAPED):
            plain = unquote(plain)
        for whole, bare in _NAMED.findall(plain):
            if whole or bare.rpartition(".")[2].lower() not in _FILES:
                yield registered_site(f"http://{whole or bare}")


def _unwrapped(source: str) -> SplitResult | None:
    """Return the parts of an address, of the innermost where one shows another; None for none."""
    address = source.strip().strip("<>")
    while True:
        try:
            parts = urlsplit(address)
            inner = _inner(_host(parts), parts.path)
        except ValueError:
            return None
        if inner is None:
            return parts
        address = inner if not parts.query else f"{inner}?{parts.query}"


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def _inner(host: str, path: str) -> str | None:
    """Return the address of the page that is shown there; an empty one where it is not told."""
    for hosts, before in _WRAPPED:
        if hosts.fullmatch(host) and (found := before.match(unquote(path))):
            inner = found["inner"]
            if scheme := _SCHEME.match(inner):
                inner = inner[scheme.end() :]
            return f"http://{inner}" if "." in inner.split("/")[0] else ""
    return None


def _registered(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        labels = host.split(".")
    deep = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS  # noqa: PLR2004
    return ".".join(labels[-3:] if deep else labels[-2:])
