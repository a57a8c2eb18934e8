"""The reset of a sandbox: all data of an App is deleted at once (Authentication rule 3; B-07)."""

from __future__ import annotations

from typing import Any

from emulator.core.events import Event
from emulator.core.idempotency import StoredResponse
from emulator.core.jobs import FailedJob, Job
from emulator.core.world import World
from emulator.resources.app.settings import Settings
from emulator.resources.simulation.emails import Email
from emulator.resources.simulation.faults import Fault
from emulator.resources.webhooks.deliveries import WebhookDelivery

TRACES = (Job, FailedJob, Event, WebhookDelivery, Email, Fault, StoredResponse)
"""Kinds of record that are not objects of the service: they are deleted as well, but not counted."""


def reset(world: World) -> dict[str, Any]:
    """POST /reset: deletes objects, jobs, events, deliveries and stored responses; settings and clock stay."""
    removed = world.clear(keep=(Settings,))
    deleted = sum(number for kind, number in removed.items() if kind not in TRACES)
    return {"object": "reset", "app": world.app, "deleted": deleted, "reset_at": world.now}


OPERATIONS = {"resetSandbox": reset}
