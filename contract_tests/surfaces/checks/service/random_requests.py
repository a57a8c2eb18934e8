"""Random stateful requests, made of two services at once: the same requests, with the ids of each service."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import httpx

from emulator.checks.document.object_factory import OF_PATH, PREREQUISITES
from emulator.checks.service.service import error_of
from emulator.document.references import filled, names, value_at

Pair = tuple[Any, Any]

ACTIONS = (
    *(
        "customers/{customer.id}/",
        "products/{product.id}/",
        "subscription-plans/{plan.id}/",
        "subscriptions/{subscription.id}/",
    ),
    *(
        "invoices/{invoice.id}/",
        "payment-intents/{intent.id}/",
        "checkout-sessions/{session.id}/",
        "payment-links/{link.id}/",
    ),
    *("customers/{customer.id}/payment-methods/", "customers/{customer.id}/transactions/"),
)
"""What is read."""

MOVES = (
    *("subscriptions/{subscription.id}/pause/", "subscriptions/{subscription.id}/resume/"),
    *("subscriptions/{subscription.id}/cancel/", "subscriptions/{subscription.id}/reactivate/"),
    *("invoices/{invoice.id}/finalize/", "invoices/{invoice.id}/void/", "invoices/{invoice.id}/pay/"),
    *(
        "payment-intents/{intent.id}/confirm/",
        "payment-intents/{intent.id}/capture/",
        "payment-intents/{intent.id}/cancel/",
    ),
    *("checkout-sessions/{session.id}/expire/", "payment-links/{link.id}/archive/", "payment-links/{link.id}/restore/"),
    *("refunds/{refund.id}/cancel/", "transactions/{transaction.id}/cancel/"),
)
"""What is sent without a body."""

MADE = (
    *("customer", "address", "product", "plan", "subscription", "invoice", "intent", "manual intent", "session"),
    *("link", "refund"),
)
"""What is created, as the conformance suite does."""

MISTAKES = ({"unheard_of": 1}, {"metadata": {"a": [1]}}, {"amount": "x"}, {"email": "nowhere"}, {"currency": "ZZZ"}, {})
"""Fields that are added to a body; the last are none."""

QUERIES = (
    "",
    "?page_size=2",
    "?search=nobody-{number}",
    "?page=7",
    "?ordering=created_at",
    "?unheard=1",
    "?page_size=0",
)


class Compared(NamedTuple):
    """A request, and the status, code and shape of both answers."""

    request: str
    one: Any
    other: Any


class Explained(NamedTuple):
    """Two answers that differ, and the deviations that changed the first one."""

    compared: Compared
    deviations: frozenset[str]


def explained(compared: Iterator[Compared], reached: set[str]) -> Iterator[Explained]:
    """Yield the answers that differ. ``reached`` collects the names of deviations at work, and is emptied each time."""
    for each in compared:
        names = frozenset(reached)
        reached.clear()
        if each.one != each.other:
            yield Explained(each, names)


class RandomRequests:
    """Makes the same random requests of two services, from a ``seed``."""

    def __init__(self, one: httpx.Client, other: httpx.Client, seed: int) -> None:
        self._clients = (one, other)
        self._chance = random.Random(seed)
        self._ids: dict[str, list[tuple[str, str]]] = {}
        self._number = 0

    def run(self, count: int) -> Iterator[Compared]:
        """What both services answered to so many requests."""
        for _ in range(count):
            self._number += 1
            yield self._one()

    def _one(self) -> Compared:
        kind = self._chance.choice(("make", "make", "read", "move", "list", "change"))
        if kind == "make":
            return self._make(self._chance.choice(MADE))
        if kind == "list":
            word = self._chance.choice([*OF_PATH])
            return self._send("GET", f"{word}/{self._chance.choice(QUERIES)}", None)
        if kind == "change":
            word, of = self._chance.choice(
                [("customers", "customer"), ("products", "product"), ("invoices", "invoice")]
            )
            return self._send("PATCH", f"{word}/{{{of}.id}}/", self._chance.choice(MISTAKES))
        path = self._chance.choice(ACTIONS if kind == "read" else MOVES)
        return self._send("GET" if kind == "read" else "POST", path, None)

    def _make(self, kind: str) -> Compared:
        spec = PREREQUISITES[kind]
        body = spec.body | (self._chance.choice(MISTAKES) if self._chance.random() < 0.3 else {})
        return self._send("POST", spec.path.lstrip("/"), body, kind.removeprefix("manual "))

    def _send(self, method: str, path: str, body: Any, made: str | None = None) -> Compared:
        choices = {name: self._pair(name) for name in (*names([*OF_PATH.values()]), "method")}
        words = {"new": f"new-{self._number}", "number": str(self._number)}
        answers = []
        for side, client in enumerate(self._clients):
            known = words | {name: {"id": pair[side]} for name, pair in choices.items()}
            path_sent, sent = filled([path, body], lambda reference, known=known: value_at(known, reference))
            answers.append(client.request(method, path_sent, json=sent))
        bodies = [_json(answer) for answer in answers]
        if made and all(answer.status_code == 201 for answer in answers):
            self._ids.setdefault(made, []).append((bodies[0]["id"], bodies[1]["id"]))
        for name in ("transaction", "payment_intent"):
            self._learn(
                name.removeprefix("payment_"), [each.get(name) if isinstance(each, dict) else None for each in bodies]
            )
        if "payment-methods/" in path:
            self._learn("method", [_first(each) for each in bodies])
        return Compared(f"{method} {path}", *(_seen(a.status_code, b) for a, b in zip(answers, bodies, strict=True)))

    def _learn(self, kind: str, ids: Sequence[Any]) -> None:
        if all(isinstance(id, str) for id in ids):
            self._ids.setdefault(kind, []).append((ids[0], ids[1]))

    def _pair(self, kind: str) -> tuple[str, str]:
        known = self._ids.get(kind)
        return self._chance.choice(known) if known else ("nothing", "nothing")


def _json(answer: httpx.Response) -> Any:
    return answer.json() if answer.content and "json" in answer.headers.get("content-type", "") else None


def _first(body: Any) -> str | None:
    data = body.get("data") if isinstance(body, dict) else None
    return data[0]["id"] if data else None


def _seen(status: int, body: Any) -> tuple[int, Any, Any]:
    """Return the status, the code of an error, and the shape of a body."""
    return status, (error_of(status, body) or {}).get("code"), shape(body)


def shape(value: Any) -> Any:
    """What fields a JSON value has, and of which types; a list is that of its items."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in sorted(value.items())}
    if isinstance(value, list):
        return [shape(part) for part in value]
    return type(value).__name__
