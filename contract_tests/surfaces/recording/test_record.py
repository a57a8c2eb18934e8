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

    def write(form: str) -> Path:
        file = tmp_path / {"pytest": "test_recorded.py", "node": "recorded.test.mjs"}.get(form, f"recorded.{form}")
        ended = played.cli("record", "--as", form, "--out", str(file))
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
    """All events are expected, in order."""
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
    recorded: Callable[..., Path],
    local_server: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = recorded(form)
    done = run(form, file, local_server)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(file.parent / "node_modules", ignore_errors=True)
    monkeypatch.setitem(REGISTRY.jobs, "subscription.renew", lambda *_: None)  # type: ignore[arg-type]  # a dict it is
    done = run(form, file, local_server)
    assert done.returncode != 0
    assert "subscription.payment_failed" in done.stdout + done.stderr


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


def test_what_a_buyer_paid_on_a_page_is_paid(local_server: LocalServer, played: Played) -> None:
    with Emulator(key="sk_test_page", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        lines = [{"description": "Basket", "unit_amount": 2000}]
        session = payments.api.post("/v1/checkout-sessions/", {"currency": "XAF", "line_items": lines})
        headers = {"Accept": "application/json"}
        token = payments.client.get(session["url"], headers=headers).json()["token"]
        card = {"method": "bank_card", "number": "4000 0000 0000 0259", "expiry": "12/30", "cvc": "123"}
        form = {"token": token, "name": "Awa Diop", "email": "awa@example.com", **card}
        assert payments.client.post(session["url"], headers=headers, data=form).json()["state"] == "paid"
        text = Played(payments, played.story).cli("record", "--as", "pytest").output
        assert '"checkout.session.completed"' in text
        assert '"number": "4000000000000259"' in text
    call(text, local_server)


def test_webhooks_go_to_an_inbox(local_server: LocalServer, played: Played) -> None:
    """A test needs no application, and disturbs none."""
    with Emulator(key="sk_test_hooks", clock="2026-01-01T00:00:00Z", server=local_server) as payments:
        world = Played(payments, played.story)
        assert "There is nothing to record" in world.cli("record", "--as", "pytest").usage_error
        assert payments.webhooks.secret
        endpoint = payments.api.get("/v1/webhooks/")["data"][0]
        payments.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa"})
        text = world.cli("record", "--as", "pytest").output
    assert 'f"{payments.url}/_emulator/inbox/recorded"' in text
    assert endpoint["url"] not in text
    call(text, local_server)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--start", "--as", "pytest"), "--start stands alone"),
        (("--stop",), "No recording is under way"),
        (("--stop", "--as", "pytest"), "No recording is under way"),
        (("--as", "pytest", "--out", __file__), f"{__file__} exists"),
    ],
)
def test_mistakes_are_one_line(arguments: tuple[str, ...], problem: str, played: Played) -> None:
    assert problem in played.cli("record", *arguments).usage_error
