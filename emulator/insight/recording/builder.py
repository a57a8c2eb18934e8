"""Builds a recording from the requests of a world: ids become references, and what changes nothing is left out.

Tests must not need, or disturb, an application, nor hold a card number, account or secret of anyone: inboxes stand in the
place of webhook receivers, and test values in the place of masked ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from emulator.core.errors import ApiError, invalid_field
from emulator.document.tree import map_texts
from emulator.engine.inbox import PREFIX as INBOXES
from emulator.engine.journal import MAX_REQUESTS
from emulator.engine.runtime import Runtime
from emulator.insight.recording.journal_reader import (
    ID,
    MOVE,
    Exchange,
    JournalReader,
    ObjectList,
    ids_in,
    request_ids,
)
from emulator.insight.recording.model import Call, ClockMove, Path, Recording, Reference, Text, joined

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

PAID: Mapping[str, str] = {"checkout": "checkout-sessions", "pay": "payment-links", "invoice": "invoices"}
"""What the control API calls the objects of a page, by the first segment of the page's path."""


def control_call(path: str, body: object) -> tuple[str, Any] | None:
    """Return path and body of the call for a request to a page, as the journal has it, or None. Card numbers are masked."""
    page = _PAGE.fullmatch(path)
    if page is None or not isinstance(body, dict):
        return None
    if "answered" not in body:
        return f"/_emulator/{PAID[page[1]]}/{page[2]}/pay", body
    id = body["answered"]
    resource = "checkout-sessions" if id == page[2] else "payment-intents"
    answer = {name: body[name] for name in ("result", "code") if body[name] is not None}
    return f"/_emulator/{resource}/{id}/answer", answer


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
"""The names of answers where they are not the kind of the object."""

HEADERS = ("emulator-answer", "origin", "prefer")
"""Headers of requests to the service that make a difference."""

MAX_EVENTS = 100
"""The most events that are expected one by one if nothing else is; more are not expected."""

NOTHING = "There is nothing to record: no request changed anything."


def impossible(message: str) -> ApiError:
    return ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)


def without_its_past(reason: str) -> ApiError:
    """Return the error for a recording that would need objects from before the journal: a fresh world has none of them."""
    return impossible(
        f"{reason}, and this world holds objects from before its journal: it was loaded, imported or read from a state file, "
        f"or more than {MAX_REQUESTS:,} requests came. Reset it, do the same again, and record that."
    )


def recording(runtime: Runtime, since: str | None = None, until: str | None = None) -> Recording:
    """Return what was done in a world, between two requests where they are named. Raises 409 where that cannot be repeated."""
    reader = JournalReader(runtime)
    exchanges = reader.exchanges()
    after = {each.id: number for number, each in enumerate(exchanges, 1)}
    first = after[runtime.journal.require(since, "since").id] if since else 0
    end = after[runtime.journal.require(until, "until").id] if until else len(exchanges)
    if first > end:
        raise invalid_field("until", "is before the request of since")
    done, now = runtime.journal.count, runtime.now()
    if end < len(exchanges):
        done, now = exchanges[end].place, exchanges[end].now
    # Of a world with a past only a part can be done again: what its own requests did, and the events that they caused.
    is_part = first > 0 or bool(reader.past)
    among = {each.id for each in exchanges[first:end]}
    if is_part:
        among |= reader.needed(exchanges[:end], first, done)
    return Builder(reader, exchanges[:end], done, now).build(among, is_part=is_part)


class Builder:
    """Makes the steps of one recording of these exchanges.

    ``done`` is how many units of work the world had after the last of them, ``now`` its instant then.
    """

    def __init__(self, reader: JournalReader, exchanges: list[Exchange], done: int, now: str) -> None:
        self._reader = reader
        self._exchanges = exchanges
        self._done = done
        self._now = now
        self._cards = reader.test_cards()
        self._sources: dict[str, tuple[int, Path]] = {}
        """The first exchange that showed an id, by its place in the list, and where in its answer."""
        for number, exchange in enumerate(exchanges):
            if exchange.method != "GET" and exchange.status < 400 and exchange.operation is not None:
                for path, id in ids_in(exchange.answer):
                    self._sources.setdefault(id, (number, path))
        keys = Counter(exchange.headers.get("idempotency-key") for exchange in exchanges)
        self._repeated_keys = {key for key, times in keys.items() if times > 1}
        self._calls: dict[int, Call] = {}
        """The calls that were made of exchanges, by the place of these."""
        self._listed: dict[str, Call] = {}
        """The calls that find objects that no answer shows, by id."""
        self._sought: set[str] = set()
        self._steps: list[Call | ClockMove] = []

    def build(self, among: Collection[str], *, is_part: bool) -> Recording:
        """Return the recording of the exchanges with these ids, and of those before that they depend on.

        Of a part the events are expected that its exchanges caused.
        """
        chosen = self._chosen(among)
        first = self._exchanges[chosen[0]].now if chosen else self._now
        self._add_steps(chosen, first)
        if not self._steps:
            raise (
                without_its_past("No request changed anything by itself") if self._reader.past else impossible(NOTHING)
            )
        causes = {self._exchanges[number].id for number in chosen} if is_part else None
        events = self._reader.events(self._done, causes)
        numbers: Counter[str] = Counter()
        for call in self._steps:
            if isinstance(call, Call) and call.used:
                numbers[call.kind] += 1
                call.name = call.kind if numbers[call.kind] == 1 else f"{call.kind}_{numbers[call.kind]}"
        return Recording(
            self._reader.seed,
            first,
            self._reader.first_settings(),
            self._steps,
            events if len(events) <= MAX_EVENTS else None,
        )

    # -- which exchanges become steps

    def _chosen(self, among: Collection[str]) -> list[int]:
        """Return the numbers of the exchanges that become calls, in order, with those that they depend on."""
        steps = [(number, each) for number, each in enumerate(self._exchanges) if _is_step(each)]
        found = {number for number, each in steps if each.id in among or each.operation == "updateApp"}
        waiting = [*found]
        while waiting:
            number = waiting.pop()
            found.add(number)
            needed = {id for text in request_ids(self._exchanges[number]) for id in self._origins(text)}
            sources = {self._sources[id][0] for id in needed}
            waiting += [source for source in sources - found if source < number]
        return sorted(found)

    def _origins(self, id: str) -> list[str]:
        """Return the id itself if a request shows it, otherwise the closest of its owners that a request shows."""
        shown = (each for each in (id, *self._reader.owners(id)) if each in self._sources)
        return [*shown][:1]

    # -- steps

    def _add_steps(self, chosen: list[int], first: str) -> None:
        """Add the calls, and the moves: the clock goes as far as it was asked to, and for the jobs that ran."""
        included, time = set(chosen), first
        for number, exchange in enumerate(self._exchanges):
            if not included or number < chosen[0]:
                continue
            is_move = exchange.operation == MOVE and exchange.status < 300
            did_jobs = exchange.jobs_until is not None and exchange.jobs_until > time and exchange.operation != MOVE
            if exchange.now > time and did_jobs:
                time = self._move({"to": exchange.now}, exchange.now)
            if is_move:
                following = self._exchanges[number + 1].now if number + 1 < len(self._exchanges) else self._now
                time = self._moved(exchange, following) if following > exchange.now else time
            if number in included:
                # Its own references come first: finding what they refer to may take another call.
                call = self._calls[number] = self._call(exchange)
                self._steps.append(call)
        jobs_until = self._reader.jobs_until(self._reader.last_unit(len(self._exchanges)), self._done)
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

    def _call(self, exchange: Exchange) -> Call:
        path, body, status = exchange.target, exchange.body, exchange.status
        if exchange.operation is None and (paid := control_call(exchange.path, body)):
            (path, body), status = paid, 200

        def referring(value: Any) -> Any:
            """Return a JSON value with references in place of the ids that earlier steps answered."""
            return map_texts(value, lambda text: self._text(text, exchange.place))

        referred = referring(path)
        headers = referring(self._headers(exchange))
        body = referring(with_test_values(body, self._cards))
        if exchange.operation in ("createWebhook", "updateWebhook") and isinstance(body, dict) and "url" in body:
            body["url"] = self._inbox(str(exchange.body["url"]))
        kind = exchange.answer.get("object") if isinstance(exchange.answer, dict) else None
        kind = kind if isinstance(kind, str) and re.fullmatch("[a-z_]+", kind) else "answer"
        return Call(
            method=exchange.method,
            path=referred,
            status=status,
            kind=NAMES.get(kind, kind),
            headers=headers,
            body=body,
        )

    def _inbox(self, url: str) -> str | Text:
        """Return the URL of a webhook endpoint in a recording. An inbox of the emulator stays the one it is."""
        path = url.removeprefix(self._reader.url)
        return joined([Reference(None), path if path.startswith(INBOXES) else f"{INBOXES}recorded"])

    def _headers(self, exchange: Exchange) -> dict[str, str]:
        if not exchange.path.startswith("/v1/"):
            return {}
        kept = {name: exchange.headers[name] for name in HEADERS if name in exchange.headers}
        key = exchange.headers.get("idempotency-key")
        repeated = {"idempotency-key": key} if key is not None and key in self._repeated_keys else {}
        text = {"content-type": exchange.headers["content-type"]} if isinstance(exchange.body, str) else {}
        return {**text, **kept, **repeated}

    # -- references

    def _text(self, text: str, place: int) -> str | Text:
        parts = ID.split(text)
        return joined(self._reference(part, place) if number % 2 else part for number, part in enumerate(parts))

    def _is_added(self, id: str) -> bool:
        return id in self._sources and self._sources[id][0] in self._calls

    def _reference(self, id: str, place: int) -> str | Reference:
        """Return where an earlier call answered an id, if necessary one that is added for it; an id of nothing stays."""
        if self._is_added(id):
            number, path = self._sources[id]
            call = self._calls[number]
        else:
            if id not in self._listed and (listed := self._list(id, place)):
                self._listed[id] = listed
                self._steps.append(listed)
            if id not in self._listed:
                return id
            call, path = self._listed[id], ("data", 0, "id")
        call.used.add(path)
        return Reference(call, path)

    def _list(self, id: str, place: int) -> Call | None:
        """Return the call that finds an object in a list; None if it is no object of this world."""
        for needed in (id, *self._reader.owners(id)):
            if needed in self._reader.past:
                raise without_its_past(f"The recording depends on {needed}")
        found = self._found(id, place)
        if found is None:
            return None
        path: list[str | Reference] = [f"/_emulator/objects?kind={found.kind}"]
        if found.related:
            path += [f"&{found.filter}=", self._reference(found.related, place)]
        # The newest one needs no paging.
        path += [f"&page_size=1&page={found.index + 1}"] if found.index else []
        return Call(method="GET", path=joined(path), status=200, kind=f"{NAMES.get(found.kind, found.kind)}s")

    def _found(self, id: str, place: int) -> ObjectList | None:
        """Return the list in which an object is found: the one where it is the newest, if there is such a list.

        That is still so after other steps are left out. For this the owner may be looked up, too.
        """
        owners = self._reader.owners(id)
        added = [owner for owner in owners if self._is_added(owner) or owner in self._listed]
        lists = [found for owner in added if (found := self._reader.find(id, owner, place)) is not None]
        if any(found.index == 0 for found in lists):
            return min(lists, key=lambda found: found.index)
        self._sought.add(id)
        for owner in owners:
            found = self._reader.find(id, owner, place)
            is_new = owner not in added and owner not in self._sought
            if is_new and found is not None and found.index == 0 and self._reference(owner, place) != owner:
                return found
        return lists[0] if lists else self._reader.find(id, None, place)


def _is_step(exchange: Exchange) -> bool:
    if exchange.operation is None:
        return control_call(exchange.path, exchange.body) is not None and exchange.status < 400
    is_left_out = exchange.operation in NO_STEPS or exchange.operation == MOVE or exchange.status in (0, 401, 429)
    return exchange.method != "GET" and not is_left_out and not _cuts(exchange)


def _cuts(exchange: Exchange) -> bool:
    """Return whether it arranges a fault after which there is no response: what is recorded was answered."""
    body = exchange.body if exchange.operation == "arrangeFault" and isinstance(exchange.body, dict) else {}
    return isinstance(then := body.get("then"), dict) and not then.keys().isdisjoint(("drop", "hang_ms"))
