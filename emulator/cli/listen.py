"""``listen``: forward webhooks to a server of the user and show its responses."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from emulator.cli.control_client import ControlClient, Rejected
from emulator.cli.options import DEFAULT_KEY, DEFAULT_URL, option
from emulator.client.connections import ConnectionFailed, Connections, Timeouts
from emulator.client.messages import ApiRequest
from emulator.core.limits import RECEIVER_SECONDS

if TYPE_CHECKING:
    from emulator.client.webhook_receiver import ReceivedRequest, ReceiverReply


RECONNECT_INTERVAL = 0.5
"""Seconds between two attempts to reach an emulator that has ended."""


@click.command()
@click.option(
    "--forward-to",
    required=True,
    metavar="URL",
    help="Forward deliveries to this URL, or port of this machine.",
)
@click.option(
    "--events",
    default="*",
    show_default=True,
    metavar="TYPES",
    help="Event types, separated by commas.",
)
@option(
    "--secret",
    metavar="SECRET",
    help="Sign with this secret. [default: one made from the key and the URL]",
)
@option("--url", default=DEFAULT_URL, metavar="URL", help="URL of the emulator.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App to listen to.")
@option(
    "--control-token",
    metavar="TOKEN",
    help="Control token that the emulator was started with, if any.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: the endpoint, then one object per delivery.",
)
def listen(
    forward_to: str,
    *,
    events: str,
    secret: str | None,
    url: str,
    key: str,
    control_token: str | None,
    as_json: bool,
) -> None:
    """Forward webhooks to your server and show its responses.

    \b
    payments-emulator listen --forward-to 3000/webhooks
    payments-emulator listen --forward-to 3000/hooks --events invoice.paid
    payments-emulator listen --forward-to localhost:3000/webhooks --json

    Your server's responses go back to the emulator, which retries failed deliveries. The secret
    stays the same for the same key and URL. When the emulator restarts or its world is reset, the
    command registers its endpoint again; it removes the endpoint when you stop it with Ctrl-C.
    """
    from emulator.client.webhook_receiver import HttpReceiver

    target = destination(forward_to, "'--forward-to'")
    secret = secret or derived_secret(key, target)
    # The context managers below remove the endpoint and stop the receiver.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        ControlClient(url, key, token=control_token) as emulator,
        Connections(target, RECEIVER_TIMEOUTS) as receivers,
    ):
        listener = Listener(emulator, receivers, target, secret, as_json=as_json)
        with (
            HttpReceiver(listener.respond) as receiver,
            listener.registered(f"{receiver.url}/", events.split(",")),
        ):
            introduce(listener.endpoint, target, secret, as_json=as_json)
            listener.run()


def introduce(endpoint: Any, target: str, secret: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"endpoint": endpoint["id"], "secret": secret, "forward_to": target}))
        sys.stdout.flush()
    click.echo(f"Listening as {endpoint['id']}; signing secret {secret}", err=as_json)
    click.echo(f"Forwarding to {target}", err=as_json)
    sys.stdout.flush()


def derived_secret(key: str, target: str) -> str:
    import hashlib  # not needed by the help of a command line

    return "whsec_" + hashlib.sha256(f"{key} {target}".encode()).hexdigest()[:32]


def destination(text: str, given_as: str) -> str:
    """Return a receiver's URL; ``localhost:3000/hook`` or a port of this machine will do, too."""
    # Without the name of a machine, clients take a number for an IPv4 address: 8000 is 0.0.31.64.
    address = f"localhost:{text}" if re.match(r"\d+(/|$)", text) else text
    url = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(url)
        named = (
            parts.hostname is not None
            and not parts.hostname.isdecimal()
            and not re.search(r"\s", url)
        )
        is_url = named and parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:  # the port
        is_url = False
    if not is_url:
        raise click.BadParameter(
            f"{text!r} is not a URL such as http://localhost:3000/webhooks", param_hint=given_as
        )
    return url


RECEIVER_TIMEOUTS = Timeouts(RECEIVER_SECONDS, RECEIVER_SECONDS)

SIGNATURE = "Service-Signature"


class Listener:
    """The endpoint at the emulator: registered, registered again when gone, and removed at the end.

    Each delivery is printed, and gets the response of the server behind. The emulator gives each
    endpoint a secret of its own. So that the server can have one that stays, genuine
    deliveries are signed again with ``secret``; any other is forwarded as it came.
    """

    def __init__(
        self,
        emulator: ControlClient,
        receivers: Connections,
        target: str,
        secret: str,
        *,
        as_json: bool,
    ) -> None:
        self._emulator = emulator
        self._receivers = receivers
        self._target = target
        self._secret = secret
        self._as_json = as_json
        self._body: dict[str, Any] = {}
        self.endpoint: Any = None
        self._is_registered = threading.Event()
        self._is_ready = False

    @contextmanager
    def registered(self, url: str, events: list[str]) -> Iterator[None]:
        self._body = {"name": "payments-emulator listen", "url": url, "events": events}
        self._register()
        try:
            yield
        finally:
            id = self.endpoint["id"]
            try:
                self._emulator.send(
                    "DELETE", f"/v1/webhooks/{id}/", timeouts=Timeouts(connect=1, response=1)
                )
            except Rejected:
                click.echo("The endpoint no longer exists.", err=True)
            except click.ClickException as error:
                click.echo(f"The endpoint {id} was not removed: {error.format_message()}", err=True)

    def run(self) -> None:
        """Stay registered until a signal ends the command."""
        while True:
            reason = self._watch()
            click.echo(f"-- {reason}; registering again", err=True)
            # Deliveries wait until the secret of the next endpoint is known.
            self._is_registered.clear()
            while not self._is_registered.is_set():
                try:
                    self._register()
                except click.ClickException:
                    time.sleep(RECONNECT_INTERVAL)
            click.echo(f"-- listening again, as {self.endpoint['id']}", err=True)

    def _register(self) -> None:
        self.endpoint = self._emulator.post("/v1/webhooks/", self._body)
        self._is_registered.set()

    def _watch(self) -> str:
        try:
            for message, item in self._emulator.stream("clock"):
                if message == "reset" and not self._exists():
                    return f"the world was replaced ({item['cause']})"
                if message == "open" and not self._exists():
                    return "the emulator was restarted"
                self._say_ready()
        except Rejected as error:
            click.echo(
                f"A restart of the emulator will not be noticed: {error.format_message()}", err=True
            )
            self._say_ready()
            while True:
                time.sleep(3600)
        except click.ClickException as error:
            return error.format_message()
        raise AssertionError("a stream ends only with an error")

    def _say_ready(self) -> None:
        """Print once that deliveries are forwarded, and that a reset would be noticed as well."""
        if not self._is_ready:
            self._is_ready = True
            click.echo("Ready.", err=self._as_json)
            sys.stdout.flush()

    def _exists(self) -> bool:
        return bool(self._emulator.get("/names", ids=self.endpoint["id"]))

    def respond(self, request: ReceivedRequest) -> ReceiverReply:
        """Forward one request. Respond to pings here: they only test that this endpoint exists."""
        import hmac  # not needed by the help of a command line, nor the rest

        from emulator.client.webhook_receiver import ReceiverReply
        from emulator.core.world import json_object
        from emulator.resources.webhooks.deliveries import signature

        event = json_object(request.body)
        if event.get("type") == "webhook.ping":
            return ReceiverReply()
        self._is_registered.wait(RECEIVER_SECONDS)
        sent_signature = request.headers.get(SIGNATURE, "")
        if hmac.compare_digest(
            sent_signature.encode(), signature(self.endpoint["secret"], request.body).encode()
        ):
            request.headers.replace_header(SIGNATURE, signature(self._secret, request.body))
        return self.forward(event, request)

    def forward(self, event: Mapping[str, Any], request: ReceivedRequest) -> ReceiverReply:
        """Send the same bytes and headers, so the signature stays valid; print the result."""
        from emulator.client.webhook_receiver import HOP_BY_HOP, ReceiverReply

        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP
        }
        started, status, error = time.perf_counter(), None, None
        try:
            forwarded = ApiRequest.of("POST", self._target, headers=headers, content=request.body)
            response = self._receivers.exchange(forwarded)
            status, kind = response.status_code, response.headers.get("content-type", "text/plain")
            reply = ReceiverReply(status, response.content, {"content-type": kind})
        except ConnectionFailed as failure:
            is_late = isinstance(failure.__cause__, TimeoutError)
            error = "no response in time" if is_late else str(failure)
            reply = ReceiverReply(504 if is_late else 502, headers={"content-type": "text/plain"})
        attempt = request.headers.get("Emulator-Attempt", "")
        result = {
            "delivery": request.headers.get("Emulator-Delivery"),
            "attempt": int(attempt) if attempt.isdecimal() else 1,
            "event": event.get("id"),
            "type": event.get("type"),
            "created_at": event.get("created_at"),
            "status": status,
            "error": error,
            "duration_ms": round((time.perf_counter() - started) * 1000),
        }
        click.echo(json.dumps(result) if self._as_json else line(result))
        sys.stdout.flush()
        return reply


def line(result: Mapping[str, Any]) -> str:
    again = f" (attempt {result['attempt']})" if result["attempt"] > 1 else ""
    response = result["status"] or result["error"]
    return (
        f"{result['created_at']}  {result['type']}  {result['event']}{again} -> {response} "
        f" {result['duration_ms']} ms"
    )
