"""The pages of an App's settings and of its readings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from emulator.document import bundles
from emulator.engine.decisions import decisions
from emulator.engine.readings import readings as known_readings
from emulator.ui.base.request import url
from emulator.ui.console.request import ConsoleRequest, Reader, TemplateAndValues


async def settings(request: ConsoleRequest) -> TemplateAndValues:
    """The settings of the App, as a form made from their schema."""
    properties = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    # A reading that is a setting as well has its one field on the page of readings.
    fields = {name: field for name, field in properties.items() if name not in ("readings", *known_readings())}
    return "settings.html", {"app": await request.get("app"), "fields": fields}


async def readings(request: ConsoleRequest) -> TemplateAndValues:
    """What each reading does and is set to, as a form; and the decisions of the emulator, by area."""
    known = known_readings()
    listed = (await request.get("readings", page_size=len(known)))["data"]
    areas = groupby(decisions().items(), key=lambda each: each[1].area)
    return "readings.html", {
        "readings": [each | {"meanings": known[each["name"]].values} for each in listed],
        "areas": {area: list(own) for area, own in areas},
        "decisions": url("/docs/decisions", request.world_query),
    }


PAGES: Mapping[str, Reader] = {"settings": settings, "readings": readings}
"""By path below ``/_emulator/console/``."""
