"""The example shops with one mistake each: what is changed in them, and the sentence of the report that names it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from contract_tests.support.shops import EXAMPLES


class Change(NamedTuple):
    """A piece of a shop's source, and what stands there instead."""

    sound: str
    broken: str


class BrokenShop(NamedTuple):
    """A shop with changes. ``cases`` are enough to find the mistake; ``sentences`` are in the report then."""

    language: str
    mistake: str
    changes: Sequence[Change]
    cases: Sequence[str]
    sentences: Sequence[str]


SOURCES = {"python": "python-shop/shop.py", "node": "node-shop/shop.js"}

UNSAFE = (
    "executed, but its response was lost",
    "1. A request is sent again without an Idempotency-Key",
    "#send-a-request-again",
)
NEW_KEY = ("executed, but its response was lost", "1. A request is sent again with another Idempotency-Key")
FORGED = ("delivered after a forged copy of it", "A webhook that was tampered with was accepted")
LIMITED = ("answered 429 with Retry-After\n        ", "the scenario fails: ", "#wait-when-you-are-asked-to")
REFUSED = ("A request with a permanent error was sent again unchanged",)
TWO_REFUNDS = ("The scenario fails without any fault", "2 refunds were made of one")


def _python(mistake: str, changes: Sequence[Change], cases: Sequence[str], sentences: Sequence[str]) -> BrokenShop:
    return BrokenShop("python", mistake, changes, cases, sentences)


def _node(mistake: str, changes: Sequence[Change], cases: Sequence[str], sentences: Sequence[str]) -> BrokenShop:
    return BrokenShop("node", mistake, changes, cases, sentences)


PYTHON_SHOPS = (
    _python(
        "no Idempotency-Key",
        [
            Change("key = key or str(uuid.uuid4())", ""),
            Change('"Idempotency-Key": key}', '**({"Idempotency-Key": key} if key else {})}'),
        ],
        ["2:drop-after"],
        ["POST /v1/checkout-sessions/: ", *UNSAFE],
    ),
    _python(
        "another Idempotency-Key for each attempt",
        [
            Change("key = key or str(uuid.uuid4())", ""),
            Change('"Idempotency-Key": key}', '"Idempotency-Key": key or str(uuid.uuid4())}'),
        ],
        ["2:drop-after"],
        ["POST /v1/checkout-sessions/: ", *NEW_KEY],
    ),
    _python(
        "webhooks trusted without verification",
        [Change("if not hmac.compare_digest(signature.encode(), expected.encode()):", "if not expected:")],
        ["2:forged"],
        ["checkout.session.completed: ", *FORGED],
    ),
    _python(
        "an event handled twice",
        [
            Change('if event["id"] not in self.handled:', "if event:"),
            Change(
                'if order["status"] != "paid":\n            order["status"] = "paid"',
                'if order:\n            order["status"] = "paid"',
            ),
        ],
        ["2:twice", "2:answered-late"],
        [
            "checkout.session.completed: delivered twice\n",
            "4 baskets were shipped of 2",
            "#handle-an-event-once",
        ],
    ),
    _python(
        "an older event undoes a newer one",
        [
            Change(
                ' and order["status"] != "paid":\n            order["status"] = "declined"',
                ':\n            order["status"] = "declined"',
            )
        ],
        ["1:swapped"],
        [
            "payment_intent.failed: delivered after the next one\n",
            "the scenario fails: ",
            "#take-events-in-any-order",
        ],
    ),
    _python(
        "a payment assumed from the return of the buyer",
        [
            Change(
                '        self._look_up(id)\n        return self.orders[id]["status"]',
                '        self._ship(self.orders[id])\n        return "open"',
            )
        ],
        [],
        ["The scenario fails without any fault", "an order was shipped that nobody paid"],
    ),
    _python(
        "a 429 not tried again",
        [Change(" and error.code != 429", "")],
        ["2:throttled"],
        ["POST /v1/checkout-sessions/: ", *LIMITED],
    ),
    _python(
        "the amount taken from the client",
        [
            Change("def order(self, email, baskets):", "def order(self, email, baskets, price=PRICE):"),
            Change('"unit_amount": PRICE', '"unit_amount": price'),
            Change('wish["baskets"])}', 'wish["baskets"], wish["price"])}'),
        ],
        [],
        ["The scenario fails without any fault", "the buyer paid 200 for what costs 4000"],
    ),
    _python("a refund asked for twice", [Change(', key=f"refund-{id}-{amount}")', ")")], [], TWO_REFUNDS),
    _python(
        "a 4xx tried again without end",
        [Change("error.code < 500 and error.code != 429", "error.code == 418")],
        ["2:slow"],
        REFUSED,
    ),
)

NODE_SHOPS = (
    _node(
        "no Idempotency-Key",
        [
            Change("body, key = randomUUID())", "body, key)"),
            Change('"idempotency-key": key }', '...(key && { "idempotency-key": key }) }'),
        ],
        ["4:drop-after"],
        ["POST /v1/subscriptions/: ", *UNSAFE],
    ),
    _node(
        "another Idempotency-Key for each attempt",
        [
            Change("body, key = randomUUID())", "body, key)"),
            Change('"idempotency-key": key }', '"idempotency-key": key ?? randomUUID() }'),
        ],
        ["4:drop-after"],
        ["POST /v1/subscriptions/: ", *NEW_KEY],
    ),
    _node(
        "webhooks trusted without verification",
        [Change('event.type === "webhook.ping" || this.#signed(request.headers["service-signature"], body)', "true")],
        ["1:forged"],
        ["transaction.succeeded: ", *FORGED],
    ),
    _node(
        "an event handled twice",
        [Change(" && !this.counted.has(id)", "")],
        ["1:twice", "1:answered-late"],
        ["transaction.succeeded: delivered twice\n", "2 months were counted of one", "#handle-an-event-once"],
    ),
    _node(
        "an older event undoes a newer one",
        [
            Change("if (at < this.latest.get(customer)) return;", ""),
            Change('this.members.get(customer) !== "active"', "!this.members.has(customer)"),
        ],
        ["2:swapped"],
        [
            "subscription.payment_failed: delivered after the next one\n",
            "a member who paid is overdue",
            "#take-events-in-any-order",
        ],
    ),
    _node(
        "a payment assumed from the return of the buyer",
        [
            Change(
                "    return customer;\n  }\n\n  // Pays",
                '    this.members.set(customer.id, "active");\n    return customer;\n  }\n\n  // Pays',
            ),
            Change('if (type === "subscription.payment_failed") this.members.set(customer, "overdue");', ""),
        ],
        [],
        ["The scenario fails without any fault", "a member came in who had not paid"],
    ),
    _node(
        "a 429 not tried again",
        [Change(" && answer.status !== 429", "")],
        ["4:throttled"],
        ["POST /v1/subscriptions/: ", *LIMITED],
    ),
    _node(
        "the amount taken from the client",
        [
            Change("async signUp({ email, phone })", "async signUp({ email, phone, price = 5000 })"),
            Change("plan: this.plan.id }", 'unit_amount: price, interval: "month" }'),
        ],
        [],
        ["The scenario fails without any fault", "the member paid 100 for what costs 5000"],
    ),
    _node("a refund asked for twice", [Change(", `refund-${transaction}-${amount}`)", ")")], [], TWO_REFUNDS),
    _node(
        "a 4xx tried again without end",
        [Change("(answer.status < 500 && answer.status !== 429)", "answer.status === 418")],
        ["4:slow"],
        REFUSED,
    ),
)


def source(shop: BrokenShop) -> str:
    """Return the source of a shop with its mistake."""
    text = (EXAMPLES / SOURCES[shop.language]).read_text("utf-8")
    for sound, broken in shop.changes:
        assert text.count(sound) == 1, f"{shop.language}, {shop.mistake}: {text.count(sound)} times {sound!r}"
        text = text.replace(sound, broken)
    return text


def write(shop: BrokenShop, folder: Path) -> None:
    """Copy the example, with the mistake, to a new folder."""
    file = Path(SOURCES[shop.language])
    shutil.copytree(EXAMPLES / file.parent, folder)
    (folder / file.name).write_text(source(shop), "utf-8")
