"""Runs probes against a service: shared objects, the steps of each probe, what they mean, and the clean-up."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from emulator.checks.service.service import (
    EventReceiver,
    NoAnswer,
    ProbeExchange,
    Service,
    holds,
    resolved,
)
from emulator.checks.service.verdicts import Answered, CalibrationProgress, Evidence, Verdict
from emulator.document.probes import BoundarySearch, Collected, Probe, ProbeOutcome, ProbeStep
from emulator.document.references import MISSING, value_at

SHARED = "shared objects"
"""The owner of what probes share; it is removed last."""

ATTRIBUTES = ("exchange", "headers")
"""What is added to an answer's fields and is not stored with them."""


class Waiting(Exception):
    """A probe goes on after this instant."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"goes on after {until:%Y-%m-%d %H:%M} UTC, with --resume")
        self.until = until


class Help(NamedTuple):
    """What the probes may use beside the service: a receiver, someone who plays the buyer, a clock, and a mask.

    ``mask`` makes a JSON value without secrets. ``advance`` lets days pass at the service, where it offers that.
    """

    mask: Callable[[Any], Any]
    receiver: EventReceiver | None = None
    buyer: Callable[[str], None] | None = None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    advance: Callable[[int], None] | None = None

    def missing(self, probe: Probe, *, time: bool) -> str:
        """Return why a probe cannot be asked; empty if it can."""
        no_time = not time and self.advance is None
        lacks = {"receiver": self.receiver is None, "buyer": self.buyer is None, "time": no_time}
        missing = [need for need in probe.needs if lacks.get(need)]
        return f"It needs --{' and --'.join(missing)}." if missing else ""


class Runner:
    """Asks the probes of ``collected`` by name and collects verdicts; ``progress`` survives an interruption."""

    def __init__(self, service: Service, collected: Collected, helpers: Help, progress: CalibrationProgress) -> None:
        self._service = service
        self._collected = collected
        self.help = helpers
        self._progress = progress
        self._shared: dict[str, dict[str, Any]] = dict(progress.objects)
        self._failed: dict[str, str] = {}

    def run(self, names: Collection[str], *, time: bool, after: Callable[[Verdict], None]) -> list[Verdict]:
        """Return the verdicts of these probes; ``after`` is called with each. With ``time`` probes may wait for days."""
        found = {name: self._progress.verdicts[name] for name in names if name in self._progress.verdicts}
        for name in [each for each in names if each not in found]:
            probe = self._collected.probes[name]
            why = self.help.missing(probe, time=time)
            verdict = Verdict(probe=name, number=probe.number, verdict="not_asked", why=why)
            verdict = verdict if why else self._asked(name, probe)
            if verdict.verdict != "not_asked":
                self._progress.done(verdict)
                self._clean(name)
            self._progress.save()
            after(verdict)
            found[name] = verdict
        if not self._progress.waiting:
            self._clean(SHARED)
        return [found[name] for name in names]

    def _asked(self, name: str, probe: Probe) -> Verdict:
        run = _ProbeRun(self, name, self._progress.words(), self._progress.waiting.pop(name, {}))
        assumptions: dict[str, str] = {}
        settings: dict[str, Any] = {}
        learnt: dict[str, Any] = {}
        kind: Answered = "not_answered"
        try:
            outcome = run.outcome(probe)
            if outcome is None or outcome.unanswered is None:
                kind = "confirmed" if outcome is probe.confirms else "differs"
            why = (outcome and outcome.unanswered) or ""
            if outcome:
                assumptions, settings = outcome.assumptions, resolved(outcome.settings, run.at)
            learnt = {name: value for name, path in probe.learn.items() if (value := run.found(path)) is not None}
        except Waiting as waiting:
            self._progress.wait(name, run.stored())
            kind, why = "not_asked", f"It {waiting}."
        except (NoAnswer, LookupError) as error:
            why = str(error)
        looked = {path for outcome in (probe.confirms, *probe.otherwise) for path in outcome.when}
        observed = {path: run.found(path) for path in sorted(looked)} if kind == "differs" else {}
        return Verdict(
            probe=name,
            number=probe.number,
            verdict=kind,
            assumptions=assumptions,
            settings=settings,
            learnt=self.help.mask(learnt),
            observed=self.help.mask(observed),
            why=why,
            evidence=[self._evidence(each, whole=kind != "confirmed") for each in run.exchanges],
        )

    def _evidence(self, exchange: ProbeExchange, *, whole: bool) -> Evidence:
        """Return a request as evidence; ``whole`` with both bodies."""
        return Evidence(
            request=f"{exchange.method} {self.help.mask(exchange.path)}",
            sent=self.help.mask(exchange.sent) if whole else None,
            status=exchange.status,
            request_id=exchange.request_id,
            body=self.help.mask(exchange.body) if whole else None,
        )

    # -- what runs share

    def shared(self, name: str) -> dict[str, Any]:
        """Return a shared object, made on first use. Raises :class:`NoAnswer`, each time for the same reason."""
        if name in self._failed:
            raise NoAnswer(self._failed[name])
        if name not in self._shared:
            run = _ProbeRun(self, SHARED, self._progress.words(), {})
            try:
                self._shared[name] = run.step(self._collected.objects[name])
            except NoAnswer as error:
                self._failed[name] = str(error)
                raise
            self._progress.add(name, {k: v for k, v in self._shared[name].items() if k not in ATTRIBUTES})
        return self._shared[name]

    def knows(self, name: str) -> bool:
        """Return whether there is a shared object of this name."""
        return name in self._collected.objects

    def in_order(self, names: Collection[str]) -> list[str]:
        """Return those names that are shared objects, in the order in which the objects are listed."""
        return [name for name in self._collected.objects if name in names]

    def send(self, owner: str, step: ProbeStep, at: Callable[[str], Any]) -> dict[str, Any]:
        """Return the answer to the request of a step. What it creates is removed after its owner."""
        method, _, path = resolved(step.do, at).partition(" ")
        headers = resolved(step.headers, at)
        answer = self._service.send(method, path, resolved(step.body, at), resolved(step.raw, at), headers)
        if method == "POST" and answer["http"] == 201 and path in self._collected.cleanup and "id" in answer:
            self._progress.made(owner, path, answer["id"])
        return answer

    def _clean(self, owner: str) -> None:
        """Remove what can be removed of what was created for a probe; what is gone already is no failure."""
        created = self._progress.created.pop(owner, {})
        for path, request in self._collected.cleanup.items():
            for id in created.get(path, []):
                method, _, where = request.partition(" ")
                try:
                    self._service.send(method, where.replace("{id}", id), None, None, {})
                except NoAnswer:
                    continue
        self._progress.save()


class _ProbeRun:
    """One probe, or one shared object, with what was answered so far."""

    def __init__(self, runner: Runner, owner: str, word: str, answers: Mapping[str, Any]) -> None:
        self._runner = runner
        self._owner = owner
        self._word = word
        self.answers: dict[str, Any] = dict(answers)
        self.exchanges: list[ProbeExchange] = []

    def outcome(self, probe: Probe) -> ProbeOutcome | None:
        """Return the outcome that was observed; None for one that the probe does not list."""
        for name in self._runner.in_order(probe.roots()):
            self._value(name)
        for step in probe.steps:
            if step.name not in self.answers:
                self.answers[step.name] = self.step(step)
        for outcome in (probe.confirms, *probe.otherwise):
            if all(holds(condition, self._value(path), self.at) for path, condition in outcome.when.items()):
                return outcome
        return None

    def stored(self) -> dict[str, Any]:
        """Return the answers so far, without what cannot be stored."""
        kept = {name: answer for name, answer in self.answers.items() if not self._runner.knows(name)}
        return {name: {k: v for k, v in answer.items() if k not in ATTRIBUTES} for name, answer in kept.items()}

    def step(self, step: ProbeStep) -> dict[str, Any]:
        """Return the answer of one step. Raises :class:`NoAnswer`, :class:`Waiting` and ``LookupError``."""
        if step.wait is not None:
            return self._waited(step.name, step.wait)
        if step.buyer is not None:
            assert self._runner.help.buyer is not None
            self._runner.help.buyer(resolved(step.buyer, self.at))
            return {}
        if step.received is not None:
            assert self._runner.help.receiver is not None
            return self._runner.help.receiver.last(resolved(step.received, self.at), resolved(step.secret, self.at))
        if step.boundary is not None:
            return self._boundary(step, step.boundary)
        answer = self._runner.send(self._owner, step, self.at)
        self.exchanges.append(answer["exchange"])
        if step.needed and not 200 <= answer["http"] < 300:
            raise NoAnswer(f"{step.do} was answered with {answer['http']} {(answer['error'] or {}).get('code', '')}")
        return answer

    def _boundary(self, step: ProbeStep, boundary: BoundarySearch) -> dict[str, Any]:
        """Return the least value that succeeds: ``{found: VALUE}``, or nothing if none of those that were tried does."""

        def succeeds(value: int) -> bool:
            answer = self._runner.send(self._owner, step, lambda path: value if path == "value" else self.at(path))
            self.exchanges.append(answer["exchange"])
            return bool(answer["http"] < 300)

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

    def _waited(self, name: str, days: int) -> dict[str, Any]:
        """Wait: the first time :class:`Waiting` is raised, and again until the time has come.

        Where the service lets time pass on request, it passes at once.
        """
        if self._runner.help.advance is not None:
            self._runner.help.advance(days)
            return {}
        begun = self.answers.get(f"{name} since")
        now = self._runner.help.now()
        since = datetime.fromisoformat(begun["at"]) if begun else now
        self.answers[f"{name} since"] = {"at": since.isoformat()}
        if now < since + timedelta(days=days):
            raise Waiting(since + timedelta(days=days))
        return {}

    def at(self, path: str) -> Any:
        """Return the value of a reference. Raises ``LookupError`` if there is none."""
        value = self._value(path)
        if value is MISSING:
            raise LookupError(f"the service's answer has no {path}")
        return value

    def found(self, path: str) -> Any:
        """Return the value that was answered at a path; None where there is none."""
        value = value_at(self.answers, path)
        return None if value is MISSING else value

    def _value(self, path: str) -> Any:
        root = path.partition(".")[0]
        if root == "word":
            return self._word
        if root == "receiver":
            return self._runner.help.receiver.url if self._runner.help.receiver else MISSING
        if root not in self.answers and self._runner.knows(root):
            self.answers[root] = self._runner.shared(root)
            if exchange := self.answers[root].get("exchange"):
                self.exchanges.append(exchange)
        return value_at(self.answers, path)


def new_word() -> str:
    """Return a word that no other run has."""
    return f"probe{secrets.token_hex(4)}"
