"""Which addresses belong to the public internet.

From IANA's registries of special-purpose addresses. `ipaddress.is_global` of Python 3.11 is not
enough: it calls multicast, NAT64, 6to4 and site-local addresses global.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

from chart_binder.errors import ConfigError

Address: TypeAlias = IPv4Address | IPv6Address

_NOT_PUBLIC_4 = tuple(
    IPv4Network(network)
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
    )
)
# Only 2000::/3 is given out as global unicast. What lies outside (::1, ::ffff:0:0/96, fc00::/7,
# fe80::/10, fec0::/10, ff00::/8, 64:ff9b:1::/48, 5f00::/16 ...) needs no list.
_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments; Teredo carries an IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
# On a network without IPv4 every IPv4 site is reached through this prefix: its last 32 bits count.
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Tell whether an address is an ordinary one of the public internet.

    IPv4 in IPv6 is never public, except behind the well-known NAT64 prefix, where the IPv4
    address decides (RFC 6052).
    """
    if isinstance(address, IPv6Address):
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        return (
            address in _GLOBAL_UNICAST_6
            and address.scope_id is None
            and not any(address in network for network in _NOT_PUBLIC_6)
        )
    return not any(address in network for network in _NOT_PUBLIC_4)


def parsed(host: str) -> Address | None:
    """Return the address a host is written as, or None where it is a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class PrivateHosts:
    """The private hosts an operator allows all the same: by name, by address or by network."""

    names: frozenset[str]
    networks: tuple[IPv4Network | IPv6Network, ...]

    @classmethod
    def of(cls, entries: Iterable[str]) -> "PrivateHosts":
        """Read `[llm.fetch] allow_private_hosts`; `ConfigError` names an entry that is none."""
        names: set[str] = set()
        networks: list[IPv4Network | IPv6Network] = []
        for entry in entries:
            try:
                networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                if set(entry) & set("/:*@ "):
                    raise ConfigError(
                        f"llm.fetch.allow_private_hosts: {entry!r} is not allowed: "
                        "give a host name, an address, or a network such as '10.1.0.0/16'"
                    ) from None
                names.add(entry.casefold().rstrip("."))
        return cls(frozenset(names), tuple(networks))

    def allow_name(self, host: str) -> bool:
        """Tell whether this host is allowed wherever its name leads."""
        return host in self.names

    def allow_address(self, address: Address) -> bool:
        """Tell whether this address is allowed under any name."""
        return any(address in network for network in self.networks)
