"""``listen``: a webhook endpoint on this machine that passes each delivery on and shows it with its answer."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.options import DEFAULT_KEY, DEFAULT_URL, option

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

    import httpx

    from emulator.cli.client import ControlClient

PATIENCE = 10.0
"""Seconds the receiver has to answer; the emulator gives no more (Limits)."""

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers that are about a connection and not about what is sent."""


class Outcome(NamedTuple):
    """What became of one delivery that was passed on: the answer, or why there is none."""

    status: int | None
    error: str | None
    duration_ms: int
    body: bytes = b""
    content_type: str = "text/plain"


@click.command()
@click.option("--forward-to", required=True, metavar="URL", help="Where deliveries are passed on to.")
@click.option("--events", default="*", show_default=True, metavar="TYPES", help="Types of event, separated by commas.")
@option("--url", default=DEFAULT_URL, metavar="URL", help="The emulator.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App to listen to.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each delivery.")
def listen(forward_to: str, events: str, url: str, key: str, as_json: bool) -> None:
    """Pass webhooks on to your server and show its answers.

    \b
    payments-emulator listen --forward-to localhost:3000/webhooks
    payments-emulator listen --forward-to http://localhost:3000/ --events invoice.paid,refund.succeeded

    Your server's answers decide what the emulator does next, retries included. The webhook endpoint that is
    registered for it is removed at the end, by Ctrl-C.
    """
    # Imported here: the help and the mistakes of a command line need no HTTP client.
    import httpx

    from emulator.cli.client import ControlClient

    target = destination(forward_to, "'--forward-to'")
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with (
        ControlClient(url, key) as emulator,
        httpx.Client(timeout=PATIENCE, trust_env=False) as client,
        receiving(lambda headers, body: passed_on(client, target, headers, body), told(as_json)) as port,
        registered(emulator, f"http://127.0.0.1:{port}/", events.split(",")) as endpoint,
    ):
        click.echo(f"Listening as {endpoint['id']}; signing secret {endpoint['secret']}", err=as_json)
        click.echo(f"Forwarding to {target}", err=as_json)
        click.echo("Ready.", err=as_json)
        stopped.wait()


def destination(text: str, given_as: str) -> str:
    """The URL of somebody's receiver; ``localhost:3000/hook`` will do."""
    import httpx

    url = text if "://" in text else f"http://{text}"
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        parts = httpx.URL("")
    if parts.scheme not in ("http", "https") or not parts.host:
        raise click.BadParameter(f"{text!r}: a URL such as http://localhost:3000/webhooks", param_hint=given_as)
    return url


@contextmanager
def registered(emulator: ControlClient, url: str, events: list[str]) -> Iterator[dict[str, Any]]:
    """A webhook endpoint at this URL, for as long as the block lasts."""
    body = {"name": "payments-emulator listen", "url": url, "events": events}
    endpoint: dict[str, Any] = emulator.post("/v1/webhooks/", body)
    try:
        yield endpoint
    finally:
        try:
            emulator.send("DELETE", f"/v1/webhooks/{endpoint['id']}/")
        except click.ClickException:
            click.echo("The endpoint was gone already.", err=True)


Forward = Callable[[Mapping[str, str], bytes], Outcome]
Tell = Callable[[Mapping[str, str], bytes, Outcome], None]


@contextmanager
def receiving(forward: Forward, tell: Tell) -> Iterator[int]:
    """A receiver on a free port of this machine, for as long as the block lasts."""
    # Imported here, as below: the help of a command line needs no web server.
    from http.server import ThreadingHTTPServer

    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(forward, tell))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(forward: Forward, tell: Tell) -> type[BaseHTTPRequestHandler]:
    from http.server import BaseHTTPRequestHandler

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library's name
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if _event(body).get("type") == "webhook.ping":
                self._answer(Outcome(200, None, 0))
                return
            headers = dict(self.headers.items())
            outcome = forward(headers, body)
            tell(headers, body, outcome)
            self._answer(outcome)

        def _answer(self, outcome: Outcome) -> None:
            self.send_response(outcome.status or (504 if outcome.error == TOO_LATE else 502))
            self.send_header("Content-Type", outcome.content_type)
            self.send_header("Content-Length", str(len(outcome.body)))
            self.end_headers()
            self.wfile.write(outcome.body)

        def log_message(self, format: str, *args: object) -> None:
            """Silence: each delivery is told once."""

    return Handler


def passed_on(client: httpx.Client, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
    """The same bytes under the same headers to another URL, so that a signature stays good."""
    import httpx

    kept = {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}
    started = time.perf_counter()
    try:
        answer = client.post(url, headers=kept, content=body)
    except httpx.TimeoutException:
        return Outcome(None, TOO_LATE, _since(started))
    except httpx.HTTPError as fault:
        return Outcome(None, str(fault) or type(fault).__name__, _since(started))
    content_type = answer.headers.get("content-type", "text/plain")
    return Outcome(answer.status_code, None, _since(started), answer.content, content_type)


TOO_LATE = "no answer in time"


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def told(as_json: bool) -> Tell:
    """How each delivery is shown: a line to read, or a JSON object."""

    def tell(headers: Mapping[str, str], body: bytes, outcome: Outcome) -> None:
        event = _event(body)
        shown = {
            "delivery": headers.get("Emulator-Delivery"),
            "attempt": int(headers.get("Emulator-Attempt", 1)),
            "event": event.get("id"),
            "type": event.get("type"),
            "created_at": event.get("created_at"),
            "status": outcome.status,
            "error": outcome.error,
            "duration_ms": outcome.duration_ms,
        }
        click.echo(json.dumps(shown) if as_json else line(shown))
        sys.stdout.flush()

    return tell


def line(shown: Mapping[str, Any]) -> str:
    """One delivery on one line."""
    again = f" (attempt {shown['attempt']})" if shown["attempt"] > 1 else ""
    answer = shown["status"] or shown["error"]
    return f"{shown['created_at']}  {shown['type']}  {shown['event']}{again} -> {answer}  {shown['duration_ms']} ms"


def _event(body: bytes) -> dict[str, Any]:
    try:
        event = json.loads(body)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
