"""``exec --assume`` and ``exec --assumptions all``: a command under other assumptions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from contract_tests.surfaces.cli.terminal import run
from contract_tests.surfaces.testing.test_examples import SHOPS
from contract_tests.surfaces.testing.test_plugin import PLUGIN
from emulator.engine.reference_data import named_assumptions

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN)

OTHERS = sum(len(each.values) - 1 for each in named_assumptions().values())
"""How many values there are that are no defaults."""

CALL = """
import json, os, urllib.request
URL, KEY = os.environ["PAYMENTS_EMULATOR_URL"], os.environ["PAYMENTS_EMULATOR_KEY"]

def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    return json.load(urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method)))
"""

SEARCH = """
assert call("GET", "/v1/customers/?search=nobody")["data"] == []
"""

TRUSTS_2XX = """
call("PUT", "/_emulator/inbox/shop/response", {"status": 204})
endpoint = call("POST", "/v1/webhooks/", {"name": "Shop", "url": f"{URL}/_emulator/inbox/shop", "events": ["*"]})["id"]
call("POST", "/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
call("POST", "/_emulator/clock/advance", {"by": "0s"})
deliveries = call("GET", f"/v1/webhooks/{endpoint}/deliveries/")["data"]
assert [each["status"] for each in deliveries] == ["succeeded"]
"""


def suite(folder: Path, text: str) -> list[str]:
    """Return the command that runs a test suite: a script, which starts more quickly than pytest does."""
    file = folder / "suite.py"
    file.write_text(CALL + text)
    return [sys.executable, str(file)]


def findings(output: str) -> list[str]:
    return [line.partition(". ")[2] for line in output.splitlines() if ". Your tests" in line]


def test_an_assumption_can_be_chosen_for_a_run(tmp_path: Path) -> None:
    assert run("exec", "--", *suite(tmp_path, SEARCH)).status == 0
    assert run("exec", "--assume", "search_nothing_found=error", "--", *suite(tmp_path, SEARCH)).status == 1


def test_a_suite_that_relies_on_an_empty_search_depends_on_that_assumption_alone(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = run("exec", "--assumptions", "all", "--junit", str(report), "--", *suite(tmp_path, SEARCH))
    assert done.status == 1
    assert findings(done.output) == ["Your tests fail when search_nothing_found is error."]
    assert f"depends on 1 of {OTHERS} other values" in done.output
    cases = ElementTree.parse(report).getroot()
    assert len(cases) == OTHERS + 1
    failed = [case for case in cases if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["when search_nothing_found is error"]
    assert "HTTP Error 404" in str(failed[0].findtext("failure"))


def test_a_suite_that_trusts_2xx_learns_which_assumption_it_expects(tmp_path: Path) -> None:
    done = run("exec", "--assumptions", "all", "--json", "--", *suite(tmp_path, TRUSTS_2XX))
    assert done.status == 1
    first, *others = json.loads(done.output)["runs"]
    assert first == {"assumption": None, "value": None, "status": 1, "depends": False}
    assert len(others) == OTHERS
    assert [row for row in others if row["depends"]] == [
        {"assumption": "webhook_success", "value": "2xx", "status": 0, "depends": True}
    ]


def test_the_default_is_among_the_other_values_of_an_assumption_that_is_chosen(tmp_path: Path) -> None:
    """A fixture file chooses it, and each run has the last word."""
    fixtures = tmp_path / "fixtures.yaml"
    fixtures.write_text("settings: {assumptions: {webhook_success: 2xx}}\n")
    chosen = ("--fixtures", str(fixtures), "--assumptions", "all")
    done = run("exec", *chosen, "--", *suite(tmp_path, TRUSTS_2XX))
    assert done.status == 1
    assert findings(done.output) == ["Your tests fail when webhook_success is 200."]


@pytest.mark.long
@pytest.mark.parametrize("shop", ["python-shop", pytest.param("node-shop", marks=pytest.mark.needs("node"))])
def test_the_example_shops_depend_on_no_assumption(shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SHOPS / shop)
    command = PYTEST if shop == "python-shop" else ("node", "--test")
    done = run("exec", "--assumptions", "all", "--", *command)
    assert (done.status, findings(done.output)) == (0, []), done.output
    assert f"depends on none of {OTHERS} other values" in done.output
