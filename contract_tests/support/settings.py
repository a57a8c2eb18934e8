"""The settings that an App starts with, as the guide's page of settings lists them (B-90)."""

from __future__ import annotations

import json
import re
from typing import Any

from contract_tests import ROOT

_ROW = re.compile(r"^\| `(\w+)` \| `(.+?)` \|", re.M)

SHOWN: dict[str, Any] = {
    name: json.loads(default)
    for name, default in _ROW.findall(
        (ROOT / "docs" / "guide" / "settings.md").read_text(encoding="utf-8")
    )
}
"""The settings of a new App, as it shows them."""

OF_SETTINGS = ("unknown_fields", "error_shape", "refund_timing")
"""Assumptions that have settings of their own; the App shows them among its assumptions too."""
