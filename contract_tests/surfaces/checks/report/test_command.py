"""``payments-emulator test all``: those of the four examinations that are asked for, the worst finding first."""

from __future__ import annotations

import json
import shlex
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest

from contract_tests.surfaces.checks.app.broken import PYTHON_SHOPS, BrokenShop, source
from contract_tests.surfaces.checks.receiver.receivers import SECRET
from contract_tests.surfaces.cli.terminal import Ended, run
from contract_tests.surfaces.testing.test_examples import SHOPS

SUITE = (sys.executable, str(Path(__file__).parents[1] / "suite/suite.py"))
CLIENT = f"{sys.executable} {Path(__file__).parents[1] / 'app/client.py'}"
NOTHING = (sys.executable, "-c", "")


def examined(*arguments: str | Path) -> Ended:
    return run("test", "all", *map(str, arguments))


@pytest.mark.long
def test_the_application_its_client_and_its_tests_are_in_one_report() -> None:
    ended = examined("--app", f"{CLIENT} careless", "--json", "--", *SUITE, "amount")
    assert (ended.status, ended.errors) == (1, "")
    report = json.loads(ended.output)
    assert [each["examination"] for each in report["examinations"]] == ["test app", "test client", "test suite"]
    assert report["headline"].endswith("; worst: A request is sent again without an Idempotency-Key: a double payment")
    severities = [each["severity"] for each in report["findings"]]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    again = next(each["again"] for each in report["findings"] if each["name"].startswith("test suite: "))
    assert again.startswith("payments-emulator test suite --only ")
    assert again.endswith(f" -- {shlex.join(SUITE)} amount")


def test_without_options_the_tests_and_their_client_are_examined() -> None:
    ended = examined("--json", "--", *SUITE, "amount")
    examinations = [each["examination"] for each in json.loads(ended.output)["examinations"]]
    assert (ended.status, examinations) == (1, ["test client", "test suite"])


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
        ended = examined("--json", "--receiver", url, "--secret", SECRET, "--", *NOTHING)
    found = [each["title"] for each in json.loads(ended.output)["findings"] if "receiver" in each["name"]]
    assert ("An event signed with another secret: not rejected" in found, bool(found)) == (bool(broken), bool(broken))


def test_a_receiver_that_is_not_there_is_reported() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}/webhooks"
        ended = examined("--receiver", url, "--secret", SECRET, "--", *NOTHING)
    assert (ended.status, ended.output) == (2, "")
    assert f"No receiver answers at {url}" in ended.errors


def test_a_suite_that_fails_by_itself_is_a_problem() -> None:
    ended = examined("--", sys.executable, "-c", "raise SystemExit('2 failed')")
    assert ended.status == 1
    assert "so nothing else was tried: exit status 1, 2 failed" in ended.output
