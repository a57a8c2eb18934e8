"""The same helpers awaited, so that an application on the same event loop can answer during a call."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from contract_tests.support.sandbox import CHARGED
from contract_tests.surfaces.testing.conftest import START
from contract_tests.surfaces.testing.shop import checkout, subscribe
from emulator.testing import AsyncEmulator, Emulator, emulator
from emulator.testing.emulator import AsyncMethod

TERMS = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test on an event loop of its own."""

    @wraps(test)
    def on_a_loop(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return on_a_loop


@run
async def test_a_block_is_a_server_with_a_world() -> None:
    async with Emulator(clock=START) as emulator:
        plan = await emulator.api.post("/v1/subscription-plans/", TERMS)
        assert (await emulator.client.get(f"/v1/subscription-plans/{plan['id']}/")).json() == plan
        await emulator.clock.advance("31d")
        assert await emulator.clock.now() == "2026-02-01T00:00:00.000Z"


@run
async def test_an_application_on_the_same_loop_answers_while_a_call_waits(world: Emulator) -> None:
    paid: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l"))
        paid.append((await reader.readexactly(length)).decode())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    shop = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{shop.sockets[0].getsockname()[1]}/"
    async with shop, AsyncEmulator(world) as emulator:
        await emulator.webhooks.forward_to(url)
        await asyncio.to_thread(subscribe, world)
        async with emulator.expect(*CHARGED):
            await emulator.clock.advance("31d")
        assert len(await emulator.webhooks.assert_delivered("invoice.paid")) == 2
        assert len(paid) == len(await emulator.events.all()) == len(await emulator.webhooks.events())


@run
async def test_it_pays_waits_and_goes_back(world: Emulator) -> None:
    async with AsyncEmulator(world) as emulator:
        session = await asyncio.to_thread(checkout, world)
        before = await emulator.snapshot()
        await emulator.fail_next(code="INSUFFICIENT_FUNDS")
        assert (await emulator.pay(session, phone="+24177000000"))["last_error"]["code"] == "INSUFFICIENT_FUNDS"
        assert (await emulator.pay(session))["status"] == "succeeded"
        assert (await emulator.emails.wait_for("receipt"))["to"] == "awa@example.com"
        assert (await emulator.events.wait_for("checkout.session.completed"))["type"] == "checkout.session.completed"
        before.restore()
        assert await emulator.emails.all() == []


@run
async def test_an_expectation_fails_and_leaves_other_failures_alone(world: Emulator) -> None:
    emulator = AsyncEmulator(world)
    with pytest.raises(AssertionError, match=r"did not happen: invoice.paid"):
        async with emulator.expect("invoice.paid"):
            pass
    with pytest.raises(ZeroDivisionError):
        async with emulator.expect("invoice.paid"):
            raise ZeroDivisionError


ASYNC_CLASSES = (
    emulator.AsyncApi,
    emulator.AsyncClock,
    emulator.AsyncEvents,
    emulator.AsyncEmails,
    emulator.AsyncWebhooks,
    AsyncEmulator,
)

PLAIN_ONLY = {
    "Api": {"call", "send", "request", "newest", "oldest", "close"},
    "WorldClock": {"next_job"},
    "Events": {"types", "expect", "summary", "told"},
    "Emails": {"summary", "told"},
    "Webhooks": {"summary", "told", "so_far", "raise_error", "close"},
    "BaseEmulator": {"story", "close", "another", "record"},
}
"""Methods without an asynchronous version: they release resources, combine others, or format a message."""


@pytest.mark.parametrize("proxy", ASYNC_CLASSES)
def test_whatever_can_be_asked_can_be_awaited(proxy: Any) -> None:
    plain = next(base.__args__[0] for base in proxy.__orig_bases__)
    own = {name for name in vars(plain) if not name.startswith("_")}
    awaited = {
        name
        for name, value in vars(proxy).items()
        if isinstance(value, AsyncMethod) or inspect.iscoroutinefunction(value)
    }
    assert own - awaited - PLAIN_ONLY[plain.__name__] - {"client", "expect"} == set()


@run
async def test_a_call_has_the_words_of_the_plain_one(world: Emulator) -> None:
    assert AsyncEmulator.__dict__["pay"].__doc__ == Emulator.pay.__doc__
    assert inspect.iscoroutinefunction(AsyncEmulator(world).pay)


def test_another_loop_than_that_of_asyncio_is_refused_with_the_way_out(world: Emulator) -> None:
    entering = AsyncEmulator(world).__aenter__()
    with pytest.raises(RuntimeError, match=r"trio\.to_thread"):
        entering.send(None)
