"""``record``: tests of past actions, in every form, which bring another world to the same end."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_tests.simulator.population import Walker
from contract_tests.surfaces.cli.terminal import Ended
from contract_tests.surfaces.cli.terminal import run as run_cli
from contract_tests.surfaces.node.__main__ import EXAMPLES, environment
from contract_tests.surfaces.recording.conftest import others
from emulator.insight.recording.renderers import FORMS
from emulator.resources.registry import REGISTRY
from emulator.testing import Emulator, LocalServer

AWA = {"email": "awa@example.com", "name": "Awa", "phone": "+24177000000"}
FAILING_PHONE = "+24177000001"
MONTHLY = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
FILES = {"pytest": "test_recorded.py", "node": "recorded.test.mjs", "curl": "recorded.sh"}
RUNNABLE = [
    pytest.param("pytest", marks=pytest.mark.long),
    pytest.param("node", marks=[pytest.mark.long, pytest.mark.needs("node")]),
    pytest.param("curl", marks=pytest.mark.needs("curl", "jq")),
]


@pytest.fixture
def payments(local_server: LocalServer) -> Iterator[Emulator]:
    """A world in which nothing was done yet."""
    with Emulator(
        key="sk_test_again", clock="2026-01-01T00:00:00Z", seed=3, server=local_server
    ) as payments:
        yield payments


Again = Callable[[str], list[str]]


@pytest.fixture
def again(local_server: LocalServer) -> Again:
    """Play a recorded pytest test here, in a world of equal start; return its events' types."""

    def call(text: str) -> list[str]:
        marker = re.search(r'@pytest.mark.payments\(clock="(.+?)", seed=(\d+)\)\n', text)
        assert marker
        script: dict[str, Any] = {}
        exec(compile(text.replace(marker[0], ""), "test_recorded.py", "exec"), script)
        with Emulator(
            key="sk_test_called", clock=marker[1], seed=int(marker[2]), server=local_server
        ) as payments:
            script["test_recorded"](payments)
            return payments.events.types

    return call


def cli(payments: Emulator, *arguments: str) -> Ended:
    return run_cli(*arguments, "--url", payments.url, "--key", payments.key)


def recorded(payments: Emulator, *options: str) -> str:
    ended = cli(payments, "record", "--as", "pytest", *options)
    assert ended.status == 0, ended.errors
    return ended.output


def refused(payments: Emulator, *options: str) -> str:
    return cli(payments, "record", *options).usage_error


def subscribed(payments: Emulator) -> str:
    """The id of a customer with a monthly subscription."""
    customer = payments.api.post("/v1/customers/", AWA)["id"]
    plan = payments.api.post("/v1/subscription-plans/", MONTHLY)["id"]
    payments.api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})
    return str(customer)


def run(form: str, file: Path, server: LocalServer) -> subprocess.CompletedProcess[str]:
    commands = {
        "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file.name],
        "node": ["node", "--test", file.name],
        "curl": ["sh", file.name],
    }
    if form == "node":
        module = file.parent / "node_modules" / "payments-emulator"
        shutil.copytree(EXAMPLES / "payments-emulator", module, dirs_exist_ok=True)
    variables = {**environment(file.parent), "PAYMENTS_EMULATOR_URL": server.url}
    return subprocess.run(
        commands[form],
        cwd=file.parent,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("form", RUNNABLE)
def test_the_story_runs_and_fails_where_no_subscription_is_renewed(
    form: str,
    played: Emulator,
    local_server: LocalServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / FILES[form]
    ended = cli(played, "record", "--as", form, "--out", str(file))
    assert (ended.status, ended.output) == (0, ""), ended
    done = run(form, file, local_server)
    assert done.returncode == 0, done.stdout + done.stderr
    # a dict it is
    monkeypatch.setitem(REGISTRY.jobs, "subscription.renew", lambda *_: None)  # type: ignore[arg-type]
    done = run(form, file, local_server)
    assert (done.returncode != 0, "subscription.payment_failed" in done.stdout + done.stderr) == (
        True,
        True,
    )


def test_settings_that_are_lists_are_lists_in_every_form(local_server: LocalServer) -> None:
    with Emulator(
        key="sk_test_lists", settings={"renewal_retry_days": [2, 4]}, server=local_server
    ) as payments:
        payments.customer()
        assert [form for form in FORMS if "[2, 4]" not in payments.recording(form)] == []


def test_ids_have_names_cards_are_test_cards_and_all_events_are_expected(
    played: Emulator, again: Again
) -> None:
    """In order."""
    text = recorded(played)
    assert "subscription = payments.api" not in text  # nothing refers to it
    for part in (
        *(
            '"customer": customer_',
            '"number": "4242424242424242"',
            '"transaction": transactions["data"][0]["id"]',
        ),
        'transactions = payments.api.get(f"/_emulator/objects?kind=transaction&related={',
        *("assert response.status_code == 409", '"subscription.payment_failed",\n    ]\n'),
    ):
        assert part in text
    again(text)
    with pytest.raises(AssertionError):
        again(text.replace('"refund.succeeded"', '"refund.failed"'))
    for form in FORMS:
        text = cli(played, "record", "--as", form).output
        assert [
            part
            for part in (
                played.key,
                "4242 4242",
                played.api.get("/v1/subscriptions/")["data"][0]["id"],
            )
            if part in text
        ] == []


def test_at_most_a_hundred_events_are_expected(payments: Emulator) -> None:
    for _ in range(100):
        payments.customer()
    assert recorded(payments).count('"customer.created",\n') == 100
    payments.customer()
    assert "customer.created" not in recorded(payments)


def test_what_a_buyer_paid_on_a_page_is_paid(payments: Emulator, again: Again) -> None:
    """By a test account for an account. The journal shows a card's last digits alone."""
    lines = [{"description": "Basket", "unit_amount": 2000}]
    session = payments.api.post("/v1/checkout-sessions/", {"currency": "XAF", "line_items": lines})
    headers = {"Accept": "application/json"}
    token = payments.client.get(session["url"], headers=headers).json()["token"]
    card = {"method": "bank_card", "number": "5200 8282 8282 8210", "expiry": "12/30", "cvc": "973"}
    form = {"token": token, "name": "Awa Diop", "email": "awa@example.com", **card}
    assert (
        payments.client.post(session["url"], headers=headers, data=form).json()["state"] == "paid"
    )
    customer = payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "Awa"})["id"]
    account = {"customer": customer, "type": "bank_transfer", "iban": "GB33BUKB20201555555555"}
    payments.api.post("/v1/payment-methods/", account)
    text = recorded(payments)
    assert '"checkout.session.completed"' in text
    requests = payments.api.get("/_emulator/requests")["data"]
    everything = str(
        [text, *(payments.api.get(f"/_emulator/requests/{request['id']}") for request in requests)]
    )
    assert [
        part
        for part in ("5200", "28282828", '"973"', "GB33BUKB20201555555555")
        if part in everything
    ] == []
    again(text)


def test_webhooks_go_to_an_inbox(payments: Emulator, again: Again) -> None:
    """A test needs no application, and disturbs none."""
    assert "There is nothing to record" in refused(payments, "--as", "pytest")
    assert payments.webhooks.secret
    (endpoint,) = payments.api.get("/v1/webhooks/")["data"]
    payments.api.post("/v1/customers/", AWA)
    text = recorded(payments)
    assert 'f"{payments.url}/_emulator/inbox/recorded"' in text
    assert endpoint["url"] not in text
    again(text)


def test_a_request_that_was_sent_twice_is_sent_twice_with_its_key(
    payments: Emulator, again: Again
) -> None:
    """Without it the second one would be another request; a key that came once says nothing."""
    for key, number in (("twice", 1), ("twice", 1), ("once", 2)):
        body = {"email": f"buyer{number}@example.com", "name": "Awa Diop"}
        payments.api.post("/v1/customers/", body, **{"Idempotency-Key": key})
    text = recorded(payments)
    assert [text.count(f'"{key}"') for key in ("twice", "once")] == [2, 0]
    assert again(text) == ["customer.created"] * 2


@pytest.mark.breaks_the_document
@pytest.mark.parametrize("then", [{"drop": "after"}, {"hang_ms": 1}], ids=str)
def test_a_fault_after_which_there_is_no_response_is_no_step(payments: Emulator, then: Any) -> None:
    payments.api.post(
        "/_emulator/faults", {"match": {"operation": "createSubscriptionPlan"}, "then": then}
    )
    payments.api.post("/v1/customers/", AWA)
    text = recorded(payments)
    assert ("/v1/customers/" in text, "faults" in text) == (True, False)


def test_what_was_done_while_the_clock_ran_is_done_again(payments: Emulator, again: Again) -> None:
    """Each request came in another second than the one before."""

    def pause() -> None:
        second = payments.clock.now[:19]
        while payments.clock.now[:19] == second:
            pass

    payments.api.post("/_emulator/clock/run", {"rate": 600})
    customer = payments.api.post("/v1/customers/", AWA)["id"]
    pause()
    plan = payments.api.post("/v1/subscription-plans/", MONTHLY)["id"]
    pause()
    payments.api.post("/v1/subscriptions/", {"customer": customer, "plan": plan})
    pause()
    payments.api.patch(f"/v1/customers/{customer}/", {"phone": FAILING_PHONE})
    payments.clock.advance("32d")
    text = recorded(payments)
    assert "subscription.payment_failed" in text
    again(text)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_walk_that_is_recorded_causes_the_same_events(
    seed: int, local_server: LocalServer, again: Again
) -> None:
    with Emulator(
        key="sk_test_walked", clock="2026-01-31T00:00:00Z", seed=7, server=local_server
    ) as payments:
        walker = Walker(payments, seed)
        for _ in range(120):
            assert walker.step() is None
        text, events = payments.recording("pytest"), payments.events.types
    assert again(text) == events


def test_what_lies_between_start_and_stop_is_recorded(payments: Emulator, again: Again) -> None:
    """A stop that writes nothing stops nothing."""
    api = payments.api
    others(payments)
    state = api.get("/_emulator/recording/state")
    assert state == {
        "is_recording": False,
        "since_request": None,
        "until_request": None,
        "request_count": 0,
    }
    started = cli(payments, "record", "--start")
    assert (started.status, started.output, "record --stop'" in started.errors) == (0, "", True)
    assert "Nothing is recorded yet" in refused(payments, "--stop", "--as", "pytest")
    api.get("/v1/customers/")
    assert "no request changed anything" in refused(payments, "--stop", "--as", "pytest")
    subscribed(payments)
    payments.clock.advance("1d")
    state = api.get("/_emulator/recording/state")
    assert (state["is_recording"], state["request_count"]) == (True, 5)
    text = recorded(payments, "--stop")
    assert api.get("/_emulator/recording/state")["is_recording"] is False
    assert ("buyer1@" in text, AWA["email"] in text) == (False, True)
    again(text)
    assert "No recording is under way" in refused(payments, "--stop", "--as", "pytest")
    assert payments.client.post("/_emulator/recording/stop").status_code == 404


def test_what_a_part_depends_on_is_in_it(payments: Emulator, again: Again) -> None:
    """Also where it only moves the clock, and where objects were changed before it."""
    others(payments)
    customer = subscribed(payments)
    payments.api.patch(f"/v1/customers/{customer}/", {"phone": FAILING_PHONE})
    payments.clock.advance("2d")
    for then in (
        lambda: payments.clock.advance("31d"),
        lambda: payments.api.patch(f"/v1/customers/{customer}/", {"name": "Other"}),
    ):
        cli(payments, "record", "--start")
        then()
        text = recorded(payments, "--stop")
        assert (FAILING_PHONE in text, "buyer1@" in text) == (True, False)
        again(text)


PAST = (
    "this world holds objects from before its journal: it was loaded, imported or read from a state"
    " file"
)


@pytest.mark.parametrize("how", ["load", "import"])
def test_what_needs_a_past_without_its_journal_is_refused(
    how: str, payments: Emulator, again: Again
) -> None:
    """It would be a test that cannot pass. What needs no past is recorded beside it."""
    api, client = payments.api, payments.client
    payments.trigger("subscription.created")
    old = api.get("/v1/subscriptions/")["data"][0]["id"]
    api.post("/_emulator/snapshots", {"name": "before"})
    if how == "import":
        snapshot = client.get("/_emulator/snapshots/before").json()
        api.post("/_emulator/reset")
        assert client.put("/_emulator/snapshots/before", json=snapshot).is_success
    api.post("/_emulator/snapshots/before/restore")
    payments.clock.advance("31d")
    assert f"No request changed anything by itself, and {PAST}" in refused(
        payments, "--as", "pytest"
    )
    subscribed(payments)
    payments.clock.advance("31d")
    assert again(recorded(payments)).count("invoice.paid") == 2
    api.patch(f"/v1/subscriptions/{old}/", {"metadata": {"a": "b"}})
    assert f"depends on {old}, and {PAST}" in refused(payments, "--as", "pytest")


def test_mistakes_are_one_line(played: Emulator) -> None:
    for options, problem in (
        ("--start --as pytest", "--start stands alone"),
        ("--stop", "No recording is under way"),
        (f"--as pytest --out {__file__}", f"{__file__} exists"),
    ):
        assert problem in refused(played, *options.split())
