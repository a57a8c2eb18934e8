"""Invoices: drafts and their lines, finalization, manual payment, due dates, their plan and money (B-60, B-65 to B-67)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract_tests.support.rules_harness import RulesHarness
from contract_tests.support.sandbox import CARD, Sandbox
from contract_tests.surfaces.pages.buyer import buyer
from emulator.core.errors import ApiError
from emulator.core.state_machine import StateMachine, Transition
from emulator.core.world import World
from emulator.resources.app import amounts
from emulator.resources.billing import invoices

LINE = {"description": "Delivery", "unit_amount": 2500}
BASKET = {"description": "Basket", "unit_amount": 5000}


def draft(sandbox: Sandbox, *lines: dict[str, Any], **fields: Any) -> Any:
    return sandbox.draft(line_items=list(lines) or [LINE], **fields)


def open_invoice(sandbox: Sandbox, *lines: dict[str, Any], **fields: Any) -> Any:
    return sandbox.invoice(line_items=list(lines) or [LINE], **fields)


def retrieved(sandbox: Sandbox, invoice: Any) -> Any:
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


# -- create


def test_a_draft(sandbox: Sandbox) -> None:
    """States: editable, no payment link; B-65: number at creation, no due date, the App's main currency."""
    with sandbox.expect("customer.created"):
        invoice = draft(sandbox, LINE, {"description": "Basket", "unit_amount": 15000, "quantity": 2})
    assert invoice["status"] == "draft"
    assert invoice["invoice_number"] == "INV-2026-000001"
    assert (invoice["currency"], invoice["customer_email"]) == ("XAF", "buyer0@example.com")
    assert (invoice["subtotal"], invoice["tax_amount"], invoice["discount_amount"]) == (32500, 0, 0)
    assert (invoice["total"], invoice["amount_paid"], invoice["amount_remaining"]) == (32500, 0, 32500)
    assert (invoice["due_date"], invoice["payment_url"], invoice["pdf_url"]) == (None, None, None)
    assert (invoice["description"], invoice["footer"], invoice["metadata"]) == (None, None, {})
    assert invoice["line_items"] == [
        {"product": None, "description": "Delivery", "quantity": 1, "unit_amount": 2500, "amount": 2500},
        {"product": None, "description": "Basket", "quantity": 2, "unit_amount": 15000, "amount": 30000},
    ]
    assert retrieved(sandbox, invoice) == invoice


def test_numbers_are_given_in_order_with_their_year(sandbox: Sandbox) -> None:
    """B-65."""
    draft(sandbox)
    sandbox.advance_to("2027-01-01")
    assert draft(sandbox)["invoice_number"] == "INV-2027-000002"


@pytest.mark.parametrize(
    "fields",
    [
        {"due_date": "2026-01-01"},
        {"line_items": [{**LINE, "unit_amount": 99_999_999}]},
        {"line_items": [{**LINE, "unit_amount": 0}]},
        {"line_items": [{**LINE, "unit_amount": 1}], "currency": "EUR"},
    ],
)
def test_what_creation_takes_at_its_limits(sandbox: Sandbox, fields: dict[str, Any]) -> None:
    """B-23: lines start at 0; B-65: due today is not past."""
    body = {"customer": sandbox.customer()["id"], "line_items": [LINE], **fields}
    assert sandbox.api.post("/invoices/", body)["status"] == "draft"


# -- lines that bill a product


def product_draft(harness: RulesHarness, *lines: dict[str, Any], **fields: Any) -> Any:
    customer = harness.do("createCustomer", email="buyer@example.com", name="Awa Diop")
    items = [{"quantity": 1, **line} for line in lines]
    return harness.do("createInvoice", customer=customer.id, line_items=items, **fields)


def test_a_product_line_has_its_name_and_price() -> None:
    """Invoices: the id of an existing product; its price then, not what it becomes later."""
    harness = RulesHarness()
    product = harness.product()
    invoice = product_draft(harness, {"product": product.id, "quantity": 3})
    harness.run(lambda world: world.replace(product, unit_amount=9, name="Other"))
    [line] = harness.world.require(invoices.Invoice, invoice.id).line_items
    assert (line.product, line.description, line.quantity) == (product.id, "Basket", 3)
    assert (line.unit_amount, line.amount) == (1500, 4500)


def test_a_free_product_takes_its_own_price() -> None:
    """B-66."""
    harness = RulesHarness()
    product = harness.product(price_type="free")
    assert product_draft(harness, {"product": product.id, "unit_amount": 40}).total == 40


@pytest.mark.parametrize(
    ("product", "line", "param", "why"),
    [
        ({"price_type": "free"}, {}, "unit_amount", "is required beside a product whose price is free"),
        (
            {"price_type": "free"},
            {"unit_amount": 40, "description": "Mine"},
            "description",
            "cannot be given beside a product, whose name is billed",
        ),
        ({}, {"unit_amount": 5}, "unit_amount", "cannot be given beside a product whose price is fixed"),
        ({}, {"description": "Mine"}, "description", "cannot be given beside a product, whose name is billed"),
        ({"active": False}, {}, "product", "this product is archived"),
        ({"currency": "EUR"}, {}, "product", "is sold in EUR, not in XAF"),
    ],
)
def test_a_product_line_that_will_not_do(product: dict[str, Any], line: dict[str, Any], param: str, why: str) -> None:
    """B-15, B-66: free without a price, fixed with one, archived, in another currency."""
    harness = RulesHarness()
    id = harness.product(**product).id
    with pytest.raises(ApiError) as raised:
        product_draft(harness, {"product": id, **line})
    assert (raised.value.code, raised.value.param) == ("INVALID_FIELD", f"line_items.0.{param}")
    assert raised.value.message.endswith(why)


def test_a_draft_that_bills_a_product_keeps_its_currency() -> None:
    """PATCH currency alone: the products must be sold in the new one."""
    harness = RulesHarness()
    invoice = product_draft(harness, {"product": harness.product().id})
    with pytest.raises(ApiError) as raised:
        harness.do("updateInvoice", invoice.id, currency="EUR")
    assert (raised.value.code, raised.value.param) == ("INVALID_FIELD", "currency")
    in_euro = [{"product": harness.product(currency="EUR").id, "quantity": 1}]
    assert harness.do("updateInvoice", invoice.id, currency="EUR", line_items=in_euro).currency == "EUR"


# -- money


@pytest.mark.parametrize(("rate", "subtotal", "tax"), [(18, 2500, 450), (2.5, 20, 1), (2.5, 19, 0), (0, 2500, 0)])
def test_tax_is_the_apps_rate(rate: float, subtotal: int, tax: int) -> None:
    """B-65, B-23: half up."""
    harness = RulesHarness(tax_rate=rate)
    invoice = product_draft(harness, {"description": "x", "unit_amount": subtotal})
    assert (invoice.tax_amount, invoice.total, invoice.amount_remaining) == (tax, subtotal + tax, subtotal + tax)


@given(
    lines=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 90)), min_size=1, max_size=8),
    basis_points=st.integers(0, 10_000),
)
def test_totals_add_up(lines: list[tuple[int, int]], basis_points: int) -> None:
    """B-23: integers end to end; the tax is the nearest integer, the upper one from the half on."""
    subtotal = sum(amount * quantity for amount, quantity in lines)
    exact = Fraction(subtotal * basis_points, 10_000)
    tax = amounts.percent(subtotal, basis_points / 100)
    assert Fraction(-1, 2) < tax - exact <= Fraction(1, 2)
    harness = RulesHarness(tax_rate=basis_points / 100, maximum_amount=10**10)
    items = [{"description": "x", "unit_amount": amount, "quantity": quantity} for amount, quantity in lines]
    invoice = product_draft(harness, *items)
    assert (invoice.subtotal, invoice.tax_amount, invoice.total) == (subtotal, tax, subtotal + tax)


# -- PATCH


def test_only_a_draft_can_be_changed(sandbox: Sandbox) -> None:
    """B-66: INVOICE_NOT_DRAFTABLE, also for an empty body."""
    path = f"/invoices/{open_invoice(sandbox)['id']}/"
    for body in ({"footer": "x"}, {}):
        sandbox.api.rejected("PATCH", path, 422, "INVOICE_NOT_DRAFTABLE", json=body)


# -- finalize, send, void, pay


@pytest.mark.parametrize("body", [{}, {"auto_send": True}, {"auto_send": False}])
def test_finalization(sandbox: Sandbox, body: dict[str, Any]) -> None:
    """Just the fields listed; the links are set, and the due date is 30 days later where none was given."""
    invoice = draft(sandbox)
    sandbox.advance_to("2026-01-05")
    with sandbox.expect():
        answer = sandbox.api.post(f"/invoices/{invoice['id']}/finalize/", body)
    assert set(answer) == {"id", "status", "total", "payment_url", "pdf_url", "updated_at"}
    assert (answer["status"], answer["total"], answer["updated_at"]) == ("open", 2500, "2026-01-05T00:00:00.000Z")
    assert answer["payment_url"].endswith(f"/invoice/{invoice['id']}")
    assert f"/v1/invoices/{invoice['id']}/pdf/?token=" in answer["pdf_url"]
    now = retrieved(sandbox, invoice)
    assert now["due_date"] == "2026-02-04"
    assert {name: now[name] for name in answer} == answer


def test_a_total_of_nothing_is_paid_on_finalization(sandbox: Sandbox) -> None:
    """B-66: with its event, and never overdue."""
    invoice = draft(sandbox, {"description": "Gift", "unit_amount": 0})
    with sandbox.expect("invoice.paid"):
        assert sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")["status"] == "paid"
        sandbox.advance("60d")


def test_paying_manually(sandbox: Sandbox) -> None:
    """States: open to paid, event invoice.paid; no money is moved."""
    invoice = open_invoice(sandbox, due_date="2026-01-15")
    assert "invoice.overdue" in {job["kind"] for job in sandbox.control.get("/schedule")["data"]}
    with sandbox.expect("invoice.paid"):
        answer = sandbox.api.post(f"/invoices/{invoice['id']}/pay/")
        assert "invoice.overdue" not in {job["kind"] for job in sandbox.control.get("/schedule")["data"]}
        sandbox.advance("60d")
    assert answer == retrieved(sandbox, invoice)
    assert (answer["status"], answer["amount_paid"], answer["amount_remaining"]) == ("paid", 2500, 0)
    assert sandbox.api.get("/transactions/")["data"] == []


def test_sending_again_and_again(sandbox: Sandbox) -> None:
    """States: open stays open; can be called several times."""
    invoice = open_invoice(sandbox)
    with sandbox.expect():
        for _ in range(3):
            assert sandbox.api.post(f"/invoices/{invoice['id']}/send/") == retrieved(sandbox, invoice)


def test_there_must_be_somebody_to_send_it_to(sandbox: Sandbox) -> None:
    """B-66: 422 before anything is done, but only after the state; the customer's present email will do."""
    body = {"line_items": [{"description": "Basket", "unit_amount": 500}]}
    anonymous = sandbox.buy(sandbox.session(), CARD)["customer"]
    draft = sandbox.api.post("/invoices/", {"customer": anonymous, **body})
    path = f"/invoices/{draft['id']}"
    sandbox.api.rejected("POST", f"{path}/send/", 422, "INVALID_STATUS_TRANSITION")
    error = sandbox.api.rejected("POST", f"{path}/finalize/", 422, "INVALID_FIELD", json={"auto_send": True})
    assert error["param"] == "customer"
    assert sandbox.api.get(f"{path}/") == draft
    sandbox.api.post(f"{path}/finalize/")
    assert sandbox.api.rejected("POST", f"{path}/send/", 422, "INVALID_FIELD")["param"] == "customer"
    sandbox.api.patch(f"/customers/{anonymous}/", {"email": "late@example.com"})
    assert sandbox.api.post(f"{path}/send/")["customer_email"] is None
    assert [email["to"] for email in sandbox.control.pages("/emails") if email["kind"] == "invoice"] == [
        "late@example.com"
    ]
    sandbox.api.delete(f"/customers/{anonymous}/")
    sandbox.api.rejected("POST", f"{path}/send/", 422, "INVALID_FIELD")


def test_an_invoice_of_a_deleted_customer_is_still_sent(sandbox: Sandbox) -> None:
    """B-66."""
    customer = sandbox.customer()
    body = {"customer": customer["id"], "line_items": [{"description": "Basket", "unit_amount": 500}]}
    invoice = sandbox.api.post("/invoices/", body)
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    sandbox.api.delete(f"/customers/{customer['id']}/")
    sandbox.api.post(f"/invoices/{invoice['id']}/send/")
    assert [email["to"] for email in sandbox.control.pages("/emails")] == [customer["email"]]


def test_a_draft_is_not_finalized_after_its_due_date(sandbox: Sandbox) -> None:
    """B-65, B-66: the state is told first, then the date, then that there is nobody to send it to."""
    body = {"due_date": "2026-01-05", "line_items": [{"description": "Basket", "unit_amount": 500}]}
    anonymous = sandbox.buy(sandbox.session(), CARD)["customer"]
    invoice = sandbox.api.post("/invoices/", {"customer": anonymous, **body})
    path = f"/invoices/{invoice['id']}/"
    sandbox.advance_to("2026-01-06")
    error = sandbox.api.rejected("POST", f"{path}finalize/", 422, "INVALID_FIELD", json={"auto_send": True})
    assert error["param"] == "due_date"
    sandbox.api.patch(path, {"due_date": "2026-01-06"})
    sandbox.api.post(f"{path}finalize/")
    sandbox.advance_to("2026-01-08")
    sandbox.api.rejected("POST", f"{path}finalize/", 422, "INVALID_STATUS_TRANSITION")


def test_a_void_invoice_is_not_owed(sandbox: Sandbox) -> None:
    """States: void is irreversible; it is never overdue."""
    invoice = open_invoice(sandbox)
    with sandbox.expect():
        assert sandbox.api.post(f"/invoices/{invoice['id']}/void/")["status"] == "void"
        assert sandbox.control.get("/clock")["pending"] == 0
        sandbox.advance("60d")


# -- due dates


@pytest.mark.parametrize(
    ("due_date", "overdue_at"),
    [(None, "2026-02-01"), ("2026-01-01", "2026-01-02"), ("2026-02-28", "2026-03-01"), ("2028-02-29", "2028-03-01")],
)
def test_overdue_at_midnight_of_the_day_after_once(sandbox: Sandbox, due_date: str | None, overdue_at: str) -> None:
    """B-65: at 00:00 UTC of the day after, once; it stays open and no reminder follows."""
    invoice = open_invoice(sandbox, **({"due_date": due_date} if due_date else {}))
    with sandbox.expect("invoice.payment_overdue"):
        sandbox.advance_to(overdue_at)
        sandbox.advance("P1Y")
    [event] = [event for event in sandbox.events() if event["type"] == "invoice.payment_overdue"]
    assert event["created_at"] == f"{overdue_at}T00:00:00.000Z"
    assert event["data"]["object"]["status"] == retrieved(sandbox, invoice)["status"] == "open"
    with sandbox.expect("invoice.paid"):
        sandbox.api.post(f"/invoices/{invoice['id']}/pay/")


def test_a_draft_is_never_overdue(sandbox: Sandbox) -> None:
    """B-65."""
    draft(sandbox, due_date="2026-01-10")
    with sandbox.expect():
        sandbox.advance("60d")


def test_a_due_date_at_the_end_of_the_calendar(sandbox: Sandbox) -> None:
    """The last day there is can be named."""
    assert open_invoice(sandbox, due_date="9999-12-31")["status"] == "open"


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
CELLS = [(state, line[0], outcome) for line in LINES for state, outcome in zip(COLUMNS, line[1:], strict=True)]
REJECTED = {"!": "INVALID_STATUS_TRANSITION", "!!": "INVOICE_NOT_DRAFTABLE"}


def do(harness: RulesHarness, id: str, step: str) -> None:
    if step == "write off":
        harness.run(lambda world: invoices.write_off(world, world.require(invoices.Invoice, id)))
    elif step == "job-overdue":
        harness.job("invoice.overdue", id)
    else:
        harness.do(step, id, **({"footer": "New"} if step == "updateInvoice" else {}))


def meet(state: str, step: str) -> tuple[RulesHarness, str]:
    """Return an invoice in a state; an hour later something is done to it."""
    harness = RulesHarness()
    id = product_draft(harness, {"description": "x", "unit_amount": 500}).id
    for way in REACH[state]:
        do(harness, id, way)
    harness.advance(hours=1)
    return harness, id


@pytest.mark.parametrize(("state", "step", "outcome"), CELLS)
def test_each_state_meets_each_step(state: str, step: str, outcome: str) -> None:
    """B-66: what is not in the table is rejected with its code, and a job is silenced."""
    harness, id = meet(state, step)
    everything = harness.everything()
    if outcome in REJECTED:
        with pytest.raises(ApiError) as raised:
            do(harness, id, step)
        assert raised.value.code == REJECTED[outcome]
    else:
        do(harness, id, step)
    assert (harness.everything() == everything) == (outcome in (".", *REJECTED))
    now = harness.world.require(invoices.Invoice, id).status
    assert now == (state if outcome in ("=", ".", *REJECTED) else outcome)


def test_every_row_of_the_life_cycle_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is there for nothing."""
    walked: set[Transition] = set()
    emit = StateMachine._emit

    def watched(self: StateMachine[Any], world: World, row: Transition, record: Any) -> Any:
        walked.update([row] if self is invoices.STATE_MACHINE else [])
        return emit(self, world, row, record)

    monkeypatch.setattr(StateMachine, "_emit", watched)
    for state, step, outcome in CELLS:
        if outcome not in REJECTED:
            do(*meet(state, step), step)
    assert walked == set(invoices.STATE_MACHINE.rows)


# -- tax, email, plan and money


def finalized(sandbox: Sandbox, invoice: Any) -> Any:
    sandbox.api.post(f"/invoices/{invoice['id']}/finalize/")
    return sandbox.api.get(f"/invoices/{invoice['id']}/")


def test_finalization_takes_the_present_tax_and_email(sandbox: Sandbox) -> None:
    """B-65: "Tax is computed automatically from the App's configuration", and the email goes to the customer."""
    customer = sandbox.customer()
    invoice = sandbox.draft(customer)
    sandbox.settings(tax_rate=18)
    sandbox.api.patch(f"/customers/{customer['id']}/", {"email": "new@example.com"})
    invoice = finalized(sandbox, invoice)
    amounts = (invoice["subtotal"], invoice["tax_amount"], invoice["total"], invoice["amount_remaining"])
    assert (amounts, invoice["customer_email"]) == ((5000, 900, 5900, 5900), "new@example.com")


@pytest.mark.parametrize("change", [{}, {"line_items": [BASKET, BASKET]}], ids=["as it is", "new lines"])
def test_tax_is_of_what_a_discount_leaves(sandbox: Sandbox, change: Any) -> None:
    """B-65: ``tax_rate`` on subtotal less discount."""
    sandbox.settings(tax_rate=10)
    invoice = sandbox.draft()
    sandbox.control.patch(f"/objects/{invoice['id']}", {"discount_amount": 500})
    sandbox.api.patch(f"/invoices/{invoice['id']}/", change)
    invoice = finalized(sandbox, invoice)
    net = 5000 * len(invoice["line_items"]) - 500
    assert (invoice["tax_amount"], invoice["total"], invoice["amount_remaining"]) == (net // 10, *[net * 11 // 10] * 2)


def test_without_its_due_date_it_has_thirty_days_again(sandbox: Sandbox) -> None:
    invoice = sandbox.draft(due_date="2026-01-02")
    sandbox.api.patch(f"/invoices/{invoice['id']}/", {"due_date": None})
    assert finalized(sandbox, invoice)["due_date"] == "2026-01-31"


def test_an_invoice_shows_its_subscription_and_is_found_by_it(sandbox: Sandbox) -> None:
    """B-67."""
    subscription = sandbox.subscribe()
    other = sandbox.draft()
    [own] = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    assert (own["subscription"], other["subscription"]) == (subscription["id"], None)
    assert sandbox.api.get("/invoices/", subscription="sub_none")["data"] == []


@pytest.mark.parametrize("method", ["charge_automatically", "send_invoice"])
@pytest.mark.parametrize("with_product", [True, False])
def test_the_plan_is_named_in_every_renewals_email_and_on_its_page(
    sandbox: Sandbox, method: str, with_product: bool
) -> None:
    """SubscriptionPlan ``name``: "Shown to customers on payment pages, invoices and renewal emails"."""
    plan = sandbox.plan(name="Gold membership")
    product = {"product": sandbox.product(name="Raphia club")["id"]} if with_product else {}
    sandbox.subscribe(plan=plan["id"], collection_method=method, **product)
    sandbox.advance("31d")
    names = ["Gold membership", *(["Raphia club"] if with_product else [])]
    emails = sandbox.control.get("/emails")["data"]
    assert {each["kind"] for each in emails} == {"receipt" if method == "charge_automatically" else "invoice"}
    for email in emails:
        read = sandbox.control.request("GET", f"/emails/{email['id']}/html").text
        assert all(name in read for name in names)
    if method == "send_invoice":
        with buyer(sandbox, sandbox.api.get("/invoices/")["data"][0]) as awa:
            page = awa.open()
        assert all(name in page.text for name in names)


def test_total_spent_is_in_the_customers_currency_alone(sandbox: Sandbox) -> None:
    """B-30: deposits in another currency are counted, not summed; so are their refunds."""
    customer = sandbox.customer()
    method = sandbox.method(customer)
    for currency in ("XAF", "EUR"):
        sandbox.pay(method, customer=customer["id"], amount=1000, currency=currency)
    now = sandbox.api.get(f"/customers/{customer['id']}/")
    assert (now["total_spent"], now["currency"], now["transactions_count"]) == (1000, "XAF", 2)
    sandbox.settings(refund_timing="instant")
    for deposit in sandbox.api.get("/transactions/")["data"]:
        sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 400})
    assert sandbox.api.get(f"/customers/{customer['id']}/")["total_spent"] == 600


def test_a_payment_in_progress_loses_its_deleted_customer_altogether(sandbox: Sandbox) -> None:
    """Customers, DELETE: payments in progress "lose the customer reference"; their pending transactions as well."""
    customer = sandbox.customer()
    transfer = {"type": "bank_transfer", "iban": "FR14 2004 1010 0505 0001 3M02 606"}
    sandbox.buy(sandbox.session(customer=customer["id"]), transfer)
    paid = sandbox.buy(sandbox.session(customer=customer["id"]), CARD)
    sandbox.api.delete(f"/customers/{customer['id']}/")
    of = {each["id"]: each["customer"] for each in sandbox.api.get("/transactions/")["data"]}
    assert sorted(of.values(), key=str) == [None, customer["id"]]
    assert of[paid["transaction"]] == customer["id"]


# -- from an invoice to its money (B-60)


def test_a_renewal_is_refunded_by_way_of_its_invoice(sandbox: Sandbox) -> None:
    """B-60: a paid invoice shows its payment intent and its transaction, also in the event."""
    subscription = sandbox.subscribe()
    [renewal] = sandbox.api.get("/invoices/", subscription=subscription["id"])["data"]
    intent = sandbox.api.get(f"/payment-intents/{renewal['payment_intent']}/")
    assert (intent["invoice"], intent["transaction"]) == (renewal["id"], renewal["transaction"])
    [paid] = [event for event in sandbox.events() if event["type"] == "invoice.paid"]
    assert paid["data"]["object"] == renewal
    refund = sandbox.api.post("/refunds/", {"transaction": renewal["transaction"]})
    assert refund["amount"] == renewal["total"]


def test_what_was_not_paid_by_a_payment_shows_none(sandbox: Sandbox) -> None:
    """B-60: a draft, an open invoice whose payment failed, and one that was paid manually."""
    invoice = sandbox.draft()
    open_invoice = finalized(sandbox, invoice)
    failed = sandbox.buy(open_invoice, {"type": "mobile_money", "phone": "+24177000001"})
    manual = sandbox.api.post(f"/invoices/{invoice['id']}/pay/")
    assert failed["status"] == "canceled"
    assert [(each["payment_intent"], each["transaction"]) for each in (invoice, open_invoice, manual)] == [
        (None, None)
    ] * 3


def test_the_first_invoice_of_a_session_leads_to_its_payment(sandbox: Sandbox) -> None:
    customer = sandbox.customer(phone="+24177000000")
    intent = sandbox.buy(sandbox.session(mode="subscription", customer=customer["id"]), CARD)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert (invoice["payment_intent"], invoice["transaction"]) == (intent["id"], intent["transaction"])
