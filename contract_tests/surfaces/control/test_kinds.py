"""Objects by kind: listed, searched, counted, and found by what they belong to."""

from __future__ import annotations

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


def test_a_search_finds_a_text_anywhere_in_an_object(sandbox: Sandbox) -> None:
    """But for one within an id."""
    id = sandbox.customer(metadata={"deep": "a Needle in Éden"})["id"]
    sandbox.plan()
    for text, count in [("needle", 1), ("NEEDLE", 1), ("cust_", 1), ("é", 1), (id[:9], 1), (id[9:15], 0), ("no", 0)]:
        found = sandbox.control.get("/objects", kind="customer", query=text)["data"]
        assert [each["id"] for each in found] == [id] * count, text
    for query in ({}, {"kind": "settings"}, {"kind": "customer", "query": ""}):
        sandbox.control.rejected("GET", "/objects", 422, "INVALID_FILTER_PARAM", params=query)
    for path in ("/counts?related=cust_0", "/objects?kind=invoice&related=cust_0"):
        sandbox.control.rejected("GET", path, 404, "NOT_FOUND")


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


def test_the_kinds_are_those_of_the_document(sandbox: Sandbox) -> None:
    kinds = set(bundles.load("control")["components"]["schemas"]["ObjectKind"]["enum"])
    counts = sandbox.control.get("/counts")
    assert counts.keys() == kinds == COLUMNS.keys()
    assert set(counts.values()) == {0}
    for kind in kinds:
        assert sandbox.control.get("/objects", kind=kind)["data"] == []
    sandbox.customer()
    counts = sandbox.control.get("/counts")
    assert (counts["customer"], counts["event"], counts["invoice"]) == (1, 1, 0)


def test_open_apps_are_listed(sandbox: Sandbox) -> None:
    """With their objects, without the events that report on them."""
    sandbox.customer()
    name = sandbox.key.removeprefix("sk_test_")
    apps = [app for app in sandbox.control.pages("/apps", page_size=100) if app["name"] == name]
    (app,) = apps
    assert app.pop("idle_seconds") >= 0
    assert app == {
        "id": sandbox.control.get("/app")["id"],
        "name": name,
        "livemode": False,
        "objects": sandbox.control.get("/counts")["customer"],
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
    row = {"id": other["id"], "kind": "customer", "name": "Jean Mba", "status": "active"}
    assert first == {**row, "created_at": other["created_at"]}
