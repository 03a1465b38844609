"""Web sites: which address is of which site, and which sources are independent of one another.

A site, its mirrors and its archived pages count as one source. The table of second-level domains is
our own: by the public suffix list two pages of `github.io` would be two sources.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from ipaddress import ip_address
from urllib.parse import SplitResult, quote, unquote, urlsplit

import tomli

from chart_binder.domain.vocabulary import fold

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
        names = host.removesuffix(_TRANSLATED).split("--")
        host = "-".join(name.replace("-", ".") for name in names)
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
            if whole or bare.rpartition(".")[2].lower() not in _SITES["files"]:
                yield registered_site(f"http://{whole or bare}")


_NAMESPACE = re.compile(r"[^:]*:\S")
"""`Talk:Queen`, in any language; the colon of an article's title has a space behind it."""
_UNCHECKED = frozenset(_SITES["unchecked"])
_UNCHECKED_LAST = frozenset({"annotation", "edits", "history", "ratings", "reviews", "tags"})
_SAME_SITE = r"(?:www\.)?(?:(?:[a-z]{2}|simple)\.)?(?:m\.)?"
"""What may stand before a site's name: `www.`, a language, `m.`; a blog or a forum is another."""


def is_checked_page(address: str, sites: Sequence[str]) -> bool:
    """Return whether an address is a page of one of some sites that its editors check.

    Other hosts below a site's name are not that site. Talk, user and draft pages are not checked,
    nor what a query asks a site for.
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


_ESCAPE = re.compile("%[0-9a-fA-F]{2}")
_MOBILE = re.compile(r"^([a-z-]+\.)?(?:m|mobile)\.(?=[^.]+\.)")  # en.m.wikipedia.org
_TRACKING = re.compile(r"(?:^|&)(?:utm_\w+|fbclid|gclid)=[^&]*")
_PLAIN = "".join(map(chr, range(0x21, 0x7F)))
_PARTING = "/?#%&=+;"
"""Signs that part an address where they stand as themselves (RFC 3986, 2.2)."""


def normal_address(url: str) -> tuple[str, str, str]:
    """Return what makes two ways of writing an address the same: host with port, path, query.

    What tells a site where a reader comes from (`utm_source=...`) is no part of it.
    """
    try:
        parts = urlsplit(url.strip().strip("<>"))
        port = parts.port
    except ValueError:
        return url, "", ""
    place = _MOBILE.sub(r"\1", _host(parts).removeprefix("www."))
    place += f":{port}" if port not in {None, 80, 443} else ""
    query = _TRACKING.sub("", parts.query).strip("&")
    return place, _spelled(parts.path).rstrip("/"), _spelled(query)


def _spelled(part: str) -> str:
    """Return a part of an address with nothing escaped but what has to be."""

    def unescaped(escape: re.Match[str]) -> str:
        sign = unquote(escape[0], "latin-1")
        return sign if sign in _PLAIN and sign not in _PARTING else escape[0].upper()

    return _ESCAPE.sub(unescaped, quote(part, safe=_PLAIN))


def _unwrapped(source: str) -> SplitResult | None:
    """Return the parts of an address, of the innermost where one shows another; None for none."""
    address = source.strip().strip("<>")
    while True:
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        path = unquote(parts.path)
        hits = (before.match(path) for host, before in _WRAPPED if host.fullmatch(_host(parts)))
        found = next(filter(None, hits), None)
        if found is None:
            return parts
        inner = _SCHEME.sub("", found[1], count=1)
        shown = f"http://{inner}" if "." in inner.partition("/")[0] else ""
        address = f"{shown}?{parts.query}" if parts.query else shown


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").rstrip(".")


def _registered(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        labels = host.split(".")
    deep = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SITES["second_levels"]  # noqa: PLR2004
    return ".".join(labels[-3:] if deep else labels[-2:])
