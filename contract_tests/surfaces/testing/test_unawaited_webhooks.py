"""Tests that end with an unawaited webhook: client and world close at once, whatever order, whatever the view."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import wait
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import Any, Literal

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
from litestar.testing import TestClient as LitestarClient
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract_tests.surfaces.testing.test_plugin import PLUGIN
from emulator.testing import AsyncEmulator, Emulator, LocalServer, collector
from emulator.testing.collector import in_thread

SLOW = 0.1
"""Seconds a view takes, so that the client closes while it runs."""

ENDLESS = 60.0

TICK = 0.02

HANGS = 120
"""Seconds after which a story hangs; each takes less than one."""

Flavour = Literal["sync", "async"]


class View:
    """What each application does with a webhook. It takes its time, and says when it began and how often it ended."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began = threading.Event()
        self.free = threading.Event()
        self.ended = 0

    def sync(self) -> None:
        self.began.set()
        self.free.wait(self.seconds)
        self.ended += 1

    async def asynchronous(self) -> None:
        self.began.set()
        for _ in range(int(self.seconds / TICK)):
            if not self.free.is_set():
                await asyncio.sleep(TICK)
        await run_in_threadpool(lambda: None)
        self.ended += 1


def starlette_app(view: View, flavour: Flavour) -> Any:
    def sync(request: Request) -> Response:
        view.sync()
        return Response()

    async def asynchronous(request: Request) -> Response:
        await view.asynchronous()
        return Response()

    views: dict[Flavour, Any] = {"sync": sync, "async": asynchronous}
    return Starlette(routes=[Route("/webhooks", views[flavour], methods=["POST"])])


def fastapi_app(view: View, flavour: Flavour) -> Any:
    app = fastapi.FastAPI()
    app.post("/webhooks")(view.sync if flavour == "sync" else view.asynchronous)
    return app


def litestar_app(view: View, flavour: Flavour) -> Any:
    @litestar.post("/webhooks", sync_to_thread=True)
    def sync() -> None:
        view.sync()

    @litestar.post("/webhooks")
    async def asynchronous() -> None:
        await view.asynchronous()

    return litestar.Litestar([sync if flavour == "sync" else asynchronous])


def quart_app(view: View, flavour: Flavour) -> Any:
    def sync() -> str:
        view.sync()
        return ""

    async def asynchronous() -> str:
        await view.asynchronous()
        return ""

    app = quart.Quart("shop")
    app.post("/webhooks")(sync if flavour == "sync" else asynchronous)
    return app


def flask_app(view: View, flavour: Flavour) -> Any:
    def webhooks() -> str:
        view.sync()
        return ""

    app = flask.Flask("shop")
    app.post("/webhooks")(webhooks)
    return app


if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["localhost", "testserver"], ROOT_URLCONF=__name__, SECRET_KEY="x")
    django.setup()

CURRENT: list[View] = []
"""Django's views are found by a module's name, so what they use stands in one."""


def django_sync(request: HttpRequest) -> HttpResponse:
    CURRENT[0].sync()
    return HttpResponse()


async def django_async(request: HttpRequest) -> HttpResponse:
    await CURRENT[0].asynchronous()
    return HttpResponse()


urlpatterns = [path("sync", django_sync), path("async", django_async)]


@contextmanager
def django_target(target: Any, view: View) -> Iterator[Any]:
    CURRENT[:] = [view]
    with override_settings(ROOT_URLCONF=__name__):
        yield target


Target = Callable[[View, Flavour], AbstractContextManager[Any]]

TARGETS: dict[str, Target] = {
    "client of Starlette": lambda view, flavour: TestClient(starlette_app(view, flavour)),
    "client of FastAPI": lambda view, flavour: TestClient(fastapi_app(view, flavour)),
    "client of Litestar": lambda view, flavour: LitestarClient(litestar_app(view, flavour)),
    "client of Flask": lambda view, flavour: flask_app(view, flavour).test_client(),
    "client of Django": lambda view, flavour: django_target(DjangoClient(), view),
    "client of httpx": lambda view, flavour: httpx.Client(
        transport=httpx.WSGITransport(flask_app(view, flavour)), base_url="http://shop"
    ),
    "Starlette": lambda view, flavour: nullcontext(starlette_app(view, flavour)),
    "FastAPI": lambda view, flavour: nullcontext(fastapi_app(view, flavour)),
    "Litestar": lambda view, flavour: nullcontext(litestar_app(view, flavour)),
    "Quart": lambda view, flavour: nullcontext(quart_app(view, flavour)),
    "Flask": lambda view, flavour: nullcontext(flask_app(view, flavour)),
    "Django (WSGI)": lambda view, flavour: django_target(get_wsgi_application(), view),
    "Django (ASGI)": lambda view, flavour: django_target(get_asgi_application(), view),
}

ONLY_SYNC = ("client of Flask", "client of httpx", "Flask")

EACH = [
    pytest.param(name, flavour, id=f"{name}, {flavour}")
    for name in TARGETS
    for flavour in ("sync", "async")
    if flavour == "sync" or name not in ONLY_SYNC
]

each_target = pytest.mark.parametrize(("name", "flavour"), EACH)

each_order = pytest.mark.parametrize("first", ["client", "world"])


def url_path(name: str, flavour: Flavour) -> str:
    return f"/{flavour}" if "Django" in name else "/webhooks"


@pytest.fixture
def make_view() -> Iterator[Callable[[float], View]]:
    """Makes views, which all end with the test."""
    made: list[View] = []

    def make(seconds: float) -> View:
        made.append(View(seconds))
        return made[-1]

    yield make
    for view in made:
        view.free.set()


def cause(world: Emulator) -> None:
    world.api.post("/v1/customers/", {"email": f"{uuid.uuid4()}@example.com", "name": "Awa Diop"})


def play(
    server: LocalServer, world_name: str, target: AbstractContextManager[Any], at: str, first: str, view: View
) -> None:
    """A test that ends while its webhook is handled. Fails if it does not come to an end."""

    def story() -> None:
        world = Emulator(key=f"sk_test_{world_name}", server=server)
        with world if first == "client" else nullcontext(), target as client:
            world.webhooks.forward_to(client, at)
            cause(world)
            assert view.began.wait(HANGS)
            if first == "world":
                world.close()

    in_thread(story).result(HANGS)


def limit_once_begun(monkeypatch: pytest.MonkeyPatch, view: View) -> None:
    """Give a view a tenth of a second from when it begins, until which a busy machine may take longer."""
    monkeypatch.setattr(collector, "TIME_LIMIT", 0.1)
    monkeypatch.setattr(collector, "wait", lambda answers, seconds: view.began.wait(HANGS) and wait(answers, seconds))


@each_target
@each_order
def test_a_view_that_runs_when_the_test_ends_is_let_end(
    local_server: LocalServer, world_name: str, make_view: Any, name: str, flavour: Flavour, first: str
) -> None:
    view = make_view(SLOW)
    play(local_server, world_name, TARGETS[name](view, flavour), url_path(name, flavour), first, view)
    assert view.ended == 1


ENDED_BY_OTHERS = [
    # Its view runs in a thread of asyncio itself, which a loop that closes always waits for.
    ("client of Litestar", "sync"),
    # Django leaves the body of a request open that is cancelled, which is a warning.
    ("Django (ASGI)", "sync"),
    ("Django (ASGI)", "async"),
]


@pytest.mark.parametrize(("name", "flavour"), [each for each in EACH if each.values not in ENDED_BY_OTHERS])
@each_order
def test_a_view_that_never_ends_holds_nothing_up_and_is_reported(
    local_server: LocalServer,
    world_name: str,
    make_view: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    flavour: Flavour,
    first: str,
) -> None:
    view = make_view(ENDLESS)
    limit_once_begun(monkeypatch, view)
    said = rf"customer.created evt_\w+ \(attempt 1\) of the world {world_name} .* has not answered within 0.1 s"
    with pytest.warns(RuntimeWarning, match=said):
        play(local_server, world_name, TARGETS[name](view, flavour), url_path(name, flavour), first, view)
    assert view.ended == 0


CLOSABLE = ("client of Starlette", "client of FastAPI", "client of Litestar")


@pytest.mark.parametrize("name", CLOSABLE)
def test_a_client_that_was_closed_is_not_delivered_to(world: Emulator, make_view: Any, name: str) -> None:
    view = make_view(0)
    with TARGETS[name](view, "async") as client:
        world.webhooks.forward_to(client)
        cause(world)
        world.settle()
    cause(world)
    world.settle()
    assert view.ended == 1
    assert world.webhooks.deliveries[0].error is None
    assert world.webhooks.deliveries[1].error == "the application was shut down before it answered"
    assert world.webhooks.deliveries[1].status == 503


@pytest.mark.parametrize("name", CLOSABLE)
def test_a_client_is_delivered_to_before_it_is_opened_and_as_often_as_it_is(
    world: Emulator, make_view: Any, name: str
) -> None:
    view = make_view(0)
    client = TARGETS[name](view, "async")
    world.webhooks.forward_to(client)
    cause(world)
    world.settle()
    for _ in range(2):
        with client:
            cause(world)
            world.settle()
    assert view.ended == 3


def test_a_client_is_called_as_it_would_call(world: Emulator) -> None:
    """With its base URL, headers, cookies and state, from its address, and redirects are followed."""
    seen: list[Any] = []

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, str]]:
        yield {"name": "shop"}

    async def webhooks(request: Request) -> Response:
        client = request.client and tuple(request.client)
        seen.append((str(request.url), request.headers["x-tenant"], request.cookies, request.state.name, client))
        return Response()

    app = Starlette(routes=[Route("/webhooks/", webhooks, methods=["POST"])], lifespan=lifespan)
    with TestClient(app, "https://shop.example.com", headers={"X-Tenant": "awa"}, cookies={"a": "b"}) as client:
        world.webhooks.forward_to(client)
        cause(world)
        world.settle()
    expected = "https://shop.example.com/webhooks/", "awa", {"a": "b"}, "shop", ("testclient", 50000)
    assert seen == [expected]


async def close_in_order(world: Emulator, target: Any, view: View, first: str) -> None:
    """A test on an event loop that ends while its webhook is handled, with or without closing the helpers."""
    emulator = AsyncEmulator(world)
    async with emulator if first == "helpers" else nullcontext():
        await emulator.webhooks.forward_to(target)
        await asyncio.to_thread(cause, world)
        await asyncio.to_thread(view.began.wait, HANGS)


ON_THE_LOOP: dict[str, Callable[[Any], Any]] = {
    "application": lambda app: app,
    "client of httpx": lambda app: httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop"),
}


@pytest.mark.parametrize("build", [starlette_app, fastapi_app, litestar_app, quart_app])
@pytest.mark.parametrize("target", ON_THE_LOOP)
@pytest.mark.parametrize("seconds", [SLOW, ENDLESS])
@pytest.mark.parametrize("first", ["helpers", "loop"])
def test_a_loop_that_ends(
    world: Emulator,
    make_view: Any,
    monkeypatch: pytest.MonkeyPatch,
    build: Callable[[View, Flavour], Any],
    target: str,
    seconds: float,
    first: str,
) -> None:
    view = make_view(seconds)
    if seconds == ENDLESS:
        limit_once_begun(monkeypatch, view)
    else:
        monkeypatch.setattr(collector, "TIME_LIMIT", HANGS)
    story = close_in_order(world, ON_THE_LOOP[target](build(view, "async")), view, first)
    in_thread(lambda: asyncio.run(story)).result(HANGS)
    in_thread(world.close).result(HANGS)
    assert view.ended == (first == "helpers" and seconds == SLOW)


APPLICATION = """
    import httpx
    import pytest
    from fastapi import FastAPI
    from fastapi.concurrency import run_in_threadpool
    from fastapi.testclient import TestClient
    from emulator.testing import AsyncEmulator

    app = FastAPI()

    @app.post("/webhooks")
    async def webhooks(event: dict):
        await run_in_threadpool(lambda: None)

    each = pytest.mark.parametrize("n", range(8))
    customer = {"email": "awa@example.com", "name": "Awa Diop"}
"""

README = """
    @pytest.fixture
    def client(payments):
        with TestClient(app) as client:
            payments.webhooks.forward_to(client)
            yield client

    @each
    def test_that_ends(payments, client, n):
        payments.api.post("/v1/customers/", customer)
"""

ON_A_LOOP = """
    @each
    @pytest.mark.{marker}
    async def test_on_a_loop(payments, n):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
            emulator = AsyncEmulator(payments)
            await emulator.webhooks.forward_to(client if n % 2 else app)
            await emulator.api.post("/v1/customers/", customer)

    @{fixture}
    async def emulator(payments):
        async with AsyncEmulator(payments) as emulator:
            await emulator.webhooks.forward_to(app)
            yield emulator

    @each
    @pytest.mark.{marker}
    async def test_with_a_fixture(emulator, n):
        await emulator.api.post("/v1/customers/", customer)
"""

ASYNCIO = ON_A_LOOP.format(marker="asyncio", fixture="pytest_asyncio.fixture")

ANYIO = ON_A_LOOP.format(marker="anyio", fixture="pytest.fixture")

SUITES = {
    "README": (README, ()),
    "pytest-asyncio": (
        f"    import pytest_asyncio\n{ASYNCIO}",
        ("-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function"),
    ),
    "anyio": (f"    anyio_backend = pytest.fixture(lambda: 'asyncio', name='anyio_backend')\n{ANYIO}", ()),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SUITES)
def test_a_suite_whose_tests_all_end_so(pytester: pytest.Pytester, name: str) -> None:
    module, options = SUITES[name]
    pytester.makepyfile(APPLICATION + module)
    result = pytester.runpytest_subprocess(*PLUGIN, "-Werror", *options, timeout=2 * HANGS)
    result.assert_outcomes(passed=8 if name == "README" else 16)
