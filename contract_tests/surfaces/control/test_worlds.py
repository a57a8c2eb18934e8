"""Worlds: settings (B-90), their walls, resets, metrics; whole worlds' snapshots, also shared."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tinydb import Query, TinyDB

from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import FAILING_PHONE, START, Sandbox
from contract_tests.support.settings import OF_SETTINGS, SHOWN
from emulator.core.limits import SNAPSHOTS

LISTS = (
    *(
        "events",
        "emails",
        "requests",
        "faults",
        "outcomes",
        "snapshots",
        "inboxes",
        "inbox/shop",
        "schedule",
    ),
    "objects?kind=customer",
)


def held(sandbox: Sandbox) -> dict[str, int]:
    return {path: sandbox.control.get(f"/{path}")["pagination"]["count"] for path in LISTS}


def test_no_other_world_shows_what_one_holds(
    sandbox: Sandbox, other_world: Sandbox, live: Sandbox
) -> None:
    """B-01, B-02: nor do arrangements reach it. Those and received things do not count (B-07)."""
    app = sandbox.key.removeprefix("sk_test_")
    sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}")
    sandbox.subscribe(phone=None)
    sandbox.control.post("/snapshots", {"name": "saved"})
    sandbox.control.post(
        "/faults", {"then": {"code": "DATABASE_ERROR"}, "match": {"path": "/customers/"}}
    )
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
    other_world.control.post("/outcomes", {"operation": "refund", "result": "failed"})
    other_world.control.post("/faults", {"then": {"hold_ms": 1}, "match": {"path": "/refunds/"}})
    other_world.subscribe(phone=None)
    assert other_world.api.post("/reset")["deleted"] == len(
        ("customer", "plan", "subscription", "invoice")
    )


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
    response = sandbox.control.post("/reset")
    own = sandbox.control.get("/app")
    assert response == {
        "object": "reset",
        "app": own["id"],
        "settings": own["settings"],
        "now": START,
        "mode": "frozen",
    }
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
    """Fixtures come on top of the server's, as in files: every App's, then this one's."""
    made = []
    for seed in (41, 42, 41):
        sandbox.control.post("/reset", {"seed": seed})
        made.append(sandbox.customer())
    assert (made[0] == made[2], made[0]["id"] != made[1]["id"]) == (True, True)
    at = sandbox.control.post("/reset", {"clock": "frozen@2020-02-29T12:00:00+02:00"})
    assert (at["mode"], at["now"]) == ("frozen", "2020-02-29T10:00:00.000Z")
    last = "9999-12-31T23:59:59.998Z"
    assert sandbox.control.post("/reset", {"clock": f"frozen@{last}"})["now"] == last
    assert sandbox.control.post("/reset", {"clock": "running"})["mode"] == "running"
    name = sandbox.key.removeprefix("sk_test_")
    apps = {name: {"settings": {"pricing_plan": "starter"}}, "other": {"settings": {"tax_rate": 1}}}
    body = {"fixtures": {"settings": {"tax_rate": 18, "pricing_plan": "business"}, "apps": apps}}
    settings = sandbox.control.post("/reset", body)["settings"]
    assert (settings["tax_rate"], settings["pricing_plan"]) == (18, "starter")
    clocks = (
        "frozen@noon",
        "frozen@2026-W20",
        "frozen@20260102",
        "frozen@9999-12-31T23:59:59.999Z",
    )
    starts = [("clock", text) for text in clocks]
    for param, wrong in (*starts, ("seed", "7"), ("fixtures", {"keys": ["sk_test_shop"]})):
        error = sandbox.control.rejected(
            "POST", "/reset", 422, "INVALID_FIELD", json={param: wrong}
        )
        assert (error["param"], sandbox.control.get("/app")["settings"]) == (param, settings)
    assert sandbox.control.post("/reset")["settings"]["tax_rate"] == 0


@pytest.mark.parametrize(
    ("fixtures", "param"),
    [
        ({"settings": {"tax_rate": "x"}}, "fixtures.settings.tax_rate"),
        ({"settings": {"mobile_money": "x"}}, "fixtures.settings.mobile_money"),
        ({"settings": {"assumptions": {"metadata_values": 1}}}, "fixtures.settings.assumptions."),
        ({"settings": {"strange": 1}}, "fixtures.settings.strange"),
        ({"settings": 1}, "fixtures.settings"),
        ({"apps": {"shop": {"settings": {"tax_rate": -1}}}}, "fixtures.apps.shop.settings.tax"),
        ({"apps": {"shop": {"strange": 1}}}, "fixtures.apps.shop.strange"),
        ({"strange": 1}, "fixtures.strange"),
    ],
    ids=str,
)
def test_a_wrong_fixture_of_a_reset_is_refused_in_words_of_the_document(
    sandbox: Sandbox, fixtures: dict[str, Any], param: str
) -> None:
    """As a wrong setting is: no text of a library."""
    error = sandbox.control.rejected(
        "POST", "/reset", 422, "INVALID_FIELD", json={"fixtures": fixtures}
    )
    assert error["param"].startswith(param)
    assert "`" not in error["message"]


SAMPLE = re.compile(
    r"payments_emulator_(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>-?[0-9.e+]+)"
)


def metrics(sandbox: Sandbox) -> dict[str, float]:
    """Return values by name and labels without the App; every line must have the right format."""
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


OTHERS: dict[str, Any] = {
    "main_currency": "EUR",
    "currencies": ["XAF", "GBP"],
    "countries": ["FR"],
    "pricing_plan": "enterprise",
    "commission_rate": 1.5,
    "tax_rate": 19.25,
    "minimum_amount": 1,
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
    "assumptions": {
        **SHOWN["assumptions"],
        "webhook_success": "2xx",
        "past_due_periods": "charged",
    },
}


def settings(sandbox: Sandbox) -> Any:
    return sandbox.control.get("/app")["settings"]


def test_an_app_starts_with_the_documented_settings(
    sandbox: Sandbox,
) -> None:
    app = sandbox.control.get("/app")
    assert app["settings"] == SHOWN
    assert (app["key"], app["livemode"], app["id"]) == (
        sandbox.key,
        False,
        sandbox.customer()["app"],
    )


def test_each_setting_can_be_changed_alone(
    sandbox: Sandbox,
) -> None:
    assert OTHERS.keys() == SHOWN.keys()
    for name, value in OTHERS.items():
        expected = {**SHOWN, name: value}
        if name in OF_SETTINGS:
            expected["assumptions"] = {**SHOWN["assumptions"], name: value}
        assert expected != SHOWN
        changed = sandbox.control.patch("/app", {"settings": {name: value}})["settings"]
        assert changed == settings(sandbox) == expected
        assert sandbox.control.patch("/app", {"settings": {name: SHOWN[name]}})["settings"] == SHOWN


def test_a_wrong_setting_is_rejected_without_any_change(sandbox: Sandbox) -> None:
    """Also within a setting that may be null."""
    before = settings(sandbox)
    for wrong, says in (
        ({"main_currency": "GBP"}, "main_currency"),
        ({"currencies": ["XAF", "ABC"]}, "currencies"),
        ({"countries": ["Gabon"]}, "countries"),
        ({"renewal_retry_days": [0]}, "renewal_retry_days"),
        ({"renewal_retry_days": [1, 1]}, "renewal_retry_days"),
        ({"confirmation_timeout": 86401}, "confirmation_timeout"),
        ({"assumptions": {"payment_received": "never"}}, "payment_received"),
        ({"assumptions": {"no_such_assumption": "any"}}, "no_such_assumption"),
        ({"no_such_setting": 1}, "no_such_setting"),
        ({"merchant": {"address": "BP 7"}}, "settings.merchant.address: must be an array"),
        (
            {"rate_limit": {"per_second": "a", "burst": 1}},
            "settings.rate_limit.per_second: must be a number",
        ),
        ({"rate_limit": "50, 100"}, "settings.rate_limit: must be null or an object"),
    ):
        response = sandbox.control.request(
            "PATCH", "/app", json={"settings": {"tax_rate": 18, **wrong}}
        )
        assert (response.status_code, says in response.json()["message"]) == (422, True), wrong
        assert settings(sandbox) == before


def test_all_faults_of_settings_are_reported_by_their_paths(sandbox: Sandbox) -> None:
    """B-12: those of form and of the rules alike, so that any two are told together."""
    faults: dict[str, Any] = {
        "main_currency": "GBP",
        "renewal_retry_days": [3, 1],
        "trusted_proxies.1": ["127.0.0.1", "x"],
        "merchant.logo": {"logo": "x"},
        "tax_rate": 101,
        "assumptions.success_url": {"success_url": "never"},
        "no_such_setting": 1,
    }
    for paths in [[path] for path in faults] + [*map(list, combinations(faults, 2))]:
        body = {"settings": {path.partition(".")[0]: faults[path] for path in paths}}
        code = "INVALID_FIELD" if len(paths) == 1 else "VALIDATION_ERROR"
        error = sandbox.control.rejected("PATCH", "/app", 422, code, json=body)
        assert error["errors"].keys() == {f"settings.{path}" for path in paths}


def test_what_is_not_sent_stays_as_it_is(sandbox: Sandbox, live: Sandbox) -> None:
    """B-99: a change of one assumption is merged with the others.

    B-02, B-07, B-21: the live side has settings of its own, and they survive a reset of the data.
    """
    before = settings(sandbox)
    own = {"payment_received": "transaction", "success_url": "required"}
    for name, value in own.items():
        sandbox.settings(assumptions={name: value})
    sandbox.api.post("/reset")
    assert sandbox.control.patch("/app", {})["settings"] == settings(sandbox)
    assert settings(sandbox) == {**before, "assumptions": {**before["assumptions"], **own}}
    assert (live.control.get("/app")["livemode"], settings(live)) == (True, before)


# -- snapshots: restored, exported, brought into another world, and shared


def saved(sandbox: Sandbox, **query: str) -> Any:
    sandbox.control.post("/snapshots", {"name": "saved"})
    return sandbox.control.get("/snapshots/saved", **query)


def bring(sandbox: Sandbox, name: str, exported: Any) -> Any:
    return sandbox.control.request("PUT", f"/snapshots/{name}", json=exported)


def test_a_snapshot_replaces_one_of_its_name(sandbox: Sandbox) -> None:
    response = sandbox.control.request("POST", "/snapshots", json={"name": "a"})
    assert (response.status_code, response.json()["name"]) == (201, "a")
    sandbox.control.post("/snapshots", {"name": "b"})
    sandbox.customer()
    sandbox.control.post("/snapshots", {"name": "a"})
    assert [(row["name"], row["objects"]) for row in sandbox.control.get("/snapshots")["data"]] == [
        ("a", 1),
        ("b", 0),
    ]


def test_a_world_with_all_its_snapshots_saves_one_of_them_again(sandbox: Sandbox) -> None:
    for number in range(SNAPSHOTS.most):
        sandbox.control.post("/snapshots", {"name": f"save-{number}"})
    sandbox.customer()
    sandbox.control.rejected("POST", "/snapshots", 422, "INVALID_FIELD", json={"name": "more"})
    assert sandbox.control.post("/snapshots", {"name": "save-7"})["objects"] == 1


def test_a_deleted_snapshot_is_no_longer_listed(sandbox: Sandbox) -> None:
    for name in ("a", "b"):
        sandbox.control.post("/snapshots", {"name": name})
    assert sandbox.control.delete("/snapshots/b") is None
    assert [row["name"] for row in sandbox.control.get("/snapshots")["data"]] == ["a"]


def test_a_wrong_name_of_a_snapshot_is_rejected(sandbox: Sandbox) -> None:
    for name in ("", "a b", "x" * 65, "../a", ".", ".."):
        assert (
            sandbox.control.request("POST", "/snapshots", json={"name": name}).status_code == 422
        ), name


def test_a_restored_or_exported_world_is_the_one_that_was_saved(
    sandbox: Sandbox, other_world: Sandbox
) -> None:
    """Clock, jobs, events, idempotency responses, counters: the future is the same (B-93)."""
    subscription = sandbox.subscribe()
    body = {"email": "once@example.com", "name": "Once"}
    sandbox.api.request("POST", "/customers/", json=body, headers={"Idempotency-Key": "k"})
    exported = saved(sandbox)
    before, now = sandbox.events(), sandbox.now
    later = sandbox.advance("40d")["events"]
    invoices = sandbox.invoices("invoice_number", "created_at")
    assert bring(other_world, "saved", exported).json()["objects"] == 9
    for world in (sandbox, other_world):
        world.control.post("/snapshots/saved/restore")
        assert (world.now, world.events(), len(world.invoices("id"))) == (now, before, 1)
        replay = world.api.request(
            "POST", "/customers/", json=body, headers={"Idempotency-Key": "k"}
        )
        assert replay.headers["idempotent-replayed"] == "true"
        assert world.advance("40d")["events"] == later
        assert world.invoices("invoice_number", "created_at") == invoices
        expected = "2026-03-01T00:00:00.000Z"
        assert world.subscription(subscription["id"])["current_period_end"] == expected


def test_a_restored_clock_runs_as_it_did(sandbox: Sandbox) -> None:
    sandbox.control.post("/clock/run", {"rate": 60})
    saved(sandbox)
    sandbox.control.post("/clock/run", {"rate": 1})
    sandbox.control.post("/snapshots/saved/restore")
    clock = sandbox.control.get("/clock")
    assert (clock["mode"], clock["rate"]) == ("running", 60)


def test_an_export_is_a_file_of_tinydb(sandbox: Sandbox, tmp_path: Path) -> None:
    """Who has it can ask it anything. Of a file of several worlds its own is brought in."""
    customer = sandbox.customer()
    exported = saved(sandbox)
    file = tmp_path / "a.json"
    file.write_text(json.dumps(exported))
    with TinyDB(file) as base:
        document = base.table(f"{sandbox.key}/customer").get(Query().email == customer["email"])
    assert isinstance(document, Mapping)
    assert document["id"] == customer["id"]
    own = exported["worlds"]["1"]
    other = {**own, "key": "sk_test_other"}
    assert bring(sandbox, "b", {**exported, "worlds": {"1": other, "2": own}}).status_code == 200
    neither = {**exported, "worlds": {"1": other, "2": {**own, "key": "sk_test_another"}}}
    del neither[f"{sandbox.key}/settings"]
    assert bring(sandbox, "c", neither).status_code == 422


def own(file: Any) -> Any:
    return file["worlds"]["1"]


def row(kind: str, **fields: Any) -> Callable[[Any], Any]:
    """Change fields of a record of a kind, one that has them."""

    def spoil(file: Any) -> None:
        table = file[f"{own(file)['key']}/{kind}"]
        next(
            row for row in table.values() if fields.keys() <= row.keys() or kind != "email"
        ).update(fields)

    return spoil


NO_WORLD: dict[str, Callable[[Any], Any]] = {
    "of a newer version": lambda file: file["emulator"]["1"].update(format=3),
    "of no version": lambda file: file["emulator"].clear(),
    "without a world": lambda file: file["worlds"].clear(),
    "of a key that is none": lambda file: own(file).update(key="demo"),
    "with unknown records": lambda file: file.update({f"{own(file)['key']}/spaceship": {"1": {}}}),
    "with records of an unknown App": lambda file: file.update(
        {"sk_test_else/customer": {"1": {}}}
    ),
    "without settings": lambda file: file.pop(f"{own(file)['key']}/settings"),
    "at no instant": lambda file: own(file).update(now="noon"),
    "with a clock that goes back": lambda file: own(file).update(rate=-1),
    "with counters behind its records": lambda file: own(file)["counters"].update(draw=0),
    "of tables that are none": lambda file: file.update(snapshots=[1]),
    "with a job without a function": row("job", name="moon.landing"),
    "with a job at no instant": row("job", due="xxx"),
    "with an event of half an object": row("event", data={"object": {"object": "customer"}}),
    "with an event of a wrong object": row(
        "event", data={"object": {"object": "customer", "id": "c", "email": ["x"]}}
    ),
    "with an email in no language": row("email", language="xx"),
    "with an email without its receipt": row("email", receipt=None),
    "with a wrong email": row("customer", email=7 * "x"),
    "of a thirteenth month": row("customer", created_at="2026-13-01T00:00:00.000Z"),
}


def test_an_invalid_world_is_rejected(sandbox: Sandbox) -> None:
    """The whole file, in one line; what was saved before stays."""
    sandbox.subscribe()
    sandbox.pay()
    before = saved(sandbox)
    for why, spoil in NO_WORLD.items():
        spoil(exported := deepcopy(before))
        error = sandbox.control.request("PUT", "/snapshots/saved", json=exported)
        assert (error.status_code, error.json()["code"]) == (422, "INVALID_FIELD"), why
        assert "\n" not in error.json()["message"]
    assert sandbox.control.get("/snapshots/saved") == before


# -- shared: nothing personal or secret leaves, and what leaves can be restored and works

STREET = "12 rue du Marché"
EMAIL, PHONE = "f.ossengue@corp.example", "+24174123456"
PERSONAL = [
    *("secrettown", "Woleu-Secret", "Ferdinand", "Ossengue", STREET),
    *("BP 777", "f.ossengue", "74123456", "corp.example", "小明"),
]
"""Parts of everything personal that the world below holds."""


@pytest.fixture
def personal(sandbox: Sandbox, receiver: Receiver) -> Any:
    """A world with a person's data in as many places as possible, exported to be shared."""
    sandbox.endpoint(receiver.url)
    name = "Ferdinand Ossengue"
    note = {"note": f"{name}, {EMAIL} or {PHONE}"}
    person = {"name": name, "email": EMAIL, "phone": PHONE, "metadata": note}
    customer = sandbox.api.post("/customers/", person, **{"Idempotency-Key": "once"})["id"]
    place = {
        "line1": STREET,
        "line2": "BP 777",
        "city": "secrettown",
        "state": "Woleu-Secret",
        "country": "GA",
    }
    sandbox.api.post(f"/customers/{customer}/addresses/", {**place, "is_default": True})
    plan = sandbox.plan()["id"]
    sandbox.api.post("/subscriptions/", {"customer": customer, "plan": plan})
    failing = sandbox.customer(name="王 小明", phone=FAILING_PHONE)["id"]
    sandbox.api.post("/subscriptions/", {"customer": failing, "plan": plan})
    for email in ("someone@corp.example", "fail@x.io", "good@x.io"):
        sandbox.buy(sandbox.session(customer_email=EMAIL), {"type": "paypal", "email": email})
    sandbox.settle()
    return saved(sandbox, share="true")


def test_nothing_personal_or_secret_is_in_it(sandbox: Sandbox, personal: Any) -> None:
    """But for a magic value, which decides a payment (B-54). The same world gives the same file."""
    whole = sandbox.control.get("/snapshots/saved", share="false")
    endpoints = next(table for name, table in whole.items() if name.endswith("webhook_endpoint"))
    secrets = [*PERSONAL, "good@x.io", *(endpoint["secret"] for endpoint in endpoints.values())]
    assert [part for part in secrets if part not in json.dumps(whole, ensure_ascii=False)] == []
    text = json.dumps(personal, ensure_ascii=False)
    [response] = personal[f"{sandbox.key}/remembered_answer"].values()
    stored = b64decode(response["body"]).decode()
    assert [part for part in secrets if part in text + stored] == []
    assert "fail@x.io" in text
    assert own(personal)["seed"] != own(whole)["seed"]
    assert sandbox.control.get("/snapshots/saved", share="true") == personal


def test_an_invented_value_is_the_same_wherever_it_stands(personal: Any) -> None:
    tables = {
        name.rpartition("/")[2]: [*table.values()]
        for name, table in personal.items()
        if "/" in name
    }
    customer = next(
        customer
        for customer in tables["customer"]
        if (customer["phone"] or "").startswith("+24174")
    )
    assert customer["email"].endswith("@example.com")
    name = f"{customer['firstname']} {customer['lastname']}"
    assert customer["metadata"]["note"] == f"{name}, {customer['email']} or {customer['phone']}"
    assert [len(word) for word in name.split()] == [len("Ferdinand"), len("Ossengue")]
    assert customer["email"] in {email["to"] for email in tables["email"]}
    assert customer["email"] in {intent["customer_email"] for intent in tables["payment_intent"]}
    shapes = [
        [character.isdigit() for character in text]
        for text in (tables["address"][0]["line1"], STREET)
    ]
    assert shapes[0] == shapes[1]
    assert {
        (endpoint["secret"][:6], len(endpoint["secret"])) for endpoint in tables["webhook_endpoint"]
    } == {("whsec_", 38)}


def test_a_restored_world_goes_on_as_the_original_does(sandbox: Sandbox, personal: Any) -> None:
    """Counts, amounts and what the operator decides stay as they were."""
    lists = (
        "customers",
        "subscriptions",
        "invoices",
        "transactions",
        "payment-intents",
        "webhooks",
    )

    def shape() -> list[Any]:
        rows = [row for name in lists for row in sandbox.api.pages(f"/{name}/", page_size=100)]
        return [
            {key: row.get(key) for key in ("id", "status", "amount", "total", "created_at")}
            for row in rows
        ]

    before = shape()
    sandbox.advance("40d")
    later = [event["type"] for event in sandbox.events()]
    assert bring(sandbox, "shared", personal).status_code == 200
    sandbox.control.post("/snapshots/shared/restore")
    assert shape() == before
    sandbox.advance("40d")
    assert [event["type"] for event in sandbox.events()] == later
    assert sandbox.control.get("/ledger")["balanced"]
