"""Builds a recording from the requests of a world: ids become references, and what changes nothing is left out.

Tests must not need, or disturb, an application, nor hold a card number, account or secret of anyone: inboxes stand in the
place of webhook receivers, and test values in the place of masked ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from emulator.core.errors import ApiError
from emulator.document.tree import map_texts
from emulator.engine.inbox import PREFIX as INBOXES
from emulator.engine.journal import MAX_REQUESTS
from emulator.insight.recording.exchanges import (
    ID,
    MOVE,
    CausedEvent,
    Exchange,
    ObjectList,
    RecordedStart,
    ids_in,
    request_ids,
)
from emulator.insight.recording.journal_reader import JournalReader
from emulator.insight.recording.model import (
    URL,
    Call,
    ClockMove,
    RecordedStep,
    Recording,
    Reference,
    renumbered,
)

# -- test values


_LAST_FOUR = re.compile(r"\*{4}(\d{4})")

SUCCEEDING_CARD = "4242424242424242"

MASKED_FIELDS: Mapping[str, str] = {
    "cvc": "123",
    "cvv": "123",
    "pin": "1234",
    "iban": "DE89370400440532013000",
    "account_number": "DE89370400440532013000",
    "secret": "test-secret",
    "password": "test-password",
}
"""What stands for a masked value, by the name of its field."""

CARD_FIELDS = ("number", "card_number", "pan")


def with_test_values(value: Any, cards: Mapping[str, str], field: str = "") -> Any:
    """Return a JSON value with test values in place of masked ones. ``cards`` are test cards by their last four digits."""
    if isinstance(value, dict):
        return {name: with_test_values(part, cards, name) for name, part in value.items()}
    if isinstance(value, list):
        return [with_test_values(part, cards, field) for part in value]
    if not isinstance(value, str) or "***" not in value:
        return value
    if field in MASKED_FIELDS:
        return MASKED_FIELDS[field]
    card = cards.get(value[-4:], SUCCEEDING_CARD)
    return card if field in CARD_FIELDS else _LAST_FOUR.sub(card, value)


# -- buyers' pages, as calls of the control API that do the same


_PAGE = re.compile(r"/(checkout|pay|invoice)/(\w+)")


class ControlCall(NamedTuple):
    """A call of the control API about one object."""

    operation: str
    resource: str
    id: str
    body: dict[str, Any]

    @property
    def path(self) -> str:
        return f"/_emulator/{self.resource}/{self.id}/{'answer' if self.operation in ANSWERS.values() else 'pay'}"


PAYS: Mapping[str, tuple[str, str]] = {
    "checkout": ("payCheckoutSession", "checkout-sessions"),
    "pay": ("payPaymentLink", "payment-links"),
    "invoice": ("payInvoicePage", "invoices"),
}
"""The operation that pays, and the first part of its path, by the first segment of a page's path."""

ANSWERS = {"payment-intents": "answerPaymentIntent", "checkout-sessions": "answerCheckoutSession"}
"""The operations by which a buyer confirms or rejects what is under way."""


def control_call(path: str, body: object) -> ControlCall | None:
    """Return the call for a request to a page, as the journal has it, or None. Card numbers are masked."""
    page = _PAGE.fullmatch(path)
    if page is None or not isinstance(body, dict):
        return None
    if "answered" not in body:
        return ControlCall(*PAYS[page[1]], page[2], body)
    id = body["answered"]
    resource = "checkout-sessions" if id == page[2] else "payment-intents"
    answer = {name: body[name] for name in ("result", "code") if body[name] is not None}
    return ControlCall(ANSWERS[resource], resource, id, answer)


# -- inboxes


def inbox(url: str, own: str) -> str:
    """Return the URL of a webhook endpoint in a recording; ``own`` is the emulator's. An inbox stays the one it is."""
    path = url.removeprefix(own)
    return f"{Reference(URL)}{path if path.startswith(INBOXES) else f'{INBOXES}recorded'}"


# -- the builder


NO_STEPS = frozenset(
    [
        *("freezeClock", "runClock", "stopClockAdvance"),
        *("createSnapshot", "importSnapshot", "deleteSnapshot", "restoreSnapshot", "resetWorld", "rewind"),
        *("startRecording", "stopRecording"),
    ]
)
"""Operations that are no steps: the clock of a recording is frozen, and its world starts at the beginning."""

NAMES: Mapping[str, str] = {
    "subscription_plan": "plan",
    "webhook_endpoint": "endpoint",
    "checkout_session": "session",
    "payment_intent": "intent",
    "payment_link": "link",
}
"""The names of steps where they are not the kind of the object."""

HEADERS = ("emulator-answer", "origin", "prefer")
"""Headers of requests to the service that make a difference."""

MAX_EVENTS = 100
"""The most events that are expected one by one if nothing else is; more are not expected."""


def without_its_past(reason: str) -> ApiError:
    """Return the error for a recording that would need objects from before the journal: a fresh world has none of them."""
    message = (
        f"{reason}, and this world holds objects from before its journal: it was loaded, imported or read from a state file, "
        f"or more than {MAX_REQUESTS:,} requests came. Reset it, do the same again, and record that."
    )
    return ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)


class Builder:
    """Makes the steps of one recording; ``chosen`` are the exchanges that become steps, by their place in the list."""

    def __init__(self, start: RecordedStart, exchanges: Sequence[Exchange], now: str, lookup: JournalReader) -> None:
        self._start = start
        self._exchanges = exchanges
        self._now = now
        self._lookup = lookup
        self._sources: dict[str, tuple[int, Reference]] = {}
        for number, exchange in enumerate(exchanges):
            if exchange.method != "GET" and exchange.status < 400 and exchange.operation is not None:
                for path, id in ids_in(exchange.answer):
                    self._sources.setdefault(id, (number, Reference("", path)))
        keys = Counter(exchange.headers.get("idempotency-key") for exchange in exchanges)
        self._repeated_keys = {key for key, times in keys.items() if times > 1}
        self._numbers: Counter[str] = Counter()
        self._names: dict[int, str] = {}
        self._added: dict[int, int] = {}
        self._listed: dict[str, Reference] = {}
        self._sought: set[str] = set()
        self._steps: list[RecordedStep] = []

    def build(self, among: Container[str], events: Sequence[CausedEvent], jobs_until: str | None) -> Recording:
        """Return the recording of the exchanges with these ids, and of those before that they depend on.

        It expects those of the events that these exchanges caused. ``jobs_until`` is the instant of the last job that ran
        after the last exchange.
        """
        chosen = self._chosen(among)
        first = self._exchanges[chosen[0]].now if chosen else self._now
        self._add_steps(chosen, first, jobs_until)
        if not self._steps and self._lookup.past:
            raise without_its_past("No request changed anything by itself")
        for number, index in self._added.items():
            self._steps[index] = msgspec.structs.replace(self._steps[index], name=self._names.get(number))
        recording = Recording(
            app=self._start.app,
            seed=self._start.seed,
            clock=first,
            url=self._start.url,
            settings=self._start.settings,
            steps=self._steps,
            events=self._caused(events, chosen),
        )
        return renumbered(recording)

    def _caused(self, events: Sequence[CausedEvent], chosen: Sequence[int]) -> list[str] | None:
        """Return the types of the events that these exchanges caused; None if they are too many."""
        requests = {None, *(self._exchanges[number].id for number in chosen)}
        types = [event.type for event in events if event.request in requests]
        return types if len(types) <= MAX_EVENTS else None

    # -- which exchanges become steps

    def _chosen(self, among: Container[str]) -> list[int]:
        """Return the numbers of the exchanges that become calls, in order, with those that they depend on."""
        steps = [(number, each) for number, each in enumerate(self._exchanges) if self._is_step(each)]
        found = {number for number, each in steps if each.id in among or each.operation == "updateApp"}
        waiting = [*found]
        while waiting:
            number = waiting.pop()
            found.add(number)
            needed = {id for text in request_ids(self._exchanges[number]) for id in self._origins(text)}
            sources = {source for id in needed if (source := self._source(id)) is not None}
            waiting += [source for source in sources - found if source < number]
        return sorted(found)

    def _origins(self, id: str) -> list[str]:
        """Return the id itself if a request shows it, otherwise the closest of its owners that a request shows."""
        return (
            [id] if id in self._sources else [owner for owner in self._lookup.owners(id) if owner in self._sources][:1]
        )

    def _is_added(self, id: str) -> bool:
        return self._source(id) in self._added

    def _source(self, id: str) -> int | None:
        return self._sources[id][0] if id in self._sources else None

    def _is_step(self, exchange: Exchange) -> bool:
        if exchange.operation is None:
            return control_call(exchange.path, exchange.body) is not None and exchange.status < 400
        is_left_out = exchange.operation in NO_STEPS or exchange.operation == MOVE or exchange.status in (0, 401, 429)
        return exchange.method != "GET" and not is_left_out and not _cuts(exchange)

    # -- steps

    def _add_steps(self, chosen: Sequence[int], first: str, jobs_until: str | None) -> None:
        """Add the calls, and the moves: the clock goes as far as it was asked to, and for the jobs that ran."""
        included, time = set(chosen), first
        for number, exchange in enumerate(self._exchanges):
            if not included or number < min(included):
                continue
            is_move = exchange.operation == MOVE and exchange.status < 300
            did_jobs = exchange.jobs_until is not None and exchange.jobs_until > time and exchange.operation != MOVE
            if exchange.now > time and did_jobs:
                time = self._move({"to": exchange.now}, exchange.now)
            if is_move:
                following = self._exchanges[number + 1].now if number + 1 < len(self._exchanges) else self._now
                time = self._moved(exchange, following) if following > exchange.now else time
            if number in included:
                self._add_call(number, exchange)
        if included and jobs_until is not None and jobs_until > time:
            self._move({"to": self._now}, self._now)

    def _moved(self, exchange: Exchange, following: str) -> str:
        """Add a move as it was asked for, or, if it had not come there by the following request, as far as it came."""
        is_whole, answer = exchange.status == 200, exchange.answer
        target = answer["now" if is_whole else "to"]
        if is_whole or (target is not None and target <= following):
            return self._move(exchange.body, target)
        return self._move({"to": following}, following)

    def _move(self, fields: Mapping[str, str], reached: str) -> str:
        self._steps.append(ClockMove(dict(fields)))
        return reached

    def _add_call(self, number: int, exchange: Exchange) -> None:
        # Its own references come first: finding what they refer to may take another call.
        call = self._call(exchange)
        self._added[number] = len(self._steps)
        self._steps.append(call)

    def _call(self, exchange: Exchange) -> Call:
        done = control_call(exchange.path, exchange.body) if exchange.operation is None else None
        operation, path = exchange.operation or "", exchange.target
        parameters, body, status = exchange.parameters, exchange.body, exchange.status
        if done is not None:
            operation, path, parameters, body, status = done.operation, done.path, {"id": done.id}, done.body, 200
        if operation in ("createWebhook", "updateWebhook") and isinstance(body, dict) and "url" in body:
            body = {**body, "url": inbox(str(body["url"]), self._start.url)}

        def referring(value: Any) -> Any:
            return self._referring(value, exchange.place)

        return Call(
            operation=operation,
            method=exchange.method,
            path=referring(path),
            status=status,
            parameters=referring(parameters),
            headers=referring(self._headers(exchange)),
            body=referring(with_test_values(body, self._start.cards)),
        )

    def _headers(self, exchange: Exchange) -> dict[str, str]:
        if not exchange.path.startswith("/v1/"):
            return {}
        kept = {name: exchange.headers[name] for name in HEADERS if name in exchange.headers}
        key = exchange.headers.get("idempotency-key")
        repeated = {"idempotency-key": key} if key is not None and key in self._repeated_keys else {}
        text = {"content-type": exchange.headers["content-type"]} if isinstance(exchange.body, str) else {}
        return {**text, **kept, **repeated}

    def _name(self, number: int) -> str:
        """Return the name for the answer of an exchange: the kind of the object, numbered from the second one on."""
        if number not in self._names:
            answer = self._exchanges[number].answer
            kind = answer.get("object") if isinstance(answer, dict) else None
            kind = kind if isinstance(kind, str) and re.fullmatch("[a-z_]+", kind) else "answer"
            self._names[number] = self._numbered(NAMES.get(kind, kind))
        return self._names[number]

    def _numbered(self, name: str) -> str:
        self._numbers[name] += 1
        return name if self._numbers[name] == 1 else f"{name}_{self._numbers[name]}"

    # -- references

    def _referring(self, value: Any, place: int) -> Any:
        """Return a JSON value with references in place of the ids that earlier steps answered."""
        return map_texts(value, lambda text: ID.sub(lambda match: self._reference(match[0], place), text))

    def _reference(self, id: str, place: int) -> str:
        if self._is_added(id):
            number, found = self._sources[id]
            return str(Reference(self._name(number), found.path))
        if id not in self._listed:
            listed = self._list(id, place)
            if listed is None:
                return id
            self._listed[id] = listed
        return str(self._listed[id])

    def _list(self, id: str, place: int) -> Reference | None:
        """Add the call that finds an object in a list; None if it is no object of this world."""
        for needed in (id, *self._lookup.owners(id)):
            if needed in self._lookup.past:
                raise without_its_past(f"The recording depends on {needed}")
        found = self._found(id, place)
        if found is None:
            return None
        query = {
            "kind": found.kind,
            **({found.filter: self._reference(found.related, place)} if found.related else {}),
            # The newest one needs no paging.
            **({"page_size": "1", "page": str(found.index + 1)} if found.index else {}),
        }
        name = self._numbered(f"{NAMES.get(found.kind, found.kind)}s")
        path = f"/_emulator/objects?{'&'.join(f'{key}={value}' for key, value in query.items())}"
        self._steps.append(Call(operation="listObjects", method="GET", path=path, status=200, name=name))
        return Reference(name, ("data", 0, "id"))

    def _found(self, id: str, place: int) -> ObjectList | None:
        """Return the list in which an object is found: the one where it is the newest, if there is such a list.

        That is still so after other steps are left out. For this the owner may be looked up, too.
        """
        owners = self._lookup.owners(id)
        added = [owner for owner in owners if self._is_added(owner) or owner in self._listed]
        lists = [found for owner in added if (found := self._lookup.find(id, owner, place)) is not None]
        if any(found.index == 0 for found in lists):
            return min(lists, key=lambda found: found.index)
        self._sought.add(id)
        for owner in owners:
            found = self._lookup.find(id, owner, place)
            is_new = owner not in added and owner not in self._sought
            if is_new and found is not None and found.index == 0 and self._reference(owner, place) != owner:
                return found
        return lists[0] if lists else self._lookup.find(id, None, place)


def _cuts(exchange: Exchange) -> bool:
    """Return whether it arranges a fault after which there is no response: what is recorded was answered."""
    body = exchange.body if exchange.operation == "arrangeFault" and isinstance(exchange.body, dict) else {}
    return isinstance(then := body.get("then"), dict) and not then.keys().isdisjoint(("drop", "hang_ms"))
