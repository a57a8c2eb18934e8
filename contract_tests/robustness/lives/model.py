"""A model of one subscription that is charged automatically, from the specification and the assumptions alone.

It imports nothing of the emulator. The operator answers at once: a charge succeeds or fails with ``phone_works``.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from contract_tests.support.settings import DEFAULTS

DAY = timedelta(days=1)
RETRY_DAYS = DEFAULTS["renewal_retry_days"]
PAID = ("payment_intent.succeeded", "transaction.succeeded", "invoice.paid")
LIVE = ("trialing", "active", "past_due", "unpaid", "paused")


class NotAllowed(Exception):
    """The action is none of the table: 422."""


@dataclass
class Bill:
    """One invoice of the subscription."""

    at: datetime
    total: int
    status: str = "open"
    overdue: bool = False


@dataclass
class Life:
    """The subscription as it stands at ``now``, with all that was sent so far: type of event, instant, status shown."""

    now: datetime
    amount: int
    interval: str
    tax_rate: int
    trial_days: int
    ends_at: datetime | None
    phone_works: bool
    cancels: bool = False
    status: str = ""
    period: int = 1
    trial_end: datetime | None = None
    canceled_at: datetime | None = None
    bills: list[Bill] = field(default_factory=list)
    sent: list[tuple[str, datetime, str | None]] = field(default_factory=list)
    owed: Bill | None = None
    failed_at: datetime | None = None
    retry_at: datetime | None = None
    paused_in: str = ""
    noticed: bool = False

    def __post_init__(self) -> None:
        self.anchor = self.now
        self.status = "active"
        if self.trial_days:
            self.status, self.period = "trialing", 0
            self.trial_end = self.anchor = self.now + self.trial_days * DAY
        self.start, self.end = self.now, self.trial_end or self.boundary(1)
        self.send("subscription.created")
        if self.status == "active":
            self.charge()
        self.run()

    def send(self, type: str, *, of_subscription: bool = True) -> None:
        self.sent.append((type, self.now, self.status if of_subscription else None))

    def boundary(self, number: int) -> datetime:
        """B-42: anchor + n × interval, with the day clamped to the month's end."""
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

    def run(self) -> None:
        self.advance(self.now)

    def due(self) -> list[tuple[datetime, int, str]]:
        """What is to happen next; at one instant in this order (B-40, B-45, B-96)."""
        found: list[tuple[datetime, int, str]] = []
        if self.ends_at is not None and self.status in LIVE:
            found.append((max(self.ends_at, self.now), 0, "expire"))
        if self.is_to_be_noticed():
            assert self.trial_end is not None
            found.append((max(self.trial_end - 3 * DAY, self.now), 1, "notice"))
        if self.retry_at is not None and self.status in ("active", "past_due"):
            found.append((max(self.retry_at, self.now), 2, "retry"))
        if any(bill.status == "open" and not bill.overdue for bill in self.bills):
            found.append((max(min(map(overdue_at, self.unsettled())), self.now), 3, "fall_overdue"))
        if self.status in LIVE:
            found.append((max(self.end, self.now), 4, "renew"))
        return found

    def unsettled(self) -> list[Bill]:
        return [bill for bill in self.bills if bill.status == "open" and not bill.overdue]

    def is_to_be_noticed(self) -> bool:
        """B-43: once for each trial that is going to end in a charge."""
        if self.noticed or self.trial_end is None or self.trial_end <= self.now or self.cancels:
            return False
        return self.status in ("trialing", "active") and (self.ends_at is None or self.ends_at > self.trial_end)

    def expire(self) -> None:
        self.status, self.retry_at = "expired", None

    def notice(self) -> None:
        self.noticed = True
        self.send("subscription.trial_will_end")

    def fall_overdue(self) -> None:
        bill = min(self.unsettled(), key=overdue_at)
        bill.overdue = True
        self.send("invoice.payment_overdue", of_subscription=False)

    def renew(self) -> None:
        """B-43 to B-47."""
        if self.cancels:
            self.end_it()
            return
        self.next_period()
        if self.status == "trialing":
            self.status = "active"
        if self.status == "active":
            self.charge()

    def next_period(self) -> None:
        self.period += 1
        self.start, self.end = self.end, self.boundary(self.period)

    # -- money

    def charge(self) -> None:
        tax = (self.amount * self.tax_rate * 2 + 100) // 200
        self.bills.append(Bill(self.now, self.amount + tax))
        self.collect(self.bills[-1])

    def retry(self) -> None:
        self.retry_at = None
        if self.owed is not None and self.owed.status == "open":
            self.collect(self.owed)

    def collect(self, bill: Bill) -> None:
        if self.phone_works:
            bill.status = "paid"
            for type in PAID:
                self.send(type, of_subscription=False)
            self.settle(bill)
            return
        self.send("payment_intent.failed", of_subscription=False)
        self.owed, self.failed_at = bill, self.failed_at or self.now
        days = [self.failed_at + day * DAY for day in RETRY_DAYS]
        self.retry_at = next((day for day in days if day > self.now), None)
        self.status = "past_due"
        if self.retry_at is None:
            self.status, bill.status = "unpaid", "uncollectible"
        self.send("subscription.payment_failed")

    def settle(self, bill: Bill) -> None:
        """Nothing is owed for it any more (B-45)."""
        if self.owed is bill:
            self.owed = self.failed_at = self.retry_at = None
            if self.status in ("past_due", "unpaid"):
                self.status = "active"

    def end_it(self) -> None:
        self.status, self.canceled_at = "canceled", self.now
        self.failed_at = self.retry_at = None
        self.send("subscription.canceled")

    # -- what the merchant does

    def act(self, action: str) -> None:
        """Do it, or raise :class:`NotAllowed`."""
        getattr(self, f"do_{action}")()
        self.run()

    def require(self, *statuses: str) -> None:
        if self.status not in statuses:
            raise NotAllowed

    def do_pause(self) -> None:
        self.require("trialing", "active")
        self.paused_in, self.status = self.status, "paused"

    def do_resume(self) -> None:
        """B-46."""
        self.require("paused")
        in_trial = self.paused_in == "trialing" and self.trial_end is not None and self.trial_end > self.now
        self.status = "trialing" if in_trial else "active"

    def do_cancel(self) -> None:
        self.require("trialing", "active", "past_due", "unpaid")
        self.end_it()

    def do_cancel_later(self) -> None:
        """B-47: past due it is canceled at once."""
        self.require("trialing", "active", "past_due")
        if self.status == "past_due":
            self.end_it()
        self.cancels = self.cancels or self.status != "canceled"

    def do_take_back(self) -> None:
        self.require(*LIVE)
        self.cancels = False

    def do_reactivate(self) -> None:
        """B-48."""
        self.require("canceled")
        assert self.canceled_at is not None
        if self.canceled_at + 30 * DAY < self.now or (self.ends_at is not None and self.ends_at <= self.now):
            raise NotAllowed
        self.status, self.canceled_at, self.cancels = "active", None, False
        while self.end <= self.now:
            self.next_period()
        if self.owed is not None and self.owed.status == "open":
            self.retry_at = self.now

    def do_pay(self) -> None:
        """The last invoice is marked as paid."""
        if not self.bills or self.bills[-1].status not in ("open", "uncollectible"):
            raise NotAllowed
        self.bills[-1].status = "paid"
        self.send("invoice.paid", of_subscription=False)
        self.settle(self.bills[-1])

    def do_void(self) -> None:
        if not self.bills or self.bills[-1].status != "open":
            raise NotAllowed
        self.bills[-1].status = "void"
        self.settle(self.bills[-1])

    def do_break_phone(self) -> None:
        self.phone_works = False

    def do_mend_phone(self) -> None:
        self.phone_works = True

    def view(self) -> dict[str, Any]:
        """What is compared."""
        return {
            "status": self.status,
            "period": (text(self.start), text(self.end)),
            "canceled_at": self.canceled_at and text(self.canceled_at),
            "cancels": self.cancels,
            "invoices": [(bill.status, bill.total, text(bill.at)) for bill in self.bills],
            "events": [(type, text(at), status) for type, at, status in self.sent],
        }


def overdue_at(bill: Bill) -> datetime:
    """B-65: 00:00 UTC after the due date, which is 30 days after finalization."""
    return bill.at.replace(hour=0, minute=0, second=0, microsecond=0) + 31 * DAY


def text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
