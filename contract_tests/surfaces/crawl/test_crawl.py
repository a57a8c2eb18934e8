"""Every page of worlds in which everything has happened answers, in both languages, without an error in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple
from zlib import crc32

import pytest

from contract_tests.surfaces.crawl.crawler import BOUGHT, LANGUAGES, Finding, crawl
from contract_tests.surfaces.crawl.worlds import JOURNEYS, STATUSES, eventful_world
from emulator.testing import LocalServer
from emulator.ui.console.views import PAGES

pytestmark = pytest.mark.long

SEEDS = range(len(JOURNEYS))


class Crawled(NamedTuple):
    """What was found in all worlds together, which pages were read, and how many objects there were of each kind."""

    findings: list[Finding]
    pages: Counter[tuple[str, str]]
    counts: Counter[str]


def in_turn(seed: int, shape: str) -> str:
    """Return the language in which a page of the world of a seed is read; the next world's is read in the other."""
    return LANGUAGES[(crc32(shape.encode()) + seed) % len(LANGUAGES)]


@pytest.fixture(scope="module")
def crawled() -> Iterator[Crawled]:
    """One world for each journey, each page in one of the languages."""
    server, found = LocalServer(strict=True), Crawled([], Counter(), Counter())
    for seed in SEEDS:
        with eventful_world(server, seed, steps=40) as emulator:
            visit = crawl(emulator, 1, partial(in_turn, seed), found.pages)
            found.findings.extend(visit.findings)
            found.pages.update(visit.pages)
            found.counts.update(emulator.api.get("/_emulator/counts"))
    yield found
    server.stop()


def test_no_page_of_any_kind_fails(crawled: Crawled) -> None:
    """None passes because nothing leads to it: objects in every status, the console's and the buyers' pages were read."""
    assert crawled.findings == []
    assert [kind for kind, count in crawled.counts.items() if not count] == []
    wanted = {f"/_emulator/console/objects/{kind}:{status}" for kind, status in STATUSES}
    wanted |= {f"/_emulator/console/{path}" for path in PAGES if "{" not in path}
    wanted |= {f"/{BOUGHT[kind]}/{kind}:{status}" for kind, status in STATUSES if kind in BOUGHT}
    wanted |= {"/receipt/receipt:None", "/_emulator/", "/docs/", "/docs/guide/"}
    for language in LANGUAGES:
        paths = {shape.partition("?")[0] for tongue, shape in crawled.pages if tongue == language}
        assert wanted - paths == set()
        assert any(path.startswith("/_emulator/phones/") for path in paths)
