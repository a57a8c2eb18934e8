"""The formats of our own, and of emails and URLs, in keywords that every validator knows.

They are part of the documents, so that what is validated at work is what is published.
"""

from __future__ import annotations

from emulator.document.schema_walk import Schema, map_schemas
from emulator.document.tree import Document, Node

_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_OCTET = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_HOST = r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_PORT = "(:([0-9][0-9]?[0-9]?[0-9]?|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_AFTER_SCHEME = rf"://{_HOST}{_PORT}([/?#][^\s\x00-\x1f\x7f]*)?$"
"""A host in ASCII without user information, as a Content-Security-Policy can name it.

Generated Go clients validate errors by it: Go knows ``\\x00`` but no ``\\u0000``, and their validator parts a rule at commas.
"""

URL = {"pattern": f"^https?{_AFTER_SCHEME}"}

LIMITS: dict[str, Node] = {
    "country": {"pattern": "^[A-Z]{2}$"},
    "currency": {"pattern": "^[A-Z]{3}$"},
    "domain": {"pattern": rf"^{_LABEL}(\.{_LABEL})*$", "maxLength": 253},
    "e164": {"pattern": r"^\+[1-9][0-9]{6,14}$"},
    "email": {"maxLength": 254},
    "https-uri": {"pattern": f"^https{_AFTER_SCHEME}"},
    "ipv4-network": {"pattern": rf"^{_OCTET}(\.{_OCTET}){{3}}(/(3[0-2]|[12]?[0-9]))?$"},
    "not-blank": {"pattern": r"^\s*\S[\s\S]*$"},
    "uri": URL,
    "web-url": URL,
}
"""What a format asks for. A ``web-url`` may have ``{CHECKOUT_SESSION_ID}`` in it, which a ``uri`` may not."""


def with_limits(document: Document) -> Document:
    """The document with these keywords beside each format."""
    return map_schemas(document, _limited)


def _limited(schema: Schema) -> Schema:
    return LIMITS.get(schema.get("format", ""), {}) | schema
