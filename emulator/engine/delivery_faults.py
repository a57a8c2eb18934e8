"""Delivery faults: what an injected fault does to a webhook delivery on its way (B-94)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from emulator.core.effects import HttpResult
from emulator.resources.simulation.faults import FaultEffect
from emulator.resources.webhooks.signing import SignedRequest

Send = Callable[[SignedRequest], Awaitable[HttpResult]]

LOST = HttpResult(status_code=200, error="lost on the way by an arranged fault; the service believes it arrived")

ANSWERED_LATE = HttpResult(status_code=None, error="answered too late, by an arranged fault; not delivered")


FORGED = "a forged copy came first, by an arranged fault, and was "
"""How the error of an attempt begins that a forged copy preceded; it ends with ``accepted`` or ``rejected``."""


async def send_with_fault(effect: FaultEffect, request: SignedRequest, send: Send) -> HttpResult:
    """Send a delivery as the fault has it; the result that is recorded.

    Copies beyond the first are not recorded: it is as if the network had repeated them.
    """
    if effect.lose:
        return LOST
    if effect.forge:
        forged = await send(replace(request, body=tamper(request.body)))
        return replace(await send(request), error=f"{FORGED}{'accepted' if forged.ok else 'rejected'}")
    result = await send(replace(request, body=tamper(request.body)) if effect.tamper else request)
    for _ in range(effect.duplicate or 0):
        await send(request)
    return ANSWERED_LATE if effect.late_answer else result


def tamper(body: bytes) -> bytes:
    """The body of an event, changed after it was signed: still JSON, and no longer what was signed."""
    return body[:-1] + b',"tampered":true}'
