"""Steps that lead on from the present state of an object: the label of each, what comes of it, and the request that does it.

``fixtures/next-steps.yaml`` has them by kind; the facts below say what is planned and owed, so that no step is offered
that would change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec

from emulator.core.errors import ApiError
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine import inbox
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import NEXT_STEPS
from emulator.resources.app import security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.billing import renewals, subscription_operations
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE, Fields
from emulator.resources.payments import payment_intents, refunds
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint


class Amount(msgspec.Struct, frozen=True):
    """An amount that a step can be given, at most ``most``, in minor units of the currency."""

    most: int
    currency: str


class NextStep(msgspec.Struct, frozen=True):
    """One step. Without its ``amount`` all of it is meant; ``refrain`` is the way back from a step that asks first."""

    name: str
    label: str
    consequence: str
    method: str
    path: str
    body: Mapping[str, Any] | None
    amount: Amount | None
    is_dangerous: bool
    refrain: str | None


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: str
    consequence: str
    path: str
    method: str = "POST"
    when: Mapping[str, Sequence[Any]] = {}
    body: Mapping[str, Any] = {}
    amount: str = ""
    danger: bool = False
    refrain: str | None = None
    buyer: str | None = None


STEPS: Mapping[str, Mapping[str, _Row]] = msgspec.convert(NEXT_STEPS, dict[str, dict[str, _Row]])
"""By kind and name."""


# -- the method that a buyer pays with, where the payment is to succeed


CARD = {"number": "4242424242424242", "exp_month": 12, "exp_year": 2099, "cvc": "123"}

WORKING: Mapping[str, Fields] = {
    "mobile_money": {"phone": "+24177000000"},
    "bank_card": CARD,
    "paypal": {"email": "buyer@example.com"},
    "bank_transfer": {"iban": "DE89370400440532013000"},
}
"""What a buyer enters that is paid, by type of method; those that are paid at once come first."""


def working_method(world: World, allowed: Sequence[str] = EVERY_TYPE) -> Fields:
    """Return a ``method`` that pays, of one of the ``allowed`` types."""
    type = next(_permitted(world, allowed), allowed[0])
    return {"type": type, **WORKING[type]}


def _permitted(world: World, allowed: Sequence[str]) -> Iterator[str]:
    """Yield the allowed types that the App's security profiles permit and that no handset has to approve (B-55)."""
    order = [type for type in WORKING if type in allowed]
    if settings(world).mobile_money == "handset":
        order.sort(key="mobile_money".__eq__)
    for type in order:
        with suppress(ApiError):
            security_profiles.check_method(world, type, "method.type")
            yield type


# -- facts about an object that its fields do not say; None where one does not hold


Facts = Mapping[str, Any]


def planned_jobs(world: World, id: str) -> dict[str, str]:
    """Return when the next job of each kind is due that is planned for the object, the soonest first."""
    found: dict[str, str] = {}
    for job in sorted(world.table(Job).where("about", id), key=lambda job: (job.due, job.sequence)):
        found.setdefault(job.name, job.due)
    return found


def _subscription(world: World, each: Subscription) -> Facts:
    planned = planned_jobs(world, each.id)
    retry, renewal = planned.get("subscription.retry"), planned.get("subscription.renew")
    retries = renewals.retries_left(world, each) if retry else []
    is_live = each.status in ("past_due", "unpaid")
    open = [one for one in world.table(Invoice).where("subscription", each.id) if one.status == "open"]
    overdue = [at for one in open if (at := planned_jobs(world, one.id).get("invoice.overdue"))]
    owed = world.get(Invoice, each.unpaid_invoice) if each.unpaid_invoice else next(iter(open), None)
    is_owed = owed is not None and is_live and _invoice(world, owed)["payable"]
    return {
        "behind": is_live and each.unpaid_invoice is None,
        "charged_by_invoice": each.collection_method == "send_invoice",
        "method": working_method(world),
        "owed": owed.id if owed is not None and is_owed else None,
        "invoice": owed.invoice_number if owed is not None and is_owed else None,
        "retry": retry,
        "last_retry": retries[-1] if len(retries) > 1 else None,
        "renewal": renewal,
        "overdue": min(overdue, default=None) if each.collection_method == "send_invoice" else None,
        "charged": each.customer if _is_charged(each, planned) else None,
        "reactivatable": each.status == "canceled" and not subscription_operations.why_not_reactivated(world, each),
    }


def _is_charged(each: Subscription, planned: Mapping[str, str]) -> bool:
    """Return whether a charge of this subscription is planned that can succeed or fail."""
    if each.collection_method != "charge_automatically":
        return False
    if each.status in ("trialing", "active"):
        return "subscription.renew" in planned and not each.cancel_at_period_end
    return each.status == "past_due" and "subscription.retry" in planned


def _invoice(world: World, each: Invoice) -> Facts:
    under_way = payment_intents.current_payment(world, each) is not None
    return {
        "method": working_method(world),
        "under_way": under_way,
        "payable": each.status in ("open", "uncollectible") and not under_way,
        "overdue": planned_jobs(world, each.id).get("invoice.overdue"),
    }


def _customer(world: World, each: Customer) -> Facts:
    own = world.table(Subscription).where("customer", each.id)
    return {"charged": each.id if any(_is_charged(one, planned_jobs(world, one.id)) for one in own) else None}


def _transaction(world: World, each: Transaction) -> Facts:
    planned = planned_jobs(world, each.id)
    rest = refunds.refundable(world, each) if each.type == "deposit" else 0
    return {
        "settle": planned.get("transaction.settle"),
        "dispute": planned.get("transaction.dispute"),
        "refundable": rest or None,
    }


def _delivery(world: World, each: WebhookDelivery) -> Facts:
    endpoint = world.get(WebhookEndpoint, each.webhook)
    path = urlsplit(endpoint.url).path if endpoint else ""
    return {
        "endpoint": endpoint.id if endpoint and endpoint.enabled else None,
        "inbox": path.removeprefix(inbox.PREFIX) if path.startswith(inbox.PREFIX) else None,
    }


FACTS: Mapping[type[Record], Callable[[World, Any], Facts]] = {
    Subscription: _subscription,
    Invoice: _invoice,
    Customer: _customer,
    Transaction: _transaction,
    Refund: lambda world, each: {"send": planned_jobs(world, each.id).get("refund.send")},
    CheckoutSession: lambda world, each: {"method": working_method(world, each.payment_method_types)},
    WebhookDelivery: _delivery,
}


class _Known:
    """What is known of a record by name: its facts, the day of each that is an instant, and its fields."""

    def __init__(self, world: World, record: Record, language: Language) -> None:
        about = FACTS.get(type(record))
        self._facts = about(world, record) if about else {}
        self._record, self._language = record, language

    def get(self, name: str) -> Any:
        """Return a fact or a field; None for one that does not hold."""
        return self._facts[name] if name in self._facts else getattr(self._record, name, None)

    def __getitem__(self, name: str) -> Any:
        if name.endswith("_day"):
            return self._language.short_day(self[name.removesuffix("_day")])
        if (value := self.get(name)) is None:
            raise KeyError(name)
        return value

    def fill(self, value: Any) -> Any:
        """Return a value with what is known in place of the names in braces. Raises ``KeyError`` for a name that is not."""
        if isinstance(value, Mapping):
            return {name: self.fill(each) for name, each in value.items()}
        if not isinstance(value, str):
            return value
        name = value.removeprefix("{").removesuffix("}")
        return self[name] if value == f"{{{name}}}" else value.format_map(self)


def next_steps(world: World, record: Record, language: Language) -> Iterator[NextStep]:
    known = _Known(world, record, language)
    for name, row in STEPS.get(record.kind, {}).items():
        if all(known.get(field) in values for field, values in row.when.items()):
            with suppress(KeyError):
                yield _step(name, row, known, language)


def _step(name: str, row: _Row, known: _Known, language: Language) -> NextStep:
    return NextStep(
        name,
        known.fill(language.gettext(row.label)),
        language.gettext(row.consequence),
        row.method,
        known.fill(row.path),
        known.fill(row.body) if row.body else None,
        Amount(known[row.amount], known["currency"]) if row.amount else None,
        row.danger,
        language.gettext(row.refrain) if row.refrain else None,
    )
