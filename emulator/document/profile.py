"""Profiles: a service's facts found by calibration, which the emulator and documents follow.

Marks in a served document say which assumptions were confirmed at the service, and which not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from emulator.document.tree import map_parts

# -- profiles


class InvalidProfile(Exception):
    """A file that is no profile; the message names it and says what is wrong."""


class Refuted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An assumption that a service refutes; ``followed`` if settings of the profile do the same."""

    number: str
    probe: str
    asked: str
    observed: dict[str, Any] = {}
    followed: bool = False
    request_ids: list[str] = []


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The facts of a service: ``confirmed`` and ``refuted`` assumptions and ``settings``.

    ``date`` is the day (UTC) of the calibration, ``learnt`` are values that the emulator does not
    set but readers want to know, such as the form of ids and texts of errors. ``of`` is how many
    assumptions the emulator has.
    """

    service: str
    date: str
    of: int
    settings: dict[str, Any] = {}
    assumptions: dict[str, str] = {}
    confirmed: list[str] = []
    refuted: list[Refuted] = []
    learnt: dict[str, Any] = {}

    def chosen(self) -> dict[str, Any]:
        """Return the settings of an App that behaves as the service does, assumptions included."""
        return {**self.settings, **({"assumptions": self.assumptions} if self.assumptions else {})}

    def broken(self) -> list[str]:
        """Return the assumptions that do not hold at the service and that no setting follows."""
        return sorted({refuted.number for refuted in self.refuted if not refuted.followed})

    def sentence(self) -> str:
        return (
            f"{len(self.confirmed)} of {self.of} assumptions confirmed at {self.service} on"
            f" {self.date}"
        )


def load(file: Path) -> Profile:
    """Return the profile in a YAML file. Raises :class:`InvalidProfile`."""
    # Imported here: a sandbox without a profile needs no YAML.
    import yaml

    try:
        return msgspec.convert(yaml.safe_load(file.read_text("utf-8")), Profile)
    except OSError as error:
        raise InvalidProfile(f"{file}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidProfile(f"{file}: is no profile: {' '.join(str(error).split())}") from None


def save(profile: Profile, file: Path) -> None:
    import yaml

    text = yaml.safe_dump(
        msgspec.to_builtins(profile), sort_keys=False, allow_unicode=True, width=120
    )
    file.write_text(
        f"# What compare service found out; serve --profile FILE follows it.\n{text}", "utf-8"
    )


def differences(old: Profile, new: Profile) -> list[str]:
    """Return the changes to a service's newer profile, one a line; unasked items are no change."""
    lines = [
        *_changed("", old.settings, new.settings),
        *_changed("assumptions.", old.assumptions, new.assumptions),
    ]
    known = {refuted.probe: refuted.observed for refuted in old.refuted}
    broken = [refuted for refuted in new.refuted if not refuted.followed]
    lines += [
        f"{refuted.number} {refuted.probe}: {refuted.asked} Observed {refuted.observed!r}"
        for refuted in broken
        if known.get(refuted.probe) != refuted.observed
    ]
    held = {refuted.number for refuted in old.refuted if not refuted.followed} & {*new.confirmed}
    return [*lines, *(f"{number}: holds now" for number in sorted(held))]


def _changed(prefix: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [
        f"{prefix}{name}: is {value!r}, was {old.get(name)!r}"
        for name, value in new.items()
        if old.get(name) != value
    ]


# -- marks


ASSUMPTION, CONFIRMED, REFUTED = "x-assumption", "x-confirmed", "x-refuted"


class Marks(NamedTuple):
    """The assumptions confirmed on ``date``, and those refuted that no setting follows."""

    date: str
    confirmed: frozenset[str]
    refuted: frozenset[str]

    @classmethod
    def of(cls, profile: Profile) -> Marks:
        """Return the marks of the service that a profile is about."""
        return cls(profile.date, frozenset(profile.confirmed), frozenset(profile.broken()))


def with_marks(node: Any, marks: Marks) -> Any:
    """Return a copy of a document in which ``x-assumption`` has only unconfirmed assumptions.

    Where all are confirmed, ``x-confirmed`` is the date; refuted ones stand in ``x-refuted``
    beside it.
    """
    marked = map_parts(node, lambda part: with_marks(part, marks))
    if not isinstance(node, dict) or ASSUMPTION not in node:
        return marked
    written = marked.pop(ASSUMPTION)
    cited = written if isinstance(written, list) else [written]
    left = [number for number in cited if number not in marks.confirmed]
    refuted = [number for number in cited if number in marks.refuted]
    mark = (
        {ASSUMPTION: left if isinstance(written, list) else left[0]}
        if left
        else {CONFIRMED: marks.date}
    )
    return marked | mark | ({REFUTED: refuted} if refuted else {})
