"""The coverage of a world: what its requests and units of work exercised of the document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from emulator.core.errors import ERRORS
from emulator.core.records import Record
from emulator.core.unit_of_work import Event, UnitOfWork
from emulator.document.bundles import operation_specs
from emulator.engine.logged_requests import LoggedRequest
from emulator.resources.payments.payment_intents import WAITING_INTENTS, PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.registry import STATE_MACHINES

FAILURES = frozenset(["payment_intent.failed", "refund.failed"])
"""The events of objects that have the operator's reason in them."""

CODES = {
    public: row.flat or code for code, row in ERRORS.items() for public in (code, code.lower())
}
"""The documented codes by the codes of responses, in every shape of errors (B-10)."""

_WITH_STATUS = frozenset(machine.kind for machine in STATE_MACHINES)

_decoded = msgspec.json.Decoder().decode


class Coverage:
    """The document's coverage. It outlasts the journal, and holds only names, no sent values.

    ``responses`` counts requests by operation and status. ``fields`` and ``parameters`` are those
    of requests that succeeded, by operation; a field within a field has a dot:
    ``retry_policy.max_attempts``. ``transitions`` are changes of status, whatever caused them: the
    kind of record, the former status (None of a new record) and the new one. ``took_time``: the
    operator answered a payment later than in the second in which it began.
    """

    def __init__(self) -> None:
        self.responses: Counter[tuple[str | None, int]] = Counter()
        self.fields: defaultdict[str, set[str]] = defaultdict(set)
        self.parameters: defaultdict[str, set[str]] = defaultdict(set)
        self.transitions: set[tuple[type[Record], str | None, str]] = set()
        self.took_time: bool = False
        self.events: set[str] = set()
        self.errors: set[str] = set()

    # These two see every request and every unit of work, so each microsecond counts.

    def note_request(self, entry: LoggedRequest) -> None:
        """Note a request that has its response; one to the control API counts for nothing."""
        self.responses[entry.operation, entry.status] += 1
        if entry.status >= 400:
            self._note_error(entry)
        elif entry.body or entry.query:
            self._note_sent(entry)

    def note_unit(self, unit: UnitOfWork) -> None:
        """Note the changes of status and the events of a unit of work that was committed."""
        for change in () if unit.cleared else unit.changes:
            new: Any = change.new
            if type(new) in _WITH_STATUS:
                old: Any = change.old
                if old is None:
                    self.transitions.add((type(new), None, new.status))
                elif old.status != new.status:
                    self.transitions.add((type(new), old.status, new.status))
                    if isinstance(new, PaymentIntent) and old.status in WAITING_INTENTS:
                        self.took_time |= new.updated_at[:19] != old.updated_at[:19]
        for event in unit.events:
            self.events.add(event.type)
            if event.type in FAILURES:
                self._note_failure(event)

    def _note_sent(self, entry: LoggedRequest) -> None:
        operation = entry.operation or ""
        if (spec := operation_specs().get(operation)) is None:
            return
        if entry.body:
            _note_fields(self.fields[operation], spec.fields, _parsed(entry.body))
        if entry.query:
            self.parameters[operation] |= _names(entry.query)

    def _note_error(self, entry: LoggedRequest) -> None:
        code = entry.error_code if entry.operation in operation_specs() else None
        if code in CODES:  # the response of an injected fault may have any code
            self.errors.add(CODES[code])

    def _note_failure(self, event: Event) -> None:
        match event.data.object:
            case PaymentIntent(last_error=error) if error is not None:
                self.errors.add(error.code)
            case Refund(failure_reason=str(code)) if code in ERRORS:
                self.errors.add(code)


def _note_fields(noted: set[str], known: Mapping[str, Any], sent: Any, before: str = "") -> None:
    """Note the known fields of an object, or of each in a list, with those within them."""
    for part in sent if isinstance(sent, list) else [sent]:
        if isinstance(part, dict):
            for name, value in part.items():
                if (path := before + name) in known:
                    noted.add(path)
                    if isinstance(value, (dict, list)):
                        _note_fields(noted, known, value, f"{path}.")


@lru_cache(maxsize=256)
def _names(query: bytes) -> frozenset[str]:
    return frozenset(
        unquote_plus(pair.partition("=")[0]) for pair in query.decode("latin-1").split("&")
    )


def _parsed(text: bytes) -> Any:
    try:
        return _decoded(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # any number will do in the place of one that was redacted
        return _decoded(text.replace(b"****", b"1"))
    except (msgspec.DecodeError, RecursionError):
        return None
