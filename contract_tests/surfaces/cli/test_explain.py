"""An object explained on the command line: how it stands in a sentence, then what led there, with repeats counted."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, RunningServer, Sandbox
from contract_tests.surfaces.cli.conftest import Cli
from contract_tests.surfaces.cli.terminal import run
from emulator.cli.ledger import balance


@pytest.fixture
def unpaid(sandbox: Sandbox) -> str:
    """A subscription whose charges all failed."""
    id = sandbox.subscribe(FAILING_PHONE)["id"]
    sandbox.advance("40d")
    return str(id)


def test_the_sentence_stands_first_and_is_that_of_the_console(
    cli: Cli, sandbox: Sandbox, unpaid: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = cli("explain", unpaid).lines
    found = sandbox.control.get(f"/explain/{unpaid}")
    name, summary = (found[field].replace("\N{NO-BREAK SPACE}", " ") for field in ("name", "summary"))
    assert lines[:2] == [name, f"subscription {unpaid}, unpaid"]
    assert summary in " ".join(lines[2:7])
    assert "5 charges" in found["summary"]
    assert "There is no object" in cli("explain", "sub_0").errors
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, cli("explain", unpaid, "--all").lines)) <= 60


def test_repeats_are_one_episode_with_a_count(cli: Cli, unpaid: str) -> None:
    lines = cli("explain", unpaid).lines
    (repeated,) = [number for number, line in enumerate(lines) if line.endswith("× 3")]
    assert lines[repeated] == "2026-01-02T00:00:00Z to 2026-01-06T00:00:00Z  × 3"
    lanes = [line.split()[0] for line in lines[repeated + 1 : repeated + 6]]
    assert lanes == ["clock", "money", "money", "webhooks", "emails"]


def test_a_cause_is_one_line(cli: Cli, sandbox: Sandbox) -> None:
    """An event that was delivered is its delivery; a status that stayed is said with the cause of the failure alone."""
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    unpaid = sandbox.subscribe(FAILING_PHONE)["id"]
    sandbox.advance("40d")
    lines = cli("explain", unpaid, "--all").lines
    sent = [line for line in lines if "  webhooks  subscription.payment_failed" in line]
    assert len(sent) == 3
    assert all("delivered to" in line or line.endswith(": 200") for line in sent)
    states = [line.partition("  money     ")[2] for line in lines if " by `" in line]
    assert states == [
        "created as active by `start`",
        "active → past_due by `fail` (INSUFFICIENT_FUNDS)",
        "past_due → past_due by `fail` (INSUFFICIENT_FUNDS)",
        "past_due → unpaid by `give up` (INSUFFICIENT_FUNDS)",
    ]


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


# -- The ledger on the command line: where the money is, and an exit status that says whether it adds up


@pytest.fixture
def deposit(sandbox: Sandbox) -> Any:
    return sandbox.deposit()


def test_totals_entries_and_the_verdict(cli: Cli, sandbox: Sandbox) -> None:
    """An entry names whose money it is before any id; what was set directly has its account."""
    deposit = sandbox.deposit()
    lines = cli("ledger").lines
    assert [line.split() for line in lines[:2]] == [["buyers", "−5,000", "XAF"], ["merchant", "4,855", "XAF"]]
    assert f"POST /v1/payment-intents/{deposit['payment_intent']}/confirm/" in " ".join(lines)
    assert lines[-1] == "Balanced."
    name = sandbox.api.get(f"/customers/{deposit['customer']}/")["firstname"]
    spent, *_ = (line for line in lines if "  spending  " in line)
    assert spent.index(name) < spent.index(deposit["payment_intent"]) < spent.index(deposit["customer"])
    (ledger,) = cli("ledger", "--object", deposit["id"], "--json").objects
    assert {each["object"] for each in ledger["entries"]["data"]} == {deposit["id"]}
    assert cli("ledger", "--currency", "EUR").lines == ["Balanced."]
    sandbox.control.patch(f"/objects/{deposit['id']}", {"amount": 99})
    lines = cli("ledger").lines
    assert (lines[4].split(), lines[-1]) == (["set_directly", "−4,901", "XAF"], "Balanced.")
    sandbox.pay(amount=52122, currency="EUR")
    lines = cli("ledger", "--currency", "EUR").lines
    assert lines[0].split() == ["buyers", "−521.22", "EUR"]
    assert any("  +506.10 EUR  merchant " in line for line in lines)


def test_what_broke_the_balance_is_a_line() -> None:
    cause = {"id": "job_3", "summary": "job subscription.retry of sub_1 ran"}
    earlier = {"id": "req_1", "summary": "POST /_emulator/invoices/inv_1/pay"}
    broken = {
        "account": "payments of inv_1",
        "amount": 5000,
        "currency": "XAF",
        "at": "2026-01-15T09:30:00.000Z",
        "cause": cause,
        "earlier": earlier,
    }
    lines = balance({"balanced": False, "entries": {"data": []}, "broken_by": [broken]}).splitlines()
    assert lines[0].startswith("2026-01-15T09:30:00Z  payments of inv_1 is off by 5,000 XAF: job subscription.retry")
    assert lines[0].endswith("(job_3); before it POST /_emulator/invoices/inv_1/pay")
    assert lines[-1].endswith("Not balanced.\x1b[0m")


# -- ``payments-emulator health``: an exit status for containers and scripts


def test_it_asks_this_machine_at_the_port_of_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container; a proxy that Docker injects is not asked, and no control token is needed."""
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with RunningServer(control_token="s3cret") as server:
        monkeypatch.setenv("PAYMENTS_EMULATOR_PORT", str(server.server.port))
        (line,) = run("health").lines
    assert line.startswith("ok: version ")
    assert "--url" in run("health", "--url", "ftp://shop").usage_error


def test_it_fails_where_nothing_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ended = run("health", "--url", url, "--timeout", "0.2")
    assert (ended.status, ended.output, ended.errors.count("\n")) == (1, "", 1)
    assert run("health", "--url", url).status == 1


# -- The help of the program lists its commands without importing any


IMPORTED = {
    *("emulator", "emulator.cli", "emulator.cli.groups", "emulator.cli.main", "emulator.cli.options"),
    *("emulator.cli.output", "emulator.core", "emulator.core.event_types", "emulator.version"),
}
"""What the help needs of this package; of others it needs click alone."""


def test_the_help_imports_no_command() -> None:
    script = (
        "import sys; before = set(sys.modules)\n"
        "from emulator.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print(sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(eval(done.stderr)) - set(sys.stdlib_module_names)
    foreign = {name.partition(".")[0] for name in modules if not name.startswith("emulator")} - sys.stdlib_module_names
    assert foreign == {"click"}
    assert {name for name in modules if name.startswith("emulator")} == IMPORTED
    assert "compare" in done.stdout
