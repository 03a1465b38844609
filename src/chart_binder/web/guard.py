"""Which addresses, ports and hosts may be asked: only those of the public internet.

The operator can allow private hosts. Every redirect is checked again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

import httpx

from chart_binder.config import FetchConfig
from chart_binder.errors import AddressForbiddenError, ConfigError, FetchError

Address: TypeAlias = IPv4Address | IPv6Address

_NOT_PUBLIC = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; a cloud's metadata service
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's wire server, reachable from its machines only
        "169.254.0.0/16",  # link-local; metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # automatic multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved; broadcast
        "2001::/23",  # protocol assignments; Teredo carries an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
# Only 2000::/3 is assigned as global unicast. What lies outside (::1, ::ffff:0:0/96, fc00::/7,
# fe80::/10, fec0::/10, ff00::/8, 64:ff9b:1::/48, 5f00::/16 ...) needs no list.
_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
# Networks without IPv4 reach IPv4 sites through this prefix: the last 32 bits are the address.
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Return whether an address is an ordinary one of the public internet.

    IPv4 within IPv6 is never public, except behind the well-known NAT64 prefix (RFC 6052).
    """
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        if address not in _GLOBAL_UNICAST_6 or address.scope_id is not None:
            return False
    return not any(address in network for network in _NOT_PUBLIC)


def parse_address(host: str) -> Address | None:
    """Return a host as an IP address, or None if it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


_LONGEST_URL = 2_000
_LONGEST_NAME = 253  # RFC 1035
_LONGEST_SHOWN = 80
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:/|$))")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# A resolver reads 127.1, 0x7f000001, 2130706433 and 0177.0.0.1 as addresses.
_NUMERIC_LABEL = re.compile(r"\d+|0x[0-9a-f]*")
_INTERNAL_SUFFIXES = (
    "arpa", "cluster", "corp", "home", "internal", "intra", "intranet", "invalid", "lan", "local",
    "localdomain", "localhost", "onion", "private", "svc", "test",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one configuration for every address that is requested, redirects included.

    `names` and `networks` are the private hosts that the operator allows. A name is allowed
    whatever address it resolves to.
    """

    ports: frozenset[int]
    names: frozenset[str]
    networks: tuple[IPv4Network | IPv6Network, ...]

    @classmethod
    def of(cls, config: FetchConfig) -> "Guard":
        """Read the rules of `[llm.fetch]`; raises `ConfigError` for an entry that is not a host."""
        names: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in config.allow_private_hosts:
            try:
                networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                if set(entry) & set("/:*@ "):
                    raise ConfigError(
                        f"llm.fetch.allow_private_hosts: {entry!r} is not allowed: "
                        "give a host name, an address, or a network such as '10.1.0.0/16'"
                    ) from None
                names.add(entry.casefold().rstrip("."))
        return cls(frozenset(config.ports), frozenset(names), tuple(networks))

    def target(self, address: str, base: httpx.URL | None = None) -> httpx.URL:
        """Return the URL to request.

        `base` is the page that redirects there. An address without a scheme is requested over
        https. Raises `AddressForbiddenError` if the address is forbidden, `FetchError` if it is
        malformed.
        """
        url = _parse_url(address, base)
        if url.scheme not in _DEFAULT_PORTS:
            raise AddressForbiddenError(
                f"{_quoted(address)} cannot be fetched: only http and https can"
            )
        if url.userinfo:
            raise AddressForbiddenError(
                f"{url.host} cannot be fetched: the address holds a user name"
            )
        port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        if port not in self.ports:
            raise AddressForbiddenError(f"{url.host} cannot be fetched: port {port} is not allowed")
        self._check_name(url.raw_host.decode("ascii"))
        return url

    def admit(self, host: str, addresses: Sequence[Address]) -> None:
        """Raise `AddressForbiddenError` if any address of a host is private and not allowed."""
        if host.casefold().removesuffix(".") in self.names:
            return
        for address in addresses:
            if not is_public(address) and not self._allows(address):
                raise AddressForbiddenError(
                    f"{host} cannot be fetched: it is not on the public internet"
                )

    def is_private(self, host: str) -> bool:
        """Return whether a host is a private one that the operator allows."""
        address = parse_address(host)
        return host.casefold().removesuffix(".") in self.names or (
            address is not None and self._allows(address)
        )

    def _allows(self, address: Address) -> bool:
        return any(address in network for network in self.networks)

    def _check_name(self, host: str) -> None:
        address = parse_address(host)
        if address is not None:
            self.admit(host, [address])
            return
        name = host.casefold().removesuffix(".")
        if name in self.names:
            return
        labels = name.split(".")
        if not all(_LABEL.fullmatch(label) for label in labels) or len(name) > _LONGEST_NAME:
            raise FetchError(f"{_quoted(host)} is not a host name")
        if _NUMERIC_LABEL.fullmatch(labels[-1]):
            raise AddressForbiddenError(f"{host} cannot be fetched: it is an address in disguise")
        if len(labels) == 1 or labels[-1] in _INTERNAL_SUFFIXES:
            raise AddressForbiddenError(
                f"{host} cannot be fetched: it is not a name of the public internet"
            )


def _parse_url(address: str, base: httpx.URL | None) -> httpx.URL:
    """Parse an address. The same result is checked and connected to."""
    text = address.strip().strip("<>\"'`").strip()
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
        raise FetchError(f"{_quoted(text)} is not a well-formed address") from error


def _normal(url: httpx.URL) -> httpx.URL:
    return url.copy_with(fragment=None, host=url.host.removesuffix("."))


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "...")
