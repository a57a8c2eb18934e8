"""Commands that report on a world: ``explain``, ``ledger``, ``health``, ``test client`` and ``test suite --usage``."""

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


def test_an_object_is_explained_in_a_sentence_then_by_its_causes_with_repeats_counted(
    cli: Cli, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence is the console's. A delivered event is its delivery; an unchanged status has its cause alone."""
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop", name="Shop")
    unpaid = sandbox.subscribe(FAILING_PHONE)["id"]
    sandbox.advance("40d")
    lines = cli("explain", unpaid).lines
    found = sandbox.control.get(f"/explain/{unpaid}")
    name, summary = (found[field].replace("\N{NO-BREAK SPACE}", " ") for field in ("name", "summary"))
    assert lines[:2] == [name, f"subscription {unpaid}, unpaid"]
    assert summary in " ".join(lines[2:7])
    (repeated,) = [number for number, line in enumerate(lines) if line.endswith("× 3")]
    assert " ".join(lines[repeated].split()) == "2026-01-02 00:00 to 2026-01-06 00:00 × 3"
    lanes = {line.strip().partition("  ")[0] for line in cli("explain", unpaid, "--all").lines}
    assert lanes >= {"money", "webhooks", "clock", "emails"}
    assert "There is no object" in cli("explain", "sub_0").errors
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, cli("explain", unpaid, "--all").lines)) <= 60
    customer = sandbox.customer()["id"]
    for number in range(10):
        sandbox.api.patch(f"/customers/{customer}/", {"name": f"Awa {number}"})
        sandbox.control.patch(f"/objects/{customer}", {"status": "blocked" if number % 2 else "active"})
    assert any(line.endswith("earlier; --all shows them") for line in cli("explain", customer).lines)


def test_the_ledger_has_totals_movements_and_a_verdict(cli: Cli, sandbox: Sandbox) -> None:
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
    for number in range(12):
        sandbox.pay(amount=1000 + number, currency="EUR")
    shown = [line for line in cli("ledger", "--currency", "EUR", "-n", "10").lines if "→" in line]
    assert len(shown) == 10, "movements, however many entries they have"


def test_health_asks_this_machine_at_the_port_of_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container: by no proxy that Docker injects, and without a token. Its exit status is the answer."""
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


def test_an_audit_is_a_report_and_fails_on_findings_that_are_severe_enough(sandbox: Sandbox, cli: Cli) -> None:
    summary, untried = cli("test", "client").lines
    assert untried.startswith("Not exercised: ignored-retry-after, unsafe-retry, ")
    assert summary.startswith("0 requests checked: 0 errors, 0 warnings, 0 info; 0 rules followed, ")

    def careless() -> str:
        body = {"transaction": sandbox.deposit()["id"], "amount": 100}
        return str(sandbox.api.request("POST", "/refunds/", json=body).headers["request-id"])

    sent = [careless()]
    count = len([*sandbox.control.pages("/requests")])
    lines = cli("test", "client").lines
    assert lines[0].startswith(f"{count} requests checked: 0 errors, 1 warning, 1 info; ")
    assert lines[1] == "1. A refund was sent without an Idempotency-Key (refund-without-key)"
    assert lines[2].split() == ["1", "x:", *sent]
    assert re.fullmatch(r"    fix: Send a new Idempotency-Key.*\(Refunds\)", lines[3])
    assert "secret-exposed" in next(line for line in lines if line.startswith("Followed: "))
    for severity, status in ((), 0), (("error",), 0), (("warning",), 1), (("info",), 1):
        ended = cli("test", "client", "--json", *(word for each in severity for word in ("--fail-on", each)))
        assert (ended.status, ended.errors) == (status, ""), severity
        assert json.loads(ended.output)["broken"] == sandbox.control.get("/audit")["findings"]
    sent += [careless() for _ in range(SHOWN_IDS + 1)]
    assert cli("test", "client").lines[2].split()[2:] == [*sent[: -SHOWN_IDS - 1 : -1], "and", "2", "more"]


SUITE = """
import os, httpx
for app in ("demo", "other"):
    key = {"Authorization": f"Bearer sk_test_{app}"}
    with httpx.Client(base_url=os.environ["PAYMENTS_EMULATOR_URL"], headers=key, trust_env=False) as client:
        if app == "demo":
            client.post("/v1/customers/", json={"name": "Awa", "email": "awa@example.com"}).raise_for_status()
        else:
            client.get("/v1/customers/").raise_for_status()
"""
"""Two tests with an App of their own each."""


def usage(*options: str, code: str = SUITE) -> Ended:
    return run("test", "suite", "--usage", *options, "--", sys.executable, "-c", code)


def test_each_group_has_its_share_and_what_the_tests_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning of that, as much as a line holds, and how many more. What any of the Apps uses is used."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = usage().lines
    assert lines[0] == "What the tests never used, with 2 requests:"
    names = ("events", "states", "moves", "errors", "operations", "statuses", "fields", "parameters")
    assert [line.split()[0] for line in lines[1::2]] == [*names]
    assert "operations     2 of  87     2.2 %" in lines
    assert any(re.fullmatch(r"  never: .*, and 82 more", line) for line in lines)
    assert max(map(len, lines)) <= 80
    (used,) = usage("--json").objects
    never = used["usage"]["groups"]["events"]["missing"]
    assert (never[0], {*never}) == ("customer.deleted", EVENTS.keys() - {"customer.created"})
    failed = usage(code="raise SystemExit(3)")
    why = "The command fails with the right service, so nothing else was tried: exit status 3"
    assert (failed.status, failed.output.startswith(why), "never used" in failed.output) == (1, True, False)
