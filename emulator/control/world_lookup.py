"""The world of a request: of a call of the control API, or of a webhook sent to an inbox."""

from __future__ import annotations

from starlette.types import Scope

from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.errors import ApiError, invalid_field
from emulator.resources.app import keys
from emulator.resources.app.keys import Key
from emulator.web.authentication import authorization
from emulator.web.query import fields

DEFAULT_APP = "demo"


def of_caller(engine: Engine, scope: Scope) -> Runtime:
    """The world of the API key, else of ``app=NAME`` in the query, else that of the default App."""
    value = authorization(scope)
    return engine.open(keys.read(value) if value is not None else Key(_named(scope) or DEFAULT_APP, livemode=False))


def of_sender(engine: Engine, scope: Scope, app: str | None) -> Runtime:
    """The world a webhook comes from: by key or ``app=NAME`` as for callers, else by the App that its body names.

    ``app`` is the id of that App. ``Authorization`` may hold the signature of a webhook instead of a key.
    """
    try:
        return engine.open(keys.read(authorization(scope)))
    except ApiError:
        named = _named(scope)
    matching = (runtime for runtime in engine.runtimes.values() if named is None and runtime.world.app == app)
    return next(matching, None) or engine.open(Key(named or DEFAULT_APP, livemode=False))


def _named(scope: Scope) -> str | None:
    name = dict(fields(scope["query_string"])).get("app")
    if name is not None and not keys.NAME.fullmatch(name):
        raise invalid_field("app", "must be an App's name: 4 to 64 of A-Z a-z 0-9 _ -", "INVALID_FILTER_PARAM")
    return name
