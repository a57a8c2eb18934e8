"""A console whose emulator was started with a control token: closed until the token is shown, and then open."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator

import httpx
import pytest

from contract_tests.support.html import Page
from contract_tests.support.sandbox import RunningServer
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
    icon = page.html.partition('rel="icon" href="')[2].partition('"')[0]
    assert visitor.http.get(icon).status_code == 200
    assert visitor.do("advance", by="1d").status == 401
    assert visitor.http.get(f"{PLACE}stream").status_code == 403


def test_the_token_and_no_other_opens_all_of_it(visitor: Visitor) -> None:
    for token in ("", "wrong", TOKEN + " "):
        answer = log_in(visitor, token)
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
        assert "This token is not valid." in Page(answer).text
        assert visitor.open().status == 401
    answer = log_in(visitor, TOKEN)
    cookie = answer.headers["set-cookie"]
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PLACE}events")
    assert all(each in cookie for each in ("HttpOnly", "SameSite=strict", "Path=/_emulator/"))
    assert "s3cr" not in cookie
    assert visitor.open().status == 200
    assert visitor.do("advance", by="1d").said("notice").startswith("Advanced to ")
    with visitor.http.stream("GET", f"{PLACE}stream", params={"app": "door"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
    assert visitor.http.get("/_emulator/clock").status_code == 403, "a cookie is no token for the control API"
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
