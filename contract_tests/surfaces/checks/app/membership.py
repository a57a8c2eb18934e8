"""A membership: who pays each month has access. It is sound, or has one of the mistakes that people make."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable
from typing import Any

import httpx

from emulator.testing import Emulator

PAYS, DECLINED = "+24177000000", "+24177000001"


class Club:
    """``access`` has the status of each customer, ``credits`` what was bought beside."""

    def __init__(self, payments: Emulator, mistake: str = "") -> None:
        self.payments, self.mistake = payments, mistake
        self.access: dict[str, str] = {}
        self.latest: dict[str, str] = {}
        self.handled: set[str] = set()
        self.credits = 0
        self.subscription = ""
        payments.webhooks.forward_to(self)

    def post(self, path: str, body: Any, key: str) -> Any:
        """The answer to a request, which is sent again, as the same one, if it is not known whether it was done."""
        for _ in range(4):
            try:
                answer = self.payments.client.post(path, json=body, headers={"Idempotency-Key": key})
                if answer.status_code != 429 and answer.status_code < 500:
                    return answer.json()
            except (httpx.TransportError, ValueError):
                continue
        raise RuntimeError("the service does not answer")

    def join(self) -> str:
        """A member, with the first month."""
        body = {"email": "awa@example.com", "name": "Awa Diop", "phone": PAYS}
        self.customer = str(self.post("/v1/customers/", body, "awa")["id"])
        if self.mistake != "trusts the order of response and webhook":
            self.access.setdefault(self.customer, "unpaid")
        plan = {"customer": self.customer, "unit_amount": 5000, "currency": "XAF", "interval": "month"}
        self.subscription = self.post("/v1/subscriptions/", plan, "awa-joins")["id"]
        self.access.setdefault(self.customer, "unpaid")
        if self.mistake == "gives access when the subscription is created":
            self.access[self.customer] = "active"
        return self.customer

    def top_up(self) -> None:
        """Ten credits for a payment by phone."""
        method = {"customer": self.customer, "type": "mobile_money", "phone": PAYS}
        saved = self.post("/v1/payment-methods/", method, "awa-phone")["id"]
        order = {"amount": 1000, "currency": "XAF", "payment_method": saved}
        intent = self.post("/v1/payment-intents/", order, "awa-order")["id"]
        answer = self.post(f"/v1/payment-intents/{intent}/confirm/", {}, "awa-pays")
        if answer["status"] == "succeeded" or self.mistake == "takes a 2xx for a payment":
            self.credits += 10

    def lets_in(self, customer: str) -> bool:
        """Whether a member has access: for a while also one whose renewal has failed."""
        return self.access[customer] in ("active", "past_due")

    def reconcile(self) -> None:
        """Every night: read what no webhook has said."""
        if self.mistake != "never asks":
            answer = self.payments.client.get(f"/v1/subscriptions/{self.subscription}/").json()
            self.access[self.customer] = answer["status"]

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        expected = hmac.new(self.payments.webhooks.secret.encode(), body, hashlib.sha256).hexdigest()
        genuine = hmac.compare_digest(environ.get("HTTP_SERVICE_SIGNATURE", "").encode(), expected.encode())
        start("200 OK" if genuine else "401 Unauthorized", [])
        if genuine:
            self.handle(json.loads(body))
        return [b""]

    def handle(self, event: Any) -> None:
        """Take in what happened."""
        thing, at = event["data"]["object"], event["created_at"]
        customer = thing.get("customer")
        status = {"invoice.paid": "active", "subscription.payment_failed": "past_due"}.get(event["type"])
        if status is None or customer not in self.access:
            return
        if status == "past_due" and self.access[customer] == "unpaid":  # there is no grace for a first month
            return
        if at < self.latest.get(customer, "") and self.mistake != "lets an old status overwrite a newer one":
            return
        self.latest[customer], self.access[customer] = at, status


def scenario(mistake: str, *, looks_at_once: bool = False) -> Callable[[Emulator], Any]:
    """A month that is paid, one that fails at first, and its recovery a day later.

    With ``looks_at_once`` it counts who is in at once, too, before anything was looked up.
    """

    def play(payments: Emulator) -> Callable[[], Any]:
        club = Club(payments, mistake)
        customer = club.join()
        payments.settle()
        joined = club.access[customer] if looks_at_once else ""
        payments.api.patch(f"/v1/customers/{customer}/", {"phone": DECLINED})
        payments.clock.advance("31d")
        payments.api.patch(f"/v1/customers/{customer}/", {"phone": PAYS})
        payments.clock.advance("3d")
        if mistake != "lets an old status overwrite a newer one":
            club.reconcile()
        return lambda: {"access": club.access[customer], "joined": joined}

    return play


def a_members_test(mistake: str) -> Callable[[Emulator], None]:
    """What the club's own test suite asserts: who has joined is in, and who has paid has credits."""

    def play(payments: Emulator) -> None:
        club = Club(payments, mistake)
        customer = club.join()
        payments.settle()
        club.top_up()
        assert club.lets_in(customer)
        assert club.credits == 10

    return play
