"""Consequences of fields set directly: sums follow parts, a status brings its sums (B-89).

For each kind of object that has sums there is one function in ``FOLLOWS``, which returns the
further fields of the object or raises 422 for a value out of its bounds, and one in
``CONSEQUENCES`` for what happens to other objects. Amounts are in minor units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emulator.core.errors import invalid_field
from emulator.core.records import Record
from emulator.core.violations import Violations
from emulator.core.world import World
from emulator.resources import set_actions, set_links
from emulator.resources.app import amounts
from emulator.resources.billing import invoices, renewals, subscriptions
from emulator.resources.billing.invoices import Invoice, InvoiceLine
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout.checkout_sessions import CheckoutLine, CheckoutSession
from emulator.resources.customers import customer_records, customers, payment_methods
from emulator.resources.customers.customer_records import Address, Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import payment_intents, refunds, transactions
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt, Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.reckoned_fields import PAYMENT_ANEW, refused

Changed = Mapping[str, Any]
"""The fields that get another value, with that value."""


def follow(world: World, old: Record, changed: Changed) -> dict[str, Any]:
    """Return the further fields of a record that follow from those that are set; 422 for values out
    of their bounds.
    """
    rule = FOLLOWS.get(type(old))
    return {} if rule is None or not changed else rule(world, old, old.replace(**changed), changed)


def carry_on(world: World, old: Record, new: Record) -> None:
    """Have other objects follow the fields that were set."""
    if (rule := CONSEQUENCES.get(type(old))) is not None:
        rule(world, old, new)


def _within(field: str, value: int, least: int, most: int | None, why: str) -> None:
    if value < least:
        raise invalid_field(field, f"must be at least {least}, {why}")
    if most is not None and value > most:
        raise invalid_field(field, f"must be at most {most}, {why}")


def _check_canceled_at(new: PaymentIntent | Subscription, changed: Changed) -> None:
    if new.status == "canceled" and "canceled_at" in changed and new.canceled_at is None:
        raise invalid_field("canceled_at", "must be an instant for the status canceled: send it")


def _first(changed: Changed, *fields: str) -> str:
    """Return the first of these fields that is set: the one that a message names."""
    return next(field for field in fields if field in changed)


# -- invoices


PRICED = ("line_items", "discount_amount", "currency")
"""The fields from which the sums of an invoice follow."""

OWED = ("open", "uncollectible")


def _invoice(world: World, old: Invoice, new: Invoice, changed: Changed) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if any(field in changed for field in PRICED):
        changes = _invoice_sums(world, old, new, _first(changed, *PRICED))
    if new.status != old.status:
        changes |= _invoice_status(world, old, new.replace(**changes), changed)
    total = changes.get("total", new.total)
    if new.status in OWED and total == 0:
        field = _first(changed, "status", *PRICED, *changed)
        raise invalid_field(
            field, "would leave nothing to pay: set status to paid, or another line"
        )
    return changes


def _invoice_sums(world: World, old: Invoice, new: Invoice, field: str) -> dict[str, Any]:
    if old.status == "paid":
        raise invalid_field(
            field, "cannot change once it is paid: call POST /v1/refunds/ to return money"
        )
    if (payment := payment_intents.current_payment(world, old)) is not None:
        cancel = f"POST /v1/payment-intents/{payment.id}/cancel/"
        raise invalid_field(field, f"cannot change while a payment is under way: call {cancel}")
    _check_lines(new.line_items, "amount")
    subtotal = sum(line.amount for line in new.line_items)
    amounts.bounded(world, subtotal, "line_items")
    if not 0 <= new.discount_amount <= subtotal:
        message = (
            f"leaves a discount of {new.discount_amount}, which must be 0 to {subtotal}, the"
            " subtotal"
        )
        raise invalid_field(field, message)
    rate = None if old.status == "draft" else old.tax_rate
    return {**invoices.totals(world, new.line_items, new.discount_amount, rate)}


def _check_lines(lines: Sequence[InvoiceLine | CheckoutLine], total: str) -> None:
    """Raise 422 for a line whose amount is not its quantity times its unit amount."""
    for number, line in enumerate(lines):
        if line.quantity < 1 or line.unit_amount < 0:
            raise invalid_field(
                f"line_items.{number}", "must have a quantity and an amount of 0 or more"
            )
        if getattr(line, total) != line.quantity * line.unit_amount:
            raise invalid_field(
                f"line_items.{number}.{total}", "must be quantity times unit_amount"
            )


def _invoice_status(world: World, old: Invoice, new: Invoice, changed: Changed) -> dict[str, Any]:
    """Return a new status's further fields: finalized, owed again, or paid outside the service."""
    if old.status == "paid" and old.payment_intent is not None:
        raise refused(
            old,
            "status",
            f"{new.status} would owe what {{payment_intent}} paid: call POST /v1/refunds/",
        )
    changes: dict[str, Any] = {}
    if old.status == "draft":
        sums = invoices.totals(world, new.line_items, new.discount_amount)
        changes = {**sums, **invoices.final_fields(world, new)}
        new = new.replace(**changes)
    if new.status == "paid":
        paid = {"amount_paid": new.total, "amount_remaining": 0, "paid_manually": True}
    else:
        paid = {"amount_paid": 0, "amount_remaining": new.total, "paid_manually": False}
    changes |= {**paid, "paid_at": world.now if new.status == "paid" else None}
    return {field: value for field, value in changes.items() if field not in changed}


def _invoice_set(world: World, old: Invoice, new: Invoice) -> None:
    """Mark as paid, void or write off, without the events of these operations (B-45, B-62)."""
    if new.status == old.status:
        return
    if new.status in ("paid", "void"):
        payment_intents.cancel_current(world, new)
        renewals.settle(world, new)
    elif new.status == "uncollectible":
        _give_up(world, new)


def _give_up(world: World, invoice: Invoice) -> None:
    """Set a subscription unpaid that is past due and owes nothing else any more (B-45)."""
    subscription = world.get(Subscription, invoice.subscription)
    if subscription is None or subscription.status != "past_due":
        return
    own = world.table(Invoice).where("subscription", subscription.id)
    if not any(other.status == "open" for other in own):
        world.cancel_jobs(subscription, "subscription.retry")
        behind = subscription.behind_since or world.now
        world.replace(subscription, status="unpaid", unpaid_invoice=invoice.id, behind_since=behind)


# -- checkout sessions


def _session(
    world: World, old: CheckoutSession, new: CheckoutSession, changed: Changed
) -> dict[str, Any]:
    if "status" in changed and (payment := payment_intents.current_payment(world, old)) is not None:
        if payment.status == "succeeded":
            raise invalid_field(
                "status",
                "follows its payment, which succeeded:"
                " call POST /v1/checkout-sessions/ for another session",
            )
        cancel = f"POST /v1/payment-intents/{payment.id}/cancel/"
        raise invalid_field("status", f"follows the payment under way: call {cancel} first")
    is_early = old.is_closed or new.expires_at > world.now
    closed = {"is_closed": new.status == "expired" and is_early}
    if not ("line_items" in changed or "currency" in changed):
        return closed
    field = _first(changed, "line_items", "currency")
    if old.mode == "subscription" or old.status not in ("open", "payment_failed"):
        raise invalid_field(
            field,
            f"cannot change in the mode {old.mode} and the status {old.status}:"
            " call POST /v1/checkout-sessions/ for another session",
        )
    _check_lines(new.line_items, "amount_total")
    subtotal = sum(line.amount_total for line in new.line_items)
    if new.mode == "setup":
        subtotal = amounts.bounded(world, subtotal, field)
        return {**closed, "amount_subtotal": subtotal, "amount_total": 0}
    amounts.chargeable(world, subtotal, new.currency, field)
    return {**closed, "amount_subtotal": subtotal, "amount_total": subtotal}


# -- payment intents


CHOOSABLE = ("requires_payment_method", "requires_confirmation")
"""The statuses of a payment that has not begun."""

AGREED = ("amount", "currency", "capture_method", "customer", "payment_method")
"""The fields of a payment that are decided before it begins."""


def _intent(
    world: World, old: PaymentIntent, new: PaymentIntent, changed: Changed
) -> dict[str, Any]:
    agreed = [field for field in AGREED if field in changed]
    if agreed and old.status not in CHOOSABLE:
        raise invalid_field(
            agreed[0],
            "is decided before the payment begins: call POST /v1/payment-intents/ for another one",
        )
    if "amount" in changed:
        amounts.chargeable(world, new.amount, None, "amount")
    _check_canceled_at(new, changed)
    changes: dict[str, Any] = {}
    if "payment_method" in changed:
        changes = _method_of(world, new, changed)
        new = new.replace(**changes)
    if new.status != old.status:
        changes |= _intent_status(world, old, new, changed)
    return changes | set_actions.follow(world, old, new.replace(**changes), changed)


def _method_of(world: World, new: PaymentIntent, changed: Changed) -> dict[str, Any]:
    """Return the fields that another payment method changes: its copy, and the status."""
    if new.payment_method is None:
        return {
            **payment_intents.WITHOUT_METHOD,
            "status": changed.get("status", "requires_payment_method"),
        }
    method = world.require(PaymentMethod, new.payment_method)
    status = changed.get("status", "requires_confirmation")
    return {"payment_method_type": method.type, "instrument": method.instrument, "status": status}


def _intent_status(
    world: World, old: PaymentIntent, new: PaymentIntent, changed: Changed
) -> dict[str, Any]:
    owned = old.invoice or old.checkout_session or old.payment_link
    if old.transaction is not None or (
        owned and {old.status, new.status} - {*payment_intents.INTENTS_UNDER_WAY}
    ):
        by = (
            "is known by what it pays for: call POST /v1/payment-intents/{id}/cancel/"
            if new.status == "canceled"
            else f"cannot follow, since it pays for something: {PAYMENT_ANEW}"
        )
        raise refused(old, "status", f"{new.status} {by}")
    changes: dict[str, Any] = {"amount_capturable": 0}
    if new.status == "canceled":
        changes["canceled_at"] = world.now
    elif new.status == "requires_payment_method":
        changes |= payment_intents.WITHOUT_METHOD
    elif new.status == "requires_confirmation":
        if new.payment_method is None:
            raise invalid_field("payment_method", "is required for requires_confirmation: send it")
    elif new.status == "requires_capture":
        changes |= {"amount_capturable": new.amount, "capture_method": "manual"}
    return {field: value for field, value in changes.items() if field not in changed}


# -- transactions and refunds


PARTS = ("amount", "fee", "commission", "fee_rate", "commission_rate")
"""The fields from which the net amount of a deposit follows."""


def _transaction(
    world: World, old: Transaction, new: Transaction, changed: Changed
) -> dict[str, Any]:
    set_parts = [field for field in (*PARTS, "status") if field in changed]
    if old.type == "refund" and set_parts:
        raise invalid_field(
            set_parts[0], "is that of its refund: call POST /v1/refunds/ for another one"
        )
    if "status" in changed and old.status == "failed" and not payment_intents.is_lost(world, old):
        raise invalid_field(
            "status",
            f"{new.status} cannot follow a payment that failed:"
            " call POST /v1/payment-intents/ for another payment",
        )
    if not any(field in changed for field in PARTS):
        return {}
    if "amount" in changed:
        _check_amount(world, old, new)
    fee, commission = (_part(new, changed, part) for part in ("fee", "commission"))
    field = _first(changed, *PARTS)
    net = new.amount - fee - commission
    _within(
        field,
        min(fee, commission, net),
        0,
        None,
        "as fee, commission and what is left of the amount are",
    )
    set_directly = old.set_directly + new.amount - old.amount
    return {"fee": fee, "commission": commission, "net_amount": net, "set_directly": set_directly}


def _part(new: Transaction, changed: Changed, part: str) -> int:
    """Return the fee or the commission: the sum that is set, or the share by its rate."""
    value: int = getattr(new, part)
    if part in changed or not ("amount" in changed or f"{part}_rate" in changed):
        return value
    return amounts.percent(new.amount, getattr(new, f"{part}_rate"))


def _check_amount(world: World, old: Transaction, new: Transaction) -> None:
    if old.status == "refunded":
        raise invalid_field(
            "amount", "was refunded as a whole: call POST /v1/payment-intents/ for another payment"
        )
    taken = old.amount - refunds.refundable(world, old)
    least = max(taken, old.amount_refunded + 1)
    _within(
        "amount",
        new.amount,
        least,
        None,
        "more than its refunds: call POST /v1/refunds/ to return more",
    )
    amounts.bounded(world, new.amount, "amount")


def _transaction_set(world: World, old: Transaction, new: Transaction) -> None:
    """Have the customer's total and the receipt follow; the refunds of a lost deposit fail (B-30,
    B-56).

    A deposit that was lost stays in the count of transactions.
    """
    spent, before = transactions.spent(new), transactions.spent(old)
    if spent != before:
        transactions.count(world, new, spent - before)
    receipt = world.table(Receipt).find("transaction", new.id)
    if receipt is not None and receipt.amount != new.amount:
        world.replace(receipt, amount=new.amount)
    if new.status == "failed" and old.status != "failed":
        refunds.end_lost(world, new)


def _refund(world: World, old: Refund, new: Refund, changed: Changed) -> dict[str, Any]:
    if new.status not in refunds.COUNTING or old.status in refunds.COUNTING:
        return {}
    deposit = world.get(Transaction, old.transaction)
    if (
        deposit is None
        or deposit.status != "completed"
        or refunds.refundable(world, deposit) < old.amount
    ):
        raise invalid_field(
            "status", f"{new.status} would return more than is left: call POST /v1/refunds/"
        )
    return {} if "failure_reason" in changed else {"failure_reason": None}


# -- customers, links and defaults


def _customer(world: World, old: Customer, new: Customer, changed: Changed) -> dict[str, Any]:
    """Counters may be set; they hold at least what the customer's own transactions say (B-30)."""
    deposits = [
        deposit
        for deposit in world.table(Transaction).where("customer", old.id)
        if deposit.type == "deposit"
    ]
    counted = sum(
        deposit.status in transactions.ARRIVED or payment_intents.is_lost(world, deposit)
        for deposit in deposits
    )
    spent = sum(
        transactions.spent(deposit) for deposit in deposits if deposit.currency == new.currency
    )
    if "currency" in changed and "total_spent" not in changed:
        return {"total_spent": spent}
    if "total_spent" in changed:
        _within(
            "total_spent",
            new.total_spent,
            spent,
            None,
            "what its payments say: call POST /v1/refunds/",
        )
    if "transactions_count" in changed:
        why = "its payments so far: call POST /v1/payment-intents/ for more"
        _within("transactions_count", new.transactions_count, counted, None, why)
    return {}


def _customer_set(world: World, old: Customer, new: Customer) -> None:
    """Give the phone's mobile money method the number, as the operation does (B-31)."""
    customers.change_phone(world, old, new.phone)


def _method_set(world: World, old: PaymentMethod, new: PaymentMethod) -> None:
    """Let a customer have one default at most."""
    for other in payment_methods.of_customer(world, new.customer) if new.is_default else ():
        if other.is_default and other.id != new.id:
            world.replace(other, is_default=False)


def _address_set(world: World, old: Address, new: Address) -> None:
    for other in customer_records.of_customer(world, new.customer) if new.is_default else ():
        if other.is_default and other.id != new.id:
            world.replace(other, is_default=False)
    for customer in {old.customer, new.customer}:
        if world.get(Customer, customer) is not None:
            customer_records.show_default(world, customer)


# -- subscriptions


def _subscription(
    world: World, old: Subscription, new: Subscription, changed: Changed
) -> dict[str, Any]:
    if new.plan is not None:
        if "plan" in changed:
            violations = Violations(changed)
            subscriptions.new_plan(violations, world, new.plan, new)
            violations.done()
        for field in ("unit_amount", "currency", "interval", "interval_count"):
            if field in changed:
                raise invalid_field(
                    field, f"is decided by its plan {new.plan}: set it there, or plan to null"
                )
    elif "unit_amount" in changed:
        amounts.chargeable(world, new.unit_amount, new.currency, "unit_amount")
    begins = new.status == "trialing" and "status" in changed and (new.trial_end or "") <= world.now
    if begins or (new.status == "trialing" and new.trial_end is None):
        raise invalid_field("trial_end", "must be ahead for the status trialing: send it")
    _check_canceled_at(new, changed)
    if "interval" in changed or "interval_count" in changed:
        # The period that runs ends when it was to end; the next ones count from there.
        return {"anchor": new.current_period_end, "period": 0}
    return {}


FOLLOWS: Mapping[type[Record], Callable[[World, Any, Any, Changed], dict[str, Any]]] = {
    Invoice: _invoice,
    CheckoutSession: _session,
    PaymentIntent: _intent,
    Transaction: _transaction,
    Refund: _refund,
    Customer: _customer,
    PaymentLink: set_links.follow,
    Subscription: _subscription,
}

CONSEQUENCES: Mapping[type[Record], Callable[[World, Any, Any], None]] = {
    Invoice: _invoice_set,
    Customer: _customer_set,
    Transaction: _transaction_set,
    PaymentMethod: _method_set,
    Address: _address_set,
}
