"""Mishaps: what arranged faults do to a webhook delivery on its way (B-94)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from emulator.core.effects import HttpResult
from emulator.resources.sandbox.faults import FaultEffect
from emulator.resources.webhooks.signing import SignedRequest

Send = Callable[[SignedRequest], Awaitable[HttpResult]]

LOST = HttpResult(status_code=200, error="lost on the way by an arranged fault; the service believes it arrived")


async def send_with_fault(then: FaultEffect, sent: SignedRequest, send: Send) -> HttpResult:
    """Send a delivery that something happens to; what the service takes for the receiver's answer.

    Copies beyond the first go unrecorded, as those of a network that repeats itself.
    """
    if then.lose:
        return LOST
    answer = await send(replace(sent, body=tamper(sent.body)) if then.tamper else sent)
    for _ in range(then.duplicate or 0):
        await send(sent)
    return answer


def tamper(body: bytes) -> bytes:
    """An event that somebody changed after it was signed: still JSON, and no longer what the signature is of."""
    return body[:-1] + b',"tampered":true}'
