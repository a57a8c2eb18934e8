"""The model of a world: the facts that its client was told, and the picture that reading it gives.

Facts come of requests and responses alone. ``ANY`` stands for a value that only a response would
have told. Names that begin with an underscore are for the model itself and not compared.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

ANY = "any"
"""A value that is not known, because the response that would have told it did not come."""

GONE = "gone"
"""The ``_state`` of an object that was deleted: it has no row, or one that says so."""

Key = tuple[str, str]
"""The kind of an object, and the number that its client gave it."""

NUMBERED = re.compile(r"n[0-9]+")
"""A number as names have it, where an object has no metadata."""

OLDER_SETTINGS = ("unknown_fields", "error_shape", "refund_timing")
"""Settings that are assumptions as well, and are stored once."""

CHANGING = frozenset({"event", "webhook_delivery", "webhook_endpoint"})
"""Kinds of which deliveries under way may still change or make rows after the last response."""


@dataclass
class Facts:
    """What a client was told of its world.

    ``now`` is the latest instant that was told, ``latest`` the one that the clock can have reached
    at most, or None where it runs on. ``inboxes``, ``advance`` and ``undone`` (the id of the last
    request, with the world as it is once that is taken back) belong to the server and end with it
    (docs/guide/state.md). ``receiver`` is the URL that webhooks go to, ``origin`` the world at its
    beginning.
    """

    now: str
    latest: str | None
    mode: str
    rate: float
    settings: dict[str, Any]
    receiver: str = ""
    faults: set[str] = field(default_factory=set)
    outcomes: set[str] = field(default_factory=set)
    inboxes: dict[str, int] = field(default_factory=dict)
    objects: dict[Key, dict[str, Any]] = field(default_factory=dict)
    snapshots: dict[str, Facts] = field(default_factory=dict)
    advance: str | None = None
    undone: tuple[str, Facts] | None = None
    origin: Facts | None = None

    def copy(self) -> Facts:
        """Return facts that can be changed alone; snapshots never change, so they are shared."""
        new = copy.copy(self)
        new.settings = copy.deepcopy(self.settings)
        new.faults, new.outcomes = set(self.faults), set(self.outcomes)
        new.inboxes, new.snapshots = dict(self.inboxes), dict(self.snapshots)
        new.objects = {key: dict(fields) for key, fields in self.objects.items()}
        return new

    def become(self, other: Facts) -> None:
        """Take over all that a snapshot or an undone request brings back."""
        other = other.copy()
        self.now, self.latest = other.now, other.latest
        self.mode, self.rate, self.settings = other.mode, other.rate, other.settings
        self.faults, self.outcomes, self.objects = other.faults, other.outcomes, other.objects
        self.advance = None

    def told_clock(self, clock: Mapping[str, Any]) -> None:
        self.now, self.mode, self.rate = clock["now"], clock["mode"], clock["rate"]
        self.latest = self.now if self.mode == "frozen" else None

    def restarted(self) -> None:
        """Forget what ends with the server."""
        self.inboxes, self.advance, self.undone = {}, None, None


@dataclass(frozen=True)
class Picture:
    """What reading a world, or an exported snapshot, gives. ``rows`` are its objects, by kind."""

    clock: Mapping[str, Any]
    settings: Mapping[str, Any]
    faults: tuple[str, ...]
    outcomes: tuple[str, ...]
    inboxes: Mapping[str, int]
    rows: Mapping[str, list[dict[str, Any]]]
    snapshots: Mapping[str, Any]

    def objects(self) -> Iterator[tuple[Key, dict[str, Any]]]:
        for kind, rows in self.rows.items():
            yield from (((kind, number), row) for row in rows if (number := number_of(row)))

    def lasting(self) -> Any:
        """Return all that a frozen world keeps to the byte while nobody changes it."""
        rows = {kind: rows for kind, rows in self.rows.items() if kind not in CHANGING}
        clock = {name: self.clock[name] for name in ("now", "mode", "rate")}
        return clock, self.settings, self.faults, self.outcomes, rows, self.snapshots


def number_of(row: Mapping[str, Any]) -> str | None:
    """Return the number that a client gave an object, in its metadata or its name."""
    number = (row.get("metadata") or {}).get("n") or row.get("name") or row.get("line1")
    return number if isinstance(number, str) and NUMBERED.fullmatch(number) else None


def exported(key: str, export: Mapping[str, Any]) -> Picture:
    """Return the picture of an exported snapshot."""
    prefix = f"{key}/"
    own = {name: table for name, table in export.items() if name.startswith(prefix)}
    tables = {name.removeprefix(prefix): [*table.values()] for name, table in own.items()}
    settings = tables.pop("settings")[0]
    older = {name: settings[name] for name in OLDER_SETTINGS}
    settings = {**settings, "assumptions": {**settings["assumptions"], **older}}
    return Picture(
        export["worlds"]["1"],
        settings,
        faults_of(tables.pop("fault", ())),
        outcomes_of(tables.pop("outcome", ())),
        {},
        tables,
        {},
    )


def faults_of(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted(row["match"]["customer"] for row in rows))


def outcomes_of(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted(str(row["match"]["amount"]) for row in rows))


# -- the comparison


def doubled(picture: Picture) -> list[str]:
    """Return what is there more than once though it was asked for once."""
    numbers = Counter(key for key, _ in picture.objects() if key[0] != "event")
    numbers.update(("fault", name) for name in picture.faults)
    numbers.update(("outcome", name) for name in picture.outcomes)
    several = {key: times for key, times in numbers.items() if times > 1}
    return [f"{' '.join(key)} is there {times} times" for key, times in several.items()]


def differences(facts: Facts, picture: Picture, key: str) -> list[str]:
    """Return how a picture differs from the facts; nothing where all that was answered is there."""
    return [
        *_clock(facts, picture.clock),
        *(
            f"setting {name} is {picture.settings.get(name)!r}, not {value!r}"
            for name, value in facts.settings.items()
            if not _fits(value, picture.settings.get(name))
        ),
        *_names("faults", facts.faults, set(picture.faults)),
        *_names("outcomes", facts.outcomes, set(picture.outcomes)),
        *(
            f"inbox {name} answers {picture.inboxes.get(name, 200)}, not {status}"
            for name, status in facts.inboxes.items()
            if picture.inboxes.get(name, 200) != status
        ),
        *_objects(facts, dict(picture.objects())),
        *_names("snapshots", set(facts.snapshots), set(picture.snapshots)),
        *(
            f"snapshot {name}: {difference}"
            for name in facts.snapshots.keys() & picture.snapshots.keys()
            for difference in differences(
                facts.snapshots[name],
                exported(key, picture.snapshots[name]),
                key,
            )
        ),
    ]


def _clock(facts: Facts, clock: Mapping[str, Any]) -> Iterator[str]:
    now = clock["now"]
    if now < facts.now:
        yield f"the clock is at {now}, and had been told to be at {facts.now}"
    elif facts.latest is not None and now > facts.latest:
        yield f"the clock is at {now}, and could be at {facts.latest} at most"
    if (clock["mode"], clock["rate"]) != (facts.mode, facts.rate):
        yield f"the clock is {clock['mode']} × {clock['rate']}, not {facts.mode} × {facts.rate}"


def _names(of: str, expected: set[str], there: set[str]) -> Iterator[str]:
    if expected != there:
        yield f"{of} are {sorted(there)}, not {sorted(expected)}"


def _objects(facts: Facts, there: Mapping[Key, Mapping[str, Any]]) -> Iterator[str]:
    for (kind, number), fields in facts.objects.items():
        row = there.get((kind, number))
        if fields.get("_state") == GONE:
            if row is not None and not _is_gone(row):
                yield f"{kind} {number} was deleted and is there"
        elif row is None:
            yield f"{kind} {number} is missing"
        else:
            for name, value in fields.items():
                if not name.startswith("_") and not _fits(value, row.get(name)):
                    yield f"{kind} {number} has {name} {row.get(name)!r}, not {value!r}"
    for kind, number in there.keys() - facts.objects.keys():
        if kind not in MADE_BY_OTHERS:
            yield f"{kind} {number} was never made, or taken back"


MADE_BY_OTHERS = frozenset(
    {"event", "webhook_delivery", "transaction", "receipt", "invoice", "payment_intent"},
)
"""Kinds of which other objects have some made, with the metadata that they hand on."""


def _is_gone(row: Mapping[str, Any]) -> bool:
    status = row.get("status")
    return status in ("deleted", "archived", "inactive", "detached") or row.get("active") is False


def _fits(expected: Any, value: Any) -> bool:
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        return all(_fits(part, value.get(name)) for name, part in expected.items())
    return bool(expected in (ANY, value))


# -- time


def later(instant: str, **span: float) -> str:
    """Return an instant so much later, as the service writes instants (UTC, milliseconds)."""
    moved = datetime.fromisoformat(instant) + timedelta(**span)
    return f"{moved:%Y-%m-%dT%H:%M:%S}.{moved.microsecond // 1000:03}Z"
