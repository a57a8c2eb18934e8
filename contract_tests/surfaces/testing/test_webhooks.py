"""The collecting receiver: every delivery verified, waited for and counted, or passed on to an application."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contract_tests.support.receiver import Receiver as RealReceiver
from contract_tests.support.sandbox import CHARGED
from emulator.testing import Emulator, verify_webhook

each_method = pytest.mark.parametrize("method", ["HMAC_SHA256", "BASIC", "JWT"])


@each_method
def test_deliveries_are_collected_and_their_signatures_verified(world: Emulator, method: str) -> None:
    world.webhooks.listen(security_profile=method)
    world.subscription()
    assert [event["type"] for event in world.webhooks.events] == ["customer.created", "subscription.created", *CHARGED]
    assert [(each.genuine, each.status, each.attempt) for each in world.webhooks.deliveries] == [(True, 200, 1)] * 5
    first, endpoint = world.webhooks.deliveries[0], world.webhooks.endpoint
    titled = {name.title(): value for name, value in first.headers.items()}
    assert verify_webhook(first.body, titled, endpoint)
    assert not verify_webhook(first.body, titled, {**endpoint, "secret": "whsec_another"})
    assert verify_webhook(first.body.decode(), titled, world.webhooks.secret) == (method == "HMAC_SHA256")


@each_method
def test_a_forged_delivery_is_rejected_and_counts_for_nothing(world: Emulator, method: str) -> None:
    world.webhooks.listen(security_profile=method)
    # BASIC says who sends and nothing about the body; to forge it takes another secret.
    if method == "BASIC":
        world.api.post(f"/v1/webhooks/{world.webhooks.endpoint['id']}/roll-secret/")
    else:
        world.fault({"tamper": True})
    world.customer()
    world.webhooks.refute_delivered("customer.created")
    (delivery,) = world.webhooks.deliveries
    assert (delivery.genuine, delivery.status) == (False, 401)
    with pytest.raises(AssertionError, match="its signature is WRONG -> 401"):
        world.webhooks.assert_delivered("customer.created")


def test_each_event_is_waited_for_once_or_by_its_object(world: Emulator) -> None:
    """Worlds on one server get their own webhooks."""
    world.webhooks.listen()
    with Emulator(key=f"{world.key}-other", server=world.server) as other:
        other.webhooks.listen()
        other.customer()
        other.webhooks.assert_delivered("customer.created")
    world.webhooks.refute_delivered("customer.created")
    first, second, third = (world.customer() for _ in range(3))
    found = [world.webhooks.wait_for("customer.created", each) for each in (third, None, None)]
    assert [each["data"]["object"]["id"] for each in found] == [third["id"], first["id"], second["id"]]
    with pytest.raises(AssertionError, match=r"^no webhook customer.created arrived within 0 s"):
        world.webhooks.wait_for("customer.created", timeout=0)
    with pytest.raises(AssertionError, match=r"^customer.created was delivered 3 times, not 1.\nWebhooks received:"):
        world.webhooks.assert_delivered("customer.created", times=1)
    with pytest.raises(AssertionError, match=r"^customer.created was delivered, 3 times.\nWebhooks received:"):
        world.webhooks.refute_delivered("customer.created")
    world.webhooks.assert_delivered("customer.created", third["id"], times=1)
    world.webhooks.refute_delivered("invoice.paid", third)


def test_a_message_says_what_arrived_what_was_missed_and_what_is_to_come(world: Emulator) -> None:
    world.customer()
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


def test_the_receiver_answers_as_configured_and_forgets_when_it_listens_again(world: Emulator) -> None:
    world.webhooks.answer(500, 503)
    world.customer()
    assert world.webhooks.assert_delivered("customer.created", times=1)
    world.clock.advance("1h")
    assert [(item.attempt, item.status) for item in world.webhooks.deliveries] == [(1, 500), (2, 503), (3, 200)]
    assert len(world.webhooks.events) == 1
    world.webhooks.listen("invoice.paid", retry_policy={"max_attempts": 1, "backoff_type": "linear"})
    assert world.webhooks.events == []
    assert [one["id"] for one in world.api.oldest("/v1/webhooks/")] == [world.webhooks.endpoint["id"]]
    assert world.webhooks.endpoint["retry_policy"]["max_attempts"] == 1


# -- passed on


Seen = tuple[str, str, bytes]


def wsgi(seen: list[Seen]) -> Any:
    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        seen.append((environ["PATH_INFO"], environ["HTTP_SERVICE_SIGNATURE"], body))
        start_response("200 OK", [])
        return iter([b""])

    return app


def asgi(seen: list[Seen]) -> Any:
    async def app(scope: Any, read: Any, send: Any) -> None:
        body = (await read())["body"]
        seen.append((scope["path"], dict(scope["headers"])[b"service-signature"].decode(), body))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


@pytest.mark.parametrize("interface", [wsgi, asgi])
def test_deliveries_reach_an_application_byte_for_byte(world: Emulator, interface: Any) -> None:
    seen: list[Seen] = []
    world.webhooks.forward_to(interface(seen), path="/hooks")
    world.customer()
    world.webhooks.assert_delivered("customer.created")
    [delivery] = world.webhooks.deliveries
    assert (seen, delivery.status) == ([("/hooks", delivery.headers["service-signature"], delivery.body)], 200)


def test_deliveries_are_passed_on_to_a_url(world: Emulator, receiver: RealReceiver) -> None:
    receiver.statuses = [503]
    world.webhooks.forward_to(receiver.url)
    world.customer()
    world.clock.advance("1m")
    assert [item.status for item in world.webhooks.deliveries] == [503, 200]
    assert all(item.signed_with(world.webhooks.secret) for item in receiver.received)


def test_an_application_that_raises_is_a_failed_delivery_and_is_shown(world: Emulator) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        raise KeyError("order")

    with pytest.raises(TypeError, match="7: a URL, a WSGI application, an ASGI application, or a test client"):
        world.webhooks.forward_to(7)
    world.webhooks.forward_to(app)
    world.customer()
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
    world.subscription()
    world.clock.advance("31d")
    world.webhooks.assert_delivered("invoice.paid", times=2)
    assert {item.status for item in world.webhooks.deliveries} == {200}
