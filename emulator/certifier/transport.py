"""Sending: the ways in which the deliveries of one check reach the receiver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from emulator.core.effects import HttpResult
from emulator.engine.webhook_sender import WebhookSender
from emulator.resources.webhooks.signing import SignedRequest

SendStrategy = Callable[[WebhookSender, Sequence[SignedRequest]], Awaitable[list[HttpResult]]]

PIECES = 5
"""In so many pieces comes what comes slowly."""

PAUSE = 0.1
"""Seconds between two pieces; less where the receiver has little time in all."""


async def one_by_one(postman: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Each when the one before was answered; none after one that got no answer, which may have taken long."""
    answers: list[HttpResult] = []
    for each in sent:
        answers.append(await postman.send(each.url, each.headers, each.body, verify=each.verify))
        if answers[-1].status_code is None:
            break
    return answers


async def at_once(postman: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """All at the same time."""
    return [answer for (answer,) in await asyncio.gather(*(one_by_one(postman, [each]) for each in sent))]


async def slowly(postman: WebhookSender, sent: Sequence[SignedRequest]) -> list[HttpResult]:
    """Each body in pieces, as a bad line brings it."""
    pause = min(PAUSE, postman.answer_time / PIECES / 4)
    return [
        await postman.send(
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
