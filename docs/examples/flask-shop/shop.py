"""A shop that sells baskets: Flask, with its orders in an SQLite file, so that it continues after being killed."""

import hashlib
import hmac
import os
import sqlite3
import time
import uuid
from contextlib import closing

import httpx
from flask import Flask, abort, jsonify, request

PAUSES = (1, 2, 4)
"""Seconds before each further attempt at a request."""


class Shop:
    """``url`` and ``key`` are those of the payments service."""

    def __init__(self, url, key, file):
        self.payments = httpx.Client(base_url=f"{url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=30)
        self.file = file
        self.execute("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, url TEXT, form TEXT UNIQUE, status TEXT)")

    def execute(self, sql, *values):
        """Run a statement on the orders; the first row that it finds."""
        with closing(sqlite3.connect(self.file, isolation_level=None, timeout=30)) as orders:
            return orders.execute(sql, values).fetchone()

    def order(self, email, form):
        """Begin an order. A form that is sent again, by a second click or after a crash, is the same order."""
        # The service knows the form for a day, by its Idempotency-Key.
        if known := self.execute("SELECT id, url FROM orders WHERE form = ?", form):
            return known
        body = {
            "mode": "payment",
            "currency": "XAF",
            "success_url": "https://shop.example.com/thanks",
            "customer_email": email,
            "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": 1}],
        }
        session = self.call("POST", "/checkout-sessions/", body, key=form)
        self.execute("INSERT OR IGNORE INTO orders VALUES (?, ?, ?, 'open')", session["id"], session["url"], form)
        return session["id"], session["url"]

    def status(self, id):
        """Return the status of an order. A webhook may be lost: what is not known to be paid is looked up."""
        [status] = self.execute("SELECT status FROM orders WHERE id = ?", id)
        if status == "open" and self.call("GET", f"/checkout-sessions/{id}/")["status"] == "complete":
            return self.pay(id)
        return status

    def pay(self, id):
        """Note that an order is paid."""
        self.execute("UPDATE orders SET status = 'paid' WHERE id = ?", id)
        return "paid"

    def call(self, method, path, body=None, key=None):
        """Ask the payments service; the request is sent again, as the same one, if its outcome is unknown."""
        key = key or str(uuid.uuid4())
        for pause in PAUSES:
            try:
                return self.send(method, path, body, key)
            except httpx.HTTPStatusError as error:
                if error.response.status_code < 500 and error.response.status_code != 429:
                    raise
                time.sleep(float(error.response.headers.get("Retry-After", pause)))
            except (httpx.RequestError, ValueError):
                time.sleep(pause)
        return self.send(method, path, body, key)

    def send(self, method, path, body, key):
        """Send a request once."""
        answer = self.payments.request(method, path, json=body, headers={"Idempotency-Key": key})
        return answer.raise_for_status().json()


def create_app(url, key, secret, file):
    """Make the shop. ``secret`` is that of the webhook endpoint, ``file`` has the orders."""
    app = Flask(__name__)
    shop = Shop(url, key, file)

    @app.post("/orders")
    def order():
        id, url = shop.order(request.json["email"], request.json.get("form"))
        return jsonify(id=id, pay_at=url), 201

    @app.get("/orders/<id>")
    def show(id):
        return jsonify(status=shop.status(id))

    @app.post("/webhooks")
    def webhooks():
        expected = hmac.new(secret.encode(), request.get_data(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers.get("Service-Signature", "").encode(), expected.encode()):
            abort(401)
        event = request.json
        if event["type"] == "checkout.session.completed":
            shop.pay(event["data"]["object"]["id"])
        return ""

    return app


if __name__ == "__main__":
    names = ("PAYMENTS_URL", "PAYMENTS_KEY", "PAYMENTS_WEBHOOK_SECRET", "SHOP_BOOK")
    create_app(*(os.environ[name] for name in names)).run(port=int(os.environ["PORT"]))
