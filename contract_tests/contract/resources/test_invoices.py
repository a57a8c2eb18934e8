"""Invoices: drafts, lines, finalization, manual payment, due dates and plans (B-65 to B-67)."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.pages.buyer import buyer
from emulator.core.errors import ApiError
from emulator.resources.billing import invoices

LINE = {"description": "Delivery", "unit_amount": 2500}
BASKET = {"description": "Basket", "unit_amount": 5000}


# -- drafts and their lines


def test_a_draft(sandbox: Sandbox) -> None:
    """States: editable, no payment link; B-65: number at once, no due date, the main currency."""
    with sandbox.expect("customer.created"):
        invoice = sandbox.draft(
            line_items=[LINE, {"description": "Basket", "unit_amount": 15000, "quantity": 2}]
        )
    assert (invoice["status"], invoice["invoice_number"]) == ("draft", "INV-2026-000001")
    assert (invoice["currency"], invoice["customer_email"]) == ("XAF", "buyer0@example.com")
    assert (invoice["subtotal"], invoice["tax_amount"], invoice["discount_amount"]) == (32500, 0, 0)
    assert (invoice["total"], invoice["amount_paid"], invoice["amount_remaining"]) == (
        32500,
        0,
        32500,
    )
    assert (invoice["due_date"], invoice["payment_url"], invoice["pdf_url"]) == (None, None, None)
    assert invoice["line_items"] == [
        {
            "product": None,
            "description": "Delivery",
            "quantity": 1,
            "unit_amount": 2500,
            "amount": 2500,
        },
        {
            "product": None,
            "description": "Basket",
            "quantity": 2,
            "unit_amount": 15000,
            "amount": 30000,
        },
    ]
    sandbox.advance_to("2027-01-01")
    assert sandbox.draft()["invoice_number"] == "INV-2027-000002"


def product_draft(harness: RulesHarness, *lines: dict[str, Any], **fields: Any) -> Any:
    customer = harness.do("createCustomer", email="buyer@example.com", name="Awa Diop")
    items = [{"quantity": 1, **line} for line in lines]
    return harness.do("createInvoice", customer=customer.id, line_items=items, **fields)


def test_a_product_line_copies_its_product() -> None:
    """Invoices: the id of a product; its price of then. A free price is the line's own (B-66)."""
    harness = RulesHarness()
    product, free = harness.do("createProduct"), harness.do("createProduct", price_type="free")
    lines = {"product": product.id, "quantity": 3}, {"product": free.id, "unit_amount": 40}
    invoice = product_draft(harness, *lines)
    harness.run(lambda world: world.replace(product, unit_amount=9, name="Other"))
    now = harness.world.require(invoices.Invoice, invoice.id)
    assert [
        (line.product, line.description, line.unit_amount, line.amount) for line in now.line_items
    ] == [(product.id, "Basket", 1500, 4500), (free.id, "Basket", 40, 40)]


# -- tax


@pytest.mark.parametrize(
    "change", [{}, {"line_items": [BASKET, BASKET]}], ids=["as it is", "new lines"]
)
def test_finalization_takes_the_present_tax_of_what_a_discount_leaves(
    sandbox: Sandbox, change: Any
) -> None:
    """B-65: "Tax is computed automatically from the App's configuration"; it mails the customer."""
    customer = sandbox.customer()
    invoice = sandbox.draft(customer, due_date="2026-01-02")
    sandbox.api.patch(f"/customers/{customer['id']}/", {"email": "new@example.com"})
    sandbox.control.patch(f"/objects/{invoice['id']}", {"discount_amount": 500})
    sandbox.api.patch(f"/invoices/{invoice['id']}/", {**change, "due_date": None})
    sandbox.settings(tax_rate=10)
    sandbox.act(invoice, "finalize")
    invoice = sandbox.shown(invoice)
    net = 5000 * len(invoice["line_items"]) - 500
    assert (invoice["tax_amount"], invoice["total"], invoice["amount_remaining"]) == (
        net // 10,
        *[net * 11 // 10] * 2,
    )
    assert (invoice["customer_email"], invoice["due_date"]) == ("new@example.com", "2026-01-31")


# -- finalize, send, void, pay


@pytest.mark.parametrize("body", [{}, {"auto_send": True}])
def test_finalization(sandbox: Sandbox, body: dict[str, Any]) -> None:
    """Just the listed fields; links are set; the due date is 30 days later if none was given.

    It can be sent several times, and cannot be changed, not even by an empty body (B-66).
    """
    invoice = sandbox.draft()
    path = f"/invoices/{invoice['id']}/"
    sandbox.advance_to("2026-01-05")
    with sandbox.expect():
        response = sandbox.api.post(f"{path}finalize/", body)
        assert set(response) == {"id", "status", "total", "payment_url", "pdf_url", "updated_at"}
        assert (response["status"], response["total"], response["updated_at"]) == (
            "open",
            5000,
            "2026-01-05T00:00:00.000Z",
        )
        assert response["payment_url"].endswith(f"/invoice/{invoice['id']}")
        assert f"/v1/invoices/{invoice['id']}/pdf/?token=" in response["pdf_url"]
        now = sandbox.shown(invoice)
        assert (now["due_date"], now | response) == ("2026-02-04", now)
        for _ in range(2):
            assert sandbox.api.post(f"{path}send/") == now
    assert len(sandbox.control.get("/emails")["data"]) == 2 + bool(body)
    sandbox.api.rejected("PATCH", path, 422, "INVOICE_NOT_DRAFTABLE", json={})


def test_a_total_of_nothing_is_paid_on_finalization(sandbox: Sandbox) -> None:
    """B-66: with its event, and never overdue."""
    invoice = sandbox.draft(line_items=[{"description": "Gift", "unit_amount": 0}])
    with sandbox.expect("invoice.paid"):
        assert sandbox.act(invoice, "finalize")["status"] == "paid"
        sandbox.advance("60d")


@pytest.mark.parametrize(("action", "status", "paid"), [("pay", "paid", 5000), ("void", "void", 0)])
def test_what_is_paid_manually_or_void_is_not_owed(
    sandbox: Sandbox, action: str, status: str, paid: int
) -> None:
    """States: no money is moved, and it is never overdue."""
    invoice = sandbox.invoice(due_date="2026-01-15")
    assert [job["kind"] for job in sandbox.control.get("/schedule")["data"]] == ["invoice.overdue"]
    with sandbox.expect(*["invoice.paid"] * bool(paid)):
        response = sandbox.api.post(f"/invoices/{invoice['id']}/{action}/")
        assert sandbox.control.get("/schedule")["data"] == []
        sandbox.advance("60d")
    now = sandbox.shown(invoice)
    assert response["status"] == now["status"] == status
    assert (now["amount_paid"], now["amount_remaining"]) == (paid, 0 if paid else 5000)
    assert (now["payment_intent"], sandbox.api.get("/transactions/")["data"]) == (None, [])


def test_there_must_be_somebody_to_send_it_to(sandbox: Sandbox) -> None:
    """B-66: 422 before anything else, but after the state; the customer's present email will do.

    An open invoice of a deleted customer is still sent.
    """
    anonymous = {"id": sandbox.buy(sandbox.session(), CARD)["customer"]}
    draft, known = sandbox.draft(anonymous), sandbox.invoice()
    path = f"/invoices/{draft['id']}"
    sandbox.api.rejected("POST", f"{path}/send/", 422, "INVALID_STATUS_TRANSITION")
    error = sandbox.api.rejected(
        "POST", f"{path}/finalize/", 422, "INVALID_FIELD", json={"auto_send": True}
    )
    assert (error["param"], sandbox.shown(draft)) == ("customer", draft)
    sandbox.api.post(f"{path}/finalize/")
    assert (
        sandbox.api.rejected("POST", f"{path}/send/", 422, "INVALID_FIELD")["param"] == "customer"
    )
    sandbox.api.patch(f"/customers/{anonymous['id']}/", {"email": "late@example.com"})
    assert sandbox.api.post(f"{path}/send/")["customer_email"] is None
    for customer in (anonymous["id"], known["customer"]):
        sandbox.api.delete(f"/customers/{customer}/")
    sandbox.api.rejected("POST", f"{path}/send/", 422, "INVALID_FIELD")
    sandbox.act(known, "send")
    sent = [email["to"] for email in sandbox.control.pages("/emails") if email["kind"] == "invoice"]
    assert sent == [known["customer_email"], "late@example.com"]


def test_a_draft_is_not_finalized_after_its_due_date(sandbox: Sandbox) -> None:
    """B-65, B-66: the state comes first, then the date, then the lack of a recipient."""
    anonymous = {"id": sandbox.buy(sandbox.session(), CARD)["customer"]}
    invoice = sandbox.draft(anonymous, due_date="2026-01-05")
    path = f"/invoices/{invoice['id']}/"
    sandbox.advance_to("2026-01-06")
    error = sandbox.api.rejected(
        "POST", f"{path}finalize/", 422, "INVALID_FIELD", json={"auto_send": True}
    )
    assert error["param"] == "due_date"
    sandbox.api.patch(path, {"due_date": "2026-01-06"})
    sandbox.api.post(f"{path}finalize/")
    sandbox.advance_to("2026-01-08")
    sandbox.api.rejected("POST", f"{path}finalize/", 422, "INVALID_STATUS_TRANSITION")


@pytest.mark.parametrize(
    ("due_date", "overdue_at"),
    [
        (None, "2026-02-01"),
        ("2026-01-01", "2026-01-02"),
        ("2026-02-28", "2026-03-01"),
        ("2028-02-29", "2028-03-01"),
    ],
)
def test_overdue_at_midnight_of_the_day_after_once(
    sandbox: Sandbox, due_date: str | None, overdue_at: str
) -> None:
    """B-65: once, 00:00 UTC the day after; it stays open, without reminders. Drafts never are."""
    fields = {"due_date": due_date} if due_date else {}
    invoice = sandbox.invoice(**fields)
    sandbox.draft(**fields)
    assert sandbox.invoice(due_date="9999-12-31")["status"] == "open", (
        "the last day there is can be named"
    )
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to(overdue_at)
        sandbox.advance("P1Y")
    event = sandbox.events()[-1]
    assert event["created_at"] == f"{overdue_at}T00:00:00.000Z"
    assert event["data"]["object"]["status"] == sandbox.shown(invoice)["status"] == "open"
    with sandbox.expect("invoice.paid"):
        sandbox.act(invoice, "pay")


# -- every state meets every action

REACH = {
    "draft": (),
    "open": ("finalizeInvoice",),
    "void": ("finalizeInvoice", "voidInvoice"),
    "paid": ("finalizeInvoice", "payInvoice"),
    "uncollectible": ("finalizeInvoice", "write off"),
}
TABLE = """
                draft      open    void   paid   uncollectible
finalizeInvoice open       !       !      !      !
sendInvoice     !          =       !      !      !
voidInvoice     !          void    !      !      !
payInvoice      !          paid    !      !      paid
updateInvoice   =          !!      !!     !!     !!
job-overdue     .          =       .      .      .
"""
COLUMNS, *LINES = (line.split() for line in TABLE.strip().splitlines())
CELLS = {
    (state, line[0]): outcome
    for line in LINES
    for state, outcome in zip(COLUMNS, line[1:], strict=True)
}
REJECTED = {"INVALID_STATUS_TRANSITION": "!", "INVOICE_NOT_DRAFTABLE": "!!"}


def do(harness: RulesHarness, id: str, step: str) -> None:
    if step == "write off":
        harness.run(lambda world: invoices.write_off(world, world.require(invoices.Invoice, id)))
    elif step == "job-overdue":
        harness.job("invoice.overdue", id)
    else:
        harness.do(step, id, **({"footer": "New"} if step == "updateInvoice" else {}))


def becomes(state: str, step: str) -> str:
    """Return what becomes of a state by a step, in the words of the table."""
    harness = RulesHarness()
    id = product_draft(harness, {"description": "x", "unit_amount": 500}).id
    for way in REACH[state]:
        do(harness, id, way)
    harness.advance(hours=1)
    everything = harness.everything()
    try:
        do(harness, id, step)
    except ApiError as error:
        return REJECTED[error.code] if harness.everything() == everything else "changed"
    now = harness.world.require(invoices.Invoice, id).status
    return "." if harness.everything() == everything else now if now != state else "="


def test_each_state_meets_each_step() -> None:
    """B-66: what is not in the table is rejected with its code, and a job is silenced."""
    assert {cell: actual for cell in CELLS if (actual := becomes(*cell)) != CELLS[cell]} == {}


# -- their plan


@pytest.mark.parametrize("method", ["charge_automatically", "send_invoice"])
def test_the_plan_is_named_wherever_a_renewal_is_shown(sandbox: Sandbox, method: str) -> None:
    """B-67: "Shown to customers on payment pages, invoices and renewal emails"; so is a product."""
    plan, product = sandbox.plan(name="Gold membership"), sandbox.product(name="Raphia club")
    sandbox.subscribe(plan=plan["id"], product=product["id"], collection_method=method)
    sandbox.advance("31d")
    emails = sandbox.control.get("/emails")["data"]
    assert {email["kind"] for email in emails} == {
        "receipt" if method == "charge_automatically" else "invoice"
    }
    read = [sandbox.control.request("GET", f"/emails/{email['id']}/html").text for email in emails]
    if method == "send_invoice":
        with buyer(sandbox, sandbox.api.get("/invoices/")["data"][0]) as awa:
            read.append(awa.open().text)
    assert all(name in text for name in ("Gold membership", "Raphia club") for text in read)
