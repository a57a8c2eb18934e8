"""Pages: a template and its values become a response, with messages that pages look up by a name.

They stand in ``fixtures/buyer.yaml``, which says of each table what it is for.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import HTMLResponse, Response

from emulator.core.records import N_
from emulator.document.paths import fixture
from emulator.presentation.languages.language import Language
from emulator.presentation.languages.wording import PAYMENT_METHOD_TYPES
from emulator.ui.base.pages import (
    content_security_policy,
    environment,
    in_language,
    private_headers,
)

# -- messages


_TABLES: Mapping[str, Any] = fixture("buyer")

FIELD_ERRORS: Mapping[str, str] = _TABLES["field_errors"]
ERRORS: Mapping[str, str] = _TABLES["errors"]
HEADINGS: Mapping[str, str] = _TABLES["headings"]
CLOSED: Mapping[str, tuple[str, str]] = _TABLES["closed"]
PROMPT_ANSWERS: Mapping[str, str] = _TABLES["prompt_answers"]

NO_CARD = N_("Enter your card number.")
"""What is wrong with the number of a card where nothing was typed."""

STALE = N_("This form was out of date, so nothing was charged. Please try again.")

NOT_POSSIBLE = N_("This payment is not possible, so nothing was charged.")

OTHER_FAILURE = N_("The payment operator rejected the payment.")
"""Why a payment failed, for all codes but those of ``ERRORS``."""


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

    Its forms lead to the page itself and on to the merchant's ``origins``: a browser counts the
    redirect after a form. ``images`` are the origins that pictures of products come from.
    """
    nonce = secrets.token_urlsafe(16)
    shared = {**in_language(language), "method_names": PAYMENT_METHOD_TYPES, "nonce": nonce}
    text = environment("emulator.ui.buyer").get_template(template).render(**shared, **values)
    return HTMLResponse(text, status, buyer_headers(nonce, origins, images))


def buyer_headers(nonce: str, origins: Iterable[str], images: Iterable[str] = ()) -> dict[str, str]:
    """Return a buyer's page's headers: it posts to ``origins``, loads pictures from ``images``."""
    policy = content_security_policy(
        style_src=f"'nonce-{nonce}'",
        script_src=f"'nonce-{nonce}'",
        connect_src="'self'",
        img_src=" ".join(("data:", *images)),
        form_action=" ".join(("'self'", *origins)),
    )
    return {**private_headers(policy), "X-Content-Type-Options": "nosniff"}
