"""A model of the money of one buyer: what was paid, what is refunded, and the disputes won and lost
(B-56, B-57).

It imports nothing of the emulator. Amounts are minor units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

DAY = timedelta(days=1)
PART = 300
"""The amount of a refund in part."""

WITH = ("", ", part refunded", ", refund under way")
"""How much of a deposit went back, or is about to."""

DISPUTES = {
    *((f"completed{went}", f"disputed{went}") for went in WITH),
    *((f"disputed{went}", end) for went in WITH for end in ("won", "lost")),
    ("lost", "won"),
    ("lost", "disputed"),
    ("completed", "refunded"),
    ("disputed", "refunded"),
    ("refund under way", "succeeded"),
    ("refund under way", "failed, as the dispute was lost"),
}
"""What becomes of deposits and their refunds, which walks have to reach."""

ACTIONS = ("refund_part", "refund_rest", "dispute", "win", "lose")


class NotAllowed(Exception):
    """The action is none that is allowed now: 400, 404, 409 or 422."""


@dataclass(eq=False)
class Refund:
    amount: int
    ends_at: datetime
    status: str = "processing"
    reason: str | None = None


@dataclass(eq=False)
class Deposit:
    """One payment whose money arrived.

    By card its refunds take three business days, else one day (B-57).
    """

    amount: int
    by_card: bool
    status: str = "completed"
    refunds: list[Refund] = field(default_factory=list)

    @property
    def refunded(self) -> int:
        return sum(refund.amount for refund in self.refunds if refund.status == "succeeded")

    @property
    def rest(self) -> int:
        return self.amount - sum(
            refund.amount for refund in self.refunds if refund.status != "failed"
        )

    def name(self) -> str:
        """Return the name of its state in ``DISPUTES``."""
        if self.status == "failed":
            return "lost"
        if any(refund.status == "processing" for refund in self.refunds):
            return f"{self.status}, refund under way"
        return f"{self.status}, part refunded" if 0 < self.refunded < self.amount else self.status


@dataclass
class Money:
    """The deposits of one buyer, what was sent of their refunds, and what was reached of
    ``DISPUTES``.
    """

    deposits: list[Deposit] = field(default_factory=list)
    sent: list[tuple[str, datetime]] = field(default_factory=list)
    walked: set[tuple[str, str]] = field(default_factory=set)

    def under_way(self) -> Iterator[tuple[Deposit, Refund]]:
        for deposit in self.deposits:
            for refund in deposit.refunds:
                if refund.status == "processing":
                    yield deposit, refund

    def advance(self, now: datetime) -> None:
        """Have due refunds arrive; the last part makes a deposit refunded, a disputed one too."""
        due = [(deposit, refund) for deposit, refund in self.under_way() if refund.ends_at <= now]
        for deposit, refund in sorted(due, key=lambda pair: pair[1].ends_at):
            refund.status = "succeeded"
            self.sent.append(("refund.succeeded", refund.ends_at))
            self.walked.add(("refund under way", "succeeded"))
            if deposit.refunded == deposit.amount:
                self.walked.add((deposit.status, "refunded"))
                deposit.status = "refunded"

    def act(self, action: str, now: datetime) -> None:
        """Do it to the last deposit, or raise :class:`NotAllowed`."""
        if not self.deposits:
            raise NotAllowed
        deposit = self.deposits[-1]
        if action.startswith("refund"):
            self._refund(deposit, PART if action == "refund_part" else deposit.rest, now)
        elif action == "dispute":
            self._set(deposit, "disputed", ("completed", "failed"), "disputed")
        elif action == "win":
            self._set(deposit, "completed", ("disputed", "failed"), "won")
        else:
            self._set(deposit, "failed", ("disputed",), "lost")
            self._lose(deposit, now)

    def _refund(self, deposit: Deposit, amount: int, now: datetime) -> None:
        if deposit.status != "completed" or not 0 < amount <= deposit.rest:
            raise NotAllowed
        ends_at = business_days(now, 3) if deposit.by_card else now + DAY
        deposit.refunds.append(Refund(amount, ends_at))

    def _set(self, deposit: Deposit, status: str, sources: tuple[str, ...], name: str) -> None:
        """Set a status directly (B-89); one that it has already changes nothing."""
        if deposit.status == status:
            return
        if deposit.status not in sources:
            raise NotAllowed
        before = deposit.name()
        deposit.status = status
        self.walked.add(
            (before, deposit.name() if status == "disputed" and before != "lost" else name)
        )

    def _lose(self, deposit: Deposit, now: datetime) -> None:
        """B-56: a refund that is under way fails, since the buyer has all of the money back."""
        for refund in deposit.refunds:
            if refund.status == "processing":
                refund.status, refund.reason = "failed", "dispute_lost"
                self.sent.append(("refund.failed", now))
                self.walked.add(("refund under way", "failed, as the dispute was lost"))

    def spent(self) -> int:
        """B-30, B-56: what arrived and did not go back, by refunds or a lost dispute."""
        return sum(
            deposit.amount - deposit.refunded
            for deposit in self.deposits
            if deposit.status != "failed"
        )


def business_days(at: datetime, number: int) -> datetime:
    """B-57: Monday to Friday, same time of day; from a weekend they count from Monday 00:00."""
    if at.weekday() >= 5:
        at = at.replace(hour=0, minute=0, second=0, microsecond=0) + (7 - at.weekday()) * DAY
    for _ in range(number):
        at += DAY * (3 if at.weekday() == 4 else 1)
    return at
