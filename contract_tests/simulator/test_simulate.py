"""The simulator: a seed decides all, no invariant breaks, subscriptions live as their model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from contract_tests.simulator import search, telling
from contract_tests.simulator.invariants import CLAUSES, LEGAL, Violation
from contract_tests.simulator.model import TRANSITIONS
from contract_tests.simulator.population import OPERATIONS, VARIANTS
from contract_tests.simulator.proofs import View
from contract_tests.simulator.simulation import Outcome, Story, play
from contract_tests.simulator.steps import draw_story
from contract_tests.simulator.surroundings import KINDS
from contract_tests.simulator.walks import Transition, walk
from emulator.control import worlds
from emulator.core.unit_of_work import UnitOfWork
from emulator.core.world import World
from emulator.engine import logged_requests
from emulator.engine.clock import UnitRunner
from emulator.engine.engine import Engine
from emulator.engine.history import History
from emulator.engine.logged_requests import Checkpoint
from emulator.engine.outbox import Outbox
from emulator.engine.storage.serialization import WorldHeader
from emulator.engine.storage.store import WorldPersistence
from emulator.engine.storage.tinydb_store import TinyDBStore
from emulator.resources.payments import payment_intents
from emulator.testing import Emulator, LocalServer
from emulator.web import service_app

SEEDS = range(100, 116)
"""Seeds of every long run; ``python -m contract_tests.simulator stories --minutes 5``: new ones."""

SHORT_SEEDS = (102, 113, 115)
"""Seeds of every run: those whose stories reach most in little time."""

IN_A_DATABASE = "sqlite"
"""The kind of state whose stories go through most of the code: every run has it."""


@pytest.mark.parametrize(
    "state",
    [pytest.param(kind, marks=[] if kind == IN_A_DATABASE else pytest.mark.long) for kind in KINDS],
)
def test_a_seed_decides_everything(state: str) -> None:
    """Every byte of every response is the same when a story is played again."""
    story = draw_story(3, 80, state)
    first, second = play(story), play(story)
    assert first._replace(violation=None) == second._replace(violation=None)
    assert first.trace != play(draw_story(4, 80, state)).trace


EVENTFUL = {
    620: "very slow operator",
    1199: "paid by transaction",
    1508: "slow operator",
    2159: "paid by transaction",
    2420: "tax",
    4051: "no retries",
    4583: "very slow operator",
    6147: "defaults",
    6914: "reviewed refunds",
    8981: "reviewed refunds",
}
"""Seeds and settings of worlds in which, together, all happens that a life cycle allows."""

RARE = {"discounted", "limited_link", "setup", "tax"}
"""What the eventful stories do without: with more kinds of steps their seeds would mean others."""

EVENTS = (
    *(name for name in OPERATIONS if name not in RARE),
    *("advance", "receiver", "deliver_again", "outcome"),
)

WALKED = {("subscription", "paused", "trialing")}
"""Transitions that :mod:`contract_tests.simulator.walks` seeks and these stories miss."""


def written_stories() -> dict[str, Story]:
    """Return shrunk stories of fixed violations, and short ones of what happens rarely."""
    files = Path(__file__).with_name("stories").glob("*.json")
    return {file.stem: search.read(file) for file in files}


def violations(outcomes: Mapping[str, Outcome]) -> dict[str, Violation]:
    return {name: outcome.violation for name, outcome in outcomes.items() if outcome.violation}


def test_stories_break_no_invariant() -> None:
    """Those of seeds and the written ones.

    ``python -m contract_tests.simulator stories --seed SEED --steps 80`` plays and shrinks one that
    fails.
    """
    stories = written_stories() | {f"seed {seed}": draw_story(seed, 80) for seed in SHORT_SEEDS}
    assert violations({name: play(story) for name, story in stories.items()}) == {}


@pytest.mark.long
def test_stories_make_every_transition_without_a_broken_invariant() -> None:
    """A state without a story has no test, and a clause without a row to decide has none either."""
    stories = written_stories() | {f"seed {seed}": draw_story(seed, 80) for seed in SEEDS}
    for seed, variant in EVENTFUL.items():
        stories[f"eventful {seed}"] = draw_story(seed, 250, "memory", EVENTS)._replace(
            settings=VARIANTS[variant]
        )
    outcomes = {name: play(story) for name, story in stories.items()}
    assert violations(outcomes) == {}
    every = {
        (kind.kind, *step) for kind, steps in LEGAL.items() for step in steps if step[0] != step[1]
    }
    assert (
        every - WALKED - frozenset().union(*(outcome.reached for outcome in outcomes.values()))
        == set()
    )
    # A clause that had nothing to decide proves nothing.
    assert CLAUSES - frozenset().union(*(outcome.met for outcome in outcomes.values())) == set()


def walked(folder: Path, walks: int, reached: Counter[Transition]) -> list[str]:
    """Return how walks, in turn on each kind of state, differ from the model."""
    differences: list[str] = []
    for number, place in enumerate(
        ("memory", f"tinydb:{folder}/worlds.json", f"sqlite:{folder}/worlds.db")
    ):
        server = LocalServer(state=place)
        differences += [
            difference
            for seed in range(number, walks, 3)
            for difference in walk(server, seed, 20, reached)
        ]
        server.stop()
    return differences


def test_a_walk_on_each_kind_of_state_does_not_differ_from_the_model(tmp_path: Path) -> None:
    assert walked(tmp_path, 3, Counter()) == []


@pytest.mark.long
def test_walks_of_all_transitions_do_not_differ_from_the_model(tmp_path: Path) -> None:
    """All transitions are reached: an unwalked one would prove nothing."""
    reached: Counter[Transition] = Counter()
    assert walked(tmp_path, 24, reached) == []
    assert reached.keys() == TRANSITIONS


# -- what is said of objects, and the steps that are offered


def test_every_sentence_and_every_step_has_a_proof() -> None:
    assert telling.without_proof() == set()


@pytest.mark.parametrize(
    "seed", [*(pytest.param(seed, marks=pytest.mark.long) for seed in range(3)), 3]
)
def test_what_is_said_on_a_walk_holds_and_steps_keep_their_promises(seed: int) -> None:
    """``python -m contract_tests.simulator walks --told 300`` reaches every row of both tables."""
    server = LocalServer(state="memory")
    try:
        assert list(telling.tell(server, seed, 20, Counter())) == []
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Active: 5,000 XAF / month.", "unsaid: payment under way of 5,000 XAF"),
        ("No further charge is planned.", "false: 'No further charge is planned.'"),
        ("It never ends.", "is made of no rows"),
    ],
)
def test_a_false_sentence_is_found(text: str, wrong: str) -> None:
    """As the emulator said it once, while a charge waited for the operator."""
    subscription = {
        "object": "subscription",
        "id": "sub_1",
        "status": "active",
        "ends_at": None,
        "cancel_at_period_end": False,
        "collection_method": "charge_automatically",
    }
    invoice = {
        "object": "invoice",
        "id": "inv_1",
        "subscription": "sub_1",
        "status": "open",
        "invoice_number": "INV-2026-000001",
        "due_date": "2026-02-14",
    }
    intent = {
        "object": "payment_intent",
        "id": "pi_1",
        "invoice": "inv_1",
        "status": "processing",
        "amount": 5000,
        "amount_capturable": 0,
        "currency": "XAF",
        "transaction": None,
    }
    objects = {one["id"]: one for one in (subscription, invoice, intent)}
    world = View(objects, [], "2026-01-15T09:00:00.000Z")
    found = list(telling.sentences(world, subscription, text, Counter()))
    assert [fault for fault in found if wrong in fault] != []


def test_a_step_whose_promise_is_kept_already_is_found() -> None:
    """As the emulator offered it once, to an inbox that answered 200."""
    server = LocalServer(state="memory")
    step = {
        "name": "clear_response",
        "label": "Let the inbox answer 200",
        "method": "DELETE",
        "path": "/_emulator/inbox/shop/response",
        "body": None,
        "amount": None,
    }
    try:
        with Emulator(key="sk_test_kept", server=server) as emulator:
            url = f"{emulator.url}/_emulator/inbox/shop?app=kept"
            emulator.api.post("/v1/webhooks/", {"name": "Shop", "url": url, "events": ["*"]})
            seen = telling.view(emulator)
            [one] = seen.of("webhook_endpoint")
            [fault] = telling.take(emulator, seen, one, step)
            assert "is offered although it is so already" in fault
    finally:
        server.stop()


# -- ways in which the emulator was broken once, or might be, each of which the simulator must find


STEPS = 60


class Defect(NamedTuple):
    """One defect: what is replaced by what, and the rules that may be broken by it.

    ``seed``, ``state`` and ``names`` are those of a story that shows it (see :func:`draw_story`).
    Only long runs try a defect that ``is_long``: to shrink its story takes many plays.
    """

    name: str
    owner: Any
    attribute: str
    broken: Any
    rules: tuple[str, ...]
    names: tuple[str, ...]
    state: str = "memory"
    seed: int = 0
    is_long: bool = False

    @property
    def story(self) -> Story:
        return draw_story(self.seed, STEPS, self.state, self.names)._replace(settings={})

    @contextmanager
    def seeded(self) -> Iterator[None]:
        with patch.object(self.owner, self.attribute, self.broken):
            yield


def _at_once(runner: UnitRunner) -> bool:
    while runner.run_next(runner.clock.now()):
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


def _stored_later(
    persistence: WorldPersistence, world: World, unit: UnitOfWork, head: WorldHeader
) -> None:
    persistence.write(world, unit.changes, head)


ERRORS = ("internal error", "money", "jobs")

# fmt: off
DEFECTS = (
    Defect("due jobs run without a pause", UnitRunner, "run_slice", _at_once, ("waiting",),
           ("subscribe", "run", "sleep", "read"), seed=8, is_long=True),
    Defect("rewinds do not wait for each other", History, "rewind", _unlocked,
           ("internal error", "rewind"), ("race", "customer"), seed=11),
    Defect("worlds are never given up", Engine, "_make_room", _nothing_async, ("memory",),
           ("scan", "read", "pay"), seed=1),
    Defect("card numbers are only searched as digits", logged_requests, "redact", _only_digits,
           ("secrets",), ("card", "method", "read")),
    Defect("imports are not validated", worlds, "validate", _nothing, ERRORS,
           ("save", "import", "customer", "advance"), is_long=True),
    Defect("what is not stored is not said", TinyDBStore, "unsaved", lambda store: None,
           ("restart",), ("disk_fails", "stop", "customer", "sleep"), "tinydb", is_long=True),
    Defect("voiding cancels no payment", payment_intents, "cancel_current", _nothing, ERRORS,
           ("pay", "act", "advance", "invoice"), seed=68, is_long=True),
    Defect("answers are not repeated", service_app, "lookup", _nothing,
           ("idempotency", "internal error"), ("repeat", "customer", "intent")),
    Defect("deliveries are not taken up again", Outbox, "resume", _nothing, ("deliveries",),
           ("rewind", "customer", "receiver", "settle", "restore", "save"), is_long=True),
    Defect("what is not stored is not undone", WorldPersistence, "add", _stored_later,
           ("restart", "internal error"), ("disk_fails", "crash", "customer", "invoice", "repair"),
           "sqlite"),
)
# fmt: on


@pytest.mark.parametrize(
    "defect",
    [
        pytest.param(defect, id=defect.name, marks=[pytest.mark.long] if defect.is_long else [])
        for defect in DEFECTS
    ],
)
def test_a_short_story_shows_each_seeded_defect(tmp_path: Path, defect: Defect) -> None:
    """A shrunk story's file breaks the same invariant alike, and nothing without the defect."""
    with defect.seeded():
        outcome = play(defect.story)
        assert outcome.violation is not None
        assert outcome.violation.rule in defect.rules
        shrunk, outcome = search.shrunk(defect.story, outcome)
        assert len(shrunk.steps) <= 8
        search.write(tmp_path / "story.json", shrunk)
        again = search.read(tmp_path / "story.json")
        assert play(again) == outcome
    assert play(again).violation is None
