"""The reference pages: errors, events, life cycles and magic values, from the tables the emulator works with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from emulator.core.errors import ERRORS, ErrorSpec
from emulator.core.event_types import EVENTS
from emulator.document.probes import collected
from emulator.document.profile import Profile
from emulator.engine.engine import Engine
from emulator.engine.reference_data import (
    Assumption,
    ErrorExample,
    Step,
    assumptions_of,
    error_examples,
    named_assumptions,
    numbered_assumptions,
)
from emulator.resources.app.keys import DEFAULT_APP, Key
from emulator.resources.app.settings import Settings, settings
from emulator.resources.registry import STATE_MACHINES
from emulator.ui.docs.render import page
from emulator.web.context import context_of

ADVICE = {
    400: "Do not retry; fix the request.",
    401: "Do not retry; check the key.",
    403: "Do not retry; check permissions, plan and security profiles.",
    404: "Do not retry; check the id or the path.",
    405: "Do not retry; use a method that the Allow header names.",
    409: "Do not make a second one; fetch what is there, or the first answer of that idempotency key.",
    422: "Do not retry; fix the request.",
    429: "Wait the number of seconds in the Retry-After header, then retry.",
    500: "Retry with exponential backoff: 1 s, 2 s, 4 s, 8 s; at most 3 attempts.",
}
"""What to do about each status (retry guidance of the error model)."""


class ErrorSection(NamedTuple):
    """One error code on the page."""

    code: str
    row: ErrorSpec
    recipe: ErrorExample
    lines: list[str]


def entries() -> list[ErrorSection]:
    """Every documented code with the requests that provoke it, by status."""
    known = error_examples()
    found = [ErrorSection(code, ERRORS[code], known[code], list(map(_line, known[code].steps))) for code in known]
    return sorted(found, key=lambda entry: entry.row.status)


def _line(step: Step) -> str:
    """A step as a line to read."""
    if step.advance:
        return f'POST /_emulator/clock/advance {{"by": "{step.advance}"}}'
    headers = "".join(f"  {name}: {value}" for name, value in step.headers.items())
    key = "" if step.key is None else f"  (key {step.key})" if step.key else "  (without a key)"
    body = f" {json.dumps(step.body)}" if step.body is not None else ""
    name = f"{step.name} = " if step.name else ""
    return f"{name}{step.request}{body}{headers}{key}"


def areas() -> list[tuple[str, list[tuple[str, Assumption]]]]:
    """Every assumption with its number, under the heading it belongs to."""
    grouped = groupby(numbered_assumptions().items(), lambda numbered: numbered[1].area)
    return [(area, list(numbered)) for area, numbered in grouped]


def assumptions_in_force(engine: Engine, query: Mapping[str, str]) -> dict[str, Any]:
    """The assumptions with their values in the App of the query (``app=NAME``, ``live=1``) or the App ``demo``.

    ``app`` is its key; an App whose world is not open has the defaults, and ``app`` is None.
    """
    key = Key(query.get("app", DEFAULT_APP), query.get("live") == "1")
    runtime = engine.runtimes.get(key)
    known = named_assumptions()
    listed = assumptions_of(settings(runtime.world) if runtime else Settings())
    meant = {each["name"]: each | {"meanings": known[each["name"]].values} for each in listed}
    return {"app": str(key) if runtime else None, "assumptions": meant}


def routes(engine: Engine, profile: Profile | None) -> list[Route]:
    """The pages below ``/docs/``; the assumptions with what a ``profile`` says of them."""
    facts = engine.reference_data

    def errors(_: Request) -> dict[str, Any]:
        groups = [(status, list(group)) for status, group in groupby(entries(), lambda entry: entry.row.status)]
        return {"groups": groups, "advice": ADVICE}

    def decided(request: Request) -> dict[str, Any]:
        known = {"areas": areas(), "probes": collected(), "profile": profile}
        return {**known, **assumptions_in_force(engine, request.query_params)}

    return [
        _route("/docs/errors", "docs-errors.html", errors),
        _route("/docs/assumptions", "docs-assumptions.html", decided),
        _route("/docs/events", "docs-events.html", lambda _: {"events": EVENTS}),
        _route("/docs/life-cycles", "docs-life-cycles.html", lambda _: {"life_cycles": STATE_MACHINES}),
        _route(
            "/docs/magic-values", "docs-magic-values.html", lambda _: {"magic": facts.magic, "keys": facts.magic_keys}
        ),
    ]


def _route(path: str, template: str, values: Callable[[Request], dict[str, Any]]) -> Route:
    async def show(request: Request) -> Response:
        return page(template, here=path, base_url=context_of(request.scope).base_url, **values(request))

    return Route(path, show)
