"""Random walks of a subscription, in the emulator and in the model, which agree after each step."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from contract_tests.simulator import deposits
from contract_tests.simulator.deposits import DISPUTES, PART, Money, NotAllowed
from contract_tests.simulator.model import MOVED, Life, text
from contract_tests.support.sandbox import BEYOND, CARD
from emulator.testing import Emulator, LocalServer, RequestRefused

Transition = tuple[str, str]

START = datetime(2026, 1, 31, 10, tzinfo=UTC)
NUMBERS = {
    "works": "+24177000010",
    "fails": "+24177000001",
    "slow": "+24177000006",
    "silent": "+24177000003",
}
PHONES: dict[str, str | None] = {**NUMBERS, "gone": None}
"""A number for each of the model's phones (B-54)."""
CHECKED = {**CARD, "number": "4000 0000 0000 3220", "exp_year": 2099}
ACTIONS = {
    "pause": ("POST", "pause/", None),
    "resume": ("POST", "resume/", None),
    "cancel": ("POST", "cancel/", {}),
    "cancel_later": ("PATCH", "", {"cancel_at_period_end": True}),
    "take_back": ("PATCH", "", {"cancel_at_period_end": False}),
    "reactivate": ("POST", "reactivate/", None),
    "collect_by_invoice": ("PATCH", "", {"collection_method": "send_invoice"}),
    "collect_by_charge": ("PATCH", "", {"collection_method": "charge_automatically"}),
    "move": ("PATCH", "", None),
}
"""Requests about the subscription; ``cancel_later`` is a POST where it differs (past due, B-47)."""
NOT_MODELED = BEYOND | {"customer.created"}
"""Types of events without a word on a subscription's life, or not in the specification."""
OF_REFUNDS = {"refund.succeeded", "refund.failed"}
"""Events that are compared among themselves: at one instant with others their order says nothing.
"""
INVOICE_ACTIONS = ("pay", "pay_on_page", "abandon", "void")
STATUSES = ("active", "past_due", "unpaid", "paused", "canceled", "expired")
FIELDS = [
    *(("current_period_end", days) for days in (-100, -1, 2, 40)),
    ("ends_at", -1),
    ("ends_at", 30),
]
DIRECTLY = (
    *(f"put {status}" for status in STATUSES),
    *(f"put {field} {days}" for field, days in FIELDS),
)
"""What a tester sets: see :meth:`Life.put`."""
CHOICES = [*ACTIONS, *PHONES, *INVOICE_ACTIONS, *DIRECTLY, *deposits.ACTIONS]
DISPUTED = {"dispute": "disputed", "win": "completed", "lose": "failed"}
"""The status of a deposit that a tester sets, by action (B-56)."""
SHORTLY = (timedelta(0), timedelta(milliseconds=1), timedelta(milliseconds=-1), timedelta(hours=5))


def walk(server: LocalServer, seed: int, steps: int, reached: Counter[Transition]) -> Iterator[str]:
    """Yield the first difference of a walk, if there is one, with what was done.

    ``reached`` counts the walks that made each transition; those that none has made yet are sought.
    """
    chance = random.Random(seed)
    with Emulator(key=f"sk_test_life{seed}", server=server) as emulator:
        emulator.api.post("/_emulator/reset", {"clock": f"frozen@{text(START)}", "seed": seed})
        life, customer, path = begin(emulator, chance)
        done = [repr(life)]
        for _ in range(steps):
            done.append(step(emulator, life, customer, path, chance, reached))
            wanted, actual = life.view(), view(emulator, path, customer)
            if wanted != actual:
                wrong = [
                    f"{name}: {wanted[name]} not {actual[name]}"
                    for name in wanted
                    if wanted[name] != actual[name]
                ]
                yield "\n  ".join([f"walk {seed}", *done, *wrong])
                break
        reached.update(life.walked)


def begin(emulator: Emulator, chance: random.Random) -> tuple[Life, str, str]:
    tax = chance.choice([0, 0, 18])
    every_period = chance.random() < 0.4
    assumptions = {"past_due_periods": "charged" if every_period else "skipped"}
    emulator.api.patch(
        "/_emulator/app", {"settings": {"tax_rate": tax, "assumptions": assumptions}}
    )
    trial = chance.choice([0, 0, 1, 3, 10, 45])
    interval, count = (
        chance.choice(["day", "week", "month", "month", "year"]),
        chance.choice([1, 1, 2, 3]),
    )
    ends_at = START + timedelta(days=chance.choice([10, 28, 90])) if chance.random() < 0.2 else None
    cancels, phone = (
        chance.random() < 0.1,
        chance.choice(["fails", "slow", "silent", "works", "works"]),
    )
    contact = {"email": "a@example.com", "name": "Awa", "phone": PHONES[phone]}
    customer = emulator.api.post("/v1/customers/", contact)["id"]
    every = {"interval": interval, "interval_count": count}
    body = {"customer": customer, "unit_amount": 701, **every, "cancel_at_period_end": cancels}
    body |= {"trial_period_days": trial, **({"ends_at": text(ends_at)} if ends_at else {})}
    made = emulator.api.post("/v1/subscriptions/", body)
    emulator.api.post(
        "/v1/subscription-plans/", {"name": "Moved", "amount": MOVED, "currency": "XAF", **every}
    )
    life = Life(START, 701, interval, count, tax, trial, ends_at, phone, cancels, every_period)
    return life, customer, f"/v1/subscriptions/{made['id']}/"


def step(
    emulator: Emulator,
    life: Life,
    customer: str,
    path: str,
    chance: random.Random,
    reached: Counter[Transition],
) -> str:
    sought = seek(life, chance, reached)
    if sought is None and life.money.deposits and DISPUTES - reached.keys() - life.walked:
        sought = planned(life.money, life.now, life.walked | reached.keys(), 4)
    if sought == "wait" or (sought is None and chance.random() < 0.5):
        to = life.now + WEEK if sought else max(life.now, target(life, chance))
        emulator.api.post("/_emulator/clock/advance", {"to": text(to)})
        life.advance(to)
        return f"to {text(to)}"
    action = sought or chance.choice(CHOICES)
    refused = False
    try:
        send(emulator, life, action, customer, path)
    except RequestRefused as error:
        if error.status not in (400, 404, 409, 422):
            raise
        refused = True
    try:
        life.act(action)
    except NotAllowed:
        return f"{action}, refused" if refused else f"{action}: accepted, which is not allowed"
    return f"{action}: refused, which is allowed" if refused else action


def seek(life: Life, chance: random.Random, reached: Counter[Transition]) -> str | None:
    """Return an action for a transition of the model that no walk has made yet, or None."""
    for action in chance.sample(CHOICES, len(CHOICES)):
        tried = copy.deepcopy(life)
        with suppress(NotAllowed):
            tried.act(action)
            if tried.walked - life.walked - reached.keys():
                return action
    return None


WEEK = timedelta(days=7)
"""Longer than any refund takes."""


def planned(money: Money, now: datetime, done: set[Transition], moves: int) -> str | None:
    """Return the first of so many moves with the last deposit that make a new transition; None
    where there are none.

    A move is an action, or ``wait`` for the refunds under way. Fewer moves are better.
    """
    for number in range(1, moves + 1):
        for move in (*deposits.ACTIONS, "wait"):
            tried = copy.deepcopy(money)
            with suppress(NotAllowed):
                if move == "wait":
                    tried.advance(now + WEEK)
                else:
                    tried.act(move, now)
                if tried.walked - done or (number > 1 and planned(tried, now, done, number - 1)):
                    return move
    return None


def target(life: Life, chance: random.Random) -> datetime:
    due = [at for at, _, _ in life.due()] + [refund.ends_at for _, refund in life.money.under_way()]
    if due and chance.random() < 0.6:
        return chance.choice(due) + chance.choice(SHORTLY)
    return life.now + timedelta(hours=chance.choice([1, 24, 72, 240, 744, 800]))


def send(emulator: Emulator, life: Life, action: str, customer: str, path: str) -> None:
    if action in PHONES:
        emulator.api.patch(f"/v1/customers/{customer}/", {"phone": PHONES[action]})
    elif action in INVOICE_ACTIONS:
        invoices = emulator.api.get("/v1/invoices/", page_size=1)["data"]
        path = f"/invoices/{invoices[0]['id'] if life.bills else 'none'}"
        if action in ("pay_on_page", "abandon"):
            method = CHECKED if action == "abandon" else {**CARD, "exp_year": 2099}
            emulator.api.post(f"/_emulator{path}/pay", {"method": method})
        else:
            emulator.api.post(f"/v1{path}/{action}/")
    elif action in deposits.ACTIONS:
        paid = emulator.api.get("/v1/transactions/", type="deposit", page_size=1)["data"]
        id = paid[0]["id"] if paid else "none"
        if action in DISPUTED:
            emulator.api.patch(f"/_emulator/objects/{id}", {"status": DISPUTED[action]})
        else:
            amount = {"amount": PART} if action == "refund_part" else {}
            emulator.api.post("/v1/refunds/", {"transaction": id, **amount})
    elif action in DIRECTLY:
        name, _, days = action.removeprefix("put ").partition(" ")
        fields = (
            {name: text(life.now + timedelta(days=int(days), hours=7))}
            if days
            else {"status": name}
        )
        emulator.api.patch(f"/_emulator/objects/{path.split('/')[-2]}", fields)
    else:
        method, end, body = ACTIONS[action]
        if action == "cancel_later" and life.status in ("past_due", "unpaid", "paused"):
            method, end = "POST", "cancel/"
        if action == "move":
            body = {"plan": emulator.api.get("/v1/subscription-plans/")["data"][0]["id"]}
        (emulator.api.patch if method == "PATCH" else emulator.api.post)(path + end, body)


def view(emulator: Emulator, path: str, customer: str) -> dict[str, Any]:
    now = emulator.api.get(path)
    invoices = emulator.api.oldest("/v1/invoices/")
    events = list(emulator.api.newest("/_emulator/events"))[::-1]
    return {
        "status": now["status"],
        "period": (now["current_period_start"], now["current_period_end"]),
        "canceled_at": now["canceled_at"],
        "terms": (
            now["cancel_at_period_end"],
            now["collection_method"] == "send_invoice",
            now["unit_amount"],
        ),
        "invoices": [
            (
                invoice["status"],
                invoice["total"],
                invoice["created_at"],
                invoice["transaction"] is not None,
            )
            for invoice in invoices
        ],
        "events": [
            (event["type"], event["created_at"], shown(event))
            for event in events
            if event["type"] not in NOT_MODELED | OF_REFUNDS
        ],
        "of refunds": [
            (event["type"], event["created_at"]) for event in events if event["type"] in OF_REFUNDS
        ],
        **money(emulator, customer),
    }


def money(emulator: Emulator, customer: str) -> dict[str, Any]:
    """Return what the deposits, their refunds, the customer and the ledger say."""
    paid = emulator.api.oldest("/v1/transactions/", type="deposit")
    refunds = emulator.api.oldest("/v1/refunds/")
    ledger = emulator.api.get("/_emulator/ledger", page_size=1)
    return {
        "deposits": [
            (deposit["status"], deposit["amount"], deposit["amount_refunded"]) for deposit in paid
        ],
        "refunds": [
            sorted(
                (refund["status"], refund["amount"], refund["failure_reason"] or "")
                for refund in refunds
                if refund["transaction"] == deposit["id"]
            )
            for deposit in paid
        ],
        "spent": emulator.api.get(f"/v1/customers/{customer}/")["total_spent"],
        "books": (
            ledger["balanced"],
            sum(total["amount"] for total in ledger["totals"] if total["account"] == "buyers"),
        ),
    }


def shown(event: Any) -> str | None:
    return event["data"]["object"]["status"] if event["type"].startswith("subscription.") else None
