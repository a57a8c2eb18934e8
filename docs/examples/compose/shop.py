"""A shop that registers its own webhook receiver, on the standard library."""

import hashlib
import hmac
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

PAYMENTS, KEY, OURS = os.environ["PAYMENTS_URL"], os.environ["PAYMENTS_KEY"], os.environ["SHOP_URL"]

orders = {}
secrets = []


def call(path, body):
    """Ask the payments service."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    with urlopen(
        Request(f"{PAYMENTS}/v1{path}", json.dumps(body).encode(), headers), timeout=10
    ) as response:
        return json.load(response)


def order():
    """Begin an order; the id of its checkout session."""
    line = {"description": "Basket", "unit_amount": 2000, "quantity": 1}
    body = {
        "currency": "XAF",
        "success_url": "https://shop.example.com/thanks",
        "line_items": [line],
    }
    session = call("/checkout-sessions/", body)
    orders[session["id"]] = "open"
    return {"id": session["id"], "pay_at": session["url"]}


def hear(body, signature):
    """Take in an event; the status it is answered with."""
    event = json.loads(body)
    # Sent while the endpoint is registered, signed with a secret that only the answer to that will
    # tell.
    if event["type"] == "webhook.ping":
        return 200
    expected = hmac.new(secrets[0].encode(), body, hashlib.sha256).hexdigest()
    # Bytes: the comparison of texts fails on letters that only a forger sends.
    if not hmac.compare_digest(signature.encode(), expected.encode()):
        return 401
    if event["type"] == "checkout.session.completed":
        orders[event["data"]["object"]["id"]] = "paid"
    return 200


class Handler(BaseHTTPRequestHandler):
    """GET and POST /orders, POST /webhooks."""

    def do_GET(self):
        # The health check asks here: the shop is ready once its receiver is registered.
        self.respond(200 if secrets else 503, orders)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/orders":
            self.respond(201, order())
        else:
            self.respond(hear(body, self.headers.get("service-signature", "")), {})

    def respond(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


if __name__ == "__main__":
    server = ThreadingHTTPServer(("0.0.0.0", int(os.environ["SHOP_PORT"])), Handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    endpoint = call("/webhooks/", {"name": "Shop", "url": f"{OURS}/webhooks", "events": ["*"]})
    secrets.append(endpoint["secret"])
    # Once the main thread has ended, Python starts no thread for a request.
    serving.join()
