"""A report as one HTML file: charts as inline SVG, each beside a table with the same facts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from emulator.cli.report_data import Curve, WorldReport
from emulator.html.templates import environment

LEFT, WIDTH, RIGHT = 215, 680, 50
"""Pixels of a chart: the names of rows, the time, and what stands behind it."""

ROW, HEIGHT = 34, 160
"""Pixels: the height of a row of a timeline, and of the chart of money."""

TICKS = 6

STATES = ("active", "trialing", "past_due", "paused")
"""The states that have a pattern of their own; others have an outline."""

DASHES = ("", "8 4", "2 4", "12 4 2 4")
"""The lines of several currencies, which can be distinguished without colour."""


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


class MoneyLine(NamedTuple):
    """A curve as pixels: ``points`` of a polyline, and the name at its end."""

    points: str
    dash: str
    name: str
    y: float


def page(report: WorldReport) -> str:
    """The file."""
    axis = Axis(report.began, report.now)
    values = {
        "report": report,
        "axis": axis,
        "lines": _lines(report.money, axis),
        "states": STATES,
        "left": LEFT,
        "width": WIDTH,
        "whole": LEFT + WIDTH + RIGHT,
        "row": ROW,
        "height": HEIGHT,
        "money": money,
        "shown": shown,
    }
    return environment("emulator.cli").get_template("report.html").render(values)


def shown(at: datetime) -> str:
    """An instant for people, in UTC."""
    return at.strftime("%Y-%m-%d %H:%M:%S")


def money(amount: int) -> str:
    """An amount in minor units."""
    return f"{amount:,}"


def _lines(curves: list[Curve], axis: Axis) -> list[MoneyLine]:
    """The curves as steps: an amount stands until the next posting. Each currency has a scale of its own."""
    return [_line(curve, axis, DASHES[number % len(DASHES)]) for number, curve in enumerate(curves)]


def _line(curve: Curve, axis: Axis, dash: str) -> MoneyLine:
    low = min(0, *(amount for _, amount in curve.points))
    high = max(1, *(amount for _, amount in curve.points))

    def y(amount: int) -> float:
        return round(HEIGHT - 10 - (HEIGHT - 30) * (amount - low) / (high - low), 1)

    points, last = [f"{axis.x(curve.points[0][0])},{y(0)}"], y(0)
    for at, amount in curve.points:
        points += [f"{axis.x(at)},{last}", f"{axis.x(at)},{y(amount)}"]
        last = y(amount)
    points.append(f"{axis.x(axis.ended)},{last}")
    return MoneyLine(" ".join(points), dash, f"{money(curve.points[-1][1])} {curve.currency}", last)
