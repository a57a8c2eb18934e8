"""The report on coverage: what is documented is what the document says, and what counts is what a caller did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

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
from emulator.engine import journal
from emulator.resources.registry import STATE_MACHINES

SERVICE = bundles.load("service")
OPERATIONS = {each.node["operationId"]: each for each in operations(SERVICE)}


def report(sandbox: Sandbox, *groups: str) -> Any:
    return sandbox.control.get("/coverage", **({"group": ",".join(groups)} if groups else {}))


def exercised(sandbox: Sandbox, group: str) -> set[str]:
    return set(report(sandbox, group)[group]["exercised"])


def fields(document: Document, schema: Part, before: str = "") -> Iterator[str]:
    schema = resolved(document, schema)
    if "items" in schema.node:
        yield from fields(document, Part((*schema.pointer, "items"), schema.node["items"]), before)
    for name, part in properties(document, schema).items():
        yield before + name
        yield from fields(document, part, f"{before}{name}.")


def documented() -> dict[str, set[str]]:
    """What each group is to be made of."""
    sent = {id: request_schema(SERVICE, each) for id, each in OPERATIONS.items()}
    rows = [(life.kind.kind, row) for life in STATE_MACHINES for row in life.rows]
    return {
        "operations": set(OPERATIONS),
        "statuses": {f"{id} {status}" for id, each in OPERATIONS.items() for status in each.node["responses"]},
        "fields": {f"{id} {name}" for id, schema in sent.items() if schema for name in fields(SERVICE, schema)},
        "parameters": {
            f"{id} {each['name']}"
            for id, operation in OPERATIONS.items()
            for each in parameters(SERVICE, operation)
            if each["in"] == "query"
        },
        "states": {f"{kind} {row.target}" for kind, row in rows},
        "moves": {f"{kind} {row.source or 'new'} → {row.target}" for kind, row in rows if row.source != row.target},
        "events": set(SERVICE["components"]["schemas"]["EventType"]["enum"]) - {"webhook.ping", "webhook.test"},
        "errors": set(SERVICE["components"]["schemas"]["ErrorCode"]["enum"]),
    }


def test_before_anything_is_done_everything_in_the_document_is_missing(sandbox: Sandbox) -> None:
    """A world made again begins from its start; some groups can be had alone."""
    sandbox.session()
    lines = {"createCheckoutSession line_items", "createCheckoutSession line_items.quantity"}
    assert lines < exercised(sandbox, "fields")
    assert "createCheckoutSession line_items.product" not in exercised(sandbox, "fields")
    sandbox.control.post("/reset")
    coverage = report(sandbox)
    assert (coverage["request_count"], coverage["passed_over"]) == (0, 0)
    for group, names in documented().items():
        own = coverage[group]
        assert set(own["missing"]) == names
        assert len(own["missing"]) == own["total"] == len(names)
        assert (own["exercised"], own["count"], own["share"]) == ([], 0, 0)
    assert "createWebhook retry_policy.max_attempts" in coverage["fields"]["missing"]
    assert report(sandbox, "events", "operations").keys() == {
        *("object", "app", "request_count", "passed_over", "events", "operations")
    }
    sandbox.control.rejected("GET", "/coverage", 422, "INVALID_FILTER_PARAM", params={"group": "evnts"})


def test_what_was_done_is_exercised_and_the_rest_is_not(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    sandbox.advance("31d")
    sandbox.api.get("/invoices/", status="paid", page_size=1)
    coverage = report(sandbox)
    assert coverage["operations"]["calls"] == {
        "listCustomers": 1,
        "createCustomer": 1,
        "createSubscriptionPlan": 1,
        "createSubscription": 1,
        "listInvoices": 1,
    }
    assert coverage["request_count"] == 5
    assert {"createSubscription 201", "listInvoices 200"} <= set(coverage["statuses"]["exercised"])
    assert "createSubscription 422" in coverage["statuses"]["missing"]
    assert {"createSubscription plan", "createCustomer phone"} <= set(coverage["fields"]["exercised"])
    assert "createSubscription trial_period_days" in coverage["fields"]["missing"]
    assert coverage["parameters"]["exercised"] == ["listInvoices status", "listInvoices page_size"]
    assert {"invoice draft", "invoice open", "invoice paid"} <= set(coverage["states"]["exercised"])
    assert {"invoice new → draft", "invoice open → paid"} <= set(coverage["moves"]["exercised"])
    assert "invoice open → void" in coverage["moves"]["missing"]
    compare_events(Counter(coverage["events"]["exercised"]), ("customer.created", "subscription.created", *CHARGED))
    for group, names in documented().items():
        own = coverage[group]
        assert own["exercised"] + own["missing"] != []
        assert {*own["exercised"], *own["missing"]} == names
        assert own["count"] == len(own["exercised"])
        assert own["share"] == round(own["count"] / own["total"], 4)


def test_a_rejected_request_shows_how_it_was_answered_and_nothing_of_its_fields(sandbox: Sandbox) -> None:
    sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json={"name": "Awa", "email": "no"})
    sandbox.api.rejected("GET", "/customers/", 422, "INVALID_FILTER_PARAM", params={"status": "gone"})
    coverage = report(sandbox)
    assert set(coverage["operations"]["exercised"]) == {"listCustomers", "createCustomer"}
    assert set(coverage["statuses"]["exercised"]) == {"listCustomers 422", "createCustomer 422"}
    assert coverage["fields"]["exercised"] == coverage["parameters"]["exercised"] == []
    assert set(coverage["errors"]["exercised"]) == {"INVALID_FIELD", "INVALID_FILTER_PARAM"}


def test_codes_count_that_payments_and_refunds_failed_with(sandbox: Sandbox) -> None:
    """In every shape of error; those of the nested shape as the document lists them (B-10)."""
    subscription = sandbox.subscribe(phone=FAILING_PHONE)
    assert exercised(sandbox, "errors") == {"INSUFFICIENT_FUNDS"}
    body = {"transaction": sandbox.deposit()["id"], "amount": 100, "reason": "duplicate"}
    refund = sandbox.api.post("/refunds/", body)
    sandbox.control.post(f"/refunds/{refund['id']}/answer", {"result": "failed", "code": "UPSTREAM_ERROR"})
    assert "refund.failed" in exercised(sandbox, "events")
    assert exercised(sandbox, "errors") == {"INSUFFICIENT_FUNDS", "UPSTREAM_ERROR"}
    email = sandbox.api.get(f"/customers/{subscription['customer']}/")["email"]
    answer = sandbox.api.request("POST", "/customers/", json={"email": email, "name": "Awa Diop"}).json()
    assert answer["error"]["code"] == "customer_email_exists"
    sandbox.settings(error_shape="nested")
    sandbox.api.request("GET", "/customers/nobody/")
    assert {"DUPLICATE_EMAIL", "CUSTOMER_NOT_FOUND"} < exercised(sandbox, "errors")


@pytest.mark.breaks_the_document
def test_an_answer_that_is_arranged_can_be_anything(sandbox: Sandbox) -> None:
    for body in ({"code": 1}, {"code": "x"}, {"error": "x"}, {"error": {"code": 1}}, ["x"], None):
        arranged = {"match": {"operation": "listCustomers"}, "times": 1, "then": {"status": 418, "body": body}}
        sandbox.control.post("/faults", arranged)
        assert sandbox.api.http.get("/customers/").status_code == 418
        assert exercised(sandbox, "errors") == set(), body


def test_no_value_that_was_sent_is_repeated(sandbox: Sandbox) -> None:
    """Not the masked ones either. A number that is masked in the journal does not hide the fields beside it."""
    customer = sandbox.customer(name="Awa Diop", metadata={"secret": "sk_test_hidden", "at": 1700000000000})
    sandbox.api.post("/payment-methods/", {"customer": customer["id"], **CARD})
    coverage = report(sandbox)
    assert {"createCustomer metadata", "createPaymentMethod number"} <= set(coverage["fields"]["exercised"])
    text = json.dumps(coverage)
    for value in ("4242", "Awa", "sk_test", "secret", "1700000", "****", customer["email"], customer["id"]):
        assert value not in text


def test_calls_of_the_control_api_do_not_count_but_what_they_cause_does(sandbox: Sandbox) -> None:
    sandbox.control.post("/trigger", {"event": "invoice.paid"})
    sandbox.control.request("POST", "/rewind", json={"to": "req_nothing"})
    coverage = report(sandbox)
    assert (coverage["request_count"], coverage["errors"]["exercised"]) == (0, [])
    assert "invoice paid" in coverage["states"]["exercised"]
    assert "invoice.paid" in coverage["events"]["exercised"]


def test_it_outlasts_the_journal(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_REQUESTS", 20)
    sandbox.customer()
    sandbox.api.rejected("GET", "/customers/nobody/", 404, "CUSTOMER_NOT_FOUND")
    for _ in range(journal.MAX_REQUESTS):
        sandbox.api.http.get("/products/")
    assert sandbox.control.get("/requests", operation="createCustomer")["data"] == []
    coverage = report(sandbox)
    assert coverage["operations"]["calls"]["createCustomer"] == 1
    assert "createCustomer email" in coverage["fields"]["exercised"]
    assert "CUSTOMER_NOT_FOUND" in coverage["errors"]["exercised"]
    assert "customer new → active" in coverage["moves"]["exercised"]


def test_going_back_and_cleaning_up_take_nothing_away(sandbox: Sandbox) -> None:
    sandbox.control.post("/snapshots", {"name": "start"})
    gone = sandbox.customer()["id"]
    sandbox.control.post("/rewind", {"steps": 1})
    sandbox.plan()
    sandbox.control.post("/snapshots/start/restore")
    sandbox.product()
    sandbox.api.post("/reset/")
    sandbox.api.rejected("GET", f"/customers/{gone}/", 404, "CUSTOMER_NOT_FOUND")
    coverage = report(sandbox)
    called = {
        "createCustomer",
        "listCustomers",
        "createSubscriptionPlan",
        "createProduct",
        "resetSandbox",
        "getCustomer",
    }
    assert set(coverage["operations"]["exercised"]) == called
    assert coverage["request_count"] == 6
    assert coverage["events"]["exercised"] == ["customer.created"]
    assert coverage["states"]["exercised"] == ["customer active"]


def test_of_a_long_advance_the_first_jobs_count(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The events of all, and the number of those whose changes were not looked at. What a snapshot brings along was not
    exercised.
    """
    sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "full"})
    sandbox.control.post("/reset")
    sandbox.control.post("/snapshots/full/restore")
    assert exercised(sandbox, "states") == exercised(sandbox, "events") == set()
    monkeypatch.setattr(journal, "MAX_UNITS_BETWEEN_REQUESTS", 0)
    monkeypatch.setattr(journal, "BATCH", 1)
    sandbox.advance("62d")
    coverage = report(sandbox)
    assert coverage["passed_over"] == 2
    assert coverage["states"]["exercised"] == []
    compare_events(Counter(coverage["events"]["exercised"]), CHARGED)
