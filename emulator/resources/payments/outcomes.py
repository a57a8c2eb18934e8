"""An arranged outcome: the tester decides how the next payments, refunds or deliveries end (B-94)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from emulator.core.errors import invalid_field
from emulator.core.handlers import Page, Query, paginate
from emulator.core.records import Record
from emulator.core.world import World


class OutcomeMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which operations an outcome applies to; null fits any. ``amount`` is minor units."""

    customer: str | None = None
    amount: int | None = None
    payment_method_type: str | None = None

    def fits(self, facts: Mapping[str, Any]) -> bool:
        """Whether a payment, refund or delivery with these facts is one of them."""
        wanted = msgspec.structs.asdict(self)
        return all(facts.get(name) == value for name, value in wanted.items() if value is not None)


class Outcome(Record, frozen=True, kw_only=True):
    """``times``: how often it still applies; after the last time it is removed."""

    kind: ClassVar[str] = "outcome"
    prefix: ClassVar[str] = "outc"
    indexes: ClassVar[tuple[str, ...]] = ("operation",)

    object: str = "outcome"
    operation: str
    result: str
    code: str | None
    times: int
    match: OutcomeMatch
    created_at: str


DEFAULT_FAILURE_CODE: Mapping[str, str | None] = {
    "payment": "PAYMENT_METHOD_NOT_SUPPORTED",
    "refund": "UPSTREAM_ERROR",
    "delivery": None,
}
"""The code of a failure where the tester gave none."""


def arrange(world: World, body: Mapping[str, Any]) -> Outcome:
    """POST /_emulator/outcomes."""
    return world.add(
        Outcome(
            id=world.new_id(Outcome),
            operation=body["operation"],
            result=body["result"],
            code=failure_code(body, body["operation"]),
            times=body["times"],
            match=OutcomeMatch(**body["match"]),
            created_at=world.now,
        )
    )


def failure_code(body: Mapping[str, Any], operation: str) -> str | None:
    """The code of a failed outcome or answer, None for success; 422 for a code beside ``succeeded``."""
    if body["result"] == "failed":
        return body.get("code") or DEFAULT_FAILURE_CODE[operation]
    if body.get("code") is not None:
        raise invalid_field("code", "goes with the result failed only")
    return None


def consume(world: World, /, operation: str, **facts: Any) -> Outcome | None:
    """The outcome arranged first that fits this operation, if any; it is used up by one."""
    for outcome in world.table(Outcome).where("operation", operation):
        if outcome.match.fits(facts):
            if outcome.times > 1:
                world.replace(outcome, times=outcome.times - 1)
            else:
                world.remove(outcome)
            return outcome
    return None


def index(world: World, query: Query) -> Page[Outcome]:
    """GET /_emulator/outcomes: those that still apply, newest first."""
    return paginate(world.table(Outcome), query)


def clear(world: World) -> None:
    """DELETE /_emulator/outcomes."""
    for outcome in world.table(Outcome):
        world.remove(outcome)
