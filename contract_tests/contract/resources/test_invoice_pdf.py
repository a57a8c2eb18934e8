"""The PDF of an invoice: who may have it, and what stands on it (Invoices section; B-14, B-66, B-71)."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf.filters import FlateDecode
from pypdf.generic import DictionaryObject, NameObject, NumberObject

from contract_tests.support.client import Client, http_client
from contract_tests.support.sandbox import RunningServer, Sandbox
from contract_tests.surfaces.rendering import pdfs

ADDRESS = {"line1": "12 rue de l'Église", "city": "Libreville", "postal_code": "BP 2044", "country": "GA"}


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
    invoice = an_invoice(sandbox)
    response = sandbox.api.request("GET", f"/invoices/{invoice['id']}/pdf/")
    assert response.headers["content-type"] == "application/pdf"
    assert f'"{invoice["invoice_number"]}.pdf"' in response.headers["content-disposition"]
    assert len(pdfs.pages(response.content)) == 1


def test_it_opens_from_an_email(sandbox: Sandbox, anyone: Client) -> None:
    """B-66: ``pdf_url`` works without a key."""
    invoice = an_invoice(sandbox)
    response = anyone.request("GET", invoice["pdf_url"])
    assert response.status_code == 200
    assert response.content == pdf_of(sandbox, invoice)


@pytest.mark.parametrize("spoil", [lambda url: url + "x", lambda url: url[:-1], lambda url: url.split("=")[0] + "="])
def test_a_wrong_token_opens_nothing(sandbox: Sandbox, anyone: Client, spoil: Any) -> None:
    """B-71, whatever key is sent."""
    url = spoil(an_invoice(sandbox)["pdf_url"])
    anyone.rejected("GET", url, 401, "INVALID_TOKEN")
    sandbox.api.rejected("GET", url, 401, "INVALID_TOKEN")


def test_a_token_opens_its_own_invoice_only(sandbox: Sandbox, anyone: Client) -> None:
    first, second = an_invoice(sandbox), an_invoice(sandbox)
    token = first["pdf_url"].rpartition("=")[2]
    anyone.rejected("GET", f"/invoices/{second['id']}/pdf/?token={token}", 401, "INVALID_TOKEN")
    anyone.rejected("GET", f"/invoices/inv_nobody/pdf/?token={token}", 401, "INVALID_TOKEN")


@pytest.mark.parametrize(("method", "rest"), [("GET", ""), ("PATCH", ""), ("POST", "send/"), ("POST", "void/")])
def test_a_token_opens_nothing_but_the_pdf(sandbox: Sandbox, anyone: Client, method: str, rest: str) -> None:
    invoice = an_invoice(sandbox)
    token = invoice["pdf_url"].rpartition("=")[2]
    anyone.rejected(method, f"/invoices/{invoice['id']}/{rest}?token={token}", 401, "MISSING_API_KEY")
    assert sandbox.api.get(f"/invoices/{invoice['id']}/")["status"] == invoice["status"]


def test_without_key_and_token_it_stays_closed(sandbox: Sandbox, anyone: Client) -> None:
    anyone.rejected("GET", f"/invoices/{an_invoice(sandbox)['id']}/pdf/", 401, "MISSING_API_KEY")


def test_a_draft_has_none(sandbox: Sandbox) -> None:
    """B-14."""
    invoice = an_invoice(sandbox, status="draft", pdf_url=None, payment_url=None)
    sandbox.api.rejected("GET", f"/invoices/{invoice['id']}/pdf/", 404, "PDF_NOT_AVAILABLE")
    sandbox.api.rejected("GET", f"/invoices/{invoice['id']}/pdf/?token=x", 404, "PDF_NOT_AVAILABLE")


def test_security_profiles_are_for_the_merchants_servers(sandbox: Sandbox, anyone: Client) -> None:
    """Enforcement rule 1 filters the App's API requests; a customer opens his email wherever he is."""
    invoice = an_invoice(sandbox)
    sandbox.api.post("/security-profiles/", {"name": "Office", "allowed_ips": ["203.0.113.7"]})
    sandbox.api.rejected("GET", f"/invoices/{invoice['id']}/pdf/", 403, "PERMISSION_DENIED")
    assert anyone.request("GET", invoice["pdf_url"]).status_code == 200


# What stands on it


def test_it_says_who_owes_whom_what(sandbox: Sandbox) -> None:
    """Merchant, customer, default address, lines, sums, days, payment link, footer."""
    customer = sandbox.customer(name="Jean-Claude Ondo")
    sandbox.api.post(f"/customers/{customer['id']}/addresses/", {**ADDRESS, "is_default": True})
    line = {"product": None, "description": "Café moulu", "quantity": 12, "unit_amount": 1250, "amount": 15000}
    sums = {"subtotal": 15000, "discount_amount": 1000, "tax_amount": 2520, "total": 16520, "amount_remaining": 16520}
    words = {"description": "Coffee for January", "footer": "Thank you"}
    invoice = an_invoice(sandbox, customer, currency="EUR", line_items=[line], **sums, **words)
    pdf = pdf_of(sandbox, invoice)
    text = pdfs.text(pdf)
    for expected in (
        sandbox.key.removeprefix("sk_test_"),
        "Jean-Claude Ondo 12 rue de l'Église BP 2044 Libreville Gabon",
        customer["email"],
        invoice["invoice_number"],
        "January 1, 2026",
        "January 31, 2026",
        "OPEN",
        "€165.20 due January 31, 2026",
        "Coffee for January",
        "Café moulu 12 €12.50 €150.00",
        "Subtotal €150.00 Discount -€10.00 Tax €25.20 Total €165.20 Amount due €165.20",
        invoice["payment_url"],
        "Thank you",
    ):
        assert expected in text, f"{expected!r} is not in {text!r}"
    assert pdfs.links(pdf) == {invoice["payment_url"]}
    assert "Page 1" not in text


@pytest.mark.parametrize(
    ("status", "stamp", "headline", "payable"),
    [
        ("open", "OPEN", "5,000 XAF due January 31, 2026", True),
        ("paid", "PAID", "5,000 XAF paid", False),
        ("void", "VOID", "Void: nothing to pay", False),
        ("uncollectible", "UNCOLLECTIBLE", "5,000 XAF was due January 31, 2026", True),
    ],
)
def test_it_is_stamped_with_its_status(sandbox: Sandbox, status: str, stamp: str, headline: str, payable: bool) -> None:
    """B-66; what can still be paid says where."""
    invoice = an_invoice(sandbox, status=status)
    pdf = pdf_of(sandbox, invoice)
    assert stamp in pdfs.text(pdf)
    assert headline in pdfs.text(pdf)
    assert (invoice["payment_url"] in pdfs.links(pdf)) == payable


def test_a_paid_one_says_what_was_paid(sandbox: Sandbox) -> None:
    invoice = an_invoice(sandbox, status="paid", amount_paid=5000, amount_remaining=0)
    assert "Amount paid −5,000 XAF Amount due 0 XAF" in pdfs.text(pdf_of(sandbox, invoice))


@pytest.mark.parametrize("metadata", [{"language": "fr"}, {"lang": "FR"}, {"language": "fr-CM"}])
def test_it_speaks_the_customers_language(sandbox: Sandbox, metadata: Any) -> None:
    text = pdfs.text(pdf_of(sandbox, an_invoice(sandbox, sandbox.customer(metadata=metadata))))
    due = "5 000 XAF à payer au plus tard le 31 janvier 2026"
    for expected in ("Facture", "À PAYER", "Facturé à", due, "Sous-total"):
        assert expected in text


@pytest.mark.parametrize("metadata", [{}, {"language": "de"}, {"language": 7}, {"lang": ""}])
def test_else_it_speaks_english(sandbox: Sandbox, metadata: Any) -> None:
    assert "Billed to" in pdfs.text(pdf_of(sandbox, an_invoice(sandbox, sandbox.customer(metadata=metadata))))


@pytest.mark.parametrize(
    "name",
    ["Zoé Ñandú", "Ελένη Παππά", "Иван Ёлкин", "王 小明", "김 민준", "さくら 山田", "Party 🎉🚀", '<script> & "x"'],
)
def test_it_writes_the_customers_script(sandbox: Sandbox, name: str) -> None:
    invoice = an_invoice(sandbox, sandbox.customer(name=name))
    assert name in pdfs.text(pdf_of(sandbox, invoice))


@pytest.mark.parametrize("name", ["ߒߞߏ", "𞤀𞤣𞤤𞤢𞤥", "ግዕዝ"], ids=["N'Ko", "Adlam", "Ethiopic"])
def test_a_name_that_no_font_covers_is_not_alone(sandbox: Sandbox, name: str) -> None:
    """The customer's email or id stands beside it, and the product's id."""
    product = sandbox.product(name=name)
    for email in ("nko@example.com", None):
        made = sandbox.customer(name=name, email=email or "later@example.com")
        customer = made if email else sandbox.control.patch(f"/objects/{made['id']}", {"email": None})
        body = {"customer": customer["id"], "line_items": [{"product": product["id"]}]}
        invoice = sandbox.api.post("/invoices/", body)
        sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
        text = pdfs.text(pdf_of(sandbox, invoice))
        assert (email or customer["id"]) in text
        assert product["id"] in text
        assert "Basket" not in text


@pytest.mark.parametrize("name", ["محمد الأمين", "משה כהן"])
def test_it_writes_scripts_that_run_to_the_left(sandbox: Sandbox, name: str) -> None:
    """Its letters are all there. In which order a reader hands them out is the reader's affair."""
    text = pdfs.text(pdf_of(sandbox, an_invoice(sandbox, sandbox.customer(name=name))))
    assert set(name) <= set(text)


def test_a_long_one_has_numbered_pages_and_headings(sandbox: Sandbox) -> None:
    line = {"product": None, "description": "Basket", "quantity": 1, "unit_amount": 1, "amount": 1}
    invoice = an_invoice(sandbox, line_items=[{**line, "description": f"Basket {number}"} for number in range(100)])
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
    assert pdfs.read(before).metadata.creation_date_raw == "D:20260101000000.000Z"[:16] + "Z"  # type: ignore[union-attr]


def test_the_same_seed_gives_the_same_bytes() -> None:
    """B-93, on two servers that are reached at the same address."""
    assert _first_pdf() == _first_pdf()


def _first_pdf() -> bytes:
    headers = {"Authorization": "Bearer sk_test_same"}
    with (
        RunningServer(public_url="http://sandbox.test") as server,
        http_client(base_url=f"{server.url}/v1", headers=headers) as client,
    ):
        customer = client.post("/customers/", json={"email": "a@example.com", "name": "A"}).json()["id"]
        client.post("/subscriptions/", json={"customer": customer, "unit_amount": 700, "interval": "day"})
        invoice = client.get("/invoices/").json()["data"][0]
        return client.get(f"/invoices/{invoice['id']}/pdf/").content


@given(
    description=st.text(max_size=2000),
    footer=st.text(max_size=2000),
    quantity=st.integers(1, 10**15),
    amount=st.integers(-(10**12), 10**12),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_breaks_it(sandbox: Sandbox, description: str, footer: str, quantity: int, amount: int) -> None:
    """Whatever is written on it, it is a sound document with its sums on it."""
    line = {"product": None, "description": description, "quantity": quantity, "unit_amount": 1, "amount": amount}
    invoice = an_invoice(sandbox, description=description, footer=footer, line_items=[line])
    assert "Subtotal 5,000 XAF" in pdfs.text(pdf_of(sandbox, invoice))


# Whom it is from, and how it is read


CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Bytes of a pixel by the type of a PNG's colour."""


def picture(width: int, height: int, colour: int, *extra: bytes) -> bytes:
    """Return a PNG whose rows use all five filters."""
    step = CHANNELS[colour]
    rows = b"".join(bytes([y % 5]) + bytes((x * 7 + y) % 2 for x in range(width * step)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = (b"IHDR" + head, *extra, b"IDAT" + zlib.compress(rows), b"IEND")
    chunks = (struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each)) for each in parts)
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
    "rgb": uri(picture(40, 20, 2)),
    "rgb with a comment": uri(picture(40, 20, 2, b"tEXt" + bytes(7))),
    "palette": uri(picture(40, 20, 3, b"PLTE" + bytes(6))),
    "palette with transparency": uri(picture(40, 20, 3, b"PLTE" + bytes(6), b"tRNS" + bytes([0, 255]))),
    "grey with transparency": uri(picture(40, 20, 4)),
    "rgb with transparency": uri(picture(40, 20, 6)),
    "jpeg": uri(JPEG, "jpeg"),
    "jpeg with a long comment": uri(JPEG[:2] + LONG_COMMENT + JPEG[2:], "jpeg"),
}


@pytest.mark.parametrize("logo", LOGOS.values(), ids=list(LOGOS))
def test_it_shows_the_merchants_logo(sandbox: Sandbox, logo: str) -> None:
    """Decoded by a reader of its own; the alpha channel becomes a soft mask."""
    sandbox.settings(merchant={"logo": logo})
    [page] = pdfs.read(pdf_of(sandbox, an_invoice(sandbox))).pages
    [image] = page["/Resources"]["/XObject"].values()
    image = image.get_object()
    assert len(image.get_data()) >= image["/Width"] * image["/Height"]
    assert ("/SMask" in image) == (logo in [LOGOS[name] for name in LOGOS if name.endswith("with transparency")])


def test_a_jpeg_is_as_large_as_its_frame_says(sandbox: Sandbox) -> None:
    """Both bytes of each side count."""
    start = JPEG.index(b"\xff\xc0") + 5
    sandbox.settings(merchant={"logo": uri(JPEG[:start] + struct.pack(">HH", 258, 300) + JPEG[start + 4 :], "jpeg")})
    [page] = pdfs.read(pdf_of(sandbox, an_invoice(sandbox))).pages
    [image] = page["/Resources"]["/XObject"].values()
    assert (image.get_object()["/Width"], image.get_object()["/Height"]) == (300, 258)


@pytest.mark.parametrize(("colour", "colours"), [(2, 3), (4, 1), (6, 3)])
def test_the_pixels_of_a_logo_are_those_of_its_file(sandbox: Sandbox, colour: int, colours: int) -> None:
    """Every filter of PNG, undone by our code and by pypdf's own reader of predictors; opacities become the soft mask."""
    sandbox.settings(merchant={"logo": uri(picture(40, 20, colour))})
    [page] = pdfs.read(pdf_of(sandbox, an_invoice(sandbox))).pages
    [image] = page["/Resources"]["/XObject"].values()
    channels = CHANNELS[colour]
    packed = zlib.compress(zlib.decompressobj().decompress(picture(40, 20, colour).partition(b"IDAT")[2]))
    names = {"/Predictor": 15, "/Colors": channels, "/Columns": 40, "/BitsPerComponent": 8}
    parameters = DictionaryObject({NameObject(name): NumberObject(value) for name, value in names.items()})
    decoded = FlateDecode.decode(packed, parameters)
    pixels = [decoded[at : at + channels] for at in range(0, len(decoded), channels)]
    assert image.get_object().get_data() == b"".join(pixel[:colours] for pixel in pixels)
    if channels > colours:
        assert image.get_object()["/SMask"].get_data() == b"".join(pixel[colours:] for pixel in pixels)


FORMS = "must begin with data:image/png;base64, or data:image/jpeg;base64,"
READABLE = " is not a PNG (8 bits a channel, not interlaced) or JPEG that can be read"


@pytest.mark.parametrize(
    ("logo", "said"),
    [
        ("https://example.com/logo.png", FORMS),
        (uri(b"GIF89a"), READABLE),
        (uri(b"GI" + JPEG[2:], "jpeg"), READABLE),
        (uri(b"\x80" + picture(9, 9, 2)[1:]), READABLE),
        (uri(b"\x90" + picture(9, 9, 2)[1:]), READABLE),
        (uri(picture(9, 9, 2)[:60]), "logo"),
        (uri(picture(600, 600, 0)), "logo"),
        ("data:,", "logo"),
    ],
    ids=["url", "gif", "no jpeg", "no png", "no png either", "cut off", "too large", "empty"],
)
def test_a_logo_that_cannot_be_shown_is_rejected(sandbox: Sandbox, logo: str, said: str) -> None:
    answer = sandbox.control.request("PATCH", "/app", json={"settings": {"merchant": {"logo": logo}}})
    assert (answer.status_code, said in answer.json()["message"]) == (422, True)


def test_it_says_where_the_merchant_is(sandbox: Sandbox) -> None:
    address = ["Immeuble Concorde", "BP 2044 Libreville"]
    sandbox.settings(merchant={"address": address, "tax_number": "GA-4711", "email": "shop@example.com"})
    text = pdfs.text(pdf_of(sandbox, an_invoice(sandbox)))
    assert "Immeuble Concorde BP 2044 Libreville shop@example.com Tax number GA-4711" in text


def test_it_says_the_rate_of_its_tax(sandbox: Sandbox) -> None:
    """The rate when it was finalized, whatever the setting is now; none where the amount was set in another way."""
    sandbox.settings(tax_rate=19.25)
    invoice = an_invoice(sandbox)
    sandbox.settings(tax_rate=5)
    assert "Tax (19.25%) 963 XAF" in pdfs.text(pdf_of(sandbox, invoice))
    for tax in ("7", "1,000"):
        changed = sandbox.control.patch(f"/objects/{invoice['id']}", {"tax_amount": int(tax.replace(",", ""))})
        assert f"Tax {tax} XAF" in pdfs.text(pdf_of(sandbox, changed))


@pytest.mark.parametrize("lines", [1, 60])
@pytest.mark.parametrize("status", ["open", "void"])
def test_it_is_tagged(sandbox: Sandbox, lines: int, status: str) -> None:
    """PDF/UA: every text is in the structure or decoration, tables have heading cells, links are elements."""
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
