"""Triggers: an event brought about for real on demand, with whatever objects it takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from emulator.control import trigger_actions
from emulator.core.handlers import get_or_404
from emulator.core.records import Record
from emulator.core.world import Event, World
from emulator.document import bundles
from emulator.document.tree import resolve
from emulator.engine.engine import Engine
from emulator.engine.reference_data import read_yaml
from emulator.engine.runtime import Runtime
from emulator.errors import CODES, ApiError, invalid_field, nest
from emulator.paths import fixtures_folder
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customers import Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.registry import OPERATIONS as SERVICE
from emulator.web.error_responses import error_of
from emulator.web.schemas import Schema

Body = Mapping[str, Any]


class CreationStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an object is made, as ``fixtures/triggers.yaml`` says."""

    make: str | None = None
    body: dict[str, Any] = {}


class TriggerRecipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"more": "with"}):
    """What an event comes of, as ``fixtures/triggers.yaml`` says."""

    of: str
    new: bool = False
    by: str | None = None
    more: dict[str, Any] = {}


class TriggerBook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of ``fixtures/triggers.yaml``."""

    objects: dict[str, CreationStep]
    events: dict[str, TriggerRecipe]


KINDS: Mapping[str, type[Record]] = {
    "customer": Customer,
    "payment_method": PaymentMethod,
    "plan": SubscriptionPlan,
    "payment_intent": PaymentIntent,
    "transaction": Transaction,
    "refund": Refund,
    "invoice": Invoice,
    "checkout_session": CheckoutSession,
    "subscription": Subscription,
}
"""The objects that can be named, by the names they go by."""


@cache
def trigger_book() -> TriggerBook:
    """The recipes."""
    return msgspec.convert(read_yaml(fixtures_folder() / "triggers.yaml"), TriggerBook)


@cache
def body_of(operation_id: str) -> Schema:
    """What the document says of the body of an operation."""
    document = bundles.load("service")
    operations = (each for item in document["paths"].values() for each in item.values() if isinstance(each, dict))
    node = next(each for each in operations if each.get("operationId") == operation_id)
    schema = node["requestBody"]["content"]["application/json"]["schema"]
    return Schema({**resolve(document, schema), "components": document["components"]})


async def trigger(engine: Engine, runtime: Runtime, query: Body, body: Body) -> Event:
    """POST /trigger: the event, which happened as any other."""
    event: Event = await runtime.serve(trigger_event, {"type": body["event"], "overrides": body["overrides"]}, None)
    return event


def trigger_event(world: World, type: str, overrides: Body) -> Event:
    """Bring an event about as one turn. 422 for overrides that do not go with it, and where it does not come."""
    recipe = trigger_book().events[type]
    attempt = TriggerRun(world, recipe, overrides)
    try:
        record = attempt.the(recipe.of)
        code = attempt.code()
        attempt.refuse_unused(type)
        if recipe.by is not None:
            trigger_actions.ACTIONS[recipe.by](world, record, code)
    except ApiError as fault:
        raise nest("overrides", fault) from None
    event = world.last_event(type)
    if event is None:
        raise invalid_field("overrides", f"{type} does not come of this {recipe.of}; {_standing(world, record)}")
    return event


def _standing(world: World, record: Record) -> str:
    now: Any = world.get(type(record), record.id) or record
    error = getattr(now, "last_error", None)
    return f"it is {now.status}" + (f", for {error.code}" if error else "")


class TriggerRun:
    """One event on its way: the objects it takes, those that are named and those that are made."""

    def __init__(self, world: World, recipe: TriggerRecipe, overrides: Body) -> None:
        self._world = world
        self._recipe = recipe
        self._overrides = overrides
        self._unused = set(overrides)
        self._objects: dict[str, Record] = {}

    def the(self, kind: str) -> Record:
        """The object of this kind, as it stands now."""
        if kind not in self._objects:
            self._objects[kind] = self._named(kind) or self._made(kind)
        found = self._objects[kind]
        return self._world.require(type(found), found.id)

    def code(self) -> str | None:
        """Why it fails, where that is said."""
        code = self._overrides.get("code")
        if code is not None and code not in CODES:
            raise invalid_field("code", "must be a code of the error model")
        if self._fails():
            self._unused.discard("code")
        return code

    def refuse_unused(self, type: str) -> None:
        """422 for what was given and not used."""
        if self._unused:
            raise invalid_field(min(self._unused)[:60], f"does not go with {type}, or not with what is given beside it")

    def _fails(self) -> bool:
        return self._recipe.by in trigger_actions.FAILING

    def _named(self, kind: str) -> Record | None:
        """The object whose id was given, or whom one belongs to whose id was given."""
        id = self._overrides.get(kind)
        if isinstance(id, str):
            if self._recipe.new and kind == self._recipe.of:
                raise invalid_field(kind, "is made anew; give its fields, or leave it out")
            self._unused.discard(kind)
            return get_or_404(self._world, KINDS[kind], id, kind)
        owners = (self._world.get(KINDS[each], self._id(each)) for each in KINDS) if kind == "customer" else ()
        owner = next((getattr(record, "customer", None) for record in owners if record is not None), None)
        return self._world.get(Customer, owner)

    def _id(self, kind: str) -> str | None:
        value = self._overrides.get(kind)
        return value if isinstance(value, str) else None

    def _made(self, kind: str) -> Record:
        making = trigger_book().objects[kind]
        if making.make is None:  # a transaction, which only a payment makes
            return trigger_actions.deposit(self._world, self.the("payment_intent").id)
        schema = body_of(making.make)
        more = self._recipe.more if kind == self._recipe.of else {}
        given = self._fields(kind, schema)
        own = {name: self._filled_in(value) for name, value in {**making.body, **more}.items() if name not in given}
        body = {**own, **{name: value for name, value in given.items() if value is not None}}
        if faults := schema.violations(body):
            raise error_of(faults)
        made: Record = SERVICE[making.make](self._world, body=schema.complete(body))
        return made

    def _fields(self, kind: str, schema: Schema) -> Body:
        """The overrides that are fields of an object to be made: those under its name, and those it has first."""
        own = self._overrides.get(kind)
        if isinstance(own, dict):
            self._unused.discard(kind)
        flat = {name for name in self._unused if schema.has(name) and not self._is_object(name)}
        self._unused -= flat
        return {**{name: self._overrides[name] for name in flat}, **(own if isinstance(own, dict) else {})}

    def _is_object(self, name: str) -> bool:
        return name in KINDS and self._overrides[name] is not None

    def _filled_in(self, value: Any) -> Any:
        if not isinstance(value, str) or "$" not in value:
            return value
        name = value.removeprefix("$")
        if name in KINDS:
            return self.the(name).id
        words = {"currency": settings(self._world).main_currency, "number": str(self._world.count("trigger"))}
        for word, meaning in words.items():
            value = value.replace(f"${word}", meaning)
        return value


OPERATIONS = {"trigger": trigger}
