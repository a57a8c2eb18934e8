"""The crawl: pages are read with GET, every link found in them is followed, and what breaks is reported."""

from __future__ import annotations

import html
import logging
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx

from contract_tests.support.client import http_client
from emulator.testing import Emulator
from emulator.ui.console.views import PAGES

LANGUAGES = ("en", "fr")

ID = re.compile(r"\b([a-z]+)_[A-Za-z0-9]{24}\b")
REFERENCE = re.compile(r'\b(?:href|src|action|data-module|data-src)="([^"#][^"]*)"')

BOUGHT = {"checkout_session": "checkout", "payment_link": "pay", "invoice": "invoice", "receipt": "receipt"}
"""What has a page for buyers, by its kind, and the first part of its path."""

SAME = ("app", "lang")
"""The parameters whose values make no other page."""

ENDLESS = ("/_emulator/stream", "/_emulator/console/stream")
"""Streams of events, which never end."""


class Finding(NamedTuple):
    """What is wrong at an address, in a language."""

    language: str
    address: str
    fault: str


class Visit(NamedTuple):
    """A crawl of one world: what was found, and how many pages of each language and shape were read."""

    findings: list[Finding]
    pages: Counter[tuple[str, str]]


@contextmanager
def logged() -> Iterator[list[str]]:
    """What the emulator logs as an error, and every traceback."""
    lines: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR or record.exc_info:
                lines.append(logging.Formatter().format(record))

    listener = Listener()
    logging.getLogger().addHandler(listener)
    try:
        yield lines
    finally:
        logging.getLogger().removeHandler(listener)


def crawl(
    emulator: Emulator, most: int, language_of: Callable[[str], str], known: Collection[tuple[str, str]] = ()
) -> Visit:
    """Read the world's pages, ``most`` of each shape: the same page of objects of one kind and status.

    Of those that belong to no world, such as the guide's, the ``known`` ones are left out.
    """
    visit, app = Visit([], Counter()), emulator.key.removeprefix("sk_test_")
    states = {each["id"]: f"{each['object']}:{each.get('status')}" for each in _objects(emulator)}
    waiting, seen = deque(urljoin(emulator.url, each) for each in _entrances(emulator, app)), set()
    with http_client(base_url=emulator.url) as http, logged() as lines:
        while waiting:
            address = waiting.popleft()
            shape = _shape(address, states)
            page = (language_of(shape), shape)
            if address in seen or visit.pages[page] >= most or (page in known and _is_of_no_world(page[1])):
                continue
            seen.add(address)
            visit.pages[page] += 1
            # A connection of its own: after an error the server closes it.
            headers = {"Accept": "text/html,*/*", "Accept-Language": page[0], "Connection": "close"}
            answer = http.get(address, headers=headers)
            if answer.status_code >= 500:
                visit.findings.append(Finding(page[0], address, f"answered {answer.status_code}"))
            visit.findings.extend(Finding(page[0], address, line) for line in lines)
            lines.clear()
            waiting += _links(answer, emulator.url, app)
    return visit


def _objects(emulator: Emulator) -> Iterator[dict[str, str]]:
    for kind in emulator.api.get("/_emulator/counts"):
        yield from emulator.api.newest("/_emulator/objects", kind=kind)


def _entrances(emulator: Emulator, app: str) -> Iterator[str]:
    """Yield the pages at which a crawl begins: the console's, buyers', phones' and those of the documentation."""
    yield from (f"/_emulator/console/{path}?app={app}" for path in PAGES if "{" not in path)
    yield from (f"/_emulator/?app={app}", f"/_emulator/console/schedule?until=P1Y&app={app}", "/docs/", "/docs/guide/")
    yield from (f"/_emulator/?app={app}&live=1", f"/_emulator/console/search?q=a&app={app}")
    for each in _objects(emulator):
        yield f"/_emulator/console/objects/{each['id']}?app={app}"
        if each["object"] in BOUGHT:
            yield f"/{BOUGHT[each['object']]}/{each['id']}"
        if each.get("phone"):
            yield f"/_emulator/phones/{each['phone']}?app={app}"


def _links(answer: httpx.Response, root: str, app: str) -> Iterator[str]:
    references = [html.unescape(each) for each in REFERENCE.findall(answer.text)] if _is_page(answer) else []
    for reference in [*references, answer.headers.get("location", "")]:
        address = urljoin(str(answer.url), reference).partition("#")[0]
        parts = urlsplit(address)
        other = dict(parse_qsl(parts.query)).get("app", app) != app
        if reference and address.startswith(f"{root}/") and parts.path not in ENDLESS and not other:
            yield address


def _is_of_no_world(shape: str) -> bool:
    return shape.startswith(("/docs/", "/openapi", "/_emulator/openapi", "/_emulator/console/static/"))


def _is_page(answer: httpx.Response) -> bool:
    return answer.headers.get("content-type", "").startswith("text/html")


def _shape(address: str, states: dict[str, str]) -> str:
    """Return an address with what its ids are about in their place, and of its query the names alone.

    The status of an object matters on its own page and on its buyer's page, the kind in the list of it.
    """
    parts = urlsplit(address)
    is_own_page = ID.fullmatch(parts.path.rpartition("/")[2])
    path = ID.sub(lambda found: states.get(found[0], found[1]) if is_own_page else found[1], parts.path)
    query = {name: value for name, value in parse_qsl(parts.query) if name not in SAME}
    return f"{path}?{urlencode(query) if [*query] == ['kind'] else ' '.join(sorted(query))}"
