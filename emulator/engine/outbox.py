"""The outbox of a world: performs the effects of its units of work, which are webhook deliveries, pings and emails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any

from emulator.core.effects import DeliverWebhook, Effect, HttpResult, PingEndpoint, SendEmail
from emulator.core.errors import ApiError
from emulator.core.unit_of_work import UnitOfWork
from emulator.engine.clock import Command, UnitRunner
from emulator.engine.delivery_faults import send_with_fault
from emulator.engine.mailer import Mailer
from emulator.engine.storage.store import LeasedElsewhere, StorageError
from emulator.engine.trace_contexts import TraceContexts, Traces
from emulator.engine.webhook_sender import WebhookSender
from emulator.engine.work_queues import WorkQueues
from emulator.resources.payments.outcomes import Outcome
from emulator.resources.payments.outcomes import consume as consume_outcome
from emulator.resources.simulation import emails
from emulator.resources.simulation.emails import Email
from emulator.resources.simulation.faults import DELIVERY, Fault, pick_delivery_fault
from emulator.resources.webhooks import deliveries, signing
from emulator.resources.webhooks.signing import SignedRequest

logger = logging.getLogger("emulator")

AT_ONCE = 32
"""Delivery attempts under way in one world; each has its own limit, so hanging receivers stop no other world."""

MAIL = "mail"
"""The key of the one queue of emails."""

GRACE = 0.2
"""Seconds (real time) in which a delivery under way may still be answered; then a request waiting for it gets 503."""

TRIES = 30
"""How often an outcome is recorded again, one second (real time) after the other, while the state cannot be stored."""

NOT_SENT = HttpResult(status_code=None, error="not sent")

ARRANGED = {
    "succeeded": HttpResult(status_code=200, body=""),
    "failed": HttpResult(status_code=None, error="failed, as arranged"),
}
"""The results of attempts whose outcome was arranged; a failure is retried like any connection error (B-84)."""


class Outbox:
    """A queue for each endpoint, in which events arrive in order of creation (B-84), and one for emails.

    While the state cannot be stored, an outcome waits to be recorded, and what is behind it in its queue waits too.
    After ``TRIES`` seconds it stays pending in the world and is sent again when the world is next resumed. An injected
    fault may hold a delivery back until a later one was made: it is in ``_held``, by endpoint.
    """

    def __init__(
        self, runner: UnitRunner, sender: WebhookSender, mailer: Mailer | None = None, traces: Traces | None = None
    ) -> None:
        self._runner = runner
        self._traces = traces or TraceContexts()
        self._sender = sender
        self._mailer = mailer
        self._deliveries = WorkQueues(self._deliver, AT_ONCE, runner.scheduler.pauses)
        self._emails = None if mailer is None else WorkQueues(self._mail, pauses=runner.scheduler.pauses)
        self._awaited: dict[str, asyncio.Future[HttpResult]] = {}
        self._held: dict[str, DeliverWebhook] = {}
        # By endpoint: the delivery that is being attempted, and what ends with it.
        self._attempted: dict[str, tuple[str, asyncio.Event]] = {}

    def on_commit(self, unit: UnitOfWork) -> None:
        """Perform the effects of a unit of work."""
        self._perform(unit.effects)

    def resume(self) -> None:
        """Take up what the stored world had not finished: deliveries that no job will attempt, and unsent emails."""
        world = self._runner.world
        # Without a mailer no email is ever sent, and there may be very many.
        self._perform([*deliveries.under_way(world), *(emails.unsent(world) if self._emails is not None else ())])

    def _perform(self, effects: Iterable[Effect]) -> None:
        """Queue effects; returns at once. Without a mailer, emails stay in the world."""
        for effect in effects:
            if isinstance(effect, DeliverWebhook):
                self._deliveries.put(effect.webhook, effect)
            elif isinstance(effect, SendEmail) and self._emails is not None:
                self._emails.put(MAIL, effect)

    async def ask(self, effect: Effect) -> HttpResult:
        """Perform an effect whose outcome a command waits for. A delivery waits for those queued before it."""
        if isinstance(effect, PingEndpoint):
            return await self._send(signing.ping(effect, int(time.time())))
        if not isinstance(effect, DeliverWebhook):
            raise TypeError(f"{effect!r} has no outcome to wait for")
        outcome: asyncio.Future[HttpResult] = asyncio.get_running_loop().create_future()
        self._awaited[effect.delivery] = outcome
        self._deliveries.put(effect.webhook, effect)
        try:
            return await outcome
        finally:
            del self._awaited[effect.delivery]

    async def unanswered(self, webhook: str | None = None) -> str | None:
        """A delivery under way now, to one endpoint or to any, that is not answered within ``GRACE`` seconds; its id.

        Who asks while handling that delivery would wait for it in vain. Most are answered in milliseconds, so that
        others are held up no longer than that.
        """
        under_way = [attempt for id, attempt in self._attempted.items() if webhook in (None, id)]
        deadline = asyncio.get_running_loop().time() + GRACE
        for delivery, ended in under_way:
            try:
                async with asyncio.timeout_at(deadline):
                    await ended.wait()
            except TimeoutError:
                return delivery
        return None

    async def deliveries_settled(self) -> None:
        """Wait until every delivery attempt under way has its outcome on record."""
        await self._deliveries.settled()

    async def emails_settled(self) -> None:
        """Wait until every email has its outcome on record."""
        if self._emails is not None:
            await self._emails.settled()

    @property
    def is_under_way(self) -> bool:
        """Whether a delivery or an email is."""
        return self._deliveries.is_working or (self._emails is not None and self._emails.is_working)

    async def close(self) -> None:
        """Cancel what is under way."""
        for outcome in self._awaited.values():
            if not outcome.done():
                outcome.set_exception(_interrupted())
        if self._emails is not None:
            await self._emails.close()
        await self._deliveries.close()
        self._held.clear()

    async def _stored(self) -> None:
        """Wait until nothing that leaves can be forgotten again. Raises ``StorageError``."""
        if self._runner.persistence:
            await self._runner.persistence.durable()

    # -- webhooks

    async def _deliver(self, effect: DeliverWebhook) -> None:
        result = NOT_SENT
        ended = asyncio.Event()
        self._attempted[effect.webhook] = effect.delivery, ended
        try:
            result = await self._attempt(effect)
        finally:
            ended.set()
            del self._attempted[effect.webhook]
            outcome = self._awaited.get(effect.delivery)
            if outcome is not None and not outcome.done():
                outcome.set_result(result)

    async def _attempt(self, effect: DeliverWebhook, *, exempt_from_faults: bool = False) -> HttpResult:
        runner = self._runner
        at = runner.now()
        request = self._sender.request(runner.world, effect, int(time.time()))
        if request is None:
            await self._commit(deliveries.mark_missed, {"post": effect})
            return NOT_SENT
        fault = None if exempt_from_faults else await self._injected_fault(effect)
        if fault is not None and fault.then.delay is not None:
            return NOT_SENT
        if fault is not None and fault.then.reorder and effect.webhook not in self._held:
            self._held[effect.webhook] = effect
            return NOT_SENT
        request.headers.update(self._traces.sending(effect.delivery, int(request.headers["Emulator-Attempt"])))
        result = await self._arranged_outcome()
        if result is None:
            result = await (self._send(request) if fault is None else send_with_fault(fault.then, request, self._send))
        self._traces.sent(effect.delivery, result)
        await self._record_attempt(effect, request, result, at)
        if (held := self._held.pop(effect.webhook, None)) is not None:
            await self._attempt(held, exempt_from_faults=True)
        return result

    async def _injected_fault(self, effect: DeliverWebhook) -> Fault | None:
        """The injected fault that applies to this delivery attempt, if any does."""
        if not self._runner.world.table(Fault).where("about", DELIVERY):
            return None
        fault: Fault | None = await self._commit(pick_delivery_fault, {"post": effect})
        return fault

    async def _arranged_outcome(self) -> HttpResult | None:
        """The outcome that was arranged for the next delivery attempts, which are then not made at all."""
        if not self._runner.world.table(Outcome).where("operation", "delivery"):
            return None
        outcome: Outcome | None = await self._commit(consume_outcome, {"operation": "delivery"})
        return None if outcome is None else ARRANGED[outcome.result]

    async def _send(self, request: SignedRequest) -> HttpResult:
        await self._stored()
        return await self._sender.send(request.url, request.headers, request.body, verify=request.verify)

    async def _record_attempt(
        self, effect: DeliverWebhook, request: SignedRequest, result: HttpResult, at: str
    ) -> None:
        """Record the outcome of an attempt made at an instant of the world's clock."""
        arguments = {"post": effect, "sent": request, "answer": result, "at": at}
        await self._commit(deliveries.record_attempt, arguments)
        if self._runner.result:
            self._runner.result.deliveries[deliveries.is_success(self._runner.world, result)] += 1

    async def _commit(self, command: Command, arguments: dict[str, Any]) -> Any:
        """Run a command as a unit of work; again while it cannot be stored, so that nothing is sent twice for that.

        Raises ``StorageError`` if it still cannot be stored after ``TRIES`` seconds, or if another process runs this
        world now.
        """
        for _ in range(TRIES):
            try:
                return self._runner.commit(command, arguments)
            except LeasedElsewhere:
                raise
            except StorageError:  # the store has logged it, once
                await asyncio.sleep(1)
        return self._runner.commit(command, arguments)

    # -- emails

    async def _mail(self, effect: SendEmail) -> None:
        email = self._runner.world.get(Email, effect.email)
        if email is None or self._mailer is None:  # a reset removed it
            return
        await self._stored()
        error = await self._mailer.send(email)
        if error is not None:
            logger.warning("email %s to %s was not sent: %s", email.id, email.to, error)
        await self._commit(emails.record_outcome, {"id": email.id, "error": error})


def _interrupted() -> ApiError:
    message = "This world was put back, or is being closed, while the delivery was under way."
    return ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)
