"""The pages of a payment link (B-59), an invoice and a receipt (B-45, B-53, B-66), by HTTP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest

from contract_tests.simulator.world_rules import per_cent
from contract_tests.support.sandbox import CHARGED, Sandbox
from contract_tests.surfaces.pages.buyer import (
    CARD,
    DECLINED,
    PHONE,
    TRANSFER,
    WHO,
    buyer,
    invoice,
    link,
    path_of,
    policy,
)
from contract_tests.surfaces.rendering import pdfs

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
            *(("quantity", quantity) for quantity in ("0", "1.5", "x", "9999999")),
        ):
            response = awa.pay(**{**CARD, **WHO, marked: typed})
            assert (response.status_code, f'id="{marked}-wrong"' in response.text) == (422, True), (
                marked,
                typed,
            )


TYPED: dict[tuple[str, str], dict[str, int | None]] = {
    ("XAF", "en"): {
        "2,500": 2500,
        "100": 100,
        "99999999": 99_999_999,
        **dict.fromkeys(("", "-5", "0.5", "99", "100000000")),
    },
    ("EUR", "fr"): {"1 015,5": 101_550},
}
"""By currency and language: typed text and paid amount; ``test_language`` has the writing."""


@pytest.mark.parametrize(("currency", "language"), TYPED)
def test_a_donor_says_how_much(sandbox: Sandbox, currency: str, language: str) -> None:
    """As the buyer writes it; an amount that cannot be paid is marked."""
    for text, amount in TYPED[currency, language].items():
        made = link(sandbox, payment_link_type="donation", currency=currency)
        with buyer(sandbox, made, **{"Accept-Language": language}) as awa:
            response = awa.pay(**CARD, **WHO, amount=text)
            if amount is None:
                assert (response.status_code, 'id="amount-wrong"' in response.text) == (
                    422,
                    True,
                ), text
            else:
                assert awa.follow(response).state == "paid", text
                assert last_amount(sandbox) == amount


def test_a_link_shows_its_product_as_it_is_now(sandbox: Sandbox) -> None:
    """B-67: with its picture, as the policy allows, but for the price of the link."""
    picture = "https://pictures.example.com/basket.png"
    product = sandbox.product(name="Basket", images=[picture])
    made = link(sandbox, payment_link_type="product", products=[product["id"]], name=None)
    sandbox.api.patch(f"/products/{product['id']}/", {"name": "Big basket", "unit_amount": 9000})
    with buyer(sandbox, made) as awa:
        page = awa.open()
    assert (page.text_of("title"), page.text_of("total")) == ("Big basket", "2,000 XAF")
    assert page.elements["picture"]["src"] == picture
    assert (
        "img-src data: https://pictures.example.com;"
        in page.response.headers["content-security-policy"]
    )


def test_a_product_of_free_price_suggests_its_amount(sandbox: Sandbox) -> None:
    free = sandbox.product(price_type="free", unit_amount=2000)["id"]
    with buyer(sandbox, link(sandbox, payment_link_type="product", products=[free])) as awa:
        assert awa.open().fields["amount"] == "2000"
        awa.pay(**CARD, **WHO, amount="3000")
    assert last_amount(sandbox) == 3000


def test_of_several_products_the_buyer_chooses_one(sandbox: Sandbox) -> None:
    ids = [sandbox.product(name=name, unit_amount=7000)["id"] for name in ("Basket", "Mat")]
    with buyer(
        sandbox, link(sandbox, payment_link_type="product", products=ids, allow_quantity=True)
    ) as awa:
        assert {f"product-{id}" for id in ids} <= awa.open().elements.keys()
        assert awa.pay(**CARD, **WHO).status_code == 422
        assert awa.follow(awa.pay(**CARD, **WHO, product=ids[1], quantity="3")).state == "paid"
    assert last_amount(sandbox) == 21_000


def test_each_of_several_products_has_its_picture_and_its_price(sandbox: Sandbox) -> None:
    image = "https://shop.example.com/mat.png"
    ids = [
        sandbox.product(name="Basket", unit_amount=7000)["id"],
        sandbox.product(name="Mat", unit_amount=9000, images=[image])["id"],
        sandbox.product(name="Gift", price_type="free", unit_amount=0)["id"],
    ]
    with buyer(sandbox, link(sandbox, payment_link_type="product", products=ids)) as awa:
        page = awa.open()
        assert page.text_of("products") == (
            "B Basket 7,000 XAF Mat 9,000 XAF G Gift The amount is up to you."
        )
        assert f'src="{image}"' in page.html
        assert "https://shop.example.com" in page.response.headers["content-security-policy"]


def test_two_tabs_of_one_browser_pay_once(sandbox: Sandbox) -> None:
    """Where nothing is collected no buyer is asked, and a redirect is followed."""
    made = link(sandbox)
    with buyer(sandbox, made) as awa, sandbox.expect("customer.created", *PAID):
        tabs = [{**awa.open().fields, "do": "pay", **CARD, **WHO} for _ in range(2)]
        responses = [awa.send(form) for form in tabs]
        done = awa.open()
    assert (done.status, done.state) == (200, "paid"), (
        "a reload, or the way back, shows what was paid"
    )
    assert "You paid 5,000 XAF" in done.text
    assert responses[0].headers["location"] == responses[1].headers["location"]
    assert uses(sandbox, made) == 1
    urls = {"success": "https://shop.example.com/yes", "cancel": "https://shop.example.com/no"}
    made = link(sandbox, collect_customer_info=False, redirect_url=urls)
    with buyer(sandbox, made) as awa, sandbox.expect(*PAID):
        page = awa.open()
        assert (page.has("email"), page.elements["cancel"]["href"]) == (False, urls["cancel"])
        assert awa.pay(**CARD).headers["location"] == urls["success"]


def test_a_buyer_sees_the_payments_of_its_own(sandbox: Sandbox) -> None:
    made = link(sandbox)
    with (
        buyer(sandbox, made) as awa,
        buyer(sandbox, made) as ama,
        buyer(sandbox, link(sandbox)) as other,
    ):
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
    assert "Its last payment failed" in rejected.text
    assert uses(sandbox, once) == 1


@pytest.mark.parametrize(
    "limits",
    [{"validity_type": "one_time"}, {"validity_type": "limited", "max_usage": 1}],
    ids=["one time", "limited"],
)
def test_a_link_shows_its_last_use_until_it_has_its_answer(
    sandbox: Sandbox, limits: dict[str, Any]
) -> None:
    """B-62: to a program as to a browser, whoever pays."""
    made = link(sandbox, **limits)
    with buyer(sandbox, made) as awa, buyer(sandbox, made) as ama:
        late = {**ama.open().fields, "do": "pay", **CARD, **WHO}
        awa.pay(**{**PHONE, "phone": "+24177000006"}, **WHO)
        for page in (ama.open(), ama.follow(ama.send(late))):
            assert (page.status, page.state) == (200, "waiting")
        twin = ama.twin()
        assert (twin["state"], twin["payment_intent"]["status"]) == ("waiting", "requires_action")
        sandbox.advance("60s")
        assert ((page := ama.open()).status, page.state) == (410, "exhausted")
        assert awa.open().state == "paid"
    assert uses(sandbox, made) == 1


LOGO = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PICTURE = "https://pictures.example.com/basket.png"


def test_an_invoice_shows_its_lines_before_its_payment_as_after(sandbox: Sandbox) -> None:
    """B-67: an invoice's page has lines with name and image, the tax, and the merchant's place.

    A failure is reported, and an overdue invoice can still be paid.
    """
    merchant = {"address": ["BP 2044", "Libreville"], "email": "shop@example.com", "logo": LOGO}
    sandbox.settings(tax_rate=18, merchant=merchant)
    basket = sandbox.product(name="Rice", images=[PICTURE])
    lines = [{"product": basket["id"]}, {"description": "Delivery", "unit_amount": 4000}]
    made = invoice(sandbox, line_items=lines, due_date="2026-01-02")
    sandbox.advance_to("2026-01-03")
    with buyer(sandbox, made) as awa:
        failed = awa.follow(awa.pay(**DECLINED))
        assert failed.elements["problem"]["data-code"] == "PAYMENT_METHOD_NOT_SUPPORTED"
        assert failed.text_of("due-date") == "It was due on January 2, 2026."
        pages = [awa.open(), awa.follow(awa.pay(**CARD))]
    assert [page.state for page in pages] == ["payable", "paid"]
    for page in pages:
        for text in ("Rice", "Delivery", "Tax (18%)1,080 XAF"):
            assert text in page.text
        assert page.text_of("total") == "7,080 XAF"
        assert page.elements["picture"]["src"] == PICTURE
        assert policy(page.response)["img-src"] == "data: https://pictures.example.com"
        assert page.text_of("seller").endswith(", BP 2044, Librevilleshop@example.com")
        assert f'src="{LOGO}"' in page.html


@pytest.mark.parametrize("method", [CARD, PHONE], ids=lambda fields: fields["method"])
def test_an_invoice_is_paid_on_its_page_which_leads_to_the_receipt(
    sandbox: Sandbox, method: dict[str, str]
) -> None:
    """Invoice states: open, payment received → paid, event ``invoice.paid``."""
    made = invoice(sandbox)
    with buyer(sandbox, made) as awa:
        with sandbox.expect(*CHARGED):
            page = awa.open()
            done = awa.follow(awa.pay(**method))
        for shown_page in (page, done):
            assert (shown_page.text_of("title"), shown_page.text_of("total")) == (
                f"Invoice {made['invoice_number']}",
                "6,000 XAF",
            )
        assert page.text_of("due-date") == "Due on January 31, 2026"
        assert (done.status, done.state, done.text_of("paid-on")) == (
            200,
            "paid",
            "Paid on January 1, 2026",
        )
        page = awa.open(str(done.elements["receipt-link"]["href"]))
        [receipt] = sandbox.api.get("/receipts/")["data"]
        assert awa.open(path_of(receipt)).status == page.status == 200
        assert awa.open("/receipt/rcpt_000000000000000000000000").status == 404
    assert page.text_of("lines") == "3 × Repair6,000 XAF Amount paid6,000 XAF"
    assert page.text_of("total").startswith("6,000 XAF")
    for text in (receipt["number"], made["invoice_number"]):
        assert text in page.text


def test_a_receipt_says_how_much_of_it_was_refunded(sandbox: Sandbox) -> None:
    """Also of a part, which leaves its transaction ``completed`` (B-57)."""
    sandbox.settings(refund_timing="instant")
    deposit = sandbox.deposit()
    [receipt] = sandbox.api.get("/receipts/")["data"]
    with buyer(sandbox, receipt) as awa:
        assert "Refunded" not in awa.open().text
        sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 1000})
        assert re.search(r"Refunded\s*1,000\s+XAF", awa.open().text)


def test_a_page_is_in_the_language_of_its_customer_unless_another_is_chosen(
    sandbox: Sandbox,
) -> None:
    """As the email that led there is, whatever the browser prefers."""
    customer = sandbox.customer(metadata={"language": "fr"})
    deposit = sandbox.buy(sandbox.invoice(customer))
    [receipt] = sandbox.api.get("/receipts/", transaction=deposit["transaction"])["data"]
    session = sandbox.session(customer=customer["id"])
    english = {"Accept-Language": "en"}
    for shown in (sandbox.invoice(customer), session, receipt):
        with buyer(sandbox, shown, **english) as awa:
            assert (awa.open().language, awa.open(lang="en").language) == ("fr", "en")
    with buyer(sandbox, link(sandbox), **english) as awa:
        assert awa.open().language == "en", "a link has no customer"


def test_buyers_read_the_merchants_name(sandbox: Sandbox) -> None:
    """B-90: on pages, in emails, on the PDF and on a phone; without one it is the App's."""
    made = invoice(sandbox)
    with buyer(sandbox, made) as awa:
        assert sandbox.key.removeprefix("sk_test_") in awa.open().text_of("merchant")
        sandbox.settings(merchant={"name": "Maison Okoumé"})
        assert awa.open().text_of("merchant").endswith("Maison Okoumé")
    sandbox.api.post(f"/invoices/{made['id']}/send/")
    [email] = sandbox.control.get("/emails")["data"]
    assert email["subject"] == f"Invoice {made['invoice_number']} from Maison Okoumé"
    assert "Maison Okoumé" in pdfs.text(
        sandbox.api.request("GET", f"/invoices/{made['id']}/pdf/").content
    )
    sandbox.settings(mobile_money="handset")
    sandbox.buy(made)
    [prompt] = sandbox.control.get("/phones/+24177123456")["data"]
    assert prompt["merchant"] == "Maison Okoumé"


def test_an_invoice_that_is_void_paid_or_a_draft_is_not_to_be_paid(sandbox: Sandbox) -> None:
    """open → void: payment link disabled."""
    void, paid = invoice(sandbox), invoice(sandbox)
    with buyer(sandbox, void) as awa:
        form = {**awa.open().fields, "do": "pay", **CARD}
        sandbox.api.post(f"/invoices/{void['id']}/void/")
        page = awa.open()
        late = awa.follow(awa.send(form))
        assert (page.status, page.state, late.state) == (410, "void", "void")
        lines = [{"description": "Repair", "unit_amount": 2000}]
        draft = sandbox.api.post("/invoices/", {"customer": paid["customer"], "line_items": lines})
        assert awa.open(f"/invoice/{draft['id']}").status == 404
    sandbox.api.post(f"/invoices/{paid['id']}/pay/")
    with buyer(sandbox, paid) as awa:
        assert awa.open().state == "paid"


SYMBOLS = {"EUR": "€", "TND": "TND ", "CLF": "CLF "}

AWKWARD = [0, 0.01, 19.25, 33.333333]


@pytest.mark.parametrize("discount", [0, 777])
@pytest.mark.parametrize(
    "currency", ["XAF", "EUR", pytest.param("TND", marks=pytest.mark.long), "CLF"]
)
def test_every_surface_has_the_sums_of_the_api(
    sandbox: Sandbox, currency: str, discount: int
) -> None:
    """B-23, B-24, B-65: PDF, page, receipt, emails (text, HTML); rows add up to the total."""
    sandbox.settings(currencies=["XAF", "EUR", "TND", "CLF"])
    for rate in AWKWARD if (currency, discount) == ("EUR", 777) else AWKWARD[-1:]:
        sandbox.settings(tax_rate=rate)
        lines = [
            {"description": "Repair", "unit_amount": 1851, "quantity": 3},
            {"description": "Part", "unit_amount": 2},
        ]
        made = invoice(sandbox, line_items=lines, currency=currency)
        net = made["subtotal"] - discount
        tax = per_cent(net, rate)
        sums = {
            "discount_amount": discount,
            "tax_amount": tax,
            "total": net + tax,
            "amount_remaining": net + tax,
        }
        if discount:
            arranged = {"discount_amount": discount}
            made = sandbox.control.patch(f"/objects/{made['id']}", arranged)
        assert {name: made[name] for name in sums} == sums
        rows = [
            (name, amount)
            for name, amount in (("Discount", -discount), (f"Tax ({rate:.10g}%)", tax))
            if amount
        ]
        for surface, (text, last) in surfaces(sandbox, made, rows).items():
            words = re.sub(r"<[^>]+>|[:|]|\s", "", unescape(text))
            expected = [*rows, (last, net + tax)] if last else rows
            missing = [
                row
                for row in expected
                if f"{row[0]}{written(row[1], currency)}".replace(" ", "") not in words
            ]
            assert missing == [], (surface, rate, words)


def test_a_line_that_no_plan_or_product_names_is_in_the_buyers_language(sandbox: Sandbox) -> None:
    """On pages, in emails and PDFs; the API's description stays (B-67)."""
    customer = sandbox.customer(metadata={"language": "fr"})["id"]
    terms = {"unit_amount": 5000, "interval": "month", "collection_method": "send_invoice"}
    sandbox.api.post("/subscriptions/", {"customer": customer, **terms})
    [made] = sandbox.api.get("/invoices/")["data"]
    assert made["line_items"][0]["description"] == "Subscription"
    texts = legible(sandbox, made)
    assert [place for place, text in texts.items() if "Abonnement" not in text] == []
    assert [place for place, text in texts.items() if "Subscription" in text] == []


def test_a_line_in_the_merchants_words_stays_in_them(sandbox: Sandbox) -> None:
    """Though the emulator has a translation of the same word."""
    line = {"description": "Subscription", "quantity": 1, "unit_amount": 5000}
    made = sandbox.invoice(sandbox.customer(metadata={"language": "fr"}), line_items=[line])
    texts = legible(sandbox, made)
    assert [place for place, text in texts.items() if "Subscription" not in text] == []


def legible(sandbox: Sandbox, made: Any) -> dict[str, str]:
    """Return the surfaces' texts but messages, which encode letters beyond ASCII."""
    texts = surfaces(sandbox, made, ()).items()
    return {place: text for place, (text, _) in texts if not place.endswith("raw")}


def surfaces(sandbox: Sandbox, made: Any, rows: Sequence[object]) -> dict[str, tuple[str, str]]:
    """Return surfaces' texts and their names of the last row; a page of no other rows has none."""
    sandbox.api.post(f"/invoices/{made['id']}/send/")
    with buyer(sandbox, made) as awa:
        before = awa.open().text
        done = awa.follow(awa.pay(**CARD))
        receipt = awa.open(str(done.elements["receipt-link"]["href"])).text
    pdf = pdfs.text(sandbox.api.request("GET", f"/invoices/{made['id']}/pdf/").content)
    totals = {
        "page": (before, "Total" if rows else ""),
        "PDF": (pdf, "Total"),
        "receipt": (receipt, "Amount paid"),
    }
    for email in sandbox.control.get("/emails", page_size=2)["data"]:
        for form in ("raw", "html"):
            text = sandbox.control.request("GET", f"/emails/{email['id']}/{form}").text
            last = {"invoice": "Total", "receipt": "Amount"}[email["kind"]]
            totals[f"{email['kind']} {form}"] = (text.partition("Content-Type: text/html")[0], last)
    return totals


def written(amount: int, currency: str) -> str:
    places = {"XAF": 0, "EUR": 2, "TND": 3, "CLF": 4}[currency]
    sign, figure = "-" * (amount < 0), f"{abs(amount) / 10**places:,.{places}f}"
    return (
        f"{sign.replace('-', '−')}{figure} XAF"
        if currency == "XAF"
        else f"{sign}{SYMBOLS[currency]}{figure}"
    )
