"""Requests of the journal as code, and what they changed, field by field."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.cli.terminal import clean
from emulator.control.requests import FORMS
from emulator.testing import Emulator

AWA = {"email": "awa@example.com", "name": 'Awa "d\'Or" $HOME `x` \\ Ève', "metadata": {"b": "true"}}


def as_code(sandbox: Sandbox, id: str, form: str) -> str:
    answer = sandbox.control.request("GET", f"/requests/{id}", params={"as": form})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    return answer.text


def created(sandbox: Sandbox, **headers: str) -> str:
    return str(sandbox.api.request("POST", "/customers/", json=AWA, headers=headers).headers["request-id"])


def run(sandbox: Sandbox, *command: str) -> str:
    """What a program prints that has address and key in its environment."""
    environment = clean(PAYMENTS_EMULATOR_URL=sandbox.url, PAYMENTS_EMULATOR_KEY=sandbox.key)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def sent_again(sandbox: Sandbox) -> Any:
    """Return the body of the newest request to the service."""
    newest = sandbox.control.get("/requests", operation="createCustomer")["data"][0]["id"]
    return sandbox.control.get(f"/requests/{newest}")["request_body"]


def programs(tmp_path: Path, form: str, code: str) -> list[str]:
    if form == "curl":
        return ["sh", "-ec", code]
    if form == "httpx":
        return [sys.executable, "-c", code]
    script = tmp_path / "request.mjs"
    script.write_text(code, "utf-8")
    return ["node", str(script)]


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("curl", marks=pytest.mark.needs("curl")),
        "httpx",
        pytest.param("fetch", marks=pytest.mark.needs("node")),
    ],
)
def test_it_runs_and_sends_the_same(sandbox: Sandbox, tmp_path: Path, form: str) -> None:
    id = created(sandbox)
    body = sandbox.control.get(f"/requests/{id}")["request_body"]
    printed = run(sandbox, *programs(tmp_path, form, as_code(sandbox, id, form)))
    assert "DUPLICATE_EMAIL" in printed or "customer_email_exists" in printed
    assert sent_again(sandbox) == body


def test_as_a_test_it_runs_by_itself(sandbox: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "test_request.py"
    script.write_text(as_code(sandbox, created(sandbox), "pytest"), "utf-8")
    with Emulator() as payments:
        runpy.run_path(str(script))["test_request"](payments)
        assert [customer["email"] for customer in payments.api.get("/v1/customers/")["data"]] == [AWA["email"]]


@pytest.mark.parametrize("form", sorted(FORMS))
def test_no_secret_is_in_it(sandbox: Sandbox, form: str) -> None:
    body = {"customer": sandbox.customer()["id"], **CARD}
    id = sandbox.api.request("POST", "/payment-methods/", json=body).headers["request-id"]
    code = as_code(sandbox, id, form)
    assert sandbox.key not in code
    assert "4242 4242" not in code
    assert "/v1/payment-methods/" in code


@pytest.mark.parametrize("form", sorted(FORMS))
def test_headers_that_matter_are_in_it(sandbox: Sandbox, form: str) -> None:
    code = as_code(sandbox, created(sandbox, **{"Idempotency-Key": "order-1"}), form)
    assert "order-1" in code
    assert "user-agent" not in code.lower()


def test_another_form_is_rejected(sandbox: Sandbox) -> None:
    id = created(sandbox)
    sandbox.control.rejected("GET", f"/requests/{id}", 422, "INVALID_FILTER_PARAM", params={"as": "php"})


def test_changes_show_each_field_before_and_after(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    answer = sandbox.api.request("PATCH", f"/customers/{customer['id']}/", json={"metadata": {"tier": "gold"}})
    (change,) = sandbox.control.get(f"/requests/{answer.headers['request-id']}")["changes"]
    assert (change["id"], change["change"]) == (customer["id"], "updated")
    assert change["fields"]["metadata"] == {"before": {}, "after": {"tier": "gold"}}
    assert "email" not in change["fields"]


def test_what_was_created_had_nothing_before(sandbox: Sandbox) -> None:
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop")
    newest = sandbox.control.get("/requests", operation="createWebhook")["data"][0]["id"]
    entry = sandbox.control.get(f"/requests/{newest}")
    (fields,) = [each["fields"] for each in entry["changes"] if each["id"] == endpoint["id"]]
    assert fields["url"] == {"before": None, "after": endpoint["url"]}
    assert endpoint["secret"] not in str(entry)
