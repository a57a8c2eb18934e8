"""The outbox: customers' mail, its time, words and reading (B-41, B-44, B-45, B-98)."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.surfaces.rendering import pdfs

PICTURE = "https://pictures.example.com/basket.png"


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
    return plain(unescape(response.text))


def message(sandbox: Sandbox, email: Any) -> EmailMessage:
    response = sandbox.control.request("GET", f"/emails/{email['id']}/raw")
    assert response.headers["content-type"] == "message/rfc822"
    parsed = message_from_bytes(response.content, policy=policy.default)
    assert isinstance(parsed, EmailMessage)
    assert not [fault for part in parsed.walk() for fault in part.defects]
    return parsed


def text(sandbox: Sandbox, email: Any, form: str = "plain") -> str:
    body = message(sandbox, email).get_body((form,))
    assert body is not None
    return plain(body.get_content())


def plain(words: str) -> str:
    """The words with single ordinary spaces: amounts are written with spaces that do not break."""
    return " ".join(words.split())


def finalize(sandbox: Sandbox, draft: Any) -> Any:
    return sandbox.api.post(f"/invoices/{draft['id']}/finalize/", {"auto_send": True})


# What is mailed, and when


def test_an_invoice_is_emailed_at_finalization_if_so_asked(sandbox: Sandbox) -> None:
    """Invoice states: ``auto_send: true`` sends it at finalization, with the PDF as of then."""
    for body in ({}, {"auto_send": False}):
        sandbox.api.post(f"/invoices/{sandbox.draft()['id']}/finalize/", body)
    assert outbox(sandbox) == []
    invoice = sandbox.draft()
    with sandbox.expect():
        finalize(sandbox, invoice)
    sandbox.api.post(f"/invoices/{invoice['id']}/void/")
    email = only_email(sandbox, "invoice")
    fields = {
        "invoice": invoice["id"],
        "customer": invoice["customer"],
        "to": invoice["customer_email"],
    }
    assert email.items() >= {**fields, "created_at": sandbox.now}.items()
    assert email["subject"].startswith(f"Invoice {invoice['invoice_number']} from ")
    file = {"filename": f"{invoice['invoice_number']}.pdf", "content_type": "application/pdf"}
    assert email["attachments"] == [file]
    [attached] = message(sandbox, email).iter_attachments()
    assert {
        "filename": attached.get_filename(),
        "content_type": attached.get_content_type(),
    } == file
    assert {invoice["invoice_number"], "OPEN"} <= {*pdfs.text(attached.get_content()).split()}


def test_what_becomes_of_a_renewal_is_mailed(sandbox: Sandbox) -> None:
    """B-44: a receipt, and no invoice, for a charge; B-67: with plan and product.

    B-41: the invoice, by ``send_invoice`` and without a usable method.
    """
    terms = {"plan": sandbox.plan(name="Gold")["id"]}
    terms["product"] = sandbox.product(name="Rice", images=[PICTURE])["id"]
    sandbox.subscribe(**terms)
    sandbox.subscribe(collection_method="send_invoice", **terms)
    sandbox.subscribe(None, **terms)
    sandbox.advance("31d")
    emails = {email["invoice"] or email["receipt"]: email for email in outbox(sandbox)}
    assert [email["kind"] for email in emails.values()].count("receipt") == 2
    invoices = {email["invoice"] for email in emails.values() if email["kind"] == "invoice"}
    assert invoices == {id for id, status in sandbox.invoices("id", "status") if status != "paid"}
    receipt = sandbox.api.get("/receipts/")["data"][0]
    email = next(email for email in emails.values() if email["receipt"] == receipt["id"])
    assert (email["transaction"], receipt["number"] in email["subject"]) == (
        receipt["transaction"],
        True,
    )
    for part in (
        "5,000 XAF",
        receipt["number"],
        receipt["url"],
        "Mobile money",
        "Invoice: INV-2026-",
    ):
        assert part in text(sandbox, email)
    for email in emails.values():
        assert "Gold" in text(sandbox, email)
        assert "Rice" in text(sandbox, email)
        assert f'src="{PICTURE}"' in html(sandbox, email)


def test_a_failed_renewal_names_the_tax_that_is_part_of_the_amount(sandbox: Sandbox) -> None:
    sandbox.settings(tax_rate=18)
    sandbox.subscribe(FAILING_PHONE)
    text = html(sandbox, only_email(sandbox, "renewal_failed"))
    assert "We could not collect 5,900 XAF" in text
    assert ">Tax (18%)</th><td><bdi>900 XAF<" in text


def test_each_failed_attempt_is_reported_with_the_day_of_the_next(sandbox: Sandbox) -> None:
    """B-45: retries 1, 3, 5 and 7 days after the first failure.

    The text stays, even if customer and subscription change (B-93).
    """
    subscription = sandbox.subscribe(FAILING_PHONE, product=sandbox.product(name="Rice")["id"])
    path = f"/emails/{only_email(sandbox, 'renewal_failed')['id']}/raw"
    before = sandbox.control.request("GET", path).content
    sandbox.advance("10d")
    emails = outbox(sandbox)
    assert [(email["kind"], email["subscription"]) for email in emails] == [
        ("renewal_failed", subscription["id"])
    ] * 5
    (page,) = sandbox.invoices("payment_url")
    for email, day in zip(emails, ("2", "4", "6", "8"), strict=False):
        assert f"We will try again on January {day}, 2026." in text(sandbox, email)
        assert page in text(sandbox, email)
    keep = "To keep your subscription, pay the invoice on its page."
    for part in (
        "We could not collect 5,000 XAF",
        "This was the last attempt.",
        "Rice · Basic",
        keep,
    ):
        assert part in text(sandbox, emails[-1])
    customer = f"/customers/{subscription['customer']}/"
    sandbox.api.patch(customer, {"name": "Someone Else", "metadata": {"language": "fr"}})
    sandbox.api.delete(customer)
    assert sandbox.control.request("GET", path).content == before


def test_the_end_of_a_trial_is_announced_three_days_before(sandbox: Sandbox) -> None:
    """B-43: with the first payment's tax."""
    sandbox.settings(tax_rate=18)
    plan = sandbox.plan(name="Premium", interval_count=3)["id"]
    product = sandbox.product(images=[PICTURE])["id"]
    sandbox.subscribe(plan=plan, product=product, trial_period_days=14)
    sandbox.advance("11d")
    email = only_email(sandbox, "trial_ending")
    assert f'src="{PICTURE}"' in html(sandbox, email)
    assert email["created_at"] == "2026-01-12T00:00:00.000Z"
    assert email["subject"].endswith("ends on January 15, 2026")
    for expected in (
        "Premium",
        "5,000 XAF / 3 months",
        "Your first payment of 5,900 XAF is due on that day.",
    ):
        assert expected in text(sandbox, email)


def test_a_cancellation_is_reported_when_it_happens(sandbox: Sandbox) -> None:
    """B-47: not when it is scheduled."""
    subscription = sandbox.subscribe(trial_period_days=14)
    sandbox.advance("11d")
    sandbox.act(subscription, "cancel", cancel_at_period_end=True)
    assert kinds(sandbox) == ["trial_ending"]
    sandbox.advance("3d")
    email = only_email(sandbox, "subscription_canceled")
    assert email["subscription"] == subscription["id"]
    assert "It ended on January 15, 2026. You will not be charged again." in text(sandbox, email)


@pytest.mark.parametrize(
    "type",
    [
        "transaction.succeeded",
        "refund.succeeded",
        "subscription.payment_failed",
        "subscription.trial_will_end",
        "subscription.canceled",
    ],
)
def test_an_email_about_an_event_is_explained_by_it(sandbox: Sandbox, type: str) -> None:
    event = sandbox.control.post("/trigger", {"event": type})
    chain = sandbox.control.get(f"/explain/{event['data']['object']['id']}")["chain"]
    assert [step["caused_by"] for step in chain if step["kind"] == "email"] == [event["id"]]


def test_a_cancellation_by_the_deletion_of_the_customer_is_reported(sandbox: Sandbox) -> None:
    """B-32: the email stays readable."""
    deleted = sandbox.subscribe(trial_period_days=14)["customer"]
    sandbox.api.delete(f"/customers/{deleted}/")
    email = outbox(sandbox)[-1]
    assert (email["kind"], email["customer"]) == ("subscription_canceled", deleted)
    assert "Hello Awa Diop," in text(sandbox, email)


@pytest.fixture
def deleted_customer(sandbox: Sandbox) -> Any:
    """A customer deleted after a bank transfer, beside a mobile payment that cannot be refunded."""
    sandbox.deposit(sandbox.method(type="mobile_money", phone="+24177000008"))
    customer = sandbox.customer()
    sandbox.pay(sandbox.method(customer, "bank_transfer", iban="FR1420041010050500013M02606"))
    sandbox.api.delete(f"/customers/{customer['id']}/")
    return customer


def test_a_receipt_is_mailed_once_the_money_has_arrived(
    sandbox: Sandbox, deleted_customer: Any
) -> None:
    """B-53: also to no customer any more, by the email that the payment was made with."""
    assert kinds(sandbox) == ["receipt"]
    sandbox.advance("1d")
    email = outbox(sandbox)[-1]
    assert (email["kind"], email["customer"], email["to"]) == (
        "receipt",
        None,
        deleted_customer["email"],
    )
    for part in ("Hello, Thank you.", "Paid with: Bank transfer"):
        assert part in text(sandbox, email)


@pytest.mark.usefixtures("deleted_customer")
def test_a_refund_is_mailed_once_the_money_is_back(sandbox: Sandbox) -> None:
    """B-57: mobile money is back after 24 hours; a refund that fails is not reported.

    B-53: also to no customer any more.
    """
    sandbox.advance("1d")
    for amount, transaction in zip(
        (2000, 5000), sandbox.api.get("/transactions/")["data"], strict=True
    ):
        sandbox.api.post("/refunds/", {"transaction": transaction["id"], "amount": amount})
    sandbox.advance("10d")
    email = only_email(sandbox, "refund")
    assert (email["transaction"], email["subject"][:25]) == (
        outbox(sandbox)[1]["transaction"],
        "Refund of 2,000 XAF from ",
    )
    assert "2026, 5,000 XAF" in text(sandbox, email)


@pytest.mark.parametrize("to", ["Awa@Example.com", "awa@example.com", "AWA@EXAMPLE.COM"])
def test_emails_are_found_by_their_address_in_any_case(sandbox: Sandbox, to: str) -> None:
    """B-30."""
    for address in ("Awa@Example.com", "other@example.com"):
        sandbox.pay(sandbox.method(sandbox.customer(email=address)))
    assert [email["to"].lower() for email in outbox(sandbox, to=to)] == ["awa@example.com"]


# Words


FORMS = pytest.mark.parametrize("form", [text, html])


@FORMS
def test_an_invoice_email_says_the_amount_to_be_paid(sandbox: Sandbox, form: Any) -> None:
    """B-67: the lines, the tax and the page."""
    sandbox.settings(tax_rate=18)
    lines = [
        {"description": "Basket", "unit_amount": 1500, "quantity": 2},
        {"description": "Mat", "unit_amount": 900},
    ]
    bill = finalize(sandbox, sandbox.draft(line_items=lines, description="For January"))
    invoice = form(sandbox, only_email(sandbox, "invoice"))
    for part in ("Basket", "3,000 XAF", "Mat", "900 XAF", "Tax (18%)", "702 XAF", "For January"):
        assert part in invoice
    assert "4,602 XAF due January 31, 2026" in invoice
    assert bill["payment_url"] in invoice


@FORMS
def test_an_email_says_how_to_reach_the_merchant(sandbox: Sandbox, form: Any) -> None:
    """B-67: the address and contact of the App's settings."""
    merchant = {
        "address": ["BP 7", "Libreville"],
        "email": "shop@example.com",
        "phone": "+24101000000",
    }
    sandbox.settings(merchant={"tax_number": None, "logo": None, **merchant})
    finalize(sandbox, sandbox.draft())
    sandbox.subscribe(trial_period_days=2)
    sandbox.advance("1d")
    trial = form(sandbox, only_email(sandbox, "trial_ending"))
    assert "If you do not want to continue, contact" in trial
    for email in (form(sandbox, only_email(sandbox, "invoice")), trial):
        assert "BP 7, Libreville · shop@example.com · +24101000000" in email


def test_the_email_of_an_invoice_over_nothing_asks_for_no_payment(sandbox: Sandbox) -> None:
    """B-66: a total of 0 is paid on finalization."""
    finalize(sandbox, sandbox.draft(line_items=[{"description": "Advice", "unit_amount": 0}]))
    email = outbox(sandbox)[-1]
    assert "0 XAF paid" in text(sandbox, email)
    assert "href" not in html(sandbox, email)


FRENCH = {
    "invoice": ("Facture INV-2026-", "à payer au plus tard le 31 janvier 2026"),
    "receipt": ("Reçu RCPT-2026-", "Nous avons reçu votre paiement de 5 000 XAF"),
    "renewal_failed": ("Votre paiement à", "Nous réessaierons le 2 janvier 2026."),
    "trial_ending": (
        "Votre essai chez",
        "Votre premier paiement de 5 000 XAF aura lieu ce jour-là.",
    ),
    "subscription_canceled": ("Votre abonnement chez", "Plus rien ne vous sera prélevé."),
    "refund": ("Remboursement de 5 000 XAF", "Nous avons remboursé votre moyen de paiement"),
}


def test_every_kind_speaks_french(sandbox: Sandbox) -> None:
    """Text and HTML alike, which say the same."""
    plan = {"unit_amount": 5000, "interval": "month"}
    for fields, terms in (
        *(({"phone": "+24177000000"}, {}), ({"phone": FAILING_PHONE}, {}), ({}, {})),
        ({"phone": "+24177000000"}, {"trial_period_days": 2}),
    ):
        customer = sandbox.customer(metadata={"language": "fr"}, **fields)["id"]
        trial = sandbox.api.post("/subscriptions/", {"customer": customer, **plan, **terms})
    sandbox.api.post(
        "/refunds/", {"transaction": sandbox.api.get("/transactions/")["data"][0]["id"]}
    )
    sandbox.act(trial, "cancel")
    sandbox.advance("1d")
    emails = {email["kind"]: email for email in outbox(sandbox)[::-1]}  # the first of each kind
    assert emails.keys() == FRENCH.keys()
    for kind, (subject, words) in FRENCH.items():
        email, read = emails[kind], message(sandbox, emails[kind])
        assert email["language"] == read["content-language"] == "fr"
        assert email["subject"].startswith(subject)
        for form in (text(sandbox, email), html(sandbox, email)):
            assert words in form
            assert "Bonjour Awa Diop," in form
        parts = [part.get_content_type() for part in read.walk() if not part.is_multipart()]
        assert parts == [
            "text/plain",
            "text/html",
            *["application/pdf"] * len(email["attachments"]),
        ]
        assert plain(unescape(text(sandbox, email, "html"))) == html(sandbox, email)
    english = sandbox.control.http.get(
        f"/emails/{emails['receipt']['id']}/html", params={"language": "en"}
    ).text
    assert "Hello Awa Diop," in english, "any email can be read in each language"


def test_other_peoples_words_are_no_markup(sandbox: Sandbox) -> None:
    words = "<script>alert('x')</script> & \"co\""
    customer = sandbox.customer(name=words, phone=FAILING_PHONE, email="a'b%c@example.com")["id"]
    sandbox.api.post(
        "/subscriptions/", {"customer": customer, "plan": sandbox.plan(name=words)["id"]}
    )
    email = only_email(sandbox, "renewal_failed")
    response = sandbox.control.request("GET", f"/emails/{email['id']}/html")
    assert "<script" not in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert words in html(sandbox, email)
    assert words in text(sandbox, email)
    assert email["to"] == message(sandbox, email)["to"] == "a'b%c@example.com"


# Reading
