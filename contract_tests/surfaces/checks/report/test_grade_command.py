"""``payments-emulator test all``: a sound suite, one that looks at nothing, and the same bytes for the same commit."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from contract_tests.surfaces.checks.app.broken import PYTHON_SHOPS, BrokenShop, source
from contract_tests.surfaces.checks.receiver.receivers import SECRET
from contract_tests.surfaces.cli.terminal import Ended, run
from contract_tests.surfaces.testing.test_examples import SHOPS
from contract_tests.surfaces.testing.test_plugin import PLUGIN

SUITE = (sys.executable, str(Path(__file__).parents[1] / "suite/suite.py"))
CLIENT = f"{sys.executable} {Path(__file__).parents[1] / 'app/client.py'}"


def grade(*arguments: str | Path) -> Ended:
    return run("test", "all", *map(str, arguments))


def written(folder: Path) -> tuple[list[str], Sequence[Path]]:
    """The options that write every file, and the files."""
    files = [folder / f"grade.{kind}" for kind in ("html", "junit", "sarif", "badge")]
    return [word for file in files for word in (f"--{file.suffix[1:]}", str(file))], files


def test_the_same_commit_gets_the_same_bytes(tmp_path: Path) -> None:
    results = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        options, files = written(folder)
        ended = grade("--sample", "1", "--json", *options, "--story", CLIENT, "--", *SUITE, "amount")
        assert ended.errors == ""
        results.append([ended.output, *(file.read_text("utf-8") for file in files)])
    assert results[0] == results[1]
    exam = json.loads(results[0][0])
    asked = {area["name"]: area["asked"] for area in exam["areas"]}
    assert (asked["app"], asked["receiver"], asked["suite"], asked["assumptions"]) == (1, 0, 1, 1)
    marks = {area["name"]: area["mark"] for area in exam["areas"]}
    assert (marks["app"], marks["assumptions"], marks["usage"]) == (100, 100, 0)


@pytest.mark.long
def test_the_sound_example_shop_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of pytest with the plugin, which uses the servers of the command; one question in each area."""
    monkeypatch.chdir(SHOPS / "python-shop")
    command = (sys.executable, "-m", "pytest", "-q", "-x", *PLUGIN)
    ended = grade("--sample", "1", "--fail-on", "95", "--json", "--", *command)
    assert ended.status == 0, ended.output
    areas = {area["name"]: area for area in json.loads(ended.output)["areas"]}
    assert {name for name, area in areas.items() if area["asked"]} == {"client", "usage", "suite", "assumptions"}
    assert areas["client"]["mark"] >= 95
    assert [areas[name]["mark"] for name in ("usage", "suite", "assumptions")] == [100, 100, 100]


@contextmanager
def receiver(shop_source: str) -> Iterator[str]:
    """The URL at which a Python shop with this source receives webhooks."""
    shop = ModuleType("shop")
    exec(shop_source, shop.__dict__)

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None:
            """The report is all that is read."""

    # No request of certify has the shop call the service.
    application = shop.__dict__["Shop"]("http://127.0.0.1:9", "sk_test_shop", SECRET)
    with make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/webhooks"
        server.shutdown()
        thread.join()


TRUSTING = next(shop for shop in PYTHON_SHOPS if shop.mistake == "webhooks trusted without verification")


@pytest.mark.parametrize("broken", [None, TRUSTING], ids=["sound", "trusting"])
def test_the_receiver_of_the_example_shop_is_certified(broken: BrokenShop | None) -> None:
    shop_source = source(broken) if broken else (SHOPS / "python-shop/shop.py").read_text("utf-8")
    with receiver(shop_source) as url:
        ended = grade("--sample", "1", "--json", "--receiver", url, "--secret", SECRET, "--", sys.executable, "-c", "")
    certify = next(area for area in json.loads(ended.output)["areas"] if area["name"] == "receiver")
    found = [finding["sentence"] for finding in certify["findings"]]
    if broken is None:
        assert (certify["mark"], found) == (100, [])
    else:
        assert certify["mark"] < 80
        assert "an event signed with another secret: expected to be rejected (Delivery rule 1; B-83)" in found


def test_a_receiver_that_is_not_there_is_reported() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/webhooks"
        ended = grade("--sample", "1", "--receiver", url, "--secret", SECRET, "--", sys.executable, "-c", "")
    assert (ended.status, ended.output) == (2, "")
    assert f"No receiver answers at {url}" in ended.errors


def test_a_suite_that_fails_gets_no_mark() -> None:
    ended = grade("--", sys.executable, "-c", "raise SystemExit('2 failed')")
    assert ended.status == 1
    assert "so nothing was asked: exit status 1, 2 failed" in ended.output
