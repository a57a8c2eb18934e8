"""The steps of a scenario, its moves of the clock: the state around each, and when it was wrong."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from emulator.checks.app.cases import DELIVERY, REQUEST, SCENARIO, Case
from emulator.checks.app.state import Change, State, is_same, state_changes
from emulator.checks.runs import counted
from emulator.client.api import Api, RequestRefused
from emulator.client.messages import JSON
from emulator.control.clock import after
from emulator.core import calendar
from emulator.core.calendar import Timestamp
from emulator.server.sandbox import Parts
from emulator.web.context import context_of
from emulator.web.errors_on_demand import read_ahead

# -- looks at the application's state


class Look(NamedTuple):
    """The state around a step. ``state`` is None where nobody looked, or two baselines differ.

    ``steps`` counts the steps so far. ``is_rest``: the last one has just come to rest; else the
    scenario has done its part since then, and lets time move on or has ended.
    """

    steps: int
    is_rest: bool
    at: Timestamp
    state: State | None


PATIENCE = (0.1, 0.2, 0.4, 0.8)
"""Seconds (real time) between looks at a wrong state: a worker of its own may be about to end."""


class Expected:
    """The baseline's looks, once they are known. ``then``: in this time a client must ask."""

    def __init__(self, then: str) -> None:
        self.then = then
        self.looks: Sequence[Look] = ()
        self.left_out: Collection[tuple[str, str]] = ()
        self.unsteady: int = 0
        """How many states differ between the two faultless runs."""
        self.margin = 0
        """Seconds of the world that a running clock may be ahead after a fault."""

    def concerns(self, case: Case | None) -> bool:
        """Return whether steps of a run can be compared: none that goes otherwise on purpose."""
        return case is None or not (
            case.kind.kills or case.kind.refuses or case.kind.reference or case.kind.is_dated
        )

    def learn(
        self,
        looks: Sequence[Look],
        again: Sequence[Look],
        left_out: Collection[tuple[str, str]],
    ) -> None:
        """Take the looks of two faultless runs, as far as they are the same."""
        self.left_out = left_out
        is_frozen = all(
            look.at == later.at for look, later in pairwise(looks) if look.steps == later.steps
        )
        self.margin = 0 if is_frozen else MARGIN
        pairs = [*aligned([*map(self.kept, looks)], [*map(self.kept, again)])]
        self.looks = [
            look if is_same(look.state, other.state) else look._replace(state=None)
            for look, other in pairs
        ]
        self.unsteady = len(looks) - sum(is_same(look.state, other.state) for look, other in pairs)

    def kept(self, look: Look) -> Look:
        """Return a look without the columns that are left out."""
        return look._replace(state=look.state and look.state.without(self.left_out))


class StepRecorder:
    """Looks at the state around each step of one run: ``look`` returns it."""

    def __init__(
        self, api: Api, look: Callable[[], State], case: Case | None, expected: Expected
    ) -> None:
        self._api = api
        self._look = look
        self._case = case
        self._expected = expected
        self._steps = 0
        self._is_wrong = False
        self.is_looking = False
        self.looks: list[Look] = []

    def before(self) -> None:
        """Look at the state with which the scenario lets time move on."""
        self._add(is_rest=False)

    def after(self) -> None:
        """Look at the state that an advance has left."""
        self._steps += 1
        self._add(is_rest=True)

    def around(self, move: Callable[[], JSON]) -> JSON:
        """Make a move of the clock, and look at the state before and after it."""
        if self.is_looking:
            return move()
        self.before()
        result = move()
        self.after()
        return result

    def skip(self) -> None:
        """Note that there is no look where one could change the advance that follows."""
        self.looks.append(Look(self._steps, False, self._now(), None))

    def _now(self) -> Timestamp:
        return str(self._api.get("/_emulator/clock")["now"])

    def _add(self, *, is_rest: bool) -> None:
        self.is_looking = True
        try:
            with suppress(RequestRefused):  # what is under way is waited for by somebody else
                if not is_rest:
                    self._api.post(ADVANCE, {"by": "0s"})
            look = Look(self._steps, is_rest, self._now(), None)
            self.looks.append(self._seen(look))
        finally:
            self.is_looking = False

    def _seen(self, look: Look) -> Look:
        """Return the look with its state, if it is wanted; of a wrong one the last of some."""
        case, number = self._case, len(self.looks)
        if case is None:
            return look._replace(state=self._look())
        judge = Judge.of(case, self._expected)
        if not judge.concerns(look) or number >= len(self._expected.looks):
            return look
        wanted = self._expected.looks[number].state
        seen = self._expected.kept(look._replace(state=self._look()))
        is_patient = judge.is_over(look) and not self._is_wrong
        for pause in PATIENCE if is_patient else ():
            if wanted is None or is_same(seen.state, wanted):
                return seen
            time.sleep(pause)
            seen = self._expected.kept(look._replace(state=self._look()))
        # What is wrong as the scenario goes on is a finding, however often it is looked at.
        self._is_wrong |= is_patient and not look.is_rest and wanted is not None
        self._is_wrong &= not is_same(seen.state, wanted)
        return seen


SAME_SECONDS = 300
"""Seconds by which an instant of a step may differ: of a running clock, after a pause of a client.

With other instants the scenario took other steps.
"""


def aligned(looks: Sequence[Look], others: Sequence[Look]) -> Iterator[tuple[Look, Look]]:
    """Yield two runs' looks at the same steps, as long as they take the same."""

    def is_same(pair: tuple[Look, Look]) -> bool:
        look, other = pair
        apart = abs(calendar.seconds_between(look.at, other.at))
        return look[:2] == other[:2] and apart <= SAME_SECONDS

    return takewhile(is_same, zip(looks, others, strict=False))


# -- which of them may be wrong


MARGIN = 60
"""The margin of a running clock, in seconds of the world; a stretch that is shorter has no time."""


INSTANT = 0.001
"""The shortest time of a world, in seconds."""


class Judge(NamedTuple):
    """When a fault is over: from then on the application can know all that it should.

    ``asks``: only if it asks for it, which it may do in what the scenario starts after an advance.
    """

    begins: Timestamp
    over: Timestamp
    asks: bool

    @classmethod
    def of(cls, case: Case, expected: Expected) -> Judge:
        """Return a case's judge."""
        name, place = case.kind.name, case.place
        at, effect = place.at, {**case.kind.then, **(place.effects.get(name) or {})}
        asks = place.about in (REQUEST, SCENARIO) or "lose" in effect
        if place.about == DELIVERY and not asks:
            delay = effect.get("delay") or f"{int(place.gaps.get(name, 0))}s"
        else:
            delay = effect.get("answer_after", expected.then)
        over = after(at, str(delay), may_be_zero=True)
        margin = expected.margin if over > at else 0
        # What comes with another event comes at its moment, but perhaps after a look at it.
        waits = INSTANT if name in place.gaps and over > at else 0
        return cls(at, calendar.plus(over, seconds=max(margin, waits)), asks)

    def concerns(self, look: Look) -> bool:
        return look.at >= self.begins and not (self.asks and look.is_rest)

    def is_wrong(self, look: Look, wanted: Look) -> bool | None:
        """Return whether a look's state is not the wanted one; None where one is unknown."""
        if not self.concerns(look) or look.state is None or wanted.state is None:
            return None
        return not is_same(look.state, wanted.state)

    def is_over(self, look: Look) -> bool:
        return look.at >= self.over


class Stretch(NamedTuple):
    """For how long a state was wrong: from a look to the next right one, None if there is none."""

    first: Look
    right: Look | None
    changes: Sequence[Change]

    def __str__(self) -> str:
        step = f"step {self.first.steps} (advance to {_day(self.first.at)})"
        if self.first.steps == 0:
            step = "the time before step 1"
        changes = "; ".join(change.sentence for change in self.changes)
        if self.right is None:
            return f"wrong from {step} to the end of the scenario: {changes}"
        seconds = calendar.seconds_between(self.first.at, self.right.at)
        if seconds < MARGIN:
            return f"wrong at the end of {step}: {changes}"
        return f"wrong from {step} for up to {_duration(seconds)}: {changes}"


def wrong_stretch(case: Case, looks: Sequence[Look], expected: Expected) -> Stretch | None:
    """Return the first stretch of wrong states that no fault excuses; None without one.

    A state is wrong at rest if it was right before: what came late has undone it. One that was
    wrong already must be right when the scenario, which may start the application's jobs, lets
    time move on.
    """
    judge = Judge.of(case, expected)
    pairs = [*aligned(looks, expected.looks)]
    verdicts = [judge.is_wrong(look, wanted) for look, wanted in pairs]
    for number, (look, _) in enumerate(pairs):
        before = verdicts[number - 1] if number else False
        was_right = before is False or pairs[number - 1][0].at < judge.begins
        if verdicts[number] and judge.is_over(look) and (not look.is_rest or was_right):
            break
    else:
        return None
    first = number
    # Before what comes late has come, a state differs for another reason.
    for earlier in range(number - 1, -1, -1):
        if verdicts[earlier] is False or not (judge.asks or judge.is_over(pairs[earlier][0])):
            break
        first = earlier if verdicts[earlier] else first
    later = zip(pairs[number:], verdicts[number:], strict=True)
    right = next((look for (look, _), wrong in later if wrong is False), None)
    look, wanted = pairs[number]
    return Stretch(pairs[first][0], right, [*state_changes(_known(look), _known(wanted))])


def _known(look: Look) -> State:
    return look.state or State()


MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def _day(at: Timestamp) -> str:
    moment = calendar.parse(at)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def _duration(seconds: float) -> str:
    for unit, length in (("day", 86400), ("hour", 3600)):
        if seconds >= length:
            return counted(round(seconds / length), unit, f"{unit}s")
    return counted(round(seconds / 60), "minute")


# -- the steps of a command, which its server sees


ADVANCE = "/_emulator/clock/advance"


class StepWatch:
    """Stands before a command's control API and has each advance of the scenario recorded."""

    def __init__(self) -> None:
        self.recorder: StepRecorder | None = None
        """Set while the scenario runs."""

    def parts(self) -> Parts:
        return Parts(app=self.watched)

    def watched(self, app: ASGIApp) -> ASGIApp:
        """Return the application that responds to an advance when the state was looked at."""

        async def handle(scope: Scope, receive: Receive, send: Send) -> None:
            context, recorder = context_of(scope), self.recorder
            is_step = (context.method, context.path) == ("POST", ADVANCE)
            # One in the background is at rest when nobody knows.
            if not is_step or recorder is None or recorder.is_looking or context.header(b"prefer"):
                await app(scope, receive, send)
                return
            body, receive = await read_ahead(receive)
            # A look settles what is due, which such an advance may wait for.
            await asyncio.to_thread(recorder.skip if b"until_event" in body else recorder.before)
            messages: list[Message] = []

            async def hold(message: Message) -> None:
                messages.append(message)

            await app(scope, receive, hold)
            await asyncio.to_thread(recorder.after)
            for message in messages:
                await send(message)

        return handle
