"""A runtime: one world at work, with its clock, its turns, its due jobs and its deliveries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from inspect import isgenerator
from typing import Any, cast

from emulator.core.calendar import Timestamp
from emulator.core.effects import DeliverWebhook, Effect, HttpResult
from emulator.core.jobs import FailedJob, Job
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.core.world import World
from emulator.engine.advances import AdvanceResult, Advances, TargetResolver
from emulator.engine.clock import Clock, ClockState
from emulator.engine.dispatcher import Dispatcher
from emulator.engine.inbox import Inbox
from emulator.engine.journal import Checkpoint, Journal
from emulator.engine.mailer import Mailer
from emulator.engine.persistence import WorldPersistence
from emulator.engine.pubsub import Broker, restarted
from emulator.engine.rate_limit import RateLimiter
from emulator.engine.snapshots import Snapshot
from emulator.engine.time_slice import TimeSlice
from emulator.engine.webhook_sender import WebhookSender
from emulator.resources.payments.outcomes import Outcome
from emulator.resources.payments.outcomes import consume as take_outcome
from emulator.resources.sandbox import emails
from emulator.resources.sandbox.faults import DELIVERY, Fault, pick_delivery_fault
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.signing import SignedRequest
from emulator.state.store import StorageError

logger = logging.getLogger("emulator")


Steps = Generator[Effect, HttpResult, Any]
"""A command that waits for effects: it yields each one and is sent its outcome."""

ARRANGED = {
    "succeeded": HttpResult(status_code=200, body=""),
    "failed": HttpResult(status_code=None, error="failed, as arranged"),
}
"""What an arranged outcome of a delivery is on record as; a failure is tried again like any fault on the way (B-84)."""


class Runtime:
    """Runs turns on a world. Everything here is called on one event loop, and no turn awaits.

    ``running_keys`` are the Idempotency-Keys of requests that are not answered yet (B-16), ``traffic`` counts the
    requests themselves (B-25). ``keeping`` is where the world lasts, if it does.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        postman: WebhookSender,
        mailer: Mailer | None = None,
        keeping: WorldPersistence | None = None,
    ) -> None:
        self.world = world
        self.clock = clock
        self.persistence = keeping
        self.dispatcher = Dispatcher(self, postman, mailer)
        self.running_keys: set[str] = set()
        self.inbox = Inbox()
        self.journal = Journal()
        self.snapshots: dict[str, Snapshot] = {}
        self.rate_limiter = RateLimiter()
        self._driven = 0
        self.result: AdvanceResult | None = None
        self.advances = Advances(self)
        self.broker = Broker()

    # -- requests

    def request_id(self) -> str:
        """The id of the next request of this world. It is drawn outside any turn: a refused request uses one up too."""
        return self.world.draw("req")

    async def serve(self, command: Callable[..., Any], arguments: Mapping[str, Any], cause: str | None) -> Any:
        """Run one command as a turn, then what it made due at once; its result.

        A command that is a generator yields effects whose outcome it must know; each stretch between two is a turn.
        Raises what the command raises, nothing of its turn being kept.
        """
        result = self._run_unit(command, arguments, cause)
        if isgenerator(result):
            result = await self._drive(cast("Steps", result), cause)
        # The command is kept. A job that cannot be kept now stays planned, and is no reason to say no.
        with suppress(StorageError):
            self._run_until(self.world.now)
        return result

    def _run_unit(self, command: Callable[..., Any], arguments: Mapping[str, Any], cause: str | None) -> Any:
        self.run_due()
        with self.world.unit_of_work(cause) as turn:
            result = command(self.world, **arguments)
        self._after_commit(turn)
        return result

    async def _drive(self, steps: Steps, cause: str | None) -> Any:
        self._driven += 1
        try:
            done, outcome = self._run_unit(_step, {"steps": steps, "answer": None}, cause)
            while not done:
                answer = await self.dispatcher.ask(outcome)
                done, outcome = self._run_unit(_step, {"steps": steps, "answer": answer}, cause)
        finally:
            self._driven -= 1
        return outcome

    # -- the past

    def checkpoint(self) -> Checkpoint:
        """The present place in the world's history."""
        return Checkpoint(self.journal.count, self.clock.now(), self.world.counters.copy())

    async def rewind(self, mark: Checkpoint) -> None:
        """Take back every turn since a mark, clock and counters included. What is being delivered is given up."""
        await self._stop()
        turns = self.journal.since(mark)
        world = self.world.copy()
        for turn in turns:
            world.undo(turn)
        world.counters, world.now = mark.counters.copy(), mark.now
        undone = [change for turn in turns for change in turn.changes]
        self._replace_world(world, self.clock.another(mark.now), undone)
        self.journal.take_back(mark)
        self._publish_restart("rewind")

    def snapshot(self) -> Snapshot:
        """The world as it is, to come back to. Records never change, so it costs their filing alone."""
        self.run_due()
        return Snapshot(self.world.copy(), self.clock.now(), self.clock.mode, self.clock.rate)

    async def restore(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of the world; its past begins with it."""
        world = snapshot.world.copy()
        world.now = snapshot.now
        await self.replace(world, self.clock.another(snapshot.now, snapshot.mode, snapshot.rate), "restore")

    async def replace(self, world: World, clock: Clock, cause: str) -> None:
        """Put another world in this one's place; it has no past. What is being delivered or advanced is given up."""
        await self._stop()
        self._replace_world(world, clock)
        self.journal.forget()
        self._publish_restart(cause)

    def _publish_restart(self, cause: str) -> None:
        self.broker.publish_unit("reset", restarted(cause, self.clock.now()))
        self.broker.publish_unit("clock", self.clock_state())

    async def _stop(self) -> None:
        """Give up what is being advanced or delivered."""
        await self.advances.close()
        await self.dispatcher.close()

    def _replace_world(self, world: World, clock: Clock, changes: list[Change] | None = None) -> None:
        """Let another world be this one; ``changes`` are what led there, or None if it has nothing to do with it."""
        try:
            if self.persistence:
                self.persistence.replace_world(Snapshot(world, clock.now(), clock.mode, clock.rate), changes)
            self.world, self.clock = world, clock
        finally:
            self.resume()

    def resume(self) -> None:
        """Take up what was under way in the world as it was kept: deliveries no job will attempt, unsent emails."""
        self.dispatcher.perform([*deliveries.under_way(self.world), *emails.unsent(self.world)])

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way here that takes more than one turn."""
        return self.result is not None or self._driven > 0

    def flush(self) -> None:
        """Keep clock and counters, where the world is to last, if they moved without a turn. Raises ``NotStored``."""
        if self.persistence:
            self.persistence.flush(self.world, self.clock)

    # -- time

    def clock_state(self) -> ClockState:
        """What the clock shows, and what it will come to next."""
        return self.clock.read(self.world)

    def run_due(self) -> None:
        """Run every job that is due, each at its own instant, then bring the world to the present (B-91)."""
        now = self.clock.now()
        self._run_until(now)
        self.world.now = max(self.world.now, now)

    def _run_until(self, now: Timestamp) -> None:
        while self._run_next(now):
            pass

    async def run_due_cooperatively(self) -> None:
        """Do the same, but with turns for others in between; for a clock that runs by itself."""
        now = self.clock.now()
        pace = TimeSlice()
        while self._run_next(now):
            await pace.pause_if_over()

    def _run_next(self, until: Timestamp) -> bool:
        """Run the next job if it is due by then; whether there was one."""
        job = self.world.jobs.next()
        if job is None or job.due > until:
            return False
        self.run(job)
        return True

    def run(self, job: Job) -> None:
        """Run a job, whose failure is none of ours: it is rolled back, kept and reported."""
        try:
            turn = self.world.run(job)
        except Exception as error:  # a failed job must not stop the clock
            logger.exception("job %s (%s of %s) failed", job.id, job.name, job.about)
            self._after_commit(self.world.fail_job(job, error))
            if self.result:
                self.result.failures.append(self.world.require(FailedJob, job.id))
            return
        self._after_commit(turn)
        if self.result:
            self.result.jobs += 1

    async def advance(self, plot: TargetResolver) -> AdvanceResult:
        """Move the clock on, running on the way all that falls due, the outcome of deliveries included.

        Advances of one world wait for each other; ``plot`` is asked for the course when it is this one's turn. What
        it raises ends the advance before it began. One that a reset, a restore or a rewind ends tells how far it came.
        """
        return await self.advances.make(plot)

    # -- deliveries and news

    def injected_fault(self, post: DeliverWebhook) -> Fault | None:
        """The arranged fault that strikes a delivery attempt, if any does."""
        if not self.world.table(Fault).where("about", DELIVERY):
            return None
        fault: Fault | None = self._run_unit(pick_delivery_fault, {"post": post}, None)
        return fault

    def arranged_outcome(self) -> HttpResult | None:
        """The outcome that was arranged for the next delivery attempts, which is then not made at all."""
        if not self.world.table(Outcome).where("operation", "delivery"):
            return None
        outcome: Outcome | None = self._run_unit(take_outcome, {"operation": "delivery"}, None)
        return None if outcome is None else ARRANGED[outcome.result]

    def record_attempt(self, post: DeliverWebhook, sent: SignedRequest, answer: HttpResult, at: Timestamp) -> None:
        """File the outcome of a delivery attempt made at an instant of the world's clock."""
        arguments = {"post": post, "sent": sent, "answer": answer, "at": at}
        self._run_unit(deliveries.record_attempt, arguments, None)
        if self.result:
            self.result.deliveries[answer.ok] += 1

    def record_missed(self, post: DeliverWebhook) -> None:
        """File that a delivery was not attempted because its endpoint is disabled."""
        self._run_unit(deliveries.mark_missed, {"post": post}, None)

    def record_email(self, id: str, error: str | None) -> None:
        """File what became of an email at the SMTP server."""
        self._run_unit(emails.record_outcome, {"id": id, "error": error}, None)

    def _after_commit(self, turn: UnitOfWork) -> None:
        if self.persistence:
            self.persistence.add(self.world, self.clock, turn)
        self.journal.add_unit(turn)
        self.dispatcher.perform(turn.effects)
        if turn.cleared:
            self.advances.stop_all()
            self._publish_restart("reset")
        self.broker.publish(turn)
        if self.result:
            for event in turn.events:
                self.result.events[event.type] += 1
            self.broker.tick(self.clock_state)

    async def close(self) -> None:
        """Stop what is under way."""
        self.broker.close()
        await self._stop()
        with suppress(StorageError):  # what matters is kept already
            self.flush()


def _step(world: World, steps: Steps, answer: HttpResult) -> tuple[bool, Any]:
    """One stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value
