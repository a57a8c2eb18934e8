"""The switchboard: which function each operation calls, what each job does, and who reacts to which event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from emulator.core.idempotency import Remembered
from emulator.core.lifecycle import LifeCycle
from emulator.core.world import JobFunction, Reaction, Wiring
from emulator.resources import (
    addresses,
    cashier,
    checkout_sessions,
    customers,
    deliveries,
    emails,
    faults,
    fulfilment,
    invoices,
    outcomes,
    papers,
    payment_intents,
    payment_links,
    payment_methods,
    plan_deactivation,
    plans,
    products,
    receipts,
    refunds,
    renewals,
    reset,
    security_profiles,
    settings,
    subscriptions,
    transactions,
    wallets,
    webhooks,
)

_MODULES = (
    addresses,
    cashier,
    checkout_sessions,
    customers,
    deliveries,
    invoices,
    papers,
    payment_intents,
    payment_links,
    plan_deactivation,
    plans,
    products,
    receipts,
    refunds,
    reset,
    security_profiles,
    subscriptions,
    transactions,
    wallets,
    webhooks,
)

OPERATIONS: Mapping[str, Callable[..., Any]] = dict(chain(*(module.OPERATIONS.items() for module in _MODULES)))
"""operationId → function ``(world, **path parameters, query=…, body=…)``."""

JOBS: Mapping[str, JobFunction] = (
    checkout_sessions.JOBS
    | deliveries.JOBS
    | fulfilment.JOBS
    | emails.JOBS
    | invoices.JOBS
    | payment_intents.JOBS
    | payment_methods.JOBS
    | refunds.JOBS
    | renewals.JOBS
    | transactions.JOBS
)

REACTIONS: Mapping[str, tuple[Reaction, ...]] = {
    "*": (deliveries.announce,),
    "transaction.succeeded": (receipts.issue, emails.receipt, invoices.settle, fulfilment.settle),
    "payment_intent.failed": (renewals.charge_failed, fulfilment.attempt_failed),
    "refund.succeeded": (emails.refund,),
    "subscription.payment_failed": (emails.renewal_failed,),
    "subscription.trial_will_end": (emails.trial_ending,),
    "subscription.canceled": (emails.canceled,),
    "invoice.paid": (renewals.invoice_paid,),
    "invoice.payment_overdue": (renewals.fall_behind,),
    "customer.deleted": (
        subscriptions.end_with_customer,
        payment_intents.release_customer,
        checkout_sessions.release_customer,
        addresses.discard,
    ),
}

LIFE_CYCLES: tuple[LifeCycle[Any], ...] = (
    customers.LIFE,
    subscriptions.LIFE,
    invoices.LIFE,
    payment_intents.LIFE,
    payment_methods.LIFE,
    transactions.LIFE,
    refunds.LIFE,
    checkout_sessions.LIFE,
    payment_links.LIFE,
    deliveries.LIFE,
)

WIRING = Wiring(
    kinds=(
        settings.Settings,
        customers.Customer,
        customers.Address,
        payment_methods.PaymentMethod,
        products.Product,
        plans.SubscriptionPlan,
        subscriptions.Subscription,
        invoices.Invoice,
        checkout_sessions.CheckoutSession,
        payment_links.PaymentLink,
        payment_intents.PaymentIntent,
        transactions.Transaction,
        receipts.Receipt,
        refunds.Refund,
        outcomes.Outcome,
        security_profiles.SecurityProfile,
        webhooks.WebhookEndpoint,
        deliveries.WebhookDelivery,
        emails.Email,
        faults.Fault,
        Remembered,
    ),
    reactions=REACTIONS,
    jobs=JOBS,
)
