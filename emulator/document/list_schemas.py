"""Schemas of lists: one page of objects, written once for all kinds."""

from __future__ import annotations

import re

from emulator.document.schema_walk import Schema

ENDING = "List"
PAGINATION = "../schemas/Pagination.yaml"


def listed_item(name: str, written: Schema | None) -> str | None:
    """The schema of which a schema is a list: ``x-list-of`` says so, or, where nothing is written, its name."""
    if written is not None:
        return written.get("x-list-of")
    return name.removesuffix(ENDING) if name.endswith(ENDING) else None


def list_schema(item: str, reference: str, written: Schema | None) -> Schema:
    """A page of items, in the envelope that all lists have (B-19), and what is written about this list alone."""
    about = {key: value for key, value in (written or {}).items() if key != "x-list-of"}
    return {
        "type": "object",
        "description": f"A page of {plural(item)}.",
        "required": ["object", "data", "pagination"],
        "properties": {
            "object": {"type": "string", "enum": ["list"], "description": "The kind of this object."},
            "data": {"type": "array", "description": "The objects of this page.", "items": {"$ref": reference}},
            "pagination": {"$ref": PAGINATION},
        },
        **about,
    }


def plural(item: str) -> str:
    """What several are called: ``SecurityProfile`` is ``security profiles``."""
    words = re.sub(r"(?<=.)([A-Z])", r" \1", item).lower()
    if re.search(r"[^aeiou]y$", words):
        return words.removesuffix("y") + "ies"
    return words + ("es" if words.endswith("s") else "s")
