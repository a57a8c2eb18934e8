"""The pytest plugin: the fixtures ``payments``, a test's own world, and ``payments_server``.

Every pytest run in an environment with this package loads the plugin, so it imports nothing until a
fixture is used. It is a module of its own beside the package, because a project may have a package
``emulator``, which hides ours: then the fixtures fail, and all other tests run.

PYTEST_DONT_REWRITE: there is no assertion in it, so pytest need not read it as a test's module.
"""

from __future__ import annotations

import gc
import hashlib
import linecache
import os
import re
import socket
import threading
import uuid
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from emulator.testing import Emulator, LocalServer, RemoteServer

MARKER = (
    "payments(clock=None, seed=None, settings=None, fixtures=None): initial state of the test's"
    " world"
)

ASSUMPTIONS_MARKER = (
    "payments_assumptions(*names): run the test also under each other value of assumptions, or of"
    " 'all'"
)

ARGUMENTS = ("clock", "seed", "settings", "fixtures")

RECORDINGS = "payments-recordings"
"""The folder for recordings of failed tests, in the root of the suite."""

TESTS = "PAYMENTS_EMULATOR_TESTS"
"""``test suite`` lists its tests' digests in this variable; empty for all, and a new server."""

FORKS = "PAYMENTS_EMULATOR_FORKS"
"""The variable with the loopback port at which ``test suite`` says for which tests to fork."""

RUN = pytest.StashKey[str]()
"""Makes the keys of this run different from those of other runs on the same server."""

OtherAssumption = tuple[str, str]
"""The name of an assumption, and a value that is not its default (B-99)."""

ASSUMPTION = pytest.StashKey[OtherAssumption]()
"""The assumption that this run of the test tries."""

FAILED = pytest.StashKey[bool]()
"""Whether the test has failed: on a running emulator its world stays as it ended."""

WORLD = pytest.StashKey["Emulator"]()
"""The running test's world; not from the fixture: a suite may define its own ``payments``."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "payments_clock",
        "Clock of worlds at start: running, frozen, or an instant to be frozen at.",
        default="frozen",
    )
    parser.addini("payments_fixtures", "Fixture files for every world.", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", ASSUMPTIONS_MARKER)


def pytest_report_header() -> str | None:
    return _hidden()


def _hidden() -> str | None:
    """Return why this run has no emulator, or None."""
    spec = find_spec("emulator")
    places = (spec.submodule_search_locations or [str(spec.origin)]) if spec else ["?"]
    place = next(iter(places))
    if Path(place, "testing", "servers.py").is_file():
        return None
    return (
        "payments-emulator: no fixture payments, because this project has a package emulator of its"
        f" own, {place}"
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the emulator's client before the first test, which may replace classes it binds."""
    ours = {"payments_assumption", "payments_server"}
    uses = any(ours.intersection(getattr(item, "fixturenames", ())) for item in session.items)
    if uses and not _hidden():
        import emulator.client.api  # noqa: F401  # loaded for later


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test marked ``payments_assumptions`` with the defaults and with each other value."""
    marker = metafunc.definition.get_closest_marker("payments_assumptions")
    if marker is None or "payments_assumption" not in metafunc.fixturenames:
        return
    # A wrong marker fails the test when it runs: an error here would end the collection.
    with suppress(pytest.fail.Exception):
        others = _other_values(marker)
        ids = ["default assumptions", *("=".join(other) for other in others)]
        metafunc.parametrize("payments_assumption", [None, *others], ids=ids, indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test whose marker ``payments_assumptions`` is wrong."""
    marker = item.get_closest_marker("payments_assumptions")
    if marker is not None:
        _other_values(marker)
        if "payments_assumption" not in getattr(item, "fixturenames", ()):
            raise _failure(
                "@pytest.mark.payments_assumptions: the test uses no fixture payments, so it has no"
                " assumptions"
            )


def _require_emulator() -> None:
    if reason := _hidden():
        raise _failure(reason)


def _other_values(marker: pytest.Mark) -> list[OtherAssumption]:
    """Return each value that is no default of the assumptions that a marker names."""
    _require_emulator()
    from emulator.engine.reference_data import named_assumptions

    known = named_assumptions()
    names = list(known) if marker.args == ("all",) else list(marker.args)
    unknown = [name for name in names if name not in known]
    wrong = [
        *map(repr, unknown),
        *(f"{name}=" for name in marker.kwargs),
        *([] if names else ["nothing"]),
    ]
    if wrong:
        raise _failure(
            f"@pytest.mark.payments_assumptions does not take {wrong[0]}; it takes 'all', or of"
            f" {', '.join(known)}"
        )
    return [(name, value) for name in names for value in list(known[name].values)[1:]]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that ``test suite`` needs for one mutant, if it has chosen any."""
    if port := os.environ.pop(FORKS, ""):
        os.environ[TESTS] = _forked(int(port))
        config.option.tbstyle = "no"  # nobody reads why a mutant is caught
    wanted = frozenset(filter(None, os.environ.get(TESTS, "").split(",")))
    if not wanted:
        return
    kept = [item for item in items if _digest(item) in wanted]
    if dropped := [item for item in items if item not in kept]:
        config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def _forked(port: int) -> str:
    """Fork for each mutant of ``test suite``; return its tests in the copy, at the end none."""
    from emulator.testing import Emulator, RemoteServer  # noqa: F401  # loaded once for all copies

    gc.freeze()  # the collector of a copy need not look at what is here
    can_fork = (
        hasattr(os, "fork")
        and threading.active_count() == 1
        and "PYTEST_XDIST_WORKER" not in os.environ
    )
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port)) as suite,
        suite.makefile() as lines,
    ):
        while can_fork and (line := lines.readline()):
            if (copy := os.fork()) == 0:
                return line.strip()
            suite.sendall(str(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])).encode())
    return "none"


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let a run pass if ``test suite`` needs none of its tests; the command may have others."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and os.environ.get(TESTS):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session")
def payments_server() -> Iterator[LocalServer | RemoteServer]:
    """Yield the run's server: one in a thread of this process, or ``PAYMENTS_EMULATOR_URL``'s."""
    _require_emulator()
    from emulator.testing import LocalServer, RemoteServer

    url = _url()
    server = RemoteServer(url) if url else LocalServer()
    yield server
    server.stop()


@pytest.fixture
def payments_assumption(request: pytest.FixtureRequest) -> OtherAssumption | None:
    """Return the assumption of this run of a ``payments_assumptions`` test; None: the defaults."""
    _require_emulator()
    assumption: OtherAssumption | None = getattr(request, "param", None)
    if assumption is not None:
        request.node.stash[ASSUMPTION] = assumption
    return assumption


@pytest.fixture
def payments(payments_emulator: Emulator) -> Emulator:
    """Return the world of ``payments_emulator``: a project may have a ``payments`` of its own."""
    return payments_emulator


@pytest.fixture
def payments_emulator(
    request: pytest.FixtureRequest, payments_assumption: OtherAssumption | None
) -> Iterator[Emulator]:
    """Yield a world for this test alone, then discard it; elsewhere a failed test's world stays."""
    # Validated first: an error in the marker needs no server.
    options = _world_options(request, payments_assumption)
    _require_sockets()
    _refuse_live_keys()
    server = request.getfixturevalue("payments_server")
    emulator = _open_world(_key(request.node), server, options)
    request.node.stash[WORLD] = emulator
    yield emulator
    del request.node.stash[WORLD]
    emulator.close(keep=bool(_url()) and request.node.stash.get(FAILED, False))


def _require_sockets() -> None:
    """Fail a test that pytest-socket bars from sockets: it would find open connections."""
    try:
        with warnings.catch_warnings(action="ignore"):  # the tool warns as well
            socket.socket().close()
    except Exception as error:
        raise _failure(
            "This test may use no sockets, but it reaches the payments emulator through one:"
            f" {error} Allow it, for pytest-socket by @pytest.mark.enable_socket."
        ) from None


def _refuse_live_keys() -> None:
    """Fail a test whose application could find a key of the real service in the environment."""
    from emulator.engine.redaction import has_live_key

    if live := [name for name, value in os.environ.items() if has_live_key(value)]:
        raise _failure(
            f"The environment variable {live[0]} holds a live key: run tests without it."
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure the assumption under which it happened and a report of the test's world."""
    report = yield
    assumption = item.stash.get(ASSUMPTION, None)
    if report.failed and call.when != "teardown" and assumption is not None:
        report.sections.append(("payments emulator: assumption", _of_assumption(*assumption)))
    emulator = item.stash.get(WORLD, None)
    if report.failed and call.when != "teardown" and emulator is not None:
        item.stash[FAILED] = True
        from emulator.testing.base_emulator import story_or_reason

        story = story_or_reason(emulator)
        report.sections.append(("payments emulator", story))
        if emulator.recorded_as is not None:
            folder = item.config.rootpath / RECORDINGS
            report.sections.append(("payments emulator: recording", _recorded(emulator, folder)))
        if not os.environ.get("PAYMENTS_EMULATOR_WITHOUT_PAGES"):
            from emulator.testing.failed_test_page import draw

            page = draw(emulator.url, emulator.key, item.nodeid, _why(report), story)
            report.sections.append(("payments emulator: page of this world", page))
    return report


def _why(report: pytest.TestReport) -> str:
    """Return a failure's statement, message and place; its whole text if it has no place."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return report.longreprtext
    statement = linecache.getline(crash.path, crash.lineno).strip()
    lines = [statement] if statement.startswith("assert ") else []
    return "\n".join([*lines, crash.message, "", f"{crash.path}:{crash.lineno}"])


def _open_world(
    key: str, server: LocalServer | RemoteServer, options: Mapping[str, Any]
) -> Emulator:
    from emulator.testing import Emulator, RequestRefused

    try:
        return Emulator(key=key, server=server, **options)
    except (ValueError, RequestRefused, RuntimeError) as error:
        raise _failure(f"the world of this test cannot start: {error}") from None


def _of_assumption(name: str, value: str) -> str:
    from emulator.engine.reference_data import named_assumptions

    assumption = named_assumptions()[name]
    return (
        f"This test fails when {name} is {value}: {assumption.values[value]}\n"
        f"The specification: {assumption.sentence} (/docs/assumptions)"
    )


def _failure(message: str) -> BaseException:
    """Return a test failure that is shown as its message, without a traceback."""
    return pytest.fail.Exception(message, pytrace=False)


def _world_options(
    request: pytest.FixtureRequest, assumption: OtherAssumption | None
) -> dict[str, Any]:
    """Return the world's options: the ini file's, overridden by the markers, the nearest last."""
    from emulator.resources.app.settings import merged
    from emulator.testing import WorldOptions

    config = request.config
    options: dict[str, Any] = {"clock": config.getini("payments_clock"), "seed": 0}
    settings: Mapping[str, Any] = {}
    fixtures = list(config.getini("payments_fixtures"))
    try:
        WorldOptions.of(**options)
        for marker in reversed(list(request.node.iter_markers("payments"))):
            arguments = _arguments(marker)
            valid = WorldOptions.of(**arguments)
            options |= arguments
            settings = merged(settings, valid.settings)
            fixtures += [request.path.parent / file for file in valid.fixtures]
    except (ValueError, TypeError) as error:
        raise _failure(f"payments: {error}") from None
    if assumption is not None:
        settings = merged(settings, {"assumptions": dict([assumption])})
    return {**options, "settings": settings, "fixtures": fixtures}


def _arguments(marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(marker.kwargs.keys() - set(ARGUMENTS))
    if marker.args or unknown:
        wrong = repr(marker.args[0]) if marker.args else f"{unknown[0]}="
        raise _failure(
            f"@pytest.mark.payments does not take {wrong}; it takes {', '.join(ARGUMENTS)}"
        )
    return {name: value for name, value in marker.kwargs.items() if value is not None}


def _url() -> str | None:
    return os.environ.get("PAYMENTS_EMULATOR_URL")


def _key(item: pytest.Item) -> str:
    """Return a test's key for its world: constant, as ids are, except on a shared server."""
    return f"sk_test_{_digest(item)}-{re.sub('[^A-Za-z0-9]+', '-', item.name)[:50].strip('-')}"


def _digest(item: pytest.Item) -> str:
    is_shared = _url() and TESTS not in os.environ
    run = item.config.stash.setdefault(RUN, uuid.uuid4().hex) if is_shared else ""
    return hashlib.sha256(f"{run}{item.nodeid}".encode()).hexdigest()[:12]


def _recorded(emulator: Emulator, folder: Path) -> str:
    """Write the recording of a world; where it is, or why it is not there."""
    file = folder / f"{emulator.recorded_as}.py"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(emulator.recording(), "utf-8")
    except Exception as error:  # as in story_or_reason
        return f"(no recording: {type(error).__name__}: {error})"
    return f"{file}\nrun it again: pytest {file}"
