"""A caller: the network address a request comes from, seen past the proxies an App trusts (B-70)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address

HERE = IPv4Address("127.0.0.1")
"""Where a request comes from that no socket brought."""

_LONGEST = 60
"""Characters of the longest text that can be an address, port included."""


def resolve(peer: str | None, forwarded: Sequence[str], trusted: Iterable[str]) -> Address:
    """Who really sent a request: the socket's ``peer``, or the last hop before the trusted proxies.

    ``forwarded`` are the values of ``X-Forwarded-For``. Each hop vouches for the one named before it, but only the word
    of a trusted one counts; what is no address ends the row.
    """
    proxies = [network(text) for text in trusted]
    nearest = address(peer or "") or HERE
    hops = [hop for value in forwarded for hop in value.split(",")]
    while hops and any(nearest in proxy for proxy in proxies):
        before = address(hops.pop())
        if before is None:
            break
        nearest = before
    return nearest


def address(text: str) -> Address | None:
    """The address a text stands for, with or without a port; an IPv4 address dressed as IPv6 is the IPv4 one."""
    return None if len(text) > _LONGEST else _address(text.strip())


@lru_cache(maxsize=1024)
def _address(text: str) -> Address | None:
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
    """The network a text stands for. Raises ``ValueError`` for none, and for one with host bits."""
    return ip_network(text)


def domain(origin: str) -> str:
    """The domain of an ``Origin`` header, in lower case and without its port; empty for what comes from no website."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
