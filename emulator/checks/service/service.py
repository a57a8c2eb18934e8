"""The service that is asked: requests at a steady rate, repeated where the service was busy or failed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

import httpx

from emulator.checks.service.observations import error_of

ATTEMPTS = 6
"""How often a request is sent until it is given up."""

LONGEST = 120.0
"""Seconds that a Retry-After is obeyed at most."""


class NoAnswer(Exception):
    """The service gave no usable answer; the message says why."""


class ProbeExchange(NamedTuple):
    """A request and its answer. ``body`` is JSON, or the text if it is not."""

    method: str
    path: str
    sent: Any
    status: int
    request_id: str | None
    body: Any


class Timing(NamedTuple):
    """What measures time and what lets it pass, in seconds."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


REAL_TIME = Timing()


class Service:
    """A running service at ``url``, called with ``key`` at most ``rate`` times a second and ``most`` times in all."""

    def __init__(self, http: httpx.Client, key: str, rate: float, most: int, timing: Timing = REAL_TIME) -> None:
        self._http = http
        self._key = key
        self._interval = 1 / rate
        self._most = most
        self._timing = timing
        self._next = timing.clock()
        self.sent = 0

    def send(
        self, method: str, path: str, sent: Any, raw: str | None, headers: Mapping[str, str | None]
    ) -> dict[str, Any]:
        """The answer to a request: the fields of its body, ``http``, ``headers``, ``header_names``, ``error`` and
        ``exchange``.

        An answer of 429 or 5xx is asked for again, and so is a lost one: a POST carries an Idempotency-Key for that.
        Raises :class:`NoAnswer`.
        """
        content = raw.encode() if raw is not None else b"" if sent is None else json.dumps(sent).encode()
        usual = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        usual |= {"Idempotency-Key": uuid4().hex} if method == "POST" else {}
        given = {name: value for name, value in {**usual, **headers}.items() if value is not None}
        why = ""
        for attempt in range(ATTEMPTS):
            self._wait()
            try:
                answer = self._http.request(method, path.lstrip("/"), content=content, headers=given)
            except httpx.HTTPError as error:
                why = f"{type(error).__name__}: {error}"
                self._timing.sleep(2**attempt)
                continue
            if answer.status_code != 429 and answer.status_code < 500:
                return _answer(answer, method, path, sent)
            why = f"{method} {path} was answered with {answer.status_code} {ATTEMPTS} times"
            self._timing.sleep(_seconds(answer, attempt))
        raise NoAnswer(why)

    def _wait(self) -> None:
        """Let time pass until the next request is due. Raises :class:`NoAnswer` if there were enough."""
        if self.sent >= self._most:
            raise NoAnswer(f"{self._most} requests were made, which is the most that were allowed")
        self.sent += 1
        now = self._timing.clock()
        if now < self._next:
            self._timing.sleep(self._next - now)
        self._next = max(now, self._next) + self._interval


def _seconds(answer: httpx.Response, attempt: int) -> float:
    """How long to wait after an answer of 429 or 5xx."""
    given = answer.headers.get("retry-after", "")
    return min(float(given), LONGEST) if given.isdigit() else float(2**attempt)


def _answer(answer: httpx.Response, method: str, path: str, sent: Any) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        body = answer.text
    headers = {name.lower(): value for name, value in answer.headers.items()}
    fields = body if isinstance(body, dict) else {}
    return {
        **fields,
        "http": answer.status_code,
        "headers": headers,
        "header_names": sorted(headers),
        "error": error_of(answer.status_code, body),
        "exchange": ProbeExchange(method, path, sent, answer.status_code, headers.get("request-id"), body),
    }
