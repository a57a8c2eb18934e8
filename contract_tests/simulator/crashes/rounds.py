"""Rounds: load, random disturbances, and a look: no response's result is lost or there twice.

``kills`` is one server, killed again and again. ``chaos`` also stands still and has its database
end, lose its sessions or be read-only; with PostgreSQL it is two servers in schemas of their own.
``proxy`` is two servers and a standby behind nginx, as docs/guide/state.md configures them. After
each disturbance every world must be served again.
"""

from __future__ import annotations

import random
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import psycopg

from contract_tests import ROOT
from contract_tests.simulator import world_rules
from contract_tests.support import postgres
from contract_tests.support.receiver import Receiver
from contract_tests.support.servers import CLIENT, ServerProcess, free_port

KINDS = {
    "kills": ("",),
    "chaos": ("worlds_1", "worlds_2"),
    "proxy": ("worlds_1", "worlds_2", "worlds_1"),
}
"""The schema of each server, by kind of round; in a file there is one server."""

START = ("--clock", "frozen@2026-01-01T00:00:00Z")

LONGEST = 0.8
"""Seconds of load before a disturbance, at most."""

LONGEST_PAUSE = 8.0
"""The most seconds of a standstill of server or database: longer than the database keeps a lock."""

AFRESH = 10
"""Rounds before a world is wiped, so that looks at it do not take longer and longer."""

NEW_WORLDS = 30
"""Worlds that are opened in a round, at most: all of them are opened again by each start."""

APPS = ("shop", "store", "crash", "other")
"""Apps of both schemas, as nginx divides them."""

Disturbance = Callable[[], object]


# -- the load


KEY = "sk_test_crash"
HEADERS = {"Authorization": f"Bearer {KEY}"}

HOURS = 20
"""The clock's most hours while old responses may be asked for: keys last a day (B-16)."""

RECOVERY_SECONDS = 60.0
"""Seconds in which a service that is disturbed must answer at last."""


class Write:
    """One write: what was asked, and the answer, if it came."""

    def __init__(self, key: str, path: str, body: dict[str, Any]) -> None:
        self.key, self.path, self.body = key, path, body
        self.response: bytes | None = None


class Stopped(Exception):
    """The load is over."""


class Clients:
    """Threads of which each does its work again and again until it is over."""

    def __init__(self, *works: Callable[[], object]) -> None:
        self.over = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(work,), daemon=True) for work in works
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Wait until every client has noticed that it is over. Raises what a client has raised."""
        self.over.set()
        for thread in self._threads:
            thread.join(RECOVERY_SECONDS + 30)
            assert not thread.is_alive()
        if self._failures:
            raise self._failures[0]

    def _run(self, work: Callable[[], object]) -> None:
        try:
            while not self.over.is_set():
                work()
        except Stopped:
            pass
        except BaseException as failure:
            self._failures.append(failure)


class Load:
    """Clients who buy and subscribe, and ask until they get a response; one always moves the clock.

    Each write has a key of its own, so that a lost answer can be asked for again.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.writes: list[Write] = []
        self.instant = ""
        self._numbers = count(1)
        self._name = f"{time.time_ns():x}"
        self._begun = threading.Event()
        self.clients = Clients(self._buy, self._buy, self._buy, self._move)
        self.clients.start()
        assert self._begun.wait(RECOVERY_SECONDS), "nothing is answered"

    def _buy(self) -> None:
        number = next(self._numbers)
        contact = {
            "email": f"{self._name}-{number}@example.com",
            "name": "Awa Diop",
            "phone": f"+2417{number:07}0",
        }
        customer = self._write("/v1/customers/", contact)
        card = {
            "type": "bank_card",
            "number": "4242424242424242",
            "exp_month": 12,
            "exp_year": 2090,
            "cvc": "123",
        }
        method = self._write("/v1/payment-methods/", {"customer": customer["id"], **card})
        bill = {
            "amount": 1000 + number,
            "currency": "XAF",
            "customer": customer["id"],
            "payment_method": method["id"],
        }
        intent = self._write("/v1/payment-intents/", bill)
        self._write(f"/v1/payment-intents/{intent['id']}/confirm/", {})
        self._write(
            "/v1/subscriptions/",
            {"customer": customer["id"], "unit_amount": 500, "interval": "day"},
        )

    def _write(self, path: str, body: dict[str, Any]) -> Any:
        if self.clients.over.is_set():
            raise Stopped
        write = Write(f"{self._name}-{next(self._numbers)}", path, body)
        self.writes.append(write)
        response = at_last(
            partial(
                CLIENT.post,
                self.url + path,
                json=body,
                headers={**HEADERS, "Idempotency-Key": write.key},
            )
        )
        assert response.is_success, response.text
        write.response = response.content
        self._begun.set()
        return response.json()

    def _move(self) -> None:
        now = datetime.fromisoformat(
            at_last(partial(CLIENT.get, f"{self.url}/_emulator/clock", headers=HEADERS)).json()[
                "now"
            ]
        )
        for hours in range(1, HOURS + 1):
            if self.clients.over.is_set():
                return
            # To an instant, so that one whose outcome is unknown can be asked for again.
            to = {"to": f"{now + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"}
            response = at_last(
                partial(
                    CLIENT.post, f"{self.url}/_emulator/clock/advance", json=to, headers=HEADERS
                )
            )
            assert response.is_success, response.text
            assert response.json()["failures"] == []
            self.instant = max(self.instant, response.json()["now"])
        self.clients.over.wait(RECOVERY_SECONDS)


def at_last(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the response of any server; ask until one has taken another one's place."""
    until = time.monotonic() + RECOVERY_SECONDS
    while True:
        with suppress(httpx.HTTPError):
            response = ask()
            # 409: what was asked before is still being done. 500: the database is not there, which
            # a page says in words.
            is_page = response.headers["content-type"].startswith("text/html")
            is_away = response.status_code == 500 and (
                is_page or response.json()["code"] == "DATABASE_ERROR"
            )
            if response.status_code not in (409, 502, 503, 504) and not is_away:
                return response
        assert time.monotonic() < until, "the server no longer answers"
        time.sleep(0.05)


def ask_again(url: str, writes: list[Write]) -> None:
    """Ask for every response again: the same bytes if it was given, else it is given now."""
    for write in writes:
        headers = {**HEADERS, "Idempotency-Key": write.key}
        response = at_last(partial(CLIENT.post, url + write.path, json=write.body, headers=headers))
        assert response.is_success, f"{write.path}: {response.text}"
        if write.response is not None:
            assert response.headers.get("idempotent-replayed") == "true", (
                f"lost: {write.path} {write.response!r}"
            )
            assert response.content == write.response


# -- rounds


class Round(NamedTuple):
    """A played round. ``taken``: the longest way back, and how much of it lacked a processor."""

    load: Load
    worlds: int
    now: str
    taken: tuple[float, float]

    def __str__(self) -> str:
        taken, starved = self.taken
        return (
            f"{len(self.load.writes)} writes, {self.worlds} new worlds, {self.now}, served again"
            f" after {taken:.2f} s at most, {starved:.2f} of them without a processor"
        )


def play(folder: Path, place: str, chance: random.Random, kind: str = "kills") -> Iterator[Round]:
    """Rounds without end. Raises ``AssertionError`` for what must not be."""
    schemas = KINDS[kind] if place.startswith("postgresql") and kind != "kills" else ("",)
    with ExitStack() as stack:
        servers = []
        for number, schema in enumerate(schemas):
            at = f"{place}?schema={schema}" if schema else place
            server = ServerProcess("--state", at, *START, log=folder / f"{number}.log")
            servers.append(stack.enter_context(server))
        urls = [server.url for server in servers]
        if kind == "proxy":
            listen = free_port()
            text = documented(listen, *(server.port for server in servers))
            urls = [stack.enter_context(nginx(folder, listen, text))]
        receiver = Receiver()
        stack.callback(receiver.close)
        disturb = list(disturbances(servers, place if kind != "kills" else "", chance))
        for number in range(1_000_000):
            url = urls[number % len(urls)]
            if number // len(urls) % AFRESH == 0:
                wipe(url, receiver)
            yield one(url, urls, servers, receiver, disturb, chance)
            for server in servers:
                assert server.log is not None
                assert "Traceback" not in server.log.read_text(), server.log.read_text()


def one(
    url: str,
    urls: Sequence[str],
    servers: Sequence[ServerProcess],
    receiver: Receiver,
    disturb: Sequence[Disturbance],
    chance: random.Random,
) -> Round:
    """Play one round: the load on one server, whatever happens to them all."""
    load, over, taken = Load(url), threading.Event(), [(0.0, 0.0)]
    openers = Openers(*urls)
    pages = [page(url, app) for app in APPS]
    threading.Thread(target=follow, args=(url, over), daemon=True).start()
    for act in chance.sample(disturb, min(len(disturb), chance.randint(1, 3))):
        if chance.random() < 0.5:
            openers.await_opening()
            time.sleep(chance.uniform(0, 0.02))
        else:
            time.sleep(chance.uniform(0, LONGEST))
        act()
        taken.append(until_all_serve(urls, servers))
        for path in pages:
            assert at_last(partial(CLIENT.get, url + path)).is_success
    openers.clients.stop()
    load.clients.stop()
    over.set()
    now = look(url, load, receiver)
    for (opened, key), id in openers.made.items():
        assert customers(opened, key) == [id], f"the world {key}"
    return Round(load, len(openers.made), now, max(taken))


# -- what comes without a warning


def disturbances(
    servers: Sequence[ServerProcess], place: str, chance: random.Random
) -> Iterator[Disturbance]:
    """Disturb, and return after the recovery. Without a ``place`` only kill the servers."""

    def killed(server: ServerProcess) -> None:
        server.kill()
        server.start()

    def during(pause: Callable[[], AbstractContextManager[None]]) -> None:
        with pause():
            time.sleep(chance.uniform(0, LONGEST_PAUSE))

    def sessions_lost() -> None:
        with psycopg.connect(place, autocommit=True) as administrator:
            administrator.execute(postgres.SESSIONS)

    for server in servers:
        yield partial(killed, server)
        if place:
            yield partial(during, server.frozen)
    if place.startswith("postgresql"):
        yield sessions_lost
        yield partial(during, partial(postgres.frozen, place))
        yield partial(during, partial(postgres.read_only, place))
        yield partial(postgres.restart, place)
        yield partial(postgres.restart, place, "immediate")


def until_all_serve(urls: Sequence[str], servers: Sequence[ServerProcess]) -> tuple[float, float]:
    """Return the time until each serves a world of its own, and their time without a processor."""
    began, before = time.monotonic(), [server.starved() for server in servers]
    for url in urls:
        for app in APPS if len(urls) == 1 else APPS[:1]:
            assert customers(url, f"sk_test_own{app}") == []
    starved = max(
        server.starved() - earlier for server, earlier in zip(servers, before, strict=True)
    )
    return time.monotonic() - began, starved


# -- clients beside the load


class Openers:
    """A client of each server that opens one world after the other, with a customer in each."""

    def __init__(self, *urls: str) -> None:
        self.made: dict[tuple[str, str], str] = {}
        self._opening = threading.Event()
        self.clients = Clients(*(partial(self._open, url) for url in urls))
        self.clients.start()

    def await_opening(self) -> None:
        self._opening.clear()
        self._opening.wait(1)

    def _open(self, url: str) -> None:
        if len(self.made) >= NEW_WORLDS:
            raise Stopped
        key = f"sk_test_{time.time_ns():x}"
        self._opening.set()
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": key}
        self.made[url, key] = ask(
            url, "/v1/customers/", {"email": "a@example.com", "name": "Awa"}, headers
        )["id"]


def follow(url: str, over: threading.Event) -> None:
    """A client that follows a world, goes away, and comes again."""
    while not over.is_set():
        with (
            suppress(httpx.HTTPError),
            CLIENT.stream("GET", f"{url}/_emulator/stream", headers=HEADERS) as stream,
        ):
            for _ in zip(range(50), stream.iter_bytes(), strict=False):
                pass


def customers(url: str, key: str) -> list[str]:
    headers = {"Authorization": f"Bearer {key}"}
    response = at_last(
        partial(CLIENT.get, f"{url}/v1/customers/", headers=headers)
    ).raise_for_status()
    return [row["id"] for row in response.json()["data"]]


def page(url: str, app: str) -> str:
    body = {"payment_link_type": "custom", "amount": 500, "currency": "XAF"}
    address = urlsplit(
        ask(url, "/v1/payment-links/", body, {"Authorization": f"Bearer sk_test_{app}"})["url"]
    )
    return f"{address.path}?{address.query or f'app={app}'}"


def ask(url: str, path: str, body: Any = None, headers: Any = HEADERS) -> Any:
    """Return what a POST gives that must succeed, whichever server answers it."""
    response = at_last(partial(CLIENT.post, url + path, json=body or {}, headers=headers))
    assert response.is_success, response.text
    return response.json() if response.content else None


# -- the look


def wipe(url: str, receiver: Receiver) -> None:
    """An empty world whose new customers are reported to the receiver."""
    ask(url, "/v1/reset")
    ask(url, "/v1/webhooks/", {"name": "Shop", "url": receiver.url, "events": ["customer.created"]})


def truth(url: str) -> world_rules.Rows:
    """Return a world's whole content once its deliveries have ended; the clock stays."""
    now = at_last(partial(CLIENT.get, f"{url}/_emulator/clock", headers=HEADERS)).json()["now"]
    ask(url, "/_emulator/clock/advance", {"to": now})
    ask(url, "/_emulator/snapshots", {"name": "truth"})
    return world_rules.exported(
        at_last(partial(CLIENT.get, f"{url}/_emulator/snapshots/truth", headers=HEADERS)).json()
    )


def look(url: str, load: Load, receiver: Receiver) -> str:
    for again in ([], load.writes):
        ask_again(url, again)
        rows = truth(url)
        problems = faults(rows)
        assert problems == [], "\n".join(problems[:5])
        assert rows.now >= load.instant, "the clock went back"
    received = {event["id"] for event in receiver.events}
    missing = [
        event["id"]
        for event in rows.all("event", type="customer.created")
        if event["id"] not in received
    ]
    assert missing == [], f"never delivered: {missing[:5]}"
    # The next round begins where no key of this one is remembered any more.
    ask(url, "/_emulator/clock/advance", {"by": "2d"})
    return rows.now


def faults(rows: world_rules.Rows) -> list[str]:
    return [*world_rules.flags(rows), *_of_the_load(rows)]


def _of_the_load(rows: world_rules.Rows) -> Iterator[str]:
    """Here alone: every charge succeeds, customers have one phone each, all deliveries arrive."""
    invoices, methods = (
        rows.by("invoice", "subscription"),
        rows.by("payment_method", "customer", type="mobile_money"),
    )
    for subscription in rows.all("subscription"):
        statuses = [invoice["status"] for invoice in invoices[subscription["id"]]]
        if statuses != ["paid"] * subscription["period"]:
            yield (
                f"{subscription['id']} is in period {subscription['period']}, invoices are"
                f" {statuses}"
            )
    for customer in rows.all("customer"):
        phones = [method["details"]["phone"] for method in methods[customer["id"]]]
        if phones != [customer["phone"]]:
            yield f"{customer['id']} has the phones {phones}"
    deliveries = rows.by("webhook_delivery", "event")
    for event in rows.all("event", type="customer.created") if rows.all("webhook_endpoint") else ():
        if [row["status"] for row in deliveries[event["id"]]] != ["succeeded"]:
            yield f"{event['id']} has deliveries {deliveries[event['id']]}"
    yield from (f"overdue: {job}" for job in rows.all("job") if job["due"] <= rows.now)


# -- nginx


def documented(listen: int, *servers: int) -> str:
    """Return the configuration of the guide, at other ports."""
    match = re.search(
        r"```nginx\n(.*?)```", (ROOT / "docs/guide/state.md").read_text("utf-8"), re.DOTALL
    )
    assert match is not None
    text = match[1]
    for ours, port in zip((8080, 4747, 4748, 4749), (listen, *servers), strict=True):
        assert f":{ours}" in text
        text = text.replace(f":{ours}", f":{port}")
    return text


@contextmanager
def nginx(folder: Path, listen: int, configuration: str) -> Iterator[str]:
    """nginx with this configuration, its passing files in a folder of ours; its URL."""
    assert postgres.NGINX is not None, "there is no nginx: apt-get install nginx"
    file, log = folder / "nginx.conf", folder / "nginx.log"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    own = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    file.write_text(configuration.replace("http {\n", f"http {{\n    access_log off;\n{own}", 1))
    outside = f"daemon off; pid {folder}/nginx.pid; error_log {log};"
    command = [postgres.NGINX, "-p", str(folder), "-e", str(log), "-c", str(file), "-g", outside]
    with subprocess.Popen(command) as process:
        try:
            url = f"http://127.0.0.1:{listen}"
            at_last(partial(CLIENT.get, f"{url}/_emulator/health"))
            yield url
        finally:
            process.terminate()
