"""Sources count once for all who only repeat them: one site, its mirrors, its archived pages."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

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
_ARCHIVED = re.compile(r"/web/[0-9a-z_*]+/((?:https?:/{1,2})?[^/].*)", re.IGNORECASE)
_ARCHIVE, _TRANSLATED = "web.archive.org", ".translate.goog"
_HYPHEN = "\0"


def independent(sources: Iterable[str]) -> frozenset[str]:
    """Return who stands behind some addresses, each once."""
    return frozenset(origin(source) for source in sources)


def origin(source: str) -> str:
    """Return who stands behind an address: the name that somebody registered.

    Two hosts below one such name are no independent sources. An archived or translated page is that
    of its site; a site that repeats another (`SAME_SOURCE`) is that other one. What is no address
    is taken as it is.
    """
    try:
        parts = urlsplit(source.strip().strip("<>"))
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return source
    if host == _ARCHIVE and (archived := _ARCHIVED.match(parts.path)):
        inner = re.sub(r"^(https?):/+", r"\1://", archived[1])
        return origin(inner if "://" in inner else f"http://{inner}")
    if host.endswith(_TRANSLATED):
        host = host.removesuffix(_TRANSLATED).replace("--", _HYPHEN).replace("-", ".")
        host = host.replace(_HYPHEN, "-")
    site = _registered(host)
    return _ORIGINAL.get(site, site)


def _registered(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        labels = host.split(".")
    deep = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS  # noqa: PLR2004
    return ".".join(labels[-3:] if deep else labels[-2:])
