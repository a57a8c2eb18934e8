"""Compares an answer of the service with the emulator's: status, error, shape and meaning.

Ids differ: of each object both are known. For a field the document cites the assumptions that decided it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from emulator.checks.service.service import error_of
from emulator.checks.traffic.traffic_log import PassedAnswer, PassedRequest
from emulator.control.recording.exchanges import ID
from emulator.core.world import json_object
from emulator.document import bundles
from emulator.document.bundles import operation_specs
from emulator.document.tree import COMBINATORS, Document, Node, operations, resolve

# -- ids of the same object on both sides


_TOKEN = re.compile(r"[\w-]{4,}")

_ID = re.compile(r"[a-z]{2,12}_[0-9A-Za-z]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class IdMap:
    """Learns which ids belong together, and translates what was sent to the service."""

    def __init__(self) -> None:
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._ours)

    def belong_together(self, theirs: str, ours: str) -> bool:
        """Return whether both are ids of one object. Two that are both unknown do from now on."""
        if theirs not in self._ours and ours not in self._theirs:
            self._ours[theirs], self._theirs[ours] = ours, theirs
        return self._ours.get(theirs) == ours

    def ours(self, theirs: Any) -> str | None:
        """Return the id in the world; None if the object is not known."""
        return self._ours.get(theirs) if isinstance(theirs, str) else None

    def is_known(self, ours: str) -> bool:
        """Return whether the service's id of an object of the world is known."""
        return ours in self._theirs

    def translated(self, text: str) -> str:
        """Return a text with the world's ids in place of the service's."""
        return _TOKEN.sub(lambda match: self._ours.get(match[0], match[0]), text)

    def unknown(self, text: str) -> list[str]:
        """Return the parts of a text that look like ids and are not known."""
        return [id for id in _ID.findall(text) if id not in self._ours]


# -- the operation that a request calls, and the assumptions behind a field of its answer


SHAPE = "B-10"
"""The assumption about the two shapes of errors."""

UNKNOWN_FIELDS = "B-13"
"""The assumption about fields that an operation does not have."""


class Route(NamedTuple):
    """An operation of the document, with what its path looks like."""

    method: str
    path: re.Pattern[str]
    id: str
    operation: Node


@cache
def routes() -> tuple[Route, ...]:
    """Return every operation; those with fixed paths come first."""
    ordered = sorted(operations(_document()), key=lambda each: each[0].count("{"))
    return tuple(
        Route(method.upper(), re.compile(f"/v1{re.sub(r'{[^}]*}', '([^/]+)', path)}"), node["operationId"], node)
        for path, method, node in ordered
    )


def route_of(method: str, target: str) -> Route | None:
    """Return the operation that a request calls; None if there is none."""
    path = target.partition("?")[0]
    return next((each for each in routes() if each.method == method and each.path.fullmatch(path)), None)


def assumptions_of(route: Route | None, passed: PassedRequest, place: str) -> tuple[str, ...]:
    """Return the assumptions that may be about a field of an answer.

    Those of the field, or around it. For a status or an error: those of what was sent, of the operation and the answer.
    """
    if place == "error shape":
        return (SHAPE,)
    if route is None:
        return ()
    response = resolve(_document(), route.operation["responses"].get(str(passed.status), {}))
    if place != "status" and not place.startswith("error "):
        return _nearest(_json_schema(response), _steps(place)) or _cited(route.operation)
    return tuple(dict.fromkeys((*_of_request(route, passed), *_cited(route.operation), *_cited(response))))


def _of_request(route: Route, passed: PassedRequest) -> Iterator[str]:
    """Yield the assumptions about the parameters and fields that were sent."""
    given = dict(parse_qsl(passed.target.partition("?")[2], keep_blank_values=True))
    for parameter in (resolve(_document(), each) for each in route.operation.get("parameters", ())):
        if parameter["name"] in given:
            yield from _cited(parameter)
    for name in json_object(passed.body):
        if name not in operation_specs()[route.id].fields.names:
            yield UNKNOWN_FIELDS
        yield from _nearest(_json_schema(route.operation.get("requestBody", {})), [name])


def assumptions_of_event(type: str, place: str) -> tuple[str, ...]:
    """Return the assumptions that may be about a field of an event."""
    webhook = _document().get("x-webhooks", {}).get(type, {})
    operation = next((each for each in webhook.values() if isinstance(each, dict)), {})
    return _nearest(_json_schema(operation.get("requestBody", {})), _steps(place)) or _cited(operation)


def _json_schema(node: Node) -> Node:
    """Return the schema of the JSON in a body or an answer; empty if there is none."""
    content = resolve(_document(), node).get("content", {})
    schema: Node = content.get("application/json", {}).get("schema", {})
    return schema


def _steps(place: str) -> list[str]:
    """Return the names of fields on the way to a place; ``[]`` for an item."""
    return re.findall(r"\w+|\[\]", place)


def _nearest(schema: Node, steps: list[str]) -> tuple[str, ...]:
    """Return the assumptions that the schema of a field cites, or else the nearest one around it."""
    found: tuple[str, ...] = ()
    for step in steps:
        following = next(_inside(schema, step), None)
        if following is None:
            return found
        schema = following
        found = _cited(schema) or _cited(resolve(_document(), schema)) or found
    return found


def _inside(schema: Node, step: str) -> Iterator[Node]:
    """Yield the schemas of a property, or of the items (``[]``)."""
    schema = resolve(_document(), schema)
    if step == "[]" and "items" in schema:
        yield schema["items"]
    if step in schema.get("properties", {}):
        yield schema["properties"][step]
    for word in COMBINATORS:
        for part in schema.get(word, ()):
            yield from _inside(part, step)


def _cited(node: Mapping[str, Any]) -> tuple[str, ...]:
    cited = node.get("x-assumption", ())
    return (cited,) if isinstance(cited, str) else tuple(cited)


@cache
def _document() -> Document:
    return bundles.load("service")


# -- comparison


ABSENT = "(absent)"
"""Stands for a field that an answer does not have."""

FREE = frozenset(["message", "request_id", "doc_url", "secret", "operator", "app", "request"])
"""Fields whose values any service makes in its own way; only their types are compared."""

CHOSEN = frozenset(["payment_method_type", "payment_method"])
"""Fields that a buyer decided on a page, which the proxy does not see."""

NUMBERED = frozenset(["invoice_number"])
"""Fields that count on from what the service has already; only their form is compared."""

SAME_TIME = timedelta(seconds=60)
"""How far apart two instants may be that mean the same: the world learns the time from answers."""

_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_MASKED = "****"


class Difference(NamedTuple):
    """A field of an answer (``status`` for its status) with the value of the service and that of the emulator."""

    field: str
    service: Any
    emulator: Any

    @property
    def place(self) -> str:
        """The field without the numbers of items: ``data[].amount``."""
        return re.sub(r"\[\d+\]", "[]", self.field)


class Comparison:
    """Compares answers by what is known of ids.

    ``own_url`` is where the world seems to be reached, ``paid`` are its payment intents and transactions that a buyer
    paid on a page. Objects that the service made before ``begun`` are not compared. Once a change was made on one side
    only, objects that are not known are not looked for in lists.
    """

    def __init__(self, ids: IdMap, own_url: str, paid: Collection[str]) -> None:
        self.ids = ids
        self.begun = ""
        self._own_url = own_url
        self._paid = paid
        self._has_diverged = False

    def differences(self, theirs: PassedAnswer, ours: PassedAnswer, *, is_change: bool) -> Iterator[Difference]:
        """Yield the differences between two responses to one request, which ``is_change`` or only reads."""
        if theirs.status != ours.status:
            self._has_diverged |= is_change and (theirs.status < 300) != (ours.status < 300)
            yield Difference("status", _shown(theirs), _shown(ours))
            return
        one, other = error_of(*theirs), error_of(*ours)
        if one is not None and other is not None:
            yield from self._errors(one, other)
        else:
            yield from self.values("", theirs.body, ours.body)

    def _errors(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
        for name in ("shape", "code", "type", "param"):
            if one[name] != other[name]:
                yield Difference(f"error {name}", one[name], other[name])
        if (one["shape"], one["code"]) == (other["shape"], other["code"]) and one["has"] != other["has"]:
            yield Difference("error fields", ", ".join(one["has"]), ", ".join(other["has"]))

    def values(self, field: str, theirs: Any, ours: Any) -> Iterator[Difference]:
        """Yield the differences between two JSON values at a field."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            yield from self._objects(field, theirs, ours)
        elif isinstance(theirs, list) and isinstance(ours, list):
            yield from self._lists(field, theirs, ours)
        elif not self._same(field, theirs, ours):
            yield Difference(field or "body", theirs, ours)

    def _objects(self, field: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[Difference]:
        data = theirs.get("data")
        others = isinstance(data, list) and (self._has_diverged or any(map(self._is_older, data)))
        for name in sorted({**theirs, **ours}, key="id".__ne__):
            if (name == "pagination" and others) or (name in CHOSEN and self._is_chosen(ours)):
                continue
            at = f"{field}.{name}".lstrip(".")
            if name in theirs and name in ours:
                yield from self.values(at, theirs[name], ours[name])
            else:
                yield Difference(at, theirs.get(name, ABSENT), ours.get(name, ABSENT))

    def _is_chosen(self, ours: Mapping[str, Any]) -> bool:
        """Return whether a buyer chose the payment method: of a payment intent, its transaction or a refund of that."""
        return any(ours.get(name) in self._paid for name in ("id", "payment_intent", "transaction"))

    def _lists(self, field: str, theirs: list[Any], ours: list[Any]) -> Iterator[Difference]:
        newer = [each for each in theirs if not self._is_older(each)]
        # There may be objects that only one side has.
        others = len(newer) < len(theirs) or (self._has_diverged and any(_id(each) for each in theirs))
        theirs = newer
        if len(theirs) != len(ours) and not others:
            yield Difference(f"{field} (length)", len(theirs), len(ours))
            return
        for number, (one, other) in enumerate(self._pairs(theirs, ours)):
            yield from self.values(f"{field}[{number}]", one, other)

    def _pairs(self, theirs: list[Any], ours: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield the items that belong together: known objects by their ids, the others in their order."""
        known = {id: each for each in ours if (id := _id(each)) is not None}
        partners = [known.get(self.ids.ours(_id(each)) or "") for each in theirs]
        taken = {_id(each) for each in partners if each is not None}
        left = iter([each for each in ours if _id(each) is None or _id(each) not in taken])
        for one, partner in zip(theirs, partners, strict=True):
            # Once the two have diverged, an object that is not known may be one that only the service has.
            is_unsure = self._has_diverged and _id(one) is not None
            other = partner if partner is not None else None if is_unsure else next(left, None)
            if other is not None:
                yield one, other

    def _is_older(self, item: Any) -> bool:
        """Return whether the service made an object before the proxy began."""
        if not isinstance(item, dict) or not isinstance(item.get("id"), str) or self.ids.ours(item["id"]):
            return False
        return bool(str(item.get("created_at", self.begun)) < self.begun)

    def _same(self, field: str, theirs: Any, ours: Any) -> bool:
        if not isinstance(theirs, str) or not isinstance(ours, str):
            free = field.rpartition(".")[2] in FREE and type(theirs) is type(ours)
            return free or (bool(theirs == ours) and isinstance(theirs, bool) == isinstance(ours, bool))
        return theirs == ours or self._same_text(field, theirs, ours)

    def _same_text(self, field: str, theirs: str, ours: str) -> bool:
        if ID.fullmatch(ours):
            return self.ids.belong_together(theirs, ours)
        if _INSTANT.fullmatch(ours):
            return _same_instant(theirs, ours)
        if ours.startswith(f"{self._own_url}/"):
            return theirs.startswith(("http://", "https://"))
        name = field.rpartition(".")[2]
        if name in NUMBERED:
            return _form(theirs) == _form(ours)
        return name in FREE or field.startswith("errors.") or _MASKED in theirs or self.ids.translated(theirs) == ours


def _id(item: Any) -> str | None:
    id = item.get("id") if isinstance(item, dict) else None
    return id if isinstance(id, str) else None


def _form(text: str) -> str:
    """Return a text with one digit in place of all."""
    return re.sub(r"\d", "9", text)


def _same_instant(theirs: str, ours: str) -> bool:
    if _form(theirs) != _form(ours):
        return False
    try:
        return abs(datetime.fromisoformat(theirs) - datetime.fromisoformat(ours)) <= SAME_TIME
    except (ValueError, TypeError):
        return False


def _shown(answer: PassedAnswer) -> str:
    """Return a status, with the code of an error."""
    error = error_of(*answer)
    return f"{answer.status} {error['code']}".strip() if error else str(answer.status)
