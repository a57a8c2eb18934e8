"""A shop that sells ten credits by hosted checkout, and keeps its data in a folder, so that it survives being killed.

``python credits.py MISTAKE`` plays one sale, from wherever it was ended, with one of the five mistakes that grant the
credits of a payment twice (wasp-lang/open-saas#688), or with none (``sound``). ``--print`` shows the credits.
"""

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
from contextlib import closing, suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

MISTAKES = ("fulfilled", "sequential", "parallel", "restart", "reissued")

TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS sales (session TEXT PRIMARY KEY, grants INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS handled (event TEXT PRIMARY KEY);
"""

mistake = sys.argv[1]
in_memory, lock = set(), Lock()


def database():
    found = sqlite3.connect(Path(os.environ["PAYMENTS_EMULATOR_FOLDER"]) / "shop.sqlite", timeout=30)
    found.isolation_level = None
    found.executescript(TABLES)
    return closing(found)


def fact(name, make):
    """Something that is found out once, whatever happens."""
    with database() as data:
        row = data.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if row is None:
            row = (json.dumps(make()),)
            data.execute("INSERT INTO facts VALUES (?, ?)", (name, row[0]))
    return json.loads(row[0])


def call(method, path, body=None, key=None):
    headers = {"Authorization": f"Bearer {os.environ['PAYMENTS_EMULATOR_KEY']}", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    for _ in range(5):
        try:
            request = Request(os.environ["PAYMENTS_EMULATOR_URL"] + path, data, headers, method=method)
            with urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except HTTPError as error:
            error.close()
            if error.code < 500 and error.code != 429:
                raise
            time.sleep(float(error.headers.get("Retry-After", 1)))
        except (OSError, HTTPException, ValueError):
            time.sleep(1)
    raise SystemExit("the service does not answer")


def grant(session):
    with database() as data:
        data.execute("UPDATE sales SET grants = grants + 1 WHERE session = ?", (session,))


def grant_once(session):
    """Ten credits for a payment that has none yet, in one statement."""
    with database() as data:
        data.execute("UPDATE sales SET grants = 1 WHERE session = ? AND grants = 0", (session,))


def is_new(event):
    """Whether this event was never handled; it is from now on."""
    with database() as data:
        return data.execute("INSERT OR IGNORE INTO handled VALUES (?)", (event,)).rowcount == 1


def handle(event):
    session = event["data"]["object"]["id"]
    if mistake == "sequential":
        grant(session)
    elif mistake == "parallel":
        with database() as data:
            known = data.execute("SELECT 1 FROM handled WHERE event = ?", (event["id"],)).fetchone()
        if not known and call("GET", f"/v1/checkout-sessions/{session}/")["status"] == "complete":
            grant(session)
            is_new(event["id"])
    elif mistake == "restart":
        with lock:
            if event["id"] not in in_memory:
                in_memory.add(event["id"])
                grant(session)
    elif mistake in ("reissued", "fulfilled"):
        if is_new(event["id"]):
            grant(session)
    else:
        grant_once(session)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        event = json.loads(body)
        signature = self.headers.get("Service-Signature", "")
        if event["type"] != "webhook.ping":
            expected = hmac.new(fact("endpoint", dict)["secret"].encode(), body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(signature.encode(), expected.encode()):
                self.answer(401)
                return
            if event["type"] == "checkout.session.completed":
                handle(event)
        self.answer(200)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        """Nothing: the output is the shop's."""


def reconcile(session):
    if call("GET", f"/v1/checkout-sessions/{session}/")["status"] == "complete":
        grant_once(session)


def play():
    """One sale, each step of which is done once, however often the shop was started."""
    port = fact("port", lambda: 0)
    server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    with database() as data:
        data.execute("UPDATE facts SET value = ? WHERE name = 'port'", (str(server.server_port),))
    Thread(target=server.serve_forever, daemon=True).start()
    endpoint = {
        "name": "Shop",
        "url": f"http://127.0.0.1:{server.server_port}/",
        "events": ["checkout.session.completed"],
    }
    fact("endpoint", lambda: call("POST", "/v1/webhooks/", endpoint))
    basket = {"description": "Ten credits", "unit_amount": 5000, "quantity": 1}
    order = {"mode": "payment", "currency": "XAF", "success_url": "https://saas.example.com", "line_items": [basket]}
    session = fact("session", lambda: call("POST", "/v1/checkout-sessions/", order, "order-1")["id"])
    with database() as data:
        data.execute("INSERT OR IGNORE INTO sales (session) VALUES (?)", (session,))
    with suppress(HTTPError):  # it was paid before the shop was ended
        call("POST", f"/_emulator/checkout-sessions/{session}/pay", {})
    if mistake == "fulfilled":  # the page to which the buyer returns
        reconcile(session)
    call("POST", "/_emulator/clock/advance", {"by": "2d"})
    reconcile(session)


if __name__ == "__main__":
    if "--print" in sys.argv:
        with database() as data:
            print(3 + 10 * data.execute("SELECT grants FROM sales").fetchone()[0])
    else:
        play()
