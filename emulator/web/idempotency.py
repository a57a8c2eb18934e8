"""Idempotency over HTTP: a POST with an Idempotency-Key is executed once, its response repeated (B-16)."""

from __future__ import annotations

import hashlib
import json
import re
from inspect import isgenerator
from typing import Any

from emulator.core.errors import ApiError
from emulator.core.idempotency import lookup, store
from emulator.core.world import World, encode
from emulator.engine.clock import Command
from emulator.engine.runtime import Runtime
from emulator.web import strict_json
from emulator.web.context import RequestContext
from emulator.web.response import Response

REPLAYED = {"Idempotent-Replayed": "true"}

STORED_ERRORS = (404, 409)
"""Statuses of errors that depend on the objects and are stored; any other is raised before an object is read."""

_PRINTABLE = re.compile(r"[\x20-\x7e]{1,255}")


class IdempotentRequest:
    """One request with a key: the key, the request's fingerprint, and the status of its success."""

    def __init__(self, key: str, context: RequestContext, status: int) -> None:
        if not _PRINTABLE.fullmatch(key):
            raise ApiError(
                "VALIDATION_ERROR",
                http_status=400,
                param="Idempotency-Key",
                message="Idempotency-Key: must have 1 to 255 printable ASCII characters",
            )
        self.key = key
        self.fingerprint = fingerprint(context.method, context.path, context.raw)
        self.status = status

    async def execute(
        self, context: RequestContext, runtime: Runtime, command: Command, arguments: dict[str, Any]
    ) -> Response:
        """The stored response, or that of the command, which is stored in the command's own unit of work.

        Raises 409 while another request with the key is being executed.
        """
        running = runtime.running_keys
        if self.key in running:
            message = "A request with this Idempotency-Key is still in progress."
            raise ApiError("IDEMPOTENCY_CONFLICT", message=message)
        running.add(self.key)
        try:
            await context.hold()
            return await self._execute(context, runtime, command, arguments)
        finally:
            running.discard(self.key)

    async def _execute(
        self, context: RequestContext, runtime: Runtime, command: Command, arguments: dict[str, Any]
    ) -> Response:
        inner = {"command": command, "arguments": arguments}
        try:
            response: Response = await runtime.serve(self._run, inner, context.request_id)
        except ApiError as error:
            if error.code == "IDEMPOTENCY_CONFLICT" or error.status not in STORED_ERRORS:
                raise
            response = context.error_response(error)
            await runtime.serve(self._store, {"status": response.status, "body": response.body}, context.request_id)
        return response

    def _run(self, world: World, command: Command, arguments: dict[str, Any]) -> Any:
        stored = lookup(world, self.key, self.fingerprint)
        if stored is not None:
            return Response(stored.status, stored.body, REPLAYED)
        result = command(world, **arguments)
        return self._run_steps(world, result) if isgenerator(result) else self._respond(world, result)

    def _run_steps(self, world: World, steps: Any) -> Any:
        result = yield from steps
        return self._respond(world, result)

    def _respond(self, world: World, result: Any) -> Response:
        body = encode(result)
        self._store(world, self.status, body)
        return Response(self.status, body)

    def _store(self, world: World, status: int, body: bytes) -> None:
        store(world, self.key, self.fingerprint, status, body)


def fingerprint(method: str, path: str, raw: bytes) -> str:
    """The same for the same method, path and JSON body, whatever its white space and the order of its keys."""
    body = json.dumps(strict_json.parse(raw), sort_keys=True)
    return hashlib.sha256(f"{method} {path} {body}".encode()).hexdigest()
