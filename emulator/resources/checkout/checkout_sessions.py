"""A checkout session: a page where one buyer pays lines, subscribes or saves a method (B-58).

Its lines are products and free lines like those of an invoice, and at most one plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core import calendar
from emulator.core.errors import ApiError, invalid_field, missing_field
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.records import HIDDEN, N_, Metadata, Record
from emulator.core.state_machine import StateMachine
from emulator.core.unit_of_work import OpenPage
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World
from emulator.resources import faults
from emulator.resources.app import amounts
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoices, subscriptions
from emulator.resources.billing.invoices import InvoiceLine
from emulator.resources.billing.subscriptions import Terms
from emulator.resources.catalog import products
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Priced, Product
from emulator.resources.customers import payment_details
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import PaymentDetails

# -- lines


class CheckoutLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line; amounts are minor units, ``amount_total`` is ``quantity * unit_amount``."""

    product: str | None
    description: str
    quantity: int
    unit_amount: int
    amount_total: int


CheckoutLines = tuple[CheckoutLine, ...]


def requested_lines(
    violations: Violations, world: World, items: Sequence[Body], currency: str | None
) -> CheckoutLines | None:
    """Return a merchant's lines with today's names and prices, or None if one breaks a rule."""
    sold = [
        _line(violations, world, item, currency, f"line_items.{number}")
        for number, item in enumerate(items)
    ]
    if None in sold:
        return None
    return tuple(
        CheckoutLine(**msgspec.structs.asdict(line), amount_total=line.quantity * line.unit_amount)
        for line in sold
        if line
    )


def _line(
    violations: Violations, world: World, item: Body, currency: str | None, param: str
) -> Priced | None:
    with violations:
        if "plan" not in item:
            return products.line_item(violations, world, item, currency, param)
        plan = get_or_404(world, SubscriptionPlan, item["plan"], f"{param}.plan")
        if not plan.active:
            raise invalid_field(f"{param}.plan", "this plan is deactivated")
        if currency not in (plan.currency, None):
            raise invalid_field(
                f"{param}.plan", f"{plan.id} charges {plan.currency}, not {currency}"
            )
        return Priced(product=None, description=plan.name, quantity=1, unit_amount=plan.amount)
    return None


def check_plans(violations: Violations, items: Sequence[Body], mode: str | None) -> None:
    """Check a plan's use: ``subscription`` mode, one line, no product, quantity 1 (B-58)."""
    first: int | None = None
    for number, item in enumerate(items):
        with violations:
            if "plan" in item:
                _check_plan_line(violations, item, mode, f"line_items.{number}")
                if first is not None:
                    raise invalid_field(
                        f"line_items.{number}.plan", "only one line may hold a plan"
                    )
                first = number


def _check_plan_line(violations: Violations, item: Body, mode: str | None, param: str) -> None:
    with violations:
        if mode not in ("subscription", None):
            raise invalid_field(f"{param}.plan", "goes with the mode subscription only")
    for field in ("product", "description", "unit_amount"):
        with violations:
            if field in item:
                raise invalid_field(f"{param}.{field}", "cannot be given beside a plan")
    with violations:
        if item["quantity"] != 1:
            raise invalid_field(f"{param}.quantity", "must be 1 on a line with a plan")


def agreed_terms(
    world: World, body: Body, plan: str | None, lines: CheckoutLines, currency: str
) -> Terms:
    """Return a subscription's terms (B-58): the plan's, or the lines' total, monthly by default."""
    data: Body = {} if plan else body.get("subscription_data") or {"interval": "month"}
    fields: dict[str, Any] = {"plan": plan}
    if plan is None:
        product = next(({"product": line.product} for line in lines if line.product), {})
        fields = {
            "unit_amount": sum(line.amount_total for line in lines),
            "currency": currency,
            **product,
            **data,
        }
    violations = Violations(fields)
    terms = subscriptions.agreed(violations, world, fields)
    violations.done()
    return {**terms, **data}


def billed(lines: CheckoutLines) -> tuple[InvoiceLine, ...]:
    return tuple(
        invoices.line(
            product=line.product,
            description=line.description,
            quantity=line.quantity,
            unit_amount=line.unit_amount,
        )
        for line in lines
    )


# -- sessions


class CheckoutSession(Record, frozen=True, kw_only=True):
    """Amounts: minor units. ``amount_subtotal``: the lines' sum; ``amount_total``: due now."""

    prefix: ClassVar[str] = "sess"
    names: ClassVar[tuple[str, str] | None] = (N_("Checkout session"), N_("Checkout sessions"))
    indexes: ClassVar[tuple[str, ...]] = ("status", "mode", "customer")
    checked: ClassVar[frozenset[str]] = frozenset({"status"})

    object: str = "checkout_session"
    mode: str
    status: str
    currency: str
    amount_total: int
    amount_subtotal: int
    payment_intent: str | None = None
    customer: str | None
    customer_email: str | None
    url: str
    success_url: str | None
    cancel_url: str | None
    line_items: CheckoutLines
    payment_method_types: tuple[str, ...]
    expires_at: str
    livemode: bool
    metadata: Metadata
    created_at: str
    # The terms of the subscription to create, as they were when the session was created.
    terms: Annotated[Terms | None, HIDDEN] = None
    # The lines beside the plan, which are billed once; without a plan no line is.
    one_off: Annotated[CheckoutLines, HIDDEN] = ()
    # The rate of the tax in ``amount_total``, in per cent: the invoice is billed with it.
    tax_rate: Annotated[float | None, HIDDEN] = None
    # A method that is saved without a payment: its details, and the code with which the last
    # attempt failed.
    instrument: Annotated[PaymentDetails | None, HIDDEN] = None
    failure: Annotated[str | None, HIDDEN] = None
    # Whether it expired by its merchant's request, before its time.
    is_closed: Annotated[bool, HIDDEN] = False
    # The subscription that it began.
    subscription: Annotated[str | None, HIDDEN] = None

    @property
    def lines_due(self) -> CheckoutLines:
        """The lines due on the page: none for ``setup``, none recurring with a trial (B-58)."""
        return _lines_due(self.mode, self.line_items, self.terms, self.one_off)


def event_metadata(world: World, session: CheckoutSession, event: str) -> Mapping[str, Any]:
    """``checkout.session.completed`` carries the first product's metadata (B-97)."""
    product = world.get(Product, product_of(session))
    return {} if product is None else {"product": product.metadata}


STATE_MACHINE = StateMachine(
    CheckoutSession,
    (None, "create", "open"),
    ("open payment_failed", "submit", "processing"),
    ("processing", "complete", "complete", "checkout.session.completed"),
    ("processing", "fail", "payment_failed"),
    ("open payment_failed", "expire", "expired"),
    event_metadata=event_metadata,
)


EARLY_RETURN, EARLY_RETURN_SECONDS = "checkout_session.early_return", 0.25
"""The job in which a buyer comes back before paying, and when, on the world's clock."""


# -- operations


@with_rules
def create(world: World, body: Body) -> CheckoutSession:
    """POST /checkout-sessions/ (B-58)."""
    violations = Violations(body)
    mode: str | None = None
    customer: Customer | None = None
    lines: CheckoutLines | None = None
    with violations:
        customer, email = _buyer(world, body)
    currency = amounts.currency_of(violations, world, body)
    with violations:
        mode = body["mode"]
    _check_page(violations, world, body, mode, customer)
    with violations:
        types = payment_details.offered(world, body)
    with violations:
        if "subscription_data" in body and mode not in ("subscription", None):
            raise invalid_field("subscription_data", "goes with the mode subscription only")
    with violations:
        lines = _lines(violations, world, body["line_items"], mode, currency)
    with violations:
        due = _due(world, body, mode, lines, currency)
    violations.done()
    assert lines is not None
    id = world.new_id(CheckoutSession)
    session = STATE_MACHINE.create(
        world,
        "create",
        body,
        id=id,
        amount_subtotal=sum(line.amount_total for line in lines),
        customer=None if customer is None else customer.id,
        customer_email=email,
        url=world.link(f"/checkout/{id}"),
        line_items=lines,
        payment_method_types=types,
        expires_at=calendar.plus(world.now, seconds=body["expires_in"]),
        **due,
    )
    schedule_expiry(world, session)
    _arrange_early_return(world, session)
    return session


def _check_page(
    violations: Violations, world: World, body: Body, mode: str | None, customer: Customer | None
) -> None:
    with violations:
        needs_url = settings(world).assumptions.success_url == "required" and mode != "setup"
        if needs_url and "success_url" not in body:
            raise missing_field("success_url", "is required except in setup mode")
    with violations:
        if "customer" in body and "customer_email" in body:
            raise invalid_field("customer_email", "cannot be given beside customer")
    with violations:
        if mode == "subscription" and "customer" in body:
            subscriptions.require_email(customer)


def _lines(
    violations: Violations,
    world: World,
    items: Sequence[Body],
    mode: str | None,
    currency: str | None,
) -> CheckoutLines | None:
    """Return the lines, or None if one breaks a rule; their sum must be chargeable (B-23)."""
    if not items and mode not in ("setup", None):
        raise invalid_field("line_items", "must not be empty except in setup mode")
    check_plans(violations, items, mode)
    lines = requested_lines(violations, world, items, currency)
    if lines is not None:
        subtotal = sum(line.amount_total for line in lines)
        if mode in ("setup", None):
            amounts.bounded(world, subtotal, "line_items")
        else:
            amounts.chargeable(world, subtotal, currency, "line_items")
    return lines


def _due(
    world: World, body: Body, mode: str | None, lines: CheckoutLines | None, currency: str | None
) -> dict[str, Any]:
    """Return the amount due now and, in ``subscription`` mode, the terms of the start (B-23).

    Tax is paid on the first invoice of a subscription. The lines beside a plan are billed once.
    """
    items = body["line_items"]
    plan = next((item["plan"] for item in items if "plan" in item), None)
    if mode == "subscription" and "subscription_data" in body and plan is not None:
        raise invalid_field("subscription_data", "cannot be given beside a line with a plan")
    if mode is None or lines is None or currency is None:
        return {}
    terms = agreed_terms(world, body, plan, lines, currency) if mode == "subscription" else None
    one_off = tuple(
        line for item, line in zip(items, lines, strict=True) if plan and "plan" not in item
    )
    due = _lines_due(mode, lines, terms, one_off)
    total = sum(line.amount_total for line in due)
    rate: float | None = None
    if terms is not None and total:
        amounts.chargeable(world, total, currency, "line_items")
        sums = invoices.totals(world, billed(due))
        total, rate = sums["total"], sums["tax_rate"]
    return {"amount_total": total, "terms": terms, "one_off": one_off, "tax_rate": rate}


def _buyer(world: World, body: Mapping[str, Any]) -> tuple[Customer | None, str | None]:
    """Return the known customer and the form's email; ``customer_email`` finds its customer."""
    if "customer" in body:
        customer = get_or_404(world, Customer, body["customer"], "customer")
        return customer, customer.email
    email = body.get("customer_email")
    return (None if email is None else world.table(Customer).find("email", email)), email


def _lines_due(
    mode: str, lines: CheckoutLines, terms: Terms | None, one_off: CheckoutLines
) -> CheckoutLines:
    if mode == "setup":
        return ()
    return one_off if terms is not None and terms["trial_period_days"] else lines


def close(world: World, id: str) -> CheckoutSession:
    """POST /checkout-sessions/{id}/expire/, of a session that is not paid."""
    session = require_unexpired(get_or_404(world, CheckoutSession, id))
    session = STATE_MACHINE.transition(world, session, "expire", is_closed=True)
    world.cancel_jobs(session, "checkout_session.expire")
    return session


# -- how a session proceeds


def require_unexpired(session: CheckoutSession) -> CheckoutSession:
    if session.status == "expired":
        raise ApiError("CHECKOUT_SESSION_EXPIRED")
    return session


def schedule_expiry(world: World, session: CheckoutSession) -> None:
    """Plan that it expires at its time, or now where that passed during a payment attempt."""
    world.schedule(session.expires_at, "checkout_session.expire", session)


def _arrange_early_return(world: World, session: CheckoutSession) -> None:
    """Plan that the buyer comes back before paying, where a fault is arranged for it (B-94)."""
    if world.holds(faults.Fault) and faults.pick_fault(world, faults.SESSION, lambda _: True):
        instant = calendar.plus(world.now, seconds=EARLY_RETURN_SECONDS)
        world.schedule(instant, "checkout_session.early_return", session)


def return_early(world: World, id: str) -> Iterator[OpenPage]:
    """Have the buyer of a session open its ``success_url`` now, if that is planned (B-94).

    The command that pays comes after the page has responded.
    """
    session = world.get(CheckoutSession, id)
    if session is not None and is_returning_early(world, id):
        world.cancel_jobs(session, EARLY_RETURN)
        if page := faults.success_url(world, id):
            yield OpenPage(url=page)


def is_returning_early(world: World, id: str) -> bool:
    return any(job.name == EARLY_RETURN for job in world.jobs.where("about", id))


def _open(world: World, session: CheckoutSession) -> None:
    if page := faults.success_url(world, session.id):
        world.enqueue(OpenPage(url=page))


def submit(world: World, session: CheckoutSession, **changes: Any) -> CheckoutSession:
    """Note the buyer's submission; only one at a time (422 ``INVALID_STATUS_TRANSITION``)."""
    world.cancel_jobs(session, "checkout_session.expire")
    return STATE_MACHINE.transition(world, session, "submit", **changes)


def fail(world: World, session: CheckoutSession, code: str | None = None) -> CheckoutSession:
    """Note a failed attempt, without an intent, by reason ``code``; another one may follow."""
    session = STATE_MACHINE.transition(world, session, "fail", failure=code)
    schedule_expiry(world, session)
    return session


def product_of(session: CheckoutSession) -> str | None:
    """Return the id of the product sold, the first one of several, or None (B-97)."""
    return next((line.product for line in session.line_items if line.product), None)


def release_customer(world: World, customer: Customer) -> None:
    """Reaction to ``customer.deleted``: open sessions lose the customer and email (B-32)."""
    for session in world.table(CheckoutSession).where("customer", customer.id):
        if session.status not in ("complete", "expired"):
            world.replace(session, customer=None, customer_email=None)


OPERATIONS = {
    "createCheckoutSession": create,
    "listCheckoutSessions": list_handler(CheckoutSession),
    "getCheckoutSession": get_handler(CheckoutSession),
    "expireCheckoutSession": close,
}
JOBS = {
    "checkout_session.expire": STATE_MACHINE.job("expire"),  # ``expires_in`` passed
    EARLY_RETURN: STATE_MACHINE.job("submit", lambda world, session, _: _open(world, session)),
}
