"""A payment or refund that is under way is said of all that it belongs to (B-102)."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, CHARGED, FAILED, FAILING_PHONE, Sandbox

SLOW = "+24177000010"
PHONE = "+24177123456"
SILENT = "+24177000003"
TRIAL = {"interval": "month", "trial_period_days": 7}


def explained(sandbox: Sandbox, what: Any, language: str = "en") -> Any:
    id = what if isinstance(what, str) else what["id"]
    explanation = sandbox.control.get(f"/explain/{id}", language=language)
    return {**explanation, "summary": re.sub(r"\s", " ", explanation["summary"])}


def said(sandbox: Sandbox, what: Any, language: str = "en") -> str:
    return str(explained(sandbox, what, language)["summary"])


def offered(sandbox: Sandbox, what: Any) -> list[str]:
    return [step["name"] for step in explained(sandbox, what)["next_steps"]]


def retried(sandbox: Sandbox) -> Any:
    """A subscription in dunning whose first retry waits for the operator until 11:00."""
    sandbox.settings(operator_delay=3600)
    made = sandbox.subscribe(FAILING_PHONE)
    sandbox.advance("2h")
    sandbox.advance("23h")
    return made


def test_a_retry_under_way_names_its_answer_and_the_retries_that_are_left(sandbox: Sandbox) -> None:
    text = said(sandbox, retried(sandbox))
    assert (
        "5,000 XAF for INV-2026-000001 is being charged to Airtel +241 …0001; the operator answers"
        " on 2 Jan 2026, 02:00 UTC. If it succeeds, the subscription becomes active. If it fails,"
        " it is tried again up to 3 times: on 4 Jan 2026, 6 Jan 2026, and 8 Jan 2026."
    ) in text
    assert "No further charge" not in text


def test_the_last_retry_under_way_says_that_none_is_left(sandbox: Sandbox) -> None:
    made = retried(sandbox)
    sandbox.advance("6d")
    assert "If it fails, no retry is left: the subscription becomes unpaid." in said(sandbox, made)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("pause", "If it fails, it is tried again once the subscription is resumed."),
        ("cancel", "If it fails, it is tried again only if the subscription is reactivated."),
        ("expire", "If it fails, it is not tried again."),
    ],
)
def test_what_follows_the_failure_of_a_charge_is_said_of_one_that_stopped(
    sandbox: Sandbox, action: str, words: str
) -> None:
    sandbox.settings(operator_delay=3600)
    made = sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    if action == "expire":
        sandbox.control.patch(f"/objects/{made['id']}", {"ends_at": "2026-01-01T00:01:00Z"})
        sandbox.advance("1m")
    else:
        sandbox.act(made, action)
    assert words in said(sandbox, made)
    sandbox.advance("2h")
    assert "If it fails" not in said(sandbox, made)


def test_an_invoice_is_emailed_again_only_if_the_payment_under_way_fails(sandbox: Sandbox) -> None:
    made = sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    change = {"collection_method": "send_invoice"}
    sandbox.api.patch(f"/subscriptions/{made['id']}/", change)
    assert "The invoice is emailed again on 2 Jan 2026." in said(sandbox, made)
    sandbox.settings(operator_delay=3600)
    [invoice] = sandbox.api.get("/invoices/")["data"]
    sandbox.buy(invoice, {"type": "mobile_money", "phone": SLOW})
    for owner in (made, invoice):
        text = said(sandbox, owner)
        assert (
            "If it succeeds, the subscription becomes active. If it fails, the invoice is emailed"
            " again on 2 Jan 2026, 4 Jan 2026, 6 Jan 2026, and 8 Jan 2026."
        ) in text
        assert "The invoice is emailed again" not in text


def test_no_step_is_offered_that_a_charge_under_way_can_prevent(sandbox: Sandbox) -> None:
    made = retried(sandbox)
    assert offered(sandbox, made) == ["answer_succeeded", "answer_failed", "open_phone", "cancel"]


def test_a_canceled_subscription_says_that_a_charge_is_still_under_way(sandbox: Sandbox) -> None:
    sandbox.settings(operator_delay=3600)
    made = sandbox.subscribe(SLOW)
    sandbox.settle()
    steps = {step["name"]: step for step in explained(sandbox, made)["next_steps"]}
    assert "may still be charged" in steps["cancel"]["consequence"]
    sandbox.act(made, "cancel")
    assert "Nothing more" not in said(sandbox, made)
    assert "5,000 XAF for INV-2026-000001 is being charged" in said(sandbox, made)
    [email] = sandbox.control.get("/emails", kind="subscription_canceled")["data"]
    html = sandbox.control.http.get(f"/emails/{email['id']}/html").text
    assert "still being processed" in html
    sandbox.advance("2h")
    assert said(sandbox, made).endswith("Nothing more is charged.")


@pytest.mark.parametrize(("phone", "events"), [(SLOW, CHARGED), ("+24177000003", FAILED)])
def test_a_reactivation_says_that_a_charge_is_still_under_way(
    sandbox: Sandbox, phone: str, events: tuple[str, ...]
) -> None:
    sandbox.settings(operator_delay=3600)
    made = sandbox.subscribe(phone)
    sandbox.act(made, "cancel")
    [step] = [one for one in explained(sandbox, made)["next_steps"] if one["name"] == "reactivate"]
    assert re.sub(r"\s", " ", step["consequence"]) == (
        "The subscription runs again. What is under way, 5,000 XAF, may still be charged, and a"
        " charge that fails is tried again."
    )
    with sandbox.expect(*events):
        sandbox.act(made, "reactivate")
        sandbox.advance("2h")


def test_an_invoice_whose_charge_is_under_way_is_not_let_fall_overdue(sandbox: Sandbox) -> None:
    sandbox.settings(operator_delay=3600)
    sandbox.subscribe(SLOW)
    sandbox.settle()
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert "is being charged to Airtel" in said(sandbox, invoice)
    assert offered(sandbox, invoice) == ["answer_succeeded", "answer_failed", "open_phone", "send"]


def test_an_invoice_that_is_charged_again_is_not_let_fall_overdue(sandbox: Sandbox) -> None:
    sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    [invoice] = sandbox.api.get("/invoices/")["data"]
    assert said(sandbox, invoice).endswith("It is charged again on 2 Jan 2026.")
    assert "advance_overdue" not in offered(sandbox, invoice)


@pytest.mark.parametrize(
    "fields",
    [{"mode": "setup", "line_items": []}, {"mode": "subscription", "subscription_data": TRIAL}],
    ids=["setup", "trial"],
)
def test_a_number_that_is_saved_waits_for_the_operator_and_for_no_phone(
    sandbox: Sandbox, fields: dict[str, Any]
) -> None:
    """B-58: after ``operator_delay``, as a payment; nobody is said to have to confirm it."""
    sandbox.settings(operator_delay=3600, mobile_money="handset")
    session = sandbox.session(customer=sandbox.customer()["id"], **fields)
    for phone, after, status in ((SILENT, "3m", "payment_failed"), (PHONE, "1h", "complete")):
        sandbox.buy(session, {"type": "mobile_money", "phone": phone})
        [one] = explained(sandbox, session)["under_way"]
        assert (one["kind"], one["waits_for"]) == ("saving", "operator")
        assert "is being saved; the operator answers on" in said(sandbox, session)
        assert sandbox.control.get(f"/phones/{phone}")["data"] == []
        sandbox.advance(after)
        assert sandbox.status(session) == status


@pytest.mark.parametrize(
    ("profile", "is_offered"),
    [
        ({"max_amount": 4999}, False),
        ({"max_amount": 5000}, True),
        ({"allowed_payment_methods": ["bank_transfer"]}, False),
        ({"allowed_payment_methods": ["bank_card"]}, True),
    ],
    ids=str,
)
def test_no_payment_is_offered_that_a_security_profile_forbids(
    sandbox: Sandbox, profile: Any, is_offered: bool
) -> None:
    """A session, an invoice and a subscription whose charge has failed."""
    line = {"description": "Basket", "unit_amount": 5000}
    made = [
        (sandbox.session(payment_method_types=["bank_card"], line_items=[line]), "pay"),
        (sandbox.subscribe(FAILING_PHONE), "pay_failed"),
    ]
    sandbox.settle()
    made.append((sandbox.api.get("/invoices/")["data"][0], "pay"))
    sandbox.api.post("/security-profiles/", {"name": "Narrow", **profile})
    if profile == {"allowed_payment_methods": ["bank_transfer"]}:
        made = made[:1]  # the invoice can be paid by a transfer
    for what, step in made:
        assert (step in offered(sandbox, what)) == is_offered


def test_an_invoice_that_is_charged_after_another_one_says_so(sandbox: Sandbox) -> None:
    """B-45, ``past_due_periods``: the payment of the first has the others charged, one by one."""
    sandbox.settings(renewal_retry_days=[20], assumptions={"past_due_periods": "charged"})
    made = sandbox.subscribe(FAILING_PHONE, unit_amount=5000, interval="week")
    sandbox.advance("15d")
    owed = sandbox.api.get("/invoices/", ordering="created_at")["data"]
    assert said(sandbox, owed[0]).endswith("It is charged again on 21 Jan 2026.")
    for earlier, later in pairwise(owed):
        number = earlier["invoice_number"]
        assert said(sandbox, later).endswith(f"It is charged again once {number} is paid.")
        assert "advance_overdue" not in offered(sandbox, later)
    card = sandbox.method({"id": made["customer"]})
    sandbox.api.patch(f"/subscriptions/{made['id']}/", {"payment_method": card["id"]})
    sandbox.advance("6d")
    assert sandbox.invoices("status") == ["paid"] * 4


def test_a_refund_under_way_is_said_with_what_can_still_be_refunded(sandbox: Sandbox) -> None:
    paid = sandbox.deposit(sandbox.method())
    sandbox.api.post("/refunds/", {"transaction": paid["id"], "amount": 2000})
    assert said(sandbox, paid).endswith(
        "2,000 XAF is being refunded to visa …4242; the operator answers on 6 Jan 2026. 3,000 XAF"
        " can still be refunded."
    )


def test_a_refund_in_review_is_said(sandbox: Sandbox) -> None:
    sandbox.settings(refund_review=True)
    paid = sandbox.deposit(sandbox.method())
    sandbox.api.post("/refunds/", {"transaction": paid["id"]})
    assert said(sandbox, paid).endswith(
        "5,000 XAF is to be refunded to visa …4242; it goes to the operator on 1 Jan 2026, 01:00"
        " UTC."
    )


def test_a_refund_that_is_under_way_says_so_itself(sandbox: Sandbox) -> None:
    """As what it refunds does: with its amount, its method and what it waits for (B-102)."""
    sandbox.settings(refund_review=True)
    paid = sandbox.deposit(sandbox.method())
    refund = sandbox.api.post("/refunds/", {"transaction": paid["id"], "amount": 2000})
    for by, waits_for, words in (
        ("0s", "review", "is to be refunded to visa …4242; it goes to the operator on"),
        ("1h", "operator", "is being refunded to visa …4242; the operator answers on"),
    ):
        sandbox.advance(by)
        [one] = explained(sandbox, refund)["under_way"]
        assert (one["object"], one["about"], one["waits_for"], one["method"]) == (
            refund["id"],
            paid["id"],
            waits_for,
            "visa …4242",
        )
        assert said(sandbox, refund).startswith(f"2,000 XAF {words}")
        listed = sandbox.control.get("/under-way", ids=refund["id"])
        assert [other["object"] for other in listed[refund["id"]]] == [refund["id"]]
    sandbox.advance("30d")
    assert explained(sandbox, refund)["under_way"] == []


def test_a_customers_sums_are_by_currency_with_refunds_apart(sandbox: Sandbox) -> None:
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()
    method = sandbox.method(customer)
    paid = sandbox.pay(method, amount=10342, currency="EUR")
    sandbox.api.post("/refunds/", {"transaction": paid["transaction"], "amount": 2835})
    sandbox.settle()
    assert said(sandbox, customer) == "Has paid 103.42 EUR, 28.35 EUR of it refunded."
    sandbox.pay(method)
    assert said(sandbox, customer) == (
        "Has paid 103.42 EUR and 5,000 XAF, 28.35 EUR of it refunded."
    )
    expected = "A payé 103,42 EUR et 5 000 XAF, dont 28,35 EUR remboursés."
    assert said(sandbox, customer, "fr") == expected


def test_an_invoice_paid_elsewhere_says_so(sandbox: Sandbox) -> None:
    invoice = sandbox.invoice()
    sandbox.api.post(f"/invoices/{invoice['id']}/pay/")
    assert said(sandbox, invoice) == (
        "Paid outside the service: 5,000 XAF on 1 Jan 2026, 00:00 UTC."
    )


def test_a_past_due_subscription_names_all_overdue_invoices_and_their_sum(sandbox: Sandbox) -> None:
    made = sandbox.subscribe(collection_method="send_invoice")
    sandbox.advance("70d")
    assert (
        "2 invoices, 10,000 XAF, are overdue: INV-2026-000001 and INV-2026-000002. The subscription"
        " becomes active when all of them are paid."
    ) in said(sandbox, made)


Owner = Callable[[Sandbox], Any]


def session(sandbox: Sandbox) -> Any:
    made = sandbox.session()
    sandbox.buy(made, {"type": "mobile_money", "phone": PHONE})
    return made


def link(sandbox: Sandbox) -> Any:
    made = sandbox.link(collect_customer_info=False)
    sandbox.buy(made, {"type": "mobile_money", "phone": PHONE})
    return made


def customer(sandbox: Sandbox) -> Any:
    made = sandbox.subscribe(PHONE)
    sandbox.settle()
    return made["customer"]


@pytest.mark.parametrize(
    "owner", [session, link, customer, lambda sandbox: sandbox.subscribe(PHONE)]
)
def test_a_prompt_on_the_buyers_phone_is_said_of_its_owner(sandbox: Sandbox, owner: Owner) -> None:
    sandbox.settings(mobile_money="handset")
    made = owner(sandbox)
    sandbox.settle()
    text = "it waits for the buyer’s phone until 1 Jan 2026, 00:03 UTC, then it fails."
    assert text in said(sandbox, made)
    [waiting] = explained(sandbox, made)["under_way"]
    assert (waiting["waits_for"], waiting["phone"]) == ("phone", PHONE)


def test_a_card_check_is_said_with_its_time_limit(sandbox: Sandbox) -> None:
    made = sandbox.session()
    sandbox.buy(made, {**CARD, "number": "4000000000003220"})
    text = "the buyer has to confirm it by 1 Jan 2026, 00:15 UTC, or it fails."
    assert text in said(sandbox, made)


def test_a_bank_transfer_waits_for_its_funds(sandbox: Sandbox) -> None:
    method = sandbox.method(None, type="bank_transfer", iban="DE89370400440532013000")
    intent = sandbox.pay(method)
    assert said(sandbox, intent).endswith("; it waits for the funds until 2 Jan 2026.")
    [waiting] = explained(sandbox, intent)["under_way"]
    assert waiting["waits_for"] == "funds"


def test_a_method_that_is_being_saved_is_said(sandbox: Sandbox) -> None:
    made = sandbox.session(mode="setup", line_items=[])
    sandbox.buy(made, {**CARD, "number": "4000000000003220"})
    assert "is being saved: the buyer has to confirm it" in said(sandbox, made)


def test_what_is_under_way_is_listed_by_id(sandbox: Sandbox) -> None:
    """Objects of which nothing is under way, and ids of nothing, are left out."""
    sandbox.settings(mobile_money="handset")
    made = sandbox.subscribe(PHONE)
    sandbox.settle()
    idle = sandbox.subscribe(collection_method="send_invoice")
    listed = sandbox.control.get("/under-way", ids=f"{made['id']},{idle['id']},nonsense")
    assert [*listed] == [made["id"]]
    assert listed[made["id"]] == explained(sandbox, made)["under_way"]


def test_all_that_is_under_way_in_a_world_is_listed_the_first_to_end_first(
    sandbox: Sandbox,
) -> None:
    """With whom and what it is for: a charge, an arrival, a refund, a card that is saved."""
    deposit = sandbox.deposit()
    later = sandbox.deposit(sandbox.method(number="4000 0000 0000 0077"))
    sandbox.settings(operator_delay=3600, refund_review=True)
    charged = sandbox.subscribe(SLOW)
    refund = sandbox.api.post("/refunds/", {"transaction": deposit["id"], "amount": 100})
    saving = sandbox.session(mode="setup", line_items=[])
    sandbox.buy(saving, {**CARD, "number": "4000000000003220"})
    sandbox.settle()
    saving = sandbox.api.get(f"/checkout-sessions/{saving['id']}/")
    listed = [one for [one] in sandbox.control.get("/under-way").values()]
    assert {(one["kind"], one["about"], one["customer"], one["amount"]) for one in listed} == {
        ("payment", charged["id"], charged["customer"], 5000),
        ("settlement", None, later["customer"], later["amount"]),
        ("refund", deposit["id"], deposit["customer"], refund["amount"]),
        ("saving", saving["id"], saving["customer"], 0),
    }
    ends = [one["until"] or "9999" for one in listed]
    assert ends == sorted(ends)


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ({"type": "mobile_money", "phone": PHONE}, "MOBILE_MONEY_REJECTED"),
        ({"type": "bank_card", "number": "4000000000003220"}, "PAYMENT_METHOD_NOT_SUPPORTED"),
        ({"type": "mobile_money", "phone": FAILING_PHONE}, "INSUFFICIENT_FUNDS"),
    ],
)
def test_a_payment_is_let_fail_with_a_code_that_fits_its_method(
    sandbox: Sandbox, method: dict[str, Any], code: str
) -> None:
    sandbox.settings(mobile_money="handset")
    details = {**CARD, **method} if method["type"] == "bank_card" else method
    made = sandbox.pay(sandbox.method(None, **details))
    steps = {step["name"]: step for step in explained(sandbox, made)["next_steps"]}
    assert steps["answer_failed"]["body"] == {"result": "failed", "code": code}


def test_a_repeated_renewal_shows_its_period(sandbox: Sandbox) -> None:
    made = sandbox.subscribe()
    sandbox.advance("70d")
    summaries = [step["summary"] for step in explained(sandbox, made)["chain"]]
    assert any("period from 1 Mar 2026 to 1 Apr 2026" in summary for summary in summaries)
    assert not any("current_period_start" in summary for summary in summaries)
