"""``listen``: a webhook endpoint on this machine that forwards each delivery and shows the response."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from emulator.cli.options import DEFAULT_KEY, DEFAULT_URL, option

if TYPE_CHECKING:
    import httpx

    from emulator.cli.client import ControlClient
    from emulator.receiver import ReceivedRequest, ReceiverReply

PATIENCE = 10.0
"""Seconds that the receiver has to answer (Limits)."""

HOP_BY_HOP = frozenset(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"])
"""Headers of the connection, which are not forwarded."""


class ForwardResult(NamedTuple):
    """The answer to one forwarded delivery, or why there is none."""

    status: int | None
    error: str | None
    duration_ms: int
    body: bytes = b""
    content_type: str = "text/plain"


@click.command()
@click.option("--forward-to", required=True, metavar="URL", help="Forward deliveries to this URL.")
@click.option("--events", default="*", show_default=True, metavar="TYPES", help="Event types, separated by commas.")
@option("--url", default=DEFAULT_URL, metavar="URL", help="URL of the emulator.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App to listen to.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per delivery.")
def listen(forward_to: str, events: str, url: str, key: str, as_json: bool) -> None:
    """Forward webhooks to your server and show its responses.

    \b
    payments-emulator listen --forward-to localhost:3000/webhooks
    payments-emulator listen --forward-to http://localhost:3000/ --events invoice.paid,refund.succeeded

    Your server's responses go back to the emulator, which retries failed deliveries. The command registers a webhook
    endpoint and removes it when you stop it with Ctrl-C.
    """
    # Imported here: help and usage errors need no HTTP client.
    import httpx

    from emulator.cli.client import ControlClient
    from emulator.receiver import HttpReceiver

    target = destination(forward_to, "'--forward-to'")
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with (
        ControlClient(url, key) as emulator,
        httpx.Client(timeout=PATIENCE, trust_env=False) as client,
        HttpReceiver(Forwarder(client, target, as_json).answer) as receiver,
        registered(emulator, f"{receiver.url}/", events.split(",")) as endpoint,
    ):
        click.echo(f"Listening as {endpoint['id']}; signing secret {endpoint['secret']}", err=as_json)
        click.echo(f"Forwarding to {target}", err=as_json)
        click.echo("Ready.", err=as_json)
        stopped.wait()


def destination(text: str, given_as: str) -> str:
    """The URL of a receiver; ``localhost:3000/hook`` is accepted as well."""
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
    """Register a webhook endpoint at this URL for the duration of the block."""
    body = {"name": "payments-emulator listen", "url": url, "events": events}
    endpoint: dict[str, Any] = emulator.post("/v1/webhooks/", body)
    try:
        yield endpoint
    finally:
        try:
            emulator.send("DELETE", f"/v1/webhooks/{endpoint['id']}/")
        except click.ClickException:
            click.echo("The endpoint no longer exists.", err=True)


class Forwarder:
    """Answers webhooks with what another server answers to them, and prints each delivery."""

    def __init__(self, client: httpx.Client, target: str, as_json: bool) -> None:
        self._client = client
        self._target = target
        self._as_json = as_json

    def answer(self, request: ReceivedRequest) -> ReceiverReply:
        """Forward one request. Pings are answered here: they only test that this endpoint exists."""
        # Imported here: the help of a command line needs no web server.
        from emulator.receiver import ReceiverReply

        event = event_in(request.body)
        if event.get("type") == "webhook.ping":
            return ReceiverReply()
        result = forward(self._client, self._target, request)
        shown = summary(event, request, result)
        click.echo(json.dumps(shown) if self._as_json else line(shown))
        sys.stdout.flush()
        status = result.status or (504 if result.error == TIMED_OUT else 502)
        return ReceiverReply(status, result.body, {"content-type": result.content_type})


def forward(client: httpx.Client, url: str, request: ReceivedRequest) -> ForwardResult:
    """Send the same bytes under the same headers to another URL, so that the signature stays valid."""
    import httpx

    headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
    started = time.perf_counter()
    try:
        answer = client.post(url, headers=headers, content=request.body)
    except httpx.TimeoutException:
        return ForwardResult(None, TIMED_OUT, _since(started))
    except httpx.HTTPError as error:
        return ForwardResult(None, str(error) or type(error).__name__, _since(started))
    content_type = answer.headers.get("content-type", "text/plain")
    return ForwardResult(answer.status_code, None, _since(started), answer.content, content_type)


TIMED_OUT = "no answer in time"


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


def summary(event: Mapping[str, Any], request: ReceivedRequest, result: ForwardResult) -> dict[str, Any]:
    """What is shown of a delivery, as plain values."""
    return {
        "delivery": request.headers.get("Emulator-Delivery"),
        "attempt": int(request.headers.get("Emulator-Attempt", 1)),
        "event": event.get("id"),
        "type": event.get("type"),
        "created_at": event.get("created_at"),
        "status": result.status,
        "error": result.error,
        "duration_ms": result.duration_ms,
    }


def line(shown: Mapping[str, Any]) -> str:
    """A delivery on one line."""
    again = f" (attempt {shown['attempt']})" if shown["attempt"] > 1 else ""
    answer = shown["status"] or shown["error"]
    return f"{shown['created_at']}  {shown['type']}  {shown['event']}{again} -> {answer}  {shown['duration_ms']} ms"


def event_in(body: bytes) -> dict[str, Any]:
    """The event in a body; empty if that is no JSON object."""
    try:
        event = json.loads(body)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}
