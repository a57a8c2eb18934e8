"""Payment links: made, changed, archived, restored, deleted, and paid by many buyers (B-59)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, FAILING_PHONE, START, Sandbox

EVERY_TYPE = ["mobile_money", "bank_card", "bank_transfer", "paypal"]


def link_of(sandbox: Sandbox, *products: Any, **fields: Any) -> Any:
    """Return a link that sells these products."""
    ids = [product["id"] for product in products]
    return sandbox.link(payment_link_type="product", products=ids, amount=..., **fields)


# -- making one


def test_a_new_link_is_active_and_has_a_page(sandbox: Sandbox) -> None:
    """PaymentLink fields; defaults of the create body."""
    with sandbox.expect():
        link = sandbox.link(name="Workshop", metadata={"room": "4"})
    assert (link["status"], link["payment_link_type"], link["amount"], link["products"]) == (
        "active",
        "custom",
        25000,
        [],
    )
    assert link["url"] == f"{sandbox.url}/pay/{link['id']}"
    assert (link["validity_type"], link["max_usage"], link["usage_count"]) == ("unlimited", None, 0)
    assert (link["expires_at"], link["redirect_url"]) == (None, {"success": None, "cancel": None})
    assert (link["collect_customer_info"], link["allow_quantity"]) == (True, False)
    assert link["payment_method_types"] == EVERY_TYPE
    assert (link["created_at"], link["updated_at"]) == (START, START)
    assert sandbox.api.get(f"/payment-links/{link['id']}/") == link


def test_a_product_link_takes_the_first_products_name(sandbox: Sandbox) -> None:
    """ "Defaults to the first product's name for type product"; the stored name stays (B-59)."""
    basket, hat = sandbox.product(), sandbox.product(name="Hat")
    link = link_of(sandbox, hat, basket, hat)
    assert (link["name"], link["products"], link["amount"]) == ("Hat", [hat["id"], basket["id"]], None)
    sandbox.api.patch(f"/products/{hat['id']}/", {"name": "Cap"})
    assert sandbox.api.get(f"/payment-links/{link['id']}/")["name"] == "Hat"


def test_amount_is_ignored_but_for_custom(sandbox: Sandbox) -> None:
    link = sandbox.link(payment_link_type="donation", amount=1)
    assert (link["amount"], link["name"]) == (None, None)


def test_one_time_is_a_max_usage_of_one(sandbox: Sandbox) -> None:
    assert sandbox.link(validity_type="one_time")["max_usage"] == 1


def test_a_limited_link_has_its_limits(sandbox: Sandbox) -> None:
    link = sandbox.link(validity_type="limited", max_usage=3, expires_at="2026-02-01T01:00:00+01:00")
    assert (link["max_usage"], link["expires_at"]) == (3, "2026-02-01T00:00:00.000Z")


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"validity_type": "one_time", "max_usage": 1}, "INVALID_FIELD", "max_usage"),
        ({"validity_type": "limited"}, "MISSING_FIELD", "max_usage"),
        ({"validity_type": "limited", "max_usage": None}, "MISSING_FIELD", "max_usage"),
        ({"validity_type": "limited", "expires_at": START}, "INVALID_FIELD", "expires_at"),
    ],
    ids=str,
)
def test_an_invalid_link_is_rejected(sandbox: Sandbox, fields: Any, code: str, param: str) -> None:
    """B-12, B-13, B-23, B-59."""
    error = sandbox.api.rejected("POST", "/payment-links/", 422, code, json=sandbox.link_body(**fields))
    assert error["param"] == param
    assert sandbox.api.get("/payment-links/")["data"] == []


def test_a_product_in_another_currency_is_rejected(sandbox: Sandbox) -> None:
    """B-15."""
    ids = [sandbox.product()["id"], sandbox.product(currency="EUR")["id"]]
    body = {"currency": "XAF", "payment_link_type": "product", "products": ids}
    assert sandbox.api.rejected("POST", "/payment-links/", 422, "INVALID_FIELD", json=body)["param"] == "products.1"


# -- changing, archiving, deleting


def test_patch_changes_what_is_sent(sandbox: Sandbox) -> None:
    """B-21, B-22, B-59: a ``redirect_url`` replaces the whole one."""
    link = sandbox.link(
        validity_type="limited",
        max_usage=3,
        metadata={"a": 1, "b": 2},
        redirect_url={"success": "https://a.example.com", "cancel": "https://b.example.com"},
    )
    path = f"/payment-links/{link['id']}/"
    sandbox.advance("1s")
    changes = {"name": "New", "collect_customer_info": False, "allow_quantity": True, "max_usage": 9}
    changed = sandbox.api.patch(
        path,
        {
            **changes,
            "expires_at": "2026-06-01T00:00:00Z",
            "payment_method_types": ["paypal"],
            "metadata": {"a": None, "c": 3},
            "redirect_url": {"success": "https://c.example.com"},
        },
    )
    assert changed == {
        **link,
        **changes,
        "expires_at": "2026-06-01T00:00:00.000Z",
        "payment_method_types": ["paypal"],
        "metadata": {"b": 2, "c": 3},
        "redirect_url": {"success": "https://c.example.com", "cancel": None},
        "updated_at": sandbox.now,
    }
    assert sandbox.api.patch(path, {"payment_method_types": []})["payment_method_types"] == EVERY_TYPE
    assert sandbox.api.get(path)["name"] == "New"


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
    """B-59; one limit may be replaced by the other, and ``max_usage`` may be as low as the uses so far."""
    link = sandbox.link(validity_type="limited", collect_customer_info=False, **limits)
    path = f"/payment-links/{link['id']}/"
    sandbox.buy(link)
    sandbox.buy(link)
    assert sandbox.api.rejected("PATCH", path, 422, "INVALID_FIELD", json=change)["param"] == param
    for other in ({"expires_at": "2027-02-01", "max_usage": None}, {"expires_at": None, "max_usage": 2}):
        assert sandbox.api.patch(path, other)["max_usage"] == other["max_usage"]


def test_archive_and_restore(sandbox: Sandbox) -> None:
    """active → archived → active; the other way round 422 (B-59)."""
    link = sandbox.link()
    path = f"/payment-links/{link['id']}/"
    sandbox.api.rejected("POST", f"{path}restore/", 422, "INVALID_STATUS_TRANSITION")
    with sandbox.expect():
        archived = sandbox.api.post(f"{path}archive/")
    assert archived == {"id": link["id"], "status": "archived", "updated_at": sandbox.now}
    assert sandbox.api.get(path)["status"] == "archived"
    sandbox.api.rejected("POST", f"{path}archive/", 422, "INVALID_STATUS_TRANSITION")
    assert sandbox.api.post(f"{path}restore/") == link


# -- paying


PAID = ("payment_intent.succeeded", "transaction.succeeded")
AWA = {"name": "Awa Diop", "email": "awa@example.com"}


def pay_rejected(sandbox: Sandbox, link: Any, code: str, **fields: Any) -> Any:
    body = {"method": CARD, "customer": AWA, **fields}
    return sandbox.control.rejected("POST", f"/payment-links/{link['id']}/pay", 422, code, json=body)


def uses(sandbox: Sandbox, link: Any) -> int:
    """Return its usage_count."""
    return int(sandbox.api.get(f"/payment-links/{link['id']}/")["usage_count"])


def test_many_buyers_pay_one_link(sandbox: Sandbox) -> None:
    """ "A link can be used many times by many customers"; its metadata and the product's are carried."""
    product = sandbox.product(metadata={"kind": "basket"})
    link = link_of(sandbox, product, metadata={"campaign": "may"})
    with sandbox.expect("customer.created", *PAID):
        intent = sandbox.buy(link, customer=AWA)
    carried = sandbox.events()[-2]["data"]["metadata"]
    assert carried == {"product": {"kind": "basket"}, "payment_link": {"campaign": "may"}}
    assert (intent["payment_link"], intent["amount"], intent["status"]) == (link["id"], 2000, "succeeded")
    assert (intent["customer_email"], intent["description"]) == (AWA["email"], "Basket")
    with sandbox.expect("customer.created", *PAID):
        other = sandbox.buy(link, CARD, customer={"name": "Ben", "email": "ben@example.com"})
    with sandbox.expect(*PAID):
        assert sandbox.buy(link, customer=AWA)["customer"] == intent["customer"] != other["customer"]
    assert uses(sandbox, link) == 3


def test_a_price_change_is_for_new_links(sandbox: Sandbox) -> None:
    """Products, PATCH; an archived product still works in existing links (Products, DELETE)."""
    product = sandbox.product()
    link = link_of(sandbox, product)
    sandbox.api.patch(f"/products/{product['id']}/", {"unit_amount": 9000})
    sandbox.api.delete(f"/products/{product['id']}/")
    assert sandbox.buy(link, customer=AWA)["amount"] == 2000


def test_of_several_products_the_buyer_names_one(sandbox: Sandbox) -> None:
    """B-59."""
    basket, hat = sandbox.product(), sandbox.product(name="Hat", unit_amount=700)
    link = link_of(sandbox, basket, hat)
    assert pay_rejected(sandbox, link, "MISSING_FIELD")["param"] == "product"
    assert pay_rejected(sandbox, link, "INVALID_FIELD", product=sandbox.product()["id"])["param"] == "product"
    assert sandbox.buy(link, product=hat["id"], customer=AWA)["amount"] == 700
    alone = link_of(sandbox, basket)
    assert sandbox.buy(alone, product=basket["id"], customer=AWA)["amount"] == 2000


def test_a_quantity_only_where_it_is_allowed(sandbox: Sandbox) -> None:
    """B-59."""
    fixed, counted = sandbox.link(), sandbox.link(allow_quantity=True)
    assert pay_rejected(sandbox, fixed, "INVALID_FIELD", quantity=1)["param"] == "quantity"
    assert sandbox.buy(counted, quantity=3, customer=AWA)["amount"] == 75000
    assert sandbox.buy(counted, customer=AWA)["amount"] == 25000
    assert pay_rejected(sandbox, counted, "INVALID_FIELD", quantity=0)["param"] == "quantity"
    assert pay_rejected(sandbox, counted, "AMOUNT_TOO_LARGE", quantity=4000)["param"] == "quantity"


@pytest.mark.parametrize("free", [True, False])
def test_the_buyer_enters_the_amount_of_a_donation_or_a_free_price(sandbox: Sandbox, free: bool) -> None:
    if free:
        link = link_of(sandbox, sandbox.product(price_type="free"))
    else:
        link = sandbox.link(payment_link_type="donation", amount=...)
    assert pay_rejected(sandbox, link, "MISSING_FIELD")["param"] == "amount"
    assert pay_rejected(sandbox, link, "AMOUNT_TOO_SMALL", amount=99)["param"] == "amount"
    assert pay_rejected(sandbox, link, "AMOUNT_TOO_LARGE", amount=100_000_000)["param"] == "amount"
    assert sandbox.buy(link, amount=100, customer=AWA)["amount"] == 100
    assert uses(sandbox, link) == 1


def test_a_fixed_amount_is_not_the_buyers_to_choose(sandbox: Sandbox) -> None:
    for link in (sandbox.link(), link_of(sandbox, sandbox.product())):
        assert pay_rejected(sandbox, link, "INVALID_FIELD", amount=5000)["param"] == "amount"
    assert pay_rejected(sandbox, sandbox.link(), "INVALID_FIELD", product="prod_x")["param"] == "product"


@pytest.mark.parametrize("missing", ["name", "email"])
def test_name_and_email_are_required_where_they_are_collected(sandbox: Sandbox, missing: str) -> None:
    """B-59."""
    given = {name: value for name, value in AWA.items() if name != missing}
    error = pay_rejected(sandbox, sandbox.link(), "MISSING_FIELD", customer=given)
    assert error["param"] == f"customer.{missing}"


def test_without_collecting_no_customer_is_made(sandbox: Sandbox) -> None:
    link = sandbox.link(collect_customer_info=False)
    with sandbox.expect(*PAID, *PAID):
        assert sandbox.buy(link)["customer"] is None
        known = sandbox.buy(link, customer=AWA)
    assert (known["customer"], known["customer_email"]) == (None, AWA["email"])


def test_a_type_that_is_not_allowed_is_rejected(sandbox: Sandbox) -> None:
    """B-55: nothing made, no use counted."""
    link = sandbox.link(payment_method_types=["paypal"])
    pay_rejected(sandbox, link, "PAYMENT_METHOD_NOT_SUPPORTED")
    assert uses(sandbox, link) == 0


def test_a_use_counts_when_a_payment_starts_even_if_it_fails(sandbox: Sandbox) -> None:
    """PaymentLink states; exhausted links stay ``active`` (B-59)."""
    link = sandbox.link(validity_type="limited", max_usage=2)
    with sandbox.expect("customer.created", "payment_intent.failed"):
        failed = sandbox.buy(link, {"type": "mobile_money", "phone": FAILING_PHONE}, customer=AWA)
    assert (failed["status"], uses(sandbox, link)) == ("canceled", 1)
    sandbox.buy(link, {"type": "mobile_money", "phone": "+24177000006"}, customer=AWA)
    assert uses(sandbox, link) == 2
    assert "exhausted" in pay_rejected(sandbox, link, "INVALID_STATUS_TRANSITION")["message"]
    assert sandbox.api.get(f"/payment-links/{link['id']}/")["status"] == "active"
    sandbox.api.patch(f"/payment-links/{link['id']}/", {"max_usage": 3})
    assert sandbox.buy(link, customer=AWA)["status"] == "succeeded"


def test_a_limited_link_takes_payments_until_its_end(sandbox: Sandbox) -> None:
    """ "once max_usage is reached or expires_at passes, whichever comes first"."""
    link = sandbox.link(validity_type="limited", expires_at="2026-01-02T00:00:00Z")
    sandbox.advance("86399s")
    sandbox.buy(link, customer=AWA)
    sandbox.advance("1s")
    assert "expired" in pay_rejected(sandbox, link, "INVALID_STATUS_TRANSITION")["message"]


def test_an_archived_link_takes_no_payment_until_it_is_restored(sandbox: Sandbox) -> None:
    link = sandbox.link()
    sandbox.api.post(f"/payment-links/{link['id']}/archive/")
    assert "archived" in pay_rejected(sandbox, link, "INVALID_STATUS_TRANSITION")["message"]
    sandbox.api.post(f"/payment-links/{link['id']}/restore/")
    assert sandbox.buy(link, customer=AWA)["status"] == "succeeded"


def test_a_deleted_link_leaves_its_payments(sandbox: Sandbox) -> None:
    """ "Payment link metadata in `payment_intent.succeeded` events tied to the link", all the same."""
    link = sandbox.link(metadata={"campaign": "may"})
    intent = sandbox.buy(link, {"type": "mobile_money", "phone": "+24177000006"}, customer=AWA)
    sandbox.api.delete(f"/payment-links/{link['id']}/")
    with sandbox.expect(*PAID):
        sandbox.advance("60s")
    assert sandbox.api.get(f"/payment-intents/{intent['id']}/")["payment_link"] == link["id"]
    assert sandbox.events()[-2]["data"]["metadata"] == {"payment_link": {"campaign": "may"}}
