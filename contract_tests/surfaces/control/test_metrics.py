"""Metrics for Prometheus."""

from __future__ import annotations

import re

from contract_tests.support.sandbox import Sandbox

SAMPLE = re.compile(r"payments_emulator_(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>-?[0-9.e+]+)")


def metrics(sandbox: Sandbox) -> dict[str, float]:
    """Return the values by name and labels, those of the App left out; every line must have the format's form."""
    response = sandbox.control.request("GET", "/metrics")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.text.endswith("\n")
    values = {}
    for line in response.text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) payments_emulator_[a-z_]+ .+", line)
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        labels = re.sub(r'(app|mode)="[^"]*",?', "", sample["labels"] or "")
        values[f"{sample['name']}{labels}"] = float(sample["value"])
    return values


def test_metrics_follow_what_happens(sandbox: Sandbox) -> None:
    before = metrics(sandbox)
    assert before["ledger_balanced"] == 1
    assert before.get('objectskind="customer"', 0) == 0
    sandbox.subscribe()
    sandbox.api.request("GET", "/customers/cust_missing/")
    sandbox.advance("1d")
    after = metrics(sandbox)
    for name in ('objectskind="customer"', 'subscriptionsstatus="active"', 'invoicesstatus="paid"'):
        assert after[name] == 1
    assert after['requests_totalstatus="404"'] == 1
    assert after["changes_total"] > before["changes_total"]
    assert after["jobs"] >= 1
    assert after["clock_seconds"] - before["clock_seconds"] == 86400
    assert after["clock_lag_seconds"] == 0
