"""The pytest plugin: ``payments``, a world of its own for each test, and the server it lives on.

Loaded at the start of every pytest run of whoever has it installed, so it imports nothing until a fixture is asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.testing import Emulator, LocalServer, RemoteServer

MARKER = "payments(clock=None, seed=None, settings=None, fixtures=None): how the world of a test starts"

ARGUMENTS = ("clock", "seed", "settings", "fixtures")

RUN = pytest.StashKey[str]()
"""What sets the keys of this run apart from those of others on the same server."""

WORLD = pytest.StashKey["Emulator"]()
"""The world of a test that is under way; a suite may have a fixture ``payments`` of its own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The command line and the ini file."""
    group = parser.getgroup("payments-emulator", "payments emulator")
    group.addoption(
        "--payments-url",
        metavar="URL",
        help="Use the payments emulator that runs there (default: PAYMENTS_EMULATOR_URL, else one in this process).",
    )
    parser.addini(
        "payments_clock", "How worlds start: running, frozen, or an instant to stand still at.", default="frozen"
    )
    parser.addini("payments_seed", "Seed of worlds; the same seed gives the same ids.", default="0")
    parser.addini("payments_fixtures", "Fixture files that every world starts with.", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture(scope="session")
def payments_server(pytestconfig: pytest.Config) -> Iterator[LocalServer | RemoteServer]:
    """The emulator's server, for the whole run: one in a thread of this process, or the one of ``--payments-url``."""
    from emulator.testing import LocalServer, RemoteServer

    url = _url(pytestconfig)
    server = RemoteServer(url) if url else LocalServer()
    yield server
    server.stop()


@pytest.fixture
def payments(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """A world of the payments service for this test alone, thrown away afterwards."""
    # Judged first: a marker that is wrong needs no server to be told so.
    said = _said(request)
    server = request.getfixturevalue("payments_server")
    emulator = _opened(_key(request), server, said)
    request.node.stash[WORLD] = emulator
    yield emulator
    del request.node.stash[WORLD]
    emulator.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell, with a failure, what happened in the test's world."""
    report = yield
    emulator = item.stash.get(WORLD, None)
    if report.failed and call.when != "teardown" and emulator is not None:
        report.sections.append(("payments emulator", _story(emulator)))
    return report


def _opened(key: str, server: LocalServer | RemoteServer, said: Mapping[str, Any]) -> Emulator:
    from emulator.testing import Emulator, RequestRefused

    try:
        return Emulator(key=key, server=server, **said)
    except (ValueError, RequestRefused) as fault:
        raise _wrong(f"the world of this test cannot start: {fault}") from None


def _wrong(message: str) -> BaseException:
    """A failure that is told in its own words, without a traceback."""
    return pytest.fail.Exception(message, pytrace=False)


def _said(request: pytest.FixtureRequest) -> dict[str, Any]:
    """How the world starts: as the ini file says, but for what the markers say, the nearest one last."""
    from emulator.testing import WorldOptions

    config = request.config
    said: dict[str, Any] = {"clock": config.getini("payments_clock"), "seed": _seed(config)}
    fixtures = list(config.getini("payments_fixtures"))
    for marker in reversed(list(request.node.iter_markers("payments"))):
        given = _arguments(marker)
        fixtures += [request.path.parent / file for file in _listed(given.pop("fixtures", None))]
        settings = {**said.get("settings", {}), **_settings(given.pop("settings", None))}
        said |= {**given, "settings": settings}
    try:
        WorldOptions.of(**said)
    except (ValueError, TypeError) as fault:
        raise _wrong(f"payments: {fault}") from None
    return {**said, "fixtures": fixtures}


def _arguments(marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(marker.kwargs.keys() - set(ARGUMENTS))
    if marker.args or unknown:
        wrong = repr(marker.args[0]) if marker.args else f"{unknown[0]}="
        raise _wrong(f"@pytest.mark.payments does not take {wrong}; there are {', '.join(ARGUMENTS)}")
    return {name: value for name, value in marker.kwargs.items() if value is not None}


def _settings(settings: Any) -> Mapping[str, Any]:
    if not isinstance(settings, Mapping | None):
        raise _wrong(f"@pytest.mark.payments(settings={settings!r}): a dict, such as {{'tax_rate': 18}}")
    return settings or {}


def _listed(fixtures: Any) -> list[Any]:
    listed = [fixtures] if isinstance(fixtures, str | os.PathLike) else fixtures or []
    if not isinstance(listed, list | tuple) or not all(isinstance(file, str | os.PathLike) for file in listed):
        raise _wrong(f"@pytest.mark.payments(fixtures={fixtures!r}): a path, or a list of paths")
    return list(listed)


def _seed(config: pytest.Config) -> int:
    text = config.getini("payments_seed")
    try:
        return int(text)
    except ValueError:
        raise _wrong(f"payments_seed = {text!r}: a whole number") from None


def _url(config: pytest.Config) -> str | None:
    return config.getoption("--payments-url") or os.environ.get("PAYMENTS_EMULATOR_URL")


def _key(request: pytest.FixtureRequest) -> str:
    """The key of a test's world: always the same one, so that its ids are; but this run's own on a shared server."""
    config = request.config
    run = _run(config) if _url(config) else ""
    digest = hashlib.sha256(f"{run}{request.node.nodeid}".encode()).hexdigest()[:12]
    return f"sk_test_{digest}-{re.sub('[^A-Za-z0-9]+', '-', request.node.name)[:50].strip('-')}"


def _run(config: pytest.Config) -> str:
    if RUN not in config.stash:
        config.stash[RUN] = uuid.uuid4().hex
    return config.stash[RUN]


def _story(emulator: Emulator) -> str:
    try:
        return emulator.story()
    except Exception as fault:  # whatever is wrong with the emulator must not hide what is wrong with the test
        return f"(its story cannot be told: {type(fault).__name__}: {fault})"
