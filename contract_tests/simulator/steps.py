"""Steps of clients, buyers, testers, receivers, machines: drawn from a seed, played from data."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from contract_tests.simulator.invariants import dump, is_still
from contract_tests.simulator.population import NUMBERS, OPERATIONS, SPANS, VARIANTS, drawn
from contract_tests.simulator.server import MAX_WORLDS
from contract_tests.simulator.simulation import (
    ACTIONS,
    KEYS,
    Place,
    Rejected,
    Simulation,
    Step,
    Story,
)
from contract_tests.simulator.surroundings import BEHAVIOURS, KINDS
from emulator.engine.runtime import Runtime
from emulator.resources.faults import Fault
from emulator.resources.webhooks import deliveries

Draw = Callable[[random.Random], Mapping[str, Any]]
Act = Callable[..., Awaitable[None]]


class Kind(NamedTuple):
    """One kind of step: how often it is drawn, and how its data are drawn."""

    weight: int
    draw: Draw


WORLDS = KEYS[:1] * 3 + KEYS[1:]
"""The first world is drawn most often."""

STEPS: dict[str, Kind] = {}
"""By name."""


def step(weight: int, **values: Any) -> Callable[[Act], Act]:
    """Register a step about a world. Its data are members of a sequence, or drawn by a function."""
    return _register(weight, {"key": WORLDS, **values})


def event(weight: int, **values: Any) -> Callable[[Act], Act]:
    return _register(weight, values)


def _register(weight: int, values: Mapping[str, Any]) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        name = act.__name__.rstrip("_")
        STEPS[name], ACTIONS[name] = Kind(weight, lambda chance: drawn(chance, values)), act
        return act

    return register


def draw_story(
    seed: int, steps: int, state: str | None = None, names: Collection[str] = ()
) -> Story:
    """Return a seed's story; with the given kind of state and the given kinds of steps alone.

    Each story has some kinds of steps more often than others, and lacks some: what happens rarely
    happens often in a few stories.
    """
    chance = random.Random(seed)
    kind = chance.choices(KINDS, (6, 2, 2))[0]
    settings = VARIANTS[chance.choice(list(VARIANTS))]
    weights = {name: STEPS[name].weight for name in names} or {
        name: step.weight * chance.choice((0, 1, 1, 3)) for name, step in STEPS.items()
    }
    return Story(
        seed, state or kind, settings, tuple(_drawn(chance, weights) for _ in range(steps))
    )


def _drawn(chance: random.Random, weights: Mapping[str, int]) -> Step:
    name = chance.choices(list(weights), list(weights.values()))[0]
    return {"do": name, **STEPS[name].draw(chance)}


def _request(chance: random.Random) -> Step:
    """Return a step that others may do at the same time."""
    return _drawn(chance, {name: STEPS[name].weight for name in TOGETHER})


def _change(chance: random.Random) -> Step:
    """Return a step that moves the clock or changes the past."""
    return _drawn(chance, dict.fromkeys(("advance", "reset", "restore", "rewind"), 1))


# -- clients, buyers and testers


async def do(at: Place, name: str, /, **values: Any) -> None:
    number = values.pop("pick", None)
    requests = OPERATIONS[name].requests(
        at.pick, next(at.simulation.numbers) if number is None else number, **values
    )
    answer = None
    with suppress(StopIteration):
        while True:
            method, path, body = requests.send(answer)
            answer = await at.ask(method, path, {} if body is None and method == "POST" else body)


def _playing(name: str) -> Act:
    async def play(at: Place, **values: Any) -> None:
        await do(at, name, **values)

    play.__name__ = name
    return play


for _name, _operation in OPERATIONS.items():
    step(_operation.weight, **_operation.values)(_playing(_name))


NAMES = ("first", "second")


async def open_(at: Place) -> None:
    """Begin a world: customer with method and subscription, open invoice, session, endpoints."""
    settings = at.simulation.story.settings
    if settings:
        await at.ask("PATCH", "/_emulator/app", {"settings": settings})
    for number in (1, 2):
        url = f"https://shop{number}.example.com/{at.key}"
        events = ["*"] if number == 1 else ["invoice.paid"]
        await at.post("/v1/webhooks/", {"name": "Shop", "url": url, "events": events})
    await do(at, "customer", phone=0)
    await do(at, "method", pick=0, method=0)
    await do(
        at,
        "subscribe",
        pick=0,
        amount=5000,
        interval="month",
        trial=0,
        collection="charge_automatically",
    )
    await do(at, "invoice", pick=0, lines=0, currency="XAF")
    await do(at, "session", mode="payment", lines=0)


@step(2, pick=NUMBERS)
async def deliver_again(at: Place, pick: int) -> None:
    delivery = at.pick("webhook_delivery", pick)
    await at.post(f"/v1/webhooks/{delivery.webhook}/deliveries/{delivery.id}/retry/")


@step(
    6,
    path=(
        "customers",
        "invoices",
        "transactions",
        "payment-intents",
        "subscriptions",
        "checkout-sessions",
    ),
)
async def read(at: Place, path: str) -> None:
    await at.get(f"/v1/{path}/", query="page_size=5")


@step(
    4,
    path=(
        "schedule",
        "events",
        "requests",
        "ledger",
        "emails",
        "clock",
        "webhook_deliveries",
        "audit",
    ),
)
async def look(at: Place, path: str) -> None:
    await at.get(f"/_emulator/{path}")


@step(6, number=range(12))
async def repeat(at: Place, number: int) -> None:
    await at.repeat(number)


@step(1)
async def reset(at: Place) -> None:
    at.forget()
    await at.post("/v1/reset/")


DAMAGED = (
    b"{",
    b"[]",
    b'{"email": "a@b.c", "name": 1}',
    b'{"email": "a@b.c", "name": "x", "name": "y"}',
    b'{"amount": 1e999}',
    b'{"amount": 123456789012345678901234567890, "currency": "XAF"}',
    b'{"email": "\\ud800@b.c", "name": "x"}',
    b"\xff\xfe",
    b"{" * 200,
    b'{"type": "bank_card", "number": "\\u0034242424242424242", "cvc": "1"}',
)


@step(
    4,
    path=("customers", "payment-methods", "payment-intents", "invoices", "refunds"),
    body=range(len(DAMAGED)),
)
async def damaged(at: Place, path: str, body: int) -> None:
    """Damaged input is rejected, and changes nothing."""
    stays = is_still(at.runtime) and not len(at.runtime.world.table(Fault))
    units = at.runtime.journal.count if stays else None
    try:
        await at.post(f"/v1/{path}/", DAMAGED[body])
    except Rejected:
        pass
    else:
        at.simulation.invariants.violated("damaged input", f"{path} accepted {DAMAGED[body]!r}")
    if (
        units is not None
        and at.runtime.journal.count != units
        and not at.simulation.invariants.disk_failed
    ):
        at.simulation.invariants.violated("damaged input", f"{DAMAGED[body]!r} changed something")


NUMBER = "4242424242424242"
CARDS = (
    NUMBER,
    "".join(f"\\u{ord(digit):04x}" for digit in NUMBER),
    "4242 4242 4242 4242",
    "4242-4242-4242-4242",
)


@step(3, pick=NUMBERS, number=range(len(CARDS)))
async def card(at: Place, pick: int, number: int) -> None:
    """However a card number is written, it is not stored."""
    rest = '"type": "bank_card", "exp_month": 12, "exp_year": 2035, "cvc": "123"'
    text = f'{{"customer": "{at.pick("customer", pick).id}", "number": "{CARDS[number]}", {rest}}}'
    await at.post("/v1/payment-methods/", text.encode())
    newest = (await at.get("/_emulator/requests", query="page_size=1"))["data"][0]
    details = await at.get(f"/_emulator/requests/{newest['id']}")
    if NUMBER in re.sub(r"[ -]|\\+u003", "", str(details)):
        at.simulation.invariants.violated("secrets", "the journal shows a card number")


# -- buyers and testers


FAULTS = (
    *({"code": "UPSTREAM_ERROR"}, {"status": 429}, {"delay_ms": 300}, {"hold_ms": 200}),
    *({"lose": True}, {"tamper": True}, {"duplicate": 2}, {"delay": "2h"}),
)


@step(3, then=FAULTS)
async def fault(at: Place, then: Mapping[str, Any]) -> None:
    await at.post("/_emulator/faults", {"then": then})


@step(2, result=("succeeded", "failed"), operation=("payment", "refund"))
async def outcome(at: Place, result: str, operation: str) -> None:
    await at.post("/_emulator/outcomes", {"operation": operation, "result": result})


@step(2, pick=NUMBERS, behaviour=BEHAVIOURS)
async def receiver(at: Place, pick: int, behaviour: str) -> None:
    at.simulation.network.behaviours[at.pick("webhook_endpoint", pick).url] = behaviour


@step(2, pick=NUMBERS, status=("disputed", "disputed", "failed", "completed"))
async def dispute(at: Place, pick: int, status: str) -> None:
    """A deposit is disputed, and the dispute is lost or won (B-56)."""
    await at.ask(
        "PATCH", f"/_emulator/objects/{at.pick('transaction', pick).id}", {"status": status}
    )


# -- clocks


@step(8, by=SPANS, wait=(True, True, True, False))
async def advance(at: Place, by: str, wait: bool) -> None:
    if at.runtime.clock_state().lag:  # the way to the end of the backlog may be a long one
        await at.post("/_emulator/clock/freeze")
    headers = {} if wait else {"prefer": "respond-async"}
    answer = await at.simulation.send(
        "POST", "/_emulator/clock/advance", {"by": by}, key=at.key, headers=headers
    )
    failures = answer.json().get("failures") if answer.status == 200 else None
    if failures:
        at.simulation.invariants.violated("jobs", f"a job failed: {failures}")


@step(3)
async def freeze(at: Place) -> None:
    await at.post("/_emulator/clock/freeze")


@step(2, rate=(1, 3600, 86_400, 86_400, 31_536_000))
async def run(at: Place, rate: int) -> None:
    await at.post("/_emulator/clock/run", {"rate": rate})


@event(4, seconds=(0.01, 0.06, 0.3, 1.2))
async def sleep(simulation: Simulation, seconds: float) -> None:
    await asyncio.sleep(seconds)


# -- history


@step(3, name=NAMES)
async def save(at: Place, name: str) -> None:
    await at.post("/_emulator/snapshots", {"name": name})
    # A delivery whose outcome a failing disk lost is attempted once more after a restore.
    if is_still(at.runtime) and not deliveries.under_way(at.runtime.world):
        at.saved[name] = dump(at.runtime)
    else:
        at.saved.pop(name, None)


@step(3, name=NAMES)
async def restore(at: Place, name: str) -> None:
    """A world that is restored is the one that was saved."""
    at.forget()
    await at.post(f"/_emulator/snapshots/{name}/restore")
    if name in at.saved and not at.runtime.is_in_use:
        before = {**at.saved[name], "snapshots": dict.fromkeys(at.runtime.history.snapshots)}
        at.simulation.invariants.same("restore", before, at.runtime)


@step(2, steps=(1, 2, 5))
async def rewind(at: Place, steps: int) -> None:
    at.forget()
    await at.post("/_emulator/rewind", {"steps": steps})


@step(2, then=_request)
async def undo(at: Place, then: Step) -> None:
    """What is done and rewound leaves no trace."""
    runtime = at.runtime
    if not is_still(runtime):
        raise Rejected("it does not stand still")
    await at.post("/v1/products/", {"name": "Basket", "unit_amount": 100, "currency": "XAF"})
    if runtime.is_in_use:
        await runtime.outbox.settled()
    before, answered = dump(runtime), _counted(runtime)
    await at.simulation.act({**then, "key": at.key})
    # Receivers may call back: what they ask for is undone as well.
    await runtime.outbox.settled()
    done = _counted(runtime) - answered
    at.forget()
    if done > 0:
        await at.post("/_emulator/rewind", {"steps": done})
        if not runtime.is_in_use:
            before["snapshots"] = dict.fromkeys(runtime.history.snapshots)
            at.simulation.invariants.same("rewind", before, runtime)


def _counted(runtime: Runtime) -> int:
    """Return the number of requests to rewind; other rewinds, even rejected ones, do not count."""
    return sum(entry.operation != "rewind" for entry in runtime.journal.entries)


DAMAGES: dict[str, Callable[[Any], object]] = {
    "none": lambda tables: None,
    "late": lambda tables: _world(tables).update(now="2029-12-31T23:59:59.999Z"),
    "running": lambda tables: _world(tables).update(mode="running", rate=1e300),
    "counters": lambda tables: _world(tables).update(counters={}),
    "job": lambda tables: [row.update(name="nothing") for row in _rows(tables, "job")],
    "due": lambda tables: [row.update(due="tomorrow") for row in _rows(tables, "job")],
    "event": lambda tables: [row.update(created_at="x") for row in _rows(tables, "event")],
    "email": lambda tables: [row.update(topic="nothing") for row in _rows(tables, "email")],
    "status": lambda tables: [row.update(status="lost") for row in _rows(tables, "invoice")],
    "amount": lambda tables: [row.update(total="many") for row in _rows(tables, "invoice")],
    "version": lambda tables: tables.update(emulator={}),
}


def _world(tables: Any) -> Any:
    return next(iter(tables["worlds"].values()))


def _rows(tables: Any, kind: str) -> Any:
    return [
        row for name, table in tables.items() if name.endswith(f"/{kind}") for row in table.values()
    ]


@step(2, name=NAMES, damage=list(DAMAGES))
async def import_(at: Place, name: str, damage: str) -> None:
    """A damaged snapshot is rejected, or is one that can be restored and shown."""
    tables = await at.get(f"/_emulator/snapshots/{name}")
    DAMAGES[damage](tables)
    await at.ask("PUT", "/_emulator/snapshots/imported", tables)
    at.forget()
    await at.post("/_emulator/snapshots/imported/restore")
    for path in ("schedule", "events", "emails", "ledger"):
        await at.get(f"/_emulator/{path}")
    await at.get("/v1/customers/")


# -- several at once


@step(4, first=_request, second=_request, apart=range(6))
async def together(at: Place, first: Step, second: Step, apart: int) -> None:
    """Two requests to one world, the second while the first is under way."""

    async def later() -> None:
        for _ in range(apart):
            await asyncio.sleep(0)
        await at.simulation.act({**second, "key": at.key})

    await asyncio.gather(at.simulation.act({**first, "key": at.key}), later())
    if {first["do"], second["do"]} & {"reset", "restore", "rewind"}:
        at.forget()


@step(3, first=_change, second=_change, apart=range(4))
async def race(at: Place, first: Step, second: Step, apart: int) -> None:
    await at.post("/v1/products/", {"name": "Basket", "unit_amount": 100, "currency": "XAF"})
    await together(at, first, second, apart)


TOGETHER = (
    "act", "advance", "answer", "card", "change", "customer", "damaged", "delete", "freeze",
    "intent", "invoice", "method", "pay", "read", "refund", "repeat", "reset", "restore", "rewind",
    "run", "save", "session", "subscribe",
)  # fmt: skip
"""Steps that others may do at the same time."""


# -- machines


@event(1)
async def settle(simulation: Simulation) -> None:
    for place in simulation.places.values():
        if place.is_open:
            await place.post("/_emulator/clock/freeze")
            await place.post("/_emulator/clock/advance", {"by": "0s"})


@event(1, writes=(1, 2, 5, 20, 100))
async def disk_fails(simulation: Simulation, writes: int) -> None:
    if simulation.disk.kind != "memory":
        simulation.invariants.disk_fails()
        simulation.disk.fail(writes)


@event(2)
async def recover(simulation: Simulation) -> None:
    """Let the same process write again; its waiting changes are on disk a second later."""
    if simulation.disk.is_failing:
        simulation.disk.repair()
        simulation.invariants.disk_repaired()
        await asyncio.sleep(2)
        simulation.invariants.check_all(simulation.server)


@event(1)
async def repair(simulation: Simulation) -> None:
    """Let the disk write again; the next start takes up the work that was held back."""
    if simulation.disk.is_failing:
        simulation.disk.repair()
        await _restart(simulation)


@event(1)
async def crash(simulation: Simulation) -> None:
    """The process ends at once, and another one starts."""
    simulation.invariants.crashed(simulation.server)
    await simulation.server.crash()
    for place in simulation.places.values():
        if simulation.disk.kind == "memory":
            place.lost()
        if simulation.disk.kind == "tinydb":
            place.unsaved()
    simulation.invariants.restarted()
    await simulation.start()


@event(1, then=lambda chance: {**_request(chance), "key": KEYS[0]}, rounds=range(1, 12))
async def crash_during(simulation: Simulation, then: Step, rounds: int) -> None:
    task = asyncio.create_task(simulation.act(then))
    for _ in range(rounds):
        await asyncio.sleep(0)
    await crash(simulation)
    assert task.done()
    simulation.places[KEYS[0]].forget()


@event(1)
async def stop(simulation: Simulation) -> None:
    await _restart(simulation)


async def _restart(simulation: Simulation) -> None:
    if simulation.disk.kind == "memory":
        return
    unsaved = await simulation.server.stop()
    simulation.disk.repair()
    simulation.invariants.stopped(simulation.server, unsaved)
    if unsaved is not None:
        for place in simulation.places.values():
            place.unsaved()
    simulation.invariants.restarted()
    await simulation.start()


@event(1, worlds=range(1, MAX_WORLDS))
async def scan(simulation: Simulation, worlds: int) -> None:
    """Other keys are used; too many worlds are not open for long."""
    for _ in range(worlds):
        await simulation.send(
            "GET", "/v1/customers/", key=f"sk_test_scan{next(simulation.numbers)}"
        )
    await asyncio.sleep(0.11)
    runtimes = simulation.server.engine.runtimes.values()
    if len(runtimes) > max(MAX_WORLDS, sum(runtime.is_in_use for runtime in runtimes)):
        simulation.invariants.violated("memory", f"{len(runtimes)} worlds are open")


ACTIONS["open"] = open_
