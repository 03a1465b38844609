"""What a model may ask of the open web: which addresses, on which ports, under which names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from chart_binder.config import FetchConfig
from chart_binder.web.addresses import Address, PrivateHosts, is_public, parsed
from chart_binder.web.errors import FetchError, RefusedError

_LONGEST_URL = 2_000
_LONGEST_NAME = 253  # RFC 1035
_LONGEST_SHOWN = 80
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:/|$))")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]", re.ASCII)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# 127.1, 0x7f000001, 2130706433, 0177.0.0.1: a resolver reads them as addresses.
_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*")
_INTERNAL_SUFFIXES = (
    "arpa",
    "cluster",
    "corp",
    "home",
    "internal",
    "intra",
    "intranet",
    "invalid",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
    "svc",
    "test",
)


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules for one configuration, held against every address, redirects included."""

    ports: frozenset[int]
    private: PrivateHosts

    @classmethod
    def of(cls, config: FetchConfig) -> "Guard":
        """Read the rules from `[llm.fetch]`, or raise `ConfigError`."""
        return cls(frozenset(config.ports), PrivateHosts.of(config.allow_private_hosts))

    def target(self, written: str, base: httpx.URL | None = None) -> httpx.URL:
        """Return the address to ask, or raise `FetchError` (`RefusedError` where it is forbidden).

        `base` is the page a redirect came from. A host without a scheme is asked over https.
        """
        url = _read(written, base)
        if url.scheme not in _DEFAULT_PORTS:
            raise RefusedError(f"{_shown(written)} cannot be fetched: only http and https can")
        if url.userinfo:
            raise RefusedError(f"{url.host} cannot be fetched: the address holds a user name")
        port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        if port not in self.ports:
            raise RefusedError(f"{url.host} cannot be fetched: port {port} is not allowed")
        self._check_name(url.raw_host.decode("ascii"))
        return url

    def admit(self, host: str, addresses: Sequence[Address]) -> None:
        """Accept where a host leads, or raise `RefusedError`: one private address spoils all."""
        if self.private.allow_name(_plain(host)):
            return
        for address in addresses:
            if not is_public(address) and not self.private.allow_address(address):
                raise RefusedError(f"{host} cannot be fetched: it is not on the public internet")

    def is_private(self, host: str) -> bool:
        """Tell whether a host is one that the operator allows though it is not public."""
        address = parsed(host)
        return self.private.allow_name(_plain(host)) or (
            address is not None and self.private.allow_address(address)
        )

    def _check_name(self, host: str) -> None:
        address = parsed(host)
        if address is not None:
            self.admit(host, [address])
            return
        name = _plain(host)
        if self.private.allow_name(name):
            return
        labels = name.split(".")
        if not all(_LABEL.fullmatch(label) for label in labels) or len(name) > _LONGEST_NAME:
            raise FetchError(f"{_shown(host)} is not a host name")
        if _NUMERIC_LABEL.fullmatch(labels[-1]):
            raise RefusedError(f"{host} cannot be fetched: it is an address in disguise")
        if len(labels) == 1 or labels[-1] in _INTERNAL_SUFFIXES:
            raise RefusedError(f"{host} cannot be fetched: it is not a name of the public internet")


def _read(written: str, base: httpx.URL | None) -> httpx.URL:
    """Parse an address once; this reading is the one that is checked and connected to."""
    text = written.strip().strip("<>\"'`").strip()
    if not text:
        raise FetchError("no address was given")
    if len(text) > _LONGEST_URL:
        raise FetchError(f"the address is longer than {_LONGEST_URL} characters")
    try:
        if base is not None:
            return _normal(base.join(text))
        full = text if _HAS_SCHEME.match(text) else f"https://{text.lstrip('/')}"
        return _normal(httpx.URL(full))
    except (httpx.InvalidURL, ValueError) as error:
        raise FetchError(f"{_shown(text)} is not a well-formed address") from error


def _normal(url: httpx.URL) -> httpx.URL:
    """Return the one spelling of an address: no final dot in its host, nothing escaped in vain.

    RFC 3986, 6.2.2; httpx sees to the rest.
    """
    plain = url.copy_with(fragment=None)
    path = plain.raw_path.decode("ascii")
    if (bare := _ESCAPED.sub(_needed, path)) != path:
        plain = plain.copy_with(raw_path=bare.encode("ascii"))
    return plain.copy_with(host=plain.host[:-1]) if plain.host.endswith(".") else plain


def _needed(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if _UNRESERVED.fullmatch(character) else escape[0].upper()


def _plain(host: str) -> str:
    return host.casefold().removesuffix(".")


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")
