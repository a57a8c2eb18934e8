"""Runs probes against a service: shared objects, steps, their meaning, and the clean-up."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

import msgspec

from emulator.checks.service.service import (
    EventReceiver,
    Evidence,
    NoResponse,
    ProbeResponse,
    Service,
    holds,
    resolved,
)
from emulator.checks.service.verdicts import Verdict, VerdictKind
from emulator.document.probes import BoundarySearch, Collected, Probe, ProbeOutcome, ProbeStep
from emulator.document.references import LookUp, value_at
from emulator.document.tree import MISSING

SHARED = "shared objects"
"""The owner of what probes share; it is removed last."""


class Help(NamedTuple):
    """The probes' helpers beside the service: a receiver, a player of the buyer, a clock, a mask.

    ``mask`` makes a JSON value without secrets. ``advance`` lets days pass at the service, where it
    offers that.
    """

    mask: Callable[[Any], Any]
    receiver: EventReceiver | None = None
    buyer: Callable[[str], None] | None = None
    advance: Callable[[int], None] | None = None

    def missing(self, probe: Probe) -> str:
        """Return why a probe cannot be asked; empty if it can."""
        lacks = {
            "receiver": self.receiver is None and "--receiver",
            "buyer": self.buyer is None and "--buyer",
            "time": self.advance is None and "a service with a clock that can be moved",
        }
        missing = [lack for need in probe.needs if (lack := lacks.get(need))]
        return f"It needs {' and '.join(missing)}." if missing else ""


class Runner:
    """Asks the probes of ``collected`` by name, collects verdicts, and removes what was created."""

    def __init__(self, service: Service, collected: Collected, helpers: Help) -> None:
        self._service = service
        self.collected = collected
        self.help = helpers
        word = f"probe{secrets.token_hex(4)}"  # no other run has it
        self._words = (f"{word}{number}" for number in count())
        self._created: dict[str, dict[str, list[str]]] = {}
        self._shared: dict[str, ProbeResponse | NoResponse] = {}

    def run(self, names: Collection[str], after: Callable[[Verdict], None]) -> list[Verdict]:
        """Return the verdicts; call ``after`` with each. An interrupted run cleans up too."""
        verdicts = []
        try:
            for name in names:
                probe = self.collected.probes[name]
                try:
                    if why := self.help.missing(probe):
                        verdict = Verdict(
                            probe=name, number=probe.number, verdict="not_asked", why=why
                        )
                    else:
                        verdict = self._asked(name, probe)
                finally:
                    self._clean(name)
                after(verdict)
                verdicts.append(verdict)
        finally:
            self._clean(SHARED)
        return verdicts

    def _asked(self, name: str, probe: Probe) -> Verdict:
        run = _ProbeRun(self, name, next(self._words))
        assumptions: dict[str, str] = {}
        settings: dict[str, object] = {}
        learnt: dict[str, object] = {}
        kind: VerdictKind = "not_answered"
        try:
            outcome = run.outcome(probe)
            if outcome is None or outcome.unanswered is None:
                kind = "confirmed" if outcome is probe.confirms else "differs"
            why = (outcome and outcome.unanswered) or ""
            if outcome:
                assumptions, settings = outcome.assumptions, resolved(outcome.settings, run.at)
            learnt = {
                name: value
                for name, path in probe.learn.items()
                if (value := run.value_or_none(path)) is not None
            }
        except (NoResponse, LookupError) as error:
            why = str(error)
        looked = {path for outcome in (probe.confirms, *probe.otherwise) for path in outcome.when}
        observed = (
            {path: run.value_or_none(path) for path in sorted(looked)} if kind == "differs" else {}
        )
        return Verdict(
            probe=name,
            number=probe.number,
            verdict=kind,
            assumptions=assumptions,
            settings=settings,
            learnt=self.help.mask(learnt),
            observed=self.help.mask(observed),
            why=why,
            evidence=[
                self._masked(exchange, whole=kind != "confirmed") for exchange in run.exchanges
            ],
        )

    def _masked(self, evidence: Evidence, *, whole: bool) -> Evidence:
        """Return evidence as the report has it, masked; ``whole`` with both bodies."""
        sent, body = (
            self.help.mask(value) if whole else None for value in (evidence.sent, evidence.body)
        )
        return msgspec.structs.replace(
            evidence, request=self.help.mask(evidence.request), sent=sent, body=body
        )

    # -- what runs share

    def shared(self, name: str) -> ProbeResponse:
        """Return a shared object, made once. Raises the same :class:`NoResponse` every time."""
        if name not in self._shared:
            try:
                self._shared[name] = _ProbeRun(self, SHARED, next(self._words)).step(
                    self.collected.objects[name]
                )
            except NoResponse as error:
                self._shared[name] = error
        if isinstance(shared := self._shared[name], NoResponse):
            raise shared
        return shared

    def send(self, owner: str, step: ProbeStep, at: LookUp) -> ProbeResponse:
        """Return the response to a step's request. Its new object is removed after its owner."""
        do, body, raw, headers = resolved([step.do, step.body, step.raw, step.headers], at)
        method, _, path = do.partition(" ")
        response = self._service.send(method, path, body, raw, headers)
        if (
            method == "POST"
            and response["http"] == 201
            and path in self.collected.cleanup
            and "id" in response
        ):
            self._created.setdefault(owner, {}).setdefault(path, []).append(response["id"])
        return response

    def _clean(self, owner: str) -> None:
        """Remove a probe's removable objects; an object that is gone already is no failure."""
        created = self._created.pop(owner, {})
        for path, request in self.collected.cleanup.items():
            for id in created.get(path, []):
                method, _, where = request.partition(" ")
                with suppress(NoResponse):
                    self._service.send(method, where.replace("{id}", id), None, None, {})


class _ProbeRun:
    """One probe, or one shared object, with the responses so far."""

    def __init__(self, runner: Runner, owner: str, word: str) -> None:
        self._runner = runner
        self._owner = owner
        self._word = word
        self.responses: dict[str, Any] = {}
        self.exchanges: list[Evidence] = []

    def outcome(self, probe: Probe) -> ProbeOutcome | None:
        """Return the outcome that was observed; None for one that the probe does not list."""
        roots = probe.roots()
        for name in self._runner.collected.objects:
            if name in roots:
                self._value(name)
        for step in probe.steps:
            self.responses[step.name] = self.step(step)
        for outcome in (probe.confirms, *probe.otherwise):
            if all(
                holds(condition, self._value(path), self.at)
                for path, condition in outcome.when.items()
            ):
                return outcome
        return None

    def step(self, step: ProbeStep) -> ProbeResponse:
        """Return the response to one step. Raises :class:`NoResponse` and ``LookupError``."""
        helpers = self._runner.help  # a probe that needs what is missing is not asked
        if step.wait is not None and helpers.advance:
            helpers.advance(step.wait)
            return {}
        if step.buyer is not None and helpers.buyer:
            helpers.buyer(resolved(step.buyer, self.at))
            return {}
        if step.received is not None and helpers.receiver:
            return helpers.receiver.last(
                resolved(step.received, self.at), resolved(step.secret, self.at)
            )
        if step.boundary is not None:
            return self._boundary(step, step.boundary)
        response = self._runner.send(self._owner, step, self.at)
        self.exchanges.append(response["exchange"])
        if step.needed and not 200 <= response["http"] < 300:
            raise NoResponse(
                f"{step.do} returned {response['http']} {(response['error'] or {}).get('code', '')}"
            )
        return response

    def _boundary(self, step: ProbeStep, boundary: BoundarySearch) -> ProbeResponse:
        """Return the least value that succeeds, ``{found: VALUE}``; nothing if all tried fail."""

        def succeeds(value: int) -> bool:
            response = self._runner.send(
                self._owner, step, lambda path: value if path == "value" else self.at(path)
            )
            self.exchanges.append(response["exchange"])
            return bool(response["http"] < 300)

        below, least = boundary.first
        if succeeds(below):
            low, high = boundary.low, below
        elif succeeds(least):
            return {"found": least}
        else:
            low, high = least, boundary.high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if succeeds(middle) else (middle, high)
        return {"found": high} if high < boundary.high else {}

    def at(self, path: str) -> Any:
        """Return the value of a reference. Raises ``LookupError`` if there is none."""
        value = self._value(path)
        if value is MISSING:
            raise LookupError(f"the service's response has no {path}")
        return value

    def value_or_none(self, path: str) -> object:
        """Return the value at a path of the responses; None where there is none."""
        value = value_at(self.responses, path)
        return None if value is MISSING else value

    def _value(self, path: str) -> Any:
        root = path.partition(".")[0]
        if root == "word":
            return self._word
        if root == "receiver":
            return self._runner.help.receiver.url if self._runner.help.receiver else MISSING
        if root not in self.responses and root in self._runner.collected.objects:
            self.responses[root] = self._runner.shared(root)
            if exchange := self.responses[root].get("exchange"):
                self.exchanges.append(exchange)
        return value_at(self.responses, path)
