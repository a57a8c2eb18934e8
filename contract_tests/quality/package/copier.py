"""The script of the build that copies parts of libraries into a wheel."""

from __future__ import annotations

import importlib.util
from typing import Any

from contract_tests import ROOT


def copier() -> Any:
    """Return the module ``docs/libraries.py``, which is in no package."""
    spec = importlib.util.spec_from_file_location("libraries", ROOT / "docs" / "libraries.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
