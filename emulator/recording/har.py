"""Recordings as HAR: every request with its answer, in the format that browsers and proxies export."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec

from emulator.recording import buyer_pages
from emulator.recording.builder import RecordedStart
from emulator.recording.exchanges import Exchange
from emulator.recording.test_values import with_test_values
from emulator.version import VERSION

WORLD = "_payments_emulator"
"""The field of the log with the start of the world; names with an underscore are free in HAR."""

OWN_HEADERS = frozenset(["authorization", "content-length", "cookie", "emulator-token", "host", "connection"])
"""Headers that a client sets by itself, or that hold secrets."""


PAGE = "a buyer's page, as the call that does the same; the answer was a page"
"""The comment of a request whose answer cannot be compared."""


class HarEntry(NamedTuple):
    """A request of a HAR file and what it was answered. ``at`` is the world's instant, None in files of others.

    ``answer`` is None where it cannot be compared.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: str | None
    status: int
    answer: str | None
    at: str | None


class HarFile(NamedTuple):
    """The requests in a HAR file, and the start of the world where the emulator wrote it."""

    entries: list[HarEntry]
    world: dict[str, Any]


def render(start: RecordedStart, exchanges: Sequence[Exchange], now: str) -> dict[str, Any]:
    """The HAR document. ``startedDateTime`` is an instant of the world."""
    first = exchanges[0].now if exchanges else now
    world = {"app": start.app, "seed": start.seed, "clock": first, "url": start.url, "settings": start.settings}
    entries = [_entry(start, exchange) for exchange in exchanges]
    creator = {"name": "payments-emulator", "version": VERSION}
    return {"log": {"version": "1.2", "creator": creator, "entries": entries, WORLD: world}}


def _entry(start: RecordedStart, exchange: Exchange) -> dict[str, Any]:
    call = buyer_pages.control_call(exchange.path, exchange.body) if exchange.operation is None else None
    if call is not None:
        body, target = with_test_values(call.body, start.cards), call.path
    else:
        body, target = with_test_values(exchange.body, start.cards), exchange.target
    text = body if isinstance(body, str) else "" if body is None else msgspec.json.encode(body).decode()
    kind = exchange.headers.get("content-type", "application/json") if call is None else "application/json"
    headers = {name: value for name, value in exchange.headers.items() if name not in OWN_HEADERS}
    headers |= {"content-type": kind} if call is not None else {}
    query = [{"name": name, "value": value} for name, value in parse_qsl(exchange.query, keep_blank_values=True)]
    request = {
        "method": exchange.method,
        "url": start.url + target,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(headers),
        "queryString": query,
        "headersSize": -1,
        "bodySize": len(text.encode()),
        **({"postData": {"mimeType": kind, "text": text, "params": []}} if text else {}),
    }
    return {
        "startedDateTime": exchange.now,
        **({"comment": PAGE} if call is not None else {}),
        "time": exchange.duration_ms,
        "request": request,
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": exchange.duration_ms, "receive": 0},
    }


def _response(exchange: Exchange) -> dict[str, Any]:
    answer = exchange.answer
    text = answer if isinstance(answer, str) else "" if answer is None else msgspec.json.encode(answer).decode()
    mime = "text/plain" if isinstance(answer, str) else "application/json"
    return {
        "status": exchange.status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs({"content-type": mime, "request-id": exchange.id}),
        "content": {"size": len(text.encode()), "mimeType": mime, "text": text},
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1,
    }


def _pairs(headers: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def read(text: str) -> HarFile:
    """The requests to the service and to the control API in a HAR file; others are left out.

    Raises ``ValueError`` for what is no HAR.
    """
    try:
        log = json.loads(text)["log"]
        world = log.get(WORLD, {})
        entries = [_read(entry, is_ours=bool(world)) for entry in log["entries"]]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"it is no HAR: {error} is missing or wrong") from None
    return HarFile([entry for entry in entries if entry.target.startswith(("/v1/", "/_emulator/"))], world)


def _read(entry: Mapping[str, Any], *, is_ours: bool) -> HarEntry:
    request, response = entry["request"], entry["response"]
    url = urlsplit(request["url"])
    headers = {each["name"].lower(): each["value"] for each in request["headers"]}
    return HarEntry(
        method=request["method"],
        target=f"{url.path}?{url.query}" if url.query else url.path,
        headers={name: value for name, value in headers.items() if name not in OWN_HEADERS},
        body=request.get("postData", {}).get("text"),
        status=response["status"],
        answer=None if entry.get("comment") == PAGE else response["content"].get("text", ""),
        at=entry["startedDateTime"] if is_ours else None,
    )
