"""The world of a request: of a call of the control API, or of a webhook sent to an inbox."""

from __future__ import annotations

from emulator.core.errors import ApiError, invalid_field
from emulator.engine.engine import Engine
from emulator.engine.runtime import Runtime
from emulator.resources.app import keys
from emulator.resources.app.keys import DEFAULT_APP, Key
from emulator.web.context import RequestContext
from emulator.web.operation import fields


def of_caller(engine: Engine, context: RequestContext) -> Runtime:
    """The world of the key, or of ``app=NAME``, or the default one."""
    value = context.authorization()
    return engine.open(keys.read(value) if value is not None else Key(_named(context) or DEFAULT_APP, livemode=False))


def of_sender(engine: Engine, context: RequestContext, app: str | None) -> Runtime:
    """The world a webhook comes from: as its caller says, who need not (its ``Authorization`` may be a signature).

    ``app`` is the id of that App. ``Authorization`` may hold the signature of a webhook instead of a key.
    """
    try:
        return engine.open(keys.read(context.authorization()))
    except ApiError:
        named = _named(context)
    known = engine.directory.of_app(app) if named is None else None
    return engine.open(known or Key(named or DEFAULT_APP, livemode=False))


def _named(context: RequestContext) -> str | None:
    name = dict(fields(context.query_string)).get("app")
    if name is not None and not keys.NAME.fullmatch(name):
        raise invalid_field("app", "must be an App's name: 1 to 64 of A-Z a-z 0-9 _ -", "INVALID_FILTER_PARAM")
    return name
