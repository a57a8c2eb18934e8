"""Request fields ↔ rules: every field that the document lets callers send is used, and shown again in the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from contract_tests.contract.document.reader import (
    Document,
    Operation,
    Part,
    alternatives,
    operations,
    properties,
    request_schema,
    resolved,
    responses,
)
from contract_tests.contract.document.request_bodies import OBJECTS, WITH, request
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.object_factory import OF_FIELD, ObjectFactory, webhook_receiver
from emulator.client.messages import ApiResponse
from emulator.document import bundles
from emulator.document.tree import at

SERVICE: Document = bundles.load("service")

Answer = dict[str, Any]

WRITE_ONLY: dict[str, str] = {
    "createPaymentMethod.number": "the number of a card is not stored; its last four digits are shown",
    "createPaymentMethod.cvc": "the code of a card is not stored",
    "createPaymentMethod.iban": "the number of an account is not shown; its last four digits are",
    "createCheckoutSession.subscription_data": "it is shown by the subscription that the session starts",
    "finalizeInvoice.auto_send": "it has an email sent; test_invoices looks at that",
}
"""Fields that no answer shows, each with the cause."""


def days(since: str, until: str) -> int:
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).days


def seconds(since: str, until: str) -> int:
    return round((datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds())


def name_of(customer: Answer) -> str:
    return f"{customer['firstname']} {customer['lastname']}"


SHOWN: dict[str, Callable[[Answer], Any]] = {
    "createCustomer.name": name_of,
    "updateCustomer.name": name_of,
    "createSubscription.trial_period_days": lambda answer: (
        days(answer["trial_start"], answer["trial_end"]) if answer["trial_end"] else None
    ),
    "createCheckoutSession.expires_in": lambda answer: seconds(answer["created_at"], answer["expires_at"]),
    "capturePaymentIntent.amount": lambda answer: answer["amount_received"],
    "testWebhook.event": lambda answer: answer["event_type"],
    "createPaymentMethod.phone": lambda answer: answer["details"]["phone"],
    "createPaymentMethod.exp_month": lambda answer: answer["details"]["exp_month"],
    "createPaymentMethod.exp_year": lambda answer: answer["details"]["exp_year"],
    "createPaymentMethod.email": lambda answer: answer["details"]["email"],
}
"""What of an answer shows a field that is shown by another name or in another form: the value as it was sent."""

LINES = [{"product": "{product.id}", "quantity": 3}, {"description": "Delivery", "unit_amount": 700, "quantity": 2}]

VALUES: dict[str, Any] = {
    "createCustomer.name": "Awa Ndong",
    "updateCustomer.name": "Awa Ndong",
    "createInvoice.line_items": LINES,
    "updateInvoice.line_items": LINES,
    "createCheckoutSession.line_items": LINES,
    "createCheckoutSession.success_url": "https://shop.example.com/other",
    "createCheckoutSession.subscription_data": {"interval": "year"},
    "createWebhook.url": "{receiver}/other",
    "updateWebhook.url": "{receiver}/other",
    "createPaymentMethod.number": "5555 5555 5555 4444",
    "createPaymentMethod.exp_year": 2031,
    "createPaymentMethod.cvc": "321",
    "createPaymentMethod.iban": "GB29 NWBK 6016 1331 9268 19",
}
"""Values that do not follow from a schema; ``{kind}`` stands for an object, as the conformance suite has it."""

NOT_ALONE: dict[str, str] = {
    "createPaymentMethod.type": "another type takes other fields; those are sent, each with its type",
}
"""Fields that are not tried by themselves, each with the cause."""


class Case:
    """A field of an operation's request."""

    def __init__(self, operation: Operation, field: str, schema: Part) -> None:
        self.operation, self.field, self.schema = operation, field, schema
        self.operation_id = str(operation.node["operationId"])
        self.name = f"{self.operation_id}.{field}"

    def shown(self, answer: Answer) -> Any:
        """Return the value of the field by an answer."""
        return SHOWN[self.name](answer) if self.name in SHOWN else answer.get(self.field)


def cases() -> Iterator[Case]:
    for operation in operations(SERVICE):
        schema = request_schema(SERVICE, operation) if operation.method in ("POST", "PATCH") else None
        for field, part in properties(SERVICE, schema).items() if schema else ():
            yield Case(operation, field, part)


CASES = {case.name: case for case in cases() if case.name not in NOT_ALONE}


def example(part: Part, unlike: Any = None) -> Any:
    """Return a value of a schema that is another than its default and than this one."""
    part = resolved(SERVICE, part)
    node, default = part.node, part.node.get("default")
    if "type" not in node:
        return example(next(iter(alternatives(part))), unlike if unlike is not None else default)
    if "enum" in node and node.get("format") not in ("country", "currency"):
        return next(value for value in reversed(node["enum"]) if value not in (default, unlike))
    if node["type"] == "object":
        named = {name: example(each) for name, each in properties(SERVICE, part).items()}
        return named or {"loyalty": "platinum"}
    if node["type"] == "array":
        return [example(Part((*part.pointer, "items"), node["items"]))]
    return _plain(node, unlike if unlike is not None else default)


def _plain(node: dict[str, Any], unlike: Any) -> Any:
    if node["type"] == "boolean":
        return not unlike
    if node["type"] == "integer":
        return node.get("minimum", 0) + 1 if "maximum" in node else 700
    return FORMATS[node.get("format")]


FORMATS: dict[str | None, str] = {
    None: "Okoumé",
    "not-blank": "Okoumé",
    "email": "other@example.com",
    "e164": "+24166123456",
    "uri": "https://other.example.com/",
    "https-uri": "https://other.example.com/",
    "page-url": "https://other.example.com/",
    "app-url": "myapp://other.example.com/",
    "date": "2026-03-01",
    "date-time": "2026-03-01T00:00:00.000Z",
    "domain": "other.example.com",
    "ipv4-network": "127.0.0.1",
    "country": "FR",
    "currency": "EUR",
}


class Sender:
    """Calls operations on objects of their own."""

    def __init__(self, case: Case, factory: ObjectFactory) -> None:
        self._case, self._factory = case, factory

    def without_field(self) -> Answer:
        """Return the answer to a request that does without the field if it can."""
        return self._send(self._body({}))

    def with_field(self, unlike: Any) -> tuple[Any, Answer]:
        """Return the value of the field, another than this one, and the answer."""
        scene: dict[str, Any] = {}
        body = self._body(scene)
        value = body[self._case.field] = self._value(scene, unlike)
        return value, self._send(body)

    def with_null(self) -> ApiResponse:
        """Return the response to a request in which the field is null."""
        return self._respond(self._body({}) | {self._case.field: None})

    def left_out(self) -> ApiResponse:
        """Return the response to the same request without the field."""
        body = self._body({})
        body.pop(self._case.field, None)
        return self._respond(body)

    def _body(self, scene: dict[str, Any]) -> dict[str, Any]:
        self._path, body = request(self._factory, self._case.operation, self._case.field, scene)
        return dict(body)

    def _value(self, scene: dict[str, Any], unlike: Any) -> Any:
        case, factory = self._case, self._factory
        # Other objects than those of the scene, but of the same customer.
        others = {"customer": scene["customer"]} if case.field != "customer" and "customer" in scene else {}
        if case.name in VALUES:
            return factory.filled(VALUES[case.name], others)
        value = example(case.schema, unlike)
        return factory.with_references({case.field: value}, others)[case.field] if case.field in OF_FIELD else value

    def _respond(self, body: dict[str, Any]) -> ApiResponse:
        return self._factory.send(self._case.operation.method, self._path, body)

    def _send(self, body: dict[str, Any]) -> Answer:
        response = self._respond(body)
        assert response.is_success, f"{self._case.name}: {body} -> {response.text}"
        answer: Answer = response.json()
        return answer


@pytest.fixture
def factory(sandbox: Sandbox) -> Iterator[ObjectFactory]:
    """Makes what operations need, in the world of this test."""
    with webhook_receiver() as receiver:
        headers = {"Authorization": f"Bearer {sandbox.key}"}
        made = ObjectFactory(f"{sandbox.url}/v1", headers, f"{receiver.url}/hook", "fields")
        made.learn(SERVICE)
        yield made
        made.connections.disconnect()


@pytest.mark.parametrize("name", CASES)
def test_a_field_that_is_sent_is_used(name: str, factory: ObjectFactory) -> None:
    """It is in the answer, and without it the answer is another one."""
    case = CASES[name]
    sender = Sender(case, factory)
    former = case.shown(sender.without_field())
    value, answer = sender.with_field(former)
    if name in WRITE_ONLY:
        assert case.field not in answer
    else:
        assert holds(case.shown(answer), value), answer
        assert not holds(former, value), "the answer shows the value without the field, too"


def holds(shown: Any, value: Any) -> bool:
    """Return whether a value is shown as it was sent; objects may show more than that."""
    if isinstance(shown, dict) and isinstance(value, dict):
        return all(holds(shown.get(name, "nothing"), each) for name, each in value.items())
    if isinstance(shown, list) and isinstance(value, list) and len(shown) == len(value):
        return all(map(holds, shown, value))
    return bool(shown == value)


def shows_null(case: Case) -> bool:
    """Return whether the GET of the object can show the field as null."""
    path = case.operation.path
    places = (f"{path}{{id}}/", f"{path}{{addr_id}}/", path, f"{path.rsplit('/', 2)[0]}/")
    get = next(GETS[place] for place in places if place in GETS)
    answer = dict(responses(SERVICE, get))["200"]
    media = ("content", "application/json", "schema")
    shown = properties(SERVICE, Part((*answer.pointer, *media), at(answer.node, media)))
    return case.field in shown and bool(resolved(SERVICE, shown[case.field]).node.get("nullable"))


def outcome(case: Case, response: ApiResponse) -> tuple[int, str | None, str]:
    """Status and error code of a response, and what it shows of the field; an id of whatever object."""
    answer = response.json()
    code = answer.get("code") if not response.is_success else None
    return response.status_code, code, re.sub(r"_[0-9A-Za-z]{24}|fields-\d+", "", str(case.shown(answer)))


GETS = {operation.path: operation for operation in operations(SERVICE) if operation.method == "GET"}


KEPT = ("updateCustomer.email", "updateSubscription.plan")
"""Fields that null does not take away (B-12)."""


@pytest.mark.parametrize("name", CASES)
def test_null_is_as_left_out_or_clears_or_is_wrong(name: str, factory: ObjectFactory) -> None:
    """B-12: "null in the body of a POST: as left out where GET can show the field as null, else a wrong value; in a
    PATCH it clears such a field, except one that the POST of that resource requires".
    """
    case = CASES[name]
    sender = Sender(case, factory)
    response = sender.with_null()
    if name in KEPT or not shows_null(case):
        assert (response.status_code, [*response.json()["errors"]]) == (422, [case.field]), response.text
    elif case.operation.method == "PATCH":
        assert (response.status_code, case.shown(response.json())) == (200, None), response.text
    else:
        assert outcome(case, response) == outcome(case, sender.left_out())


def test_the_lists_name_fields_of_the_document() -> None:
    listed = {*WRITE_ONLY, *SHOWN, *VALUES, *WITH, *OBJECTS, *NOT_ALONE}
    assert listed - {case.name for case in cases()} == set()
