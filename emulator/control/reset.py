"""The reset of a world by a tester: a new world replaces it, settings and clock included."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.control import app_settings
from emulator.core.calendar import Timestamp
from emulator.core.errors import invalid_field
from emulator.core.validation import Body
from emulator.engine.engine import Engine
from emulator.engine.fixtures import Fixture, Start
from emulator.engine.runtime import Runtime
from emulator.engine.world_clock import ClockMode, parse_start


async def reset(engine: Engine, runtime: Runtime, query: Body, body: Body) -> dict[str, Any]:
    """POST /reset: fixtures, seed and clock are those of the start of the server unless they are sent."""
    start = Start(_fixture(body.get("fixtures", {})), body.get("seed"), _clock(body.get("clock")))
    try:
        await engine.start_fresh(runtime, start)
    except (msgspec.ValidationError, ValueError) as error:
        raise invalid_field("fixtures", str(error)) from None
    app = app_settings.app_view(runtime.world)
    world = {"object": "reset", "app": app["id"], "settings": app["settings"]}
    return {**world, "now": runtime.now(), "mode": runtime.clock.mode}


def _fixture(value: Body) -> Fixture:
    if "keys" in value:
        raise invalid_field("fixtures", "keys are known from the start of the server; leave them out")
    try:
        return msgspec.convert(value, Fixture)
    except msgspec.ValidationError as error:
        raise invalid_field("fixtures", str(error)) from None


def _clock(text: str | None) -> tuple[ClockMode, Timestamp | None] | None:
    try:
        return None if text is None else parse_start(text)
    except ValueError:
        raise invalid_field(
            "clock", "must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"
        ) from None


OPERATIONS = {"resetWorld": reset}
