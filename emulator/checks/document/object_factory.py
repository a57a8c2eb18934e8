"""Creates the objects that operations need, in the right states, through the tested server's API.

Prerequisites are these objects and the calls that make each, as data.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from emulator.client.connections import Connections, Timeouts
from emulator.client.messages import ApiRequest, ApiResponse
from emulator.client.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.document.paths import fixture
from emulator.document.references import filled
from emulator.document.tree import Document, Schema, at, resolve

# -- prerequisites


@dataclass(frozen=True)
class Prerequisite:
    """One object: made by a call, ``after`` another one; ``pointer`` finds it in the response."""

    method: str
    path: str
    body: dict[str, object] = field(default_factory=dict)
    pointer: str = ""
    after: str | None = None


TABLES: Any = fixture("document-objects")
"""Every table of ``fixtures/document-objects.yaml``, which says of each what it is for."""

PREREQUISITES: dict[str, Prerequisite] = {
    kind: Prerequisite(
        *row["call"].split(" ", 1), **{name: row[name] for name in row if name != "call"}
    )
    for kind, row in TABLES["objects"].items()
}
OF_PATH: dict[str, str] = TABLES["of_path"]
OF_FIELD: dict[str, str] = TABLES["of_field"]
UNSENT_PARAMETERS: dict[str, str] = TABLES["left_out"]


def anonymous(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path)


MADE_BY: dict[str, str] = {
    anonymous(spec.path): kind
    for kind, spec in reversed(PREREQUISITES.items())
    if spec.method == "POST" and spec.body
}
"""The kind of object that a creating path makes; the first listed of each."""


def documented(document: Document) -> dict[str, Prerequisite]:
    """Return the unlisted resources' prerequisites, by path's first word, made as examples say."""
    paths = document["paths"]
    words = dict.fromkeys(
        path.split("/")[1] for path in paths if "{id}" in path and path.split("/")[1] not in OF_PATH
    )
    prerequisites = {}
    for word in words:
        if "post" in paths.get(path := f"/{word}/", {}):
            body = resolve(document, paths[path]["post"]["requestBody"])["content"][
                "application/json"
            ]
            schema = resolve(document, body["schema"])
            fields = {
                name: resolve(document, schema["properties"][name])
                for name in schema.get("required", ())
            }
            # Each required text that may be any word is one that was never used before.
            free = [
                name
                for name, schema in fields.items()
                if schema.get("type") == "string" and _is_free(schema)
            ]
            prerequisites[word] = Prerequisite(
                "POST", path, body["example"] | dict.fromkeys(free, "{new}")
            )
    return prerequisites


def _is_free(text: Schema) -> bool:
    """Return whether a text can be any word."""
    return text.get("format") == "not-blank" or not {"enum", "format", "pattern"} & text.keys()


# -- the factory


Scene = dict[str, Any]
"""Related objects by kind: the payment method of a subscription belongs to its customer."""


class CannotCreate(Exception):
    """The server did not create an object that is needed; the message contains its response."""


class ObjectFactory:
    """Creates objects on one server. ``name`` makes values differ from those of earlier runs."""

    def __init__(self, base_url: str, headers: Mapping[str, str], receiver: str, name: str) -> None:
        self.connections = Connections(base_url, Timeouts(connect=60, response=60))
        self._headers = headers
        self.receiver = receiver
        self._name, self._numbers = name, count(1)
        self._scenes: dict[str, Scene] = defaultdict(dict)
        self._sent: set[str] = set()
        self._known, self._of_path, self._made_by = PREREQUISITES, OF_PATH, MADE_BY

    def learn(self, document: Document) -> None:
        """Create objects of the resources of a document that are not listed, too."""
        more = documented(document)
        self._known = PREREQUISITES | more
        self._of_path = OF_PATH | {word: f"{{{word}.id}}" for word in more}
        self._made_by = MADE_BY | {anonymous(spec.path): word for word, spec in more.items()}

    def send(self, method: str, path: str, body: object) -> ApiResponse:
        return self.connections.exchange(
            ApiRequest.of(method, path, json=body, headers=self._headers)
        )

    def new(self) -> str:
        """Return a value that was never used before."""
        return f"check-{self._name}-{next(self._numbers)}"

    def scene(self, operation_id: str, method: str) -> Scene:
        """Return an operation's objects: reads and changes share them, others get new ones."""
        return self._scenes[operation_id] if method in ("GET", "PATCH") else {}

    def parameters(self, operation_id: str, path: str, scene: Scene) -> dict[str, str]:
        """Return a path's parameters, with ids of objects on which the operation can succeed."""
        first = path.split("/")[1]
        kinds = {
            "id": TABLES["of_operation"].get(operation_id, self._of_path.get(first, "")),
            **TABLES["of_parameter"],
        }
        return {name: self.filled(kinds[name], scene) for name in re.findall(r"\{(\w+)\}", path)}

    def body(self, operation_id: str, path: str, method: str, scene: Scene) -> Any:
        """Return a body with which the operation can succeed."""
        if method == "PATCH":
            return TABLES["changes"].get(operation_id, {"metadata": {"checked": "yes"}})
        kind = self._made_by.get(anonymous(path))
        return self.filled(self._known[kind].body, scene) if kind else {}

    def filled(self, template: object, scene: Scene) -> Any:
        return filled(template, lambda path: self._value(path, scene))

    def with_references(self, body: object, scene: Scene) -> Any:
        """Return a generated body with its references replaced by ids of existing objects."""
        if isinstance(body, list):
            return [self.with_references(value, scene) for value in body]
        if not isinstance(body, dict):
            return body
        return {name: self._reference(name, value, scene) for name, value in body.items()}

    def _reference(self, name: str, value: object, scene: Scene) -> object:
        if name in OF_FIELD and value and isinstance(value, str | list):
            id = self.filled(OF_FIELD[name], scene)
            return [id] if isinstance(value, list) else id
        if name == "email" and isinstance(value, str):
            # Emails of customers are unique.
            unique = f"{self.new()}@example.com" if value in self._sent else value
            self._sent.add(unique)
            return unique
        return value if name == "metadata" else self.with_references(value, scene)

    def _value(self, path: str, scene: Scene) -> str:
        if path == "new":
            return self.new()
        if path == "receiver":
            return self.receiver
        kind, _, field = path.partition(".")
        return str(self.object(kind, scene)[field])

    def add(self, path: str, created: object, scene: Scene) -> None:
        """Add the response of a creating operation to the scene."""
        if anonymous(path) in self._made_by:
            scene[self._made_by[anonymous(path)]] = created

    def object(self, kind: str, scene: Scene) -> Any:
        """Return or create the scene's object of a kind. Raises :class:`CannotCreate`."""
        if kind in scene:
            return scene[kind]
        spec = self._known[kind]
        if spec.after:
            self.object(spec.after, scene)
        body = self.filled(spec.body, scene) or None
        response = self.send(spec.method, self.filled(spec.path, scene), body)
        if not response.is_success:
            raise CannotCreate(
                f"{kind}: {spec.method} {spec.path} returned {response.status_code}:"
                f" {response.text[:300]}"
            )
        scene[kind] = at(response.json(), tuple(filter(None, spec.pointer.split("/"))))
        return scene[kind]


def webhook_receiver() -> HttpReceiver:
    """Return the webhook endpoints' receiver, which returns 200, or 500 for ``/failing``."""

    def response(request: ReceivedRequest) -> ReceiverReply:
        fails = (
            request.path.endswith("/failing")
            and json.loads(request.body).get("type") != "webhook.ping"
        )
        return ReceiverReply(500 if fails else 200)

    return HttpReceiver(response)
