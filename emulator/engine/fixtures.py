"""Fixture files: settings and keys in YAML, or whole worlds in TinyDB files, as exported (B-90)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from emulator.core.calendar import Timestamp
from emulator.core.errors import ApiError
from emulator.document import bundles
from emulator.document.iso_codes import countries, currencies
from emulator.document.tree import inlined, properties
from emulator.engine.clock import ClockMode
from emulator.engine.reference_data import read_yaml
from emulator.engine.storage import serialization
from emulator.engine.storage.serialization import Content, StoredWorld
from emulator.presentation.pictures import read_logo
from emulator.resources.app import clients
from emulator.resources.app.clients import Key
from emulator.resources.app.settings import Settings, changed, merged


class InvalidFixture(Exception):
    """A fixture file that cannot be used; the message names the file and says what is wrong."""


class AppFixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    settings: dict[str, Any] = {}


class Fixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: ``settings`` for every App, ``apps`` by name, ``keys`` for ``--keys listed``."""

    settings: dict[str, Any] = {}
    apps: dict[str, AppFixture] = {}
    keys: tuple[str, ...] = ()


class Start(NamedTuple):
    """One world's start, where it differs from the server's options: fixtures, seed, clock."""

    fixture: Fixture = Fixture()
    seed: int | None = None
    clock: tuple[ClockMode, Timestamp | None] | None = None


class Fixtures:
    """The content of several files and folders; values in later ones override earlier ones."""

    def __init__(
        self,
        files: Iterable[Path] = (),
        assumptions: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        # What the command line says comes first, so that a file can differ from it for single Apps.
        command_line_settings = merged(
            settings or {}, {"assumptions": dict(assumptions)} if assumptions else {}
        )
        self._all: list[Fixture] = (
            [Fixture(settings=command_line_settings)] if command_line_settings else []
        )
        self.worlds: dict[Key, StoredWorld] = {}
        if command_line_settings:
            self._check("profile")
        for file in chain.from_iterable(map(_files, files)):
            content = _read(file)
            if isinstance(content, Fixture):
                self._all.append(content)
                self._check(file)
            else:
                self.worlds |= content.worlds
        self.keys: frozenset[str] = frozenset(key for fixture in self._all for key in fixture.keys)

    def settings(self, app: str, *more: Fixture) -> Settings:
        """Return an App's first settings; ``ValueError`` with a sentence for invalid ones."""
        start = Settings()
        for fixture in (*self._all, *more):
            own = fixture.apps.get(app, AppFixture()).settings
            for place, changes in (("", fixture.settings), (f"apps.{app}.", own)):
                try:
                    start = changed(start, changes, read_logo)
                except ApiError as error:
                    raise ValueError(_sentences(error, f"{place}settings")) from None
                except msgspec.ValidationError as error:
                    raise ValueError(_explained(error, f"{place}settings")) from None
        if unknown := set(start.currencies) - currencies().keys():
            raise ValueError(f"currencies: {min(unknown)} is not a code of ISO 4217")
        if unknown := set(start.countries) - countries():
            raise ValueError(f"countries: {min(unknown)} is not a code of ISO 3166-1")
        return start

    def origin_of(self, app: str) -> dict[str, Any]:
        """Return the settings of an App that stand in the files."""
        origin: dict[str, Any] = {}
        for fixture in self._all:
            origin = merged(origin, fixture.settings, fixture.apps.get(app, AppFixture()).settings)
        return origin

    def _check(self, file: Path | str) -> None:
        """Check a file together with earlier files: errors show at the start, not at requests."""
        apps = {name for fixture in self._all for name in fixture.apps}
        try:
            for app in ("", *sorted(apps)):
                self.settings(app)
        except (msgspec.ValidationError, ValueError) as error:
            raise InvalidFixture(f"{file}: {error}") from None
        if invalid := [name for name in sorted(apps) if not clients.NAME.fullmatch(name)]:
            raise InvalidFixture(
                f"{file}: {invalid[0]!r} is not a name for an App: 1 to 64 of A-Z a-z 0-9 _ -"
            )
        if invalid := [key for key in self._all[-1].keys if not clients.SECRET.fullmatch(key)]:
            raise InvalidFixture(
                f"{file}: {invalid[0]!r} is not a secret key; they read sk_test_NAME or"
                " sk_prod_NAME"
            )


def _sentences(error: ApiError, place: str) -> str:
    """Return the faults of an error in one line, each with its path."""
    faults = (error.errors or {}).items()
    return "; ".join(f"{place}.{name}: {', '.join(why)}" for name, why in faults)


LISTS_OF_CODES = {
    "main_currency": "ISO 4217",
    "currencies": "ISO 4217",
    "countries": "ISO 3166-1",
}
"""The settings that are codes of a standard, too many to name."""


def _explained(error: msgspec.ValidationError, place: str) -> str:
    """Return the error of a setting with its path, and the values that the document allows."""
    message, _, path = str(error).partition(" - at `$")
    names = re.findall(r"\w+", path)
    document = bundles.load("control")
    schema = inlined(document, document["components"]["schemas"]["SettingsPatch"])
    for name in names:
        declared = properties(document, schema)
        schema = schema.get("items", {}) if name.isdigit() else declared.get(name, {})
    standard = LISTS_OF_CODES.get(names[0]) if "enum" in schema else None
    rule = f"must be a code of {standard}" if standard else _rule(schema)
    return f"{'.'.join([place, *names])}: {rule or message}"


def _rule(schema: Mapping[str, Any]) -> str | None:
    """Return what a schema allows, if it lists the values or bounds a number."""
    if "enum" in schema:
        return f"must be one of {', '.join(schema['enum'])}"
    if "maximum" in schema:
        return f"must be from {schema['minimum']} to {schema['maximum']}"
    if "minimum" not in schema:
        return None
    bound = "more than" if schema.get("exclusiveMinimum") else "at least"
    return f"must be {bound} {schema['minimum']}"


def _files(path: Path) -> list[Path]:
    """Return the file itself, or a folder's YAML and JSON files in the order of their names."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml", ".json"))


def _read(file: Path) -> Fixture | Content:
    # Loaded on first use: a server without fixture files needs no YAML.
    import yaml

    try:
        content = read_yaml(file)
        if isinstance(content, dict) and ("emulator" in content or "format" in content):
            worlds = serialization.content(content)
            for saved in worlds.worlds.values():
                # So that an invalid record shows now, and not when its world is opened.
                serialization.readable(saved)
            return worlds
        return msgspec.convert({} if content is None else content, Fixture)
    except (OSError, UnicodeDecodeError, OverflowError, RecursionError) as error:
        raise InvalidFixture(
            f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    except yaml.YAMLError as error:
        # Its errors span several lines; they become one.
        raise InvalidFixture(f"{file}: is not YAML: {' '.join(str(error).split())}") from None
    except (msgspec.ValidationError, ValueError) as error:
        raise InvalidFixture(f"{file}: {error}") from None
