"""A shop that sells baskets and memberships: FastAPI, one HTTP client for its whole run."""

import asyncio
import hashlib
import hmac
import json
import uuid
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

MONTHLY = {"name": "Membership", "amount": 5000, "currency": "XAF", "interval": "month"}

EVENTS = (
    "checkout.session.completed",
    "refund.succeeded",
    "invoice.paid",
    "subscription.payment_failed",
    "subscription.canceled",
)

PAUSES = (1, 2, 4)
"""Seconds before each further attempt at a request."""


class Buyer(BaseModel):
    """Who orders."""

    email: str
    name: str = "Awa Diop"


class Shop:
    """The shop's state. It reads an event's object again: events come twice, late, out of order."""

    def __init__(self, url: str, key: str) -> None:
        self.payments = httpx.AsyncClient(
            base_url=f"{url}/v1", headers={"Authorization": f"Bearer {key}"}, timeout=10
        )
        self.orders: dict[str, dict] = {}
        self.members: dict[str, dict] = {}

    async def call(
        self, method: str, path: str, body: dict | None = None, key: str | None = None
    ) -> dict:
        """Call the payments service; send the same request again if its outcome is unknown."""
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        for pause in PAUSES:
            try:
                return await self.send(method, path, body, headers)
            except httpx.HTTPStatusError as error:
                if error.response.status_code < 500 and error.response.status_code != 429:
                    raise
                await asyncio.sleep(float(error.response.headers.get("Retry-After", pause)))
            except (httpx.RequestError, ValueError):
                await asyncio.sleep(pause)
        return await self.send(method, path, body, headers)

    async def send(self, method: str, path: str, body: dict | None, headers: dict) -> dict:
        """Send a request once."""
        response = await self.payments.request(method, path, json=body, headers=headers)
        return response.raise_for_status().json()

    async def order(self, email: str, baskets: int) -> dict:
        """Begin an order; where the buyer pays it."""
        body = {
            "mode": "payment",
            "currency": "XAF",
            "success_url": "https://shop.example.com/thanks",
            "customer_email": email,
            "line_items": [{"description": "Basket", "unit_amount": 2000, "quantity": baskets}],
        }
        session = await self.call("POST", "/checkout-sessions/", body)
        self.orders[session["id"]] = {"id": session["id"], "status": "open"}
        return {"id": session["id"], "pay_at": session["url"]}

    async def refund(self, id: str) -> dict:
        """Pay an order back. A second click on the button pays nothing more."""
        await self.look_up_order(id)
        return await self.call(
            "POST", "/refunds/", {"transaction": self.orders[id]["transaction"]}, f"refund-{id}"
        )

    async def join(self, buyer: Buyer, phone: str) -> dict:
        """Begin a membership, which is charged to the phone each month."""
        customer = await self.call("POST", "/customers/", {**buyer.model_dump(), "phone": phone})
        plan = await self.call("POST", "/subscription-plans/", MONTHLY)
        terms = {"customer": customer["id"], "plan": plan["id"]}
        subscription = await self.call("POST", "/subscriptions/", terms)
        return await self.look_up_member(subscription["id"])

    async def handle(self, event: dict) -> None:
        """Take in what happened."""
        thing = event["data"]["object"]
        match event["type"]:
            case "checkout.session.completed" if thing["id"] in self.orders:
                await self.look_up_order(thing["id"])
            case "refund.succeeded":
                for id, order in self.orders.items():
                    if order.get("transaction") == thing["transaction"]:
                        await self.look_up_order(id)
            case "invoice.paid" if thing["subscription"]:
                await self.look_up_member(thing["subscription"])
            case "subscription.payment_failed" | "subscription.canceled":
                await self.look_up_member(thing["id"])

    async def reconcile(self) -> None:
        """Look up, every night, what no event has said."""
        for id in [*self.orders]:
            await self.look_up_order(id)
        for id in [*self.members]:
            await self.look_up_member(id)

    async def look_up_order(self, id: str) -> None:
        """Read the payment of an order, if there is one."""
        session = await self.call("GET", f"/checkout-sessions/{id}/")
        if session["status"] == "complete":
            intent = await self.call("GET", f"/payment-intents/{session['payment_intent']}/")
            paid = await self.call("GET", f"/transactions/{intent['transaction']}/")
            status = "refunded" if paid["status"] == "refunded" else "paid"
            self.orders[id] |= {
                "status": status,
                "transaction": paid["id"],
                "amount": paid["amount"],
            }

    async def look_up_member(self, id: str) -> dict:
        """Read a membership, and how many months were paid."""
        subscription = await self.call("GET", f"/subscriptions/{id}/")
        paid = await self.call("GET", f"/invoices/?subscription={id}&status=paid")
        member = {
            "id": id,
            "status": subscription["status"],
            "payments": paid["pagination"]["count"],
        }
        self.members[id] = member
        return member


def create_app(url: str, key: str, secret: str) -> FastAPI:
    """Return the shop as an application. ``url`` and ``key`` are those of the payments service."""

    @asynccontextmanager
    async def lifespan(app: FastAPI):
        app.state.shop = Shop(url, key)
        yield
        await app.state.shop.payments.aclose()

    app = FastAPI(lifespan=lifespan)

    @app.exception_handler(httpx.HTTPError)
    async def report(request: Request, error: httpx.HTTPError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 502)

    @app.post("/orders", status_code=201)
    async def order(request: Request, buyer: Buyer, baskets: int = 1) -> dict:
        return await request.app.state.shop.order(buyer.email, baskets)

    @app.get("/orders/{id}")
    async def show_order(request: Request, id: str) -> dict:
        return request.app.state.shop.orders[id]

    @app.post("/orders/{id}/refund")
    async def refund(request: Request, id: str) -> dict:
        return await request.app.state.shop.refund(id)

    @app.post("/members", status_code=201)
    async def join(request: Request, buyer: Buyer, phone: str) -> dict:
        return await request.app.state.shop.join(buyer, phone)

    @app.get("/members/{id}")
    async def show_member(request: Request, id: str) -> dict:
        return request.app.state.shop.members[id]

    @app.post("/webhooks")
    async def webhooks(request: Request) -> None:
        body = await request.body()
        expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(
            request.headers.get("service-signature", "").encode(), expected.encode()
        ):
            raise HTTPException(401)
        await request.app.state.shop.handle(json.loads(body))

    return app
