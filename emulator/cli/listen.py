"""``listen``: a webhook endpoint on this machine that forwards each delivery and shows the response."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from emulator.cli.forwarding import PATIENCE, Forwarder
from emulator.cli.options import DEFAULT_KEY, DEFAULT_URL, ID, Instant, option

if TYPE_CHECKING:
    from emulator.cli.client import ControlClient

PAUSE = 0.5
"""Seconds between two attempts to reach an emulator that has ended."""

MAX_PAST_EVENTS = 100_000

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Since(Instant):
    """An instant, a day, or how long ago."""

    name = "INSTANT|DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The instant in ISO 8601, or the duration as it is."""
        if re.fullmatch(r"\d{1,6}[smhdw]", value, re.ASCII):
            return str(value)
        try:
            instant = datetime.fromisoformat(super().convert(value, param, ctx))
            return instant.replace(tzinfo=instant.tzinfo or UTC).isoformat()
        except (click.UsageError, ValueError):
            self.fail(f"{value!r}: a duration such as 1h, or an instant such as 2026-03-01T00:00:00Z", param, ctx)


@click.command()
@click.option("--forward-to", required=True, metavar="URL", help="Forward deliveries to this URL.")
@click.option("--events", default="*", show_default=True, metavar="TYPES", help="Event types, separated by commas.")
@click.option("--object", "about", type=ID, metavar="ID", help="Forward only events about this object.")
@click.option("--since", type=Since(), help="First forward the events since then, or of the last 1h.")
@option("--secret", metavar="SECRET", help="Sign with this secret. [default: one made from the key and the URL]")
@click.option("--print-secret", is_flag=True, help="Print the secret and exit; needs no emulator.")
@option("--url", default=DEFAULT_URL, metavar="URL", help="URL of the emulator.")
@option("--key", default=DEFAULT_KEY, metavar="KEY", help="Secret key of the App to listen to.")
@option("--control-token", metavar="TOKEN", help="Control token that the emulator was started with, if any.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the endpoint, then one object per delivery.")
def listen(
    forward_to: str,
    *,
    events: str,
    about: str | None,
    since: str | None,
    secret: str | None,
    print_secret: bool,
    url: str,
    key: str,
    control_token: str | None,
    as_json: bool,
) -> None:
    """Forward webhooks to your server and show its responses.

    \b
    payments-emulator listen --forward-to localhost:3000/webhooks
    payments-emulator listen --forward-to http://localhost:3000/ --events invoice.paid,refund.succeeded
    payments-emulator listen --forward-to localhost:3000/webhooks --print-secret

    Your server's responses go back to the emulator, which retries failed deliveries. The secret stays the same for the
    same key and URL. When the emulator restarts or its world is reset, the command registers its endpoint again; it
    removes the endpoint when you stop it with Ctrl-C.
    """
    # Imported here: help and usage errors need no HTTP client.
    import httpx

    from emulator.checks.webhook_receiver import HttpReceiver
    from emulator.cli.client import ControlClient

    target = destination(forward_to, "'--forward-to'")
    secret = secret or derived_secret(key, target)
    if print_secret:
        click.echo(secret)
        return
    # The context managers below remove the endpoint and stop the receiver.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with (
        ControlClient(url, key, token=control_token) as emulator,
        httpx.Client(timeout=PATIENCE, trust_env=False) as client,
    ):
        forwarder = Forwarder(client, target, secret, about=about, as_json=as_json)
        with HttpReceiver(forwarder.answer) as receiver:
            listener = Listener(emulator, forwarder, f"{receiver.url}/", events.split(","))
            past = list(past_events(emulator, since, listener.events)) if since else []
            with listener:
                introduce(listener.endpoint, target, secret, as_json=as_json)
                for event in past:
                    forwarder.send(event)
                listener.run()


def introduce(endpoint: Any, target: str, secret: str, *, as_json: bool) -> None:
    """Say what is registered, and at once if the target does not listen."""
    if as_json:
        click.echo(json.dumps({"endpoint": endpoint["id"], "secret": secret, "forward_to": target}))
        sys.stdout.flush()
    click.echo(f"Listening as {endpoint['id']}; signing secret {secret}", err=as_json)
    click.echo(f"Forwarding to {target}", err=as_json)
    if problem := unreachable(target):
        click.echo(f"Nothing listens at {target} yet ({problem}); deliveries fail until your server runs.", err=True)
    click.echo("Ready.", err=as_json)
    sys.stdout.flush()


def unreachable(url: str) -> str | None:
    """Why no connection can be made to a URL; None if one can."""
    import socket  # not needed by the help of a command line

    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=1).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def derived_secret(key: str, target: str) -> str:
    """The secret for a key and a URL: the same each time."""
    import hashlib  # not needed by the help of a command line

    return "whsec_" + hashlib.sha256(f"{key} {target}".encode()).hexdigest()[:32]


class Listener:
    """The endpoint at the emulator: registered, registered again when it is gone, and removed at the end."""

    def __init__(self, emulator: ControlClient, forwarder: Forwarder, url: str, events: list[str]) -> None:
        self.events = events
        self.endpoint: Any = None
        self._emulator = emulator
        self._forwarder = forwarder
        self._url = url

    def __enter__(self) -> Listener:
        self._register()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the endpoint."""
        try:
            self._emulator.send("DELETE", f"/v1/webhooks/{self.endpoint['id']}/")
        except click.ClickException:
            click.echo("The endpoint no longer exists.", err=True)

    def run(self) -> None:
        """Stay registered until a signal ends the command."""
        while True:
            reason = self._watch()
            click.echo(f"-- {reason}; registering again", err=True)
            self._forwarder.awaiting_registration()
            self._register_when_possible()
            click.echo(f"-- listening again, as {self.endpoint['id']}", err=True)

    def _register(self) -> None:
        body = {"name": "payments-emulator listen", "url": self._url, "events": self.events}
        self.endpoint = self._emulator.post("/v1/webhooks/", body)
        self._forwarder.verify_with(self.endpoint["secret"])

    def _register_when_possible(self) -> None:
        while True:
            try:
                self._register()
            except click.ClickException:
                time.sleep(PAUSE)
            else:
                return

    def _watch(self) -> str:
        """Wait until the endpoint is gone, and return why."""
        # Imported here, as in the command.
        from emulator.cli.client import Rejected

        try:
            for message, item in self._emulator.stream("clock"):
                if message == "reset" and not self._exists():
                    return f"the world was replaced ({item['cause']})"
                if message == "open" and not self._exists():
                    return "the emulator was restarted"
        except Rejected as error:
            click.echo(f"A restart of the emulator will not be noticed: {error.format_message()}", err=True)
            while True:
                time.sleep(3600)
        except click.ClickException as error:
            return error.format_message()
        raise AssertionError("a stream ends only with an error")

    def _exists(self) -> bool:
        listed = self._emulator.get("/objects", kind="webhook_endpoint", page_size=100)["data"]
        return self.endpoint["id"] in [each["id"] for each in listed]


def past_events(emulator: ControlClient, since: str, types: Iterable[str]) -> list[Any]:
    """The events of these types since an instant, or since a duration before the present one; oldest first."""
    if re.fullmatch(r"\d+[smhdw]", since):
        now = datetime.fromisoformat(emulator.get("/clock")["now"])
        start = now - timedelta(**{UNITS[since[-1]]: int(since[:-1])})
    else:
        start = datetime.fromisoformat(since)
    found = []
    for event in emulator.pages("/events", MAX_PAST_EVENTS):
        if datetime.fromisoformat(event["created_at"]) < start:
            break
        if "*" in types or event["type"] in types:
            found.append(event)
    return found[::-1]


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
