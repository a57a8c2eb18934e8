"""An object explained on the command line: how it stands in a sentence, then what led there, with repeats counted."""

from __future__ import annotations

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.cli.conftest import Cli


@pytest.fixture
def unpaid(sandbox: Sandbox) -> str:
    """A subscription whose charges all failed."""
    id = sandbox.subscribe(FAILING_PHONE)["id"]
    sandbox.advance("40d")
    return str(id)


def test_the_sentence_stands_first_and_is_that_of_the_console(cli: Cli, sandbox: Sandbox, unpaid: str) -> None:
    lines = cli("explain", unpaid).lines
    found = sandbox.control.get(f"/explain/{unpaid}")
    name, summary = (found[field].replace("\N{NO-BREAK SPACE}", " ") for field in ("name", "summary"))
    assert lines[:2] == [name, f"subscription {unpaid}, unpaid"]
    assert summary in " ".join(lines[2:7])
    assert "5 charges" in found["summary"]


def test_repeats_are_one_episode_with_a_count(cli: Cli, unpaid: str) -> None:
    lines = cli("explain", unpaid).lines
    (repeated,) = [number for number, line in enumerate(lines) if line.endswith("× 3")]
    assert lines[repeated] == "2026-01-02T00:00:00Z to 2026-01-06T00:00:00Z  × 3"
    lanes = [line.split()[0] for line in lines[repeated + 1 : repeated + 6]]
    assert lanes == ["clock", "money", "money", "webhooks", "mail"]


def test_only_the_latest_are_shown_without_all(cli: Cli, sandbox: Sandbox) -> None:
    id = sandbox.customer()["id"]
    for number in range(10):
        sandbox.api.patch(
            f"/customers/{id}/", {"name": f"Awa {number}", **({"phone": "+24166000000"} if number % 2 else {})}
        )
        sandbox.control.patch(f"/objects/{id}", {"status": "blocked" if number % 2 else "active"})
    few, every = cli("explain", id).lines, cli("explain", id, "--all").lines
    assert any(line.endswith("earlier; --all shows them)") for line in few)
    assert len(every) > len(few)


def test_no_line_is_wider_than_the_terminal(cli: Cli, unpaid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, cli("explain", unpaid, "--all").lines)) <= 60


def test_as_json_it_is_the_answer_of_the_control_api(cli: Cli, sandbox: Sandbox, unpaid: str) -> None:
    assert cli("explain", unpaid, "--json").objects == [sandbox.control.get(f"/explain/{unpaid}")]


def test_an_unknown_object_is_said_to_be_unknown(cli: Cli) -> None:
    assert "There is no object" in cli("explain", "sub_0").errors
