"""Helpers for test suites: an emulator in this process or elsewhere, and a world for each test."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.client.api import Api as Api
    from emulator.client.api import RequestRefused as RequestRefused
    from emulator.testing.base_emulator import Snapshot as Snapshot
    from emulator.testing.collector import Delivery as Delivery
    from emulator.testing.collector import verify_webhook as verify_webhook
    from emulator.testing.emulator import AsyncEmulator as AsyncEmulator
    from emulator.testing.emulator import Emulator as Emulator
    from emulator.testing.servers import LocalServer as LocalServer
    from emulator.testing.servers import RemoteServer as RemoteServer
    from emulator.testing.servers import WorldOptions as WorldOptions
    from emulator.testing.unittest_mixin import PaymentsMixin as PaymentsMixin
    from emulator.testing.webhooks import Webhooks as Webhooks
    from emulator.testing.world_parts import Ledger as Ledger

_NAMES = {
    "emulator.client.api": ("Api", "RequestRefused"),
    "emulator.testing.base_emulator": ("Snapshot",),
    "emulator.testing.collector": ("Delivery", "verify_webhook"),
    "emulator.testing.emulator": ("AsyncEmulator", "Emulator"),
    "emulator.testing.servers": ("LocalServer", "RemoteServer", "WorldOptions"),
    "emulator.testing.unittest_mixin": ("PaymentsMixin",),
    "emulator.testing.webhooks": ("Webhooks",),
    "emulator.testing.world_parts": ("Ledger",),
}


def __getattr__(name: str) -> Any:
    """Load a helper on first use: every pytest run loads the pytest plugin, which is here too."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
