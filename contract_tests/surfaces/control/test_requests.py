"""What a world holds: its objects, and the journal of its requests, as code, and undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from httpx import Response

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.cli.terminal import clean
from emulator.control.requests import FORMS
from emulator.document import bundles
from emulator.ui.console.render import COLUMNS

CARD = {
    "type": "bank_card",
    "number": "4242 4242 4242 4242",
    "exp_month": 12,
    "exp_year": 2030,
    "cvc": "987",
}


def journal(sandbox: Sandbox, **filters: Any) -> list[Any]:
    return list(sandbox.control.pages("/requests", **filters))[::-1]


def entry(sandbox: Sandbox, response: Response) -> Any:
    return sandbox.control.get(f"/requests/{response.headers['request-id']}")


def world(sandbox: Sandbox) -> Any:
    """Return a world's whole export; the counter of drawn values moves with every request."""
    sandbox.control.post("/snapshots", {"name": "look"})
    exported = sandbox.control.get("/snapshots/look")
    del exported["worlds"]["1"]["counters"]["draw"]
    return exported


def test_every_request_to_the_service_is_filed_with_its_response(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.api.rejected(
        "POST", "/customers/", 422, "MISSING_FIELD", json={"email": "b@example.com"}
    )
    sandbox.api.get("/customers/", status="active")
    sandbox.api.request("GET", "/customers/cust_0/")
    sandbox.control.post("/clock/freeze")
    rows = [
        (row["operation"], row["method"], row["path"], row["status"])
        for row in journal(sandbox, api="service")
    ]
    assert rows == [
        ("listCustomers", "GET", "/v1/customers/", 200),
        ("createCustomer", "POST", "/v1/customers/", 201),
        ("createCustomer", "POST", "/v1/customers/", 422),
        ("listCustomers", "GET", "/v1/customers/?status=active", 200),
        ("getCustomer", "GET", "/v1/customers/cust_0/", 404),
    ]
    for filters, count in [
        *(
            ({"status": 422}, 1),
            ({"status": "4xx"}, 2),
            ({"status": 500}, 0),
            ({"operation": "createCustomer"}, 2),
        ),
        *(
            ({"method": "GET"}, 3),
            ({"api": "control"}, 1),
            ({"api": "service", "changed": "false"}, 4),
        ),
        *(({"changed": "true"}, 1), ({"object": customer["id"]}, 1)),
    ]:
        assert len(journal(sandbox, **filters)) == count, filters
    created = sandbox.control.get(
        f"/requests/{journal(sandbox, operation='createCustomer')[0]['id']}"
    )
    assert (created["response_body"], created["request_body"]["email"]) == (
        customer,
        customer["email"],
    )
    (change,) = created["changes"]
    assert (change["id"], change["kind"], change["change"]) == (
        customer["id"],
        "customer",
        "created",
    )
    assert change["fields"]["email"] == {"before": None, "after": customer["email"]}
    assert [sandbox.control.get(f"/objects/{id}")["type"] for id in created["event_ids"]] == [
        "customer.created"
    ]
    patch = sandbox.api.request(
        "PATCH", f"/customers/{customer['id']}/", json={"metadata": {"tier": "gold"}}
    )
    (change,) = entry(sandbox, patch)["changes"]
    assert (change["id"], change["change"]) == (customer["id"], "updated")
    assert change["fields"] == {"metadata": {"before": {}, "after": {"tier": "gold"}}}
    sandbox.subscribe()  # whose first charge is the first job after the request (B-41)
    made = sandbox.control.get(
        f"/requests/{journal(sandbox, operation='createSubscription')[0]['id']}"
    )
    created = [row["kind"] for row in made["changes"] if row["change"] == "created"]
    assert (created[:2], len(made["event_ids"])) == (["subscription", "invoice"], 4)


def test_no_card_number_key_or_secret_is_shown(sandbox: Sandbox) -> None:
    """Of a card the last four digits at most; keys and secrets masked; malformed bodies too.

    Nor in any of the forms of code.
    """
    sandbox.api.post("/payment-methods/", {"customer": sandbox.customer()["id"], **CARD})
    for raw in (
        '{"number": "4242-4242-4242-4242", "cvc": "987", "iban": "FR7630006000011234567890189"',
        '{"email": "a@example.com", "name": "pay to fr76 3000 6000 0112 3456 7890 189"}',
    ):
        sandbox.api.request(
            "POST", "/customers/", content=raw, headers={"Content-Type": "application/json"}
        )
    sandbox.api.request("GET", "/payment-methods/4242424242424242/", params={"q": sandbox.key})
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    text = "".join(
        sandbox.control.request("GET", f"/requests/{row['id']}", params=form).text
        for row in journal(sandbox)
        for form in ({}, *({"as": form} for form in FORMS))
    ).replace(" ", "")
    secrets = (
        "4242-4242-4242",
        "424242424242",
        "987",
        "FR763000600001",
        "11234567890189",
        endpoint["secret"],
    )
    assert [secret for secret in (*secrets, sandbox.key) if secret in text] == []
    assert "****4242" in text


def test_a_request_is_shown_whatever_it_holds(sandbox: Sandbox) -> None:
    """Long numbers, long texts, and a body that is nested too deeply to be read, in every form."""
    metadata = {
        "order": 123456789012345,
        "card": 4242424242424242,
        **{str(number): "x" * 500 for number in range(48)},
    }
    path = f"/products/{sandbox.product(metadata=metadata)['id']}/"
    change = entry(
        sandbox,
        sandbox.api.request("PATCH", path, json={"metadata": dict.fromkeys(metadata, "z" * 500)}),
    )
    before = change["changes"][0]["fields"]["metadata"]["before"]
    assert (before["order"], before["card"]) == (123456789012345, "****4242")
    body = "[" * 1100
    deep = sandbox.api.request(
        "POST", "/customers/", content=body, headers={"Content-Type": "application/json"}
    )
    assert entry(sandbox, deep)["request_body"] == body
    for form in FORMS:
        assert body in as_code(sandbox, deep, form)
    assert sandbox.control.get("/audit")["findings"] == []
    assert sandbox.control.request("GET", "/recording", params={"as": "curl"}).status_code == 200


AWA = {
    "email": "awa@example.com",
    "name": 'Awa "d\'Or" $HOME `x` \\ Ève',
    "metadata": {"b": "true"},
}


def as_code(sandbox: Sandbox, response: Response, form: str) -> str:
    code = sandbox.control.request(
        "GET", f"/requests/{response.headers['request-id']}", params={"as": form}
    )
    assert (code.status_code, code.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    return code.text


def programs(tmp_path: Path, form: str, code: str) -> list[str]:
    if form == "curl":
        return ["sh", "-ec", code]
    if form == "httpx":
        return [sys.executable, "-c", code]
    script = tmp_path / "request.mjs"
    script.write_text(code, "utf-8")
    return ["node", str(script)]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("curl", marks=pytest.mark.needs("curl")),
        "httpx",
        pytest.param("fetch", marks=pytest.mark.needs("node")),
    ],
)
def test_the_code_of_a_request_sends_the_same(sandbox: Sandbox, tmp_path: Path, form: str) -> None:
    """With address and key in its environment, and with the headers that matter."""
    created = sandbox.api.request(
        "POST", "/customers/", json=AWA, headers={"Idempotency-Key": "order-1"}
    )
    code = as_code(sandbox, created, form)
    assert [part for part in (sandbox.key, "user-agent", "User-Agent") if part in code] == []
    environment = clean(PAYMENTS_EMULATOR_URL=sandbox.url, PAYMENTS_EMULATOR_KEY=sandbox.key)
    command = programs(tmp_path, form, code)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert created.json()["id"] in done.stdout
    newest = journal(sandbox, operation="createCustomer")[-1]["id"]
    assert newest != created.headers["request-id"]
    assert sandbox.control.get(f"/requests/{newest}")["request_body"] == AWA


def test_a_world_goes_back_to_before_a_request(sandbox: Sandbox) -> None:
    """Objects, events, jobs, counters and clock are as they were."""
    sandbox.subscribe()
    before = world(sandbox)
    first = sandbox.api.request(
        "POST", "/customers/", json={"email": "late@example.com", "name": "Late"}
    )
    sandbox.advance("40d")
    sandbox.plan()
    response = sandbox.control.post("/rewind", {"to": first.headers["request-id"]})
    assert response["now"] == sandbox.now == "2026-01-01T00:00:00.000Z"
    assert world(sandbox) == before
    assert sandbox.advance("31d")["events"]["invoice.paid"] == 1


def test_a_request_that_was_undone_has_the_same_response_again(sandbox: Sandbox) -> None:
    """B-93: what was drawn for it is drawn once more."""
    body = {"email": "late@example.com", "name": "Late"}
    first = sandbox.api.request("POST", "/customers/", json=body)
    sandbox.control.post("/rewind", {"steps": 1})
    again = sandbox.api.request("POST", "/customers/", json=body)
    assert (again.content, again.headers["request-id"]) == (
        first.content,
        first.headers["request-id"],
    )


def test_it_goes_back_step_by_step(sandbox: Sandbox) -> None:
    """Reads count as requests, and no id is given out twice. Where to must be said once."""
    sandbox.api.get("/products/")
    before = world(sandbox)
    for number in range(3):
        sandbox.api.post("/customers/", {"email": f"{number}@example.com", "name": "Awa"})
        sandbox.api.get("/products/")
    for body in ({}, {"to": "req_1", "steps": 1}, {"steps": 0}, {"steps": 900}):
        assert sandbox.control.request("POST", "/rewind", json=body).status_code == 422, body
    for left in (3, 2, 2, 1, 1, 0):
        sandbox.control.post("/rewind", {"steps": 1})
        assert sandbox.control.get("/counts")["customer"] == left
    assert world(sandbox) == before
    sandbox.api.get("/products/")
    ids = [row["id"] for row in journal(sandbox)]
    assert len(ids) == len({*ids})


def test_going_back_by_a_rejected_request_undoes_nothing_before_it(live: Sandbox) -> None:
    """A request without permission changed nothing: earlier work stays, even after a rewind."""
    live.customer()
    live.control.post("/rewind", {"steps": 1})
    customer = live.customer()
    live.api.rejected(
        "POST", "/payment-methods/", 403, "SANDBOX_ONLY", json={"customer": customer["id"], **CARD}
    )
    assert live.control.post("/rewind", {"steps": 1})["turns"] == 0
    assert live.api.get(f"/customers/{customer['id']}/") == customer


# -- objects: read by their ids, set to any state, listed, searched, counted


def test_an_object_reads_as_its_own_resource_shows_it(sandbox: Sandbox) -> None:
    """A line of an invoice that is set is still a line."""
    sandbox.subscribe()
    for kind in ("customers", "subscription-plans", "subscriptions", "invoices", "transactions"):
        object = sandbox.api.get(f"/{kind}/")["data"][0]
        assert sandbox.control.get(f"/objects/{object['id']}") == object
    invoice = sandbox.draft()
    line = {**invoice["line_items"][0], "description": "Arranged"}
    sandbox.control.patch(f"/objects/{invoice['id']}", {"line_items": [line]})
    assert sandbox.api.get(f"/invoices/{invoice['id']}/")["line_items"] == [line]


def test_read_only_fields_can_be_set(sandbox: Sandbox) -> None:
    """B-32: status and blacklisting of a customer are changed here. Lists know it."""
    customer = sandbox.customer()
    fields = {
        "status": "blocked",
        "is_blacklisted": True,
        "total_spent": 900,
        "email": "Taken@example.com",
    }
    with sandbox.expect():
        changed = sandbox.control.patch(f"/objects/{customer['id']}", fields)
    assert changed == {**customer, **fields} == sandbox.api.get(f"/customers/{customer['id']}/")
    assert sandbox.api.get("/customers/", status="blocked")["data"] == [changed]


def test_lists_are_ordered_by_the_instants_that_were_set(sandbox: Sandbox) -> None:
    """B-19; instants are set in any form and shown in one (B-17)."""
    customer, older = sandbox.customer(), sandbox.customer()
    moved = sandbox.control.patch(
        f"/objects/{older['id']}", {"created_at": "2020-01-01T01:30:00+01:30"}
    )
    assert moved["created_at"] == "2020-01-01T00:00:00.000Z"
    assert sandbox.api.get("/customers/")["data"] == [customer, moved]


def test_an_email_that_was_set_is_taken(sandbox: Sandbox) -> None:
    """The former one is free."""
    customer = sandbox.customer()
    sandbox.control.patch(f"/objects/{customer['id']}", {"email": "Taken@example.com"})
    body = {"email": "taken@EXAMPLE.com", "name": "A"}
    sandbox.api.rejected("POST", "/customers/", 409, "customer_email_exists", json=body)
    assert (
        sandbox.api.post("/customers/", {**body, "email": customer["email"]})["email"]
        == customer["email"]
    )


def test_metadata_of_any_shape_can_be_set(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    sandbox.settings(assumptions={"metadata_values": "any"})  # B-22
    metadata = {"a": {"b": [1, None]}}
    assert (
        sandbox.control.patch(f"/objects/{customer['id']}", {"metadata": metadata})["metadata"]
        == metadata
    )


def test_what_the_schema_forbids_is_rejected(sandbox: Sandbox) -> None:
    """So is a unique value in use: an email in any letters, the transaction of a receipt."""
    other, one = (
        sandbox.api.get(f"/customers/{sandbox.subscribe()['customer']}/") for _ in range(2)
    )
    receipts = sandbox.api.get("/receipts/")["data"]
    (event,) = sandbox.control.get("/events", object=one["id"], type="customer.created")["data"]
    of_customer: list[dict[str, Any]] = [
        *(
            {"status": "asleep"},
            {"total_spent": "1"},
            {"created_at": "yesterday"},
            {"email": "nobody"},
        ),
        *({"id": "cust_1"}, {"object": "plan"}, {"colour": "red"}, {"metadata": {"a": {"b": 1}}}),
        {"email": other["email"].upper()},
    ]
    objects = ({}, {"object": "customer"}, {"object": "nothing", "id": "cust_1"}, [], None)
    for what, fields in (
        *((one, fields) for fields in of_customer),
        (receipts[0], {"transaction": receipts[1]["transaction"]}),
        *((event, {"data": {"object": object}}) for object in objects),
    ):
        path = f"/objects/{what['id']}"
        error = sandbox.control.rejected("PATCH", path, 422, "INVALID_FIELD", json=fields)
        assert error["param"].startswith(next(iter(fields))), fields
        assert sandbox.control.get(path) == what
    assert sandbox.control.patch(f"/objects/{one['id']}", {"email": one["email"]}) == one
    renamed = {"data": {"object": {**one, "name": "Awa"}}}
    assert (
        sandbox.control.patch(f"/objects/{event['id']}", renamed)["data"]["object"]["name"] == "Awa"
    )


def test_a_list_shows_objects_as_their_own_resources_do(sandbox: Sandbox) -> None:
    first = sandbox.customer()
    second = sandbox.customer()
    sandbox.plan()
    assert list(sandbox.control.pages("/objects", kind="customer", page_size=1)) == [second, first]


def test_a_search_finds_any_text_in_objects(sandbox: Sandbox) -> None:
    """But for one within an id."""
    sandbox.customer()
    second = sandbox.customer(metadata={"deep": "a Needle in Éden"})
    id = second["id"]
    for text, count in [
        ("needle", 1),
        ("NEEDLE", 1),
        ("é", 1),
        (id[:9], 1),
        (id[9:15], 0),
        ("no", 0),
    ]:
        assert (
            sandbox.control.get("/objects", kind="customer", query=text)["data"] == [second] * count
        ), text
    assert sandbox.control.get("/objects", kind="customer", status="blocked")["data"] == []


def test_a_wrong_query_for_objects_is_rejected(sandbox: Sandbox) -> None:
    sandbox.customer()
    for query in ({}, {"kind": "settings"}, {"kind": "customer", "query": ""}):
        sandbox.control.rejected("GET", "/objects", 422, "INVALID_FILTER_PARAM", params=query)


def test_objects_related_to_an_unknown_one_are_not_found(sandbox: Sandbox) -> None:
    for path in ("/counts?related=cust_0", "/objects?kind=invoice&related=cust_0"):
        sandbox.control.rejected("GET", path, 404, "NOT_FOUND")


def test_the_objects_that_belong_to_one_are_listed_with_their_number(sandbox: Sandbox) -> None:
    subscription, other = sandbox.subscribe(), sandbox.subscribe()
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    sandbox.customer()
    [delivery] = sandbox.deliveries(endpoint)
    counts = sandbox.control.get("/counts", related=subscription["customer"])
    assert (
        counts["subscription"],
        counts["invoice"],
        counts["payment_method"],
        counts["address"],
    ) == (1, 1, 1, 0)
    assert "product" not in counts, "products belong to no customer"
    for kind, related, expected in (
        ("subscription", subscription["customer"], subscription["id"]),
        ("subscription", other["plan"], other["id"]),
        ("webhook_delivery", endpoint["id"], delivery["id"]),
        ("webhook_delivery", delivery["event"], delivery["id"]),
    ):
        assert [
            object["id"]
            for object in sandbox.control.get("/objects", kind=kind, related=related)["data"]
        ] == [expected]
        assert sandbox.control.get("/counts", related=related)[kind] == 1
    assert sandbox.control.get("/objects", kind="product", related=other["id"])["data"] == []


def test_the_kinds_are_those_of_the_document(sandbox: Sandbox) -> None:
    kinds = set(bundles.load("control")["components"]["schemas"]["ObjectKind"]["enum"])
    counts = sandbox.control.get("/counts")
    assert (counts.keys(), set(counts.values())) == (kinds, {0})
    assert COLUMNS.keys() == kinds
    sandbox.customer()
    counts = sandbox.control.get("/counts")
    assert (counts["customer"], counts["event"], counts["invoice"]) == (1, 1, 0)


def test_open_apps_are_listed(sandbox: Sandbox) -> None:
    """With their objects, without the events that report on them."""
    sandbox.customer()
    name = sandbox.key.removeprefix("sk_test_")
    (app,) = [app for app in sandbox.control.pages("/apps", page_size=100) if app["name"] == name]
    assert app.pop("idle_seconds") >= 0
    requests = sandbox.control.get("/requests")["pagination"]["count"]
    fields = {
        "id": sandbox.control.get("/app")["id"],
        "name": name,
        "livemode": False,
        "objects": 1,
    }
    assert app == {**fields, "requests_count": requests, "now": sandbox.now}


def test_a_search_ranks_ids_before_names(sandbox: Sandbox) -> None:
    """It finds nothing within ids."""
    awa, late = sandbox.customer(name="Awa Diop"), sandbox.customer(name="Mado Awandji")
    within, other = sandbox.customer(name="Zawadi Ba"), sandbox.customer(name="Jean Mba")
    id = other["id"]
    for text, expected in (
        ("awa", [awa, late, within]),
        *((text, [other]) for text in (id, id[:12])),
        *((text, []) for text in (id[8:14], " ")),
    ):
        rows = list(sandbox.control.pages("/search", query=text, page_size=100))
        assert [row["id"] for row in rows] == [object["id"] for object in expected], text


@pytest.mark.parametrize("text", ["+241 77 00 05 10", "77000510", "awa@example.com"])
def test_a_search_finds_a_customer_by_phone_or_email(sandbox: Sandbox, text: str) -> None:
    awa = sandbox.customer(email="awa@example.com", phone="+24177000510")
    sandbox.customer()
    rows = sandbox.control.pages("/search", query=text, page_size=100)
    assert awa["id"] in [row["id"] for row in rows]


def test_a_row_of_a_search_says_the_object(sandbox: Sandbox) -> None:
    other = sandbox.customer(name="Jean Mba")
    id = other["id"]
    row = {
        "id": id,
        "kind": "customer",
        "name": "Jean Mba",
        "status": "active",
        "created_at": other["created_at"],
    }
    assert sandbox.control.get("/search", query="jean")["data"][0] == row
