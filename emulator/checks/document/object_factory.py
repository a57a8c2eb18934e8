"""Creates the objects that operations need, in the right states, through the API of the server under test."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import count
from typing import Any

import httpx

from emulator.checks.document.prerequisites import (
    CHANGES,
    MADE_BY,
    OF_FIELD,
    OF_OPERATION,
    OF_PARAMETER,
    OF_PATH,
    PREREQUISITES,
    anonymous,
    documented,
)
from emulator.checks.webhook_receiver import HttpReceiver, ReceivedRequest, ReceiverReply
from emulator.document.tree import Document

Scene = dict[str, Any]
"""Objects that belong together, by kind: the payment method of a subscription is one of its customer."""

REFERENCE = re.compile(r"\{([a-z -]+)(?:/([a-z_]+))?\}")


class CannotCreate(Exception):
    """The server did not create an object that is needed; the message contains its response."""


class ObjectFactory:
    """Creates objects on one server. ``name`` makes values differ from those of earlier runs."""

    def __init__(self, base_url: str, headers: Mapping[str, str], receiver: str, name: str) -> None:
        self.http = httpx.Client(base_url=base_url, headers=headers, timeout=60, trust_env=False)
        self.receiver = receiver
        self._name, self._numbers = name, count(1)
        self._scenes: dict[str, Scene] = defaultdict(dict)
        self._sent: set[str] = set()
        self._known, self._of_path, self._made_by = PREREQUISITES, OF_PATH, MADE_BY

    def learn(self, document: Document) -> None:
        """Create objects of the resources of a document that are not listed, too."""
        more = documented(document)
        self._known = PREREQUISITES | more
        self._of_path = OF_PATH | {word: word for word in more}
        self._made_by = MADE_BY | {anonymous(spec.path): word for word, spec in more.items()}

    def new(self) -> str:
        """A value that was never used before."""
        return f"check-{self._name}-{next(self._numbers)}"

    def scene(self, operation_id: str, method: str) -> Scene:
        """The objects of an operation: reads and changes share them, every other request gets new ones."""
        return self._scenes[operation_id] if method in ("GET", "PATCH") else {}

    def parameters(self, operation_id: str, path: str, scene: Scene) -> dict[str, str]:
        """The parameters of a path, with ids of objects on which the operation can succeed."""
        first = path.split("/")[1]
        kinds = {"id": OF_OPERATION.get(operation_id, self._of_path.get(first, ""))} | OF_PARAMETER
        return {name: self.filled(f"{{{kinds[name]}}}", scene) for name in re.findall(r"\{(\w+)\}", path)}

    def body(self, operation_id: str, path: str, method: str, scene: Scene) -> Any:
        """A body with which the operation can succeed."""
        if method == "PATCH":
            return CHANGES.get(operation_id, {"metadata": {"checked": "yes"}})
        kind = self._made_by.get(anonymous(path))
        return self.filled(self._known[kind].body, scene) if kind else {}

    def filled(self, template: Any, scene: Scene) -> Any:
        """The template with its references replaced."""
        if isinstance(template, dict):
            return {name: self.filled(value, scene) for name, value in template.items()}
        if isinstance(template, list):
            return [self.filled(value, scene) for value in template]
        if isinstance(template, str):
            return REFERENCE.sub(lambda found: self._value(found[1], found[2], scene), template)
        return template

    def with_references(self, body: Any, scene: Scene) -> Any:
        """A generated body with its references replaced by ids of existing objects."""
        if isinstance(body, list):
            return [self.with_references(value, scene) for value in body]
        if not isinstance(body, dict):
            return body
        return {name: self._reference(name, value, scene) for name, value in body.items()}

    def _reference(self, name: str, value: Any, scene: Scene) -> Any:
        if name in OF_FIELD and value and isinstance(value, str | list):
            id = self.filled(OF_FIELD[name], scene)
            return [id] if isinstance(value, list) else id
        if name == "email" and isinstance(value, str):
            return self._unique(value)
        return value if name == "metadata" else self.with_references(value, scene)

    def _unique(self, email: str) -> str:
        """The address, or a new one if it was used before: emails of customers are unique."""
        unique = f"{self.new()}@example.com" if email in self._sent else email
        self._sent.add(unique)
        return unique

    def _value(self, kind: str, field: str | None, scene: Scene) -> str:
        if kind == "new":
            return self.new()
        if kind == "receiver":
            return self.receiver
        return str(self.object(kind, scene)[field or "id"])

    def add(self, path: str, created: Any, scene: Scene) -> None:
        """Add the response of a creating operation to the scene."""
        if anonymous(path) in self._made_by:
            scene[self._made_by[anonymous(path)]] = created

    def object(self, kind: str, scene: Scene) -> Any:
        """The scene's object of a kind, created if there is none. Raises :class:`CannotCreate`."""
        if kind not in scene:
            scene[kind] = self._created(kind, scene)
        return scene[kind]

    def _created(self, kind: str, scene: Scene) -> Any:
        spec = self._known[kind]
        if spec.after:
            self.object(spec.after, scene)
        body = self.filled(spec.body, scene) or None
        answer = self.http.request(spec.method, self.filled(spec.path, scene).lstrip("/"), json=body)
        if not answer.is_success:
            raise CannotCreate(f"{kind}: {spec.method} {spec.path} answered {answer.status_code}: {answer.text[:300]}")
        found = answer.json()
        for step in filter(None, spec.pointer.split("/")):
            found = found[int(step) if isinstance(found, list) else step]
        return found


def webhook_receiver() -> HttpReceiver:
    """A receiver for the webhook endpoints that are made: it answers 200, or 500 to events sent to ``/failing``."""
    return HttpReceiver(_answer)


def _answer(request: ReceivedRequest) -> ReceiverReply:
    fails = request.path.endswith("/failing") and json.loads(request.body).get("type") != "webhook.ping"
    return ReceiverReply(500 if fails else 200)
