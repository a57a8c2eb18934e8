"""Injected faults: a tester's errors for requests, deliveries or payments (B-94); and the reset.

The reset of a sandbox deletes all data of an App at once (Authentication rule 3; B-07).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from emulator.core import calendar
from emulator.core.handlers import new_record
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import HIDDEN, Record
from emulator.core.unit_of_work import DeliverWebhook, Event
from emulator.core.world import World
from emulator.resources.app.idempotency import StoredResponse
from emulator.resources.app.settings import Settings
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import loopback

# -- faults


REQUEST, DELIVERY, PAYMENT, ANSWER = "request", "delivery", "payment", "answer"
REFUND, SESSION = "refund", "session"
"""A fault's target. ``payment``: outage of all payments; ``answer``: operator's, to single ones;
``refund``: the operator's answer to a refund."""


class FaultMatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The requests (first four fields), deliveries or payments (two each) of a fault; None: any.

    With ``nth`` it applies from the n-th of them on, counted from when the fault was arranged.
    """

    operation: str | None = None
    method: str | None = None
    path: str | None = None
    customer: str | None = None
    event: str | None = None
    webhook: str | None = None
    operator: str | None = None
    payment_method_type: str | None = None
    nth: int | None = None

    def fits(self, **values: str | None) -> bool:
        """Return whether these values match; fields not passed are not compared."""
        return all(getattr(self, name) in (None, value) for name, value in values.items())


class FaultEffect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fault's effect: exactly one, but ``status`` may add ``body``, and ``hang_ms`` ``status``.

    With ``executed`` a ``code``, a ``status`` or a ``delay_ms`` strikes after the request was
    executed and not before, and with ``together`` a ``duplicate`` arrives at the same moment.
    ``delay``, ``again``, ``answer_after`` and ``refund_after`` are on the world's clock. With
    ``refused`` an answer of the operator is no, and with ``returns`` the buyer opens the success
    URL; with ``early_return`` before anything is paid. ``overlap`` may be a type of event.
    """

    code: str | None = None
    status: int | None = None
    body: Any = UNSET
    delay_ms: int | None = None
    executed: bool = False
    hold_ms: int | None = None
    hang_ms: int | None = None
    drop: Literal["before", "after"] | None = None
    garble: bool = False
    repeat: bool = False
    page_size: int | None = None
    duplicate: int | None = None
    together: bool = False
    delay: str | None = None
    reorder: bool = False
    overlap: str | None = None
    lose: bool = False
    tamper: bool = False
    forge: bool = False
    late_response: bool = False
    again: str | None = None
    reissue: bool = False
    outage: Literal["declined", "silent"] | None = None
    answer_after: str | None = None
    refused: bool = False
    returns: bool = False
    refund_after: str | None = None
    early_return: bool = False


class Fault(Record, frozen=True, kw_only=True):
    """Applies ``times`` more times or, until cleared, with ``probability`` (0 to 1).

    ``about`` says whether it is for requests, deliveries or payments, ``seconds`` is the length of
    its ``delay`` or ``again``, and ``seen`` counts its matches so far, where ``match.nth`` needs
    them. An outage applies to every payment from ``starts_at`` until ``ends_at`` (null: from
    when it was arranged, until faults are cleared).
    """

    prefix: ClassVar[str] = "flt"
    indexes: ClassVar[tuple[str, ...]] = ("about",)

    object: str = "fault"
    about: Annotated[str, HIDDEN]
    match: FaultMatch
    times: int | None
    probability: int | float | None
    then: FaultEffect
    seconds: Annotated[int | float, HIDDEN] = 0
    seen: Annotated[int, HIDDEN] = 0
    starts_at: str | None = None
    ends_at: str | None = None
    created_at: str


def arrange(
    world: World,
    body: Mapping[str, Any],
    seconds: float = 0,
    starts_at: str | None = None,
    ends_at: str | None = None,
) -> Fault:
    """POST /_emulator/faults: once without ``times`` or ``probability``, or for the outage."""
    then = msgspec.convert(body["then"], FaultEffect)
    once = None if "probability" in body or then.outage else 1
    return world.add(
        new_record(
            world,
            Fault,
            body,
            about=about(body["then"]),
            match=msgspec.convert(body.get("match", {}), FaultMatch),
            times=body.get("times", once),
            then=then,
            seconds=seconds,
            starts_at=starts_at,
            ends_at=ends_at,
        )
    )


OF_DELIVERIES = frozenset(
    [
        "duplicate",
        "delay",
        "reorder",
        "overlap",
        "lose",
        "tamper",
        "forge",
        "late_response",
        "again",
        "reissue",
    ]
)
"""Effects on deliveries. Those that :data:`OTHERS` does not name are on requests."""

OTHERS = {
    "outage": PAYMENT,
    "answer_after": ANSWER,
    "refund_after": REFUND,
    "early_return": SESSION,
}
"""The targets of single effects."""


def about(then: Mapping[str, Any]) -> str:
    for effect, target in OTHERS.items():
        if effect in then:
            return target
    return DELIVERY if OF_DELIVERIES & then.keys() else REQUEST


def outage(world: World, **facts: str | None) -> Fault | None:
    """Return the outage for a payment by ``operator`` and ``payment_method_type`` now, if any."""
    for fault in world.table(Fault).where("about", PAYMENT):
        has_begun = fault.starts_at is None or fault.starts_at <= world.now
        is_over = fault.ends_at is not None and fault.ends_at <= world.now
        if has_begun and not is_over and fault.match.fits(**facts):
            return fault
    return None


def success_url(world: World, id: str | None) -> str | None:
    """Return this machine's page for a buyer who comes back from a session or a link, if any."""
    records = (
        [] if id is None else [record for table in world.tables() if (record := table.get(id))]
    )
    url = next((page for record in records if (page := _page_after(record))), None)
    if id is None or url is None or not loopback(urlsplit(url).hostname or ""):
        return None
    return url.replace("{CHECKOUT_SESSION_ID}", id)


def _page_after(record: Record) -> str | None:
    pages = getattr(record, "redirect_url", None)
    url: str | None = getattr(record, "success_url", None) or getattr(pages, "success", None)
    return url


def pick_fault(world: World, about: str, fits: Callable[[FaultMatch], bool]) -> Fault | None:
    """Return the first arranged fault that matches and applies now; that uses it up once."""
    matching = [fault for fault in world.table(Fault).where("about", about) if fits(fault.match)]
    # Each of them has one more match, if its matches are counted.
    counted = [
        fault if fault.match.nth is None else world.replace(fault, seen=fault.seen + 1)
        for fault in matching
    ]
    for fault in counted:
        is_reached = fault.match.nth is None or fault.seen >= fault.match.nth
        if is_reached and (fault.probability is None or _chance(world) < fault.probability):
            use_up(world, fault)
            return fault
    return None


def _chance(world: World) -> float:
    """Return a number from 0 to 1 (excluded) of the world's source: a seed repeats it (B-93)."""
    drawn = blake2b(world.draw("chance").encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") / 2**64


def use_up(world: World, arranged: Record) -> None:
    """Count one use of a fault or an outcome; after the last of its ``times`` it is removed."""
    times = getattr(arranged, "times", None)
    if times == 1:
        world.remove(arranged)
    elif times is not None:
        world.replace(arranged, times=times - 1)


def pick_delivery_fault(world: World, post: DeliverWebhook) -> Fault | None:
    """Return this attempt's fault, if any; a delay plans a later attempt."""
    delivery = world.require(WebhookDelivery, post.delivery)
    fault = pick_fault(
        world, DELIVERY, lambda match: match.fits(event=delivery.event_type, webhook=post.webhook)
    )
    if fault is not None and fault.then.delay is not None:
        due = calendar.plus(world.now, seconds=fault.seconds)
        world.schedule(due, "webhook.attempt", delivery)
        world.replace(delivery, next_attempt_at=due)
    return fault


def mentions_customer(world: World, customer: str, ids: Collection[str]) -> bool:
    """Return whether a request's ids concern a customer: the customer's own or an object's."""
    named = (table.get(id) for id in ids for table in world.tables())
    return customer in ids or any(getattr(record, "customer", None) == customer for record in named)


# -- the reset


TRACES = frozenset(
    [
        *(kind.kind for kind in (Job, FailedJob, Event, WebhookDelivery, Fault, StoredResponse)),
        "email",
        "outcome",
    ]
)
"""Kinds of record that are not the service's objects: deleted as well, but not counted."""


def reset(world: World) -> dict[str, Any]:
    """POST /reset: deletes objects, jobs, events, deliveries, responses; not settings or clock."""
    removed = world.clear(keep=(Settings,))
    deleted = sum(number for kind, number in removed.items() if kind.kind not in TRACES)
    return {"object": "reset", "app": world.app, "deleted": deleted, "reset_at": world.now}


OPERATIONS = {"resetSandbox": reset}
