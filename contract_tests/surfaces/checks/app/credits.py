"""A shop sells ten credits each to two buyers by hosted checkout. Its data outlive a kill.

``python credits.py MISTAKE`` plays both sales, from wherever it was ended, with one mistake of
people (``test_wrong_shops`` has them all) or with none (``sound``). ``--print`` shows what it has
sold.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
import uuid
from contextlib import closing
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS sales (
    buyer TEXT PRIMARY KEY, session TEXT, grants INTEGER DEFAULT 0, status TEXT DEFAULT 'open'
);
CREATE TABLE IF NOT EXISTS handled (event TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS totals (name TEXT PRIMARY KEY, sold INTEGER);
INSERT OR IGNORE INTO totals VALUES ('credits', 0);
"""

GAP = 0.03
"""Seconds between a look and what is done about it, in the shops that do not do both at once."""

TOO_LITTLE_MONEY = "+24177000001"

mistake = sys.argv[1]
in_memory, lock = set(), Lock()


def database():
    connection = sqlite3.connect(
        Path(os.environ["PAYMENTS_EMULATOR_FOLDER"]) / "shop.sqlite", timeout=30
    )
    connection.isolation_level = None
    connection.executescript(TABLES)
    return closing(connection)


def fact(name, make):
    with database() as data:
        row = data.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if row is None:
            row = (json.dumps(make()),)
            data.execute("INSERT INTO facts VALUES (?, ?)", (name, row[0]))
    return json.loads(row[0])


def is_final(error):
    if isinstance(error, HTTPError):
        final = {"a 429 is final": 429, "a 500 is final": 500}.get(mistake)
        return error.code == final or (error.code < 500 and error.code != 429)
    return mistake == "never again" or (
        mistake == "trusts each body" and isinstance(error, ValueError)
    )


def call(method, path, body=None, key=None):
    headers = {
        "Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_KEY']}",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body).encode()
    limit = None if mistake == "waits for ever" or "_emulator" in path else 5
    for pause in (1, 2, 4, None):
        if key and mistake != "keyless":
            headers["Idempotency-Key"] = str(uuid.uuid4()) if mistake == "another key" else key
        try:
            request = Request(
                os.environ["PAYMENTS_EMULATOR_URL"] + path, data, headers, method=method
            )
            with urlopen(request, timeout=limit) as response:
                return json.load(response)
        except (OSError, HTTPException, ValueError) as error:
            if mistake == "swallows errors":
                return {}
            if pause is None or is_final(error):
                raise
            wait = float(getattr(error, "headers", {}).get("Retry-After", pause))
            time.sleep(0 if mistake == "hurries" else wait)
    return None


def grant(session, only=""):
    with database() as data:
        data.execute(
            f"UPDATE sales SET grants = grants + 1, status = 'paid' WHERE session = ?{only}",
            (session,),
        )


def grant_once(session):
    grant(session, " AND grants = 0")


def is_granted(session):
    with database() as data:
        return (
            data.execute("SELECT grants FROM sales WHERE session = ?", (session,)).fetchone()[0] > 0
        )


def is_new(event):
    """Whether this event was never handled; it is from now on."""
    with database() as data:
        return (
            data.execute("INSERT OR IGNORE INTO handled VALUES (?)", (event["id"],)).rowcount == 1
        )


def status_of(session):
    return call("GET", f"/v1/checkout-sessions/{session}/").get("status")


def is_complete(session):
    return status_of(session) == "complete"


def count_a_sale():
    """Read the number of sold credits and write it again: a second sale between is forgotten."""
    with database() as data:
        [sold] = data.execute("SELECT sold FROM totals").fetchone()
        time.sleep(GAP)
        data.execute("UPDATE totals SET sold = ?", (sold + 10,))


def grant_by_memory(event, session):
    with lock:
        if event["id"] not in in_memory:
            in_memory.add(event["id"])
            grant(session)


def grant_by_event(event, session):
    if is_new(event):
        grant(session)


COMPLETED = {
    "handles twice": lambda event, session: grant(session),
    "looks first": lambda event, session: is_granted(session) or [time.sleep(GAP), grant(session)],
    "looks at the service first": lambda event, session: (
        not is_granted(session) and is_complete(session) and grant(session)
    ),
    "remembers in memory": grant_by_memory,
    "knows events only": grant_by_event,
    "forgets after a day": grant_by_event,
    "the page grants, too": grant_by_event,
    "marks before work": lambda event, session: (
        is_new(event) and is_complete(session) and grant_once(session)
    ),
    "counts side by side": lambda event, session: (
        is_new(event) and [count_a_sale(), grant_once(session)]
    ),
}
"""What is done with a paid session, by mistake."""


def handle(event):
    thing = event["data"]["object"]
    if event["type"] == "checkout.session.completed":
        COMPLETED.get(mistake, lambda event, session: grant_once(session))(event, thing["id"])
    else:
        only = "" if mistake == "undoes" else " AND status = 'open'"
        with database() as data:
            data.execute(
                f"UPDATE sales SET status = 'declined' WHERE session = ?{only}",
                (thing["checkout_session"],),
            )


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event = json.loads(body)
        signature = self.headers.get("Service-Signature", "")
        status = 200
        if event["type"] != "webhook.ping":
            expected = hmac.new(
                fact("endpoint", dict)["secret"].encode(), body, hashlib.sha256
            ).hexdigest()
            if mistake != "no signature" and not hmac.compare_digest(
                signature.encode(), expected.encode()
            ):
                status = 401
            elif mistake == "works afterwards":
                Thread(target=lambda: [time.sleep(GAP), handle(event)], daemon=False).start()
            else:
                handle(event)
        self.respond(status)

    def do_GET(self):
        """The page to which the buyer returns."""
        [session] = parse_qs(urlsplit(self.path).query)["session"]
        paid = {
            "the page grants, too": ["complete"],
            "processing is paid": ["processing", "complete"],
        }.get(mistake, [])
        if mistake == "the redirect is a payment" or (paid and status_of(session) in paid):
            grant_once(session)
        self.respond(200)

    def respond(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        """Nothing: the output is the shop's."""


NEVER_ASKS = ("never asks", "works afterwards", "marks before work", "undoes")


def reconcile(session):
    if mistake not in NEVER_ASKS and not is_granted(session) and is_complete(session):
        grant_once(session)


def order(buyer, page):
    basket = {"description": "Ten credits", "unit_amount": 5000, "quantity": 1}
    body = {
        "mode": "payment",
        "currency": "XAF",
        "customer_email": f"{buyer}@example.com",
        "line_items": [basket],
    }
    session = call(
        "POST", "/v1/checkout-sessions/", {**body, "success_url": page}, f"order-{buyer}"
    ).get("id")
    with database() as data:
        data.execute("INSERT OR IGNORE INTO sales (buyer, session) VALUES (?, ?)", (buyer, session))
    return session


def pay(session, method, attempt=1):
    """Make this attempt at a payment as a buyer; None if made before the shop was ended."""
    made = call("GET", "/_emulator/objects?kind=payment_intent")["data"]
    if sum(intent["checkout_session"] == session for intent in made) >= attempt:
        return None
    return call("POST", f"/_emulator/checkout-sessions/{session}/pay", {"method": method})["status"]


def play():
    """Two sales, each step of which is done once, however often the shop was started."""
    port = fact("port", lambda: 0)
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    with database() as data:
        data.execute("UPDATE facts SET value = ? WHERE name = 'port'", (str(server.server_port),))
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    endpoint = {
        "name": "Shop",
        "url": url,
        "events": ["checkout.session.completed", "payment_intent.failed"],
    }
    fact("endpoint", lambda: call("POST", "/v1/webhooks/", endpoint))
    thanks = f"{url}thanks?session={{CHECKOUT_SESSION_ID}}"
    phone = {"type": "mobile_money", "phone": "+24177000000"}
    sessions = [
        fact(f"session of {buyer}", lambda buyer=buyer: order(buyer, thanks))
        for buyer in ("awa", "ben")
    ]
    pay(sessions[0], {**phone, "phone": TOO_LITTLE_MONEY})
    for session, attempt in zip(sessions, (2, 1), strict=True):
        status = pay(session, phone, attempt)
        if status not in (None, "succeeded") and mistake == "asks for money again":
            pay(order("ben-again", thanks), phone)
        elif status == "succeeded":
            urlopen(thanks.replace("{CHECKOUT_SESSION_ID}", session), timeout=60).close()
    call("POST", "/_emulator/clock/advance", {"by": "1d"})
    if mistake == "forgets after a day":
        with database() as data:
            data.execute("DELETE FROM handled")
    call("POST", "/_emulator/clock/advance", {"by": "1d"})
    for session in sessions:
        reconcile(session)


if __name__ == "__main__":
    if "--print" in sys.argv:
        with database() as data:
            sales = data.execute(
                "SELECT buyer, 10 * grants, status FROM sales ORDER BY buyer"
            ).fetchall()
            print(
                json.dumps(
                    {"sales": sales, "sold": data.execute("SELECT sold FROM totals").fetchone()[0]}
                )
            )
    else:
        play()
