"""The reset of a sandbox: all of an App's data gone at once (Authentication rule 3; B-07)."""

from __future__ import annotations

from typing import Any

from emulator.core.idempotency import Remembered
from emulator.core.jobs import FailedJob, Job
from emulator.core.world import Event, World
from emulator.errors import Refusal
from emulator.resources.deliveries import WebhookDelivery
from emulator.resources.emails import Email
from emulator.resources.faults import Fault
from emulator.resources.settings import Settings

TRACES = (Job, FailedJob, Event, WebhookDelivery, Email, Fault, Remembered)
"""What objects leave behind or a tester arranged, and is none itself: it goes as well, uncounted."""


def reset(world: World) -> dict[str, Any]:
    """POST /reset: objects, schedule, events, deliveries and idempotency keys go; settings and clock stay."""
    if world.livemode:
        raise Refusal("PERMISSION_DENIED", message="Only a sandbox can be reset; this is a production key.")
    gone = world.wipe(keep=(Settings,))
    deleted = sum(number for kind, number in gone.items() if kind not in TRACES)
    return {"object": "reset", "app": world.app, "deleted": deleted, "reset_at": world.now}


OPERATIONS = {"resetSandbox": reset}
