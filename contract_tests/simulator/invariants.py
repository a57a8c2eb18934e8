"""Invariants: promises to a user, checked after each step, and costlier ones now and then."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec

from contract_tests.simulator import world_rules
from contract_tests.simulator.server import Server
from contract_tests.simulator.surroundings import Disk, Network, VirtualTime
from emulator.core.calendar import Timestamp
from emulator.core.jobs import Job
from emulator.core.unit_of_work import Event, UnitOfWork
from emulator.core.world import World, encode
from emulator.engine.clock import FROZEN
from emulator.engine.outbox import TRIES
from emulator.engine.runtime import Runtime
from emulator.engine.storage.serialization import row_of
from emulator.engine.storage.store import StorageError
from emulator.resources import ledger
from emulator.resources.app.clients import Key
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.faults import Fault
from emulator.resources.registry import STATE_MACHINES
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

LEGAL = {
    machine.kind: {(row.source, row.target) for row in machine.rows} for machine in STATE_MACHINES
}

LOSS_SECONDS = 1.0
"""What a crash may take from a TinyDB file: what was answered in the last second."""

OVERDUE_SECONDS = 0.2
"""How long a job may be due without being worked on: a few ticks."""

Dump = dict[str, dict[str, Any]]

Transition = tuple[str, str | None, str]
"""Kind, and the statuses before and after."""


class Violation(NamedTuple):
    """A broken invariant."""

    rule: str
    text: str


def dump(runtime: Runtime) -> Dump:
    tables = {
        table.kind.kind: {record.id: record for record in table.unordered()}
        for table in runtime.world.tables()
    }
    return {**tables, "snapshots": dict.fromkeys(runtime.history.snapshots)}


def differences(before: Dump, after: Dump) -> Iterator[str]:
    for kind in sorted(before.keys() | after.keys()):
        old, new = before.get(kind, {}), after.get(kind, {})
        for id in sorted(old.keys() | new.keys()):
            if id not in new or id not in old:
                yield f"{kind} {id} is {'new' if id in new else 'lost'}"
            elif old[id] is not new[id] and _stored(old[id]) != _stored(new[id]):
                yield f"{kind} {id} is another"


def _stored(record: Any) -> bytes:
    return (
        encode(record.public_view())
        if isinstance(record, Event)
        else msgspec.json.encode(row_of(record))
    )


class Invariants(logging.Handler):
    """Watches one story.

    ``broken``: the violations so far; ``reached``: changes of status; ``met``: the clauses that had
    something to decide.
    """

    def __init__(self, time: VirtualTime, disk: Disk, network: Network) -> None:
        super().__init__(logging.ERROR)
        self.broken: list[Violation] = []
        self.reached: set[Transition] = set()
        self.met: set[str] = set()
        self.expected: dict[Key, Dump] = {}
        self.disk_failed = False
        self.failing_since: float | None = None
        self.outcomes_are_lost = False
        self._time, self._disk, self._network = time, disk, network
        self._states: dict[Runtime, tuple[Any, ...]] = {}
        self._overdue: dict[Runtime, tuple[Job, Timestamp, float]] = {}
        # What is in a TinyDB file: what was written last or, where writing failed since then, what
        # was to be written.
        self._written: dict[Key, Dump] = {}
        self._attempted: list[dict[Key, Dump]] = []
        self._possible: list[dict[Key, Dump]] = []
        self._written_at = 0.0

    def violated(self, rule: str, text: str) -> None:
        self.broken.append(Violation(rule, text))

    def meet(self, clause: str, is_met: object = True) -> None:
        """Note whether there is something that a clause decides about."""
        if is_met:
            self.met.add(clause)

    def emit(self, record: logging.LogRecord) -> None:
        """An error in the log is one inside the emulator, unless the disk fails."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, StorageError):
            self.violated(
                "internal error", f"{record.getMessage()}: {type(error).__name__}: {error}"
            )

    # -- worlds and what is stored of them

    def opened(self, key: Key, runtime: Runtime) -> None:
        """A world is open: if it was there before, all that was stored is there."""
        self.watch(runtime)
        before, actual = self.expected.pop(key, None), dump(runtime)
        possible = (content[key] for content in self._possible if key in content)
        self.meet("world that was opened again", before is not None)
        if before is not None and all(any(differences(content, actual)) for content in possible):
            self.same("restart", before, runtime)

    def watch(self, runtime: Runtime) -> None:
        runtime.observers.append(lambda unit: self._committed(runtime, unit))

    def closed(self, server: Server, runtime: Runtime) -> None:
        if server.engine.store:
            self.expected[Key(runtime.world.name, runtime.world.livemode)] = dump(runtime)

    def expect_all(self, server: Server) -> None:
        self.expected.update(
            {key: dump(runtime) for key, runtime in server.engine.runtimes.items()}
        )

    def saving(self, server: Server) -> Any:
        """A TinyDB file is about to be written; return the function to be called once it was."""
        content, at = (
            {key: dump(runtime) for key, runtime in server.engine.runtimes.items()},
            self._time.now,
        )
        content |= self.expected
        self._attempted.append(content)

        def saved() -> None:
            self._written, self._written_at = content, at
            self._attempted.clear()

        return saved

    def crashed(self, server: Server) -> None:
        """Nothing may be lost of what the kind of state promises to store."""
        if self._disk.kind == "sqlite":
            self.expect_all(server)
        elif self._disk.kind == "tinydb":
            self._expect_written()
            if self._time.now - self._written_at > LOSS_SECONDS and not self.disk_failed:
                self.violated(
                    "restart", f"nothing was written for {self._time.now - self._written_at:.2f} s"
                )

    def stopped(self, server: Server, unsaved: str | None) -> None:
        """All is there after the next start, unless it was said that it could not be stored."""
        if unsaved is None:
            self.expect_all(server)
        else:
            self._expect_written()

    def _expect_written(self) -> None:
        """What was written is there. A write that failed may have come as far as to replace it."""
        self.expected, self._possible = dict(self._written), list(self._attempted)

    def started(self, server: Server) -> None:
        """Every world is there that was stored; at first nothing is unwritten."""
        for (
            content
        ) in self._possible:  # of a world that is opened later it would be unknown which one it is
            self.expected = {
                key: row for key, row in self.expected.items() if content.get(key, row) is row
            }
        self._possible.clear()
        self._attempted.clear()
        self._written = {
            key: dump(runtime) for key, runtime in server.engine.runtimes.items()
        } | self.expected
        self._written_at = self._time.now
        stored = server.engine.store.stored() if server.engine.store else []
        for key in self.expected.keys() - set(stored):
            self.violated("restart", f"the world {key} is lost")

    def same(self, rule: str, before: Dump, runtime: Runtime) -> None:
        difference = next(differences(before, dump(runtime)), None)
        if difference is not None:
            self.violated(rule, f"{runtime.world.name}: {difference}")

    # -- units of work

    def _committed(self, runtime: Runtime, unit: UnitOfWork) -> None:
        self._time.work()
        if unit.cleared or unit.is_arranged:
            return
        for change in unit.changes:
            old, new = cast("Any", change.old), cast("Any", change.new)
            moves = LEGAL.get(type(change.record)) if new is not None else None
            if moves is not None and (old is None or old.status != new.status):
                step = (old and old.status, new.status)
                if step not in moves:
                    self.violated("life cycle", f"{new.id} went from {step[0]} to {step[1]}")
                self.reached.add((type(change.record).kind, *step))
        if unit.events:
            self._check_deliveries(runtime.world, unit)
            self._check_charges(runtime.world, unit)

    def _check_deliveries(self, world: World, unit: UnitOfWork) -> None:
        """Each event has one delivery for each endpoint that listens to it."""
        new = (change.new for change in unit.changes if not change.old)
        made = [row.event for row in new if isinstance(row, WebhookDelivery)]
        endpoints = world.table(WebhookEndpoint).where("enabled", True)
        for event in unit.events:
            wanted = sum(endpoint.listens(event.type) for endpoint in endpoints)
            self.meet("event that endpoints listen to", wanted)
            if made.count(event.id) != wanted:
                self.violated(
                    "events", f"{event.type} has {made.count(event.id)} deliveries, not {wanted}"
                )

    def _check_charges(self, world: World, unit: UnitOfWork) -> None:
        """Check that a failed charge of an owing subscription has its event at once (B-45)."""
        types = {event.type for event in unit.events}
        for event in unit.events:
            charge: Any = event.data.object
            if event.type != "payment_intent.failed" or not world.get(
                Subscription, charge.subscription
            ):
                continue
            invoice = world.get(Invoice, charge.invoice)
            is_owed = invoice is not None and invoice.status in ("open", "uncollectible")
            self.meet("failed charge of what is owed", is_owed)
            if is_owed and "subscription.payment_failed" not in types:
                self.violated(
                    "money", f"{charge.id} of {charge.subscription} failed, and no event says so"
                )

    # -- after each step

    def before_step(self, server: Server) -> None:
        self._states = {
            runtime: _state(runtime)
            for runtime in server.engine.runtimes.values()
            if is_still(runtime)
        }

    def after_step(self, server: Server, worlds: frozenset[str] | None) -> None:
        """``worlds`` are the names of those that the step was about; None: any."""
        for runtime in server.engine.runtimes.values():
            self._check_due(runtime)
            before = self._states.get(runtime)
            if worlds is not None and runtime.world.name not in worlds:
                self.meet("world that no step is about", before)
            if (
                worlds is not None
                and runtime.world.name not in worlds
                and before not in (None, _state(runtime))
            ):
                self.violated("other worlds", f"{runtime.world.name} has changed")

    def _check_due(self, runtime: Runtime) -> None:
        """Nothing is due in the past, unless the world lags and is worked on."""
        job = runtime.world.jobs.next()
        now = runtime.clock.now()
        if job is None or job.due > now or runtime.is_in_use or self.disk_failed:
            self._overdue.pop(runtime, None)
            return
        self.meet("due job")
        overdue, before, since = self._overdue.get(runtime, (job, now, self._time.now))
        # After a rewind the same job may be due once more.
        since = since if overdue is job and before <= now else self._time.now
        self._overdue[runtime] = job, now, since
        if self._time.now - since > OVERDUE_SECONDS:
            self.violated(
                "overdue", f"{runtime.world.name}: {job.name} was due at {job.due}, it is {now}"
            )

    # -- the disk

    def disk_fails(self) -> None:
        """From now on, or soon, nothing can be written."""
        self.disk_failed = True
        if self.failing_since is None:
            self.failing_since = self._time.now

    def disk_repaired(self) -> None:
        """Outcomes that could not be recorded for too long are lost until the next start."""
        if self.failing_since is not None and self._time.now - self.failing_since > TRIES:
            self.outcomes_are_lost = True
        self.failing_since = None

    def restarted(self) -> None:
        """Another process has taken up what the failing disk had left."""
        self.disk_failed = self.outcomes_are_lost = False
        self.failing_since = None

    # -- from time to time

    def check_all(self, server: Server) -> None:
        for runtime in list(server.engine.runtimes.values()):
            self._check_sums(runtime)
            self._check_outcomes(runtime)

    def _check_sums(self, runtime: Runtime) -> None:
        for flag in broken_sums(runtime.world, self.met):
            self.violated("money", f"{runtime.world.name}: {flag}")

    def _check_outcomes(self, runtime: Runtime) -> None:
        """Each delivery is on its way, has failed for good, or was received."""
        world = runtime.world
        may_be_left = (
            self.failing_since is not None or self.outcomes_are_lost or len(world.table(Fault))
        )
        if not runtime.outbox.is_under_way and not may_be_left:
            self.meet("delivery under way", world.table(WebhookDelivery))
            for effect in deliveries.under_way(world):
                self.violated(
                    "deliveries", f"{world.name}: {effect.delivery} is pending and not on its way"
                )
        for delivery in world.table(WebhookDelivery):
            self.meet("delivery received", delivery.status == "succeeded")
            is_lost = delivery.attempts and delivery.attempts[-1].error  # by an injected fault
            if (
                delivery.status == "succeeded"
                and delivery.id not in self._network.received
                and not is_lost
            ):
                self.violated(
                    "deliveries", f"{world.name}: {delivery.id} succeeded and was not received"
                )


CLAUSES = world_rules.CLAUSES | {
    "event that endpoints listen to",
    "failed charge of what is owed",
    "world that no step is about",
    "due job",
    "delivery under way",
    "delivery received",
    "world that was opened again",
}
"""What the invariants decide about, beside the transitions of life cycles."""


def broken_sums(world: World, met: set[str] | None = None) -> list[str]:
    """Return what the objects and the ledger of a world say of each other that does not add up.

    ``met`` gets the clauses that had something to decide.
    """
    kinds = {
        kind.kind: [msgspec.to_builtins(row_of(row)) for row in world.table(kind)]
        for kind in world.kinds
    }
    rows = world_rules.Rows(kinds, world.now, msgspec.to_builtins(settings(world).assumptions))
    books: dict[str, dict[str, int]] = {}
    for (account, currency), amount in ledger.totals(world).items():
        books.setdefault(currency, {})[account] = amount
    flags = [*world_rules.flags(rows), *world_rules.ledger(rows, books)]
    if met is not None:
        met |= rows.met
    return flags


def is_still(runtime: Runtime) -> bool:
    """Return whether a world acts only on request. A failed disk may leave a due job behind."""
    job = runtime.world.jobs.next()
    is_done = job is None or job.due > runtime.clock.now()
    return runtime.clock.mode == FROZEN and not runtime.is_in_use and is_done


def _state(runtime: Runtime) -> tuple[Any, ...]:
    return runtime.world, runtime.journal.count, runtime.clock.now(), dict(runtime.world.counters)
