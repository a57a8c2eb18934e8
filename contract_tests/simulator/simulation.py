"""A simulation: one story, from its first step to the last or the first broken invariant."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import count
from typing import Any, NamedTuple
from unittest.mock import patch

from contract_tests.simulator.invariants import Invariants, Transition, Violation
from contract_tests.simulator.server import Response, Server
from contract_tests.simulator.surroundings import (
    Disk,
    Network,
    Stalled,
    VirtualTime,
    simulated_disk,
    virtual_time,
)
from emulator.core import calendar
from emulator.core.records import Record
from emulator.engine.http_client import WebhookSender
from emulator.engine.runtime import Runtime
from emulator.engine.storage.store import StorageError
from emulator.resources.app.clients import Key, read_key

KEYS = ("sk_test_one", "sk_test_two", "sk_prod_one")

CHECKED_EVERY = 40
"""Steps between two looks at everything."""

LONGEST_STEP = 30.0
"""Seconds after which a step hangs."""

SHORTEST_LIFE = 20 * 3600
"""Seconds (clock of the world) in which a response is stored for certain (B-16: a day)."""

Step = Mapping[str, Any]
Action = Callable[..., Any]

ACTIONS: dict[str, Action] = {}
"""What steps do, by name; the module of the steps fills it."""


class Story(NamedTuple):
    """All events: ``steps`` on a server with one kind of state, with these settings of worlds."""

    seed: int
    state: str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]


class Outcome(NamedTuple):
    """A story's end: the first violation, the steps played; ``trace`` is a digest of all responses.

    ``reached`` are the transitions of life cycles that happened, ``met`` the clauses of invariants
    that had something to decide.
    """

    violation: Violation | None
    steps: int
    trace: str
    reached: frozenset[Transition]
    met: frozenset[str]


class Rejected(Exception):
    """The service rejected a request, or the step has no object; that is no violation."""


class Given(NamedTuple):
    """A request with an Idempotency-Key with its response, sent when it was ``at`` in its world."""

    path: str
    body: Any
    key: str
    response: Response
    at: str


class Place:
    """A world in its clients' hands. ``given``: the last responses, to repeat byte for byte."""

    def __init__(self, simulation: Simulation, key: str) -> None:
        self.simulation = simulation
        self.key = key
        self.name = key.split("_", 2)[2]
        self.is_open = False
        self.given: deque[Given] = deque(maxlen=12)
        self.saved: dict[str, Any] = {}

    @property
    def runtime(self) -> Runtime:
        """The world itself, which is open."""
        return self.simulation.server.engine.runtimes[self.secret]

    @property
    def secret(self) -> Key:
        return read_key(f"Bearer {self.key}")

    def forget(self) -> None:
        """The past of the world is gone: another one is in its place."""
        self.given.clear()

    def unsaved(self) -> None:
        """Note that some last responses and snapshots, unknown ones, may not have been stored."""
        self.forget()
        self.saved.clear()

    def lost(self) -> None:
        """The world is gone with all it held."""
        self.is_open = False
        self.unsaved()

    def pick(self, kind: str, number: int) -> Any:
        kinds = {kind.kind: kind for kind in self.runtime.world.kinds}
        records: list[Record] = list(self.runtime.world.table(kinds[kind]))[-5:]
        if not records:
            raise Rejected(kind)
        return records[-1 - number % len(records)]

    async def get(self, path: str, **options: Any) -> Any:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return await self.ask("POST", path, {} if body is None else body, **options)

    async def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Return a response's JSON. Raises :class:`Rejected`; an own error is a violation."""
        repeatable = method == "POST" and path.startswith("/v1/") and path != "/v1/reset/"
        key = f"{self.name}-{next(self.simulation.numbers)}"
        headers = {"idempotency-key": key} if repeatable else {}
        sent_at = (await self.simulation.server.engine.open(self.secret)).now()
        response = await self.simulation.send(
            method, path, body, key=self.key, headers=headers, **options
        )
        if repeatable and response.status < 300:
            self.given.append(Given(path, body, key, response, sent_at))
        if response.status >= 400:
            raise Rejected(f"{method} {path}: {response.status} {response.body.decode()[:300]}")
        return response.json()

    async def repeat(self, number: int) -> None:
        """Send a request again: the response is the same, byte for byte, and nothing happens."""
        if not self.given:
            raise Rejected("no answer yet")
        given = self.given[number % len(self.given)]
        headers = {"idempotency-key": given.key}
        response = await self.simulation.send(
            "POST", given.path, given.body, key=self.key, headers=headers
        )
        if calendar.seconds_between(given.at, self.runtime.now()) > SHORTEST_LIFE:
            raise Rejected("too old")
        is_same = (response.status, response.body) == (given.response.status, given.response.body)
        if response.status < 500 and response.status != 429 and not is_same:
            self.simulation.invariants.violated(
                "idempotency", f"POST {given.path}: {response.status} {response.body!r}"
            )


class Simulation:
    """The emulator with all around it."""

    def __init__(self, story: Story, time: VirtualTime, disk: Disk, network: Network) -> None:
        self.story = story
        self.time, self.disk, self.network = time, disk, network
        self.numbers = count(1)
        self.invariants = Invariants(time, disk, network)
        self.server = Server(story.seed, disk, self.invariants.opened, self._closed)
        self.places = {key: Place(self, key) for key in KEYS}
        self.trace = hashlib.sha256()
        disk.on_save = lambda: self.invariants.saving(self.server)
        network.call_back = self._call_back

    def _closed(self, runtime: Runtime) -> None:
        self.invariants.closed(self.server, runtime)
        if self.disk.kind == "memory":
            for place in self.places.values():
                if place.secret == Key(runtime.world.name, runtime.world.livemode):
                    place.lost()

    async def _call_back(self, url: str) -> None:
        """A receiver that, while it handles a delivery, reads, writes and moves the clock."""
        key = url.rsplit("/", 1)[-1]
        await self.send("GET", "/v1/customers/", key=key)
        body = {"email": f"receiver{next(self.numbers)}@example.com", "name": "Receiver"}
        await self.send("POST", "/v1/customers/", body, key=key)
        await self.send("POST", "/_emulator/clock/advance", {"by": "1h"}, key=key)

    async def send(self, method: str, path: str, body: Any = None, **options: Any) -> Response:
        """Return the response to a request; one that is wrong whatever was asked is a violation."""
        response = await self.server.send(method, path, body, **options)
        self.trace.update(b"%s %s %d " % (method.encode(), path.encode(), response.status))
        self.trace.update(
            response.body.replace(self.disk.folder.encode(), b"")
        )  # errors name the file
        text = response.body.decode(errors="replace") if response.status == 500 else ""
        is_ours = "INTERNAL_ERROR" in text and "is stopping" not in text  # as after a crash
        if is_ours or ("DATABASE_ERROR" in text and not self.invariants.disk_failed):
            self.invariants.violated("internal error", f"{method} {path}: {text[:200]}")
        return response

    def failed(self, context: Mapping[str, Any]) -> None:
        """A task ended with an exception that no one waits for."""
        error = context.get("exception")
        if error is not None and not isinstance(error, Stalled):
            self.invariants.violated(
                "internal error", f"{context['message']}: {type(error).__name__}: {error}"
            )

    async def play(self) -> Outcome:
        number = 0
        await self.start()
        for number, step in enumerate(self.story.steps, 1):
            await self._guarded(step)
            if number % CHECKED_EVERY == 0 and not self.invariants.broken:
                self.invariants.check_all(self.server)
            if self.invariants.broken:
                break
        if not self.invariants.broken:
            for step in ({"do": "repair"}, {"do": "settle"}, {"do": "stop"}):
                await self._guarded(step)
            self.invariants.check_all(self.server)
        await self.server.crash()
        violation = next(iter(self.invariants.broken), None)
        return Outcome(
            violation,
            number,
            self.trace.hexdigest(),
            frozenset(self.invariants.reached),
            frozenset(self.invariants.met),
        )

    async def start(self) -> None:
        await self.server.start()
        self.invariants.started(self.server)

    async def _guarded(self, step: Step) -> None:
        self.invariants.before_step(self.server)
        try:
            async with asyncio.timeout(LONGEST_STEP):
                await self.act(step)
        except TimeoutError:
            # Receivers that hang may take longer, one delivery after the other.
            if not any(
                runtime.outbox.is_under_way for runtime in self.server.engine.runtimes.values()
            ):
                self.invariants.violated("waiting", f"{step} did not end")
        except Stalled:
            pass
        if self.time.stalled:
            self.invariants.broken.insert(0, Violation("waiting", self.time.stalled))
        place = self.places.get(step.get("key", ""))
        self.invariants.after_step(self.server, frozenset([place.name]) if place else None)

    async def act(self, step: Step) -> None:
        """One step; a rejection is its end."""
        details = {name: value for name, value in step.items() if name not in ("do", "key")}
        about: Any = self.places[step["key"]] if "key" in step else self
        try:
            if isinstance(about, Place):
                await self.server.engine.open(about.secret)
                if not about.is_open:
                    about.is_open = True
                    await ACTIONS["open"](about)
            await ACTIONS[step["do"]](about, **details)
        except (Rejected, StorageError):  # a world cannot be opened while the disk fails
            pass


def play(story: Story) -> Outcome:
    network = Network()
    with ExitStack() as stack:
        disk = stack.enter_context(simulated_disk(story.state))
        time, loop = stack.enter_context(virtual_time())
        stack.enter_context(
            patch.object(
                WebhookSender, "exchange", lambda _, *args, **how: network.exchange(*args, **how)
            )
        )
        simulation = Simulation(story, time, disk, network)
        loop.set_exception_handler(lambda _, context: simulation.failed(context))
        log = logging.getLogger("emulator")
        before, log.propagate = log.propagate, False
        log.addHandler(simulation.invariants)
        stack.callback(log.removeHandler, simulation.invariants)
        stack.callback(setattr, log, "propagate", before)
        return loop.run_until_complete(simulation.play())
