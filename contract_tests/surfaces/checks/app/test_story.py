"""``payments.test_app(story)``: what is compared, said and counted; the wrong applications are in ``test_wrong_shops``."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, count, repeat
from typing import Any

import httpx
import pytest

from contract_tests import ROOT
from contract_tests.support.sandbox import START
from emulator.checks.app.cases import ADVICE, DELIVERY, FAULT_KINDS, REQUEST, Place, cases, chosen
from emulator.checks.app.scenario import UnfinishedTestApp
from emulator.testing import Emulator, LocalServer

Story = Callable[[Emulator], Any]


@pytest.fixture
def payments(local_server: LocalServer, world_name: str) -> Iterator[Emulator]:
    with Emulator(key=f"sk_test_{world_name}", clock=START, seed=7, server=local_server) as emulator:
        yield emulator


def failing(payments: Emulator, story: Story, *only: str, **options: Any) -> str:
    """What is found in some cases."""
    with pytest.raises(AssertionError) as found:
        payments.test_app(story, only=only, **options)
    return str(found.value)


def post(payments: Emulator, path: str, body: Any, key: str | None = None) -> Any:
    """Return the answer to a request that is sent a second time if its answer is lost."""
    headers = {"Idempotency-Key": key} if key else {}
    for _ in range(2):
        with suppress(httpx.TransportError):
            return payments.client.post(path, json=body, headers=headers).json()
    raise AssertionError("the service does not answer")


def customer(payments: Emulator, name: str) -> str:
    body = {"email": f"{name}@example.com", "name": name, "phone": "+24177000000"}
    return str(post(payments, "/v1/customers/", body, name)["id"])


BASKET = {"mode": "payment", "currency": "XAF", "line_items": [{"description": "Basket", "unit_amount": 2000}]}


def order(payments: Emulator) -> str:
    """Return the id of a checkout session."""
    return str(post(payments, "/v1/checkout-sessions/", BASKET, "order")["id"])


def two_customers(payments: Emulator) -> None:
    for name in ("awa", "ben"):
        customer(payments, name)


# -- webhooks


def shop(remembers: bool) -> Story:
    """Return the story of a shop that sells one basket, learns by webhook that it is paid, and looks it up at night."""

    def play(payments: Emulator) -> Callable[[], int]:
        shipped: list[str] = []
        handled: set[str] = set()

        def receive(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            if event["type"] == "checkout.session.completed" and not (remembers and event["id"] in handled):
                shipped.append(event["id"])
            handled.add(event["id"])
            start("200 OK", [])
            return [b""]

        def check() -> int:
            status = payments.client.get(f"/v1/checkout-sessions/{session}/").json()["status"]
            return len(shipped) or int(status == "complete")

        payments.webhooks.forward_to(receive)
        session = order(payments)
        payments.pay(session)
        return check

    return play


def test_a_shop_that_remembers_and_looks_up_survives_every_webhook_fault(payments: Emulator) -> None:
    """The world that is examined is not the test's own."""
    payments.customer()
    tried = [f"{number}:{kind}" for number in (1, 2, 3) for kind in ("lost", "late", "twice", "swapped")]
    report = payments.test_app(shop(remembers=True), only=tried)
    assert (report.runs, report.findings, report.unreached) == (14, [], [])
    assert payments.client.get("/v1/customers/").json()["pagination"]["count"] == 1


def test_one_that_forgets_ships_twice_and_one_that_verifies_nothing_is_found_by_the_audit(payments: Emulator) -> None:
    """A forged delivery is passed on as it came: to reject it is up to the application."""
    text = failing(payments, shop(remembers=False), "lost", "twice", "answered-late", "1:forged")
    for words in (
        "1. An event that comes twice is handled twice: the check returns 2 instead of 1\n",
        "checkout.session.completed: answered too late, so delivered again\n        the check returns 2 instead of 1\n",
        "checkout.session.completed: delivered twice\n",
        ". A webhook that was tampered with was accepted (forged-webhook-believed)\n    delivery 1, ",
        ": delivered after a forged copy of it\n",
        "#verify-every-webhook",
        'again: payments.test_app(scenario, only=["1:forged"])',
    ):
        assert words in text, text
    assert "never delivered" not in text


# -- requests


def test_objects_that_belong_to_others_are_a_difference(payments: Emulator) -> None:
    """As many payments of as many customers, but two of the same."""

    def play(payments: Emulator) -> None:
        awa, ben = customer(payments, "awa"), customer(payments, "ben")
        answer = payments.client.get(f"/v1/customers/{ben}/")
        for each in (awa, ben if answer.is_success else awa):
            post(payments, "/v1/payment-intents/", {"customer": each, "amount": 5000, "currency": "XAF"})

    text = failing(payments, play, "3:throttled")
    assert "customers by their payment intents: 1 with 2 instead of 2 with 1" in text
    assert "#wait-when-you-are-asked-to" in text


# -- payments that are answered later, or not at all


@pytest.mark.parametrize("looks", [False, True])
def test_a_state_that_is_the_same_though_nobody_pays_is_said(payments: Emulator, looks: bool) -> None:
    """It is no problem: the check may be about something else. Who looks at the payment has another state."""

    def play(payments: Emulator) -> Callable[[], Any]:
        session = order(payments)
        payments.pay(session)
        return lambda: payments.api.get(f"/v1/checkout-sessions/{session}/")["status"] if looks else 1

    report = payments.test_app(play, only=["refused-later"])
    assert report.unseen.startswith("Your own state is the same whether the buyer pays or not") != looks


# -- which cases are tried


def test_each_fault_has_its_section_in_the_guide() -> None:
    kinds, advice = ((ROOT / f"docs/guide/{name}.md").read_text("utf-8") for name in ("test-app", "going-live"))
    assert {each.section for each in ADVICE.values()} <= set(re.findall("^### (.+)$", advice, re.MULTILINE))
    assert {kind.name for kind in FAULT_KINDS} <= set(re.findall(r"^\| `([a-z-]+)` \|", kinds, re.MULTILINE))


def test_every_kind_is_tried_once_before_any_is_tried_twice() -> None:
    """So that a budget that ends early has seen each kind."""
    tried = cases(
        [*(Place(REQUEST, n, "POST /v1/x/") for n in range(1, 9)), *(Place(DELIVERY, n, "x") for n in range(1, 30))]
    )
    # These want a delivery with a later one, about its customer too, or a payment.
    elsewhere = {"stale", "overlapping", "pending", "refused-later", "redirected-unpaid"}
    kinds = {kind.name for kind in FAULT_KINDS if not kind.kills} - elsewhere
    assert {case.kind.name for case in tried[: len(kinds)]} == kinds
    lost = [case.place.number for case in tried if case.kind.name == "lost"][:4]
    assert max(lost) - min(lost) > 14, "the first few are from all over the scenario"
    assert [case.name for case in chosen(tried, ["5:drop-*"])] == ["5:drop-before", "5:drop-after"]
    assert len(chosen(tried, ["*:twice"])) == len(chosen(tried, ["twice"])) == 29


# -- where nothing was shown


def test_a_story_without_a_request_or_with_two_ends_is_not_examined(payments: Emulator) -> None:
    plays = count()

    def play(payments: Emulator) -> None:
        for number in range(1 + next(plays) % 2):
            customer(payments, f"buyer{number}")

    assert "it sends no request to the service" in failing(payments, lambda payments: None)
    text = failing(payments, play)
    assert re.search(r"does not end the same twice.*\n.*2 customers active instead of 1", text), text


def test_a_budget_that_ends_first_is_a_warning_and_an_error_where_all_was_asked_for(payments: Emulator) -> None:
    with pytest.warns(UnfinishedTestApp, match=r"The budget ended after 0 of 16 cases\."):
        report = payments.test_app(two_customers, budget=0)
    assert report.headline == "No problem in 0 of 16 cases."
    with pytest.raises(AssertionError, match="The budget ended after 0 of 16 cases"):
        payments.test_app(two_customers, budget=0, whole=True)


def test_a_run_that_fails_before_its_fault_strikes_is_a_problem(payments: Emulator) -> None:
    """It shows nothing about the fault, and must not count as a case without a problem."""
    plays = count(1)

    def play(payments: Emulator) -> None:
        assert next(plays) != 3, "the shop does not start"
        two_customers(payments)

    text = failing(payments, play, "2:slow")
    assert "1. The scenario ended otherwise, although its fault did not strike: " in text
    assert "the scenario fails: AssertionError: the shop does not start" in text
    assert "Not reached by the scenario: 2:slow." in text


def test_a_scenario_that_wants_the_payment_at_once_shows_nothing(payments: Emulator) -> None:
    def play(payments: Emulator) -> None:
        assert payments.pay(order(payments))["status"] == "succeeded"

    report = payments.test_app(play, only=["pending", "refused-later"])
    assert [case.name for case in report.unjudged] == ["1:pending"]
    assert "Nothing was shown, since the scenario wants the payment at once: 1:pending.\n" in f"{report.text()}\n"


# -- the audit


def repeating(attempts: int, pause: Callable[[httpx.Response], float], customers: int = 2) -> Story:
    """Return a story of some customers, whose requests are sent again after a pause (seconds) that depends on the answer."""

    def play(payments: Emulator) -> None:
        for name in ("awa", "ben", "cat", "dan", "eve")[:customers]:
            for _ in range(attempts):
                body = {"email": f"{name}@example.com", "name": name}
                answer = payments.client.post("/v1/customers/", json=body, headers={"Idempotency-Key": name})
                if answer.is_success:
                    break
                time.sleep(pause(answer))

    return play


def test_pauses_of_zero_are_recognized_and_said_once(payments: Emulator) -> None:
    """A test's client seldom waits. Forty paragraphs on that would hide what is wrong. A busy machine may delay one."""
    pauses = chain([1.1], repeat(0.0))
    report = payments.test_app(repeating(3, lambda answer: next(pauses), 5), only=["throttled", "error-after"])
    assert report.passed
    assert report.text().count("No attempt waited") == 1
    assert "ignored-retry-after and retried-too-soon" in report.text()
