"""The used share of the service, by its document and the journal: what a caller did counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from contract_tests.contract.document.reader import (
    Document,
    Part,
    operations,
    parameters,
    properties,
    request_schema,
    resolved,
)
from contract_tests.support.sandbox import CARD, CHARGED, FAILING_PHONE, Sandbox, compare_events
from emulator.document import bundles
from emulator.resources.registry import STATE_MACHINES

SERVICE = bundles.load("service")
OPERATIONS = {operation.node["operationId"]: operation for operation in operations(SERVICE)}


def report(sandbox: Sandbox, **query: str) -> Any:
    return sandbox.control.get("/coverage", **query)


def exercised(sandbox: Sandbox, group: str) -> set[str]:
    return set(report(sandbox, group=group)[group]["exercised"])


def fields(document: Document, schema: Part, before: str = "") -> Iterator[str]:
    schema = resolved(document, schema)
    if "items" in schema.node:
        yield from fields(document, Part((*schema.pointer, "items"), schema.node["items"]), before)
    for name, part in properties(document, schema).items():
        yield before + name
        yield from fields(document, part, f"{before}{name}.")


def documented() -> dict[str, set[str]]:
    """What each group is to be made of."""
    sent = {id: request_schema(SERVICE, operation) for id, operation in OPERATIONS.items()}
    parameters_of = {id: parameters(SERVICE, operation) for id, operation in OPERATIONS.items()}
    rows = [(life.kind.kind, row) for life in STATE_MACHINES for row in life.rows]
    schemas = SERVICE["components"]["schemas"]
    return {
        "operations": set(OPERATIONS),
        "statuses": {
            f"{id} {status}"
            for id, operation in OPERATIONS.items()
            for status in operation.node["responses"]
        },
        "fields": {
            f"{id} {name}"
            for id, schema in sent.items()
            if schema
            for name in fields(SERVICE, schema)
        },
        "parameters": {
            f"{id} {parameter['name']}"
            for id in parameters_of
            for parameter in parameters_of[id]
            if parameter["in"] == "query"
        },
        "states": {f"{kind} {row.target}" for kind, row in rows},
        "moves": {
            f"{kind} {row.source or 'new'} → {row.target}"
            for kind, row in rows
            if row.source != row.target
        },
        "events": set(schemas["EventType"]["enum"]) - {"webhook.ping", "webhook.test"},
        "errors": set(schemas["ErrorCode"]["enum"]),
    }


def test_the_coverage_of_a_world_made_again_begins_from_its_start(sandbox: Sandbox) -> None:
    sandbox.customer()
    sandbox.control.post("/reset")
    assert report(sandbox)["request_count"] == 0


def test_the_coverage_tells_the_exercised_parts_of_the_document_from_the_missing(
    sandbox: Sandbox,
) -> None:
    subscription = sandbox.subscribe()["id"]
    sandbox.advance("31d")
    sandbox.api.get("/invoices/", status="paid", page_size=1)
    sandbox.session()
    product = {"name": "Mug", "unit_amount": "much", "currency": "XAF"}
    sandbox.api.rejected("POST", "/products/", 422, "INVALID_FIELD", json=product)
    sandbox.api.request("GET", f"/subscriptions/{subscription}/", params={"page": "x"})
    coverage = report(sandbox)
    calls = ["listCustomers", "createCustomer", "createSubscriptionPlan", "createSubscription"]
    calls += ["listInvoices", "createCheckoutSession", "createProduct", "getSubscription"]
    assert coverage["operations"]["calls"] == dict.fromkeys(calls, 1)
    assert coverage["request_count"] == 8
    for group, done, missing in (
        ("statuses", {"createSubscription 201", "createProduct 422"}, {"createSubscription 422"}),
        (
            "fields",
            {"createSubscription plan", "createCheckoutSession line_items.quantity"},
            {"createProduct name"},
        ),
        ("parameters", {"listInvoices status", "listInvoices page_size"}, {"listInvoices page"}),
        ("states", {"invoice draft", "invoice open", "invoice paid"}, {"invoice void"}),
        ("moves", {"invoice new → draft", "invoice open → paid"}, {"invoice open → void"}),
        ("errors", {"INVALID_FIELD"}, {"MISSING_FIELD"}),
    ):
        assert done <= {*coverage[group]["exercised"]}, group
        assert missing <= {*coverage[group]["missing"]}, group
    assert coverage["parameters"]["count"] == 2
    compare_events(
        Counter(coverage["events"]["exercised"]),
        ("customer.created", "subscription.created", *CHARGED),
    )
    for group, names in documented().items():
        own = coverage[group]
        assert sorted(own["exercised"] + own["missing"]) == sorted(names)
        assert (own["count"], own["total"]) == (len(own["exercised"]), len(names))
        assert own["share"] == round(own["count"] / own["total"], 4)


def test_some_groups_of_the_coverage_can_be_had_alone(sandbox: Sandbox) -> None:
    alone = report(sandbox, group="events,operations")
    assert alone.keys() == {"object", "app", "request_count", "events", "operations"}


def test_an_unknown_group_of_the_coverage_is_rejected(sandbox: Sandbox) -> None:
    sandbox.control.rejected(
        "GET", "/coverage", 422, "INVALID_FILTER_PARAM", params={"group": "evnts"}
    )


def test_the_codes_of_failed_payments_count_as_exercised_errors(sandbox: Sandbox) -> None:
    sandbox.subscribe(phone=FAILING_PHONE)
    assert exercised(sandbox, "errors") == {"INSUFFICIENT_FUNDS"}


def test_the_codes_of_failed_refunds_count_as_exercised_errors(sandbox: Sandbox) -> None:
    refund = sandbox.api.post("/refunds/", {"transaction": sandbox.deposit()["id"], "amount": 100})
    sandbox.control.post(
        f"/refunds/{refund['id']}/answer", {"result": "failed", "code": "UPSTREAM_ERROR"}
    )
    assert exercised(sandbox, "errors") == {"UPSTREAM_ERROR"}


def test_the_codes_of_responses_count_in_every_shape_of_error(sandbox: Sandbox) -> None:
    """Those of the nested shape count as the document lists them (B-10)."""
    body = {"email": "buyer0@example.com", "name": "Awa Diop"}
    for _ in range(2):
        sandbox.api.request("POST", "/customers/", json=body)
    sandbox.settings(error_shape="nested")
    sandbox.api.request("GET", "/customers/nobody/")
    assert {"DUPLICATE_EMAIL", "CUSTOMER_NOT_FOUND"} <= exercised(sandbox, "errors")


def test_no_value_that_was_sent_is_repeated(sandbox: Sandbox) -> None:
    """Nor are masked ones. A masked number does not hide the fields beside it.

    Calls of the control API do not count, but their effects do.
    """
    customer = sandbox.customer(
        name="Awa Diop", metadata={"secret": "sk_test_hidden", "at": 1700000000000}
    )
    sandbox.api.post("/payment-methods/", {"customer": customer["id"], **CARD})
    sandbox.control.post("/trigger", {"event": "invoice.paid"})
    coverage = report(sandbox)
    assert {"createCustomer metadata", "createPaymentMethod number"} <= set(
        coverage["fields"]["exercised"]
    )
    assert (coverage["request_count"], "invoice paid" in coverage["states"]["exercised"]) == (
        3,
        True,
    )
    text = json.dumps(coverage)
    for value in (
        "4242",
        "Awa",
        "sk_test",
        "secret",
        "1700000",
        "****",
        customer["email"],
        customer["id"],
    ):
        assert value not in text
