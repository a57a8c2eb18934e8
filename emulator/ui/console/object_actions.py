"""What a person can do with an object on its page: operations of the service, each with what it will do.

Next steps are the two or three things that one would do now with an object, in its present state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from emulator.core.records import N_

# -- operations


class ObjectAction(NamedTuple):
    """One request, offered where ``field`` of the object has one of ``values``, unless the field ``unless`` is true.

    ``consequence`` is shown before it, with ``refrain`` as the way back. ``path`` takes the object's id, as do the
    ``fields`` that are sent; with ``asks_amount`` the form asks for an amount, in minor units. What ``is_next`` is what
    one does next with an object in this state.
    """

    method: str
    path: str
    label: str
    consequence: str
    values: tuple[Any, ...]
    field: str = "status"
    fields: Mapping[str, str] = {}
    unless: str = ""
    asks_amount: bool = False
    danger: bool = False
    is_next: bool = False
    refrain: str = N_("Cancel")

    def fits(self, object: Mapping[str, Any]) -> bool:
        """Return whether the state of an object allows it."""
        return object.get(self.field) in self.values and not object.get(self.unless)


ALIVE = ("trialing", "active", "past_due", "unpaid")

OBJECT_ACTIONS: Mapping[str, Mapping[str, ObjectAction]] = {
    "customer": {
        "delete": ObjectAction(
            "DELETE",
            "/v1/customers/{id}/",
            N_("Delete"),
            N_("The customer is deleted, and their subscriptions end. The service sends customer.deleted."),
            ("customer",),
            "object",
            danger=True,
        ),
    },
    "subscription": {
        "pause": ObjectAction(
            "POST",
            "/v1/subscriptions/{id}/pause/",
            N_("Pause"),
            N_("Nothing is charged until the subscription is resumed."),
            ("active",),
        ),
        "resume": ObjectAction(
            "POST", "/v1/subscriptions/{id}/resume/", N_("Resume"), N_("Charging goes on."), ("paused",), is_next=True
        ),
        "cancel_later": ObjectAction(
            "POST",
            "/v1/subscriptions/{id}/cancel/",
            N_("Cancel at the period’s end"),
            N_("The subscription runs to the end of its period, then ends. Nothing more is charged."),
            ("trialing", "active"),
            fields={"cancel_at_period_end:flag": "true"},
            unless="cancel_at_period_end",
            refrain=N_("Keep subscription"),
        ),
        "cancel": ObjectAction(
            "POST",
            "/v1/subscriptions/{id}/cancel/",
            N_("Cancel subscription"),
            N_("The subscription ends at once. Nothing is refunded, and nothing more is charged."),
            (*ALIVE, "paused"),
            danger=True,
            refrain=N_("Keep subscription"),
        ),
        "reactivate": ObjectAction(
            "POST",
            "/v1/subscriptions/{id}/reactivate/",
            N_("Reactivate"),
            N_("The subscription runs again. Nothing is charged before its next period."),
            ("canceled",),
            is_next=True,
        ),
    },
    "invoice": {
        "finalize": ObjectAction(
            "POST",
            "/v1/invoices/{id}/finalize/",
            N_("Finalize"),
            N_("The invoice can be paid and no longer changed. It is not sent yet."),
            ("draft",),
            is_next=True,
        ),
        "send": ObjectAction(
            "POST", "/v1/invoices/{id}/send/", N_("Send"), N_("The customer is sent the invoice by email."), ("open",)
        ),
        "pay": ObjectAction(
            "POST",
            "/_emulator/invoices/{id}/pay",
            N_("Pay as the buyer"),
            N_("The buyer pays on the invoice’s page, with a payment method that works."),
            ("open",),
            is_next=True,
        ),
        "paid": ObjectAction(
            "POST",
            "/v1/invoices/{id}/pay/",
            N_("Mark as paid"),
            N_("The invoice counts as paid outside the service. No money moves."),
            ("open",),
        ),
        "void": ObjectAction(
            "POST",
            "/v1/invoices/{id}/void/",
            N_("Void"),
            N_("The invoice can never be paid again."),
            ("open",),
            danger=True,
        ),
    },
    "payment_intent": {
        "capture": ObjectAction(
            "POST",
            "/v1/payment-intents/{id}/capture/",
            N_("Capture"),
            N_("The amount that is held is received."),
            ("requires_capture",),
            is_next=True,
        ),
        "cancel": ObjectAction(
            "POST",
            "/v1/payment-intents/{id}/cancel/",
            N_("Cancel payment"),
            N_("The payment is given up. Nothing is charged."),
            ("requires_payment_method", "requires_confirmation", "requires_action", "requires_capture"),
            danger=True,
            refrain=N_("Keep payment"),
        ),
    },
    "transaction": {
        "refund": ObjectAction(
            "POST",
            "/v1/refunds/",
            N_("Refund"),
            N_("The amount goes back to the buyer; leave it empty to refund all that is left."),
            ("completed",),
            fields={"transaction": "{id}"},
            asks_amount=True,
            danger=True,
        ),
    },
    "refund": {
        "cancel": ObjectAction(
            "POST",
            "/v1/refunds/{id}/cancel/",
            N_("Cancel refund"),
            N_("The refund is not sent, and the money stays with the merchant."),
            ("pending",),
            danger=True,
            refrain=N_("Keep refund"),
        ),
    },
    "checkout_session": {
        "pay": ObjectAction(
            "POST",
            "/_emulator/checkout-sessions/{id}/pay",
            N_("Pay as the buyer"),
            N_("The buyer completes the checkout with a payment method that works."),
            ("open", "payment_failed"),
            is_next=True,
        ),
        "expire": ObjectAction(
            "POST",
            "/v1/checkout-sessions/{id}/expire/",
            N_("Expire now"),
            N_("The buyer can no longer pay on its page."),
            ("open",),
            danger=True,
        ),
    },
    "payment_link": {
        "archive": ObjectAction(
            "POST",
            "/v1/payment-links/{id}/archive/",
            N_("Archive"),
            N_("The link accepts no payments until it is restored."),
            ("active",),
            danger=True,
        ),
        "restore": ObjectAction(
            "POST",
            "/v1/payment-links/{id}/restore/",
            N_("Restore"),
            N_("The link accepts payments again."),
            ("archived",),
        ),
    },
    "product": {
        "archive": ObjectAction(
            "PATCH",
            "/v1/products/{id}/",
            N_("Archive"),
            N_("The product is no longer for sale. Subscriptions to it go on."),
            (True,),
            "active",
            fields={"active:flag": "false"},
        ),
        "restore": ObjectAction(
            "PATCH",
            "/v1/products/{id}/",
            N_("Restore"),
            N_("The product is for sale again."),
            (False,),
            "active",
            fields={"active:flag": "true"},
        ),
    },
    "payment_method": {
        "default": ObjectAction(
            "POST",
            "/v1/payment-methods/{id}/set-default/",
            N_("Make it the default"),
            N_("Renewals without a payment method of their own charge this one."),
            (False,),
            "is_default",
        ),
        "remove": ObjectAction(
            "DELETE",
            "/v1/payment-methods/{id}/",
            N_("Remove"),
            N_("It is not charged any more."),
            ("payment_method",),
            "object",
            danger=True,
        ),
    },
    "webhook_endpoint": {
        "disable": ObjectAction(
            "POST",
            "/v1/webhooks/{id}/disable/",
            N_("Disable"),
            N_("No event is sent to it."),
            (True,),
            "enabled",
            danger=True,
        ),
        "enable": ObjectAction(
            "POST", "/v1/webhooks/{id}/enable/", N_("Enable"), N_("Events are sent to it again."), (False,), "enabled"
        ),
    },
}
"""By kind and name."""


# -- next steps


INBOX = "/_emulator/inbox/"

LET_SUCCEED = N_("Make the next payment succeed")
LET_FAIL = N_("Make the next payment fail")
ADD_CARD = N_("Add a card that works")

CARD = {
    "type": "bank_card",
    "number": "4242424242424242",
    "exp_month:number": "12",
    "exp_year:number": "2040",
    "cvc": "123",
}
"""A card that works (B-54)."""


class NextStep(NamedTuple):
    """One form: ``action`` is one of the console's actions, ``consequence`` says what it will do."""

    action: str
    label: str
    consequence: str
    fields: Mapping[str, str]


def next_steps(object: Mapping[str, Any], url: str = "") -> list[NextStep]:
    """Return the actions to offer for an object; ``url`` is that of the endpoint of a delivery."""
    kind = object["object"]
    if kind == "webhook_delivery":
        return [*_delivery(object, url)]
    customer = object["id"] if kind == "customer" else object.get("customer")
    if not customer or kind not in ("customer", "subscription", "invoice", "payment_intent", "checkout_session"):
        return []
    steps = [*_failing(object, customer)] if _is_failing(object) else [*_going(object, customer)]
    return steps[:3]


class Button(NamedTuple):
    """A step, or an offer with its name; the first button of an object is its primary one, unless it is dangerous."""

    step: NextStep | None
    name: str
    offer: ObjectAction | None
    primary: bool = False


def buttons(object: Mapping[str, Any], url: str = "") -> list[Button]:
    """Return the buttons of an object in its present state: the next step, others, operations, dangerous ones last."""
    actions = OBJECT_ACTIONS.get(object["object"], {})
    offers = [Button(None, name, action) for name, action in actions.items() if action.fits(object)]
    offers.sort(key=lambda each: each.offer is not None and (each.offer.danger, not each.offer.is_next))
    steps = [Button(step, step.action, None) for step in next_steps(object, url)]
    upcoming = sum(each.offer is not None and each.offer.is_next for each in offers)
    found = [*offers[:upcoming], *steps, *offers[upcoming:]]
    if found and not (found[0].offer and found[0].offer.danger):
        found[0] = found[0]._replace(primary=True)
    return found


def _is_failing(object: Mapping[str, Any]) -> bool:
    return object.get("status") in ("past_due", "unpaid", "payment_failed") or bool(object.get("last_error"))


def _failing(object: Mapping[str, Any], customer: str) -> Iterator[NextStep]:
    if object.get("status") != "unpaid":
        yield _outcome(customer, LET_SUCCEED, "succeeded")
    yield _card(customer)


def _going(object: Mapping[str, Any], customer: str) -> Iterator[NextStep]:
    if object.get("status") in ("active", "trialing") and (end := object.get("current_period_end")):
        label = N_("Advance to the trial’s end") if object["status"] == "trialing" else N_("Advance to the renewal")
        yield NextStep("advance", label, N_("The clock moves to the end of the period."), {"to": end})
    if object["object"] in ("customer", "subscription") or object.get("status") in ("open", "draft"):
        yield _outcome(customer, LET_FAIL, "failed")
    if object["object"] == "customer":
        yield _card(customer)


def _outcome(customer: str, label: str, result: str) -> NextStep:
    consequence = {
        "succeeded": N_("The next payment of this customer succeeds, whatever it is made with."),
        "failed": N_("The next payment of this customer fails, whatever it is made with."),
    }[result]
    fields = {"operation": "payment", "result": result, "times:number": "1", "match.customer": customer}
    return NextStep("outcome", label, consequence, fields)


def _card(customer: str) -> NextStep:
    consequence = N_("The customer gets a card, …4242. Subscriptions charge it once it is the default.")
    return NextStep("add_card", ADD_CARD, consequence, {**CARD, "customer": customer})


def _delivery(object: Mapping[str, Any], url: str) -> Iterator[NextStep]:
    path = urlsplit(url).path
    if object["status"] == "failed":
        consequence = N_("A failed delivery is attempted once more, now.")
        yield NextStep("retry", N_("Replay"), consequence, {"_id": object["id"], "_of": object["webhook"]})
    elif at := object.get("next_attempt_at"):
        yield NextStep(
            "advance", N_("Advance to the next attempt"), N_("The clock moves to the next attempt."), {"to": at}
        )
    if object["status"] != "succeeded" and path.startswith(INBOX):
        consequence = N_("The inbox behind this endpoint accepts what is sent to it.")
        yield NextStep("clear_response", N_("Let the inbox answer 200"), consequence, {"_id": path.removeprefix(INBOX)})
