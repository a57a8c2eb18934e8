"""Progress: what the document describes and the emulator does not do yet. Each list is exact and only gets shorter."""

from __future__ import annotations

RECORDS: frozenset[str] = frozenset()
"""Objects of the document without a record. This should stay empty."""

STATES: dict[str, frozenset[str]] = {
    "customer": frozenset({"inactive", "blocked"}),
    "payment_method": frozenset({"inactive"}),
}
"""States of the document that no row of a life cycle leads to: the control API alone sets them (B-32)."""

DIFFERENCES: frozenset[str] = frozenset()
"""Fields in which a record and its schema differ. This should stay empty."""

IMPORT_CIRCLES: frozenset[frozenset[str]] = frozenset()
"""Modules that import each other. This should stay empty."""
