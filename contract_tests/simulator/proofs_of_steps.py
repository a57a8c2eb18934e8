"""The proof of each row of ``fixtures/next-steps.yaml``: what is so once the step was taken.

Before, it is not so: a step that would change nothing is not offered. A step is taken in a world
that is restored afterwards. A payment that the step begins has its answer first, however slow the
operator is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import yaml

from contract_tests.simulator.proofs import FIXTURES, Object, View

Step = Mapping[str, Any]


class Taken(NamedTuple):
    """A step that was taken: the world before and after, and what is counted beside objects."""

    before: View
    after: View
    one: Object
    step: Step
    counts: Mapping[str, tuple[Any, Any]]

    @property
    def untaken(self) -> Taken:
        """The world before, as if the step had left it so."""
        counts = {name: (before, before) for name, (before, _) in self.counts.items()}
        return self._replace(after=self.before, counts=counts)

    @property
    def now(self) -> Object:
        """The object after the step; empty where it is gone."""
        return self.after.objects.get(self.one["id"], {})

    @property
    def target(self) -> Object:
        """The object that the path of the request names, after the step."""
        return self.after.objects.get(self.step["path"].strip("/").split("/")[2], {})

    def grew(self, kind: str, **fields: Any) -> bool:
        return len(self.after.of(kind, **fields)) > len(self.before.of(kind, **fields))


Proof = Callable[[Taken], bool]


def becomes(*statuses: str) -> Proof:
    return lambda taken: taken.now.get("status") in statuses


def target(*statuses: str) -> Proof:
    return lambda taken: taken.target.get("status") in statuses


def is_at(taken: Taken) -> bool:
    return bool(taken.after.now == taken.step["body"]["to"])


def at(proof: Proof) -> Proof:
    """The clock is at the instant that the step names, and more is so."""
    return lambda taken: is_at(taken) and proof(taken)


def counted(name: str) -> Proof:
    return lambda taken: taken.counts[name][1] > taken.counts[name][0]


def is_now(name: str, value: Any) -> Proof:
    return lambda taken: bool(taken.counts[name][1] == value)


def has_card(taken: Taken) -> bool:
    own = taken.after.of("payment_method", customer=taken.one["id"], status="active")
    return "4242" in [method["details"].get("last4") for method in own]


def same(field: str, value: Any) -> Proof:
    return lambda taken: bool(taken.now[field] == value)


def changed(field: str) -> Proof:
    return lambda taken: bool(taken.now[field] != taken.one[field])


def gone(taken: Taken) -> bool:
    return not taken.now


def active_again(taken: Taken) -> bool:
    return taken.target["status"] == "paid" and taken.now["status"] == "active"


def tried(taken: Taken) -> bool:
    """The invoice was charged again, or there was no method to charge."""
    failed = taken.after.of("event", type="subscription.payment_failed")
    is_known = len(failed) > len(taken.before.of("event", type="subscription.payment_failed"))
    return is_known or taken.grew("payment_intent")


def runs_again(taken: Taken) -> bool:
    """It is active, and the step said so if a payment under way can charge it still."""
    is_said = "may still be charged" in taken.step["consequence"]
    return taken.now["status"] == "active" and is_said == bool(taken.before.payments(taken.one))


def charged_again(taken: Taken) -> bool:
    return taken.grew("payment_intent")


def failed_again(taken: Taken) -> bool:
    return tried(taken) and not charged_again(taken)


def succeeds_next(taken: Taken) -> bool:
    """The outcome is arranged, and the subscription has a method whose charge it decides."""
    methods = taken.after.of("payment_method", customer=taken.one["customer"])
    charged = [
        method
        for method in methods
        if (method["id"] == taken.one["payment_method"])
        or (taken.one["payment_method"] is None and method["is_default"])
    ]
    return is_now("outcome", "succeeded")(taken) and charged[0]["status"] == "active"


def renewed(taken: Taken) -> bool:
    return bool(taken.now["current_period_start"] == taken.after.now)


def overdue(taken: Taken) -> bool:
    return taken.grew("event", type="invoice.payment_overdue")


def ends(taken: Taken) -> bool:
    return taken.now["status"] in ("canceled", "expired")


def ends_with_period(taken: Taken) -> bool:
    return taken.after.end(taken.now) == taken.now["current_period_end"]


def goes_on(taken: Taken) -> bool:
    return (taken.after.end(taken.now) or "9999") > taken.now["current_period_end"]


def refunded(taken: Taken) -> bool:
    before = {refund["id"] for refund in taken.before.of("refund")}
    made = [refund for refund in taken.after.of("refund") if refund["id"] not in before]
    return [refund["amount"] for refund in made] == [taken.step["amount"]["most"]]


def dunning_is_over(taken: Taken) -> bool:
    """None of the retries is left: it recovered, or it is unpaid."""
    is_left = taken.after.due(taken.one["id"], "subscription.retry")
    return not is_left and taken.now["status"] in ("active", "unpaid")


def closed_page(taken: Taken) -> bool:
    return taken.now["status"] == "complete"


SUCCEEDS = target("succeeded", "requires_capture")
FAILS = target("canceled")
LET = {"answer_succeeded": SUCCEEDS, "answer_failed": FAILS}
PHONE = {"open_phone": counted("prompts")}

BY_KIND: Mapping[str, Mapping[str, Proof]] = {
    "customer": {
        "outcome_failed": is_now("outcome", "failed"),
        "undo_outcome": is_now("outcome", None),
        "add_card": has_card,
        "delete": gone,
    },
    "subscription": {
        **LET,
        **PHONE,
        "pay_owed": active_again,
        "pay_overdue": target("paid"),
        "advance_retry": at(tried),
        "advance_retries": dunning_is_over,
        "resume": becomes("active", "trialing", "past_due", "unpaid"),
        "reactivate": runs_again,
        "reactivate_charged": charged_again,
        "reactivate_failing": failed_again,
        "advance_trial": at(becomes("active", "past_due", "unpaid")),
        "advance_renewal": at(renewed),
        "advance_end": at(ends),
        "advance_overdue": at(overdue),
        "outcome_succeeded": succeeds_next,
        "outcome_failed": is_now("outcome", "failed"),
        "undo_outcome": is_now("outcome", None),
        "pay_failed": active_again,
        "pause": becomes("paused"),
        "keep": goes_on,
        "cancel_later": ends_with_period,
        "cancel": becomes("canceled"),
    },
    "invoice": {
        **LET,
        **PHONE,
        "finalize": becomes("open", "paid"),
        "pay": becomes("paid"),
        "undo_outcome": is_now("outcome", None),
        "advance_overdue": at(overdue),
        "send": counted("emails"),
        "mark_paid": becomes("paid"),
        "void": becomes("void"),
    },
    "payment_intent": {
        **LET,
        **PHONE,
        "confirm": becomes(
            "requires_action", "processing", "requires_capture", "succeeded", "canceled"
        ),
        "capture": becomes("succeeded"),
        "cancel": becomes("canceled"),
    },
    "transaction": {
        "answer_succeeded": SUCCEEDS,
        "answer_failed": FAILS,
        "advance_settle": at(becomes("completed")),
        "advance_dispute": at(becomes("disputed")),
        "refund": refunded,
    },
    "refund": {
        "advance_send": at(becomes("processing", "succeeded", "failed")),
        "answer_succeeded": becomes("succeeded"),
        "answer_failed": becomes("failed"),
        "cancel": becomes("cancelled"),
    },
    "checkout_session": {
        **LET,
        **PHONE,
        "pay": closed_page,
        "undo_outcome": is_now("outcome", None),
        "expire": becomes("expired"),
    },
    "payment_link": {"restore": becomes("active"), "archive": becomes("archived")},
    "product": {"archive": same("active", False), "restore": same("active", True)},
    "payment_method": {"default": same("is_default", True), "remove": gone},
    "webhook_delivery": {
        # One that a fault holds back waits.
        "retry": lambda taken: (
            taken.now["attempt_count"] > taken.one["attempt_count"]
            or taken.now["status"] == "pending"
        ),
        # One that a fault holds back has no attempt planned any more.
        "advance_attempt": lambda taken: (
            taken.now["attempt_count"] > taken.one["attempt_count"]
            or not taken.after.due(taken.one["id"], "webhook.attempt")
        ),
        "clear_response": is_now("inbox", (200, 0)),
    },
    "webhook_endpoint": {
        "enable": same("enabled", True),
        "clear_response": is_now("inbox", (200, 0)),
        "refuse_response": is_now("inbox", (500, 0)),
        "disable": same("enabled", False),
    },
}

PROOFS: Mapping[str, Proof] = {
    f"{kind}: {name}": proof for kind, proofs in BY_KIND.items() for name, proof in proofs.items()
}
"""By kind and name of the step."""

BEGIN_PAYMENTS = ("pay_owed", "pay_overdue", "pay_failed", "pay", "advance_retries")
"""Steps whose promise is about the outcome of a payment that they begin."""


def rows() -> set[str]:
    steps = yaml.safe_load((FIXTURES / "next-steps.yaml").read_text("utf-8"))
    return {f"{kind}: {name}" for kind, own in steps.items() for name in own}
