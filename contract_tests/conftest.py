"""The set-up of the test run: which tests it has, and where they get their fixtures."""

from __future__ import annotations

import pkgutil
import signal
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

import emulator

pytest_plugins = ["pytester", "contract_tests.support.run"]

# A busy machine is no defect: property tests are not timed. They try the same examples every time,
# so that a verdict on a change is about the change; `pytest --hypothesis-profile=explore` looks for
# new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("steady")

# A shell script ignores Ctrl-C for what it runs in the background, and the commands that are tested
# would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent

NEEDS = {"surfaces/browser": ["chromium"]}
"""The programs that all tests of a folder need."""

FAST = {
    "contract/document": ("bundles", "examples", "schemas"),
    "quality/drift": ("command_line", "document"),
    "contract/engine": ("calendar", "http_client", "worlds"),
    "contract/http": ("keys", "routing", "uvicorn"),
    "contract/resources": (
        "checkout_sessions",
        "invoices",
        "payment_intents",
        "subscription_states",
    ),
}
"""The quick test modules, by folder, which together touch every part: ``pytest -m fast -n 2``."""

FAST_MODULES = {
    HERE / folder / f"test_{name}.py" for folder, names in FAST.items() for name in names
}

FAST_FOLDERS = {folder for module in FAST_MODULES for folder in module.parents}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spec-coverage",
        metavar="FILE",
        help="Write which test exercises what of the specification.",
    )
    parser.addoption(
        "--spec-coverage-complete",
        action="store_true",
        help="Fail where no test exercises a part of the document.",
    )
    parser.addoption(
        "--every-view", action="store_true", help="See each page at every width and in both themes."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the fixtures, and with them everything, only in processes that run tests themselves."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.import_plugin("contract_tests.support.fixtures")
    if config.getoption("--spec-coverage"):
        config.pluginmanager.import_plugin("contract_tests.surfaces.coverage.plugin")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect no slow module with ``-m fast``: importing them takes longer than the fast tests."""
    fast_only = config.option.markexpr == "fast"
    return True if fast_only and collection_path not in FAST_MODULES | FAST_FOLDERS else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests with the programs that they need, and those of the fast modules.

    Property tests are not fast: they take longest, and Hypothesis reads every module for them.
    """
    for item in items:
        for folder, programs in NEEDS.items():
            if item.path.is_relative_to(HERE / folder):
                item.add_marker(pytest.mark.needs(*programs))
    fast_only = config.option.markexpr == "fast"
    for item in list(items):
        if item.path in FAST_MODULES and not _is_property(item):
            item.add_marker(pytest.mark.fast)
        elif fast_only:
            items.remove(item)
    # Together, so that few of the processes load every module.
    items.sort(key=lambda item: not _needs_every_module(item))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Load every module before the first test that depends on which are loaded.

    Hypothesis also tries the constants of those that happen to be; a run within a run forgets those
    that it loaded first.
    """
    if _needs_every_module(item):
        _load_every_module()


def _needs_every_module(item: pytest.Item) -> bool:
    return _is_property(item) or "pytester" in getattr(item, "fixturenames", ())


@cache
def _load_every_module() -> None:
    for module in pkgutil.walk_packages(emulator.__path__, "emulator."):
        import_module(module.name)


def _is_property(item: pytest.Item) -> bool:
    """Return whether Hypothesis makes up the values of a test."""
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
