"""``payments-emulator test all``: a sound suite, one that looks at nothing, and the same bytes for the same code."""

from __future__ import annotations

import json
import shlex
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


def examined(*arguments: str | Path) -> Ended:
    return run("test", "all", *map(str, arguments))


def written(folder: Path) -> tuple[list[str], Sequence[Path]]:
    """Return the options that write every file, and the files."""
    files = [folder / f"report.{kind}" for kind in ("html", "junit", "sarif")]
    return [word for file in files for word in (f"--{file.suffix[1:]}", str(file))], files


def test_the_same_code_gets_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    results = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        options, files = written(folder)
        ended = examined("--sample", "1", "--json", *options, "--story", CLIENT, "--", *SUITE, "amount")
        assert ended.errors == ""
        results.append([ended.output, *(file.read_text("utf-8") for file in files)])
    assert results[0] == results[1]
    report = json.loads(results[0][0])
    assert (report["mark"], report["date"], report["sample"]) == (None, "2026-01-01", 1)
    areas = {area["name"]: area for area in report["areas"]}
    tried = {name: area["tried"] for name, area in areas.items()}
    assert (tried["app"], tried["receiver"], tried["suite"], tried["assumptions"]) == (1, 0, 1, 1)
    assert (areas["app"]["passed"], areas["assumptions"]["passed"], areas["usage"]["passed"]) == (1, 1, 0)
    line = f"payments-emulator test suite --usage --group states -- {shlex.join(SUITE)} amount"
    assert [each["again"] for each in areas["usage"]["findings"]] == [line]


def test_one_area_alone_has_a_mark_and_a_line_that_repeats_it(tmp_path: Path) -> None:
    badge = tmp_path / "badge.svg"
    ended = examined("--only", "client", "--fail-on", "60", "--badge", badge, "--", *SUITE, "amount")
    assert ended.status == 0, ended.errors
    lines = ended.output.splitlines()
    assert lines[0] == "66 of 100: 1 problem"
    assert lines[1].endswith("only client")
    assert lines[-1] == f"    again: payments-emulator test all --only client -- {shlex.join(SUITE)} amount"
    assert "66 of 100" in badge.read_text("utf-8")


@pytest.mark.parametrize("about_the_mark", [("--fail-on", "90"), ("--badge", "badge.svg")])
def test_a_sample_has_no_mark_to_fail_on_or_to_show(about_the_mark: tuple[str, ...]) -> None:
    ended = examined("--sample", "1", *about_the_mark, "--", *SUITE)
    assert (ended.status, "a sample has none" in ended.errors) == (2, True)


@pytest.mark.long
def test_the_sound_example_shop_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of pytest with the plugin, which uses the servers of the command; one question in each area."""
    monkeypatch.chdir(SHOPS / "python-shop")
    command = (sys.executable, "-m", "pytest", "-q", "-x", *PLUGIN)
    ended = examined("--sample", "1", "--json", "--", *command)
    areas = {area["name"]: area for area in json.loads(ended.output)["areas"]}
    passed = {name: 100 * area["passed"] / area["tried"] for name, area in areas.items() if area["tried"]}
    assert passed.pop("client") >= 95
    assert passed == {"usage": 100, "suite": 100, "assumptions": 100}


@contextmanager
def receiver(shop_source: str) -> Iterator[str]:
    """The URL at which a Python shop with this source receives webhooks."""
    shop = ModuleType("shop")
    exec(shop_source, shop.__dict__)

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: object) -> None:
            """The report is all that is read."""

    # No delivery of the examination has the shop call the service.
    application = shop.__dict__["Shop"]("http://127.0.0.1:9", "sk_test_shop", SECRET)
    with make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/webhooks"
        server.shutdown()
        thread.join()


TRUSTING = next(shop for shop in PYTHON_SHOPS if shop.mistake == "webhooks trusted without verification")


@pytest.mark.parametrize("broken", [None, TRUSTING], ids=["sound", "trusting"])
def test_the_receiver_of_the_example_shop_is_examined(broken: BrokenShop | None) -> None:
    shop_source = source(broken) if broken else (SHOPS / "python-shop/shop.py").read_text("utf-8")
    with receiver(shop_source) as url:
        ended = examined(
            "--sample", "1", "--json", "--receiver", url, "--secret", SECRET, "--", sys.executable, "-c", ""
        )
    area = next(each for each in json.loads(ended.output)["areas"] if each["name"] == "receiver")
    found = [finding["sentence"] for finding in area["findings"]]
    if broken is None:
        assert (area["passed"], found) == (area["tried"], [])
    else:
        assert area["passed"] < 0.8 * area["tried"]
        assert "an event signed with another secret: expected to be rejected (Delivery rule 1; B-83)" in found


def test_a_receiver_that_is_not_there_is_reported() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/webhooks"
        ended = examined("--sample", "1", "--receiver", url, "--secret", SECRET, "--", sys.executable, "-c", "")
    assert (ended.status, ended.output) == (2, "")
    assert f"No receiver answers at {url}" in ended.errors


def test_a_suite_that_fails_gets_no_mark() -> None:
    ended = examined("--", sys.executable, "-c", "raise SystemExit('2 failed')")
    assert ended.status == 1
    assert "so nothing was examined: exit status 1, 2 failed" in ended.output
