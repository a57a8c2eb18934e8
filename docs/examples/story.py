"""A day at a shop that runs as a server, for ``test app``: ``python story.py SHOWS COMMAND``.

COMMAND serves the shop on the port in PORT, or in its word ``{port}``; SHOWS is the path of an
order without its id. With ``--restart`` the shop and the day are killed as well: then both go on
where they were.
"""

import json
import os
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx

from emulator.testing import Emulator

TOO_LITTLE_MONEY = "+24177000001"


class PingReceiver(BaseHTTPRequestHandler):
    """Stands in for the shop until there is a secret for it."""

    def do_POST(self):
        self.send_response(200)
        self.end_headers()


def endpoint(payments, file):
    """Return port and secret of the webhook endpoint, which is made once, whatever happens."""
    if not file.exists():
        # Not a free port of the system's choice, which another program may get while the shop is
        # dead.
        with HTTPServer(("127.0.0.1", 20000 + os.getpid() % 10000), PingReceiver) as receiver:
            Thread(target=receiver.handle_request).start()
            events = ["checkout.session.completed", "payment_intent.failed"]
            url = f"http://127.0.0.1:{receiver.server_port}/webhooks"
            made = payments.api.post(
                "/v1/webhooks/", {"name": "Shop", "url": url, "events": events}
            )
        file.write_text(json.dumps([receiver.server_port, made["secret"]]))
    return json.loads(file.read_text())


def ask(shop, method, path, form=None):
    """Return the answer of the shop, once it is there."""
    for _attempt in range(600):
        try:
            return shop.request(method, path, json=form)
        except httpx.ConnectError:
            time.sleep(0.1)
    raise SystemExit("the shop does not start")


def day(payments, shop, shows):
    """Of two orders one is paid at the second attempt, nobody pays the other."""
    ids = []
    for form in ("first", "second"):
        # A browser can send anything, a price too.
        wish = {"email": "awa@example.com", "baskets": 1, "price": 100, "form": form}
        ids.append(ask(shop, "POST", "/orders", wish).json()["pay_at"].rpartition("/")[2])
    tried = len(payments.api.get("/_emulator/objects", kind="payment_intent")["data"])
    for phone in (TOO_LITTLE_MONEY, "+24177000000")[tried:]:
        amount = payments.pay(ids[0], phone=phone)["amount"]
        assert amount == 2000, f"the buyer paid {amount} for what costs 2000"
    # What was delayed arrives, then the buyers look at their orders.
    payments.clock.advance("2d")
    statuses = [ask(shop, "GET", shows + id).json()["status"] for id in ids]
    assert statuses == ["paid", "open"], f"a paid and an open order are {statuses}"


def play(payments, shows, command):
    """Serve the shop in its own process while the day lasts."""
    folder = Path(os.environ["PAYMENTS_EMULATOR_FOLDER"])
    payments.clock.freeze()
    port, secret = endpoint(payments, folder / "endpoint.json")
    settings = {
        "PAYMENTS_URL": payments.url,
        "PAYMENTS_KEY": payments.key,
        "PAYMENTS_WEBHOOK_SECRET": secret,
        "PORT": str(port),
        "SHOP_BOOK": str(folder / "book"),
    }
    words = [word.replace("{port}", str(port)) for word in command]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, env={**os.environ, **settings}, **silent) as served:
        try:
            day(payments, httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60), shows)
        finally:
            served.terminate()


if __name__ == "__main__":
    # With `test app --reuse` one case after another comes, a line with the variables of each.
    for variables in sys.stdin if "PAYMENTS_EMULATOR_CASES" in os.environ else ["{}"]:
        os.environ.update(json.loads(variables))
        with Emulator() as payments:
            play(payments, sys.argv[1], sys.argv[2:])
        print('{"done": true}', flush=True)
