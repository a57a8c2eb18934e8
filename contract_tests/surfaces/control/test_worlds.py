"""Worlds: their Apps and settings (B-90), what no other one shows, resets, and metrics."""

from __future__ import annotations

import re
from typing import Any

from contract_tests.support.sandbox import START, Sandbox
from contract_tests.support.settings import OF_SETTINGS, SHOWN

LISTS = (
    *("events", "emails", "requests", "faults", "outcomes", "snapshots", "inboxes", "inbox/shop", "schedule"),
    "objects?kind=customer",
)


def held(sandbox: Sandbox) -> dict[str, int]:
    """How many there are in each list."""
    return {path: sandbox.control.get(f"/{path}")["pagination"]["count"] for path in LISTS}


def test_no_other_world_shows_what_one_holds(sandbox: Sandbox, other_world: Sandbox, live: Sandbox) -> None:
    """B-01, B-02: nor is it met by what is arranged there. What is arranged and received is no object (B-07)."""
    app = sandbox.key.removeprefix("sk_test_")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}")
    sandbox.subscribe(phone=None)
    sandbox.control.post("/snapshots", {"name": "saved"})
    sandbox.control.post("/faults", {"then": {"code": "DATABASE_ERROR"}, "match": {"path": "/customers/"}})
    sandbox.control.post("/outcomes", {"operation": "payment", "result": "failed"})
    email = sandbox.control.get("/emails")["data"][0]["id"]
    advance = sandbox.control.post("/clock/advance", {"by": "1d"}, Prefer="respond-async")["id"]
    sandbox.settle()
    assert min(held(sandbox).values()) >= 1
    for other in (other_world, live):
        assert set(held(other).values()) == {0}
        for path in (f"/emails/{email}", f"/clock/advances/{advance}", "/snapshots/saved"):
            sandbox.control.get(path)
            other.control.rejected("GET", path, 404, "NOT_FOUND")
        assert other.control.get("/coverage")["request_count"] == 0
        assert other.api.http.get("/customers/").status_code == 200
        assert other.now == START
        other.control.post("/reset")
    sandbox.api.post("/reset")
    left = {path for path, count in held(sandbox).items() if count}
    assert left == {"requests", "snapshots", "inboxes", "inbox/shop"}
    other_world.subscribe(phone=None)
    assert other_world.api.post("/reset")["deleted"] == len(("customer", "plan", "subscription", "invoice"))


# -- a reset by the tester: settings and clock included


def everything(sandbox: Sandbox) -> Any:
    sandbox.control.post("/snapshots", {"name": "look"})
    return sandbox.control.get("/snapshots/look")


def test_a_world_is_as_it_was_at_the_very_beginning(sandbox: Sandbox) -> None:
    """Ids begin again as well (B-93). Journal and inboxes are empty; snapshots stay."""
    before = everything(sandbox)
    first = sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "saved"})
    sandbox.control.http.post("/inbox/shop", json={})
    sandbox.settings(tax_rate=18)
    sandbox.control.post("/clock/run")
    sandbox.subscribe()
    sandbox.control.post("/outcomes", {"operation": "payment", "result": "failed"})
    sandbox.advance("40d")
    answer = sandbox.control.post("/reset")
    own = sandbox.control.get("/app")
    assert answer == {"object": "reset", "app": own["id"], "settings": own["settings"], "now": START, "mode": "frozen"}
    assert own["settings"]["tax_rate"] == 0
    clock = sandbox.control.get("/clock")
    assert (clock["now"], clock["mode"], clock["pending"]) == (START, "frozen", 0)
    assert [row["operation"] for row in sandbox.control.get("/requests")["data"]] == ["resetWorld"]
    sandbox.control.rejected("POST", "/rewind", 422, "INVALID_FIELD", json={"steps": 1})
    assert sandbox.control.get("/inbox/shop")["data"] == []
    assert everything(sandbox) == before
    assert sandbox.customer() == first
    sandbox.control.post("/snapshots/saved/restore")
    assert sandbox.api.get("/customers/")["data"] == [first]


def test_a_reset_says_how_the_world_starts(sandbox: Sandbox) -> None:
    """Fixtures come on top of the server's, as in files: those of every App, then those of this one."""
    made = []
    for seed in (41, 42, 41):
        sandbox.control.post("/reset", {"seed": seed})
        made.append(sandbox.customer())
    assert (made[0] == made[2], made[0]["id"] != made[1]["id"]) == (True, True)
    at = sandbox.control.post("/reset", {"clock": "frozen@2020-02-29T12:00:00+02:00"})
    assert (at["mode"], at["now"]) == ("frozen", "2020-02-29T10:00:00.000Z")
    assert sandbox.control.post("/reset", {"clock": "running"})["mode"] == "running"
    name = sandbox.key.removeprefix("sk_test_")
    apps = {name: {"settings": {"pricing_plan": "starter"}}, "other": {"settings": {"tax_rate": 1}}}
    body = {"fixtures": {"settings": {"tax_rate": 18, "pricing_plan": "business"}, "apps": apps}}
    settings = sandbox.control.post("/reset", body)["settings"]
    assert (settings["tax_rate"], settings["pricing_plan"]) == (18, "starter")
    for param, wrong in (("clock", "frozen@noon"), ("seed", "7"), ("fixtures", {"keys": ["sk_test_shop"]})):
        error = sandbox.control.rejected("POST", "/reset", 422, "INVALID_FIELD", json={param: wrong})
        assert (error["param"], sandbox.control.get("/app")["settings"]) == (param, settings)
    assert sandbox.control.post("/reset")["settings"]["tax_rate"] == 0


# -- metrics for Prometheus

SAMPLE = re.compile(r"payments_emulator_(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>-?[0-9.e+]+)")


def metrics(sandbox: Sandbox) -> dict[str, float]:
    """Return the values by name and labels, those of the App left out; every line must have the format's form."""
    response = sandbox.control.request("GET", "/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert response.text.endswith("\n")
    values = {}
    for line in response.text.splitlines():
        sample = SAMPLE.fullmatch(line)
        assert sample or re.fullmatch(r"# (HELP|TYPE) payments_emulator_[a-z_]+ .+", line), line
        if sample:
            labels = re.sub(r'(app|mode)="[^"]*",?', "", sample["labels"] or "")
            values[f"{sample['name']}{labels}"] = float(sample["value"])
    return values


def test_metrics_follow_what_happens(sandbox: Sandbox) -> None:
    before = metrics(sandbox)
    assert (before["ledger_balanced"], before.get('objectskind="customer"', 0)) == (1, 0)
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


# -- the App and its settings

OTHERS: dict[str, Any] = {
    "main_currency": "EUR",
    "currencies": ["XAF", "GBP"],
    "countries": ["FR"],
    "pricing_plan": "enterprise",
    "commission_rate": 1.5,
    "tax_rate": 19.25,
    "minimum_amount": 0,
    "maximum_amount": 1000,
    "error_shape": "flat",
    "unknown_fields": "ignore",
    "rate_limit": {"per_second": 100.5, "burst": 100},
    "concurrency_limit": 1,
    "renewal_retry_days": [],
    "reactivation_days": 0,
    "operator_delay": 2.5,
    "confirmation_timeout": 86400,
    "mobile_money": "handset",
    "refund_timing": "instant",
    "refund_review": True,
    "refund_expiry_days": 1,
    "webhook_http": "never",
    "trusted_proxies": [],
    "merchant": dict.fromkeys(("email", "phone", "logo"))
    | {"name": "Okoumé", "address": ["BP 7"], "tax_number": "GA-1"},
    "assumptions": {**SHOWN["assumptions"], "webhook_success": "2xx", "past_due_periods": "charged"},
}


def settings(sandbox: Sandbox) -> Any:
    return sandbox.control.get("/app")["settings"]


def test_an_app_starts_with_the_documented_settings_and_each_can_be_changed_alone(sandbox: Sandbox) -> None:
    app = sandbox.control.get("/app")
    assert app["settings"] == SHOWN
    assert (app["key"], app["livemode"], app["id"]) == (sandbox.key, False, sandbox.customer()["app"])
    assert OTHERS.keys() == SHOWN.keys()
    for name, value in OTHERS.items():
        expected = {**SHOWN, name: value}
        if name in OF_SETTINGS:
            expected["assumptions"] = {**SHOWN["assumptions"], name: value}
        assert expected != SHOWN
        changed = sandbox.control.patch("/app", {"settings": {name: value}})["settings"]
        assert changed == settings(sandbox) == expected
        assert sandbox.control.patch("/app", {"settings": {name: SHOWN[name]}})["settings"] == SHOWN


def test_a_wrong_name_or_value_is_rejected_and_nothing_changes(sandbox: Sandbox) -> None:
    """Also within a setting that may be null."""
    before = settings(sandbox)
    for wrong, says in (
        ({"main_currency": "GBP"}, "main_currency"),
        ({"currencies": ["XAF", "ABC"]}, "currencies"),
        ({"countries": ["Gabon"]}, "countries"),
        ({"renewal_retry_days": [0]}, "renewal_retry_days"),
        ({"confirmation_timeout": 86401}, "confirmation_timeout"),
        ({"assumptions": {"payment_received": "never"}}, "payment_received"),
        ({"assumptions": {"no_such_assumption": "any"}}, "no_such_assumption"),
        ({"no_such_setting": 1}, "no_such_setting"),
        ({"merchant": {"address": "BP 7"}}, "settings.merchant.address: must be an array"),
        ({"rate_limit": {"per_second": "a", "burst": 1}}, "settings.rate_limit.per_second: must be a number"),
        ({"rate_limit": "50, 100"}, "settings.rate_limit: must be null or an object"),
    ):
        answer = sandbox.control.request("PATCH", "/app", json={"settings": {"tax_rate": 18, **wrong}})
        assert (answer.status_code, says in answer.json()["message"]) == (422, True), wrong
        assert settings(sandbox) == before


def test_what_is_not_sent_stays_as_it_is(sandbox: Sandbox, live: Sandbox) -> None:
    """B-99: a change of one assumption is merged with the others. B-02, B-07, B-21: the live side has settings of its
    own, and they survive a reset of the data.
    """
    before = settings(sandbox)
    own = {"payment_received": "transaction", "success_url": "required"}
    for name, value in own.items():
        sandbox.settings(assumptions={name: value})
    sandbox.api.post("/reset")
    assert sandbox.control.patch("/app", {})["settings"] == settings(sandbox)
    assert settings(sandbox) == {**before, "assumptions": {**before["assumptions"], **own}}
    assert (live.control.get("/app")["livemode"], settings(live)) == (True, before)
