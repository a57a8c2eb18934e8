"""What a person can do with an object on its page: operations of the service, each with what it will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from emulator.core.translatable import N_


class ObjectAction(NamedTuple):
    """One request, offered where ``field`` of the object has one of ``values``, unless the field ``unless`` is true.

    ``consequence`` is shown before it, with ``refrain`` as the way back. ``path`` takes the object's id, as do the
    ``fields`` that are sent; with ``asks_amount`` the form asks for an amount, in minor units.
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
    refrain: str = N_("Cancel")

    def fits(self, object: Mapping[str, Any]) -> bool:
        """Whether the state of an object allows it."""
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
            "POST", "/v1/subscriptions/{id}/resume/", N_("Resume"), N_("Charging goes on."), ("paused",)
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
        ),
    },
    "invoice": {
        "finalize": ObjectAction(
            "POST",
            "/v1/invoices/{id}/finalize/",
            N_("Finalize"),
            N_("The invoice can be paid and no longer changed. It is not sent yet."),
            ("draft",),
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
            "POST", "/v1/webhooks/{id}/disable/", N_("Disable"), N_("No event is sent to it."), (True,), "enabled"
        ),
        "enable": ObjectAction(
            "POST", "/v1/webhooks/{id}/enable/", N_("Enable"), N_("Events are sent to it again."), (False,), "enabled"
        ),
    },
}
"""By kind and name."""


def offered(object: Mapping[str, Any]) -> dict[str, ObjectAction]:
    """What can be done with an object in its present state, by name."""
    actions = OBJECT_ACTIONS.get(object["object"], {})
    return {name: action for name, action in actions.items() if action.fits(object)}
