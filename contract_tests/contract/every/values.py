"""Values that a schema of the service's document forbids, or just allows, by their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from contract_tests.contract.document.reader import (
    Document,
    Operation,
    Part,
    alternatives,
    flat,
    operations,
    parameters,
    properties,
    request_schema,
)
from emulator.checks.document.object_factory import PREREQUISITES, ObjectFactory
from emulator.client.messages import ApiResponse
from emulator.document import bundles

SERVICE: Document = bundles.load("service")

Place = tuple[str, ...]
"""The way to a value in a body; an entry of a list by its number."""

OTHER_TYPES: dict[str, tuple[Any, ...]] = {
    "string": (7, [], {}),
    "integer": ("7", 7.0, True, []),
    "number": ("7", True),
    "boolean": ("yes", 1),
    "array": ({}, "x"),
    "object": ([], "x"),
}
"""Values of other types than that of a schema. A number with a point is no integer (B-23)."""

NO_URLS = (
    *("HTTPS://127.0.0.1:9/", "Https://127.0.0.1:9/", "HTTP://127.0.0.1:9/", "https:"),
    *("ftp://127.0.0.1:9/", "//127.0.0.1:9/", "", "https://user@127.0.0.1:9/", "https://"),
    *("https://boutique-éwé.example/", "https://127.0.0.1:70000/", "https://127.0.0.1:9/a b"),
    *(" https://127.0.0.1:9/", "https://127.0.0.1:9/\n", "https:///thanks", "basket.webp"),
)

URLS = ("https://127.0.0.1:9/", "https://127.0.0.1:9", "https://[::1]:9/a?b#c")
"""Addresses at which nothing responds, which only a webhook would notice."""

OTHER_FORMS: dict[str, tuple[str, ...]] = {
    "not-blank": ("", " \t", "\u00a0"),
    "email": ("awa", "awa@", "@example.com", "a b@example.com"),
    "e164": (
        "077123456",
        "24177123456",
        "+123456",
        "+1234567890123456",
        "+0123456789",
        "+241 77 12 34 56",
    ),
    "date": ("31/12/2026", "2026-02-30", "2026-01-01T00:00:00Z"),
    "instant": (
        *("2026-01-01 00:00:00Z", "2026-13-01", "soon", "1767225600", "2026-01-01T00:00Z", ""),
        *("2099-W20", "2099-W20-1", "2099-032", "2099032", "20990102", "20990102T000000Z"),
    ),
    "uri": NO_URLS,
    "app-url": (*NO_URLS, "shop.example.com", "javascript:alert(1)", "https:/shop.example.com"),
    "page-url": (
        *NO_URLS,
        "http://shop.example.com",
        "http://localhost.example.com",
        "myapp://cart",
    ),
    "https-uri": (*NO_URLS, "http://localhost/a.png"),
    "domain": ("https://example.com", "example.com/shop", "example.com:443", "*.example.com", ""),
    "ipv4-network": (
        "203.0.113.7/24",
        "203.0.113.0/33",
        "203.0.113.256",
        "203.0.113",
        "::1",
        "localhost",
        "",
    ),
    "country": ("Gabon", "ga", "GAB", "ZZ"),
}
"""Texts that are not of a format."""

FORMATS: dict[str | None, str] = {
    **dict.fromkeys((None, "not-blank"), "Okoumé"),
    **dict.fromkeys(("uri", "https-uri", "page-url"), "https://other.example.com/"),
    "email": "other@example.com",
    "e164": "+24166123456",
    "app-url": "myapp://other.example.com/",
    "date": "2026-03-01",
    "instant": "2026-03-01T00:00:00.000Z",
    "domain": "other.example.com",
    "ipv4-network": "127.0.0.1",
    "country": "FR",
    "currency": "EUR",
}
"""A text of each format."""


def of_service(method: str = "") -> list[Operation]:
    return [operation for operation in operations(SERVICE) if method in ("", operation.method)]


def id_of(operation: Operation) -> str:
    return str(operation.node["operationId"])


BY_ID = {id_of(operation): operation for operation in of_service()}

NESTED = [operation for operation in of_service() if operation.path.count("{") > 1]
"""Operations on what belongs to another object."""

SCHEMAS: dict[str, Part] = {
    id: schema
    for id, operation in BY_ID.items()
    if (schema := request_schema(SERVICE, operation)) and properties(SERVICE, schema)
}
"""The schema of the body of each operation that takes fields."""


def valid_request(
    factory: ObjectFactory, operation: Operation, scene: dict[str, Any]
) -> tuple[str, Any]:
    """Return path and body of a request that succeeds; the scene gets the objects that it needs."""
    id = id_of(operation)
    path = operation.path.format(**factory.parameters(id, operation.path, scene))
    has_body = operation.method in ("POST", "PATCH")
    return path, factory.body(id, operation.path, operation.method, scene) if has_body else None


def fields_of(id: str) -> dict[str, Part]:
    return properties(SERVICE, SCHEMAS[id])


# -- requests with which an operation can succeed, for whatever varies one of their fields


PRICE = {"plan": ..., "unit_amount": 500, "interval": "month"}

CARD = {
    "type": "bank_card",
    "phone": ...,
    "number": "4242 4242 4242 4242",
    "exp_month": 12,
    "exp_year": 2030,
    "cvc": "123",
}

WITH: dict[str, dict[str, Any]] = {
    **{
        f"createSubscription.{field}": PRICE
        for field in ("unit_amount", "currency", "interval", "interval_count")
    },
    "createCheckoutSession.subscription_data": {
        "mode": "subscription",
        "subscription_data": {"interval": "month"},
    },
    "createPaymentLink.products": {
        "payment_link_type": "product",
        "amount": ...,
        "products": ["{product.id}"],
    },
    "createPaymentLink.max_usage": {"validity_type": "limited", "max_usage": 5},
    "createPaymentLink.expires_at": {"validity_type": "limited", "max_usage": 5},
    "createPaymentIntent.customer": {"payment_method": ...},
    "createPaymentIntent.payment_method_types": {"payment_method": ...},
    **{
        f"createPaymentMethod.{field}": CARD for field in ("number", "exp_month", "exp_year", "cvc")
    },
    "createPaymentMethod.iban": {
        "type": "bank_transfer",
        "phone": ...,
        "iban": "FR14 2004 1010 0505 0001 3M02 606",
    },
    "createPaymentMethod.email": {"type": "paypal", "phone": ..., "email": "awa@example.com"},
}
"""What has to be sent along with a field; ``...`` leaves something out."""

OBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "updatePaymentLink.max_usage": (
        "link",
        {"validity_type": "limited", "expires_at": "2099-01-01", "max_usage": 5},
    ),
    "updatePaymentLink.expires_at": ("link", {"validity_type": "limited", "max_usage": 5}),
}
"""Objects unlike the prerequisites, by kind: only then can an operation change a field."""


def request(
    factory: ObjectFactory, operation: Operation, field: str, scene: dict[str, Any]
) -> tuple[str, Any]:
    """Return path and body of a request that can vary this field; the scene gets its objects."""
    operation_id = str(operation.node["operationId"])
    name = f"{operation_id}.{field}"
    if name in OBJECTS and OBJECTS[name][0] not in scene:
        kind, fields = OBJECTS[name]
        body = factory.filled(PREREQUISITES[kind].body, scene) | fields
        scene[kind] = factory.send("POST", PREREQUISITES[kind].path, body).json()
    path = operation.path.format(**factory.parameters(operation_id, operation.path, scene))
    body = factory.body(operation_id, operation.path, operation.method, scene)
    more = factory.filled(WITH.get(name, {}), scene)
    return path, {name: value for name, value in {**body, **more}.items() if value is not ...}


class Subject:
    """One operation with a body, on objects of its own; ``path`` is that of the last body."""

    def __init__(self, id: str, factory: ObjectFactory) -> None:
        self.id, self.operation = id, BY_ID[id]
        self.factory, self.scene = factory, dict[str, Any]()
        self.path = ""

    def body(self, field: str = "") -> dict[str, Any]:
        """Return a body with which the operation can succeed, for whatever varies this field."""
        self.path, body = request(self.factory, self.operation, field, self.scene)
        return dict(body)

    def send(self, body: dict[str, Any]) -> ApiResponse:
        return self.factory.send(self.operation.method, self.path, body)


def query_of(operation: Operation, document: Document = SERVICE) -> dict[str, Part]:
    filters = (
        parameter for parameter in parameters(document, operation) if parameter["in"] == "query"
    )
    return {
        parameter["name"]: flat(document, Part((), parameter["schema"])) for parameter in filters
    }


def places(part: Part, within: Place = ()) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield each place of a value of this schema, with its keywords."""
    pointer, node = flat(SERVICE, part)
    yield within, node
    for name, inner in properties(SERVICE, part).items():
        yield from places(inner, (*within, name))
    if "items" in node:
        yield from places(Part((*pointer, "items"), node["items"]), (*within, "0"))


def forbidden(node: dict[str, Any], valid: Any) -> Iterator[Any]:
    """Yield values that a schema's keywords forbid; ``valid`` is an entry of a list."""
    yield from OTHER_TYPES.get(node.get("type", ""), ())
    yield from OTHER_FORMS.get(node.get("format", ""), ())
    yield from ["nope"] if "enum" in node and node["type"] == "string" else []
    yield from [node["minimum"] - 1] if "minimum" in node else []
    yield from [node["maximum"] + 1] if "maximum" in node else []
    yield from [""] if node.get("minLength") else []
    yield from ["x" * (node["maxLength"] + 1)] if "maxLength" in node else []
    yield from [[]] if node.get("minItems") else []
    yield from [[valid] * (node["maxItems"] + 1)] if "maxItems" in node else []
    yield from [[valid, valid]] if node.get("uniqueItems") else []


def just_allowed(node: dict[str, Any], valid: Any) -> Iterator[Any]:
    """Yield values at the limits that the keywords of a schema name."""
    yield from (node[limit] for limit in ("minimum", "maximum") if limit in node)
    is_free = not {"format", "pattern", "enum"} & node.keys() or node.get("format") == "not-blank"
    if node.get("type") == "string" and is_free:
        yield from (letter * node["maxLength"] for letter in "né" if "maxLength" in node)
        yield "n" * max(node.get("minLength", 0), 1)
    yield from node["enum"] if "enum" in node and node["type"] == "string" else []
    yield from URLS if node.get("format") in ("uri", "app-url", "page-url", "https-uri") else []
    if node.get("type") == "array" and "maxItems" in node and not node.get("uniqueItems"):
        yield [valid] * node["maxItems"]


NOT_ALONE = {"createPaymentMethod.type"}
"""Fields that are not tried alone: another type has other fields; requests with it have them."""


def with_value(body: Any, place: Place, value: Any) -> Any:
    """Return the body with a value at a place; objects and lists that are not there are made."""
    if not place:
        return value
    name, *rest = place
    if name.isdigit():
        entries = body if isinstance(body, list) and body else [None]
        return [
            *entries[: int(name)],
            with_value(entries[int(name)], tuple(rest), value),
            *entries[int(name) + 1 :],
        ]
    body = body if isinstance(body, dict) else {}
    return {**body, name: with_value(body.get(name), tuple(rest), value)}


def example(part: Part, unlike: Any = None) -> Any:
    """Return a value of a schema that is another than its default and than this one."""
    pointer, node = flat(SERVICE, part)
    other_than = unlike if unlike is not None else node.get("default")
    if "type" not in node:
        return example(next(iter(alternatives(Part(pointer, node)))), other_than)
    if "enum" in node and node.get("format") not in ("country", "currency"):
        return next(
            value for value in reversed(node["enum"]) if value not in (node.get("default"), unlike)
        )
    if node["type"] == "object":
        return {name: example(member) for name, member in properties(SERVICE, part).items()} or {
            "loyalty": "platinum"
        }
    if node["type"] == "array":
        return [example(Part((*pointer, "items"), node["items"]))]
    plain = {
        "boolean": not other_than,
        "integer": node.get("minimum", 0) + 1 if "maximum" in node else 700,
    }
    return plain.get(node["type"], FORMATS.get(node.get("format")))
