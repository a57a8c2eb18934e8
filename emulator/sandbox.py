"""The sandbox: the one place where all parts are put together into an application that can be served."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from emulator.control import inbox
from emulator.control.face import control
from emulator.core.calendar import Timestamp
from emulator.core.ids import Source
from emulator.core.world import World
from emulator.engine.clock import RUNNING, Clock
from emulator.engine.engine import Engine
from emulator.engine.facts import Facts
from emulator.engine.fixtures import Fixtures
from emulator.engine.mailer import Mailer, SmtpServer
from emulator.engine.post import ANSWER_TIME, Postman
from emulator.errors import Refusal
from emulator.pages.site import site
from emulator.resources.keys import Key
from emulator.resources.wiring import WIRING
from emulator.state.form import Saved, fill
from emulator.state.places import open_store
from emulator.web.edge import Edge
from emulator.web.local_only import LocalOnly, hostname
from emulator.web.service import service


@dataclass(frozen=True)
class Options:
    """How a sandbox starts.

    ``clock_at`` is the instant worlds open at (now, if None). Without a ``seed`` every start draws another one.
    ``base_url`` is where the sandbox is reached, for links in objects. ``strict`` checks every answer against the
    document. ``geoip`` is a MaxMind database that tells the countries of addresses. ``allow_hosts`` are names, beside
    those of loopback, that the control API may be called by; ``control_token`` is a token it demands.
    ``state`` is where worlds are kept (:mod:`emulator.state.places`).
    ``smtp`` is where emails are handed in, beside being kept.
    ``answer_time`` is how many seconds webhook receivers have to answer; only tests need another.
    """

    clock_mode: str = RUNNING
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


@dataclass
class Sandbox:
    """Worlds, the engine that runs them and the faces they show."""

    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        self.fixtures = Fixtures(self.options.fixtures)
        self.facts = Facts(self.options.geoip)
        self.seed = str(secrets.randbits(64) if self.options.seed is None else self.options.seed)
        mailer = Mailer(self.options.smtp) if self.options.smtp else None
        self.store = open_store(self.options.state)
        postman = Postman(self.options.answer_time)
        self.engine = Engine(self.build_world, self.facts, postman, mailer, self.store)
        try:
            self.engine.open_kept()
        except BaseException:
            if self.store:
                self.store.close()
            raise

    def build_world(self, key: Key, saved: Saved | None = None) -> tuple[World, Clock]:
        """The world of a key with its clock, new or as it was saved, or else as the fixtures have it.

        Raises 401 ``INVALID_API_KEY`` for one that is not listed (B-02), and :class:`Unreadable`.
        """
        if self.options.listed_keys_only and str(key) not in self.fixtures.keys:
            raise Refusal("INVALID_API_KEY")
        saved = saved or self.fixtures.worlds.get(key)
        clock = Clock(self.options.clock_mode, self.options.clock_at)
        world = World(
            name=key.name,
            livemode=key.livemode,
            wiring=WIRING,
            facts=self.facts,
            seed=(saved and saved.head.seed) or self.seed,
            now=clock.now(),
            base_url=self.options.base_url,
        )
        if saved is None:
            with world.turn():
                world.add(self.fixtures.settings(key.name))
        else:
            fill(world, saved)
            clock.put_back(world.now, saved.head.mode, saved.head.rate)
            clock.go_on(world.now, saved.head.since)
        return world, clock

    def _locked(self, face: ASGIApp, token: str | None) -> ASGIApp:
        names = (hostname(urlsplit(self.options.base_url).netloc), *self.options.allow_hosts)
        return LocalOnly(face, names, token)

    def application(self) -> Edge:
        """The ASGI application: the service, the control API and the site."""
        source, numbers = Source(f"{self.seed}/requests"), count(1)
        strict = self.options.strict
        others = site(self.engine)
        controls = self._locked(control(self.engine, strict=strict), self.options.control_token)
        return Edge(
            [
                ("/v1/", service(self.engine, strict=strict)),
                ("/_emulator/openapi.json", others),
                # A webhook cannot carry the token; whoever reads what came in must.
                (inbox.PREFIX, self._locked(inbox.receiving(self.engine, controls), None)),
                ("/_emulator/", controls),
                ("", others),
            ],
            new_request_id=lambda: source.id("req", next(numbers)),
            start=self.engine.start,
            stop=self.engine.stop,
            base_url=self.options.base_url,
        )
