"""``test app`` looks at an application's state at every step of a scenario, not only at its end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from contract_tests.surfaces.checks.app.test_app import sweep
from emulator.checks.app.cases import DELIVERY, FAULT_KINDS, Case, Place
from emulator.checks.app.state import State
from emulator.checks.app.steps import PATIENCE, Expected, Look, StepRecorder, wrong_stretch
from emulator.client.api import Api
from emulator.testing import Emulator

PAYS, DECLINED = "+24177000000", "+24177000001"


# -- which looks are wrong


KINDS = {kind.name: kind for kind in FAULT_KINDS}

DAYS = ("2026-01-01T00:00:00.000Z", "2026-01-05T00:00:00.000Z", "2026-02-04T00:00:00.000Z")
"""The instants before two steps, and after each."""


def looks(*states: object) -> list[Look]:
    """Return looks before and after two steps and at the end, with these states."""
    places = ((0, False), (1, True), (1, False), (2, True), (2, False))
    return [
        Look(steps, is_rest, DAYS[steps], State(state))
        for (steps, is_rest), state in zip(places, states, strict=True)
    ]


def wrong(kind: str, *states: object) -> str:
    """Return since when and for how long the states are wrong; all should be ``paid``."""
    expected = Expected("2d")
    baseline = looks(*["paid"] * 5)
    expected.learn(baseline, baseline, ())
    place = Place(DELIVERY, 1, "invoice.paid", {"event": "invoice.paid", "nth": 1}, at=DAYS[0])
    return str(wrong_stretch(Case(place, KINDS[kind]), looks(*states), expected) or "")


def test_a_state_that_a_late_event_undoes_is_wrong_until_the_next_step() -> None:
    assert wrong("late", "paid", "open", "open", "paid", "paid") == (
        "wrong from step 1 (advance to 5 January 2026) for up to 30 days: the check returns 'open'"
        " instead of 'paid'"
    )


def test_a_state_that_a_late_event_undoes_is_wrong_though_the_scenario_mends_it() -> None:
    assert wrong("late", "paid", "open", "paid", "paid", "paid").startswith(
        "wrong at the end of step 1 (advance to 5 January 2026): "
    )


def test_before_a_late_event_comes_nothing_is_known() -> None:
    assert wrong("late", "open", "paid", "paid", "paid", "paid") == ""


def test_a_job_that_the_scenario_starts_may_handle_a_late_event() -> None:
    assert wrong("late", "open", "open", "paid", "paid", "paid") == ""


def test_a_job_that_the_scenario_starts_may_ask_for_a_lost_event() -> None:
    assert wrong("lost", "open", "open", "paid", "paid", "paid") == ""


def test_nobody_who_never_asks_for_a_lost_event_is_right_by_chance() -> None:
    assert wrong("lost", "open", "open", "open", "paid", "paid").startswith(
        "wrong from the time before step 1 for up to 34 days: "
    )


def test_an_event_that_comes_twice_says_nothing_new() -> None:
    assert wrong("twice", "paid", "both", "paid", "paid", "paid").startswith("wrong at the end")


def test_a_state_that_stays_wrong_is_wrong_to_the_end() -> None:
    assert "to the end of the scenario" in wrong("twice", "paid", "both", "both", "both", "both")


def test_two_events_that_came_together_are_known_from_then_on_by_a_clock_that_stands() -> None:
    """Not at the very moment; and a clock that runs may be a minute ahead of the baseline's."""
    for at, gap, verdict in ((0, 1, "wrong from step 1"), (1, 1, ""), (0, 4 * 86400, "")):
        place = Place(DELIVERY, 1, "invoice.paid", {}, at=DAYS[at], gaps={"overlapping": gap})
        expected = Expected("2d")
        expected.learn(looks(*["paid"] * 5), looks(*["paid"] * 5), ())
        case = Case(place, KINDS["overlapping"])
        stretch = wrong_stretch(case, looks("paid", "paid", "open", "paid", "paid"), expected)
        assert str(stretch or "").startswith(verdict)
        assert bool(stretch) == bool(verdict)
    running = [
        look._replace(at=DAYS[look.steps].replace("00:00.000", f"00:{10 + number}.000"))
        for number, look in enumerate(looks(*["paid"] * 5))
    ]
    expected.learn(running, running, ())
    assert expected.margin > 0


class StandingClock:
    """The control API of a world whose clock stands."""

    def get(self, path: str) -> dict[str, str]:
        return {"now": DAYS[0]}

    def post(self, path: str, body: object) -> None:
        """Move no clock."""


def test_a_state_that_is_known_to_be_wrong_is_looked_at_once_at_each_further_step() -> None:
    expected, states = Expected("2d"), ["paid"] * 5
    baseline = [look._replace(at=DAYS[0]) for look in looks(*states)]
    expected.learn(baseline, baseline, ())
    seen: list[str] = []

    def look() -> State:
        seen.append("open")
        return State("open")

    place = Place(DELIVERY, 1, "invoice.paid", {"event": "invoice.paid", "nth": 1}, at=DAYS[0])
    case = Case(place, KINDS["twice"])
    recorder = StepRecorder(cast("Api", StandingClock()), look, case, expected)
    recorder.before()
    assert len(seen) == 1 + len(PATIENCE)
    recorder.after()
    recorder.before()
    assert len(seen) == 1 + len(PATIENCE) + 2


# -- a club whose member is locked out for a month


def club(is_wrong: bool) -> Callable[[Emulator], Any]:
    """Return a club's story: after a failed renewal a payment, and a month later another one."""

    def play(payments: Emulator) -> Iterator[Callable[[], Any]]:
        access: dict[str, str] = {}
        latest: dict[str, str] = {}

        def receive(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            start("200 OK", [])
            customer, at = event["data"]["object"].get("customer"), event["created_at"]
            status = {"invoice.paid": "active", "subscription.payment_failed": "past_due"}.get(
                event["type"]
            )
            if status and customer and (is_wrong or at >= latest.get(customer, "")):
                latest[customer], access[customer] = at, status
            return [b""]

        payments.webhooks.forward_to(receive)
        body = {"email": "awa@example.com", "name": "Awa Diop", "phone": PAYS}
        customer = payments.client.post("/v1/customers/", json=body).json()["id"]
        yield lambda: access.get(customer)
        terms = {"customer": customer, "unit_amount": 5000, "currency": "XAF", "interval": "month"}
        payments.client.post("/v1/subscriptions/", json=terms)
        payments.settle()
        for phone, time in ((DECLINED, "31d"), (PAYS, "3d"), (PAYS, "31d")):
            payments.api.patch(f"/v1/customers/{customer}/", {"phone": phone})
            payments.clock.advance(time)

    return play


@pytest.mark.long
def test_a_month_without_access_is_found_though_the_next_payment_ends_it() -> None:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        with pytest.raises(AssertionError) as failure:
            payments.test_app(club(is_wrong=True), only=["stale"])
        text = str(failure.value)
    assert text.startswith("An event that comes late undoes a newer state, or is not understood")
    assert (
        "wrong from step 3 (advance to 4 February 2026) for up to 31 days: the check returns"
        " 'past_due' instead of 'active'" in text
    )


@pytest.mark.long
def test_a_club_that_compares_instants_is_right_at_every_step() -> None:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        report = payments.test_app(club(is_wrong=False), only=["stale", "late", "twice", "swapped"])
    assert report.findings == []


# -- a command, whose moves of the clock its server sees


FORGETS = """
import json, os, sqlite3, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import Request, urlopen

def call(method, path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"],
               "Content-Type": "application/json"}
    url = os.environ["PAYMENTS_EMULATOR_URL"] + path
    data = body and json.dumps(body).encode()
    with urlopen(Request(url, data, headers, method=method)) as response:
        return json.load(response)

data = sqlite3.connect(os.environ["PAYMENTS_EMULATOR_FOLDER"] + "/shop.db", check_same_thread=False)
data.execute("CREATE TABLE orders (buyer TEXT, shipped INTEGER)")
data.execute("INSERT INTO orders VALUES ('awa', 0)")
data.commit()

class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if event["type"] == "checkout.session.completed":
            data.execute("UPDATE orders SET shipped = shipped + 1")
            data.commit()
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments):
        pass

call("POST", "/_emulator/clock/freeze", {})
server = HTTPServer(("127.0.0.1", 0), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()
call("POST", "/v1/webhooks/", {"name": "Shop", "url": f"http://127.0.0.1:{server.server_port}/",
                               "events": ["checkout.session.completed"]})
basket = {"currency": "XAF", "line_items": [{"description": "Basket", "unit_amount": 2000}]}
session = call("POST", "/v1/checkout-sessions/", basket)["id"]
method = {"type": "mobile_money", "phone": "+24177000000"}
call("POST", f"/_emulator/checkout-sessions/{session}/pay", {"method": method})
call("POST", "/_emulator/clock/advance", {"by": "1d"})
data.execute("UPDATE orders SET shipped = 1")  # the night heals everything
data.commit()
call("POST", "/_emulator/clock/advance", {"by": "1d"})
server.shutdown()
"""


def forgetful(folder: Path, case: str) -> list[str]:
    """Return the report's lines on this case of the shop whose night heals everything."""
    shop = folder / "shop.py"
    shop.write_text(FORGETS)
    frozen = ("--clock", "frozen@2026-01-01T00:00:00Z", "--only", case)
    ended = sweep(*frozen, "--check-sqlite", "shop.db", "--", sys.executable, shop)
    return ended.output.splitlines()


def test_what_a_command_does_wrong_before_its_night_is_found(tmp_path: Path) -> None:
    assert forgetful(tmp_path, "1:twice")[1:2] == [
        "1. An event that comes twice is handled twice: wrong from the time before step 1 for up to"
        " 1 day: orders awa: shipped 2 instead of 1"
    ]


def test_what_a_night_has_asked_for_is_no_problem(tmp_path: Path) -> None:
    """And the report says that there were steps."""
    assert forgetful(tmp_path, "1:lost")[:2] == [
        "No problem in 1 case.",
        "1 request, 1 delivery, 2 steps, 3 runs.",
    ]


def test_a_state_that_differs_without_any_fault_is_not_compared() -> None:
    expected = Expected("2d")
    expected.learn(looks(*"abcde"), looks(*"abxde"), ())
    assert [look.state is None for look in expected.looks] == [False, False, True, False, False]
    assert expected.unsteady == 1


def test_a_scenario_that_takes_other_steps_is_not_compared_any_more() -> None:
    later = [look._replace(at=DAYS[2]) if look.steps else look for look in looks(*"aaaaa")]
    expected = Expected("2d")
    expected.learn(looks(*"aaaaa"), later, ())
    assert (len(expected.looks), expected.unsteady) == (1, 4)
