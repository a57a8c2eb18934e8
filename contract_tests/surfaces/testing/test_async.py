"""The same helpers awaited, so that an application on the same event loop can answer during a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from contract_tests.support.sandbox import CHARGED, START
from emulator.testing import AsyncEmulator, Emulator


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Return a test on an event loop of its own."""

    @wraps(test)
    def on_a_loop(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return on_a_loop


@run
async def test_a_block_is_a_server_whose_calls_leave_the_loop_free() -> None:
    paid: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        paid.append(await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0])))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    shop = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{shop.sockets[0].getsockname()[1]}/"
    async with shop, Emulator(clock=START) as emulator:
        await emulator.webhooks.forward_to(url)
        await emulator.subscription()
        async with emulator.expect(*CHARGED):
            await emulator.clock.advance("31d")
        assert await emulator.clock.now() == "2026-02-01T00:00:00.000Z"
        assert len(await emulator.webhooks.assert_delivered("invoice.paid")) == 2
        assert len(paid) == len(await emulator.events.of()) == len(await emulator.webhooks.events())
        assert (await emulator.client.get("/v1/customers/")).json()["pagination"]["count"] == 1


async def failing(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b"no such order"})


@run
async def test_it_pays_expects_and_goes_back(world: Emulator) -> None:
    async with AsyncEmulator(world) as emulator:
        session = await asyncio.to_thread(world.session)
        before = await emulator.snapshot()
        await emulator.fail_next(code="INSUFFICIENT_FUNDS")
        assert (await emulator.pay(session, phone="+24177000000"))["last_error"]["code"] == "INSUFFICIENT_FUNDS"
        assert (await emulator.pay(session))["status"] == "succeeded"
        assert (await emulator.emails.wait_for("receipt"))["to"] == "customer-1@example.com"
        assert (await emulator.events.wait_for("checkout.session.completed"))["type"] == "checkout.session.completed"
        assert await emulator.ledger.balanced()
        assert (await emulator.ledger.totals())["XAF"]["buyers"] == -3000
        before.restore()
        assert await emulator.emails.of() == []
        await emulator.webhooks.forward_to(failing)
        await emulator.trigger("invoice.paid")
        assert {(each.status, each.error) for each in await emulator.webhooks.deliveries()} == {(500, "no such order")}
        with pytest.raises(AssertionError, match=r"did not happen: invoice.paid"):
            async with emulator.expect("invoice.paid"):
                pass
        with pytest.raises(ZeroDivisionError):
            async with emulator.expect("invoice.paid"):
                raise ZeroDivisionError


def test_another_loop_than_that_of_asyncio_is_refused_with_the_way_out(world: Emulator) -> None:
    entering = AsyncEmulator(world).__aenter__()
    with pytest.raises(RuntimeError, match=r"trio\.to_thread"):
        entering.send(None)
