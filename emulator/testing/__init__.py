"""Helpers for test suites: an emulator in this process or elsewhere, and a world for each test."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.client.api import Api, RequestRefused
    from emulator.testing.base_emulator import Snapshot
    from emulator.testing.collector import Delivery, verify_webhook
    from emulator.testing.emulator import AsyncEmulator, Emulator
    from emulator.testing.guard import RealServiceBlocked
    from emulator.testing.servers import LocalServer, RemoteServer, WorldOptions
    from emulator.testing.unittest_mixin import PaymentsMixin
    from emulator.testing.webhooks import Webhooks
    from emulator.testing.world_parts import Ledger

_MODULES = {
    "Api": "emulator.client.api",
    "AsyncEmulator": "emulator.testing.emulator",
    "Delivery": "emulator.testing.collector",
    "Emulator": "emulator.testing.emulator",
    "Ledger": "emulator.testing.world_parts",
    "LocalServer": "emulator.testing.servers",
    "PaymentsMixin": "emulator.testing.unittest_mixin",
    "RealServiceBlocked": "emulator.testing.guard",
    "RemoteServer": "emulator.testing.servers",
    "RequestRefused": "emulator.client.api",
    "Snapshot": "emulator.testing.base_emulator",
    "Webhooks": "emulator.testing.webhooks",
    "WorldOptions": "emulator.testing.servers",
    "verify_webhook": "emulator.testing.collector",
}

__all__ = [
    "Api",
    "AsyncEmulator",
    "Delivery",
    "Emulator",
    "Ledger",
    "LocalServer",
    "PaymentsMixin",
    "RealServiceBlocked",
    "RemoteServer",
    "RequestRefused",
    "Snapshot",
    "Webhooks",
    "WorldOptions",
    "verify_webhook",
]


def __getattr__(name: str) -> Any:
    """Load a helper on first use: the pytest plugin, which stands here too, is loaded by every pytest run."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
