"""Of two faults of a request the response names the one that comes first (B-05)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from contract_tests.support.sandbox import Sandbox

HOURLY = {"per_second": 1 / 3600, "burst": 1}
"""A limit that the first request uses up."""

KEY = "Idempotency-Key"


class Fault(NamedTuple):
    """One fault of ``POST /subscriptions/{id}/pause/``, and the response if it is the only one."""

    name: str
    status: int
    code: str
    param: str | None = None
    request: Mapping[str, str] = MappingProxyType({})
    headers: tuple[tuple[str, str], ...] = ()
    is_limited: bool = False

    def can_stand_beside(self, other: Fault) -> bool:
        """Return whether one request can have both: no part of it can be wrong in two ways."""
        own, others = ({*fault.request, *dict(fault.headers)} for fault in (self, other))
        return not own & others

    def merged(self, other: Fault) -> Fault:
        """Return this fault with the parts of the other one: the response is to be this one's."""
        return self._replace(
            request={**self.request, **other.request},
            headers=(*self.headers, *other.headers),
            is_limited=self.is_limited or other.is_limited,
        )


ORIGINS = (("Origin", "https://a.example"), ("Origin", "https://b.example"))

DISABLED = ("Authorization", "Bearer sk_test_disabled")

ORDER = [
    Fault("route", 404, "NOT_FOUND", request={"verb": "nothing"}),
    Fault("method", 405, "METHOD_NOT_ALLOWED", request={"method": "PUT"}),
    Fault("no key", 401, "AUTHENTICATION_FAILED", headers=(("Authorization", "Basic x"),)),
    Fault(
        "public key",
        403,
        "PUBLIC_KEY_NOT_ALLOWED",
        headers=(("Authorization", "Bearer pk_test_demo"),),
    ),
    Fault("state of the App", 403, "APP_DISABLED", headers=(DISABLED,)),
    Fault("two origins", 400, "VALIDATION_ERROR", "Origin", headers=ORIGINS),
    Fault("profile", 403, "PERMISSION_DENIED", headers=(("X-Forwarded-For", "203.0.113.7"),)),
    Fault("limit", 429, "RATE_LIMIT_EXCEEDED", is_limited=True),
    Fault("forced", 500, "DATABASE_ERROR", headers=(("Emulator-Answer", "DATABASE_ERROR"),)),
    Fault("two keys", 400, "VALIDATION_ERROR", KEY, headers=((KEY, "a"), (KEY, "b"))),
    Fault("form of a header", 400, "VALIDATION_ERROR", KEY, headers=((KEY, "x" * 256),)),
    Fault("form of the body", 400, "VALIDATION_ERROR", request={"content": "{"}),
    Fault("parameter", 422, "INVALID_FILTER_PARAM", "x", request={"query": "?x=1"}),
    Fault("idempotency", 409, "IDEMPOTENCY_CONFLICT", headers=((KEY, "used"),)),
    Fault("object", 404, "SUBSCRIPTION_NOT_FOUND", request={"id": "sub_x"}),
]
"""Faults in the order in which they are looked for."""

PAIRS = [pair for pair in combinations(ORDER, 2) if pair[0].can_stand_beside(pair[1])]


@pytest.fixture
def subscription(sandbox: Sandbox) -> str:
    """The id of a subscription in a world where each of the faults can be had."""
    sandbox.api.post("/security-profiles/", {"name": "Here", "allowed_ips": ["127.0.0.1"]})
    used = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
    response = sandbox.api.request("POST", "/subscription-plans/", json=used, headers={KEY: "used"})
    assert response.is_success
    return str(sandbox.subscribe()["id"])


def response_to(fault: Fault, sandbox: Sandbox, subscription: str) -> tuple[int, str, str | None]:
    """Return status, code and param of the response to a request that has the fault."""
    sandbox.settings(rate_limit=HOURLY if fault.is_limited else None)
    if fault.is_limited:
        sandbox.api.request("GET", "/customers/")
    parts = {"method": "POST", "id": subscription, "verb": "pause", "query": "", "content": ""}
    sent = {**parts, **fault.request}
    headers = [("Content-Type", "application/json"), *fault.headers]
    if "Authorization" not in dict(headers):
        headers.append(("Authorization", f"Bearer {sandbox.key}"))
    path = f"/subscriptions/{sent['id']}/{sent['verb']}/{sent['query']}"
    response = sandbox.api.request(sent["method"], path, content=sent["content"], headers=headers)
    body: dict[str, Any] = response.json()
    return response.status_code, body["code"], body.get("param")


@pytest.mark.parametrize("fault", ORDER, ids=lambda fault: fault.name)
def test_each_fault_has_its_response(sandbox: Sandbox, subscription: str, fault: Fault) -> None:
    expected = (fault.status, fault.code, fault.param)
    assert response_to(fault, sandbox, subscription) == expected


@pytest.mark.parametrize("earlier", ORDER[:-1], ids=lambda fault: fault.name)
def test_the_response_names_the_earlier_fault(
    sandbox: Sandbox, subscription: str, earlier: Fault
) -> None:
    expected = (earlier.status, earlier.code, earlier.param)
    for later in (second for first, second in PAIRS if first is earlier):
        response = response_to(earlier.merged(later), sandbox, subscription)
        assert response == expected, later.name


JSON = {"Content-Type": "application/json"}
NOT_JSON = {"content": b"{", "headers": JSON}


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        # The form of the body comes before the parameters, however many there are.
        ("POST", "/customers/?" + "x=1&" * 200, NOT_JSON, 400, "VALIDATION_ERROR"),
        # Parameters and fields come before the objects.
        ("GET", "/customers/x/?x=1", {}, 422, "INVALID_FILTER_PARAM"),
        ("POST", "/subscriptions/x/pause/", {"json": {"x": 1}}, 422, "INVALID_FIELD"),
        (
            "POST",
            "/subscriptions/",
            {"json": {"customer": "c", "plan": "p", "interval": 1}},
            422,
            "INVALID_FIELD",
        ),
        # So do the rules: the customer that there is not is no field that is wrong.
        (
            "POST",
            "/invoices/",
            {
                "json": {
                    "customer": "cust_x",
                    "line_items": [{"description": "Basket", "unit_amount": 500}],
                    "due_date": "2020-01-01",
                }
            },
            422,
            "INVALID_FIELD",
        ),
    ],
)
def test_the_first_fault_decides(
    sandbox: Sandbox, method: str, path: str, options: dict[str, Any], status: int, code: str
) -> None:
    sandbox.api.rejected(method, path, status, code, **options)


OF_NOBODY = {"customer": "cust_x", "unit_amount": 500, "interval": "month"}


@pytest.mark.parametrize(
    ("field", "value", "status", "code"),
    [
        pytest.param("interval", "age", 422, "INVALID_FIELD", id="after the fields"),
        pytest.param("unit_amount", 600, 409, "IDEMPOTENCY_CONFLICT", id="before the objects"),
    ],
)
def test_a_used_key_has_its_place_in_the_order(
    sandbox: Sandbox, field: str, value: Any, status: int, code: str
) -> None:
    """Wrong fields are 422 still, a missing customer is a conflict."""
    sent = {"headers": {KEY: "k"}}
    path = "/subscriptions/"
    sandbox.api.rejected("POST", path, 404, "CUSTOMER_NOT_FOUND", json=OF_NOBODY, **sent)
    sandbox.api.rejected("POST", path, status, code, json={**OF_NOBODY, field: value}, **sent)
