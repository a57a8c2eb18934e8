"""Query parameters: what is understood, and what is rejected with 422 INVALID_FILTER_PARAM (B-12, B-19)."""

from __future__ import annotations

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import Sandbox

INTEGERS = [
    *("", "x", "1.0", "1e1", "0x1", "+1", "%2B1", "--1", "-", "1_0", "1%200", "%201", "1%0A", "%D9%A3"),
    *("%EF%BC%91", "%C2%B2", "%00", "%FF", "true", "null", "1,2", "9" * 301, "9" * 5000),
]


@pytest.mark.parametrize("name", ["page", "page_size"])
@pytest.mark.parametrize("value", ["0", "-1", "-0", "-" + "9" * 300, *INTEGERS])
def test_page_and_page_size_are_integers_from_1(sandbox: Sandbox, name: str, value: str) -> None:
    """General conventions; digits are ASCII digits, and nothing else is let pass as a number."""
    error = sandbox.api.rejected("GET", f"/customers/?{name}={value}", 422, "INVALID_FILTER_PARAM")
    assert error["param"] == name
    assert list(error["errors"]) == [name]


@pytest.mark.parametrize(("size", "status"), [(1, 200), (100, 200), (101, 422), (10**299, 422)])
def test_page_size_ends_at_100(sandbox: Sandbox, size: int, status: int) -> None:
    """Limits."""
    response = sandbox.api.request("GET", f"/customers/?page_size={size}")
    assert response.status_code == status
    assert status == 422 or response.json()["pagination"]["page_size"] == size


@pytest.mark.parametrize("page", [2, 10**9, 2**63, 10**299])
@pytest.mark.parametrize("filters", ["", "&status=active", "&status=blocked", "&ordering=email"])
def test_a_page_past_the_end_is_empty_however_far(sandbox: Sandbox, page: int, filters: str) -> None:
    """B-19: 200, and ``previous`` is the last real page."""
    sandbox.customer()
    answer = sandbox.api.get(f"/customers/?page={page}{filters}")
    count = 0 if "blocked" in filters else 1
    assert answer["data"] == []
    assert (answer["pagination"]["count"], answer["pagination"]["page"]) == (count, page)
    assert (answer["pagination"]["previous"] is None) == (count == 0)


def test_a_far_page_of_several_filtered_runs_is_empty_too(sandbox: Sandbox) -> None:
    """B-20: a comma list is answered from several indexes."""
    answer = sandbox.api.get(f"/subscriptions/?status=active,canceled&page={2**63}")
    assert answer["data"] == []


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("x=1", "x"),
        ("X", "X"),
        ("Page=1", "Page"),
        ("page%20=1", "page "),
        ("page[]=1", "page[]"),
        ("%FF=1", "\ufffd"),
        ("%00=1", "\x00"),
        ("id=x", "id"),
        ("app=demo", "app"),
        ("status=gone", "status"),
        ("status=", "status"),
        ("status=active,blocked", "status"),
        ("ordering=phone", "ordering"),
        ("ordering=--email", "ordering"),
        ("page=1&page=1", "page"),
        ("page=1&page=2", "page"),
        ("search=a&search=b", "search"),
    ],
)
def test_an_unknown_a_bad_and_a_repeated_parameter_are_rejected(sandbox: Sandbox, query: str, param: str) -> None:
    """B-12: ``param`` names it."""
    error = sandbox.api.rejected("GET", f"/customers/?{query}", 422, "INVALID_FILTER_PARAM")
    assert error["param"] == param
    assert list(error["errors"]) == [param]


REJECTED = {
    "/v1/customers/": "ordering=name email=awa@example.com page_size=ten",
    "/v1/customers/cust_x/addresses/": "country=GA",
    "/v1/customers/cust_x/transactions/": "status=completed",
    "/v1/customers/cust_x/payment-methods/": "status=completed",
    "/v1/products/": "active=yes currency=eur currency=ABC ordering=price page=-1 page_size=101 search=basket",
    "/v1/subscription-plans/": "active=1 currency=xaf interval=quarter ordering=amount page=0 page_size=101",
    "/v1/subscriptions/": "status=blue collection_method=blue ordering=blue colour=blue",
    "/v1/security-profiles/": "page_size=0 page_size=101 name=a",
    "/v1/invoices/": "status=blue due_after=blue currency=blue colour=blue subscription=",
    "/v1/refunds/": "status=done",
    "/v1/checkout-sessions/": "status=closed mode=x color=red",
    "/v1/payment-links/": "status=closed payment_link_type=x currency=x color=red",
    "/v1/transactions/": "status=done type=deposits min_amount=many ordering=fee currency=franc colour=red",
    "/v1/webhooks/": "enabled=yes",
    "/v1/webhooks/wh_x/deliveries/": "status=lost event_type=x webhook=wh_0",
    "/_emulator/emails": "kind=newsletter to= wait=31 topic=invoice",
    "/_emulator/events": "type=pigs.fly wait=31 wait=-1 wait=soon page=0 colour=red",
    "/_emulator/schedule": "until=2025-12-31T23:59:59Z until=tomorrow until=P0D until=-P1D until=2026-13-01T00:00:00Z"
    " until=P9000Y",
}
"""Queries of lists, each wrong in its one parameter: of another form, or one that the list does not have."""


@pytest.mark.parametrize("path", REJECTED)
def test_what_a_list_cannot_be_asked_is_rejected_and_named(sandbox: Sandbox, path: str) -> None:
    """B-12; parameters come before objects (B-05)."""
    api = sandbox.control if path.startswith("/_emulator") else sandbox.api
    for query in REJECTED[path].split():
        error = api.rejected("GET", f"{sandbox.url}{path}?{query}", 422, "INVALID_FILTER_PARAM")
        assert error["param"] == query.partition("=")[0], query


def test_all_violations_of_a_query_are_reported_at_once(sandbox: Sandbox) -> None:
    """B-12: one code, as all are in parameters."""
    error = sandbox.api.rejected("GET", "/customers/?page=0&page_size=101&x=1", 422, "INVALID_FILTER_PARAM")
    assert list(error["errors"]) == ["page", "page_size", "x"]


def test_violations_of_query_and_body_are_reported_at_once(sandbox: Sandbox) -> None:
    """B-12: several: VALIDATION_ERROR."""
    body = {"email": "a@example.com", "name": 1}
    error = sandbox.api.rejected("POST", "/customers/?x=1", 422, "VALIDATION_ERROR", json=body)
    assert sorted(error["errors"]) == ["name", "x"]


@pytest.mark.parametrize("query", ["?", "?&", "?&&&", "?#x"])
def test_an_empty_query_is_none(sandbox: Sandbox, line: Line, query: str) -> None:
    """Also where the operation has no parameters at all."""
    for path in (f"/v1/customers/{sandbox.customer()['id']}/", "/v1/customers/"):
        line.request(f"GET {path}{query} HTTP/1.1".encode())
        assert line.answer().status == 200


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("search=Ondo%CC%81", 0),
        ("search=%C3%89lo%C3%AFse", 1),
        ("search=%E9lo%EFse", 0),
        ("search=a%26b%3D", 0),
        ("search=", 1),
        ("search=ndong&", 1),
    ],
)
def test_text_is_percent_encoded_utf_8(sandbox: Sandbox, line: Line, query: str, found: int) -> None:
    """What is no UTF-8 is no text that anybody has."""
    sandbox.customer(name="Éloïse Ndong")
    line.request(f"GET /v1/customers/?{query} HTTP/1.1".encode())
    answer = line.answer()
    assert answer.status == 200
    assert b'"count":%d,' % found in answer.body


@pytest.mark.parametrize(
    ("count", "message"),
    [(100, "search: is given more than once"), (101, "The query has more than 100 parameters.")],
)
def test_a_query_has_at_most_100_parameters(sandbox: Sandbox, count: int, message: str) -> None:
    response = sandbox.api.request("GET", "/customers/?" + "&".join(["search=a"] * count))
    assert (response.status_code, response.json()["code"]) == (422, "INVALID_FILTER_PARAM")
    assert response.json()["message"] == message


@pytest.mark.parametrize(
    "instant",
    [
        *("2026-02-01", "20260201", "2026-032", "2026032", "2026-W05-7"),
        *("2026-02-01T00:00:00", "2026-02-01T00:00:00Z", "2026-02-01t00:00:00.000z", "2026-01-31T23:00:00-01:00"),
    ],
)
def test_an_instant_is_read_alike_in_filters_and_in_bodies(sandbox: Sandbox, instant: str) -> None:
    """B-17: "Wherever an instant is taken, in filters and in bodies, it is an ISO 8601 date or an RFC 3339 date-time: a
    date is its midnight, an instant without an offset is UTC". Each of these is the first instant of February.
    """
    first = sandbox.subscribe(ends_at=instant)
    link = sandbox.link(validity_type="limited", expires_at=instant)
    assert first["ends_at"] == link["expires_at"] == "2026-02-01T00:00:00.000Z"
    sandbox.control.post("/clock/advance", {"to": instant})
    assert (sandbox.now, sandbox.subscription(first["id"])["status"]) == ("2026-02-01T00:00:00.000Z", "expired")
    second = sandbox.subscribe()
    found = sandbox.api.get("/subscriptions/", created_after=instant)["data"]
    assert [each["id"] for each in found] == [second["id"]]


@pytest.mark.parametrize(
    "instant",
    [
        *("2026-13-01", "2026-01-01T25:00:00", "1767225600", "2026-02-30T00:00:00Z", "", "now"),
        *("2026-000", "2026-366", "2025-12-31T24:01Z", "0000-001"),
        *("2026-06-01 00:00:00Z", "2026-06-01T00:00Z", "20260601T000000Z", "2026-06-01_00:00:00Z"),
    ],
)
def test_an_instant_is_one_of_the_calendar(sandbox: Sandbox, instant: str) -> None:
    """B-17: "a space in between is wrong"; nor is another form a date-time."""
    error = sandbox.api.rejected("GET", f"/subscriptions/?created_after={instant}", 422, "INVALID_FILTER_PARAM")
    assert error["param"] == "created_after"
    body = sandbox.link_body(validity_type="limited", expires_at=instant)
    assert sandbox.api.rejected("POST", "/payment-links/", 422, "INVALID_FIELD", json=body)["param"] == "expires_at"


def test_links_keep_the_other_parameters(sandbox: Sandbox) -> None:
    """B-19: absolute URLs that can be followed, whatever stands in the parameters."""
    for number in range(3):
        sandbox.api.post("/customers/", {"email": f"a+{number}@example.com", "name": "Éloïse & Cie"})
    first = sandbox.api.get("/customers/", search="éloïse", page_size=2, ordering="email")
    assert first["pagination"]["next"].startswith(f"{sandbox.url}/v1/customers/?")
    second = sandbox.api.request("GET", first["pagination"]["next"]).json()
    assert [customer["email"] for customer in second["data"]] == ["a+2@example.com"]
    assert sandbox.api.request("GET", second["pagination"]["previous"]).json() == first
