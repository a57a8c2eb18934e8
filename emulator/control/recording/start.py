"""How a world is put at the start of a recording."""

from __future__ import annotations

from typing import Any

from emulator.control.recording.model import Recording


def reset_body(recording: Recording) -> dict[str, Any]:
    """The body of ``POST /_emulator/reset``."""
    settings = {"fixtures": {"settings": recording.settings}} if recording.settings else {}
    return {"clock": f"frozen@{recording.clock}", "seed": recording.seed, **settings}
