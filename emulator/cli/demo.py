"""``demo``: a customer's first two months, played in front of the user against a sandbox of its own."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from emulator.cli.options import option
from emulator.cli.server_thread import serving

KEY = "sk_test_demo"
PHONE = "+24177000000"
START = "2026-01-01T00:00:00.000Z"


@click.command()
@option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the sandbox; 0 picks a free one.")
@click.option("--stay/--leave", default=None, help="Keep the sandbox open afterwards. [default: in a terminal]")
def demo(port: int, stay: bool | None) -> None:
    """Play a subscription's first two months.

    \b
    payments-emulator demo
    payments-emulator demo --port 4747 --stay

    Each step is shown with the request that does it. The sandbox, its clock and the merchant's webhook receiver are all
    started for the occasion.
    """
    with _sandbox(port) as url, _shop() as shop:
        Play(url, shop).run()
        if sys.stdin.isatty() if stay is None else stay:
            click.echo(f"\nThe sandbox stays open at {url} with the key {KEY}. Ctrl-C ends it.")
            threading.Event().wait()


class Play:
    """The story, step by step; every number shown is read from an answer."""

    def __init__(self, url: str, shop: Shop) -> None:
        # Imported here: the help of a command line needs no HTTP client.
        import httpx

        self._shop = shop
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False)
        self._step = 0

    def run(self) -> None:
        """All steps in order."""
        click.secho("A subscription's first two months", bold=True)
        self._register_webhook()
        subscription = self._subscribe()
        self._first_charge()
        self._a_month_later(subscription)
        self._what_the_shop_heard()

    def _register_webhook(self) -> None:
        self._tell(
            "The shop wants to be told what happens. It registers its webhook URL, which is pinged and must answer."
        )
        endpoint = self._call("POST", "/v1/webhooks/", {"name": "Shop", "url": self._shop.url, "events": ["*"]})
        self._shop.secret = endpoint["secret"]
        self._learn(
            f"{endpoint['id']} made; its signing secret is shown this once. The shop got {self._shop.pings} ping."
        )

    def _subscribe(self) -> str:
        self._tell("Awa Diop becomes a customer. Her phone number makes a mobile money account to charge.")
        body = {"name": "Awa Diop", "email": "awa@example.com", "phone": PHONE}
        customer = self._call("POST", "/v1/customers/", body)
        self._learn(f"{customer['id']}: first name {customer['firstname']}, last name {customer['lastname']}.")
        self._tell("The shop offers a plan: 5,000 francs CFA a month.")
        terms = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
        plan = self._call("POST", "/v1/subscription-plans/", terms)
        self._learn(f"{plan['id']}: {plan['name']}.")
        self._tell("Awa subscribes.")
        subscription = self._call("POST", "/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
        end = subscription["current_period_end"][:10]
        self._learn(f"{subscription['id']} is {subscription['status']}; its first period ends on {end}.")
        return str(subscription["id"])

    def _first_charge(self) -> None:
        self._tell("The first month was charged at once.")
        self._show_transactions()

    def _a_month_later(self, subscription: str) -> None:
        self._tell("Nobody has to wait: the sandbox's clock is moved 31 days ahead, and all that falls due is done.")
        moved = self._call("POST", "/_emulator/clock/advance", {"by": "31d"})
        self._learn(
            f"It is now {moved['now'][:10]}; jobs run: {moved['jobs']}, events: {sum(moved['events'].values())}."
        )
        self._tell("The subscription has renewed.")
        renewed = self._call("GET", f"/v1/subscriptions/{subscription}/")
        start, end = renewed["current_period_start"][:10], renewed["current_period_end"][:10]
        self._learn(f"{renewed['status']}; the period runs from {start} to {end}.")
        self._tell("Both months have their transaction ...")
        self._show_transactions()
        self._tell("... and their invoice.")
        for invoice in self._call("GET", "/v1/invoices/")["data"]:
            self._learn(f"{invoice['invoice_number']}: {invoice['total']} {invoice['currency']}, {invoice['status']}.")

    def _show_transactions(self) -> None:
        for item in self._call("GET", "/v1/transactions/")["data"]:
            money = f"{item['amount']} {item['currency']}, fee {item['fee']}, net {item['net_amount']}"
            self._learn(f"{item['created_at'][:10]}  {money}, {item['status']}.")

    def _what_the_shop_heard(self) -> None:
        self._tell("All the while the shop was told, in order, with signed requests. It checked every signature.")
        for at, type, genuine in self._shop.heard:
            self._learn(f"{at[:10]}  {type:28} signature {'correct' if genuine else 'WRONG'}")

    def _tell(self, sentence: str) -> None:
        self._step += 1
        click.echo()
        click.secho(f"{self._step:2}. {sentence}", bold=True)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        click.secho(f"    {method} {path} {json.dumps(body) if body else ''}".rstrip(), fg="cyan")
        response = self._http.request(method, path, json=body)
        response.raise_for_status()
        return response.json()

    @staticmethod
    def _learn(sentence: str) -> None:
        click.echo(f"    {sentence}")


class Shop:
    """A merchant's webhook receiver: it keeps what it hears and checks each signature over the raw body."""

    def __init__(self) -> None:
        self.secret = ""
        self.pings = 0
        self.heard: list[tuple[str, str, bool]] = []
        self.url = ""

    def hear(self, body: bytes, signature: str) -> None:
        """Take in one request."""
        event = json.loads(body)
        if event["type"] == "webhook.ping":
            self.pings += 1
            return
        expected = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        self.heard.append((event["created_at"], event["type"], hmac.compare_digest(expected, signature)))


@contextmanager
def _shop() -> Iterator[Shop]:
    # Imported here: the help of a command line needs no web server.
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    shop = Shop()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            shop.hear(self.rfile.read(int(self.headers["content-length"])), self.headers.get("service-signature", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """The story tells what arrives."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    shop.url = f"http://127.0.0.1:{server.server_address[1]}/webhooks"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield shop
    server.shutdown()
    server.server_close()


@contextmanager
def _sandbox(port: int) -> Iterator[str]:
    # Imported here: the help of a command line needs no web server.
    from emulator.engine.clock import FROZEN
    from emulator.sandbox import Options
    from emulator.server import CannotListen, Server

    try:
        server = Server(Options(clock_mode=FROZEN, clock_at=START), "127.0.0.1", port)
    except CannotListen as fault:
        raise click.ClickException(str(fault)) from None
    with serving(server):
        yield server.url
