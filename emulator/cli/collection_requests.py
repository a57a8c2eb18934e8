"""The requests of a collection: every operation of the service, each after those that make the objects it needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from emulator.conformance.prerequisites import (
    CHANGES,
    MADE_BY,
    OF_OPERATION,
    OF_PARAMETER,
    OF_PATH,
    PREREQUISITES,
    anonymous,
)
from emulator.document import bundles
from emulator.document.tree import Document, resolve

REFERENCE = re.compile(r"\{([a-z -]+)(?:/([a-z_]+))?\}")

NEW, INBOX = "new", "receiver"
"""References that are no objects: a word never used before, and the address of a webhook receiver."""

FAILING = "/_emulator/inbox/failing"

STEERING: Mapping[str, tuple[str, Any]] = {
    "failing webhook": ("DELETE", None),
    "delivery": ("PUT", {"status": 500}),
}
"""How the inbox of failing webhooks is made to answer before an object is made: 200 to the ping, then 500."""


SETTINGS: Mapping[str, Any] = {"cancelRefund": {"refund_review": True}}
"""Settings under which an operation succeeds, where the defaults do not do; they are taken back after it."""


class CollectionRequest(NamedTuple):
    """A request. Texts may contain ``{{variables}}``; ``saved`` are variables with the keys to their values.

    ``status`` and ``answer`` are the example in the document. ``is_signed`` if its body is signed with ``secret``.
    """

    folder: str
    name: str
    method: str
    path: str
    body: Any
    saved: Mapping[str, tuple[str | int, ...]]
    description: str = ""
    status: int = 200
    answer: Any = None
    is_signed: bool = False


def requests() -> list[CollectionRequest]:
    """Every operation in the order of the document, and a signed webhook at the end."""
    return [*_Collection(bundles.load("service")).requests(), _signed()]


def _signed() -> CollectionRequest:
    event = {"id": "evt_0000000000000000000000AA", "object": "event", "type": "invoice.paid", "data": {}}
    about = "Signs its body as the service signs webhooks. Set `receiver` and `secret` to send it to your application."
    return CollectionRequest("Signatures", "Signed webhook", "POST", "{{receiver}}", event, {}, about, is_signed=True)


class _Collection:
    """``_made`` are the objects that variables hold now, in the state that their kind names."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._made: set[str] = set()

    def requests(self) -> Iterator[CollectionRequest]:
        for path, item in self._document["paths"].items():
            for method, operation in item.items():
                if isinstance(operation, dict) and "operationId" in operation:
                    yield from self._operation(path, method.upper(), operation)

    def _operation(self, path: str, method: str, operation: Mapping[str, Any]) -> Iterator[CollectionRequest]:
        folder, id = operation["tags"][0], operation["operationId"]
        kinds = {"id": OF_OPERATION.get(id, OF_PATH.get(path.split("/")[1], "")), **OF_PARAMETER}
        target = re.sub(r"\{(\w+)\}", lambda match: f"{{{kinds[match[1]]}}}", path)
        body = self._body(id, path, method) if "requestBody" in operation else None
        if id in SETTINGS:
            yield _settings(folder, SETTINGS[id])
            self._made.clear()
        yield from self._needed([target, body], folder)
        status, answer = self._example(operation)
        texts = (_filled(target), _filled(body))
        yield CollectionRequest(
            folder, operation["summary"], method, f"/v1{texts[0]}", texts[1], {}, id, status, answer
        )
        if method not in ("GET", "PATCH"):
            self._made -= {each for each, _ in _references(body)} if body else self._made
        if id in SETTINGS:
            yield _settings(folder, dict.fromkeys(SETTINGS[id], False))

    def _body(self, operation: str, path: str, method: str) -> Any:
        if method == "PATCH":
            return CHANGES.get(operation, {"metadata": {"checked": "yes"}})
        kind = MADE_BY.get(anonymous(path))
        return PREREQUISITES[kind].body if kind else {}

    def _example(self, operation: Mapping[str, Any]) -> tuple[int, Any]:
        status = min(operation["responses"])
        content = resolve(self._document, operation["responses"][status]).get("content", {})
        return int(status), content.get("application/json", {}).get("example")

    def _needed(self, template: Any, folder: str) -> Iterator[CollectionRequest]:
        """The requests that make what a template refers to."""
        for kind, _ in _references(template):
            if kind not in self._made:
                yield from self._creation(kind, folder)

    def _creation(self, kind: str, folder: str) -> Iterator[CollectionRequest]:
        spec = PREREQUISITES[kind]
        if spec.after is not None and spec.after not in self._made:
            yield from self._creation(spec.after, folder)
        yield from self._needed([spec.path, spec.body], folder)
        if kind in STEERING:
            method, body = STEERING[kind]
            yield CollectionRequest(folder, f"Setup: inbox, {kind}", method, f"{FAILING}/manner", body, {})
        keys = tuple(int(key) if key.isdigit() else key for key in filter(None, spec.pointer.split("/")))
        saved = {variable(kind, field): (*keys, field) for field in _fields(kind)}
        body = _filled(spec.body) if spec.body else None
        yield CollectionRequest(folder, f"Setup: {kind}", spec.method, f"/v1{_filled(spec.path)}", body, saved)
        # What it was made of by an action is in another state now.
        self._made -= {each for each, _ in _references(spec.path)} if not spec.body else set()
        self._made.add(kind)


def _settings(folder: str, settings: Any) -> CollectionRequest:
    return CollectionRequest(folder, "Setup: settings", "PATCH", "/_emulator/app", {"settings": settings}, {})


def variable(kind: str, field: str) -> str:
    """The name of a variable."""
    return f"{kind}_{field}".replace(" ", "_")


def _references(template: Any) -> list[tuple[str, str]]:
    """The objects that a template refers to, each with the field."""
    found = REFERENCE.findall(json.dumps(template))
    return [(kind, field or "id") for kind, field in found if kind not in (NEW, INBOX)]


def _fields(kind: str) -> list[str]:
    """The fields of a kind of object that any template refers to."""
    every = [[spec.path, spec.body] for spec in PREREQUISITES.values()]
    named = [f"{{{each}}}" for each in OF_OPERATION.values()]
    return sorted({"id", *(field for each, field in _references([every, named]) if each == kind)})


def _filled(template: Any) -> Any:
    """The template with variables in the place of its references."""
    if isinstance(template, dict):
        return {name: _filled(part) for name, part in template.items()}
    if isinstance(template, list):
        return [_filled(part) for part in template]
    if not isinstance(template, str):
        return template
    text = template.replace("{receiver}/failing", f"{{{{url}}}}{FAILING}")
    return re.sub(r"(?<!\{)" + REFERENCE.pattern + r"(?!\})", lambda match: _variable(match[1], match[2]), text)


def _variable(kind: str, field: str | None) -> str:
    known = {NEW: "{{$randomUUID}}", INBOX: "{{receiver}}"}
    return known.get(kind) or f"{{{{{variable(kind, field or 'id')}}}}}"
