"""Egress policy: hosts and addresses that webhooks are never sent to, such as metadata services of clouds."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

FORBIDDEN_HOSTS = frozenset(["metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"])
"""Host names under which clouds give a machine its own credentials."""

FORBIDDEN = tuple(
    map(
        ip_network,
        [
            "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata service of most clouds
            "fe80::/10",  # link-local
            "fd00:ec2::/32",  # AWS
            "100.100.100.200/32",  # Alibaba Cloud
            "192.0.0.192/32",  # Oracle Cloud
            "168.63.129.16/32",  # Azure
        ],
    )
)

LOCAL_NAT64 = ip_network("64:ff9b:1::/48")
LAST_32_BITS = (*map(ip_network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96")), LOCAL_NAT64)
"""IPv6 addresses that end in an IPv4 address: compatible and translated ones, and those of NAT64."""


def forbidden(host: str) -> bool:
    """Whether this host name or IP address is never called."""
    address = _address(host)
    if address is None:
        return host.rstrip(".").lower() in FORBIDDEN_HOSTS
    return any(each in network for each in (address, *_embedded(address)) for network in FORBIDDEN)


def loopback(host: str) -> bool:
    """Whether this host name or IP address is that of the local machine."""
    address = _address(host)
    return host == "localhost" or host.endswith(".localhost") if address is None else address.is_loopback


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _embedded(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses to which a network may translate, or tunnel, what is sent to an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    number = int(address)
    if any(address in network for network in LAST_32_BITS):
        yield IPv4Address(number & 0xFFFFFFFF)
    if (
        address in LOCAL_NAT64
    ):  # its prefix has 48, 56, 64 or 96 bits, and bits 64 to 71 belong to no address (RFC 6052)
        joined = number >> 64 << 56 | number & (1 << 56) - 1
        yield from (IPv4Address(joined >> 88 - bits & 0xFFFFFFFF) for bits in (48, 56, 64))
    yield from filter(None, (address.sixtofour, *(address.teredo or ())))
