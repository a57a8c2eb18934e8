"""Recordings as HAR: every request with its answer, in the format that browsers and proxies export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec

from emulator.recording import buyer_pages
from emulator.recording.exchanges import Exchange, RecordedStart
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


class HarWorld(msgspec.Struct):
    """The start of the world that a HAR was recorded in, as far as it is known: by default one like any other."""

    app: str | None = None
    url: str = "http://127.0.0.1:4747"
    seed: int | None = None
    clock: str | None = None
    settings: dict[str, Any] = {}


class HarFile(NamedTuple):
    """The requests in a HAR file, and the start of the world where the emulator wrote it."""

    entries: list[HarEntry]
    world: HarWorld


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


class _HarHeader(msgspec.Struct):
    name: str
    value: str


class _HarPostData(msgspec.Struct):
    text: str | None = None


class _HarRequest(msgspec.Struct, rename="camel"):
    method: str
    url: str
    headers: list[_HarHeader]
    post_data: _HarPostData | None = None


class _HarContent(msgspec.Struct):
    text: str = ""


class _HarResponse(msgspec.Struct):
    status: int
    content: _HarContent


class _RecordedEntry(msgspec.Struct, rename="camel"):
    request: _HarRequest
    response: _HarResponse
    started_date_time: str
    comment: str = ""


class _HarLog(msgspec.Struct):
    entries: list[_RecordedEntry]
    world: HarWorld | None = msgspec.field(default=None, name=WORLD)


class _HarDocument(msgspec.Struct):
    log: _HarLog


def read(text: bytes) -> HarFile:
    """The requests to the service and to the control API in a HAR file; others are left out.

    Raises ``ValueError`` for what is no HAR.
    """
    try:
        log = msgspec.json.decode(text, type=_HarDocument).log
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ValueError(f"it is no HAR: {error}") from None
    entries = [_read(entry, is_ours=log.world is not None) for entry in log.entries]
    world = log.world or HarWorld()
    urlsplit(world.url)
    return HarFile([entry for entry in entries if entry.target.startswith(("/v1/", "/_emulator/"))], world)


def _read(entry: _RecordedEntry, *, is_ours: bool) -> HarEntry:
    request, response = entry.request, entry.response
    url = urlsplit(request.url)
    headers = {each.name.lower(): each.value for each in request.headers}
    return HarEntry(
        method=request.method,
        target=f"{url.path}?{url.query}" if url.query else url.path,
        headers={name: value for name, value in headers.items() if name not in OWN_HEADERS},
        body=request.post_data.text if request.post_data else None,
        status=response.status,
        answer=None if entry.comment == PAGE else response.content.text,
        at=entry.started_date_time if is_ours else None,
    )
