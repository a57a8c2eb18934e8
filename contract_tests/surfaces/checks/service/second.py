"""A second emulator that plays the real service: other settings, deviations, and a front that limits and fails."""

from __future__ import annotations

import json
import random
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from contract_tests.support.client import NO_AUTHORITIES, http_client
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.checks.service.deviations import DEVIATIONS, SWITCHES, Deviation
from emulator.checks.service.runner import Help, Runner
from emulator.checks.service.service import EventReceiver, Service, Timing
from emulator.checks.service.verdicts import CalibrationReport, Verdict
from emulator.checks.suite.wrong_service import WrongService
from emulator.document.probes import collected
from emulator.engine.redaction import redact_value

KNOWN = collected()
"""Every probe."""

KEY = "sk_test_calibrate"

MOST = 260
"""The most requests that a calibration makes."""


class VirtualTime:
    """Time that passes only when someone sleeps, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Front:
    """In front of the service: more than ``rate`` requests a second get 429, and some of the others 503."""

    def __init__(self, app: ASGIApp, time: VirtualTime, rate: float, failing: float, seed: int) -> None:
        self._app, self._time, self._rate, self._failing = app, time, rate, failing
        self._random = random.Random(seed)
        self._allowed, self._seen = rate, 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        self._time.sleep(0.02)  # the way there and back
        now = self._time.clock()
        self._allowed, self._seen = min(self._rate, self._allowed + (now - self._seen) * self._rate), now
        if self._allowed < 1:
            await _fail(send, 429, [(b"retry-after", b"1")])
            return
        self._allowed -= 1
        if self._random.random() < self._failing:
            await _fail(send, 503, [])
            return
        await self._app(scope, receive, send)


async def _fail(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


class Draw(NamedTuple):
    """Which settings are switched, by the names of ``SWITCHES``, and which deviations there are."""

    switched: Mapping[str, Any]
    deviations: Sequence[Deviation]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the App."""
        plain = {name: value for name, value in self.switched.items() if not name.startswith("assumptions.")}
        assumptions = {
            n.removeprefix("assumptions."): v for n, v in self.switched.items() if n.startswith("assumptions.")
        }
        return {**plain, "assumptions": assumptions}

    @property
    def noticed_by(self) -> set[str]:
        """The probes that notice the deviations."""
        return {probe for each in self.deviations for probe in each.probes}

    def service(self) -> WrongService:
        """Return the service with the deviations; ``reached`` has the names of those that were at work."""
        mutants = [each.mutant for each in self.deviations]
        return WrongService(mutants, *mutants)


def drawn(seed: int) -> Draw:
    """Twelve settings or assumptions with other values, and twelve deviations."""
    chance = random.Random(seed)
    # A refund that is reviewed first does not show within a minute how long it takes.
    hidden = chance.choice(["refund_review", "assumptions.refund_timing"])
    names = chance.sample([name for name in SWITCHES if name != hidden], 12)
    switched = {name: chance.choice(SWITCHES[name]) for name in names}
    return Draw(switched, chance.sample(DEVIATIONS, 12))


NOTHING = Draw({}, [])


@contextmanager
def serving(
    draw: Draw, time: VirtualTime | None = None, seed: int = 0, wrong: WrongService | None = None, **options: Any
) -> Iterator[RunningServer]:
    """A server that is as a draw says; with a ``time`` it is behind a front with 2 requests a second and 5 % of 503.

    ``wrong`` is the service of the draw, where the caller wants to see which deviations are at work.
    """
    parts = (wrong or draw.service()).parts()
    if time is not None:
        inner = parts.app
        parts = parts._replace(app=lambda app: Front(inner(app), time, 2, 0.05, seed))
    with TemporaryDirectory() as folder:
        file = Path(folder, "settings.json")
        file.write_text(json.dumps({"settings": draw.settings}))
        with RunningServer(**{"parts": parts, "fixtures": (file,), "strict": False, **options}) as server:
            yield server


class Calibration(NamedTuple):
    """A calibration of a server: how its requests are paced, and whom it trusts."""

    url: str
    time: VirtualTime
    most: int = MOST
    trusting: ssl.SSLContext = NO_AUTHORITIES

    def run(self, names: Sequence[str] | None = None, **more: Any) -> CalibrationReport:
        """Return the report of these probes, or of all that need no buyer and no time."""
        chosen = [*KNOWN.probes] if names is None else names
        timing = Timing(self.time.clock, self.time.sleep)
        with http_client(base_url=f"{self.url}/v1", verify=self.trusting) as http, EventReceiver() as receiver:
            service = Service(http, KEY, 2, self.most, timing)
            helpers = Help(redact_value, receiver, more.get("buyer"))
            verdicts = Runner(service, KNOWN, helpers).run(chosen, more.get("after", lambda verdict: None))
        return CalibrationReport(url=self.url, date="2026-01-01", requests=service.sent, verdicts=verdicts)


def switched(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the settings that these verdicts ask for, as ``SWITCHES`` names them."""
    older = {f"assumptions.{name}": value for each in verdicts for name, value in each.assumptions.items()}
    return {**older, **{name: value for each in verdicts for name, value in each.settings.items()}}


def client(url: str) -> httpx.Client:
    """Return a client of the service at a URL, in an App where nothing has happened."""
    return http_client(base_url=f"{url}/v1", headers={"Authorization": "Bearer sk_test_compare"})
