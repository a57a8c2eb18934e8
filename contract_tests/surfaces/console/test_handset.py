"""The handset as a page: at the address of its JSON twin, for people, without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import Sandbox

PHONE = "+24177123456"


@pytest.fixture
def person(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A browser, which sends no key; the App is named in the address."""
    sandbox.settings(mobile_money="handset")
    name = sandbox.key.removeprefix("sk_test_")
    headers = {"Accept": "text/html,*/*;q=0.8", "Accept-Language": "en"}
    base = f"{sandbox.url}/_emulator/phones"
    with http_client(base_url=base, headers=headers, params={"app": name}) as client:
        yield client


def asked(sandbox: Sandbox, **fields: Any) -> Any:
    return sandbox.pay(sandbox.method(type="mobile_money", phone=PHONE), **fields)


def press(person: httpx.Client, text: str, button: str, **fields: str) -> httpx.Response:
    """Press a button of the first form on a page."""
    action = re.findall(r'action="([^"]+)"', text)[0].replace("&amp;", "&")
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text))
    url = httpx.URL(str(person.base_url)).join(action)
    return person.post(url, data={**hidden, **fields, "answer": button}, follow_redirects=True)


def test_a_payment_is_confirmed_on_the_phone(sandbox: Sandbox, person: httpx.Client) -> None:
    assert "Nothing to confirm" in person.get(f"/{PHONE}").text
    for options in ({"params": {"lang": "fr"}}, {"headers": {"Accept-Language": "fr"}}):
        french = person.get(f"/{PHONE}", **options).text  # type: ignore[arg-type]  # each has its own
        assert "Rien à confirmer" in french
        assert '<html lang="fr">' in french
    intent = asked(sandbox, description="<b>Basket</b>")
    shown = person.get(f"/{PHONE}")
    assert re.search(r"Pay 5,000\sXAF to ", shown.text)
    assert "&lt;b&gt;Basket" in shown.text
    said = press(person, shown.text, "approve", pin="9876")
    assert "You have confirmed the payment." in said.text
    assert "9876" not in said.text
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == "succeeded"


def test_or_it_is_not(sandbox: Sandbox, person: httpx.Client) -> None:
    """A payment that was answered elsewhere is gone."""
    intent = asked(sandbox)
    text = person.get(f"/{PHONE}").text
    for button, says, status in (
        ("maybe", "no longer", "requires_action"),
        ("ignore", "will fail when", "requires_action"),
        ("reject", "rejected", "canceled"),
        ("approve", "is no longer waiting", "canceled"),
    ):
        assert says in press(person, text, button, pin="9173").text
        assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["status"] == status


def test_it_loads_nothing_from_elsewhere_and_pages_of_others_may_not_use_it(
    sandbox: Sandbox, person: httpx.Client
) -> None:
    """Nor does a strange form do anything. Programs get JSON at the same address."""
    asked(sandbox)
    shown = person.get(f"/{PHONE}")
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", shown.text)
    url = f"/{PHONE}/answer"
    foreign = person.post(url, data={"answer": "approve"}, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"\xff\xfe", b"answer=approve&" * 500, b"a&" * 50, b"answer=approve&payment_intent=%00"):
        answer = person.post(url, content=body, headers=headers, follow_redirects=True)
        assert answer.status_code in (200, 400, 422)
    assert len(sandbox.control.get(f"/phones/{PHONE}")["data"]) == 1
    assert person.get(f"/{PHONE}", headers={"Accept": "application/json"}).json()["object"] == "list"
    assert person.get("/7").status_code == 404
