"""The service under calibration: requests at a steady rate, their responses, and its webhooks.

A request is repeated where the service was busy or failed.
"""

from __future__ import annotations

import hmac
import json
import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import msgspec

from emulator.client.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.document.references import Computed, LookUp, filled
from emulator.document.tree import MISSING

# -- references to values of a response, and the conditions that values are held against


def error_of(status: int, body: object) -> dict[str, object] | None:
    """Return an error of either shape (B-10) in one form.

    It has ``code`` and ``type`` in capitals, ``shape``, ``param`` and ``has``.
    """
    if status < 400 or not isinstance(body, dict):
        return None
    nested = isinstance(body.get("error"), dict)
    error = body["error"] if nested else body
    return {
        "shape": "nested" if nested else "flat" if "code" in error else "other",
        "code": str(error.get("code", "")).upper(),
        "type": str(error.get("type", "")).upper(),
        "param": error.get("param"),
        "message": error.get("message"),
        "has": sorted(error),
    }


def resolved(value: object, at: LookUp) -> Any:
    """Return a JSON value with its references replaced, and with what is computed."""
    return filled(value, at, COMPUTED)


def _percent_of(parts: Any, at: LookUp) -> int | float:
    part, whole = (resolved(part, at) for part in parts)
    rate = round(100 * part / whole, 4)
    return int(rate) if rate == int(rate) else rate


COMPUTED: Computed = {
    "percent_of": _percent_of,
    "succeeded": lambda names, at: [
        name for name, step in names.items() if at(f"{step}.http") == 201
    ],
}
"""Computed values: the rate of ``[part, whole]``; names whose step (``{NAME: step}``) succeeded."""


def holds(condition: object, value: object, at: LookUp) -> bool:
    """Return whether a value meets a condition: is equal, or meets its word (``CONDITIONS``)."""
    if (
        isinstance(condition, dict)
        and len(condition) == 1
        and (word := next(iter(condition))) in CONDITIONS
    ):
        return CONDITIONS[word](value, resolved(condition[word], at))
    return bool(value == resolved(condition, at)) and isinstance(value, bool) == isinstance(
        condition, bool
    )


def _later(value: object, start_and_days: Any, part: Callable[[datetime], date]) -> bool:
    """Return whether an instant, or part of it, is that many days after the given one's."""
    start, days = start_and_days
    try:
        later, earlier = (part(datetime.fromisoformat(str(instant))) for instant in (value, start))
        return bool(later - earlier == timedelta(days=days))
    except (TypeError, ValueError):
        return False


CONDITIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "any": lambda value, of: value in of,
    "not": lambda value, other: value != other,
    "present": lambda value, wanted: (value is not MISSING) == wanted,
    "matches": lambda value, pattern: (
        isinstance(value, str) and re.fullmatch(pattern, value) is not None
    ),
    "has": lambda value, names: isinstance(value, dict | list) and set(names) <= set(value),
    "length": lambda value, length: isinstance(value, list) and len(value) == length,
    "days_after": lambda value, start_and_days: _later(
        value, start_and_days, lambda instant: instant
    ),
    "date_after": lambda value, start_and_days: _later(value, start_and_days, datetime.date),
}
"""What a condition may ask of a value, by its word."""


# -- requests


ATTEMPTS = 6
"""How often a request is sent until it is given up."""


ProbeResponse = dict[str, Any]
"""A response as one object: the fields of its body, and others about it."""


class NothingListens(Exception):
    """Nothing listens there; the message says why."""


class NoResponse(Exception):
    """The service gave no usable response; the message says why."""


class Evidence(msgspec.Struct, frozen=True):
    """A request, with its method, and its response. ``body`` is JSON, or the text if it is not."""

    request: str
    sent: Any
    status: int
    request_id: str | None
    body: Any


class Service:
    """A running service, called with ``key`` at most ``rate`` times a second, ``most`` in all.

    ``clock`` measures time and ``sleep`` lets it pass, in seconds.
    """

    def __init__(
        self,
        http: httpx.Client,
        key: str,
        rate: float,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = http
        self._key = key
        self._interval = 1 / rate
        self._most = most
        self._clock, self._sleep = clock, sleep
        self._next = clock()
        self.sent = 0
        self._is_there = False

    def send(
        self,
        method: str,
        path: str,
        sent: object,
        raw: str | None,
        headers: Mapping[str, str | None],
    ) -> ProbeResponse:
        """Return the response to a request as one object.

        It has the fields of the body, ``http``, ``headers``, ``header_names``, ``error`` and
        ``exchange``.

        The request is sent again after a 429, a 5xx or a lost response: a POST carries an
        Idempotency-Key for that. Raises :class:`NoResponse`, or :class:`NothingListens` where
        nothing listens at the start.
        """
        content = (
            raw.encode() if raw is not None else b"" if sent is None else json.dumps(sent).encode()
        )
        usual = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        usual |= {"Idempotency-Key": uuid4().hex} if method == "POST" else {}
        all_headers = {
            name: value for name, value in {**usual, **headers}.items() if value is not None
        }
        why = ""
        for attempt in range(ATTEMPTS):
            self._wait()
            try:
                response = self._http.request(
                    method, path.lstrip("/"), content=content, headers=all_headers
                )
            except httpx.HTTPError as error:
                why = f"{type(error).__name__}: {error}"
                if isinstance(error, httpx.ConnectError) and not self._is_there:
                    raise NothingListens(str(error)) from None
                self._sleep(2**attempt)
                continue
            self._is_there = True
            if response.status_code != 429 and response.status_code < 500:
                break
            why = f"{method} {path} returned {response.status_code} {ATTEMPTS} times"
            pause = response.headers.get("retry-after", "")
            self._sleep(min(float(pause), 120) if pause.isdigit() else 2**attempt)
        else:
            raise NoResponse(why)
        try:
            body = response.json()
        except ValueError:
            body = response.text
        names = {name.lower(): value for name, value in response.headers.items()}
        return {
            **(body if isinstance(body, dict) else {}),
            "http": response.status_code,
            "headers": names,
            "header_names": sorted(names),
            "error": error_of(response.status_code, body),
            "exchange": Evidence(
                f"{method} {path}", sent, response.status_code, names.get("request-id"), body
            ),
        }

    def _wait(self) -> None:
        """Wait until the next request is due. Raises :class:`NoResponse` at the most requests."""
        if self.sent >= self._most:
            raise NoResponse(
                f"{self._most} requests were made, which is the most that were allowed"
            )
        self.sent += 1
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + self._interval


# -- webhooks: the end of a path is the status of the response to them, after the ping


EVENT_SECONDS = 60.0
"""Seconds that an event may take to arrive."""


class EventReceiver(HttpReceiver):
    """Receives the events of probes; ``url`` is where the service reaches it."""

    def __init__(self, url: str | None = None, port: int = 0) -> None:
        super().__init__(self._respond, port)
        self._received: dict[str, list[ReceivedRequest]] = {}
        self._arrived = threading.Condition()
        self.url = (url or self.url).rstrip("/")

    def last(self, url: str, secret: str) -> ProbeResponse:
        """Return the last event at a URL, no ping. Raises :class:`NoResponse` if none comes.

        Beside its fields it has ``headers`` and ``signature`` (hex, base64 or other).
        """
        path = urlsplit(url).path
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._of(path)) > 1, EVENT_SECONDS):
                raise NoResponse(f"no event arrived at {url}")
            request = self._of(path)[-1]
        headers = {name.lower(): value for name, value in request.headers.items()}
        digest = hmac.digest(secret.encode(), request.body, sha256)
        forms = {
            digest.hex(): "hex",
            digest.hex().upper(): "capitals",
            b64encode(digest).decode(): "base64",
        }
        form = forms.get(headers.get("service-signature", ""), "other")
        return {**json.loads(request.body), "headers": headers, "signature": form}

    def _of(self, path: str) -> list[ReceivedRequest]:
        """Return the requests at a path; a tunnel before the receiver may add a path of its own."""
        return next((requests for at, requests in self._received.items() if path.endswith(at)), [])

    def _respond(self, request: ReceivedRequest) -> ReceiverReply:
        with self._arrived:
            before = self._received.setdefault(request.path, [])
            before.append(request)
            self._arrived.notify_all()
            last = request.path.rpartition("/")[2]
            return ReceiverReply(int(last) if len(before) > 1 and last.isdigit() else 200)
