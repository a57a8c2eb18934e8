"""Egress policy: hosts and addresses that webhooks are never sent to, such as metadata services of clouds."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

FORBIDDEN_HOSTS = frozenset(["metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"])
"""Host names under which clouds give a machine its own credentials."""

FORBIDDEN = tuple(
    map(
        ip_network,
        [
            "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata service of most clouds
            "fe80::/10",  # link-local
            "64:ff9b::a9fe:0/112",  # 169.254.0.0/16 behind NAT64
            "fd00:ec2::/32",  # AWS
            "100.100.100.200/32",  # Alibaba Cloud
            "192.0.0.192/32",  # Oracle Cloud
            "168.63.129.16/32",  # Azure
        ],
    )
)


def forbidden(host: str) -> bool:
    """Whether this host name or IP address is never called."""
    address = _address(host)
    if address is None:
        return host.rstrip(".").lower() in FORBIDDEN_HOSTS
    return any(address in network for network in FORBIDDEN)


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
