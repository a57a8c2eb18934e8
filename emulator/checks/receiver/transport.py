"""The ways of sending the deliveries of one check."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from emulator.core.effects import HttpResult
from emulator.engine.outbox import WebhookSender
from emulator.resources.webhooks.signing import SignedRequest

SendStrategy = Callable[[WebhookSender, Sequence[SignedRequest]], Awaitable[list[HttpResult]]]

PIECES = 5
"""The number of pieces of a body that is sent slowly."""

PAUSE = 0.1
"""Seconds between two pieces; less if the receiver has little time to answer."""


async def one_by_one(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send each after the answer to the one before. Stop at the first without an answer, which may have taken long."""
    answers: list[HttpResult] = []
    for each in sent:
        answers.append(await sender.send(each.url, each.headers, each.body, verify=each.verify))
        if answers[-1].status_code is None:
            break
    return answers


async def at_once(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send all at the same time."""
    return [answer for (answer,) in await asyncio.gather(*(one_by_one(sender, [each]) for each in sent))]


async def slowly(sender: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Send each body in pieces, as over a slow connection."""
    pause = min(PAUSE, sender.answer_time / PIECES / 4)
    return [
        await sender.send(
            each.url,
            {**each.headers, "Content-Length": str(len(each.body))},
            _pieces(each.body, pause),
            verify=each.verify,
        )
        for each in sent
    ]


async def _pieces(body: bytes, pause: float) -> AsyncIterator[bytes]:
    size = -(-len(body) // PIECES)
    for start in range(0, len(body), size):
        if start:
            await asyncio.sleep(pause)
        yield body[start : start + size]
