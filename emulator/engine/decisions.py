"""The decisions: what the emulator does where the specification is silent or allows two readings, by number."""

from __future__ import annotations

import msgspec

from emulator.document.paths import fixtures_folder
from emulator.engine.reference_data import read_yaml


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One decision.

    ``reads`` says in short what the specification has in its ``section``, ``decided`` what the emulator does.
    ``settings`` and ``readings`` name what changes it in an App (B-90, B-99).
    """

    area: str
    title: str
    section: str
    reads: str
    decided: str
    settings: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()


def decisions() -> dict[str, Decision]:
    """Every decision by its number (``B-58``), in order."""
    return msgspec.convert(read_yaml(fixtures_folder() / "decisions.yaml"), dict[str, Decision])
