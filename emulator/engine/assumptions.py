"""The assumptions: what the emulator does where the specification is silent or can be read in two ways.

Each has a number (B-01 …). Those of which an App can choose the value also have a name (B-99).
"""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.document.paths import fixtures_folder
from emulator.engine.reference_data import read_yaml
from emulator.resources.app.settings import Settings, values_of_assumptions


class Assumption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One assumption.

    ``reads`` says in short what the specification has in its ``section``, ``decided`` what the emulator does.
    ``settings`` are what changes it in an App (B-90), ``names`` the named assumptions that do (B-99).
    """

    area: str
    title: str
    section: str
    reads: str
    decided: str
    settings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class NamedAssumption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``sentence`` of the specification, and what each of the ``values`` does; the first is the default."""

    sentence: str
    values: dict[str, str]


def numbered_assumptions() -> dict[str, Assumption]:
    """Return every assumption by its number (``B-58``), in order."""
    return msgspec.convert(read_yaml(fixtures_folder() / "assumptions.yaml"), dict[str, Assumption])


def named_assumptions() -> dict[str, NamedAssumption]:
    """Return every named assumption by its name."""
    return msgspec.convert(read_yaml(fixtures_folder() / "named-assumptions.yaml"), dict[str, NamedAssumption])


def assumptions_of(settings: Settings) -> list[dict[str, Any]]:
    """Return every named assumption as it is listed, with its value in these settings and its numbers."""
    values, numbered = values_of_assumptions(settings), numbered_assumptions()
    return [
        {
            "name": name,
            "value": values[name],
            "default": next(iter(assumption.values)),
            "values": list(assumption.values),
            "sentence": assumption.sentence,
            "numbers": [number for number, each in numbered.items() if name in each.names],
        }
        for name, assumption in named_assumptions().items()
    ]
