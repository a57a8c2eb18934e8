"""The pages of an App's settings and of its assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from emulator.document import bundles
from emulator.engine.reference_data import named_assumptions, numbered_assumptions
from emulator.ui.base.request import url
from emulator.ui.console.request import ConsoleRequest, Reader, TemplateAndValues


async def settings(request: ConsoleRequest) -> TemplateAndValues:
    """The settings of the App, as a form made from their schema."""
    properties = bundles.load("control")["components"]["schemas"]["Settings"]["properties"]
    # An assumption that is a setting as well has its one field on the page of assumptions.
    fields = {name: field for name, field in properties.items() if name not in ("assumptions", *named_assumptions())}
    return "settings.html", {"app": await request.get("app"), "fields": fields}


async def assumptions(request: ConsoleRequest) -> TemplateAndValues:
    """What each named assumption does and is set to, as a form; and every assumption by its number and area."""
    known = named_assumptions()
    listed = (await request.get("assumptions", page_size=len(known)))["data"]
    areas = groupby(numbered_assumptions().items(), key=lambda each: each[1].area)
    return "assumptions.html", {
        "assumptions": [each | {"meanings": known[each["name"]].values} for each in listed],
        "areas": {area: list(own) for area, own in areas},
        "page": url("/docs/assumptions", request.world_query),
    }


PAGES: Mapping[str, Reader] = {"settings": settings, "assumptions": assumptions}
"""By path below ``/_emulator/console/``."""
