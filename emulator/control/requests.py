"""The request journal: a world's last requests, responses and changes, and code to repeat them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pprint import pformat
from shlex import quote as shell
from typing import Any, NamedTuple
from urllib.parse import quote as percent_encoded

import msgspec

from emulator.control.objects import page_of
from emulator.core.errors import invalid_field
from emulator.core.lists import Page, Query
from emulator.core.records import Record, to_wire
from emulator.core.unit_of_work import Change
from emulator.core.world import encode
from emulator.engine.journal import Journal
from emulator.engine.logged_requests import (
    LoggedRequest,
    readable,
    redacted_headers,
    redacted_path,
    redacted_text,
)
from emulator.engine.reading import View
from emulator.engine.redaction import redact_value
from emulator.engine.runtime import Runtime
from emulator.insight.explain.causality import Causality
from emulator.insight.names import find
from emulator.web.context import Response

# -- a request as code; address and key come from the environment


URL, KEY = "PAYMENTS_EMULATOR_URL", "PAYMENTS_EMULATOR_KEY"

SENT_AGAIN = ("content-type", "idempotency-key", "emulator-answer", "prefer", "origin")
"""The headers that matter, beside ``Authorization``; a client sends the others by itself."""


class SentCall(NamedTuple):
    """A call: ``body`` is JSON, a text if not JSON, or None; ``status`` is the response's."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any
    status: int

    @property
    def text(self) -> str:
        return (
            self.body if isinstance(self.body, str) else json.dumps(self.body, ensure_ascii=False)
        )


def code(entry: LoggedRequest, form: str) -> str:
    """Return the request in one of the :data:`FORMS`. Card numbers, keys and secrets are masked."""
    headers = {
        name: value for name, value in redacted_headers(entry.headers).items() if name in SENT_AGAIN
    }
    body = readable(entry.body)
    query = f"?{redacted_text(entry.query)}" if entry.query else ""
    path = percent_encoded(redacted_path(entry.path), safe="/:@!$&'()*+,;=")
    return FORMS[form](SentCall(entry.method, path + query, headers, body, entry.status))


def _curl(call: SentCall) -> str:
    headers = [f"-H {shell(f'{name}: {value}')}" for name, value in call.headers.items()]
    body = [] if call.body is None else [f"--data-raw {shell(call.text)}"]
    first = f'curl -sS -X {call.method} "${URL}"{shell(call.target)}'
    return " \\\n  ".join([first, f'-H "Authorization: Bearer ${KEY}"', *headers, *body]) + "\n"


def _http(call: SentCall) -> str:
    """Return the request as editors have it in files (``.http``)."""
    headers = [f"{name}: {value}" for name, value in call.headers.items()]
    lines = [
        f"{call.method} {{{{$processEnv {URL}}}}}{call.target} HTTP/1.1",
        f"Authorization: Bearer {{{{$processEnv {KEY}}}}}",
        *headers,
    ]
    body = "" if call.body is None else f"\n{call.text}\n"
    return "\n".join(lines) + "\n" + body


def _python_arguments(call: SentCall, more: Mapping[str, str]) -> str:
    """Return the keyword arguments of httpx for headers and body, each in a line of its own."""
    headers = [f"{name!r}: {value!r}" for name, value in call.headers.items()]
    items = [*(f"{name!r}: {value}" for name, value in more.items()), *headers]
    name = "content" if isinstance(call.body, str) else "json"
    body = (
        [] if call.body is None else [f"{name}={pformat(call.body, sort_dicts=False, width=100)}"]
    )
    arguments = [*([f"headers={{{', '.join(items)}}}"] if items else []), *body]
    return "".join(
        f"    {line}\n" for argument in arguments for line in f"{argument},".splitlines()
    )


def _httpx(call: SentCall) -> str:
    arguments = _python_arguments(call, {"Authorization": f"f\"Bearer {{os.environ['{KEY}']}}\""})
    url = f'os.environ["{URL}"] + {call.target!r}'
    request = f"answer = httpx.request(\n    {call.method!r},\n    {url},\n{arguments})"
    return f"import os\n\nimport httpx\n\n{request}\nprint(answer.status_code, answer.text)\n"


def _pytest(call: SentCall) -> str:
    """Return a test that runs as it is with the plugin; ``payments`` is its world."""
    arguments = _python_arguments(call, {}).replace("\n    ", "\n        ")
    first = (
        f"    answer = payments.client.request(\n        {call.method!r},\n       "
        f" {call.target!r},\n"
    )
    rest = f"    {arguments}" if arguments else ""
    check = f"    assert answer.status_code == {call.status}, answer.text\n"
    return f"def test_request(payments):\n{first}{rest}    )\n{check}"


def _javascript_request(call: SentCall) -> str:
    headers = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in call.headers.items()]
    lines = [f"Authorization: `Bearer ${{process.env.{KEY}}}`", *headers]
    body = []
    if call.body is not None:
        text = json.dumps(call.body, ensure_ascii=False, indent=2)
        body = [f"body: {text if isinstance(call.body, str) else f'JSON.stringify({text})'}"]
    options = [f"method: {json.dumps(call.method)}", f"headers: {{ {', '.join(lines)} }}", *body]
    return (
        f"await fetch(process.env.{URL} + {json.dumps(call.target)}, {{\n "
        f" {f',{chr(10)}  '.join(options)},\n}})"
    )


def _fetch(call: SentCall) -> str:
    return (
        f"const answer = {_javascript_request(call)};\nconsole.log(answer.status, await"
        " answer.text());\n"
    )


def _node(call: SentCall) -> str:
    imports = 'import assert from "node:assert/strict";\nimport { test } from "node:test";\n\n'
    request = (
        f"const answer = {_javascript_request(call)};\nassert.equal(answer.status, {call.status});"
    )
    return f'{imports}test("request", async () => {{\n{request}\n}});\n'


FORMS: Mapping[str, Callable[[SentCall], str]] = {
    "curl": _curl,
    "httpx": _httpx,
    "fetch": _fetch,
    "http": _http,
    "pytest": _pytest,
    "node": _node,
}
"""The forms by the name that ``?as=`` has for them."""


# -- the journal


async def index(runtime: Runtime, query: Query) -> Page[Any]:
    """GET /requests: newest first, filtered.

    Filters: ``status``, ``operation``, ``method``, ``api``, ``object``, ``changed``.
    """
    tests = [
        partial(test, query[name]) for name, test in _TESTS.items() if query.get(name) is not None
    ]
    matches = [
        entry for entry in reversed(runtime.journal.entries) if all(test(entry) for test in tests)
    ]
    if "object" in query:
        changing = runtime.journal.changing(query["object"])
        matches = [entry for entry in matches if entry.id in changing]
    if "changed" in query:
        units = (
            unit for _, unit in runtime.journal.enumerate() if any(map(_shown_kind, unit.changes))
        )
        changing = {unit.cause for unit in units if unit.cause}
        matches = [entry for entry in matches if (entry.id in changing) == query["changed"]]
    return page_of(matches, query, lambda entry: summary(entry, runtime.journal))


def api_of(entry: LoggedRequest) -> str:
    return "control" if entry.path.startswith("/_emulator/") else "service"


_TESTS: dict[str, Callable[[str, LoggedRequest], bool]] = {
    "status": lambda wanted, entry: str(entry.status).startswith(wanted.removesuffix("xx")),
    "operation": lambda wanted, entry: entry.operation == wanted,
    "method": lambda wanted, entry: entry.method == wanted,
    "api": lambda wanted, entry: api_of(entry) == wanted,
}


async def show(runtime: Runtime, req_id: str, query: Query) -> dict[str, Any] | Response:
    """GET /requests/{req_id}: headers, bodies, caused events and changes; or code (``as``)."""
    entry = runtime.journal.require(req_id)
    if "as" in query:
        return Response(
            200, code(entry, query["as"]).encode(), media_type=b"text/plain; charset=utf-8"
        )
    return await runtime.examine(detail, entry)


async def of_object(runtime: Runtime, id: str, query: Query) -> Page[Any]:
    """GET /objects/{id}/changes: newest first, with the object as it was then. 404 if unknown."""
    own = await runtime.examine(_changes_of, id)
    if not own:
        find(runtime.world, id)
    return page_of(
        own[::-1],
        query,
        lambda row: {"at": row[0], **(change(row[1]) or {}), "then": as_sent(row[1].new)},
    )


def _changes_of(view: View, id: str) -> list[tuple[str | None, Change]]:
    changes = Causality(view.journal).changes
    return [(logged.at, one) for logged, one in changes if one.record.id == id and _shown_kind(one)]


REPLACES_WORLD = ("resetWorld", "restoreSnapshot")
"""Operations that put another world in the place of the one before, which is gone."""


async def rewind(runtime: Runtime, body: Query) -> dict[str, Any]:
    """POST /rewind: puts the world and its clock back to before a request."""
    entry = target(runtime.journal, body)
    if entry.operation in REPLACES_WORLD or not runtime.journal.reaches(entry.checkpoint):
        raise invalid_field(
            "to" if "to" in body else "steps",
            "is too long ago; its changes are no longer in the journal",
        )
    undone = await runtime.history.rewind(entry.checkpoint)
    return {"to": entry.id, "now": runtime.now(), "turns": undone}


def target(journal: Journal, body: Query) -> LoggedRequest:
    """Return the request to go back to: ``to``, or the first to begin among the last ``steps``.

    Requests stand in the journal in the order of their responses; one that waited may have begun
    before others.
    """
    if "to" in body:
        return journal.require(body["to"], "to")
    # Going back once more is no return from the last time.
    entries = [entry for entry in journal.entries if entry.operation != "rewind"]
    if body["steps"] > len(entries):
        raise invalid_field("steps", f"there are only {len(entries)} requests in the journal")
    return min(entries[-body["steps"] :], key=lambda entry: entry.checkpoint.units)


def summary(entry: LoggedRequest, journal: Journal) -> dict[str, Any]:
    return {
        "id": entry.id,
        "object": "request",
        "operation": entry.operation,
        "method": entry.method,
        "path": entry.target,
        "status": entry.status,
        "error": entry.error_code,
        "duration_ms": entry.duration_ms,
        "about": about(entry.path, entry.response),
        "events_count": sum(len(unit.events) for unit in journal.units_of(entry)),
        "seconds_ago": round(time.perf_counter() - entry.began, 1),
        "created_at": entry.checkpoint.now,
    }


def about(path: str, response: bytes) -> str | None:
    """Return the id of a request's object: the last one in its path, or its response's."""
    if named := _ID_IN_PATH.findall(path):
        return str(named[-1])
    match = _ID_IN_RESPONSE.match(response)
    return match[1].decode() if match else None


_ID_IN_PATH = re.compile(r"/([a-z]{2,8}_[0-9A-Za-z]{24})(?=/|$)")
_ID_IN_RESPONSE = re.compile(rb'\{"id":"([a-z]{2,8}_[0-9A-Za-z]{24})"')


def detail(view: View, entry: LoggedRequest) -> dict[str, Any]:
    """Return a request with what it did.

    After a reset these are many changes: each is encoded here, in the thread.
    """
    units = view.journal.units_of(entry)
    rows = (change(one) for unit in units for one in unit.changes)
    return {
        **summary(entry, view.journal),
        "request_headers": redacted_headers(entry.headers),
        "request_body": readable(entry.body),
        "response_body": readable(entry.response),
        "event_ids": [event.id for unit in units for event in unit.events],
        "changes": [msgspec.Raw(encode(row)) for row in rows if row],
    }


def change(one: Change) -> dict[str, Any] | None:
    """Return a change as sent; None for events and kinds that are not the service's objects."""
    kind, record = _shown_kind(one), one.new or one.old
    if kind is None or record is None:
        return None
    what = "created" if one.old is None else "deleted" if one.new is None else "updated"
    return {"id": record.id, "kind": kind, "change": what, "fields": fields(one)}


def _shown_kind(one: Change) -> str | None:
    """Return a changed object's kind; None for events and for things that are not the service's."""
    kind = getattr(one.new or one.old, "object", None)
    return None if kind in (None, "event") else str(kind)


def fields(one: Change) -> dict[str, dict[str, Any]]:
    """Return the changed fields, ``before`` and ``after``; null where there was no record."""
    old, new = as_sent(one.old), as_sent(one.new)
    names = [
        name
        for name in {**old, **new}
        if one.old is None or one.new is None or old.get(name) != new.get(name)
    ]
    return {name: {"before": old.get(name), "after": new.get(name)} for name in names}


def as_sent(record: Record | None) -> dict[str, Any]:
    """Return a record as clients see it, without secrets, or an empty object for None."""
    if record is None:
        return {}
    view: dict[str, Any] = redact_value(msgspec.json.decode(encode(to_wire(record))))
    return view


OPERATIONS = {"listChanges": of_object, "listRequests": index, "getRequest": show, "rewind": rewind}
