"""Every field that callers may send is used, shown, and may be null where GET says so (B-12)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, cast

import pytest

from contract_tests.contract.document.reader import Part, flat, properties, resolved, responses
from contract_tests.contract.every.values import (
    BY_ID,
    NOT_ALONE,
    OBJECTS,
    SCHEMAS,
    SERVICE,
    WITH,
    Subject,
    example,
    fields_of,
    of_service,
)
from contract_tests.support.sandbox import Sandbox
from emulator.checks.document.object_factory import OF_FIELD, ObjectFactory
from emulator.client.messages import ApiResponse
from emulator.document.tree import at

Response = dict[str, Any]

WRITE_ONLY = {
    "createPaymentMethod.number",  # not stored; its last four digits are shown
    "createPaymentMethod.cvc",  # not stored
    "createPaymentMethod.iban",  # its last four digits are shown
    "createCheckoutSession.subscription_data",  # shown by the subscription that the session starts
    "finalizeInvoice.auto_send",  # it has an email sent; test_invoices looks at that
}
"""Fields that no response shows."""


def span(since: str, until: str) -> float:
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds()


def name_of(customer: Response) -> str:
    return f"{customer['firstname']} {customer['lastname']}"


SHOWN: dict[str, Callable[[Response], Any]] = {
    "createCustomer.name": name_of,
    "updateCustomer.name": name_of,
    "createSubscription.trial_period_days": lambda response: (
        span(response["trial_start"], response["trial_end"]) / 86_400
        if response["trial_end"]
        else None
    ),
    "createCheckoutSession.expires_in": lambda response: span(
        response["created_at"], response["expires_at"]
    ),
    "capturePaymentIntent.amount": lambda response: response["amount_received"],
    "testWebhook.event": lambda response: response["event_type"],
    **{
        f"createPaymentMethod.{field}": lambda response, field=field: response["details"][field]
        for field in ("phone", "exp_month", "exp_year", "email")
    },
}
"""The part of a response that shows a field under another name or form: the value as sent."""

LINES = [
    {"product": "{product.id}", "quantity": 3},
    {"description": "Delivery", "unit_amount": 700, "quantity": 2},
]

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
"""Values that follow from no schema; ``{kind}`` is an object, as in the conformance suite."""

CASES = {f"{id}.{field}": part for id in SCHEMAS for field, part in fields_of(id).items()}
for _name in NOT_ALONE:
    del CASES[_name]


class Case(Subject):
    """A field of an operation's request; each body is sent to an object of its own."""

    def __init__(self, name: str, factory: ObjectFactory) -> None:
        id, _, self.field = name.partition(".")
        super().__init__(id, factory)
        self.name, self.is_change = name, self.operation.method == "PATCH"

    def shown(self, response: Response) -> Any:
        return SHOWN[self.name](response) if self.name in SHOWN else response.get(self.field)

    def without_field(self) -> dict[str, Any]:
        """Return a body that does without the field if it can."""
        self.scene.clear()
        return self.body(self.field)

    def with_field(self, unlike: Any) -> dict[str, Any]:
        """Return a body with another value of the field; a change has no other field."""
        body = self.without_field()
        if self.is_change:
            body = {}
        # Other objects than those of the scene, but of the same customer.
        is_kept = self.field != "customer" and "customer" in self.scene
        others = {"customer": self.scene["customer"]} if is_kept else {}
        if self.name in VALUES:
            return {**body, self.field: self.factory.filled(VALUES[self.name], others)}
        value = {self.field: example(CASES[self.name], unlike)}
        return {
            **body,
            **(self.factory.with_references(value, others) if self.field in OF_FIELD else value),
        }

    def left_out(self) -> ApiResponse:
        body = self.without_field()
        body.pop(self.field, None)
        return self.send(body)

    def response(self, body: dict[str, Any]) -> Response:
        sent = self.send(body)
        assert sent.is_success, f"{self.name}: {body} -> {sent.text}"
        return cast("Response", sent.json())


BESIDE: dict[str, set[str]] = {
    "updateCustomer.name": {"firstname", "lastname"},
    "updateInvoice.line_items": {"subtotal", "total", "amount_remaining"},
    "updateSubscription.plan": {"product", "unit_amount"},
    "updatePaymentLink.expires_at": {"max_usage"},
}
"""What a change of a field changes besides it."""


@pytest.mark.parametrize("name", CASES)
def test_a_field_that_is_sent_is_used(name: str, factory: ObjectFactory, sandbox: Sandbox) -> None:
    """It is in the response, which differs without it. A PATCH changes that field alone (B-21)."""
    case = Case(name, factory)
    former = case.shown(case.response(case.without_field()))
    body = case.with_field(former)
    before = sandbox.api.get(case.path) if case.is_change else {}
    sandbox.advance("1h")
    value, response = body[case.field], case.response(body)
    if name in WRITE_ONLY:
        assert case.field not in response
    else:
        assert holds(case.shown(response), value), response
        assert not holds(former, value), "the answer shows the value without the field, too"
    if before:
        assert sandbox.api.get(case.path) == response
        changed = {name for name in response if response[name] != before[name]}
        assert changed - BESIDE.get(name, set()) - {case.field} == {"updated_at"}
        assert response["updated_at"] == sandbox.now


DEFAULTS = {
    name: flat(SERVICE, schema).node["default"]
    for name, schema in CASES.items()
    if BY_ID[name.split(".")[0]].method == "POST"
    and "default" in flat(SERVICE, schema).node
    and name not in WRITE_ONLY
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_left_out_has_the_default_of_the_document(
    name: str, factory: ObjectFactory
) -> None:
    case = Case(name, factory)
    response = case.left_out()
    assert case.shown(response.json()) == DEFAULTS[name], response.text


def holds(actual: Any, value: Any) -> bool:
    """Return whether a value is shown as it was sent; objects may show more than that."""
    if isinstance(actual, dict) and isinstance(value, dict):
        return all(holds(actual.get(name, "nothing"), member) for name, member in value.items())
    if isinstance(actual, list) and isinstance(value, list) and len(actual) == len(value):
        return all(map(holds, actual, value))
    return bool(actual == value)


def shows_null(case: Case) -> bool:
    path = case.operation.path
    paths = (f"{path}{{id}}/", f"{path}{{addr_id}}/", path, f"{path.rsplit('/', 2)[0]}/")
    get = next(GETS[path] for path in paths if path in GETS)
    response = dict(responses(SERVICE, get))["200"]
    media = ("content", "application/json", "schema")
    declared = properties(SERVICE, Part((*response.pointer, *media), at(response.node, media)))
    return case.field in declared and bool(
        resolved(SERVICE, declared[case.field]).node.get("nullable")
    )


def outcome(case: Case, response: ApiResponse) -> tuple[int, str | None, str]:
    """Return a response's status, error code and shown field; an id of any object."""
    body = response.json()
    code = body.get("code") if not response.is_success else None
    return (
        response.status_code,
        code,
        re.sub(r"_[0-9A-Za-z]{24}|every-\d+", "", str(case.shown(body))),
    )


GETS = {operation.path: operation for operation in of_service("GET")}


def is_kept(case: Case) -> bool:
    """Return whether null keeps a field: one that the POST requires, or a plan (B-12)."""
    create = next(
        (id for id in SCHEMAS if BY_ID[id].path == case.operation.path.rpartition("{")[0]), None
    )
    required = flat(SERVICE, SCHEMAS[create]).node.get("required", ()) if create else ()
    return case.is_change and (case.field in required or case.name == "updateSubscription.plan")


def meaning_of_null(case: Case) -> str:
    if is_kept(case) or not shows_null(case):
        return "wrong"
    return "clears" if case.is_change else "as left out"


def test_each_meaning_of_null_has_its_fields(factory: ObjectFactory) -> None:
    """Else a clause of the rule would have nothing to decide below."""
    cases = [Case(name, factory) for name in CASES]
    meanings = {(meaning_of_null(case), case.is_change) for case in cases}
    assert meanings == {("wrong", False), ("wrong", True), ("clears", True), ("as left out", False)}
    assert any(is_kept(case) and shows_null(case) for case in cases)


@pytest.mark.parametrize("name", CASES)
def test_null_is_as_left_out_or_clears_or_is_wrong(name: str, factory: ObjectFactory) -> None:
    """B-12: null in a POST is as left out if GET can show the field as null, else a wrong value.

    In a PATCH it clears such a field, except one that the POST of that resource requires.
    """
    case = Case(name, factory)
    response = case.send(case.without_field() | {case.field: None})
    meaning = meaning_of_null(case)
    if meaning == "wrong":
        assert (response.status_code, [*response.json()["errors"]]) == (422, [case.field]), (
            response.text
        )
    elif meaning == "clears":
        assert (response.status_code, case.shown(response.json())) == (200, None), response.text
    else:
        assert outcome(case, response) == outcome(case, case.left_out())


def test_the_lists_name_fields_of_the_document() -> None:
    listed = {*WRITE_ONLY, *SHOWN, *VALUES, *WITH, *OBJECTS, *NOT_ALONE}
    assert listed - {f"{id}.{field}" for id in SCHEMAS for field in fields_of(id)} == set()
