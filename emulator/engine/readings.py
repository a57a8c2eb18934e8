"""The readings: sentences of the specification that can be read in two ways, and what each value does (B-99)."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.document.paths import fixtures_folder
from emulator.engine.decisions import decisions
from emulator.engine.reference_data import read_yaml
from emulator.resources.app.settings import Settings
from emulator.resources.app.settings import readings as values_of


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reading: the ``sentence`` that it reads, and what each of its ``values`` does; the first is the default."""

    sentence: str
    values: dict[str, str]


def readings() -> dict[str, Reading]:
    """Every reading by its name."""
    return msgspec.convert(read_yaml(fixtures_folder() / "readings.yaml"), dict[str, Reading])


def readings_of(settings: Settings) -> list[dict[str, Any]]:
    """Every reading as it is listed, with its value in these settings and the decisions that it changes."""
    values, numbered = values_of(settings), decisions()
    return [
        {
            "name": name,
            "value": values[name],
            "default": next(iter(reading.values)),
            "values": list(reading.values),
            "sentence": reading.sentence,
            "decisions": [number for number, decision in numbered.items() if name in decision.readings],
        }
        for name, reading in readings().items()
    ]
