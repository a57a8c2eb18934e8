"""Four days at the ferry: of four passengers one never pays, and one gets the money back."""

import json
import os
import sys
from http.server import ThreadingHTTPServer
from threading import Thread
from urllib.request import Request, urlopen

import ferry

PAYS, TOO_LITTLE_MONEY = "+24177000000", "+24177000001"


def control(path, body):
    """Call the sandbox; an advance of the clock waits for webhooks, so it has time."""
    headers = {
        "Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_KEY']}",
        "Content-Type": "application/json",
    }
    url = os.environ["PAYMENTS_EMULATOR_URL"] + path
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=120) as response:
        return json.load(response)


def advance(time):
    control("/_emulator/clock/advance", {"by": time})


def pay(session, phone):
    method = {"type": "mobile_money", "phone": phone}
    paid = control(f"/_emulator/checkout-sessions/{session}/pay", {"method": method})
    advance("1s")
    return paid["status"]


def come_back(home, session):
    urlopen(f"{home}thanks?session={session}", timeout=120).close()


def four_days():
    server = ThreadingHTTPServer(("127.0.0.1", 0), ferry.Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    events = ["checkout.session.completed", "payment_intent.failed", "refund.succeeded"]
    endpoint = {"name": "Ferry", "url": f"{home}webhooks", "events": events}
    ferry.Receiver.secret = control("/v1/webhooks/", endpoint)["secret"]

    awa, ben, _, dia = (ferry.book(name, home) for name in ("awa", "ben", "cyr", "dia"))
    pay(awa, TOO_LITTLE_MONEY)
    # Only Awa comes back from the payment page; the others close the window.
    if pay(awa, PAYS) == "succeeded":
        come_back(home, awa)
    pay(ben, PAYS)
    pay(dia, PAYS)
    advance("2h")
    ferry.night()
    with ferry.database() as data:
        [status] = data.execute("SELECT status FROM bookings WHERE passenger = 'ben'").fetchone()
    if status == "paid":
        ferry.cancel("ben")
    advance("4d")
    ferry.night()
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    for variables in sys.stdin if "PAYMENTS_EMULATOR_CASES" in os.environ else ["{}"]:
        os.environ.update(json.loads(variables))
        four_days()
        print('{"done": true}', flush=True)
