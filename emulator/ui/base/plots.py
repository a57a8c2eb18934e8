"""Plots over time as inline SVG: timelines of states, and curves of money; ``templates/plots.html`` draws them.

A template imports the macros with its context (``{% import "plots.html" as plots with context %}``) and includes
``plots.css``, or serves it. Nothing in them needs colour, a script or an inline style.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from emulator.presentation.languages.language import Language
from emulator.presentation.languages.statuses import STATUSES

LEFT, WIDTH, RIGHT = 215, 680, 50
"""Pixels of a plot: the names of rows, the time, and what stands behind it."""

WHOLE = LEFT + WIDTH + RIGHT

ROW, HEIGHT = 34, 160
"""Pixels: the height of a row of a timeline, and of the curves of money."""

TICKS = 6

STATES = ("active", "trialing", "past_due", "paused")
"""The states that have a pattern; others have an outline."""

DASHES = ("", "8 4", "2 4", "12 4 2 4")
"""The lines of several currencies, which can be distinguished without colour."""


class Mark(NamedTuple):
    """Something that happened at an instant; ``outcome`` is ``succeeded``, ``failed``, ``ended`` or ``announced``."""

    at: datetime
    outcome: str
    text: str


class Stretch(NamedTuple):
    """A time in which something was in a state."""

    start: datetime
    end: datetime
    state: str


class Lane(NamedTuple):
    """One row of a timeline."""

    name: str
    stretches: list[Stretch]
    marks: list[Mark]


class Curve(NamedTuple):
    """An amount in one currency after each change, in minor units; ``start`` is what it was before the first."""

    currency: str
    points: list[tuple[datetime, int]]
    start: int = 0


class CurveLine(NamedTuple):
    """A curve as pixels: ``points`` of a polyline, its pattern of dashes, and the last amount."""

    points: str
    dash: str
    name: str


class Axis(NamedTuple):
    """Time as pixels."""

    began: datetime
    ended: datetime

    def x(self, at: datetime) -> float:
        """Where an instant stands."""
        whole = (self.ended - self.began) / timedelta(seconds=1)
        return round(LEFT + WIDTH * ((at - self.began) / timedelta(seconds=1)) / whole, 1) if whole else LEFT

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Instants to name, with their pixels."""
        whole = self.ended - self.began
        form = "%Y-%m-%d" if whole > timedelta(days=3) else "%m-%d %H:%M"
        for number in range(TICKS + 1 if whole else 1):
            at = self.began + whole * number / TICKS
            yield self.x(at), at.strftime(form)

    def lines(self, curves: Sequence[Curve], language: Language) -> list[CurveLine]:
        """Curves as steps: an amount stands until the next change. Each currency has a scale of its own."""
        return [self._line(curve, DASHES[number % len(DASHES)], language) for number, curve in enumerate(curves)]

    def _line(self, curve: Curve, dash: str, language: Language) -> CurveLine:
        low = min(0, curve.start, *(amount for _, amount in curve.points))
        high = max(1, curve.start, *(amount for _, amount in curve.points))

        def y(amount: int) -> float:
            return round(HEIGHT - 10 - (HEIGHT - 30) * (amount - low) / (high - low), 1)

        last = y(curve.start)
        points = [f"{self.x(curve.points[0][0])},{last}"]
        for at, amount in curve.points:
            points += [f"{self.x(at)},{last}", f"{self.x(at)},{y(amount)}"]
            last = y(amount)
        points.append(f"{self.x(self.ended)},{last}")
        return CurveLine(" ".join(points), dash, language.money(curve.points[-1][1], curve.currency))


def axis_of(drawn: Iterable[Lane | Curve], now: datetime) -> Axis:
    """The time from the first thing that is drawn: before it, nothing is known where the data was cut."""
    times = [now]
    for each in drawn:
        if isinstance(each, Curve):
            times += [at for at, _ in each.points]
        else:
            times += [stretch.start for stretch in each.stretches] + [mark.at for mark in each.marks]
    return Axis(min(times), now)


def shown(at: datetime) -> str:
    """An instant in UTC, the same in every language."""
    return at.strftime("%Y-%m-%d %H:%M:%S")


SHARED = {
    "axis_of": axis_of,
    "plot_height": HEIGHT,
    "plot_left": LEFT,
    "plot_row": ROW,
    "plot_states": STATES,
    "plot_whole": WHOLE,
    "statuses": STATUSES,
    "shown": shown,
}
"""What the macros find in the environment of templates."""
