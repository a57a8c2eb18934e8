"""The pages of an invoice and of a receipt, over HTTP (B-45, B-53, B-66)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest

from contract_tests.simulator.world_rules import per_cent
from contract_tests.support.sandbox import CHARGED, Sandbox
from contract_tests.surfaces.pages.buyer import CARD, DECLINED, PHONE, buyer, invoice, path_of, policy
from contract_tests.surfaces.rendering import pdfs

LOGO = "data:image/png;base64," + (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
PICTURE = "https://pictures.example.com/basket.png"


def test_lines_and_picture_are_shown_before_and_after_the_payment(sandbox: Sandbox) -> None:
    """B-67: the invoice page has the lines, with name and image of the product; tax, and where the merchant is.

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
        assert failed.said("due-date") == "It was due on January 2, 2026."
        pages = [awa.open(), awa.follow(awa.pay(**CARD))]
    assert [page.state for page in pages] == ["payable", "paid"]
    for page in pages:
        for text in ("Rice", "Delivery", "Tax (18%)1,080 XAF"):
            assert text in page.text
        assert page.said("total") == "7,080 XAF"
        assert page.elements["picture"]["src"] == PICTURE
        assert policy(page.answer)["img-src"] == "data: https://pictures.example.com"
        assert page.said("seller").endswith(", BP 2044, Librevilleshop@example.com")
        assert f'src="{LOGO}"' in page.html


@pytest.mark.parametrize("method", [CARD, PHONE], ids=lambda fields: fields["method"])
def test_an_invoice_is_paid_on_its_page_which_leads_to_the_receipt(sandbox: Sandbox, method: dict[str, str]) -> None:
    """Invoice states: open, payment received → paid, event ``invoice.paid``."""
    made = invoice(sandbox)
    with buyer(sandbox, made) as awa:
        with sandbox.expect(*CHARGED):
            page = awa.open()
            done = awa.follow(awa.pay(**method))
        for each in (page, done):
            assert (each.said("title"), each.said("total")) == (f"Invoice {made['invoice_number']}", "6,000 XAF")
        assert page.said("due-date") == "Due on January 31, 2026"
        assert (done.status, done.state, done.said("paid-on")) == (200, "paid", "Paid on January 1, 2026")
        page = awa.open(str(done.elements["receipt-link"]["href"]))
        [receipt] = sandbox.api.get("/receipts/")["data"]
        assert awa.open(path_of(receipt)).status == page.status == 200
        assert awa.open("/receipt/rcpt_000000000000000000000000").status == 404
    assert page.said("lines") == "3 × Repair6,000 XAF Amount paid6,000 XAF"
    assert page.said("total").startswith("6,000 XAF")
    for text in (receipt["number"], made["invoice_number"]):
        assert text in page.text


def test_buyers_read_the_merchants_name(sandbox: Sandbox) -> None:
    """B-90: on pages, in emails, on the PDF and on a phone; without one it is the App's."""
    made = invoice(sandbox)
    with buyer(sandbox, made) as awa:
        assert sandbox.key.removeprefix("sk_test_") in awa.open().said("merchant")
        sandbox.settings(merchant={"name": "Maison Okoumé"})
        assert awa.open().said("merchant").endswith("Maison Okoumé")
    sandbox.api.post(f"/invoices/{made['id']}/send/")
    [email] = sandbox.control.get("/emails")["data"]
    assert email["subject"] == f"Invoice {made['invoice_number']} from Maison Okoumé"
    assert "Maison Okoumé" in pdfs.text(sandbox.api.request("GET", f"/invoices/{made['id']}/pdf/").content)
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
@pytest.mark.parametrize("currency", ["XAF", "EUR", pytest.param("TND", marks=pytest.mark.long), "CLF"])
def test_every_surface_has_the_sums_of_the_api(sandbox: Sandbox, currency: str, discount: int) -> None:
    """B-23, B-24, B-65: PDF, page, receipt, and each email as text and HTML; the rows add up to the total."""
    sandbox.settings(currencies=["XAF", "EUR", "TND", "CLF"])
    for rate in AWKWARD if currency in ("XAF", "EUR") else AWKWARD[-1:]:
        sandbox.settings(tax_rate=rate)
        lines = [
            {"description": "Repair", "unit_amount": 1851, "quantity": 3},
            {"description": "Part", "unit_amount": 2},
        ]
        made = invoice(sandbox, line_items=lines, currency=currency)
        net = made["subtotal"] - discount
        tax = per_cent(net, rate)
        sums = {"discount_amount": discount, "tax_amount": tax, "total": net + tax, "amount_remaining": net + tax}
        made = sandbox.control.patch(f"/objects/{made['id']}", sums) if discount else made
        assert {name: made[name] for name in sums} == sums
        rows = [(name, amount) for name, amount in (("Discount", -discount), (f"Tax ({rate:.10g}%)", tax)) if amount]
        for surface, (text, last) in surfaces(sandbox, made, rows).items():
            words = re.sub(r"<[^>]+>|[:|]|\s", "", unescape(text))
            expected = [*rows, (last, net + tax)] if last else rows
            missing = [row for row in expected if f"{row[0]}{written(row[1], currency)}".replace(" ", "") not in words]
            assert missing == [], (surface, rate, words)


def surfaces(sandbox: Sandbox, made: Any, rows: Sequence[object]) -> dict[str, tuple[str, str]]:
    """Return the text of each surface, and what it calls its last row; a page without other rows has none."""
    sandbox.api.post(f"/invoices/{made['id']}/send/")
    with buyer(sandbox, made) as awa:
        before = awa.open().text
        done = awa.follow(awa.pay(**CARD))
        receipt = awa.open(str(done.elements["receipt-link"]["href"])).text
    pdf = pdfs.text(sandbox.api.request("GET", f"/invoices/{made['id']}/pdf/").content)
    shown = {"page": (before, "Total" if rows else ""), "PDF": (pdf, "Total"), "receipt": (receipt, "Amount paid")}
    for email in sandbox.control.get("/emails", page_size=2)["data"]:
        for form in ("raw", "html"):
            text = sandbox.control.request("GET", f"/emails/{email['id']}/{form}").text
            last = {"invoice": "Total", "receipt": "Amount"}[email["kind"]]
            shown[f"{email['kind']} {form}"] = (text.partition("Content-Type: text/html")[0], last)
    return shown


def written(amount: int, currency: str) -> str:
    places = {"XAF": 0, "EUR": 2, "TND": 3, "CLF": 4}[currency]
    sign, figure = "-" * (amount < 0), f"{abs(amount) / 10**places:,.{places}f}"
    return f"{sign.replace('-', '−')}{figure} XAF" if currency == "XAF" else f"{sign}{SYMBOLS[currency]}{figure}"
