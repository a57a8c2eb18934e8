"""The collecting receiver, and real applications, called as by their servers, at a test's end."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import wait
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import Any

import anyio.to_thread
import httpx
import pytest

from contract_tests.support.receiver import Receiver as RealReceiver
from contract_tests.support.sandbox import CHARGED
from emulator.testing import AsyncEmulator, Emulator, LocalServer, collector, verify_webhook
from emulator.testing.collector import in_thread

each_method = pytest.mark.parametrize("method", ["HMAC_SHA256", "BASIC", "JWT"])


@each_method
def test_deliveries_are_collected(world: Emulator, method: str) -> None:
    world.webhooks.listen(security_profile=method)
    world.subscription()
    assert [event["type"] for event in world.webhooks.events] == [
        "customer.created",
        "subscription.created",
        *CHARGED,
    ]
    assert [
        (delivery.genuine, delivery.status, delivery.attempt)
        for delivery in world.webhooks.deliveries
    ] == [(True, 200, 1)] * 5


@each_method
def test_the_signature_of_a_delivery_is_verified(world: Emulator, method: str) -> None:
    world.webhooks.listen(security_profile=method)
    world.customer()
    world.webhooks.assert_delivered("customer.created")
    first, endpoint = world.webhooks.deliveries[0], world.webhooks.endpoint
    titled = {name.title(): value for name, value in first.headers.items()}
    assert verify_webhook(first.body, titled, endpoint)
    assert not verify_webhook(first.body, titled, {**endpoint, "secret": "whsec_another"})
    assert verify_webhook(first.body.decode(), titled, world.webhooks.secret) == (
        method == "HMAC_SHA256"
    )


@each_method
def test_a_forged_delivery_is_rejected(world: Emulator, method: str) -> None:
    forge(world, method)
    (delivery,) = world.webhooks.deliveries
    assert (delivery.genuine, delivery.status) == (False, 401)


@each_method
def test_a_forged_delivery_counts_for_nothing(world: Emulator, method: str) -> None:
    forge(world, method)
    world.webhooks.refute_delivered("customer.created")
    with pytest.raises(AssertionError, match="its signature is WRONG -> 401"):
        world.webhooks.assert_delivered("customer.created")


def forge(world: Emulator, method: str) -> None:
    """Have a delivery of this method of signing forged."""
    world.webhooks.listen(security_profile=method)
    # BASIC says who sends and nothing about the body; to forge it takes another secret.
    if method == "BASIC":
        world.api.post(f"/v1/webhooks/{world.webhooks.endpoint['id']}/roll-secret/")
    else:
        world.fault({"tamper": True})
    world.customer()
    world.clock.advance("0s")


def test_each_event_is_waited_for_once_or_by_its_object(world: Emulator) -> None:
    """Worlds on one server get their own webhooks."""
    world.webhooks.listen()
    with Emulator(key=f"{world.key}-other", server=world.server) as other:
        other.webhooks.listen()
        other.customer()
        other.webhooks.assert_delivered("customer.created")
    world.webhooks.refute_delivered("customer.created")
    first, second, third = (world.customer() for _ in range(3))
    events = [
        world.webhooks.wait_for("customer.created", customer) for customer in (third, None, None)
    ]
    assert [event["data"]["object"]["id"] for event in events] == [
        third["id"],
        first["id"],
        second["id"],
    ]
    with pytest.raises(AssertionError, match=r"^no webhook customer.created arrived within 0 s"):
        world.webhooks.wait_for("customer.created", timeout=0)
    with pytest.raises(
        AssertionError, match=r"^customer.created was delivered 3 times, not 1.\nWebhooks received:"
    ):
        world.webhooks.assert_delivered("customer.created", times=1)
    with pytest.raises(
        AssertionError, match=r"^customer.created was delivered, 3 times.\nWebhooks received:"
    ):
        world.webhooks.refute_delivered("customer.created")
    world.webhooks.assert_delivered("customer.created", third["id"], times=1)
    world.webhooks.refute_delivered("invoice.paid", third)


def test_a_message_tells_all_of_a_delivery_that_is_missing(world: Emulator) -> None:
    world.customer()
    world.clock.advance("1h")
    world.webhooks.listen("invoice.paid")
    with pytest.raises(AssertionError) as raised:
        world.webhooks.assert_delivered("customer.created")
    assert str(raised.value).splitlines() == [
        "customer.created was not delivered.",
        "No webhook was received.",
        "Events that were not delivered to this receiver:",
        (
            "  2026-01-01T00:00:00.000Z    customer.created "
            f" {world.events[0]['data']['object']['id']}"
        ),
        "The endpoint has existed since 2026-01-01T01:00:00.000Z, for invoice.paid.",
        "No job is planned.",
    ]


def test_the_receiver_answers_as_configured(world: Emulator) -> None:
    world.webhooks.answer(500, 503)
    world.customer()
    assert world.webhooks.assert_delivered("customer.created", times=1)
    world.clock.advance("1h")
    assert [(item.attempt, item.status) for item in world.webhooks.deliveries] == [
        (1, 500),
        (2, 503),
        (3, 200),
    ]
    assert len(world.webhooks.events) == 1


def test_the_receiver_forgets_when_it_listens_again(world: Emulator) -> None:
    world.webhooks.listen()
    world.customer()
    world.webhooks.assert_delivered("customer.created")
    world.webhooks.listen(
        "invoice.paid", retry_policy={"max_attempts": 1, "backoff_type": "linear"}
    )
    assert world.webhooks.events == []
    assert [one["id"] for one in world.api.oldest("/v1/webhooks/")] == [
        world.webhooks.endpoint["id"]
    ]
    assert world.webhooks.endpoint["retry_policy"]["max_attempts"] == 1


Seen = tuple[str, str, bytes]


def wsgi(requests: list[Seen]) -> Any:
    def app(environ: Any, start_response: Any) -> Iterator[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        requests.append((environ["PATH_INFO"], environ["HTTP_SERVICE_SIGNATURE"], body))
        start_response("200 OK", [])
        return iter([b""])

    return app


def asgi(requests: list[Seen]) -> Any:
    async def app(scope: Any, read: Any, send: Any) -> None:
        body = (await read())["body"]
        requests.append(
            (scope["path"], dict(scope["headers"])[b"service-signature"].decode(), body)
        )
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


@pytest.mark.parametrize("interface", [wsgi, asgi])
def test_deliveries_reach_an_application_byte_for_byte(world: Emulator, interface: Any) -> None:
    requests: list[Seen] = []
    world.webhooks.forward_to(interface(requests), path="/hooks")
    world.customer()
    world.webhooks.assert_delivered("customer.created")
    [delivery] = world.webhooks.deliveries
    assert (requests, delivery.status) == (
        [("/hooks", delivery.headers["service-signature"], delivery.body)],
        200,
    )


def test_deliveries_are_passed_on_to_a_url(world: Emulator, receiver: RealReceiver) -> None:
    receiver.statuses = [503]
    world.webhooks.forward_to(receiver.url)
    world.customer()
    world.clock.advance("1m")
    assert [item.status for item in world.webhooks.deliveries] == [503, 200]
    assert all(item.signed_with(world.webhooks.secret) for item in receiver.received)


def test_a_response_that_is_arranged_is_given_instead_of_the_applications(
    world: Emulator,
) -> None:
    requests: list[Seen] = []
    world.webhooks.forward_to(wsgi(requests), path="/hooks")
    world.webhooks.answer(503)
    world.customer()
    world.clock.advance("1m")
    assert [delivery.status for delivery in world.webhooks.deliveries] == [503, 200]
    assert len(requests) == 1


SLOW = 0.1
"""Seconds a view takes, so that the test ends while it runs."""

ENDLESS = 60.0

TICK = 0.02

HANGS = 120
"""Seconds after which a story hangs; each takes less than one."""


class Shop:
    """What each application does with a webhook. It takes its time, and counts.

    ``service`` is where its lifespan opens a client, which belongs to the event loop of its first
    use.
    """

    def __init__(self, seconds: float = 0, **service: Any) -> None:
        self.seconds, self.service = seconds, service
        self.began, self.free = threading.Event(), threading.Event()
        self.started = self.stopped = self.handled = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[dict[str, str]]:
        self.started, self.loop = self.started + 1, asyncio.get_running_loop()
        async with httpx.AsyncClient(**self.service, timeout=60) as self.http:
            yield {"name": "shop"}
        self.stopped += 1

    def sync(self) -> None:
        self.began.set()
        self.free.wait(self.seconds)
        self.handled += 1

    async def asynchronous(self) -> None:
        self.began.set()
        if self.service:
            (await self.http.get("/v1/customers/")).raise_for_status()
        for _ in range(int(self.seconds / TICK)):
            if not self.free.is_set():
                await asyncio.sleep(TICK)
        await anyio.to_thread.run_sync(lambda: None)  # as views of FastAPI do
        self.handled += 1


# The frameworks take seconds to import, so only these tests do, and not their collection.


def fastapi_app(shop: Shop, flavor: str = "async") -> Any:
    from fastapi import FastAPI

    app = FastAPI(lifespan=shop.lifespan)
    app.post("/webhooks")(shop.sync if flavor == "sync" else shop.asynchronous)
    return app


def client_of(app: Any) -> Any:
    from fastapi.testclient import TestClient

    return TestClient(app)


def flask_app(shop: Shop) -> Any:
    from flask import Flask

    app = Flask("shop")
    app.post("/webhooks")(lambda: shop.sync() or "")
    return app


@pytest.fixture
def make_shop() -> Iterator[Callable[..., Shop]]:
    """Makes shops, whose views all end with the test."""
    made: list[Shop] = []

    def make(seconds: float = 0, **service: Any) -> Shop:
        made.append(Shop(seconds, **service))
        return made[-1]

    yield make
    for shop in made:
        shop.free.set()


@pytest.fixture
def shop(world: Emulator, make_shop: Any) -> Shop:
    """One that asks the service about each webhook."""
    world.webhooks.listen("invoice.paid")
    # a Shop
    return make_shop(base_url=world.url, headers={"Authorization": f"Bearer {world.key}"})  # type: ignore[no-any-return]


def cause(world: Emulator) -> None:
    world.api.post("/v1/customers/", {"email": f"{uuid.uuid4()}@example.com", "name": "Awa Diop"})


def renewals(world: Emulator) -> None:
    world.subscription()
    world.clock.advance("P3M")
    assert [(delivery.status, delivery.error) for delivery in world.webhooks.deliveries] == [
        (200, None)
    ] * 4


@pytest.mark.parametrize("target", ["application", "test client"])
def test_an_application_lives_on_one_loop_from_its_start_to_its_shutdown(
    world: Emulator, shop: Shop, target: str
) -> None:
    app = fastapi_app(shop)
    with client_of(app) if target == "test client" else nullcontext(app) as client:
        world.webhooks.forward_to(client)
        assert (shop.started, shop.stopped) == (1, 0)
        renewals(world)
        world.webhooks.stop_forwarding()
    assert (shop.started, shop.stopped, shop.handled) == (1, 1, 4)


def test_under_the_asynchronous_helpers_it_runs_on_the_loop_of_the_test(
    world: Emulator, shop: Shop
) -> None:
    """With a lifespan that the test runs."""

    async def story() -> None:
        app = fastapi_app(shop)
        async with shop.lifespan(app), AsyncEmulator(world) as emulator:
            await emulator.webhooks.forward_to(app)
            assert shop.loop is asyncio.get_running_loop()
            await asyncio.to_thread(renewals, world)

    asyncio.run(story())
    assert (shop.started, shop.stopped, shop.handled) == (1, 1, 4)


def test_a_client_is_delivered_to_before_it_is_opened_and_as_often_as_it_is_until_it_was_closed(
    world: Emulator,
) -> None:
    shop = Shop()
    client = client_of(fastapi_app(shop))
    world.webhooks.forward_to(client)
    cause(world)
    world.settle()
    for _ in range(2):
        with client:
            cause(world)
            world.settle()
    cause(world)
    world.settle()
    assert shop.handled == 3
    closed = world.webhooks.deliveries[-1]
    assert (closed.status, closed.error) == (
        503,
        "the application was shut down before it responded",
    )


class OrderError(Exception):
    """What the application of these tests raises."""


def app_that_raises(*, starts: bool = False) -> Any:
    from fastapi import FastAPI

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        if not starts:
            raise KeyError("DATABASE_URL")
        yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/webhooks")
    def webhooks() -> None:
        raise OrderError("no such order")

    return app


def wsgi_that_raises(environ: Any, start_response: Any) -> Any:
    raise OrderError("no such order")


def wsgi_that_fails(environ: Any, start_response: Any) -> list[bytes]:
    start_response("500 Internal Server Error", [])
    return [b"the database is down"]


def test_an_application_that_cannot_start_is_reported_at_once(world: Emulator) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)the application did not start: .*DATABASE_URL"):
        world.webhooks.forward_to(app_that_raises())
    with pytest.raises(
        TypeError, match="7: a URL, a WSGI application, an ASGI application, or a test client"
    ):
        world.webhooks.forward_to(7)


@pytest.mark.parametrize(
    ("app", "error"),
    [
        (lambda: app_that_raises(starts=True), "OrderError: no such order"),
        (lambda: wsgi_that_raises, "OrderError: no such order"),
        (lambda: wsgi_that_fails, "the database is down"),
    ],
    ids=["ASGI", "WSGI", "an answer of 500"],
)
def test_what_the_application_raises_or_says_with_500_is_the_error_of_the_delivery(
    world: Emulator, app: Callable[[], Any], error: str
) -> None:
    world.webhooks.listen("checkout.session.completed").forward_to(app())
    world.pay(world.session())
    assert [(delivery.status, delivery.error) for delivery in world.webhooks.deliveries] == [
        (500, error)
    ]
    assert f"-> 500 ({error})" in world.story()


TARGETS: dict[str, Callable[[Shop], AbstractContextManager[Any]]] = {
    "FastAPI, async": lambda shop: nullcontext(fastapi_app(shop)),
    "client of FastAPI, sync": lambda shop: client_of(fastapi_app(shop, "sync")),
    "Flask, sync": lambda shop: nullcontext(flask_app(shop)),
}


def play(server: LocalServer, world_name: str, name: str, shop: Shop, first: str) -> None:
    """A test that ends while its webhook is handled. Fails if it does not come to an end."""

    def story() -> None:
        world = Emulator(key=f"sk_test_{world_name}", server=server)
        with world if first == "client" else nullcontext(), TARGETS[name](shop) as client:
            world.webhooks.forward_to(client)
            cause(world)
            assert shop.began.wait(HANGS)
            if first == "world":
                world.close()

    in_thread(story).result(HANGS)


def limit_once_begun(monkeypatch: pytest.MonkeyPatch, shop: Shop) -> None:
    """Give a view a tenth of a second from its start, which a busy machine may delay."""
    monkeypatch.setattr(collector, "DELIVERY_SECONDS", 0.1)
    monkeypatch.setattr(
        collector,
        "wait",
        lambda responses, seconds: shop.began.wait(HANGS) and wait(responses, seconds),
    )


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("first", ["client", "world"])
def test_a_view_that_runs_when_the_test_ends_is_let_end_and_one_that_never_ends_is_reported(
    local_server: LocalServer,
    world_name: str,
    make_shop: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    first: str,
) -> None:
    shop = make_shop(SLOW)
    play(local_server, world_name, name, shop, first)
    assert shop.handled == 1
    shop = make_shop(ENDLESS)
    limit_once_begun(monkeypatch, shop)
    message = (
        rf"customer.created evt_\w+ \(attempt 1\) of the world {world_name} .* has not responded"
        r" within 0.1 s"
    )
    with pytest.warns(RuntimeWarning, match=message):
        play(local_server, world_name, name, shop, first)
    assert shop.handled == 0


@pytest.mark.parametrize(("seconds", "closes"), [(SLOW, True), (ENDLESS, False)])
def test_a_loop_that_ends(
    world: Emulator, make_shop: Any, monkeypatch: pytest.MonkeyPatch, seconds: float, closes: bool
) -> None:
    """With or without closing the helpers."""
    shop = make_shop(seconds)
    app = fastapi_app(shop)
    if closes:
        monkeypatch.setattr(collector, "DELIVERY_SECONDS", HANGS)
    else:
        limit_once_begun(monkeypatch, shop)

    async def story() -> None:
        emulator = AsyncEmulator(world)
        async with shop.lifespan(app), emulator if closes else nullcontext():
            await emulator.webhooks.forward_to(app)
            await asyncio.to_thread(cause, world)
            await asyncio.to_thread(shop.began.wait, HANGS)

    in_thread(lambda: asyncio.run(story())).result(HANGS)
    in_thread(world.close).result(HANGS)
    assert shop.handled == closes
