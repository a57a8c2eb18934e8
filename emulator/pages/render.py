"""Rendering: a template and its values become a page that may load nothing and run nothing but its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse, Response

if TYPE_CHECKING:
    from jinja2 import Environment

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@cache
def environment() -> Environment:
    """The templates; everything put into them is escaped."""
    # Loaded on first use: most servers never show a page.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("emulator.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def buyer_headers(nonce: str, origins: Iterable[str]) -> dict[str, str]:
    """The headers of a buyer's page: only its own style and script, marked with the nonce, and forms that lead to the
    page itself and on to the merchant's ``origins`` (a browser counts the redirect after a form).
    """
    leads_to = " ".join(("'self'", *origins))
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; "
        f"img-src data:; base-uri 'none'; form-action {leads_to}; frame-ancestors 'none'"
    )
    return {
        **HEADERS,
        "Content-Security-Policy": policy,
        # Under "no-referrer" browsers post forms with "Origin: null", and nobody could tell who sent them.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Language, Cookie",
    }


def page(template: str, status: int = 200, headers: Mapping[str, str] = HEADERS, **values: Any) -> Response:
    """A page."""
    return HTMLResponse(environment().get_template(template).render(**values), status, headers)
