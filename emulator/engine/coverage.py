"""The coverage of a world: what its requests and turns have exercised of the service's document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import msgspec

from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.document.operations import Fields, operation_specs
from emulator.errors import ERRORS, public_code
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.registry import STATE_MACHINES

if TYPE_CHECKING:
    from emulator.engine.journal import LoggedRequest

TransitionKey = dict[str, set[str | None]]
"""By each state that was reached the states it was reached from; None where what reached it was just made."""

FAILURES = frozenset(["payment_intent.failed", "refund.failed"])
"""The events that tell why the operator refused."""

CODES = {told: row.flat or code for code, row in ERRORS.items() for told in (code, code.lower())}
"""The codes as they are told, in whatever shape of errors (B-10), and as the document lists them."""

_decoded = msgspec.json.Decoder().decode
_answer_of = attrgetter("operation", "status")
_changes_of, _events_of, _type_of = attrgetter("changes"), attrgetter("events"), attrgetter("type")


class Coverage:
    """Notes that outlast the journal; names alone, and no value that was sent.

    ``answers`` counts requests by operation and status. ``fields`` and ``parameters`` are those of requests that
    succeeded, by operation; the own fields of a field by both: ``createWebhook retry_policy``. ``walked`` are changes
    of state by kind of record, whatever brought them about; ``passed_over`` counts turns whose changes nobody noted.
    """

    def __init__(self) -> None:
        self.answers: Counter[tuple[str | None, int]] = Counter()
        self.fields: defaultdict[str, set[str]] = defaultdict(set)
        self.parameters: defaultdict[str, set[str]] = defaultdict(set)
        self.transitions: dict[type[Record], TransitionKey] = {
            machine.kind: defaultdict(set) for machine in STATE_MACHINES
        }
        self.skipped = 0
        self.events: set[str] = set()
        self.errors: set[str] = set()

    # These two see every request and every turn there is: a microsecond more would be felt.

    def note_requests(self, entries: Sequence[LoggedRequest]) -> None:
        """Note requests that were answered; those to the control API do not count."""
        self.answers.update(map(_answer_of, entries))
        for entry in entries:
            if entry.status >= 400:
                self._note_refusal(entry)
            elif entry.body or entry.query:
                self._note_sent(entry)

    def note_turns(self, turns: Sequence[UnitOfWork], *, whole: bool) -> None:
        """Note turns that were kept: their events and, if they are to be noted as a whole, their changes."""
        if whole:
            self._note_changes(chain.from_iterable(map(_changes_of, turns)))
        else:
            self.skipped += len(turns)
        types = set(map(_type_of, chain.from_iterable(map(_events_of, turns))))
        self.events |= types
        if types & FAILURES:
            self._note_failures(chain.from_iterable(map(_events_of, turns)))

    def _note_changes(self, changes: Iterable[Change]) -> None:
        walked_by = self.transitions.get
        for change in changes:
            new: Any = change.new
            if (walked := walked_by(type(new))) is not None:
                old: Any = change.old
                if old is None:
                    walked[new.status].add(None)
                elif old.status != new.status:
                    walked[new.status].add(old.status)

    def _note_sent(self, entry: LoggedRequest) -> None:
        operation = entry.operation or ""
        promise = operation_specs().get(operation)
        if promise is None:
            return
        if entry.body:
            self._note_fields(operation, promise.fields, _parsed(entry.body))
        if entry.query:
            names = (pair.partition("=")[0] for pair in entry.query.decode("latin-1").split("&"))
            self.parameters[operation].update(map(unquote_plus, names))

    def _note_fields(self, within: str, fields: Fields, sent: Any) -> None:
        if isinstance(sent, dict):
            noted = self.fields[within]
            if not noted.issuperset(sent):
                noted.update(sent.keys() & fields.names.keys())
            for name in fields.nested:
                self._note_fields(f"{within} {name}", fields.nested[name], sent.get(name))
        elif isinstance(sent, list):
            for each in sent:
                self._note_fields(within, fields, each)

    def _note_refusal(self, entry: LoggedRequest) -> None:
        code = public_code(_parsed(entry.answer)) if entry.operation in operation_specs() else ""
        # An arranged fault may answer anything.
        if code in CODES:
            self.errors.add(CODES[code])

    def _note_failures(self, events: Iterable[Event]) -> None:
        for event in events:
            match event.data.object:
                case PaymentIntent(last_error=error) if error is not None:
                    self.errors.add(error.code)
                case Refund(failure_reason=str(code)):
                    self.errors.add(code)


def _parsed(text: bytes) -> Any:
    """The JSON of a body as it was kept, or None."""
    try:
        return _decoded(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # in the place of a number that was masked any other will do
        return _decoded(text.replace(b"****", b"1"))
    except (msgspec.DecodeError, RecursionError):
        return None
