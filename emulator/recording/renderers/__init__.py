"""The forms of a recording: each renders the same steps as code or as a file for one tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emulator.recording.model import Recording
from emulator.recording.renderers import arazzo, bruno, curl, node, pytest_test

Files = Mapping[str, str]
"""The text of each file by its name; one file has the empty name."""

FORMS: Mapping[str, Callable[[Recording], Files]] = {
    "pytest": lambda recording: {"": pytest_test.render(recording)},
    "node": lambda recording: {"": node.render(recording)},
    "curl": lambda recording: {"": curl.render(recording)},
    "arazzo": lambda recording: {"": arazzo.render(recording)},
    "bruno": bruno.render,
}
"""The forms by name. A recording as HAR is made from the requests themselves (:mod:`emulator.recording.har`)."""
