"""The switchboard: which function each operation calls, what each job does, and who reacts to which event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from emulator.core.idempotency import StoredResponse
from emulator.core.state_machine import StateMachine
from emulator.core.world import JobFunction, Reaction, Registry
from emulator.resources.app import security_profiles, settings
from emulator.resources.billing import dunning, invoices, renewals, subscription_operations, subscriptions
from emulator.resources.catalog import plans, products
from emulator.resources.checkout import checkout_sessions, fulfilment
from emulator.resources.customers import addresses, customers, payment_methods, wallets
from emulator.resources.payments import (
    charging,
    intent_operations,
    outcomes,
    payment_intents,
    payment_links,
    receipts,
    refunds,
    transactions,
)
from emulator.resources.sandbox import emails, faults, invoice_documents, reset
from emulator.resources.webhooks import deliveries, endpoints

_MODULES = (
    addresses,
    intent_operations,
    checkout_sessions,
    customers,
    deliveries,
    invoices,
    invoice_documents,
    payment_intents,
    payment_links,
    plans,
    products,
    receipts,
    refunds,
    reset,
    security_profiles,
    subscription_operations,
    subscriptions,
    transactions,
    wallets,
    endpoints,
)

OPERATIONS: Mapping[str, Callable[..., Any]] = dict(chain(*(module.OPERATIONS.items() for module in _MODULES)))
"""operationId → function ``(world, **path parameters, query=…, body=…)``."""

JOBS: Mapping[str, JobFunction] = (
    checkout_sessions.JOBS
    | deliveries.JOBS
    | fulfilment.JOBS
    | dunning.JOBS
    | emails.JOBS
    | invoices.JOBS
    | charging.JOBS
    | payment_methods.JOBS
    | refunds.JOBS
    | renewals.JOBS
    | subscriptions.JOBS
    | transactions.JOBS
)

REACTIONS: Mapping[str, tuple[Reaction, ...]] = {
    "*": (deliveries.enqueue_deliveries,),
    "payment_intent.succeeded": (fulfilment.payment_received,),
    "transaction.succeeded": (receipts.issue, emails.receipt, fulfilment.payment_received),
    "payment_intent.failed": (dunning.charge_failed, fulfilment.attempt_failed),
    "refund.succeeded": (emails.refund,),
    "subscription.payment_failed": (emails.renewal_failed,),
    "subscription.trial_will_end": (emails.trial_ending,),
    "subscription.canceled": (emails.canceled,),
    "invoice.paid": (dunning.invoice_paid,),
    "invoice.payment_overdue": (dunning.mark_past_due,),
    "customer.deleted": (
        subscriptions.end_with_customer,
        payment_intents.release_customer,
        checkout_sessions.release_customer,
        addresses.delete_for_customer,
    ),
}

LIFE_CYCLES: tuple[StateMachine[Any], ...] = (
    customers.LIFECYCLE,
    subscriptions.LIFECYCLE,
    invoices.LIFECYCLE,
    payment_intents.LIFECYCLE,
    payment_methods.LIFECYCLE,
    transactions.LIFECYCLE,
    refunds.LIFECYCLE,
    checkout_sessions.LIFECYCLE,
    payment_links.LIFECYCLE,
    deliveries.LIFECYCLE,
)

REGISTRY = Registry(
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
        endpoints.WebhookEndpoint,
        deliveries.WebhookDelivery,
        emails.Email,
        faults.Fault,
        StoredResponse,
    ),
    reactions=REACTIONS,
    jobs=JOBS,
)
