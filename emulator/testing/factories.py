"""Objects with defaults that work, so that a test names only the fields that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from emulator.client.api import Api
from emulator.testing.world_parts import Events, identity

if TYPE_CHECKING:
    from emulator.testing import objects


REFERENCES = ("customer", "plan", "product", "payment_method")
"""The fields that hold the id of another object."""

WORK = {"description": "Work", "quantity": 2, "unit_amount": 1500}
"""The line item of an invoice or a session."""


class Factories:
    """Fields that are given replace the defaults; an object may be given in place of its id."""

    api: Api
    events: Events

    def customer(self, /, **fields: Unpack[objects.CustomerCreate]) -> objects.Customer:
        """Create a customer, with an email of its own and a phone that pays."""
        email = f"customer-{len(self.events.of('customer.created')) + 1}@example.com"
        return self._made("customers", fields, email=email, name="Awa Diop", phone="+24177000000")

    def plan(self, /, **fields: Unpack[objects.SubscriptionPlanCreate]) -> objects.SubscriptionPlan:
        """Create a plan of 5,000 XAF a month."""
        return self._made(
            "subscription-plans",
            fields,
            name="Premium",
            amount=5000,
            currency="XAF",
            interval="month",
        )

    def subscription(self, /, **fields: Unpack[objects.SubscriptionCreate]) -> objects.Subscription:
        """Create a subscription (default: new customer, new plan), with its first period paid."""
        terms = {} if "unit_amount" in fields else {"plan": self.plan}
        return self._made("subscriptions", fields, customer=self.customer, **terms)

    def session(
        self, /, **fields: Unpack[objects.CheckoutSessionCreate]
    ) -> objects.CheckoutSession:
        """Open a checkout session of 3,000 XAF, or for a new plan; default: a new customer."""
        mode = fields.get("mode", "payment")
        lines = {
            "payment": lambda: [WORK],
            "subscription": lambda: [{"plan": self.plan()["id"]}],
            "setup": list,
        }[mode]
        buyer = {} if "customer_email" in fields else {"customer": self.customer}
        thanks = "https://shop.example.com/thanks"
        return self._made(
            "checkout-sessions",
            fields,
            currency="XAF",
            success_url=thanks,
            line_items=lines,
            **buyer,
        )

    def invoice(
        self, /, *, finalize: bool = True, **fields: Unpack[objects.InvoiceCreate]
    ) -> objects.Invoice:
        """Create an invoice of 3,000 XAF (default: new customer); ``finalize``: it can be paid."""
        made = self._made(
            "invoices", fields, customer=self.customer, currency="XAF", line_items=[WORK]
        )
        return self.api.post(f"/v1/invoices/{made['id']}/finalize/") if finalize else made

    def _made(self, kind: str, fields: Mapping[str, object], **defaults: Any) -> Any:
        """Create an object; call a callable default only if its field was not given."""
        missing = {name: value for name, value in defaults.items() if name not in fields}
        body = {
            **{name: value() if callable(value) else value for name, value in missing.items()},
            **fields,
        }
        referred = {name: identity(body[name]) for name in REFERENCES if body.get(name)}
        return self.api.post(f"/v1/{kind}/", {**body, **referred})
