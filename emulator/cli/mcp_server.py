"""The MCP server: its tools, and the operations of the document as resources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Literal

import click
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from emulator.cli import logs
from emulator.cli.control_client import ControlClient, Rejected
from emulator.cli.options import duration
from emulator.cli.output import when
from emulator.core.event_types import EVENTS
from emulator.document import bundles, tree
from emulator.version import VERSION

INSTRUCTIONS = """\
A local sandbox of a Payments and Recurring Billing API. Paths under /v1 are the service's; amounts
are minor units. Use advance to reach a renewal, and explain before you guess why something
happened."""


def server(emulator: ControlClient) -> MCPServer:
    mcp = MCPServer(
        "payments-emulator", instructions=INSTRUCTIONS, version=VERSION, log_level="ERROR"
    )
    tools = Tools(emulator)
    every = (tools.call, tools.advance, tools.trigger, tools.explain)
    for tool in (*every, tools.requests, tools.arrange, tools.snapshot, tools.prove):
        # The schema of a text that is always the same would only cost tokens.
        mcp.add_tool(_explained(tool), structured_output=False)
    add_resources(mcp)
    return mcp


def _explained(tool: Callable[..., str]) -> Callable[..., str]:
    """Return the tool, with errors of the emulator as the messages that commands print."""

    @wraps(tool)
    def explained(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except Rejected as error:
            raise ToolError(f"{error.message} ({error.code})") from None
        except click.ClickException as error:
            raise ToolError(error.message) from None

    return explained


def add_resources(mcp: MCPServer) -> None:
    @mcp.resource(
        "emulator://document",
        name="document",
        description="Every operation: operationId, method, path.",
    )
    def document() -> str:
        every = operations().items()
        return "\n".join(
            f"{id}: {method} {path}: {spec['summary']}" for id, (method, path, spec) in every
        )

    @mcp.resource(
        "emulator://document/{operation}",
        name="document/{operation}",
        description="One operation, its schemas included, as JSON.",
    )
    def described(operation: str) -> str:
        method, path, spec = operations()[operation]
        return json.dumps(
            {"method": method, "path": path, **tree.inlined(bundles.load("service"), spec)}
        )


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        spec["operationId"]: (method.upper(), f"/v1{path}", spec)
        for path, method, spec in tree.operations(bundles.load("service"))
    }


JSON = dict[str, Any]


class Tools:
    """An assistant's tools in one App's world. The assistant reads docstrings and signatures."""

    def __init__(self, emulator: ControlClient) -> None:
        self._emulator = emulator

    def call(
        self,
        method: Literal["GET", "POST", "PATCH", "DELETE"],
        path: str,
        body: JSON | None = None,
        key: str = "",
    ) -> str:
        """Call the service, or the control API. Errors of the service are responses too.

        `path`: such as /v1/customers/?page_size=5, or one under /_emulator. `key` is sent as
        Idempotency-Key.
        """
        headers = {"Idempotency-Key": key} if key else {}
        response = self._emulator.request(method, path, json=body, headers=headers)
        return f"{response.status_code}\n{response.text}"

    def advance(self, by: str) -> str:
        """Move the clock forward and wait for the effects.

        `by`: a duration (31d, 6h), an instant or day (2026-03-01), `next` for the next job, or an
        event type to stop at (invoice.paid).
        """
        return _json(self._emulator.post("/clock/advance", _distance(by)))

    def trigger(self, event: str, overrides: JSON | None = None) -> str:
        """Cause an event by real changes of state.

        The override {"subscription": "sub_…"} uses that object, other names set fields of new ones.
        """
        return _json(
            self._emulator.post("/trigger", {"event": event, "overrides": overrides or {}})
        )

    def explain(self, id: str) -> str:
        """Return an object's state, next steps and causes: requests, jobs, events and emails."""
        explanation = self._emulator.get(f"/explain/{id}")
        lines = [f"{id} is {explanation['status']}" if explanation["status"] else id]
        lines += filter(None, [explanation["summary"].replace("\N{NO-BREAK SPACE}", " ")])
        lines += [
            f"next: {step['label']}: {step['method']} {step['path']}"
            for step in explanation["next_steps"]
        ]
        lines += [
            f"{step['at']} {step['kind']} {step['id'] or ''} {step['summary']}"
            for step in explanation["chain"]
        ]
        lines += self._payment_errors(explanation["chain"])
        return "\n".join(
            lines
            if explanation["complete"]
            else [*lines, "(older causes are no longer in the journal)"]
        )

    def _payment_errors(self, chain: list[Any]) -> Iterator[str]:
        """Yield why the last payment of a chain failed."""
        failed = [
            step["object"] for step in chain if step["summary"].startswith("payment_intent.failed")
        ]
        for id in failed[-1:]:
            intent = self._emulator.get(f"/objects/{id}")
            error = intent["last_error"] or {}
            yield (
                f"{id} charged {intent['payment_method']}: {error.get('code')}:"
                f" {error.get('message')}"
            )

    def requests(self, id: str = "", status: int | None = None, limit: int = 20) -> str:
        """Return the application's newest requests, oldest first; with `id` one and its changes."""
        if id:
            return click.unstyle(logs.detail(self._emulator.get(f"/requests/{id}")))
        requests = [*self._emulator.pages("/requests", limit, status=status)]
        return (
            "\n".join(
                f"{request['id']}  {when(request['created_at'])}  {request['status']} "
                f" {request['method']} {request['path']}"
                for request in reversed(requests)
            )
            or "none"
        )

    def arrange(
        self, what: Literal["object", "fault", "outcome", "settings"], values: JSON, id: str = ""
    ) -> str:
        """Set a scene.

        object: fields of the object `id`. fault: {"match": {"operation": "createRefund"}, "then":
        {"status": 503}} or {"drop": "after"}, also of webhooks. outcome: how the next payments end.
        settings: of the App.
        """
        if what == "object":
            return _json(self._emulator.patch(f"/objects/{id}", values))
        if what == "settings":
            return _json(self._emulator.patch("/app", {"settings": values}))
        return _json(self._emulator.post(f"/{what}s", values))

    def snapshot(
        self, action: Literal["save", "restore", "list", "rewind", "reset"], name: str = "assistant"
    ) -> str:
        """Save or restore the world by name, list snapshots, undo a request (rewind), or reset."""
        method, path, body = {
            "save": ("POST", "/snapshots", {"name": name}),
            "restore": ("POST", f"/snapshots/{name}/restore", None),
            "list": ("GET", "/snapshots", None),
            "rewind": ("POST", "/rewind", {"steps": 1}),
            "reset": ("POST", "/reset", {}),
        }[action]
        return _json(self._emulator.call(method, path, json=body))

    def prove(self) -> str:
        """Judge the integration so far: usage rules it broke (audit), and its money (ledger)."""
        findings = self._emulator.get("/audit")["findings"]
        balanced = self._emulator.get("/ledger", page_size=1)["balanced"]
        errors = [finding for finding in findings if finding["severity"] == "error"]
        return _json(
            {"passed": balanced and not errors, "balanced": balanced, "findings": findings}
        )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _distance(by: str) -> JSON:
    if by == "next":
        return {"until": "next"}
    if by in EVENTS:
        return {"until_event": by}
    if re.match(r"\d{4}-", by):
        return {"to": by if "T" in by else f"{by}T00:00:00Z"}
    try:
        return {"by": duration(by)}
    except ValueError:
        message = f"by: {by!r} is not a duration such as 31d, an instant, 'next' or an event type"
        raise click.ClickException(message) from None
