"""The population: what clients, buyers and testers ask of a world, each kind of request once.

An operation yields its requests, one after the other, and is given the response to each; ``pick``
gives it one of the newest objects of a kind. So the simulator plays it within its event loop, and
:class:`Walker` over HTTP.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from emulator.testing import Emulator, RequestRefused

Request = tuple[str, str, Any]
Requests = Generator[Request, Any, None]
Pick = Callable[[str, int], Any]

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "tax": {"tax_rate": 18},
    "commission": {"commission_rate": 1.5, "pricing_plan": "starter"},
    "instant refunds": {"refund_timing": "instant"},
    "reviewed refunds": {"refund_review": True, "refund_expiry_days": 1},
    "slow operator": {"operator_delay": 120},
    "very slow operator": {"operator_delay": 300_000},
    "no retries": {"renewal_retry_days": []},
    "flat errors": {"error_shape": "flat", "unknown_fields": "ignore"},
    "paid by transaction": {"assumptions": {"payment_received": "transaction"}},
    "charged while past due": {
        "assumptions": {"past_due_periods": "charged", "renewal_without_method": "fail"}
    },
}
"""The settings that worlds start with."""

STARTS = ("2026-01-31T00:00:00Z", "2028-02-29T12:00:00Z", "2026-12-31T23:59:59.999Z")
SPANS = ("0s", "1s", "3m", "1h", "12h", "1d", "2d", "5d", "10d", "31d")
NUMBERS = range(5)


def _card(number: str, exp_year: int = 2035) -> dict[str, Any]:
    return {
        "type": "bank_card",
        "number": number,
        "exp_month": 3,
        "exp_year": exp_year,
        "cvc": "123",
    }


METHODS = (
    *map(
        _card,
        (
            "4242424242424242",
            "4000000000000077",
            "4000000000003220",
            "4000000000009995",
            "4000000000000259",
        ),
    ),
    _card("5555555555554444", 2026),
    *({"type": "mobile_money", "phone": f"+2417700000{digit}"} for digit in (0, 1, 3, 6, 8)),
    {"type": "bank_transfer", "iban": "FR7630006000011234567890189"},
    {"type": "paypal", "email": "awa@example.com"},
)

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "invoices": ("finalize", "send", "void", "pay"),
    "subscriptions": ("pause", "resume", "cancel", "reactivate"),
    "payment-intents": ("confirm", "cancel", "capture"),
    "transactions": ("cancel",),
    "refunds": ("cancel",),
    "checkout-sessions": ("expire",),
    "payment-links": ("archive", "restore"),
}
"""What can be done to the objects of a list without a body."""

LINES = [
    [{"description": "Basket", "quantity": quantity, "unit_amount": amount}]
    for quantity, amount in ((1, 700), (3, 1999))
]

SHOP = "https://shop.example.com/"
AUTOMATIC, BY_INVOICE = "charge_automatically", "send_invoice"


class Operation(NamedTuple):
    """How often it is drawn, the values that each of its data may have, and its requests."""

    weight: int
    values: Mapping[str, Any]
    requests: Callable[..., Requests]


OPERATIONS: dict[str, Operation] = {}
"""By name."""


def operation(
    weight: int, **values: Any
) -> Callable[[Callable[..., Requests]], Callable[..., Requests]]:
    def register(requests: Callable[..., Requests]) -> Callable[..., Requests]:
        OPERATIONS[requests.__name__] = Operation(weight, values, requests)
        return requests

    return register


def path_of(kind: str) -> str:
    return "webhooks" if kind == "webhook_endpoint" else kind.replace("_", "-") + "s"


def kind_of(path: str) -> str:
    return path.removesuffix("s").replace("-", "_")


# -- clients


@operation(4, phone=(0, 0, 1, 3, 6, None))
def customer(pick: Pick, number: int, phone: int | None) -> Requests:
    own = {} if phone is None else {"phone": f"+2417700000{phone}"}
    yield "POST", "/v1/customers/", {"email": f"buyer{number}@example.com", "name": "Awa", **own}


@operation(4, pick=NUMBERS, method=range(len(METHODS)))
def method(pick: Pick, number: int, method: int) -> Requests:
    owner = {"customer": pick("customer", number).id, "is_default": True}
    yield "POST", "/v1/payment-methods/", {**owner, **METHODS[method]}


@operation(
    3,
    pick=NUMBERS,
    amount=(100, 5000),
    interval=("day", "week", "month", "month", "year"),
    trial=(0, 0, 5),
    collection=(AUTOMATIC, AUTOMATIC, BY_INVOICE),
    ends=(None, None, None, "2026-02-10T00:00:00Z", "2028-04-01T00:00:00Z"),
)
def subscribe(
    pick: Pick,
    number: int,
    amount: int,
    interval: str,
    trial: int,
    collection: str,
    ends: str | None = None,
) -> Requests:
    terms = {"unit_amount": amount, "interval": interval, "collection_method": collection}
    free = {"trial_period_days": trial} if trial else {}
    free |= {"ends_at": ends} if ends else {}
    yield "POST", "/v1/subscriptions/", {"customer": pick("customer", number).id, **terms, **free}


@operation(5, pick=NUMBERS, lines=range(len(LINES)), currency=("XAF", "XAF", "EUR"))
def invoice(pick: Pick, number: int, lines: int, currency: str) -> Requests:
    owner = {"customer": pick("customer", number).id}
    body = {**owner, "currency": currency, "line_items": LINES[lines]}
    made = yield "POST", "/v1/invoices/", body
    yield "POST", f"/v1/invoices/{made['id']}/finalize/", None


@operation(4, mode=("payment", "subscription"), lines=range(len(LINES)))
def session(pick: Pick, number: int, mode: str, lines: int) -> Requests:
    sold = {"currency": "XAF", "line_items": LINES[lines], "mode": mode}
    yield "POST", "/v1/checkout-sessions/", {"success_url": SHOP, **sold}


@operation(
    4,
    pick=NUMBERS,
    capture=("automatic", "automatic", "manual"),
    given=(True, True, False),
    confirm=(True, True, False),
)
def intent(pick: Pick, number: int, capture: str, given: bool, confirm: bool) -> Requests:
    stored = pick("payment_method", number)
    own = {"customer": stored.customer, "payment_method": stored.id} if given else {}
    body = {"amount": 5000, "currency": "XAF", "capture_method": capture, **own}
    made = yield "POST", "/v1/payment-intents/", body
    if confirm:
        late = None if given else {"payment_method": stored.id}
        yield "POST", f"/v1/payment-intents/{made['id']}/confirm/", late


@operation(2)
def link(pick: Pick, number: int) -> Requests:
    body = {"payment_link_type": "custom", "currency": "XAF", "amount": 25000}
    yield "POST", "/v1/payment-links/", body


@operation(
    14, pick=NUMBERS, action=[f"{path}/{action}" for path in ACTIONS for action in ACTIONS[path]]
)
def act(pick: Pick, number: int, action: str) -> Requests:
    path, _, name = action.partition("/")
    yield "POST", f"/v1/{path}/{pick(kind_of(path), number).id}/{name}/", None


@operation(3, pick=NUMBERS, amount=(None, None, 1, 300))
def refund(pick: Pick, number: int, amount: int | None) -> Requests:
    own = {} if amount is None else {"amount": amount}
    yield "POST", "/v1/refunds/", {"transaction": pick("transaction", number).id, **own}


@operation(3, pick=NUMBERS, collection=(AUTOMATIC, BY_INVOICE))
def change(pick: Pick, number: int, collection: str) -> Requests:
    id = pick("subscription", number).id
    yield "PATCH", f"/v1/subscriptions/{id}/", {"collection_method": collection}


@operation(2, pick=NUMBERS, later=(True, False))
def end(pick: Pick, number: int, later: bool) -> Requests:
    id = pick("subscription", number).id
    yield "PATCH", f"/v1/subscriptions/{id}/", {"cancel_at_period_end": later}


@operation(3, pick=NUMBERS, phone=(0, 1, 3, 6, None))
def phone(pick: Pick, number: int, phone: int | None) -> Requests:
    own = None if phone is None else f"+2417700000{phone}"
    yield "PATCH", f"/v1/customers/{pick('customer', number).id}/", {"phone": own}


@operation(1, kind=("customer", "payment_method", "webhook_endpoint"), pick=NUMBERS)
def delete(pick: Pick, number: int, kind: str) -> Requests:
    yield "DELETE", f"/v1/{path_of(kind)}/{pick(kind, number).id}/", None


@operation(2, pick=NUMBERS, enabled=(True, True, False))
def endpoint(pick: Pick, number: int, enabled: bool) -> Requests:
    yield "PATCH", f"/v1/webhooks/{pick('webhook_endpoint', number).id}/", {"enabled": enabled}


# -- buyers and testers


@operation(
    10,
    path=("invoices", "checkout-sessions", "payment-links"),
    pick=NUMBERS,
    method=range(len(METHODS)),
)
def pay(pick: Pick, number: int, path: str, method: int) -> Requests:
    buyer = {"customer": {"name": "Awa", "email": "awa@example.com"}} if path != "invoices" else {}
    id = pick(kind_of(path), number).id
    yield "POST", f"/_emulator/{path}/{id}/pay", {"method": METHODS[method], **buyer}


@operation(
    5,
    path=("payment-intents", "refunds"),
    pick=NUMBERS,
    result=("succeeded", "succeeded", "failed"),
)
def answer(pick: Pick, number: int, path: str, result: str) -> Requests:
    yield "POST", f"/_emulator/{path}/{pick(kind_of(path), number).id}/answer", {"result": result}


@operation(2, pick=NUMBERS)
def discounted(pick: Pick, number: int) -> Requests:
    """An invoice with a discount, which only a tester can give (B-89)."""
    body = {"customer": pick("customer", number).id, "line_items": LINES[1], "currency": "XAF"}
    made = yield "POST", "/v1/invoices/", body
    yield "PATCH", f"/_emulator/objects/{made['id']}", {"discount_amount": 997}
    yield "POST", f"/v1/invoices/{made['id']}/finalize/", None


@operation(1)
def limited_link(pick: Pick, number: int) -> Requests:
    body = {"payment_link_type": "custom", "currency": "XAF", "amount": 5000}
    yield "POST", "/v1/payment-links/", {**body, "validity_type": "one_time"}


@operation(1)
def setup(pick: Pick, number: int) -> Requests:
    """A session that saves a method without a charge."""
    body = {"currency": "XAF", "mode": "setup", "success_url": SHOP, "line_items": []}
    yield "POST", "/v1/checkout-sessions/", body


@operation(1, rate=(0, 10, 18))
def tax(pick: Pick, number: int, rate: int) -> Requests:
    """The rate changes between a sum that was promised and its payment."""
    yield "PATCH", "/_emulator/app", {"settings": {"tax_rate": rate}}


def drawn(chance: random.Random, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value(chance) if callable(value) else chance.choice(value)
        for name, value in values.items()
    }


class Walker:
    """A walk through one world by HTTP: operations, clock moves; ``answers`` are the responses."""

    def __init__(self, emulator: Emulator, seed: int) -> None:
        self.emulator = emulator
        self.chance = random.Random(seed)
        self.sent = 0
        self.responses: list[Any] = []

    def step(self) -> str | None:
        """Do one thing; what went wrong inside the emulator."""
        weights = [10, *(operation.weight for operation in OPERATIONS.values())]
        if self.chance.choices(range(len(weights)), weights)[0] == 0:
            moved = self.emulator.api.post(
                "/_emulator/clock/advance", {"by": self.chance.choice(SPANS)}
            )
            assert moved["failures"] == []
            return None
        return self.act()

    def act(self) -> str | None:
        """Do one operation; return an inner failure. A rejection ends the operation and is none."""
        self.sent += 1
        names = [name for name in OPERATIONS if name not in ("endpoint", "tax")]
        name = self.chance.choices(names, [OPERATIONS[candidate].weight for candidate in names])[0]
        try:
            self._do(OPERATIONS[name])
        except RequestRefused as error:
            self.responses.append(str(error))
            return str(error) if error.status >= 500 else None
        except LookupError:
            return None
        return None

    def _do(self, operation: Operation) -> None:
        values = drawn(self.chance, operation.values)
        if values.get("kind") == "webhook_endpoint":
            return  # who listens to the walk goes on listening
        requests = operation.requests(self._pick, values.pop("pick", self.sent), **values)
        response = None
        try:
            while True:
                method, path, body = requests.send(response)
                body = {} if body is None and method == "POST" else body
                response = getattr(self.emulator.api, method.lower())(
                    path, *([] if body is None else [body])
                )
                self.responses.append(response)
        except StopIteration:
            pass

    def _pick(self, kind: str, number: int) -> Any:
        # Methods of payment have no list.
        newest = (
            kind != "payment_method"
            and self.emulator.api.get(f"/v1/{path_of(kind)}/", page_size=5)["data"]
        )
        if not newest:
            raise LookupError(f"there is no {kind} yet")
        return SimpleNamespace(**newest[number % len(newest)])
