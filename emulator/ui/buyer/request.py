"""A request for a buyer's page: its object, the payments it may see, and its form token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request

from emulator.core.records import Record
from emulator.core.world import World
from emulator.engine.runtime import Runtime
from emulator.resources.app.idempotency import lookup
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.payment_intents import WAITING_INTENTS, PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.resources.payments.refunds import Receipt
from emulator.resources.simulation.emails import wanted_language
from emulator.ui.base.pages import BrowserRequest, url
from emulator.ui.buyer.forms import Form, FormTokens
from emulator.ui.buyer.payables import Payable, of_invoice, of_link, of_session
from emulator.web.context import context_of
from emulator.web.origins import is_cross_origin

Pay = Callable[..., Any]

KINDS: Mapping[str, tuple[type[Record], Pay]] = {
    "checkout": (CheckoutSession, hosted_payments.pay_session),
    "pay": (PaymentLink, hosted_payments.pay_link),
    "invoice": (Invoice, hosted_payments.pay_invoice),
}
"""By the first segment of the path: what is paid there, and the command that pays it."""

COOKIE = "attempt"
"""The cookie with a browser's form token. Its path is the page's: pages have their own cookies."""


class PageRequest(BrowserRequest):
    """One request for one page. ``json``: a program asks and gets the page as JSON."""

    runtime: Runtime
    """The world that has the object of the page, once it is found."""

    def __init__(self, http: Request, kind: str, tokens: FormTokens) -> None:
        super().__init__(http)
        # Read here, before a world is known: otherwise the id would come from the world's own
        # sequence of request ids.
        self.request_id: str = context_of(http.scope).request_id
        self.kind = kind
        self.id: str = http.path_params["id"]
        self.json: bool = _prefers_json(http.headers.get("accept", ""))
        self._tokens = tokens

    @property
    def world(self) -> World:
        return self.runtime.world

    def belong_to(self, runtime: Runtime) -> None:
        """Take the world of the page's object, and the language of its customer."""
        self.runtime = runtime
        kind = KINDS[self.kind][0] if self.kind in KINDS else Receipt
        customer = getattr(self.world.get(kind, self.id), "customer", None)
        self.customers_language = wanted_language(self.world, self.world.get(Customer, customer))

    def payable(self, intent: PaymentIntent | None = None) -> Payable | None:
        """Return the object that can be paid here now; None if it is nothing for a buyer."""
        named = self._own(self.query.get("payment")) or intent
        world, record = self.world, self.world.get(KINDS[self.kind][0], self.id)
        if isinstance(record, CheckoutSession):
            return of_session(world, record)
        if isinstance(record, PaymentLink):
            return of_link(world, record, named)
        if isinstance(record, Invoice) and record.status != "draft":
            return of_invoice(world, record, named)
        return None

    def _own(self, id: str | None) -> PaymentIntent | None:
        """Return an intent if it pays this page's object: a page never shows other payments."""
        intent = self.world.get(PaymentIntent, id)
        return (
            intent
            if intent is not None and getattr(intent, KINDS[self.kind][0].kind) == self.id
            else None
        )

    def intent_in(self, form: Form) -> PaymentIntent | None:
        intent = self._own(form.get("payment"))
        return intent if intent is not None and intent.status in WAITING_INTENTS else None

    def token(self) -> tuple[str, PaymentIntent | None]:
        """Return the token of this browser's next form here, and the payment its last one made.

        All tabs of a browser get the same token until it has paid or failed, so that they pay once
        together.
        """
        cookie = self.http.cookies.get(COOKIE, "")
        if "new" in self.query or not self._tokens.valid(self.id, cookie):
            return self._tokens.new(self.id), None
        known = lookup(self.world, idempotency_key(cookie), self.id)
        made = None if known is None else self._own(known.body.decode())
        failed = made is not None and made.last_error is not None
        return self._tokens.new(self.id) if failed else cookie, made

    @property
    def foreign(self) -> bool:
        """Whether a browser says that another site's page sent this; programs say nothing."""
        return is_cross_origin(context_of(self.http.scope))

    def is_valid(self, token: str) -> bool:
        return self._tokens.valid(self.id, token)

    def link(self, **changes: object) -> str:
        """Return the URL of this page with other parameters; empty ones are left out."""
        current = {
            name: value for name, value in self.query.items() if name in ("app", "lang", "payment")
        }
        return url(f"/{self.kind}/{self.id}", {**current, **changes})


def idempotency_key(token: str) -> str:
    return f"page {token.partition('.')[0]}"


def _prefers_json(accept: str) -> bool:
    return "application/json" in accept and "text/html" not in accept
