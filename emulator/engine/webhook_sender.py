"""The webhook sender: one HTTP request to a receiver, whose outcome is always a result, never an exception."""

from __future__ import annotations

import asyncio
import time
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from emulator.core.effects import DeliverWebhook, HttpResult
from emulator.core.limits import ANSWER_BODY
from emulator.core.world import World
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.signing import SignedRequest

if TYPE_CHECKING:
    from emulator.engine.http_client import HttpClient, RawBody

ANSWER_TIME = 10.0
"""Seconds (real time) a receiver has to answer (Limits)."""


class WebhookSender:
    """Sends POSTs, each on a connection of its own, and follows no redirects.

    A connection that is used again may be closed by the receiver just as the next request goes out, and a POST that
    may have arrived must not be sent twice. With a connection each, every attempt on record is exactly one request, at
    a cost of a third of the speed on loopback.
    """

    def __init__(self, answer_time: float = ANSWER_TIME) -> None:
        self.answer_time = answer_time
        self._client: HttpClient | None = None

    def request(self, world: World, post: DeliverWebhook, epoch: int) -> SignedRequest | None:
        """The request to send for a delivery; None if there is nothing to send."""
        return deliveries.outgoing(world, post, epoch)

    async def send(self, url: str, headers: dict[str, str], body: RawBody, *, verify: bool = True) -> HttpResult:
        """One attempt. A timeout and a connection error are results without a status code."""
        # Loaded on first use: a server that sends no webhook starts without an HTTP client.
        from emulator.engine.http_client import HttpClient, RequestFailed

        self._client = client = self._client or HttpClient()
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.answer_time):
                status, text = await client.post(url, headers, body, verify=verify, max_bytes=ANSWER_BODY.most)
            return HttpResult(status_code=status, body=_text(text), duration_ms=_since(started))
        except TimeoutError:
            reason = f"no answer within {self.answer_time:g} s"
        except RequestFailed as error:
            reason = str(error)
        except Exception as error:  # whatever a receiver or an address triggers is a result, not our failure
            reason = type(error).__name__
        return HttpResult(status_code=None, error=reason, duration_ms=_since(started))


def _text(received: bytes) -> str:
    """The bytes as text; a character that the limit cut in two is left out."""
    return getincrementaldecoder("utf-8")("replace").decode(received, final=len(received) < ANSWER_BODY.most)


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
