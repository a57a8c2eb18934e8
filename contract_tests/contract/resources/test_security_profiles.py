"""Security profiles: the specification's seven enforcement rules, and B-51, B-55, B-70, B-71."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, Sandbox, path_of

SHOP = "203.0.113.7"
"""An address in Gabon, by the table of networks."""

PHONE = {"type": "mobile_money", "phone": "+24177001234"}


def profile(sandbox: Sandbox, by: str = "127.0.0.1", **limits: Any) -> Any:
    """Return a profile, made by someone at that address."""
    return sandbox.api.post(
        "/security-profiles/", {"name": "Strict", **limits}, **{"X-Forwarded-For": by}
    )


def status(sandbox: Sandbox, forwarded: str | None = None, origin: str | None = None) -> int:
    """Return the status of a read by a client that comes so."""
    headers = {"X-Forwarded-For": forwarded, "Origin": origin}
    sent_headers = {name: value for name, value in headers.items() if value is not None}
    return sandbox.api.request("GET", "/customers/", headers=sent_headers).status_code


def rejected(sandbox: Sandbox, method: str, path: str, rule: str, **options: Any) -> None:
    """Rejected with 403, the message naming the rule (B-70)."""
    assert (
        rule in sandbox.api.rejected(method, path, 403, "PERMISSION_DENIED", **options)["message"]
    )


# -- rule 1: addresses


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (["203.0.113.7"], ("203.0.113.7", "::ffff:203.0.113.7"), ("203.0.113.8",)),
        (["198.51.100.1", "203.0.113.0/24"], ("203.0.113.255", "198.51.100.1"), ("203.0.114.0",)),
        (["0.0.0.0/0"], ("8.8.8.8",), ("2001:db8::1",)),
        ([], ("8.8.8.8",), ()),
    ],
)
def test_only_listed_addresses_get_in(
    sandbox: Sandbox, allowed: list[str], inside: Any, outside: Any
) -> None:
    """Rule 1: an unlisted IP gets 403; an empty list lets everyone in."""
    profile(sandbox, allowed_ips=allowed)
    assert [status(sandbox, address) for address in (*inside, *outside)] == [200] * len(inside) + [
        403
    ] * len(outside)


def test_requests_of_every_kind_are_rejected_alike(sandbox: Sandbox) -> None:
    """Rule 6: all API requests of this side, after route and key, before code and body (B-05)."""
    path = f"/security-profiles/{profile(sandbox, allowed_ips=[SHOP])['id']}/"
    for method, at in (
        ("GET", "/customers/"),
        ("POST", "/customers/"),
        ("PATCH", path),
        ("DELETE", path),
    ):
        rejected(sandbox, method, at, "allowed_ips")
    rejected(sandbox, "POST", "/reset", "allowed_ips")
    rejected(sandbox, "POST", "/customers/", "allowed_ips", content=b"{")
    rejected(
        sandbox, "GET", "/customers/", "allowed_ips", headers={"Emulator-Answer": "DATABASE_ERROR"}
    )
    sandbox.api.rejected("GET", "/nothing/", 404, "NOT_FOUND")
    sandbox.api.rejected(
        "GET", "/customers/", 401, "INVALID_TOKEN", headers={"Authorization": "Bearer nobody"}
    )
    for key in (f"{sandbox.key}x", sandbox.key.replace("test", "prod", 1)):
        response = sandbox.api.request(
            "GET", "/customers/", headers={"Authorization": f"Bearer {key}"}
        )
        assert response.status_code == 200


@pytest.mark.parametrize(
    ("forwarded", "seen"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("192.0.2.1 ,  203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("192.0.2.1, 203.0.113.7, 127.0.0.2", "203.0.113.7"),
        ("203.0.113.7, [::1]:80", "203.0.113.7"),
        ("203.0.113.7, unknown", "127.0.0.1"),
        ("203.0.113.7, unknown, 127.0.0.2", "127.0.0.2"),
        ("unknown", "127.0.0.1"),
        ("203.0.113.7" + "0" * 4000, "127.0.0.1"),
    ],
)
def test_the_last_hop_that_is_no_proxy_counts(sandbox: Sandbox, forwarded: str, seen: str) -> None:
    """B-70: trusted proxies are loopback; what is no address ends the row."""
    profile(sandbox, by=seen, allowed_ips=[seen])
    assert status(sandbox, forwarded) == 200
    profile(sandbox, by=seen, allowed_ips=["10.9.8.7"])
    assert status(sandbox, forwarded) == 403


def test_only_a_trusted_proxy_can_speak_for_others(sandbox: Sandbox) -> None:
    """B-70: without one the socket's address counts, not the header. Several headers make a row."""
    profile(sandbox, by=SHOP, allowed_ips=[SHOP])
    hops = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-For", SHOP),
        ("X-Forwarded-For", "127.0.0.5"),
    ]
    assert sandbox.api.http.get("/customers/", headers=hops).status_code == 200
    assert status(sandbox, f"{SHOP}, 10.0.0.1") == 403
    sandbox.settings(trusted_proxies=["127.0.0.1", "10.0.0.0/8"])
    assert status(sandbox, f"{SHOP}, 10.0.0.1") == 200
    sandbox.settings(trusted_proxies=[])
    assert status(sandbox, SHOP) == 403


# -- rule 2: origins


LISTED = (
    *(None, "https://shop.example.com", "http://shop.example.com", "https://shop.example.com:8443"),
    "https://SHOP.example.com",
)
UNLISTED = (
    *("https://www.shop.example.com", "https://shop.example.com.evil.example", "null", ""),
    "chrome-extension://shop.example.com",
)


def test_only_pages_of_listed_domains_get_in(sandbox: Sandbox) -> None:
    """Rule 2, B-71: an Origin's port is ignored; subdomains are listed; servers send no Origin."""
    made = profile(sandbox, allowed_domains=["Shop.Example.com"])
    changed = {"allowed_domains": ["SHOP.example.com"]}
    for _ in range(2):
        statuses = [status(sandbox, origin=origin) for origin in (*LISTED, *UNLISTED)]
        assert statuses == [200] * len(LISTED) + [403] * len(UNLISTED)
        now = sandbox.api.patch(f"/security-profiles/{made['id']}/", changed)
        assert now["allowed_domains"] == ["shop.example.com"]


# -- rule 5: countries


def test_nothing_is_paid_from_a_blocked_country(sandbox: Sandbox) -> None:
    """Rule 5; B-95: what creates, confirms or captures a payment, and nothing else."""
    profile(sandbox, blocked_countries=["KP", "US"])
    for path in (
        "/payment-intents/",
        "/payment-intents/x/confirm/",
        "/payment-intents/x/capture/",
        "/subscriptions/",
    ):
        for address in ("192.0.2.1", "198.51.100.255"):
            rejected(
                sandbox,
                "POST",
                path,
                "blocked_countries",
                json={},
                headers={"X-Forwarded-For": address},
            )
        for address in ("203.0.113.1", "192.0.3.0", "8.8.8.8", "127.0.0.1"):
            assert (
                sandbox.api.http.post(
                    path, json={}, headers={"X-Forwarded-For": address}
                ).status_code
                != 403
            )
    assert status(sandbox, "192.0.2.1") == 200
    sandbox.api.post(
        "/customers/",
        {"email": "awa@example.com", "name": "Awa"},
        **{"X-Forwarded-For": "192.0.2.1"},
    )


# -- rules 6 and 7: when they apply


def test_a_profile_applies_from_the_next_request_to_its_last(sandbox: Sandbox) -> None:
    """Rule 6: from creation or update to deletion. B-70: all apply, to all but the control API."""
    made = profile(sandbox, allowed_ips=[SHOP])
    path, there = f"/security-profiles/{made['id']}/", {"X-Forwarded-For": SHOP}
    assert [status(sandbox), status(sandbox, SHOP)] == [403, 200]
    changed = sandbox.api.request(
        "PATCH", path, json={"allowed_ips": ["198.51.100.1"]}, headers=there
    )
    assert changed.status_code == 200
    assert [status(sandbox, SHOP), status(sandbox, "198.51.100.1")] == [403, 200]
    sandbox.control.patch(f"/objects/{made['id']}", {"allowed_ips": []})
    assert [status(sandbox), status(sandbox, SHOP)] == [200, 200]
    sandbox.api.patch(path, {"allowed_ips": ["127.0.0.1", "203.0.113.0/24"]})
    profile(
        sandbox, allowed_ips=["127.0.0.1", "203.0.113.0/28"], allowed_domains=["shop.example.com"]
    )
    origins = ("https://shop.example.com", "https://www.example.com")
    assert [status(sandbox, f"203.0.113.{last}", origins[0]) for last in (15, 16)] == [200, 403]
    assert [status(sandbox, "203.0.113.15", origin) for origin in origins] == [200, 403]
    for rule in sandbox.api.get("/security-profiles/")["data"]:
        sandbox.api.delete(f"{path_of(rule)}/")
    assert [status(sandbox, "8.8.8.8"), status(sandbox, origin="https://evil.example")] == [
        200,
        200,
    ]


def test_on_the_starter_plan_nothing_is_filtered_or_made(sandbox: Sandbox) -> None:
    """Rule 7; B-70: existing ones do not filter or allow a page. Other plans have profiles."""
    for plan in ("growth", "business", "enterprise"):
        sandbox.settings(pricing_plan=plan)
        profile(sandbox)
    profile(sandbox, allowed_ips=[SHOP], allowed_domains=["shop.example.com"])
    assert granted(preflight(sandbox, "https://shop.example.com"))
    sandbox.settings(pricing_plan="starter")
    assert status(sandbox) == 200
    assert not granted(preflight(sandbox, "https://shop.example.com"))
    body = {"name": "Shop servers"}
    error = sandbox.api.rejected(
        "POST", "/security-profiles/", 403, "INSUFFICIENT_PERMISSIONS", json=body
    )
    assert error["message"] == "The Starter plan has no security profiles."
    sandbox.settings(pricing_plan="business")
    assert status(sandbox) == 403


# -- browsers


def preflight(sandbox: Sandbox, origin: str, **headers: str) -> Any:
    preflight_headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    return sandbox.api.http.options("/customers/", headers={**preflight_headers, **headers})


def granted(response: Any) -> bool:
    """Return whether a browser would let the page read or go on."""
    return "access-control-allow-origin" in response.headers


def test_a_preflight_of_a_listed_page_is_granted(sandbox: Sandbox) -> None:
    """Rule 2 (CORS). A browser's preflight has no key: one App that lists the domain is enough."""
    domain = f"{sandbox.key.rsplit('_', 1)[1]}.example.com"
    profile(sandbox, allowed_domains=[domain])
    origin, wanted = f"https://{domain}:8443", "authorization,content-type,idempotency-key"
    for key in ({}, {"Authorization": ""}):
        response = preflight(sandbox, origin, **{"Access-Control-Request-Headers": wanted, **key})
        assert (response.status_code, response.content) == (204, b"")
        assert response.headers["access-control-allow-origin"] == origin
        assert response.headers["access-control-allow-credentials"] == "true"
        assert response.headers["access-control-allow-headers"] == wanted
        assert {"POST", "PATCH", "DELETE"} <= set(
            response.headers["access-control-allow-methods"].split(", ")
        )
        assert response.headers["vary"] == "Origin"


def test_a_listed_page_may_read_responses(sandbox: Sandbox) -> None:
    """Errors as well: a page must be able to show its user the cause. Other pages may not."""
    profile(sandbox, allowed_domains=["shop.example.com"])
    listed = {"Origin": "https://shop.example.com"}
    for path, expected in (("/customers/", 200), ("/customers/?page=0", 422), ("/nothing/", 404)):
        response = sandbox.api.http.get(path, headers=listed)
        assert response.status_code == expected
        assert response.headers["access-control-allow-origin"] == "https://shop.example.com"
        assert response.headers["vary"] == "Origin"
        assert "Request-Id" in response.headers["access-control-expose-headers"]
    for origin in ("https://evil.example", "null"):
        rejected(sandbox, "GET", "/customers/", "allowed_domains", headers={"Origin": origin})
        assert not granted(sandbox.api.http.get("/customers/", headers={"Origin": origin}))
        assert not granted(preflight(sandbox, origin))


@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_a_request_of_two_origins_is_read_by_no_page(sandbox: Sandbox, method: str) -> None:
    """B-05: nothing chooses between two, whichever is first."""
    profile(sandbox, allowed_domains=["shop.example.com"])
    listed, asks = ("Origin", "https://shop.example.com"), ("Access-Control-Request-Method", "POST")
    for origins in permutations((listed, ("Origin", "https://evil.example"))):
        response = sandbox.api.http.request(method, "/customers/", headers=[*origins, asks])
        assert (response.status_code, granted(response)) == (400, False)


def test_a_listed_page_may_read_the_headers_that_say_what_to_do_next(sandbox: Sandbox) -> None:
    """Retry guidance, B-11, B-16: browsers hide from a page each header that is not exposed."""
    profile(sandbox, allowed_domains=["shop.example.com"])
    listed = {"Origin": "https://shop.example.com"}
    exposed = sandbox.api.http.get("/customers/", headers=listed).headers[
        "access-control-expose-headers"
    ]
    assert set(exposed.split(", ")) >= {"Request-Id", "Retry-After", "Idempotent-Replayed"}


@pytest.mark.parametrize("domain", ["shop.example.com", "office.example.com"])
def test_a_page_that_another_profile_rejects_may_read_why(sandbox: Sandbox, domain: str) -> None:
    """B-70, B-72: two profiles without a common domain reject every browser, and say which did."""
    for allowed in ("shop.example.com", "office.example.com"):
        profile(sandbox, name=allowed, allowed_domains=[allowed])
    origin = f"https://{domain}"
    response = sandbox.api.http.get("/customers/", headers={"Origin": origin})
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (403, origin)
    other = {"shop.example.com", "office.example.com"} - {domain}
    assert f"The security profile {other.pop()!r} (allowed_domains)" in response.json()["message"]
    assert preflight(sandbox, origin).status_code == 204
    assert not granted(
        sandbox.api.http.get("/customers/", headers={"Origin": "https://evil.example"})
    )


@pytest.mark.parametrize("limits", [None, {}, {"allowed_ips": ["127.0.0.1"]}])
def test_without_listed_domains_no_page_may_read(
    sandbox: Sandbox, limits: dict[str, Any] | None
) -> None:
    """B-70: such an App answers browsers like anyone else and says nothing of CORS."""
    if limits is not None:
        profile(sandbox, **limits)
    response = sandbox.api.http.get("/customers/", headers={"Origin": "https://unheard-of.example"})
    assert (response.status_code, granted(response)) == (200, False)
    response = preflight(sandbox, "https://unheard-of.example")
    assert (response.status_code, granted(response)) == (405, False)
    sandbox.api.rejected("OPTIONS", "/customers/", 405, "METHOD_NOT_ALLOWED")


# -- payments: the cap on amounts


def test_the_cap_is_on_the_raw_amount_before_anything_is_made(sandbox: Sandbox) -> None:
    """Rule 3: below, at, above the lowest ``max_amount`` (B-70); above it 403 and no intent."""
    for cap in (None, 5000, 6000):
        profile(sandbox, max_amount=cap)
    for amount in (4999, 5000):
        sandbox.intent(amount=amount)
    body = {"amount": 5001, "currency": "XAF"}
    error = sandbox.api.rejected("POST", "/payment-intents/", 403, "PERMISSION_DENIED", json=body)
    assert "max_amount" in error["message"]
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == 2


def test_a_cap_is_looked_at_when_a_payment_is_made(sandbox: Sandbox) -> None:
    """B-70: a session, a link and a subscription above it are made; their payments are refused, or
    fail.
    """
    profile(sandbox, max_amount=4999)
    for payable in (sandbox.session(), sandbox.link(collect_customer_info=False)):
        path = f"{path_of(payable)}/pay"
        error = sandbox.control.rejected(
            "POST", path, 403, "PERMISSION_DENIED", json={"method": CARD}
        )
        assert "max_amount" in error["message"]
    subscription = sandbox.subscribe()
    assert subscription["status"] == "active"
    sandbox.settle()
    assert sandbox.status(subscription) == "past_due"


@pytest.mark.parametrize(("amount", "allowed"), [(10_000, True), (10_001, False)])
def test_the_cap_is_before_taxes(sandbox: Sandbox, amount: int, allowed: bool) -> None:
    """Rule 3: "before discounts or taxes", for invoices, checkout sessions and renewals (B-51)."""
    sandbox.settings(tax_rate=18)
    profile(sandbox, max_amount=10_000)
    lines = [{"description": "Advice", "unit_amount": amount}]
    customer = sandbox.customer(phone=PHONE["phone"])
    invoice = sandbox.invoice(customer, line_items=lines)
    session = sandbox.session(mode="subscription", customer=customer["id"], line_items=lines)
    for what, id in (("invoices", invoice["id"]), ("checkout-sessions", session["id"])):
        response = sandbox.control.request("POST", f"/{what}/{id}/pay", json={"method": PHONE})
        assert response.status_code == (200 if allowed else 403)
    body = {"customer": customer["id"], "unit_amount": amount, "interval": "month"}
    assert sandbox.status(sandbox.api.post("/subscriptions/", body)) == (
        "active" if allowed else "past_due"
    )


def test_a_cap_that_came_later_stops_the_confirmation(sandbox: Sandbox) -> None:
    """Rule 6: a profile applies at once."""
    intent = sandbox.intent(sandbox.method())
    made = profile(sandbox, max_amount=4999)
    path = f"/payment-intents/{intent['id']}/confirm/"
    sandbox.api.rejected("POST", path, 403, "PERMISSION_DENIED")
    sandbox.api.delete(f"{path_of(made)}/")
    assert sandbox.api.post(path)["status"] == "succeeded"


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        ({"max_amount": 4999}, 403, "PERMISSION_DENIED"),
        ({"allowed_payment_methods": ["bank_transfer"]}, 422, "PAYMENT_METHOD_NOT_SUPPORTED"),
    ],
    ids=["cap", "methods"],
)
def test_the_intent_of_a_deleted_customer_is_held_to_a_later_profile(
    sandbox: Sandbox, limits: Any, status: int, code: str
) -> None:
    """Rules 3, 4 and 6; B-32: it keeps a method that is no longer stored."""
    customer = sandbox.customer()
    intent = sandbox.intent(sandbox.method(customer))
    sandbox.api.delete(f"{path_of(customer)}/")
    profile(sandbox, **limits)
    sandbox.api.rejected("POST", f"{path_of(intent)}/confirm/", status, code)
    assert sandbox.shown(intent)["status"] == "requires_confirmation"


# -- payments: the methods that are allowed


def test_only_listed_methods_can_be_used(sandbox: Sandbox) -> None:
    """Rule 4: 422 PAYMENT_METHOD_NOT_SUPPORTED, nothing made (B-55). All have to list it (B-70)."""
    card, phone = sandbox.method(), sandbox.method(**PHONE)
    for types in ([], ["mobile_money", "bank_card"], ["mobile_money", "bank_transfer"]):
        profile(sandbox, allowed_payment_methods=types)
    body = {"amount": 5000, "currency": "XAF", "payment_method": card["id"]}
    error = sandbox.api.rejected(
        "POST", "/payment-intents/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body
    )
    assert error["param"] == "payment_method"
    assert sandbox.pay(phone)["status"] == "succeeded"


MAKERS = {
    "checkout-sessions": lambda sandbox, **types: sandbox.session_body(**types),
    "payment-links": lambda sandbox, **types: sandbox.link_body(**types),
    "payment-intents": lambda _, **types: {"amount": 5000, "currency": "XAF", **types},
}
"""What is made with ``payment_method_types``."""


@pytest.mark.parametrize("path", MAKERS)
def test_methods_are_stored_as_far_as_profiles_allow_them(sandbox: Sandbox, path: str) -> None:
    """B-58: left out or empty: all allowed ones; given: the allowed of them; none left is 422."""
    profile(sandbox, allowed_payment_methods=["mobile_money", "bank_transfer", "bank_card"])
    profile(sandbox, name="Second", allowed_payment_methods=["bank_card", "mobile_money"])
    both = ["mobile_money", "bank_card"]
    for wanted, stored in (
        (None, both),
        ([], both),
        (["bank_transfer", "bank_card"], ["bank_card"]),
    ):
        body = MAKERS[path](sandbox, **({} if wanted is None else {"payment_method_types": wanted}))
        assert sandbox.api.post(f"/{path}/", body)["payment_method_types"] == stored
    body = MAKERS[path](sandbox, payment_method_types=["bank_transfer", "paypal"])
    error = sandbox.api.rejected(
        "POST", f"/{path}/", 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body
    )
    refused = "the security profile 'Second' (allowed_payment_methods) does not allow bank_transfer"
    assert error["errors"] == {"payment_method_types": [refused]}


def test_a_links_methods_change_within_what_profiles_allow(sandbox: Sandbox) -> None:
    """B-58; methods stored before a profile stay, and the page offers those allowed now."""
    link = sandbox.link()
    profile(sandbox, allowed_payment_methods=["bank_card"])
    path = f"/payment-links/{link['id']}/"
    refused = {"payment_method_types": ["bank_transfer"], "name": "Other"}
    error = sandbox.api.rejected("PATCH", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=refused)
    assert (error["param"], sandbox.api.get(path)) == ("payment_method_types", link)
    for types in ([], ["bank_card", "paypal"]):
        assert sandbox.api.patch(path, {"payment_method_types": types})["payment_method_types"] == [
            "bank_card"
        ]


def test_a_buyer_is_held_to_them_as_well(sandbox: Sandbox) -> None:
    """B-70: also a payment that the control API makes."""
    session = sandbox.session()
    path, body = f"/checkout-sessions/{session['id']}/pay", {"method": PHONE}
    made = profile(sandbox, allowed_payment_methods=["bank_card"])
    sandbox.control.rejected("POST", path, 422, "PAYMENT_METHOD_NOT_SUPPORTED", json=body)
    sandbox.api.patch(f"{path_of(made)}/", {"allowed_payment_methods": [], "max_amount": 4999})
    sandbox.control.rejected("POST", path, 403, "PERMISSION_DENIED", json=body)
    assert sandbox.shown(session) == session
