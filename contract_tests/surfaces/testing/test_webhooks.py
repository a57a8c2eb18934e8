"""The collecting receiver: every delivery verified, waited for and counted, or passed on to an application."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver as RealReceiver
from contract_tests.support.sandbox import CHARGED
from contract_tests.surfaces.testing.shop import subscribe
from emulator.testing import Emulator, verify_webhook

METHODS = ("HMAC_SHA256", "BASIC", "JWT")


def customer(world: Emulator, name: str = "awa") -> Any:
    return world.api.post("/v1/customers/", {"email": f"{name}@example.com", "name": "Awa Diop"})


@pytest.mark.parametrize("method", METHODS)
def test_deliveries_are_collected_and_their_signatures_verified(world: Emulator, method: str) -> None:
    world.webhooks.listen(security_profile=method)
    subscribe(world)
    assert [event["type"] for event in world.webhooks.events] == ["customer.created", "subscription.created", *CHARGED]
    assert all(delivery.genuine and delivery.status == 200 for delivery in world.webhooks.deliveries)
    assert [delivery.attempt for delivery in world.webhooks.deliveries] == [1] * 5
    first, endpoint = world.webhooks.deliveries[0], world.webhooks.endpoint
    titled = {name.title(): value for name, value in first.headers.items()}
    assert verify_webhook(first.body, titled, endpoint)
    assert not verify_webhook(first.body, titled, {**endpoint, "secret": "whsec_another"})
    assert verify_webhook(first.body.decode(), titled, world.webhooks.secret) == (method == "HMAC_SHA256")


@pytest.mark.parametrize("method", METHODS)
def test_a_forged_delivery_is_rejected_and_counts_for_nothing(world: Emulator, method: str) -> None:
    world.webhooks.listen(security_profile=method)
    # BASIC says who sends and nothing about the body; to forge it takes another secret.
    if method == "BASIC":
        world.api.post(f"/v1/webhooks/{world.webhooks.endpoint['id']}/roll-secret/")
    else:
        world.fault({"tamper": True})
    customer(world)
    world.webhooks.refute_delivered("customer.created")
    (delivery,) = world.webhooks.deliveries
    assert (delivery.genuine, delivery.status) == (False, 401)
    with pytest.raises(AssertionError, match="its signature is WRONG -> 401"):
        world.webhooks.assert_delivered("customer.created")


def test_each_event_is_waited_for_once(world: Emulator) -> None:
    """Or by its object. Worlds on one server get their own webhooks."""
    world.webhooks.listen()
    with Emulator(key=f"{world.key}-other", server=world.server) as other:
        other.webhooks.listen()
        customer(other)
        other.webhooks.assert_delivered("customer.created")
    world.webhooks.refute_delivered("customer.created")
    first, second, third = (customer(world, name) for name in ("awa", "ben", "ida"))
    assert world.webhooks.wait_for("customer.created", third)["data"]["object"]["id"] == third["id"]
    ids = [world.webhooks.wait_for("customer.created")["data"]["object"]["id"] for _ in range(2)]
    assert ids == [first["id"], second["id"]]
    with pytest.raises(AssertionError, match=r"^no webhook customer.created arrived within 0 s"):
        world.webhooks.wait_for("customer.created", timeout=0)


def test_deliveries_are_asserted_by_type_object_and_number(world: Emulator) -> None:
    world.webhooks.listen()
    subscription = subscribe(world)
    world.clock.advance("31d")
    assert len(world.webhooks.assert_delivered("invoice.paid", times=2)) == 2
    world.webhooks.assert_delivered("subscription.created", subscription["id"], times=1)
    world.webhooks.refute_delivered("invoice.paid", subscription)
    world.webhooks.refute_delivered("refund.succeeded")
    with pytest.raises(AssertionError, match=r"^invoice.paid was delivered 2 times, not 1.\nWebhooks received:"):
        world.webhooks.assert_delivered("invoice.paid", times=1)
    with pytest.raises(AssertionError, match=r"^invoice.paid was delivered, 2 times.\nWebhooks received:"):
        world.webhooks.refute_delivered("invoice.paid")


def test_a_message_says_what_arrived_what_was_missed_and_what_is_to_come(world: Emulator) -> None:
    customer(world)
    world.clock.advance("1h")
    world.webhooks.listen("invoice.paid")
    with pytest.raises(AssertionError) as raised:
        world.webhooks.assert_delivered("customer.created")
    assert str(raised.value).splitlines() == [
        "customer.created was not delivered.",
        "No webhook was received.",
        "Events that were not delivered to this receiver:",
        f"  2026-01-01T00:00:00.000Z    customer.created  {world.events[0]['data']['object']['id']}",
        "The endpoint has existed since 2026-01-01T01:00:00.000Z, for invoice.paid.",
        "No job is planned.",
    ]


def test_listening_again_forgets_what_came_before(world: Emulator) -> None:
    """The receiver answers as configured, and is tried again."""
    world.webhooks.answer(500, 503)
    customer(world)
    assert world.webhooks.assert_delivered("customer.created", times=1)
    world.clock.advance("1h")
    assert [(item.attempt, item.status) for item in world.webhooks.deliveries] == [(1, 500), (2, 503), (3, 200)]
    assert len(world.webhooks.events) == 1
    world.webhooks.listen("invoice.paid", retry_policy={"max_attempts": 1, "backoff_type": "linear"})
    assert world.webhooks.events == []
    assert [one["id"] for one in world.api.oldest("/v1/webhooks/")] == [world.webhooks.endpoint["id"]]
    assert world.webhooks.endpoint["retry_policy"]["max_attempts"] == 1


def application(secret: Callable[[], str], orders: list[Any]) -> Callable[[str, bytes], int]:
    """What a merchant's receiver does, in whatever clothes: 401 for a wrong signature, 500 for what it cannot read."""

    def receive(signature: str, body: bytes) -> int:
        expected = hmac.new(secret().encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature, expected):
            return 401
        orders.append(json.loads(body)["type"])
        return 204

    return receive


def wsgi(receive: Callable[[str, bytes], int]) -> Any:
    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        assert (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == ("POST", "/hooks")
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        start_response(f"{receive(environ['HTTP_SERVICE_SIGNATURE'], body)} Done", [])
        return iter([b""])

    return app


def asgi(receive: Callable[[str, bytes], int]) -> Any:
    async def app(scope: Any, read: Any, send: Any) -> None:
        assert (scope["method"], scope["path"]) == ("POST", "/hooks")
        body = (await read())["body"]
        status = receive(dict(scope["headers"])[b"service-signature"].decode(), body)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


class Asgi:
    """An ASGI application that is an object, as frameworks have it."""

    def __init__(self, receive: Callable[[str, bytes], int]) -> None:
        self.app = asgi(receive)

    async def __call__(self, scope: Any, read: Any, send: Any) -> None:
        await self.app(scope, read, send)


@pytest.mark.parametrize("clothes", [wsgi, asgi, Asgi])
def test_deliveries_are_passed_on_to_an_application_of_this_process(world: Emulator, clothes: Any) -> None:
    orders: list[str] = []
    world.webhooks.forward_to(clothes(application(lambda: world.webhooks.secret, orders)), path="/hooks")
    customer(world)
    world.webhooks.assert_delivered("customer.created")
    assert (orders, [item.status for item in world.webhooks.deliveries]) == (["customer.created"], [204])


def test_deliveries_are_passed_on_to_a_url(world: Emulator, receiver: RealReceiver) -> None:
    receiver.statuses = [503]
    world.webhooks.forward_to(receiver.url)
    customer(world)
    world.clock.advance("1m")
    assert [item.status for item in world.webhooks.deliveries] == [503, 200]
    assert all(item.signed_with(world.webhooks.secret) for item in receiver.received)


def test_an_application_that_raises_is_a_failed_delivery_and_is_shown(world: Emulator) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        raise KeyError("order")

    with pytest.raises(TypeError, match="7: a URL, a WSGI application, an ASGI application, or a test client"):
        world.webhooks.forward_to(7)
    world.webhooks.forward_to(app)
    customer(world)
    world.webhooks.assert_delivered("customer.created")
    assert world.webhooks.deliveries[0].status == 500
    assert "-> 500 (KeyError: 'order')" in world.story()


def test_an_application_may_call_the_service_back(world: Emulator) -> None:
    """An advance waits for the application, the application for the service: none waits for ever."""

    def app(environ: Any, start_response: Any) -> list[bytes]:
        world.client.get("/v1/customers/").raise_for_status()
        start_response("200 OK", [])
        return [b""]

    world.webhooks.forward_to(app)
    subscribe(world)
    world.clock.advance("31d")
    world.webhooks.assert_delivered("invoice.paid", times=2)
    assert {item.status for item in world.webhooks.deliveries} == {200}
