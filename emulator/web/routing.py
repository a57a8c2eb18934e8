"""From a path and key to an operation and world: Connexion's part, path tree, authentication."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from connexion import ConnexionMiddleware
from connexion.http_facts import METHODS
from connexion.middleware.abstract import ROUTING_CONTEXT, SpecMiddleware
from connexion.operations import AbstractOperation
from connexion.resolver import Resolver
from connexion.spec import Specification
from starlette.types import ASGIApp, Receive, Scope, Send

from emulator.core.errors import ApiError
from emulator.document import bundles
from emulator.document.tree import Document, at, map_parts, operations, pointer_of
from emulator.engine.runtime import Runtime
from emulator.resources.app.settings import settings
from emulator.web.context import SCOPE_KEY, RequestContext, send_response
from emulator.web.root_app import as_api_error
from emulator.web.schemas import CompiledSchema

# -- Connexion: what it is given of a document, and which layers it stacks


Definition = Mapping[str, Any]
"""An operation as the document defines it, with every reference replaced by what it refers to."""

ROUTE_KEYS = ("operationId", "security", "x-also")
"""What Connexion, and the router on top of it, needs of an operation."""


class DocumentedApi(NamedTuple):
    """A document and its :func:`definitions`, which nothing changes, and their schemas."""

    document: Document
    definitions: Mapping[str, Definition]
    schemas: dict[int, CompiledSchema]

    def schema(self, source: dict[str, Any]) -> CompiledSchema:
        """Return a schema of the definitions, which operations and sandboxes share."""
        # The definitions keep it alive, so its identity is its own.
        return self.schemas.setdefault(id(source), CompiledSchema(source))


@cache
def documented_api(name: str) -> DocumentedApi:
    """Return the API of a document, such as ``service``; the sandboxes of a process share it."""
    document = bundles.load(name)
    return DocumentedApi(document, definitions(document), {})


def connexion_app(
    api: DocumentedApi,
    functions: Mapping[str, Callable[..., Any]],
    operations: type[SpecMiddleware],
    **options: Any,
) -> ASGIApp:
    """Return a Connexion application of one document: our router, and the layer of ``operations``.

    ``functions`` maps operationIds to functions. The layers get the document's :func:`routes` as
    the specification and ``api`` as the option ``documented``; other ``options`` are for the
    operations.
    """
    app = ConnexionMiddleware(
        _unanswered,
        import_name="emulator",
        middlewares=[Router, operations],
        resolver=Resolver(functions.__getitem__),
    )
    app.add_api(routes(api.document), documented=api, **options)
    return cast(ASGIApp, app)


async def _unanswered(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand for Connexion's wrapped application: the innermost layer responds to every request."""
    raise LookupError(f"no layer responded to {scope['method']} {scope['path']}")


def routes(document: Document) -> dict[str, Any]:
    """Return the document without parameters, bodies and responses, which the operations check.

    Connexion validates and copies whatever document it is given, in Python. With all schemas that
    would take several times as long as the rest of a start, to learn what the tests of the document
    have established already. So the items of the paths stand in an extension, too, which Connexion
    puts in the place of references to it and does not validate.
    """
    # OpenAPI requires a response of each; an extension in its place is valid.
    responses: dict[str, Any] = {"x-none": {}}
    items: dict[str, dict[str, Any]] = {path: {} for path in document["paths"]}
    for path, method, operation in operations(document):
        kept = {key: operation[key] for key in ROUTE_KEYS if key in operation}
        items[path][method] = kept | {"responses": responses}
    return {
        "openapi": document["openapi"],
        "info": {"title": document["info"]["title"], "version": document["info"]["version"]},
        "servers": [{"url": server["url"]} for server in document.get("servers", [])],
        "security": document.get("security", []),
        "paths": {path: {"$ref": f"#/x-items/{number}"} for number, path in enumerate(items)},
        "x-items": list(items.values()),
        "components": {"securitySchemes": document["components"]["securitySchemes"]},
    }


_PROSE = frozenset(
    ["description", "summary", "example", "examples", "links", "x-webhooks", "tags", "x-assumption"]
)
"""Keywords that only people and the document's other readers use; left out, which saves memory."""


def definitions(document: Document) -> dict[str, Definition]:
    """Return the definitions of operations by operationId, with the parameters of their paths.

    A component that several operations refer to is resolved once and shared.
    """

    @cache
    def component(reference: str) -> Any:
        return resolved(at(document, pointer_of(reference)))

    def resolved(node: Any) -> Any:
        if not isinstance(node, dict):
            return map_parts(node, resolved)
        if "$ref" in node:
            return component(node["$ref"])
        whole = {
            key: resolved(part)
            for key, part in node.items()
            if key not in _PROSE and key != "properties"
        }
        if isinstance(node.get("properties"), dict):
            # The names below "properties" are fields, which may be called like a keyword.
            whole["properties"] = {
                name: resolved(part) for name, part in node["properties"].items()
            }
        return whole

    return {
        operation["operationId"]: resolved(
            {
                **operation,
                "parameters": [
                    *document["paths"][path].get("parameters", []),
                    *operation.get("parameters", []),
                ],
            }
        )
        for path, _, operation in operations(document)
    }


# -- the tree of paths


class PathSegment(dict[str, "PathSegment"]):
    """A segment of the paths, with those that may follow it.

    Where a path ends, ``operations`` has by method the key of the operation for Connexion's other
    layers, and ``places`` the segments that are its parameters, by name. Any segment that is not
    empty may be that of ``parameter``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parameter: PathSegment | None = None
        self.operations: dict[str, dict[str, str]] = {}
        self.places: dict[str, int] = {}

    def __missing__(self, segment: str) -> PathSegment:
        if self.parameter is None or not segment:
            raise KeyError(segment)
        return self.parameter


class Router(SpecMiddleware):
    """Stands in place of Connexion's routing layer, which tries regular expressions in turn.

    A path without its slash is not redirected: it is unknown, and the error names the right one
    (B-06). The error for a wrong method names all right ones. As the outermost layer it makes every
    exception a response in the form of all errors.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._root = PathSegment()
        self._base_path = ""
        self._paths: list[str] = []

    def add_api(self, specification: Specification, base_path: str | None = None, **_: Any) -> None:
        self._base_path = specification.base_path if base_path is None else base_path
        self._paths += [
            self._base_path + path for path in specification["paths"] if "{" not in path
        ]
        for path, item in specification["paths"].items():
            for method in METHODS & item.keys():
                operation_id = item[method]["operationId"]
                routed = {"api_base_path": self._base_path, "operation_id": operation_id}
                for spelling in (path, *item[method].get("x-also", ())):
                    self._end_of(self._base_path + spelling).operations[method.upper()] = routed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context: RequestContext = scope[SCOPE_KEY]
        try:
            await self.app(self._routed(scope, context), receive, send)
        except Exception as error:
            await send_response(context.error_response(as_api_error(context, error)), send)

    def _routed(self, scope: Scope, context: RequestContext) -> Scope:
        """Return the scope with its operation, which the context gets, too. Raises 404 or 405."""
        path = segments(scope)
        end = self._find(path)
        if end is None:
            raise self._unknown(scope)
        if context.method == "HEAD":
            # The response to a HEAD is that of a GET (RFC 9110); the server leaves out the body.
            scope = {**scope, "method": "GET"}
            context.method = "GET"
        routed = end.operations.get(context.method)
        if routed is None:
            allow = ", ".join(sorted(end.operations))
            raise ApiError(
                "METHOD_NOT_ALLOWED", headers={"Allow": allow}, method=context.method, allow=allow
            )
        context.operation_id = routed["operation_id"]
        context.path_params = {name: path[place] for name, place in end.places.items()}
        scope.setdefault("extensions", {})[ROUTING_CONTEXT] = routed
        return scope

    def _end_of(self, path: str) -> PathSegment:
        """Add a documented path; return its last segment."""
        node, places = self._root, {}
        for place, segment in enumerate(path.split("/")):
            if segment.startswith("{"):
                places[segment[1:-1]] = place
                node.parameter = node = PathSegment() if node.parameter is None else node.parameter
            else:
                node = node.setdefault(segment, PathSegment())
        node.places = places
        return node

    def _find(self, path: Sequence[str]) -> PathSegment | None:
        """Return the last segment of a path; None if no documented path has this form."""
        node = self._root
        try:
            for segment in path:
                node = node[segment]
        except KeyError:
            return None
        return node if node.operations else None

    def _unknown(self, scope: Scope) -> ApiError:
        path = segments(scope)
        address = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")[:200]
        if path[-1] and self._find([*path, ""]) is not None:
            return ApiError(
                "NOT_FOUND", message=f"{address} is not found. Add the trailing slash: {address}/"
            )
        if not path[-1] and self._find(path[:-1]) is not None:
            return ApiError(
                "NOT_FOUND",
                message=f"{address} is not found. Remove the trailing slash: {address[:-1]}",
            )
        # Imported here: only errors need it.
        from difflib import get_close_matches

        near = get_close_matches(address, self._paths, n=1, cutoff=0.8)
        if near:
            return ApiError(
                "NOT_FOUND", message=f"There is no {address} here. Did you mean {near[0]}?"
            )
        return ApiError("NOT_FOUND", message=f"There is no {address} here.")


def segments(scope: Scope) -> list[str]:
    """Return a path's segments. An encoded slash is part of one, so the raw path is split."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        path: str = scope["path"]
        return path.split("/")
    return [unquote(segment) for segment in raw.decode("latin-1").split("/")]


# -- authentication


Authenticate = Callable[[RequestContext, bool], Awaitable[Runtime | None]]
"""Returns the runtime of a request's world; the flag says whether a key is required.

None is for operations of the control API that are about no world. Raises :class:`ApiError` for a
wrong key.
"""


class AuthenticatedOperation:
    """The authentication of one operation, by the document's ``security``.

    It comes after routing, so that an unknown path is 404 for everybody, and before anything reads
    the body (B-05).
    """

    def __init__(
        self, next_app: ASGIApp, operation: AbstractOperation, authenticate: Authenticate
    ) -> None:
        self._next_app = next_app
        self._authenticate = authenticate
        self._required = bool(operation.security) and {} not in operation.security

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Set the context's runtime and checkpoint, then pass the request on."""
        context: RequestContext = scope[SCOPE_KEY]
        runtime = context.runtime = await self._authenticate(context, self._required)
        if runtime is None:
            await self._next_app(scope, receive, send)
            return
        # Nothing is filed or waited for in a world that may be another process's by now.
        context.runtime = None
        runtime.require_store()
        context.runtime = runtime
        context.checkpoint = runtime.history.checkpoint()
        runtime.users += 1
        try:
            await self._next_app(scope, receive, send)
        except BaseException:
            # Whoever writes the error comes later, and a released world may be emptied by then.
            context.error_shape = settings(runtime.world).error_shape
            context.request_id  # noqa: B018  # it is drawn from the world
            raise
        finally:
            runtime.release()
