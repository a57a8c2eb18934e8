"""A tester's events: time that passes, in the background or foreseen, events, buyers' payments."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import date, datetime
from typing import Any

import httpx
import pytest

from contract_tests.contract.document import specification
from contract_tests.support.client import http_client
from contract_tests.support.receiver import Receiver, Reply
from contract_tests.support.sandbox import (
    CHARGED,
    FAILED,
    FAILING_PHONE,
    START,
    Sandbox,
    compare_events,
)
from emulator.control.trigger import TRIGGERS, kinds
from emulator.core.event_types import EVENTS
from emulator.document import bundles
from emulator.engine.advances import MAX_ADVANCES
from emulator.engine.outbox import Outbox
from emulator.insight.names import job_texts
from emulator.resources.customers.payment_details import EVERY_TYPE
from emulator.resources.registry import JOBS

END = "9999-12-31T23:59:59.998Z"
"""So far that no advance gets there while a test runs: some three million jobs."""


def respond_async(sandbox: Sandbox, **body: str) -> httpx.Response:
    return sandbox.control.request(
        "POST", "/clock/advance", json=body, headers={"Prefer": "respond-async"}
    )


def begin(sandbox: Sandbox, **body: str) -> str:
    response = respond_async(sandbox, **body)
    assert response.status_code == 202
    return str(response.json()["id"])


def ask(sandbox: Sandbox, id: str) -> Any:
    return sandbox.control.get(f"/clock/advances/{id}")


def stop(sandbox: Sandbox, id: str) -> Any:
    return sandbox.control.request("DELETE", f"/clock/advances/{id}").json()


def until(look: Callable[[], Any], is_enough: Callable[[Any], bool]) -> Any:
    """What is seen as soon as it is as expected."""
    deadline = time.monotonic() + 60
    while not is_enough(state := look()):
        assert time.monotonic() < deadline, state
    return state


def ended(sandbox: Sandbox, id: str) -> Any:
    return until(lambda: ask(sandbox, id), lambda advance: advance["status"] != "running")


@pytest.fixture
def busy(sandbox: Sandbox) -> Iterator[Sandbox]:
    """A world with a daily subscription, far from the calendar's end: a long way to go."""
    sandbox.subscribe(phone=None, unit_amount=500, interval="day")
    yield sandbox
    sandbox.control.post("/reset")  # whatever came of the test, no advance goes on


@pytest.fixture
def long(busy: Sandbox) -> str:
    """An advance of the busy world that has gone some days of its way."""
    id = begin(busy, to=END)
    until(lambda: ask(busy, id), lambda advance: advance["now"] > "2026-01-05")
    return id


def test_the_response_to_an_asynchronous_advance_comes_at_once(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    response = respond_async(sandbox, by="40d")
    begun = response.json()
    assert response.headers["preference-applied"] == "respond-async"
    assert (begun["status"], begun["from"], begun["now"], begun["progress"]) == (
        "running",
        START,
        START,
        0,
    )


def test_a_preference_is_read_in_any_case_and_among_others(sandbox: Sandbox) -> None:
    """RFC 7240."""
    for preference in ("Respond-Async", "RESPOND-ASYNC", "wait=10, respond-async"):
        headers = {"Prefer": preference}
        response = sandbox.control.request(
            "POST", "/clock/advance", json={"by": "1s"}, headers=headers
        )
        assert response.status_code == 202, preference


def test_an_asynchronous_advance_of_a_named_world_is_asked_for_there(sandbox: Sandbox) -> None:
    world = {"app": sandbox.key.removeprefix("sk_test_")}
    with http_client(base_url=sandbox.url) as http:
        begun = http.post(
            "/_emulator/clock/advance",
            params=world,
            json={"by": "1s"},
            headers={"Prefer": "respond-async"},
        )
        assert http.get(begun.headers["location"]).json()["id"] == begun.json()["id"]


def test_an_asynchronous_advance_says_where_to_ask(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    response = respond_async(sandbox, by="40d")
    begun = response.json()
    done = ended(sandbox, begun["id"])
    assert sandbox.control.get(response.headers["location"].removeprefix("/_emulator")) == done
    expected = {
        "id": begun["id"],
        "status": "completed",
        "from": START,
        "to": begun["to"],
        "now": begun["to"],
    }
    expected |= {
        "progress": 1,
        "jobs": 1,
        "events": dict.fromkeys(CHARGED, 1),
        "failures": [],
        "error": None,
    }
    assert done == {**expected, "deliveries": {"succeeded": 0, "failed": 0}}
    assert sandbox.now == done["now"] == "2026-02-10T00:00:00.000Z"
    assert stop(sandbox, begun["id"]) == done


def test_an_asynchronous_advance_until_an_event_completes_at_that_event(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    done = ended(sandbox, begin(sandbox, until_event="invoice.paid"))
    assert (done["status"], done["now"], done["progress"]) == (
        "completed",
        "2026-02-01T00:00:00.000Z",
        1,
    )
    assert done["to"] == "2027-01-01T00:00:00.000Z"


def test_a_stopped_advance_ends_between_two_jobs(busy: Sandbox, long: str) -> None:
    stopped = stop(busy, long)
    assert stopped["status"] == "stopped"
    assert stopped == ask(busy, long) == stop(busy, long)
    assert busy.now == stopped["now"] <= busy.control.get("/clock")["next_due_at"]


def test_the_progress_of_an_advance_is_the_share_of_its_way(busy: Sandbox, long: str) -> None:
    """B-92."""
    stopped = stop(busy, long)
    start, now, to = (datetime.fromisoformat(stopped[name]) for name in ("from", "now", "to"))
    assert 0 < stopped["progress"] == (now - start) / (to - start) < 1


def test_an_advance_that_fails_inside_shows_no_details(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(outbox: Outbox) -> None:
        raise ArithmeticError("the details")

    monkeypatch.setattr(Outbox, "settled", fail)
    done = ended(sandbox, begin(sandbox, by="1d"))
    assert done["status"] == "failed"
    assert done["error"] == "ArithmeticError; the server's log says more."


def test_a_stopped_advance_loses_no_job(busy: Sandbox, long: str) -> None:
    """B-92: each day until then has its invoice; what was due later is still to come."""
    stop(busy, long)
    now = busy.advance("3d")["now"]
    days = [date.fromisoformat(at[:10]) for at in busy.invoices("created_at")]
    assert days == sorted(set(days))
    assert (days[0], days[-1]) == (date(2026, 1, 1), date.fromisoformat(now[:10]))
    assert len(days) == (days[-1] - days[0]).days + 1


@pytest.mark.parametrize("back", ["stop", "restore", "rewind"])
def test_what_ends_it_while_a_delivery_hangs(busy: Sandbox, receiver: Receiver, back: str) -> None:
    """It waits at its first event to deliver, so that few units of work have to be undone."""
    busy.endpoint(receiver.url)
    busy.control.post("/snapshots", {"name": "before"})
    made = busy.api.request(
        "POST", "/products/", json={"name": "Tea", "unit_amount": 500, "currency": "XAF"}
    )
    receiver.reply = lambda received: Reply(held=True)
    id = begin(busy, to=END)
    until(lambda: ask(busy, id), lambda advance: "invoice.payment_overdue" in advance["events"])
    if back == "rewind":
        busy.control.post("/rewind", {"to": made.headers["request-id"]})
    elif back == "restore":
        busy.control.post("/snapshots/before/restore")
    else:
        stop(busy, id)
    end = ask(busy, id)
    assert (end["status"], end["now"] > START, busy.now > START) == (
        "stopped",
        True,
        back == "stop",
    )
    receiver.release()
    assert busy.advance("1d")["jobs"] >= 1


@pytest.fixture
def waiting(sandbox: Sandbox, receiver: Receiver) -> Iterator[list[str]]:
    """As many advances as there may be: the first waits for a delivery, the others for it."""
    sandbox.endpoint(receiver.url)
    receiver.reply = lambda received: Reply(held=True)
    sandbox.customer()
    advances = [begin(sandbox, by="1d") for _ in range(MAX_ADVANCES)]
    yield advances
    for id in advances:
        sandbox.control.request("POST", f"/clock/advances/{id}/stop")
    receiver.release()


@pytest.mark.usefixtures("waiting")
def test_no_more_than_so_many_advances_can_be_under_way(sandbox: Sandbox) -> None:
    rejected = respond_async(sandbox, by="1d")
    assert (rejected.status_code, rejected.json()["retry_after"]) == (429, 1)


def test_an_advance_that_waited_counts_from_where_the_ones_before_it_end(
    sandbox: Sandbox, waiting: list[str], receiver: Receiver
) -> None:
    """B-92."""
    receiver.release()
    assert ended(sandbox, waiting[2])["now"] == "2026-01-04T00:00:00.000Z"


def test_the_oldest_ended_advance_makes_room(sandbox: Sandbox, waiting: list[str]) -> None:
    stop(sandbox, waiting[5])
    another = begin(sandbox, by="1d")
    sandbox.control.rejected("GET", f"/clock/advances/{waiting.pop(5)}", 404, "NOT_FOUND")
    waiting.append(another)
    for id in waiting:
        assert ask(sandbox, id)["status"] == "running"


def schedule(sandbox: Sandbox, **query: Any) -> list[Any]:
    return list(sandbox.control.pages("/schedule", **query))


def test_what_is_planned_soonest_first(sandbox: Sandbox) -> None:
    """GET /schedule: due_at, kind, object and a summary of each job; no kind is without words."""
    subscription = sandbox.subscribe(trial_period_days=14, ends_at="2026-01-10T00:00:00Z")["id"]
    planned = schedule(sandbox)
    assert [(job["due_at"], job["kind"], job["object"]) for job in planned] == [
        ("2026-01-10T00:00:00.000Z", "subscription.expire", subscription),
        ("2026-01-15T00:00:00.000Z", "subscription.renew", subscription),
    ]
    assert all(set(job) == {"due_at", "kind", "object", "summary"} for job in planned)
    assert job_texts().keys() == JOBS.keys()


def test_the_pages_of_the_schedule_together_are_the_whole_list(sandbox: Sandbox) -> None:
    """B-19: the pages together are the whole list."""
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert [job["due_at"][:10] for job in whole[:2]] == ["2026-01-02", "2026-01-03"]
    assert (schedule(sandbox, until="30d", page_size=7), len(whole)) == (whole, 30)


def test_the_schedule_is_filtered_by_kind(sandbox: Sandbox) -> None:
    sandbox.subscribe(unit_amount=500, interval="day")
    whole = schedule(sandbox, until="30d", page_size=100)
    assert schedule(sandbox, until="30d", kind="subscription.renew", page_size=100) == whole
    assert schedule(sandbox, kind="subscription.retry") == []


def test_a_page_after_the_last_of_the_schedule_is_empty(sandbox: Sandbox) -> None:
    sandbox.subscribe(unit_amount=500, interval="day")
    page = sandbox.control.get("/schedule", until="30d", page=9, page_size=7)
    assert (page["data"], page["pagination"]["count"]) == ([], 30)


def test_a_wrong_end_of_the_schedule_is_rejected(sandbox: Sandbox) -> None:
    error = sandbox.control.rejected(
        "GET", "/schedule", 422, "INVALID_FILTER_PARAM", params={"until": "yesterday"}
    )
    assert (
        "must be an instant such as 2026-03-01T00:00:00Z or a duration such as 31d"
        in error["message"]
    )


@pytest.fixture
def two_lives(sandbox: Sandbox, receiver: Receiver) -> int:
    """A subscription that renews, and one whose payments fail; return the number of events."""
    sandbox.endpoint(receiver.url)
    sandbox.subscribe()
    sandbox.subscribe(FAILING_PHONE)
    sandbox.settle()
    return len(sandbox.events())


def test_the_schedule_comes_true(sandbox: Sandbox, two_lives: int) -> None:
    """until: each job that would run and its events, in order; then the same happens."""
    foreseen = schedule(sandbox, until="P1Y", page_size=100)
    assert sandbox.advance("P1Y")["jobs"] == len(foreseen)
    happened = [event["type"] for event in sandbox.events()[two_lives:]]
    assert [type for job in foreseen for type in job["event_types"]] == happened
    compare_events(Counter(happened), [*CHARGED * 12, *FAILED * 4])


def test_the_schedule_changes_nothing(sandbox: Sandbox, receiver: Receiver, two_lives: int) -> None:
    """No clock moved, no event, no delivery, no id used up: the same request has the same response.

    That holds in each form of the end.
    """
    clock, emails = sandbox.control.get("/clock"), sandbox.control.get("/emails")
    foreseen = schedule(sandbox, until="P1Y", page_size=100)
    for until in ("365d", "2027-01-01T00:00:00Z", "2027-01-01T01:00:00+01:00"):
        assert schedule(sandbox, until=until, page_size=100) == foreseen
    assert (len(sandbox.events()), len(receiver.events)) == (two_lives, two_lives)
    assert (sandbox.control.get("/clock"), sandbox.control.get("/emails")) == (clock, emails)


# -- events on demand, and payments, without a method and by the handset of a buyer


PAID = ("customer.created", "payment_intent.succeeded", "transaction.succeeded")

WITH: dict[str, tuple[str, ...]] = {
    "payment_intent.succeeded": PAID,
    "transaction.succeeded": PAID,
    "payment_intent.failed": ("customer.created", "payment_intent.failed"),
    "refund.succeeded": (*PAID, "refund.succeeded"),
    "refund.failed": (*PAID, "refund.failed"),
    "invoice.paid": (*PAID, "invoice.paid"),
    "invoice.payment_overdue": ("customer.created", "invoice.payment_overdue"),
    "checkout.session.completed": (*PAID, "checkout.session.completed"),
    "subscription.created": ("customer.created", "subscription.created", *CHARGED),
    "subscription.canceled": ("customer.created", "subscription.created", "subscription.canceled"),
    "subscription.payment_failed": ("customer.created", "subscription.created", *FAILED),
    "subscription.trial_will_end": (
        "customer.created",
        "subscription.created",
        "subscription.trial_will_end",
    ),
    "customer.created": ("customer.created",),
    "customer.deleted": ("customer.created", "customer.deleted"),
}
"""Everything that happens where every object is made for it."""


def trigger(sandbox: Sandbox, event: str, **overrides: Any) -> Any:
    return sandbox.control.post("/trigger", {"event": event, "overrides": overrides})


def test_there_is_a_recipe_for_every_event() -> None:
    assert TRIGGERS.keys() == EVENTS.keys()
    assert WITH.keys() == specification.EVENT_TYPES


def test_the_document_names_the_objects_that_a_recipe_takes() -> None:
    overrides = bundles.load("control")["components"]["schemas"]["TriggerInput"]["properties"][
        "overrides"
    ]
    assert re.findall("`([a-z_]+)`", overrides["description"].partition(". ")[0]) == list(kinds())


@pytest.mark.parametrize("type", EVENTS)
def test_an_event_comes_of_nothing(sandbox: Sandbox, receiver: Receiver, type: str) -> None:
    """With all its companions, a delivery included; the clock stays where it is.

    It is repeatable under any settings of the App: an unanswered phone, an operator that takes its
    time, refunds under review, another currency.
    """
    endpoint = sandbox.endpoint(receiver.url, type)
    now = sandbox.now
    with sandbox.expect(*WITH[type]) if type in WITH else nullcontext():
        event = trigger(sandbox, type)
    assert (event["type"], event["data"]["object"]["object"]) == (type, EVENTS[type].object)
    assert event == sandbox.control.get("/events", type=type)["data"][0]
    assert [delivery["event"] for delivery in sandbox.deliveries(endpoint)] == [event["id"]]
    assert [event["id"] for event in receiver.events] == [event["id"]]
    assert (sandbox.now, sandbox.control.get("/outcomes")["data"]) == (now, [])
    slow = {
        "mobile_money": "handset",
        "refund_review": True,
        "main_currency": "EUR",
        "tax_rate": 18,
    }
    for settings in (slow, {"mobile_money": "auto", "operator_delay": 60}):
        sandbox.settings(**settings)
        assert trigger(sandbox, type)["type"] == type


def test_what_is_named_is_used(sandbox: Sandbox) -> None:
    """The customer of a method that is named is the customer of what is made with it."""
    customer = sandbox.customer(phone="+24177000000")
    assert (
        trigger(sandbox, "customer.deleted", customer=customer["id"])["data"]["object"] == customer
    )
    intent = sandbox.intent(sandbox.method())["id"]
    with sandbox.expect("payment_intent.succeeded", "transaction.succeeded"):
        paid = trigger(sandbox, "payment_intent.succeeded", payment_intent=intent)["data"]["object"]
    assert paid["id"] == intent
    deposit = paid["transaction"]
    with sandbox.expect("refund.failed"):
        refund = trigger(
            sandbox, "refund.failed", transaction=deposit, amount=100, code="UPSTREAM_ERROR"
        )
    object = refund["data"]["object"]
    assert (object["transaction"], object["amount"], object["failure_reason"]) == (
        deposit,
        100,
        "UPSTREAM_ERROR",
    )
    method, plan = sandbox.method(), sandbox.plan(amount=700)["id"]
    with sandbox.expect("subscription.created", *CHARGED):
        subscription = trigger(
            sandbox, "subscription.created", payment_method=method["id"], plan=plan
        )["data"]["object"]
    assert (subscription["customer"], subscription["unit_amount"]) == (method["customer"], 700)
    living = sandbox.subscribe()["id"]
    with sandbox.expect(*FAILED):
        subscription = trigger(sandbox, "subscription.payment_failed", subscription=living)["data"][
            "object"
        ]
    assert (subscription["id"], subscription["status"]) == (living, "past_due")
    sandbox.settings(mobile_money="handset")
    for type in ("payment_intent.failed", "payment_intent.succeeded"):
        intent = sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))["id"]
        assert trigger(sandbox, type, payment_intent=intent)["data"]["object"]["id"] == intent
    authorized = sandbox.pay(sandbox.method(), capture_method="manual")["id"]
    trigger(sandbox, "transaction.succeeded", payment_intent=authorized)
    assert sandbox.control.get("/outcomes")["data"] == [], "none that nobody has arranged"


def test_fields_go_to_what_is_made(sandbox: Sandbox) -> None:
    """By kind, or to the first with such fields, the event's object before all; null omits one."""
    name = {"name": "Jean-Claude Ondo", "metadata": {"vip": True}}
    failed = {"amount": 700, "customer": name, "phone": "+24177999999", "code": "UPSTREAM_ERROR"}
    intent = trigger(sandbox, "payment_intent.failed", **failed)["data"]["object"]
    assert (intent["amount"], intent["last_error"]["code"]) == (700, "UPSTREAM_ERROR")
    customer = sandbox.api.get(f"/customers/{intent['customer']}/")
    assert (customer["lastname"], customer["metadata"]) == ("Ondo", {"vip": True})
    method = sandbox.api.get(f"/payment-methods/{intent['payment_method']}/")
    assert method["details"]["phone"] == "+24177999999"
    assert (
        trigger(sandbox, "customer.created", name="$plan $number")["data"]["object"]["lastname"]
        == "$number"
    )
    subscription = trigger(
        sandbox, "subscription.created", plan=None, unit_amount=900, interval="week"
    )["data"]["object"]
    assert (subscription["plan"], subscription["unit_amount"]) == (None, 900)
    overdue = trigger(sandbox, "invoice.payment_overdue")["data"]["object"]
    assert (overdue["status"], overdue["due_date"]) == ("open", "2025-12-31")
    paid = trigger(sandbox, "invoice.paid", invoice=overdue["id"])["data"]["object"]
    assert (paid["id"], paid["status"], paid["amount_remaining"]) == (overdue["id"], "paid", 0)


def test_what_is_made_has_the_defaults_of_a_request(sandbox: Sandbox) -> None:
    """Those of its lines, too."""
    line = {"description": "Raphia basket", "unit_amount": 500}
    for type in ("invoice.paid", "checkout.session.completed"):
        (shown,) = trigger(sandbox, type, line_items=[line])["data"]["object"]["line_items"]
        assert (shown["quantity"], shown["unit_amount"]) == (1, 500), type


@pytest.mark.parametrize("type", EVERY_TYPE)
def test_a_payment_is_made_with_a_type_that_is_named_or_allowed(
    sandbox: Sandbox, type: str
) -> None:
    """With the entries of that type, unless they are overridden too."""
    for event, overrides in (
        ("payment_intent.succeeded", {"type": type}),
        ("payment_intent.succeeded", {"payment_method": {"type": type}}),
        ("payment_intent.succeeded", {"payment_method_types": [type]}),
        ("checkout.session.completed", {"payment_method_types": [type]}),
    ):
        trigger(sandbox, event, **overrides)
        intent = sandbox.control.get("/events", type="payment_intent.succeeded")["data"][0]
        assert intent["data"]["object"]["payment_method_type"] == type, overrides
    card = {"number": "5555555555554444", "exp_month": 3, "exp_year": 2031, "cvc": "123"}
    paid = trigger(sandbox, "payment_intent.succeeded", type="bank_card", **card)["data"]["object"]
    method = sandbox.api.get(f"/payment-methods/{paid['payment_method']}/")
    assert method["details"]["exp_year"] == 2031


def test_what_does_not_go_with_it_is_rejected(sandbox: Sandbox) -> None:
    """No trace of made objects is left; the error for an unknown override names the known ones."""
    blacklisted = sandbox.control.patch(
        f"/objects/{sandbox.customer()['id']}", {"is_blacklisted": True}
    )["id"]
    canceled = sandbox.api.post(f"/payment-intents/{sandbox.intent()['id']}/cancel/")["id"]
    trialing, ended = (sandbox.subscribe(trial_period_days=30) for _ in range(2))
    sandbox.act(ended, "cancel")
    nothing = "does not come of this subscription"
    before = sandbox.control.get("/counts")
    for type, overrides, param, says in (
        ("webhook.ping", {}, "event", ""),
        ("customer.created", {"colour": "red"}, "overrides.colour", ""),
        ("customer.created", {"customer": "cust_1"}, "overrides.customer", ""),
        ("customer.created", {"code": "UPSTREAM_ERROR"}, "overrides.code", ""),
        ("customer.created", {"email": "nobody"}, "overrides.email", ""),
        ("customer.deleted", {"customer": 7}, "overrides.customer", ""),
        ("payment_intent.failed", {"code": "BAD_LUCK"}, "overrides.code", ""),
        ("payment_intent.succeeded", {"amount": 1}, "overrides.amount", "at least 100"),
        (
            "payment_intent.succeeded",
            {"customer": blacklisted},
            "overrides",
            "CUSTOMER_BLACKLISTED",
        ),
        ("refund.succeeded", {"payment_intent": canceled}, "overrides.payment_intent", "payment"),
        ("invoice.paid", {"tax_rate": 1}, "overrides.tax_rate", "here; there are: "),
        *(
            ("invoice.payment_overdue", overrides, "overrides.due_date", "by the trigger itself")
            for overrides in ({"due_date": "2027-01-01"}, {"invoice": {"due_date": "2027-01-01"}})
        ),
        ("subscription.payment_failed", {"subscription": trialing["id"]}, "overrides", nothing),
        ("subscription.trial_will_end", {"subscription": ended["id"]}, "overrides", nothing),
    ):
        with sandbox.expect():
            rejected = sandbox.control.request(
                "POST", "/trigger", json={"event": type, "overrides": overrides}
            )
        assert (rejected.status_code, rejected.json()["param"]) == (422, param), overrides
        assert says in rejected.json()["message"]
        assert sandbox.control.get("/counts") == before


PHONE = "+24177123456"


def paid(sandbox: Sandbox, path: str) -> Any:
    return sandbox.control.request("POST", f"{path}/pay").json()


def test_without_a_method_one_is_taken_that_works(sandbox: Sandbox) -> None:
    """The customer's default method comes first unless forbidden or expired; a stored card acts as
    it did.
    """
    for type in ("mobile_money", "bank_card", "paypal"):
        intent = paid(
            sandbox, f"/checkout-sessions/{sandbox.session(payment_method_types=[type])['id']}"
        )
        assert (intent["status"], intent["payment_method_types"]) == ("succeeded", [type])
    poor, card, late = sandbox.customer(phone=FAILING_PHONE), sandbox.customer(), sandbox.customer()
    sandbox.method(card, number="4000 0000 0000 9995", is_default=True)
    sandbox.method(late, exp_year=2026, exp_month=1, is_default=True)
    sandbox.advance_to("2026-02-01")
    for customer, types, code in [
        (poor, [], "INSUFFICIENT_FUNDS"),
        (card, [], "INSUFFICIENT_FUNDS"),
        (poor, ["bank_card"], None),
        (late, [], None),
    ]:
        session = sandbox.session(customer=customer["id"], payment_method_types=types)
        intent = paid(sandbox, f"/checkout-sessions/{session['id']}")
        assert (intent["last_error"] or {}).get("code") == code
    sandbox.settings(mobile_money="handset")  # which no handset has to approve
    for path in (
        f"/payment-links/{sandbox.link(collect_customer_info=False)['id']}",
        f"/invoices/{sandbox.invoice()['id']}",
        f"/checkout-sessions/{sandbox.session()['id']}",
    ):
        assert paid(sandbox, path)["status"] == "succeeded"


def test_without_a_method_one_is_taken_that_the_profiles_permit(sandbox: Sandbox) -> None:
    """Also by what was made before the profile (B-55)."""
    customer = sandbox.customer()
    sandbox.method(customer, is_default=True)
    paths = [
        f"/invoices/{sandbox.invoice(customer)['id']}",
        f"/checkout-sessions/{sandbox.session(customer=customer['id'])['id']}",
    ]
    sandbox.api.post(
        "/security-profiles/", {"name": "Phones", "allowed_payment_methods": ["mobile_money"]}
    )
    for path in paths:
        intent = paid(sandbox, path)
        assert (intent["status"], intent["payment_method_type"]) == ("succeeded", "mobile_money")


@pytest.fixture
def handset(sandbox: Sandbox) -> Sandbox:
    """A world whose buyers answer on their phones."""
    sandbox.settings(mobile_money="handset")
    return sandbox


def asked(sandbox: Sandbox, phone: str = PHONE, **fields: Any) -> Any:
    intent = sandbox.pay(sandbox.method(type="mobile_money", phone=phone), **fields)
    assert intent["status"] == "requires_action"
    return intent


def prompts(sandbox: Sandbox, phone: str = PHONE) -> list[Any]:
    return list(sandbox.control.get(f"/phones/{phone}")["data"])


def answer(sandbox: Sandbox, body: Any, phone: str = PHONE) -> Any:
    return sandbox.control.post(f"/phones/{phone}/answer", body)


def test_a_prompt_says_what_is_asked(handset: Sandbox) -> None:
    intent = asked(handset, description="Raphia basket")
    (prompt,) = prompts(handset)
    fields = {
        "object": "prompt",
        "payment_intent": intent["id"],
        "merchant": handset.key.removeprefix("sk_test_"),
    }
    fields |= {"amount": 5000, "currency": "XAF", "description": "Raphia basket"}
    assert prompt == {
        **fields,
        "created_at": handset.now,
        "expires_at": intent["next_action"]["expires_at"],
    }
    assert prompts(handset, PHONE.removeprefix("+")) == [prompt]
    assert prompts(handset, "+24177000000") == []
    assert [job["kind"] for job in schedule(handset)] == ["payment_intent.unconfirmed"]


def test_what_the_buyer_says_counts_at_once(handset: Sandbox) -> None:
    """After approval the number decides (B-54); no PIN is stored. An ignored prompt waits on."""
    for phone, code, buyer_answer in (
        (PHONE, None, {"answer": "approve", "pin": "9173"}),
        (PHONE, "MOBILE_MONEY_REJECTED", {"answer": "reject"}),
        (FAILING_PHONE, "INSUFFICIENT_FUNDS", {"answer": "approve"}),
        ("+24177000002", None, {"answer": "approve"}),
    ):
        intent = asked(handset, phone)
        assert answer(handset, {"answer": "ignore"}, phone) == intent
        assert [prompt["payment_intent"] for prompt in prompts(handset, phone)] == [intent["id"]]
        assert [job["kind"] for job in schedule(handset)] == ["payment_intent.unconfirmed"]
        answered = answer(handset, buyer_answer, phone)
        assert (answered["id"], answered["status"]) == (
            intent["id"],
            "canceled" if code else "succeeded",
        )
        assert (answered["last_error"] or {}).get("code") == code
        assert answered == handset.api.get(f"/payment-intents/{intent['id']}/")
        assert prompts(handset, phone) == []
    entries = handset.control.get("/requests", operation="answerPrompt")["data"]
    assert "9173" not in str([handset.control.get(f"/requests/{entry['id']}") for entry in entries])


def test_of_several_prompts_the_newest_or_the_one_that_is_named(handset: Sandbox) -> None:
    """One that waits, by a phone that there can be, with one of three answers."""
    path = f"/phones/{PHONE}/answer"
    approve = {"answer": "approve"}
    error = handset.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=approve)
    assert error["message"] == f"No prompt waits on {PHONE}."
    first, second, third = (asked(handset)["id"] for _ in range(3))
    assert [prompt["payment_intent"] for prompt in prompts(handset)] == [third, second, first]
    assert answer(handset, {"answer": "reject"})["id"] == third
    named = {**approve, "payment_intent": first}
    assert answer(handset, named)["id"] == first
    error = handset.control.rejected("POST", path, 422, "INVALID_STATUS_TRANSITION", json=named)
    assert error["message"] == f"No such prompt waits on {PHONE}."
    handset.control.rejected(
        "POST", path, 404, "PAYMENT_INTENT_NOT_FOUND", json={**named, "payment_intent": "pi_1"}
    )
    for number in ("7", "abc", "+0241", "+2417712345678901234"):
        handset.control.rejected("GET", f"/phones/{number}", 404, "NOT_FOUND")
        handset.control.rejected("POST", f"/phones/{number}/answer", 404, "NOT_FOUND", json=approve)
