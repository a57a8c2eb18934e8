"""A second emulator as the real service: other settings, deviations, and a faulty front."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from emulator.checks.service.runner import Help, Runner
from emulator.checks.service.service import EventReceiver, Service
from emulator.checks.service.verdicts import CalibrationReport
from emulator.checks.suite.mutants import (
    MUTANTS,
    Mutant,
    MutationPoint,
    ServiceResponse,
    wrong_object,
)
from emulator.checks.suite.wrong_service import WrongService
from emulator.document.probes import collected
from emulator.engine.redaction import redact_value
from emulator.engine.reference_data import named_assumptions
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_links import PaymentLink

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
    """A front of the service: above ``rate`` requests a second 429, and for some others 503."""

    def __init__(
        self, app: ASGIApp, time: VirtualTime, rate: float, failing: float, seed: int
    ) -> None:
        self._app, self._time, self._rate, self._failing = app, time, rate, failing
        self._random = random.Random(seed)
        self._allowed, self._seen = rate, 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        self._time.sleep(0.02)  # the way there and back
        now = self._time.clock()
        self._allowed, self._seen = (
            min(self._rate, self._allowed + (now - self._seen) * self._rate),
            now,
        )
        if self._allowed < 1:
            await _fail(send, 429, [(b"retry-after", b"1")])
            return
        self._allowed -= 1
        if self._random.random() < self._failing:
            await _fail(send, 503, [])
            return
        await self._app(scope, receive, send)


async def _fail(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [*headers, (b"content-length", b"0")],
        }
    )
    await send({"type": "http.response.body", "body": b""})


SWITCHES: Mapping[str, tuple[Any, ...]] = {
    "search_nothing_found": ("error",),
    "metadata_values": ("any",),
    "renewal_without_method": ("fail",),
    "success_url": ("required",),
    "payment_received": ("transaction",),
    "webhook_success": ("2xx",),
    "webhook_retry": ("all",),
    "cors_without_domains": ("any",),
    "unknown_fields": ("ignore",),
    "error_shape": ("flat", "nested"),
    "refund_timing": ("instant",),
    "main_currency": ("XOF", "EUR"),
    "currencies": (["XAF", "XOF", "EUR", "USD", "GBP"], ["XAF", "XOF", "EUR"]),
    "pricing_plan": ("starter", "business", "enterprise"),
    "commission_rate": (1.5, 2),
    "tax_rate": (18, 19.25),
    "minimum_amount": (1, 50, 500, 1000),
    "refund_review": (True,),
}
"""Assumptions and settings with other values than the default, each of which a probe finds."""


class Deviation(NamedTuple):
    """A wrong service, and the probes that notice it."""

    mutant: Mutant
    probes: tuple[str, ...]


def _deviation(change: Any, *probes: str) -> Deviation:
    return Deviation(Mutant(probes[0], probes[0], probes[0], change), probes)


def _error(
    probe: str, code: str, status: int, other: str, other_status: int | None = None
) -> Deviation:
    """Give errors with this code and status another code, perhaps another status, in any shape."""

    def change(response: ServiceResponse) -> ServiceResponse:
        if response.status != status or not isinstance(response.body, dict):
            return response
        error = response.body.get("error", response.body)
        if str(error.get("code", "")).upper() != code:
            return response
        nested = "error" in response.body
        changed = {**error, "code": other.lower() if nested else other}
        return response._replace(
            status=other_status or status, body={"error": changed} if nested else changed
        )

    return _deviation((MutationPoint.RESPONDED, change), probe)


def _shown(
    probe: str, kind: Any, fields: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Deviation:
    return _deviation(wrong_object(kind, fields), probe)


def _lists_without_previous(response: ServiceResponse) -> ServiceResponse:
    if not isinstance(response.body, dict) or response.body.get("object") != "list":
        return response
    return response._replace(
        body={**response.body, "pagination": {**response.body["pagination"], "previous": None}}
    )


DEVIATIONS = (
    _error("no-key", "MISSING_API_KEY", 401, "AUTHENTICATION_FAILED"),
    _error("public-key", "PUBLIC_KEY_NOT_ALLOWED", 403, "PERMISSION_DENIED"),
    _error("wrong-method", "METHOD_NOT_ALLOWED", 405, "NOT_FOUND", 404),
    _error("unknown-filter", "INVALID_FILTER_PARAM", 422, "INVALID_FIELD"),
    _error("invalid-currency", "INVALID_CURRENCY", 422, "INVALID_FIELD"),
    _error("duplicate-sku", "DUPLICATE_SKU", 409, "VALIDATION_ERROR", 422),
    _error("canceled-twice", "SUBSCRIPTION_ALREADY_CANCELED", 422, "INVALID_STATUS_TRANSITION"),
    _error(
        "change-of-a-finalized-invoice", "INVOICE_NOT_DRAFTABLE", 422, "INVALID_STATUS_TRANSITION"
    ),
    _error("expired-twice", "CHECKOUT_SESSION_EXPIRED", 422, "INVALID_STATUS_TRANSITION"),
    _error(
        "capture-of-nothing-held", "PAYMENT_INTENT_NOT_CAPTURABLE", 422, "INVALID_STATUS_TRANSITION"
    ),
    _error("method-not-allowed", "PAYMENT_METHOD_NOT_SUPPORTED", 422, "INVALID_FIELD"),
    _error("idempotency", "IDEMPOTENCY_CONFLICT", 409, "VALIDATION_ERROR", 422),
    _deviation((MutationPoint.RESPONDED, _lists_without_previous), "previous-page"),
    _shown(
        "one-word-name",
        Customer,
        lambda customer: {} if customer["lastname"] else {"lastname": customer["firstname"]},
    ),
    _shown("default-address", Customer, lambda customer: {"address": None}),
    _shown(
        "timestamps",
        Customer,
        lambda customer: {"created_at": customer["created_at"].partition(".")[0] + "Z"},
    ),
    _shown("link-without-type", PaymentLink, lambda link: {"payment_link_type": "donation"}),
    Deviation(MUTANTS["paused-hidden"], ("pause-and-resume",)),
    Deviation(MUTANTS["capture-whole"], ("partial-capture",)),
    Deviation(MUTANTS["invoice-due-early"], ("due-date",)),
    Deviation(MUTANTS["period-ends-late"], ("weekly-period", "trial-is-the-first-period")),
)
"""Deviations that no setting follows."""


class Draw(NamedTuple):
    """Which settings are switched, by the names of ``SWITCHES``, and which deviations there are."""

    switched: Mapping[str, Any]
    deviations: Sequence[Deviation]

    @property
    def settings(self) -> dict[str, Any]:
        assumptions = {
            name: value for name, value in self.switched.items() if name in named_assumptions()
        }
        plain = {name: value for name, value in self.switched.items() if name not in assumptions}
        return {**plain, "assumptions": assumptions}

    @property
    def noticed_by(self) -> set[str]:
        return {probe for deviation in self.deviations for probe in deviation.probes}


def drawn(seed: int) -> Draw:
    """Twelve settings or assumptions with other values, and twelve deviations."""
    chance = random.Random(seed)
    # A refund that is reviewed first does not show within a minute how long it takes.
    hidden = chance.choice(["refund_review", "refund_timing"])
    names = chance.sample([name for name in SWITCHES if name != hidden], 12)
    return Draw(
        {name: chance.choice(SWITCHES[name]) for name in names}, chance.sample(DEVIATIONS, 12)
    )


NOTHING = Draw({}, [])


@contextmanager
def serving(
    draw: Draw, time: VirtualTime | None = None, seed: int = 0, **options: Any
) -> Iterator[RunningServer]:
    """Serve as drawn; with a ``time`` behind a front with 2 requests a second and 5 % of 503."""
    mutants = [deviation.mutant for deviation in draw.deviations]
    parts = WrongService(mutants, *mutants).parts()
    if time is not None:
        inner = parts.app
        parts = parts._replace(app=lambda app: Front(inner(app), time, 2, 0.05, seed))
    with TemporaryDirectory() as folder:
        file = Path(folder, "settings.json")
        file.write_text(json.dumps({"settings": draw.settings}))
        with RunningServer(
            **{"parts": parts, "fixtures": (file,), "strict": False, **options}
        ) as server:
            yield server


class Calibration(NamedTuple):
    """A calibration of a server, and how its requests are paced."""

    url: str
    time: VirtualTime
    most: int = MOST

    def run(self, names: Sequence[str] | None = None, **more: Any) -> CalibrationReport:
        """Return the report of these probes, or of all that need no buyer and no time."""
        chosen = [*KNOWN.probes] if names is None else names
        with http_client(base_url=f"{self.url}/v1") as http, EventReceiver() as receiver:
            service = Service(http, KEY, 2, self.most, clock=self.time.clock, sleep=self.time.sleep)
            helpers = Help(redact_value, receiver, more.get("buyer"))
            verdicts = Runner(service, KNOWN, helpers).run(
                chosen, more.get("after", lambda verdict: None)
            )
        return CalibrationReport(
            url=self.url, date="2026-01-01", requests=service.sent, verdicts=verdicts
        )


def named(report: CalibrationReport) -> tuple[dict[str, Any], set[str]]:
    """Return a report's settings, by ``SWITCHES``, and the probes that no setting would follow."""
    followed = [difference for difference in report.of("differs") if difference.followed]
    query = {
        name: value
        for difference in followed
        for name, value in {**difference.assumptions, **difference.settings}.items()
    }
    return query, {
        difference.probe for difference in report.of("differs") if not difference.followed
    }
