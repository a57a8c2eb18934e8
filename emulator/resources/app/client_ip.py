"""The IP address of the client, behind the proxies that an App trusts, and the domain of its ``Origin`` (B-70)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

IpAddress = IPv4Address | IPv6Address

LOCALHOST = IPv4Address("127.0.0.1")
"""The address of a request that did not come over the network."""

_LONGEST = 60
"""Characters of the longest text that can be an address, port included."""


def resolve(peer: str | None, forwarded: Sequence[str], trusted: Iterable[str]) -> IpAddress:
    """The address of the client: the socket's ``peer`` or, if that is a trusted proxy, the address it forwards for.

    ``forwarded`` are the values of ``X-Forwarded-For``, read from the end as long as the address found so far is one of
    the ``trusted`` networks; anything but an address ends the search.
    """
    proxies = [network(text) for text in trusted]
    nearest = address(peer or "") or LOCALHOST
    hops = [hop for value in forwarded for hop in value.split(",")]
    while hops and any(nearest in proxy for proxy in proxies):
        before = address(hops.pop())
        if before is None:
            break
        nearest = before
    return nearest


def address(text: str) -> IpAddress | None:
    """The address in a text, with or without a port, or None; an IPv4-mapped IPv6 address becomes the IPv4 one."""
    return None if len(text) > _LONGEST else _address(text.strip())


@lru_cache(maxsize=1024)
def _address(text: str) -> IpAddress | None:
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ip_address(bare)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


@lru_cache(maxsize=1024)
def network(text: str) -> IPv4Network | IPv6Network:
    """The network in CIDR notation. Raises ``ValueError`` for any other text and for a network with host bits."""
    return ip_network(text)


def domain(origin: str) -> str:
    """The domain of an ``Origin`` header in lower case, without the port; empty if it is not that of a website."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
