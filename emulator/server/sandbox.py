"""The sandbox: puts all parts together into one ASGI application."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from emulator.control import inbox
from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError
from emulator.core.ids import IdSource
from emulator.core.limits import RECEIVER_SECONDS, WORLDS
from emulator.core.world import World
from emulator.document.profile import Profile
from emulator.engine.clock import RUNNING, Clock, ClockMode
from emulator.engine.engine import Engine
from emulator.engine.fixtures import Fixtures, Start
from emulator.engine.http_client import WebhookSender
from emulator.engine.inbox import PREFIX as INBOXES
from emulator.engine.real_time import RealTime
from emulator.engine.reference_data import reference_data
from emulator.engine.storage.serialization import StoredWorld, fill
from emulator.engine.storage.urls import open_store
from emulator.resources.app.clients import Key
from emulator.resources.app.settings import merged
from emulator.resources.registry import REGISTRY
from emulator.ui.console.mount import CONSOLE, before
from emulator.web.origins import HostGuard, OriginGuard, hostname
from emulator.web.root_app import LazyApp, RequestReport, RootApp
from emulator.web.service_app import service_app

HEALTH = "/_emulator/health"
"""The path that containers and their neighbors ask, by any name and without a control token."""


class Parts(NamedTuple):
    """The parts of a sandbox: makers of worlds, senders of webhooks, wrappers of both APIs.

    Only commands that run a wrong service on purpose choose others (:mod:`emulator.checks.suite`).
    """

    world: Callable[..., World] = World
    sender: Callable[[float], WebhookSender] = WebhookSender
    app: Callable[[ASGIApp], ASGIApp] = lambda app: app


@dataclass(frozen=True)
class Options:
    """How a sandbox starts.

    ``clock_at`` is the instant worlds open at (now, if None). Without a ``seed`` every start draws
    another one. ``assumptions`` are values of assumptions, by name (B-99). A ``profile`` has more
    settings, and what a service confirmed. ``base_url`` is where the sandbox is reached, for links
    in objects. ``strict`` checks every response against the document. ``allow_hosts`` are names,
    beside those of loopback, that the control API may be called by; ``control_token`` is a token it
    requires. With ``any_host`` the service and the pages may be called by any name; with
    ``trust_network`` all may, and webhooks may go to any host over http. ``state`` is where worlds
    are stored (:mod:`emulator.engine.storage.urls`), ``max_worlds`` how many may be open.
    ``report`` is given each request with its response. ``response_time`` is how many seconds
    webhook receivers have to respond, ``clock`` the class of the worlds' clocks and ``starts`` how
    single worlds first open, by the App's name; only tests change these three. ``parts`` are those
    that the sandbox is made of.
    """

    clock_mode: ClockMode = RUNNING
    clock_at: Timestamp | None = None
    seed: int | None = None
    listed_keys_only: bool = False
    fixtures: tuple[Path, ...] = ()
    assumptions: Mapping[str, str] = field(default_factory=dict)
    profile: Profile | None = None
    base_url: str = "http://127.0.0.1:4747"
    strict: bool = False
    allow_hosts: tuple[str, ...] = ()
    any_host: bool = True
    control_token: str | None = None
    trust_network: bool = False
    state: str = "memory"
    report: RequestReport | None = None
    max_worlds: int = WORLDS.most
    response_time: float = RECEIVER_SECONDS
    clock: type[Clock] = Clock
    starts: Mapping[str, Start] = field(default_factory=dict)
    parts: Parts = field(default_factory=Parts)


class Sandbox:
    """Worlds, the engine that runs them, and the APIs and pages that show them."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options = options or Options()
        trusted = {"webhook_http": "any"} if options.trust_network else {}
        calibrated = options.profile.chosen() if options.profile else {}
        self.fixtures: Fixtures = Fixtures(
            options.fixtures, options.assumptions, merged(calibrated, trusted)
        )
        self.reference_data = reference_data()
        self.real_time: RealTime = RealTime()
        self.seed: str = str(secrets.randbits(64) if options.seed is None else options.seed)
        self.store = open_store(options.state)
        sender = options.parts.sender(options.response_time)
        self.engine: Engine = Engine(
            self.build_world, self.reference_data, sender, self.store, max_worlds=options.max_worlds
        )
        try:
            self.engine.open_persisted()
        except BaseException:
            if self.store:
                self.store.close()
            raise

    def build_world(
        self, key: Key, start: Start | None = None, saved: StoredWorld | None = None
    ) -> tuple[World, Clock]:
        """Return a key's world and clock: as stored, or else from the fixtures, or else new.

        Without ``start`` it is the options'. Raises 401 ``INVALID_API_KEY`` for an unlisted key
        (B-02), :class:`InvalidState`.
        """
        start = start or self.options.starts.get(key.name, Start())
        own_settings = self.fixtures.settings(key.name, start.fixture)
        if self.options.listed_keys_only and not self._knows(key):
            raise ApiError("INVALID_API_KEY")
        saved = saved or self.fixtures.worlds.get(key)
        mode, at = start.clock or (self.options.clock_mode, self.options.clock_at)
        clock = self.options.clock(mode, at, real_time=self.real_time)
        world = self.options.parts.world(
            name=key.name,
            livemode=key.livemode,
            registry=REGISTRY,
            reference_data=self.reference_data,
            seed=self._seed(start, saved),
            now=clock.now(),
            base_url=self.options.base_url,
            strict=self.options.strict,
            names_app=self.store is not None and self.store.is_remote,
        )
        if saved is None:
            with world.unit_of_work():
                world.add(own_settings)
            return world, clock
        fill(world, saved)
        if start.clock is None:
            clock = clock.another(world.now, saved.head.mode, saved.head.rate)
            clock.resume_from(world.now, saved.head.since)
        world.now = clock.reached(world)
        return world, clock

    def _knows(self, key: Key) -> bool:
        """Return whether a fixture lists the key, or it is a magic key (B-02, B-04)."""
        return str(key) in self.fixtures.keys or any(
            rule.concerns(key) for rule in self.reference_data.magic_keys
        )

    def _seed(self, start: Start, saved: StoredWorld | None) -> str:
        return (
            str(start.seed) if start.seed is not None else (saved and saved.head.seed) or self.seed
        )

    def _guarded(self, app: ASGIApp, token: str | None, *, pages: bool = False) -> ASGIApp:
        any_host = self.options.trust_network
        return OriginGuard(
            app, self._names(), token, any_host=any_host, open_path=HEALTH, pages=pages
        )

    def _names(self) -> tuple[str, ...]:
        return (hostname(urlsplit(self.options.base_url).netloc), *self.options.allow_hosts)

    def _named(self, app: ASGIApp) -> ASGIApp:
        is_open = self.options.any_host or self.options.trust_network
        return app if is_open else HostGuard(app, self._names())

    # What only some servers are asked for is imported and built on its first request.

    def _control(self) -> ASGIApp:
        from emulator.control.control_app import control_app

        return control_app(self.engine, strict=self.options.strict)

    def _console(self, unguarded: RootApp) -> ASGIApp:
        from emulator.ui.console.render import environment
        from emulator.ui.console.site import Console

        # Compiled here, beside requests, and not with the first page.
        environment().get_template("overview.html")
        return Console(
            unguarded,
            self.options.control_token,
            self.engine.runtimes.__contains__,
            self.options.profile,
        )

    def _site(self) -> ASGIApp:
        from emulator.ui.site import site

        return site(self.engine, self.options.profile)

    def application(self) -> RootApp:
        """Return the ASGI application: the service, the control API, the console and the site."""
        request_ids = map(partial(IdSource(f"{self.seed}/requests").id, "req"), count(1))
        token = self.options.control_token
        service = self._named(
            self.options.parts.app(service_app(self.engine, strict=self.options.strict))
        )
        control, site = (
            self.options.parts.app(LazyApp(self._control)),
            self._named(LazyApp(self._site)),
        )
        guarded_control = self._guarded(control, token)
        root_app = partial(
            RootApp,
            new_request_id=partial(next, request_ids),
            start=self.engine.start,
            stop=self.engine.stop,
            base_url=self.options.base_url,
            waits=self.store is not None and self.store.is_remote,
        )
        # The console checks the token itself, at its login: a browser sends none when it follows a
        # link.
        unguarded = root_app([("/v1/", service), ("/_emulator/", control)])
        console = self._guarded(LazyApp(partial(self._console, unguarded)), None, pages=True)
        return root_app(
            [
                ("/v1/", service),
                ("/_emulator/openapi.json", site),
                ("/_emulator/openapi-3.1.json", site),
                # A webhook cannot carry the token; reading the inbox requires it.
                (INBOXES, self._guarded(inbox.receiving(self.engine, guarded_control), None)),
                (CONSOLE, console),
                ("/_emulator/", before(console, guarded_control)),
                ("/_emulator", console),
                ("", site),
            ],
            # Only what came from outside is reported: the console's own requests go through the
            # other one.
            report=self.options.report,
        )
