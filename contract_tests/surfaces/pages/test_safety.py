"""Never on a buyer's page: foreign markup or forms, redirects to anywhere, cards in responses."""

from __future__ import annotations

import re

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import (
    CARD,
    PHONE,
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
    (
        "<script>alert(1)</script> \"><img src=x onerror=alert(1)>' {{ 7*7 }} {% raw %} ${7*7}"
        " </style></title></textarea><!--"
    ),
    "😀👩‍👩‍👧 Café — “ça va ?” \u202eمرحبا بالعالم\u202c שלום",
    "é" * 2000,
]

BOUGHT = ("customer.created", "payment_intent.succeeded", "transaction.succeeded")


@pytest.mark.parametrize("text", NASTY, ids=["markup", "scripts", "long"])
def test_whatever_a_merchant_writes_or_a_browser_sends_shows_as_text(
    sandbox: Sandbox, text: str
) -> None:
    name = text[:255]
    product = sandbox.product(name=name, description=text, metadata={"note": text[:500]})
    customer = sandbox.customer(name=name)
    things = [
        session(
            sandbox,
            customer=customer["id"],
            line_items=[{"description": text, "unit_amount": 5000}],
        ),
        link(sandbox, payment_link_type="product", products=[product["id"]], name=text),
        link(
            sandbox, payment_link_type="product", products=[product["id"], sandbox.product()["id"]]
        ),
        invoice(sandbox, customer=customer, description=text, footer=text),
    ]
    for thing, expected in zip(things, (text, text, name, text), strict=True):
        with buyer(sandbox, thing) as awa:
            page = awa.open()
            assert page.status == 200
            assert " ".join(expected.split()) in " ".join(page.text.split())
            assert page.html.count("<script") == 1
            assert "<img" not in page.html
            again = Page(
                awa.send(
                    {**page.fields, "do": "pay", "method": "bank_card", "name": text, "phone": text}
                )
            )
            assert (again.status, again.html.count("<script")) == (422, 1)
            form = awa.open(lang=text, fill=text, method=text, payment=text, new=text)
            assert (form.status, form.html.count("<script")) == (200, 1)
    with buyer(sandbox, link(sandbox)) as awa:
        sent = Page(awa.pay(**PHONE, **{**WHO, "name": text, "email": text}))
        assert (sent.status, sent.html.count("<script"), sent.fields["name"]) == (422, 1, text)


def test_a_page_may_load_nothing_and_run_only_its_own(sandbox: Sandbox) -> None:
    with buyer(sandbox, session(sandbox)) as awa:
        page = awa.open()
        csp = policy(page.response)
        other = policy(awa.open().response)
    nonce = re.findall(r'<(?:style|script) nonce="([^"]+)"', page.html)
    assert len(nonce) == 2
    assert csp["script-src"] == csp["style-src"] == f"'nonce-{nonce[0]}'"
    assert csp["script-src"] != other["script-src"], "a nonce is good for one answer"
    assert csp["default-src"] == csp["base-uri"] == csp["frame-ancestors"] == "'none'"
    assert csp["form-action"] == "'self' https://shop.example.com"
    assert page.response.headers["cache-control"] == "no-store"
    assert page.response.headers["x-content-type-options"] == "nosniff"
    assert not re.findall(r"\bon\w+=|style=|javascript:|src=", page.html)


def test_no_script_reads_the_token_of_a_form(sandbox: Sandbox) -> None:
    """Its cookie is for requests of the page itself alone."""
    with buyer(sandbox, session(sandbox)) as awa:
        cookie = awa.open().response.headers["set-cookie"]
    assert {"httponly", "samesite=lax", f"path={awa.path}".lower()} <= {
        part.strip().lower() for part in cookie.split(";")
    }


def test_a_form_leads_to_every_success_url_that_is_accepted(sandbox: Sandbox) -> None:
    """B-82: its origin (an app's: scheme) is in the page's policy; unnameable ones are rejected.

    A browser that names another gets the merchant's all the same.
    """
    assert (
        web_url("javascript:alert(1)")
        is web_url("data:text/html,x")
        is web_url("//evil.example")
        is None
    )
    hosts = (
        "SHOP.Example.com",
        "shop_1.example.com.",
        "xn--boutique-w-e4af.example:8443",
        "[::1]:3000",
        "127.0.0.1",
    )
    for url, origin in [
        *((f"https://{host}/{{CHECKOUT_SESSION_ID}}", f"https://{host}") for host in hosts),
        ("myapp://thanks?id={CHECKOUT_SESSION_ID}", "myapp:"),
    ]:
        made = session(sandbox, success_url=url, cancel_url="http://localhost:3000/cart")
        with buyer(sandbox, made) as awa:
            page = awa.open()
            assert origin in policy(page.response)["form-action"].split()
            assert page.elements["cancel"]["href"] == "http://localhost:3000/cart"
            response = awa.pay(
                **CARD, success_url="https://evil.example", redirect="https://evil.example"
            )
            assert response.headers["location"] == url.replace("{CHECKOUT_SESSION_ID}", made["id"])
    for url in ("myapp://thanks", "exp://192.168.0.2:8081/--/thanks", "com.example.shop://a/b?c#d"):
        with buyer(sandbox, link(sandbox, redirect_url={"success": url, "cancel": url})) as awa:
            assert awa.open().elements["cancel"]["href"] == url
    for url in (
        "https://shop.example.com;script-src'unsafe-inline'/",
        "https://boutique-éwé.example/",
        "https://awa:secret@shop.example.com/",
        "https://shop.example.com:70000/",
    ):
        body = sandbox.session_body(success_url=url)
        rejected = sandbox.api.rejected(
            "POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=body
        )
        assert rejected["param"] == "success_url", url


def test_a_form_without_a_token_of_ours_does_nothing(sandbox: Sandbox) -> None:
    """Without one, with one that is short, forged, of letters or of another page."""
    with buyer(sandbox, link(sandbox)) as awa, buyer(sandbox, link(sandbox)) as ama:
        another = ama.open().fields["token"]
        with sandbox.expect():
            for token in ("", "x", "a" * 22 + "." + "0" * 64, "é" * 22 + "." + "0" * 64, another):
                page = Page(awa.pay(**CARD, **WHO, token=token))
                assert (page.status, page.state) == (403, "payable")
                assert "try again" in page.text_of("problem")
    with sandbox.expect(*BOUGHT), Buyer(sandbox.url, awa.path) as other:
        assert other.send({**page.fields, "do": "pay", **CARD, **WHO}).status_code == 303, (
            "the form it got is good"
        )


def test_a_form_that_another_site_or_page_sends_does_nothing(sandbox: Sandbox) -> None:
    with buyer(sandbox, link(sandbox)) as awa, buyer(sandbox, link(sandbox)) as ama:
        form = {**awa.open().fields, "do": "pay", **CARD, **WHO}
        payment = ama.pay(**TRANSFER, **WHO).headers["location"].partition("payment=")[2]
        with sandbox.expect():
            for do in ("approve", "refuse"):
                awa.send({**form, "do": do, "payment": payment})
                assert ama.open().state == "waiting", "a payment of another page cannot be decided"
            for header in (
                "Origin: https://evil.example",
                "Origin: null",
                "Sec-Fetch-Site: cross-site",
            ):
                name, _, value = header.partition(": ")
                assert awa.send(form, **{name: value}).status_code == 403, header
            assert awa.send(form, **{"Sec-Fetch-Site": "same-site"}).status_code == 403
            response = awa.http.put(awa.path)
        assert (response.status_code, set(response.headers["allow"].split(", "))) == (
            405,
            {"GET", "HEAD", "POST"},
        )
        assert (
            awa.send(form, Origin=sandbox.url, **{"Sec-Fetch-Site": "same-origin"}).status_code
            == 303
        )


def test_a_card_that_was_sent_is_never_shown_again(sandbox: Sandbox) -> None:
    for broken in (
        {"cvc": "1"},
        {"expiry": "1"},
        {"number": "4242 4242 4242 4241"},
        {"token": "x"},
    ):
        with buyer(sandbox, session(sandbox)) as awa:
            for response in (awa.pay(**{**CARD, "cvc": "9876", **broken}), awa.pay(**CARD)):
                for secret in ("4242 4242 4242 424", "424242424242424", "9876"):
                    assert f'value="{secret}' not in response.text
            assert "424242" not in awa.open().text


def test_a_body_that_is_no_form_does_nothing(sandbox: Sandbox) -> None:
    """B-93: nor does a buyer who looks leave a trace in the world's ids."""
    before = sandbox.control.get("/clock")
    with buyer(sandbox, link(sandbox)) as awa:
        clock = sandbox.control.get("/clock")
        assert len({awa.open().response.headers["request-id"] for _ in range(3)}) == 3
        for body in (b"\xff\xfe", b"a=b&" * 200, b"x" * 100_000, b"{", b"[1]"):
            for media_type in (
                "application/x-www-form-urlencoded",
                "application/json",
                "multipart/form-data",
            ):
                response = awa.http.post(
                    awa.path, content=body, headers={"Content-Type": media_type}
                )
                assert response.status_code == 403, (body[:9], media_type)
    assert sandbox.control.get("/clock") == clock == before


def test_a_page_takes_only_the_payments_that_a_profile_allows(sandbox: Sandbox) -> None:
    """Profile rules 4, 5, by the buyer's address (B-95; GA is 203.0.113.0/24). Nothing is made."""
    profile = {
        "name": "Not there",
        "blocked_countries": ["GA"],
        "allowed_payment_methods": ["bank_card"],
    }
    sandbox.api.post("/security-profiles/", profile)
    for thing in (session(sandbox), link(sandbox), invoice(sandbox)):
        for address, status in (("203.0.113.9", 403), ("198.51.100.9", 303)):
            with buyer(sandbox, thing, **{"X-Forwarded-For": address}) as visitor:
                page = visitor.open()
                assert [
                    f'value="{method}"' in page.html for method in ("bank_card", "mobile_money")
                ] == [True, False]
                assert visitor.pay(**CARD, **WHO).status_code == status
    assert sandbox.api.get("/payment-intents/")["pagination"]["count"] == 3
