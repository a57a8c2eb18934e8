"""How soon a browser paints the console's overview, of a world with few objects and of one with many."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from contract_tests.quality.benchmarks import load
from contract_tests.quality.benchmarks.measures import Row, Size, beside, creates
from contract_tests.quality.benchmarks.servers import FROZEN, KEY, Server, running

OVERVIEW = f"/_emulator/?app={KEY.removeprefix('sk_test_')}"

PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") done(startTime);
}).observe({ type: "paint", buffered: true }))"""


def first_paint(size: Size, pool: ProcessPoolExecutor) -> Iterator[Row]:
    """From the navigation to the first contentful paint in Chromium, which has nothing in its cache."""
    with running(FROZEN, FROZEN) as servers:
        for server, objects in zip(servers, (size.few // 10, size.objects_on_overview), strict=True):
            pool.submit(load.run, server.port, creates("paint", objects)).result()
        few, many = _paints(servers, size.rounds)
        name = f"overview with {size.objects_on_overview:,} objects: first paint"
        yield beside(name, "ms", few, many, "≤ 200 ms")


def _paints(servers: Sequence[Server], rounds: int) -> list[list[float]]:
    """The milliseconds of each round for each server; one round before these is not counted."""
    # Imported here: the other measures need no browser.
    from playwright.sync_api import sync_playwright

    times: list[list[float]] = [[] for _ in servers]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for number in range(-1, rounds):
            for server, own in zip(servers, times, strict=True):
                context = browser.new_context(viewport={"width": 1280, "height": 800})
                page = context.new_page()
                page.goto(f"http://127.0.0.1:{server.port}{OVERVIEW}")
                painted = page.evaluate(PAINTED)
                if number >= 0:
                    own.append(painted)
                context.close()
        browser.close()
    return times
