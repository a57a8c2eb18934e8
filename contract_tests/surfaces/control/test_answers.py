"""Names and answers: what people call an object, how it stands, why, and what comes next, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from contract_tests.support.sandbox import FAILING_PHONE, Sandbox


def plain(text: str) -> str:
    """Return the text with ordinary spaces: amounts are written with spaces that do not break."""
    return text.replace("\u202f", " ").replace("\xa0", " ")


def explained(sandbox: Sandbox, id: str, language: str = "en") -> Any:
    answer = sandbox.control.get(f"/explain/{id}", language=language)
    return {name: plain(value) if isinstance(value, str) else value for name, value in answer.items()}


@pytest.fixture
def awa(sandbox: Sandbox) -> Any:
    return sandbox.customer(name="Awa Diop", phone="+24177000000")


@pytest.fixture
def plan(sandbox: Sandbox) -> Any:
    return sandbox.plan(name="Premium", amount=5000, currency="XAF")


def test_a_subscription_that_renews(sandbox: Sandbox, awa: Any, plan: Any) -> None:
    id = sandbox.api.post("/subscriptions/", {"customer": awa["id"], "plan": plan["id"]})["id"]
    answer = explained(sandbox, id)
    assert answer["name"] == "Awa Diop · Premium · 5,000 XAF / month"
    assert answer["summary"] == "Active: 5,000 XAF / month. It renews on 1 Feb 2026."
    french = explained(sandbox, id, "fr")
    assert french["summary"] == "Actif : 5 000 XAF / mois. Il se renouvelle le 1er févr. 2026."
    sandbox.api.post(f"/subscriptions/{id}/cancel/", {"cancel_at_period_end": True})
    assert explained(sandbox, id)["summary"] == ("Cancels on 1 Feb 2026; no further charge.")


def test_a_subscription_whose_charges_fail_until_it_is_unpaid(sandbox: Sandbox, plan: Any) -> None:
    sandbox.subscribe(FAILING_PHONE, plan=plan["id"])
    id = sandbox.api.get("/subscriptions/")["data"][0]["id"]
    assert explained(sandbox, id)["summary"] == (
        "Past due since 1 Jan 2026, 00:00 UTC. 1 charge to Airtel +241 …0001 failed, with INSUFFICIENT_FUNDS. "
        "The charge is tried again on 2 Jan 2026."
    )
    sandbox.advance("12d")
    assert explained(sandbox, id)["summary"] == (
        "Unpaid since 8 Jan 2026; the first charge failed on 1 Jan 2026. "
        "5 charges failed, the last to Airtel +241 …0001, with INSUFFICIENT_FUNDS. "
        "It becomes active when INV-2026-000001 is paid on its page. "
        "No further charge is planned; periods continue until you cancel."
    )
    (bill,) = sandbox.api.get("/invoices/")["data"]
    assert explained(sandbox, bill["id"])["summary"] == (
        "Uncollectible: every attempt to charge 5,000 XAF failed, and no more are made. It can still be paid on its page."
    )
    last = sandbox.control.get("/emails", kind="renewal_failed")["data"][0]
    mailed = sandbox.control.request("GET", f"/emails/{last['id']}/html").text
    assert "To keep your subscription, pay the invoice on its page." in mailed
    assert bill["payment_url"] in mailed
    sandbox.control.post(f"/invoices/{bill['id']}/pay", {"method": {"type": "mobile_money", "phone": "+24177000000"}})
    assert sandbox.subscription(id)["status"] == "active"


def test_an_invoice_says_what_is_to_be_paid_and_with_what_it_was(sandbox: Sandbox, awa: Any) -> None:
    lines = [{"description": "Mat", "unit_amount": 900}]
    id = sandbox.api.post("/invoices/", {"customer": awa["id"], "line_items": lines})["id"]
    assert explained(sandbox, id)["summary"] == "A draft: it cannot be paid until it is finalized."
    sandbox.api.post(f"/invoices/{id}/finalize/", {"auto_send": False})
    assert explained(sandbox, id)["summary"] == "900 XAF is to be paid by 31 Jan 2026."
    sandbox.advance("31d")
    assert explained(sandbox, id)["summary"] == "900 XAF has been overdue since 31 Jan 2026."
    sandbox.control.post(f"/invoices/{id}/pay", {})
    paid = explained(sandbox, id)
    assert paid["summary"].startswith("Paid: 900 XAF with ")
    assert paid["name"].endswith(" · Awa Diop · 900 XAF")


def test_a_webhook_that_does_not_arrive(sandbox: Sandbox) -> None:
    app = sandbox.key.removeprefix("sk_test_")
    endpoint = sandbox.endpoint(f"{sandbox.url}/_emulator/inbox/shop?app={app}", "customer.created", name="Shop")
    sandbox.inbox_answers("shop", status=503)
    sandbox.customer(email="moussa@example.com")
    sandbox.settle()
    delivery = sandbox.deliveries(endpoint)[0]
    assert explained(sandbox, delivery["id"])["summary"] == (
        "Not delivered to Shop: 1 attempt, which got 503. The next attempt is on 1 Jan 2026, 00:01 UTC."
    )
    event = sandbox.events()[-1]
    assert explained(sandbox, event["id"])["summary"] == "Sent to 1 endpoint; none accepted it."
    assert explained(sandbox, endpoint["id"])["summary"] == "1 delivery so far. 1 will be retried."
    sandbox.inbox_answers("shop", status=200)
    sandbox.advance("1h")
    assert explained(sandbox, delivery["id"])["summary"] == "Delivered to Shop after 2 attempts."


def test_every_object_of_a_busy_world_has_its_answer_in_both_languages(sandbox: Sandbox, awa: Any, plan: Any) -> None:
    """No placeholder is left in a sentence, and no sentence stays English in French."""
    sandbox.api.post("/subscriptions/", {"customer": awa["id"], "plan": plan["id"]})
    sandbox.subscribe(FAILING_PHONE, plan=plan["id"])
    for kind, status, count in (("subscription", "past_due", 1), ("customer", "nonsense", 0), ("product", "active", 0)):
        assert len(sandbox.control.get("/objects", kind=kind, status=status)["data"]) == count
    for options in ({}, {"until": "1d"}):
        rows = sandbox.control.get("/schedule", kind="subscription.retry", **options)["data"]
        assert {row["kind"] for row in rows} == {"subscription.retry"}
    sandbox.buy(sandbox.session())
    sandbox.link()
    transaction = sandbox.api.get("/transactions/")["data"][0]
    sandbox.api.post("/refunds/", {"transaction": transaction["id"], "amount": 100})
    sandbox.advance("3d")
    without = set()
    for kind in sandbox.control.get("/counts"):
        for each in sandbox.control.get("/objects", kind=kind)["data"]:
            english, french = (explained(sandbox, each["id"], code)["summary"] for code in ("en", "fr"))
            assert "{" not in english + french
            assert english != french or not english
            without |= set() if english else {kind}
    assert without <= {"receipt", "address", "security_profile", "outcome", "fault"}


def test_names_of_many_at_once(sandbox: Sandbox, awa: Any, plan: Any) -> None:
    request = sandbox.control.get("/requests", operation="createCustomer")["data"][0]["id"]
    ids = ",".join([awa["id"], plan["id"], request, "cust_000000000000000000000000", "nonsense"])
    assert {id: plain(name) for id, name in sandbox.control.get("/names", ids=ids).items()} == {
        awa["id"]: "Awa Diop",
        plan["id"]: "Premium · 5,000 XAF / month",
        request: "POST /v1/customers/",
    }
    french = sandbox.control.get("/names", ids=plan["id"], language="fr")[plan["id"]]
    assert french.endswith("XAF / mois")


def test_a_long_name_gives_way_to_the_price(sandbox: Sandbox) -> None:
    plan = sandbox.plan(name="Abonnement professionnel " * 8)["id"]
    name = plain(sandbox.control.get("/names", ids=plan)[plan])
    assert name.endswith("… · 5,000 XAF / month")
    assert len(name) <= 120
