"""The initial state of a world as a test gives it: clock, seed, settings and fixture files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from emulator.engine.fixtures import Fixtures, InvalidFixture
from emulator.engine.world_clock import FROZEN, RUNNING, parse_start
from emulator.resources.app.settings import merged


@dataclass(frozen=True)
class WorldOptions:
    """``clock`` is ``running``, ``frozen`` (now) or ``frozen@INSTANT``. Without a seed the server's is used."""

    clock: str = FROZEN
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    fixtures: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        clock: str | datetime = FROZEN,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        fixtures: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    ) -> WorldOptions:
        """Validate the arguments of a test. Raises ``ValueError`` or ``TypeError`` that says what is allowed."""
        if isinstance(seed, bool) or not isinstance(seed, int | None):
            raise TypeError(f"seed={seed!r}: a whole number")
        if not isinstance(settings, Mapping | None):
            raise TypeError(f"settings={settings!r}: a dict of settings, such as {{'tax_rate': 18}}")
        return cls(clock_start(clock), seed, dict(settings or {}), _files(fixtures))

    def own_settings(self, app: str) -> dict[str, Any]:
        """The settings of an App: those of the files, then ``settings``. Raises ``ValueError`` for an invalid file."""
        try:
            return merged(Fixtures(self.fixtures).origin_of(app), self.settings)
        except InvalidFixture as error:
            raise ValueError(str(error)) from None


def clock_start(clock: str | datetime) -> str:
    """The form of a clock in :class:`WorldOptions`. An instant (text, or ``datetime``, UTC if naive) is frozen."""
    if isinstance(clock, datetime):
        clock = (clock if clock.tzinfo else clock.replace(tzinfo=UTC)).isoformat()
    try:
        mode, at = parse_start(clock if clock in (RUNNING, FROZEN) else f"{FROZEN}@{clock.removeprefix(FROZEN + '@')}")
    except (ValueError, TypeError, AttributeError):
        raise ValueError(
            f"clock={clock!r}: 'running', 'frozen', or an instant to be frozen at, such as '2026-01-01T00:00:00Z'"
        ) from None
    return f"{mode}@{at}" if at else mode


def _files(fixtures: Any) -> tuple[Path, ...]:
    try:
        listed = [fixtures] if isinstance(fixtures, str | PathLike) else list(fixtures)
        return tuple(Path(fspath(file)) for file in listed)
    except TypeError:
        raise TypeError(f"fixtures={fixtures!r}: a path, or a list of paths, of fixture files") from None
