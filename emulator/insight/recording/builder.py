"""Builds a recording from a world's requests that change it: ids become references.

Tests must not need, or disturb, an application, nor hold a card number, account or secret of
anyone: inboxes stand in the place of webhook receivers, and test values in the place of masked
ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from emulator.core.errors import ApiError, invalid_field
from emulator.document.tree import map_texts
from emulator.engine.inbox import PREFIX as INBOXES
from emulator.engine.journal import MAX_REQUESTS
from emulator.engine.logged_requests import redacted_headers
from emulator.engine.runtime import Runtime
from emulator.insight.recording.journal_reader import (
    ID,
    MOVE,
    Exchange,
    JournalReader,
    ListPlace,
    ids_in,
    request_ids,
)
from emulator.insight.recording.model import (
    Call,
    ClockMove,
    Path,
    Recording,
    Reference,
    Text,
    joined,
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
"""The test values for masked ones, by the name of the field."""

CARD_FIELDS = ("number", "card_number", "pan")


def with_test_values(value: Any, cards: Mapping[str, str], field: str = "") -> Any:
    """Return JSON with test values for masked ones; ``cards``: test cards by last four digits."""
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

PAID: Mapping[str, str] = {
    "checkout": "checkout-sessions",
    "pay": "payment-links",
    "invoice": "invoices",
}
"""The control API's names for the objects of a page, by the first segment of the page's path."""


def control_call(path: str, body: object) -> tuple[str, Any] | None:
    """Return path and body of the call for a page's request, with masked cards, or None."""
    page = _PAGE.fullmatch(path)
    if page is None or not isinstance(body, dict):
        return None
    if "answered" not in body:
        return f"/_emulator/{PAID[page[1]]}/{page[2]}/pay", body
    id = body["answered"]
    resource = "checkout-sessions" if id == page[2] else "payment-intents"
    response = {name: body[name] for name in ("result", "code") if body[name] is not None}
    return f"/_emulator/{resource}/{id}/answer", response


# -- the builder


NO_STEPS = frozenset(
    [
        *(MOVE, "freezeClock", "runClock", "stopClockAdvance"),
        *(
            "createSnapshot",
            "importSnapshot",
            "deleteSnapshot",
            "restoreSnapshot",
            "resetWorld",
            "rewind",
        ),
        *("startRecording", "stopRecording"),
    ]
)
"""Operations that are no steps: a recording has a frozen clock and a world at its beginning."""

NAMES: Mapping[str, str] = {
    "subscription_plan": "plan",
    "webhook_endpoint": "endpoint",
    "checkout_session": "session",
    "payment_intent": "intent",
    "payment_link": "link",
}
"""The names of responses where they are not the kind of the object."""

HEADERS = ("emulator-answer", "origin", "prefer")
"""Headers of requests to the service that make a difference."""

MAX_EVENTS = 100
"""The most events that are expected one by one if nothing else is; more are not expected."""


def impossible(message: str) -> ApiError:
    return ApiError("INVALID_STATUS_TRANSITION", http_status=409, message=message)


def without_its_past(reason: str) -> ApiError:
    """Return the error for a recording that needs objects from before the journal."""
    return impossible(
        f"{reason}, and this world holds objects from before its journal: it was loaded, imported"
        f" or read from a state file, or more than {MAX_REQUESTS:,} requests came. Reset it, do the"
        " same again, and record that."
    )


class Builder:
    """Makes a recording of the actions in a world, or of those between two requests."""

    def __init__(
        self, runtime: Runtime, since: str | None = None, until: str | None = None
    ) -> None:
        self._reader = reader = JournalReader(runtime)
        exchanges = reader.exchanges()
        after = {exchange.entry.id: number for number, exchange in enumerate(exchanges, 1)}
        first = after[runtime.journal.require(since, "since").id] if since else 0
        end = after[runtime.journal.require(until, "until").id] if until else len(exchanges)
        if first > end:
            raise invalid_field("until", "is before the request of since")
        self._exchanges = exchanges[:end]
        self._done, self._now = runtime.journal.count, runtime.now()
        if end < len(exchanges):
            self._done, self._now = exchanges[end].place, exchanges[end].now
        # Of a world with a past only a part can be done again: what its own requests did, and the
        # events that they caused.
        self._is_part = first > 0 or bool(reader.past)
        self._among = {exchange.entry.id for exchange in exchanges[first:end]}
        if self._is_part:
            self._among |= reader.needed(self._exchanges, first, self._done)
        self._cards = {
            rule.value[-4:]: rule.value for rule in reader.world.reference_data.magic["bank_card"]
        }
        self._keys = Counter(
            redacted_headers(exchange.entry.headers).get("idempotency-key")
            for exchange in self._exchanges
        )
        self._sources: dict[str, int] = {}
        """The first exchange that showed an id, by its place in the list."""
        for number, exchange in enumerate(self._exchanges):
            entry = exchange.entry
            if entry.method != "GET" and entry.status < 400 and entry.operation is not None:
                for _, id in ids_in(exchange.response):
                    self._sources.setdefault(id, number)
        self._responses: dict[str, tuple[Call, Path]] = {}
        """The calls so far whose responses show an id, and the path to it there, by id."""
        self._sought: set[str] = set()
        self._steps: list[Call | ClockMove] = []

    def build(self) -> Recording:
        """Return the recording. Raises 409 for actions that cannot be done again."""
        chosen = self._chosen()
        first = self._exchanges[chosen[0]].now if chosen else self._now
        self._add_steps(chosen, first)
        if not self._steps:
            if self._reader.past:
                raise without_its_past("No request changed anything by itself")
            raise impossible("There is nothing to record: no request changed anything.")
        causes = {self._exchanges[number].entry.id for number in chosen} if self._is_part else None
        events = self._reader.events(self._done, causes)
        numbers: Counter[str] = Counter()
        for call in self._steps:
            if isinstance(call, Call) and call.used:
                numbers[call.kind] += 1
                call.name = (
                    call.kind if numbers[call.kind] == 1 else f"{call.kind}_{numbers[call.kind]}"
                )
        expected = events if len(events) <= MAX_EVENTS else None
        return Recording(
            int(self._reader.world.seed),
            first,
            self._reader.first_settings(),
            self._steps,
            expected,
        )

    # -- which exchanges become steps

    def _chosen(self) -> list[int]:
        """Return the numbers of the exchanges that become calls and of those they depend on."""
        steps = [
            (number, exchange.entry)
            for number, exchange in enumerate(self._exchanges)
            if _is_step(exchange)
        ]
        numbers = {
            number
            for number, entry in steps
            if entry.id in self._among or entry.operation == "updateApp"
        }
        waiting = [*numbers]
        while waiting:
            number = waiting.pop()
            numbers.add(number)
            for id in request_ids(self._exchanges[number]):
                # A request shows the id itself, or else the closest of its owners that one shows
                # leads to it.
                sources = (
                    self._sources[owner]
                    for owner in (id, *self._reader.owners(id))
                    if owner in self._sources
                )
                source = next(sources, number)
                waiting += [source] if source < number and source not in numbers else []
        return sorted(numbers)

    # -- steps

    def _add_steps(self, chosen: list[int], first: str) -> None:
        """Add the calls, and the moves: the clock goes to the times asked for and to the jobs."""
        included, time = set(chosen), first
        for number, exchange in enumerate(self._exchanges):
            if not included or number < chosen[0]:
                continue
            is_move = exchange.entry.operation == MOVE
            did_jobs = exchange.jobs_until is not None and exchange.jobs_until > time
            if exchange.now > time and did_jobs and not is_move:
                time = self._move({"to": exchange.now}, exchange.now)
            if is_move and exchange.entry.status < 300:
                following = (
                    self._exchanges[number + 1].now
                    if number + 1 < len(self._exchanges)
                    else self._now
                )
                time = self._moved(exchange, following) if following > exchange.now else time
            if number in included:
                # Its own references come first: finding what they refer to may take another call.
                self._steps.append(call := self._call(exchange))
                for path, id in reversed([*ids_in(exchange.response)]):
                    if self._sources.get(id) == number:
                        self._responses[id] = call, path
        last = max((exchange.entry.last_unit for exchange in self._exchanges), default=0)
        jobs_until = self._reader.jobs_until(last, self._done)
        if included and jobs_until is not None and jobs_until > time:
            self._move({"to": self._now}, self._now)

    def _moved(self, exchange: Exchange, following: str) -> str:
        """Add a move as asked for, or as far as it came by the following request."""
        is_whole, response = exchange.entry.status == 200, exchange.response
        target = response["now" if is_whole else "to"]
        if is_whole or (target is not None and target <= following):
            return self._move(exchange.body, target)
        return self._move({"to": following}, following)

    def _move(self, fields: Mapping[str, str], reached: str) -> str:
        self._steps.append(ClockMove(dict(fields)))
        return reached

    def _call(self, exchange: Exchange) -> Call:
        entry, body = exchange.entry, exchange.body
        path, status = entry.target, entry.status
        if entry.operation is None and (paid := control_call(entry.path, body)):
            (path, body), status = paid, 200

        def referring(value: Any) -> Any:
            """Return a JSON value with references for the ids in earlier steps' responses."""
            return map_texts(value, lambda text: self._text(text, exchange.place))

        referred = referring(path)
        headers = referring(self._headers(exchange))
        body = referring(with_test_values(body, self._cards))
        if (
            entry.operation in ("createWebhook", "updateWebhook")
            and isinstance(body, dict)
            and "url" in body
        ):
            body["url"] = self._inbox(str(exchange.body["url"]))
        kind = exchange.response.get("object") if isinstance(exchange.response, dict) else None
        kind = kind if isinstance(kind, str) and re.fullmatch("[a-z_]+", kind) else "response"
        return Call(entry.method, referred, status, NAMES.get(kind, kind), headers, body)

    def _inbox(self, url: str) -> str | Text:
        """Return the URL of a recording's webhook endpoint; the emulator's inboxes stay."""
        path = url.removeprefix(self._reader.world.base_url)
        return joined([Reference(None), path if path.startswith(INBOXES) else f"{INBOXES}recorded"])

    def _headers(self, exchange: Exchange) -> dict[str, str]:
        sent = (
            redacted_headers(exchange.entry.headers)
            if exchange.entry.path.startswith("/v1/")
            else {}
        )
        names = ["content-type"] if isinstance(exchange.body, str) else []
        names += [
            *HEADERS,
            *(["idempotency-key"] if self._keys[sent.get("idempotency-key")] > 1 else []),
        ]
        return {name: sent[name] for name in names if name in sent}

    # -- references

    def _text(self, text: str, place: int) -> str | Text:
        parts = ID.split(text)
        return joined(
            self._reference(part, place) if number % 2 else part
            for number, part in enumerate(parts)
        )

    def _reference(self, id: str, place: int) -> str | Reference:
        """Return the reference to an id in a response; add a missing call. Unknown ids stay."""
        if id not in self._responses:
            if (listed := self._list(id, place)) is None:
                return id
            self._responses[id] = listed, ("data", 0, "id")
            self._steps.append(listed)
        call, path = self._responses[id]
        call.used.add(path)
        return Reference(call, path)

    def _list(self, id: str, place: int) -> Call | None:
        """Return the call that finds an object in a list; None if it is no object of this world."""
        for needed in (id, *self._reader.owners(id)):
            if needed in self._reader.past:
                raise without_its_past(f"The recording depends on {needed}")
        listing = self._listing(id, place)
        if listing is None:
            return None
        path: list[str | Reference] = [f"/_emulator/objects?kind={listing.kind}"]
        if listing.owner:
            path += [
                "&query=" if listing.kind == "event" else "&related=",
                self._reference(listing.owner, place),
            ]
        # The newest one needs no paging.
        path += [f"&page_size=1&page={listing.position + 1}"] if listing.position else []
        return Call("GET", joined(path), 200, f"{NAMES.get(listing.kind, listing.kind)}s")

    def _listing(self, id: str, place: int) -> ListPlace | None:
        """Return the list whose newest object is this one, if there is one.

        That is still so after other steps are left out. For this the owner may be looked up, too.
        """
        owners = self._reader.owners(id)
        added = [owner for owner in owners if owner in self._responses]
        lists = [
            listing
            for owner in added
            if (listing := self._reader.find(id, owner, place)) is not None
        ]
        if any(listing.position == 0 for listing in lists):
            return min(lists, key=lambda listing: listing.position)
        self._sought.add(id)
        for owner in owners:
            listing = self._reader.find(id, owner, place)
            is_new = owner not in added and owner not in self._sought
            if (
                is_new
                and listing is not None
                and listing.position == 0
                and self._reference(owner, place) != owner
            ):
                return listing
        return lists[0] if lists else self._reader.find(id, None, place)


def _is_step(exchange: Exchange) -> bool:
    entry = exchange.entry
    if entry.operation is None:
        return control_call(entry.path, exchange.body) is not None and entry.status < 400
    is_left_out = entry.operation in NO_STEPS or entry.status in (0, 401, 429)
    return entry.method != "GET" and not is_left_out and not _cuts(exchange)


def _cuts(exchange: Exchange) -> bool:
    """Return whether it arranges a fault without a response: recorded requests have one."""
    body = (
        exchange.body
        if exchange.entry.operation == "arrangeFault" and isinstance(exchange.body, dict)
        else {}
    )
    return isinstance(then := body.get("then"), dict) and not then.keys().isdisjoint(
        ("drop", "hang_ms")
    )
