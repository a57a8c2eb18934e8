"""Views: a payable in one language, as values for the templates and as JSON for programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from emulator.core.records import N_, pick
from emulator.core.world import World
from emulator.presentation.languages.language import Language, decimals
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES, adjustments, line_name
from emulator.resources.app import amounts
from emulator.resources.app.settings import merchant_name, settings
from emulator.resources.billing.invoices import Invoice
from emulator.resources.customers.payment_details import BRAND_NAMES, BRANDS, MagicValue
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Receipt
from emulator.resources.payments.transactions import Transaction
from emulator.ui.base.pages import url
from emulator.ui.buyer import render
from emulator.ui.buyer.forms import FIELDS, NEVER_SHOWN, Form, asked
from emulator.ui.buyer.payables import Payable

# -- after a payment: the confirmation and the receipt


def confirmation(payable: Payable, language: Language) -> dict[str, Any]:
    _ = language.gettext
    receipt = urlsplit(payable.receipt.url) if payable.receipt else None
    heading, text = _("Payment successful"), _("Nothing was charged.")
    if payable.kind == "invoice":
        text = _("This invoice is paid. Thank you.")
    elif payable.intent is not None and payable.total is not None:
        amount = language.money_with_symbol(payable.total, payable.currency)
        text = _("You paid {amount} to {merchant}.", amount=amount, merchant=payable.merchant)
    else:
        heading = _("Payment method saved")
    return {
        "heading": _("Your subscription is active") if payable.mode == "subscription" else heading,
        "text": text,
        "next_charge": _next_charge(payable, language),
        "payable_again": payable.kind == "pay" and payable.available,
        "receipt_link": receipt
        and url(receipt.path, dict(parse_qsl(receipt.query)) | {"lang": language.code}),
    }


def _next_charge(payable: Payable, language: Language) -> str | None:
    if payable.recurs is None or payable.next_charge_at is None:
        return None
    amount = language.money_with_symbol(payable.recurs["amount"], payable.currency)
    day = language.day(payable.next_charge_at)
    return language.gettext("The next payment of {amount} is on {date}.", amount=amount, date=day)


def receipt_values(world: World, receipt: Receipt, language: Language) -> dict[str, Any]:
    transaction = world.get(Transaction, receipt.transaction)
    intent = world.get(PaymentIntent, transaction.payment_intent) if transaction else None
    invoice = world.get(Invoice, intent.invoice) if intent else None
    _, seller = language.gettext, settings(world).merchant
    rows = [
        (_("Date"), language.instant(receipt.created_at)),
        (_("Transaction"), receipt.transaction),
    ]
    if invoice is not None:
        rows.insert(1, (_("Invoice"), invoice.invoice_number))
    if receipt.customer_email:
        rows.insert(0, (_("Billed to"), receipt.customer_email))
    if transaction is not None:
        type = _(PAYMENT_METHOD_TYPES[transaction.payment_method_type])
        operator = BRAND_NAMES.get(transaction.operator or "", transaction.operator)
        rows.append((_("Paid with"), f"{type} · {operator}" if operator else type))
        if transaction.amount_refunded:
            rows.append(
                (
                    _("Refunded"),
                    language.money_with_symbol(transaction.amount_refunded, receipt.currency),
                )
            )
    lines, changes = list(intent.sold if intent else ()), []
    if invoice is not None:
        lines = [
            (line.quantity, line_name(language, invoice, line), line.amount)
            for line in invoice.line_items
        ]
        changes = adjustments(invoice, language)
    elif lines and (tax := receipt.amount - sum(amount for _, _, amount in lines)) > 0:
        # What was paid beyond the lines of a session or a link is tax.
        changes = [
            (
                language.tax(amounts.rate_of(tax, receipt.amount - tax, settings(world).tax_rate)),
                tax,
            )
        ]
    return {
        "receipt": receipt,
        "rows": rows,
        "lines": lines,
        "adjustments": changes,
        "seller": seller,
        "merchant": merchant_name(world),
        "state": "receipt",
        "refresh": None,
    }


# -- before and during one


GONE = ("expired", "archived", "exhausted", "link_expired", "void")
"""States in which nothing can be paid any more: 410."""

TEMPLATES = {
    "payable": "buyer-pay.html",
    "waiting": "buyer-wait.html",
    "step": "buyer-step.html",
    "paid": "buyer-done.html",
}

REFRESH = {"mobile_money": 3, "bank_transfer": 30}
"""Seconds (real time) after which a waiting page asks again."""

ORDINARY = {"mobile_money": "+24177000000", "paypal": "buyer@example.com"}
"""A value that succeeds, for the methods that have no magic value that does."""


CARD_BRANDS = [(start, name) for start, _, name in BRANDS]
"""The first digits of card numbers as regular expressions, each with the name of its brand."""


class MagicExample(msgspec.Struct, frozen=True):
    """A magic value in the sandbox panel; ``fields`` are the form's fields that it fills in."""

    name: str
    example: str
    meaning: str
    fields: dict[str, str]


class View:
    """A payable in a language, with the sent form's errors: by field, or as a whole."""

    def __init__(
        self,
        payable: Payable,
        world: World,
        language: Language,
        errors: Mapping[str, str],
        problem: str | None,
    ) -> None:
        self.payable = payable
        self._world = world
        self.language = language
        self.errors = errors
        self._problem = problem

    @property
    def template(self) -> str:
        return TEMPLATES.get(self.payable.state, "buyer-closed.html")

    @property
    def status(self) -> int:
        return 410 if self.payable.state in GONE else 200

    def values(self, query: Mapping[str, str], form: Form) -> dict[str, Any]:
        payable = self.payable
        common = {
            "payable": payable,
            "state": payable.state,
            "merchant": payable.merchant,
            "problem": self.problem,
            "errors": self.errors,
            "refresh": self.refresh,
            "seller": settings(self._world).merchant,
        }
        match payable.state:
            case "payable":
                return common | self._payable(query, form)
            case "paid":
                return common | confirmation(payable, self.language)
            case "waiting" | "step":
                return common
        heading, text = render.CLOSED[
            "used_up_by_failure" if payable.used_up_by_failure else payable.state
        ]
        translate = self.language.gettext
        return common | {
            "heading": translate(heading),
            "text": translate(text, merchant=payable.merchant),
        }

    @property
    def refresh(self) -> int | None:
        """Seconds after which the page asks again; None where it does not wait."""
        if self.payable.state != "waiting":
            return None
        type = self.payable.intent.payment_method_type if self.payable.intent else None
        return REFRESH.get(type or "", 3)

    @property
    def problem(self) -> list[str]:
        """Sentences on what is wrong: with this form, or with the payment before it."""
        payable, _ = self.payable, self.language.gettext
        if self._problem:
            return [_(self._problem, merchant=payable.merchant)]
        if self.errors:
            return [_("Please check the fields below.")]
        if payable.failure and payable.state not in ("paid", "waiting", "step"):
            reason = render.ERRORS.get(payable.failure, render.OTHER_FAILURE)
            sentences = [_("The payment did not go through"), _(reason, merchant=payable.merchant)]
            if payable.state == "payable":
                sentences.append(
                    _("Nothing was charged. You can try again or choose another method.")
                )
            return sentences
        return []

    def _payable(self, query: Mapping[str, str], form: Form) -> dict[str, Any]:
        magic = {type: self._magic(type) for type in self.payable.methods}
        wanted = (
            value
            for value in magic.get(query.get("method", ""), ())
            if value.name == query.get("fill")
        )
        fill = None if form else next(wanted, None)
        # What was sent is shown again, except the card's; else what is known, or a magic value.
        typed = {name: text for name, text in form.items() if name not in NEVER_SHOWN}
        if self.payable.given_email is not None:
            typed["email"] = self.payable.given_email
        return {
            "heading": self.language.gettext(
                render.HEADINGS[self.payable.mode], merchant=self.payable.merchant
            ),
            "button": self._button(),
            "terms": self._terms(),
            "trial": self._trial,
            "pricing": self._pricing(),
            "from_price": self._from_price(),
            "magic_values": magic,
            "values": typed if form else self._prefilled() | (fill.fields if fill else {}),
            "brands": CARD_BRANDS,
            "filled": fill is not None,
        }

    def _prefilled(self) -> dict[str, str]:
        payable = self.payable
        values = {"quantity": "1", "email": payable.email or ""}
        if payable.suggested is not None:
            places = decimals(payable.currency)
            values["amount"] = str(Decimal(payable.suggested).scaleb(-places))
        if payable.customer is not None and payable.customer.phone:
            values["phone"] = payable.customer.phone
        last = payable.intent.payment_method_type if payable.intent else None
        if payable.methods:
            values["method"] = last if last in payable.methods else payable.methods[0]
        return values

    def _magic(self, type: str) -> list[MagicExample]:
        """Return the magic values of a method, an ordinary one first (B-54)."""
        lines: tuple[MagicValue, ...] = self._world.reference_data.magic.get(type, ())
        if type in ORDINARY:
            lines = (
                MagicValue(
                    name="ordinary", value="", example=ORDINARY[type], meaning=N_("Succeeds.")
                ),
                *lines,
            )
        return [self._example(type, line) for line in lines]

    def _example(self, type: str, line: MagicValue) -> MagicExample:
        fields = {"method": type, FIELDS[type][0]: line.example}
        if type == "bank_card":
            fields |= {"expiry": f"12/{(int(self._world.now[:4]) + 4) % 100:02d}", "cvc": "123"}
        return MagicExample(line.name, line.example, self.language.gettext(line.meaning), fields)

    def _button(self) -> str:
        payable, _ = self.payable, self.language.gettext
        if payable.mode == "setup":
            return _("Save the payment method")
        if self._trial:
            return _("Start the free trial")
        if payable.total is None or payable.asks_quantity:
            return _("Donate") if payable.mode == "donation" else _("Pay")
        return _("Pay {amount}", amount=self._money(payable.total))

    def _money(self, amount: int) -> str:
        return self.language.money_with_symbol(amount, self.payable.currency)

    def _from_price(self) -> str:
        """Return the least price, for the summary of a buyer who has not chosen a product yet."""
        prices = [choice.amount for choice in self.payable.choices if choice.amount is not None]
        if not prices or len(prices) < len(self.payable.choices):
            return ""
        return self.language.gettext("From {amount}", amount=self._money(min(prices)))

    def _pricing(self) -> dict[str, Any] | None:
        """Return the prices, for the page's script where the buyer chooses product or quantity."""
        payable = self.payable
        if not payable.asks_quantity and not payable.choices:
            return None
        return {
            "amount": payable.total,
            "choices": {choice.id: choice.amount for choice in payable.choices},
            "decimals": decimals(payable.currency),
            "pattern": re.sub(r"0(\D0+)?", "{figure}", self._money(0)),
            "button": self.language.gettext("Pay {amount}", amount="{amount}"),
        }

    @property
    def _trial(self) -> int:
        """Days of a subscription before its first charge."""
        return int((self.payable.recurs or {}).get("trial_period_days") or 0)

    def _terms(self) -> str | None:
        recurs, language = self.payable.recurs, self.language
        if recurs is None:
            return None
        period = language.every(recurs["interval"], recurs["interval_count"])
        amount = self._money(recurs["amount"])
        if self._trial:
            return language.ngettext(
                "{count} day free, then {amount} {period}, until you cancel.",
                "{count} days free, then {amount} {period}, until you cancel.",
                self._trial,
                amount=amount,
                period=period,
            )
        return language.gettext(
            "{amount} {period}, until you cancel.", amount=amount, period=period
        )


def unknown(language: Language) -> dict[str, Any]:
    heading = language.gettext("There is nothing here")
    return _nothing(
        heading,
        language.gettext("Check the address, or ask the merchant for a new link."),
        "unknown",
    )


def away(language: Language) -> dict[str, Any]:
    """Return the values of the page while nothing can be read or stored."""
    text = language.gettext(
        "We cannot answer just now. Reload this page in a moment: nothing is charged twice."
    )
    return _nothing(language.gettext("One moment…"), text, "away")


def _nothing(heading: str, text: str, state: str) -> dict[str, Any]:
    texts = {"heading": heading, "text": text, "merchant": "", "state": state}
    return {**texts, "payable": None, "problem": [], "refresh": None}


# -- for programs


INTENT_FIELDS = (
    "id",
    "status",
    "amount",
    "currency",
    "payment_method_type",
    "next_action",
    "last_error",
)


def as_json(view: View, token: str) -> dict[str, Any]:
    """Return the contents of the page, the fields of its form, and the payment that it made."""
    payable, language = view.payable, view.language
    return {
        "object": "payment_page",
        **{name: getattr(payable, name) for name in ("kind", "id", "state", "merchant")},
        "language": language.code,
        **{
            name: getattr(payable, name)
            for name in ("livemode", "mode", "title", "image", "currency")
        },
        "amount_total": payable.total,
        "amount_shown": None
        if payable.total is None
        else language.money_with_symbol(payable.total, payable.currency),
        "lines": msgspec.to_builtins(payable.lines),
        "choices": msgspec.to_builtins(payable.choices),
        "payment_method_types": payable.methods,
        "fields": _fields(payable),
        "payment_intent": payable.intent and pick(payable.intent, *INTENT_FIELDS),
        "problem": view.problem or None,
        "errors": {field: language.gettext(message) for field, message in view.errors.items()}
        or None,
        "redirect_url": payable.success_url if payable.state == "paid" else None,
        "cancel_url": payable.cancel_url,
        "expires_at": payable.expires_at,
        "refresh_seconds": view.refresh,
        "token": token,
    }


def _fields(payable: Payable) -> dict[str, Any]:
    if payable.state != "payable":
        return {}
    return {"always": asked(payable), **{type: FIELDS[type] for type in payable.methods}}
