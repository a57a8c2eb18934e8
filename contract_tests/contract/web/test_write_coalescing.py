"""Write coalescing, against a transport that only records what it is asked to do."""

from __future__ import annotations

import asyncio

from emulator.web.connection import CoalescingTransport


class Noted:
    """A transport that records its calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.calls.append(data)

    def close(self) -> None:
        self.calls.append("close")
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> str:
        return f"the {name}"


async def _head_and_body(transport: Noted) -> CoalescingTransport:
    joined = CoalescingTransport(transport)
    joined.write(b"head ")
    joined.write(b"body")
    return joined


def test_head_and_body_leave_together_and_the_next_answer_by_itself() -> None:
    async def play(noted: Noted) -> None:
        joined = await _head_and_body(noted)
        assert noted.calls == []
        await asyncio.sleep(0)
        assert noted.calls == [b"head body"]
        joined.write(b"more")
        await asyncio.sleep(0)

    noted = Noted()
    asyncio.run(play(noted))
    assert noted.calls == [b"head body", b"more"]


def test_closing_sends_first_and_only_once() -> None:
    async def play(noted: Noted) -> None:
        (await _head_and_body(noted)).close()
        await asyncio.sleep(0)

    noted = Noted()
    asyncio.run(play(noted))
    assert noted.calls == [b"head body", "close"]


def test_nothing_is_written_once_the_connection_is_lost() -> None:
    async def play(noted: Noted) -> None:
        await _head_and_body(noted)
        noted.closed = True
        await asyncio.sleep(0)

    noted = Noted()
    asyncio.run(play(noted))
    assert noted.calls == []


def test_all_else_is_the_transports_own() -> None:
    async def ask(noted: Noted) -> str:
        return str(CoalescingTransport(noted).get_extra_info("peername"))

    assert asyncio.run(ask(Noted())) == "the peername"
