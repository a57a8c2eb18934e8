"""Security headers: a page may load and run nothing but what its policy names."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256


def content_security_policy(*, form_action: str = "'self'", **sources: str) -> str:
    """A ``Content-Security-Policy`` that allows nothing but the named sources: ``img_src="'self' data:"``, …"""
    allowed = "; ".join(f"{directive.replace('_', '-')} {source}" for directive, source in sources.items())
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action {form_action}; frame-ancestors 'none'"


def hash_of(text: str) -> str:
    """A source that allows this text in the page itself, as its style sheet or script."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def public_headers(policy: str) -> dict[str, str]:
    """The headers of a page that is the same for every reader."""
    return {
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def private_headers(policy: str) -> dict[str, str]:
    """The headers of a page that depends on who reads it, and that has forms."""
    return {
        "Content-Security-Policy": policy,
        # With "no-referrer" browsers post forms with "Origin: null", which does not say which site sent them.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Language, Cookie",
    }
