"""Routing: finds the operation for a path and a method in a tree of path segments."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import unquote

from connexion.http_facts import METHODS
from connexion.middleware.abstract import RoutedAPI, RoutedMiddleware, SpecMiddleware
from connexion.spec import Specification
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.web.context import ContextLayer, RequestContext

API = TypeVar("API", bound=RoutedAPI[Any])


class PathSegment:
    """One segment of a path: the fixed segments and the parameter that may follow it, and its operations by method."""

    __slots__ = ("children", "name", "operations", "parameter")

    def __init__(self) -> None:
        self.children: dict[str, PathSegment] = {}
        self.parameter: PathSegment | None = None
        self.name = ""
        self.operations: dict[str, str] = {}

    def child(self, segment: str) -> PathSegment:
        """The node after this one for a segment of a documented path."""
        if not segment.startswith("{"):
            return self.children.setdefault(segment, PathSegment())
        if self.parameter is None:
            self.parameter = PathSegment()
            self.parameter.name = segment[1:-1]
        return self.parameter


class OperationLayer(ContextLayer, RoutedMiddleware[API]):
    """A layer with an object of its own for each operation; its API makes them, their ``handle`` is called."""

    def add_api(self, specification: Specification, **kwargs: Any) -> API:
        api = super().add_api(specification, **kwargs)
        self._operations: Mapping[str, Any] = api.operations
        return cast("API", api)

    def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return cast("Awaitable[None]", self._operations[context.operation_id].handle(context, scope, receive, send))


class Router(ContextLayer, SpecMiddleware):
    """Stands in place of Connexion's routing layer, which tries one regular expression after the other.

    A path without its slash is not redirected: it is unknown, and the error names the right one (B-06). The error for
    a wrong method names all right ones.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._root = PathSegment()
        self._base_path = ""

    def add_api(self, specification: Specification, base_path: str | None = None, **_: Any) -> None:
        self._base_path = specification.base_path if base_path is None else base_path
        for path, item in specification["paths"].items():
            for method in METHODS & item.keys():
                for spelling in (path, *item[method].get("x-also", ())):
                    self._node_of(spelling).operations[method.upper()] = item[method]["operationId"]

    def handle(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        parameters: dict[str, str] = {}
        node = self._find(segments(scope), parameters)
        if node is None:
            raise self._unknown(scope)
        if context.method == "HEAD":
            # A HEAD is answered like a GET (RFC 9110); the server leaves out the body.
            scope = {**scope, "method": "GET"}
            context.method = "GET"
        operation_id = node.operations.get(context.method)
        if operation_id is None:
            allow = ", ".join(sorted(node.operations))
            raise ApiError("METHOD_NOT_ALLOWED", headers={"Allow": allow}, method=context.method, allow=allow)
        context.operation_id = operation_id
        context.path_params = parameters
        return self.app(scope, receive, send)

    def _node_of(self, path: str) -> PathSegment:
        node = self._root
        for segment in (self._base_path + path).split("/"):
            node = node.child(segment)
        return node

    def _find(self, path: Sequence[str], parameters: dict[str, str]) -> PathSegment | None:
        node: PathSegment | None = self._root
        for segment in path:
            following = node.children.get(segment)  # type: ignore[union-attr]  # the loop ends where there is none
            if following is None and segment and (following := node.parameter) is not None:  # type: ignore[union-attr]  # likewise
                parameters[following.name] = segment
            if following is None:
                return None
            node = following
        return node if node and node.operations else None

    def _unknown(self, scope: Scope) -> ApiError:
        path = segments(scope)
        shown = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")[:200]
        if path[-1] and self._find([*path, ""], {}):
            return ApiError("NOT_FOUND", message=f"{shown} is not found. Add the trailing slash: {shown}/")
        if not path[-1] and self._find(path[:-1], {}):
            return ApiError("NOT_FOUND", message=f"{shown} is not found. Remove the trailing slash: {shown[:-1]}")
        return ApiError("NOT_FOUND", message=f"There is no {shown} here.")


def segments(scope: Scope) -> list[str]:
    """The path between its slashes. An encoded slash is part of a segment, so the raw path is split."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        path: str = scope["path"]
        return path.split("/")
    return [unquote(segment) for segment in raw.decode("latin-1").split("/")]
