"""Wrong shops, each with a mistake that people make; the first three lines of a report name it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from contract_tests.support.shops import EXAMPLES
from contract_tests.surfaces.checks.app.test_app import sweep
from contract_tests.surfaces.cli.terminal import Ended
from emulator.testing import Emulator


def named(text: str) -> str:
    return "\n".join(text.splitlines()[:3])


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
    "knows events only": (
        "2:reissued",
        "A change that comes again under another event id is handled twice",
    ),
    "forgets after a day": (
        "2:days-later",
        "An event that comes again days later is handled twice",
    ),
    "undoes": ("1:swapped", LATE),
    "the page grants, too": ("2:late", "What is known already is done again when its event comes"),
    "never asks": ("2:lost", "What a lost webhook would have said is never asked for"),
    "no signature": ("2:forged", "A webhook that was tampered with was accepted"),
    "asks for money again": (
        "2:pending",
        "A payment that the operator answers an hour later is not understood",
    ),
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

IN_SHORT = ("works afterwards",)
"""A mistake that a kill shows: a plain run tries only this one."""


def tried(mistake: str, *cases: str) -> Ended:
    """How `test app` ends with these cases of the shop that sells credits."""
    shop = (sys.executable, str(Path(__file__).with_name("credits.py")), mistake)
    only = [f"--only={case}" for case in cases]
    return sweep(
        *only,
        "--clock",
        "frozen@2026-01-01T00:00:00Z",
        "--check",
        shlex.join([*shop, "--print"]),
        "--",
        *shop,
    )


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(shop, marks=[] if shop in IN_SHORT else pytest.mark.long) for shop in CREDITS],
)
def test_app_names_the_mistake_of_the_shop_that_sells_credits(mistake: str) -> None:
    """And says how to repeat it."""
    case, problem = CREDITS[mistake]
    ended = tried(mistake, case)
    assert ended.status == 1, ended
    assert f"\n1. {problem}" in named(ended.output), ended.output
    assert f"\n    again: payments-emulator test app --only {case} " in ended.output


@pytest.mark.long
def test_the_sound_shop_that_sells_credits_ends_the_same() -> None:
    assert tried("sound", *{case for case, _ in CREDITS.values()}).output.startswith(
        "No problem in "
    )


@pytest.mark.long
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


PAYS, DECLINED = "+24177000000", "+24177000001"


def club(kind: str, *, is_wrong: bool) -> Callable[[Emulator], Any]:
    """Return a club's story: webhooks name its members; a month, for ``stale`` first a failure."""

    def play(payments: Emulator) -> Callable[[], Any]:
        access: dict[str, str] = {}
        latest: dict[str, str] = {}

        def receive(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            event = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            start("200 OK", [])
            customer, at = event["data"]["object"].get("customer"), event["created_at"]
            status = {"invoice.paid": "active", "subscription.payment_failed": "past_due"}.get(
                event["type"]
            )
            is_news = at >= latest.get(customer, "") or (is_wrong and kind == "stale")
            if status and customer in access and is_news:
                latest[customer], access[customer] = at, status
            return [b""]

        payments.webhooks.forward_to(receive)
        body = {"email": "awa@example.com", "name": "Awa Diop", "phone": PAYS}
        customer = payments.client.post("/v1/customers/", json=body).json()["id"]
        if not (is_wrong and kind == "slow"):
            access[customer] = "unpaid"
        terms = {"customer": customer, "unit_amount": 5000, "currency": "XAF", "interval": "month"}
        payments.client.post("/v1/subscriptions/", json=terms)
        access.setdefault(customer, "unpaid")
        payments.settle()
        if kind == "stale":
            for phone, time in ((DECLINED, "31d"), (PAYS, "3d")):
                payments.api.patch(f"/v1/customers/{customer}/", {"phone": phone})
                payments.clock.advance(time)
        return lambda: access[customer]

    return play


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("stale", "An event that comes late undoes a newer state"),
        ("slow", "A webhook that arrives before the response is not handled"),
    ],
)
def test_app_names_the_mistake_of_the_club(kind: str, sentence: str) -> None:
    with Emulator(clock="2026-01-01T00:00:00Z", seed=7) as payments:
        with pytest.raises(AssertionError) as failure:
            payments.test_app(club(kind, is_wrong=True), only=[kind])
        assert sentence in named(str(failure.value))
        assert payments.test_app(club(kind, is_wrong=False), only=[kind]).findings == []
