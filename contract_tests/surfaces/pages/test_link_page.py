"""The page of a payment link, over HTTP: what each type asks for, uses, and the end of a link (B-59)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import CARD, DECLINED, TRANSFER, WHO, buyer, link

PAID = ("payment_intent.succeeded", "transaction.succeeded")


def uses(sandbox: Sandbox, made: Any) -> int:
    return int(sandbox.api.get(f"/payment-links/{made['id']}/")["usage_count"])


def last_amount(sandbox: Sandbox) -> int:
    return int(sandbox.api.get("/payment-intents/")["data"][0]["amount"])


def test_a_field_that_will_not_do_is_marked(sandbox: Sandbox) -> None:
    """Name and email are required where they are collected."""
    with buyer(sandbox, link(sandbox, allow_quantity=True)) as awa:
        for marked, typed in (
            ("name", " "),
            ("email", " "),
            *(("quantity", each) for each in ("0", "1.5", "x", "9999999")),
        ):
            answer = awa.pay(**{**CARD, **WHO, marked: typed})
            assert (answer.status_code, f'id="{marked}-wrong"' in answer.text) == (422, True), (marked, typed)


TYPED: dict[tuple[str, str], dict[str, int | None]] = {
    ("XAF", "en"): {
        "2,500": 2500,
        "100": 100,
        "99999999": 99_999_999,
        **dict.fromkeys(("", "-5", "0.5", "99", "100000000")),
    },
    ("EUR", "fr"): {"1 015,5": 101_550},
}
"""By currency and language what is typed, and the amount that is paid; ``test_language`` has how each writes numbers."""


@pytest.mark.parametrize(("currency", "language"), TYPED)
def test_a_donor_says_how_much(sandbox: Sandbox, currency: str, language: str) -> None:
    """As the buyer writes it; an amount that cannot be paid is marked."""
    for text, amount in TYPED[currency, language].items():
        made = link(sandbox, payment_link_type="donation", currency=currency)
        with buyer(sandbox, made, **{"Accept-Language": language}) as awa:
            answer = awa.pay(**CARD, **WHO, amount=text)
            if amount is None:
                assert (answer.status_code, 'id="amount-wrong"' in answer.text) == (422, True), text
            else:
                assert awa.follow(answer).state == "paid", text
                assert last_amount(sandbox) == amount


def test_a_product_s_present_name_and_the_link_s_price_are_shown(sandbox: Sandbox) -> None:
    """B-67: and its picture, which the policy lets the browser load. A free one suggests its amount.

    Of several the buyer chooses one.
    """
    picture = "https://pictures.example.com/basket.png"
    product = sandbox.product(name="Basket", images=[picture])
    made = link(sandbox, payment_link_type="product", products=[product["id"]], name=None)
    sandbox.api.patch(f"/products/{product['id']}/", {"name": "Big basket", "unit_amount": 9000})
    with buyer(sandbox, made) as awa:
        page = awa.open()
    assert (page.said("title"), page.said("total")) == ("Big basket", "2,000 XAF")
    assert page.elements["picture"]["src"] == picture
    assert "img-src data: https://pictures.example.com;" in page.answer.headers["content-security-policy"]
    free = sandbox.product(price_type="free", unit_amount=2000)["id"]
    with buyer(sandbox, link(sandbox, payment_link_type="product", products=[free])) as awa:
        assert awa.open().fields["amount"] == "2000"
        awa.pay(**CARD, **WHO, amount="3000")
    assert last_amount(sandbox) == 3000
    ids = [sandbox.product(name=name, unit_amount=7000)["id"] for name in ("Basket", "Mat")]
    with buyer(sandbox, link(sandbox, payment_link_type="product", products=ids, allow_quantity=True)) as awa:
        assert {f"product-{id}" for id in ids} <= awa.open().elements.keys()
        assert awa.pay(**CARD, **WHO).status_code == 422
        assert awa.follow(awa.pay(**CARD, **WHO, product=ids[1], quantity="3")).state == "paid"
    assert last_amount(sandbox) == 21_000


def test_two_tabs_of_one_browser_pay_once(sandbox: Sandbox) -> None:
    """Where nothing is collected no buyer is asked, and a redirect is followed."""
    made = link(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect("customer.created", *PAID):
        tabs = [{**awa.open().fields, "do": "pay", **CARD, **WHO} for _ in range(2)]
        answers = [awa.send(form) for form in tabs]
        done = awa.open()
    assert (done.status, done.state) == (200, "paid"), "a reload, or the way back, shows what was paid"
    assert "You paid 5,000 XAF" in done.text
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert uses(sandbox, made) == 1
    urls = {"success": "https://shop.example.com/yes", "cancel": "https://shop.example.com/no"}
    made = link(sandbox, collect_customer_info=False, redirect_url=urls)
    with buyer(sandbox, made) as awa, sandbox.expect(*PAID):
        page = awa.open()
        assert (page.has("email"), page.elements["cancel"]["href"]) == (False, urls["cancel"])
        assert awa.pay(**CARD).headers["location"] == urls["success"]


def test_a_buyer_sees_the_payments_of_its_own_and_can_pay_again(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with buyer(sandbox, made) as awa, buyer(sandbox, made) as ama, buyer(sandbox, link(sandbox)) as other:
        location = awa.pay(**TRANSFER, **WHO).headers["location"]
        assert awa.open().state == "waiting"
        assert ama.open().state == "payable"
        assert other.open(payment=location.partition("payment=")[2]).state == "payable"
        done = ama.follow(ama.pay(**CARD, **WHO))
        again = ama.open(str(done.elements["pay-again"]["href"]))
        assert again.state == "payable"
        ama.send({**again.fields, "do": "pay", **CARD, **WHO})
    assert uses(sandbox, made) == 3


def test_a_link_that_is_over_archived_exhausted_or_deleted_is_closed(sandbox: Sandbox) -> None:
    """A use is counted when a payment is initiated, even if it later fails."""
    made = link(sandbox, validity_type="limited", expires_at="2026-01-01T01:00:00Z")
    path = f"/payment-links/{made['id']}/"
    with buyer(sandbox, made) as awa:
        assert awa.open().state == "payable"
        for action, expected in (("archive", (410, "archived")), ("restore", (200, "payable"))):
            sandbox.api.post(f"{path}{action}/")
            assert ((page := awa.open()).status, page.state) == expected
        sandbox.advance("1h")
        assert ((page := awa.open()).status, page.state) == (410, "link_expired")
        sandbox.api.delete(path)
        assert awa.open().status == 404
    once = link(sandbox, validity_type="one_time")
    with buyer(sandbox, once) as awa, buyer(sandbox, once) as ama:
        late = {**ama.open().fields, "do": "pay", **CARD, **WHO}
        failed, rejected = awa.follow(awa.pay(**DECLINED, **WHO)), ama.follow(ama.send(late))
    for page, words in ((failed, "declined"), (rejected, "no longer available")):
        assert (page.status, page.state, words in page.text) == (410, "exhausted", True)
    assert uses(sandbox, once) == 1
