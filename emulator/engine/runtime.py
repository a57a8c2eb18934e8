"""A runtime: one world at work, with its clock, its turns, its due jobs and its deliveries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from inspect import isgenerator
from typing import Any, cast

from emulator.core.calendar import Timestamp
from emulator.core.effects import Answer, Effect, Post
from emulator.core.jobs import FailedJob, Job
from emulator.core.turns import Change, Turn
from emulator.core.world import World
from emulator.engine.advances import Advances, Plot, Tally
from emulator.engine.archive import Snapshot
from emulator.engine.clock import Clock, Reading
from emulator.engine.dispatch import Dispatcher
from emulator.engine.inbox import Inbox
from emulator.engine.journal import Journal, Mark
from emulator.engine.keeping import Keeping
from emulator.engine.mailer import Mailer
from emulator.engine.news import Newsroom, restarted
from emulator.engine.pace import Pace
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
        self.tally: Tally | None = None
        self.advances = Advances(self)
        self.news = Newsroom()

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
            self._run_until(self.world.now)
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
        await self._stop()
        turns = self.journal.since(mark)
        world = self.world.copy()
        for turn in turns:
            world.undo(turn)
        world.counters, world.now = mark.counters.copy(), mark.now
        undone = [change for turn in turns for change in turn.changes]
        self._become(world, self.clock.another(mark.now), undone)
        self.journal.take_back(mark)
        self._tell_restart("rewind")

    def snapshot(self) -> Snapshot:
        """The world as it is, to come back to. Records never change, so it costs their filing alone."""
        self.run_due()
        return Snapshot(self.world.copy(), self.clock.now(), self.clock.mode, self.clock.rate)

    async def restore(self, snapshot: Snapshot) -> None:
        """Put a snapshot in the place of the world; its past begins with it."""
        world = snapshot.world.copy()
        world.now = snapshot.now
        await self.begin(world, self.clock.another(snapshot.now, snapshot.mode, snapshot.rate), "restore")

    async def begin(self, world: World, clock: Clock, cause: str) -> None:
        """Put another world in this one's place; it has no past. What is being delivered or advanced is given up."""
        await self._stop()
        self._become(world, clock)
        self.journal.forget()
        self._tell_restart(cause)

    def _tell_restart(self, cause: str) -> None:
        self.news.tell("reset", restarted(cause, self.clock.now()))
        self.news.tell("clock", self.reading())

    async def _stop(self) -> None:
        """Give up what is being advanced or delivered."""
        await self.advances.close()
        await self.dispatcher.close()

    def _become(self, world: World, clock: Clock, changes: list[Change] | None = None) -> None:
        """Let another world be this one; ``changes`` are what led there, or None if it has nothing to do with it."""
        try:
            if self.keeping:
                self.keeping.whole(Snapshot(world, clock.now(), clock.mode, clock.rate), changes)
            self.world, self.clock = world, clock
        finally:
            self.resume()

    def resume(self) -> None:
        """Take up what was under way in the world as it was kept: deliveries no job will attempt, unsent emails."""
        self.dispatcher.perform([*deliveries.under_way(self.world), *emails.unsent(self.world)])

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way here that takes more than one turn."""
        return self.tally is not None or self._driven > 0

    def keep_rest(self) -> None:
        """Keep clock and counters, where the world is to last, if they moved without a turn. Raises ``NotStored``."""
        if self.keeping:
            self.keeping.rest(self.world, self.clock)

    # -- time

    def reading(self) -> Reading:
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

    async def keep_up(self) -> None:
        """Do the same, but with turns for others in between; for a clock that runs by itself."""
        now = self.clock.now()
        pace = Pace()
        while self._run_next(now):
            await pace.step()

    def _run_next(self, until: Timestamp) -> bool:
        """Run the next job if it is due by then; whether there was one."""
        job = self.world.schedule.next()
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
            self._kept(self.world.give_up(job, error))
            if self.tally:
                self.tally.failures.append(self.world.one(FailedJob, job.id))
            return
        self._kept(turn)
        if self.tally:
            self.tally.jobs += 1

    async def advance(self, plot: Plot) -> Tally:
        """Move the clock on, running on the way all that falls due, the outcome of deliveries included.

        Advances of one world wait for each other; ``plot`` is asked for the course when it is this one's turn. What
        it raises ends the advance before it began. One that a reset, a restore or a rewind ends tells how far it came.
        """
        return await self.advances.make(plot)

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
        if self.tally:
            self.tally.deliveries[answer.ok] += 1

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
        if turn.wiped:
            self.advances.stop_all()
            self._tell_restart("reset")
        self.news.report(turn)
        if self.tally:
            for event in turn.events:
                self.tally.events[event.type] += 1
            self.news.tick(self.reading)

    async def close(self) -> None:
        """Stop what is under way."""
        self.news.close()
        await self._stop()
        with suppress(NotStored):  # what matters is kept already
            self.keep_rest()


def _step(world: World, steps: Steps, answer: Answer) -> tuple[bool, Any]:
    """One stretch of a command: (False, the effect it waits for) or (True, its result)."""
    try:
        return False, steps.send(answer)
    except StopIteration as end:
        return True, end.value
