"""A shop that sells baskets and memberships: FastAPI, with one HTTP client for as long as it runs."""

import hashlib
import hmac
import json
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

MONTHLY = {"name": "Membership", "amount": 5000, "currency": "XAF", "interval": "month"}


class Buyer(BaseModel):
    """Who orders."""

    email: str
    name: str = "Awa Diop"


class Shop:
    """What the shop knows. ``secret`` is that of the webhook endpoint."""

    def __init__(self, url: str, key: str, secret: str) -> None:
        self.secret = secret
        self.payments = httpx.AsyncClient(base_url=f"{url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=30)
        self.orders: dict[str, dict] = {}
        self.members: dict[str, dict] = {}
        self.handled: set[str] = set()

    async def call(self, path: str, body: dict) -> dict:
        """Ask the payments service."""
        answer = await self.payments.post(path, json=body)
        if answer.is_error:
            raise HTTPException(502, answer.text)
        return answer.json()

    async def order(self, email: str, baskets: int) -> dict:
        """Begin an order; where the buyer pays it."""
        body = {
            "mode": "payment",
            "currency": "XAF",
            "success_url": "https://shop.example.com/thanks",
            "customer_email": email,
            "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": baskets}],
        }
        session = await self.call("/checkout-sessions/", body)
        self.orders[session["id"]] = {"id": session["id"], "status": "open"}
        return {"id": session["id"], "pay_at": session["url"]}

    async def join(self, buyer: Buyer, phone: str) -> dict:
        """Begin a membership, which is charged to the phone each month."""
        customer = await self.call("/customers/", {**buyer.model_dump(), "phone": phone})
        plan = await self.call("/subscription-plans/", MONTHLY)
        subscription = await self.call("/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
        return self.member(subscription["id"])

    def member(self, subscription: str) -> dict:
        """Return a member; the first payment may be reported before the answer to the request that made the subscription."""
        return self.members.setdefault(subscription, {"id": subscription, "status": "active", "payments": 0})

    def handle(self, event: dict) -> None:
        """Take in what happened. An event may arrive twice; the second time there is nothing left to do."""
        if event["id"] in self.handled:
            return
        self.handled.add(event["id"])
        thing = event["data"]["object"]
        match event["type"]:
            case "checkout.session.completed" if thing["id"] in self.orders:
                self.orders[thing["id"]]["status"] = "paid"
            case "payment_intent.succeeded" if order := self.orders.get(thing["checkout_session"]):
                order |= {"transaction": thing["transaction"], "amount": thing["amount"]}
            case "refund.succeeded":
                for order in self.orders.values():
                    if order.get("transaction") == thing["transaction"]:
                        order["status"] = "refunded"
            case "invoice.paid" if thing["subscription"]:
                member = self.member(thing["subscription"])
                member |= {"status": "active", "payments": member["payments"] + 1}
            case "subscription.payment_failed":
                self.member(thing["id"])["status"] = thing["status"]


def create_app(url: str, key: str, secret: str) -> FastAPI:
    """Return the shop as an application. ``url`` and ``key`` are those of the payments service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        app.state.shop = Shop(url, key, secret)
        yield
        await app.state.shop.payments.aclose()

    app = FastAPI(lifespan=lifespan)

    @app.post("/orders", status_code=201)
    async def order(request: Request, buyer: Buyer, baskets: int = 1) -> dict:
        return await request.app.state.shop.order(buyer.email, baskets)

    @app.get("/orders/{id}")
    async def show_order(request: Request, id: str) -> dict:
        return request.app.state.shop.orders[id]

    @app.post("/orders/{id}/refund")
    async def refund(request: Request, id: str) -> dict:
        shop = request.app.state.shop
        body = {"transaction": shop.orders[id]["transaction"], "amount": shop.orders[id]["amount"]}
        return await shop.call("/refunds/", body)

    @app.post("/members", status_code=201)
    async def join(request: Request, buyer: Buyer, phone: str) -> dict:
        return await request.app.state.shop.join(buyer, phone)

    @app.get("/members/{id}")
    async def show_member(request: Request, id: str) -> dict:
        return request.app.state.shop.member(id)

    @app.post("/webhooks")
    async def webhooks(request: Request) -> None:
        body = await request.body()
        expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers.get("service-signature", "").encode(), expected.encode()):
            raise HTTPException(401)
        request.app.state.shop.handle(json.loads(body))

    return app
