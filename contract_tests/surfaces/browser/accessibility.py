"""What axe finds on a page: WCAG 2.2 AA and best practice, at four widths and in both themes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from axe_playwright_python.sync_playwright import Axe

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")

AXE = """async (tags) => {
    // What a page does about a new size, it does before the next frame.
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const { violations } = await axe.run({ resultTypes: ["violations"], runOnly: tags });
    return violations.map(({ id, nodes }) =>
        `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 150)).join("  ")}`);
}"""


SHIFTS = """() => new Promise((done) => new PerformanceObserver((list) =>
    done(list.getEntries().reduce((sum, { value, hadRecentInput }) => sum + (hadRecentInput ? 0 : value), 0)))
    .observe({ type: "layout-shift", buffered: true }) || setTimeout(() => done(0), 300))"""
"""How far things have moved by themselves since the page was loaded; 0 if nothing has."""

LEAST_SHIFT = 0.01
"""Less is the rounding of a browser."""

WIDE = "document.documentElement.scrollWidth > innerWidth"


class View(NamedTuple):
    """A window, in CSS pixels: a browser at 200 % shows half as many of them."""

    name: str
    width: int
    height: int


PHONE = View("320 px", 320, 780)
TABLET = View("768 px", 768, 1024)
ZOOMED = View("1280 px at 200 %", 640, 450)
DESK = View("1280 px", 1280, 900)

# In this order, a page is seen in CI at one width in light and at the next but one in dark.
VIEWS = (PHONE, TABLET, ZOOMED, DESK)
THEMES = ("light", "dark")


def sample(number: int) -> Iterable[tuple[View, str]]:
    """Two of the eight ways to see a page; four pages in a row have all eight between them."""
    return ((VIEWS[number % 4], "light"), (VIEWS[(number + 2) % 4], "dark"))


def every() -> Iterable[tuple[View, str]]:
    return ((view, theme) for view in VIEWS for theme in THEMES)


def violations(tab: Any, ways: Iterable[tuple[View, str]]) -> list[str]:
    """What axe finds on a page in each of these ways, with the first elements; whether it moved, and is wider than a window."""
    shift = tab.evaluate(SHIFTS)
    tab.evaluate(Axe().axe_script)
    found = [f"moved by {shift:.3f}"] if shift >= LEAST_SHIFT else []
    for view, theme in ways:
        tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
        tab.set_viewport_size({"width": view.width, "height": view.height})
        found += [f"{view.name}, {theme}: {each}" for each in tab.evaluate(AXE, list(RULES))]
        if tab.evaluate(WIDE):
            found.append(f"{view.name}: wider than the window")
    tab.set_viewport_size({"width": PHONE.width, "height": PHONE.height})
    if tab.evaluate(WIDE):
        found.append("wider than a phone")
    return found
