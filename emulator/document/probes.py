"""Probes as data: the requests that test an assumption, and each observation's meaning."""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache
from typing import Any, Literal

import msgspec

from emulator.document import references
from emulator.document.paths import FIXTURES, fixture

OBJECTS = "probes/objects"
"""The file of the objects that probes share, and of how created objects are removed again."""

Need = Literal["nothing", "time", "buyer", "receiver"]
"""A probe's need beside a key: days to pass, a payer, or a webhook receiver in reach."""


class BoundarySearch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search from ``low`` to ``high`` for the least ``{value}`` whose request succeeds.

    ``first`` are tried before: if the boundary is between these two, the search is over.
    """

    low: int
    high: int
    first: tuple[int, int]

    @property
    def requests(self) -> int:
        return 2 + math.ceil(math.log2(self.high - self.low))


class ProbeStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of a probe. ``{customer.id}`` refers to the response to the step ``customer``.

    ``do`` is a request (``POST /customers/``) with a JSON ``body`` or a ``raw`` one; a header that
    is null is not sent. A ``needed`` request has to succeed; otherwise the probe is undecided.
    ``boundary`` repeats the request. ``received`` is the path of an event that has to arrive at the
    receiver, ``secret`` the secret that signs it. ``wait`` is a number of days, ``buyer`` the
    task of a person.
    """

    name: str
    do: str = ""
    body: Any = None
    raw: str | None = None
    headers: dict[str, str | None] = {}
    needed: bool = False
    boundary: BoundarySearch | None = None
    received: str | None = None
    secret: str = ""
    wait: int | None = None
    buyer: str | None = None

    @property
    def requests(self) -> int:
        return self.boundary.requests if self.boundary else int(bool(self.do))


class ProbeOutcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The assumptions and settings that the service has if every value is as ``when`` says.

    ``unanswered`` says why such an observation answers nothing.
    """

    when: dict[str, Any]
    assumptions: dict[str, str] = {}
    settings: dict[str, Any] = {}
    unanswered: str | None = None


class Probe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The observation of assumption ``number``: question ``asks``, expected outcome ``confirms``.

    ``otherwise`` are the other outcomes that mean something; any further one differs and cannot be
    followed. ``learn`` are values to write into the profile, by name.
    """

    number: str
    asks: str
    needs: tuple[Need, ...] = ()
    steps: tuple[ProbeStep, ...] = ()
    confirms: ProbeOutcome
    otherwise: tuple[ProbeOutcome, ...] = ()
    learn: dict[str, str] = {}

    @property
    def question(self) -> str:
        """The question of the probe, with its needs beside a key."""
        return f"{self.asks} (needs: {', '.join(self.needs)})" if self.needs else self.asks

    def roots(self) -> set[str]:
        """Return the first words of every reference in the probe."""
        return set(references.names([step_fields(step) for step in self.steps])) | {
            path.partition(".")[0]
            for outcome in (self.confirms, *self.otherwise)
            for path in outcome.when
        }


class Collected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All probes by name, shared ``objects``, their removal, and why assumptions lack a probe.

    ``cleanup`` is by the path that creates an object, in the order in which objects are removed.
    """

    objects: dict[str, ProbeStep]
    cleanup: dict[str, str]
    unknowable: dict[str, str]
    probes: dict[str, Probe] = {}

    def budget(self, names: Collection[str]) -> int:
        """Return the most requests of these probes, with shared objects and clean-up, no retry."""
        steps = [step for name in names for step in self.probes[name].steps]
        steps += [self.objects[name] for name in self.shared(names)]
        removed = sum(
            step.do.partition(" ")[2] in self.cleanup and step.do.startswith("POST")
            for step in steps
        )
        return sum(step.requests for step in steps) + removed

    def of(self, number: str) -> dict[str, Probe]:
        return {name: probe for name, probe in self.probes.items() if probe.number == number}

    def shared(self, names: Collection[str]) -> set[str]:
        wanted = {
            root for name in names for root in self.probes[name].roots()
        } & self.objects.keys()
        while True:
            more = {
                root
                for name in wanted
                for root in references.names(step_fields(self.objects[name]))
            } & self.objects.keys()
            if more <= wanted:
                return wanted
            wanted |= more


def step_fields(step: ProbeStep) -> list[Any]:
    return [step.do, step.body, step.raw, step.headers, step.received, step.secret, step.buyer]


@cache
def collected() -> Collected:
    """Return all probes of ``fixtures/probes``, read once and shared: do not change them."""
    common = fixture(OBJECTS)
    objects = {name: _step(name, step, needed=True) for name, step in common["objects"].items()}
    files = sorted(f"probes/{file.stem}" for file in (FIXTURES / "probes").glob("*.yaml"))
    probes = [
        (name, _probe(probe))
        for file in files
        if file != OBJECTS
        for name, probe in fixture(file).items()
    ]
    in_order = dict(sorted(probes, key=lambda named: str(named[1]["number"])))
    return msgspec.convert({**common, "objects": objects, "probes": in_order}, Collected)


def _probe(written: dict[str, Any]) -> dict[str, Any]:
    """Return a probe as its struct. Files have steps as mappings by name, and short outcomes."""
    steps = [_step(name, step) for name, step in written.get("steps", {}).items()]
    outcomes = (written["confirms"], *written.get("otherwise", ()))
    confirms, *otherwise = (
        outcome if "when" in outcome else {"when": outcome} for outcome in outcomes
    )
    return {**written, "steps": steps, "confirms": confirms, "otherwise": otherwise}


def _step(name: str, step: Any, **more: Any) -> dict[str, Any]:
    """Return a step as its struct; a step that is only a request may be written as that alone."""
    return {"name": name, **more, **({"do": step} if isinstance(step, str) else step)}
