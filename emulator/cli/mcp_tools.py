"""The tools of the MCP server; each answers with short text, JSON where there is structure."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal

import click

from emulator.cli import logs
from emulator.cli.captured import run_captured
from emulator.cli.client import ControlClient
from emulator.core.event_types import EVENTS

JSON = dict[str, Any]


class Tools:
    """What an assistant can do in one App's world. Docstrings and signatures are what it reads of the tools."""

    def __init__(self, emulator: ControlClient) -> None:
        self._emulator = emulator

    def every(self) -> list[Callable[..., str]]:
        """The tools, in the order in which they are listed."""
        return [
            self.call,
            self.advance,
            self.trigger,
            self.explain,
            self.requests,
            self.arrange,
            self.snapshot,
            self.prove,
        ]

    def call(
        self, method: Literal["GET", "POST", "PATCH", "DELETE"], path: str, body: JSON | None = None, key: str = ""
    ) -> str:
        """Call the service: a path such as /v1/customers/?page_size=5, or one under /_emulator. `key` is sent as
        Idempotency-Key. Errors of the service are answers too."""
        headers = {"Idempotency-Key": key} if key else {}
        answer = self._emulator.answer(method, path.removeprefix("/_emulator"), body=body, headers=headers)
        return f"{answer.status_code}\n{answer.text}"

    def advance(self, by: str) -> str:
        """Move the clock forward and wait for what that causes. `by`: a duration (31d, 6h), an instant or day
        (2026-03-01), `next` for the next job, or an event type to stop at (invoice.paid)."""
        return _json(self._emulator.post("/clock/advance", _distance(by)))

    def trigger(self, event: str, overrides: JSON | None = None) -> str:
        """Cause an event by real changes of state: {"subscription": "sub_…"} uses that object, other names set fields
        of new ones."""
        return _json(self._emulator.post("/trigger", {"event": event, "overrides": overrides or {}}))

    def explain(self, id: str) -> str:
        """Why an object is as it is: the requests, jobs, events, deliveries and emails behind its state."""
        found = self._emulator.get(f"/explain/{id}")
        lines = [f"{id} is {found['status']}" if found["status"] else id]
        lines += [f"{each['at']} {each['kind']} {each['id'] or ''} {each['summary']}" for each in found["chain"]]
        lines += self._payment_errors(found["chain"])
        return "\n".join(lines if found["complete"] else [*lines, "(older causes are no longer in the journal)"])

    def _payment_errors(self, chain: list[Any]) -> Iterator[str]:
        """Why the last payment of a chain failed."""
        failed = [each["object"] for each in chain if each["summary"].startswith("payment_intent.failed")]
        for id in failed[-1:]:
            intent = self._emulator.get(f"/objects/{id}")
            error = intent["last_error"] or {}
            yield f"{id} charged {intent['payment_method']}: {error.get('code')}: {error.get('message')}"

    def requests(self, id: str = "", status: int | None = None, limit: int = 20) -> str:
        """The newest requests of the application, oldest of them first; with `id` one in full, with what it changed."""
        if id:
            return click.unstyle(logs.detail(self._emulator.get(f"/requests/{id}")))
        found = [*self._emulator.pages("/requests", limit, status=status)]
        return "\n".join(click.unstyle(logs.line(each)) for each in reversed(found)) or "none"

    def arrange(self, what: Literal["object", "fault", "outcome", "settings"], values: JSON, id: str = "") -> str:
        """Set a scene. object: fields of the object `id`. fault: {"match": {"operation": "createRefund"}, "then":
        {"status": 503}} or {"drop": "after"}, also of webhooks. outcome: how the next payments end. settings: of the
        App."""
        if what == "object":
            return _json(self._emulator.send("PATCH", f"/objects/{id}", body=values).json())
        if what == "settings":
            return _json(self._emulator.send("PATCH", "/app", body={"settings": values}).json())
        return _json(self._emulator.post(f"/{what}s", values))

    def snapshot(self, action: Literal["save", "restore", "list", "rewind", "reset"], name: str = "assistant") -> str:
        """Save or restore the world by name, list snapshots, take back the last request (rewind), or start over."""
        match action:
            case "save":
                return _json(self._emulator.post("/snapshots", {"name": name}))
            case "restore":
                return _json(self._emulator.post(f"/snapshots/{name}/restore"))
            case "list":
                return _json(self._emulator.get("/snapshots")["data"])
            case "rewind":
                return _json(self._emulator.post("/rewind", {"steps": 1}))
        return _json(self._emulator.post("/reset", {}))

    def prove(self, receiver: str = "", secret: str = "") -> str:
        """Judge the integration by what it did so far: usage rules it broke (audit) and whether the money adds up
        (ledger). With a receiver's URL and its webhook secret, also send it valid and forged deliveries (certify)."""
        findings = self._emulator.get("/audit")["findings"]
        balanced = self._emulator.get("/ledger", page_size=1)["balanced"]
        failed = _certified(receiver, secret) if receiver else []
        errors = [each for each in findings if each["severity"] == "error"]
        verdict = {"passed": balanced and not failed and not errors, "balanced": balanced, "findings": findings}
        return _json({**verdict, "webhooks": failed} if receiver else verdict)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _distance(by: str) -> JSON:
    """The body of an advance."""
    if by == "next":
        return {"until": "next"}
    if by in EVENTS:
        return {"until_event": by}
    if re.match(r"\d{4}-", by):
        return {"to": by if "T" in by else f"{by}T00:00:00Z"}
    return {"by": by}


def _certified(receiver: str, secret: str) -> list[Any]:
    """The checks of webhook deliveries that a receiver fails."""
    command = [sys.executable, "-m", "emulator.cli.main", "certify", receiver, "--json"]
    _, output = run_captured(command, {**os.environ, "PAYMENTS_EMULATOR_SECRET": secret})
    try:
        checks = [json.loads(line) for line in output.splitlines()]
    except ValueError:
        raise click.ClickException(output.strip()) from None
    return [each for each in checks if not each["passed"]]
