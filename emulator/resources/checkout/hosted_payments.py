"""Payments by the buyer of a session, a link or an invoice, on its page or by the control API.

Fulfilment is the reaction of a session to its payment's success or failure, or to its saved method
(B-58).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.core.errors import ApiError, combine, invalid_field, missing_field, nest
from emulator.core.handlers import get_or_404
from emulator.core.world import World
from emulator.resources.app import amounts, clients, security_profiles
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoices, subscription_operations, subscriptions
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription, Terms
from emulator.resources.catalog.products import Product
from emulator.resources.checkout import checkout_sessions
from emulator.resources.checkout.checkout_sessions import STATE_MACHINE, CheckoutSession
from emulator.resources.customers import customers, payment_details, payment_methods
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE, PaymentDetails
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments import operator, payment_intents, payment_links
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink

# -- fulfilment


def session_paid(world: World, intent: PaymentIntent) -> None:
    """Complete the session that the received payment was for (B-61)."""
    session = _session_of(world, intent, "complete")
    if session is not None:
        complete(world, session, intent.instrument)


def attempt_ended(world: World, intent: PaymentIntent) -> None:
    """Let the session accept another attempt after a failed or canceled one (B-50)."""
    session = _session_of(world, intent, "fail")
    if session is not None:
        checkout_sessions.fail(world, session)


def _session_of(world: World, intent: PaymentIntent, trigger: str) -> CheckoutSession | None:
    """Return the session whose current attempt is this intent, if its state allows the trigger."""
    session = world.get(CheckoutSession, intent.checkout_session)
    current = (
        session is not None
        and session.payment_intent == intent.id
        and STATE_MACHINE.allows(session, trigger)
    )
    return session if current else None


def save_method(world: World, session: CheckoutSession, details: PaymentDetails) -> CheckoutSession:
    """Save the method of a session with nothing to pay; failures as with a payment (B-58)."""
    session = checkout_sessions.submit(world, session, instrument=details, failure=None)
    customer = world.get(Customer, session.customer)
    if customer is not None and customer.is_blocked:
        return checkout_sessions.fail(world, session, "CUSTOMER_BLACKLISTED")
    decision = operator.on_save(
        world, details, customer=session.customer, latest=session.expires_at
    )
    is_prompted = details.type == "mobile_money" and decision.due > world.now
    if decision.step or (is_prompted and decision.is_unanswered):
        world.schedule(decision.due, "checkout_session.unconfirmed", session, **decision.data)
    elif decision.due > world.now:
        world.schedule(decision.due, "checkout_session.answer", session, **decision.data)
    else:
        return _answer(world, session, decision.code)
    return session


def is_saving(session: CheckoutSession) -> bool:
    """Return whether it saves a method without a payment, and the operator has not answered yet."""
    return session.status == "processing" and session.payment_intent is None


def asks_for_check(world: World, session: CheckoutSession) -> bool:
    """Return whether the buyer has to pass a card check before the card is saved (B-54)."""
    # That of a prompt on a phone has a code.
    return is_saving(session) and any(
        job.name == "checkout_session.unconfirmed" and "code" not in job.data
        for job in world.jobs.where("about", session.id)
    )


def answer_now(world: World, id: str, code: str | None) -> CheckoutSession:
    """Have the operator answer early whether a method is saved; a ``code`` means that it is not.

    Raises ``CHECKOUT_SESSION_NOT_FOUND``, and ``INVALID_STATUS_TRANSITION`` where nothing is being
    saved.
    """
    session = get_or_404(world, CheckoutSession, id)
    if not is_saving(session):
        raise ApiError(
            "INVALID_STATUS_TRANSITION",
            object="checkout session",
            status=session.status,
            trigger="be answered",
        )
    world.cancel_jobs(session, "checkout_session.answer", "checkout_session.unconfirmed")
    return _answer(world, session, code)


def _answer(world: World, session: CheckoutSession, code: str | None) -> CheckoutSession:
    if code is not None:
        return checkout_sessions.fail(world, session, code)
    return complete(world, session, session.instrument)


def complete(
    world: World, session: CheckoutSession, instrument: PaymentDetails | None
) -> CheckoutSession:
    """Complete the session: save the method or subscribe, unless the customer is deleted."""
    customer = world.get(Customer, session.customer)
    if customer is not None and instrument is not None:
        if session.mode == "setup":
            payment_methods.save(world, customer, instrument, is_default=True)
        elif session.terms is not None:
            begun = _subscribe(world, session, session.terms, customer, instrument)
            return STATE_MACHINE.transition(world, session, "complete", subscription=begun.id)
    return STATE_MACHINE.transition(world, session, "complete")


def _subscribe(
    world: World,
    session: CheckoutSession,
    terms: Terms,
    customer: Customer,
    instrument: PaymentDetails,
) -> Subscription:
    """Create the subscription with the method just used; its first period is paid, or a trial."""
    intent = world.get(PaymentIntent, session.payment_intent)
    first = payment_methods.default(world, customer.id) is None
    method = payment_methods.save(world, customer, instrument, is_default=first)
    subscription = subscription_operations.start(
        world,
        terms,
        customer=customer.id,
        collection_method="charge_automatically",
        cancel_at_period_end=False,
        payment_method=method.id,
        id=intent and intent.subscription,
    )
    if session.lines_due:
        _bill(world, session, subscription, customer, method=method, intent=intent)
    if subscription.status == "active":
        subscriptions.schedule_renewal(world, subscription)
    return subscription


def _bill(
    world: World,
    session: CheckoutSession,
    subscription: Subscription,
    customer: Customer,
    *,
    method: PaymentMethod,
    intent: PaymentIntent | None,
) -> None:
    """Make the invoice of the page's payment (B-58, B-97), with the intent event's ids (B-67).

    Its tax rate is that of the sum that was paid, whatever the App's rate is by now.
    """
    lines = checkout_sessions.billed(session.lines_due)
    id = None if intent is None else intent.invoice
    invoice = invoices.draft(
        world,
        customer,
        lines,
        session.currency,
        id=id,
        rate=session.tax_rate,
        subscription=subscription.id,
    )
    invoice = invoices.finalize_now(world, invoice)
    if intent is not None:
        world.replace(
            intent, invoice=invoice.id, subscription=subscription.id, payment_method=method.id
        )
    if invoice.status == "open":
        invoices.mark_paid(world, invoice, intent)


JOBS = {
    "checkout_session.answer": STATE_MACHINE.job(
        "complete", lambda world, session, job: _answer(world, session, job.data.get("code"))
    ),
    # The buyer has not passed the check of the card to be saved, or not answered the prompt on the
    # phone, in time (B-54).
    "checkout_session.unconfirmed": STATE_MACHINE.job(
        "fail",
        lambda world, session, job: checkout_sessions.fail(
            world, session, job.data.get("code", "unconfirmed")
        ),
    ),
}


# -- paying


HostedPayment = Mapping[str, Any]
"""The buyer's entries: ``PaymentInput`` of the control API; only ``method`` is required.

``method``: ``type`` and its own fields, ``phone`` | ``number, exp_month, exp_year, cvc`` | ``iban``
| ``email``. ``quantity``: where a link allows it. ``amount``: minor units, where the buyer chooses
it (donations, free prices). ``product``: the id of one of a link's several products. ``customer``:
``name``, ``email`` and ``phone`` of a buyer who is not a known customer.
"""


def pay_session(world: World, id: str, payment: HostedPayment) -> PaymentIntent | CheckoutSession:
    """Pay a checkout session: its payment intent, also when the payment failed (B-14).

    The session itself is answered where nothing is charged: in ``setup`` mode and with a trial
    (B-58, B-97). Raises ``CHECKOUT_SESSION_NOT_FOUND``, ``CHECKOUT_SESSION_EXPIRED``,
    ``INVALID_STATUS_TRANSITION`` (processing or complete: a double submission),
    ``PAYMENT_METHOD_NOT_SUPPORTED``, ``COMPANY_PAYMENTS_DISABLED`` and, with ``errors`` keyed
    ``method.number`` and the like, ``INVALID_FIELD``, ``MISSING_FIELD``, ``VALIDATION_ERROR``.
    """
    clients.admit_buyer(world, "payCheckoutSession")
    session = checkout_sessions.require_unexpired(get_or_404(world, CheckoutSession, id))
    STATE_MACHINE.require(session, "submit", "be paid")
    payment_intents.require_no_payment(world, session)
    _reject_fixed(payment)
    details = _details(world, payment, session.payment_method_types)
    customer, email = _buyer(world, payment, session.customer, session.customer_email)
    if session.mode == "subscription" and (customer is None or customer.email is None):
        raise missing_field("customer.email", "is required: renewals are notified to it")
    if session.mode == "setup" and customer is None:
        raise missing_field("customer.email", "is required: the method is saved for a customer")
    who: dict[str, Any] = {
        "customer": None if customer is None else customer.id,
        "customer_email": email,
    }
    if session.amount_total == 0:
        return save_method(world, world.replace(session, **who), details)
    intent = payment_intents.start(
        world,
        None,
        subtotal=sum(line.amount_total for line in session.lines_due),
        amount=session.amount_total,
        currency=session.currency,
        payment_method_types=session.payment_method_types,
        checkout_session=session.id,
        product=checkout_sessions.product_of(session),
        begins_subscription=session.terms is not None,
        sold=tuple(
            (line.quantity, line.description, line.amount_total) for line in session.lines_due
        ),
        **who,
    )
    checkout_sessions.submit(world, session, payment_intent=intent.id, **who)
    return payment_intents.charge(world, intent, details, latest=session.expires_at)


def pay_link(world: World, id: str, payment: HostedPayment) -> PaymentIntent:
    """Pay through a payment link: an intent, even for a failed payment. The use counts (B-59).

    Raises what :func:`pay_session` does, ``PAYMENT_LINK_NOT_FOUND``, and
    ``INVALID_STATUS_TRANSITION`` for a link that is archived, exhausted or expired.
    """
    clients.admit_buyer(world, "payPaymentLink")
    link = get_or_404(world, PaymentLink, id)
    if (reason := payment_links.closed(world, link)) is not None:
        raise ApiError(
            "INVALID_STATUS_TRANSITION",
            message=f"This payment link is {reason}: it takes no payment.",
        )
    if link.validity_type == "one_time":
        payment_intents.require_no_payment(world, link)
    amount, product = _choice(world, link, payment)
    details = _details(world, payment, link.payment_method_types)
    customer, email = _link_buyer(world, link, payment)
    world.replace(
        link, usage_count=link.usage_count + 1
    )  # it counts even if the payment fails (PaymentLink states)
    chosen = world.get(Product, product)
    name = (link.name or "") if chosen is None else chosen.name
    intent = payment_intents.start(
        world,
        None,
        amount=amount,
        currency=link.currency,
        payment_method_types=link.payment_method_types,
        payment_link=link.id,
        link_metadata=link.metadata,
        product=product,
        description=link.name,
        sold=((int(payment.get("quantity") or 1), name, amount),),
        customer=None if customer is None else customer.id,
        customer_email=email,
    )
    return payment_intents.charge(world, intent, details)


def pay_invoice(world: World, id: str, payment: HostedPayment) -> PaymentIntent:
    """Pay an open (or uncollectible) invoice's rest: an intent, even for a failed payment (B-45).

    Raises what :func:`pay_session` does, ``INVOICE_NOT_FOUND``, and ``INVALID_STATUS_TRANSITION``
    for an invoice that cannot be paid or whose payment is under way. The intent names no
    subscription, because a declined attempt of the buyer's is not a failed renewal.
    """
    clients.admit_buyer(world, "payInvoicePage")
    invoice = get_or_404(world, Invoice, id)
    invoices.STATE_MACHINE.require(invoice, "pay", "be paid")
    payment_intents.require_no_payment(world, invoice)
    _reject_fixed(payment)
    details = _details(world, payment, EVERY_TYPE)
    customer = world.get(Customer, invoice.customer)
    intent = payment_intents.start(
        world,
        None,
        subtotal=invoice.subtotal,
        amount=invoice.amount_remaining,
        currency=invoice.currency,
        payment_method_types=EVERY_TYPE,
        invoice=invoice.id,
        product=next((line.product for line in invoice.line_items if line.product), None),
        description=f"Invoice {invoice.invoice_number}",
        customer=None if customer is None else customer.id,
        customer_email=invoice.customer_email,
    )
    return payment_intents.charge(world, intent, details)


# -- reading the input


def _reject_fixed(payment: HostedPayment, *allowed: str) -> None:
    for field in ("quantity", "amount", "product"):
        if field in payment and field not in allowed:
            raise invalid_field(field, "is not the buyer's to choose here")


def _details(world: World, payment: HostedPayment, types: Sequence[str]) -> PaymentDetails:
    """Return the details of the payment method; 422 for a type that is not allowed (B-55)."""
    method = payment["method"]
    security_profiles.check_method(world, method["type"], "method.type")
    if method["type"] not in types:
        raise invalid_field(
            "method.type", f"{method['type']} is not allowed here", "PAYMENT_METHOD_NOT_SUPPORTED"
        )
    try:
        return payment_details.read(world, method)
    except ApiError as error:
        raise nest("method", error) from None


def _choice(world: World, link: PaymentLink, payment: HostedPayment) -> tuple[int, str | None]:
    """Return a link's whole amount (minor units) and the product it is paid for (B-59).

    The amount is the product's price when the link was created, that of the link, or the one that
    the buyer enters.
    """
    product = _product(link, payment) if link.products else None
    price = link.amount if product is None else link.prices[product]
    choices = {
        "quantity": link.allow_quantity,
        "amount": price is None,
        "product": product is not None,
    }
    _reject_fixed(payment, *(field for field, wanted in choices.items() if wanted))
    if price is None and "amount" not in payment:
        raise missing_field("amount", "is required: the buyer says how much")
    unit, param = (payment["amount"], "amount") if price is None else (price, "quantity")
    return amounts.chargeable(
        world, unit * payment.get("quantity", 1), link.currency, param
    ), product


def _product(link: PaymentLink, payment: HostedPayment) -> str:
    if len(link.products) > 1 and "product" not in payment:
        raise missing_field("product", "is required: the link sells several")
    product: str = payment.get("product", link.products[0])
    if product not in link.products:
        raise invalid_field("product", "is not sold through this link")
    return product


def _buyer(
    world: World, payment: HostedPayment, customer: str | None, email: str | None
) -> tuple[Customer | None, str | None]:
    """Return the known customer, or one with the page's or buyer's email, created if need be.

    Without a name it is named after its email; without an email it is anonymous, or None under the
    other assumption (B-58).
    """
    known = world.get(Customer, customer)
    if known is not None:
        return known, known.email
    buyer_fields = payment.get("customer", {})
    email = email or buyer_fields.get("email")
    if email is None and settings(world).assumptions.anonymous_customer == "none":
        return None, None
    if (existing := world.table(Customer).find("email", email)) is not None:
        return existing, email
    phone = {"phone": buyer_fields["phone"]} if buyer_fields.get("phone") else {}
    name = buyer_fields.get("name") or (email or "").partition("@")[0]
    return customers.create(world, {"email": email, "name": name, **phone}), email


def _link_buyer(
    world: World, link: PaymentLink, payment: HostedPayment
) -> tuple[Customer | None, str | None]:
    """Return a link's customer, with name and email if it collects them; else none (B-59)."""
    buyer_fields = payment.get("customer", {})
    if not link.collect_customer_info:
        return None, buyer_fields.get("email")
    missing = [field for field in ("name", "email") if not buyer_fields.get(field)]
    if missing:
        raise combine(
            [
                missing_field(f"customer.{field}", "is required: the link collects it")
                for field in missing
            ]
        )
    return _buyer(world, payment, None, None)
