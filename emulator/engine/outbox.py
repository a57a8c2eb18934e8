"""The outbox of a world: performs its units' effects, which are webhook deliveries and pings.

Effects are performed after the commit, in the background and in order for each receiver. Whatever a
receiver does is a result, never an exception.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from emulator.core.errors import ApiError
from emulator.core.unit_of_work import DeliverWebhook, Effect, HttpResult, OpenPage, PingEndpoint
from emulator.engine.clock import Command, UnitRunner
from emulator.engine.http_client import LookUps, Pace, WebhookSender
from emulator.engine.storage.store import StorageError, WorldClosed
from emulator.engine.time_slices import TimeSlice
from emulator.resources.faults import DELIVERY, Fault, FaultEffect, pick_delivery_fault
from emulator.resources.payments.operator import Outcome
from emulator.resources.payments.operator import consume as consume_outcome
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.deliveries import SignedRequest

logger = logging.getLogger("emulator")

# -- injected faults (B-94)


Send = Callable[..., Awaitable[HttpResult]]
"""Sends a signed request, at once or at a pace."""

OTHERS_SECONDS = 1.0
"""Seconds (real time) of waiting for requests due to arrive together: one may never arrive."""

LOST = HttpResult(
    status_code=200, error="lost on the way by an arranged fault; the service believes it arrived"
)

LATE_RESPONSE = HttpResult(
    status_code=None, error="answered too late, by an arranged fault; not delivered"
)

FORGED = "a forged copy came first, by an arranged fault, and was "
"""The beginning of an attempt's error after a forged copy, before ``accepted`` or ``rejected``."""

TAMPERED = "tampered with, by an arranged fault"
"""The error of an attempt whose body was changed after signing, where the receiver responded."""


async def send_with_fault(effect: FaultEffect, request: SignedRequest, send: Send) -> HttpResult:
    """Send a delivery as the fault says; return its result to record, but no copy's."""
    if effect.lose:
        return LOST
    if effect.forge:
        forged = await send(replace(request, body=tamper(request.body)))
        return replace(
            await send(request), error=f"{FORGED}{'accepted' if forged.ok else 'rejected'}"
        )
    sent = replace(request, body=tamper(request.body)) if effect.tamper else request
    if effect.together:
        copies = 1 + (effect.duplicate or 0)
        pace = together(copies)
        return (await asyncio.gather(*(send(sent, pace) for _ in range(copies))))[0]
    result = await send(sent)
    for _ in range(effect.duplicate or 0):
        await send(request)
    if effect.late_response or effect.again:
        return LATE_RESPONSE
    return replace(result, error=TAMPERED) if effect.tamper and result.error is None else result


def together(requests: int) -> Pace:
    """Return the pace for simultaneous requests: all wait for one another before the last byte."""
    meeting = asyncio.Barrier(requests)

    async def pace(request: bytes) -> AsyncIterator[bytes]:
        yield request[:-1]
        with suppress(TimeoutError):
            async with asyncio.timeout(OTHERS_SECONDS):
                await meeting.wait()
        yield request[-1:]

    return pace


def tamper(body: bytes) -> bytes:
    """Return an event's body changed after signing: valid JSON with a wrong signature."""
    return body[:-1] + b',"tampered":true}'


# -- the outbox


Delivered = DeliverWebhook | OpenPage

DELIVERIES_AT_ONCE = 32
"""Delivery attempts under way in one world; hanging receivers stop no other world."""

CANCELED_AGAIN = 0.5
"""Seconds (real time) after which a task that still goes on is canceled once more."""

side_by_side = ContextVar("side_by_side", default=False)
"""Whether a request's deliveries wait for no other: its client does not wait for them (B-84)."""

DELIVERY_WAIT_SECONDS = 0.2
"""Seconds (real time) that a request waits for a delivery under way before it gets 409."""

TRIES = 30
"""Attempts to record a result, a second (real time) apart, while storing fails."""

NOT_SENT = HttpResult(status_code=None, error="not sent")

ARRANGED = {
    "succeeded": HttpResult(status_code=200, body=""),
    "failed": HttpResult(status_code=None, error="failed, as arranged"),
}
"""The results of attempts by arranged outcome; failures are retried as usual (B-84)."""


class HeldDelivery(NamedTuple):
    """A delivery that an injected fault holds back until another one to its endpoint is made.

    ``until`` None: it follows the next one; ``next``: it goes with that one; a type: it goes with
    the next one of that type.
    """

    effect: DeliverWebhook
    until: str | None


class Outbox:
    """A queue for each endpoint, in order of creation (B-84); queues do not wait for one another.

    The items of a queue are handled one at a time. Handling may wait for nothing, so between two
    deliveries other tasks run once a time slice is over.

    While the state cannot be stored, an outcome waits to be recorded, and what is behind it in its
    queue waits too. After ``TRIES`` seconds it stays pending in the world and is sent again when
    the world is next resumed. An injected fault may hold a delivery back until a later one was
    made: it is in ``_held``, by endpoint.
    """

    def __init__(self, runner: UnitRunner, sender: WebhookSender) -> None:
        self._runner = runner
        self._sender = sender
        self._look_ups: LookUps = {}
        self._slots = asyncio.Semaphore(DELIVERIES_AT_ONCE)
        self._waiting: dict[str, deque[Delivered]] = defaultdict(deque)
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._awaited: dict[str, asyncio.Future[HttpResult]] = {}
        self._held: dict[str, HeldDelivery] = {}
        # By delivery that is being attempted: its endpoint, and its outcome.
        self._attempted: dict[str, tuple[str, asyncio.Future[HttpResult]]] = {}

    # -- the queues

    def perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, DeliverWebhook):
                self._put(effect.delivery if side_by_side.get() else effect.webhook, effect)
            elif isinstance(effect, OpenPage):
                self._put(effect.url, effect)

    def resume(self) -> None:
        """Take up what the stored world had not finished: deliveries that no job will attempt."""
        self.perform(deliveries.under_way(self._runner.world))

    def _put(self, key: str, effect: Delivered) -> None:
        """Handle an effect once those before it in its queue are handled; returns at once."""
        self._waiting[key].append(effect)
        if key not in self._workers:
            self._workers[key] = asyncio.create_task(self._work(key))

    async def _work(self, key: str) -> None:
        waiting, time_slice = self._waiting[key], TimeSlice(self._runner.scheduler.pauses)
        try:
            while waiting:
                effect = waiting.popleft()
                try:
                    async with self._slots:
                        await self._deliver(effect)
                except StorageError:  # the store has logged it, once
                    pass
                except Exception:
                    logger.exception("%s failed", effect)
                await time_slice.pause_if_over()
        finally:
            del self._workers[key]
            del self._waiting[key]

    @property
    def is_under_way(self) -> bool:
        return bool(self._workers)

    async def settled(self) -> None:
        """Wait until each attempt that was begun has its outcome."""
        while self._workers:
            await asyncio.wait(list(self._workers.values()))

    async def close(self) -> None:
        """Drop waiting effects and cancel running ones; later effects are not affected."""
        for outcome in self._awaited.values():
            if not outcome.done():
                message = (
                    "This world was put back, or is being closed, while the delivery was under way."
                )
                outcome.set_exception(
                    ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)
                )
        workers = dict(self._workers)
        pending = set(workers.values())
        while pending:
            for worker in pending:
                worker.cancel()
            # Python 3.11's wait_for swallows a cancellation that meets the end of what it waits
            # for.
            _, pending = await asyncio.wait(pending, timeout=CANCELED_AGAIN)
        for key, worker in workers.items():
            # Canceled before its first step, it had no chance to clear up.
            if self._workers.get(key) is worker:
                del self._workers[key], self._waiting[key]
        self._held.clear()

    # -- waiting for outcomes

    async def ask(self, effect: Effect) -> HttpResult:
        """Perform an effect for a waiting command; a delivery waits for earlier queued ones."""
        if isinstance(effect, PingEndpoint):
            return await self._send(deliveries.ping(effect, int(time.time())))
        if isinstance(effect, OpenPage):
            return await self._open(effect)
        if not isinstance(effect, DeliverWebhook):
            raise TypeError(f"{effect!r} has no outcome to wait for")
        outcome: asyncio.Future[HttpResult] = asyncio.get_running_loop().create_future()
        self._awaited[effect.delivery] = outcome
        self._put(effect.webhook, effect)
        try:
            # An attempt that nobody waits for any more goes on.
            return await asyncio.shield(outcome)
        finally:
            del self._awaited[effect.delivery]

    async def unanswered(self, webhook: str | None = None) -> str | None:
        """Return the id of a delivery under way, to one endpoint or any, that takes too long.

        Too long is longer than ``DELIVERY_WAIT_SECONDS``. A receiver that asks while it
        handles that delivery would wait for it in vain. Most deliveries have a response in
        milliseconds, so that others are held up no longer than that.
        """
        attempted = self._attempted.items()
        under_way = {
            outcome: delivery for delivery, (id, outcome) in attempted if webhook in (None, id)
        }
        if under_way:
            await asyncio.wait(under_way, timeout=DELIVERY_WAIT_SECONDS)
        return next(
            (delivery for outcome, delivery in under_way.items() if not outcome.done()), None
        )

    # -- webhooks

    async def _deliver(self, effect: Delivered) -> None:
        if isinstance(effect, OpenPage):  # whatever comes of it is the page's affair
            await self._open(effect)
            return
        result, outcome = (
            NOT_SENT,
            self._awaited.get(effect.delivery) or asyncio.get_running_loop().create_future(),
        )
        self._attempted[effect.delivery] = effect.webhook, outcome
        try:
            result = await self._attempt(effect)
        finally:
            del self._attempted[effect.delivery]
            if not outcome.done():
                outcome.set_result(result)

    async def _open(self, page: OpenPage) -> HttpResult:
        await self._runner.durable()
        return await self._sender.send(page.url, {}, b"", look_ups=self._look_ups, method="GET")

    async def _attempt(
        self, effect: DeliverWebhook, *, exempt_from_faults: bool = False, pace: Pace | None = None
    ) -> HttpResult:
        runner = self._runner
        at = runner.now()
        request = self._sender.request(runner.world, effect, int(time.time()))
        if request is None:
            await self._commit(deliveries.mark_missed, {"post": effect})
            return NOT_SENT
        type = runner.world.require(deliveries.WebhookDelivery, effect.delivery).event_type
        if not exempt_from_faults and (held := self._released(effect, "next", type)):
            return await self._attempt_together(effect, held)
        fault = None if exempt_from_faults else await self._injected_fault(effect)
        if fault is not None and fault.then.delay is not None:
            return NOT_SENT
        if (
            fault is not None
            and (fault.then.reorder or fault.then.overlap)
            and effect.webhook not in self._held
        ):
            until = type if fault.then.overlap == "same_type" else fault.then.overlap
            self._held[effect.webhook] = HeldDelivery(effect, until)
            return NOT_SENT
        result = await self._arranged_outcome()
        if result is None:
            send = partial(self._send, pace=pace)
            result = await (
                send(request) if fault is None else send_with_fault(fault.then, request, self._send)
            )
        again = fault.seconds if fault and fault.then.again else None
        recorded = {"post": effect, "sent": request, "response": result, "at": at, "again": again}
        await self._commit(deliveries.record_attempt, recorded)
        if runner.result:
            runner.result.deliveries[deliveries.is_success(runner.world, result)] += 1
        if fault is not None and fault.then.reissue:
            await self._commit(deliveries.reissue, {"post": effect})
        if held := self._released(effect, None):
            await self._attempt(held, exempt_from_faults=True)
        return result

    async def _attempt_together(self, *effects: DeliverWebhook) -> HttpResult:
        pace = together(len(effects))
        attempts = (self._attempt(effect, exempt_from_faults=True, pace=pace) for effect in effects)
        return (await asyncio.gather(*attempts))[0]

    def _released(self, effect: DeliverWebhook, *until: str | None) -> DeliverWebhook | None:
        """Return the delivery to the same endpoint that was held back until now, if any."""
        held = self._held.get(effect.webhook)
        return self._held.pop(effect.webhook).effect if held and held.until in until else None

    async def _injected_fault(self, effect: DeliverWebhook) -> Fault | None:
        if not self._runner.world.table(Fault).where("about", DELIVERY):
            return None
        fault: Fault | None = await self._commit(pick_delivery_fault, {"post": effect})
        return fault

    async def _arranged_outcome(self) -> HttpResult | None:
        """Return the arranged outcome of the next delivery attempts, which are then not made."""
        if not self._runner.world.table(Outcome).where("operation", "delivery"):
            return None
        outcome: Outcome | None = await self._commit(consume_outcome, {"operation": "delivery"})
        return None if outcome is None else ARRANGED[outcome.result]

    async def _send(self, request: SignedRequest, pace: Pace | None = None) -> HttpResult:
        await self._runner.durable()
        return await self._sender.send(
            request.url,
            request.headers,
            request.body,
            verify=request.verify,
            look_ups=self._look_ups,
            pace=pace,
        )

    async def _commit(self, command: Command, arguments: dict[str, Any]) -> Any:
        """Run a command as a unit of work, repeated until stored, so that nothing is sent twice.

        Raises ``StorageError`` if it still cannot be stored after ``TRIES`` seconds, or if the
        world was closed.
        """
        for _ in range(TRIES):
            try:
                return self._runner.commit(command, arguments)
            except WorldClosed:
                raise
            except StorageError:  # the store has logged it, once
                await asyncio.sleep(1)
        return self._runner.commit(command, arguments)
