"""Fixture files: settings and keys in YAML, or whole worlds in a TinyDB file, such as an exported snapshot (B-90)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from emulator.core.calendar import Timestamp
from emulator.engine.reference_data import read_yaml
from emulator.resources.app import keys
from emulator.resources.app.keys import Key
from emulator.resources.app.settings import Settings, changed
from emulator.state import serialization
from emulator.state.serialization import Content, StoredWorld


class InvalidFixture(Exception):
    """A fixture file that cannot be used; the message names the file and what is wrong with it."""


class AppFixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one App starts with."""

    settings: dict[str, Any] = {}


class Fixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: ``settings`` for every App, ``apps`` by name, ``keys`` for ``--keys listed``."""

    settings: dict[str, Any] = {}
    apps: dict[str, AppFixture] = {}
    keys: tuple[str, ...] = ()


class Start(NamedTuple):
    """How a world starts where it does not start as the server was told: more fixtures, a seed, a clock."""

    fixture: Fixture = Fixture()
    seed: int | None = None
    clock: tuple[str, Timestamp | None] | None = None


class Fixtures:
    """Several files read one after the other; what a later one says replaces what an earlier one said."""

    def __init__(self, files: Iterable[Path] = ()) -> None:
        self._all: list[Fixture] = []
        self.worlds: dict[Key, StoredWorld] = {}
        for file in files:
            found = _read(file)
            if isinstance(found, Fixture):
                self._all.append(found)
                self._check(file)
            else:
                self.worlds |= found.worlds
        self.keys = frozenset(key for fixture in self._all for key in fixture.keys)

    def settings(self, app: str, *more: Fixture) -> Settings:
        """The settings an App starts with. Raises ``ValueError`` or ``msgspec.ValidationError`` for unfit ``more``."""
        start = Settings()
        for fixture in (*self._all, *more):
            start = changed(start, fixture.settings)
            start = changed(start, fixture.apps.get(app, AppFixture()).settings)
        return start

    def origin_of(self, app: str) -> dict[str, Any]:
        """All that the files say of an App's settings."""
        found: dict[str, Any] = {}
        for fixture in self._all:
            found |= fixture.settings | fixture.apps.get(app, AppFixture()).settings
        return found

    def _check(self, file: Path) -> None:
        """Whether a file goes together with those before it; what does not is found now and not by a request."""
        apps = {name for fixture in self._all for name in fixture.apps}
        try:
            for app in ("", *sorted(apps)):
                self.settings(app)
        except (msgspec.ValidationError, ValueError) as fault:
            raise InvalidFixture(f"{file}: {fault}") from None
        if unfit := [name for name in sorted(apps) if not keys.NAME.fullmatch(name)]:
            raise InvalidFixture(f"{file}: {unfit[0]!r} is no name of an App: 4 to 64 of A-Z a-z 0-9 _ -")
        if unfit := [key for key in self._all[-1].keys if not keys.SECRET.fullmatch(key)]:
            raise InvalidFixture(f"{file}: {unfit[0]!r} is no secret key; they read sk_test_NAME or sk_prod_NAME")


def _read(file: Path) -> Fixture | Content:
    # PyYAML's errors span several lines; the first two say what and where.
    import yaml

    try:
        content = read_yaml(file)
        if isinstance(content, dict) and ("emulator" in content or "format" in content):
            return serialization.content(content)
        return msgspec.convert({} if content is None else content, Fixture)
    except (OSError, UnicodeDecodeError) as fault:
        raise InvalidFixture(f"{file}: cannot be read: {getattr(fault, 'strerror', None) or fault}") from None
    except yaml.YAMLError as fault:
        raise InvalidFixture(f"{file}: is not YAML: {' '.join(str(fault).split())}") from None
    except (msgspec.ValidationError, ValueError) as fault:
        raise InvalidFixture(f"{file}: {fault}") from None
