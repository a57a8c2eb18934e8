"""``demo``: a customer's first two months, shown step by step on a sandbox of its own."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from emulator.cli.output import fitted
from emulator.cli.server import own_sandbox
from emulator.presentation.languages.language import plain_money

if TYPE_CHECKING:
    from emulator.client.webhook_receiver import ReceivedRequest, ReceiverReply

KEY = "sk_test_demo"
NEXT = """
What to do next:
  payments-emulator serve             your own sandbox, and its guide
  payments-emulator exec -- npm test  your tests; pytest has fixture 'payments'
  payments-emulator --help            every command"""

START = "2026-01-01T00:00:00.000Z"


@click.command()
@click.option(
    "--stay/--leave",
    default=None,
    help="Keep the sandbox running afterwards. [default: in a terminal]",
)
def demo(stay: bool | None) -> None:
    """Show a subscription's first two months.

    \b
    payments-emulator demo
    payments-emulator demo --stay

    Each step is shown with its request. The command starts its own sandbox, with its own clock, and
    a webhook receiver.
    """
    from emulator.client.webhook_receiver import HttpReceiver

    shop = Shop()
    with (
        own_sandbox(clock_mode="frozen", clock_at=START) as url,
        HttpReceiver(shop.receive) as receiver,
    ):
        shop.url = f"{receiver.url}/webhooks"
        Demo(url, shop).run()
        click.echo(NEXT)
        if sys.stdin.isatty() if stay is None else stay:
            click.echo(
                f"\nThe sandbox keeps running until Ctrl-C, with the key {KEY}:\n  {url}/_emulator/"
            )
            threading.Event().wait()


class Demo:
    def __init__(self, url: str, shop: Shop) -> None:
        from emulator.client.api import Api

        self._shop = shop
        self._api = Api(url, KEY)
        self._step = 0

    def run(self) -> None:
        click.secho("A subscription's first two months", bold=True)
        self._title(
            "The shop registers its webhook URL. The service sends a ping, to which the URL must"
            " respond."
        )
        endpoint = self._call(
            "POST", "/v1/webhooks/", {"name": "Shop", "url": self._shop.url, "events": ["*"]}
        )
        self._shop.secret = endpoint["secret"]
        pings = f"Pings received: {self._shop.pings}."
        self._detail(f"{endpoint['id']} created; its signing secret is shown only once. {pings}")
        self._title(
            "Awa Diop becomes a customer. Her phone number becomes a mobile money payment method."
        )
        body = {"name": "Awa Diop", "email": "awa@example.com", "phone": "+24177000000"}
        customer = self._call("POST", "/v1/customers/", body)
        self._detail(
            f"{customer['id']}: first name {customer['firstname']}, last name"
            f" {customer['lastname']}."
        )
        self._title("The shop creates a plan: 5,000 CFA francs a month.")
        terms = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
        plan = self._call("POST", "/v1/subscription-plans/", terms)
        self._detail(f"{plan['id']}: {plan['name']}.")
        self._title("Awa subscribes.")
        made = self._call(
            "POST", "/v1/subscriptions/", {"customer": customer["id"], "plan": plan["id"]}
        )
        self._detail(
            f"{made['id']} is {made['status']}; its first period ends on"
            f" {made['current_period_end'][:10]}."
        )
        self._title("The first month was charged immediately.")
        self._show_transactions()
        self._title(
            "Instead of waiting, the shop moves the sandbox's clock 31 days ahead. Jobs that become"
            " due run."
        )
        moved = self._call("POST", "/_emulator/clock/advance", {"by": "31d"})
        counts = f"jobs run: {moved['jobs']}, events: {sum(moved['events'].values())}"
        self._detail(f"It is now {moved['now'][:10]}; {counts}.")
        self._title("The subscription was renewed.")
        renewed = self._call("GET", f"/v1/subscriptions/{made['id']}/")
        start, end = renewed["current_period_start"][:10], renewed["current_period_end"][:10]
        self._detail(f"{renewed['status']}; the period runs from {start} to {end}.")
        self._title("There is a transaction for each month ...")
        self._show_transactions()
        self._title("... and an invoice.")
        for invoice in self._call("GET", "/v1/invoices/")["data"]:
            total = plain_money(invoice["total"], invoice["currency"])
            self._detail(f"{invoice['invoice_number']}: {total}, {invoice['status']}.")
        self._title(
            "The shop received a signed webhook for every event, in order, and checked each"
            " signature."
        )
        for at, type, genuine in self._shop.received:
            self._detail(f"{at[:10]}  {type:28} signature {'correct' if genuine else 'WRONG'}")

    def _show_transactions(self) -> None:
        for item in self._call("GET", "/v1/transactions/")["data"]:
            amount, fee, net = (
                plain_money(item[name], item["currency"])
                for name in ("amount", "fee", "net_amount")
            )
            self._detail(
                f"{item['created_at'][:10]}  {amount}, fee {fee}, net {net}, {item['status']}."
            )

    def _title(self, sentence: str) -> None:
        self._step += 1
        click.echo()
        click.secho(f"{self._step:2}. {fitted(f'    {sentence}')[4:]}", bold=True)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        click.secho(
            fitted(f"    {method} {path} {json.dumps(body) if body else ''}".rstrip()), fg="cyan"
        )
        return self._api.call(method, path, json=body)

    @staticmethod
    def _detail(sentence: str) -> None:
        click.echo(fitted(f"    {sentence}"))


class Shop:
    """A merchant's webhook receiver: records events, checks their signatures over the raw body."""

    def __init__(self) -> None:
        self.secret = ""
        self.pings = 0
        self.received: list[tuple[str, str, bool]] = []
        self.url = ""

    def receive(self, request: ReceivedRequest) -> ReceiverReply:
        import hmac

        from emulator.client.webhook_receiver import ReceiverReply
        from emulator.resources.webhooks.deliveries import signature

        event = json.loads(request.body)
        if event["type"] == "webhook.ping":
            self.pings += 1
        else:
            sent_signature = request.headers.get("service-signature", "")
            is_genuine = hmac.compare_digest(signature(self.secret, request.body), sent_signature)
            self.received.append((event["created_at"], event["type"], is_genuine))
        return ReceiverReply()
