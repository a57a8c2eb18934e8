"""A small web shop: a WSGI application that sells baskets; webhooks say that they are paid."""

import hashlib
import hmac
import json
import os
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server

PRICE = 2000
"""Of a basket, in francs."""

PAUSES = (1, 2, 4)
"""Seconds before each further attempt at a request."""


class Shop:
    """``url`` and ``key`` belong to the payments service, ``secret`` to the webhook endpoint."""

    def __init__(self, url, key, secret):
        self.url, self.key, self.secret = url, key, secret
        self.orders = {}
        self.handled = set()
        self.pauses = PAUSES

    def order(self, email, baskets):
        """Begin an order; where the buyer pays it."""
        session = self._call(
            "POST",
            "/v1/checkout-sessions/",
            {
                "mode": "payment",
                "currency": "XAF",
                "success_url": "https://shop.example.com/thanks",
                "customer_email": email,
                "line_items": [
                    {"description": "Basket", "unit_amount": PRICE, "quantity": baskets}
                ],
            },
        )
        self.orders[session["id"]] = {
            "email": email,
            "baskets": baskets,
            "status": "open",
            "shipped": 0,
        }
        return session["url"]

    def thank(self, id):
        """Serve the page to which the buyer returns, which proves nothing: the order's status."""
        self._look_up(id)
        return self.orders[id]["status"]

    def reconcile(self):
        """Every night: look up what no webhook has settled."""
        for id, order in self.orders.items():
            if order["status"] != "paid":
                self._look_up(id)

    def refund(self, id, amount):
        """Pay back a part of an order. A second click on the button pays nothing more."""
        session = self._call("GET", f"/v1/checkout-sessions/{id}/")
        intent = self._call("GET", f"/v1/payment-intents/{session['payment_intent']}/")
        body = {"transaction": intent["transaction"], "amount": amount}
        return self._call("POST", "/v1/refunds/", body, key=f"refund-{id}-{amount}")

    def _look_up(self, id):
        if self._call("GET", f"/v1/checkout-sessions/{id}/")["status"] == "complete":
            self._ship(self.orders[id])

    def __call__(self, environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        status, response = self._route(environ, environ["wsgi.input"].read(length))
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(response).encode()]

    def _route(self, environ, body):
        match environ["REQUEST_METHOD"], environ["PATH_INFO"]:
            case "POST", "/orders":
                wish = json.loads(body)
                return "201 Created", {"pay_at": self.order(wish["email"], wish["baskets"])}
            case "GET", path if path.startswith("/thanks/"):
                return "200 OK", {"status": self.thank(path.removeprefix("/thanks/"))}
            case "POST", "/webhooks":
                return self._hear(environ.get("HTTP_SERVICE_SIGNATURE", ""), body)
        return "404 Not Found", {}

    def _hear(self, signature, body):
        expected = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        # Bytes: the comparison of texts fails on letters that only a forger sends.
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return "401 Unauthorized", {}
        event = json.loads(body)
        # An event may arrive twice; the second time there is nothing left to do.
        if event["id"] not in self.handled:
            self.handled.add(event["id"])
            self._handle(event["type"], event["data"]["object"])
        return "200 OK", {}

    def _handle(self, type, thing):
        order = self.orders.get(thing.get("checkout_session") or thing["id"])
        if (
            order
            and type == "checkout.session.completed"
            and thing["amount_total"] == order["baskets"] * PRICE
        ):
            order["customer"] = thing["customer"]
            self._ship(order)
        # Events may come in any order: a paid order stays paid.
        if order and type == "payment_intent.failed" and order["status"] != "paid":
            order["status"] = "declined"

    def _ship(self, order):
        if order["status"] != "paid":
            order["status"] = "paid"
            order["shipped"] += order["baskets"]

    def _call(self, method, path, body=None, key=None):
        """Return the response to a request; send the same one again if its outcome is unknown."""
        key = key or str(uuid.uuid4())
        for pause in self.pauses:
            try:
                return self._send(method, path, body, key)
            except HTTPError as error:
                if error.code < 500 and error.code != 429:
                    raise
                time.sleep(float(error.headers.get("Retry-After", pause)))
            except (OSError, HTTPException, ValueError):
                time.sleep(pause)
        return self._send(method, path, body, key)

    def _send(self, method, path, body, key):
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        data = None if body is None else json.dumps(body).encode()
        try:
            with urlopen(
                Request(self.url + path, data, headers, method=method), timeout=10
            ) as response:
                return json.load(response)
        except HTTPError as error:
            error.close()
            raise


if __name__ == "__main__":
    shop = Shop(
        os.environ["PAYMENTS_URL"],
        os.environ["PAYMENTS_KEY"],
        os.environ["PAYMENTS_WEBHOOK_SECRET"],
    )
    make_server("127.0.0.1", 8000, shop).serve_forever()
