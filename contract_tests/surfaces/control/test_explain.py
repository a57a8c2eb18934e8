"""An object's reasons, in a chain of causes and a sentence; where money is, and its postings."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from contract_tests.contract.every.conftest import factory_in
from contract_tests.contract.every.values import SERVICE
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import CARD, FAILING_PHONE, RunningServer, Sandbox
from emulator.checks.document.object_factory import documented
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.document import bundles
from emulator.resources import ledger
from emulator.resources.payments import payment_intents
from emulator.resources.registry import JOBS, REGISTRY


def explain(sandbox: Sandbox, id: str) -> Any:
    """Return the explanation of an object; every step stands after the one that caused it."""
    response = sandbox.control.get(f"/explain/{id}")
    events: set[str | None] = {None}
    for step in response["chain"]:
        assert step["caused_by"] in events, step
        events.add(step["id"])
    assert [step["at"] for step in response["chain"]] == sorted(
        step["at"] for step in response["chain"]
    )
    return response


def steps(response: Any, *kinds: str) -> list[str]:
    """What the steps say, those of some kinds if any are named."""
    return [step["summary"] for step in response["chain"] if step["kind"] in kinds or not kinds]


def step(response: Any, kind: str, begins: str = "") -> Any:
    return next(
        step
        for step in response["chain"]
        if step["kind"] == kind and step["summary"].startswith(begins)
    )


def request_of(sandbox: Sandbox, operation: str) -> str:
    (entry,) = sandbox.control.pages("/requests", operation=operation)
    return str(entry["id"])


def test_a_renewal_is_led_back_to_the_request_that_made_the_subscription(
    sandbox: Sandbox, receiver: Receiver
) -> None:
    """Request, job, move, event, delivery, email: the whole of it, in its order."""
    sandbox.endpoint(receiver.url, "invoice.paid")
    subscription = sandbox.subscribe()["id"]
    sandbox.advance("P3M")
    invoice = sandbox.invoices("id")[-1]
    response = explain(sandbox, invoice)
    assert (response["id"], response["kind"], response["status"], response["complete"]) == (
        invoice,
        "invoice",
        "paid",
        True,
    )
    transaction = sandbox.api.get("/transactions/")["data"][0]["id"]
    assert [
        (entry["kind"], entry["summary"].partition(" (")[0]) for entry in response["chain"]
    ] == [
        ("request", "POST /v1/subscriptions/ planned job subscription.charge"),
        ("job", f"job subscription.charge of {subscription} ran"),
        (
            "job",
            f"job subscription.renew of {subscription} ran 2 times, each planned by the one before",
        ),
        ("job", f"job subscription.renew of {subscription} ran and created it"),
        ("transition", "created as draft by `create`"),
        ("transition", "draft -> open by `finalize`"),
        ("event", f"transaction.succeeded emitted for {transaction}"),
        ("email", "email receipt to buyer0@example.com"),
        ("transition", "open -> paid by `pay`"),
        ("event", "invoice.paid emitted"),
        ("delivery", f"invoice.paid delivered to {receiver.url} with 200"),
    ]
    made, charge, before, job, draft, opened, paid_by, email, paid, event, delivery = response[
        "chain"
    ]
    assert made["id"] == request_of(sandbox, "createSubscription")
    assert [entry["caused_by"] for entry in (made, charge, before, job)] == [
        None,
        made["id"],
        charge["id"],
        before["id"],
    ]
    assert {entry["caused_by"] for entry in (draft, opened, paid_by)} == {job["id"]}
    assert {entry["caused_by"] for entry in (email, paid, event)} == {paid_by["id"]}
    assert delivery["caused_by"] == event["id"]
    assert "amount_paid 0 XAF -> 5,000 XAF" in paid["summary"]
    assert [entry["at"][:10] for entry in response["chain"]] == ["2026-01-01"] * 2 + [
        "2026-02-01"
    ] + ["2026-04-01"] * 8


def test_each_request_that_changed_an_object_is_listed(sandbox: Sandbox) -> None:
    """In the order in which they came, whatever dates the tester wrote."""
    customer = sandbox.customer()["id"]
    sandbox.api.patch(f"/customers/{customer}/", {"name": "Ada Ndong"})
    sandbox.advance("1h")
    sandbox.control.patch(
        f"/objects/{customer}", {"status": "blocked", "created_at": "2030-01-01T00:00:00.000Z"}
    )
    response = explain(sandbox, customer)
    assert [sentence.partition("; ")[0] for sentence in steps(response)[:-1]] == [
        "POST /v1/customers/ created it",
        "created as active by `create`",
        "customer.created emitted",
        f"PATCH /v1/customers/{customer}/ changed it",
        "changed firstname Awa -> Ada, lastname Diop -> Ndong",
        f"PATCH /_emulator/objects/{customer} changed it",
    ]
    assert steps(response)[-1].startswith("active -> blocked")
    assert [entry["at"][11:13] for entry in response["chain"]] == ["00"] * 5 + ["01"] * 2
    assert response["chain"][-1]["caused_by"] == request_of(sandbox, "updateObject")


def test_an_answer_before_its_time_is_the_tester_s(sandbox: Sandbox) -> None:
    """It removes the planned answer, as that job itself would; in its time it is the operator's."""
    sandbox.settings(operator_delay=3600)
    ids = [
        sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))["id"]
        for _ in range(2)
    ]
    sandbox.control.post(f"/payment-intents/{ids[0]}/answer", {"result": "succeeded"})
    sandbox.advance("PT1H")
    early, late = (explain(sandbox, id) for id in ids)
    moves = [
        step(line, "transition", "requires_action -> succeeded by `succeed`")
        for line in (early, late)
    ]
    assert (steps(early, "job"), moves[0]["caused_by"]) == (
        [],
        request_of(sandbox, "answerPaymentIntent"),
    )
    assert steps(late, "job") == [f"job payment_intent.answer of {ids[1]} ran and changed it"]
    assert moves[1]["caused_by"] == step(late, "job")["id"]


def test_a_delivery_shows_each_attempt(sandbox: Sandbox, receiver: Receiver) -> None:
    sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses += [500]
    customer = sandbox.customer()["id"]
    sandbox.settle()
    (delivery,) = sandbox.control.get("/objects", kind="webhook_delivery")["data"]
    first = (
        f"customer.created not delivered to {receiver.url}: 500; next attempt at"
        " 2026-01-01T00:01:00.000Z"
    )
    head = [
        "POST /v1/customers/ emitted customer.created",
        f"customer.created emitted for {customer}",
    ]
    assert steps(explain(sandbox, delivery["id"])) == [*head, first]
    sandbox.advance("PT2M")
    attempts = [first.partition(";")[0], f"customer.created delivered to {receiver.url} with 200"]
    assert steps(explain(sandbox, delivery["id"])) == [*head, *attempts]
    for id in (delivery["event"], customer):
        assert steps(explain(sandbox, id), "delivery") == attempts


def test_a_job_that_failed_is_reported_with_its_cause(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renew(world: World, job: Job) -> None:
        raise ArithmeticError("does not add up")

    jobs = {**JOBS, "subscription.renew": renew}
    monkeypatch.setattr("emulator.server.sandbox.REGISTRY", REGISTRY._replace(jobs=jobs))
    subscription = sandbox.subscribe()["id"]
    sandbox.control.post("/clock/advance", {"by": "P1M"})
    response = explain(sandbox, subscription)
    failed = step(response, "job", "job subscription.renew")
    expected = "job subscription.renew failed and was undone: ArithmeticError: does not add up"
    assert failed["summary"] == expected
    assert failed["caused_by"] == step(response, "job", "job subscription.charge")["id"]


def test_what_the_journal_lost_is_said_to_be_unknown(sandbox: Sandbox) -> None:
    """Events, deliveries and emails on record are in the chain nevertheless."""
    subscription = sandbox.subscribe()["id"]
    sandbox.control.post("/snapshots", {"name": "now"})
    sandbox.control.post("/snapshots/now/restore")
    response = explain(sandbox, sandbox.invoices("id")[0])
    assert (response["complete"], response["status"]) == (False, "paid")
    assert steps(response, "event", "email") == [
        "invoice.paid emitted",
        "email receipt to buyer0@example.com",
    ]
    made = step(explain(sandbox, subscription), "request")
    assert (
        made["summary"] == "a request that is no longer in the journal emitted subscription.created"
    )


def test_every_object_is_led_back_to_a_request(sandbox: Sandbox, receiver: Receiver) -> None:
    """Any kind, made by requests, jobs, buyers and the tester, comes from one unit of work."""
    sandbox.endpoint(receiver.url)
    customer = sandbox.subscribe()["customer"]
    line = {"line1": "1 Rue des Palmes", "city": "Libreville", "country": "GA"}
    sandbox.api.post(f"/customers/{customer}/addresses/", line)
    buyer = {"name": "Ada Ndong", "email": "ada@example.com"}
    sandbox.buy(
        sandbox.session(mode="subscription", subscription_data={"interval": "month"}),
        customer=buyer,
    )
    sandbox.buy(sandbox.link(), customer=buyer)
    sandbox.control.post("/trigger", {"event": "refund.succeeded"})
    sandbox.advance("P2M")
    sandbox.product()
    sandbox.api.post("/security-profiles/", {"name": "Shop"})
    factory = factory_in(sandbox, receiver.url)
    for kind in documented(SERVICE):
        factory.object(kind, {})
    factory.connections.disconnect()
    for kind, count in sandbox.control.get("/counts").items():
        assert count, kind
        for object in sandbox.control.pages("/objects", kind=kind, page_size=100):
            response = explain(sandbox, object["id"])
            assert (response["kind"], response["status"], response["complete"]) == (
                kind,
                object.get("status"),
                True,
            ), response
            assert response["chain"][0]["kind"] == "request"
            made = [
                sentence
                for sentence in steps(response, "transition")
                if sentence.startswith("created")
            ]
            assert len(made) == (kind not in ("event", "webhook_delivery")), response
            assert all(
                entry["caused_by"] for entry in response["chain"] if entry["kind"] != "request"
            ), response


def plain(text: str) -> str:
    """The text with ordinary spaces: amounts are written with spaces that do not break."""
    return re.sub(r"\s", " ", text)


def said_of(sandbox: Sandbox, what: Any, language: str = "en") -> str:
    id = what if isinstance(what, str) else what["id"]
    return plain(sandbox.control.get(f"/explain/{id}", language=language)["summary"])


def test_the_names_of_objects(sandbox: Sandbox) -> None:
    plan = sandbox.plan(name="Premium")["id"]
    good = sandbox.subscribe(plan=plan)
    names = sandbox.control.get("/names", ids=f"{good['id']},{plan},nonsense,{good['customer']}")
    assert [plain(name) for name in names.values()] == [
        *("Awa Diop · Premium · 5,000 XAF / month", "Premium · 5,000 XAF / month", "Awa Diop")
    ]
    expected = "Premium · 5 000 XAF / mois"
    assert plain(sandbox.control.get("/names", ids=plan, language="fr")[plan]) == expected


def test_the_words_of_an_active_subscription_in_french(sandbox: Sandbox) -> None:
    good = sandbox.subscribe()
    expected = "Actif : 5 000 XAF / mois. Il se renouvelle le 1er févr. 2026."
    assert said_of(sandbox, good, "fr") == expected


def test_the_words_of_a_subscription_whose_payments_fail(sandbox: Sandbox) -> None:
    """Those of its customer and of its invoice too."""
    poor = sandbox.subscribe(FAILING_PHONE)
    assert (
        said_of(sandbox, poor)
        == "Past due since 1 Jan 2026, 00:00 UTC. 1 charge to Airtel +241 …0001 failed, with"
        " INSUFFICIENT_FUNDS. INV-2026-000001, 5,000 XAF, is not paid. The charge is tried again"
        " on 2 Jan 2026."
    )
    assert said_of(sandbox, poor["customer"]) == (
        "1 past due subscription. 1 open invoice, 5,000 XAF."
    )
    sandbox.advance("12d")
    assert (
        said_of(sandbox, sandbox.invoices("id")[-1])
        == "Uncollectible: every attempt to charge 5,000 XAF failed, and no more are made. It can"
        " still be paid on its page."
    )
    sandbox.control.patch(f"/objects/{poor['id']}", {"status": "past_due"})
    assert said_of(sandbox, poor).startswith("Past due. "), "what was set directly has no instant"


def test_a_long_name_is_shortened(sandbox: Sandbox) -> None:
    long = sandbox.plan(name="Abonnement professionnel " * 8)["id"]
    name = plain(sandbox.control.get("/names", ids=long)[long])
    assert (name.endswith("… · 5,000 XAF / month"), len(name) <= 120) == (True, True)


def test_the_words_of_an_invoice(sandbox: Sandbox) -> None:
    draft = sandbox.draft()
    assert said_of(sandbox, draft) == "A draft: it cannot be paid until it is finalized."
    sandbox.api.post(f"/invoices/{draft['id']}/finalize/")
    sandbox.advance("30d")
    assert said_of(sandbox, draft) == "5,000 XAF is to be paid by 31 Jan 2026."
    sandbox.advance("1d")
    assert said_of(sandbox, draft) == "5,000 XAF has been overdue since 31 Jan 2026."
    sandbox.control.post(f"/invoices/{draft['id']}/pay", {})
    assert said_of(sandbox, draft).startswith("Paid: 5,000 XAF with ")


def test_the_words_of_a_payment_whose_money_arrives_later(sandbox: Sandbox) -> None:
    later = sandbox.deposit(sandbox.method(number="4000000000000077"))
    assert said_of(sandbox, later).startswith(
        "5,000 XAF from visa …0077 is approved; the money arrives on 2 Jan 2026."
    )
    sandbox.advance("31d")
    assert said_of(sandbox, later).startswith(
        "5,000 XAF was received from visa …0077 on 2 Jan 2026"
    )


def test_the_words_of_a_payment_that_is_held(sandbox: Sandbox) -> None:
    held = sandbox.pay(capture_method="manual")
    assert said_of(sandbox, held).startswith("5,000 XAF from visa …4242 is held")
    sandbox.api.post(f"/payment-intents/{held['id']}/capture/", {"amount": 2000})
    assert said_of(sandbox, held).startswith("2,000 XAF was received")
    sandbox.act(manual := sandbox.invoice(), "pay")
    sandbox.advance("2d")
    for paid in (held, manual):
        sandbox.control.patch(f"/objects/{paid['id']}", {"metadata": {"note": "late"}})
        assert "on 1 Jan 2026" in said_of(sandbox, paid), "a later change moves no payment"


def test_the_words_of_an_expired_session(sandbox: Sandbox) -> None:
    """However late it is, who closed it did."""
    session, left = sandbox.session(), sandbox.session()
    sandbox.act(session, "expire")
    for by in ("0s", "30d"):
        sandbox.advance(by)
        assert said_of(sandbox, session) == "Closed by the merchant without a payment."
    assert said_of(sandbox, left) == "Expired on 1 Jan 2026 without a payment."


def test_the_words_of_a_webhook_that_does_not_arrive(sandbox: Sandbox) -> None:
    app = sandbox.key.removeprefix("sk_test_")
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}", "customer.created")
    sandbox.inbox_responses("shop", status=503)
    sandbox.customer()
    [delivery] = sandbox.deliveries(endpoint)
    first = "Not delivered to Shop: 1 attempt, which got 503."
    then = "The next attempt is on 1 Jan 2026, 00:01 UTC."
    assert said_of(sandbox, delivery) == f"{first} {then}"
    assert said_of(sandbox, sandbox.events()[-1]) == "Sent to 1 endpoint; none accepted it."
    assert said_of(sandbox, endpoint) == "1 delivery so far. 1 will be retried."
    sandbox.inbox_responses("shop", status=200)
    sandbox.advance("1h")
    assert said_of(sandbox, delivery) == "Delivered to Shop after 2 attempts."


# -- the ledger: what posted it, what the tester set, and what broke the balance


SETTLES_LATER = {**CARD, "number": "4000000000000077"}


def test_the_ledger_of_an_empty_world_is_balanced(sandbox: Sandbox) -> None:
    empty = sandbox.control.get("/ledger")
    assert (empty["balanced"], empty["totals"], empty["entries"]["data"], empty["broken_by"]) == (
        True,
        [],
        [],
        [],
    )


def test_the_ledger_divides_a_payment_among_merchant_fees_and_commissions(sandbox: Sandbox) -> None:
    invoice = sandbox.invoice()["id"]
    sandbox.buy(sandbox.api.get(f"/invoices/{invoice}/"), CARD)
    totals = sandbox.control.get("/ledger")["totals"]
    amounts = {total["account"]: total["amount"] for total in totals if total["amount"]}
    assert amounts == {"buyers": -5000, "merchant": 4855, "fees": 145}


def test_the_entries_of_an_invoice_come_from_its_payment(sandbox: Sandbox) -> None:
    invoice = sandbox.invoice()["id"]
    sandbox.buy(sandbox.api.get(f"/invoices/{invoice}/"), CARD)
    entries = sandbox.control.get("/ledger", object=invoice)["entries"]["data"]
    own = f"payments of {invoice}"
    assert {(entry["account"], entry["amount"]) for entry in entries} == {(own, 5000), (own, -5000)}
    request = sandbox.control.get("/requests", method="POST")["data"][0]["id"]
    assert entries[0]["cause"] == {
        "id": request,
        "summary": f"POST /_emulator/invoices/{invoice}/pay",
    }


def test_the_cause_of_an_entry_can_be_a_job(sandbox: Sandbox) -> None:
    sandbox.subscribe()
    sandbox.advance("31d")
    cause = sandbox.control.get("/ledger")["entries"]["data"][0]["cause"]
    assert (cause["id"][:4], "subscription.renew" in cause["summary"]) == ("job_", True)


def test_the_ledger_is_filtered_by_currency(sandbox: Sandbox) -> None:
    sandbox.pay()
    for _ in range(2):
        sandbox.pay(currency="EUR")
    page = sandbox.control.get("/ledger", currency="EUR", page_size=2)
    assert {entry["currency"] for entry in page["entries"]["data"] + page["totals"]} == {"EUR"}
    assert len(page["entries"]["data"]) == 2
    assert "currency=EUR" in page["entries"]["pagination"]["next"]


def test_the_document_names_the_books_of_the_ledger() -> None:
    schema = bundles.load("control")["components"]["schemas"]["LedgerTotal"]
    assert schema["properties"]["account"]["enum"] == [*ledger.BOOKS]


# -- what a tester sets directly has an account of its own

SET: list[tuple[str, dict[str, Any]]] = [
    ("deposit", {"amount": 2000}),
    ("deposit", {"fee": 7}),
    ("deposit", {"commission": 11, "amount": 3000}),
    ("open", {"discount_amount": 500}),
    ("open", {"status": "paid"}),
    ("deposit", {"status": "disputed"}),
    ("deposit", {"status": "completed"}),
    ("deposit", {"status": "disputed"}),
    ("deposit", {"status": "failed"}),
    ("customer", {"total_spent": 90_000}),
    ("customer", {"currency": "EUR"}),
]


@pytest.fixture
def shop(sandbox: Sandbox) -> dict[str, str]:
    """The ids of invoices (card, manual, unpaid), a paid session, a refund, a later settlement."""
    sandbox.settings(refund_timing="instant")
    customer = sandbox.customer()
    paid, by_hand, still_open = (sandbox.invoice(customer) for _ in range(3))
    intent = sandbox.buy(paid, CARD)
    sandbox.api.post(f"/invoices/{by_hand['id']}/pay/")
    sandbox.buy(session := sandbox.session(), CARD)
    refund = sandbox.api.post("/refunds/", {"transaction": intent["transaction"], "amount": 1000})
    (returned,) = sandbox.api.get("/transactions/", type="refund")["data"]
    made = {
        "customer": customer,
        "paid": paid,
        "by hand": by_hand,
        "open": still_open,
        "intent": intent,
    }
    ids = {
        name: object["id"]
        for name, object in {
            **made,
            "session": session,
            "refund": refund,
            "returned": returned,
        }.items()
    }
    waiting = sandbox.buy(sandbox.session(), SETTLES_LATER)["transaction"]
    return {**ids, "deposit": intent["transaction"], "waiting": waiting}


def books(sandbox: Sandbox) -> dict[tuple[str, str], int]:
    """The totals by account and currency; those of each currency sum to zero."""
    page = sandbox.control.get("/ledger")
    totals = {
        (total["account"], total["currency"]): total["amount"]
        for total in page["totals"]
        if total["amount"]
    }
    sums = Counter[str]()
    for (_, currency), amount in totals.items():
        sums[currency] += amount
    assert (set(sums.values()) <= {0}, page["balanced"]) == (True, True), page["broken_by"]
    return totals


def posted(sandbox: Sandbox) -> dict[tuple[str, str], int]:
    """What the entries of the books come to, by account and currency."""
    sums, page = Counter[tuple[str, str]](), 1
    while page:
        entries = sandbox.control.get("/ledger", page=page, page_size=100)["entries"]
        for entry in entries["data"]:
            sums[entry["account"], entry["currency"]] += (
                entry["amount"] if entry["account"] in ledger.BOOKS else 0
            )
        page = page + 1 if entries["pagination"]["next"] else 0
    return {account: amount for account, amount in sums.items() if amount}


def test_the_ledger_adds_up_whatever_was_set(sandbox: Sandbox, shop: dict[str, str]) -> None:
    """One after the other; so it stays while the world goes on."""
    assert "set_directly" not in {account for account, _ in books(sandbox)}
    for kind, fields in SET:
        sandbox.control.patch(f"/objects/{shop[kind]}", fields)
        assert books(sandbox) == posted(sandbox), (kind, fields)
        sandbox.api.request(
            "POST", "/refunds/", json={"transaction": shop["deposit"], "amount": 200}
        )
        sandbox.advance("1d")
        assert books(sandbox) == posted(sandbox), (kind, fields)


def test_what_was_set_is_on_its_account_with_the_request_that_set_it(
    sandbox: Sandbox, other_world: Sandbox, shop: dict[str, str]
) -> None:
    """It stays through restore and import, and a rewind takes it back."""
    path = f"/objects/{shop['deposit']}"
    sandbox.control.patch(path, {"amount": 2000})
    after = books(sandbox)
    assert after["set_directly", "XAF"] == 5000 - 2000
    newest = sandbox.control.get("/ledger", object=shop["deposit"])["entries"]["data"][:3]
    assert {entry["account"]: entry["amount"] for entry in newest} == {
        "set_directly": 5000 - 2000,
        "fees": 58 - 145,
        "merchant": (2000 - 58) - (5000 - 145),
    }
    assert {entry["cause"]["summary"] for entry in newest} == {f"PATCH /_emulator{path}"}
    sandbox.control.post("/snapshots", {"name": "set"})
    exported = sandbox.control.get("/snapshots/set")
    other_world.control.request("PUT", "/snapshots/set", json=exported).raise_for_status()
    for world in (sandbox, other_world):
        world.control.post("/snapshots/set/restore")
        assert books(world) == after
        world.control.patch(path, {"fee": 2})
        world.control.post("/rewind", {"steps": 1})
        assert books(world) == after


@pytest.mark.parametrize("strict", [True, False])
def test_what_broke_it_is_named_with_the_request_before_it(
    strict: bool, world_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No payment under way is noticed, so an invoice can be paid twice while a card settles."""
    monkeypatch.setattr(payment_intents, "current_payment", lambda world, owner: None)
    with RunningServer(strict=strict) as server, server.world(world_name) as sandbox:
        sandbox.settings(assumptions={"payment_received": "transaction"})
        path = f"/invoices/{sandbox.invoice()['id']}/pay"
        payments = [
            sandbox.control.request("POST", path, json={"method": card})
            for card in (SETTLES_LATER, CARD)
        ]
        sent = sandbox.control.get("/requests", method="POST", page_size=100)["data"]
        page = sandbox.control.get("/ledger")
    assert [payment.status_code for payment in payments] == [200, 500 if strict else 200]
    (broken,) = page["broken_by"]
    assert (page["balanced"], broken["undone"]) == (False, strict)
    assert (broken["account"].split()[0], broken["amount"], broken["currency"]) == (
        "payments",
        5000,
        "XAF",
    )
    requests = [request["id"] for request in sent if request["path"] == f"/_emulator{path}"]
    summary = {"summary": f"POST /_emulator{path}"}
    assert [broken["cause"], broken["earlier"]] == [{"id": id, **summary} for id in requests]
    post = summary["summary"]
    expected = f"{broken['account']} is off by 5,000 XAF: {post} ({requests[0]}); before it {post}"
    assert broken["summary"] == expected
