"""API keys: whose App a request is for, and on which side, read from the ``Authorization`` header (B-02, B-03)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from emulator.core.world import World
from emulator.errors import ApiError

_KEY = re.compile(r"(sk|pk)_(test|prod)_([A-Za-z0-9_-]{4,64})", re.ASCII)
SECRET = re.compile(r"sk_(test|prod)_[A-Za-z0-9_-]{4,64}", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9_-]{4,64}", re.ASCII)


class Key(NamedTuple):
    """A secret key: the name of its App and whether it is for the live side."""

    name: str
    livemode: bool

    def __str__(self) -> str:
        return f"sk_{'prod' if self.livemode else 'test'}_{self.name}"


def read(header: str | None) -> Key:
    """The key in an ``Authorization`` header. Raises the five 401 of B-03 and 403 ``PUBLIC_KEY_NOT_ALLOWED``."""
    if header is None:
        raise ApiError("MISSING_API_KEY")
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise ApiError("AUTHENTICATION_FAILED")
    form = _KEY.fullmatch(token.strip())
    if form is None:
        raise ApiError("INVALID_TOKEN")
    kind, side, name = form.groups()
    if kind == "pk":
        raise ApiError("PUBLIC_KEY_NOT_ALLOWED")
    return Key(name, side == "prod")


class MagicKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the fixture of magic keys: an App whose name ``begins`` so is refused with ``code`` (B-04)."""

    begins: str
    code: str
    meaning: str
    only: Literal["live", "writes"] | None = None
    operations: tuple[str, ...] = ()

    def concerns(self, key: Key) -> bool:
        """Whether it says anything about this key at all."""
        return key.name.startswith(self.begins) and (key.livemode or self.only != "live")

    def refuses(self, operation_id: str, writes: bool) -> bool:
        """Whether it refuses this operation to a key it concerns."""
        return (writes or self.only != "writes") and (not self.operations or operation_id in self.operations)


def admit_buyer(world: World, operation_id: str) -> None:
    """Raise the refusal of a rule that forbids this very operation to the App, whoever asks for it (B-04)."""
    own = Key(world.name, world.livemode)
    for rule in world.reference_data.magic_keys:
        if operation_id in rule.operations and rule.concerns(own):
            raise ApiError(rule.code)


def admit(rules: Iterable[MagicKey], operation_id: str, writes: bool) -> None:
    """Raise the refusal of the first magic key rule that forbids the operation. ``rules`` concern the key."""
    for rule in rules:
        if rule.refuses(operation_id, writes):
            raise ApiError(rule.code)
