"""Years in the life of many subscriptions: the same each time, and walked in one step or in many."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import FAILING_PHONE, START
from emulator.core import calendar
from emulator.core.errors import ApiError


class Extent(NamedTuple):
    """How much is played."""

    subscriptions: int
    days: int
    acts: int


# Few daily plans, so that a case stays quick; each interval is there.
PERIODS = [("day", 1), ("week", 1), *[("day", 11), ("week", 3), ("month", 1), ("month", 3), ("year", 1)] * 4]
PHONES = ["+24177000000", "+24177000000", FAILING_PHONE, "+24177000003", "+24177000006", None]

Action = Callable[[RulesHarness, str], object]


def cancel_later(harness: RulesHarness, id: str) -> None:
    harness.do("cancelSubscription", id, cancel_at_period_end=True)


def take_back(harness: RulesHarness, id: str) -> None:
    harness.do("updateSubscription", id, cancel_at_period_end=False)


def send_invoices(harness: RulesHarness, id: str) -> None:
    harness.do("updateSubscription", id, collection_method="send_invoice")


def fail_from_now_on(harness: RulesHarness, id: str) -> None:
    harness.change_phone(harness.subscription(id).customer, FAILING_PHONE)


def pay_from_now_on(harness: RulesHarness, id: str) -> None:
    harness.change_phone(harness.subscription(id).customer, "+24177000000")


def settle(harness: RulesHarness, id: str) -> None:
    for invoice in harness.invoices():
        if invoice.subscription == id and invoice.status in ("open", "uncollectible"):
            harness.do("payInvoice", invoice.id)


def void(harness: RulesHarness, id: str) -> None:
    for invoice in harness.invoices():
        if invoice.subscription == id and invoice.status == "open":
            harness.do("voidInvoice", invoice.id)


ONE_CALL = [
    lambda harness, about, name=name: harness.do(name, about)
    for name in ("pauseSubscription", "resumeSubscription", "reactivateSubscription", "cancelSubscription")
]
CHANGES: list[Action] = [
    *ONE_CALL[:3] * 3,
    ONE_CALL[3],
    cancel_later,
    take_back,
    send_invoices,
    fail_from_now_on,
    pay_from_now_on,
    settle,
    void,
    lambda harness, about: harness.delete_customer(harness.subscription(about).customer),
]


class Act(NamedTuple):
    """At an instant something is done to the so-manieth subscription."""

    at: str
    number: int
    action: Action


def script(chance: random.Random, extent: Extent) -> list[Act]:
    """What is done during the years, in order."""
    days = sorted(chance.uniform(0, extent.days) for _ in range(extent.acts))
    return [
        Act(calendar.plus(START, days=day), chance.randrange(extent.subscriptions), chance.choice(CHANGES))
        for day in days
    ]


def populate(harness: RulesHarness, chance: random.Random, subscriptions: int) -> list[str]:
    """Return the subscriptions, some with a trial, some that end or are to be canceled; not all on the first day."""
    ids = []
    for number in range(subscriptions):
        interval, count = chance.choice(PERIODS)
        extra = chance.choice(
            [{}, {}, {}, {"trial_period_days": 10}, {"ends_at": "2027-03-05T00:00:00Z"}, {"cancel_at_period_end": True}]
        )
        harness.advance(days=30 / subscriptions if number % 10 == 0 else 0)
        made = harness.subscribe(
            chance.choice(PHONES), unit_amount=1000, interval=interval, interval_count=count, **extra
        )
        ids.append(made.id)
    return ids


def play(seed: int, steps: Callable[[str, str], Iterator[str]], extent: Extent) -> RulesHarness:
    """Years with the same subscriptions and the same acts, the way between two acts walked in ``steps``."""
    harness = RulesHarness()
    chance = random.Random(seed)
    ids = populate(harness, chance, extent.subscriptions)
    acts = [act for act in script(chance, extent) if act.at > harness.world.now]
    for act in acts:
        for instant in steps(harness.world.now, act.at):
            harness.advance_to(instant)
        try:
            act.action(harness, ids[act.number])
        except (ApiError, KeyError):
            continue  # what the state forbids, and customers who are gone, are part of the play
    for instant in steps(harness.world.now, calendar.plus(START, days=extent.days)):
        harness.advance_to(instant)
    return harness


def at_once(start: str, end: str) -> Iterator[str]:
    yield end


def randomly(chance: random.Random) -> Callable[[str, str], Iterator[str]]:
    def steps(start: str, end: str) -> Iterator[str]:
        span = (calendar.parse(end) - calendar.parse(start)).total_seconds()
        for part in sorted(chance.random() for _ in range(chance.randrange(12))):
            yield calendar.plus(start, seconds=span * part)
        yield end

    return steps
