"""Mutants that no test can notice, because they behave as the original does: the list in ``equivalent.yaml``.

An entry is found by the text of the changed lines, so that it survives changes elsewhere in its module.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from contract_tests.quality.mutants.mutations import Mutant

LIST = Path(__file__).with_name("equivalent.yaml")


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A module, its lines before and after the change, and why they behave alike."""

    path: str
    code: str
    mutant: str
    because: str


class Equivalents:
    """Looks mutants up in a list."""

    def __init__(self, entries: list[Equivalent]) -> None:
        self._reasons = {(each.path, each.code, each.mutant): each.because for each in entries}

    def reason(self, mutant: Mutant, source: str) -> str | None:
        """Why a mutant of a module is equivalent, or None when it is not in the list."""
        return self._reasons.get((mutant.path, *mutant.change(source)))


def read(file: Path = LIST) -> list[Equivalent]:
    """The entries of a list; raises ``msgspec.ValidationError`` when one lacks a field."""
    return msgspec.yaml.decode(file.read_bytes(), type=list[Equivalent])
