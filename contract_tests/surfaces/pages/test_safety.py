"""What must not happen on a buyer's page: foreign markup, foreign forms, redirects to anywhere, cards in answers."""

from __future__ import annotations

import re

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import (
    CARD,
    PHONE,
    SUCCESS,
    TRANSFER,
    WHO,
    Buyer,
    Page,
    buyer,
    invoice,
    link,
    policy,
    session,
)
from emulator.ui.buyer.payables import web_url

NASTY = [
    *("<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>'", "{{ 7*7 }} {% raw %} ${7*7}"),
    *("</style></title></textarea><!--", "😀👩‍👩‍👧 Café — “ça va ?”", "\u202eمرحبا بالعالم\u202c שלום", "é" * 2000),
]


BOUGHT = ("customer.created", "payment_intent.succeeded", "transaction.succeeded")


def shown(page: Page) -> str:
    return " ".join(page.text.split())


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_whatever_a_merchant_writes_shows_as_text(sandbox: Sandbox, text: str) -> None:
    name = text[:255]
    product = sandbox.product(name=name, description=text, metadata={"note": text[:500]})
    customer = sandbox.customer(name=name)
    things = [
        session(sandbox, customer=customer["id"], line_items=[{"description": text, "unit_amount": 5000}]),
        link(sandbox, payment_link_type="product", products=[product["id"]], name=text),
        link(sandbox, payment_link_type="product", products=[product["id"], sandbox.product()["id"]]),
        invoice(sandbox, customer=customer["id"], description=text, footer=text),
    ]
    for thing, expected in zip(things, (text, text, name, text), strict=True):
        with buyer(sandbox, thing) as awa:
            page = awa.open()
            assert page.status == 200
            assert " ".join(expected.split()) in shown(page)
            assert page.html.count("<script") == 1
            assert "<img" not in page.html
            again = Page(awa.send({**page.fields, "do": "pay", "method": "bank_card", "name": text, "phone": text}))
            assert (again.status, again.html.count("<script")) == (422, 1)


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_whatever_a_browser_sends_shows_as_text(sandbox: Sandbox, text: str) -> None:
    with buyer(sandbox, link(sandbox)) as awa:
        page = Page(awa.pay(**PHONE, **{**WHO, "name": text, "email": text}))
        assert (page.status, page.html.count("<script")) == (422, 1)
        assert page.fields["name"] == text
        asked = awa.open(lang=text, fill=text, method=text, payment=text, new=text)
        assert (asked.status, asked.html.count("<script")) == (200, 1)


def test_a_page_may_load_nothing_and_run_only_its_own(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        page = awa.open()
        csp = policy(page.answer)
        other = policy(awa.open().answer)
    nonce = re.findall(r'<(?:style|script) nonce="([^"]+)"', page.html)
    assert len(nonce) == 2
    assert csp["script-src"] == csp["style-src"] == f"'nonce-{nonce[0]}'"
    assert csp["script-src"] != other["script-src"], "a nonce is good for one answer"
    assert csp["default-src"] == csp["base-uri"] == csp["frame-ancestors"] == "'none'"
    assert csp["form-action"] == "'self' https://shop.example.com"
    assert page.answer.headers["cache-control"] == "no-store"
    assert page.answer.headers["x-content-type-options"] == "nosniff"
    assert not re.findall(r"\bon\w+=|style=|javascript:|src=", page.html)


def test_success_and_cancel_lead_to_the_merchants_own_urls_only(sandbox: Sandbox) -> None:
    assert web_url("javascript:alert(1)") is web_url("data:text/html,x") is web_url("//evil.example") is None
    with buyer(sandbox, session(sandbox)) as awa:
        awa.open(success_url="https://evil.example", next="https://evil.example", payment="https://evil.example")
        answer = awa.pay(**CARD, success_url="https://evil.example", redirect="https://evil.example")
    assert answer.headers["location"].startswith(SUCCESS.partition("{")[0])


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com;script-src'unsafe-inline'/",
        "https://boutique-éwé.example/",
        "https://awa:secret@shop.example.com/",
        "https://shop.example.com:70000/",
    ],
)
def test_a_host_that_a_policy_cannot_name_is_rejected(sandbox: Sandbox, url: str) -> None:
    """B-82: a page's form leads to every ``success_url`` that is accepted."""
    body = sandbox.session_body(success_url=url)
    assert (
        sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body)["param"] == "success_url"
    )


def test_a_form_leads_back_into_an_app(sandbox: Sandbox) -> None:
    """B-82: a phone's browser opens the app by its own scheme; a policy names that scheme alone."""
    made = session(
        sandbox, success_url="myapp://thanks?id={CHECKOUT_SESSION_ID}", cancel_url="http://localhost:3000/cart"
    )
    with buyer(sandbox, made) as awa:
        page = awa.open()
        policy = page.answer.headers["content-security-policy"]
        assert "myapp:" in policy.partition("form-action ")[2].partition(";")[0].split()
        assert page.elements["cancel"]["href"] == "http://localhost:3000/cart"
        paid = awa.send({**page.fields, "do": "pay", **CARD, **WHO})
    assert paid.headers["location"] == f"myapp://thanks?id={made['id']}"


@pytest.mark.parametrize("url", ["myapp://thanks", "exp://192.168.0.2:8081/--/thanks", "com.example.shop://a/b?c#d"])
def test_a_link_leads_back_into_an_app(sandbox: Sandbox, url: str) -> None:
    made = link(sandbox, redirect_url={"success": url, "cancel": url})
    assert made["redirect_url"] == {"success": url, "cancel": url}
    with buyer(sandbox, made) as awa:
        assert awa.open().elements["cancel"]["href"] == url


@pytest.mark.parametrize(
    "host", ["SHOP.Example.com", "shop_1.example.com.", "xn--boutique-w-e4af.example:8443", "[::1]:3000", "127.0.0.1"]
)
def test_a_form_leads_to_every_success_url(sandbox: Sandbox, host: str) -> None:
    """B-82: its origin is in the policy of the page."""
    with buyer(sandbox, session(sandbox, success_url=f"https://{host}/{{CHECKOUT_SESSION_ID}}")) as awa:
        policy = awa.open().answer.headers["content-security-policy"]
    assert f"https://{host}" in policy.partition("form-action ")[2].partition(";")[0].split()


@pytest.mark.parametrize(
    "token", ["", "x", "a" * 22 + "." + "0" * 64, "é" * 22 + "." + "0" * 64], ids=["none", "short", "forged", "letters"]
)
def test_a_form_without_a_token_of_ours_does_nothing(sandbox: Sandbox, token: str) -> None:
    with buyer(sandbox, link(sandbox)) as awa, sandbox.expect():
        page = Page(awa.pay(**CARD, **WHO, token=token))
        assert (page.status, page.state) == (403, "payable")
        assert "try again" in page.said("problem")
    with sandbox.expect(*BOUGHT), Buyer(sandbox.url, awa.path) as other:
        assert other.send({**page.fields, "do": "pay", **CARD, **WHO}).status_code == 303, "the form it got is good"


def test_a_token_of_another_page_does_nothing(sandbox: Sandbox) -> None:
    with buyer(sandbox, link(sandbox)) as awa, buyer(sandbox, link(sandbox)) as ama:
        assert awa.pay(**CARD, **WHO, token=ama.open().fields["token"]).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_that_another_site_sends_does_nothing(sandbox: Sandbox, headers: dict[str, str]) -> None:
    with buyer(sandbox, link(sandbox)) as awa, sandbox.expect():
        form = {**awa.open().fields, "do": "pay", **CARD, **WHO}
        assert awa.send(form, **headers).status_code == 403


def test_a_browsers_own_form_is_taken(sandbox: Sandbox) -> None:
    with buyer(sandbox, link(sandbox)) as awa:
        form = {**awa.open().fields, "do": "pay", **CARD, **WHO}
        assert awa.send(form, Origin=sandbox.url, **{"Sec-Fetch-Site": "same-origin"}).status_code == 303


@pytest.mark.parametrize("do", ["approve", "refuse"])
def test_a_payment_of_another_page_cannot_be_decided(sandbox: Sandbox, do: str) -> None:
    with buyer(sandbox, link(sandbox)) as awa, buyer(sandbox, link(sandbox)) as ama:
        payment = awa.pay(**TRANSFER, **WHO).headers["location"].partition("payment=")[2]
        ama.send({**ama.open().fields, "do": do, "payment": payment})
        assert awa.open().state == "waiting"


@pytest.mark.parametrize("broken", [{"cvc": "1"}, {"expiry": "1"}, {"number": "4242 4242 4242 4241"}, {"token": "x"}])
def test_a_card_that_was_sent_is_never_shown_again(sandbox: Sandbox, broken: dict[str, str]) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        for answer in (awa.pay(**{**CARD, "cvc": "9876", **broken}), awa.pay(**CARD)):
            for secret in ("4242 4242 4242 424", "424242424242424", "9876"):
                assert f'value="{secret}' not in answer.text
        assert "424242" not in awa.open().text


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=b&" * 200, b"x" * 100_000, b"{", b"[1]"])
def test_a_body_that_is_no_form_does_nothing(sandbox: Sandbox, body: bytes) -> None:
    with buyer(sandbox, link(sandbox)) as awa:
        for media_type in ("application/x-www-form-urlencoded", "application/json", "multipart/form-data"):
            answer = awa.http.post(awa.path, content=body, headers={"Content-Type": media_type})
            assert answer.status_code == 403


def test_other_methods_are_not_allowed(sandbox: Sandbox) -> None:
    with buyer(sandbox, link(sandbox)) as awa:
        answer = awa.http.put(awa.path)
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})


def test_reading_a_page_leaves_the_worlds_ids_alone(sandbox: Sandbox) -> None:
    """B-93: same requests, same bytes; a buyer who looks is none of them."""
    made = link(sandbox)
    before = sandbox.control.get("/clock")
    with buyer(sandbox, made) as awa:
        ids = {awa.open().answer.headers["request-id"] for _ in range(3)}
    assert len(ids) == 3
    assert sandbox.control.get("/clock") == before


@pytest.mark.parametrize(("address", "allowed"), [("203.0.113.9", False), ("198.51.100.9", True)])
def test_a_buyer_in_a_blocked_country_cannot_pay(sandbox: Sandbox, address: str, allowed: bool) -> None:
    """Security profile rule 5, by the buyer's address (B-95): 203.0.113.0/24 is in GA. Nothing is made."""
    sandbox.api.post("/security-profiles/", {"name": "Not there", "blocked_countries": ["GA"]})
    made = session(sandbox)
    with Buyer(sandbox.url, f"/checkout/{made['id']}", **{"X-Forwarded-For": address}) as visitor:
        answer = visitor.pay(**PHONE, **WHO)
    assert answer.status_code == (303 if allowed else 403)
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == int(allowed)


def test_a_page_offers_only_what_a_profile_allows(sandbox: Sandbox) -> None:
    """Security profile rule 4: sessions, links and invoices alike."""
    sandbox.api.post("/security-profiles/", {"name": "Cards", "allowed_payment_methods": ["bank_card"]})
    for thing in (session(sandbox), link(sandbox), invoice(sandbox)):
        with buyer(sandbox, thing) as visitor:
            page = visitor.open()
        assert 'value="bank_card"' in page.html
        assert 'value="mobile_money"' not in page.html
