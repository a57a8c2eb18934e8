"""Why an object is as it is: the chain of causes, oldest first, and what the journal no longer knows."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from contract_tests.contract.document.reader import operations
from contract_tests.support.receiver import Receiver
from contract_tests.support.sandbox import FAILING_PHONE, Sandbox
from emulator.core.jobs import Job
from emulator.core.world import World
from emulator.document import bundles
from emulator.engine import journal
from emulator.insight.explain.explanation import ABOUT, EMAIL_EVENTS, REACTING_KINDS
from emulator.resources.registry import JOBS, REACTIONS, REGISTRY, STATE_MACHINES
from emulator.resources.simulation import emails
from emulator.resources.simulation.emails import Email


def explain(sandbox: Sandbox, id: str) -> Any:
    """Return the explanation of an object; every step stands after the one that caused it."""
    answer = sandbox.control.get(f"/explain/{id}")
    seen: set[str | None] = {None}
    for step in answer["chain"]:
        assert step["caused_by"] in seen, step
        seen.add(step["id"])
    assert [step["at"] for step in answer["chain"]] == sorted(step["at"] for step in answer["chain"])
    return answer


def steps(answer: Any, *kinds: str) -> list[str]:
    """What the steps say, those of some kinds if any are named."""
    return [step["summary"] for step in answer["chain"] if step["kind"] in kinds or not kinds]


def step(answer: Any, kind: str, begins: str = "") -> Any:
    (found,) = (step for step in answer["chain"] if step["kind"] == kind and step["summary"].startswith(begins))
    return found


def request_of(sandbox: Sandbox, operation: str) -> str:
    (entry,) = sandbox.control.pages("/requests", operation=operation)
    return str(entry["id"])


def test_a_renewal_is_led_back_to_the_request_that_made_the_subscription(sandbox: Sandbox, receiver: Receiver) -> None:
    """Request, job, move, event, delivery, email: the whole of it, in its order."""
    sandbox.endpoint(receiver.url, "invoice.paid")
    subscription = sandbox.subscribe()["id"]
    sandbox.advance("P3M")
    invoice = sandbox.invoices("id")[-1]
    answer = explain(sandbox, invoice)
    assert (answer["id"], answer["kind"], answer["status"], answer["complete"]) == (invoice, "invoice", "paid", True)
    transaction = sandbox.api.get("/transactions/")["data"][0]["id"]
    assert [(each["kind"], each["summary"].partition(" (")[0]) for each in answer["chain"]] == [
        ("request", "POST /v1/subscriptions/ planned job subscription.charge"),
        ("job", f"job subscription.charge of {subscription} ran"),
        ("job", f"job subscription.renew of {subscription} ran 2 times, each planned by the one before"),
        ("job", f"job subscription.renew of {subscription} ran and created it"),
        ("transition", "created as draft by `create`"),
        ("transition", "draft -> open by `finalize`"),
        ("event", f"transaction.succeeded emitted for {transaction}"),
        ("email", "email receipt to buyer0@example.com"),
        ("transition", "open -> paid by `pay`"),
        ("event", "invoice.paid emitted"),
        ("delivery", f"invoice.paid delivered to {receiver.url} with 200"),
    ]
    made, charge, before, job, draft, opened, paid_by, email, paid, event, delivery = answer["chain"]
    assert made["id"] == request_of(sandbox, "createSubscription")
    assert [each["caused_by"] for each in (made, charge, before, job)] == [None, made["id"], charge["id"], before["id"]]
    assert {each["caused_by"] for each in (draft, opened, paid_by)} == {job["id"]}
    assert {each["caused_by"] for each in (email, paid, event)} == {paid_by["id"]}
    assert delivery["caused_by"] == event["id"]
    assert "amount_paid 0 XAF -> 5,000 XAF" in paid["summary"]
    assert [each["at"][:10] for each in answer["chain"]] == ["2026-01-01"] * 2 + ["2026-02-01"] + ["2026-04-01"] * 8


def test_each_request_that_changed_an_object_is_listed(sandbox: Sandbox) -> None:
    customer = sandbox.customer()["id"]
    sandbox.api.patch(f"/customers/{customer}/", {"name": "Ada Ndong"})
    sandbox.control.patch(f"/objects/{customer}", {"status": "blocked"})
    answer = explain(sandbox, customer)
    assert steps(answer) == [
        "POST /v1/customers/ created it",
        "created as active by `create`",
        "customer.created emitted",
        f"PATCH /v1/customers/{customer}/ changed it",
        "changed firstname Awa -> Ada, lastname Diop -> Ndong",
        f"PATCH /_emulator/objects/{customer} changed it",
        "active -> blocked",
    ]
    assert answer["complete"]
    last = answer["chain"][-1]
    assert last["caused_by"] == request_of(sandbox, "updateObject"), "a change by the control API names no cause itself"


def test_dates_that_the_tester_wrote_change_no_order(sandbox: Sandbox) -> None:
    """Nor does a running clock; an outcome that was arranged long ago, which a payment uses up first, is no clock."""
    customer = sandbox.customer()["id"]
    sandbox.advance("1h")
    for at in ("2020-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z"):
        sandbox.control.patch(f"/objects/{customer}", {"updated_at": at, "created_at": at})
    answer = explain(sandbox, customer)
    hours = [each["at"].removeprefix("2026-01-01T") for each in answer["chain"]]
    assert hours == ["00:00:00.000Z"] * 3 + ["01:00:00.000Z"] * 4
    sandbox.control.post("/outcomes", {"operation": "payment", "result": "failed", "times": 3})
    sandbox.advance("P1D")
    answer = explain(sandbox, sandbox.pay()["id"])
    assert {each["at"] for each in answer["chain"]} == {"2026-01-02T01:00:00.000Z"}
    sandbox.control.delete("/outcomes")
    sandbox.control.post("/clock/run", {"rate": 3600})
    subscription = sandbox.subscribe()
    sandbox.advance("P1M")
    for id in (subscription["id"], subscription["customer"], *sandbox.invoices("id")):
        assert explain(sandbox, id)["complete"]


@pytest.mark.parametrize("is_early", [True, False])
def test_an_answer_before_its_time_is_the_tester_s(sandbox: Sandbox, is_early: bool) -> None:
    """It takes the planned answer off the schedule, as that job itself would; in its time it is the operator's."""
    sandbox.settings(operator_delay=3600)
    intent = sandbox.pay(sandbox.method(type="mobile_money", phone="+24177000000"))["id"]
    if is_early:
        sandbox.control.post(f"/payment-intents/{intent}/answer", {"result": "succeeded"})
    else:
        sandbox.advance("PT1H")
    answer = explain(sandbox, intent)
    caused_by = step(answer, "transition", "requires_action -> succeeded by `succeed`")["caused_by"]
    if is_early:
        assert steps(answer, "job") == []
        assert caused_by == request_of(sandbox, "answerPaymentIntent")
        return
    job = step(answer, "job")
    assert job["summary"] == f"job payment_intent.answer of {intent} ran and changed it"
    assert (job["caused_by"], caused_by) == (request_of(sandbox, "confirmPaymentIntent"), job["id"])


def test_a_transition_that_two_triggers_cause_is_distinguished_by_its_event(sandbox: Sandbox) -> None:
    """Past due by a charge that failed, or by an invoice that fell overdue."""
    failing = sandbox.subscribe(FAILING_PHONE)["id"]
    waiting = sandbox.subscribe(collection_method="send_invoice")["id"]
    sandbox.advance("P33D")
    answer = explain(sandbox, failing)
    failed = next(each for each in answer["chain"] if each["summary"].startswith("active -> past_due by `fail`"))
    cause = next(each for each in answer["chain"] if each["id"] == failed["caused_by"])
    assert cause["summary"].startswith("payment_intent.failed emitted for pi_")
    assert "subscription.payment_failed emitted" in steps(answer, "event")
    assert "email renewal_failed to buyer0@example.com" in steps(answer, "email")
    assert any(each.startswith("past_due -> unpaid by `give up`") for each in steps(answer)), steps(answer)
    behind = step(explain(sandbox, waiting), "transition", "active -> past_due by `fall behind`")
    assert behind["at"] == "2026-02-01T00:00:00.000Z"


def test_a_delivery_shows_each_attempt(sandbox: Sandbox, receiver: Receiver) -> None:
    sandbox.endpoint(receiver.url, "customer.created")
    receiver.statuses += [500]
    customer = sandbox.customer()["id"]
    sandbox.settle()
    (delivery,) = sandbox.control.get("/objects", kind="webhook_delivery")["data"]
    first = f"customer.created not delivered to {receiver.url}: 500; next attempt at 2026-01-01T00:01:00.000Z"
    head = ["POST /v1/customers/ emitted customer.created", f"customer.created emitted for {customer}"]
    assert steps(explain(sandbox, delivery["id"])) == [*head, first]
    sandbox.advance("PT2M")
    answer = explain(sandbox, delivery["id"])
    assert answer["status"] == "succeeded"
    assert steps(answer) == [*head, first.partition(";")[0], f"customer.created delivered to {receiver.url} with 200"]
    assert [each["at"][11:19] for each in answer["chain"]] == ["00:00:00"] * 3 + ["00:01:00"]
    assert steps(explain(sandbox, delivery["event"]))[1:] == ["customer.created emitted", *steps(answer)[2:]]
    assert steps(explain(sandbox, customer), "delivery") == steps(answer)[2:]


def test_a_job_that_failed_is_reported_with_its_cause(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def renew(world: World, job: Job) -> None:
        raise ArithmeticError("does not add up")

    monkeypatch.setattr(
        "emulator.server.sandbox.REGISTRY", REGISTRY._replace(jobs={**JOBS, "subscription.renew": renew})
    )
    subscription = sandbox.subscribe()["id"]
    sandbox.control.post("/clock/advance", {"by": "P1M"})
    answer = explain(sandbox, subscription)
    failed = step(answer, "job", "job subscription.renew")
    assert failed["summary"] == "job subscription.renew failed and was undone: ArithmeticError: does not add up"
    assert failed["caused_by"] == step(answer, "job", "job subscription.charge")["id"]


def test_what_the_journal_lost_is_said_to_be_unknown(sandbox: Sandbox, server: Any) -> None:
    """Events, deliveries and emails on record are in the chain nevertheless."""
    subscription = sandbox.subscribe()["id"]
    sandbox.control.post("/snapshots", {"name": "now"})
    sandbox.control.post("/snapshots/now/restore")
    answer = explain(sandbox, sandbox.invoices("id")[0])
    assert (answer["complete"], answer["status"]) == (False, "paid")
    assert steps(answer, "event", "email") == ["invoice.paid emitted", "email receipt to buyer0@example.com"]
    answer = explain(sandbox, subscription)
    assert not answer["complete"]
    made = step(answer, "request")
    assert made["summary"] == "a request that is no longer in the journal emitted subscription.created"
    assert step(answer, "event", "subscription.created")["caused_by"] == made["id"]


def test_units_of_work_beyond_the_bound_of_the_journal_are_unknown(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job of the renewal is known, who planned it is not."""
    original = journal.Journal.__init__

    def few(self: journal.Journal) -> None:
        original(self)
        self._units = deque(maxlen=1)

    monkeypatch.setattr(journal.Journal, "__init__", few)
    subscription = sandbox.subscribe()["id"]
    sandbox.advance("P1M")
    answer = explain(sandbox, sandbox.invoices("id")[-1])
    assert not answer["complete"]
    job = step(answer, "job")
    assert (job["summary"], job["caused_by"]) == (f"job subscription.renew of {subscription} ran and created it", None)


def test_what_others_hear_is_what_the_wiring_says() -> None:
    """The events that rules react to; those that only cause emails are in the other table."""
    reacting = {
        type
        for type, reactions in REACTIONS.items()
        if type != "*" and any(each.__module__ != emails.__name__ for each in reactions)
    }
    assert REACTING_KINDS.keys() == reacting
    mailing = {
        type for type, reactions in REACTIONS.items() for each in reactions if each.__module__ == emails.__name__
    }
    assert set(EMAIL_EVENTS.values()) == mailing
    assert {kind for kinds in REACTING_KINDS.values() for kind in kinds} - {
        life.kind.kind for life in STATE_MACHINES
    } == {
        "receipt",
        "address",
    }
    assert set(ABOUT) <= set(Email.__struct_fields__)


def fill(sandbox: Sandbox, receiver: Receiver) -> None:
    """A world with an object of every kind, made in every way: by requests, by jobs, by buyers, by the tester."""
    sandbox.endpoint(receiver.url)
    subscription = sandbox.subscribe()
    line = {"line1": "1 Rue des Palmes", "city": "Libreville", "country": "GA"}
    sandbox.api.post(f"/customers/{subscription['customer']}/addresses/", line)
    buyer = {"name": "Ada Ndong", "email": "ada@example.com"}
    sandbox.buy(sandbox.session(mode="subscription", subscription_data={"interval": "month"}), customer=buyer)
    sandbox.buy(sandbox.link(), customer=buyer)
    sandbox.control.post("/trigger", {"event": "refund.succeeded"})
    sandbox.advance("P2M")
    for kind, count in sandbox.control.get("/counts").items():
        if not count:
            sandbox.api.post(*creation(kind))


def creation(kind: str) -> tuple[str, Any]:
    for each in operations(bundles.load("service")):
        made = each.node["responses"].get("201", {}).get("content", {}).get("application/json", {})
        if made.get("example", {}).get("object") == kind:
            return each.path, each.node["requestBody"]["content"]["application/json"]["example"]
    raise LookupError(kind)


def test_every_object_is_led_back_to_a_request(sandbox: Sandbox, receiver: Receiver) -> None:
    """Whatever its kind; it was created by one of the units of work, once."""
    fill(sandbox, receiver)
    counts = sandbox.control.get("/counts")
    assert [kind for kind, count in counts.items() if not count] == []
    for kind in counts:
        for shown in sandbox.control.pages("/objects", kind=kind, page_size=100):
            answer = explain(sandbox, shown["id"])
            assert (answer["kind"], answer["status"], answer["complete"]) == (kind, shown.get("status"), True), answer
            assert answer["chain"][0]["kind"] == "request"
            made = [each for each in steps(answer, "transition") if each.startswith("created")]
            assert len(made) == (kind not in ("event", "webhook_delivery")), answer
            assert all(each["caused_by"] for each in answer["chain"] if each["kind"] != "request"), answer


def test_a_world_that_went_back_has_forgotten_what_did_not_happen(sandbox: Sandbox, receiver: Receiver) -> None:
    """Reading and explaining leave no trace, and hidden fields stay hidden."""

    def requests() -> list[Any]:
        # How long ago they were changes by itself.
        return [{**each, "seconds_ago": 0} for each in sandbox.control.pages("/requests")]

    endpoint = sandbox.endpoint(receiver.url)
    before = explain(sandbox, endpoint["id"]), requests()
    assert (explain(sandbox, endpoint["id"]), requests()) == before
    new = sandbox.api.post(f"/webhooks/{endpoint['id']}/roll-secret/")["secret"]
    sandbox.api.patch(f"/webhooks/{endpoint['id']}/", {"name": "Books"})
    changed = explain(sandbox, endpoint["id"])
    assert changed != before[0]
    assert not [secret for secret in (endpoint["secret"], new) if secret in str(changed)]
    sandbox.control.post("/rewind", {"steps": 2})
    assert explain(sandbox, endpoint["id"]) == before[0]
