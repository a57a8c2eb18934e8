"""Triggers: an event of a given type, caused on demand with whatever objects it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import msgspec

from emulator.control.objects import field_name
from emulator.core import calendar
from emulator.core.errors import CODES, ApiError, invalid_field, nest
from emulator.core.handlers import get_or_404
from emulator.core.jobs import Job
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.violations import Body
from emulator.core.world import World
from emulator.document import bundles
from emulator.document.paths import fixture
from emulator.document.references import filled
from emulator.document.tree import inlined, operations
from emulator.engine.runtime import Runtime
from emulator.insight.state.working_method import working_method
from emulator.resources.app.settings import settings
from emulator.resources.billing import invoices, renewals, subscription_operations
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers import customers
from emulator.resources.customers.customer_records import Customer
from emulator.resources.customers.payment_details import EVERY_TYPE
from emulator.resources.payments import intent_operations, operator, payment_intents, refunds
from emulator.resources.payments.operator import Outcome
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import OPERATIONS as SERVICE
from emulator.resources.registry import REGISTRY
from emulator.web.schemas import CompiledSchema
from emulator.web.violations import error_of

# -- actions: for each event the object it happens to, and what is done to that object to cause it


DEFAULT_CODE = "INSUFFICIENT_FUNDS"
"""Why a payment fails where nothing else is said."""


# -- the payment operator


@contextmanager
def arranged(world: World, operation: str, code: str | None) -> Iterator[None]:
    """Let payments inside succeed, or fail with ``code``, unless the tester arranged otherwise."""
    result = "succeeded" if code is None else "failed"
    wanted: dict[str, Any] = {
        "operation": operation,
        "result": result,
        "code": code,
        "times": 1,
        "match": {},
    }
    outcome = operator.arrange(world, wanted)
    yield
    if world.get(Outcome, outcome.id) is not None:
        world.remove(outcome)


def answer_payment(world: World, id: str, code: str | None) -> None:
    """Give a payment that still waits for its answer that answer now."""
    intent = world.require(PaymentIntent, id)
    if payment_intents.STATE_MACHINE.allows(intent, "succeed"):
        payment_intents.answer(world, intent, code)


def run_now(world: World, job: str, record: Record) -> None:
    """Run a job of an object at once, whether or not it is scheduled."""
    world.cancel_jobs(record, job)
    world.registry.jobs[job](
        world, Job(id=f"job_{job}", name=job, due=world.now, sequence=0, about=record.id)
    )


# -- payments


def collect(world: World, intent: PaymentIntent, code: str | None) -> None:
    """Confirm and capture an intent as far as needed; a ``code`` makes the operator decline it."""
    with arranged(world, "payment", code):
        if payment_intents.STATE_MACHINE.allows(intent, "choose"):
            intent_operations.confirm(world, intent.id, {})
    answer_payment(world, intent.id, code)
    if code is None and world.require(PaymentIntent, intent.id).status == "requires_capture":
        intent_operations.capture(world, intent.id, {})


def deposit(world: World, intent: str) -> Transaction:
    """Return a successful payment's transaction; 422 if impossible, as with a failing number."""
    collect(world, world.require(PaymentIntent, intent), None)
    paid = world.require(PaymentIntent, intent)
    if paid.transaction is None:
        raise invalid_field(
            "payment_intent", f"it is {paid.status}, and no transaction comes of it"
        )
    return world.require(Transaction, paid.transaction)


def pay_page(
    world: World, command: Callable[..., Any], id: str, allowed: Sequence[str] = EVERY_TYPE
) -> None:
    """Pay on a hosted page as a buyer does, with an ``allowed`` type of method."""
    with arranged(world, "payment", None):
        made = command(world, id, {"method": working_method(world, allowed)})
    if isinstance(made, PaymentIntent):
        answer_payment(world, made.id, None)


def check_out(world: World, session: CheckoutSession, code: str | None) -> None:
    """Have the buyer pay the session; a payment under way succeeds."""
    if session.status == "processing" and session.payment_intent is not None:
        answer_payment(world, session.payment_intent, None)
    else:
        allowed = session.payment_method_types
        pay_page(world, hosted_payments.pay_session, session.id, allowed)


# -- refunds


def answer_refund(world: World, refund: Refund, code: str | None) -> None:
    """Send the refund if unsent, and answer it; ``code`` makes the operator reject it."""
    run_now(world, "refund.send", refund)
    refunds.answer_now(world, refund.id, code)


# -- invoices


def finalized(world: World, invoice: Invoice) -> Invoice:
    """Return the invoice, finalized now if it is a draft."""
    return invoices.finalize_and_track(world, invoice) if invoice.status == "draft" else invoice


def pay_invoice(world: World, invoice: Invoice, code: str | None) -> None:
    """Have the buyer pay the invoice on its page."""
    if finalized(world, invoice).status != "paid" or invoice.status == "paid":
        pay_page(world, hosted_payments.pay_invoice, invoice.id)


def let_fall_due(world: World, invoice: Invoice, code: str | None) -> None:
    """Move the due date to yesterday at the latest, and run the job that makes it overdue."""
    yesterday = calendar.day_plus(world.now, -1)
    opened = finalized(world, invoice)
    run_now(
        world,
        "invoice.overdue",
        world.replace(opened, due_date=min(opened.due_date or yesterday, yesterday)),
    )


# -- subscriptions and customers


AT_ONCE = {"cancel_at_period_end": False}
"""How a subscription is canceled."""


def decline_charge(world: World, subscription: Subscription, code: str | None) -> None:
    """Make a charge fail: the first, the retry of a failed one, or one more in this period."""
    with arranged(world, "payment", code):
        if any(
            job.name == "subscription.charge"
            for job in world.table(Job).where("about", subscription.id)
        ):
            run_now(world, "subscription.charge", subscription)
        elif subscription.status == "past_due":
            run_now(world, "subscription.retry", subscription)
        elif subscription.status == "active":
            renewals.charge(world, subscription)
    for intent in world.table(PaymentIntent).where("customer", subscription.customer):
        if intent.subscription == subscription.id:
            answer_payment(world, intent.id, code)


class TriggerRecipe(NamedTuple):
    """How an event is triggered: something is done to an object, which is named or made for it.

    The action gets the world, the object and the error code, None where nothing is to fail.
    """

    object: str
    action: Callable[[World, Any, str | None], Any] | None = None
    """What is done. Without one the event comes of making the object, so that none can be named."""
    fails_with: str | None = None
    """Of an action that has something fail: the error code, unless another one is given."""
    body: Mapping[str, Any] = {}
    """What the object is made of in this case, on top of its body in ``fixtures/triggers.yaml``."""
    decides: frozenset[str] = frozenset()
    """The object's fields that the action sets, so that none of them can be overridden."""


TRIGGERS: Mapping[str, TriggerRecipe] = {
    "payment_intent.succeeded": TriggerRecipe("payment_intent", collect),
    "payment_intent.failed": TriggerRecipe("payment_intent", collect, fails_with=DEFAULT_CODE),
    "transaction.succeeded": TriggerRecipe("payment_intent", collect),
    "refund.succeeded": TriggerRecipe("refund", answer_refund),
    "refund.failed": TriggerRecipe(
        "refund", answer_refund, fails_with=operator.DEFAULT_FAILURE_CODE["refund"]
    ),
    "invoice.paid": TriggerRecipe("invoice", pay_invoice),
    "invoice.payment_overdue": TriggerRecipe(
        "invoice", let_fall_due, decides=frozenset(["due_date"])
    ),
    "checkout.session.completed": TriggerRecipe("checkout_session", check_out),
    "subscription.created": TriggerRecipe("subscription"),
    "subscription.canceled": TriggerRecipe(
        "subscription",
        lambda world, record, _: subscription_operations.cancel(world, record.id, AT_ONCE),
    ),
    "subscription.payment_failed": TriggerRecipe(
        "subscription", decline_charge, fails_with=DEFAULT_CODE
    ),
    "subscription.trial_will_end": TriggerRecipe(
        "subscription",
        lambda world, record, _: run_now(world, "subscription.trial_notice", record),
        body={"trial_period_days": 14},
    ),
    "customer.created": TriggerRecipe("customer"),
    "customer.deleted": TriggerRecipe(
        "customer", lambda world, record, _: customers.delete(world, record.id)
    ),
}
"""Every event by its type."""


# -- triggers


class CreationStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object's recipe in ``fixtures/triggers.yaml``; no operation makes a transaction."""

    make: str | None = None
    body: dict[str, Any] = {}


@cache
def creation_steps() -> Mapping[str, CreationStep]:
    """Return the objects to name or make, by the names of other objects' fields for them."""
    return msgspec.convert(fixture("triggers"), dict[str, CreationStep])


@cache
def kinds() -> Mapping[str, type[Record]]:
    """Return the records of those objects, by the same names."""
    named = {field_name(kind): kind for kind in REGISTRY.kinds}
    return {name: named[name] for name in creation_steps()}


@cache
def body_of(operation_id: str) -> CompiledSchema:
    """Return the schema that the document has for the body of an operation."""
    document = bundles.load("service")
    node = next(
        operation
        for _, _, operation in operations(document)
        if operation["operationId"] == operation_id
    )
    # Whole, as a request's schema is: the defaults of nested objects are within its references.
    return CompiledSchema(
        inlined(document, node["requestBody"]["content"]["application/json"]["schema"])
    )


async def trigger(runtime: Runtime, body: Body) -> Event:
    """POST /trigger: the event that was caused."""
    event: Event = await runtime.serve(
        trigger_event, {"type": body["event"], "overrides": body["overrides"]}, None
    )
    return event


def trigger_event(world: World, type: str, overrides: Body) -> Event:
    """Cause an event in one unit of work. 422 if an override does not apply or nothing happens."""
    recipe = TRIGGERS[type]
    attempt = TriggerRun(world, recipe, overrides)
    try:
        record = attempt.the(recipe.object)
        code = attempt.code()
        attempt.reject_unused(type)
        if recipe.action is not None:
            recipe.action(world, record, code)
    except ApiError as error:
        raise nest("overrides", error) from None
    event = world.last_event(type)
    if event is None:
        raise invalid_field(
            "overrides", f"{type} does not come of this {recipe.object}; {_standing(world, record)}"
        )
    return event


def _standing(world: World, record: Record) -> str:
    now: Any = world.get(type(record), record.id) or record
    error = getattr(now, "last_error", None)
    return f"it is {now.status}" + (f", for {error.code}" if error else "")


class TriggerRun:
    """One event being triggered: the objects it takes, both named and made ones."""

    def __init__(self, world: World, recipe: TriggerRecipe, overrides: Body) -> None:
        self._world = world
        self._recipe = recipe
        self._overrides = overrides
        self._unused = set(overrides)
        self._objects: dict[str, Record] = {}
        self._taken: set[str] = {"code"} if recipe.fails_with else set()
        self._allowed: Sequence[str] = EVERY_TYPE
        """The types of method that the payment to make takes."""

    def the(self, kind: str) -> Record:
        """Return the object of this kind, as it is now."""
        self._taken.add(kind)
        if kind not in self._objects:
            self._objects[kind] = self._named(kind) or self._made(kind)
        known = self._objects[kind]
        return self._world.require(type(known), known.id)

    def code(self) -> str | None:
        """Return the error code to fail with; None where nothing is to fail."""
        code = self._overrides.get("code")
        if code is not None and code not in CODES:
            raise invalid_field("code", "must be a code of the error model")
        if self._recipe.fails_with:
            self._unused.discard("code")
        return code or self._recipe.fails_with

    def reject_unused(self, type: str) -> None:
        if self._unused:
            known = ", ".join(sorted(self._taken))
            raise invalid_field(
                min(self._unused)[:60], f"is not an override of {type} here; there are: {known}"
            )

    def _named(self, kind: str) -> Record | None:
        """Return the object of a given id; for a customer also the owner of an object with one."""
        id = self._overrides.get(kind)
        if isinstance(id, str):
            if self._recipe.action is None and kind == self._recipe.object:
                raise invalid_field(
                    kind, "is created by the trigger; give its fields, or leave it out"
                )
            self._unused.discard(kind)
            return get_or_404(self._world, kinds()[kind], id, kind)
        if kind != "customer":
            return None
        ids = ((type, self._overrides.get(name)) for name, type in kinds().items())
        records = (self._world.get(type, id) for type, id in ids if isinstance(id, str))
        owner = next(
            (getattr(record, "customer", None) for record in records if record is not None), None
        )
        return self._world.get(Customer, owner)

    def _made(self, kind: str) -> Record:
        step = creation_steps()[kind]
        if step.make is None:  # a transaction, which only a payment makes
            return deposit(self._world, self.the("payment_intent").id)
        schema = body_of(step.make)
        overrides = self._fields(kind, schema)
        own = {
            name: filled(value, self._look_up)
            for name, value in self._defaults(kind, step.body, overrides).items()
            if name not in overrides
        }
        body = {**own, **{name: value for name, value in overrides.items() if value is not None}}
        try:
            if violations := schema.violations(body):
                raise error_of(violations)
            made: Record = SERVICE[step.make](self._world, body=schema.complete(body))
        except ApiError as error:
            raise self._where_given(error, kind) from None
        return made

    def _where_given(self, error: ApiError, kind: str) -> ApiError:
        """Return the error about the fields of a new object, by their paths in the overrides."""
        own = self._overrides.get(kind)
        if not isinstance(own, dict) or not error.errors:
            return error
        inside = {path: path.partition(".")[0] in own for path in error.errors}
        if all(inside.values()):
            return nest(kind, error)
        errors = {
            f"{kind}.{path}" if inside[path] else path: messages
            for path, messages in error.errors.items()
        }
        return ApiError(error.code, param=error.param, errors=errors, message=error.message)

    def _defaults(self, kind: str, body: Body, overrides: Body) -> Body:
        """Return the fields that a new object is made of where they are not overridden.

        Those of a method are of the type that is named, or else of one that the payment takes.
        """
        if kind == self._recipe.object:
            body = {**body, **self._recipe.body}
        if kind == "payment_intent" and isinstance(
            types := overrides.get("payment_method_types"), list
        ):
            self._allowed = types or EVERY_TYPE
        if kind != "payment_method":
            return body
        wanted = [overrides["type"]] if "type" in overrides else self._allowed
        usable = [type for type in EVERY_TYPE if type in wanted]
        if not usable or body["type"] in usable:
            return body
        return {"customer": body["customer"], **working_method(self._world, usable)}

    def _fields(self, kind: str, schema: CompiledSchema) -> Body:
        """Return a new object's overrides: those under its name, and the flat ones still unused."""
        own = self._overrides.get(kind)
        decided = self._recipe.decides if kind == self._recipe.object else frozenset()
        self._taken |= schema.names() - decided
        if isinstance(own, dict):
            self._unused.discard(kind)
        objects = {
            name for name in self._unused & kinds().keys() if self._overrides[name] is not None
        }
        flat = {name for name in self._unused - objects if name in schema.names()}
        self._unused -= flat
        fields = {
            **{name: self._overrides[name] for name in flat},
            **(own if isinstance(own, dict) else {}),
        }
        for name in sorted(decided & fields.keys()):
            raise invalid_field(name, "is set by the trigger itself; leave it out")
        return fields

    def _look_up(self, path: str) -> Any:
        if path == "currency":
            return settings(self._world).main_currency
        if path == "number":
            return self._world.count("trigger")
        kind, _, field = path.partition(".")
        return getattr(self.the(kind), field)


OPERATIONS = {"trigger": trigger}
