"""The pytest plugin: the fixtures ``payments``, a world for each test, and ``payments_server``, their server.

Every pytest run in an environment with this package loads the plugin, so it imports nothing until a fixture is used.
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

MARKER = "payments(clock=None, seed=None, settings=None, fixtures=None): initial state of the test's world"

ARGUMENTS = ("clock", "seed", "settings", "fixtures")

RUN = pytest.StashKey[str]()
"""Makes the keys of this run different from those of other runs on the same server."""

WORLD = pytest.StashKey["Emulator"]()
"""The world of the running test; the fixture cannot be used, since a suite may define its own ``payments``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line and the ini file."""
    group = parser.getgroup("payments-emulator", "payments emulator")
    group.addoption(
        "--payments-url",
        metavar="URL",
        help="Use the payments emulator at URL (default: PAYMENTS_EMULATOR_URL, else one in this process).",
    )
    parser.addini(
        "payments_clock", "Clock of worlds at start: running, frozen, or an instant to be frozen at.", default="frozen"
    )
    parser.addini("payments_seed", "Seed of worlds; the same seed gives the same ids.", default="0")
    parser.addini("payments_fixtures", "Fixture files for every world.", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture(scope="session")
def payments_server(pytestconfig: pytest.Config) -> Iterator[LocalServer | RemoteServer]:
    """The server of the run: one in a thread of this process, or the one at ``--payments-url``."""
    from emulator.testing import LocalServer, RemoteServer

    url = _url(pytestconfig)
    server = RemoteServer(url) if url else LocalServer()
    yield server
    server.stop()


@pytest.fixture
def payments(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """A world of the payments service for this test alone, discarded afterwards."""
    # Validated first: an error in the marker needs no server.
    options = _world_options(request)
    server = request.getfixturevalue("payments_server")
    emulator = _open_world(_key(request), server, options)
    request.node.stash[WORLD] = emulator
    yield emulator
    del request.node.stash[WORLD]
    emulator.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a report of the test's world to a failure."""
    report = yield
    emulator = item.stash.get(WORLD, None)
    if report.failed and call.when != "teardown" and emulator is not None:
        report.sections.append(("payments emulator", _report(emulator)))
    return report


def _open_world(key: str, server: LocalServer | RemoteServer, options: Mapping[str, Any]) -> Emulator:
    from emulator.testing import Emulator, RequestRefused

    try:
        return Emulator(key=key, server=server, **options)
    except (ValueError, RequestRefused) as error:
        raise _failure(f"the world of this test cannot start: {error}") from None


def _failure(message: str) -> BaseException:
    """A test failure that is shown as its message, without a traceback."""
    return pytest.fail.Exception(message, pytrace=False)


def _world_options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The options of the world: those of the ini file, overridden by the markers, the nearest one last."""
    from emulator.testing import WorldOptions

    config = request.config
    options: dict[str, Any] = {"clock": config.getini("payments_clock"), "seed": _seed(config)}
    fixtures = list(config.getini("payments_fixtures"))
    for marker in reversed(list(request.node.iter_markers("payments"))):
        given = _arguments(marker)
        fixtures += [request.path.parent / file for file in _listed(given.pop("fixtures", None))]
        settings = {**options.get("settings", {}), **_settings(given.pop("settings", None))}
        options |= {**given, "settings": settings}
    try:
        WorldOptions.of(**options)
    except (ValueError, TypeError) as error:
        raise _failure(f"payments: {error}") from None
    return {**options, "fixtures": fixtures}


def _arguments(marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(marker.kwargs.keys() - set(ARGUMENTS))
    if marker.args or unknown:
        wrong = repr(marker.args[0]) if marker.args else f"{unknown[0]}="
        raise _failure(f"@pytest.mark.payments does not take {wrong}; it takes {', '.join(ARGUMENTS)}")
    return {name: value for name, value in marker.kwargs.items() if value is not None}


def _settings(settings: Any) -> Mapping[str, Any]:
    if not isinstance(settings, Mapping | None):
        raise _failure(f"@pytest.mark.payments(settings={settings!r}): a dict, such as {{'tax_rate': 18}}")
    return settings or {}


def _listed(fixtures: Any) -> list[Any]:
    listed = [fixtures] if isinstance(fixtures, str | os.PathLike) else fixtures or []
    if not isinstance(listed, list | tuple) or not all(isinstance(file, str | os.PathLike) for file in listed):
        raise _failure(f"@pytest.mark.payments(fixtures={fixtures!r}): a path, or a list of paths")
    return list(listed)


def _seed(config: pytest.Config) -> int:
    text = config.getini("payments_seed")
    try:
        return int(text)
    except ValueError:
        raise _failure(f"payments_seed = {text!r}: a whole number") from None


def _url(config: pytest.Config) -> str | None:
    return config.getoption("--payments-url") or os.environ.get("PAYMENTS_EMULATOR_URL")


def _key(request: pytest.FixtureRequest) -> str:
    """The key of a test's world: the same in every run, so that ids are the same, except on a shared server."""
    config = request.config
    run = _run(config) if _url(config) else ""
    digest = hashlib.sha256(f"{run}{request.node.nodeid}".encode()).hexdigest()[:12]
    return f"sk_test_{digest}-{re.sub('[^A-Za-z0-9]+', '-', request.node.name)[:50].strip('-')}"


def _run(config: pytest.Config) -> str:
    if RUN not in config.stash:
        config.stash[RUN] = uuid.uuid4().hex
    return config.stash[RUN]


def _report(emulator: Emulator) -> str:
    try:
        return emulator.story()
    except Exception as error:  # any error of the emulator must not hide the failure of the test
        return f"(no report of the world: {type(error).__name__}: {error})"
