"""The registry: functions of operations and jobs, reactions to events, kinds of record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from emulator.core.state_machine import StateMachine
from emulator.core.world import JobFunction, Reaction, Registry, World
from emulator.resources import faults, ledger
from emulator.resources.app import security_profiles, settings
from emulator.resources.app.idempotency import StoredResponse
from emulator.resources.billing import invoices, renewals, subscription_operations, subscriptions
from emulator.resources.catalog import (
    plans,
    products,
)  # in lines of their own: a new resource adds one (docs/contributing/recipes.md)
from emulator.resources.checkout import checkout_sessions, hosted_payments
from emulator.resources.customers import customer_records, customers, payment_methods
from emulator.resources.payments import (
    intent_operations,
    operator,
    payment_intents,
    payment_links,
    refunds,
    transactions,
)
from emulator.resources.simulation import emails
from emulator.resources.webhooks import deliveries, endpoints

_MODULES = (
    customers,
    subscriptions,
    subscription_operations,
    renewals,
    invoices,
    payment_intents,
    intent_operations,
    payment_methods,
    transactions,
    refunds,
    checkout_sessions,
    hosted_payments,
    payment_links,
    deliveries,
    endpoints,
    customer_records,
    plans,
    products,
    security_profiles,
    emails,
    faults,
)


def _tables(name: str) -> dict[str, Callable[..., Any]]:
    return dict(chain.from_iterable(getattr(module, name, {}).items() for module in _MODULES))


OPERATIONS: Mapping[str, Callable[..., Any]] = _tables("OPERATIONS")
"""operationId → function ``(world, **path parameters, query=…, body=…)``."""

JOBS: Mapping[str, JobFunction] = _tables("JOBS")

STATE_MACHINES: tuple[StateMachine[Any], ...] = tuple(
    dict.fromkeys(module.STATE_MACHINE for module in _MODULES if hasattr(module, "STATE_MACHINE"))
)
"""In the order of ``_MODULES``, of which several may work with one."""


REACTIONS: Mapping[str, tuple[Reaction, ...]] = {
    "*": (deliveries.enqueue_deliveries,),
    "payment_intent.succeeded": (payment_intents.paid,),
    "transaction.succeeded": (refunds.issue_receipt, emails.receipt, payment_intents.collected),
    "payment_intent.failed": (renewals.attempt_ended, hosted_payments.attempt_ended),
    "refund.succeeded": (emails.refund,),
    "subscription.payment_failed": (emails.renewal_failed,),
    "subscription.trial_will_end": (emails.trial_ending,),
    "subscription.canceled": (emails.canceled,),
    "invoice.paid": (renewals.settle,),
    "invoice.payment_overdue": (renewals.mark_past_due,),
    "customer.deleted": (
        subscriptions.end_with_customer,
        payment_intents.release_customer,
        checkout_sessions.release_customer,
        customer_records.delete_for_customer,
    ),
    # Changes of a record without an event of the service.
    "invoice sent": (emails.invoice,),
    "invoice voided": (renewals.settle,),
    "payment received": (invoices.payment_received,),
    "session paid": (hosted_payments.session_paid,),
    "payment canceled": (renewals.attempt_ended, hosted_payments.attempt_ended),
    "payment method removed": (subscriptions.release_method, payment_intents.release_method),
}

REGISTRY = Registry(
    kinds=(
        settings.Settings,
        customer_records.Customer,
        customer_records.Address,
        payment_methods.PaymentMethod,
        products.Product,
        plans.SubscriptionPlan,
        subscriptions.Subscription,
        invoices.Invoice,
        checkout_sessions.CheckoutSession,
        payment_links.PaymentLink,
        payment_intents.PaymentIntent,
        transactions.Transaction,
        refunds.Receipt,
        refunds.Refund,
        operator.Outcome,
        security_profiles.SecurityProfile,
        endpoints.WebhookEndpoint,
        deliveries.WebhookDelivery,
        emails.Email,
        faults.Fault,
        StoredResponse,
    ),
    reactions=REACTIONS,
    jobs=JOBS,
    checks=(ledger.check,),
)


LARGE = 1000
"""Records of a table whose indexes take long to make."""


def make_indexes(world: World) -> None:
    """Make the indexes of large tables now; otherwise the first rule that needs one would wait for
    it.
    """
    for table in world.tables():
        for field in table.kind.indexes if len(table) > LARGE else ():
            table.index(field)
