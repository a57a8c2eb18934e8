"""Any object of a world: by its id, by kind, by search, and by the name that people know it by.

An object is read, and changed in any way that its schema allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec

from emulator.core import calendar
from emulator.core.errors import ApiError, invalid_field
from emulator.core.events import Event
from emulator.core.handlers import Body, Page, Query, paginate
from emulator.core.records import Record, folded, hidden_fields, to_wire
from emulator.core.tables import Table
from emulator.core.world import World, encode
from emulator.document import bundles
from emulator.engine.engine import Engine
from emulator.engine.journal import Journal
from emulator.engine.runtime import Runtime
from emulator.presentation.languages.language import Language, language_of
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES
from emulator.resources import set_directly
from emulator.resources.app.settings import settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.catalog.plans import SubscriptionPlan
from emulator.resources.catalog.products import Product
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Address, Customer
from emulator.resources.customers.payment_methods import PaymentMethod
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt, Refund
from emulator.resources.payments.transactions import Transaction
from emulator.resources.simulation.emails import Email
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.web.validation import CompiledSchema, error_of

# -- one object by its id


FIXED = ("id", "object")
"""Fields that cannot be changed."""


async def show(engine: Engine, runtime: Runtime, id: str, query: Body) -> Record:
    """GET /objects/{id}."""
    await runtime.catch_up()
    return find(runtime.world, id)


async def update(engine: Engine, runtime: Runtime, id: str, query: Body, body: Body) -> Record:
    """PATCH /objects/{id}: sets fields, read-only ones included, without an event; planned work follows them (B-89)."""
    changed: Record = await runtime.serve(set_fields, {"id": id, "fields": body}, None)
    return changed


def find(world: World, id: str) -> Record:
    """Return the object with this id, of any kind; 404 ``NOT_FOUND`` if there is none."""
    if (record := get(world, id)) is None:
        raise ApiError("NOT_FOUND", message=f"There is no object {id[:60]}.")
    return record


def get(world: World, id: str) -> Record | None:
    """Return the object with this id, of any kind; None if there is none."""
    for table in world.tables():
        if (record := table.get(id)) is not None and documented(table.kind):
            found: Record = record
            return found
    return None


def set_fields(world: World, id: str, fields: Body) -> Record:
    """Set fields of an object; 422 for unknown and fixed fields and for values that its schema forbids."""
    record = find(world, id)
    known = record.__struct_fields__
    for name in fields:
        if name in FIXED or name not in known or name in hidden_fields(type(record)):
            raise invalid_field(name[:60], "cannot be changed" if name in FIXED else "unknown field")
    # Instants in the form of objects (B-17); invalid ones are left for the schema to reject.
    fields = {name: _instant(value) if name in _instants(type(record)) else value for name, value in fields.items()}
    wanted = {**msgspec.to_builtins(to_wire(record)), **fields}
    if violations := schema_of(type(record)).violations(wanted):
        raise error_of(violations)
    if isinstance(record, Event):
        for path, message in invalid_subject(world, wanted["data"]["object"]):
            raise invalid_field(path, message)
    values = _typed(world, type(record), fields)
    _require_unique(world, record, values)
    return set_directly.set_fields(world, record, values)


def _instant(value: object) -> object:
    with suppress(ValueError):
        return calendar.normalise(value) if isinstance(value, str) else value
    return value


def _require_unique(world: World, record: Record, values: Body) -> None:
    """Raise 422 for a unique value that another object has."""
    for field in record.unique:
        holder = world.table(type(record)).find(field, values[field]) if field in values else None
        if holder is not None and holder is not record:
            raise invalid_field(field, f"is the {field} of another {record.kind.replace('_', ' ')}")


def _typed(world: World, kind: type[Record], fields: Body) -> dict[str, Any]:
    """Return the values in the types of the record: nested objects become structs, lists become tuples.

    Raises 422 for metadata that only one assumption allows (B-22).
    """
    hints, values = get_type_hints(kind), {}
    if settings(world).assumptions.metadata_values == "any":
        hints["metadata"] = dict[str, Any]
    for name, value in fields.items():
        try:
            values[name] = msgspec.convert(value, hints[name])
        except msgspec.ValidationError as error:
            raise invalid_field(name, f"cannot be stored: {error}") from None
    return values


@cache
def schema_of(kind: type[Record]) -> CompiledSchema:
    """Return the schema of a kind in the OpenAPI document, with all schemas it refers to."""
    return CompiledSchema({"$ref": f"#/components/schemas/{_name(kind)}", "components": {"schemas": _schemas()}})


def invalid_subject(world: World, subject: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the object of an event, as the path of a field and a message.

    It is one as its kind was then: fields may have been added since, but it has an id.
    """
    name = subject.get("object") if isinstance(subject, dict) else None
    kind = next((kind for kind in world.kinds if kind.kind == name and documented(kind)), None)
    if kind is None or "id" not in subject:
        yield "data.object", "is no object of the service"
        return
    for violation in schema_of(kind).violations(subject):
        if violation.keyword not in ("required", "additionalProperties"):
            yield f"data.object.{violation.path}", violation.message


def documented(kind: type[Record]) -> bool:
    """Return whether this kind is an object of the service; other kinds are the emulator's own."""
    return _name(kind) in _schemas()


@cache
def _instants(kind: type[Record]) -> frozenset[str]:
    """Return the fields of a kind that hold instants."""
    timestamp = {"$ref": "#/components/schemas/Timestamp"}
    fields = _schemas()[_name(kind)]["properties"].items()
    return frozenset(name for name, part in fields if timestamp in part.get("allOf", ()))


def _name(kind: type[Record]) -> str:
    return "".join(word.title() for word in kind.kind.split("_"))


@cache
def _schemas() -> dict[str, Any]:
    """Return the schemas of the service's document."""
    schemas: dict[str, Any] = bundles.load("service")["components"]["schemas"]
    return schemas


# -- a page of any list


T = TypeVar("T")


def page_of(rows: Sequence[T], query: Query, shown: Callable[[T], Any] = lambda row: row) -> Page[Any]:
    """Return the page of a list that a query asks for, each row as it is sent."""
    page, size = query["page"], query["page_size"]
    return Page([*map(shown, rows[(page - 1) * size : page * size])], len(rows), page, size)


# -- objects by kind: listed, searched by text, found by what they belong to, and counted


IDS = re.compile(r"[a-z]{2,8}_[a-z0-9]{24}", re.ASCII)
"""Ids, in small letters."""

FIELD_NAMES = {"subscription_plan": "plan", "webhook_endpoint": "webhook"}
"""Kinds for which other objects have a field that is not named like the kind."""


async def index(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /objects: those of one kind, newest first; with ``query``, ``related`` or ``status`` those that match."""
    await runtime.catch_up()
    table = tables(runtime.world)[query["kind"]]
    filters: dict[str, Any] = {"page": query["page"], "page_size": query["page_size"], "text": query.get("query")}
    if "status" in query:
        if "status" not in table.kind.__struct_fields__:
            return page_of((), query)
        filters["status"] = query["status"]
    if "related" in query:
        field = field_name(type(find(runtime.world, query["related"])))
        if field not in table.kind.__struct_fields__:
            return page_of((), query)
        filters[field] = query["related"]
    return paginate(table, filters, {"text": contains})


async def count(engine: Engine, runtime: Runtime, query: Query) -> dict[str, int]:
    """GET /counts: how many objects there are of each kind; with ``related`` how many belong to that object."""
    await runtime.catch_up()
    all = tables(runtime.world)
    if "related" not in query:
        return {kind: len(table) for kind, table in all.items()}
    field = field_name(type(find(runtime.world, query["related"])))
    none = {"page": 1, "page_size": 0, field: query["related"]}
    return {kind: paginate(table, none).count for kind, table in all.items() if field in table.kind.__struct_fields__}


def tables(world: World) -> dict[str, Table[Any]]:
    """Return the tables of all kinds that the service's document knows."""
    return {kind.kind: world.table(kind) for kind in world.kinds if documented(kind)}


def field_name(kind: type[Record]) -> str:
    """Return the name of the field in which other objects hold the id of one of this kind."""
    return FIELD_NAMES.get(kind.kind, kind.kind)


def contains(record: Record, text: str) -> bool:
    """Return whether a text occurs in an object's JSON, whatever its case and Unicode form; of an id only where it starts."""
    sought, shown = folded(text), folded(encode(record).decode())
    if sought not in shown:
        return False
    return sought in IDS.sub("", shown) or any(id.startswith(sought) for id in IDS.findall(shown))


# -- names: how people call an object, where its id says nothing to them


LONGEST = 120
"""The most characters of a name."""


async def list_names(engine: Engine, runtime: Runtime, query: Query) -> dict[str, str]:
    """GET /names: the name of each of these ids; ids of nothing that is there, or that has no name, are left out."""
    await runtime.catch_up()
    language = language_of(query["language"])
    found = ((id, _found(runtime, id, language)) for id in dict.fromkeys(query["ids"].split(",")))
    return {id: describe for id, describe in found if describe}


def _found(runtime: Runtime, id: str, language: Language) -> str:
    if id.startswith("req_"):
        return request_name(runtime.journal, id)
    record = runtime.world.get(Email, id) or get(runtime.world, id)
    return describe(runtime.world, record, language) if record else ""


def request_name(journal: Journal, id: str) -> str:
    """Return method and path of a request; empty for one that is no longer in the journal."""
    entry = journal.find(id)
    return f"{entry.method} {entry.target}"[:LONGEST] if entry else ""


def describe(world: World, record: Record, language: Language) -> str:
    """Return the name of a record for people: ``Awa Diop · Premium · 5,000 XAF / month``; empty if it has none."""
    found = _NAMES.get(type(record))
    return found(world, record, language)[:LONGEST] if found else str(getattr(record, "name", ""))[:LONGEST]


def name_of(world: World, id: str | None, language: Language) -> str:
    """Return the name for people of the object with this id; empty if there is none."""
    record = get(world, id) if id else None
    return describe(world, record, language) if record else ""


def price(amount: int, currency: str, interval: str, count: int, language: Language) -> str:
    """Return a price, such as ``5,000 XAF / month``, of an amount in minor units."""
    return f"{language.money(amount, currency)} / {language.period(interval, count)}"


def paid_with(payment: PaymentIntent | Transaction, language: Language) -> str:
    """Return the name of the method that a payment was made with; empty if none was chosen."""
    used = payment.instrument
    return instrument(used.type, used.details, language) if used else ""


def instrument(type: str | None, details: Mapping[str, Any], language: Language) -> str:
    """Return ``Airtel +241 …0001`` or ``Visa …4242``: the operator, and the last digits that may be shown."""
    if type is None:
        return ""
    kind = details.get("operator") or details.get("brand") or language.gettext(PAYMENT_METHOD_TYPES[type])
    phone = details.get("phone")
    shown = f"{phone[:4]} …{phone[-4:]}" if phone else details.get("email") or ""
    last4 = details.get("last4")
    return f"{kind} {shown or (f'…{last4}' if last4 else '')}".strip()


def _joined(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _subscription(world: World, each: Subscription, language: Language) -> str:
    sold = name_of(world, each.plan or each.product, language).partition(" · ")[0]
    amount = price(each.unit_amount, each.currency, each.interval, each.interval_count, language)
    return _joined(name_of(world, each.customer, language), sold, amount)


def _invoice(world: World, each: Invoice, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    return _joined(each.invoice_number, buyer, language.money(each.total, each.currency))


def _payment_intent(world: World, each: PaymentIntent, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    return _joined(language.money(each.amount, each.currency), buyer, paid_with(each, language))


def _transaction(world: World, each: Transaction, language: Language) -> str:
    buyer = name_of(world, each.customer, language)
    return _joined(language.money(each.amount, each.currency), buyer, paid_with(each, language))


def _refund(world: World, each: Refund, language: Language) -> str:
    transaction = world.get(Transaction, each.transaction)
    buyer = name_of(world, transaction.customer, language) if transaction else ""
    return _joined(language.money(each.amount, each.currency), buyer)


def _session(world: World, each: CheckoutSession, language: Language) -> str:
    buyer = name_of(world, each.customer, language) or each.customer_email
    total = language.money(each.amount_total, each.currency) if each.currency else None
    return _joined(total, buyer)


def _payment_link(world: World, each: PaymentLink, language: Language) -> str:
    amount = language.money(each.amount, each.currency) if each.amount and each.currency else ""
    return each.name or amount


def _plan(world: World, each: SubscriptionPlan, language: Language) -> str:
    return _joined(each.name, price(each.amount, each.currency, each.interval, each.interval_count, language))


def _payment_method(world: World, each: PaymentMethod, language: Language) -> str:
    return _joined(instrument(each.type, each.details, language), name_of(world, each.customer, language))


def _email(world: World, each: Email, language: Language) -> str:
    buyer = name_of(world, each.customer.id, language) if each.customer else ""
    return _joined(each.topic.replace("_", " "), buyer, each.to)


_NAMES: Mapping[type[Record], Callable[[World, Any, Language], str]] = {
    Customer: lambda world, each, language: (
        f"{each.firstname} {each.lastname}".strip() or each.email or each.phone or ""
    ),
    Address: lambda world, each, language: _joined(each.line1, each.city),
    PaymentMethod: _payment_method,
    Product: lambda world, each, language: each.name,
    SubscriptionPlan: _plan,
    Subscription: _subscription,
    Invoice: _invoice,
    CheckoutSession: _session,
    PaymentLink: _payment_link,
    PaymentIntent: _payment_intent,
    Transaction: _transaction,
    Receipt: lambda world, each, language: _joined(each.number, language.money(each.amount, each.currency)),
    Refund: _refund,
    WebhookEndpoint: lambda world, each, language: each.name or each.url,
    WebhookDelivery: lambda world, each, language: _joined(each.event_type, name_of(world, each.webhook, language)),
    Event: lambda world, each, language: _joined(each.type, name_of(world, each.about, language)),
    Email: _email,
}
"""The kinds whose name is more than their field ``name``."""


# -- search: by id, then by name, the best match first


NAMED_BY_OTHERS = (Event, WebhookDelivery)
"""Kinds whose name is that of another object, which is found itself; these are found by their id alone."""


class SearchHit(NamedTuple):
    """A record with its name; of two hits that with the lower rank is shown first."""

    rank: int
    record: Record
    name: str


async def search(engine: Engine, runtime: Runtime, query: Query) -> Page[Any]:
    """GET /search: exact ids first, then the starts of ids, of names, of words in names, then what is within names."""
    await runtime.catch_up()
    hits = _hits(runtime.world, query["query"].strip(), language_of(query["language"]))
    # Hits of one rank stay as they were found: kind by kind, the newest first.
    return page_of(sorted(hits, key=lambda hit: hit.rank), query, _shown)


def _shown(hit: SearchHit) -> dict[str, Any]:
    record = hit.record
    return {"id": record.id, "kind": record.kind, "name": hit.name, "status": getattr(record, "status", None)}


def _hits(world: World, text: str, language: Language) -> Iterator[SearchHit]:
    # Every name begins with an empty text.
    for table in () if not text else (*tables(world).values(), world.table(Email)):
        for slot in reversed(table.order):
            record = slot.record
            name = "" if isinstance(record, NAMED_BY_OTHERS) else describe(world, record, language)
            rank = _rank(text, record.id, name)
            if rank is not None:
                yield SearchHit(rank, record, name or describe(world, record, language))


def _rank(text: str, id: str, name: str) -> int | None:
    """Return how well a record fits, 0 best; None if it does not. Within an id, which is random, a text is no match."""
    if id.startswith(text):
        return 0 if id == text else 1
    sought, known = folded(text), folded(name)
    if sought not in known:
        return None
    if known.startswith(sought):
        return 2
    return 3 if f" {sought}" in known else 4


OPERATIONS = {
    "getObject": show,
    "updateObject": update,
    "listObjects": index,
    "countObjects": count,
    "listNames": list_names,
    "searchObjects": search,
}
