"""The postman: one HTTP request to a receiver, whose outcome is always an :class:`Answer`, never an exception."""

from __future__ import annotations

import asyncio
import time
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from emulator.core.effects import HttpResult

if TYPE_CHECKING:
    from emulator.engine.http_client import Body, HttpClient

ANSWER_TIME = 10.0
"""Seconds (real time) a receiver has to answer (Limits)."""

MAX_RESPONSE_BYTES = 4096
"""Bytes of an answer that are read and kept (B-85); the rest is of no interest."""


class WebhookSender:
    """Sends POSTs, each on a connection of its own, and follows no redirects.

    A kept connection may be closed by the receiver just as the next request goes out, and a POST whose fate is unknown
    must not be sent again: so an attempt that is on record is always exactly one request, at a cost of a third of the
    speed on loopback.
    """

    def __init__(self, answer_time: float = ANSWER_TIME) -> None:
        self.answer_time = answer_time
        self._session: HttpClient | None = None

    async def send(self, url: str, headers: dict[str, str], body: Body, *, verify: bool = True) -> HttpResult:
        """One attempt. A timeout and a connection fault are answers without a status code."""
        # Loaded on first use: a server nobody asked for a webhook starts without an HTTP client.
        from emulator.engine.http_client import HttpClient, describe_error

        self._session = self._session or HttpClient()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.answer_time):
                status, received = await self._session.post(url, headers, body, verify=verify, most=MAX_RESPONSE_BYTES)
            return HttpResult(status_code=status, body=_text(received), duration_ms=_since(started))
        except TimeoutError:
            error = f"no answer within {self.answer_time:g} s"
        except Exception as fault:  # whatever a stranger's server or address provokes is an outcome, not our failure
            error = describe_error(fault)
        return HttpResult(status_code=None, error=error, duration_ms=_since(started))

    async def close(self) -> None:
        """Close what is open."""
        if self._session:
            await self._session.close()
            self._session = None


def _text(received: bytes) -> str:
    """The bytes as text; a character that the limit cut in two is left out."""
    return getincrementaldecoder("utf-8")("replace").decode(received, final=len(received) < MAX_RESPONSE_BYTES)


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
