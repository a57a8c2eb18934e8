"""The first page, at ``/``: where everything is, the key to use, and the last request; as JSON for programs."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from emulator.engine.engine import Engine
from emulator.ui.base.pages import url
from emulator.ui.docs.reference import KEY, page
from emulator.web.context import context_of


def first_route(engine: Engine, *, shows_last: bool) -> Route:
    """Return the route of ``/``. Behind a control token ``shows_last`` is false: the journal is for those who have it."""

    async def show(request: Request) -> Response:
        base = context_of(request.scope).base_url
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({name: base + path for name, path in PLACES.items()} | {"key": KEY})
        return page("first-page.html", "/", "", base_url=base, key=KEY, last=_last(engine) if shows_last else None)

    return Route("/", show)


PLACES = {
    "service": "/v1",
    "openapi": "/openapi.json",
    "control": "/_emulator",
    "console": "/_emulator/",
    "docs": "/docs/",
    "guide": "/llms.txt",
}
"""What programs are given, by name."""


def _last(engine: Engine) -> dict[str, Any] | None:
    """Return the latest request of any world: what it was, where it is shown, and how long ago it was answered."""
    logged = [(runtime.journal.entries[-1], key) for key, runtime in engine.runtimes.items() if runtime.journal.entries]
    if not logged:
        return None
    entry, key = max(logged, key=lambda each: each[0].answered)
    query = {"app": key.name, "live": "1" if key.livemode else ""}
    seconds = round(time.perf_counter() - entry.answered)
    return {
        "what": f"{entry.status} {entry.method} {entry.target}",
        "url": url(f"/_emulator/console/requests/{entry.id}", query),
        "app": str(key),
        "ago": f"{seconds} s ago" if seconds < 120 else f"{seconds // 60} minutes ago",
    }
