"""Time is the same however it is walked: many subscriptions end alike after one long step and after many short ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from contract_tests.kernel import Kernel
from contract_tests.sandbox import FAILING_PHONE, START
from emulator.core import calendar
from emulator.errors import Refusal

SUBSCRIPTIONS = 200
DAYS = 730
ACTIONS = 150

# Few daily plans, so that a case stays quick; each interval is there.
PERIODS = [("day", 1), ("week", 1), *[("day", 11), ("week", 3), ("month", 1), ("month", 3), ("year", 1)] * 4]
PHONES = ["+24177000000", "+24177000000", FAILING_PHONE, "+24177000003", "+24177000006", None]

Action = Callable[[Kernel, str], object]


def cancel_later(kernel: Kernel, id: str) -> None:
    kernel.do("cancelSubscription", id, cancel_at_period_end=True)


def take_back(kernel: Kernel, id: str) -> None:
    kernel.do("updateSubscription", id, cancel_at_period_end=False)


def send_invoices(kernel: Kernel, id: str) -> None:
    kernel.do("updateSubscription", id, collection_method="send_invoice")


def fail_from_now_on(kernel: Kernel, id: str) -> None:
    kernel.change_phone(kernel.subscription(id).customer, FAILING_PHONE)


def pay_from_now_on(kernel: Kernel, id: str) -> None:
    kernel.change_phone(kernel.subscription(id).customer, "+24177000000")


def settle(kernel: Kernel, id: str) -> None:
    for invoice in kernel.invoices():
        if invoice.subscription == id and invoice.status in ("open", "uncollectible"):
            kernel.do("payInvoice", invoice.id)


def void(kernel: Kernel, id: str) -> None:
    for invoice in kernel.invoices():
        if invoice.subscription == id and invoice.status == "open":
            kernel.do("voidInvoice", invoice.id)


ONE_CALL = [
    lambda kernel, about, name=name: kernel.do(name, about)
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
    lambda kernel, about: kernel.delete_customer(kernel.subscription(about).customer),
]


class Act(NamedTuple):
    """At an instant something is done to the so-manieth subscription."""

    at: str
    number: int
    action: Action


def script(chance: random.Random) -> list[Act]:
    """What is done during the two years, in order."""
    days = sorted(chance.uniform(0, DAYS) for _ in range(ACTIONS))
    return [
        Act(calendar.plus(START, days=day), chance.randrange(SUBSCRIPTIONS), chance.choice(CHANGES)) for day in days
    ]


def populate(kernel: Kernel, chance: random.Random) -> list[str]:
    """The subscriptions, some with a trial, some that end or are to be canceled; not all on the first day."""
    ids = []
    for number in range(SUBSCRIPTIONS):
        interval, count = chance.choice(PERIODS)
        extra = chance.choice(
            [{}, {}, {}, {"trial_period_days": 10}, {"ends_at": "2027-03-05T00:00:00Z"}, {"cancel_at_period_end": True}]
        )
        kernel.advance(days=0.15 if number % 10 == 0 else 0)
        made = kernel.subscribe(
            chance.choice(PHONES), unit_amount=1000, interval=interval, interval_count=count, **extra
        )
        ids.append(made.id)
    return ids


def play(seed: int, steps: Callable[[str, str], Iterator[str]]) -> Kernel:
    """Two years with the same subscriptions and the same acts, the way between two acts walked in ``steps``."""
    kernel = Kernel()
    chance = random.Random(seed)
    ids = populate(kernel, chance)
    acts = [act for act in script(chance) if act.at > kernel.world.now]
    for act in acts:
        for instant in steps(kernel.world.now, act.at):
            kernel.advance_to(instant)
        try:
            act.action(kernel, ids[act.number])
        except (Refusal, KeyError):
            continue  # what the state forbids, and customers who are gone, are part of the play
    for instant in steps(kernel.world.now, calendar.plus(START, days=DAYS)):
        kernel.advance_to(instant)
    return kernel


def at_once(start: str, end: str) -> Iterator[str]:
    yield end


def randomly(chance: random.Random) -> Callable[[str, str], Iterator[str]]:
    def steps(start: str, end: str) -> Iterator[str]:
        span = (calendar.parse(end) - calendar.parse(start)).total_seconds()
        for part in sorted(chance.random() for _ in range(chance.randrange(12))):
            yield calendar.plus(start, seconds=span * part)
        yield end

    return steps


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), other=st.integers(0, 10**6))
def test_random_steps_end_as_one_step_does(seed: int, other: int) -> None:
    """B-91: jobs run at their own time, so it does not matter where an advance stops."""
    whole = play(seed, at_once)
    pieces = play(seed, randomly(random.Random(other)))
    assert whole.failed_jobs() == pieces.failed_jobs() == []
    assert whole.everything() == pieces.everything()
    assert whole.world.counters == pieces.world.counters


@settings(max_examples=200)
@given(
    start=st.datetimes(min_value=calendar.parse("2020-01-01T00:00:00Z").replace(tzinfo=None)).filter(
        lambda moment: moment.year < 9000
    ),
    interval=st.sampled_from(["day", "week", "month", "year"]),
    count=st.integers(1, 24),
)
def test_boundaries_follow_the_anchor(start: object, interval: str, count: int) -> None:
    """B-42: each boundary is after the one before, on the anchor's day or its month's last, at the anchor's time."""
    anchor = f"{start:%Y-%m-%dT%H:%M:%S}.000Z"
    boundaries = [calendar.step(anchor, interval, count * number) for number in range(14)]
    assert all(first < second for first, second in pairwise(boundaries))
    for boundary in boundaries:
        assert boundary[10:] == anchor[10:]
        if interval in ("month", "year"):
            day, month_end = int(boundary[8:10]), calendar.day_plus(boundary[:10], 1)[8:] == "01"
            assert day == int(anchor[8:10]) or (month_end and day < int(anchor[8:10]))
