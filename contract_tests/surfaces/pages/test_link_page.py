"""The page of a payment link, over HTTP: what each type asks for, uses, and the end of a link (B-59)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.pages.buyer import CARD, DECLINED, TRANSFER, WHO, buyer, link

PAID = ("payment_intent.succeeded", "transaction.succeeded")
NEW = ("customer.created", *PAID)


def uses(sandbox: Sandbox, made: Any) -> int:
    return int(sandbox.api.get(f"/payment-links/{made['id']}/")["usage_count"])


def last_amount(sandbox: Sandbox) -> int:
    return int(sandbox.api.get("/payment-intents/")["data"][0]["amount"])


def test_a_buyer_who_gives_name_and_email_becomes_a_customer(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect(*NEW):
        done = awa.follow(awa.pay(**CARD, **WHO))
    assert (done.status, done.state) == (200, "paid")
    assert "You paid 5,000 XAF" in done.text
    assert sandbox.api.get("/customers/")["data"][0]["email"] == WHO["email"]
    assert uses(sandbox, made) == 1


@pytest.mark.parametrize("absent", ["name", "email"])
def test_name_and_email_are_required_where_they_are_collected(sandbox: Sandbox, absent: str) -> None:
    with buyer(sandbox, link(sandbox)) as awa:
        answer = awa.pay(**{**CARD, **WHO, absent: " "})
    assert answer.status_code == 422
    assert f'id="{absent}-wrong"' in answer.text


def test_no_buyer_is_asked_where_nothing_is_collected(sandbox: Sandbox) -> None:
    with buyer(sandbox, link(sandbox, collect_customer_info=False)) as awa, sandbox.expect(*PAID):
        assert not awa.open().has("email")
        assert awa.follow(awa.pay(**CARD)).state == "paid"


def test_a_redirect_of_its_own_is_followed(sandbox: Sandbox) -> None:
    urls = {"success": "https://shop.example.com/yes", "cancel": "https://shop.example.com/no"}
    with buyer(sandbox, link(sandbox, redirect_url=urls)) as awa:
        assert awa.open().elements["cancel"]["href"] == urls["cancel"]
        assert awa.pay(**CARD, **WHO).headers["location"] == urls["success"]


@pytest.mark.parametrize(
    ("typed", "amount"), [("2500", 2500), ("2,500", 2500), (" 2 500 ", 2500), ("100", 100), ("99999999", 99_999_999)]
)
def test_a_donor_says_how_much(sandbox: Sandbox, typed: str, amount: int) -> None:
    with buyer(sandbox, link(sandbox, payment_link_type="donation")) as awa:
        assert awa.follow(awa.pay(**CARD, **WHO, amount=typed)).state == "paid"
    assert last_amount(sandbox) == amount


@pytest.mark.parametrize("typed", ["", "much", "-5", "0.5", "99", "100000000", "1e5", "²", "9" * 40])
def test_an_amount_that_cannot_be_paid_is_marked(sandbox: Sandbox, typed: str) -> None:
    with buyer(sandbox, link(sandbox, payment_link_type="donation")) as awa:
        answer = awa.pay(**CARD, **WHO, amount=typed)
    assert answer.status_code == 422
    assert 'id="amount-wrong"' in answer.text


@pytest.mark.parametrize(
    ("language", "typed", "amount"),
    [
        ("en", "15.50", 1550),
        ("fr", "15,50", 1550),
        ("en", "1,015.5", 101_550),
        ("fr", "1 015,5", 101_550),
        ("fr", "15", 1500),
    ],
)
def test_decimals_are_read_as_the_buyer_writes_them(sandbox: Sandbox, language: str, typed: str, amount: int) -> None:
    made = link(sandbox, payment_link_type="donation", currency="EUR")
    with buyer(sandbox, made, **{"Accept-Language": language}) as awa:
        awa.pay(**CARD, **WHO, amount=typed)
    assert last_amount(sandbox) == amount


def test_of_several_products_the_buyer_chooses_one(sandbox: Sandbox) -> None:
    products = [sandbox.product(name="Basket", unit_amount=2000), sandbox.product(name="Mat", unit_amount=7000)]
    ids = [product["id"] for product in products]
    with buyer(sandbox, link(sandbox, payment_link_type="product", products=ids, allow_quantity=True)) as awa:
        assert {f"product-{id}" for id in ids} <= awa.open().elements.keys()
        assert awa.pay(**CARD, **WHO).status_code == 422
        assert awa.follow(awa.pay(**CARD, **WHO, product=ids[1], quantity="3")).state == "paid"
    assert last_amount(sandbox) == 21_000


def test_the_page_shows_the_products_present_name_and_the_links_price(sandbox: Sandbox) -> None:
    product = sandbox.product(name="Basket")
    made = link(sandbox, payment_link_type="product", products=[product["id"]])
    sandbox.api.patch(f"/products/{product['id']}/", {"name": "Big basket", "unit_amount": 9000})
    with buyer(sandbox, made) as awa:
        page = awa.open()
    assert page.said("title") == "Big basket"
    assert page.said("total") == "2,000 XAF"


def test_a_free_product_suggests_its_amount(sandbox: Sandbox) -> None:
    product = sandbox.product(price_type="free", unit_amount=2000)
    with buyer(sandbox, link(sandbox, payment_link_type="product", products=[product["id"]])) as awa:
        assert awa.open().fields["amount"] == "2000"
        awa.pay(**CARD, **WHO, amount="3000")
    assert last_amount(sandbox) == 3000


@pytest.mark.parametrize("quantity", ["0", "-1", "1.5", "many", "9999999"])
def test_a_quantity_is_a_whole_number(sandbox: Sandbox, quantity: str) -> None:
    with buyer(sandbox, link(sandbox, allow_quantity=True)) as awa:
        assert 'id="quantity-wrong"' in awa.pay(**CARD, **WHO, quantity=quantity).text


def test_two_tabs_of_one_browser_pay_once(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect(*NEW):
        tabs = [{**awa.open().fields, "do": "pay", **CARD, **WHO} for _ in range(2)]
        answers = [awa.send(form) for form in tabs]
        assert awa.open().state == "paid", "a reload, or the way back, shows what was paid"
    assert answers[0].headers["location"] == answers[1].headers["location"]
    assert uses(sandbox, made) == 1


def test_a_buyer_who_wants_to_pay_again_can(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with buyer(sandbox, made) as awa:
        done = awa.follow(awa.pay(**CARD, **WHO))
        again = awa.open(str(done.elements["pay-again"]["href"]))
        assert again.state == "payable"
        awa.send({**again.fields, "do": "pay", **CARD, **WHO})
    assert uses(sandbox, made) == 2


def test_buyers_do_not_see_each_others_payments(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with buyer(sandbox, made) as awa, buyer(sandbox, made) as ama, buyer(sandbox, link(sandbox)) as other:
        location = awa.pay(**TRANSFER, **WHO).headers["location"]
        assert awa.open().state == "waiting"
        assert ama.open().state == "payable"
        assert other.open(payment=location.partition("payment=")[2]).state == "payable"


@pytest.mark.parametrize("limits", [{"validity_type": "one_time"}, {"validity_type": "limited", "max_usage": 1}])
def test_an_exhausted_link_is_no_longer_available(sandbox: Sandbox, limits: dict[str, Any]) -> None:
    """A use is counted when a payment is initiated, even if it later fails."""
    made = link(sandbox, **limits)
    with buyer(sandbox, made) as awa, buyer(sandbox, made) as ama:
        late = {**ama.open().fields, "do": "pay", **CARD, **WHO}
        failed = awa.follow(awa.pay(**DECLINED, **WHO))
        assert (failed.status, failed.state) == (410, "exhausted")
        assert "declined" in failed.text
        rejected = ama.follow(ama.send(late))
    assert (rejected.status, rejected.state) == (410, "exhausted")
    assert "no longer available" in rejected.text
    assert uses(sandbox, made) == 1


def test_a_link_whose_time_is_over_is_no_longer_available(sandbox: Sandbox) -> None:
    made = link(sandbox, validity_type="limited", expires_at="2026-01-01T01:00:00Z")
    with buyer(sandbox, made) as awa:
        sandbox.advance("59m")
        assert awa.open().status == 200
        sandbox.advance("1m")
        page = awa.open()
    assert (page.status, page.state) == (410, "link_expired")


def test_an_archived_link_is_closed_until_it_is_restored(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with buyer(sandbox, made) as awa:
        sandbox.api.post(f"/payment-links/{made['id']}/archive/")
        assert (awa.open().status, awa.open().state) == (410, "archived")
        assert awa.twin()["state"] == "archived"
        sandbox.api.post(f"/payment-links/{made['id']}/restore/")
        assert awa.open().status == 200


def test_a_deleted_link_is_not_there(sandbox: Sandbox) -> None:
    made = link(sandbox)
    sandbox.api.delete(f"/payment-links/{made['id']}/")
    with buyer(sandbox, made) as awa:
        assert awa.open().status == 404


def test_the_picture_of_the_one_product_is_shown(sandbox: Sandbox) -> None:
    """B-67: pages "show name and image of the product"; the policy lets the browser load it."""
    picture = "https://pictures.example.com/basket.png"
    basket = sandbox.product(name="Rice", images=[picture])
    made = sandbox.api.post("/payment-links/", {"currency": "XAF", "products": [basket["id"]]})
    with buyer(sandbox, made) as awa:
        page = awa.open()
        assert page.elements["picture"]["src"] == picture
        assert "img-src data: https://pictures.example.com;" in page.answer.headers["content-security-policy"]
