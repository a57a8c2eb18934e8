"""``serve`` ends soon after SIGTERM and Ctrl-C, whatever hangs: name servers, receivers, browsers, or its own work."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract_tests.surfaces.cli.test_serve import Served

LIMIT = 2
"""Seconds (real time) in which it ends, beside those that any server needs on a machine as busy as this one."""

SHARED = 1
"""Seconds more where other tests share the cores. Without its limits a server waits 10 s and longer."""

KEY = {"Authorization": "Bearer sk_test_demo"}

UNANSWERED = "unanswered.example"

NAME_SERVER = f"""
import os, socket, sys

def look_up(event, about):
    if event == "socket.getaddrinfo" and about[0].endswith("{UNANSWERED}"):
        host, port = os.environ["NAME_SERVER"].split(":")
        socket.create_connection((host, int(port))).recv(1)

sys.addaudithook(look_up)
"""
"""What Python runs when it starts, so that names below that host are looked up where nobody answers."""

CUSTOMER = {"email": "awa@example.com", "name": "Awa Diop", "phone": "+24177000000"}


class Silence:
    """A server that takes connections and never says a word."""

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.address = "{}:{}".format(*self._sockets[0].getsockname())

    def wait(self) -> None:
        """Wait until somebody has connected."""
        self._sockets.append(self._sockets[0].accept()[0])

    def close(self) -> None:
        for each in self._sockets:
            each.close()


def subscribe(served: Served) -> None:
    customer = served.post("/v1/customers/", CUSTOMER)
    terms = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "day"}
    plan = served.post("/v1/subscription-plans/", terms)
    served.post("/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})


@contextmanager
def nothing(served: Served, silence: Silence) -> Iterator[None]:
    yield


@contextmanager
def an_smtp_server(served: Served, silence: Silence) -> Iterator[None]:
    subscribe(served)
    silence.wait()
    yield


@contextmanager
def a_receiver(served: Served, silence: Silence) -> Iterator[None]:
    """One that a request waits for."""
    waiting = in_background(
        served, "/v1/webhooks/", {"name": "Shop", "url": f"http://{silence.address}", "events": ["*"]}
    )
    silence.wait()
    yield
    waiting.join()


@contextmanager
def a_name_server(served: Served, silence: Silence) -> Iterator[None]:
    endpoints = ({"name": "Shop", "url": f"https://{n}.{UNANSWERED}/", "events": ["*"]} for n in range(40))
    waiting = [in_background(served, "/v1/webhooks/", endpoint) for endpoint in endpoints]
    silence.wait()
    yield
    for each in waiting:
        each.join()


@contextmanager
def a_stream(served: Served, silence: Silence) -> Iterator[None]:
    with httpx.stream("GET", f"{served.url}/_emulator/stream", headers=KEY, timeout=60) as stream:
        next(stream.iter_raw())
        yield


@contextmanager
def an_advance(served: Served, silence: Silence) -> Iterator[None]:
    subscribe(served)
    """It answers how far it came."""
    started = served.get("/_emulator/clock").json()["now"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.post, "/_emulator/clock/advance", {"by": "P30Y"})
        while len(served.get("/v1/invoices/").json()["data"]) < 10:
            pass
        yield
        assert waiting.result()["now"] > started


@contextmanager
def half_a_request(served: Served, silence: Silence) -> Iterator[None]:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"POST /v1/customers/ HTTP/1.1\r\nHost: shop\r\nContent-Length: 100\r\n\r\n{")
        served.get("/_emulator/health")
        yield


def in_background(served: Served, path: str, body: Any) -> threading.Thread:

    def send() -> None:
        with suppress(httpx.HTTPError, ValueError):
            served.post(path, body)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


Hanging = Callable[[Served, Silence], Any]

CASES: dict[str, tuple[tuple[str, ...], Hanging]] = {
    "nothing": ((), nothing),
    "an SMTP server": (("--smtp", "smtp://{}"), an_smtp_server),
    "a receiver": ((), a_receiver),
    "a name server": ((), a_name_server),
    "a stream": ((), a_stream),
    "an advance": ((), an_advance),
    "half a request": ((), half_a_request),
}

SIGNALS = {"SIGTERM": (signal.SIGTERM, 0), "Ctrl-C": (signal.SIGINT, 130)}
"""With the exit status."""

CUT_SHORT = "Cancel 1 running task(s), timeout graceful shutdown exceeded"
"""What uvicorn says if an answer was under way."""

Ended = tuple[float, int, str]


def end(name: str, by: str, path: Path) -> Ended:
    options, hanging = CASES[name]
    with ExitStack() as cleanup:
        silence = Silence()
        cleanup.callback(silence.close)
        options = tuple(option.format(silence.address) for option in options)
        served = Served("--port", "0", *options, PYTHONPATH=str(path), NAME_SERVER=silence.address)
        cleanup.callback(served.process.kill)
        with hanging(served, silence):
            started = time.monotonic()
            status, _, complained = served.end(SIGNALS[by][0])
            return time.monotonic() - started, status, complained


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Future[Ended]]]:
    """All of them, two at a time."""
    path = tmp_path_factory.mktemp("path")
    (path / "sitecustomize.py").write_text(NAME_SERVER)
    with ThreadPoolExecutor(2) as pool:
        yield {(name, by): pool.submit(end, name, by, path) for name in CASES for by in SIGNALS}


@pytest.mark.parametrize("by", SIGNALS)
@pytest.mark.parametrize("name", CASES)
def test_it_ends_whatever_hangs(ended: dict[tuple[str, str], Future[Ended]], name: str, by: str) -> None:
    seconds, status, complained = ended[name, by].result()
    usual, _, _ = ended["nothing", by].result()
    assert seconds < LIMIT + SHARED + usual
    assert status == SIGNALS[by][1]
    assert complained.strip() in ("", CUT_SHORT)
