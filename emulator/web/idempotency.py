"""Idempotency on the wire: a POST with an Idempotency-Key is performed once and answered alike each time (B-16)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from inspect import isgenerator
from typing import Any

from starlette.types import Scope

from emulator.core.idempotency import lookup, store
from emulator.core.world import World, encode
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.web import strict_json
from emulator.web.context import RequestContext
from emulator.web.response import Response

REPLAYED = {"Idempotent-Replayed": "true"}

STORED_ERRORS = (404, 409)
"""Refusals that tell something about the objects; any other is refused before anything was looked at."""

_FORM = re.compile(r"[\x20-\x7e]{1,255}")

Command = Callable[..., Any]


class IdempotentRequest:
    """One request with a key: the key, what tells the request apart, and the status of its success."""

    def __init__(self, key: str, scope: Scope, raw: bytes, status: int) -> None:
        if not _FORM.fullmatch(key):
            raise ApiError(
                "VALIDATION_ERROR",
                http_status=400,
                param="Idempotency-Key",
                message="Idempotency-Key: must have 1 to 255 printable ASCII characters",
            )
        self.key = key
        self.fingerprint = fingerprint(scope["method"], scope["path"], raw)
        self.status = status

    async def perform(self, call: RequestContext, command: Command, arguments: dict[str, Any]) -> Response:
        """The remembered answer, or the command's, remembered in the very turn that made it."""
        assert call.runtime is not None
        running = call.runtime.running_keys
        if self.key in running:
            raise ApiError("IDEMPOTENCY_CONFLICT")
        running.add(self.key)
        try:
            return await self._perform(call, call.runtime, command, arguments)
        finally:
            running.discard(self.key)

    async def _perform(
        self, call: RequestContext, runtime: Runtime, command: Command, arguments: dict[str, Any]
    ) -> Response:
        inner = {"command": command, "arguments": arguments}
        try:
            reply: Response = await runtime.serve(self._remembering, inner, call.request_id)
        except ApiError as error:
            if error.code == "IDEMPOTENCY_CONFLICT" or error.status not in STORED_ERRORS:
                raise
            reply = call.prepared_response(error)
            await runtime.serve(self._keep, {"status": reply.status, "body": reply.body}, call.request_id)
        return reply

    def _remembering(self, world: World, command: Command, arguments: dict[str, Any]) -> Any:
        known = lookup(world, self.key, self.fingerprint)
        if known is not None:
            return Response(known.status, known.body, REPLAYED)
        result = command(world, **arguments)
        return self._steps(world, result) if isgenerator(result) else self._done(world, result)

    def _steps(self, world: World, steps: Any) -> Any:
        result = yield from steps
        return self._done(world, result)

    def _done(self, world: World, result: Any) -> Response:
        body = encode(result)
        self._keep(world, self.status, body)
        return Response(self.status, body)

    def _keep(self, world: World, status: int, body: bytes) -> None:
        store(world, self.key, self.fingerprint, status, body)


def fingerprint(method: str, path: str, raw: bytes) -> str:
    """Same method, path and JSON body, same fingerprint; white space and the order of keys do not count."""
    body = json.dumps(strict_json.parse(raw), sort_keys=True)
    return hashlib.sha256(f"{method} {path} {body}".encode()).hexdigest()
