"""Wrong shops, each with one mistake that people make: the examination that names it in its first three lines.

Twenty-five of the thirty sell credits, and five are a club.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from contract_tests.support.shops import EXAMPLES
from contract_tests.surfaces.checks.app.test_command import sweep
from contract_tests.surfaces.cli.terminal import Ended
from emulator.checks.suite.search import Mutant, MutantRun, SuiteReport, try_mutants
from emulator.checks.suite.table import MUTANTS
from emulator.checks.suite.wrong_service import WrongService
from emulator.testing import Emulator, LocalServer, verify_webhook


def named(text: str) -> str:
    return "\n".join(text.splitlines()[:3])


# -- a shop that sells credits


NOT_AGAIN = "A request whose outcome is unknown is not sent again"
TWICE_AT_ONCE = "An event that comes twice at the same moment is handled twice"
LATE = "An event that comes late undoes a newer state, or is not understood"
KILLED = "What was under way when the application was killed is lost, or done twice"

CREDITS = {
    "keyless": ("2:drop-after", "A request is sent again without an Idempotency-Key"),
    "another key": ("2:drop-after", "A request is sent again with another Idempotency-Key"),
    "never again": ("2:drop-before", NOT_AGAIN),
    "trusts each body": ("2:garbled", NOT_AGAIN),
    "a 500 is final": ("2:error-after", NOT_AGAIN),
    "swallows errors": ("2:drop-before", NOT_AGAIN),
    "a 429 is final": ("2:throttled", "A 429 is not retried after its delay"),
    "hurries": ("2:throttled", "A request was sent again before the Retry-After of a 429 was over"),
    "handles twice": ("2:twice", "An event that comes twice is handled twice"),
    "looks first": ("2:together", TWICE_AT_ONCE),
    "looks at the service first": ("2:together", TWICE_AT_ONCE),
    "counts side by side": (
        "2:overlapping",
        "Two events that come at the same moment are not handled as one after the other",
    ),
    "knows events only": ("2:reissued", "A change that comes again under another event id is handled twice"),
    "forgets after a day": ("2:days-later", "An event that comes again days later is handled twice"),
    "undoes": ("1:swapped", LATE),
    "the page grants, too": ("2:late", LATE),
    "never asks": ("2:lost", "What a lost webhook would have said is never asked for"),
    "no signature": ("2:forged", "A webhook that was tampered with was accepted"),
    "asks for money again": ("2:pending", "A payment that the operator answers an hour later is not understood"),
    "processing is paid": ("2:refused-later", "A payment without an answer yet is taken for paid"),
    "the redirect is a payment": (
        "2:redirected-unpaid",
        "A buyer who comes back without having paid is taken for one who has",
    ),
    "remembers in memory": ("2:killed-received", KILLED),
    "marks before work": ("2:killed-reading", KILLED),
    "works afterwards": ("2:killed-acknowledged", KILLED),
    "waits for ever": ("2:hung", "A request waits for its response without a time limit"),
}
"""By mistake: the case that shows it, and how the report names it."""

OF_EACH_SORT = ("keyless", "looks first", "never asks", "works afterwards")
"""Mistakes of requests, of two webhooks at once, of one, and of what a kill interrupts: a plain run tries these alone."""


def tried(mistake: str, *cases: str) -> Ended:
    """How `test app` ends with these cases of the shop that sells credits."""
    shop = (sys.executable, str(Path(__file__).with_name("credits.py")), mistake)
    only = [f"--only={each}" for each in cases]
    return sweep(
        *only, "--clock", "frozen@2026-01-01T00:00:00Z", "--check", shlex.join([*shop, "--print"]), "--", *shop
    )


@pytest.mark.parametrize(
    "mistake", [pytest.param(each, marks=[] if each in OF_EACH_SORT else pytest.mark.long) for each in CREDITS]
)
def test_app_names_the_mistake_of_the_shop_that_sells_credits(mistake: str) -> None:
    """And says how to repeat it."""
    case, problem = CREDITS[mistake]
    ended = tried(mistake, case)
    assert ended.status == 1, ended
    assert f"\n1. {problem}" in named(ended.output), ended.output
    assert f"\n    again: payments-emulator test app --only {case} " in ended.output


@pytest.mark.long
@pytest.mark.parametrize("mistake", ["looks first", "counts side by side"])
def test_what_also_fails_by_the_same_mistake_is_not_another_problem(mistake: str) -> None:
    """A shop that only fails where two webhooks meet passes where they come one after the other."""
    assert tried(mistake, "2:twice", "2:late").output.startswith("No problem in "), mistake


@pytest.mark.long
def test_the_sound_shop_that_sells_credits_ends_the_same() -> None:
    assert tried("sound", *{case for case, _ in CREDITS.values()}).output.startswith("No problem in ")


# -- the example shop, which is sound


def test_the_example_shop_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the audit find anything. It loses no time between attempts."""
    shop, story = ModuleType("shop"), ModuleType("story")
    exec((EXAMPLES / "python-shop/shop.py").read_text("utf-8"), shop.__dict__)
    shop.__dict__["PAUSES"] = (0.01, 0.01, 0.01)
    monkeypatch.setitem(sys.modules, "shop", shop)
    exec((EXAMPLES / "python-shop/story.py").read_text("utf-8"), story.__dict__)
    kinds = ("drop-after", "forged", "twice", "answered-late", "throttled", "slow")
    tried = ["1:swapped", *(f"2:{kind}" for kind in kinds)]
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        report = payments.test_app(story.__dict__["story"], only=tried)
    assert (report.runs, report.unreached, report.audit) == (2 + len(tried), [], [])


# -- a club: who pays each month has access


PAYS, DECLINED = "+24177000000", "+24177000001"


class Club:
    """``access`` has the status of each customer, ``credits`` what was bought beside."""

    def __init__(self, payments: Emulator, mistake: str = "") -> None:
        self.payments, self.mistake = payments, mistake
        self.access: dict[str, str] = {}
        self.latest: dict[str, str] = {}
        self.credits = 0
        payments.webhooks.forward_to(self)

    def post(self, path: str, body: Any, key: str) -> Any:
        """Return the answer to a request, which is sent again, as the same one, if it is not known whether it was done."""
        for _ in range(4):
            try:
                answer = self.payments.client.post(path, json=body, headers={"Idempotency-Key": key})
                if answer.status_code != 429 and answer.status_code < 500:
                    return answer.json()
            except (httpx.TransportError, ValueError):
                continue
        raise RuntimeError("the service does not answer")

    def join(self) -> None:
        """Take in a member, with the first month."""
        body = {"email": "awa@example.com", "name": "Awa Diop", "phone": PAYS}
        self.customer = str(self.post("/v1/customers/", body, "awa")["id"])
        if self.mistake != "trusts the order of response and webhook":
            self.access.setdefault(self.customer, "unpaid")
        plan = {"customer": self.customer, "unit_amount": 5000, "currency": "XAF", "interval": "month"}
        self.subscription = self.post("/v1/subscriptions/", plan, "awa-joins")["id"]
        self.access.setdefault(self.customer, "unpaid")
        if self.mistake == "gives access when the subscription is created":
            self.access[self.customer] = "active"
        self.payments.settle()

    def top_up(self) -> None:
        """Ten credits for a payment by phone."""
        method = {"customer": self.customer, "type": "mobile_money", "phone": PAYS}
        saved = self.post("/v1/payment-methods/", method, "awa-phone")["id"]
        order = {"amount": 1000, "currency": "XAF", "payment_method": saved}
        intent = self.post("/v1/payment-intents/", order, "awa-order")["id"]
        answer = self.post(f"/v1/payment-intents/{intent}/confirm/", {}, "awa-pays")
        if answer["status"] == "succeeded" or self.mistake == "takes a 2xx for a payment":
            self.credits += 10

    def reconcile(self) -> None:
        """Every night: read what no webhook has said."""
        if self.mistake != "never asks":
            answer = self.payments.client.get(f"/v1/subscriptions/{self.subscription}/").json()
            self.access[self.customer] = answer["status"]

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        signature = {"Service-Signature": environ.get("HTTP_SERVICE_SIGNATURE", "")}
        genuine = verify_webhook(body, signature, self.payments.webhooks.secret)
        start("200 OK" if genuine else "401 Unauthorized", [])
        if genuine:
            self.handle(json.loads(body))
        return [b""]

    def handle(self, event: Any) -> None:
        customer, at = event["data"]["object"].get("customer"), event["created_at"]
        status = {"invoice.paid": "active", "subscription.payment_failed": "past_due"}.get(event["type"])
        if status is None or customer not in self.access:
            return
        if status == "past_due" and self.access[customer] == "unpaid":  # there is no grace for a first month
            return
        if at < self.latest.get(customer, "") and self.mistake != "lets an old status overwrite a newer one":
            return
        self.latest[customer], self.access[customer] = at, status


def club_story(mistake: str, *, looks_at_once: bool = False) -> Callable[[Emulator], Any]:
    """Return a month that is paid, one that fails at first, and its recovery a day later.

    With ``looks_at_once`` it counts who is in at once, too, before anything was looked up.
    """

    def play(payments: Emulator) -> Callable[[], Any]:
        club = Club(payments, mistake)
        club.join()
        joined = club.access[club.customer] if looks_at_once else ""
        payments.api.patch(f"/v1/customers/{club.customer}/", {"phone": DECLINED})
        payments.clock.advance("31d")
        payments.api.patch(f"/v1/customers/{club.customer}/", {"phone": PAYS})
        payments.clock.advance("3d")
        if mistake != "lets an old status overwrite a newer one":
            club.reconcile()
        return lambda: {"access": club.access[club.customer], "joined": joined}

    return play


def examined(play: Callable[[Emulator], Any], only: list[str]) -> str:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        try:
            return payments.test_app(play, only=only).text()
        except AssertionError as error:
            return str(error)


CLUB = {
    "lets an old status overwrite a newer one": ("stale", "An event that comes late undoes a newer state"),
    "never asks": ("lost", "What a lost webhook would have said is never asked for"),
    "trusts the order of response and webhook": ("slow", "A webhook that arrives before the response is not handled"),
}
"""By mistake of the club: a kind of fault, and what `test app` says of it."""


@pytest.mark.long
@pytest.mark.parametrize("mistake", CLUB)
def test_app_names_the_mistake_of_the_club(mistake: str) -> None:
    kind, sentence = CLUB[mistake]
    looks_at_once = kind == "slow"
    text = examined(club_story(mistake, looks_at_once=looks_at_once), [kind])
    assert sentence in named(text), text
    assert examined(club_story("", looks_at_once=looks_at_once), [kind]).startswith("No problem in ")


@pytest.mark.long
def test_the_sound_club_ends_the_same() -> None:
    kinds = ["stale", "lost", "slow", "together", "reissued", "days-later", "sent-together", "late"]
    report = examined(club_story(""), kinds)
    assert report.startswith("No problem in "), report


TESTS = {
    "gives access when the subscription is created": ("first-charge-fails", "the first charge of a subscription fails"),
    "takes a 2xx for a payment": ("payment-failed-with-2xx", "is answered 2xx, and the payment has failed"),
}
"""By mistake of the club: a mutant, and what `test suite` says of the club's tests, which pass."""


def suite_report(mistake: str, row: str) -> SuiteReport:
    """What `test suite` says of the club's own test, with one mutant: who has joined is in, who has paid has credits."""

    def play(mutant: Mutant | None) -> MutantRun:
        service = WrongService([MUTANTS[row]], *([mutant] if mutant else []))
        server = LocalServer(7, parts=service.parts())
        try:
            with Emulator(clock="2026-01-01T00:00:00Z", server=server) as payments:
                club = Club(payments, mistake)
                club.join()
                club.top_up()
                assert club.access[club.customer] in ("active", "past_due"), "a renewal may fail for a while"
                assert club.credits == 10
        except AssertionError as error:
            return MutantRun(str(error), service.reached)
        finally:
            server.stop()
        return MutantRun(None, service.reached)

    return try_mutants(play, MUTANTS, only=[row])


@pytest.mark.parametrize("mistake", TESTS)
def test_suite_names_what_survives_the_tests_of_the_club(mistake: str) -> None:
    row, sentence = TESTS[mistake]
    assert sentence in named(suite_report(mistake, row).report().text())
    assert [each.name for each in suite_report("", row).caught] == [row], "the tests of the sound club catch it"
