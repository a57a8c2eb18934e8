"""A ferry sells tickets by checkout sessions: ``python ferry.py PORT`` serves it.

``BUG=NAME[,NAME]`` in the environment switches planted bugs on; corpus.yaml lists them.
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
from datetime import UTC, datetime, timedelta, timezone
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

BUGS = set(os.environ.get("BUG", "").split(","))
PRICE = 6000
TIME_LIMIT = 5
PAUSES = (1, 2, 4)
HARBOR = timezone(timedelta(hours=1))

TABLES = """
CREATE TABLE IF NOT EXISTS bookings (
    passenger TEXT PRIMARY KEY, session TEXT, status TEXT DEFAULT 'reserved',
    tickets INTEGER DEFAULT 0, valid_until TEXT, refund TEXT, paid_back INTEGER DEFAULT 0
);
CREATE TABLE IF NOT EXISTS days (day TEXT PRIMARY KEY, sold INTEGER);
CREATE TABLE IF NOT EXISTS handled (event TEXT PRIMARY KEY);
"""


def database():
    found = sqlite3.connect(Path(os.environ["PAYMENTS_EMULATOR_FOLDER"]) / "ferry.db", timeout=30)
    found.isolation_level = None
    found.executescript(TABLES)
    return closing(found)


# -- the client of the payments service


def is_final(error):
    if isinstance(error, HTTPError):
        finals = {429} if "429_is_final" in BUGS else set()
        return (error.code < 500 and error.code != 429) or error.code in finals
    return "never_again" in BUGS or (isinstance(error, ValueError) and "trusts_bodies" in BUGS)


def pause_after(error, planned):
    if isinstance(error, HTTPError) and "Retry-After" in error.headers:
        return 0 if "ignores_retry_after" in BUGS else float(error.headers["Retry-After"])
    return 0 if "no_pause" in BUGS else planned


def call(method, path, body=None, key=None):
    """Return a response's body; a request without a known outcome is sent again."""
    headers = {
        "Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_KEY']}",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body).encode()
    limit = None if "no_timeout" in BUGS else TIME_LIMIT
    for pause in (*PAUSES, None):
        if key and "no_key" not in BUGS:
            headers["Idempotency-Key"] = str(uuid.uuid4()) if "new_key_per_retry" in BUGS else key
        try:
            request = Request(
                os.environ["PAYMENTS_EMULATOR_URL"] + path, data, headers, method=method
            )
            with urlopen(request, timeout=limit) as response:
                return json.load(response)
        except (OSError, HTTPException, ValueError) as error:
            if pause is None or is_final(error):
                raise
            time.sleep(pause_after(error, pause))
    return None


# -- bookings


def book(passenger, home):
    """Reserve a place on the ferry; return the session in which the passenger pays."""
    body = {
        "mode": "payment",
        "currency": "XAF",
        "customer_email": f"{passenger}@example.com",
        "success_url": f"{home}thanks?session={{CHECKOUT_SESSION_ID}}",
        "line_items": [{"description": "Ferry ticket", "unit_amount": PRICE, "quantity": 1}],
    }
    session = call("POST", "/v1/checkout-sessions/", body, f"booking-{passenger}")["id"]
    with database() as data:
        data.execute(
            "INSERT OR IGNORE INTO bookings (passenger, session) VALUES (?, ?)",
            (passenger, session),
        )
    return session


def valid_until(now):
    """Return the last moment of a ticket, which is valid for a year and a month."""
    if "leap_day" in BUGS:
        return now.replace(year=now.year + 1) + timedelta(days=31)
    if "end_of_month" in BUGS:
        return now.replace(month=now.month % 12 + 1, year=now.year + 1 + now.month // 12)
    return now + timedelta(days=366 + 31)


def day_of(instant):
    """Return the day of a sale at the harbor."""
    zone = None if "day_of_the_machine" in BUGS else HARBOR
    return instant.astimezone(zone).date().isoformat()


def issue(session, at, *, is_repeated=False):
    """Issue the ticket of a paid booking, once."""
    now = datetime.fromisoformat(at)
    change = "UPDATE bookings SET status = 'paid', tickets = tickets + 1 WHERE session = ?"
    with database() as data:
        if "check_then_insert" in BUGS:
            [status] = data.execute(
                "SELECT status FROM bookings WHERE session = ?", (session,)
            ).fetchone() or ["unknown"]
            time.sleep(0.05)
            is_due = status in ("reserved", "declined")
            is_issued = is_due and bool(data.execute(change, (session,)).rowcount)
        else:
            once = "" if is_repeated else " AND status IN ('reserved', 'declined')"
            is_issued = bool(data.execute(change + once, (session,)).rowcount)
        if is_issued:
            data.execute(
                "UPDATE bookings SET valid_until = ? WHERE session = ?",
                (valid_until(now).isoformat(), session),
            )
            count_sale(data, day_of(now))


def count_sale(data, day):
    data.execute("INSERT OR IGNORE INTO days VALUES (?, 0)", (day,))
    if "lost_update" in BUGS:
        [sold] = data.execute("SELECT sold FROM days WHERE day = ?", (day,)).fetchone()
        time.sleep(0.05)
        data.execute("UPDATE days SET sold = ? WHERE day = ?", (sold + 1, day))
    else:
        data.execute("UPDATE days SET sold = sold + 1 WHERE day = ?", (day,))


def decline(session):
    only = "" if "failed_is_final" in BUGS else " AND status = 'reserved'"
    with database() as data:
        data.execute("UPDATE bookings SET status = 'declined' WHERE session = ?" + only, (session,))


def look_up(session):
    """Ask the service about a booking, whatever a browser or a webhook says."""
    found = call("GET", f"/v1/checkout-sessions/{session}/")
    paid = {"complete"}
    if "processing_is_paid" in BUGS:
        paid.add("processing")
    if "open_is_paid" in BUGS:
        paid.add("open")
    if found["status"] in paid:
        issue(session, found["created_at"])
    return found["status"]


def thank(session):
    """Show the page to which the buyer comes back, which proves nothing."""
    if "trust_redirect" in BUGS:
        issue(session, datetime.now(UTC).isoformat())
    else:
        look_up(session)


def cancel(passenger):
    """Pay a ticket back. It is paid back when the operator has said so."""
    with database() as data:
        [session] = data.execute(
            "SELECT session FROM bookings WHERE passenger = ?", (passenger,)
        ).fetchone()
    intent = call("GET", f"/v1/checkout-sessions/{session}/")["payment_intent"]
    transaction = call("GET", f"/v1/payment-intents/{intent}/")["transaction"]
    body = {"transaction": transaction, "amount": PRICE}
    refund = call("POST", "/v1/refunds/", body, f"refund-{passenger}")["id"]
    with database() as data:
        data.execute("UPDATE bookings SET refund = ? WHERE passenger = ?", (refund, passenger))
        if "refund_at_request" in BUGS:
            data.execute("UPDATE bookings SET status = 'refunded' WHERE refund = ?", (refund,))
    ask_for_refund(refund)


def ask_for_refund(refund):
    found = call("GET", f"/v1/refunds/{refund}/")
    if found["status"] == "succeeded":
        paid_back(refund, found["amount"])


def paid_back(refund, amount):
    once = "" if "refund_adds" in BUGS else " AND paid_back = 0"
    with database() as data:
        data.execute(
            "UPDATE bookings SET status = 'refunded', paid_back = paid_back + ? WHERE refund = ?"
            + once,
            (amount, refund),
        )


def night():
    """Ask for everything that no webhook has said."""
    if "no_reconcile" in BUGS:
        return
    with database() as data:
        rows = data.execute("SELECT session, status, refund, paid_back FROM bookings").fetchall()
    for session, status, refund, amount in rows:
        if refund and not amount:
            ask_for_refund(refund)
        elif status in ("reserved", "declined") and look_up(session) == "expired":
            with database() as data:
                data.execute(
                    "UPDATE bookings SET status = 'released' WHERE session = ?", (session,)
                )


# -- webhooks


def is_new(event):
    with database() as data:
        insert = data.execute("INSERT OR IGNORE INTO handled VALUES (?)", (event["id"],))
        return insert.rowcount == 1


def handle(event):
    thing = event["data"]["object"]
    if event["type"] == "checkout.session.completed":
        is_repeated = bool({"no_dedupe", "dedupe_by_event"} & BUGS)
        if "dedupe_by_event" not in BUGS or is_new(event):
            issue(thing["id"], event["created_at"], is_repeated=is_repeated)
    elif event["type"] == "payment_intent.failed":
        decline(thing["checkout_session"])
    elif event["type"] == "refund.succeeded":
        paid_back(thing["id"], thing["amount"])


class Receiver(BaseHTTPRequestHandler):
    secret = os.environ.get("WEBHOOK_SECRET", "")

    def is_genuine(self, body):
        signature = self.headers.get("Service-Signature", "")
        expected = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        if "no_signature" in BUGS:
            return True
        if "shortened_signature" in BUGS:
            return bool(signature) and all(
                a == b for a, b in zip(signature, expected, strict=False)
            )
        return hmac.compare_digest(signature.encode(), expected.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event = json.loads(body)
        if event["type"] == "webhook.ping":
            self.respond(200)
        elif not self.is_genuine(body):
            self.respond(401)
        else:
            handle(event)
            self.respond(200)

    def do_GET(self):
        [session] = parse_qs(urlsplit(self.path).query).get("session", [""])
        thank(session)
        self.respond(200)

    def respond(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        """Print nothing: the output is the story's."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
