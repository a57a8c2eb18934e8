"""Pages: a template and its values become a response."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from starlette.responses import HTMLResponse, Response

from emulator.presentation.languages.language import Language
from emulator.presentation.languages.terms import PAYMENT_METHOD_TYPES
from emulator.ui.base.headers import content_security_policy, private_headers
from emulator.ui.base.templates import environment, in_language


def buyer_page(
    template: str,
    status: int,
    language: Language,
    origins: Iterable[str] = (),
    images: Iterable[str] = (),
    **values: Any,
) -> Response:
    """A page for a buyer: it runs only its own style and script, which carry a nonce.

    Its forms lead to the page itself and on to the merchant's ``origins``: a browser counts the redirect after a form.
    ``images`` are the origins that pictures of products come from.
    """
    nonce = secrets.token_urlsafe(16)
    shared = {**in_language(language), "method_names": PAYMENT_METHOD_TYPES, "nonce": nonce}
    text = environment("emulator.ui.buyer").get_template(template).render(**shared, **values)
    return HTMLResponse(text, status, buyer_headers(nonce, origins, images))


def buyer_headers(nonce: str, origins: Iterable[str], images: Iterable[str] = ()) -> dict[str, str]:
    """The headers of a buyer's page, which posts forms to ``origins`` and loads pictures from ``images``."""
    policy = content_security_policy(
        style_src=f"'nonce-{nonce}'",
        script_src=f"'nonce-{nonce}'",
        connect_src="'self'",
        img_src=" ".join(("data:", *images)),
        form_action=" ".join(("'self'", *origins)),
    )
    return {**private_headers(policy), "X-Content-Type-Options": "nosniff"}
