"""The forms of a recording: each renders the same steps as code or as a file for one tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emulator.insight.recording.model import Recording
from emulator.insight.recording.renderers import curl, node, pytest_test

FORMS: Mapping[str, Callable[[Recording], str]] = {
    "pytest": pytest_test.render,
    "node": node.render,
    "curl": curl.render,
}
"""The forms by name."""
