"""Random walks through a world: what is said of its objects holds, and steps keep their promises.

After each step some objects are explained. Each sentence is one of the table whose proof holds
(:mod:`proofs_of_sentences`), nothing that is owed, planned or under way is left unsaid, and a step
that is taken in a snapshot brings what its label promises (:mod:`proofs_of_steps`).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from contract_tests.simulator import proofs, proofs_of_sentences, proofs_of_steps
from contract_tests.simulator.population import METHODS, Walker
from contract_tests.simulator.proofs import Object, View
from contract_tests.simulator.proofs_of_steps import Taken
from contract_tests.simulator.unsaid import unsaid
from emulator.testing import Emulator, LocalServer, RequestRefused

KINDS = tuple(proofs_of_sentences.BY_KIND)
EXPLAINED = 6
"""The objects that are explained after each step."""

CHANGED = 8
"""How much likelier an object is explained if it has changed since the step before."""

SETTINGS: Mapping[str, Sequence[Any]] = {
    "mobile_money": ("auto", "auto", "handset"),
    "operator_delay": (0, 0, 3600, 300_000),
    "refund_review": (False, True),
    "refund_timing": ("documented", "documented", "instant"),
    "refund_expiry_days": (1, 30),
    "confirmation_timeout": (60, 900, 86_400),
    "renewal_retry_days": ([1, 3, 5, 7], [1, 3, 5, 7], [2], []),
    "tax_rate": (0, 18),
}
ASSUMPTIONS = {
    "payment_received": ("intent", "intent", "transaction"),
    "past_due_periods": ("skipped", "charged"),
    "renewal_without_method": ("invoice", "fail"),
}
PHONES = (*(f"+2417700000{digit}" for digit in (0, 1, 3, 6, 8, 9)), "+24177123456")
TRANSFER = {"type": "bank_transfer", "iban": "FR7630006000011234567890189"}
UNANSWERED = {"type": "mobile_money", "phone": "+24177000009"}
"""A phone whose refunds have no answer."""
CLOSE = "expireCheckoutSession"
LINES = [{"description": "Basket", "quantity": 1, "unit_amount": 2500}]
SHOP = {"success_url": "https://shop.example.com/", "line_items": LINES}


def begin(emulator: Emulator, chance: random.Random, seed: int) -> None:
    api = emulator.api
    clock = chance.choice(("2026-01-31T10:00:00Z", "2026-03-05T09:00:00Z"))
    api.post("/_emulator/reset", {"clock": f"frozen@{clock}", "seed": seed})
    settings = {name: chance.choice(values) for name, values in SETTINGS.items()}
    assumptions = {name: chance.choice(values) for name, values in ASSUMPTIONS.items()}
    api.patch("/_emulator/app", {"settings": {**settings, "assumptions": assumptions}})
    app = emulator.api.get("/_emulator/app")["name"]
    url = f"{emulator.url}/_emulator/inbox/shop?app={app}"
    types = ["customer.created", "invoice.paid", "subscription.payment_failed"]
    if chance.random() < 0.7:
        api.post("/v1/webhooks/", {"name": "Shop", "url": url, "events": types})
        _answer(emulator, chance)


def _answer(emulator: Emulator, chance: random.Random) -> None:
    status = chance.choice((200, 200, 404, 500))
    emulator.api.call("PUT", "/_emulator/inbox/shop/response", json={"status": status})


# -- what happens beside the operations of the population


def _newest(emulator: Emulator, kind: str, chance: random.Random, **filters: Any) -> Object:
    rows = emulator.api.get("/_emulator/objects", kind=kind, page_size=8, **filters)["data"]
    if not rows:
        raise LookupError(kind)
    return chance.choice(rows)


def subscriber(emulator: Emulator, chance: random.Random) -> None:
    """A customer with a method and a subscription, charged or by invoice."""
    phone = {"phone": chance.choice(PHONES)}
    number = chance.randrange(10**9)
    customer = emulator.api.post(
        "/v1/customers/", {"email": f"a{number}@example.com", "name": "Awa", **phone}
    )
    currency = chance.choice(("XAF", "XAF", "EUR"))
    method = chance.choice([{"type": "mobile_money", **phone}, *METHODS])
    if chance.random() < 0.9:
        emulator.api.post(
            "/v1/payment-methods/", {"customer": customer["id"], "is_default": True, **method}
        )
    terms = {
        "interval": chance.choice(("week", "month", "month")),
        "collection_method": chance.choice(("charge_automatically",) * 3 + ("send_invoice",)),
        "cancel_at_period_end": chance.random() < 0.15,
    }
    now = emulator.api.get("/_emulator/clock")["now"]
    if chance.random() < 0.3:
        terms["ends_at"] = f"{now[:5]}{int(now[5:7]) + chance.choice((1, 2)):02}-11T00:00:00Z"
    if chance.random() < 0.25:
        terms["trial_period_days"] = chance.choice((3, 20))
    made = emulator.api.post(
        "/v1/subscriptions/",
        {"customer": customer["id"], "unit_amount": 5900, "currency": currency, **terms},
    )
    if terms["cancel_at_period_end"] and chance.random() < 0.3:
        both = {"ends_at": made["current_period_end"]}
        emulator.api.patch(f"/_emulator/objects/{made['id']}", both)


def draft(emulator: Emulator, chance: random.Random) -> None:
    customer = _newest(emulator, "customer", chance)["id"]
    emulator.api.post(
        "/v1/invoices/", {"customer": customer, "currency": "EUR", "line_items": LINES}
    )


def setup(emulator: Emulator, chance: random.Random) -> None:
    """A session that saves a method: a card that is checked, or a phone whose owner is slow."""
    customer = _newest(emulator, "customer", chance)["id"]
    made = emulator.api.post(
        "/v1/checkout-sessions/",
        {"customer": customer, "mode": "setup", "currency": "XAF", "line_items": []},
    )
    method = chance.choice((METHODS[2], {"type": "mobile_money", "phone": "+24177000006"}))
    emulator.api.post(f"/_emulator/checkout-sessions/{made['id']}/pay", {"method": method})


def link(emulator: Emulator, chance: random.Random) -> None:
    """A link that is limited, and payments on it."""
    now = emulator.api.get("/_emulator/clock")["now"]
    soon = f"{now[:11]}{'23:59:59' if now[11:13] < '23' else '23:59:59.999'}Z"
    limits = chance.choice(
        (
            {"validity_type": "one_time"},
            {"validity_type": "limited", "max_usage": 3},
            *({"validity_type": "limited", "expires_at": soon},) * 2,
            {},
        )
    )
    made = emulator.api.post(
        "/v1/payment-links/",
        {"payment_link_type": "custom", "currency": "XAF", "amount": 2500, **limits},
    )
    buyer = {"customer": {"name": "Awa", "email": "awa@example.com"}}
    for _ in range(chance.choice((0, 1, 1, 2))):
        method = chance.choice(METHODS)
        emulator.api.post(f"/_emulator/payment-links/{made['id']}/pay", {"method": method, **buyer})


def transfers(emulator: Emulator, chance: random.Random) -> None:
    """Payments of one customer in two currencies: some at once, some that settle later."""
    customer = _newest(emulator, "customer", chance)["id"]
    paid_with = chance.choice((*METHODS[:3], TRANSFER, TRANSFER, UNANSWERED))
    stored = emulator.api.post("/v1/payment-methods/", {"customer": customer, **paid_with})["id"]
    capture = chance.choice(("automatic", "automatic", "manual"))
    for currency in chance.choice((("XAF",), ("XAF", "EUR"))):
        made = emulator.api.post(
            "/v1/payment-intents/",
            {
                "amount": 5000,
                "currency": currency,
                "customer": customer,
                "payment_method": stored,
                "capture_method": capture,
            },
        )
        emulator.api.post(f"/v1/payment-intents/{made['id']}/confirm/", {})

    if paid_with is TRANSFER and chance.random() < 0.5:
        id = _newest(emulator, "transaction", chance, status="pending")["id"]
        if chance.random() < 0.5:
            emulator.api.post(f"/v1/transactions/{id}/cancel/")
        else:
            intent = emulator.api.get(f"/v1/transactions/{id}/")["payment_intent"]
            emulator.api.post(f"/_emulator/payment-intents/{intent}/answer", {"result": "failed"})


def unanswered(emulator: Emulator, chance: random.Random) -> None:
    """A refund that the operator never answers, of a buyer who paid just this."""
    mail = f"b{chance.randrange(10**9)}@example.com"
    buyer = emulator.api.post("/v1/customers/", {"email": mail, "name": "Bo"})["id"]
    stored = emulator.api.post("/v1/payment-methods/", {"customer": buyer, **UNANSWERED})["id"]
    body = {"amount": 5000, "currency": "XAF", "customer": buyer, "payment_method": stored}
    id = emulator.api.post("/v1/payment-intents/", body)["id"]
    emulator.api.post(f"/v1/payment-intents/{id}/confirm/", {})
    path = f"/_emulator/payment-intents/{id}/answer"
    with suppress(RequestRefused):
        emulator.api.post(path, {"result": "succeeded"})
    paid = emulator.api.get(f"/v1/payment-intents/{id}/")["transaction"]
    emulator.api.post("/v1/refunds/", {"transaction": paid, "amount": 1})


def dunning(emulator: Emulator, chance: random.Random) -> None:
    """A subscription that owes something is canceled, collected by invoice, or given an end."""
    status = chance.choice(("past_due", "past_due", "unpaid"))
    id = _newest(emulator, "subscription", chance, status=status)["id"]
    now = emulator.api.get("/_emulator/clock")["now"]
    match chance.choice(("cancel", "collect", "end")):
        case "cancel":
            emulator.api.post(f"/v1/subscriptions/{id}/cancel/", {})
        case "collect":
            body = {"collection_method": "send_invoice"}
            emulator.api.patch(f"/v1/subscriptions/{id}/", body)
        case "end":
            ends_at = f"{int(now[:4]) + 1}{now[4:]}"
            emulator.api.patch(f"/_emulator/objects/{id}", {"ends_at": ends_at})


def refunds(emulator: Emulator, chance: random.Random) -> None:
    paid = _newest(emulator, "transaction", chance, status="completed")
    for _ in range(chance.choice((1, 1, 2))):
        body = {"transaction": paid["id"], "amount": 1 + paid["amount"] // 5}
        made = emulator.api.post("/v1/refunds/", body)
    if made["status"] == "pending" and chance.random() < 0.4:
        emulator.api.post(f"/v1/refunds/{made['id']}/cancel/")


def prompt(emulator: Emulator, chance: random.Random) -> None:
    """A buyer answers a prompt on the phone."""
    prompted = _newest(emulator, "payment_intent", chance, status="requires_action")
    number = (prompted["next_action"] or {}).get("phone")
    if number:
        answer = chance.choice(("approve", "reject", "ignore"))
        emulator.api.post(f"/_emulator/phones/{number}/answer", {"answer": answer})


def product(emulator: Emulator, chance: random.Random) -> None:
    made = emulator.api.post(
        "/v1/products/", {"name": "Basket", "unit_amount": 700, "currency": "XAF"}
    )
    if chance.random() < 0.5:
        emulator.api.patch(f"/v1/products/{made['id']}/", {"active": False})


def checkout(emulator: Emulator, chance: random.Random) -> None:
    """A session that a buyer pays or tries to pay, or that expires soon."""
    body = {**SHOP, "currency": "XAF", "expires_in": chance.choice((1800, 86_400))}
    made = emulator.api.post("/v1/checkout-sessions/", body)
    if chance.random() < 0.65:
        phone = {"type": "mobile_money", "phone": chance.choice(PHONES)}
        method = chance.choice((phone, *METHODS))
        emulator.api.post(f"/_emulator/checkout-sessions/{made['id']}/pay", {"method": method})
    elif chance.random() < 0.7:
        emulator.api.post(f"/v1/checkout-sessions/{made['id']}/expire/", {})


def unconfirmed(emulator: Emulator, chance: random.Random) -> None:
    """A payment that has no method yet, or is not confirmed."""
    stored = _newest(emulator, "payment_method", chance, status="active")
    own = {"customer": stored["customer"], "payment_method": stored["id"]}
    method_fields = own if chance.random() < 0.5 else {}
    emulator.api.post("/v1/payment-intents/", {"amount": 5000, "currency": "XAF", **method_fields})


def dispute(emulator: Emulator, chance: random.Random) -> None:
    """A buyer disputes a payment of which a refund is under way, and maybe wins."""
    paid = _newest(emulator, "transaction", chance, status="completed")
    emulator.api.post("/v1/refunds/", {"transaction": paid["id"], "amount": 1})
    path = f"/_emulator/objects/{paid['id']}"
    emulator.api.patch(path, {"status": "disputed"})
    if chance.random() < 0.5:
        emulator.api.patch(path, {"status": "failed"})


def endpoint(emulator: Emulator, chance: random.Random) -> None:
    """An endpoint that gets nothing, or one whose next webhook is held back."""
    app = emulator.api.get("/_emulator/app")["name"]
    url = f"{emulator.url}/_emulator/inbox/other?app={app}"
    types = [chance.choice(("product.updated", "customer.created"))]
    emulator.api.post("/v1/webhooks/", {"name": "Other", "url": url, "events": types})
    if chance.random() < 0.5:
        emulator.api.post("/_emulator/faults", {"then": {"overlap": "same_type"}})


def arrange(emulator: Emulator, chance: random.Random) -> None:
    """The next payment of one customer, or of any, ends as a tester wants."""
    known = _newest(emulator, "customer", chance)["id"]
    customer = chance.choice((None, known, known))
    body = {"operation": "payment", "result": chance.choice(("succeeded", "failed"))}
    emulator.api.post("/_emulator/outcomes", {**body, "match": {"customer": customer}})
    if customer:
        session = {**SHOP, "currency": "XAF", "customer": customer}
        emulator.api.post("/v1/checkout-sessions/", session)


def respond(emulator: Emulator, chance: random.Random) -> None:
    _answer(emulator, chance)


DIRECT: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("subscription", {"status": "past_due"}),
    ("subscription", {"status": "unpaid"}),
    ("subscription", {"status": "paused"}),
    ("customer", {"is_blacklisted": True}),
    *(("payment_intent", {"status": "processing"}),) * 2,
    ("invoice", {"status": "paid"}),
    ("invoice", {"due_date": None}),
    *((kind, {"metadata": {"note": "late"}}) for kind in ("invoice", "payment_intent")),
    ("transaction", {"status": "approved"}),
    ("transaction", {"status": "disputed"}),
    ("transaction", {"status": "failed"}),
    ("refund", {"status": "processing"}),
    ("payment_method", {"status": "expired"}),
    ("webhook_endpoint", {"enabled": False}),
)


def directly(emulator: Emulator, chance: random.Random) -> None:
    """A tester sets a status: what nothing led to has no instants and no jobs."""
    kind, fields = chance.choice(DIRECT)
    id = _newest(emulator, kind, chance)["id"]
    emulator.api.patch(f"/_emulator/objects/{id}", fields)


def block(emulator: Emulator, chance: random.Random) -> None:
    id = _newest(emulator, "customer", chance)["id"]
    emulator.api.patch(f"/_emulator/objects/{id}", {"is_blacklisted": True})


def free(emulator: Emulator, chance: random.Random) -> None:
    """An invoice of nothing, which is paid as soon as it is finalized."""
    lines = [{"description": "Sample", "quantity": 1, "unit_amount": 0}]
    customer = _newest(emulator, "customer", chance)["id"]
    made = emulator.api.post(
        "/v1/invoices/", {"customer": customer, "currency": "EUR", "line_items": lines}
    )
    emulator.api.post(f"/v1/invoices/{made['id']}/finalize/", {})


def until_next(emulator: Emulator, chance: random.Random) -> None:
    emulator.api.post("/_emulator/clock/advance", {"until": "next"})


Scene = Callable[[Emulator, random.Random], None]
SCENES: Mapping[Scene, int] = {
    subscriber: 6,
    draft: 1,
    setup: 1,
    link: 3,
    transfers: 3,
    refunds: 3,
    unanswered: 1,
    dunning: 3,
    prompt: 3,
    product: 1,
    respond: 1,
    arrange: 2,
    checkout: 3,
    unconfirmed: 1,
    dispute: 1,
    endpoint: 2,
    block: 1,
    free: 1,
    directly: 4,
    until_next: 4,
}


# -- one walk


def view(emulator: Emulator) -> View:
    objects: dict[str, Object] = {}
    for kind in (*KINDS, "subscription_plan"):
        for one in emulator.api.oldest("/_emulator/objects", kind=kind):
            objects[one["id"]] = one
    jobs = list(emulator.api.newest("/_emulator/schedule"))
    return View(objects, jobs, emulator.api.get("/_emulator/clock")["now"])


def tell(server: LocalServer, seed: int, steps: int, reached: Counter[str]) -> Iterator[str]:
    """Yield each false or missing sentence of a walk, and each promise that is not kept.

    ``reached`` counts the rows of both tables that were met.
    """
    chance = random.Random(seed)
    with Emulator(key=f"sk_test_tell{seed}", server=server) as emulator:
        begin(emulator, chance, seed)
        walker = Walker(emulator, seed)
        subscriber(emulator, chance)
        known: dict[str, Object] = {}
        closed: set[str] = set()
        for number in range(steps):
            with suppress(LookupError, RequestRefused):
                if chance.random() < 0.6:
                    [scene] = chance.choices([*SCENES], [*SCENES.values()])
                    scene(emulator, chance)
                else:
                    walker.step()
            emulator.api.post("/_emulator/clock/advance", {"by": "0s"})
            where = f"walk {seed}, step {number}"
            # Noted before a step is taken: a restored snapshot has no requests.
            for request in emulator.api.oldest("/_emulator/requests", status="200"):
                if request["operation"] == CLOSE:
                    closed.add(request["path"].split("/")[3])
                elif request["operation"] == "updateObject":
                    # A tester may open a closed session again, which then expires in its time.
                    closed.discard(request["path"].split("/")[3])
            faults = examine(emulator, chance, reached, known, closed)
            yield from (f"{where}: {wrong}" for wrong in faults)


def examine(
    emulator: Emulator,
    chance: random.Random,
    reached: Counter[str],
    known: dict[str, Object],
    closed: set[str],
) -> Iterator[str]:
    """Examine some objects and a step; those that differ from the ``known`` ones first."""
    world = view(emulator)._replace(closed=closed)
    told = [one for one in world.objects.values() if one["object"] in KINDS]
    kinds = Counter(one["object"] for one in told)
    # Kinds with few objects are met as often as events and deliveries.
    weights = [
        (1 if one == known.get(one["id"]) else CHANGED) / kinds[one["object"]] for one in told
    ]
    known.clear()
    known.update(world.objects)
    chosen = {one["id"]: one for one in chance.choices(told, weights, k=EXPLAINED)}
    offered: list[tuple[Object, Any]] = []
    for one in chosen.values():
        explanation = emulator.api.get(f"/_emulator/explain/{one['id']}")
        yield from sentences(world, one, re.sub(r"\s", " ", explanation["summary"]), reached)
        offered += [(one, step) for step in explanation["next_steps"]]
    if offered:
        rarest = min(reached[_name(*pair)] for pair in offered)
        rare = [pair for pair in offered if reached[_name(*pair)] == rarest]
        one, step = chance.choice(rare)
        yield from take(emulator, world, one, step)
        reached[_name(one, step)] += 1


def _name(one: Object, step: Any) -> str:
    return f"{one['object']}: {step['name']}"


def sentences(view: View, one: Object, text: str, reached: Counter[str]) -> Iterator[str]:
    rows = proofs.read(one["object"], text)
    what = f"{one['object']} {one['id']} ({one.get('status')}): {text!r}"
    if rows is None:
        yield f"{what} is made of no rows"
        return
    for name, sentence, words in rows:
        reached[name] += 1
        try:
            wrong = "" if proofs_of_sentences.PROOFS[name](view, one, words) else "false"
        except (LookupError, ValueError) as error:
            wrong = f"false, as {error!r} shows"
        if wrong:
            yield f"{what}: {wrong}: {sentence!r}"
    said = {word for _, _, words in rows for word in words}
    for missing in unsaid(view, one, text, said):
        yield f"{what}: unsaid: {missing}"


def _counts(emulator: Emulator, one: Object, step: Any) -> dict[str, Any]:
    """Return what is counted or set beside objects: emails, prompts, outcomes, an inbox."""

    def count(path: str) -> int:
        return int(emulator.api.get(path, page_size=1)["pagination"]["count"])

    customer = one["id"] if one["object"] == "customer" else one.get("customer")
    arranged = [
        outcome
        for outcome in emulator.api.oldest("/_emulator/outcomes")
        if outcome["operation"] == "payment" and outcome["match"]["customer"] in (None, customer)
    ]
    name = step["path"].split("/")[3:4]
    inboxes = emulator.api.get("/_emulator/inboxes")["data"]
    return {
        "emails": count("/_emulator/emails"),
        "prompts": count(step["path"]) if step["method"] == "GET" else 0,
        "outcome": arranged[0]["result"] if arranged else None,
        "inbox": next(
            ((inbox["status"], inbox["delay_ms"]) for inbox in inboxes if [inbox["name"]] == name),
            None,
        ),
    }


def take(emulator: Emulator, before: View, one: Object, step: Any) -> Iterator[str]:
    """Take a step in a snapshot, and yield what it promises and does not bring."""
    api = emulator.api
    what = f"{one['object']} {one['id']} ({one.get('status')}): {step['label']!r}"
    api.post("/_emulator/snapshots", {"name": "before"})
    counts = _counts(emulator, one, step)
    try:
        if step["method"] != "GET":
            body = {} if step["body"] is None else {"json": step["body"]}
            api.send(step["method"], step["path"], **body)
        api.post("/_emulator/clock/advance", {"by": "0s"})
        if step["name"] in proofs_of_steps.BEGIN_PAYMENTS:
            _answer_payments(emulator, one["id"])
        after = view(emulator)
        now = _counts(emulator, one, step)
        if step["method"] == "GET":
            counts["prompts"] = 0
        both = {name: (counts[name], now[name]) for name in counts}
        taken = Taken(before, after, one, step, both)
        proof = proofs_of_steps.PROOFS[_name(one, step)]
        if not proof(taken):
            yield f"{what} does not bring it: now {_short(taken.now)}, {_short(taken.target)}"
        if proof(taken.untaken):
            yield f"{what} is offered although it is so already: {_short(one)}"
    except RequestRefused as error:
        yield f"{what} is refused: {error}"
    finally:
        api.post("/_emulator/snapshots/before/restore")


def _short(one: Object) -> str:
    """Return the fields that tell the state of an object, if it is still there."""
    told = ("id", "status", "collection_method", "current_period_start", "last_error", "amount")
    return " ".join(f"{name}={one[name]}" for name in told if name in one) or "gone"


def _answer_payments(emulator: Emulator, id: str) -> None:
    """Move to the answers of an object's payments under way, one after the other."""
    for _ in range(12):
        world = view(emulator)
        payments = world.payments(world.objects[id]) if id in world.objects else []
        due = sorted(instant for payment in payments for instant in world.answer_due(payment))
        if not due:
            return
        emulator.api.post("/_emulator/clock/advance", {"to": due[0]})


def rows() -> set[str]:
    """Return every row of both tables."""
    return proofs.rows() | proofs_of_steps.rows()


def without_proof() -> set[str]:
    proven = proofs_of_sentences.PROOFS.keys() | proofs_of_steps.PROOFS.keys()
    return rows() ^ proven
