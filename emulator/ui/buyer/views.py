"""Views: what a payable shows in one language, as values for the templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from emulator.core.translatable import N_
from emulator.core.world import World
from emulator.presentation.languages.language import Language, decimals
from emulator.resources.app.settings import settings
from emulator.resources.customers.card_numbers import BRAND_NAMES, BRANDS
from emulator.resources.customers.magic_values import MagicValue
from emulator.ui.buyer import messages
from emulator.ui.buyer.paid_views import confirmation
from emulator.ui.buyer.payables import Payable
from emulator.ui.buyer.payment_form import FIELDS, NEVER_SHOWN, Form

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


CARD_BRANDS = [(start, BRAND_NAMES[brand]) for start, brand in BRANDS]
"""The first digits of card numbers as regular expressions, each with the name of its brand."""


class MagicExample(msgspec.Struct, frozen=True):
    """A magic value as the sandbox panel shows it; ``fields`` are the form's fields that it fills in."""

    name: str
    shown: str
    meaning: str
    fields: dict[str, str]


class View:
    """A payable in a language, with what is wrong with the form that was sent: by field, or as a whole."""

    def __init__(
        self, payable: Payable, world: World, language: Language, errors: Mapping[str, str], problem: str | None
    ) -> None:
        self.payable = payable
        self._world = world
        self.language = language
        self.errors = errors
        self._problem = problem

    @property
    def template(self) -> str:
        """The template of the payable's state."""
        return TEMPLATES.get(self.payable.state, "buyer-closed.html")

    @property
    def status(self) -> int:
        """The HTTP status of the payable's state."""
        return 410 if self.payable.state in GONE else 200

    def values(self, query: Mapping[str, str], form: Form) -> dict[str, Any]:
        """Everything the template of this state needs."""
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
        heading, text = messages.CLOSED[payable.state]
        translate = self.language.gettext
        return common | {"heading": translate(heading), "text": translate(text, merchant=payable.merchant)}

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
            reason = messages.ERRORS.get(payable.failure, messages.OTHER_FAILURE)
            sentences = [_("The payment did not go through"), _(reason, merchant=payable.merchant)]
            if payable.state == "payable":
                sentences.append(_("Nothing was charged. You can try again or choose another method."))
            return sentences
        return []

    def _payable(self, query: Mapping[str, str], form: Form) -> dict[str, Any]:
        magic = {type: self._magic(type) for type in self.payable.methods}
        values, filled = self._typed(query, form, magic)
        return {
            "heading": self.language.gettext(messages.HEADINGS[self.payable.mode], merchant=self.payable.merchant),
            "button": self._button(),
            "terms": self._terms(),
            "trial": self._trial,
            "each": self._each(),
            "magic_values": magic,
            "values": values,
            "brands": CARD_BRANDS,
            "filled": filled,
        }

    def _typed(
        self, query: Mapping[str, str], form: Form, magic: Mapping[str, list[MagicExample]]
    ) -> tuple[dict[str, str], bool]:
        """The fields' values: those sent, except the card's; else those known or of a magic value (``fill``)."""
        if form:
            return {name: text for name, text in form.items() if name not in NEVER_SHOWN}, False
        wanted = (value for value in magic.get(query.get("method", ""), ()) if value.name == query.get("fill"))
        fill = next(wanted, None)
        return self._prefilled() | (fill.fields if fill else {}), fill is not None

    def _prefilled(self) -> dict[str, str]:
        payable = self.payable
        values = {"quantity": "1", "email": payable.email or ""}
        if payable.suggested is not None:
            places = decimals(payable.currency)
            values["amount"] = f"{payable.suggested / 10**places:.{places}f}"
        if payable.customer is not None and payable.customer.phone:
            values["phone"] = payable.customer.phone
        last = payable.intent.payment_method_type if payable.intent else None
        if payable.methods:
            values["method"] = last if last in payable.methods else payable.methods[0]
        return values

    def _magic(self, type: str) -> list[MagicExample]:
        """The magic values of a method, an ordinary one first (B-54)."""
        lines: tuple[MagicValue, ...] = self._world.reference_data.magic.get(type, ())
        if type in ORDINARY:
            lines = (MagicValue(name="ordinary", value="", example=ORDINARY[type], meaning=N_("Succeeds.")), *lines)
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

    def _each(self) -> dict[str, Any] | None:
        """The prices, for the script of a page on which the buyer chooses a product or a quantity."""
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
        """What a subscription will charge, and how often."""
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
        return language.gettext("{amount} {period}, until you cancel.", amount=amount, period=period)


def unknown(language: Language) -> dict[str, Any]:
    """The values of the page for an object that does not exist."""
    heading = language.gettext("There is nothing here")
    text = language.gettext("Check the address, or ask the merchant for a new link.")
    shown = {"heading": heading, "text": text, "merchant": "", "state": "unknown"}
    return {**shown, "payable": None, "problem": [], "refresh": None}
