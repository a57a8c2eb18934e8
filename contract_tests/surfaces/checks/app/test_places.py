"""Wrong applications that one kind of case finds: early returns, refunds, pages, dates, pairs."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import httpx
import pytest

from contract_tests.support.client import http_client
from contract_tests.surfaces.checks.app.test_app import sweep
from emulator.checks.app.cases import DELIVERY, FAULT_KINDS, ORDINARY, REFUND, SCENARIO, SESSION
from emulator.checks.app.dates import undated
from emulator.core import calendar
from emulator.testing import Emulator

CLIENT = http_client(limits=httpx.Limits(max_keepalive_connections=0))
"""Each request has a connection of its own: faults break some."""


def call(payments: Emulator, method: str, path: str, key: str = "", **options: Any) -> Any:
    """Return the response of the service as a careful client gets it: it tries again."""
    headers = {"Authorization": f"Bearer {payments.key}"}
    if key:
        headers["Idempotency-Key"] = key
    for pause in (1.1, 1.1, 1.1, 0):
        try:
            response = CLIENT.request(method, payments.url + path, headers=headers, **options)
            if response.status_code != 429 and response.status_code < 500:
                return response.json()
        except (httpx.TransportError, ValueError):
            pass
        time.sleep(pause)
    raise AssertionError("the service does not respond")


def events(payments: Emulator, act: Callable[[str, Any], object]) -> None:
    """Have ``act`` called with type and object of each genuine event."""

    def receive(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        act(event["type"], event["data"]["object"])
        start("200 OK", [])
        return [b""]

    payments.webhooks.forward_to(receive)


@contextmanager
def page(opened: Callable[[str], object]) -> Any:
    """Yield the ``success_url`` of an application that is told of the session that is shown."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            opened(self.path.rpartition("/")[2])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/thanks/{{CHECKOUT_SESSION_ID}}"
        server.shutdown()


def club(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    """A club whose members begin with a trial; nobody takes up the second offer."""
    members: set[str] = set()

    def is_complete(session: str) -> bool:
        return bool(
            call(payments, "GET", f"/v1/checkout-sessions/{session}/")["status"] == "complete"
        )

    def thank(session: str) -> None:
        if is_wrong or is_complete(session):
            members.add(session)

    with page(thank) as success_url:
        body = {
            "mode": "subscription",
            "currency": "XAF",
            "customer_email": "awa@example.com",
            "line_items": [{"plan": payments.plan(trial_period_days=14)["id"]}],
            "success_url": success_url,
        }
        taken, offered = (
            call(payments, "POST", "/v1/checkout-sessions/", f"order-{number}", json=body)["id"]
            for number in range(2)
        )
        payments.pay(taken)
        payments.clock.advance("1d")
        for session in (taken, offered):
            if is_complete(session):
                members.add(session)
    return lambda: sorted(session == taken for session in members)


def paid(payments: Emulator, customer: str = "") -> str:
    """Return the transaction of a payment of 5,000 XAF."""
    customer = customer or payments.customer()["id"]
    wallet = {"customer": customer, "type": "mobile_money", "phone": "+24177000000"}
    method = payments.api.post("/v1/payment-methods/", wallet)["id"]
    body = {"customer": customer, "amount": 5000, "currency": "XAF", "payment_method": method}
    intent = payments.api.post("/v1/payment-intents/", body)["id"]
    return str(payments.api.post(f"/v1/payment-intents/{intent}/confirm/")["transaction"])


def returns(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    """A shop that shows the sum of what it has paid back."""
    returned: dict[str, int] = {}

    def act(type: str, refund: Any) -> None:
        if type == "refund.succeeded":
            returned[refund["id"]] = refund["amount"]
        elif not is_wrong:
            returned.pop(refund["id"], None)

    payments.webhooks.listen("refund.succeeded", "refund.failed")
    events(payments, act)
    body = {"transaction": paid(payments), "amount": 2000}
    refund = call(payments, "POST", "/v1/refunds/", "refund-1", json=body)
    if is_wrong and "id" in refund:
        returned[refund["id"]] = refund["amount"]
    payments.clock.advance("7d")
    if "id" in refund:
        status = call(payments, "GET", f"/v1/refunds/{refund['id']}/")["status"]
        act(f"refund.{status}", refund)
    return lambda: sum(returned.values())


def directory(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    """A shop that greets each of its customers."""
    for _ in range(3):
        payments.customer()
    greeted, number = [], 1
    while number:
        customers = call(payments, "GET", f"/v1/customers/?page={number}&page_size=50")
        greeted += [customer["email"] for customer in customers["data"]]
        number = number + 1 if customers["pagination"]["next"] and not is_wrong else 0
    return lambda: len(greeted)


def pairs(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    """A club that welcomes a member at the session's event or the invoice's, whichever is first."""
    welcomed: list[str] = []
    known: set[str] = set()
    lock = Lock()

    def act(type: str, thing: Any) -> None:
        with nullcontext() if is_wrong else lock:
            is_new = thing["customer"] not in known
            # Each type has a worker of its own, that sees its own at once.
            time.sleep(0.05)
            if is_new:
                known.add(thing["customer"])
                welcomed.append(thing["customer"])

    def receive(type: str, thing: Any) -> None:
        with locks[type]:
            act(type, thing)

    locks = {"checkout.session.completed": Lock(), "invoice.paid": Lock()}
    payments.webhooks.listen(*locks)
    events(payments, receive)
    session = payments.session(mode="subscription")
    payments.pay(session)
    # A later event of the first one's type, about a member who is known.
    invoice = payments.invoice(customer=session["customer"] or "")
    payments.api.post(f"/_emulator/invoices/{invoice['id']}/pay")
    payments.settle()
    return lambda: len(welcomed)


def sales(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    """A shop that adds up the payments of a day: from its first second to its last."""
    paid(payments)
    now = datetime.fromisoformat(payments.clock.now)
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    end = day + timedelta(days=1)
    last = end - timedelta(seconds=1) if is_wrong else end
    payments.clock.advance("1d")
    listed = call(payments, "GET", "/v1/transactions/?page_size=50")["data"]
    times = [datetime.fromisoformat(transaction["created_at"]) for transaction in listed]
    return lambda: sum(day <= time < last for time in times)


def rent(payments: Emulator, *, is_wrong: bool, later: str = "0s") -> Callable[[], Any]:
    """A shop that reckons itself when the next month begins."""
    payments.clock.advance(later)
    customer = payments.customer()
    begun = datetime.fromisoformat(customer["created_at"])
    if is_wrong:
        return lambda: begun.replace(month=begun.month % 12 + 1) > begun
    return lambda: begun + timedelta(days=28) > begun


def anniversary(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    customer = payments.customer()
    begun = datetime.fromisoformat(customer["created_at"])
    if is_wrong:
        return lambda: begun.replace(year=begun.year + 1) > begun
    return lambda: begun + timedelta(days=365) > begun


WRONG: dict[str, tuple[Callable[..., Any], str, str]] = {
    "returned-early": (
        club,
        "A buyer who comes back without having paid is taken for one who has",
        "#believe-no-redirect",
    ),
    "refund-refused": (
        returns,
        "A refund that the operator declines counts as made",
        "#wait-for-the-operator",
    ),
    "paged": (directory, "Only one page of a list is read", "#read-every-page"),
    "paired": (
        pairs,
        "Two events that report the same thing at the same moment are both acted upon",
        "#handle-a-change-once",
    ),
    "day-end": (
        sales,
        "What happens at the bound of a day counts on the wrong day, twice or not at all",
        "#count-days-in-utc",
    ),
    "month-end": (rent, "The result depends on the day on which it happens", "#count-days-in-utc"),
    "last-day": (
        partial(rent, later="1h"),
        "The result depends on the day on which it happens",
        "#count-days-in-utc",
    ),
    "leap-day": (
        anniversary,
        "The result depends on the day on which it happens",
        "#count-days-in-utc",
    ),
}
"""By kind: the application that it finds, the sentence, and the section on how to do it right."""


@pytest.mark.parametrize("kind", WRONG)
def test_the_wrong_application_is_named_and_the_right_one_ends_the_same(kind: str) -> None:
    story, sentence, section = WRONG[kind]
    with Emulator(clock="2026-01-05T12:00:00Z", seed=7) as payments:
        with pytest.raises(AssertionError) as failure:
            payments.test_app(partial(story, is_wrong=True), only=[kind])
        assert f"\n1. {sentence}" in str(failure.value), str(failure.value)
        assert section in str(failure.value)
        report = payments.test_app(partial(story, is_wrong=False), only=[kind])
    assert report.tried
    assert [*report.findings, *report.unshown, *report.unreached] == []


def fund(payments: Emulator, *, is_wrong: bool) -> Callable[[], Any]:
    """A fund that thanks those who come back from its link; a wrong one counts them as donors."""
    gifts: list[str] = []
    with page(lambda _: gifts.append("thanked" if not is_wrong else "paid")) as thanks:
        terms = {"payment_link_type": "donation", "currency": "XAF", "name": "Fund"}
        redirect = {"success": thanks.replace("{CHECKOUT_SESSION_ID}", "all")}
        link = payments.api.post("/v1/payment-links/", {**terms, "redirect_url": redirect})
        payments.pay(link, amount=5000, customer={"email": "awa@example.com", "name": "Awa"})
        payments.clock.advance("1d")
        paid = call(payments, "GET", "/v1/payment-intents/?status=succeeded")["data"]
    return lambda: [{"status": status} for status in [*gifts, *("paid" for _ in paid)]]


def test_a_buyer_comes_back_from_a_link_on_which_nothing_was_paid() -> None:
    with Emulator(clock="2026-01-05T12:00:00Z", seed=7) as payments:
        with pytest.raises(AssertionError, match="comes back without having paid is taken for one"):
            payments.test_app(partial(fund, is_wrong=True), only=["redirected-unpaid"])
        report = payments.test_app(partial(fund, is_wrong=False), only=["redirected-unpaid"])
    assert [case.name for case in report.tried] == ["1:redirected-unpaid"]
    assert report.unreached == []


def insistent(payments: Emulator, *, is_wrong: bool, is_shown: bool = True) -> Iterator[Any]:
    """A shop that fails where the service rejects its refund."""
    orders = {"awa": {"status": "paid"}}
    yield lambda: orders if is_shown else {"orders": len(orders)}
    transaction = paid(payments)
    payments.clock.advance("1s")
    body = {"transaction": transaction, "amount": 2000}
    refund = call(payments, "POST", "/v1/refunds/", "refund-1", json=body)["id"]
    orders["awa"] = {"status": "refunded" if is_wrong else "being refunded"}
    payments.clock.advance("7d")
    status = call(payments, "GET", f"/v1/refunds/{refund}/")["status"]
    if not is_wrong:
        orders["awa"] = {"status": "refunded" if status == "succeeded" else "paid"}


@pytest.mark.parametrize(
    ("shop", "is_found"),
    [
        ({"is_wrong": True}, True),
        ({"is_wrong": False}, False),
        ({"is_wrong": True, "is_shown": False}, False),
    ],
    ids=["wrong", "right", "nothing-shown"],
)
def test_a_refund_that_a_scenario_wants_is_judged_by_what_it_changes_at_once(
    shop: dict[str, bool], is_found: bool
) -> None:
    """Where the state does not show refunds at all, nobody knows."""
    with Emulator(clock="2026-01-05T12:00:00Z", seed=7) as payments:
        sentence = "A refund that the operator declines counts as made: your own state is the same"
        with pytest.raises(AssertionError, match=sentence) if is_found else nullcontext():
            payments.test_app(partial(insistent, **shop), only=["refund-refused"])


def test_the_beginning_of_a_world_is_written_as_the_service_writes_instants() -> None:
    starts = [fault.start for fault in (*FAULT_KINDS, ORDINARY) if fault.start]
    assert [calendar.stamp(calendar.parse(start)) for start in starts] == starts


CASES = [
    fault.name
    for fault in FAULT_KINDS
    if fault.about in (DELIVERY, SESSION, REFUND, SCENARIO)
    and not (fault.kills or fault.zone or fault.name == "forged")
]
"""The kinds that these applications can stand; they trust every webhook, and are paid at once."""


@pytest.mark.long
@pytest.mark.parametrize("kind", WRONG)
def test_no_other_kind_finds_the_wrong_application(kind: str) -> None:
    with (
        Emulator(clock="2026-01-05T12:00:00Z", seed=7) as payments,
        pytest.raises(AssertionError) as failure,
    ):
        payments.test_app(partial(WRONG[kind][0], is_wrong=True), only=CASES, jobs=4)
    again = re.findall(r'only=\["\d+:([a-z-]+)"\]', str(failure.value))
    assert again == [kind], str(failure.value)


LOCAL_DAY = """
import json, os, sys, time, urllib.request
def call(path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"]}
    data = None if body is None else json.dumps(body).encode()
    headers["Content-Type"] = "application/json"
    request = urllib.request.Request(os.environ["PAYMENTS_EMULATOR_URL"] + path, data, headers)
    return json.load(urllib.request.urlopen(request))
if "--print" in sys.argv:
    from datetime import datetime, UTC
    customer = call("/v1/customers/")["data"][0]
    made = datetime.fromisoformat(customer["created_at"])
    day = (made if "utc" in sys.argv else made.astimezone()).date()
    print("made on the day of the service:", str(day) == customer["created_at"][:10])
else:
    call("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
"""


@pytest.mark.parametrize("zone", ["zone-east", pytest.param("zone-west", marks=pytest.mark.long)])
def test_an_application_that_counts_days_of_its_machine_is_named(
    tmp_path: Path, zone: str, thorough: bool
) -> None:
    program = tmp_path / "shop.py"
    program.write_text(LOCAL_DAY, "utf-8")
    hour = {"zone-east": "20", "zone-west": "04"}[zone]

    def tried(*words: str) -> str:
        shop = [sys.executable, str(program), *words]
        check = shlex.join([*shop, "--print"])
        clock = f"frozen@2026-01-05T{hour}:00:00Z"
        return sweep(f"--only={zone}", "--clock", clock, "--check", check, "--", *shop).output

    assert "\n1. The result depends on the time zone of the machine: " in tried()
    assert not thorough or tried("utc").startswith("No problem in 1 case.")


REPORT = {"2026-01-31": 3000, "2026-02-01": 2000, "sold": 5000, "at": "2026-01-31T23:59:59.999Z"}


def test_what_is_listed_by_date_is_left_out_at_another_time() -> None:
    """The days of a report are others then, and may be more."""
    assert undated(REPORT, same_days=False) == {"sold": 5000, "at": "{date}"}
    text = "2026-01-31: 3000\norders: day='2026-01-31', total=2\norders: id=1, at='2026-01-31'"
    assert undated(text, same_days=False) == "orders: id=1, at='{date}'"


def test_in_another_time_zone_dates_stay_and_times_count_as_equal() -> None:
    assert undated(REPORT, same_days=True) == {**REPORT, "at": "{date}"}
    text = "2026-01-31: sold at {}"
    assert undated(text.format(REPORT["at"]), same_days=True) == text.format("{date}")
