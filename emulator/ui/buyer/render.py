"""Pages: a template and its values become a response, with messages that pages look up by a name.

A name is that of a field, an error code, a state or an answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import HTMLResponse, Response

from emulator.core.records import N_
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES
from emulator.ui.base.pages import content_security_policy, environment, in_language, private_headers

# -- messages


FIELD_ERRORS: Mapping[str, str] = {
    "name": N_("Enter your name."),
    "email": N_("Enter an email address, like name@example.com."),
    "method": N_("Choose a payment method."),
    "phone": N_("Enter the number with its country code, like +241 77 00 00 00."),
    "number": N_("This card number is not valid. Check its digits."),
    "expiry": N_("Enter a date in the future, like 12/30."),
    "cvc": N_("Enter the 3 or 4 digits of the security code."),
    "iban": N_("This IBAN is not valid. Check its characters."),
    "paypal_email": N_("Enter the email address of your PayPal account."),
    "quantity": N_("Enter a whole number, 1 or more."),
    "product": N_("Choose one of the products."),
    "amount": N_("Enter an amount."),
}
"""What is wrong with a field of the form, by its name."""

NO_CARD = N_("Enter your card number.")
"""What is wrong with the number of a card where nothing was typed."""

STALE = N_("This form was out of date, so nothing was charged. Please try again.")

NOT_POSSIBLE = N_("This payment is not possible, so nothing was charged.")

ERRORS: Mapping[str, str] = {
    "AMOUNT_TOO_SMALL": N_("This amount is too small."),
    "AMOUNT_TOO_LARGE": N_("This amount is too large."),
    "PERMISSION_DENIED": N_("{merchant} cannot accept this payment. Nothing was charged."),
    "COMPANY_PAYMENTS_DISABLED": N_("{merchant} cannot take payments at present. Nothing was charged."),
    "INSUFFICIENT_FUNDS": N_("Insufficient funds."),
    "PAYMENT_METHOD_NOT_SUPPORTED": N_("This payment method was declined or is not accepted here."),
    "MOBILE_MONEY_TIMEOUT": N_("The payment was not confirmed on the phone in time."),
    "MOBILE_MONEY_REJECTED": N_("The payment was rejected on the phone."),
    "MOBILE_MONEY_NUMBER_INVALID": N_("The operator does not know this mobile money number."),
    "MOBILE_MONEY_LIMIT_REACHED": N_("The limit of this mobile money account is reached."),
    "CUSTOMER_BLACKLISTED": N_("{merchant} does not accept payments from this account."),
    "UPSTREAM_ERROR": N_("The payment operator is not available right now."),
}
"""The error codes that a buyer reads a sentence of their own about."""

OTHER_FAILURE = N_("The payment operator rejected the payment.")
"""Why a payment failed, for all other codes."""

HEADINGS: Mapping[str, str] = {
    "payment": N_("Pay {merchant}"),
    "subscription": N_("Subscribe to {merchant}"),
    "setup": N_("Save a payment method with {merchant}"),
    "donation": N_("Donate to {merchant}"),
}
"""What a page is for, by its mode."""

LINK_CLOSED = N_("{merchant} no longer takes payments here. Ask them for a new link.")

CLOSED: Mapping[str, tuple[str, str]] = {
    "expired": (N_("This page has expired"), N_("Nothing was charged. Go back to {merchant} to start again.")),
    "void": (N_("This invoice was canceled"), N_("There is nothing to pay.")),
    "archived": (N_("This payment link is closed"), LINK_CLOSED),
    "exhausted": (N_("This payment link is no longer available"), LINK_CLOSED),
    "link_expired": (N_("This payment link is no longer available"), LINK_CLOSED),
}
"""Heading and text of what cannot be paid any more, by its state."""

PROMPT_ANSWERS: Mapping[str, str] = {
    "approve": N_("You have confirmed the payment."),
    "reject": N_("You have rejected the payment."),
    "ignore": N_("The payment will fail when its time runs out."),
    "gone": N_("This payment is no longer waiting."),
}
"""What an answer to a mobile money prompt did; ``gone`` where the prompt is no longer there."""


# -- responses


def buyer_page(
    template: str,
    status: int,
    language: Language,
    origins: Iterable[str] = (),
    images: Iterable[str] = (),
    **values: Any,
) -> Response:
    """Return a page for a buyer: it runs only its own style and script, which carry a nonce.

    Its forms lead to the page itself and on to the merchant's ``origins``: a browser counts the redirect after a form.
    ``images`` are the origins that pictures of products come from.
    """
    nonce = secrets.token_urlsafe(16)
    shared = {**in_language(language), "method_names": PAYMENT_METHOD_TYPES, "nonce": nonce}
    text = environment("emulator.ui.buyer").get_template(template).render(**shared, **values)
    return HTMLResponse(text, status, buyer_headers(nonce, origins, images))


def buyer_headers(nonce: str, origins: Iterable[str], images: Iterable[str] = ()) -> dict[str, str]:
    """Return the headers of a buyer's page, which posts forms to ``origins`` and loads pictures from ``images``."""
    policy = content_security_policy(
        style_src=f"'nonce-{nonce}'",
        script_src=f"'nonce-{nonce}'",
        connect_src="'self'",
        img_src=" ".join(("data:", *images)),
        form_action=" ".join(("'self'", *origins)),
    )
    return {**private_headers(policy), "X-Content-Type-Options": "nosniff"}
