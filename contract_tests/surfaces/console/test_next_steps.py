"""The steps from an object's state: each offered one works and changes the state as labeled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import unescape
from re import DOTALL, findall, search
from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from contract_tests.support.settings import SHOWN
from contract_tests.surfaces.console.visitor import visiting
from emulator.insight.state.next_steps import STEPS

LINES = [{"description": "Mat", "unit_amount": 900}]
ASKS = {"type": "mobile_money", "phone": "+24177000009"}
"""A phone whose operator never answers a refund."""
SILENT = {"type": "mobile_money", "phone": "+24177000003"}
"""A phone whose owner does not answer the prompt."""

Make = Callable[[Sandbox], Any]


def later(make: Callable[..., Any]) -> Callable[..., Make]:
    """Turn what makes an object into what is told how, and then makes it in a world."""
    return lambda *how, **fields: lambda sandbox: make(sandbox, *how, **fields)


@later
def subscription(
    sandbox: Sandbox, *operations: str, then: str = "0s", phone: str = "+24177000000", **fields: Any
) -> Any:
    made = sandbox.subscribe(phone, **fields)
    for operation in operations:
        ending = (
            {"cancel_at_period_end": operation == "cancel_later"} if "cancel" in operation else {}
        )
        sandbox.act(made, operation.partition("_")[0], **ending)
    sandbox.advance(then)
    return sandbox.subscription(made["id"])


def methodless(sandbox: Sandbox) -> Any:
    """A canceled subscription whose customer has removed the method that failed."""
    made = subscription(phone=FAILING_PHONE)(sandbox)
    [method] = sandbox.api.get(f"/customers/{made['customer']}/payment-methods/")["data"]
    sandbox.api.delete(f"/payment-methods/{method['id']}/")
    return sandbox.act(made, "cancel")


@later
def invoice(sandbox: Sandbox, *operations: str) -> Any:
    made = sandbox.api.post(
        "/invoices/", {"customer": sandbox.customer()["id"], "line_items": LINES}
    )
    for operation in operations:
        made = sandbox.api.post(f"/invoices/{made['id']}/{operation}/", {})
    return made


def on_the_phone(sandbox: Sandbox) -> Any:
    """An invoice whose charge waits for the phone of its buyer."""
    sandbox.subscribe(SILENT["phone"])
    sandbox.settle()
    return sandbox.api.get("/invoices/")["data"][0]


def uncollectible(sandbox: Sandbox) -> Any:
    failed = subscription(phone=FAILING_PHONE, then="8d")(sandbox)
    return sandbox.api.get("/invoices/", subscription=failed["id"])["data"][0]


@later
def intent(sandbox: Sandbox, status: str) -> Any:
    if status == "requires_payment_method":
        return sandbox.intent()
    if status == "requires_confirmation":
        return sandbox.intent(sandbox.method())
    if status == "requires_capture":
        return sandbox.pay(sandbox.method(), capture_method="manual")
    if number := {"requires_action": "4000 0000 0000 3220", "canceled": "4000 0000 0000 0002"}.get(
        status
    ):
        return sandbox.pay(sandbox.method(number=number))
    sandbox.settings(operator_delay=90)
    made = sandbox.pay()
    sandbox.advance("90s" if status == "succeeded" else "0s")
    return sandbox.api.get(f"/payment-intents/{made['id']}/")


@later
def deposit(sandbox: Sandbox, number: str = "4242 4242 4242 4242") -> Any:
    return sandbox.deposit(sandbox.method(number=number))


def reviewed(sandbox: Sandbox) -> Any:
    sandbox.settings(refund_review=True)
    return deposit()(sandbox)


def transfer(sandbox: Sandbox) -> Any:
    method = sandbox.method(None, type="bank_transfer", iban="DE89370400440532013000")
    made = sandbox.pay(method, currency="EUR")
    return sandbox.api.get(f"/transactions/{made['transaction']}/")


@later
def refund(sandbox: Sandbox, status: str) -> Any:
    timing = "instant" if status == "succeeded" else "documented"
    sandbox.settings(refund_review=status == "pending", refund_timing=timing)
    method = sandbox.method(None, **ASKS) if status == "processing" else None
    made = sandbox.api.post(
        "/refunds/", {"transaction": sandbox.deposit(method)["id"], "amount": 100}
    )
    sandbox.settle()
    return sandbox.api.get(f"/refunds/{made['id']}/")


@later
def session(sandbox: Sandbox, status: str) -> Any:
    made = sandbox.session()
    if status == "processing":
        sandbox.settings(operator_delay=90)
    if status != "open":
        phone = FAILING_PHONE if status == "payment_failed" else "+24177000000"
        sandbox.buy(made, {"type": "mobile_money", "phone": phone})
    return sandbox.api.get(f"/checkout-sessions/{made['id']}/")


@later
def link(sandbox: Sandbox, *operations: str) -> Any:
    made = sandbox.link()
    for operation in operations:
        sandbox.api.post(f"/payment-links/{made['id']}/{operation}/", {})
    return made


def second_method(sandbox: Sandbox) -> Any:
    customer = sandbox.customer()
    sandbox.method(customer)
    return sandbox.method(customer)


def endpoint(sandbox: Sandbox) -> Any:
    return sandbox.endpoint(
        f"{sandbox.url}/_emulator/inbox/shop?app={sandbox.key.removeprefix('sk_test_')}"
    )


def refusing(sandbox: Sandbox) -> Any:
    made = endpoint(sandbox)
    sandbox.inbox_responses("shop", status=500)
    return made


def decide(sandbox: Sandbox, customer: str, result: str = "succeeded") -> None:
    match = {"customer": customer}
    sandbox.control.post("/outcomes", {"operation": "payment", "result": result, "match": match})


def invoice_to_fail(sandbox: Sandbox) -> Any:
    id = invoice("finalize")(sandbox)["id"]
    made = sandbox.api.get(f"/invoices/{id}/")
    decide(sandbox, made["customer"], "failed")
    return made


def session_to_fail(sandbox: Sandbox) -> Any:
    customer = sandbox.customer()["id"]
    decide(sandbox, customer, "failed")
    return sandbox.session(customer=customer)


def decided(sandbox: Sandbox) -> Any:
    """A customer whose next payment has an outcome, and who has the card that works."""
    customer = sandbox.customer()
    sandbox.method(customer, number="4242 4242 4242 4242")
    decide(sandbox, customer["id"])
    return customer


def decided_subscription(sandbox: Sandbox) -> Any:
    made = sandbox.subscribe()
    sandbox.settle()
    decide(sandbox, made["customer"])
    return sandbox.subscription(made["id"])


def ending_first(sandbox: Sandbox) -> Any:
    """A subscription that ends within its period, whether it is canceled at the end or not."""
    made = sandbox.subscribe(ends_at="2026-01-20T00:00:00Z")
    sandbox.settle()
    sandbox.act(made, "cancel", cancel_at_period_end=True)
    return sandbox.subscription(made["id"])


@later
def delivery(sandbox: Sandbox, status: int) -> Any:
    """One that the inbox answers with this status: a 4xx is final, a 5xx is tried again."""
    made = endpoint(sandbox)
    sandbox.inbox_responses("shop", status=status)
    sandbox.customer()
    return sandbox.deliveries(made)[0]


def accepted_since(sandbox: Sandbox) -> Any:
    failed = delivery(400)(sandbox)
    sandbox.inbox_responses("shop", status=200)
    return failed


Check = Callable[[Sandbox, Any, Any], bool]
"""Whether the world is as it should be, given the object before and after."""


def gone(sandbox: Sandbox, before: Any, after: Any) -> bool:
    return after is None


def changed(field: str) -> Check:
    return lambda sandbox, before, after: bool(before.get(field) != after.get(field))


def arranged(sandbox: Sandbox, before: Any, after: Any) -> bool:
    [outcome] = sandbox.control.get("/outcomes")["data"]
    return bool(outcome["match"]["customer"] == before.get("customer", before["id"]))


def undecided(sandbox: Sandbox, before: Any, after: Any) -> bool:
    return not sandbox.control.get("/outcomes")["data"]


def has_card(sandbox: Sandbox, before: Any, after: Any) -> bool:
    methods = sandbox.api.get(f"/customers/{before['id']}/payment-methods/")["data"]
    return "bank_card" in [method["type"] for method in methods]


def overdue(sandbox: Sandbox, before: Any, after: Any) -> bool:
    return bool(sandbox.control.get("/events", type="invoice.payment_overdue")["data"])


def emailed(sandbox: Sandbox, before: Any, after: Any) -> bool:
    return sandbox.control.get("/emails", kind="invoice")["pagination"]["count"] == 1


def refunded(sandbox: Sandbox, before: Any, after: Any) -> bool:
    [made] = sandbox.api.get("/refunds/")["data"]
    return bool(made["amount"] == before["amount"])


def declined(sandbox: Sandbox, before: Any, after: Any) -> bool:
    [intent] = sandbox.api.get("/payment-intents/")["data"]
    return bool(after["status"] == "open" and intent["last_error"])


def prompted(sandbox: Sandbox, before: Any, after: Any) -> bool:
    return bool(sandbox.control.get("/phones/+24177000000")["data"])


def asked(sandbox: Sandbox, before: Any, after: Any) -> bool:
    return bool(sandbox.control.get(f"/phones/{SILENT['phone']}")["data"])


def paid(sandbox: Sandbox, before: Any, after: Any) -> bool:
    [invoice] = sandbox.api.get("/invoices/")["data"]
    return bool(invoice["status"] == "paid" and after["status"] == "active")


def answers(status: int) -> Check:
    return lambda sandbox, before, after: bool(
        sandbox.control.get("/inboxes")["data"][0]["status"] == status
    )


MOVED = changed("current_period_end")
ENDING = changed("cancel_at_period_end")
TRIED = changed("attempt_count")
CANCEL = {"cancel_later": ENDING, "cancel": "canceled"}
PAY = {"pay": "paid", "mark_paid": "paid"}
ANSWER = {"answer_succeeded": "succeeded", "answer_failed": "canceled"}

CASES: Mapping[str, tuple[Make, Mapping[str, str | Check]]] = {
    "customer": (lambda sandbox: sandbox.customer(), {"add_card": has_card, "delete": gone}),
    "customer subscribed": (
        lambda sandbox: sandbox.api.get(f"/customers/{sandbox.subscribe()['customer']}/"),
        {"outcome_failed": arranged, "add_card": has_card, "delete": gone},
    ),
    "customer decided": (decided, {"undo_outcome": undecided, "delete": gone}),
    "subscription active": (
        subscription(),
        {"advance_renewal": MOVED, "outcome_failed": arranged, "pause": "paused", **CANCEL},
    ),
    "subscription active, on the phone": (
        subscription(phone=SILENT["phone"]),
        {
            "answer_succeeded": paid,
            "answer_failed": "past_due",
            "open_phone": asked,
            "outcome_failed": arranged,
            "pause": "paused",
            **CANCEL,
        },
    ),
    "subscription active, ending": (
        subscription("cancel_later"),
        {"advance_end": "canceled", "pause": "paused", "keep": ENDING, "cancel": "canceled"},
    ),
    "subscription active, decided": (
        decided_subscription,
        {"advance_renewal": MOVED, "undo_outcome": undecided, "pause": "paused", **CANCEL},
    ),
    "invoice open, to fail": (
        invoice_to_fail,
        {
            "undo_outcome": undecided,
            "advance_overdue": overdue,
            "send": emailed,
            "mark_paid": "paid",
            "void": "void",
        },
    ),
    "checkout_session open, to fail": (
        session_to_fail,
        {"undo_outcome": undecided, "expire": "expired"},
    ),
    "subscription active, ending first": (
        ending_first,
        {"advance_end": "expired", "pause": "paused", "cancel": "canceled"},
    ),
    "subscription active, by invoice": (
        subscription(collection_method="send_invoice"),
        {"advance_renewal": MOVED, "advance_overdue": overdue, "pause": "paused", **CANCEL},
    ),
    "subscription trialing": (
        subscription(trial_period_days=14),
        {"advance_trial": "active", "outcome_failed": arranged, **CANCEL},
    ),
    "subscription past_due": (
        subscription(phone=FAILING_PHONE),
        {
            "advance_retry": changed("updated_at"),
            "advance_retries": "unpaid",
            "outcome_succeeded": arranged,
            "pay_failed": "active",
            "cancel": "canceled",
        },
    ),
    "subscription past_due, by invoice": (
        subscription(then="31d", collection_method="send_invoice"),
        {"pay_overdue": "active", "cancel": "canceled"},
    ),
    "subscription unpaid": (
        subscription(phone=FAILING_PHONE, then="8d"),
        {"pay_owed": "active", "cancel": "canceled"},
    ),
    "subscription paused": (subscription("pause"), {"resume": "active"}),
    "subscription canceled": (subscription("cancel"), {"reactivate": "active"}),
    "subscription canceled in dunning": (
        subscription("cancel", phone=FAILING_PHONE, then="0s"),
        {"reactivate_charged": "past_due"},
    ),
    "subscription canceled in dunning, nothing to charge": (
        methodless,
        {"reactivate_failing": "past_due"},
    ),
    "subscription canceled long ago": (
        subscription("cancel", then=f"{SHOWN['reactivation_days'] + 1}d"),
        {},
    ),
    "invoice draft": (invoice(), {"finalize": "open"}),
    "invoice open": (
        invoice("finalize"),
        {
            "pay": "paid",
            "advance_overdue": overdue,
            "send": emailed,
            "mark_paid": "paid",
            "void": "void",
        },
    ),
    "invoice on the phone": (
        on_the_phone,
        {
            "answer_succeeded": "paid",
            "answer_failed": declined,
            "open_phone": asked,
            "send": emailed,
        },
    ),
    "invoice paid": (invoice("finalize", "pay"), {}),
    "invoice uncollectible": (uncollectible, PAY),
    "payment_intent requires_payment_method": (
        intent("requires_payment_method"),
        {"cancel": "canceled"},
    ),
    "payment_intent requires_confirmation": (
        intent("requires_confirmation"),
        {"confirm": "succeeded", "cancel": "canceled"},
    ),
    "payment_intent requires_action": (intent("requires_action"), {**ANSWER, "cancel": "canceled"}),
    "payment_intent on the phone": (
        lambda sandbox: sandbox.pay(sandbox.method(None, **SILENT)),
        {**ANSWER, "open_phone": asked, "cancel": "canceled"},
    ),
    "payment_intent processing": (intent("processing"), ANSWER),
    "payment_intent requires_capture": (
        intent("requires_capture"),
        {"capture": "succeeded", "cancel": "canceled"},
    ),
    "payment_intent succeeded": (intent("succeeded"), {}),
    "payment_intent canceled": (intent("canceled"), {}),
    "payment_method": (second_method, {"default": changed("is_default"), "remove": gone}),
    "transaction pending": (transfer, {"answer_succeeded": "completed", "answer_failed": "failed"}),
    "transaction approved": (deposit("4000 0000 0000 0077"), {"advance_settle": "completed"}),
    "transaction completed": (deposit(), {"refund": refunded}),
    "transaction completed, reviewed": (reviewed, {"refund": refunded}),
    "transaction completed, to be disputed": (
        deposit("4000 0000 0000 0259"),
        {"advance_dispute": "disputed", "refund": refunded},
    ),
    "refund pending": (refund("pending"), {"advance_send": "processing", "cancel": "cancelled"}),
    "refund processing": (
        refund("processing"),
        {"answer_succeeded": "succeeded", "answer_failed": "failed"},
    ),
    "refund succeeded": (refund("succeeded"), {}),
    "checkout_session open": (session("open"), {"pay": "complete", "expire": "expired"}),
    "checkout_session processing": (
        session("processing"),
        {"answer_succeeded": "complete", "answer_failed": "payment_failed", "open_phone": prompted},
    ),
    "checkout_session payment_failed": (
        session("payment_failed"),
        {"pay": "complete", "expire": "expired"},
    ),
    "checkout_session complete": (session("complete"), {}),
    "payment_link active": (link(), {"archive": "archived"}),
    "payment_link archived": (link("archive"), {"restore": "active"}),
    "product": (lambda sandbox: sandbox.product(), {"archive": changed("active")}),
    "product archived": (
        lambda sandbox: sandbox.api.patch(
            f"/products/{sandbox.product()['id']}/", {"active": False}
        ),
        {"restore": changed("active")},
    ),
    "webhook_delivery pending": (
        delivery(500),
        {"advance_attempt": TRIED, "clear_response": answers(200)},
    ),
    "webhook_delivery failed": (delivery(400), {"retry": TRIED, "clear_response": answers(200)}),
    "webhook_delivery failed, accepted since": (accepted_since, {"retry": TRIED}),
    "webhook_delivery succeeded": (delivery(200), {}),
    "webhook_endpoint": (
        endpoint,
        {"refuse_response": answers(500), "disable": changed("enabled")},
    ),
    "webhook_endpoint refusing": (
        refusing,
        {"clear_response": answers(200), "disable": changed("enabled")},
    ),
    "webhook_endpoint disabled": (
        lambda sandbox: sandbox.api.post(f"/webhooks/{endpoint(sandbox)['id']}/disable/", {}),
        {"enable": changed("enabled")},
    ),
}
"""By kind and state: an object in it, and each offered step with its new status or its change."""


def test_every_step_is_taken() -> None:
    taken = {(case.partition(" ")[0], name) for case, (_, steps) in CASES.items() for name in steps}
    assert taken == {(kind, name) for kind, steps in STEPS.items() for name in steps}


NOTICES = {
    "customer: delete": "Awa Diop was deleted.",
    "subscription active: cancel_later": "Cancels on 1 Feb 2026.",
    "subscription active: pause": "Subscription: paused.",
    "subscription past_due: pay_failed": "5,000 XAF: succeeded.",
    "invoice open: send": "Invoice emailed to buyer0@example.com.",
    "invoice open: void": "Invoice INV-2026-000001 voided.",
    "payment_intent processing: answer_failed": "5,000 XAF failed: INSUFFICIENT_FUNDS.",
    "transaction completed: refund": "Refund of 5,000 XAF sent.",
    "transaction completed, reviewed: refund": "Refund of 5,000 XAF in review.",
}
"""What came of some steps: amounts, days and names, and not the words of the button again."""


FIRST = {
    (case.partition(" ")[0], name, leads_to): case
    for case, (_, steps) in reversed(CASES.items())
    for name, leads_to in steps.items()
}
"""By kind, step and where it leads: the case in which a plain run takes that step."""


@pytest.mark.parametrize("case", CASES)
def test_each_offered_step_leads_where_its_label_says(
    sandbox: Sandbox, case: str, thorough: bool
) -> None:
    make, expected = CASES[case]
    before = make(sandbox)
    id = before["id"]
    with visiting(sandbox) as visitor:
        steps = visitor.open(f"objects/{id}").html.partition('id="steps"')[2]
        assert findall(r'<(?:button|a)[^>]*data-testid="step-(\w+)"', steps) == [*expected], (
            "and nothing else is offered"
        )
        for name, leads_to in expected.items():
            is_first = FIRST[case.partition(" ")[0], name, leads_to] == case
            if not (thorough or is_first or f"{case}: {name}" in NOTICES):
                continue
            mark = sandbox.api.request("GET", "/customers/").headers["request-id"]
            page = visitor.do("step", f"objects/{id}", _id=id, _name=name)
            assert 'class="notice good"' in page.html, (name, page.text_of("notice"))
            if notice := NOTICES.get(f"{case}: {name}"):
                assert page.text_of("notice") == notice
            sandbox.settle()
            response = sandbox.control.http.get(f"/objects/{id}")
            after = response.json() if response.is_success else None
            if callable(leads_to):
                assert leads_to(sandbox, before, after), (name, after)
            else:
                assert after["status"] == leads_to, name
            sandbox.control.post("/rewind", {"to": mark})


def test_what_is_deleted_leads_to_the_list_that_had_it(sandbox: Sandbox) -> None:
    customer = sandbox.customer()
    method = sandbox.method(customer)["id"]
    with visiting(sandbox) as visitor:
        for id, name, kind in (
            (method, "remove", "payment_method"),
            (customer["id"], "delete", "customer"),
        ):
            page = visitor.do("step", f"objects/{id}", _id=id, _name=name)
            assert (page.status, page.response.url.params["kind"]) == (200, kind)


@pytest.mark.parametrize(
    ("language", "typed", "amount"), [("en", "5.84", 584), ("fr", "5,84", 584), ("en", "", 1168)]
)
def test_money_is_refunded_as_people_write_it(
    sandbox: Sandbox, language: str, typed: str, amount: int
) -> None:
    """No unrefundable amount is refunded, and no step taken that is no longer offered."""
    id = sandbox.api.get(
        f"/transactions/{sandbox.pay(amount=1168, currency='EUR')['transaction']}/"
    )["id"]
    with visiting(sandbox, **{"Accept-Language": language}) as visitor:
        html = visitor.open(f"objects/{id}").html
        assert [*findall(r'data-fill="([^"]*)"', html)] == (
            ["5.84", "11.68"] if language == "en" else ["5,84", "11,68"]
        )
        for wrong in ("99999999", "half"):
            assert (
                'class="notice bad"'
                in visitor.do("step", _id=id, _name="refund", amount=wrong).html
            )
        assert "notice" in visitor.do("step", _id=id, _name="pay").elements
        visitor.do("step", _id=id, _name="refund", amount=typed)
    assert [refund["amount"] for refund in sandbox.api.get("/refunds/")["data"]] == [amount]


# -- A request of the journal is sent again from its page, changed or not, to the two APIs alone


def test_a_request_is_sent_again(sandbox: Sandbox) -> None:
    """Changed or not, with its query; a rejected one is shown too. Unsendable ones are not sent."""
    sandbox.customer(name="Awa <b>")
    before = sandbox.control.get("/requests", operation="createCustomer")["data"][0]["id"]
    with visiting(sandbox) as visitor:
        html = visitor.open(f"requests/{before}").html
        form = search(
            r'<form method="post" action="[^"]*do/send[^"]*"[^>]*>(.*?)</form>', html, DOTALL
        )
        assert form
        fields = {
            name: unescape(value)
            for name, value in findall(r'name="([^"]*)" value="([^"]*)"', form[1])
        }
        page = visitor.do("send", **{**fields, "_body": fields["_body"].replace("buyer0", "other")})
        assert page.text_of("notice") == "Sent: 201."
        request = page.response.url.path.rpartition("/")[2]
        assert (request != before, request.startswith("req_")) == (True, True)
        page = visitor.do("send", **fields)
        assert "exists already" in page.text_of("notice")
        assert "409" in page.text
        visitor.do("send", _method="GET", _path="/v1/customers/?page_size=1", _body="")
        for changed, why in UNSENT:
            assert why in visitor.do("send", **{**fields, **changed}).text_of("notice"), changed
    assert sandbox.control.get("/requests")["data"][0]["path"] == "/v1/customers/?page_size=1"
    assert [customer["lastname"] for customer in sandbox.api.get("/customers/")["data"]] == [
        "<b>",
        "<b>",
    ]


UNSENT = (
    *(
        ({"_path": path}, "A path starts with")
        for path in (
            "https://evil.example/",
            "/_emulator/console/do/reset",
            "/docs/",
            "/v1/customers/\r\nHost: x",
        )
    ),
    ({"_method": "TRACE"}, "A path starts with"),
    ({"_body": "{"}, "not JSON"),
    ({"_body": "[" * 10_000}, "not JSON"),
)
