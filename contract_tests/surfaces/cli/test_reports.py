"""Commands that report: ``explain``, ``ledger``, ``health`` and ``test`` of usage."""

from __future__ import annotations

import json
import re
import socket
import sys

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, RunningServer, Sandbox
from contract_tests.surfaces.cli.conftest import Cli
from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.checks.client import SHOWN_IDS
from emulator.client.connections import Timeouts
from emulator.core.event_types import EVENTS
from emulator.document import bundles
from emulator.document.tree import operations


def test_an_object_is_explained_in_a_sentence_then_by_its_causes_with_repeats_counted(
    cli: Cli, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence is the console's. An event is its delivery; an unchanged status its cause."""
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop", name="Shop")
    unpaid = sandbox.subscribe(FAILING_PHONE)["id"]
    sandbox.advance("40d")
    lines = cli("explain", unpaid).lines
    explanation = sandbox.control.get(f"/explain/{unpaid}")
    name, summary = (
        explanation[field].replace("\N{NO-BREAK SPACE}", " ") for field in ("name", "summary")
    )
    assert lines[:2] == [name, f"subscription {unpaid}, unpaid"]
    assert summary in " ".join(lines[2:7])
    (repeated,) = [number for number, line in enumerate(lines) if line.endswith("× 3")]
    assert " ".join(lines[repeated].split()) == "2026-01-02 00:00 to 2026-01-06 00:00 × 3"
    lanes = {line.strip().partition("  ")[0] for line in cli("explain", unpaid, "--all").lines}
    assert lanes >= {"money", "webhooks", "clock", "emails"}
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, cli("explain", unpaid, "--all").lines)) <= 60
    customer = sandbox.customer()["id"]
    assert "There is no object sub_0" in cli("explain", "sub_0").errors
    for number in range(10):
        sandbox.api.patch(f"/customers/{customer}/", {"name": f"Awa {number}"})
        sandbox.control.patch(
            f"/objects/{customer}", {"status": "blocked" if number % 2 else "active"}
        )
    assert "earlier; --all shows them\n" in cli("explain", customer).output


def test_the_ledger_has_a_line_for_each_movement(cli: Cli, sandbox: Sandbox) -> None:
    """With its owner before any id; totals before, a verdict after them."""
    deposit = sandbox.deposit()
    lines = cli("ledger").lines
    assert [line.split() for line in lines[:2]] == [
        ["Buyers", "−5,000", "XAF"],
        ["Merchant", "4,855", "XAF"],
    ]
    (moved,) = [line for line in lines if "→" in line]
    time, books, name, id = re.split(r"\s{2,}", moved)
    assert (time, books) == ("00:00", "Buyers 5,000 → Merchant 4,855, Fees 145 XAF")
    assert (name.partition(" · ")[0], id) == ("5,000 XAF", deposit["payment_intent"])
    assert lines[-1] == "Balanced."


def movements(lines: list[str]) -> list[str]:
    return [line for line in lines if "→" in line]


def test_movements_of_one_instant_are_told_apart_by_their_cause(cli: Cli, sandbox: Sandbox) -> None:
    """Here by requests that read the same."""
    for amount in (1000, 2000, 3000):
        sandbox.control.post(
            "/trigger", {"event": "transaction.succeeded", "overrides": {"amount": amount}}
        )
    shown = movements(cli("ledger").lines)
    assert [re.findall("Buyers ([0-9,]+) →", line) for line in shown] == [
        ["1,000"],
        ["2,000"],
        ["3,000"],
    ]


def test_a_movement_of_an_object_is_shown_whole(cli: Cli, sandbox: Sandbox) -> None:
    """The object may only be compared with what moved: an invoice, an intent, a customer."""
    sandbox.deposit()
    invoice = sandbox.invoice()
    intent = sandbox.buy(invoice)
    for id in (invoice["id"], intent["id"], intent["customer"], intent["transaction"]):
        (moved,) = movements(cli("ledger", "--object", id).lines)
        assert "Buyers 5,000 → Merchant 4,855, Fees 145 XAF" in moved


def test_a_request_that_moves_money_there_and_back_shows_both(cli: Cli, sandbox: Sandbox) -> None:
    sandbox.control.post("/trigger", {"event": "refund.succeeded"})
    (moved,) = movements(cli("ledger").lines)
    assert "Buyers 5,000, Merchant 5,000 → Buyers 5,000, Merchant 4,855, Fees 145 XAF" in moved


def test_the_ledger_has_an_account_of_direct_changes(cli: Cli, sandbox: Sandbox) -> None:
    deposit = sandbox.deposit()
    sandbox.control.patch(f"/objects/{deposit['id']}", {"amount": 99})
    assert cli("ledger").lines[4].split() == ["Set", "directly", "4,901", "XAF"]


def test_the_ledger_is_that_of_an_object(cli: Cli, sandbox: Sandbox) -> None:
    deposit = sandbox.deposit()
    sandbox.deposit()
    (ledger,) = cli("ledger", "--object", deposit["id"], "--json").objects
    assert {entry["object"] for entry in ledger["entries"]["data"]} == {deposit["id"]}


def test_totals_without_movements_are_explained(cli: Cli, sandbox: Sandbox) -> None:
    """The journal, which has the movements, is not part of a snapshot."""
    assert cli("ledger").lines == ["Balanced."]
    sandbox.deposit()
    cli("world", "save", "paid")
    cli("world", "load", "paid")
    shown = cli("ledger")
    assert "Merchant" in shown.output
    assert shown.errors.startswith("No such movement is in the journal")


def test_the_ledger_is_that_of_a_currency(cli: Cli, sandbox: Sandbox) -> None:
    sandbox.deposit()
    assert cli("ledger", "--currency", "EUR").lines == ["Balanced."]
    for number in range(12):
        sandbox.pay(amount=1000 + number, currency="EUR")
    shown = movements(cli("ledger", "--currency", "EUR", "-n", "10").lines)
    assert len(shown) == 10, "movements, however many entries they have"


def test_health_asks_this_machine_at_the_port_of_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: no proxy of Docker's, no token. Its exit status is the verdict."""
    monkeypatch.delenv("PAYMENTS_EMULATOR_URL", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with RunningServer(control_token="s3cret") as server:
        monkeypatch.setenv("PAYMENTS_EMULATOR_PORT", str(server.server.port))
        (line,) = run("health").lines
    assert line.startswith("ok: version ")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr("emulator.cli.health.PROBE", Timeouts(5, 0.2))
        ended = run("health", "--url", url)
    assert (ended.status, ended.output, ended.errors.count("\n")) == (1, "", 1)
    assert run("health", "--url", url).status == 1


def refund_without_key(sandbox: Sandbox) -> str:
    """Make a request that the audit warns of; return its id."""
    body = {"transaction": sandbox.deposit()["id"], "amount": 100}
    return str(sandbox.api.request("POST", "/refunds/", json=body).headers["request-id"])


def test_an_audit_without_requests_exercises_no_rule(cli: Cli) -> None:
    summary, untried = cli("test", "client").lines
    assert untried.startswith("Not exercised: ignored-retry-after, unsafe-retry, ")
    assert summary.startswith(
        "0 requests checked: 0 errors, 0 warnings, 0 info; 0 rules followed, "
    )


def test_an_audit_reports_each_finding_with_its_requests(sandbox: Sandbox, cli: Cli) -> None:
    sent = [refund_without_key(sandbox)]
    count = len([*sandbox.control.pages("/requests")])
    lines = cli("test", "client").lines
    assert lines[0].startswith(f"{count} requests checked: 0 errors, 1 warning, 1 info; ")
    assert lines[1] == "1. A refund was sent without an Idempotency-Key (refund-without-key)"
    assert lines[2].split() == ["1", "x:", *sent]
    assert re.fullmatch(r"    fix: Send a new Idempotency-Key.*\(Refunds\)", lines[3])
    assert "secret-exposed" in next(line for line in lines if line.startswith("Followed: "))


def test_an_audit_fails_on_findings_that_are_severe_enough(sandbox: Sandbox, cli: Cli) -> None:
    refund_without_key(sandbox)
    for severity, status in ((), 0), (("error",), 0), (("warning",), 1), (("info",), 1):
        ended = cli(
            "test",
            "client",
            "--json",
            *(word for level in severity for word in ("--fail-on", level)),
        )
        assert (ended.status, ended.errors) == (status, ""), severity
        assert json.loads(ended.output)["broken"] == sandbox.control.get("/audit")["findings"]


def test_the_requests_of_a_finding_beyond_some_are_counted(sandbox: Sandbox, cli: Cli) -> None:
    sent = [refund_without_key(sandbox) for _ in range(SHOWN_IDS + 2)]
    assert cli("test", "client").lines[2].split()[2:] == [
        *sent[: -SHOWN_IDS - 1 : -1],
        "and",
        "2",
        "more",
    ]


SUITE = """
import os, httpx
url = os.environ["PAYMENTS_EMULATOR_URL"]
awa = {"name": "Awa", "email": "awa@example.com"}
for app in ("demo", "other"):
    key = {"Authorization": f"Bearer sk_test_{app}"}
    with httpx.Client(base_url=url, headers=key, trust_env=False) as client:
        if app == "demo":
            client.post("/v1/customers/", json=awa).raise_for_status()
        else:
            client.get("/v1/customers/").raise_for_status()
"""
"""Two tests with an App of their own each."""


def usage(*options: str, code: str = SUITE) -> Ended:
    return run("test", "suite", "--usage", *options, "--", sys.executable, "-c", code)


def test_a_group_has_its_share_with_the_parts_that_the_tests_never_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As much of it as a line holds, and the number of others. Any App's use counts."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = usage().lines
    assert lines[0] == "What the tests never used, with 2 requests:"
    names = (
        "events",
        "states",
        "moves",
        "errors",
        "operations",
        "statuses",
        "fields",
        "parameters",
    )
    assert [line.split()[0] for line in lines[1::2]] == [*names]
    there_are = len([*operations(bundles.load("service"))])
    of_operations = lines.index(
        f"operations     2 of {there_are:>3} {2000 // there_are / 10:>7.1f} %"
    )
    assert re.fullmatch(rf"  never: .*, and {there_are - 5} more", lines[of_operations + 1])
    assert max(map(len, lines)) <= 80
    (used,) = usage("--json").objects
    never = used["usage"]["groups"]["events"]["missing"]
    assert (never[0], {*never}) == ("customer.deleted", EVENTS.keys() - {"customer.created"})
    failed = usage(code="raise SystemExit(3)")
    why = "The command fails with the right service, so nothing else was tried: exit status 3"
    assert (failed.status, failed.output.startswith(why), "never used" in failed.output) == (
        1,
        True,
        False,
    )
