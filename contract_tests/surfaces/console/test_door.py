"""A console behind a control token, closed without it; the handset, at its JSON twin's address."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.support.html import Page
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.console.visitor import PLACE, Visitor
from emulator.ui.console import site

TOKEN = "s3crét token"


@pytest.fixture(scope="module")
def guarded() -> Iterator[RunningServer]:
    with RunningServer(control_token=TOKEN) as server:
        yield server


@pytest.fixture
def visitor(guarded: RunningServer) -> Iterator[Visitor]:
    visitor = Visitor(guarded.url, "door")
    with visitor.http:
        yield visitor


def log_in(visitor: Visitor, token: str) -> httpx.Response:
    form = {"token": token, "_back": f"{PLACE}events"}
    return visitor.http.post(f"{PLACE}login", data=form, follow_redirects=False)


def test_nothing_is_shown_to_who_has_no_token(visitor: Visitor) -> None:
    """And nothing is done either; what a page looks like is no secret."""
    for path in ("", "events", "objects/cust_0", "emails/mail_0/html", "nowhere"):
        page = visitor.open(path)
        assert page.status == 401
        assert "Control token" in page.text
        assert "sk_test_" not in page.html
    assert (
        visitor.http.get(page.html.partition('rel="icon" href="')[2].partition('"')[0]).status_code
        == 200
    )
    assert visitor.do("advance", by="1d").status == 401
    assert visitor.http.get(f"{PLACE}stream").status_code == 403


def test_only_the_token_opens_the_console(visitor: Visitor) -> None:
    for token in ("", "wrong", TOKEN + " "):
        response = log_in(visitor, token)
        assert (response.status_code, "set-cookie" in response.headers) == (401, False)
        assert "This token is not valid." in Page(response).text
        assert visitor.open().status == 401
    response = log_in(visitor, TOKEN)
    cookie = response.headers["set-cookie"]
    assert (response.status_code, response.headers["location"]) == (303, f"{PLACE}events")
    assert all(
        attribute in cookie for attribute in ("HttpOnly", "SameSite=strict", "Path=/_emulator/")
    )
    assert "s3cr" not in cookie
    assert visitor.open().status == 200
    assert visitor.do("advance", by="1d").text_of("notice").startswith("Advanced to ")
    with visitor.http.stream("GET", f"{PLACE}stream", params={"app": "door"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
    assert visitor.http.get("/_emulator/clock").status_code == 403, (
        "a cookie is no token for the control API"
    )
    ((name, value),) = visitor.http.cookies.items()
    for change in ("9{}", "{}0", "{}.", ".{}", "x", "9999999999.", "9999999999." + "0" * 64):
        visitor.http.cookies.clear()
        visitor.http.cookies.set(name, change.format(value))
        assert visitor.open().status == 401, change


def test_a_phone_is_behind_the_same_door(visitor: Visitor) -> None:
    phone = "/_emulator/phones/+24177123456"
    closed = visitor.open(phone)
    assert (closed.status, "Control token" in closed.text) == (401, True)
    assert visitor.http.post(f"{phone}/answer", data={"answer": "approve"}).status_code == 401
    back = html.unescape(re.findall(r'name="_back" value="([^"]+)"', closed.html)[0])
    assert back == f"{phone}?app=door"
    opened = visitor.http.post(f"{PLACE}login", data={"token": TOKEN, "_back": back})
    assert "Nothing to confirm" in opened.text
    assert opened.url.params["app"] == "door"
    assert visitor.http.post(f"{phone}/answer", data={"answer": "approve"}).status_code == 200
    assert visitor.http.get(phone, headers={"Accept": "application/json"}).status_code == 403
    for token, status in ((TOKEN.encode(), 200), (b"wrong", 401)):
        visitor.http.cookies.clear()
        assert visitor.http.get(PLACE, headers={"Emulator-Token": token}).status_code == status


def test_the_login_ends(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """After twelve hours, though the browser may still send its cookie."""
    log_in(visitor, TOKEN)
    assert visitor.open().status == 200
    now = time.time()
    for hours, status in ((11.9, 200), (12.1, 401)):
        monkeypatch.setattr(site.time, "time", lambda hours=hours: now + hours * 3600)
        assert visitor.open().status == status


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
    action = re.findall(r'action="([^"]+)"', text)[0].replace("&amp;", "&")
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text))
    url = httpx.URL(str(person.base_url)).join(action)
    return person.post(url, data={**hidden, **fields, "answer": button}, follow_redirects=True)


def test_a_phone_names_the_invoice_in_its_language(sandbox: Sandbox, person: httpx.Client) -> None:
    asked(sandbox, description="Invoice INV-2026-000001")
    assert "Facture INV-2026-000001" in person.get(f"/{PHONE}", params={"lang": "fr"}).text


def test_a_payment_is_confirmed_on_the_phone(sandbox: Sandbox, person: httpx.Client) -> None:
    assert "Nothing to confirm" in person.get(f"/{PHONE}").text
    for options in ({"params": {"lang": "fr"}}, {"headers": {"Accept-Language": "fr"}}):
        # each has its own
        french = person.get(f"/{PHONE}", **options).text  # type: ignore[arg-type]
        assert "Rien à confirmer" in french
        assert '<html lang="fr">' in french
    intent = asked(sandbox, description="<b>Basket</b>")
    phone = person.get(f"/{PHONE}")
    assert re.search(r"Pay 5,000\sXAF to ", phone.text)
    assert "&lt;b&gt;Basket" in phone.text
    confirmation = press(person, phone.text, "approve", pin="9876")
    assert "You have confirmed the payment." in confirmation.text
    assert "9876" not in confirmation.text
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


def test_a_phone_loads_nothing_from_elsewhere(sandbox: Sandbox, person: httpx.Client) -> None:
    asked(sandbox)
    phone = person.get(f"/{PHONE}")
    assert "default-src 'none'" in phone.headers["content-security-policy"]
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", phone.text)


def test_pages_of_others_may_not_use_a_phone(sandbox: Sandbox, person: httpx.Client) -> None:
    asked(sandbox)
    url, headers = f"/{PHONE}/answer", {"Origin": "https://evil.example"}
    assert person.post(url, data={"answer": "approve"}, headers=headers).status_code == 403


def test_a_strange_form_does_nothing_on_a_phone(sandbox: Sandbox, person: httpx.Client) -> None:
    """Programs get JSON at the same address."""
    asked(sandbox)
    url = f"/{PHONE}/answer"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (
        b"\xff\xfe",
        b"answer=approve&" * 500,
        b"a&" * 50,
        b"answer=approve&payment_intent=%00",
    ):
        assert person.post(
            url, content=body, headers=headers, follow_redirects=True
        ).status_code in (200, 400, 422)
    assert len(sandbox.control.get(f"/phones/{PHONE}")["data"]) == 1
    assert (
        person.get(f"/{PHONE}", headers={"Accept": "application/json"}).json()["object"] == "list"
    )
    assert person.get("/7").status_code == 404
