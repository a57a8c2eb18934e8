"""An object explained on the command line: how it stands in a sentence, then what led there, with repeats counted."""

from __future__ import annotations

import re
import socket

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
    assert lines[repeated] == "2026-01-02 00:00 to 2026-01-06 00:00  × 3"
    lanes = [line.split()[0] for line in lines[repeated + 1 : repeated + 6]]
    assert lanes == ["clock", "money", "money", "webhooks", "emails"]


def test_a_cause_is_one_line_in_the_words_of_the_console(cli: Cli, sandbox: Sandbox) -> None:
    """An event that was delivered is its delivery; a status that stayed is said with the cause of the failure alone."""
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop", name="Shop")
    unpaid = sandbox.subscribe(FAILING_PHONE)["id"]
    sandbox.advance("40d")
    lines = cli("explain", unpaid, "--all").lines
    said: dict[str, list[str]] = {"money": [], "webhooks": [], "clock": [], "emails": []}
    for lane, _, text in (line.strip().partition("  ") for line in lines if line.startswith("  ")):
        said.setdefault(lane, []).append(text.strip())
    assert [text for text in said["webhooks"] if "failed" in text] == ["subscription.payment_failed → Shop  200"] * 3
    assert [text for text in said["money"] if ";" in text] == [
        "→ active; started",
        "active → past due; failed; INSUFFICIENT_FUNDS",
        "past due; failed; INSUFFICIENT_FUNDS",
        "past due → unpaid; no retry is left; INSUFFICIENT_FUNDS",
    ]
    assert {"First period is billed", "Failed charge is retried", "Subscription renews"} <= {*said["clock"]}
    assert {*said["emails"]} == {"Failed renewal"}


def test_only_the_latest_are_shown_without_all(cli: Cli, sandbox: Sandbox) -> None:
    id = sandbox.customer()["id"]
    for number in range(10):
        sandbox.api.patch(
            f"/customers/{id}/", {"name": f"Awa {number}", **({"phone": "+24166000000"} if number % 2 else {})}
        )
        sandbox.control.patch(f"/objects/{id}", {"status": "blocked" if number % 2 else "active"})
    few, every = cli("explain", id).lines, cli("explain", id, "--all").lines
    assert any(line.endswith("earlier; --all shows them") for line in few)
    assert len(every) > len(few)


# -- The ledger on the command line: where the money is, and an exit status that says whether it adds up


def test_totals_movements_and_the_verdict(cli: Cli, sandbox: Sandbox) -> None:
    """A movement of money is one line, which names whose money it is before any id; what was set directly has its account."""
    deposit = sandbox.deposit()
    lines = cli("ledger").lines
    assert [line.split() for line in lines[:2]] == [["Buyers", "−5,000", "XAF"], ["Merchant", "4,855", "XAF"]]
    (moved,) = [line for line in lines if "→" in line]
    time, books, name, id = re.split(r"\s{2,}", moved)
    assert (time, books) == ("00:00", "Buyers 5,000 → Merchant 4,855, Fees 145 XAF")
    assert (name.partition(" · ")[0], id) == ("5,000 XAF", deposit["payment_intent"])
    assert lines[-1] == "Balanced."
    sandbox.control.patch(f"/objects/{deposit['id']}", {"amount": 99})
    assert cli("ledger").lines[4].split() == ["Set", "directly", "−4,901", "XAF"]
    (ledger,) = cli("ledger", "--object", deposit["id"], "--json").objects
    assert {each["object"] for each in ledger["entries"]["data"]} == {deposit["id"]}
    assert cli("ledger", "--currency", "EUR").lines == ["Balanced."]


def test_as_many_movements_as_were_wanted_however_many_entries_they_have(cli: Cli, sandbox: Sandbox) -> None:
    for number in range(30):
        sandbox.pay(amount=1000 + number, currency="EUR")
    shown = [line for line in cli("ledger", "-n", "25").lines if "→" in line]
    assert [line.split()[2] for line in shown] == [f"{10.05 + number / 100:.2f}" for number in range(25)]


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
