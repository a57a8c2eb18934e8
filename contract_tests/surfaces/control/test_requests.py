"""The request journal and going back to before a request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx import Response

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import Sandbox

CARD = {"type": "bank_card", "number": "4242 4242 4242 4242", "exp_month": 12, "exp_year": 2030, "cvc": "987"}


def journal(sandbox: Sandbox, **filters: Any) -> list[Any]:
    """What the journal lists, oldest first."""
    return list(sandbox.control.pages("/requests", **filters))[::-1]


def world(sandbox: Sandbox) -> Any:
    """Return everything a world is, as its export says; the counter of drawn values moves with every request."""
    sandbox.control.post("/snapshots", {"name": "look"})
    exported = sandbox.control.get("/snapshots/look")
    del exported["worlds"]["1"]["counters"]["draw"]
    return exported


def test_every_request_to_the_service_is_filed_with_its_answer(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.api.rejected("POST", "/customers/", 422, "MISSING_FIELD", json={"email": "b@example.com"})
    sandbox.api.get("/customers/", status="active")
    sandbox.api.request("GET", "/customers/cust_0/")
    sandbox.control.post("/clock/freeze")
    rows = [(row["operation"], row["method"], row["path"], row["status"]) for row in journal(sandbox, api="service")]
    assert rows == [
        ("listCustomers", "GET", "/v1/customers/", 200),
        ("createCustomer", "POST", "/v1/customers/", 201),
        ("createCustomer", "POST", "/v1/customers/", 422),
        ("listCustomers", "GET", "/v1/customers/?status=active", 200),
        ("getCustomer", "GET", "/v1/customers/cust_0/", 404),
    ]
    for filters, count in [
        ({"status": 422}, 1),
        ({"status": "4xx"}, 2),
        ({"status": 500}, 0),
        ({"operation": "createCustomer"}, 2),
        ({"method": "GET"}, 3),
        ({"api": "control"}, 1),
        ({"api": "service", "changed": "false"}, 4),
        ({"changed": "true"}, 1),
        ({"object": customer["id"]}, 1),
        ({"object": customer["id"], "method": "PATCH"}, 0),
    ]:
        assert len(journal(sandbox, **filters)) == count, filters
    created = sandbox.control.get(f"/requests/{journal(sandbox, operation='createCustomer')[0]['id']}")
    assert created["response_body"] == customer
    assert created["request_body"]["email"] == customer["email"]
    (change,) = created["changes"]
    assert (change["id"], change["kind"], change["change"]) == (customer["id"], "customer", "created")
    assert change["fields"]["email"] == {"before": None, "after": customer["email"]}
    assert [sandbox.control.get(f"/objects/{id}")["type"] for id in created["event_ids"]] == ["customer.created"]
    answer = sandbox.api.request("PATCH", f"/customers/{customer['id']}/", json={"metadata": {"tier": "gold"}})
    (change,) = sandbox.control.get(f"/requests/{answer.headers['request-id']}")["changes"]
    assert (change["id"], change["change"]) == (customer["id"], "updated")
    assert change["fields"] == {"metadata": {"before": {}, "after": {"tier": "gold"}}}


def test_what_fell_due_at_once_belongs_to_the_request(sandbox: Sandbox) -> None:
    """The first charge is the first job after the request that made the subscription (B-41)."""
    subscription = sandbox.subscribe()
    entry = sandbox.control.get(f"/requests/{journal(sandbox, operation='createSubscription')[0]['id']}")
    assert (subscription["id"], "created") in [(row["id"], row["change"]) for row in entry["changes"]]
    assert [row["kind"] for row in entry["changes"] if row["change"] == "created"][:2] == ["subscription", "invoice"]
    assert len(entry["event_ids"]) == 4


def test_no_card_number_key_or_secret_is_shown(sandbox: Sandbox) -> None:
    """Of a card the last four digits at most; keys and secrets masked; malformed bodies too."""
    sandbox.api.post("/payment-methods/", {"customer": sandbox.customer()["id"], **CARD})
    escaped = "".join(f"\\u{ord(digit):04x}" for digit in "4242424242424242")
    for raw in (
        '{"number": "4242-4242-4242-4242", "cvc": "987", "iban": "FR7630006000011234567890189"',
        '{"email": "a@example.com", "name": "pay to fr76 3000 6000 0112 3456 7890 189"}',
        f'{{"email": "b@example.com", "name": "{escaped}"}}',
    ):
        sandbox.api.request("POST", "/customers/", content=raw, headers={"Content-Type": "application/json"})
    sandbox.api.request("GET", "/payment-methods/4242424242424242/", params={"q": sandbox.key})
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    shown = "".join(str(sandbox.control.get(f"/requests/{row['id']}")) for row in journal(sandbox)).replace(" ", "")
    for secret in ("4242-4242-4242", "424242424242", "987", "FR763000600001", "11234567890189", endpoint["secret"]):
        assert secret not in shown, secret
    assert sandbox.key not in shown
    assert "****4242" in shown


def test_a_world_goes_back_to_before_a_request(sandbox: Sandbox) -> None:
    """Objects, events, jobs, counters and clock are as they were."""
    sandbox.subscribe()
    before = world(sandbox)
    first = sandbox.api.request("POST", "/customers/", json={"email": "late@example.com", "name": "Late"})
    sandbox.advance("40d")
    sandbox.api.post("/subscription-plans/", {"name": "B", "amount": 900, "currency": "XAF", "interval": "week"})
    answer = sandbox.control.post("/rewind", {"to": first.headers["request-id"]})
    assert answer["now"] == sandbox.now == "2026-01-01T00:00:00.000Z"
    assert world(sandbox) == before
    sandbox.api.post("/customers/", {"email": "late@example.com", "name": "Late"})
    assert sandbox.advance("31d")["events"]["invoice.paid"] == 1


def test_it_goes_back_step_by_step(sandbox: Sandbox) -> None:
    """Reads count as requests, and no id is given out twice."""
    sandbox.api.get("/products/")
    before = world(sandbox)
    for number in range(3):
        sandbox.api.post("/customers/", {"email": f"{number}@example.com", "name": "Awa"})
        sandbox.api.get("/products/")
    for left in (3, 2, 2, 1, 1, 0):
        sandbox.control.post("/rewind", {"steps": 1})
        assert sandbox.control.get("/counts")["customer"] == left
    assert world(sandbox) == before
    sandbox.api.get("/products/")
    ids = [row["id"] for row in journal(sandbox)]
    assert len(ids) == len({*ids})


def test_steps_include_a_request_that_was_answered_last_but_began_first(sandbox: Sandbox, receiver: Receiver) -> None:
    """It waited for a webhook, and the receiver of the webhook sent a request of its own first."""
    session = sandbox.session()

    def call_back(_: Received) -> Reply:
        http = http_client(base_url=f"{sandbox.url}/v1", headers={"Authorization": f"Bearer {sandbox.key}"})
        with http:
            http.post("/customers/", json={"email": "receiver@example.com", "name": "R"}).raise_for_status()
        return Reply()

    sandbox.endpoint(receiver.url, "checkout.session.completed")
    before = sandbox.api.get(f"/checkout-sessions/{session['id']}/")
    receiver.reply = call_back
    phone = {"type": "mobile_money", "phone": "+24177123456"}
    sandbox.control.post(f"/checkout-sessions/{session['id']}/pay", {"method": phone})
    last = [entry["operation"] for entry in journal(sandbox)[-2:]]
    assert last == ["createCustomer", "payCheckoutSession"]
    sandbox.control.post("/rewind", {"steps": 2})
    assert sandbox.api.get(f"/checkout-sessions/{session['id']}/") == before


def test_going_back_by_a_rejected_request_undoes_nothing_before_it(live: Sandbox) -> None:
    """A request without permission changed nothing, so what came before it stays, even after an earlier rewind."""
    live.customer()
    live.control.post("/rewind", {"steps": 1})
    customer = live.customer()
    live.api.rejected("POST", "/payment-methods/", 403, "SANDBOX_ONLY", json={"customer": customer["id"], **CARD})
    assert live.control.post("/rewind", {"steps": 1})["turns"] == 0
    assert live.api.get(f"/customers/{customer['id']}/") == customer


def test_what_is_not_in_the_journal_cannot_be_gone_back_to(sandbox: Sandbox) -> None:
    """Where to must be said once."""
    sandbox.customer()
    for body in ({}, {"to": "req_1", "steps": 1}, {"steps": 0}, {"steps": "1"}, {"steps": 900}):
        assert sandbox.control.request("POST", "/rewind", json=body).status_code == 422, body
    sandbox.control.rejected("POST", "/rewind", 404, "NOT_FOUND", json={"to": "req_unknown"})
    sandbox.control.rejected("GET", "/requests/req_unknown", 404, "NOT_FOUND")


def test_changes_of_history_run_one_after_the_other(sandbox: Sandbox) -> None:
    """Rewinds, restores and resets at the same time: each is done, or the answer says that it came too late."""
    sandbox.subscribe()
    sandbox.control.post("/snapshots", {"name": "start"})

    def change(number: int) -> tuple[str, Response]:
        path, body = [
            ("/rewind", {"steps": 1 + number % 3}),
            ("/rewind", {"steps": 2}),
            ("/snapshots/start/restore", None),
            ("/reset", {"clock": "frozen@2026-01-01T00:00:00Z"}),
        ][number % 4]
        return path, sandbox.control.request("POST", path, json=body)

    def create(number: int) -> tuple[str, Response]:
        return "", sandbox.api.request("POST", "/customers/", json={"email": f"r{number}@x.io", "name": "A"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: (change if number % 2 else create)(number // 2), range(160)))
    statuses = {path: {answer.status_code for each, answer in answers if each == path} for path, _ in answers}
    assert statuses["/rewind"] <= {200, 409, 422}
    assert statuses["/snapshots/start/restore"] <= {200, 404}
    assert statuses["/reset"] == {200}
    assert statuses[""] <= {201, 409}
    late = [answer.json()["message"] for _, answer in answers if answer.status_code == 409 and "rewind" in answer.text]
    assert all("came first" in message for message in late)
    sandbox.control.post("/trigger", {"event": "customer.created"})
    numbers = [row["email"] for row in sandbox.api.pages("/customers/", page_size=100)]
    assert len(numbers) == len(set(numbers))


def test_a_change_is_shown_whatever_the_object_holds(sandbox: Sandbox) -> None:
    """Long numbers and long texts too."""
    metadata = {"order": 123456789012345, "card": 4242424242424242, **{str(number): "x" * 500 for number in range(48)}}
    product = sandbox.product(metadata=metadata, description="y" * 2000)
    sandbox.api.request("PATCH", f"/products/{product['id']}/", json={"metadata": dict.fromkeys(metadata, "z" * 500)})
    shown = sandbox.control.get("/requests")["data"]
    change = sandbox.control.get(f"/requests/{shown[0]['id']}")["changes"][0]
    before = change["fields"]["metadata"]["before"]
    assert (before["order"], before["card"]) == (123456789012345, "****4242")


def test_a_body_nested_too_deeply_is_shown_as_text_wherever_it_is_read(sandbox: Sandbox) -> None:
    body = "[" * 1100
    sandbox.api.request("POST", "/customers/", content=body, headers={"Content-Type": "application/json"})
    (row,) = journal(sandbox)
    assert sandbox.control.get(f"/requests/{row['id']}")["request_body"] == body
    for form in ("curl", "httpx", "fetch", "http", "pytest"):
        assert body in sandbox.control.request("GET", f"/requests/{row['id']}", params={"as": form}).text
    assert sandbox.control.get("/audit")["findings"] == []
    assert sandbox.control.request("GET", "/recording", params={"as": "curl"}).status_code == 200


@pytest.mark.parametrize("then", [{"drop": "after"}, {"hang_ms": 1}], ids=str)
def test_a_fault_after_which_there_is_no_response_is_no_step_of_a_recording(sandbox: Sandbox, then: Any) -> None:
    sandbox.control.post("/faults", {"match": {"operation": "createSubscriptionPlan"}, "then": then})
    sandbox.api.post("/customers/", {"email": "awa@example.com", "name": "Awa"})
    steps = sandbox.control.request("GET", "/recording", params={"as": "steps"}).json()["steps"]
    assert [step["operation"] for step in steps if "operation" in step] == ["createCustomer"]
