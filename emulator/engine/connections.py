"""Connections to hosts that a user named: receivers of webhooks.

A look-up of a name has no limit of its own and cannot be interrupted. In a pool of threads, look-ups that nobody answers
would hold up others, and the end of the process would wait for them. So each has a daemon thread of its own.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address

LOCALHOST = ("::1", "127.0.0.1")
"""The addresses of ``localhost`` and ``*.localhost``, whatever a name server knows (RFC 6761)."""

MOST_LOOK_UPS = 32
"""Names that are looked up at once for one world; the next one waits."""

LOOK_UP_SECONDS = 8.0
"""Seconds (real time) that a name server has, of those that a receiver has."""

NEXT_ADDRESS_SECONDS = 2.0
"""How long one address of a host may take to connect before its next one is tried."""


class Unreachable(Exception):
    """There is no connection. The message says why, without the URL: that may hold secrets, which belong in no log."""


class NameLookups:
    """The look-ups of one world. A name is looked up once at a time, for all who wait for it."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Future[list[str] | Exception]] = {}

    async def addresses(self, host: str) -> Sequence[str]:
        """Return the addresses of a host. Raises :class:`Unreachable`."""
        if _is_address(host):
            return [host]
        if host == "localhost" or host.endswith(".localhost"):
            return LOCALHOST
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                found = await self._look_up(host)
        except TimeoutError:
            raise Unreachable(f"the name server did not answer within {LOOK_UP_SECONDS:g} s") from None
        if isinstance(found, Exception):
            raise found
        if not found:
            raise Unreachable("the host name is not known")
        return found

    async def _look_up(self, host: str) -> list[str] | Exception:
        while (found := self._under_way.get(host)) is None and len(self._under_way) >= MOST_LOOK_UPS:
            await asyncio.wait(self._under_way.values(), return_when=asyncio.FIRST_COMPLETED)
        if found is None:
            loop = asyncio.get_running_loop()
            found = loop.create_future()

            def look_up() -> None:
                result = _known_addresses(host)
                with suppress(RuntimeError):  # the server, and its loop, have ended
                    loop.call_soon_threadsafe(self._end, host, result)

            threading.Thread(target=look_up, name="look-up", daemon=True).start()
            self._under_way[host] = found
        return await asyncio.shield(found)

    def _end(self, host: str, result: list[str] | Exception) -> None:
        self._under_way.pop(host).set_result(result)


def _known_addresses(host: str) -> list[str] | Exception:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    except (OSError, UnicodeError):
        return []
    except Exception as error:  # of an audit hook, such as that of a test which may not reach the real service
        return error
    return [str(address[0]) for *_, address in found]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def connect(addresses: Sequence[str], port: int) -> socket.socket:
    """Return a connection to the first address that can be reached. Raises :class:`Unreachable`; the last one says why."""
    *others, last = addresses
    for address in others:
        with suppress(OSError):
            async with asyncio.timeout(NEXT_ADDRESS_SECONDS):
                return await _connected(address, port)
    try:
        return await _connected(last, port)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "no connection"
        raise Unreachable(f"cannot connect: {reason}") from None


async def _connected(address: str, port: int) -> socket.socket:
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (address, port))
    except BaseException:
        connection.close()
        raise
    return connection
