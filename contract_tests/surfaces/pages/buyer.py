"""A buyer without a browser: opens a page by HTTP, reads it as a program, sends its form."""

from __future__ import annotations

from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from contract_tests.support.client import http_client
from contract_tests.support.html import Page
from contract_tests.support.sandbox import Sandbox

CARD = {"method": "bank_card", "number": "4242 4242 4242 4242", "expiry": "12/30", "cvc": "123"}
"""A card that succeeds."""

DECLINED = {**CARD, "number": "4000 0000 0000 0002"}
STEP = {**CARD, "number": "4000 0000 0000 3220"}
PHONE = {"method": "mobile_money", "phone": "+241 77 00 00 00"}
TRANSFER = {"method": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
PAYPAL = {"method": "paypal", "paypal_email": "awa@example.com"}
WHO = {"name": "Awa Diop", "email": "awa@example.com"}


class Buyer:
    """One browser: stores cookies, follows no redirect by itself. ``path`` is the page it is on."""

    def __init__(self, base: str, path: str, **headers: str) -> None:
        self.http = http_client(base_url=base, headers={"Accept": "text/html", **headers})
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def open(self, path: str | None = None, **query: str) -> Page:
        return Page(self.http.get(path or self.path, params=query or None))

    def send(
        self, fields: dict[str, str], path: str | None = None, **headers: str
    ) -> httpx.Response:
        return self.http.post(path or self.path, data=fields, headers=headers)

    def pay(self, **fields: str) -> httpx.Response:
        return self.send({**self.open().fields, "do": "pay", **fields})

    def follow(self, response: httpx.Response) -> Page:
        assert response.status_code == 303, response.text
        return self.open(response.headers["location"])

    def twin(self, path: str | None = None) -> Any:
        return self.http.get(path or self.path, headers={"Accept": "application/json"}).json()


def policy(response: httpx.Response) -> dict[str, str]:
    parts = response.headers["content-security-policy"].split(";")
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in parts)}


def session(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.session(
        **{"success_url": SUCCESS, "cancel_url": "https://shop.example.com/cart", **fields}
    )


SUCCESS = "https://shop.example.com/thanks?session={CHECKOUT_SESSION_ID}"


def link(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.link(**{"amount": 5000, "name": "Workshop", **fields})


def invoice(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.invoice(
        **{"line_items": [{"description": "Repair", "unit_amount": 2000, "quantity": 3}], **fields}
    )


def path_of(thing: Any) -> str:
    return urlsplit(thing.get("payment_url") or thing["url"]).path


def buyer(sandbox: Sandbox, thing: Any, **headers: str) -> Buyer:
    return Buyer(sandbox.url, path_of(thing), **headers)
