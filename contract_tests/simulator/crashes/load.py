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

KEY = "sk_test_crash"
HEADERS = {"Authorization": f"Bearer {KEY}"}

BUYERS = 3

HOURS = 20
"""How far the clock is moved at most while answers may still be asked for again: keys are stored for a day (B-16)."""

PATIENCE = 60.0
"""Seconds in which a service that is disturbed must answer at last."""


class Write:
    """One write: what was asked, and the answer, if it came."""

    def __init__(self, key: str, path: str, body: dict[str, Any]) -> None:
        self.key, self.path, self.body = key, path, body
        self.answer: bytes | None = None


class Stopped(Exception):
    """The load is over."""


class Load:
    """Clients of one world, who ask again until they are answered."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.writes: list[Write] = []
        self.instant = ""
        self.failures: list[BaseException] = []
        self._numbers = count(1)
        self._name = f"{time.time_ns():x}"
        self._begun, self._over = threading.Event(), threading.Event()
        works = [self._buy] * BUYERS + [self._move]
        self._threads = [threading.Thread(target=self._run, args=(work,), daemon=True) for work in works]

    def start(self) -> None:
        """Begin, in threads; there is an answer by then."""
        for thread in self._threads:
            thread.start()
        assert self._begun.wait(PATIENCE), "nothing is answered"

    def stop(self) -> None:
        """Wait until every client has noticed that it is over. Raises what a client has raised."""
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
        contact = {"email": f"{self._name}-{number}@example.com", "name": "Awa Diop", "phone": f"+2417{number:07}0"}
        customer = self._write(client, "/v1/customers/", contact)
        card = {"type": "bank_card", "number": "4242424242424242", "exp_month": 12, "exp_year": 2090, "cvc": "123"}
        method = self._write(client, "/v1/payment-methods/", {"customer": customer["id"], **card})
        bill = {"amount": 1000 + number, "currency": "XAF", "customer": customer["id"], "payment_method": method["id"]}
        intent = self._write(client, "/v1/payment-intents/", bill)
        self._write(client, f"/v1/payment-intents/{intent['id']}/confirm/", {})
        self._write(client, "/v1/subscriptions/", {"customer": customer["id"], "unit_amount": 500, "interval": "day"})

    def _write(self, client: httpx.Client, path: str, body: dict[str, Any]) -> Any:
        if self._over.is_set():
            raise Stopped
        write = Write(f"{self._name}-{next(self._numbers)}", path, body)
        self.writes.append(write)
        response = at_last(partial(client.post, path, json=body, headers={"Idempotency-Key": write.key}))
        assert response.is_success, response.text
        write.answer = response.content
        self._begun.set()
        return response.json()

    def _move(self, client: httpx.Client) -> None:
        now = datetime.fromisoformat(at_last(partial(client.get, "/_emulator/clock")).json()["now"])
        for hours in range(1, HOURS + 1):
            if self._over.is_set():
                return
            # To an instant, so that one whose outcome is unknown can be asked for again.
            to = {"to": f"{now + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"}
            response = at_last(partial(client.post, "/_emulator/clock/advance", json=to))
            assert response.is_success, response.text
            assert response.json()["failures"] == []
            self.instant = max(self.instant, response.json()["now"])
        self._over.wait(PATIENCE)


def at_last(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the answer of whichever server there is, asked for as often as it takes while one takes another one's place."""
    until = time.monotonic() + PATIENCE
    while True:
        with suppress(httpx.HTTPError):
            response = ask()
            # 409: what was asked before is still being done. 500: the database is not there, which a page says in words.
            is_page = response.headers["content-type"].startswith("text/html")
            is_away = response.status_code == 500 and (is_page or response.json()["code"] == "DATABASE_ERROR")
            if response.status_code not in (409, 502, 503, 504) and not is_away:
                return response
        assert time.monotonic() < until, "the server no longer answers"
        time.sleep(0.05)


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
