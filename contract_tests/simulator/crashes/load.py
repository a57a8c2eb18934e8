"""The load: a few clients that buy and subscribe, each write with a key of its own, so that a lost answer can be asked
for again; and one that moves the clock on, so that renewals fall due all the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import httpx

from contract_tests.simulator.crashes.servers import KEY

HEADERS = {"Authorization": f"Bearer {KEY}"}

BUYERS = 3

HOURS = 20
"""How far the clock is moved at most while answers may still be asked for again: keys are stored for a day (B-16)."""

PATIENCE = 60.0
"""Seconds in which a service with more than one server must answer at last."""


class Write:
    """One write: what was asked, and the answer, if it came."""

    def __init__(self, key: str, path: str, body: dict[str, Any]) -> None:
        self.key = key
        self.path = path
        self.body = body
        self.answer: bytes | None = None


class Stopped(Exception):
    """The server is gone, or the load is over."""


class Load:
    """Clients of one world. ``keeps_trying`` if another server takes the place of one that is gone."""

    def __init__(self, url: str, *, retries: bool = False) -> None:
        self.url = url
        self.writes: list[Write] = []
        self.instant = ""
        self._retries = retries
        self._numbers = count(1)
        self._name = f"{time.time_ns():x}"
        self._begun, self._over = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self.failures: list[BaseException] = []

    def start(self) -> None:
        """Begin, in threads; there is an answer by then."""
        for work in [self._buy] * BUYERS + [self._move]:
            thread = threading.Thread(target=self._run, args=(work,), daemon=True)
            thread.start()
            self._threads.append(thread)
        assert self._begun.wait(PATIENCE), "nothing is answered"

    def __str__(self) -> str:
        return f"{len(self.writes)} writes, {sum(write.answer is None for write in self.writes)} of them unanswered"

    def stop(self) -> None:
        """Wait until every client has noticed that it is over, or that the server is gone."""
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE + 30)
            assert not thread.is_alive()
        if self.failures:
            raise self.failures[0]

    def _run(self, work: Callable[[httpx.Client], None]) -> None:
        try:
            with httpx.Client(base_url=self.url, headers=HEADERS, timeout=30, trust_env=False) as client:
                while not self._over.is_set():
                    work(client)
        except Stopped:
            pass
        except BaseException as failure:
            self.failures.append(failure)

    def _buy(self, client: httpx.Client) -> None:
        """A customer who pays once and subscribes by the day."""
        number = next(self._numbers)
        customer = self._write(
            client,
            "/v1/customers/",
            {"email": f"{self._name}-{number}@example.com", "name": "Awa Diop", "phone": f"+2417{number:07}0"},
        )
        card = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2090, "cvc": "123"}
        method = self._write(client, "/v1/payment-methods/", {"customer": customer["id"], **card})
        bill = {"amount": 1000 + number, "currency": "XAF", "customer": customer["id"], "payment_method": method["id"]}
        intent = self._write(client, "/v1/payment-intents/", bill)
        self._write(client, f"/v1/payment-intents/{intent['id']}/confirm/", {})
        terms = {"customer": customer["id"], "unit_amount": 500, "interval": "day"}
        self._write(client, "/v1/subscriptions/", terms)

    def _write(self, client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
        if self._over.is_set():
            raise Stopped
        write = Write(f"{self._name}-{next(self._numbers)}", path, body)
        self.writes.append(write)
        response = self._answered(lambda: client.post(path, json=body, headers={"Idempotency-Key": write.key}))
        assert response.is_success, response.text
        write.answer = response.content
        self._begun.set()
        return response.json()

    def _move(self, client: httpx.Client) -> None:
        now = datetime.fromisoformat(self._answered(lambda: client.get("/_emulator/clock")).json()["now"])
        for hours in range(1, HOURS + 1):
            if self._over.is_set():
                return
            # To an instant, so that one whose outcome is unknown can be asked for again.
            to = {"to": f"{now + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"}
            response = self._answered(partial(client.post, "/_emulator/clock/advance", json=to))
            assert response.is_success, response.text
            assert response.json()["failures"] == []
            self.instant = max(self.instant, response.json()["now"])
        self._over.wait(PATIENCE)

    def _answered(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        if self._retries:
            return at_last(ask)
        try:
            return ask()
        except httpx.HTTPError:
            raise Stopped from None


def at_last(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the answer of whichever server there is, asked for as often as it takes while one takes another one's place."""
    until = time.monotonic() + PATIENCE
    while True:
        with suppress(httpx.HTTPError):
            response = ask()
            # 409: what was asked before is still being done.
            if response.status_code not in (409, 502, 503, 504) and not lost_database(response):
                return response
        assert time.monotonic() < until, "the server no longer answers"
        time.sleep(0.05)


def lost_database(response: httpx.Response) -> bool:
    """Return whether a request was answered while the database was not there."""
    return response.status_code == 500 and response.json()["code"] == "DATABASE_ERROR"


def ask_again(url: str, writes: list[Write]) -> None:
    """Ask for every answer once more: the same bytes if it was given, and if not, it is given now."""
    with httpx.Client(base_url=url, headers=HEADERS, timeout=30, trust_env=False) as client:
        for write in writes:
            key = {"Idempotency-Key": write.key}
            response = at_last(partial(client.post, write.path, json=write.body, headers=key))
            assert response.is_success, f"{write.path}: {response.text}"
            if write.answer is not None:
                assert response.headers.get("idempotent-replayed") == "true", f"lost: {write.path} {write.answer!r}"
                assert response.content == write.answer
