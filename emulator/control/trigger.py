"""Triggers: an event of a given type, caused on demand with whatever objects it takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from emulator.control import trigger_actions
from emulator.control.objects_by_kind import field_name
from emulator.control.trigger_actions import TRIGGERS, TriggerRecipe
from emulator.core.errors import CODES, ApiError, invalid_field, nest
from emulator.core.events import Event
from emulator.core.handlers import get_or_404
from emulator.core.records import Record
from emulator.core.validation import Body
from emulator.core.world import World
from emulator.document import bundles
from emulator.document.paths import fixtures_folder
from emulator.document.tree import resolve
from emulator.engine.engine import Engine
from emulator.engine.reference_data import read_yaml
from emulator.engine.runtime import Runtime
from emulator.resources.app.settings import settings
from emulator.resources.customers.customer_records import Customer
from emulator.resources.registry import OPERATIONS as SERVICE
from emulator.resources.registry import REGISTRY
from emulator.web.validation import CompiledSchema, error_of


class CreationStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an object is made, as ``fixtures/triggers.yaml`` says; a transaction is made by no operation."""

    make: str | None = None
    body: dict[str, Any] = {}


@cache
def creation_steps() -> Mapping[str, CreationStep]:
    """The objects that can be named or made, by the names that fields of other objects have for them."""
    return msgspec.convert(read_yaml(fixtures_folder() / "triggers.yaml"), dict[str, CreationStep])


@cache
def kinds() -> Mapping[str, type[Record]]:
    """The records of those objects, by the same names."""
    named = {field_name(kind): kind for kind in REGISTRY.kinds}
    return {name: named[name] for name in creation_steps()}


@cache
def body_of(operation_id: str) -> CompiledSchema:
    """What the document says of the body of an operation."""
    document = bundles.load("service")
    operations = (each for item in document["paths"].values() for each in item.values() if isinstance(each, dict))
    node = next(each for each in operations if each.get("operationId") == operation_id)
    schema = node["requestBody"]["content"]["application/json"]["schema"]
    return CompiledSchema({**resolve(document, schema), "components": document["components"]})


async def trigger(engine: Engine, runtime: Runtime, query: Body, body: Body) -> Event:
    """POST /trigger: the event that was caused."""
    event: Event = await runtime.serve(trigger_event, {"type": body["event"], "overrides": body["overrides"]}, None)
    return event


def trigger_event(world: World, type: str, overrides: Body) -> Event:
    """Cause an event in one unit of work. 422 for overrides that do not apply to it, and where it does not happen."""
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
        raise invalid_field("overrides", f"{type} does not come of this {recipe.object}; {_standing(world, record)}")
    return event


def _standing(world: World, record: Record) -> str:
    now: Any = world.get(type(record), record.id) or record
    error = getattr(now, "last_error", None)
    return f"it is {now.status}" + (f", for {error.code}" if error else "")


class TriggerRun:
    """One event being triggered: the objects it takes, those that are named and those that are made."""

    def __init__(self, world: World, recipe: TriggerRecipe, overrides: Body) -> None:
        self._world = world
        self._recipe = recipe
        self._overrides = overrides
        self._unused = set(overrides)
        self._objects: dict[str, Record] = {}
        self._taken: set[str] = {"code"} if recipe.takes_code else set()

    def the(self, kind: str) -> Record:
        """The object of this kind, as it is now."""
        self._taken.add(kind)
        if kind not in self._objects:
            self._objects[kind] = self._named(kind) or self._made(kind)
        found = self._objects[kind]
        return self._world.require(type(found), found.id)

    def code(self) -> str | None:
        """The error code to fail with, if one is given."""
        code = self._overrides.get("code")
        if code is not None and code not in CODES:
            raise invalid_field("code", "must be a code of the error model")
        if self._recipe.takes_code:
            self._unused.discard("code")
        return code

    def reject_unused(self, type: str) -> None:
        """422 for an override that was not used."""
        if self._unused:
            known = ", ".join(sorted(self._taken))
            raise invalid_field(min(self._unused)[:60], f"is no override of {type} here; there are: {known}")

    def _named(self, kind: str) -> Record | None:
        """The object whose id was given; for a customer also the owner of an object whose id was given."""
        id = self._overrides.get(kind)
        if isinstance(id, str):
            if self._recipe.action is None and kind == self._recipe.object:
                raise invalid_field(kind, "is created by the trigger; give its fields, or leave it out")
            self._unused.discard(kind)
            return get_or_404(self._world, kinds()[kind], id, kind)
        owners = (self._world.get(kinds()[each], self._id(each)) for each in kinds()) if kind == "customer" else ()
        owner = next((getattr(record, "customer", None) for record in owners if record is not None), None)
        return self._world.get(Customer, owner)

    def _id(self, kind: str) -> str | None:
        value = self._overrides.get(kind)
        return value if isinstance(value, str) else None

    def _made(self, kind: str) -> Record:
        step = creation_steps()[kind]
        if step.make is None:  # a transaction, which only a payment makes
            return trigger_actions.deposit(self._world, self.the("payment_intent").id)
        schema = body_of(step.make)
        more = self._recipe.body if kind == self._recipe.object else {}
        given = self._fields(kind, schema)
        own = {name: self._filled_in(value) for name, value in {**step.body, **more}.items() if name not in given}
        body = {**own, **{name: value for name, value in given.items() if value is not None}}
        if violations := schema.violations(body):
            raise error_of(violations)
        made: Record = SERVICE[step.make](self._world, body=schema.complete(body))
        return made

    def _fields(self, kind: str, schema: CompiledSchema) -> Body:
        """The overrides that are fields of an object to be made: those under its name, and those it has first."""
        own = self._overrides.get(kind)
        self._taken |= schema.names()
        if isinstance(own, dict):
            self._unused.discard(kind)
        flat = {name for name in self._unused if schema.has(name) and not self._is_object(name)}
        self._unused -= flat
        return {**{name: self._overrides[name] for name in flat}, **(own if isinstance(own, dict) else {})}

    def _is_object(self, name: str) -> bool:
        return name in kinds() and self._overrides[name] is not None

    def _filled_in(self, value: Any) -> Any:
        if not isinstance(value, str) or "$" not in value:
            return value
        name = value.removeprefix("$")
        if name in kinds():
            return self.the(name).id
        words = {"currency": settings(self._world).main_currency, "number": str(self._world.count("trigger"))}
        for word, meaning in words.items():
            value = value.replace(f"${word}", meaning)
        return value


OPERATIONS = {"trigger": trigger}
