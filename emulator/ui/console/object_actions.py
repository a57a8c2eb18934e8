"""What a person can do with an object on its page: operations of the service, each with what it will do.

Next steps are the two or three things that one would do now with an object, in its present state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from emulator.core.records import N_
from emulator.document.paths import fixture

# -- operations


class ObjectAction(NamedTuple):
    """One request, as ``fixtures/object-actions.yaml`` describes it."""

    method: str
    path: str
    label: str
    consequence: str
    values: Sequence[Any]
    field: str = "status"
    fields: Mapping[str, str] = {}
    unless: str = ""
    asks_amount: bool = False
    danger: bool = False
    is_next: bool = False
    refrain: str = N_("Cancel")

    def fits(self, object: Mapping[str, Any]) -> bool:
        """Return whether the state of an object allows it."""
        return object.get(self.field) in self.values and not object.get(self.unless)


OBJECT_ACTIONS: Mapping[str, Mapping[str, ObjectAction]] = {
    kind: {name: ObjectAction(**fields) for name, fields in actions.items()}
    for kind, actions in fixture("object-actions").items()
}
"""By kind and name."""


# -- next steps


INBOX = "/_emulator/inbox/"

LET_SUCCEED = N_("Make the next payment succeed")
LET_FAIL = N_("Make the next payment fail")
ADD_CARD = N_("Add a card that works")

CARD = {
    "type": "bank_card",
    "number": "4242424242424242",
    "exp_month:number": "12",
    "exp_year:number": "2040",
    "cvc": "123",
}
"""A card that works (B-54)."""


class NextStep(NamedTuple):
    """One form: ``action`` is one of the console's actions, ``consequence`` says what it will do."""

    action: str
    label: str
    consequence: str
    fields: Mapping[str, str]


def next_steps(object: Mapping[str, Any], url: str = "") -> list[NextStep]:
    """Return the actions to offer for an object; ``url`` is that of the endpoint of a delivery."""
    kind = object["object"]
    if kind == "webhook_delivery":
        return [*_delivery(object, url)]
    customer = object["id"] if kind == "customer" else object.get("customer")
    if not customer or kind not in ("customer", "subscription", "invoice", "payment_intent", "checkout_session"):
        return []
    steps = [*_failing(object, customer)] if _is_failing(object) else [*_going(object, customer)]
    return steps[:3]


class Button(NamedTuple):
    """A step, or an offer with its name; the first button of an object is its primary one, unless it is dangerous."""

    step: NextStep | None
    name: str
    offer: ObjectAction | None
    primary: bool = False


def buttons(object: Mapping[str, Any], url: str = "") -> list[Button]:
    """Return the buttons of an object in its present state: the next step, others, operations, dangerous ones last."""
    actions = OBJECT_ACTIONS.get(object["object"], {})
    offers = [Button(None, name, action) for name, action in actions.items() if action.fits(object)]
    offers.sort(key=lambda each: each.offer is not None and (each.offer.danger, not each.offer.is_next))
    steps = [Button(step, step.action, None) for step in next_steps(object, url)]
    upcoming = sum(each.offer is not None and each.offer.is_next for each in offers)
    found = [*offers[:upcoming], *steps, *offers[upcoming:]]
    if found and not (found[0].offer and found[0].offer.danger):
        found[0] = found[0]._replace(primary=True)
    return found


def _is_failing(object: Mapping[str, Any]) -> bool:
    return object.get("status") in ("past_due", "unpaid", "payment_failed") or bool(object.get("last_error"))


def _failing(object: Mapping[str, Any], customer: str) -> Iterator[NextStep]:
    if object.get("status") != "unpaid":
        yield _outcome(customer, LET_SUCCEED, "succeeded")
    yield _card(customer)


def _going(object: Mapping[str, Any], customer: str) -> Iterator[NextStep]:
    if object.get("status") in ("active", "trialing") and (end := object.get("current_period_end")):
        label = N_("Advance to the trial’s end") if object["status"] == "trialing" else N_("Advance to the renewal")
        yield NextStep("advance", label, N_("The clock moves to the end of the period."), {"to": end})
    if object["object"] in ("customer", "subscription") or object.get("status") in ("open", "draft"):
        yield _outcome(customer, LET_FAIL, "failed")
    if object["object"] == "customer":
        yield _card(customer)


def _outcome(customer: str, label: str, result: str) -> NextStep:
    consequence = {
        "succeeded": N_("The next payment of this customer succeeds, whatever it is made with."),
        "failed": N_("The next payment of this customer fails, whatever it is made with."),
    }[result]
    fields = {"operation": "payment", "result": result, "times:number": "1", "match.customer": customer}
    return NextStep("outcome", label, consequence, fields)


def _card(customer: str) -> NextStep:
    consequence = N_("The customer gets a card, …4242. Subscriptions charge it once it is the default.")
    return NextStep("add_card", ADD_CARD, consequence, {**CARD, "customer": customer})


def _delivery(object: Mapping[str, Any], url: str) -> Iterator[NextStep]:
    path = urlsplit(url).path
    if object["status"] == "failed":
        consequence = N_("A failed delivery is attempted once more, now.")
        yield NextStep("retry", N_("Replay"), consequence, {"_id": object["id"], "_of": object["webhook"]})
    elif at := object.get("next_attempt_at"):
        yield NextStep(
            "advance", N_("Advance to the next attempt"), N_("The clock moves to the next attempt."), {"to": at}
        )
    if object["status"] != "succeeded" and path.startswith(INBOX):
        consequence = N_("The inbox behind this endpoint accepts what is sent to it.")
        yield NextStep("clear_response", N_("Let the inbox answer 200"), consequence, {"_id": path.removeprefix(INBOX)})
