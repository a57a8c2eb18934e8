"""Query parameters: what is understood, and what is rejected with 422 INVALID_FILTER_PARAM (B-12, B-19)."""

from __future__ import annotations

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import Sandbox


@pytest.mark.parametrize("until", ["2025-12-31T23:59:59Z", "tomorrow", "P0D", "-P1D", "2026-13-01T00:00:00Z", "P9000Y"])
def test_a_schedule_is_asked_for_until_an_instant_ahead(sandbox: Sandbox, until: str) -> None:
    """No schema says so: an instant or a duration, and not past."""
    error = sandbox.control.rejected("GET", f"/schedule?until={until}", 422, "INVALID_FILTER_PARAM")
    assert error["param"] == "until"


def test_an_empty_query_is_none(sandbox: Sandbox, line: Line) -> None:
    """Also where the operation has no parameters at all."""
    for path in (f"/v1/customers/{sandbox.customer()['id']}/", "/v1/customers/"):
        for query in ("?", "?&", "?&&&", "?#x"):
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
