"""The sandbox: the one place where all parts are put together into an application that can be served."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from emulator.console.mount import CONSOLE, before
from emulator.control import inbox
from emulator.core.calendar import Timestamp
from emulator.core.ids import IdSource
from emulator.core.world import World
from emulator.engine.clock import RUNNING, Clock, ClockMode
from emulator.engine.engine import Engine
from emulator.engine.fixtures import Fixtures, Start
from emulator.engine.mailer import Mailer, SmtpServer
from emulator.engine.reference_data import ReferenceData
from emulator.engine.webhook_sender import ANSWER_TIME, WebhookSender
from emulator.errors import ApiError
from emulator.resources.app.keys import Key
from emulator.resources.registry import REGISTRY
from emulator.state.serialization import StoredWorld, fill
from emulator.state.urls import open_store
from emulator.web.lazy_app import LazyApp
from emulator.web.origin_guard import OriginGuard, hostname
from emulator.web.root_app import RootApp
from emulator.web.service_app import service

FROM_OPTIONS = Start()
"""A world that starts as the options of the sandbox say."""


@dataclass(frozen=True)
class Options:
    """How a sandbox starts.

    ``clock_at`` is the instant worlds open at (now, if None). Without a ``seed`` every start draws another one.
    ``base_url`` is where the sandbox is reached, for links in objects. ``strict`` checks every answer against the
    document. ``geoip`` is a MaxMind database that tells the countries of addresses. ``allow_hosts`` are names, beside
    those of loopback, that the control API may be called by; ``control_token`` is a token it demands.
    ``state`` is where worlds are kept (:mod:`emulator.state.urls`).
    ``smtp`` is where emails are handed in, beside being kept.
    ``answer_time`` is how many seconds webhook receivers have to answer, ``clock`` the kind of clock that worlds have
    and ``starts`` how single worlds first open, by the App's name; only tests need others.
    """

    clock_mode: ClockMode = RUNNING
    clock_at: Timestamp | None = None
    seed: int | None = None
    listed_keys_only: bool = False
    fixtures: tuple[Path, ...] = ()
    base_url: str = "http://127.0.0.1:4747"
    strict: bool = False
    geoip: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    control_token: str | None = None
    smtp: SmtpServer | None = None
    state: str = "memory"
    answer_time: float = ANSWER_TIME
    clock: type[Clock] = Clock
    starts: Mapping[str, Start] = field(default_factory=dict)


@dataclass
class Sandbox:
    """Worlds, the engine that runs them and the faces they show."""

    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        self.fixtures = Fixtures(self.options.fixtures)
        self.facts = ReferenceData(self.options.geoip)
        self.seed = str(secrets.randbits(64) if self.options.seed is None else self.options.seed)
        mailer = Mailer(self.options.smtp) if self.options.smtp else None
        self.store = open_store(self.options.state)
        postman = WebhookSender(self.options.answer_time)
        self.engine = Engine(self.build_world, self.facts, postman, mailer, self.store)
        try:
            self.engine.open_persisted()
        except BaseException:
            if self.store:
                self.store.close()
            raise

    def build_world(
        self, key: Key, start: Start = FROM_OPTIONS, saved: StoredWorld | None = None
    ) -> tuple[World, Clock]:
        """The world of a key with its clock, new or as it was saved, or else as the fixtures have it.

        Raises 401 ``INVALID_API_KEY`` for one that is not listed (B-02), and :class:`Unreadable`.
        """
        if start is FROM_OPTIONS:
            start = self.options.starts.get(key.name, start)
        own_settings = self.fixtures.settings(key.name, start.fixture)
        if self.options.listed_keys_only and not self._knows(key):
            raise ApiError("INVALID_API_KEY")
        saved = saved or self.fixtures.worlds.get(key)
        clock = self.options.clock(*(start.clock or (self.options.clock_mode, self.options.clock_at)))
        world = World(
            name=key.name,
            livemode=key.livemode,
            registry=REGISTRY,
            reference_data=self.facts,
            seed=self._seed(start, saved),
            now=clock.now(),
            base_url=self.options.base_url,
        )
        if saved is None:
            with world.unit_of_work():
                world.add(own_settings)
            return world, clock
        fill(world, saved)
        if start.clock is None:
            clock = clock.another(world.now, saved.head.mode, saved.head.rate)
            clock.resume_from(world.now, saved.head.since)
        return world, clock

    def _knows(self, key: Key) -> bool:
        """Whether a fixture lists the key: one that was given, or the emulator's own of magic keys (B-02, B-04)."""
        return str(key) in self.fixtures.keys or any(rule.concerns(key) for rule in self.facts.magic_keys)

    def _seed(self, start: Start, saved: StoredWorld | None) -> str:
        return str(start.seed) if start.seed is not None else (saved and saved.head.seed) or self.seed

    def _locked(self, face: ASGIApp, token: str | None) -> ASGIApp:
        names = (hostname(urlsplit(self.options.base_url).netloc), *self.options.allow_hosts)
        return OriginGuard(face, names, token)

    # What only some servers are asked for is imported and made when it is.

    def _control(self) -> ASGIApp:
        from emulator.control.control_app import control_app

        return control_app(self.engine, strict=self.options.strict)

    def _console(self, inside: RootApp) -> ASGIApp:
        from emulator.console.site import Console

        return Console(inside, self.options.control_token)

    def _site(self) -> ASGIApp:
        from emulator.pages.site import site

        return site(self.engine)

    def application(self) -> RootApp:
        """The ASGI application: the service, the control API, the console and the site."""
        source, numbers = IdSource(f"{self.seed}/requests"), count(1)
        token = self.options.control_token
        api = service(self.engine, strict=self.options.strict)
        unlocked, others = LazyApp(self._control), LazyApp(self._site)
        controls = self._locked(unlocked, token)
        edge = partial(
            RootApp,
            new_request_id=lambda: source.id("req", next(numbers)),
            start=self.engine.start,
            stop=self.engine.stop,
            base_url=self.options.base_url,
        )
        # The console has a door of its own, for a browser sends no token with a link.
        inside = edge([("/v1/", api), ("/_emulator/", unlocked)])
        screens = self._locked(LazyApp(partial(self._console, inside)), None)
        return edge(
            [
                ("/v1/", api),
                ("/_emulator/openapi.json", others),
                # A webhook cannot carry the token; whoever reads what came in must.
                (inbox.PREFIX, self._locked(inbox.receiving(self.engine, controls), None)),
                (CONSOLE, screens),
                ("/_emulator/", before(screens, controls)),
                ("/_emulator", screens),
                ("", others),
            ]
        )
