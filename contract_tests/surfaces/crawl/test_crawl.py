"""Every page of worlds in which everything has happened answers, in both languages, without an error in the log.

``python -m contract_tests.surfaces.crawl`` reads more worlds, and each of them whole in each language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Literal, NamedTuple, get_args, get_origin, get_type_hints
from zlib import crc32

import pytest

from contract_tests.surfaces.crawl.crawler import BOUGHT, LANGUAGES, Finding, crawl
from contract_tests.surfaces.crawl.worlds import ASSUMPTIONS, JOURNEYS, SETTINGS, STATUSES, eventful_world, settings
from emulator.resources.app.settings import Settings
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


def test_no_page_fails(crawled: Crawled) -> None:
    assert crawled.findings == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_page_was_read(crawled: Crawled, language: str) -> None:
    """So that none passes because nothing leads to it: objects in every status, the console's and the buyers' pages."""
    paths = {shape.partition("?")[0] for tongue, shape in crawled.pages if tongue == language}
    wanted = {f"objects/{kind}:{status}" for kind, status in STATUSES} | {path for path in PAGES if "{" not in path}
    assert {page for page in wanted if f"/_emulator/console/{page}" not in paths} == set()
    buyers = {f"/{BOUGHT[kind]}/{kind}:{status}" for kind, status in STATUSES if kind in BOUGHT}
    others = {"/receipt/receipt:None", "/_emulator/", "/docs/", "/docs/guide/"}
    assert (buyers | others) - paths == set()
    assert any(path.startswith("/_emulator/phones/") for path in paths)


def test_every_kind_of_object_was_there(crawled: Crawled) -> None:
    assert [kind for kind, count in crawled.counts.items() if not count] == []


def test_every_setting_had_every_value() -> None:
    """Of those that have a few; the others have at least two."""
    hints = {name: hint for name, hint in get_type_hints(Settings).items() if name in Settings.__struct_fields__}
    assert {*SETTINGS, "id", "assumptions"} == {*hints}
    chosen = [settings(seed) for seed in SEEDS]
    for name, hint in hints.items():
        values = [each[name] for each in chosen if name in each]
        if name in SETTINGS:
            assert all(value in values for value in SETTINGS[name]), name
            assert len(SETTINGS[name]) >= 2
            assert get_origin(hint) is not Literal or {*SETTINGS[name]} == {*get_args(hint)}, name
    for name, values in ASSUMPTIONS.items():
        assert {each["assumptions"][name] for each in chosen} == {*values}
