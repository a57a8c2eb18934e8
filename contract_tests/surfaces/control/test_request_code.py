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
def test_headers_that_matter_are_in_it_and_no_secret_is(sandbox: Sandbox, form: str) -> None:
    body = {"customer": sandbox.customer()["id"], **CARD}
    answer = sandbox.api.request("POST", "/payment-methods/", json=body, headers={"Idempotency-Key": "order-1"})
    id = answer.headers["request-id"]
    code = as_code(sandbox, id, form)
    for part in ("/v1/payment-methods/", "order-1"):
        assert part in code
    for part in (sandbox.key, "4242 4242", "user-agent", "User-Agent"):
        assert part not in code
    sandbox.control.rejected("GET", f"/requests/{id}", 422, "INVALID_FILTER_PARAM", params={"as": "php"})
