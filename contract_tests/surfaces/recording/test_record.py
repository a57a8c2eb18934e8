"""``record``: tests of what was done, in every form, that run by themselves."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contract_tests.surfaces.node.__main__ import EXAMPLES, environment
from contract_tests.surfaces.recording.conftest import Played
from emulator.insight.recording.renderers import FORMS
from emulator.resources.registry import REGISTRY
from emulator.testing import Emulator, LocalServer

WITH_NODE = pytest.mark.needs("node")
WITH_JQ = pytest.mark.needs("curl", "jq")

RUNNABLE = ["pytest", pytest.param("node", marks=WITH_NODE), pytest.param("curl", marks=WITH_JQ)]


@pytest.fixture
def recorded(played: Played, tmp_path: Path) -> Callable[..., Path]:
    """Writes the story in a form."""

    def write(form: str, *arguments: str) -> Path:
        file = tmp_path / {"pytest": "test_recorded.py", "node": "recorded.test.mjs"}.get(form, f"recorded.{form}")
        ended = played.cli("record", "--as", form, "--out", str(file), *arguments)
        assert (ended.status, ended.output) == (0, ""), ended
        return file

    return write


def run(form: str, file: Path, server: LocalServer) -> subprocess.CompletedProcess[str]:
    """Runs a recorded test in a process and a folder of its own, against a server."""
    commands = {
        "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file.name],
        "node": ["node", "--test", file.name],
        "curl": ["sh", file.name],
    }
    if form == "node":
        shutil.copytree(EXAMPLES / "payments-emulator", file.parent / "node_modules" / "payments-emulator")
    variables = {**environment(file.parent), "PAYMENTS_EMULATOR_URL": server.url}
    return subprocess.run(
        commands[form], cwd=file.parent, env=variables, capture_output=True, text=True, timeout=60, check=False
    )


def call(text: str, server: LocalServer) -> list[str]:
    """Calls a recorded test for pytest in this process, in a world that starts alike; the types of its events."""
    marker = re.search(r'@pytest.mark.payments\(clock="(.+?)", seed=(\d+)\)\n', text)
    assert marker
    script: dict[str, Any] = {}
    exec(compile(text.replace(marker[0], ""), "test_recorded.py", "exec"), script)
    with Emulator(key="sk_test_called", clock=marker[1], seed=int(marker[2]), server=server) as payments:
        script["test_recorded"](payments)
        return payments.events.types


def test_the_whole_story_runs_for_pytest(recorded: Callable[..., Path], local_server: LocalServer) -> None:
    """Without an expectation all events are expected, in order."""
    text = recorded("pytest").read_text("utf-8")
    assert '"subscription.payment_failed",\n    ]\n' in text
    call(text, local_server)
    with pytest.raises(AssertionError):
        call(text.replace('"refund.succeeded"', '"refund.failed"'), local_server)


@WITH_NODE
def test_the_whole_story_runs_for_node(recorded: Callable[..., Path], local_server: LocalServer) -> None:
    done = run("node", recorded("node"), local_server)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("form", RUNNABLE)
def test_the_story_fails_where_no_subscription_is_renewed(
    form: str,
    played: Played,
    recorded: Callable[..., Path],
    local_server: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = recorded(form, "--expect", played.story.expected)
    done = run(form, file, local_server)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(file.parent / "node_modules", ignore_errors=True)
    monkeypatch.setitem(REGISTRY.jobs, "subscription.renew", lambda *_: None)  # type: ignore[arg-type]  # a dict it is
    done = run(form, file, local_server)
    assert done.returncode != 0
    assert "past_due" in done.stdout + done.stderr


def test_ids_have_names_and_cards_are_test_cards(recorded: Callable[..., Path]) -> None:
    text = recorded("pytest").read_text("utf-8")
    assert "subscription = payments.api" not in text  # nothing refers to it
    assert '"customer": customer_' in text
    assert '"number": "4242424242424242"' in text
    assert 'transactions = payments.api.get(f"/_emulator/objects?kind=transaction&related={' in text
    assert '"transaction": transactions["data"][0]["id"]' in text
    assert "assert response.status_code == 409" in text


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_and_no_id_is_in_it(form: str, played: Played, tmp_path: Path) -> None:
    ended = played.cli("record", "--as", form, "--out", str(tmp_path / "it"))
    assert ended.status == 0
    text = (tmp_path / "it").read_text("utf-8")
    assert played.payments.key not in text
    assert "4242 4242" not in text
    assert "****" not in text.replace('"last4"', "")
    assert played.story.customer not in text


def test_since_a_mark_it_has_what_that_depends_on(played: Played, local_server: LocalServer) -> None:
    with Emulator(key="sk_test_since", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        world = Played(payments, played.story)
        customer = payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "A"})
        payments.api.post("/v1/customers/", {"email": "b@example.com", "name": "B"})
        payments.clock.advance("2d")
        mark = payments.api.get("/_emulator/requests")["data"][0]["id"]
        payments.api.patch(f"/v1/customers/{customer['id']}/", {"name": "C"})
        text = world.cli("record", "--as", "pytest", "--since", mark).output
        assert [line.strip() for line in text.splitlines()[5:]][:4] == [
            '@pytest.mark.payments(clock="2026-01-01T00:00:00.000Z", seed=0)',
            "def test_recorded(payments):",
            'customer = payments.api.post("/v1/customers/", {"email": "a@example.com", "name": "A"})',
            'payments.clock.advance("2d")',
        ]
        assert "b@example.com" not in text


def test_what_a_buyer_paid_on_a_page_is_paid(local_server: LocalServer, played: Played) -> None:
    with Emulator(key="sk_test_page", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        lines = [{"description": "Basket", "unit_amount": 2000}]
        session = payments.api.post("/v1/checkout-sessions/", {"currency": "XAF", "line_items": lines})
        headers = {"Accept": "application/json"}
        token = payments.client.get(session["url"], headers=headers).json()["token"]
        card = {"method": "bank_card", "number": "4000 0000 0000 0259", "expiry": "12/30", "cvc": "123"}
        form = {"token": token, "name": "Awa Diop", "email": "awa@example.com", **card}
        assert payments.client.post(session["url"], headers=headers, data=form).json()["state"] == "paid"
        expected = f"{session['id']}.status=complete"
        text = Played(payments, played.story).cli("record", "--as", "pytest", "--expect", expected).output
        assert '"number": "4000000000000259"' in text
    call(text, local_server)


def test_webhooks_go_to_an_inbox_and_several_things_can_be_expected(local_server: LocalServer, played: Played) -> None:
    """A test needs no application, and disturbs none. A value may contain commas and equals signs."""
    with Emulator(key="sk_test_hooks", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        world = Played(payments, played.story)
        assert "There is nothing to record" in world.cli("record", "--as", "pytest").usage_error
        assert world.cli("record", "--start").output == "", "there is no mark before the first request"
        assert payments.webhooks.secret
        endpoint = payments.api.get("/v1/webhooks/")["data"][0]
        body = {"email": "awa@example.com", "name": "Diop, Awa", "metadata": {"sum": "1+1=2"}}
        id = payments.api.post("/v1/customers/", body)["id"]
        expected = [f"{id}.firstname=Diop,", f"{id}.metadata.sum=1+1=2", f"{endpoint['id']}.enabled=true"]
        options = [part for each in expected for part in ("--expect", each)]
        text = world.cli("record", "--as", "pytest", *options).output
    for part in ('f"{payments.url}/_emulator/inbox/recorded"', '["firstname"] == "Diop,"', '["sum"] == "1+1=2"'):
        assert part in text
    assert endpoint["url"] not in text
    call(text, local_server)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--start", "--as", "pytest"), "--start stands alone"),
        (("--stop",), "No recording is under way"),
        (("--stop", "--as", "pytest", "--since", "req_1"), "leave out --since"),
        (("--stop", "--as", "pytest"), "No recording is under way"),
        (("--as", "pytest", "--out", __file__), f"{__file__} exists"),
        (("--as", "pytest", "--expect", "status"), "must be ID.FIELD=VALUE"),
        (("--as", "pytest", "--expect", "sub_1.status=active"), "There is no object sub_1"),
        (("--as", "pytest", "--since", "req_1"), "There is no request req_1"),
        # A test that asks for another field would fail with an error of its language, not with a difference.
        (
            ("--as", "pytest", "--expect", "SUB.state=x"),
            "no field state (state): the fields are id, object, app, customer, st",
        ),
        (("--as", "pytest", "--expect", "SUB.plan.name=x"), "there is no field plan.name"),
        (("--as", "pytest", "--expect", "SUB.metadata.shop=x"), "there is no field metadata.shop"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], problem: str, played: Played) -> None:
    given = (each.replace("SUB", played.story.subscription) for each in arguments)
    assert problem in played.cli("record", *given).usage_error
