"""A call: what the layers of the stack learn about one request and hand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from emulator.engine.logged_request import Checkpoint
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError
from emulator.resources.app.client_ip import Address, resolve
from emulator.resources.app.settings import settings
from emulator.web.error_responses import body_of
from emulator.web.response import Response

SCOPE_KEY = "emulator.call"

NOT_A_REQUEST: Mapping[str, Any] = MappingProxyType({"headers": ()})
"""What is known of a request that is none: nothing."""


class RequestContext:
    """One request on its way through the stack. ``runtime`` is set once the key is known.

    ``headers`` are the request's by (lower-case) name, the first of each. ``mark`` is the place in the world's history
    where it began; ``raw`` is its body, as far as it was read.
    ``ignores_unknown_fields`` is the App's setting ``unknown_fields`` (B-13); the control API never ignores any.
    """

    __slots__ = (
        "_given",
        "_new_id",
        "_peer",
        "_request_id",
        "base_url",
        "checkpoint",
        "headers",
        "ignores_unknown_fields",
        "operation_id",
        "raw",
        "runtime",
    )

    def __init__(self, base_url: str, new_id: Callable[[], str], scope: Mapping[str, Any] = NOT_A_REQUEST) -> None:
        self.base_url = base_url
        self.operation_id: str | None = None
        self.runtime: Runtime | None = None
        self.ignores_unknown_fields = False
        self.checkpoint: Checkpoint | None = None
        self.raw = b""
        self._new_id = new_id
        self._request_id: str | None = None
        # Parts of the scope and not itself: the scope holds the call, and a circle would be the collector's work.
        self._peer = scope.get("client")
        self._given = scope["headers"]
        self.headers: dict[bytes, bytes] = dict(reversed(self._given))

    def body_of(self, error: ApiError) -> bytes:
        """The body of a refusal, in the shape the App has set (B-10)."""
        shape = settings(self.runtime.world).error_shape if self.runtime else "documented"
        return body_of(error, request_id=self.request_id, docs_url=f"{self.base_url}/docs", shape=shape)

    def prepared_response(self, error: ApiError) -> Response:
        """A refusal as an answer."""
        retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        return Response(error.status, self.body_of(error), {**error.headers, **retry})

    @property
    def address(self) -> Address:
        """Where the request comes from, going by what the world's App believes of ``X-Forwarded-For`` (B-70)."""
        assert self.runtime is not None
        forwarded = [value.decode("latin-1") for name, value in self._given if name == b"x-forwarded-for"]
        return resolve(self._peer and self._peer[0], forwarded, settings(self.runtime.world).trusted_proxies)

    @property
    def request_id(self) -> str:
        """The ``req_`` id: drawn from the world where there is one, so that worlds do not disturb each other (B-01)."""
        if self._request_id is None:
            self._request_id = self._new_id() if self.runtime is None else self.runtime.request_id()
        return self._request_id


def of(scope: Mapping[str, Any]) -> RequestContext:
    """The call a scope belongs to."""
    call: RequestContext = scope[SCOPE_KEY]
    return call
