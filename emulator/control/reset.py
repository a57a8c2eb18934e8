"""A reset: a fresh world in the place of the old one, settings and clock included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.control import app_settings
from emulator.core.calendar import Timestamp
from emulator.engine.clock import ClockMode, parse_start
from emulator.engine.engine import Engine
from emulator.engine.fixtures import Fixture, Start
from emulator.engine.runtime import Runtime
from emulator.errors import invalid_field

Body = Mapping[str, Any]


async def start_anew(engine: Engine, runtime: Runtime, query: Body, body: Body) -> dict[str, Any]:
    """POST /reset: what is not said is as the server was told when it started."""
    start = Start(_fixture(body.get("fixtures", {})), body.get("seed"), _clock(body.get("clock")))
    try:
        await engine.start_fresh(runtime, start)
    except (msgspec.ValidationError, ValueError) as fault:
        raise invalid_field("fixtures", str(fault)) from None
    own = app_settings.face(runtime.world)
    shown = {"object": "reset", "app": own["id"], "settings": own["settings"]}
    return {**shown, "now": runtime.clock.now(), "mode": runtime.clock.mode}


def _fixture(value: Body) -> Fixture:
    if "keys" in value:
        raise invalid_field("fixtures", "keys are known from the start of the server; leave them out")
    try:
        return msgspec.convert(value, Fixture)
    except msgspec.ValidationError as fault:
        raise invalid_field("fixtures", str(fault)) from None


def _clock(text: str | None) -> tuple[ClockMode, Timestamp | None] | None:
    try:
        return None if text is None else parse_start(text)
    except ValueError:
        raise invalid_field(
            "clock", "must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"
        ) from None


OPERATIONS = {"resetWorld": start_anew}
