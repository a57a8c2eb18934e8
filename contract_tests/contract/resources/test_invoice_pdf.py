"""An invoice's PDF: its readers and its content (Invoices section; B-14, B-66, B-71)."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract_tests.support.client import Client
from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.rendering import pdfs

ADDRESS = {
    "line1": "12 rue de l'Église",
    "city": "Libreville",
    "postal_code": "BP 2044",
    "country": "GA",
}


@pytest.fixture
def anyone(sandbox: Sandbox) -> Any:
    """A client without a key."""
    client = Client(sandbox.url, sandbox.api.contract, key=None)
    yield client
    client.close()


def an_invoice(sandbox: Sandbox, customer: Any = None, **arranged: Any) -> Any:
    """Return an open invoice of 5000 XAF, some of its fields arranged."""
    customer = customer or sandbox.customer()
    body = {"customer": customer["id"], "unit_amount": 5000, "interval": "year", "currency": "XAF"}
    sandbox.api.post("/subscriptions/", body)
    invoice = sandbox.api.get("/invoices/", customer=customer["id"])["data"][0]
    return sandbox.control.patch(f"/objects/{invoice['id']}", arranged)


def pdf_of(sandbox: Sandbox, invoice: Any) -> bytes:
    response = sandbox.api.request("GET", f"/invoices/{invoice['id']}/pdf/")
    assert response.status_code == 200, response.text
    return response.content


# Who may have it


def test_it_opens_with_the_key(sandbox: Sandbox) -> None:
    """B-66."""
    invoice = an_invoice(sandbox)
    response = sandbox.api.request("GET", f"/invoices/{invoice['id']}/pdf/")
    assert response.headers["content-type"] == "application/pdf"
    assert f'"{invoice["invoice_number"]}.pdf"' in response.headers["content-disposition"]
    assert len(pdfs.pages(response.content)) == 1


def test_it_opens_from_an_email(sandbox: Sandbox, anyone: Client) -> None:
    """B-66: ``pdf_url`` works without a key, anywhere: profiles are for the merchant's servers."""
    invoice = an_invoice(sandbox)
    path = f"/invoices/{invoice['id']}/pdf/"
    content = sandbox.api.request("GET", path).content
    sandbox.api.post("/security-profiles/", {"name": "Office", "allowed_ips": ["203.0.113.7"]})
    sandbox.api.rejected("GET", path, 403, "PERMISSION_DENIED")
    assert anyone.request("GET", invoice["pdf_url"]).content == content


def test_a_token_opens_the_pdf_of_its_own_invoice_only(sandbox: Sandbox, anyone: Client) -> None:
    """B-71, whatever key is sent; and a draft has none (B-14)."""
    invoice, other = an_invoice(sandbox), an_invoice(sandbox)
    url, token = invoice["pdf_url"], invoice["pdf_url"].rpartition("=")[2]
    for wrong in (url + "x", url[:-1], url.split("=")[0] + "="):
        anyone.rejected("GET", wrong, 401, "INVALID_TOKEN")
        sandbox.api.rejected("GET", wrong, 401, "INVALID_TOKEN")
    for id in (other["id"], "inv_nobody"):
        anyone.rejected("GET", f"/invoices/{id}/pdf/?token={token}", 401, "INVALID_TOKEN")
    for method, rest in (("GET", ""), ("PATCH", ""), ("POST", "send/"), ("POST", "void/")):
        anyone.rejected(
            method, f"/invoices/{invoice['id']}/{rest}?token={token}", 401, "MISSING_API_KEY"
        )
    anyone.rejected("GET", f"/invoices/{invoice['id']}/pdf/", 401, "MISSING_API_KEY")
    assert sandbox.status(invoice) == "open"
    draft = sandbox.draft()
    for query in ("", "?token=x"):
        sandbox.api.rejected(
            "GET", f"/invoices/{draft['id']}/pdf/{query}", 404, "PDF_NOT_AVAILABLE"
        )


# What stands on it


def test_it_says_who_owes_whom_what(sandbox: Sandbox) -> None:
    """Merchant, customer, default address, lines, sums, days, payment link, footer."""
    address = ["Immeuble Concorde", "BP 2044 Libreville"]
    sandbox.settings(
        merchant={"address": address, "tax_number": "GA-4711", "email": "shop@example.com"},
        tax_rate=18,
    )
    customer = sandbox.customer(name="Jean-Claude Ondo")
    sandbox.api.post(f"/customers/{customer['id']}/addresses/", {**ADDRESS, "is_default": True})
    line = {
        "product": None,
        "description": "Café moulu",
        "quantity": 12,
        "unit_amount": 1250,
        "amount": 15000,
    }
    words = {"description": "Coffee for January", "footer": "Thank you"}
    sums = {"line_items": [line], "discount_amount": 1000}
    invoice = an_invoice(sandbox, customer, currency="EUR", **sums, **words)
    pdf = pdf_of(sandbox, invoice)
    text = pdfs.text(pdf)
    for expected in (
        sandbox.key.removeprefix("sk_test_"),
        "Immeuble Concorde BP 2044 Libreville shop@example.com Tax number GA-4711",
        "Jean-Claude Ondo 12 rue de l'Église BP 2044 Libreville Gabon",
        customer["email"],
        invoice["invoice_number"],
        "January 1, 2026",
        "January 31, 2026",
        "OPEN",
        "€165.20 due January 31, 2026",
        "Coffee for January",
        "Café moulu 12 €12.50 €150.00",
        "Subtotal €150.00 Discount -€10.00 Tax (18%) €25.20 Total €165.20 Amount due €165.20",
        invoice["payment_url"],
        "Thank you",
    ):
        assert expected in text, f"{expected!r} is not in {text!r}"
    assert pdfs.links(pdf) == {invoice["payment_url"]}
    assert "Page 1" not in text


@pytest.mark.parametrize(
    ("status", "texts", "payable"),
    [
        ("open", ["OPEN", "5,000 XAF due January 31, 2026"], True),
        (
            "paid",
            ["PAID", "5,000 XAF paid", "Amount paid −5,000 XAF Amount due 0 XAF"],
            False,
        ),
        ("void", ["VOID", "Void: nothing to pay"], False),
        ("uncollectible", ["UNCOLLECTIBLE", "5,000 XAF due January 31, 2026"], True),
    ],
)
def test_it_is_stamped_with_its_status(
    sandbox: Sandbox, status: str, texts: list[str], payable: bool
) -> None:
    """B-66; what can still be paid says where."""
    invoice = an_invoice(sandbox, status=status)
    pdf = pdf_of(sandbox, invoice)
    assert [text for text in texts if text not in pdfs.text(pdf)] == []
    assert pdfs.text(pdf).count("VOID") == 2 * (status == "void"), "in its head, and across it"
    assert (invoice["payment_url"] in pdfs.links(pdf)) == payable


def test_it_is_stamped_in_the_customers_language(sandbox: Sandbox) -> None:
    customer = sandbox.customer(metadata={"language": "fr"})
    text = pdfs.text(pdf_of(sandbox, an_invoice(sandbox, customer, status="void")))
    assert (text.count("ANNULÉE"), text.count("VOID")) == (2, 0)


@pytest.mark.parametrize(
    "metadata", [{"language": "fr"}, {"lang": "FR"}, {"language": "fr-CM"}, {"language": 7}, {}]
)
def test_it_speaks_the_customers_language_else_english(sandbox: Sandbox, metadata: Any) -> None:
    text = pdfs.text(pdf_of(sandbox, an_invoice(sandbox, sandbox.customer(metadata=metadata))))
    due = "5 000 XAF à payer au plus tard le 31 janvier 2026"
    french = ("Facture", "À PAYER", "Facturé à", due, "Sous-total", "Reste à payer")
    is_french = "fr" in str(metadata).lower()
    assert [label for label in (french if is_french else ["Billed to"]) if label not in text] == []


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "A payment of 5,000 XAF is being processed."),
        ("fr", "Un paiement de 5 000 XAF est en cours."),
    ],
)
def test_it_says_that_a_payment_is_under_way(sandbox: Sandbox, language: str, words: str) -> None:
    """B-102: the PDF and its email, until the payment has an outcome."""
    invoice = an_invoice(sandbox, sandbox.customer(metadata={"language": language}))
    sandbox.buy(invoice, {"type": "bank_transfer", "iban": "FR7630006000011234567890189"})
    sandbox.act(invoice, "send")
    email = sandbox.control.get("/emails", page_size=1)["data"][0]["id"]
    html = sandbox.control.request("GET", f"/emails/{email}/html").text
    assert words in " ".join(html.split())
    assert words in pdfs.text(pdf_of(sandbox, invoice))
    sandbox.advance("1d")
    assert words not in pdfs.text(pdf_of(sandbox, invoice))


SCRIPTS = (
    "Zoé Ñandú",
    "Ελένη Παππά",
    "Иван Ёлкин",
    "王 小明",
    "김 민준",
    "さくら 山田",
    "Party 🎉🚀",
    '<script> & "x"',
)
LEFTWARD = ("محمد الأمين", "משה כהן")


def test_it_writes_every_script(sandbox: Sandbox) -> None:
    """Of right-to-left ones all letters are there; their order is the reader's affair."""
    line = {"product": None, "quantity": 1, "unit_amount": 1, "amount": 1}
    lines = [{**line, "description": name} for name in (*SCRIPTS, *LEFTWARD)]
    text = pdfs.text(
        pdf_of(sandbox, an_invoice(sandbox, sandbox.customer(name=SCRIPTS[3]), line_items=lines))
    )
    assert [name for name in SCRIPTS if name not in text] == []
    assert text.count(SCRIPTS[3]) == 2
    assert set("".join(LEFTWARD)) <= set(text)


@pytest.mark.parametrize("has_email", [True, False])
def test_a_name_that_no_font_covers_is_not_alone(sandbox: Sandbox, has_email: bool) -> None:
    """The customer's email or id stands beside it, and the product's id: N'Ko, Adlam, Ethiopic."""
    customer = sandbox.customer(name="ߒߞߏ")
    if not has_email:
        customer = sandbox.control.patch(f"/objects/{customer['id']}", {"email": None})
    products = [sandbox.product(name=name)["id"] for name in ("𞤀𞤣𞤤𞤢𞤥", "ግዕዝ")]
    invoice = sandbox.invoice(customer, line_items=[{"product": product} for product in products])
    text = pdfs.text(pdf_of(sandbox, invoice))
    assert (customer["email"] or customer["id"]) in text
    assert [product for product in products if product not in text] == []


def test_each_page_of_a_long_one_has_a_number_above_the_headings(sandbox: Sandbox) -> None:
    line = {"product": None, "description": "Basket", "quantity": 1, "unit_amount": 1, "amount": 1}
    invoice = an_invoice(
        sandbox, line_items=[{**line, "description": f"Basket {number}"} for number in range(100)]
    )
    pages = pdfs.pages(pdf_of(sandbox, invoice))
    assert len(pages) == 5
    for number, page in enumerate(pages, 1):
        assert f"{invoice['invoice_number']} Page {number} of 5" in page
        assert "Description Qty Unit price Amount" in page
    for number in range(100):
        assert sum(f"Basket {number} 1" in page for page in pages) == 1


def test_the_same_invoice_gives_the_same_bytes(sandbox: Sandbox) -> None:
    """B-93: its date is that of the invoice's last change."""
    invoice = an_invoice(sandbox)
    before = pdf_of(sandbox, invoice)
    sandbox.advance("10d")
    assert pdf_of(sandbox, invoice) == before
    assert pdfs.read(before).metadata.creation_date_raw == "D:20260101000000Z"  # type: ignore[union-attr]


@pytest.mark.long
@given(
    description=st.text(max_size=500),
    footer=st.text(max_size=500),
    quantity=st.integers(1, 10**3),
    price=st.integers(1, 10**4),
)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_breaks_it(
    sandbox: Sandbox, description: str, footer: str, quantity: int, price: int
) -> None:
    """Whatever is written on it, it is a sound document with its sums on it."""
    line = {
        "product": None,
        "description": description,
        "quantity": quantity,
        "unit_amount": price,
        "amount": quantity * price,
    }
    invoice = an_invoice(sandbox, description=description, footer=footer, line_items=[line])
    assert f"Subtotal {quantity * price:,} XAF" in pdfs.text(pdf_of(sandbox, invoice))


# Whom it is from, and how it is read


CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Bytes of a pixel by the type of a PNG's colour."""


def picture(width: int, height: int, colour: int, *extra: bytes) -> bytes:
    """Return a PNG whose rows use all five filters."""
    step = CHANNELS[colour]
    rows = b"".join(
        bytes([y % 5]) + bytes((x * 7 + y) % 2 for x in range(width * step)) for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = (b"IHDR" + head, *extra, b"IDAT" + zlib.compress(rows), b"IEND")
    chunks = (
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        for chunk in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def uri(content: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{b64encode(content).decode()}"


JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////"
    "wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z"
)
"""One grey pixel."""

LONG_COMMENT = b"\xff\xfe" + struct.pack(">H", 602) + b"a" * 600
"""A part of a JPEG that needs both bytes of its length."""

LOGOS = {
    "grey": uri(picture(40, 20, 0)),
    "rgb with a comment": uri(picture(40, 20, 2, b"tEXt" + bytes(7))),
    "palette": uri(picture(40, 20, 3, b"PLTE" + bytes(6))),
    "palette with transparency": uri(
        picture(40, 20, 3, b"PLTE" + bytes(6), b"tRNS" + bytes([0, 255]))
    ),
    "jpeg": uri(JPEG, "jpeg"),
    "jpeg with a long comment": uri(JPEG[:2] + LONG_COMMENT + JPEG[2:], "jpeg"),
    "tall jpeg": uri(
        (JPEG[:2] + LONG_COMMENT + JPEG[2:]).replace(b"\x08\0\1\0\1\1", b"\x08\1\1\0\1\1"), "jpeg"
    ),
}


def logo_on_it(sandbox: Sandbox, logo: str) -> Any:
    """Return the image on an invoice with this merchant's logo, by a reader of its own."""
    sandbox.settings(merchant={"logo": logo})
    [page] = pdfs.read(pdf_of(sandbox, an_invoice(sandbox))).pages
    [image] = page["/Resources"]["/XObject"].values()
    return image.get_object()


@pytest.mark.parametrize("name", LOGOS)
def test_it_shows_the_merchants_logo(sandbox: Sandbox, name: str) -> None:
    """The alpha channel becomes a soft mask."""
    image = logo_on_it(sandbox, LOGOS[name])
    assert len(image.get_data()) >= image["/Width"] * image["/Height"]
    assert ("/SMask" in image) == name.endswith("with transparency")
    assert (image["/Height"] == 257) == name.startswith("tall")


FORMS = "must begin with data:image/png;base64, or data:image/jpeg;base64,"
READABLE = " is not a PNG (8 bits a channel, not interlaced) or JPEG that can be read"


def test_a_logo_that_cannot_be_shown_is_rejected(sandbox: Sandbox) -> None:
    """Of another form, no such picture at all, cut off, too large, and empty."""
    for logo, reason in (
        ("https://example.com/logo.png", FORMS),
        (uri(b"GIF89a"), READABLE),
        (uri(b"GI" + JPEG[2:], "jpeg"), READABLE),
        (uri(b"\x80" + picture(9, 9, 2)[1:]), READABLE),
        (uri(b"\x90" + picture(9, 9, 2)[1:]), READABLE),
        (uri(picture(9, 9, 2)[:24] + b"\x10" + picture(9, 9, 2)[25:]), READABLE),
        (uri(picture(9, 9, 2)[:60]), "logo"),
        (uri(picture(600, 600, 0)), "logo"),
        ("data:,", "logo"),
    ):
        response = sandbox.control.request(
            "PATCH", "/app", json={"settings": {"merchant": {"logo": logo}}}
        )
        assert response.status_code == 422, logo[:60]
        assert reason in response.json()["message"], logo[:60]


@pytest.mark.parametrize(("lines", "status"), [(1, "open"), (60, "void")])
def test_it_is_tagged(sandbox: Sandbox, lines: int, status: str) -> None:
    """PDF/UA: text is structure or decoration, tables have heading cells, links are elements."""
    line = {"product": None, "description": "Basket", "quantity": 1, "unit_amount": 1, "amount": 1}
    pdf = pdf_of(sandbox, an_invoice(sandbox, line_items=[line] * lines, status=status))
    tagged = pdfs.Tagged(pdf)
    catalog = tagged.reader.root_object
    assert (catalog["/MarkInfo"]["/Marked"], catalog["/Lang"]) == (True, "en")
    assert b"<pdfuaid:part>1</pdfuaid:part>" in catalog["/Metadata"].get_object().get_data()
    assert tagged.unread == []
    assert tagged.roles.count("/TR") == 3 + 1 + lines + (2 if status == "void" else 3)
    assert tagged.roles.count("/TD") == 3 + 4 * lines + (2 if status == "void" else 3)
    assert tagged.roles.count("/TH") == 3 + 4 + (2 if status == "void" else 3)
    assert tagged.roles.count("/Link") == (0 if status == "void" else 2)
    assert tagged.roles[0] == "/Document"
    assert {"/H1", "/H2", "/P"} <= set(tagged.roles)
    parents = tagged.root["/ParentTree"]["/Nums"]
    assert parents[::2] == list(range(len(parents) // 2))
