"""The recording of a world: the chosen part of its journal, as steps."""

from __future__ import annotations

from typing import NamedTuple

from emulator.core.errors import invalid_field
from emulator.engine.runtime import Runtime
from emulator.insight.recording.builder import Builder
from emulator.insight.recording.exchanges import Exchange
from emulator.insight.recording.journal_reader import JournalReader
from emulator.insight.recording.model import Recording


class _Span(NamedTuple):
    """A part of the journal: all exchanges up to its end, and the index of the first one in it.

    ``done`` is how many units of work the world had at the end, ``now`` its instant then.
    """

    exchanges: list[Exchange]
    first: int
    done: int
    now: str

    @property
    def ids(self) -> set[str]:
        return {each.id for each in self.exchanges[self.first :]}


def recording(runtime: Runtime, since: str | None = None, until: str | None = None) -> Recording:
    """Return what was done in a world, between two requests where they are named."""
    reader = JournalReader(runtime)
    span = _span(runtime, reader, since, until)
    # Of a world with a past only a part can be done again: what its own requests did, and the events that they caused.
    among, is_part = span.ids, span.first > 0 or bool(reader.past)
    if is_part and (objects := reader.objects_of(span.exchanges[span.first :], span.done)):
        among |= reader.needed(span.exchanges, objects)
    answered = reader.last_unit(span.exchanges)
    builder = Builder(reader.start(), span.exchanges, span.now, reader)
    events = reader.events(span.done, of_any=not is_part)
    return builder.build(among, events, reader.jobs_until(answered, span.done))


def _span(runtime: Runtime, reader: JournalReader, since: str | None, until: str | None) -> _Span:
    exchanges = reader.exchanges()
    after = {each.id: number for number, each in enumerate(exchanges, 1)}
    first = after[runtime.journal.require(since, "since").id] if since else 0
    end = after[runtime.journal.require(until, "until").id] if until else len(exchanges)
    if first > end:
        raise invalid_field("until", "is before the request of since")
    if end == len(exchanges):
        return _Span(exchanges, first, runtime.journal.count, runtime.now())
    return _Span(exchanges[:end], first, exchanges[end].place, exchanges[end].now)
