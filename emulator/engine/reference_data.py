"""Reference data: what the rules know of the outside world, read from the fixture files on first use."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from emulator.core.event_types import EVENTS
from emulator.document import bundles
from emulator.document.paths import fixtures_folder
from emulator.engine.geoip import CountryLookup, NetworkEntry, from_database, from_table
from emulator.presentation.languages import catalogs
from emulator.resources.app.keys import MagicKey
from emulator.resources.customers.magic_values import MagicValue, MagicValues


class ReferenceData:
    """The fixture files that come with the emulator. A ``geoip`` database replaces the one of networks.

    Raises ``InvalidDatabase`` for a ``geoip`` file that cannot be used.
    """

    def __init__(self, geoip: Path | None = None) -> None:
        if geoip is not None:
            self.country = from_database(geoip)

    @cached_property
    def magic(self) -> MagicValues:
        """The operator's magic values (B-54)."""
        return msgspec.convert(read_yaml(fixtures_folder() / "magic.yaml"), dict[str, tuple[MagicValue, ...]])

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of emails and invoices; the first where a customer's is not known."""
        return catalogs.languages()

    @cached_property
    def magic_keys(self) -> tuple[MagicKey, ...]:
        """The API keys that put their App into a special state (B-04)."""
        return msgspec.convert(read_yaml(fixtures_folder() / "keys.yaml"), tuple[MagicKey, ...])

    @cached_property
    def samples(self) -> dict[str, dict[str, Any]]:
        """By type of event, the ``data`` of the document's example; without the types that only test an endpoint."""
        hooks = bundles.load("service")["x-webhooks"]
        return {
            type: hook["post"]["requestBody"]["content"]["application/json"]["example"]["data"]
            for type, hook in hooks.items()
            if type in EVENTS
        }

    @cached_property
    def country(self) -> CountryLookup:
        """Looks up the country of an IP address (B-70)."""
        return from_table(msgspec.convert(read_yaml(fixtures_folder() / "networks.yaml"), tuple[NetworkEntry, ...]))


MAX_DEPTH = 100
"""Lists and mappings within each other that a file may have."""


def read_yaml(file: Path) -> Any:
    """The content of a YAML (or JSON) file. Raises ``OSError``, ``ValueError`` or ``yaml.YAMLError``."""
    return parse_yaml(file.read_text("utf-8"))


def parse_yaml(text: str) -> Any:
    """The value of a YAML text. Raises ``ValueError`` or ``yaml.YAMLError``."""
    # Loaded on first use: a server that meets no payment needs no YAML.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(text, loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:  # the loader calls itself for each, and would end the process
            raise ValueError(f"has more than {MAX_DEPTH} lists and mappings in each other")
    return yaml.load(text, Loader=loader)  # noqa: S506  # both loaders are the safe one
