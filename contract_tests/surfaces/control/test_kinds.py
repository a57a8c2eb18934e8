"""Objects by kind: listed, searched, counted, and found by what they belong to."""

from __future__ import annotations

import pytest

from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles
from emulator.ui.console.render import COLUMNS


def test_a_list_shows_each_object_as_its_own_resource_does(sandbox: Sandbox) -> None:
    first, second = sandbox.customer(), sandbox.customer()
    page = sandbox.control.get("/objects", kind="customer")
    assert page["data"] == [sandbox.api.get(f"/customers/{each['id']}/") for each in (second, first)]
    assert [each["id"] for each in sandbox.control.pages("/objects", kind="customer", page_size=1)] == [
        second["id"],
        first["id"],
    ]


@pytest.mark.parametrize("text", ["needle", "NEEDLE", "cust_", "é"])
def test_a_search_finds_a_text_anywhere_in_an_object(sandbox: Sandbox, text: str) -> None:
    found = sandbox.customer(metadata={"deep": "a Needle in Éden"})
    sandbox.plan()
    assert [each["id"] for each in sandbox.control.get("/objects", kind="customer", query=text)["data"]] == [
        found["id"]
    ]
    assert sandbox.control.get("/objects", kind="customer", query="nowhere")["pagination"]["count"] == 0


def test_what_belongs_to_an_object_is_listed_and_counted(sandbox: Sandbox) -> None:
    subscription = sandbox.subscribe()
    other = sandbox.subscribe()
    counts = sandbox.control.get("/counts", related=subscription["customer"])
    assert (counts["subscription"], counts["invoice"], counts["payment_method"], counts["address"]) == (1, 1, 1, 0)
    assert "product" not in counts, "products belong to no customer"
    listed = sandbox.control.get("/objects", kind="subscription", related=subscription["customer"])["data"]
    assert [each["id"] for each in listed] == [subscription["id"]]
    assert sandbox.control.get("/counts", related=other["plan"])["subscription"] == 1
    assert sandbox.control.get("/objects", kind="product", related=other["id"])["data"] == []


def test_deliveries_are_found_by_their_event_and_endpoint(sandbox: Sandbox) -> None:
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    sandbox.customer()
    [delivery] = sandbox.deliveries(endpoint)
    for related in (endpoint["id"], delivery["event"]):
        assert sandbox.control.get("/counts", related=related)["webhook_delivery"] == 1
        page = sandbox.control.get("/objects", kind="webhook_delivery", related=related)
        assert [each["id"] for each in page["data"]] == [delivery["id"]]


def test_everything_is_counted(sandbox: Sandbox) -> None:
    assert set(sandbox.control.get("/counts").values()) == {0}
    sandbox.customer()
    counts = sandbox.control.get("/counts")
    assert (counts["customer"], counts["event"], counts["invoice"]) == (1, 1, 0)


def test_the_kinds_are_those_of_the_document(sandbox: Sandbox) -> None:
    kinds = set(bundles.load("control")["components"]["schemas"]["ObjectKind"]["enum"])
    assert sandbox.control.get("/counts").keys() == kinds == COLUMNS.keys()
    for kind in kinds:
        assert sandbox.control.get("/objects", kind=kind)["data"] == []


@pytest.mark.parametrize("query", [{}, {"kind": "settings"}, {"kind": "customer", "query": ""}])
def test_a_wrong_query_is_rejected(sandbox: Sandbox, query: dict[str, str]) -> None:
    sandbox.control.rejected("GET", "/objects", 422, "INVALID_FILTER_PARAM", params=query)


@pytest.mark.parametrize("path", ["/counts?related=cust_0", "/objects?kind=invoice&related=cust_0"])
def test_nothing_belongs_to_what_is_not_there(sandbox: Sandbox, path: str) -> None:
    sandbox.control.rejected("GET", path, 404, "NOT_FOUND")


def test_requests_are_found_by_what_they_changed(sandbox: Sandbox) -> None:
    customer, other = sandbox.customer(), sandbox.customer()
    sandbox.api.patch(f"/customers/{customer['id']}/", {"phone": "+24177000000"})
    sandbox.api.get(f"/customers/{customer['id']}/")
    changing = sandbox.control.get("/requests", object=customer["id"])["data"]
    assert [row["operation"] for row in changing] == ["updateCustomer", "createCustomer"]
    assert sandbox.control.get("/requests", object=other["id"], method="PATCH")["data"] == []


def test_open_apps_are_listed(sandbox: Sandbox) -> None:
    sandbox.customer()
    name = sandbox.key.removeprefix("sk_test_")
    apps = [app for app in sandbox.control.pages("/apps", page_size=100) if app["name"] == name]
    (app,) = apps
    assert app.pop("idle_seconds") >= 0
    (customers, events) = (sandbox.control.get("/counts")[kind] for kind in ("customer", "event"))
    assert app == {
        "id": sandbox.control.get("/app")["id"],
        "name": name,
        "livemode": False,
        "objects": customers + events,
        "requests_count": sandbox.control.get("/requests")["pagination"]["count"],
        "now": sandbox.now,
    }


def test_a_search_ranks_ids_and_names_and_finds_nothing_within_ids(sandbox: Sandbox) -> None:
    awa, late = sandbox.customer(name="Awa Diop"), sandbox.customer(name="Mado Awandji")
    within, other = sandbox.customer(name="Zawadi Ba"), sandbox.customer(name="Jean Mba")

    def found(text: str) -> list[str]:
        return [row["id"] for row in sandbox.control.pages("/search", query=text, page_size=100)]

    assert found("awa") == [awa["id"], late["id"], within["id"]]
    assert found(other["id"]) == [other["id"]]
    assert found(other["id"][:12]) == [other["id"]]
    assert found(other["id"][8:14]) == []
    assert found(" ") == []
    first = sandbox.control.get("/search", query="jean")["data"][0]
    assert first == {"id": other["id"], "kind": "customer", "name": "Jean Mba", "status": "active"}


def test_a_text_within_an_id_is_no_match_of_a_list(sandbox: Sandbox) -> None:
    id = sandbox.customer()["id"]
    listed = [sandbox.control.get("/objects", kind="customer", query=text)["data"] for text in (id[:9], id[9:15])]
    assert [len(each) for each in listed] == [1, 0]
