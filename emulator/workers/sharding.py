"""Which worker a request belongs to: that of the key's world, as far as its head says which world it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from emulator.console.mount import CONSOLE, is_page
from emulator.control.inbox import PREFIX as INBOX
from emulator.engine.share import Share
from emulator.errors import ApiError
from emulator.resources.app import keys
from emulator.resources.app.keys import DEFAULT_APP, Key
from emulator.web.query import fields

PAGES_WORKER = 0
"""The worker that answers what is about no single world, such as the console, which logs in and shows notices."""

HEAD = re.compile(
    rb"(?P<method>[A-Z]+) (?P<path>[^ ?]*)\??(?P<query>[^ ]*) HTTP/1\.[01]\r\n(?P<headers>.*?)\r\n\r\n", re.DOTALL
)

SHOWN = ("/v1/", "/_emulator/")
"""Below these the key, or ``app``, says which world a request is for."""


def stated_key(method: str, path: str, query: bytes, headers: Mapping[bytes, bytes]) -> Key | None:
    """The key of the world that the head of a request is for; None if it does not say, or not validly.

    ``headers`` has lower-case names.
    """
    authorization = headers.get(b"authorization")
    is_webhook = path.startswith(INBOX) and method != "GET"
    if authorization is not None and path.startswith(SHOWN):
        try:
            return keys.read(authorization.decode("latin-1"))
        except ApiError:
            if not is_webhook:  # the header of a webhook may be its signature
                return None
    if path.startswith("/_emulator/") and not path.startswith(CONSOLE) and not is_page(method, path, headers):
        stated = _named(query)
        if stated is not None:
            return Key(stated.name, livemode=False)
        return None if is_webhook else Key(DEFAULT_APP, livemode=False)
    return _named(query) if path.startswith("/docs/") else None


def _named(query: bytes) -> Key | None:
    try:
        given = dict(fields(query))
    except ApiError:
        return None
    name = given.get("app", "")
    return Key(name, given.get("live") == "1") if keys.NAME.fullmatch(name) else None


def worker_of_head(raw: bytes, share: Share) -> int:
    """The worker for a connection, by the head of its first request as far as that has arrived."""
    head = HEAD.match(raw)
    if head is None:
        return PAGES_WORKER
    lines = (line.partition(b":") for line in head["headers"].split(b"\r\n"))
    headers = {name.strip().lower(): value.strip() for name, _, value in lines}
    key = stated_key(head["method"].decode(), head["path"].decode("latin-1"), head["query"], headers)
    return PAGES_WORKER if key is None else share.worker_of(key)
