"""Strategies for the formats of the document, from which schemathesis generates values."""

from __future__ import annotations

import schemathesis
from hypothesis import strategies as st

LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
DOMAIN = st.builds("{}.{}".format, LABEL, LABEL)

STRATEGIES: dict[str, st.SearchStrategy[str]] = {
    "currency": st.sampled_from(["XAF", "XOF", "EUR", "USD", "JPY", "TND"]),
    "country": st.sampled_from(["GA", "CM", "FR", "US", "KP"]),
    "domain": DOMAIN,
    "e164": st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True),
    "email": st.builds("{}@{}".format, LABEL, DOMAIN),
    "https-uri": st.builds("https://{}/{}".format, DOMAIN, LABEL),
    "uri": st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), DOMAIN, LABEL),
    "web-url": st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), DOMAIN, LABEL),
    "ipv4-network": st.sampled_from(["127.0.0.1", "127.0.0.0/8", "0.0.0.0/0"]),
    "not-blank": st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=50),
}


def register() -> None:
    """Register them with schemathesis."""
    for name, strategy in STRATEGIES.items():
        schemathesis.openapi.format(name, strategy)
