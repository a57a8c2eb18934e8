"""Helpers for test suites: an emulator in this process or elsewhere, and a world for each test."""

from emulator.testing.aio import AsyncEmulator
from emulator.testing.api import Api, RequestRefused
from emulator.testing.base_emulator import Snapshot
from emulator.testing.collector import Delivery
from emulator.testing.emulator import Emulator
from emulator.testing.ledger import Ledger
from emulator.testing.remote_server import RemoteServer
from emulator.testing.servers import LocalServer
from emulator.testing.unittest_mixin import PaymentsMixin
from emulator.testing.webhooks import Webhooks
from emulator.testing.world_options import WorldOptions

__all__ = [
    "Api",
    "AsyncEmulator",
    "Delivery",
    "Emulator",
    "Ledger",
    "LocalServer",
    "PaymentsMixin",
    "RemoteServer",
    "RequestRefused",
    "Snapshot",
    "Webhooks",
    "WorldOptions",
]
