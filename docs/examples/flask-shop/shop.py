"""A shop that sells baskets: Flask."""

import hashlib
import hmac

import httpx
from flask import Flask, abort, jsonify, request


def create_app(url, key, secret):
    """Make the shop. ``url`` and ``key`` are those of the payments service, ``secret`` is that of the webhook endpoint."""
    app = Flask(__name__)
    payments = httpx.Client(base_url=f"{url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=30)
    orders = {}

    @app.post("/orders")
    def order():
        body = {
            "mode": "payment",
            "currency": "XAF",
            "success_url": "https://shop.example.com/thanks",
            "customer_email": request.json["email"],
            "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": 1}],
        }
        session = payments.post("/checkout-sessions/", json=body).raise_for_status().json()
        orders[session["id"]] = "open"
        return jsonify(id=session["id"], pay_at=session["url"]), 201

    @app.get("/orders/<id>")
    def show(id):
        return jsonify(status=orders[id])

    @app.post("/webhooks")
    def webhooks():
        expected = hmac.new(secret.encode(), request.get_data(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers.get("Service-Signature", "").encode(), expected.encode()):
            abort(401)
        event = request.json
        if event["type"] == "checkout.session.completed":
            orders[event["data"]["object"]["id"]] = "paid"
        return ""

    return app
