"""Worlds in which everything has happened: walked at random, given every status, and taken elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from contract_tests.simulator.population import STARTS, VARIANTS, JobFailed, Walker
from emulator.core.errors import CODES
from emulator.core.event_types import EVENTS
from emulator.resources.registry import STATE_MACHINES
from emulator.testing import Emulator, LocalServer, RequestRefused

STATUSES = {(machine.kind.kind, row.target) for machine in STATE_MACHINES for row in machine.rows}
"""Every status of every kind that has a life cycle."""

PHONE = "+24177000000"
"""It pays; with the setting ``mobile_money: handset`` once somebody has answered its prompt."""


def settings(seed: int) -> dict[str, Any]:
    """Return every fourth of the simulator's variants, joined: four worlds have all of them."""
    joined: dict[str, Any] = {}
    for variant in [*VARIANTS.values()][seed::4]:
        joined |= variant
    return joined


@contextmanager
def eventful_world(server: LocalServer, seed: int, steps: int) -> Iterator[Emulator]:
    """The world of a seed: walked, filled, and gone on a journey."""
    key, start = f"sk_test_crawl-{seed}", STARTS[seed % len(STARTS)]
    with Emulator(key=key, clock=start, seed=seed, settings=settings(seed), server=server) as emulator:
        _hear(emulator)
        walker = Walker(emulator, seed)
        for _ in range(steps):
            with suppress(JobFailed):
                walker.step()
        for part in (_trigger, _arrange, _misbehave, _set_statuses):
            part(emulator)
        JOURNEYS[seed % len(JOURNEYS)](emulator)
        yield emulator


def _try(emulator: Emulator, method: str, path: str, body: Any = None, **headers: str) -> None:
    """A request that this world may reject."""
    answer = emulator.client.request(method, path, json=body, headers=headers)
    assert answer.status_code < 500 or answer.headers.get("emulator-fault"), answer.text


def _hear(emulator: Emulator) -> None:
    """Inboxes that accept events, reject them and fail."""
    app = emulator.key.removeprefix("sk_test_")
    for status in (200, 400, 503):
        url = f"{emulator.url}/_emulator/inbox/answers-{status}?app={app}"
        _try(emulator, "POST", "/v1/webhooks/", {"name": f"Shop {status}", "url": url, "events": ["*"]})
        _try(emulator, "PUT", f"/_emulator/inbox/answers-{status}/response", {"status": status})


def _trigger(emulator: Emulator) -> None:
    """Every type of event, and what has no event."""
    for type in EVENTS:
        _try(emulator, "POST", "/_emulator/trigger", {"event": type})
    customer = emulator.api.post("/v1/customers/", {"email": "kofi@example.com", "name": "Kofi"})["id"]
    address = {"line1": "12 quai", "city": "Libreville", "country": "GA"}
    _try(emulator, "POST", f"/v1/customers/{customer}/addresses/", address)
    for body in ({"name": "Basket", "unit_amount": 2000, "currency": "XAF"}, {"name": "Mat"}):
        _try(emulator, "POST", "/v1/products/", body, **{"Idempotency-Key": body["name"]})
    for body in (
        {"payment_link_type": "custom", "currency": "XAF", "amount": 25_000},
        {"payment_link_type": "donation", "currency": "XAF"},
    ):
        _try(emulator, "POST", "/v1/payment-links/", body)
    _try(emulator, "POST", "/v1/security-profiles/", {"name": "Shop", "max_amount": 99_999_999})
    method = {"customer": customer, "type": "mobile_money", "phone": PHONE}
    emulator.settle()
    with suppress(RequestRefused):
        method = emulator.api.post("/v1/payment-methods/", method)
        intent = {"amount": 5000, "currency": "XAF", "payment_method": method["id"]}
        intent = emulator.api.post("/v1/payment-intents/", intent)
        _try(emulator, "POST", f"/v1/payment-intents/{intent['id']}/confirm/")


def _arrange(emulator: Emulator) -> None:
    """Outcomes and faults that wait, a snapshot, a recording."""
    for operation in ("payment", "refund", "delivery"):
        body = {"operation": operation, "result": "failed", "match": {"customer": "cust_0"}}
        _try(emulator, "POST", "/_emulator/outcomes", body)
    for then in ({"code": "RATE_LIMITED"}, {"status": 503, "body": "<b>"}, {"drop": "after"}, {"lose": True}):
        _try(emulator, "POST", "/_emulator/faults", {"then": then, "match": {"nth": 1_000_000}})
    emulator.api.post("/_emulator/snapshots", {"name": "whole"})
    emulator.api.post("/_emulator/recording/start")


def _misbehave(emulator: Emulator) -> None:
    """Every error there is, each as the answer to a request, and requests that are wrong."""
    for code in CODES:
        emulator.client.get("/v1/customers/", headers={"Emulator-Answer": code})
    for method, path, body in (
        ("GET", "/v1/nowhere/", None),
        ("DELETE", "/v1/customers/", None),
        ("POST", "/v1/customers/", {"email": "<script>", "nmae": 7}),
        ("POST", "/v1/customers/", [1]),
        ("GET", "/v1/customers/?search=%F0%9F%98%80&page=0", None),
    ):
        _try(emulator, method, path, body)
    emulator.client.post("/v1/customers/", content=b"{", headers={"Content-Type": "application/json"})


def _set_statuses(emulator: Emulator) -> None:
    """Each status that nothing has led to is set directly, on an object that is new if an event makes one."""
    for kind, status in sorted(STATUSES - present(emulator)):
        types = [type for type in EVENTS if type.rpartition(".")[0].replace(".", "_") == kind]
        made = [emulator.api.post("/_emulator/trigger", {"event": type})["data"]["object"] for type in types[:1]]
        for each in made or emulator.api.get("/_emulator/objects", kind=kind)["data"][:1]:
            _try(emulator, "PATCH", f"/_emulator/objects/{each['id']}", {"status": status})
    # A refund is left whose operator never answers (B-54): another is answered as soon as it is set to ``processing``.
    usual = {"refund_timing": "documented", "mobile_money": "auto", "operator_delay": 0, "refund_review": False}
    _try(emulator, "PATCH", "/_emulator/app", {"settings": usual})
    with suppress(RequestRefused):
        customer = emulator.api.post("/v1/customers/", {"email": "never@example.com", "name": "Ama Never"})["id"]
        method = {"customer": customer, "type": "mobile_money", "phone": "+24177000009"}
        method = emulator.api.post("/v1/payment-methods/", method)
        intent = {"amount": 5000, "currency": "XAF", "payment_method": method["id"]}
        intent = emulator.api.post("/v1/payment-intents/", intent)
        emulator.api.post(f"/v1/payment-intents/{intent['id']}/confirm/", {})
        emulator.settle()
        paid = emulator.api.get(f"/v1/payment-intents/{intent['id']}/")
        _try(emulator, "POST", "/v1/refunds/", {"transaction": paid["transaction"], "amount": 500})
        emulator.settle()


def present(emulator: Emulator) -> set[tuple[str, str]]:
    return {
        (kind, status)
        for kind, status in STATUSES
        if emulator.api.get("/_emulator/objects", kind=kind, status=status, page_size=1)["data"]
    }


def _rewind(emulator: Emulator) -> None:
    """To before the last request."""
    request = emulator.api.get("/_emulator/requests")["data"][0]
    emulator.api.post("/_emulator/rewind", {"to": request["id"]})


def _import(emulator: Emulator) -> None:
    """Into a new world, from what was exported of the old one."""
    emulator.api.post("/_emulator/snapshots", {"name": "saved"})
    exported = emulator.api.get("/_emulator/snapshots/saved")
    emulator.api.post("/_emulator/reset")
    emulator.api.call("PUT", "/_emulator/snapshots/imported", json=exported)
    emulator.api.post("/_emulator/snapshots/imported/restore")


JOURNEYS: Sequence[Callable[[Emulator], None]] = (lambda emulator: None, _rewind, lambda emulator: None, _import)
"""Where a world is taken before it is looked at."""
