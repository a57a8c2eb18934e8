"""``report``: one HTML file that shows what happened, to eyes, to a screen reader, and without a network."""

from __future__ import annotations

import re
import subprocess
import sys
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from emulator.cli.main import run

SVG = re.compile(r'<svg role="img".*?</svg>', re.S)


def drawn(sandbox: Sandbox, folder: Path, *options: str) -> str:
    run(["world", "report", "--out", str(folder / "report.html"), "--url", sandbox.url, "--key", sandbox.key, *options])
    return (folder / "report.html").read_text("utf-8")


def play(sandbox: Sandbox) -> str:
    """Return a subscription that renews, fails, and is canceled in the end; its id."""
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}", name="<b>Shop</b>")
    subscription = sandbox.subscribe()
    sandbox.advance("32d")
    method = sandbox.method({"id": subscription["customer"]}, type="mobile_money", phone=FAILING_PHONE)
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"payment_method": method["id"]})
    sandbox.advance("40d")
    sandbox.subscribe(unit_amount=1999, currency="EUR", interval="week", trial_period_days=5)
    sandbox.advance("20d")
    return str(subscription["id"])


def test_money_states_renewals_and_webhooks_are_drawn_and_listed(sandbox: Sandbox, tmp_path: Path) -> None:
    id = play(sandbox)
    text = drawn(sandbox, tmp_path)
    charts = SVG.findall(text)
    assert len(charts) == 3
    for chart in charts:
        svg = ElementTree.fromstring(chart.replace("&hellip;", "…"))
        assert svg.get("role") == "img"
        assert svg[0].tag == "title"
        assert svg[1].tag == "desc"
        ids = {each.get("id") for each in svg.iter()}
        assert set((svg.get("aria-labelledby") or "").split()) <= ids
    assert text.count("<caption>") == 3
    assert "58.23\N{NO-BREAK SPACE}EUR" in charts[0], "three weeks of 19.99, less fees"
    assert "XAF" in charts[0]
    assert {"active", "past due", "trialing"} <= set(re.findall(r"<title>([\w ]+) from \d", charts[1]))
    name = escape(sandbox.control.get("/names", ids=id)[id])
    assert re.search(
        rf'<th scope="row">{re.escape(name)}</th><td>subscription.payment_failed</td><td>failed</td>', text
    )
    assert "invoice.paid: 200 (succeeded)" in charts[2]


def test_nothing_comes_from_elsewhere_and_everything_is_escaped(sandbox: Sandbox, tmp_path: Path) -> None:
    play(sandbox)
    text = drawn(sandbox, tmp_path)
    assert re.findall(r'(?:src|href)="(?!#)|<script|@import|url\((?!#)', text) == []
    assert "<b>Shop" not in text
    assert "&lt;b&gt;Shop&lt;/b&gt;" in text


def test_a_report_in_french(sandbox: Sandbox, tmp_path: Path) -> None:
    """Its plots, tables and amounts; the states and events of the service have the names of the API."""
    play(sandbox)
    text = drawn(sandbox, tmp_path, "--language", "fr")
    assert '<html lang="fr">' in text
    assert "Ce que le marchand a reçu" in text
    assert "58,23\N{NO-BREAK SPACE}EUR" in text
    assert "subscription.payment_failed</td><td>échoué</td>" in text


def test_it_begins_with_what_failed(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}")
    sandbox.inbox_answers("shop", status=400)
    sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("10d")
    began = " ".join(drawn(sandbox, tmp_path).partition("<h2>")[0].split())
    failed = r"1 subscription is past due or unpaid\. \d+ attempts of webhook deliveries failed\."
    assert re.search(rf"The ledger is balanced\. {failed}</p>", began)


def test_a_new_world_has_a_report_too(sandbox: Sandbox, tmp_path: Path) -> None:
    text = drawn(sandbox, tmp_path)
    assert "No money moved." in text
    assert "No subscriptions." in text
    assert SVG.findall(text) == []


@pytest.mark.parametrize("status", [0, 3])
def test_exec_writes_the_report_of_its_command(tmp_path: Path, status: int) -> None:
    line = ["exec", "--report", "run.html", "--", sys.executable, "-c", f"raise SystemExit({status})"]
    done = subprocess.run([sys.executable, "-m", "emulator.cli.main", *line], cwd=tmp_path, check=False)
    assert done.returncode == status
    assert "<h1>demo</h1>" in (tmp_path / "run.html").read_text("utf-8")
