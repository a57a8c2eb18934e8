"""Pages: a template and its values become a response."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from emulator.errors import ApiError
from emulator.html.headers import content_security_policy, private_headers, public_headers
from emulator.html.templates import environment, in_language
from emulator.i18n.language import Language
from emulator.i18n.terms import PAYMENT_METHOD_TYPES
from emulator.web.context import context_of

HEADERS = public_headers(content_security_policy(style_src="'unsafe-inline'", img_src="'self' data:"))


def page(template: str, status: int = 200, headers: Mapping[str, str] = HEADERS, **values: Any) -> Response:
    """A page in English."""
    return HTMLResponse(environment("emulator.pages").get_template(template).render(**values), status, headers)


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
    return page(template, status, buyer_headers(nonce, origins, images), **shared, **values)


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


def api_error(request: Request, error: ApiError) -> Response:
    """An error as the service answers it, for programs."""
    reply = context_of(request.scope).error_response(error)
    return Response(reply.body, reply.status, reply.headers, media_type=reply.media_type)
