"""A world's news for others: the stream, awaited events, inboxes, and settled webhooks."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import httpx
import jwt
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.receiver import Received, Receiver, Reply
from contract_tests.support.sandbox import START, RunningServer, Sandbox


class Stream:
    """A reader of a stream: its messages, one after the other."""

    def __init__(self, response: httpx.Response) -> None:
        assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
        assert response.headers["content-type"] == "text/event-stream"
        self._lines = response.iter_lines()
        assert next(self._lines).startswith(":")

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the kind and the data of each message; comments are for the line alone."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                assert list(fields) == ["id", "event", "data"]
                yield fields["event"], json.loads(fields["data"])
                fields = {}

    def until(self, enough: Callable[[str, Any], bool]) -> list[tuple[str, Any]]:
        heard = []
        for message in self:
            heard.append(message)
            if enough(*message):
                break
        return heard


@contextmanager
def listening(sandbox: Sandbox, **query: str) -> Iterator[Stream]:
    """A reader who was let in; the address names the world: EventSource sends no own headers."""
    query |= {"app": sandbox.key.removeprefix("sk_test_")}
    url = f"{sandbox.url}/_emulator/stream"
    with http_client() as http, http.stream("GET", url, params=query) as response:
        yield Stream(response)


def undated(rows: list[Any]) -> list[Any]:
    """The rows of the journal but for how long ago they were, which changes by itself."""
    return [{**row, "seconds_ago": 0} for row in rows]


def test_everything_that_happens_is_streamed_as_the_lists_show_it(
    sandbox: Sandbox, other_world: Sandbox, receiver: Receiver
) -> None:
    """Of this world alone (B-01)."""
    endpoint = sandbox.endpoint(receiver.url)
    with listening(sandbox) as stream:
        other_world.customer()
        sandbox.subscribe()
        sandbox.settle()
        heard = stream.until(lambda kind, data: kind == "clock")
    kinds = ("event", "delivery", "email", "request")
    streamed = {kind: [data for heard_kind, data in heard if heard_kind == kind] for kind in kinds}
    assert streamed["event"] == sandbox.events()
    assert streamed["delivery"] == sandbox.deliveries(endpoint)
    assert streamed["email"] == sandbox.control.get("/emails")["data"][::-1]
    journal = {row["id"]: row for row in sandbox.control.get("/requests")["data"]}
    assert undated([journal[entry["id"]] for entry in streamed["request"]]) == undated(
        streamed["request"]
    )
    assert streamed["request"][-1]["operation"] == "createSubscription"
    assert heard[-1] == ("clock", sandbox.control.get("/clock"))


def test_a_stream_sends_the_kinds_that_were_asked_for(sandbox: Sandbox) -> None:
    """And a reset in any case; the clock after each change."""
    sandbox.control.post("/snapshots", {"name": "here"})
    with listening(sandbox, types="event,clock") as stream:
        sandbox.customer()
        sandbox.control.post("/clock/run", {"rate": 60})
        sandbox.control.post("/clock/freeze")
        sandbox.control.post("/rewind", {"steps": 1})
        sandbox.control.post("/snapshots/here/restore")
        sandbox.api.post("/reset")
        heard = stream.until(lambda kind, data: data.get("cause") == "reset")
    causes = [data.get("type") or data.get("cause") or data["mode"] for _, data in heard]
    assert causes[:3] == ["customer.created", "running", "frozen"]
    assert [data["cause"] for kind, data in heard if kind == "reset"] == [
        "rewind",
        "restore",
        "reset",
    ]
    assert {kind for kind, _ in heard} == {"event", "clock", "reset"}


def test_a_stream_of_unknown_kinds_is_rejected(sandbox: Sandbox) -> None:
    for wrong in ("", "news", "event,", "event,news"):
        sandbox.control.rejected(
            "GET", "/stream", 422, "INVALID_FILTER_PARAM", params={"types": wrong}
        )


def test_a_stream_ends_with_its_world(sandbox: Sandbox, server: RunningServer) -> None:
    with listening(sandbox) as stream:
        server.server.discard(sandbox.key)
        assert list(stream) == []


def test_events_are_listed_newest_first(sandbox: Sandbox) -> None:
    """All of them, those of a type, and those of an object."""
    first, second = sandbox.customer(), sandbox.customer()
    sandbox.api.delete(f"/customers/{first['id']}/")

    def listed(**query: object) -> list[str]:
        return [
            event["data"]["object"]["id"]
            for event in sandbox.control.get("/events", **query)["data"]
        ]

    assert listed() == [first["id"], second["id"], first["id"]]
    assert listed(type="customer.created") == [second["id"], first["id"]]
    assert listed(type="customer.deleted", object=second["id"]) == []
    assert listed(object=second["id"]) == listed(page=2, page_size=1) == [second["id"]]
    assert listed(page=9**9) == []


@pytest.mark.parametrize(
    ("path", "what"), [("/events", {"type": "invoice.paid"}), ("/emails", {"kind": "receipt"})]
)
def test_waiting_ends_with_what_was_waited_for(sandbox: Sandbox, path: str, what: Any) -> None:
    """Others do not end it; it is over at once where there is one, and in vain after its time."""
    assert sandbox.control.get(path, **what, wait=0)["data"] == []
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(sandbox.control.get, path, **what, wait=30)
        customer = sandbox.customer(phone="+24177000000")
        assert not waiting.done()
        sandbox.api.post(
            "/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "week"}
        )
        (object,) = waiting.result(timeout=60)["data"]
    assert sandbox.control.get(path, **what, wait=30)["data"] == [object]


def test_the_stream_of_the_console_has_one_request_id(sandbox: Sandbox) -> None:
    query = {"app": sandbox.key.removeprefix("sk_test_")}
    url = f"{sandbox.url}/_emulator/console/stream"
    with http_client(params=query) as client, client.stream("GET", url) as response:
        assert response.status_code == 200
        assert len(response.headers.get_list("request-id")) == 1


# -- the inbox: a receiver without set-up, which is a webhook's target like any other


def inbox_url(sandbox: Sandbox, name: str = "shop", query: str = "") -> str:
    return f"{sandbox.url}/_emulator/inbox/{name}{query}"


def stored(sandbox: Sandbox, name: str = "shop") -> list[Any]:
    sandbox.settle()
    return list(sandbox.control.pages(f"/inbox/{name}", page_size=100))[::-1]


@pytest.fixture
def http(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A stranger without a document; requests are for this world unless they name another."""
    with http_client(params={"app": sandbox.key.removeprefix("sk_test_")}) as client:
        yield client


@pytest.mark.parametrize("method", ["HMAC_SHA256", "JWT", "BASIC"])
def test_a_request_to_an_inbox_comes_with_a_verdict_on_its_signature(
    sandbox: Sandbox, method: str
) -> None:
    endpoint = sandbox.endpoint(inbox_url(sandbox), security_profile=method)
    sandbox.customer()
    ping, delivery = stored(sandbox)
    assert (ping["event_type"], delivery["event_type"]) == ("webhook.ping", "customer.created")
    for request in (ping, delivery):
        assert request["signature"] == {"valid": True, "webhook": endpoint["id"], "method": method}
        assert (request["method"], request["answered"], request["created_at"]) == (
            "POST",
            200,
            START,
        )
        assert request["url"] == inbox_url(sandbox)
        assert endpoint["secret"] not in str(request)
    assert delivery["headers"]["emulator-attempt"] == "1"
    assert [delivery["status"] for delivery in sandbox.deliveries(endpoint)] == ["succeeded"]


@pytest.mark.parametrize("method", ["HMAC_SHA256", "JWT", "BASIC"])
def test_a_signature_is_judged_by_the_secret_of_its_time(sandbox: Sandbox, method: str) -> None:
    """A ping too, though it precedes its endpoint and is read after the secret has changed."""
    endpoint = sandbox.endpoint(inbox_url(sandbox), security_profile=method)
    sandbox.customer()
    sandbox.settle()
    sandbox.api.post(f"/webhooks/{endpoint['id']}/roll-secret/")
    sandbox.customer()
    assert [request["signature"]["valid"] for request in stored(sandbox)] == [True] * 3


@pytest.mark.parametrize(
    ("method", "scheme"), [("HMAC_SHA256", "Bearer"), ("JWT", "Bearer"), ("BASIC", "Basic")]
)
def test_the_credentials_of_others_are_no_valid_signature(
    sandbox: Sandbox, http: httpx.Client, method: str, scheme: str
) -> None:
    sandbox.endpoint(inbox_url(sandbox), security_profile=method)
    sandbox.customer()
    delivery = stored(sandbox)[-1]
    for credentials in (f"{scheme} bm9ib2R5Om5vYm9keQ==", f"{scheme} a.b.c", scheme):
        http.post(
            inbox_url(sandbox, "copy"),
            content=delivery["body"].encode(),
            headers={"authorization": credentials},
        )
    assert [request["signature"]["valid"] for request in stored(sandbox, "copy")] == [False] * 3


def token(endpoint: Any, body: bytes, **changes: Any) -> str:
    """Return a JWT over a body as the service signs it, with changed claims, secret or header."""
    header, secret = changes.pop("header", None), changes.pop("secret", endpoint["secret"])
    claims = {"exp": time.time() + 300, "body_sha256": hashlib.sha256(body).hexdigest(), **changes}
    return jwt.encode(claims, secret, headers=header)


WRONG_TOKENS: dict[str, Callable[[Any, bytes], str]] = {
    "expired": lambda endpoint, body: f"Bearer {token(endpoint, body, exp=time.time() - 1)}",
    "of another body": lambda endpoint, body: f"Bearer {token(endpoint, body + b' ')}",
    "of another secret": lambda endpoint, body: f"Bearer {token(endpoint, body, secret='x' * 32)}",
    "with another header": lambda endpoint, body: (
        f"Bearer {token(endpoint, body, header={'kid': '1'})}"
    ),
    "without an expiry": lambda endpoint, body: f"Bearer {token(endpoint, body, exp=None)}",
    "under another scheme": lambda endpoint, body: f"Token {token(endpoint, body)}",
}


def verdict_on(sandbox: Sandbox, http: httpx.Client, body: bytes, authorization: str) -> Any:
    http.post(
        inbox_url(sandbox, "copy"), content=body, headers={"authorization": authorization}
    ).raise_for_status()
    return stored(sandbox, "copy")[-1]["signature"]["valid"]


@pytest.mark.parametrize("wrong", WRONG_TOKENS)
def test_a_wrong_token_is_no_valid_signature(
    sandbox: Sandbox, http: httpx.Client, wrong: str
) -> None:
    """B-83."""
    endpoint = sandbox.endpoint(inbox_url(sandbox), security_profile="JWT")
    body = stored(sandbox)[0]["body"].encode()
    assert verdict_on(sandbox, http, body, f"Bearer {token(endpoint, body)}") is True
    assert verdict_on(sandbox, http, body, WRONG_TOKENS[wrong](endpoint, body)) is False


def test_credentials_under_another_scheme_are_no_valid_signature(
    sandbox: Sandbox, http: httpx.Client
) -> None:
    """B-83."""
    endpoint = sandbox.endpoint(inbox_url(sandbox), security_profile="BASIC")
    body = stored(sandbox)[0]["body"].encode()
    credentials = base64.b64encode(f"{endpoint['id']}:{endpoint['secret']}".encode()).decode()
    assert verdict_on(sandbox, http, body, f"Basic {credentials}") is True
    assert verdict_on(sandbox, http, body, f"Bearer {credentials}") is False


def test_a_forged_or_altered_request_is_recognised(sandbox: Sandbox, http: httpx.Client) -> None:
    """A request's endpoint is the one of its signature, of its ping, or of its own claim."""
    named, other = (
        sandbox.endpoint(inbox_url(sandbox)),
        sandbox.endpoint(inbox_url(sandbox, "other")),
    )
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
        assert (
            http.post(inbox_url(sandbox, "copy"), content=content, headers=headers).status_code
            == 200
        )
        signature = stored(sandbox, "copy")[-1]["signature"]
        assert (signature["valid"], signature["webhook"]) == verdict, (content[:40], headers)


def test_the_url_of_an_inbox_says_how_it_responds(sandbox: Sandbox, http: httpx.Client) -> None:
    """It goes before what was set, for this inbox alone; an inbox may be called response."""
    sandbox.inbox_responses("shop", status=503)
    for status in (200, 204, 301, 599):
        assert (
            http.post(inbox_url(sandbox), params={"status": status, **http.params}).status_code
            == status
        )
    assert [request["answered"] for request in stored(sandbox)] == [200, 204, 301, 599]
    for name, status in [
        ("shop", 503),
        ("response", 200),
        ("n" * 64, 200),
        ("n" * 65, 404),
        ("a/b", 404),
        ("", 404),
    ]:
        assert http.put(inbox_url(sandbox, name)).status_code == status
    assert [request["method"] for request in stored(sandbox, "response")] == ["PUT"]
    started = time.perf_counter()
    http.post(inbox_url(sandbox), params={"delay_ms": 300, **http.params})
    assert time.perf_counter() - started >= 0.3
    body = {"name": "Shop", "url": inbox_url(sandbox, query="?status=500"), "events": ["*"]}
    sandbox.api.rejected("POST", "/webhooks/", 422, "WEBHOOK_ENDPOINT_UNREACHABLE", json=body)
    for name, wrong in (
        ("status", "199"),
        ("status", "²"),
        ("delay_ms", "-1"),
        ("delay_ms", "60001"),
        ("app", "a b"),
    ):
        response = http.post(inbox_url(sandbox, "wrong"), params={**dict(http.params), name: wrong})
        assert (response.status_code, response.json()["code"]) == (422, "INVALID_FILTER_PARAM")
        assert response.json()["param"] == name
    assert stored(sandbox, "wrong") == []


def test_a_wrong_response_of_an_inbox_is_rejected(sandbox: Sandbox) -> None:
    for wrong in (
        {"status": 199},
        {"status": "500"},
        {"delay_ms": -1},
        {"delay_ms": 60_001},
        {"x": 1},
    ):
        sandbox.control.rejected("PUT", "/inbox/shop/response", 422, "INVALID_FIELD", json=wrong)


def test_a_get_does_not_set_the_response_of_an_inbox(sandbox: Sandbox) -> None:
    """Also not one of the URL that was registered, which anybody may open in a browser."""
    sandbox.endpoint(inbox_url(sandbox))
    assert len(sandbox.control.get("/inbox/shop", status=500, delay_ms=60_000)["data"]) == 1


def test_the_response_of_an_inbox_is_set_until_it_is_deleted(sandbox: Sandbox) -> None:
    """So an endpoint that passed its ping can be made to fail, to recover later."""
    endpoint = sandbox.endpoint(inbox_url(sandbox))
    response = sandbox.control.request("PUT", "/inbox/shop/response", json={"status": 500})
    assert (response.status_code, response.json()) == (200, {"status": 500, "delay_ms": 0})
    sandbox.customer()
    assert sandbox.deliveries(endpoint)[0]["status"] == "pending"
    assert sandbox.control.request("DELETE", "/inbox/shop/response").status_code == 204
    sandbox.advance("1m")
    assert [request["answered"] for request in stored(sandbox)] == [200, 500, 200]
    assert sandbox.deliveries(endpoint)[0]["status"] == "succeeded"


def test_inboxes_are_listed_with_their_responses(sandbox: Sandbox) -> None:
    """Those with requests, those that an endpoint sends to, and those whose response was set."""
    app = sandbox.key.removeprefix("sk_test_")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}", "customer.created")
    sandbox.inbox_responses("books", status=500, delay_ms=10)
    for _ in range(3):
        sandbox.customer()
    sandbox.settle()
    shop = {
        "name": "shop",
        "requests_count": 4,
        "last_at": sandbox.now,
        "status": 200,
        "delay_ms": 0,
    }
    books = {"name": "books", "requests_count": 0, "last_at": None, "status": 500, "delay_ms": 10}
    assert sandbox.control.get("/inboxes")["data"] == [books, shop]
    assert sandbox.control.get("/inboxes", page=2, page_size=1)["data"] == [shop]


def test_the_requests_of_an_inbox_come_in_pages(sandbox: Sandbox) -> None:
    app = sandbox.key.removeprefix("sk_test_")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}", "customer.created")
    for _ in range(3):
        sandbox.customer()
    sandbox.settle()
    page = sandbox.control.get("/inbox/shop", page_size=3)
    assert (
        page["pagination"].items()
        >= {"count": 4, "total_pages": 2, "page": 1, "page_size": 3}.items()
    )
    assert [request["event_type"] for request in page["data"]] == ["customer.created"] * 3


# -- settling: what serves a test answers when the webhooks that it caused have their outcome


RACING = {"Prefer": "respond-async"}

SOON = 5
"""Seconds: half of a receiver's time; less proves that nothing waited in vain."""


def pay(sandbox: Sandbox, **headers: str) -> Any:
    return sandbox.control.post(f"/checkout-sessions/{sandbox.session()['id']}/pay", {}, **headers)


def trigger(sandbox: Sandbox, **headers: str) -> Any:
    return sandbox.control.post("/trigger", {"event": "invoice.paid"}, **headers)


def statuses(sandbox: Sandbox, endpoint: Any) -> set[str]:
    """What became of the deliveries so far; nothing is waited for."""
    path = f"/webhooks/{endpoint['id']}/deliveries/"
    return {delivery["status"] for delivery in sandbox.api.pages(path, page_size=100)}


def arrange_fault(sandbox: Sandbox, **headers: str) -> Any:
    """Arrange the next events: the delivery under way is exempt, however slow its receiver."""
    sandbox.customer()
    return sandbox.control.post("/faults", {"then": {"lose": True}}, **headers)


def arrange_outcome(sandbox: Sandbox, **headers: str) -> Any:
    sandbox.customer()
    return sandbox.control.post(
        "/outcomes", {"operation": "delivery", "result": "failed"}, **headers
    )


def freeze(sandbox: Sandbox) -> Any:
    """What a freeze finds due."""
    sandbox.control.post("/clock/run", {"rate": 1})
    sandbox.customer()
    return sandbox.control.post("/clock/freeze", {})


def advance_by_nothing(sandbox: Sandbox) -> None:
    sandbox.customer()
    response = sandbox.control.post("/clock/advance", {"by": "0s"})
    assert (response["from"], response["now"], response["jobs"]) == (START, START, 0)


CAUSES = [pay, trigger, arrange_fault, arrange_outcome]


@pytest.mark.parametrize("cause", [*CAUSES, freeze, advance_by_nothing])
def test_what_it_caused_was_delivered(
    sandbox: Sandbox, receiver: Receiver, cause: Callable[..., Any]
) -> None:
    endpoint = sandbox.endpoint(receiver.url)
    cause(sandbox)
    assert statuses(sandbox, endpoint) == {"succeeded"}


@pytest.mark.parametrize("cause", [*CAUSES, lambda sandbox, **_: sandbox.customer()])
def test_who_wants_a_race_says_so(
    sandbox: Sandbox, receiver: Receiver, cause: Callable[..., Any]
) -> None:
    """A request of the application is not held up."""
    endpoint = sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    cause(sandbox, **RACING)
    assert statuses(sandbox, endpoint) == {"pending"}
    receiver.release()


@pytest.mark.parametrize(
    ("path", "body", "answered"),
    [
        ("/_emulator/clock/advance", {"by": "0s"}, 409),
        ("/v1/webhooks/ENDPOINT/test/", {"event": "invoice.paid"}, 409),
        ("/_emulator/trigger", {"event": "customer.created"}, 200),
    ],
)
def test_what_is_asked_for_from_inside_a_delivery_is_not_waited_for(
    sandbox: Sandbox, receiver: Receiver, path: str, body: Any, answered: int
) -> None:
    """Both would wait until the receiver's time is up: the call is rejected or done at once."""
    sandbox.subscribe()
    sandbox.settle()
    endpoint = sandbox.endpoint(receiver.url)
    url = sandbox.url + path.replace("ENDPOINT", endpoint["id"])
    inside: list[tuple[int, Any, float]] = []

    def call_back(received: Received) -> None:
        if not (received.is_ping or inside):
            started = time.perf_counter()
            with http_client(headers={"Authorization": f"Bearer {sandbox.key}"}) as http:
                response = http.post(url, json=body)
            inside.append((response.status_code, response.json(), time.perf_counter() - started))

    receiver.react = call_back
    sandbox.advance("31d")
    status, response, seconds = inside[0]
    assert (status, seconds < SOON) == (answered, True)
    if answered == 409:
        assert (response["code"], "whd_" in response["message"]) == (
            "INVALID_STATUS_TRANSITION",
            True,
        )
        assert {event["type"] for event in sandbox.events()}.isdisjoint(
            {"webhook.ping", "webhook.test"}
        )
    assert statuses(sandbox, endpoint) == {"succeeded"}


def test_what_nobody_waits_for_is_sent_side_by_side(sandbox: Sandbox, receiver: Receiver) -> None:
    """B-84: the receiver answers no event of two payments before it has both."""
    sandbox.endpoint(receiver.url, "checkout.session.completed")
    met = Barrier(2, timeout=10)
    receiver.react = lambda received: received.is_ping or met.wait()
    for _ in range(2):
        pay(sandbox, **RACING)
    sandbox.settle()
    assert not met.broken
    assert len(receiver.deliveries) == 2
