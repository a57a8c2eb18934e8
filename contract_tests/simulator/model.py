"""A model of one subscription, from the specification and the assumptions alone.

It imports nothing of the emulator. What the operator answers a charge, and when, follows the
``phone`` (B-54).
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from contract_tests.simulator import deposits
from contract_tests.simulator.deposits import DISPUTES, Deposit, Money, NotAllowed
from contract_tests.support.settings import SHOWN

DAY = timedelta(days=1)
RETRY_DAYS = SHOWN["renewal_retry_days"]
PAID = ("payment_intent.succeeded", "transaction.succeeded", "invoice.paid")
MOVED = 1203
"""The amount of the plan that it is moved to."""
LIVE = ("trialing", "active", "past_due", "unpaid", "paused")

ANSWERS = {
    "works": (timedelta(0), True),
    "fails": (timedelta(0), False),
    "slow": (timedelta(seconds=60), True),
    "silent": (timedelta(minutes=3), False),
    "gone": (timedelta(0), False),
}
"""By phone: the operator's time, and whether the charge succeeds. No phone: nobody asked (B-41)."""

CONFIRMATION = timedelta(seconds=900)
"""B-54: when a card check fails that nobody passes."""

TRANSITIONS = {
    ("", "trialing"),
    ("", "active"),
    ("trialing", "active"),
    ("trialing", "paused"),
    ("active", "paused"),
    ("paused", "trialing"),
    ("paused", "active"),
    ("active", "past_due"),
    ("past_due", "unpaid"),
    ("past_due", "active"),
    ("unpaid", "active"),
    ("canceled", "active"),
    *((status, end) for status in LIVE for end in ("canceled", "expired")),
    *DISPUTES,
}
"""The transitions, from the specification's table and the assumptions, that walks must reach."""

ALLOWED = {
    "pause": ("trialing", "active"),
    "resume": ("paused",),
    "cancel": ("trialing", "active", "past_due", "unpaid"),
    "cancel_later": ("trialing", "active", "past_due"),
    "reactivate": ("canceled",),
    **dict.fromkeys(("take_back", "collect_by_invoice", "collect_by_charge", "move"), LIVE),
}
"""The statuses in which an action is allowed."""

SETS = {
    "take_back": ("cancels", False),
    "collect_by_invoice": ("sends", True),
    "collect_by_charge": ("sends", False),
    "move": ("next_amount", MOVED),  # B-40: "the new amount applies from the next period"
}
"""The actions that set one attribute."""


@dataclass(eq=False)
class Bill:
    """One invoice of the subscription."""

    at: datetime
    total: int
    status: str = "open"
    overdue: bool = False
    by_payment: bool = False


@dataclass(eq=False)
class Payment:
    """A charge that is under way."""

    bill: Bill
    ends_at: datetime
    succeeds: bool
    by_buyer: bool = False


@dataclass
class Life:
    """The subscription at ``now``, with all events so far: type, instant, status shown."""

    now: datetime
    amount: int
    interval: str
    count: int
    tax_rate: int
    trial_days: int
    ends_at: datetime | None
    phone: str
    cancels: bool = False
    every_period: bool = False
    sends: bool = False
    period: int = 1
    trial_end: datetime | None = None
    canceled_at: datetime | None = None
    bills: list[Bill] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    sent: list[tuple[str, datetime, str | None]] = field(default_factory=list)
    owed: Bill | None = None
    failed_at: datetime | None = None
    retry_at: datetime | None = None
    behind: bool = False
    paused_in: str = ""
    noticed: bool = False
    walked: set[tuple[str, str]] = field(default_factory=set)
    money: Money = field(default_factory=Money)

    def __post_init__(self) -> None:
        self.anchor, self.next_amount = self.now, self.amount
        self._status = ""
        if self.trial_days:
            self.period = 0
            self.trial_end = self.anchor = self.now + self.trial_days * DAY
        self.status = "trialing" if self.trial_days else "active"
        self.start, self.end = self.now, self.trial_end or self.boundary(1)
        self.send("subscription.created")
        if self.status == "active":
            self.charge()
        self.run()

    @property
    def status(self) -> str:
        return self._status

    @status.setter
    def status(self, status: str) -> None:
        if status != self._status:
            self.walked.add((self._status, status))
        self._status = status

    def send(self, type: str, *, of_subscription: bool = True) -> None:
        self.sent.append((type, self.now, self.status if of_subscription else None))

    def boundary(self, number: int) -> datetime:
        """B-42: anchor + n × count × interval, with the day clamped to the month's end."""
        number *= self.count
        if self.interval in ("day", "week"):
            return self.anchor + number * DAY * (7 if self.interval == "week" else 1)
        months = self.anchor.month - 1 + number * (12 if self.interval == "year" else 1)
        year, month = self.anchor.year + months // 12, months % 12 + 1
        day = min(self.anchor.day, calendar.monthrange(year, month)[1])
        return self.anchor.replace(year=year, month=month, day=day)

    # -- time

    def advance(self, to: datetime) -> None:
        while (step := min(self.due(), default=None)) is not None and step[0] <= to:
            self.now = step[0]
            getattr(self, step[2])()
        self.now = to
        self.money.advance(to)
        self.walked |= self.money.walked

    def run(self) -> None:
        self.advance(self.now)

    def due(self) -> list[tuple[datetime, int, str]]:
        """What is to happen next; at one instant in this order (B-40, B-45, B-96)."""
        jobs: list[tuple[datetime, int, str]] = []
        jobs += [(payment.ends_at, 0, "answer") for payment in self.payments]
        if self.ends_at is not None and self.status in LIVE:
            jobs.append((max(self.ends_at, self.now), 0, "expire"))
        if self.is_to_be_noticed():
            assert self.trial_end is not None
            jobs.append((max(self.trial_end - 3 * DAY, self.now), 1, "notice"))
        if unsettled := self.unsettled():
            jobs.append((max(min(map(overdue_at, unsettled)), self.now), 2, "fall_overdue"))
        if self.retry_at is not None and self.status in ("active", "past_due"):
            jobs.append((max(self.retry_at, self.now), 3, "retry"))
        if self.status in LIVE:
            jobs.append((max(self.end, self.now), 4, "renew"))
        return jobs

    def unsettled(self) -> list[Bill]:
        return [bill for bill in self.bills if bill.status == "open" and not bill.overdue]

    def is_to_be_noticed(self) -> bool:
        """B-43: once for each trial that is going to end in a charge."""
        if self.noticed or self.trial_end is None or self.trial_end <= self.now or self.cancels:
            return False
        return self.status in ("trialing", "active") and (
            self.ends_at is None or self.ends_at > self.trial_end
        )

    def expire(self) -> None:
        self.status, self.retry_at = "expired", None

    def notice(self) -> None:
        self.noticed = True
        self.send("subscription.trial_will_end")

    def fall_overdue(self) -> None:
        """B-44: "an overdue invoice does nothing to a `charge_automatically` one"."""
        min(self.unsettled(), key=overdue_at).overdue = True
        self.send("invoice.payment_overdue", of_subscription=False)
        if self.sends and self.status == "active":
            self.status, self.behind = "past_due", True

    def renew(self) -> None:
        """B-43 to B-47, B-96."""
        if self.cancels:
            self.end_it()
            return
        self.next_period()
        while self.end <= self.now:  # B-89: "of several periods that went by one is charged"
            self.next_period()
        if self.status == "trialing":
            self.status = "active"
        if (
            self.status == "active"
            or (self.status == "past_due" and self.sends)
            or (self.every_period and self.status in ("past_due", "unpaid"))
        ):
            self.charge()

    def next_period(self) -> None:
        self.period += 1
        self.start, self.end, self.amount = self.end, self.boundary(self.period), self.next_amount

    # -- money

    def charge(self) -> None:
        self.bills.append(
            Bill(self.now, self.amount + (self.amount * self.tax_rate * 2 + 100) // 200)
        )
        if not self.sends:
            self.collect(self.bills[-1])

    def retry(self) -> None:
        """B-45: after a change to `send_invoice` it emails; B-62: payments under way come first."""
        self.retry_at = None
        if self.owed is None or self.owed.status != "open" or self.is_under_way(self.owed):
            return
        if self.sends:
            self.plan_retry()
        else:
            self.collect(self.owed)

    def plan_retry(self) -> None:
        self.failed_at = self.failed_at or self.now
        days = [self.failed_at + day * DAY for day in RETRY_DAYS]
        self.retry_at = next((day for day in days if day > self.now), None)

    def collect(self, bill: Bill) -> None:
        if self.phone == "gone":  # B-45: it fails without a payment
            self.fail(bill)
            return
        takes, succeeds = ANSWERS[self.phone]
        self.payments.append(Payment(bill, self.now + takes, succeeds))
        if not takes:
            self.answer()

    def is_under_way(self, bill: Bill) -> bool:
        return any(payment.bill is bill for payment in self.payments)

    def answer(self) -> None:
        payment = min(self.payments, key=lambda payment: payment.ends_at)
        self.payments.remove(payment)
        if payment.succeeds:
            self.receive(payment.bill, by_card=payment.by_buyer)
            return
        self.send("payment_intent.failed", of_subscription=False)
        if not payment.by_buyer:
            self.fail(payment.bill)
        elif (
            self.owed is payment.bill
            and self.retry_at is None
            and self.status in ("active", "past_due")
        ):
            self.retry_at = self.now  # B-62: the retry that waited for it

    def fail(self, bill: Bill) -> None:
        """Record an event per failed attempt with its effect; only live ones are retried (B-45)."""
        if bill.status != "open":
            return
        if self.owed is None and self.status in ("paused", "canceled"):
            self.owed = bill
        elif self.status in ("active", "past_due"):
            self.status = "past_due"
            if self.owed in (None, bill):
                self.owed = bill
                self.plan_retry()
                if self.retry_at is None:
                    self.status, bill.status, self.behind = "unpaid", "uncollectible", True
        self.send("subscription.payment_failed")

    def receive(self, bill: Bill, *, by_card: bool) -> None:
        bill.status, bill.by_payment = "paid", True
        self.money.deposits.append(Deposit(bill.total, by_card))
        for type in PAID:
            self.send(type, of_subscription=False)
        self.settle(bill)

    def settle(self, bill: Bill) -> None:
        """Nothing is owed for it any more (B-45); of those sent none may be overdue (B-96).

        That holds too for one that fell behind before it was charged automatically.

        B-45, ``past_due_periods: charged``: an unpaid one recovers by the payment of any period,
        and what was charged meanwhile is tried again, the oldest first, so that no period is given
        away.
        """
        settled = self.owed is bill or (self.every_period and self.status == "unpaid")
        fell_behind = self.behind and self.status == "past_due"
        behind = (self.sends or fell_behind) and any(
            bill.status == "open" and bill.overdue for bill in self.bills
        )
        recovers = (
            self.status in ("past_due", "unpaid") and (settled or self.owed is None) and not behind
        )
        if recovers:
            self.status, self.behind = "active", False
        if recovers or self.owed is bill:
            self.owed = self.failed_at = self.retry_at = None
            if self.every_period and self.status == "active" and not self.sends:
                self.owed = next((bill for bill in self.bills if bill.status == "open"), None)
                self.retry_at = self.now if self.owed else None

    def end_it(self) -> None:
        self.status, self.canceled_at = "canceled", self.now
        self.failed_at = self.retry_at = None
        self.behind = False
        self.send("subscription.canceled")

    # -- what the merchant does

    def act(self, action: str) -> None:
        """Act, or raise :class:`NotAllowed`. Names of phones and statuses are set from now on."""
        if self.status not in ALLOWED.get(action, (self.status,)):
            raise NotAllowed
        if action in ANSWERS:
            self.phone = action
        elif action in SETS:
            setattr(self, *SETS[action])
        elif action in deposits.ACTIONS:
            self.money.act(action, self.now)
        elif action.startswith("put "):
            self.put(action.removeprefix("put "))
        else:
            getattr(self, f"do_{action}")()
        self.run()

    def do_pause(self) -> None:
        self.paused_in, self.status = self.status, "paused"

    def do_resume(self) -> None:
        """B-46."""
        in_trial = (
            self.paused_in == "trialing"
            and self.trial_end is not None
            and self.trial_end > self.now
        )
        self.status = "trialing" if in_trial else "active"
        self.try_again()

    def try_again(self) -> None:
        """What is open is tried again at once; what was given up is not (B-45, B-48)."""
        if self.owed is not None and self.owed.status == "open":
            self.retry_at = self.now
        else:
            self.owed = self.failed_at = None

    def do_cancel(self) -> None:
        self.end_it()

    def do_cancel_later(self) -> None:
        """B-47: past due it is canceled at once."""
        if self.status == "past_due":
            self.end_it()
        self.cancels = self.cancels or self.status != "canceled"

    def do_reactivate(self) -> None:
        """B-48."""
        assert self.canceled_at is not None
        if self.canceled_at + 30 * DAY < self.now or (
            self.ends_at is not None and self.ends_at <= self.now
        ):
            raise NotAllowed
        self.status, self.canceled_at, self.cancels = "active", None, False
        while self.end <= self.now:
            self.next_period()
        self.try_again()

    def last(self, *statuses: str, takes_over: bool = False) -> Bill:
        """Return the last invoice; it cannot be acted on in other states than these.

        B-62: a second payment is rejected; what takes over cancels the one that is under way.
        """
        bill = self.bills[-1] if self.bills else None
        if (
            bill is None
            or bill.status not in statuses
            or (self.is_under_way(bill) and not takes_over)
        ):
            raise NotAllowed
        self.payments = [payment for payment in self.payments if payment.bill is not bill]
        return bill

    def do_pay(self) -> None:
        bill = self.last("open", "uncollectible", takes_over=True)
        bill.status = "paid"
        self.send("invoice.paid", of_subscription=False)
        self.settle(bill)

    def do_void(self) -> None:
        bill = self.last("open", takes_over=True)
        bill.status = "void"
        self.settle(bill)

    def do_pay_on_page(self) -> None:
        self.receive(self.last("open", "uncollectible"), by_card=True)

    def do_abandon(self) -> None:
        """B-54: the buyer leaves the page at the check of the card."""
        bill = self.last("open", "uncollectible")
        self.payments.append(Payment(bill, self.now + CONFIRMATION, succeeds=False, by_buyer=True))

    # -- what a tester sets directly (B-89)

    def put(self, what: str) -> None:
        """Set a status, or ``FIELD DAYS``: the field is that many days and seven hours from now."""
        name, _, days = what.partition(" ")
        at = self.now + timedelta(days=int(days), hours=7) if days else self.now
        if name == "current_period_end" and self.status == "trialing":
            self.trial_end = at
        if name == "current_period_end":
            self.end = self.anchor = at
            self.period = 0
        elif name == "ends_at":
            self.ends_at = at
        elif name != self.status:
            self.put_status(name)

    def put_status(self, status: str) -> None:
        if status != "canceled":
            self.owed = None
        self.failed_at = self.retry_at = None
        self.behind = False
        self.paused_in = self.status if self.status in ("trialing", "active") else "active"
        if status != "expired":
            self.canceled_at = self.now if status == "canceled" else None
        self._status = status

    def view(self) -> dict[str, Any]:
        """What is compared."""
        return {
            "status": self.status,
            "period": (text(self.start), text(self.end)),
            "canceled_at": self.canceled_at and text(self.canceled_at),
            "terms": (self.cancels, self.sends, self.amount),
            "invoices": [
                (bill.status, bill.total, text(bill.at), bill.by_payment) for bill in self.bills
            ],
            "events": [(type, text(at), status) for type, at, status in self.sent],
            "deposits": [
                (deposit.status, deposit.amount, deposit.refunded)
                for deposit in self.money.deposits
            ],
            "refunds": [
                sorted(
                    (refund.status, refund.amount, refund.reason or "")
                    for refund in deposit.refunds
                )
                for deposit in self.money.deposits
            ],
            "of refunds": [(type, text(at)) for type, at in self.money.sent],
            "spent": self.money.spent(),
            "books": (True, -self.money.spent() - self.paid_by_hand()),
        }

    def paid_by_hand(self) -> int:
        return sum(
            bill.total for bill in self.bills if bill.status == "paid" and not bill.by_payment
        )


def overdue_at(bill: Bill) -> datetime:
    """B-65: 00:00 UTC after the due date, which is 30 days after finalization."""
    return bill.at.replace(hour=0, minute=0, second=0, microsecond=0) + 31 * DAY


def text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
