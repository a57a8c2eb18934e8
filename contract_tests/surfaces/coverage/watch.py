"""The watch: hears every exchange of the run, has the unjudged judged, notes exercised points."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from contract_tests.support.contract import Contract, contract
from contract_tests.surfaces.coverage.points import Exchange, Point, Points, transition
from emulator.web.root_app import RootApp

UNDOCUMENTED = ("/_emulator/inbox/", "/_emulator/openapi", "/_emulator/console/")
"""Under a document's address, but arranged responses, the document itself, or pages' parts."""

PAGES = ("/checkout/", "/pay/", "/invoice/", "/receipt/")
"""The addresses of the buyer's pages, whose JSON form is documented."""


class Watch:
    """What happened in this process; ``test`` is the one that runs now.

    Points are noted only where a table was asked for.
    """

    def __init__(self) -> None:
        self.notes_points = False
        self.test = ""
        self.exercised: dict[Point, str] = {}
        self.judged: set[str] = set()
        self._heard: list[Exchange] = []

    @cached_property
    def contracts(self) -> dict[str, Contract]:
        return {"/v1/": contract("service"), "/_emulator/": contract("control")} | dict.fromkeys(
            PAGES, contract("pages")
        )

    @cached_property
    def points(self) -> Points:
        return Points(self.contracts["/v1/"])

    def hear(self, exchange: Exchange) -> None:
        """Store an exchange until its test is over."""
        self._heard.append(exchange)

    def note(self, point: Point) -> None:
        """A point was exercised; the first test that does so has the honour."""
        self.exercised.setdefault(point, self.test)

    def note_move(self, kind: str, source: str | None, trigger: str, target: str) -> None:
        self.note(transition(kind, source, trigger, target))

    def faults(self, *, judges: bool) -> Iterator[str]:
        """Return the document's breaches since the last call; judged exchanges count as sound."""
        heard, self._heard = self._heard, []
        for exchange in heard:
            id = exchange.headers.get("request-id", "")
            by_client = id in self.judged
            self.judged.discard(id)
            if judges and not by_client:
                yield from self._faults(exchange)
            if self.notes_points and exchange.path.startswith("/v1/"):
                for point in self.points.exercised(exchange):
                    self.note(point)

    def _faults(self, exchange: Exchange) -> Iterator[str]:
        prefix = next(
            (prefix for prefix in self.contracts if exchange.path.startswith(prefix)), None
        )
        if prefix and _is_documented(exchange):
            contract = self.contracts[prefix]
            for fault in contract.faults(
                *exchange[:2], exchange.status, exchange.headers, exchange.body
            ):
                yield f"{exchange.method} {exchange.path} -> {exchange.status}: {fault}"


def _is_documented(exchange: Exchange) -> bool:
    """Return whether a document describes the exchange; none describes pages or their forms."""
    is_page = (
        exchange.headers.get("content-type", "").startswith("text/html") or exchange.status == 303
    )
    is_html = (
        is_page and not exchange.path.startswith("/v1/") and not exchange.path.endswith("/html")
    )
    return (
        exchange.method not in ("OPTIONS", "HEAD")
        and not exchange.path.startswith(UNDOCUMENTED)
        and not is_html
    )


WATCH = Watch()
"""The one of this process."""


class Tap(RootApp):
    """A server's edge: the watch hears of an exchange before the client has its end."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        sent, head, body = bytearray(), {}, bytearray()

        async def hear() -> Any:
            message = await receive()
            sent.extend(message.get("body", b""))
            return message

        async def send_on(message: Any) -> None:
            if message["type"] == "http.response.start":
                head.update(message)
            body.extend(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                WATCH.hear(_exchange(scope, bytes(sent), head, bytes(body)))
            await send(message)

        await super().__call__(scope, hear, send_on)


def tapped(edge: RootApp) -> RootApp:
    edge.__class__ = Tap
    return edge


def _exchange(scope: Any, sent: bytes, head: dict[str, Any], body: bytes) -> Exchange:
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head["headers"]
    }
    # An encoded slash belongs to the name it stands in, so it stays encoded.
    path = unquote(re.sub("%2[Ff]", "%252F", bytes(scope["raw_path"]).decode("latin-1")))
    return Exchange(
        scope["method"], path, scope["query_string"], sent, head["status"], headers, body
    )
