"""Views: what an offer reads like in one language, for the templates and for the page's JSON twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.core.records import pick
from emulator.core.world import World
from emulator.errors import ERRORS
from emulator.pages.forms import FIELDS, NEVER_SHOWN, Form
from emulator.pages.languages import Language, decimals
from emulator.pages.payables import Payable
from emulator.pages.texts import WORDS
from emulator.resources.customers.magic_values import MagicValue
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.receipts import Receipt
from emulator.resources.payments.transactions import Transaction

GONE = ("expired", "archived", "exhausted", "link_expired", "void")
"""States of an offer that nobody can pay any more: 410."""

SAID = frozenset(WORDS) & frozenset(ERRORS)
"""The codes a buyer is told a sentence of their own for."""

TEMPLATES = {
    "payable": "buyer-pay.html",
    "waiting": "buyer-wait.html",
    "step": "buyer-step.html",
    "paid": "buyer-done.html",
}

REFRESH = {"mobile_money": 3, "bank_transfer": 30}
"""Seconds (real time) after which a waiting page looks again."""

CLOSED_TEXT = {"expired": "expired_text", "void": "void_text"}

ORDINARY = {"mobile_money": "+24177000000", "paypal": "buyer@example.com"}
"""A value that simply succeeds, for the methods whose magic lines have none."""


class Shown(msgspec.Struct, frozen=True):
    """A magic value as the sandbox panel shows it; ``fields`` fills the form."""

    name: str
    shown: str
    meaning: str
    fields: dict[str, str]


class View:
    """An offer in a language, with what is wrong with the form that was sent."""

    def __init__(
        self, offer: Payable, world: World, language: Language, faults: Mapping[str, str], problem: tuple[str, ...]
    ) -> None:
        self.offer = offer
        self._world = world
        self._t = language
        self._faults = faults
        self._problem = problem

    @property
    def template(self) -> str:
        """The template of the offer's state."""
        return TEMPLATES.get(self.offer.state, "buyer-closed.html")

    @property
    def status(self) -> int:
        """The HTTP status of the offer's state."""
        return 410 if self.offer.state in GONE else 200

    # -- for the templates

    def values(self, query: Mapping[str, str], form: Form) -> dict[str, Any]:
        """Everything the template of this state needs."""
        offer, t = self.offer, self._t
        common = {
            "offer": offer,
            "state": offer.state,
            "merchant": offer.merchant,
            "problem": self.problem,
            "faults": self._faults,
            "refresh": self._refresh,
        }
        match offer.state:
            case "payable":
                return common | self._payable(query, form)
            case "paid":
                return common | self._paid()
            case "waiting" | "step":
                return common
        text = CLOSED_TEXT.get(offer.state, "link_closed_text")
        return common | {"heading": t(offer.state), "text": t(text, merchant=offer.merchant)}

    @property
    def _refresh(self) -> int | None:
        if self.offer.state != "waiting":
            return None
        type = self.offer.intent.payment_method_type if self.offer.intent else None
        return REFRESH.get(type or "", 3)

    @property
    def problem(self) -> list[str]:
        """Sentences on what is wrong: with this form, or with the payment before it."""
        t, merchant = self._t, self.offer.merchant
        if self._problem:
            return [t(key, merchant=merchant) for key in self._problem]
        if self._faults:
            return [t("please_check")]
        if self.offer.failure and self.offer.state not in ("paid", "waiting", "step"):
            again = [t("try_again")] if self.offer.state == "payable" else []
            return [t("failed"), t.failure(self.offer.failure, merchant), *again]
        return []

    def _payable(self, query: Mapping[str, str], form: Form) -> dict[str, Any]:
        magic = {type: self.magic(type) for type in self.offer.methods}
        values, filled = self._typed(query, form, magic)
        return {
            "heading": self._t(_HEADING[self.offer.mode], merchant=self.offer.merchant),
            "button": self._button(),
            "terms": self._terms(),
            "trial": self._trial,
            "each": self._each(),
            "magic_values": magic,
            "values": values,
            "filled": filled,
        }

    def _typed(
        self, query: Mapping[str, str], form: Form, magic: Mapping[str, list[Shown]]
    ) -> tuple[dict[str, str], bool]:
        """What stands in the fields: what was sent, but no card; or else what is known, or asked to be filled in."""
        if form:
            return {name: text for name, text in form.items() if name not in NEVER_SHOWN}, False
        wanted = (value for value in magic.get(query.get("method", ""), ()) if value.name == query.get("fill"))
        fill = next(wanted, None)
        return self._prefilled() | (fill.fields if fill else {}), fill is not None

    def _prefilled(self) -> dict[str, str]:
        offer = self.offer
        values = {"quantity": "1", "email": offer.email or ""}
        if offer.suggested is not None:
            places = decimals(offer.currency)
            values["amount"] = f"{offer.suggested / 10**places:.{places}f}"
        if offer.customer is not None and offer.customer.phone:
            values["phone"] = offer.customer.phone
        last = offer.intent.payment_method_type if offer.intent else None
        if offer.methods:
            values["method"] = last if last in offer.methods else offer.methods[0]
        return values

    def magic(self, type: str) -> list[Shown]:
        """The magic values of a method, an ordinary one first (B-54)."""
        lines: tuple[MagicValue, ...] = self._world.reference_data.magic.get(type, ())
        if type in ORDINARY:
            lines = (MagicValue(name="", value="", example=ORDINARY[type], meaning=""), *lines)
        return [self._shown(type, line) for line in lines]

    def _shown(self, type: str, line: MagicValue) -> Shown:
        fields = {"method": type, FIELDS[type][0]: line.example}
        if type == "bank_card":
            fields |= {"expiry": f"12/{(int(self._world.now[:4]) + 4) % 100:02d}", "cvc": "123"}
        return Shown(line.name or "ordinary", line.example, self._t.magic(type, line), fields)

    def _button(self) -> str:
        offer, t = self.offer, self._t
        if offer.mode == "setup":
            return t("save_method")
        if self._trial:
            return t("start_trial")
        if offer.total is None or offer.asks_quantity:
            return t("donate" if offer.mode == "donation" else "pay")
        return t("pay_amount", amount=t.money(offer.total, offer.currency))

    def _each(self) -> dict[str, Any] | None:
        """What one costs, for the page to reckon with, where the buyer says how many."""
        offer = self.offer
        if offer.total is None or not offer.asks_quantity:
            return None
        return {"amount": offer.total, "currency": offer.currency, "decimals": decimals(offer.currency)}

    @property
    def _trial(self) -> int:
        """Days of a subscription before its first charge."""
        return int((self.offer.recurs or {}).get("trial_period_days") or 0)

    def _terms(self) -> str | None:
        """What a subscription will charge, and how often."""
        offer, t = self.offer, self._t
        if offer.recurs is None:
            return None
        period = t.period(offer.recurs["interval"], offer.recurs["interval_count"])
        amount = t.money(offer.recurs["amount"], offer.currency)
        return t("trial" if self._trial else "recurs", amount=amount, period=period, days=self._trial)

    def _paid(self) -> dict[str, Any]:
        offer, t = self.offer, self._t
        heading, text = "paid", ""
        if offer.kind == "invoice":
            text = t("invoice_paid_text")
        elif offer.intent is not None and offer.total is not None:
            text = t("paid_text", amount=t.money(offer.total, offer.currency), merchant=offer.merchant)
        else:
            heading, text = "saved", t("saved_text")
        return {
            "heading": t("subscribed" if offer.mode == "subscription" else heading),
            "text": text,
            "payable_again": offer.kind == "pay" and offer.available,
            "receipt_link": f"/receipt/{offer.receipt.id}?lang={t.code}" if offer.receipt else None,
        }

    # -- for programs

    def twin(self, token: str) -> dict[str, Any]:
        """The page as JSON: what it shows, what it asks for, and what came of it."""
        offer = self.offer
        return {
            "object": "payment_page",
            "kind": offer.kind,
            "id": offer.id,
            "state": offer.state,
            "merchant": offer.merchant,
            "language": self._t.code,
            "livemode": offer.livemode,
            "mode": offer.mode,
            "title": offer.title,
            "currency": offer.currency,
            "amount_total": offer.total,
            "amount_shown": None if offer.total is None else self._t.money(offer.total, offer.currency),
            "lines": [msgspec.to_builtins(line) for line in offer.lines],
            "choices": [msgspec.to_builtins(choice) for choice in offer.choices],
            "payment_method_types": offer.methods,
            "fields": self._fields(),
            "payment_intent": _shown_intent(offer.intent),
            "problem": self.problem or None,
            "errors": {field: self._t(key) for field, key in self._faults.items()} or None,
            "redirect_url": offer.success_url if offer.state == "paid" else None,
            "cancel_url": offer.cancel_url,
            "expires_at": offer.expires_at,
            "refresh_seconds": self._refresh,
            "token": token,
        }

    def _fields(self) -> dict[str, Any]:
        """The fields of the form: always, and by method."""
        if self.offer.state != "payable":
            return {}
        offer = self.offer
        always = {"name": offer.asks != "nothing", "email": offer.asks != "nothing", "product": bool(offer.choices)}
        always |= {"amount": offer.asks_amount, "quantity": offer.asks_quantity}
        return {
            "always": [name for name, asked in always.items() if asked],
            **{type: FIELDS[type] for type in offer.methods},
        }


_HEADING = {
    "payment": "pay_merchant",
    "subscription": "subscribe_merchant",
    "setup": "save_merchant",
    "donation": "donate_merchant",
}


def _shown_intent(intent: PaymentIntent | None) -> dict[str, Any] | None:
    if intent is None:
        return None
    return pick(intent, "id", "status", "amount", "currency", "payment_method_type", "next_action", "last_error")


def unknown(language: Language) -> dict[str, Any]:
    """The values of the page that is not there."""
    texts = {"heading": language("unknown"), "text": language("unknown_text")}
    return {**texts, "merchant": "", "state": "unknown", "offer": None, "problem": [], "refresh": None}


def of_receipt(world: World, receipt: Receipt, t: Language) -> dict[str, Any]:
    """The values of a receipt's page."""
    transaction = world.get(Transaction, receipt.transaction)
    rows = [("date", t.instant(receipt.created_at)), ("transaction", receipt.transaction)]
    if receipt.customer_email:
        rows.insert(0, ("billed_to", receipt.customer_email))
    if transaction is not None:
        rows.append(("paid_with", t(transaction.payment_method_type or "bank_card")))
        if transaction.amount_refunded:
            rows.append(("refunded", t.money(transaction.amount_refunded, receipt.currency)))
    return {"receipt": receipt, "rows": rows, "merchant": world.name, "state": "receipt", "refresh": None}
