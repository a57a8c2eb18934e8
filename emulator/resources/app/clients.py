"""A request's client: App and side (test or live) of its API key, IP address (B-02, B-03, B-70)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from emulator.core.errors import ERRORS, ApiError
from emulator.core.world import World

_KEY = re.compile(r"(sk|pk)_(test|prod)_([A-Za-z0-9_-]{1,64})", re.ASCII)
SECRET = re.compile(r"sk_(test|prod)_[A-Za-z0-9_-]{1,64}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)

DEFAULT_APP = "demo"
"""The App of a key that names no App."""


class Key(NamedTuple):
    """A secret key: the name of its App and whether it is of the live side."""

    name: str
    livemode: bool

    @classmethod
    def of(cls, world: World) -> Key:
        return cls(world.name, world.livemode)

    def __str__(self) -> str:
        return f"sk_{'prod' if self.livemode else 'test'}_{self.name}"


def read_key(header: str | None) -> Key:
    """Return the ``Authorization`` key. Raises B-03's five 401, 403 ``PUBLIC_KEY_NOT_ALLOWED``."""
    key, is_public = parse_key(header)
    if is_public:
        raise ApiError("PUBLIC_KEY_NOT_ALLOWED")
    return key


def parse_key(header: str | None) -> tuple[Key, bool]:
    """Return an ``Authorization`` header's key, and whether it is public; 401 of B-03."""
    if header is None:
        raise ApiError("MISSING_API_KEY")
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise ApiError("AUTHENTICATION_FAILED")
    match = _KEY.fullmatch(token.strip())
    if match is None:
        raise ApiError("INVALID_TOKEN")
    kind, side, name = match.groups()
    return Key(name, side == "prod"), kind == "pk"


class MagicKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of ``fixtures/keys.yaml`` (B-04): ``code`` for Apps named ``begins``, digits aside."""

    begins: str
    code: str
    meaning: str
    only: Literal["live", "writes"] | None = None
    operations: tuple[str, ...] = ()

    def concerns(self, key: Key) -> bool:
        return key.name.rstrip("0123456789") == self.begins and (
            key.livemode or self.only != "live"
        )

    def error(self) -> ApiError:
        cause = (
            f"The name of the App is the cause: {self.begins!r}, alone or followed by digits, is a"
            " magic name."
        )
        return ApiError(self.code, message=f"{ERRORS[self.code].message} {cause}")

    def forbids(self, operation_id: str, writes: bool) -> bool:
        return (writes or self.only != "writes") and (
            not self.operations or operation_id in self.operations
        )


def admit_buyer(world: World, operation_id: str) -> None:
    """Raise a magic key's error for this operation on a page, which sends no key (B-04)."""
    own = Key.of(world)
    for rule in world.reference_data.magic_keys:
        if operation_id in rule.operations and rule.concerns(own):
            raise rule.error()


def admit(rules: Iterable[MagicKey], operation_id: str, writes: bool) -> None:
    """Raise the error of the first of the key's ``rules`` that forbids the operation."""
    for rule in rules:
        if rule.forbids(operation_id, writes):
            raise rule.error()


# -- the IP address, behind the proxies that an App trusts, and the domain of ``Origin``


IpAddress = IPv4Address | IPv6Address

LOCALHOST = IPv4Address("127.0.0.1")
"""The address of a request that did not come over the network."""

_LONGEST = 60
"""Characters of the longest text that can be an address, port included."""


def resolve(peer: str | None, forwarded: Sequence[str], trusted: Iterable[str]) -> IpAddress:
    """Return the client's address: the socket's ``peer``, or the one a trusted proxy names.

    ``forwarded`` are the values of ``X-Forwarded-For``, read from the end as long as the address
    found so far is one of the ``trusted`` networks; anything but an address ends the search.
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
    """Return a text's address, with or without port, or None; IPv4-mapped IPv6 becomes IPv4."""
    return None if len(text) > _LONGEST else _address(text.strip())


@lru_cache(maxsize=1024)
def _address(text: str) -> IpAddress | None:
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        parsed = ip_address(bare)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


@lru_cache(maxsize=1024)
def network(text: str) -> IPv4Network | IPv6Network:
    """Return the network in CIDR notation. Raises ``ValueError``, also for set host bits."""
    return ip_network(text)


def domain(origin: str) -> str:
    """Return an ``Origin``'s domain in lower case, without port; empty if no website's."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
