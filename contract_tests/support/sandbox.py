"""The sandbox as the tests use it: a server in a thread, and a world of its own for each test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from contract_tests.contract.document import specification
from contract_tests.support.client import Client
from contract_tests.support.contract import contract
from contract_tests.support.quick_client import Connections
from contract_tests.surfaces.coverage.watch import tapped
from emulator.core.event_types import EVENTS
from emulator.server.sandbox import Options
from emulator.server.server import Server
from emulator.server.thread import ServerThread

CHARGED = ("payment_intent.succeeded", "transaction.succeeded", "invoice.paid")
"""The events of one successful charge, in order (B-44)."""

FAILED = ("payment_intent.failed", "subscription.payment_failed")
"""The events of one failed charge of a subscription, in order (B-45)."""

FAILING_PHONE = "+24177000001"
"""A mobile money number without funds (B-54)."""

CARD = {
    "type": "bank_card",
    "number": "4242 4242 4242 4242",
    "exp_month": 12,
    "exp_year": 2030,
    "cvc": "123",
}
"""A card that pays (B-54)."""

START = "2026-01-01T00:00:00.000Z"
"""Where the clock of every test's world stands at first, frozen."""

BEYOND = EVENTS.keys() - specification.EVENT_TYPES
"""Events that the specification does not have."""


def compare_events(happened: Counter[str], expected: Sequence[str]) -> None:
    """Raise unless just these events came; one beyond the specification counts only if expected.

    So does an invoice that falls overdue. Whether that of a charge is paid the tests of invoices
    and the simulator see.
    """
    ignored = {*BEYOND, "invoice.payment_overdue"} - set(expected)
    ignored |= {"invoice.paid"} if "transaction.succeeded" in expected else set()
    counted, wanted = (
        Counter({type: number for type, number in events.items() if type not in ignored})
        for events in (happened, Counter(expected))
    )
    assert counted == wanted, f"happened: {dict(counted)}, expected: {dict(wanted)}"


def path_of(thing: Any) -> str:
    """Return the path of an object, without a slash at its end."""
    kind = "webhook" if thing["object"] == "webhook_endpoint" else thing["object"].replace("_", "-")
    return f"/{kind}s/{thing['id']}"


class RunningServer:
    """A server on a free port, in a thread of this process."""

    def __init__(self, public_url: str | None = None, **options: Any) -> None:
        chosen = {"clock_mode": "frozen", "clock_at": START, "seed": 7, **options}
        self.server = Server(Options(**chosen), "127.0.0.1", 0, public_url)
        application = self.server.sandbox.application
        self.server.sandbox.application = lambda: tapped(application())  # type: ignore[method-assign]
        self._thread = ServerThread(self.server)
        self.url = f"http://127.0.0.1:{self.server.port}"

    @contextmanager
    def world(self, name: str) -> Iterator[Sandbox]:
        """Yield a new world of this name, discarded after: a thousand would slow the last ones."""
        sandbox = Sandbox(self.url, f"sk_test_{name}")
        try:
            yield sandbox
        finally:
            sandbox.close()
            self.server.discard(sandbox.key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._thread.stop()


class Sandbox:
    """One world: service and control API, checked against their documents, and event scenarios."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key
        connections = Connections()
        self.api = Client(url, contract("service"), key, connections)
        self.control = Client(url, contract("control"), key, connections)

    def advance(self, by: str, alternative: str = "by") -> Any:
        """Move the clock on; no job may fail on the way."""
        response = self.control.post("/clock/advance", {alternative: by})
        assert response["failures"] == []
        return response

    def settle(self) -> Any:
        """Wait for the recorded outcomes of deliveries and emails; a frozen clock stays."""
        return self.advance("0s")

    def advance_to(self, instant: str) -> Any:
        """Move the clock to an instant, or to 00:00 UTC of a day."""
        return self.advance(instant, "to")

    @property
    def now(self) -> str:
        return str(self.control.get("/clock")["now"])

    def events(self) -> list[Any]:
        return list(self.control.pages("/events", page_size=100))[::-1]

    @contextmanager
    def expect(self, *types: str) -> Iterator[None]:
        """What happens inside causes just these events: neither one less nor one more."""
        before = self.control.get("/events", page_size=1)["pagination"]["count"]
        yield
        compare_events(Counter(event["type"] for event in self.events()[before:]), types)

    def customer(self, **fields: Any) -> Any:
        """Return a customer; with a mobile money method when a phone is given."""
        number = self.api.get("/customers/")["pagination"]["count"]
        return self.api.post(
            "/customers/", {"email": f"buyer{number}@example.com", "name": "Awa Diop", **fields}
        )

    def plan(self, **fields: Any) -> Any:
        defaults = {"name": "Basic", "amount": 5000, "currency": "XAF", "interval": "month"}
        return self.api.post("/subscription-plans/", {**defaults, **fields})

    def product(self, **fields: Any) -> Any:
        return self.api.post(
            "/products/", {"name": "Basket", "unit_amount": 2000, "currency": "XAF", **fields}
        )

    def endpoint(self, url: str, *events: str, **fields: Any) -> Any:
        """Return a webhook endpoint, with its secret; of all events unless some are named."""
        return self.api.post(
            "/webhooks/", {"name": "Shop", "url": url, "events": list(events) or ["*"], **fields}
        )

    def deliveries(self, endpoint: Any, **filters: Any) -> list[Any]:
        """Return the deliveries to an endpoint, oldest first, once all have an outcome."""
        self.settle()
        path = f"/webhooks/{endpoint['id']}/deliveries/"
        return list(self.api.pages(path, ordering="created_at", page_size=100, **filters))

    def subscribe(self, phone: str | None = "+24177000000", **fields: Any) -> Any:
        """Return a new customer's subscription; default: a monthly plan."""
        customer = self.customer(**({"phone": phone} if phone else {}))
        terms = {} if "plan" in fields or "unit_amount" in fields else {"plan": self.plan()["id"]}
        return self.api.post("/subscriptions/", {"customer": customer["id"], **terms, **fields})

    def subscription(self, id: str) -> Any:
        return self.api.get(f"/subscriptions/{id}/")

    def shown(self, thing: Any) -> Any:
        """Return an object as it stands now."""
        return self.api.get(f"{path_of(thing)}/")

    def status(self, thing: Any) -> str:
        return str(self.shown(thing)["status"])

    def act(self, thing: Any, action: str, **body: Any) -> Any:
        return self.api.post(f"{path_of(thing)}/{action}/", body)

    def answer(self, thing: Any, result: str, **fields: Any) -> Any:
        """Have the operator, or the buyer at a check, answer at once."""
        return self.control.post(f"{path_of(thing)}/answer", {"result": result, **fields})

    def draft(self, customer: Any = None, **fields: Any) -> Any:
        """Return a draft invoice of one basket, 5000 XAF; default: for a new customer."""
        lines = [{"description": "Basket", "unit_amount": 5000}]
        body = {"customer": (customer or self.customer())["id"], "line_items": lines, **fields}
        return self.api.post("/invoices/", body)

    def invoice(self, customer: Any = None, **fields: Any) -> Any:
        draft = self.draft(customer, **fields)
        self.act(draft, "finalize")
        return self.shown(draft)

    def invoices(self, *fields: str) -> list[Any]:
        """Return every invoice, oldest first: one field of each, or several as a tuple."""
        every = list(self.api.pages("/invoices/", page_size=100))[::-1]
        return [
            invoice[fields[0]] if len(fields) == 1 else tuple(map(invoice.get, fields))
            for invoice in every
        ]

    def method(self, customer: Any = None, type: str = "bank_card", **fields: Any) -> Any:
        """Return a customer's stored method; a card that succeeds unless something else is said."""
        own = {**(CARD if type == "bank_card" else {"type": type}), **fields}
        return self.api.post(
            "/payment-methods/", {"customer": (customer or self.customer())["id"], **own}
        )

    def intent(self, method: Any = None, **fields: Any) -> Any:
        """Return a payment intent of 5000 XAF, not confirmed, on a method if there is one."""
        chosen = {"payment_method": method["id"]} if method else {}
        return self.api.post(
            "/payment-intents/", {"amount": 5000, "currency": "XAF", **chosen, **fields}
        )

    def pay(self, method: Any = None, **fields: Any) -> Any:
        """Return a confirmed payment intent; default: by a card that succeeds."""
        intent = self.intent(method or self.method(), **fields)
        return self.act(intent, "confirm")

    def session_body(self, **fields: Any) -> dict[str, Any]:
        """Return a body for a session of two baskets, 30000 XAF; ``...`` leaves a field out."""
        line = {"description": "Raphia basket", "unit_amount": 15000, "quantity": 2}
        return _given(
            {
                "success_url": "https://shop.example.com/thanks",
                "currency": "XAF",
                "line_items": [line],
            },
            fields,
        )

    def session(self, **fields: Any) -> Any:
        return self.api.post("/checkout-sessions/", self.session_body(**fields))

    def link_body(self, **fields: Any) -> dict[str, Any]:
        """What a custom payment link of 25000 XAF is made of; ``...`` leaves a field out."""
        return _given({"payment_link_type": "custom", "currency": "XAF", "amount": 25000}, fields)

    def link(self, **fields: Any) -> Any:
        return self.api.post("/payment-links/", self.link_body(**fields))

    def buy(self, what: Any, method: Any = None, **fields: Any) -> Any:
        """Pay a session, link or invoice as its buyer; default: by a phone that pays."""
        method = method or {"type": "mobile_money", "phone": "+24177123456"}
        return self.control.post(f"{path_of(what)}/pay", {"method": method, **fields})

    def buy_rejected(
        self, what: Any, code: str = "INVALID_STATUS_TRANSITION", **fields: Any
    ) -> Any:
        """Return the error of what is not paid so, by a card that pays."""
        return self.control.rejected(
            "POST", f"{path_of(what)}/pay", 422, code, json={"method": CARD, **fields}
        )

    def deposit(self, method: Any = None, **fields: Any) -> Any:
        """Return the transaction of such a payment."""
        return self.api.get(f"/transactions/{self.pay(method, **fields)['transaction']}/")

    def inbox_responses(self, name: str, **response: int) -> None:
        """Set how an inbox answers from now on: ``status``, ``delay_ms``."""
        self.control.request("PUT", f"/inbox/{name}/response", json=response).raise_for_status()

    def settings(self, **settings: Any) -> None:
        self.control.patch("/app", {"settings": settings})

    def close(self) -> None:
        self.api.close()
        self.control.close()


def _given(defaults: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the defaults with some fields replaced; those that are ``...`` are left out."""
    return {name: value for name, value in {**defaults, **fields}.items() if value is not ...}
