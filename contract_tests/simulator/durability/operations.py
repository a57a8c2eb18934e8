"""The operations of the model, by operationId: what to ask, and what is then so.

An operation with ``@`` in its name is a variant of the operationId before it. Each has the
operations that must come before it, so that there is something to ask it of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from contract_tests.simulator.durability.model import ANY, GONE, Facts, Key

ResponseBody = Any
"""The JSON of a response; None where none came, or it has no body."""


class Step(NamedTuple):
    """A request, and its effect on the facts of the world."""

    method: str
    path: str
    body: Any
    effect: Callable[[Facts, ResponseBody], None]
    prefer: str = ""


class Operation(NamedTuple):
    """``draw`` makes a step of the facts and a number that nobody has; None without a subject."""

    before: tuple[str, ...]
    draw: Callable[[Facts, str], Step | None]


OPERATIONS: dict[str, Operation] = {}

READING = frozenset({"startRecording", "stopRecording"})
"""They mark the journal of requests, which is the server's and not stored (docs/guide/state.md)."""


def operation_id(name: str) -> str:
    return name.partition("@")[0]


def register(
    name: str, *before: str
) -> Callable[[Callable[[Facts, str], Step | None]], Callable[[Facts, str], Step | None]]:
    def add(draw: Callable[[Facts, str], Step | None]) -> Callable[[Facts, str], Step | None]:
        OPERATIONS[name] = Operation(before, draw)
        return draw

    return add


def nothing(facts: Facts, response: ResponseBody) -> None:
    """Change nothing that is stored."""


def id_of(response: ResponseBody) -> Any:
    return response["id"] if response else ANY


# -- objects: made, changed, deleted


def used(facts: Facts, id: str | None) -> None:
    """Note that other objects belong to this one, which would go with it."""
    for fields in facts.objects.values():
        if id is not None and fields.get("id") == id:
            fields["_used"] = True


Body = Callable[[Facts, str], dict[str, Any] | None]

FORGET = {"_state": "settled"}


def newest(facts: Facts, kind: str, **state: Any) -> tuple[Key, dict[str, Any]] | None:
    """Return the newest object of a kind whose id is known, in a state of the model."""
    for key, fields in reversed(facts.objects.items()):
        can_be_named = fields.get("id", ANY) != ANY and fields.get("_state") != GONE
        fits = all(fields.get(name) == value for name, value in state.items())
        if key[0] == kind and can_be_named and fits:
            return key, fields
    return None


def creates(
    name: str,
    kind: str,
    path: str,
    body: Body,
    *before: str,
    kept: str = "",
    state: str | None = None,
) -> None:
    """Register an operation that makes an object.

    ``kept``: names of fields of the body that it has. ``state``: the one it begins in, and without
    one that is the status of the response.
    """

    def draw(facts: Facts, number: str) -> Step | None:
        sent = body(facts, number)
        if sent is None:
            return None

        def effect(facts: Facts, response: ResponseBody) -> None:
            values = {field: sent[field] for field in kept.split()}
            begins = state or (response or {}).get("status")
            facts.objects[kind, number] = {"id": id_of(response), **values, "_state": begins}
            used(facts, sent.get("customer"))

        return Step("POST", path, sent, effect)

    OPERATIONS[name] = Operation(before, draw)


def changes(
    name: str,
    kind: str,
    path: str,
    *before: str,
    method: str = "POST",
    where: Mapping[str, Any] | None = None,
    body: Callable[[str], Any] = lambda number: {},
    then: Callable[[str], Mapping[str, Any]] = lambda number: {},
    api: str = "",
) -> None:
    """Register an operation on an object that ``where`` describes; ``then`` it has these fields."""

    def draw(facts: Facts, number: str) -> Step | None:
        chosen = newest(facts, kind, **(where or {}))
        if chosen is None:
            return None
        key, fields = chosen

        def effect(facts: Facts, response: ResponseBody) -> None:
            facts.objects[key] = {**facts.objects[key], **then(number)}

        place = path.replace("{id}", fields["id"]).replace("{of}", fields.get("_of", ""))
        return Step(method, api + place, body(number), effect)

    OPERATIONS[name] = Operation(before, draw)


def metadata(number: str) -> dict[str, Any]:
    return {"metadata": {"n": number}}


def updates(kind: str, path: str, name: str, *before: str, **own: Any) -> None:
    """Register a PATCH of metadata, with the name of its operation."""

    def body(number: str) -> dict[str, Any]:
        return {"metadata": {"v": number}}

    changes(name, kind, path, *before, method="PATCH", body=body, then=body, **own)


def deletes(kind: str, path: str, name: str, *before: str, **own: Any) -> None:
    gone = {"_state": GONE}
    changes(name, kind, path, *before, method="DELETE", then=lambda number: gone, **own)


def of_customer(**fields: Any) -> Body:
    def body(facts: Facts, number: str) -> dict[str, Any] | None:
        customer = newest(facts, "customer")
        return customer and {"customer": customer[1]["id"], **fields, **metadata(number)}

    return body


def naming(kind: str, name: str, **fields: Any) -> Body:
    """Return a body that names the customer and the newest object of this kind."""

    def body(facts: Facts, number: str) -> dict[str, Any] | None:
        subject = newest(facts, kind)
        if subject is None:
            return None
        own = {name: subject[1]["id"], **fields, **metadata(number)}
        if kind == "payment_method":
            own["customer"] = subject[1]["customer"]
        return own

    return body


def moves(
    name: str,
    kind: str,
    path: str,
    state: str,
    to: str,
    *before: str,
    field: str = "status",
    **own: Any,
) -> None:
    """Register an action that brings an object from one state to another."""
    changes(
        name,
        kind,
        f"{path}{own.pop('action')}",
        *before,
        where={"_state": state},
        then=lambda number: {"_state": to, field: own.get("value", to)},
        body=own.get("body", lambda number: {}),
        api=own.get("api", ""),
    )
