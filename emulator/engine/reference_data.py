"""Reference data: the content of the fixture files, which is read on first use.

Magic values and keys, the countries of addresses, the examples of every error code, and the
assumptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from emulator.core.event_types import EVENTS
from emulator.document import bundles
from emulator.document.paths import fixture
from emulator.presentation.languages import catalogs
from emulator.resources.app.clients import IpAddress, MagicKey, network
from emulator.resources.app.settings import Settings, values_of_assumptions
from emulator.resources.customers.payment_details import MagicValue, MagicValues

# -- what the rules know of the outside world


class ReferenceData:
    """The fixture files that come with the emulator."""

    @cached_property
    def magic(self) -> MagicValues:
        """The operator's magic values (B-54)."""
        return msgspec.convert(fixture("magic"), dict[str, tuple[MagicValue, ...]])

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of emails and invoices; the first where a customer's is not known."""
        return catalogs.languages()

    @cached_property
    def magic_keys(self) -> tuple[MagicKey, ...]:
        """The API keys that put their App into a special state (B-04)."""
        return msgspec.convert(fixture("keys"), tuple[MagicKey, ...])

    @cached_property
    def samples(self) -> dict[str, dict[str, Any]]:
        """The ``data`` of the document's example by event type, without endpoint tests' types."""
        hooks = bundles.load("service")["x-webhooks"]
        return {
            type: hook["post"]["requestBody"]["content"]["application/json"]["example"]["data"]
            for type, hook in hooks.items()
            if type in EVENTS
        }

    def country(self, address: IpAddress) -> str | None:
        """Return an IP address's country (ISO 3166-1 alpha-2 code), None if unknown (B-70)."""
        return next((country for networks, country in self._networks if address in networks), None)

    @cached_property
    def _networks(self) -> list[tuple[Any, str]]:
        return [(network(entry["network"]), entry["country"]) for entry in fixture("networks")]


@cache
def reference_data() -> ReferenceData:
    """Return the reference data that the sandboxes of a process share."""
    return ReferenceData()


MAX_DEPTH = 100
"""Lists and mappings within each other that a file may have."""


def read_yaml(file: Path) -> Any:
    """Return a YAML or JSON file's content. Raises ``OSError``, ``ValueError``, ``YAMLError``."""
    return parse_yaml(file.read_text("utf-8"))


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises ``ValueError`` or ``yaml.YAMLError``."""
    # Loaded on first use: a server that meets no payment needs no YAML.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(text, loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > MAX_DEPTH:  # the loader calls itself for each, and would end the process
            raise ValueError(f"has more than {MAX_DEPTH} lists and mappings in each other")
    return yaml.load(text, Loader=loader)  # noqa: S506  # both loaders are the safe one


# -- how each error is caused


class Step(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"name": "as"}
):
    """One request (``METHOD /path``). ``key`` replaces the reader's API key; ``''`` means none.

    ``name`` names its response: later steps refer to ``{name.field}``. ``advance`` moves the clock
    instead of a request.
    """

    request: str = ""
    body: Any = None
    headers: dict[str, str] = {}
    key: str | None = None
    name: str | None = None
    advance: str | None = None


class ErrorExample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A code's meaning and trigger; without steps, only ``Emulator-Answer`` triggers it."""

    explain: str
    steps: tuple[Step, ...] = ()


@cache
def error_examples() -> Mapping[str, ErrorExample]:
    return msgspec.convert(fixture("errors"), dict[str, ErrorExample])


# -- what the specification leaves open, by number (B-01 …) and, where Apps choose, by name (B-99)


class Assumption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One assumption.

    ``reads`` says in short what the specification has in its ``section``, ``decided`` what the
    emulator does. ``settings`` change that in an App (B-90), and so do the named assumptions
    ``names`` (B-99).
    """

    area: str
    title: str
    section: str
    reads: str
    decided: str
    settings: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class NamedAssumption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``sentence`` of the specification, and its ``values`` with effects, the default first."""

    sentence: str
    values: dict[str, str]


@cache
def numbered_assumptions() -> Mapping[str, Assumption]:
    """Return every assumption by number (``B-58``), in order, with its settings' defaults."""
    read = msgspec.convert(fixture("assumptions"), dict[str, Assumption])
    return {
        number: msgspec.structs.replace(
            assumption, decided=_SETTING.sub(_default, assumption.decided)
        )
        for number, assumption in read.items()
    }


_SETTING = re.compile(rf"\{{({'|'.join(Settings.__struct_fields__[1:])})\}}")


def _default(name: re.Match[str]) -> str:
    value = getattr(Settings(), name[1])
    return (
        f"{', '.join(map(str, value[:-1]))} and {value[-1]}"
        if isinstance(value, tuple)
        else str(value)
    )


@cache
def named_assumptions() -> Mapping[str, NamedAssumption]:
    return msgspec.convert(fixture("named-assumptions"), dict[str, NamedAssumption])


def assumptions_of(settings: Settings) -> list[dict[str, Any]]:
    """Return every listed named assumption with its value in these settings and its numbers."""
    values, numbered = values_of_assumptions(settings), numbered_assumptions()
    return [
        {
            "name": name,
            "value": values[name],
            "default": next(iter(assumption.values)),
            "values": list(assumption.values),
            "sentence": assumption.sentence,
            "numbers": [
                number
                for number, numbered_assumption in numbered.items()
                if name in numbered_assumption.names
            ],
        }
        for name, assumption in named_assumptions().items()
    ]
