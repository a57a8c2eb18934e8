"""Objects through the control API: read by their ids, set to any state, listed, searched, counted; and their worlds."""

from __future__ import annotations

from typing import Any

from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles
from emulator.ui.console.render import COLUMNS

# -- one


def test_an_object_reads_as_its_own_resource_shows_it(sandbox: Sandbox) -> None:
    """A line of an invoice that is set is still a line."""
    sandbox.subscribe()
    for kind in ("customers", "subscription-plans", "subscriptions", "invoices", "transactions"):
        shown = sandbox.api.get(f"/{kind}/")["data"][0]
        assert sandbox.control.get(f"/objects/{shown['id']}") == shown
    invoice = sandbox.api.get("/invoices/")["data"][0]
    line = {**invoice["line_items"][0], "description": "Arranged"}
    sandbox.control.patch(f"/objects/{invoice['id']}", {"line_items": [line]})
    assert sandbox.api.get(f"/invoices/{invoice['id']}/")["line_items"] == [line]


def test_read_only_fields_can_be_set_and_lists_know_it(sandbox: Sandbox) -> None:
    """B-32: status and blacklisting of a customer are changed here. An email that was set is taken. Lists are ordered by
    what the objects say (B-19), and instants are set in any form and shown in one (B-17).
    """
    customer, older = sandbox.customer(), sandbox.customer()
    fields = {"status": "blocked", "is_blacklisted": True, "total_spent": 900, "email": "Taken@example.com"}
    with sandbox.expect():
        changed = sandbox.control.patch(f"/objects/{customer['id']}", fields)
    assert changed == {**customer, **fields} == sandbox.api.get(f"/customers/{customer['id']}/")
    assert sandbox.api.get("/customers/", status="blocked")["data"] == [changed]
    moved = sandbox.control.patch(f"/objects/{older['id']}", {"created_at": "2020-01-01T01:30:00+01:30"})
    assert moved["created_at"] == "2020-01-01T00:00:00.000Z"
    assert sandbox.api.get("/customers/")["data"] == [changed, moved]
    body = {"email": "taken@EXAMPLE.com", "name": "A"}
    sandbox.api.rejected("POST", "/customers/", 409, "customer_email_exists", json=body)
    assert sandbox.api.post("/customers/", {**body, "email": customer["email"]})["email"] == customer["email"]
    sandbox.settings(assumptions={"metadata_values": "any"})  # B-22
    metadata = {"a": {"b": [1, None]}}
    assert sandbox.control.patch(f"/objects/{customer['id']}", {"metadata": metadata})["metadata"] == metadata


def test_what_the_schema_forbids_is_rejected(sandbox: Sandbox) -> None:
    """So is a unique value in use: an email in any letters, the transaction of a receipt."""
    other, one = (sandbox.api.get(f"/customers/{sandbox.subscribe()['customer']}/") for _ in range(2))
    receipts = sandbox.api.get("/receipts/")["data"]
    (event,) = sandbox.control.get("/events", object=one["id"], type="customer.created")["data"]
    of_customer: list[dict[str, Any]] = [
        *({"status": "asleep"}, {"total_spent": "1"}, {"created_at": "yesterday"}, {"email": "nobody"}),
        *({"id": "cust_1"}, {"object": "plan"}, {"colour": "red"}, {"metadata": {"a": {"b": 1}}}),
        {"email": other["email"].upper()},
    ]
    objects = ({}, {"object": "customer"}, {"object": "nothing", "id": "cust_1"}, [], None)
    for what, fields in (
        *((one, fields) for fields in of_customer),
        (receipts[0], {"transaction": receipts[1]["transaction"]}),
        *((event, {"data": {"object": each}}) for each in objects),
    ):
        path = f"/objects/{what['id']}"
        error = sandbox.control.rejected("PATCH", path, 422, "INVALID_FIELD", json=fields)
        assert error["param"].startswith(next(iter(fields))), fields
        assert sandbox.control.get(path) == what
    assert sandbox.control.patch(f"/objects/{one['id']}", {"email": one["email"]}) == one
    renamed = {"data": {"object": {**one, "name": "Awa"}}}
    assert sandbox.control.patch(f"/objects/{event['id']}", renamed)["data"]["object"]["name"] == "Awa"


# -- many


def test_a_list_shows_objects_as_their_own_resources_do_and_a_search_finds_any_text_in_them(sandbox: Sandbox) -> None:
    """But for one within an id."""
    first = sandbox.customer()
    second = sandbox.customer(metadata={"deep": "a Needle in Éden"})
    id = second["id"]
    sandbox.plan()
    assert list(sandbox.control.pages("/objects", kind="customer", page_size=1)) == [second, first]
    for text, count in [("needle", 1), ("NEEDLE", 1), ("é", 1), (id[:9], 1), (id[9:15], 0), ("no", 0)]:
        assert sandbox.control.get("/objects", kind="customer", query=text)["data"] == [second] * count, text
    assert sandbox.control.get("/objects", kind="customer", status="blocked")["data"] == []
    for query in ({}, {"kind": "settings"}, {"kind": "customer", "query": ""}):
        sandbox.control.rejected("GET", "/objects", 422, "INVALID_FILTER_PARAM", params=query)
    for path in ("/counts?related=cust_0", "/objects?kind=invoice&related=cust_0"):
        sandbox.control.rejected("GET", path, 404, "NOT_FOUND")


def test_what_belongs_to_an_object_is_listed_and_counted(sandbox: Sandbox) -> None:
    subscription, other = sandbox.subscribe(), sandbox.subscribe()
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    sandbox.customer()
    [delivery] = sandbox.deliveries(endpoint)
    counts = sandbox.control.get("/counts", related=subscription["customer"])
    assert (counts["subscription"], counts["invoice"], counts["payment_method"], counts["address"]) == (1, 1, 1, 0)
    assert "product" not in counts, "products belong to no customer"
    for kind, related, found in (
        ("subscription", subscription["customer"], subscription["id"]),
        ("subscription", other["plan"], other["id"]),
        ("webhook_delivery", endpoint["id"], delivery["id"]),
        ("webhook_delivery", delivery["event"], delivery["id"]),
    ):
        assert [each["id"] for each in sandbox.control.get("/objects", kind=kind, related=related)["data"]] == [found]
        assert sandbox.control.get("/counts", related=related)[kind] == 1
    assert sandbox.control.get("/objects", kind="product", related=other["id"])["data"] == []


def test_the_kinds_are_those_of_the_document_and_open_apps_are_listed(sandbox: Sandbox) -> None:
    """With their objects, without the events that report on them."""
    kinds = set(bundles.load("control")["components"]["schemas"]["ObjectKind"]["enum"])
    counts = sandbox.control.get("/counts")
    assert (counts.keys(), set(counts.values())) == (kinds, {0})
    assert COLUMNS.keys() == kinds
    sandbox.customer()
    counts = sandbox.control.get("/counts")
    assert (counts["customer"], counts["event"], counts["invoice"]) == (1, 1, 0)
    name = sandbox.key.removeprefix("sk_test_")
    (app,) = [app for app in sandbox.control.pages("/apps", page_size=100) if app["name"] == name]
    assert app.pop("idle_seconds") >= 0
    requests = sandbox.control.get("/requests")["pagination"]["count"]
    shown = {"id": sandbox.control.get("/app")["id"], "name": name, "livemode": False, "objects": 1}
    assert app == {**shown, "requests_count": requests, "now": sandbox.now}


def test_a_search_ranks_ids_and_names_and_finds_nothing_within_ids(sandbox: Sandbox) -> None:
    awa, late = sandbox.customer(name="Awa Diop"), sandbox.customer(name="Mado Awandji")
    within, other = sandbox.customer(name="Zawadi Ba"), sandbox.customer(name="Jean Mba")
    id = other["id"]
    for text, found in (
        ("awa", [awa, late, within]),
        *((text, [other]) for text in (id, id[:12])),
        *((text, []) for text in (id[8:14], " ")),
    ):
        rows = list(sandbox.control.pages("/search", query=text, page_size=100))
        assert [row["id"] for row in rows] == [each["id"] for each in found], text
    row = {"id": id, "kind": "customer", "name": "Jean Mba", "status": "active", "created_at": other["created_at"]}
    assert sandbox.control.get("/search", query="jean")["data"][0] == row
