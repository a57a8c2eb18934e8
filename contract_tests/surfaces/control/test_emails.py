"""The outbox: what customers are mailed, when, in which words, and how it is read (B-41, B-44, B-45, B-98)."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract_tests.support.sandbox import Sandbox
from contract_tests.surfaces.rendering import pdfs

PAYS, POOR, REFUND_FAILS = "+24177000000", "+24177000001", "+24177000008"


def outbox(sandbox: Sandbox, **query: Any) -> list[Any]:
    return list(sandbox.control.pages("/emails", page_size=100, **query))[::-1]


def kinds(sandbox: Sandbox) -> list[str]:
    return [email["kind"] for email in outbox(sandbox)]


def only_email(sandbox: Sandbox, kind: str) -> Any:
    [email] = outbox(sandbox, kind=kind)
    return email


def html(sandbox: Sandbox, email: Any) -> str:
    response = sandbox.control.request("GET", f"/emails/{email['id']}/html")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return response.text


def message(sandbox: Sandbox, email: Any) -> EmailMessage:
    response = sandbox.control.request("GET", f"/emails/{email['id']}/raw")
    assert response.headers["content-type"] == "message/rfc822"
    parsed = message_from_bytes(response.content, policy=policy.default)
    assert isinstance(parsed, EmailMessage)
    assert not [fault for part in parsed.walk() for fault in part.defects]
    return parsed


def text(sandbox: Sandbox, email: Any) -> str:
    body = message(sandbox, email).get_body(("plain",))
    assert body is not None
    return " ".join(body.get_content().split())


def subscribe(sandbox: Sandbox, phone: str | None = PAYS, metadata: Any = None, **fields: Any) -> Any:
    customer = sandbox.customer(metadata=metadata or {}, **({"phone": phone} if phone else {}))
    terms = {"unit_amount": 5000, "interval": "month"} if "plan" not in fields else {}
    return sandbox.api.post("/subscriptions/", {"customer": customer["id"], **terms, **fields})


def draft(sandbox: Sandbox, customer: Any = None, unit_amount: int = 5000, **fields: Any) -> Any:
    customer = customer or sandbox.customer()
    line = {"description": "Advice", "unit_amount": unit_amount}
    return sandbox.api.post("/invoices/", {"customer": customer["id"], "line_items": [line], **fields})


# Invoices


def test_an_invoice_is_emailed_at_finalization_if_so_asked(sandbox: Sandbox) -> None:
    """Invoice states: with ``auto_send: true`` the email is sent at finalization, with the PDF as it is then."""
    for body in ({}, {"auto_send": False}):
        sandbox.api.post(f"/invoices/{draft(sandbox)['id']}/finalize/", body)
    invoice = draft(sandbox)
    sandbox.api.rejected("POST", f"/invoices/{invoice['id']}/send/", 422, "INVALID_STATUS_TRANSITION")
    assert outbox(sandbox) == []
    with sandbox.expect():
        sandbox.api.post(f"/invoices/{invoice['id']}/finalize/", {"auto_send": True})
    sandbox.api.post(f"/invoices/{invoice['id']}/void/")
    email = only_email(sandbox, "invoice")
    shown = {"invoice": invoice["id"], "customer": invoice["customer"], "to": invoice["customer_email"]}
    assert email.items() >= {**shown, "created_at": sandbox.now}.items()
    assert email["subject"].startswith(f"Invoice {invoice['invoice_number']} from ")
    file = {"filename": f"{invoice['invoice_number']}.pdf", "content_type": "application/pdf"}
    assert email["attachments"] == [file]
    [attached] = message(sandbox, email).iter_attachments()
    assert {"filename": attached.get_filename(), "content_type": attached.get_content_type()} == file
    words = pdfs.text(attached.get_content())
    assert invoice["invoice_number"] in words
    assert "OPEN" in words


def test_emails_name_the_plan_and_show_the_product(sandbox: Sandbox) -> None:
    """B-67: of a renewal, an invoice and a failed charge alike."""
    picture = "https://pictures.example.com/basket.png"
    plan = sandbox.api.post(
        "/subscription-plans/", {"name": "Gold", "amount": 5000, "currency": "XAF", "interval": "month"}
    )
    basket = sandbox.product(name="Rice", unit_amount=5000, images=[picture])
    for number, terms in ((PAYS, {}), (POOR, {}), (PAYS, {"collection_method": "send_invoice"})):
        subscribe(sandbox, number, plan=plan["id"], product=basket["id"], **terms)
    assert sorted(kinds(sandbox)) == ["invoice", "receipt", "renewal_failed"]
    for email in outbox(sandbox):
        assert "Gold" in text(sandbox, email)
        assert "Rice" in text(sandbox, email)
        assert f'src="{picture}"' in html(sandbox, email)
    failed = next(email for email in outbox(sandbox) if email["kind"] == "renewal_failed")
    assert "Rice · Gold" in text(sandbox, failed)


def test_an_email_says_what_is_to_be_paid_and_how_to_reach_the_merchant(sandbox: Sandbox) -> None:
    """B-67: the lines, the tax, and the address and contact of the App's settings."""
    merchant = {"address": ["BP 7", "Libreville"], "email": "shop@example.com", "phone": "+24101000000"}
    sandbox.settings(tax_rate=18, merchant={"tax_number": None, "logo": None, **merchant})
    lines = [{"description": "Basket", "unit_amount": 1500, "quantity": 2}, {"description": "Mat", "unit_amount": 900}]
    bill = sandbox.api.post("/invoices/", {"customer": sandbox.customer()["id"], "line_items": lines})
    sandbox.api.post(f"/invoices/{bill['id']}/finalize/", {"auto_send": True})
    subscribe(sandbox, trial_period_days=2)
    sandbox.advance("1d")
    for shown in (text, html):
        invoice = shown(sandbox, only_email(sandbox, "invoice"))
        for part in ("Basket", "3,000 XAF", "Mat", "900 XAF", "Tax (18%)", "702 XAF", "4,602 XAF"):
            assert part in invoice.replace("\N{NO-BREAK SPACE}", " ")
        trial = shown(sandbox, only_email(sandbox, "trial_ending"))
        assert "If you do not want to continue, contact" in trial
        for email in (invoice, trial):
            assert "BP 7, Libreville · shop@example.com · +24101000000" in email


def test_an_invoice_is_emailed_each_time_it_is_sent(sandbox: Sandbox) -> None:
    """Invoice states: can be called several times; each with payment link and PDF. One over nothing asks for nothing."""
    invoice = draft(sandbox, description="For January")
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    for _ in range(3):
        sent = sandbox.api.post(f"/invoices/{invoice['id']}/send/")
    emails = outbox(sandbox)
    assert [email["kind"] for email in emails] == ["invoice"] * 3
    for email in emails:
        for words in (text(sandbox, email), html(sandbox, email)):
            assert sent["payment_url"] in words
            assert "5,000 XAF due January 31, 2026" in words.replace("\N{NO-BREAK SPACE}", " ")
            assert "For January" in words
    sandbox.api.post(f"/invoices/{draft(sandbox, unit_amount=0)['id']}/finalize/", {"auto_send": True})
    email = outbox(sandbox)[-1]  # B-66: a total of 0 is paid on finalization
    assert "0 XAF paid" in text(sandbox, email)
    assert "href" not in html(sandbox, email)


@pytest.mark.parametrize("terms", [{"phone": PAYS, "collection_method": "send_invoice"}, {"phone": None}], ids=str)
def test_a_period_that_is_not_charged_is_invoiced_by_email(sandbox: Sandbox, terms: Any) -> None:
    """B-41, B-44: with ``send_invoice`` and without a usable method."""
    subscription = subscribe(sandbox, **terms)
    sandbox.advance("31d")
    emails = outbox(sandbox)
    assert [email["kind"] for email in emails] == ["invoice", "invoice"]
    assert [email["created_at"][:10] for email in emails] == ["2026-01-01", "2026-02-01"]
    invoices = sandbox.api.get("/invoices/")["data"][::-1]
    assert [email["invoice"] for email in emails] == [invoice["id"] for invoice in invoices]
    assert {email["customer"] for email in emails} == {subscription["customer"]}


# Receipts


def test_a_payment_is_answered_with_a_receipt(sandbox: Sandbox) -> None:
    """B-44: and with no invoice."""
    subscribe(sandbox)
    sandbox.advance("31d")
    first, second = outbox(sandbox)
    assert [first["kind"], second["kind"]] == ["receipt", "receipt"]
    transactions = sandbox.api.get("/transactions/")["data"][::-1]
    receipts = sandbox.api.get("/receipts/")["data"][::-1]
    for email, transaction, receipt in zip((first, second), transactions, receipts, strict=True):
        assert (email["transaction"], email["receipt"]) == (transaction["id"], receipt["id"])
        assert receipt["number"] in email["subject"]
        words = text(sandbox, email)
        for expected in ("5,000 XAF", receipt["number"], receipt["url"], "Mobile money", "Invoice: INV-2026-"):
            assert expected in words


def test_a_buyer_who_is_no_customer_any_more_gets_one_too(sandbox: Sandbox) -> None:
    """B-53: to the email that the payment was made with; customers who are deleted leave their payments behind."""
    customer = sandbox.customer()
    transfer = {"customer": customer["id"], "type": "bank_transfer", "iban": "FR1420041010050500013M02606"}
    method = sandbox.api.post("/payment-methods/", transfer)
    fields = {"amount": 900, "currency": "EUR", "customer": customer["id"], "payment_method": method["id"]}
    intent = sandbox.api.post("/payment-intents/", fields)
    sandbox.api.post(f"/payment-intents/{intent['id']}/confirm/")
    sandbox.api.delete(f"/customers/{customer['id']}/")
    sandbox.advance("1d")
    email = only_email(sandbox, "receipt")
    assert (email["customer"], email["to"]) == (None, customer["email"])
    assert "Hello, Thank you." in text(sandbox, email)
    assert "Paid with: Bank transfer" in text(sandbox, email)


# Subscriptions


def test_each_failed_attempt_is_reported_with_the_day_of_the_next(sandbox: Sandbox) -> None:
    """B-45: retries 1, 3, 5 and 7 days after the first failure."""
    subscription = subscribe(sandbox, POOR)
    sandbox.advance("10d")
    emails = outbox(sandbox)
    assert [email["kind"] for email in emails] == ["renewal_failed"] * 5
    assert {email["subscription"] for email in emails} == {subscription["id"]}
    assert len({email["invoice"] for email in emails}) == 1
    invoice = sandbox.api.get(f"/invoices/{emails[0]['invoice']}/")
    for email, day in zip(emails, ("2", "4", "6", "8"), strict=False):
        assert f"We will try again on January {day}, 2026." in text(sandbox, email)
        assert invoice["payment_url"] in text(sandbox, email)
    assert "This was the last attempt." in text(sandbox, emails[-1])
    assert "We could not collect 5,000 XAF" in text(sandbox, emails[-1])


def test_the_end_of_a_trial_is_announced_three_days_before(sandbox: Sandbox) -> None:
    """B-43; with the tax of the first payment."""
    sandbox.settings(tax_rate=18)
    plan = sandbox.plan(name="Premium", interval_count=3)
    subscribe(sandbox, plan=plan["id"], trial_period_days=14)
    sandbox.advance("10d")
    assert outbox(sandbox) == []
    sandbox.advance("1d")
    email = only_email(sandbox, "trial_ending")
    assert email["created_at"] == "2026-01-12T00:00:00.000Z"
    assert email["subject"].endswith("ends on January 15, 2026")
    words = text(sandbox, email)
    for expected in ("Premium", "5,000 XAF / 3 months", "Your first payment of 5,900 XAF is due on that day."):
        assert expected in words
    sandbox.advance("3d")
    assert sandbox.invoices("total") == [5900]


def test_a_cancellation_is_emitted_when_it_happens(sandbox: Sandbox) -> None:
    """B-47: not when it is scheduled. B-32: the deletion of a customer is reported too, and the email stays readable."""
    subscription = subscribe(sandbox, trial_period_days=20)
    sandbox.api.post(f"/subscriptions/{subscription['id']}/cancel/", {"cancel_at_period_end": True})
    sandbox.advance("19d")
    assert kinds(sandbox) == []
    sandbox.advance("1d")
    email = only_email(sandbox, "subscription_canceled")
    assert email["subscription"] == subscription["id"]
    assert "It ended on January 21, 2026. You will not be charged again." in text(sandbox, email)
    deleted = subscribe(sandbox, trial_period_days=20)["customer"]
    sandbox.api.delete(f"/customers/{deleted}/")
    email = outbox(sandbox)[-1]
    assert (email["kind"], email["customer"]) == ("subscription_canceled", deleted)
    assert "Hello Awa Diop," in text(sandbox, email)


# Refunds


def test_a_refund_is_reported_once_the_money_is_back(sandbox: Sandbox) -> None:
    """B-57: mobile money after 24 hours; one that fails is not reported."""
    for phone in (PAYS, REFUND_FAILS):
        subscribe(sandbox, phone)
    fails, paid = sandbox.api.get("/transactions/")["data"]
    refund = sandbox.api.post("/refunds/", {"transaction": paid["id"], "amount": 2000})
    sandbox.api.post("/refunds/", {"transaction": fails["id"]})
    assert kinds(sandbox) == ["receipt"] * 2
    sandbox.advance("1d")
    email = only_email(sandbox, "refund")
    assert (email["refund"], email["transaction"]) == (refund["id"], paid["id"])
    assert email["subject"].startswith("Refund of 2,000 XAF from ")
    assert "January 1, 2026, 5,000 XAF" in text(sandbox, email)


# Words


FRENCH = {
    "invoice": ("Facture INV-2026-", "à payer au plus tard le 31 janvier 2026"),
    "receipt": ("Reçu RCPT-2026-", "Nous avons reçu votre paiement de 5 000 XAF"),
    "renewal_failed": ("Votre paiement à", "Nous réessaierons le 2 janvier 2026."),
    "trial_ending": ("Votre essai chez", "Votre premier paiement de 5 000 XAF aura lieu ce jour-là."),
    "subscription_canceled": ("Votre abonnement chez", "Plus rien ne vous sera prélevé."),
    "refund": ("Remboursement de 5 000 XAF", "Nous avons remboursé votre moyen de paiement"),
}


def test_every_kind_speaks_french(sandbox: Sandbox) -> None:
    """Text and HTML alike, which say the same."""
    french = {"language": "fr"}
    for phone in (PAYS, POOR, None):
        subscribe(sandbox, phone, french)
    sandbox.api.post("/refunds/", {"transaction": sandbox.api.get("/transactions/")["data"][0]["id"]})
    trial = subscribe(sandbox, PAYS, french, trial_period_days=2)
    sandbox.api.post(f"/subscriptions/{trial['id']}/cancel/")
    sandbox.advance("1d")
    emails = {email["kind"]: email for email in outbox(sandbox)[::-1]}  # the first of each kind
    assert emails.keys() == FRENCH.keys()
    for kind, (subject, words) in FRENCH.items():
        email, read = emails[kind], message(sandbox, emails[kind])
        assert email["language"] == read["content-language"] == "fr"
        assert email["subject"].startswith(subject)
        for shown in (text(sandbox, email), " ".join(unescape(html(sandbox, email)).split())):
            assert words in shown
            assert "Bonjour Awa Diop," in shown
        parts = [part.get_content_type() for part in read.walk() if not part.is_multipart()]
        assert parts == ["text/plain", "text/html", *["application/pdf"] * len(email["attachments"])]
        body = read.get_body(("html",))
        assert body is not None
        assert body.get_content().split() == html(sandbox, email).split()
    english = sandbox.control.http.get(f"/emails/{emails['receipt']['id']}/html", params={"language": "en"}).text
    assert "Hello Awa Diop," in english, "any email can be read in each language"


def test_other_peoples_words_are_no_markup(sandbox: Sandbox) -> None:
    words = "<script>alert('x')</script> & \"co\""
    plan = sandbox.plan(name=words)
    customer = sandbox.customer(name=words, phone=POOR)
    sandbox.api.post("/subscriptions/", {"customer": customer["id"], "plan": plan["id"]})
    email = only_email(sandbox, "renewal_failed")
    assert "<script" not in html(sandbox, email)
    assert words in unescape(html(sandbox, email))
    assert words in text(sandbox, email)
    response = sandbox.control.request("GET", f"/emails/{email['id']}/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.long
@given(name=st.text(min_size=1, max_size=200).filter(lambda name: not name.isspace() and "\0" not in name))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_breaks_an_email(sandbox: Sandbox, name: str) -> None:
    """Headers, text and page stay sound, whatever customers are called."""
    customer = sandbox.control.patch(f"/objects/{sandbox.customer()['id']}", {"firstname": name, "lastname": name})
    invoice = draft(sandbox, customer, description=name)
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/", {"auto_send": True})
    email = outbox(sandbox, to=customer["email"])[-1]
    assert message(sandbox, email)["to"] == customer["email"]
    assert invoice["invoice_number"] in text(sandbox, email)
    assert invoice["invoice_number"] in html(sandbox, email)


@pytest.mark.parametrize("address", ["a'b%c@example.com", "x" * 64 + "@example.com", "a..b@example.com"])
def test_no_address_breaks_an_email(sandbox: Sandbox, address: str) -> None:
    invoice = draft(sandbox, sandbox.customer(email=address))
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/", {"auto_send": True})
    email = only_email(sandbox, "invoice")
    assert email["to"] == message(sandbox, email)["to"] == address


def test_an_email_stays_as_it_was_written(sandbox: Sandbox) -> None:
    """The same bytes, whatever becomes of customer and subscription (B-93)."""
    subscription = subscribe(sandbox, POOR)
    email = only_email(sandbox, "renewal_failed")
    before = sandbox.control.request("GET", f"/emails/{email['id']}/raw").content
    sandbox.api.patch(f"/customers/{subscription['customer']}/", {"name": "Someone Else", "metadata": {"lang": "fr"}})
    sandbox.api.delete(f"/customers/{subscription['customer']}/")
    sandbox.advance("40d")
    assert sandbox.control.request("GET", f"/emails/{email['id']}/raw").content == before
    assert sandbox.control.get(f"/emails/{email['id']}") == email


# Reading


def test_filters_paging_and_one(sandbox: Sandbox) -> None:
    first, second = subscribe(sandbox), subscribe(sandbox, POOR)
    sandbox.advance("1d")
    to = sandbox.api.get(f"/customers/{second['customer']}/")["email"]
    for query, found in [
        ({}, ["receipt", "renewal_failed", "renewal_failed"]),
        ({"to": to}, ["renewal_failed"] * 2),
        ({"to": to.upper()}, ["renewal_failed"] * 2),  # B-30
        ({"kind": "receipt"}, ["receipt"]),
        ({"to": to, "kind": "receipt"}, []),
        ({"to": "nobody@example.com"}, []),
    ]:
        assert [email["kind"] for email in outbox(sandbox, **query)] == found
    assert only_email(sandbox, "receipt")["customer"] == first["customer"]
    page = sandbox.control.get("/emails", page_size=2, page=2)
    assert (page["pagination"]["count"], len(page["data"])) == (3, 1)
    newest = sandbox.control.get("/emails", page_size=1)["data"][0]
    assert sandbox.control.get(f"/emails/{newest['id']}") == newest
    for part in ("", "/html", "/raw"):
        error = sandbox.control.rejected("GET", f"/emails/mail_nobody{part}", 404, "NOT_FOUND")
        assert error["message"] == "There is no email mail_nobody."
