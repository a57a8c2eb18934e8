"""The page of a failed test shows what happened in its world, to eyes, to a screen reader, and without a network."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.testing.test_plugin import PLUGIN, suite
from emulator.testing.failed_test_page import page

__all__ = ["suite"]

SVG = re.compile(r'<svg role="img".*?</svg>', re.S)


def drawn(sandbox: Sandbox) -> str:
    return page(sandbox.url, sandbox.key, "test_shop.py::test_<b>")


def test_money_states_renewals_and_webhooks_are_drawn_and_listed(sandbox: Sandbox) -> None:
    """Nothing comes from elsewhere, and everything is escaped."""
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}", name="<b>Shop</b>")
    subscription = sandbox.subscribe()
    sandbox.advance("32d")
    method = sandbox.method({"id": subscription["customer"]}, type="mobile_money", phone=FAILING_PHONE)
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"payment_method": method["id"]})
    sandbox.advance("40d")
    sandbox.subscribe(unit_amount=1999, currency="EUR", interval="week", trial_period_days=5)
    sandbox.advance("20d")
    text = drawn(sandbox)
    charts = SVG.findall(text)
    assert len(charts) == text.count("<caption>") == 3
    for chart in charts:
        svg = ElementTree.fromstring(chart.replace("&hellip;", "…"))
        assert (svg.get("role"), svg[0].tag, svg[1].tag) == ("img", "title", "desc")
        assert set((svg.get("aria-labelledby") or "").split()) <= {each.get("id") for each in svg.iter()}
    assert "58.23\N{NO-BREAK SPACE}EUR" in charts[0], "three weeks of 19.99, less fees"
    assert "XAF" in charts[0]
    assert {"active", "past due", "trialing"} <= set(re.findall(r"<title>([\w ]+) from \d", charts[1]))
    name = re.escape(escape(sandbox.control.get("/names", ids=subscription["id"])[subscription["id"]]))
    assert re.search(rf'<th scope="row">{name}</th><td>subscription.payment_failed</td><td>failed</td>', text)
    assert "invoice.paid: 200 (succeeded)" in charts[2]
    assert re.findall(r'(?:src|href)="(?!#)|<script|@import|url\((?!#)|<b>', text) == []
    assert "&lt;b&gt;Shop&lt;/b&gt;" in text


def test_it_begins_with_what_failed(sandbox: Sandbox) -> None:
    assert "No money moved." in drawn(sandbox)
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key[8:]}")
    sandbox.inbox_answers("shop", status=400)
    sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("10d")
    began = " ".join(drawn(sandbox).partition("<h2>")[0].split())
    failed = r"1 subscription is past due or unpaid\. \d+ attempts of webhook deliveries failed\."
    assert re.search(rf"The ledger is balanced\. {failed}</p>", began)


SUITE = """
    import pytest

    @pytest.fixture
    def renewed(payments):
        payments.subscription(customer=payments.customer(name="Awa"))
        payments.clock.advance("31d")

    def test_renewal(renewed):
        pass

    @pytest.mark.parametrize("text", ["<b>"])
    def test_of_the_shop(renewed, text):
        assert text == "<i>"

    def test_setup(payments, no_such_fixture):
        pass
"""


@pytest.mark.long
def test_a_failed_test_names_its_page(suite: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page calls a subscription by its customer, and passed tests are not drawn."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    suite.makepyfile(test_shop=SUITE)
    # In a process of its own: a run inside this one would forget modules that later tests need.
    result = suite.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1, failed=1, errors=1)
    drawn = sorted(tmp_path.glob("payments-report-*/*.html"))
    assert [file.name.partition("-")[2] for file in drawn] == ["test-of-the-shop-b.html", "test-setup.html"]
    assert [file for file in drawn if str(file) not in result.outlines] == []
    text = drawn[0].read_text("utf-8")
    why, events, plots = map(text.index, ("&lt;b&gt;&#39; == &#39;&lt;i&gt;", "subscription.created", "<svg role"))
    assert why < events < plots, "first why, then what happened, then what it looks like"
    assert ">test_shop.py::test_of_the_shop[&lt;b&gt;]</h1>" in text
    assert "Awa · " in text
    assert not re.search(r">sub_\w{24}<", text)
