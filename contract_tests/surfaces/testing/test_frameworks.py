"""Applications as people have them: forwarding runs each as its server would, with its lifespan and shared clients."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import django
import fastapi
import flask
import httpx
import litestar
import pytest
import quart
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.test import Client as DjangoClient
from django.test.utils import override_settings
from django.urls import path
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract_tests.surfaces.testing.shop import checkout, subscribe
from emulator.testing import AsyncEmulator, Emulator

RENEWALS = 3


class Shop:
    """What each of these applications does with an event, and what it did. It asks the service about the object."""

    def __init__(self, url: str, key: str, secret: str) -> None:
        self.url, self.key, self.secret = url, key, secret
        self.paid: list[str] = []
        self.started, self.stopped = 0, 0
        self.http: httpx.AsyncClient | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def is_genuine(self, body: bytes, signature: str) -> bool:
        expected = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(expected, signature)

    async def start(self) -> None:
        """Open a client, which belongs to the event loop of its first use."""
        self.started += 1
        self.loop = asyncio.get_running_loop()
        headers = {"Authorization": f"Bearer {self.key}"}
        self.http = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=60)

    async def stop(self) -> None:
        self.stopped += 1
        assert self.http
        await self.http.aclose()

    async def receive(self, body: bytes, signature: str) -> int:
        """Handle an event as an asynchronous application does, over the client that its lifespan opened."""
        assert self.http
        (await self.http.get("/v1/customers/")).raise_for_status()
        return self.receive_now(body, signature)

    def receive_now(self, body: bytes, signature: str) -> int:
        if not self.is_genuine(body, signature):
            return 401
        self.paid.append(hashlib.sha256(body).hexdigest())
        return 204


def starlette_app(shop: Shop) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Shop]]:
        await shop.start()
        yield {"shop": shop}
        await shop.stop()

    async def webhooks(request: Request) -> Response:
        # The state that the lifespan yields, as a server hands it to each request.
        mine: Shop = request.state.shop
        return Response(status_code=await mine.receive(await request.body(), request.headers["service-signature"]))

    return Starlette(routes=[Route("/webhooks", webhooks, methods=["POST"])], lifespan=lifespan)


def fastapi_app(shop: Shop) -> Any:
    @asynccontextmanager
    async def lifespan(app: fastapi.FastAPI) -> AsyncIterator[None]:
        await shop.start()
        yield
        await shop.stop()

    app = fastapi.FastAPI(lifespan=lifespan)

    @app.post("/webhooks")
    async def webhooks(request: fastapi.Request) -> fastapi.Response:
        status = await shop.receive(await request.body(), request.headers["service-signature"])
        return fastapi.Response(status_code=status)

    return app


def litestar_app(shop: Shop) -> Any:
    @litestar.post("/webhooks", status_code=204)
    async def webhooks(request: litestar.Request[Any, Any, Any]) -> None:
        status = await shop.receive(await request.body(), request.headers["service-signature"])
        if status != 204:
            raise litestar.exceptions.HTTPException(status_code=status)

    return litestar.Litestar([webhooks], on_startup=[shop.start], on_shutdown=[shop.stop])


def quart_app(shop: Shop) -> Any:
    app = quart.Quart("shop")
    app.before_serving(shop.start)
    app.after_serving(shop.stop)

    @app.post("/webhooks")
    async def webhooks() -> tuple[str, int]:
        return "", await shop.receive(await quart.request.get_data(), quart.request.headers["Service-Signature"])

    return app


@pytest.fixture
def shop(world: Emulator) -> Shop:
    return Shop(world.url, world.key, world.webhooks.listen("invoice.paid").secret)


def renewals(world: Emulator) -> None:
    subscribe(world)
    world.clock.advance(f"P{RENEWALS}M")


@pytest.mark.parametrize("build", [starlette_app, fastapi_app, litestar_app, quart_app])
def test_an_asgi_application_lives_on_one_loop_from_its_start_to_its_shutdown(
    world: Emulator, shop: Shop, build: Callable[[Shop], Any]
) -> None:
    world.webhooks.forward_to(build(shop))
    assert (shop.started, shop.stopped) == (1, 0)
    renewals(world)
    assert [each.error for each in world.webhooks.deliveries] == [None] * (RENEWALS + 1)
    assert [each.status for each in world.webhooks.deliveries] == [204] * (RENEWALS + 1)
    assert len(shop.paid) == RENEWALS + 1
    world.webhooks.stop_forwarding()
    assert (shop.started, shop.stopped) == (1, 1)


@pytest.mark.parametrize("build", [starlette_app, fastapi_app, litestar_app, quart_app])
def test_under_the_asynchronous_helpers_it_runs_on_the_loop_of_the_test(
    world: Emulator, shop: Shop, build: Callable[[Shop], Any]
) -> None:
    async def story() -> None:
        async with AsyncEmulator(world) as emulator:
            await emulator.webhooks.forward_to(build(shop))
            assert shop.loop is asyncio.get_running_loop()
            await asyncio.to_thread(renewals, world)
            deliveries = await emulator.webhooks.deliveries()
            assert [(each.status, each.error) for each in deliveries] == [(204, None)] * (RENEWALS + 1)
        assert (shop.started, shop.stopped) == (1, 1)

    asyncio.run(story())


def test_an_application_whose_lifespan_the_test_runs(world: Emulator, shop: Shop) -> None:
    async def story() -> None:
        await shop.start()
        async with AsyncEmulator(world) as emulator:
            await emulator.webhooks.forward_to(fastapi_app(shop), lifespan=False)
            await asyncio.to_thread(renewals, world)
        await shop.stop()

    asyncio.run(story())
    assert (shop.started, shop.stopped, len(shop.paid)) == (1, 1, RENEWALS + 1)


def test_the_test_client_of_an_asgi_application_is_used_as_it_is(world: Emulator, shop: Shop) -> None:
    with TestClient(fastapi_app(shop)) as client:
        world.webhooks.forward_to(client)
        renewals(world)
        assert [each.status for each in world.webhooks.deliveries] == [204] * (RENEWALS + 1)
    assert (shop.started, shop.stopped) == (1, 1)


def flask_app(shop: Shop) -> flask.Flask:
    app = flask.Flask("shop")

    @app.post("/webhooks")
    def webhooks() -> tuple[str, int]:
        return "", shop.receive_now(flask.request.get_data(), flask.request.headers["Service-Signature"])

    return app


@pytest.mark.parametrize("target", [lambda app: app, flask.Flask.test_client], ids=["application", "test client"])
def test_flask(world: Emulator, shop: Shop, target: Callable[[flask.Flask], Any]) -> None:
    world.webhooks.forward_to(target(flask_app(shop)))
    renewals(world)
    assert len(shop.paid) == RENEWALS + 1


if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["localhost", "testserver"], ROOT_URLCONF=__name__, SECRET_KEY="x")
    django.setup()

CURRENT: list[Shop] = []
"""Django's views are found by a module's name, so what they use stands in one."""


def django_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=CURRENT[0].receive_now(request.body, request.headers["Service-Signature"]))


urlpatterns = [path("webhooks", django_view)]


@pytest.mark.parametrize("target", [get_wsgi_application, get_asgi_application, DjangoClient])
def test_django(world: Emulator, shop: Shop, target: Callable[[], Any]) -> None:
    """Its ASGI application knows no lifespan."""
    CURRENT[:] = [shop]
    with override_settings(ROOT_URLCONF=__name__):
        world.webhooks.forward_to(target())
        renewals(world)
    assert len(shop.paid) == RENEWALS + 1


def test_an_application_that_cannot_start_is_reported_at_once(world: Emulator) -> None:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        raise KeyError("DATABASE_URL")
        yield

    with pytest.raises(RuntimeError, match=r"(?s)the application did not start: .*DATABASE_URL"):
        world.webhooks.forward_to(Starlette(lifespan=lifespan))


class OrderError(Exception):
    """What the application of these tests raises."""


def asgi_that_raises() -> Any:
    def webhooks(request: Request) -> Response:
        raise OrderError("no such order")

    return Starlette(routes=[Route("/webhooks", webhooks, methods=["POST"])])


def wsgi_that_raises() -> Any:
    def app(environ: Any, start_response: Any) -> Any:
        raise OrderError("no such order")

    return app


@pytest.mark.parametrize("build", [asgi_that_raises, wsgi_that_raises])
def test_what_the_application_raises_is_raised_in_the_test(world: Emulator, build: Callable[[], Any]) -> None:
    world.webhooks.raise_errors = True
    world.webhooks.forward_to(build())
    session = checkout(world)
    with pytest.raises(OrderError, match="no such order"):
        world.pay(session)


def test_an_answer_of_500_is_raised_too(world: Emulator) -> None:
    def app(environ: Any, start_response: Any) -> Any:
        start_response("500 Internal Server Error", [])
        return [b"the database is down"]

    world.webhooks.raise_errors = True
    world.webhooks.listen("checkout.session.completed").forward_to(app)
    session = checkout(world)
    with pytest.raises(AssertionError, match=r"checkout.session.completed was answered 500: the database is down"):
        world.pay(session)


def test_errors_are_raised_on_the_loop_of_the_test(world: Emulator) -> None:
    async def story() -> None:
        async with AsyncEmulator(world) as emulator:
            emulator.webhooks.raise_errors = True
            await emulator.webhooks.forward_to(asgi_that_raises())
            with pytest.raises(OrderError):
                await emulator.trigger("invoice.paid")

    asyncio.run(story())


def test_an_application_that_lives_on_two_loops_is_hinted_at(world: Emulator) -> None:
    """As one whose lifespan a test client runs as well."""
    elsewhere = asyncio.new_event_loop()
    future = elsewhere.create_future()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await future

    world.webhooks.forward_to(app, lifespan=False)
    world.trigger("customer.created")
    elsewhere.close()
    assert "attached to a different loop; does a test client run the application's lifespan as well?" in world.story()
