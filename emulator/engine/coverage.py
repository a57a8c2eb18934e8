"""The coverage of a world: what its requests and units of work have exercised of the service's document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any
from urllib.parse import unquote_plus

import msgspec

from emulator.core.errors import ERRORS, public_code
from emulator.core.events import Event
from emulator.core.records import Record
from emulator.core.unit_of_work import Change, UnitOfWork
from emulator.document.operations import FieldNames, operation_specs
from emulator.engine.logged_request import LoggedRequest
from emulator.resources.payments.payment_intents import PaymentIntent
from emulator.resources.payments.refunds import Refund
from emulator.resources.registry import STATE_MACHINES

Transitions = dict[str, set[str | None]]
"""By each status that was reached the statuses it was reached from; None stands for a record that was created so."""

FAILURES = frozenset(["payment_intent.failed", "refund.failed"])
"""The events of objects that have the operator's reason in them."""

CODES = {public: row.flat or code for code, row in ERRORS.items() for public in (code, code.lower())}
"""By the codes of answers, in every shape of errors (B-10), the codes as the document lists them."""

_decoded = msgspec.json.Decoder().decode
_answer_of = attrgetter("operation", "status")
_changes_of, _events_of, _type_of = attrgetter("changes"), attrgetter("events"), attrgetter("type")


class Coverage:
    """It outlasts the journal, and holds names alone, no value that was sent.

    ``answers`` counts requests by operation and status. ``fields`` and ``parameters`` are those of requests that
    succeeded, by operation; the fields within a field by both names: ``createWebhook retry_policy``. ``transitions``
    are changes of status by kind of record, whatever caused them; ``skipped`` counts the units of work whose changes
    were not noted.
    """

    def __init__(self) -> None:
        self.answers: Counter[tuple[str | None, int]] = Counter()
        self.fields: defaultdict[str, set[str]] = defaultdict(set)
        self.parameters: defaultdict[str, set[str]] = defaultdict(set)
        self.transitions: dict[type[Record], Transitions] = {
            machine.kind: defaultdict(set) for machine in STATE_MACHINES
        }
        self.skipped = 0
        self.events: set[str] = set()
        self.errors: set[str] = set()

    # These two see every request and every unit of work, so each microsecond counts.

    def note_requests(self, entries: Sequence[LoggedRequest]) -> None:
        """Note requests that were answered; those to the control API count for nothing."""
        self.answers.update(map(_answer_of, entries))
        for entry in entries:
            if entry.status >= 400:
                self._note_error(entry)
            elif entry.body or entry.query:
                self._note_sent(entry)

    def note_units(self, units: Sequence[UnitOfWork], *, with_changes: bool) -> None:
        """Note the events of units of work that were committed and, if wanted, their changes."""
        if with_changes:
            self._note_changes(chain.from_iterable(map(_changes_of, units)))
        else:
            self.skipped += len(units)
        types = set(map(_type_of, chain.from_iterable(map(_events_of, units))))
        self.events |= types
        if types & FAILURES:
            self._note_failures(chain.from_iterable(map(_events_of, units)))

    def _note_changes(self, changes: Iterable[Change]) -> None:
        transitions_of = self.transitions.get
        for change in changes:
            new: Any = change.new
            if (transitions := transitions_of(type(new))) is not None:
                old: Any = change.old
                if old is None:
                    transitions[new.status].add(None)
                elif old.status != new.status:
                    transitions[new.status].add(old.status)

    def _note_sent(self, entry: LoggedRequest) -> None:
        operation = entry.operation or ""
        spec = operation_specs().get(operation)
        if spec is None:
            return
        if entry.body:
            self._note_fields(operation, spec.fields, _parsed(entry.body))
        if entry.query:
            names = (pair.partition("=")[0] for pair in entry.query.decode("latin-1").split("&"))
            self.parameters[operation].update(map(unquote_plus, names))

    def _note_fields(self, within: str, fields: FieldNames, sent: Any) -> None:
        if isinstance(sent, dict):
            noted = self.fields[within]
            if not noted.issuperset(sent):
                noted.update(sent.keys() & fields.names.keys())
            for name in fields.nested:
                self._note_fields(f"{within} {name}", fields.nested[name], sent.get(name))
        elif isinstance(sent, list):
            for each in sent:
                self._note_fields(within, fields, each)

    def _note_error(self, entry: LoggedRequest) -> None:
        code = public_code(_parsed(entry.answer)) if entry.operation in operation_specs() else ""
        # An injected fault may answer with any code.
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
    """The JSON of a body as it was stored, or None."""
    try:
        return _decoded(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:  # any number will do in the place of one that was redacted
        return _decoded(text.replace(b"****", b"1"))
    except (msgspec.DecodeError, RecursionError):
        return None
