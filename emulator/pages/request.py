"""A visit: one request for one of the buyer's pages, and what it may see and do there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request

from emulator.core.idempotency import lookup
from emulator.core.records import Record
from emulator.core.world import World
from emulator.pages import languages
from emulator.pages.form_tokens import FormTokens
from emulator.pages.forms import Form
from emulator.pages.payables import UNDER_WAY, Payable, of_invoice, of_link, of_session
from emulator.resources.billing.invoices import Invoice
from emulator.resources.checkout import hosted_payments
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.payment_links import PaymentLink
from emulator.web.context import context_of

Pay = Callable[..., Any]

KINDS: Mapping[str, tuple[type[Record], str, Pay]] = {
    "checkout": (CheckoutSession, "checkout_session", hosted_payments.pay_session),
    "pay": (PaymentLink, "payment_link", hosted_payments.pay_link),
    "invoice": (Invoice, "invoice", hosted_payments.pay_invoice),
}
"""By the first segment of the path: what is paid there, the intent's field that names it, and the command that pays."""

COOKIE = "attempt"
"""The cookie in which a browser keeps the token of its form; each page's own, for it is limited to the page's path."""


class PageRequest:
    """One request for one page: who asks for what, in which language."""

    def __init__(self, request: Request, kind: str, tokens: FormTokens) -> None:
        # Named here, while no world is known: a look at a page leaves the world's own row of request ids alone.
        self.request_id = context_of(request.scope).request_id
        self.request = request
        self.kind = kind
        self.id: str = request.path_params["id"]
        self.query = dict(request.query_params)
        self.language = languages.chosen(self.query.get("lang"), request.headers.get("accept-language"))
        self.json = _prefers_json(request.headers.get("accept", ""))
        self._tokens = tokens

    def offer(self, world: World, intent: PaymentIntent | None = None) -> Payable | None:
        """The page's offer now, or None if there is nothing for a buyer here."""
        named = self._own(world, self.query.get("payment")) or intent
        record = world.get(KINDS[self.kind][0], self.id)
        if isinstance(record, CheckoutSession):
            return of_session(world, record)
        if isinstance(record, PaymentLink):
            return of_link(world, record, named)
        if isinstance(record, Invoice) and record.status != "draft":
            return of_invoice(world, record, named)
        return None

    def _own(self, world: World, id: str | None) -> PaymentIntent | None:
        """An intent, if it pays what this page is about: nobody learns here of other payments."""
        intent = world.get(PaymentIntent, id)
        return intent if intent is not None and getattr(intent, KINDS[self.kind][1]) == self.id else None

    def intent_in(self, world: World, form: Form) -> PaymentIntent | None:
        """The payment under way that a form is about."""
        intent = self._own(world, form.get("payment"))
        return intent if intent is not None and intent.status in UNDER_WAY else None

    def token(self, world: World) -> tuple[str, PaymentIntent | None]:
        """The token of this browser's next form here, and the payment its last one made.

        All tabs of a browser get the same token until it has paid or failed, so that they pay once together.
        """
        cookie = self.request.cookies.get(COOKIE, "")
        if "new" in self.query or not self._tokens.good(self.id, cookie):
            return self._tokens.new(self.id), None
        known = lookup(world, once(cookie), self.id)
        made = None if known is None else self._own(world, known.body.decode())
        failed = made is not None and made.last_error is not None
        return self._tokens.new(self.id) if failed else cookie, made

    @property
    def foreign(self) -> bool:
        """Whether a browser says that a page of another site sends this. Programs say nothing of the kind."""
        context = context_of(self.request.scope)
        origin = context.header(b"origin")
        if origin is not None and urlsplit(origin).netloc != context.header(b"host"):
            return True
        return context.header(b"sec-fetch-site") in ("cross-site", "same-site")

    def good(self, token: str) -> bool:
        """Whether a posted token was made for this page."""
        return self._tokens.good(self.id, token)

    def link(self, **changes: object) -> str:
        """This page with other parameters; an empty one is left out."""
        kept = {name: value for name, value in self.query.items() if name in ("lang", "payment")}
        query = urlencode({name: value for name, value in {**kept, **changes}.items() if value not in ("", None)})
        return f"/{self.kind}/{self.id}{'?' * bool(query)}{query}"


def once(token: str) -> str:
    """The key under which what a form with this token did is remembered (B-16)."""
    return f"page {token.partition('.')[0]}"


def _prefers_json(accept: str) -> bool:
    return "application/json" in accept and "text/html" not in accept
