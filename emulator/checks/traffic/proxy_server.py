"""The proxy's server: the API of the service, an inbox for its webhooks, and a page with what differs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
from starlette.types import Receive, Scope, Send

from emulator.checks.traffic import findings_page
from emulator.checks.traffic.fetching import PATIENCE
from emulator.checks.traffic.forwarders import ServiceForwarder, Traffic, WebhookForwarder
from emulator.checks.traffic.grouped_findings import Findings, ProxyFinding
from emulator.checks.traffic.passed import Passed
from emulator.core.ids import IdSource
from emulator.engine.redaction import redact_text
from emulator.server.sandbox import Options
from emulator.server.server import Uvicorn, bind, config, is_loopback, url_of
from emulator.web.context import ContextLayer, RequestContext, send_response
from emulator.web.origins import HostGuard, OriginGuard, hostname
from emulator.web.root_app import RootApp

PAGE, INBOX = "/_proxy/", "/_proxy/webhooks"

CONNECTIONS = 256
"""Connections to the service, or to the application, at a time."""


class ProxyTargets(NamedTuple):
    """Where requests go (a URL without ``/v1``), and where webhooks go, if anywhere."""

    upstream: str
    webhooks_to: str | None = None


class ProxyOutcome(NamedTuple):
    """What takes all that passed, in a thread of its own, and what was found so far."""

    take: Callable[[Passed], None]
    findings: Findings
    last: deque[ProxyFinding]


class ProxyServer:
    """The proxy on one address; the constructor binds its socket. Raises ``CannotListen``."""

    def __init__(self, targets: ProxyTargets, outcome: ProxyOutcome, host: str, port: int) -> None:
        self.socket = bind(host, port)
        self.port: int = self.socket.getsockname()[1]
        self.url = url_of(host, self.port, Options())
        self._is_open = not is_loopback(host)
        self._targets = targets
        self._outcome = outcome
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._uvicorn: Uvicorn | None = None

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until :meth:`stop`. At the end all that passed was taken."""
        app = self._application()
        self._uvicorn = Uvicorn(config(app), ready, lambda: None)
        try:
            self._uvicorn.run(sockets=[self.socket])
        finally:
            self._thread.shutdown()
        if self._uvicorn.failure:
            raise self._uvicorn.failure

    def stop(self) -> None:
        """End :meth:`run`, from any thread."""
        if self._uvicorn:
            self._uvicorn.should_exit = True

    def _application(self) -> RootApp:
        client = httpx.AsyncClient(
            timeout=PATIENCE, follow_redirects=False, limits=httpx.Limits(max_connections=CONNECTIONS)
        )
        traffic = Traffic(lambda passed: self._thread.submit(self._outcome.take, passed))
        source, numbers = IdSource("proxy"), count(1)
        names = (hostname(urlsplit(self.url).netloc),)
        service = ServiceForwarder(client, self._targets.upstream, traffic)

        async def stop() -> None:
            await traffic.settle()
            await client.aclose()

        return RootApp(
            [
                # The service calls it by the name of a tunnel.
                (INBOX, WebhookForwarder(client, self._targets.webhooks_to, traffic)),
                (
                    PAGE,
                    OriginGuard(_FindingsPage(self._outcome, redact_text(self._targets.upstream)), names, pages=True),
                ),
                ("", service if self._is_open else HostGuard(service, names)),
            ],
            new_request_id=lambda: source.id("req", next(numbers)),
            start=_nothing,
            stop=stop,
            base_url=self.url,
        )


async def _nothing() -> None:
    """The proxy needs nothing to start."""


class _FindingsPage(ContextLayer):
    def __init__(self, outcome: ProxyOutcome, upstream: str) -> None:
        self._outcome = outcome
        self._upstream = upstream

    async def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        last = [*self._outcome.last][::-1]
        await send_response(findings_page.response(self._outcome.findings, last, self._upstream), send)
