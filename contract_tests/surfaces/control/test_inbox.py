"""The inbox: a receiver without set-up, which is a webhook's target like any other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import START, Sandbox


def url(sandbox: Sandbox, name: str = "shop", query: str = "") -> str:
    return f"{sandbox.url}/_emulator/inbox/{name}{query}"


def stored(sandbox: Sandbox, name: str = "shop") -> list[Any]:
    """What the inbox holds, oldest first."""
    sandbox.settle()
    return list(sandbox.control.pages(f"/inbox/{name}", page_size=100))[::-1]


@pytest.fixture
def http(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A stranger, who knows no document; what it sends is for this world unless it says another one."""
    with http_client(params={"app": sandbox.key.removeprefix("sk_test_")}) as client:
        yield client


@pytest.mark.parametrize(("method", "scheme"), [("HMAC_SHA256", "Bearer"), ("JWT", "Bearer"), ("BASIC", "Basic")])
def test_pings_and_deliveries_come_with_a_verdict_on_their_signature(
    sandbox: Sandbox, http: httpx.Client, method: str, scheme: str
) -> None:
    """By the secret of its time; other credentials than the endpoint's are recognised."""
    endpoint = sandbox.endpoint(url(sandbox), security_profile=method)
    sandbox.customer()
    ping, delivery = stored(sandbox)
    assert (ping["event_type"], delivery["event_type"]) == ("webhook.ping", "customer.created")
    for request in (ping, delivery):
        assert request["signature"] == {"valid": True, "webhook": endpoint["id"], "method": method}
        assert (request["method"], request["answered"], request["created_at"]) == ("POST", 200, START)
        assert request["url"] == url(sandbox)
        assert endpoint["secret"] not in str(request)
    assert delivery["headers"]["emulator-attempt"] == "1"
    assert [each["status"] for each in sandbox.deliveries(endpoint)] == ["succeeded"]
    sandbox.api.post(f"/webhooks/{endpoint['id']}/roll-secret/")
    sandbox.customer()
    assert [request["signature"]["valid"] for request in stored(sandbox)] == [True] * 3
    for given in (f"{scheme} bm9ib2R5Om5vYm9keQ==", f"{scheme} a.b.c", scheme):
        http.post(url(sandbox, "copy"), content=delivery["body"].encode(), headers={"authorization": given})
    assert [request["signature"]["valid"] for request in stored(sandbox, "copy")] == [False] * 3


def test_a_forged_or_altered_request_is_recognised(sandbox: Sandbox, http: httpx.Client) -> None:
    """It is held against the endpoint whose signature it has, that it names as a ping, or that it claims to come from."""
    named, other = sandbox.endpoint(url(sandbox)), sandbox.endpoint(url(sandbox, "other"))
    sandbox.customer()
    ping, genuine = stored(sandbox)
    (delivery,) = sandbox.deliveries(other)
    body, right = genuine["body"], {"service-signature": genuine["headers"]["service-signature"]}
    wrong = {"service-signature": "0" * 64}
    for content, headers, verdict in [
        (body, right, (True, named["id"])),
        (body + " ", right, (False, None)),
        (body, wrong, (False, None)),
        (body, {}, (None, None)),
        (ping["body"], wrong, (False, named["id"])),
        (ping["body"].replace("webhook.ping", "webhook.pong"), wrong, (False, None)),
        ("{}", {**wrong, "emulator-delivery": delivery["id"]}, (False, other["id"])),
    ]:
        assert http.post(url(sandbox, "copy"), content=content, headers=headers).status_code == 200
        found = stored(sandbox, "copy")[-1]["signature"]
        assert (found["valid"], found["webhook"]) == verdict, (content[:40], headers)


def test_the_url_says_how_it_answers(sandbox: Sandbox, http: httpx.Client) -> None:
    """It goes before what was set, for this inbox alone; an inbox may be called response."""
    sandbox.inbox_answers("shop", status=503)
    for status in (200, 204, 301, 599):
        assert http.post(url(sandbox), params={"status": status, **http.params}).status_code == status
    assert [request["answered"] for request in stored(sandbox)] == [200, 204, 301, 599]
    for name, status in [("shop", 503), ("response", 200), ("n" * 64, 200), ("n" * 65, 404), ("a/b", 404), ("", 404)]:
        assert http.put(url(sandbox, name)).status_code == status
    assert [request["method"] for request in stored(sandbox, "response")] == ["PUT"]
    started = time.perf_counter()
    http.post(url(sandbox), params={"delay_ms": 300, **http.params})
    assert time.perf_counter() - started >= 0.3
    body = {"name": "Shop", "url": url(sandbox, query="?status=500"), "events": ["*"]}
    sandbox.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)
    for name, wrong in (("status", "199"), ("status", "²"), ("delay_ms", "-1"), ("delay_ms", "60001"), ("app", "a b")):
        answer = http.post(url(sandbox, "wrong"), params={**dict(http.params), name: wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_FILTER_PARAM")
        assert answer.json()["param"] == name
    assert stored(sandbox, "wrong") == []


def test_how_an_inbox_answers_is_set_and_set_back(sandbox: Sandbox) -> None:
    """So an endpoint that passed its ping can be made to fail, and to recover.

    A GET changes nothing, also not of the URL that was registered, which anybody may open in a browser.
    """
    endpoint = sandbox.endpoint(url(sandbox))
    for wrong in ({"status": 199}, {"status": "500"}, {"delay_ms": -1}, {"delay_ms": 60_001}, {"x": 1}):
        sandbox.control.rejected("PUT", "/inbox/shop/response", 422, "INVALID_FIELD", json=wrong)
    assert len(sandbox.control.get("/inbox/shop", status=500, delay_ms=60_000)["data"]) == 1
    answer = sandbox.control.request("PUT", "/inbox/shop/response", json={"status": 500})
    assert (answer.status_code, answer.json()) == (200, {"status": 500, "delay_ms": 0})
    sandbox.customer()
    assert sandbox.deliveries(endpoint)[0]["status"] == "pending"
    assert sandbox.control.request("DELETE", "/inbox/shop/response").status_code == 204
    sandbox.advance("1m")
    assert [request["answered"] for request in stored(sandbox)] == [200, 500, 200]
    assert sandbox.deliveries(endpoint)[0]["status"] == "succeeded"


def test_inboxes_are_listed_with_what_they_hold_and_how_they_answer(sandbox: Sandbox) -> None:
    """Those that received something, those that an endpoint sends to, and those whose response was set."""
    app = sandbox.key.removeprefix("sk_test_")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}", "customer.created")
    sandbox.inbox_answers("books", status=500, delay_ms=10)
    for _ in range(3):
        sandbox.customer()
    sandbox.settle()
    shop = {"name": "shop", "requests_count": 4, "last_at": sandbox.now, "status": 200, "delay_ms": 0}
    books = {"name": "books", "requests_count": 0, "last_at": None, "status": 500, "delay_ms": 10}
    assert sandbox.control.get("/inboxes")["data"] == [books, shop]
    assert sandbox.control.get("/inboxes", page=2, page_size=1)["data"] == [shop]
    page = sandbox.control.get("/inbox/shop", page_size=3)
    assert page["pagination"].items() >= {"count": 4, "total_pages": 2, "page": 1, "page_size": 3}.items()
    assert [request["event_type"] for request in page["data"]] == ["customer.created"] * 3
