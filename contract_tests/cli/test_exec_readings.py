"""``exec --reading`` and ``exec --readings all``: a command under other readings of the specification."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from contract_tests.cli.terminal import run

SEARCH = """
import json, os, urllib.request
url, key = os.environ["PAYMENTS_EMULATOR_URL"], os.environ["PAYMENTS_EMULATOR_KEY"]
headers = {"Authorization": f"Bearer {key}"}
urllib.request.urlopen(urllib.request.Request(f"{url}/v1/customers/?search=nobody", headers=headers)).read()
"""


def script(folder: Path, text: str) -> list[str]:
    file = folder / "suite.py"
    file.write_text(text)
    return [sys.executable, str(file)]


def test_a_reading_can_be_chosen_for_a_run(tmp_path: Path) -> None:
    assert run("exec", "--", *script(tmp_path, SEARCH)).status == 0
    assert run("exec", "--reading", "search_nothing_found=error", "--", *script(tmp_path, SEARCH)).status == 1


def test_a_reading_that_is_none_is_named_with_those_there_are() -> None:
    rejected = run("exec", "--reading", "search=error", "--", "true")
    assert rejected.status == 2
    assert "search_nothing_found" in rejected.errors


def test_the_readings_that_a_suite_depends_on_are_named(tmp_path: Path) -> None:
    done = run("exec", "--readings", "all", "--", *script(tmp_path, SEARCH))
    assert done.status == 1
    assert "Your tests fail when search_nothing_found is error." in done.output
    assert "depends on 1 of" in done.output


def test_a_suite_that_depends_on_none_passes_as_json_too(tmp_path: Path) -> None:
    done = run("exec", "--readings", "all", "--json", "--", *script(tmp_path, "pass"))
    assert done.status == 0
    rows = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    assert rows[0] == {"reading": None, "value": None, "status": 0}
    assert {row["status"] for row in rows} == {0}
    assert {"reading": "webhook_success", "value": "2xx", "status": 0} in rows
