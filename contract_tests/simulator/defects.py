"""Seeded defects: ways in which the emulator was broken once, or might be, each of which the simulator must find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from contract_tests.simulator.population import VARIANTS
from contract_tests.simulator.simulation import Story
from contract_tests.simulator.steps import draw_story
from emulator.control import worlds
from emulator.core.world import World
from emulator.engine import journal, outbox
from emulator.engine.clock import UnitRunner
from emulator.engine.engine import Engine
from emulator.engine.journal import Checkpoint
from emulator.engine.outbox import Outbox
from emulator.engine.persistence import WorldPersistence
from emulator.engine.runtime import History
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import RowChange, row_of
from emulator.engine.storage.tinydb_store import TinyDBStore
from emulator.resources.payments import payment_intents
from emulator.web import origins, service_app

STEPS = 60


class Defect(NamedTuple):
    """One defect: what is replaced by what, and the rules that may be broken by it.

    ``seed``, ``state`` and ``names`` are those of a story that shows it (see :func:`draw_story`), ``settings`` the name
    of those that its worlds have.
    """

    name: str
    owner: Any
    attribute: str
    broken: Any
    rules: tuple[str, ...]
    names: tuple[str, ...]
    state: str = "memory"
    seed: int = 0
    settings: str = "defaults"

    @property
    def story(self) -> Story:
        """The story that shows it."""
        return draw_story(self.seed, STEPS, self.state, self.names)._replace(settings=VARIANTS[self.settings])

    @contextmanager
    def seeded(self) -> Iterator[None]:
        """The emulator with this defect."""
        with patch.object(self.owner, self.attribute, self.broken):
            yield


def _at_once(runner: UnitRunner) -> bool:
    while runner._run_next(runner.clock.now()):
        pass
    return False


async def _unlocked(history: History, to: Checkpoint) -> int:
    await history._cancel()
    return history._undo_since(to)


async def _nothing_async(*_: object) -> None:
    pass


def _nothing(*_: object) -> None:
    pass


def _only_digits(text: bytes) -> bytes:
    return re.sub(rb"(\d[ -]?){12,15}(?=\d{4})", b"****", text)


_of = payment_intents.current_payment


def _under_way_only(world: World, owner: Any) -> Any:
    intent = _of(world, owner)
    return intent if intent is not None and intent.status in payment_intents.UNDER_WAY else None


def _last_numbers(world: World, changes: Any) -> Iterator[RowChange]:
    numbers = {(type(change.record), change.record.id): change.number for change in changes}
    for (kind, id), number in numbers.items():
        slot = world.table(kind).slots[id]
        yield RowChange(kind.kind, id, slot.number if slot else number, row_of(slot.record) if slot else None)


def _stored_later(persistence: WorldPersistence, world: World, clock: Any, unit: Any) -> None:
    if unit.changes:
        persistence._write(world, clock, unit.changes)


ERRORS = ("internal error", "money", "jobs")

# fmt: off
DEFECTS = (
    Defect("due jobs run without a pause", UnitRunner, "run_slice", _at_once, ("waiting",),
           ("subscribe", "run", "sleep", "read"), seed=8),
    Defect("rewinds do not wait for each other", History, "rewind", _unlocked, ("internal error", "rewind"),
           ("race", "customer"), seed=11),
    Defect("worlds are never given up", Engine, "_make_room", _nothing_async, ("memory",), ("scan", "read", "pay"), seed=1),
    Defect("card numbers are only searched as digits", journal, "redact", _only_digits, ("secrets",),
           ("card", "method", "read")),
    Defect("imports are not validated", worlds, "validate", _nothing, ERRORS,
           ("save", "import", "customer", "advance")),
    Defect("pages of other sites are let in", origins, "_is_cross_origin", lambda context: False, ("other pages",),
           ("visit", "look", "read")),
    Defect("what is not stored is not said", TinyDBStore, "unsaved", lambda store: None, ("restart",),
           ("disk_fails", "stop", "customer", "sleep"), "tinydb"),
    Defect("a payment that settles is over", payment_intents, "current_payment", _under_way_only, ERRORS,
           ("pay", "invoice"), settings="paid by transaction", seed=1),
    Defect("voiding cancels no payment", payment_intents, "cancel_current", _nothing, ERRORS,
           ("pay", "act", "advance", "invoice"), seed=68),
    Defect("answers are not repeated", service_app, "lookup", _nothing, ("idempotency", "internal error"),
           ("repeat", "customer", "intent")),
    Defect("deliveries are not taken up again", Outbox, "resume", _nothing, ("deliveries",),
           ("rewind", "customer", "receiver", "settle", "restore", "save")),
    Defect("outcomes are recorded at once or never", outbox, "TRIES", 0, ("deliveries",),
           ("disk_fails", "recover", "customer", "receiver", "sleep"), "sqlite", seed=1),
    Defect("rows of rewound records stay", serialization, "row_changes", _last_numbers, ("restart",),
           ("rewind", "customer", "stop", "pay"), "tinydb", seed=1),
    Defect("what is not stored is not undone", WorldPersistence, "add", _stored_later, ("restart", "internal error"),
           ("disk_fails", "crash", "customer", "invoice", "repair"), "sqlite"),
)
# fmt: on
