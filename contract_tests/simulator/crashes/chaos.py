"""Chaos: servers and their database end at any moment, also while worlds are opened, and the load goes on.

Each round ends with a look: nothing that was answered is lost or there twice, the amounts add up, and no log has a
traceback. After each disturbance every server must serve again; the long version also says how soon.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import httpx
import psycopg

from contract_tests.simulator.crashes.crash_rounds import AFRESH, LONGEST, START, look, receiving, wipe
from contract_tests.simulator.crashes.load import HEADERS, Load, at_last
from contract_tests.simulator.crashes.servers import CLIENT, Emulator, started
from contract_tests.support import postgres

SERVES_WITHIN = 5.0
"""Seconds after which a server whose database is there serves again."""

LONGEST_PAUSE = 8.0
"""Seconds for which a server or the database stands still, at most: longer than the database keeps a lock for it."""

NEW_WORLDS = 30
"""Worlds that are opened in a round, at most: all of them are opened again by each start."""

Disturbance = Callable[[], object]


class Openers:
    """A client of each server that opens one world after the other, with a customer in each."""

    def __init__(self, *urls: str) -> None:
        self.made: dict[tuple[str, str], str] = {}
        self._opening = threading.Event()
        self._over = threading.Event()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._run, args=(url,), daemon=True) for url in urls]
        for thread in self._threads:
            thread.start()

    def await_opening(self) -> None:
        """Wait until a world is about to be opened."""
        self._opening.clear()
        self._opening.wait(1)

    def stop(self) -> None:
        """End; raises what a client has raised."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def _run(self, url: str) -> None:
        try:
            for number in range(NEW_WORLDS):
                if self._over.is_set():
                    return
                key = f"sk_test_{time.time_ns():x}{number}"
                headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": key}
                body = {"email": "a@example.com", "name": "Awa"}
                self._opening.set()
                create = partial(CLIENT.post, f"{url}/v1/customers/", json=body, headers=headers)
                self.made[url, key] = at_last(create).raise_for_status().json()["id"]
        except BaseException as failure:
            self._failures.append(failure)


def follow(url: str, over: threading.Event) -> None:
    """A client that follows a world, goes away, and comes again."""
    while not over.is_set():
        with suppress(httpx.HTTPError), CLIENT.stream("GET", f"{url}/_emulator/stream", headers=HEADERS) as stream:
            for _ in zip(range(50), stream.iter_bytes(), strict=False):
                pass


def customers(url: str, key: str) -> list[str]:
    """Return the ids of the customers of a world."""
    headers = {"Authorization": f"Bearer {key}"}
    found = at_last(partial(CLIENT.get, f"{url}/v1/customers/", headers=headers)).raise_for_status()
    return [row["id"] for row in found.json()["data"]]


class Taken(NamedTuple):
    """Seconds until every server served again; in ``starved`` of them one wanted a processor, and others had it."""

    seconds: float
    starved: float

    @property
    def own(self) -> float:
        """Seconds without those in which other processes had the processor."""
        return max(0.0, self.seconds - self.starved)

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s, {self.starved:.2f} of them without a processor"


def taken_until_all_serve(servers: list[Emulator]) -> Taken:
    """Return how long it takes until each has served a world of its own."""
    began, before = time.monotonic(), [server.starved() for server in servers]
    for number, server in enumerate(servers):
        assert customers(server.url, f"sk_test_own{number}") == []
    starved = max(server.starved() - earlier for server, earlier in zip(servers, before, strict=True))
    return Taken(time.monotonic() - began, starved)


def disturbances(servers: list[Emulator], place: str, chance: random.Random) -> Iterator[Disturbance]:
    """What comes without a warning. All is there again when the call returns."""

    def killed(server: Emulator) -> None:
        server.kill()
        server.start()

    def standing_still(server: Emulator) -> None:
        with server.frozen():
            time.sleep(chance.uniform(0, LONGEST_PAUSE))

    def sessions_lost() -> None:
        with psycopg.connect(place, autocommit=True) as administrator:
            administrator.execute(postgres.SESSIONS)

    def disturbed(how: Callable[[str], AbstractContextManager[None]]) -> None:
        with how(place):
            time.sleep(chance.uniform(0, LONGEST_PAUSE))

    for server in servers:
        yield partial(killed, server)
        yield partial(standing_still, server)
    if place.startswith("postgresql"):
        yield sessions_lost
        yield partial(disturbed, postgres.frozen)
        yield partial(disturbed, postgres.read_only)
        yield partial(postgres.restart, place)
        yield partial(postgres.restart, place, "immediate")


class Round(NamedTuple):
    """A round that was played. ``taken``: how long until every server served again, for each disturbance."""

    load: Load
    worlds: int
    taken: list[Taken]

    def __str__(self) -> str:
        return f"{self.load}, {self.worlds} new worlds, served again after at most {max(self.taken)}"


def play(folder: Path, place: str, chance: random.Random) -> Iterator[Round]:
    """Rounds without end. Raises ``AssertionError`` for what must not be."""
    schemas = ["?schema=worlds_1", "?schema=worlds_2"] if place.startswith("postgresql") else [""]
    servers = [Emulator(folder, place + schema, *START) for schema in schemas]
    choice = list(disturbances(servers, place, chance))
    with started(*servers), receiving() as receiver:
        for number in range(1_000_000):
            url = servers[number % len(servers)].url
            if number % (AFRESH * len(servers)) < len(servers):
                wipe(url, receiver)
            load, over = Load(url, retries=True), threading.Event()
            openers = Openers(*(server.url for server in servers))
            threading.Thread(target=follow, args=(url, over), daemon=True).start()
            load.start()
            taken = []
            for _ in range(chance.randint(1, 3)):
                if chance.random() < 0.5:
                    openers.await_opening()
                    time.sleep(chance.uniform(0, 0.02))
                else:
                    time.sleep(chance.uniform(0, LONGEST))
                chance.choice(choice)()
                taken.append(taken_until_all_serve(servers))
            openers.stop()
            load.stop()
            over.set()
            look(url, load, receiver)
            for (opened, key), id in openers.made.items():
                assert customers(opened, key) == [id], f"the world {key}"
            for server in servers:
                assert "Traceback" not in server.log.read_text(), server.log.read_text()
            yield Round(load, len(openers.made), taken)
