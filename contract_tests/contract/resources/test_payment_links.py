"""Payment links: made, changed, archived, restored, deleted, and paid by many buyers (B-59)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, FAILING_PHONE, START, Sandbox, path_of

PAID = ("payment_intent.succeeded", "transaction.succeeded")
AWA = {"name": "Awa Diop", "email": "awa@example.com"}
SLOW = {"type": "mobile_money", "phone": "+24177000006"}


def link_of(sandbox: Sandbox, *products: Any, **fields: Any) -> Any:
    """Return a link that sells these products."""
    ids = [product["id"] for product in products]
    return sandbox.link(payment_link_type="product", products=ids, amount=..., **fields)


# -- making one


def test_a_new_link_has_its_defaults(sandbox: Sandbox) -> None:
    """PaymentLink fields."""
    with sandbox.expect():
        link = sandbox.link(payment_link_type=...)
    assert (link["status"], link["payment_link_type"]) == ("active", "custom")
    assert (link["amount"], link["products"]) == (25000, [])
    assert link["url"] == f"{sandbox.url}/pay/{link['id']}"
    assert (link["validity_type"], link["max_usage"], link["usage_count"]) == ("unlimited", None, 0)
    assert (link["expires_at"], link["redirect_url"]) == (None, {"success": None, "cancel": None})
    assert (link["collect_customer_info"], link["allow_quantity"]) == (True, False)
    assert link["payment_method_types"] == ["mobile_money", "bank_card", "bank_transfer", "paypal"]


def test_the_type_of_a_link_follows_its_fields(sandbox: Sandbox) -> None:
    """B-59: ``payment_link_type`` is optional."""
    assert sandbox.link(payment_link_type=...)["payment_link_type"] == "custom"
    product = {"currency": "XAF", "products": [sandbox.product()["id"]]}
    for body in (product, {**product, "amount": 5000}):
        assert sandbox.api.post("/payment-links/", body)["payment_link_type"] == "product"
    assert (
        sandbox.api.post("/payment-links/", {"currency": "XAF"})["payment_link_type"] == "donation"
    )


def test_the_amount_of_a_link_is_ignored_but_for_custom(sandbox: Sandbox) -> None:
    donation = sandbox.link(payment_link_type="donation", amount=1)
    assert (donation["amount"], donation["name"]) == (None, None)


def test_a_product_link_takes_the_first_products_name(sandbox: Sandbox) -> None:
    """ "Defaults to the first product's name for type product"; the stored name stays (B-59)."""
    hat, gift = sandbox.product(name="Hat"), sandbox.product(price_type="free", unit_amount=0)
    link = link_of(sandbox, hat, gift, hat)
    assert (link["name"], link["products"], link["amount"]) == (
        "Hat",
        [hat["id"], gift["id"]],
        None,
    )
    sandbox.api.patch(f"/products/{hat['id']}/", {"name": "Cap"})
    assert sandbox.shown(link)["name"] == "Hat"


def test_a_link_keeps_the_price_that_its_product_had(sandbox: Sandbox) -> None:
    """PATCH /products/{id}/: a price change does not affect links already created."""
    product = sandbox.product()
    link = link_of(sandbox, product)
    sandbox.api.patch(f"/products/{product['id']}/", {"unit_amount": 7000})
    assert sandbox.buy(link, customer=AWA)["amount"] == product["unit_amount"]


def test_a_link_has_the_limits_of_its_validity(sandbox: Sandbox) -> None:
    """B-12, B-15, B-59."""
    assert sandbox.link(validity_type="one_time")["max_usage"] == 1
    link = sandbox.link(
        validity_type="limited", max_usage=3, expires_at="2026-02-01T01:00:00+01:00"
    )
    assert (link["max_usage"], link["expires_at"]) == (3, "2026-02-01T00:00:00.000Z")
    euro = [sandbox.product()["id"], sandbox.product(currency="EUR")["id"]]
    for fields, code, param in (
        ({"validity_type": "limited", "max_usage": None}, "MISSING_FIELD", "max_usage"),
        ({"validity_type": "limited", "expires_at": START}, "INVALID_FIELD", "expires_at"),
        (
            {"payment_link_type": "product", "amount": ..., "products": euro},
            "INVALID_FIELD",
            "products.1",
        ),
    ):
        error = sandbox.api.rejected(
            "POST", "/payment-links/", 422, code, json=sandbox.link_body(**fields)
        )
        assert error["param"] == param, fields


# -- changing, archiving


def test_a_redirect_url_replaces_the_whole_one(sandbox: Sandbox) -> None:
    """B-59."""
    link = sandbox.link(
        redirect_url={"success": "https://a.example.com", "cancel": "https://b.example.com"}
    )
    changed = sandbox.api.patch(
        f"{path_of(link)}/", {"redirect_url": {"success": "https://c.example.com"}}
    )
    assert changed["redirect_url"] == {"success": "https://c.example.com", "cancel": None}


@pytest.mark.parametrize(
    ("limits", "change", "param"),
    [
        ({"max_usage": 3}, {"max_usage": 1}, "max_usage"),
        ({"max_usage": 3}, {"max_usage": None}, "max_usage"),
        ({"max_usage": 3}, {"max_usage": None, "expires_at": None}, "max_usage"),
        ({"expires_at": "2027-01-01"}, {"expires_at": None}, "expires_at"),
    ],
)
def test_a_limited_link_keeps_a_limit_that_its_uses_allow(
    sandbox: Sandbox, limits: Any, change: Any, param: str
) -> None:
    """B-59; either limit can replace the other; ``max_usage`` may be as low as the uses so far."""
    link = sandbox.link(validity_type="limited", collect_customer_info=False, **limits)
    for _ in range(2):
        sandbox.buy(link)
    assert (
        sandbox.api.rejected("PATCH", f"{path_of(link)}/", 422, "INVALID_FIELD", json=change)[
            "param"
        ]
        == param
    )
    for other in (
        {"expires_at": "2027-02-01", "max_usage": None},
        {"expires_at": None, "max_usage": 2},
    ):
        assert sandbox.api.patch(f"{path_of(link)}/", other)["max_usage"] == other["max_usage"]


def test_an_archived_link_takes_no_payment_until_it_is_restored(sandbox: Sandbox) -> None:
    """active → archived → active; the other way round 422 (B-59)."""
    link = sandbox.link()
    sandbox.api.rejected("POST", f"{path_of(link)}/restore/", 422, "INVALID_STATUS_TRANSITION")
    with sandbox.expect():
        archived = sandbox.act(link, "archive")
    assert archived == {"id": link["id"], "status": "archived", "updated_at": sandbox.now}
    sandbox.api.rejected("POST", f"{path_of(link)}/archive/", 422, "INVALID_STATUS_TRANSITION")
    assert "archived" in sandbox.buy_rejected(link, customer=AWA)["message"]
    assert sandbox.act(link, "restore") == link
    assert sandbox.buy(link, customer=AWA)["status"] == "succeeded"


# -- paying


def test_many_buyers_pay_one_link(sandbox: Sandbox) -> None:
    """ "A link can be used many times by many customers", with its and the product's metadata."""
    product = sandbox.product(metadata={"kind": "basket"})
    link = link_of(sandbox, product, metadata={"campaign": "may"})
    with sandbox.expect("customer.created", *PAID):
        intent = sandbox.buy(link, customer=AWA)
    carried = sandbox.events()[-2]["data"]["metadata"]
    assert carried == {"product": {"kind": "basket"}, "payment_link": {"campaign": "may"}}
    assert (intent["payment_link"], intent["amount"], intent["status"]) == (
        link["id"],
        2000,
        "succeeded",
    )
    assert (intent["customer_email"], intent["description"]) == (AWA["email"], "Basket")
    with sandbox.expect("customer.created", *PAID):
        other = sandbox.buy(link, CARD, customer={"name": "Ben", "email": "ben@example.com"})
    with sandbox.expect(*PAID):
        assert (
            sandbox.buy(link, customer=AWA)["customer"] == intent["customer"] != other["customer"]
        )
    assert sandbox.shown(link)["usage_count"] == 3


def test_the_buyer_chooses_only_where_there_is_a_choice(
    sandbox: Sandbox,
) -> None:
    """B-59; a fixed amount is not the buyer's to choose."""
    basket, hat, other = (
        sandbox.product(),
        sandbox.product(name="Hat", unit_amount=700),
        sandbox.product(),
    )
    several, alone = link_of(sandbox, basket, hat), link_of(sandbox, basket)
    fixed, counted = sandbox.link(), sandbox.link(allow_quantity=True)
    for link, code, param, value in (
        (several, "MISSING_FIELD", "product", None),
        (several, "INVALID_FIELD", "product", other["id"]),
        (fixed, "INVALID_FIELD", "product", "prod_x"),
        (fixed, "INVALID_FIELD", "quantity", 1),
        (counted, "INVALID_FIELD", "quantity", 0),
        (counted, "AMOUNT_TOO_LARGE", "quantity", 4000),
        (fixed, "INVALID_FIELD", "amount", 5000),
        (alone, "INVALID_FIELD", "amount", 5000),
    ):
        choice = {} if value is None else {param: value}
        assert sandbox.buy_rejected(link, code, customer=AWA, **choice)["param"] == param, (
            code,
            value,
        )
    for link, fields, amount in (
        (several, {"product": hat["id"]}, 700),
        (alone, {"product": basket["id"]}, 2000),
        (counted, {"quantity": 3}, 75000),
        (counted, {}, 25000),
    ):
        assert sandbox.buy(link, customer=AWA, **fields)["amount"] == amount


@pytest.mark.parametrize("free", [True, False])
def test_the_buyer_enters_the_amount_of_a_donation_or_a_free_price(
    sandbox: Sandbox, free: bool
) -> None:
    if free:
        link = link_of(sandbox, sandbox.product(price_type="free"))
    else:
        link = sandbox.link(payment_link_type="donation", amount=...)
    assert sandbox.buy_rejected(link, "MISSING_FIELD", customer=AWA)["param"] == "amount"
    assert (
        sandbox.buy_rejected(link, "AMOUNT_TOO_SMALL", customer=AWA, amount=99)["param"] == "amount"
    )
    assert (
        sandbox.buy_rejected(link, "AMOUNT_TOO_LARGE", customer=AWA, amount=100_000_000)["param"]
        == "amount"
    )
    assert sandbox.buy(link, amount=100, customer=AWA)["amount"] == 100
    assert sandbox.shown(link)["usage_count"] == 1


def test_the_buyers_fields_are_required_where_they_are_collected(sandbox: Sandbox) -> None:
    """B-12, B-59."""
    link = sandbox.link()
    for buyer_fields, missing, code in (
        ({"name": "Awa Diop"}, {"customer.email"}, "MISSING_FIELD"),
        ({"email": "awa@example.com"}, {"customer.name"}, "MISSING_FIELD"),
        ({}, {"customer.name", "customer.email"}, "VALIDATION_ERROR"),
    ):
        assert set(sandbox.buy_rejected(link, code, customer=buyer_fields)["errors"]) == missing


def test_a_link_that_collects_nothing_makes_no_customer(sandbox: Sandbox) -> None:
    """B-59."""
    open_link = sandbox.link(collect_customer_info=False)
    with sandbox.expect(*PAID, *PAID):
        assert sandbox.buy(open_link)["customer"] is None
        known = sandbox.buy(open_link, customer=AWA)
    assert (known["customer"], known["customer_email"]) == (None, AWA["email"])


USED_UP = "Used up by a payment that failed"


def test_explain_says_which_link_a_failed_payment_used_up(sandbox: Sandbox) -> None:
    """B-59."""
    link = sandbox.link(validity_type="one_time")
    assert USED_UP not in sandbox.control.get(f"/explain/{link['id']}")["summary"]
    sandbox.buy(link, {"type": "mobile_money", "phone": FAILING_PHONE}, customer=AWA)
    assert USED_UP in sandbox.control.get(f"/explain/{link['id']}")["summary"]


def test_a_use_counts_when_a_payment_starts_even_if_it_fails(sandbox: Sandbox) -> None:
    """PaymentLink states; exhausted links stay ``active`` (B-59). A rejection is no use (B-55)."""
    link = sandbox.link(validity_type="limited", max_usage=2, payment_method_types=["mobile_money"])
    sandbox.buy_rejected(link, "PAYMENT_METHOD_NOT_SUPPORTED", customer=AWA)
    with sandbox.expect("customer.created", "payment_intent.failed"):
        failed = sandbox.buy(link, {"type": "mobile_money", "phone": FAILING_PHONE}, customer=AWA)
    assert (failed["status"], sandbox.shown(link)["usage_count"]) == ("canceled", 1)
    sandbox.buy(link, SLOW, customer=AWA)
    assert sandbox.shown(link)["usage_count"] == 2
    assert "exhausted" in sandbox.buy_rejected(link, customer=AWA)["message"]
    assert sandbox.status(link) == "active"
    assert USED_UP not in sandbox.control.get(f"/explain/{link['id']}")["summary"]
    sandbox.api.patch(f"{path_of(link)}/", {"max_usage": 3})
    assert sandbox.buy(link, customer=AWA)["status"] == "succeeded"


def test_a_limited_link_takes_payments_until_its_end(sandbox: Sandbox) -> None:
    """ "once max_usage is reached or expires_at passes, whichever comes first"."""
    link = sandbox.link(validity_type="limited", expires_at="2026-01-02T00:00:00Z")
    sandbox.advance("86399s")
    sandbox.buy(link, customer=AWA)
    sandbox.advance("1s")
    assert "expired" in sandbox.buy_rejected(link, customer=AWA)["message"]


def test_an_ended_link_takes_its_own_end_again_but_no_other_past_one(sandbox: Sandbox) -> None:
    """A client may send back all that it has read."""
    link = sandbox.link(validity_type="limited", expires_at="2026-01-02T00:00:00Z")
    sandbox.advance("2d")
    sent = {"expires_at": link["expires_at"], "metadata": {"campaign": "may"}}
    assert sandbox.api.patch(f"{path_of(link)}/", sent)["metadata"] == {"campaign": "may"}
    other = {"expires_at": "2026-01-02T00:00:01Z"}
    sandbox.api.rejected("PATCH", f"{path_of(link)}/", 422, "INVALID_FIELD", json=other)


def test_a_limited_link_takes_as_many_payments_as_it_says(sandbox: Sandbox) -> None:
    link = sandbox.link(validity_type="limited", max_usage=2)
    for _ in range(2):
        sandbox.buy(link, customer=AWA)
    assert "exhausted" in sandbox.buy_rejected(link, customer=AWA)["message"]


def test_a_deleted_link_leaves_its_payments(sandbox: Sandbox) -> None:
    """ "Payment link metadata in `payment_intent.succeeded` events tied to the link", even so."""
    link = sandbox.link(metadata={"campaign": "may"})
    intent = sandbox.buy(link, SLOW, customer=AWA)
    sandbox.api.delete(f"{path_of(link)}/")
    with sandbox.expect(*PAID):
        sandbox.advance("60s")
    assert sandbox.shown(intent)["payment_link"] == link["id"]
    assert sandbox.events()[-2]["data"]["metadata"] == {"payment_link": {"campaign": "may"}}


def test_explain_says_how_often_a_link_can_be_used(sandbox: Sandbox) -> None:
    for limits, words in (
        ({"validity_type": "one_time"}, "once"),
        ({"validity_type": "limited", "max_usage": 1}, "once"),
        ({"validity_type": "limited", "max_usage": 3}, "3 times in all"),
    ):
        explanation = sandbox.control.get(f"/explain/{sandbox.link(**limits)['id']}")
        assert explanation["summary"] == f"No payment yet. It can be used {words}."
