"""A runtime: one world at work, with its clock, its turns, its due jobs and its deliveries."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isgenerator
from typing import Any, NamedTuple, cast

from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.core.effects import Answer, Effect, Post
from emulator.core.jobs import FailedJob, Job
from emulator.core.turns import Change, Turn
from emulator.core.world import Event, World
from emulator.engine.archive import Snapshot
from emulator.engine.clock import Clock
from emulator.engine.dispatch import Dispatcher
from emulator.engine.inbox import Inbox
from emulator.engine.journal import Journal, Mark
from emulator.engine.keeping import Keeping
from emulator.engine.mailer import Mailer
from emulator.engine.post import Postman
from emulator.engine.traffic import Traffic
from emulator.resources import deliveries, emails
from emulator.resources.faults import DELIVERY, Fault, strike_delivery
from emulator.resources.outcomes import Outcome
from emulator.resources.outcomes import take as take_outcome
from emulator.resources.signing import Outgoing
from emulator.state.store import NotStored

logger = logging.getLogger("emulator")


Steps = Generator[Effect, Answer, Any]
"""A command that waits for effects: it yields each one and is sent its outcome."""

ARRANGED = {
    "succeeded": Answer(status_code=200, body=""),
    "failed": Answer(status_code=None, error="failed, as arranged"),
}
"""What an arranged outcome of a delivery is on record as; a failure is tried again like any fault on the way (B-84)."""

SLICE = 50
"""Jobs that are run in a row before other requests have a turn."""


@dataclass
class Tally:
    """What happened during an advance that began at ``start``."""

    start: Timestamp
    jobs: int = 0
    events: Counter[str] = field(default_factory=Counter)
    deliveries: Counter[bool] = field(default_factory=Counter)
    failures: list[FailedJob] = field(default_factory=list)


class Course(NamedTuple):
    """Where an advance leads: to an instant, or until something has happened on the way."""

    to: Timestamp
    until: Callable[[Tally], bool] = lambda tally: False


class Runtime:
    """Runs turns on a world. Everything here is called on one event loop, and no turn awaits.

    ``running_keys`` are the Idempotency-Keys of requests that are not answered yet (B-16), ``traffic`` counts the
    requests themselves (B-25). ``keeping`` is where the world lasts, if it does.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        postman: Postman,
        mailer: Mailer | None = None,
        keeping: Keeping | None = None,
    ) -> None:
        self.world = world
        self.clock = clock
        self.keeping = keeping
        self.dispatcher = Dispatcher(self, postman, mailer)
        self.running_keys: set[str] = set()
        self.inbox = Inbox()
        self.journal = Journal()
        self.snapshots: dict[str, Snapshot] = {}
        self.traffic = Traffic()
        self._driven = 0
        self._tally: Tally | None = None
        self._advancing = asyncio.Lock()
        self._listeners: set[asyncio.Event] = set()

    # -- requests

    def request_id(self) -> str:
        """The id of the next request of this world. It is drawn outside any turn: a refused request uses one up too."""
        return self.world.draw("req")

    async def serve(self, command: Callable[..., Any], arguments: Mapping[str, Any], cause: str | None) -> Any:
        """Run one command as a turn, then what it made due at once; its result.

        A command that is a generator yields effects whose outcome it must know; each stretch between two is a turn.
        Raises what the command raises, nothing of its turn being kept.
        """
        result = self._turn(command, arguments, cause)
        if isgenerator(result):
            result = await self._drive(cast("Steps", result), cause)
        # The command is kept. A job that cannot be kept now stays planned, and is no reason to say no.
        with suppress(NotStored):
            self.run_due()
        return result

    def _turn(self, command: Callable[..., Any], arguments: Mapping[str, Any], cause: str | None) -> Any:
        self.run_due()
        with self.world.turn(cause) as turn:
            result = command(self.world, **arguments)
        self._kept(turn)
        return result

    async def _drive(self, steps: Steps, cause: str | None) -> Any:
        self._driven += 1
        try:
            done, outcome = self._turn(_step, {"steps": steps, "answer": None}, cause)
            while not done:
                answer = await self.dispatcher.ask(outcome)
                done, outcome = self._turn(_step, {"steps": steps, "answer": answer}, cause)
        finally:
            self._driven -= 1
        return outcome

    # -- the past

    def mark(self) -> Mark:
        """The present place in the world's history."""
        return Mark(self.journal.count, self.clock.now(), self.world.counters.copy())

    async def rewind(self, mark: Mark) -> None:
        """Take back every turn since a mark, clock and counters included. What is being delivered is given up."""
        turns = self.journal.since(mark)
        world = self.world.copy()
        for turn in turns:
            world.undo(turn)
        world.counters = mark.counters.copy()
        undone = [change for turn in turns for change in turn.changes]
        await self._become(Snapshot(world, mark.now, self.clock.mode, self.clock.rate), undone)
        self.journal.take_back(mark)

    def snapshot(self) -> Snapshot:
        """The world as it is, to come back to. Records never change, so it costs their filing alone."""
        self.run_due()
        return Snapshot(self.world.copy(), self.clock.now(), self.clock.mode, self.clock.rate)

    async def restore(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of the world; its past begins with it."""
        await self._become(snapshot._replace(world=snapshot.world.copy()))
        self.journal.forget()

    async def _become(self, snapshot: Snapshot, changes: list[Change] | None = None) -> None:
        """Let a snapshot be the world; ``changes`` are what led there, or None if nothing is to remain as it is."""
        await self.dispatcher.close()
        try:
            if self.keeping:
                self.keeping.whole(snapshot, changes)
            self.world = snapshot.world
            self.world.now = snapshot.now
            self.clock.put_back(snapshot.now, snapshot.mode, snapshot.rate)
        finally:
            self.resume()

    def resume(self) -> None:
        """Take up what was under way in the world as it was kept: deliveries no job will attempt, unsent emails."""
        self.dispatcher.perform([*deliveries.under_way(self.world), *emails.unsent(self.world)])

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way here that takes more than one turn."""
        return self._advancing.locked() or self._driven > 0

    def keep_rest(self) -> None:
        """Keep clock and counters, where the world is to last, if they moved without a turn. Raises ``NotStored``."""
        if self.keeping:
            self.keeping.rest(self.world, self.clock)

    # -- time

    def run_due(self) -> None:
        """Run every job that is due, each at its own instant, then bring the world to the present (B-91)."""
        now = self.clock.now()
        while self._run_next(now):
            pass
        self.world.now = max(self.world.now, now)

    async def keep_up(self) -> None:
        """Do the same, but with turns for others in between; for a clock that runs by itself."""
        now = self.clock.now()
        done = 0
        while self._run_next(now):
            done += 1
            if done % SLICE == 0:
                await asyncio.sleep(0)

    def _run_next(self, until: Timestamp) -> bool:
        """Run the next job if it is due by then; whether there was one."""
        job = self.world.schedule.next()
        if job is None or job.due > until:
            return False
        self._run(job)
        return True

    def _run(self, job: Job) -> None:
        try:
            turn = self.world.run(job)
        except Exception as error:  # a failed job must not stop the clock; it is rolled back, kept and reported
            logger.exception("job %s (%s of %s) failed", job.id, job.name, job.about)
            self._kept(self.world.give_up(job, error))
            if self._tally:
                self._tally.failures.append(self.world.one(FailedJob, job.id))
            return
        self._kept(turn)
        if self._tally:
            self._tally.jobs += 1

    async def advance(self, plot: Callable[[], Course]) -> Tally:
        """Move the clock on, running on the way all that falls due, the outcome of deliveries included.

        Advances of one world wait for each other; ``plot`` is asked for the course when it is this one's turn. What
        it raises ends the advance before it began.
        """
        async with self._advancing:
            # Attempts that were under way before belong to what began them; whether they are done by now is chance.
            await self.dispatcher.settled()
            self._tally = tally = Tally(self.clock.now())
            try:
                self.run_due()
                await self._advance(plot(), tally)
                await self.dispatcher.mails.empty()
            finally:
                self._tally = None
        return tally

    async def _advance(self, course: Course, tally: Tally) -> None:
        to = min(course.to, calendar.END)
        done = 0
        while True:
            # The outcome of an attempt decides on a retry, which may be due before any other job.
            await self.dispatcher.settled()
            # Asked here, for jobs may also be run, and things happen, while deliveries are waited for.
            if course.until(tally):
                return
            job = self.world.schedule.next()
            if job is None or job.due > to:
                break
            self.clock.set(job.due)
            self._run(job)
            done += 1
            if done % SLICE == 0:
                await asyncio.sleep(0)
        self.clock.set(to)
        self.run_due()

    # -- deliveries and news

    def mishap(self, post: Post) -> Fault | None:
        """The arranged fault that strikes a delivery attempt, if any does."""
        if not self.world.table(Fault).having("about", DELIVERY):
            return None
        fault: Fault | None = self._turn(strike_delivery, {"post": post}, None)
        return fault

    def arranged(self) -> Answer | None:
        """The outcome that was arranged for the next delivery attempts, which is then not made at all."""
        if not self.world.table(Outcome).having("operation", "delivery"):
            return None
        outcome: Outcome | None = self._turn(take_outcome, {"operation": "delivery"}, None)
        return None if outcome is None else ARRANGED[outcome.result]

    def settle_attempt(self, post: Post, sent: Outgoing, answer: Answer, at: Timestamp) -> None:
        """File the outcome of a delivery attempt made at an instant of the world's clock."""
        arguments = {"post": post, "sent": sent, "answer": answer, "at": at}
        self._turn(deliveries.record_attempt, arguments, None)
        if self._tally:
            self._tally.deliveries[answer.ok] += 1

    def settle_missed(self, post: Post) -> None:
        """File that a delivery was not attempted because its endpoint is disabled."""
        self._turn(deliveries.miss, {"post": post}, None)

    def settle_mail(self, id: str, error: str | None) -> None:
        """File what became of an email at the SMTP server."""
        self._turn(emails.record_outcome, {"id": id, "error": error}, None)

    def _kept(self, turn: Turn) -> None:
        if self.keeping:
            self.keeping.turn(self.world, self.clock, turn)
        self.journal.keep(turn)
        self.dispatcher.perform(turn.wishes)
        if turn.events or turn.wishes:
            self._tell(turn.events)

    def _tell(self, events: list[Event]) -> None:
        if self._tally:
            self._tally.events.update(event.type for event in events)
        for listener in self._listeners:
            listener.set()

    async def news(self, timeout: float) -> None:
        """Wait until something happens in this world, for so many seconds (real time) at most."""
        listener = asyncio.Event()
        self._listeners.add(listener)
        try:
            async with asyncio.timeout(timeout):
                await listener.wait()
        except TimeoutError:
            pass
        finally:
            self._listeners.discard(listener)

    async def close(self) -> None:
        """Stop what is under way."""
        await self.dispatcher.close()
        with suppress(NotStored):  # what matters is kept already
            self.keep_rest()


def _step(world: World, steps: Steps, answer: Answer) -> tuple[bool, Any]:
    """One stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value
