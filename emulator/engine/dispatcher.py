"""The dispatcher of a world: performs the effects its turns wished for, a queue per endpoint and one for mail."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from emulator.core.effects import DeliverWebhook, Effect, HttpResult, PingEndpoint, SendEmail
from emulator.engine.delivery_faults import send_with_fault
from emulator.engine.mailer import Mailer, MailQueue
from emulator.engine.webhook_sender import WebhookSender
from emulator.resources.webhooks import deliveries, signing

if TYPE_CHECKING:
    from emulator.engine.runtime import Runtime

logger = logging.getLogger("emulator")

AT_ONCE = 32
"""Attempts a world has under way at once; each world has its own limit, so hanging receivers stop no other world."""


class Dispatcher:
    """Endpoints do not wait for each other; within one, events arrive in order of creation (B-84).

    Unless a fault holds one back until a later one went by: then it waits among those ``held``, by endpoint.
    """

    def __init__(self, runtime: Runtime, postman: WebhookSender, mailer: Mailer | None = None) -> None:
        self._runtime = runtime
        self._sender = postman
        self.mails = MailQueue(runtime, mailer)
        self._queues: dict[str, deque[DeliverWebhook]] = defaultdict(deque)
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._awaited: dict[str, asyncio.Future[HttpResult]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._held: dict[str, DeliverWebhook] = {}

    def perform(self, wishes: Iterable[Effect]) -> None:
        """Take over the wishes of a turn that was kept; returns at once."""
        for wish in wishes:
            if isinstance(wish, DeliverWebhook):
                self._queue(wish)
            elif isinstance(wish, SendEmail):
                self.mails.put(wish)

    async def ask(self, effect: Effect) -> HttpResult:
        """Perform an effect whose outcome a command waits for. A delivery waits for those queued before it."""
        if isinstance(effect, PingEndpoint):
            return await self._send(signing.ping(effect, int(time.time())))
        if not isinstance(effect, DeliverWebhook):
            raise TypeError(f"{effect!r} has no outcome to wait for")
        outcome: asyncio.Future[HttpResult] = asyncio.get_running_loop().create_future()
        self._awaited[effect.delivery] = outcome
        self._queue(effect)
        try:
            return await outcome
        finally:
            del self._awaited[effect.delivery]

    async def settled(self) -> None:
        """Wait until every attempt under way has its outcome on record."""
        while self._workers:
            await asyncio.wait(list(self._workers.values()))

    async def close(self) -> None:
        """Give up what is under way."""
        await self.mails.close()
        workers = list(self._workers.values())
        for worker in workers:
            worker.cancel()
        for outcome in self._awaited.values():
            outcome.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        # A worker canceled before its first step had no chance to clear up.
        self._workers.clear()
        self._queues.clear()
        self._held.clear()

    def _queue(self, post: DeliverWebhook) -> None:
        self._queues[post.webhook].append(post)
        if post.webhook not in self._workers:
            self._workers[post.webhook] = asyncio.create_task(self._work(post.webhook))

    async def _work(self, webhook: str) -> None:
        queue = self._queues[webhook]
        try:
            while queue:
                async with self._slots:
                    await self._settle(queue.popleft())
        finally:
            del self._workers[webhook]
            del self._queues[webhook]

    async def _settle(self, post: DeliverWebhook) -> None:
        """Make one attempt and tell whoever waits for it. A failure of ours must not stop the endpoint's queue."""
        answer = NOT_SENT
        try:
            answer = await self._attempt(post)
        except Exception:
            logger.exception("delivery %s to %s failed", post.delivery, post.webhook)
        outcome = self._awaited.get(post.delivery)
        if outcome is not None and not outcome.done():
            outcome.set_result(answer)

    async def _attempt(self, post: DeliverWebhook, *, spared: bool = False) -> HttpResult:
        runtime = self._runtime
        at = runtime.clock.now()
        sent = deliveries.outgoing(runtime.world, post, int(time.time()))
        if sent is None:
            runtime.record_missed(post)
            return NOT_SENT
        fault = None if spared else runtime.injected_fault(post)
        if fault is not None and fault.then.delay is not None:
            return NOT_SENT
        if fault is not None and fault.then.reorder and post.webhook not in self._held:
            self._held[post.webhook] = post
            return NOT_SENT
        answer = runtime.arranged_outcome()
        if answer is None:
            answer = await (self._send(sent) if fault is None else send_with_fault(fault.then, sent, self._send))
        runtime.record_attempt(post, sent, answer, at)
        if (held := self._held.pop(post.webhook, None)) is not None:
            await self._attempt(held, spared=True)
        return answer

    async def _send(self, sent: signing.SignedRequest) -> HttpResult:
        return await self._sender.send(sent.url, sent.headers, sent.body, verify=sent.verify)


NOT_SENT = HttpResult(status_code=None, error="not sent")
