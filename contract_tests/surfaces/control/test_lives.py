"""The words of subscriptions: how each stands, why, and what happens to it next."""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract_tests.support.sandbox import CARD, FAILING_PHONE, Sandbox

TRIAL: dict[str, Any] = {"trial_period_days": 10}
POOR = {"phone": FAILING_PHONE}
BILLED = {"collection_method": "send_invoice"}
PRICE = "59.00 EUR / month (50.00 EUR + 18% tax)"
OVER = "Nothing more is charged."
OVERDUE = "INV-2026-000001, 59.00 EUR, is overdue; the subscription becomes active when it is paid."
PAST_DUE = (
    "Past due since 1 Jan 2026. 2 charges failed, the last to Airtel +241 …0001, with"
    " INSUFFICIENT_FUNDS. INV-2026-000001, 59.00 EUR, is not paid. The charge is tried again on 4"
    " Jan 2026."
)
UNPAID = (
    "Unpaid since 8 Jan 2026; the first charge failed on 1 Jan 2026. 5 charges failed, the last to"
    " Airtel +241 …0001, with INSUFFICIENT_FUNDS. It becomes active when INV-2026-000001 is paid on"
    " its page. No further charge is planned"
)
RENEWS, BECOMES_DUE = (
    f"Active: {PRICE}. It renews on",
    f"The next period, {PRICE}, is billed on 1 Mar 2026.",
)


def until(day: str) -> dict[str, str]:
    return {"ends_at": f"2026-{day}T00:00:00Z"}


@pytest.mark.parametrize(
    ("begins", "steps", "words"),
    [
        (TRIAL, "", f"In its trial until 11 Jan 2026; then {PRICE}."),
        (
            TRIAL,
            "cancel-later",
            "In its trial until 11 Jan 2026. Cancels on 11 Jan 2026; no further charge.",
        ),
        ({}, "5d note", f"{RENEWS} 1 Feb 2026."),
        ({}, "move", "Active: 106.20 EUR / month (90.00 EUR + 18% tax). It renews on 1 Feb 2026."),
        (until("02-01"), "cancel-later", "It ends on 1 Feb 2026."),
        (until("01-20"), "", f"Active: {PRICE}. It ends on 20 Jan 2026."),
        (until("02-10"), "", f"{RENEWS} 1 Feb 2026. It ends on 10 Feb 2026."),
        ({}, "5d cancel 2d note", f"Canceled on 6 Jan 2026. {OVER}"),
        ({}, "5d cancel-later 30d", f"Canceled on 1 Feb 2026. {OVER}"),
        (until("01-20"), "30d", f"Ended on 20 Jan 2026. {OVER}"),
        ({}, "5d cancel 2d note reactivate", f"{RENEWS} 1 Feb 2026."),
        (
            {},
            "5d pause 40d note",
            "Paused since 6 Jan 2026: nothing is charged until it is resumed.",
        ),
        ({}, "5d pause 40d note resume", f"{RENEWS} 1 Mar 2026."),
        (POOR, "2d note", PAST_DUE),
        ({**POOR, **until("03-01")}, "2d note", f"{PAST_DUE} It ends on 1 Mar 2026."),
        (POOR, "40d note", f"{UNPAID}; periods continue until you cancel."),
        ({**POOR, **until("03-01")}, "20d note", f"{UNPAID}. It ends on 1 Mar 2026."),
        (POOR, "40d note pay", f"{RENEWS} 1 Mar 2026."),
        (
            BILLED,
            "5d pause 40d resume",
            f"Active: {PRICE}. INV-2026-000001, 59.00 EUR, has been overdue since 31 Jan 2026. It"
            " renews on 1 Mar 2026.",
        ),
        (BILLED, "40d note", f"Past due since 1 Feb 2026. {OVERDUE} {BECOMES_DUE}"),
    ],
)
def test_the_words_of_each_life(
    sandbox: Sandbox, begins: dict[str, Any], steps: str, words: str
) -> None:
    """A status's start and next steps with their times; unrelated changes change neither."""
    sandbox.settings(tax_rate=18)
    id = sandbox.subscribe(**{"plan": sandbox.plan(currency="EUR")["id"], **begins})["id"]
    sandbox.settle()
    path = f"/subscriptions/{id}/"
    for step in steps.split():
        if step[0].isdigit():
            sandbox.advance(step)
        elif step == "note":
            sandbox.api.patch(path, {"metadata": {"note": "changed later"}})
        elif step == "move":
            sandbox.api.patch(path, {"plan": sandbox.plan(amount=9000, currency="EUR")["id"]})
        elif step == "pay":
            sandbox.buy(sandbox.api.get("/invoices/", status="uncollectible")["data"][0], CARD)
        else:
            body = {"cancel_at_period_end": True} if step == "cancel-later" else {}
            sandbox.api.post(f"{path}{step.removesuffix('-later')}/", body)
    summary = sandbox.control.get(f"/explain/{id}")["summary"]
    assert re.sub(r"\s", " ", summary) == words
