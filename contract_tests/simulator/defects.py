"""Seeded defects: ways in which the emulator was broken once, or might be, each of which the simulator must find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from contract_tests.simulator.simulation import Story
from contract_tests.simulator.steps import draw_story
from emulator.control import worlds
from emulator.core.world import World
from emulator.engine import journal
from emulator.engine.clock import UnitRunner
from emulator.engine.engine import Engine
from emulator.engine.journal import Checkpoint
from emulator.engine.outbox import Outbox
from emulator.engine.persistence import WorldPersistence
from emulator.engine.runtime import History
from emulator.engine.storage.tinydb_store import TinyDBStore
from emulator.resources.payments import payment_intents
from emulator.web import service_app

STEPS = 60


class Defect(NamedTuple):
    """One defect: what is replaced by what, and the rules that may be broken by it.

    ``seed``, ``state`` and ``names`` are those of a story that shows it (see :func:`draw_story`).
    """

    name: str
    owner: Any
    attribute: str
    broken: Any
    rules: tuple[str, ...]
    names: tuple[str, ...]
    state: str = "memory"
    seed: int = 0

    @property
    def story(self) -> Story:
        return draw_story(self.seed, STEPS, self.state, self.names)._replace(settings={})

    @contextmanager
    def seeded(self) -> Iterator[None]:
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
    Defect("what is not stored is not said", TinyDBStore, "unsaved", lambda store: None, ("restart",),
           ("disk_fails", "stop", "customer", "sleep"), "tinydb"),
    Defect("voiding cancels no payment", payment_intents, "cancel_current", _nothing, ERRORS,
           ("pay", "act", "advance", "invoice"), seed=68),
    Defect("answers are not repeated", service_app, "lookup", _nothing, ("idempotency", "internal error"),
           ("repeat", "customer", "intent")),
    Defect("deliveries are not taken up again", Outbox, "resume", _nothing, ("deliveries",),
           ("rewind", "customer", "receiver", "settle", "restore", "save")),
    Defect("what is not stored is not undone", WorldPersistence, "add", _stored_later, ("restart", "internal error"),
           ("disk_fails", "crash", "customer", "invoice", "repair"), "sqlite"),
)
# fmt: on
