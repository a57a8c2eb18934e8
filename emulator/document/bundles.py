"""The store is the shelf of finished bundles: the program reads its OpenAPI documents from here, as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from emulator.document.openapi31 import to_openapi_3_1
from emulator.paths import openapi_folder

Document = dict[str, Any]

SOURCES = ("service", "control")
OPENAPI_3_1 = "-3.1"
"""The ending that the OpenAPI 3.1 twin of a document has in its name."""


def load(name: str) -> Document:
    """The document ``service`` or ``control``, or its twin ``service-3.1`` or ``control-3.1``."""
    return msgspec.json.decode(bundle_file(name).read_bytes(), type=Document)


def bundle_file(name: str) -> Path:
    return openapi_folder() / "dist" / f"{name}.json"


def write_bundles() -> list[Path]:
    """Makes the bundles anew from the YAML files; the paths that were written."""
    files = {bundle_file(name): text for name, text in fresh_bundles().items()}
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def fresh_bundles() -> dict[str, str]:
    """Every bundle by its name, as its file ought to read."""
    # PyYAML is slow to import and a server never needs it, so only this function asks for it.
    from emulator.document.bundle import bundle

    originals = {name: bundle(openapi_folder() / f"{name}.yaml") for name in SOURCES}
    twins = {name + OPENAPI_3_1: to_openapi_3_1(document) for name, document in originals.items()}
    return {name: _text(document) for name, document in (originals | twins).items()}


def _text(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
