"""A small web shop: a WSGI application that sells baskets and hears by webhook that they are paid."""

import hashlib
import hmac
import json
import os
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server

PRICE = 2000
"""Of a basket, in francs."""


class Shop:
    """``url`` and ``key`` are those of the payments service, ``secret`` is that of the webhook endpoint."""

    def __init__(self, url, key, secret):
        self.url, self.key, self.secret = url, key, secret
        self.orders = {}
        self.handled = set()

    def order(self, email, baskets):
        """Begin an order; where the buyer pays it."""
        session = self._call(
            "/v1/checkout-sessions/",
            {
                "mode": "payment",
                "currency": "XAF",
                "success_url": "https://shop.example.com/thanks",
                "customer_email": email,
                "line_items": [{"description": "Basket", "unit_amount": PRICE, "quantity": baskets}],
            },
        )
        self.orders[session["id"]] = {"email": email, "baskets": baskets, "status": "open"}
        return session["url"]

    def __call__(self, environ, start_response):
        length = int(environ.get("CONTENT_LENGTH") or 0)
        status, answer = self._route(environ, environ["wsgi.input"].read(length))
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]

    def _route(self, environ, body):
        match environ["REQUEST_METHOD"], environ["PATH_INFO"]:
            case "POST", "/orders":
                wish = json.loads(body)
                return "201 Created", {"pay_at": self.order(wish["email"], wish["baskets"])}
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
        order = self.orders.get(thing["id"])
        if order and type == "checkout.session.completed" and thing["amount_total"] == order["baskets"] * PRICE:
            order |= {"status": "paid", "customer": thing["customer"]}

    def _call(self, path, body):
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with urlopen(Request(self.url + path, json.dumps(body).encode(), headers), timeout=10) as answer:
            return json.load(answer)


if __name__ == "__main__":
    shop = Shop(os.environ["PAYMENTS_URL"], os.environ["PAYMENTS_KEY"], os.environ["PAYMENTS_WEBHOOK_SECRET"])
    make_server("127.0.0.1", 8000, shop).serve_forever()
