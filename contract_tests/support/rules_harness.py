"""The rules without a server, for very many units of work, or scenes beyond any request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from contract_tests.support.sandbox import START, compare_events
from emulator.core import calendar
from emulator.core.jobs import FailedJob, Job
from emulator.core.records import Record
from emulator.core.unit_of_work import Event
from emulator.core.world import World
from emulator.engine.reference_data import ReferenceData
from emulator.resources.app.settings import Settings
from emulator.resources.billing import invoices
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.customers.customer_records import Customer
from emulator.resources.registry import OPERATIONS, REGISTRY

FACTS = ReferenceData()

DEFAULTS: dict[str, dict[str, Any]] = {
    "createSubscription": {
        "collection_method": "charge_automatically",
        "cancel_at_period_end": False,
    },
    "createProduct": {
        "name": "Basket",
        "unit_amount": 1500,
        "currency": "XAF",
        "price_type": "fixed",
        "active": True,
        "images": [],
    },
    "createSubscriptionPlan": {
        "name": "Basic",
        "amount": 5000,
        "currency": "XAF",
        "interval_count": 1,
    },
    "cancelSubscription": {"cancel_at_period_end": False},
    "finalizeInvoice": {"auto_send": False},
}
"""What the document's defaults, or the tests', put into a body."""


class RulesHarness:
    """One world and its frozen clock."""

    def __init__(self, **settings: Any) -> None:
        self.world = World(
            name="harness",
            livemode=False,
            registry=REGISTRY,
            reference_data=FACTS,
            seed="7",
            now=START,
            base_url="http://127.0.0.1:4747",
        )
        self.world.strict = False
        self.run(lambda world: world.add(Settings(**settings)))

    def run(self, command: Callable[..., Any], **arguments: Any) -> Any:
        with self.world.unit_of_work():
            result = command(self.world, **arguments)
        self.advance_to(self.world.now)
        return result

    def do(self, operation: str, id: str | None = None, **body: Any) -> Any:
        arguments: dict[str, Any] = {} if id is None else {"id": id}
        if body or operation in DEFAULTS or operation.startswith("update"):
            arguments["body"] = {**DEFAULTS.get(operation, {}), **body}
        return self.run(OPERATIONS[operation], **arguments)

    def advance(self, **span: float) -> None:
        self.advance_to(calendar.plus(self.world.now, **span))

    def advance_to(self, instant: str) -> None:
        """Run all that falls due until an instant; no job may fail on the way."""
        while (job := self.world.jobs.next()) is not None and job.due <= instant:
            self.world.run(job)
        self.world.now = instant

    def job(self, name: str, about: str) -> None:
        with self.world.unit_of_work():
            self.world.registry.jobs[name](
                self.world, Job(id="job_0", name=name, due=START, sequence=0, about=about)
            )

    @contextmanager
    def expect(self, *types: str) -> Iterator[None]:
        """What happens inside causes just these events: neither one less nor one more."""
        before = len(self.world.table(Event))
        yield
        compare_events(
            Counter(event.type for event in list(self.world.table(Event))[before:]), types
        )

    # -- what there is

    def subscription(self, id: str) -> Subscription:
        return self.world.require(Subscription, id)

    def invoices(self) -> list[Invoice]:
        """Oldest first."""
        return list(self.world.table(Invoice))

    def failed_jobs(self) -> list[FailedJob]:
        return list(self.world.table(FailedJob))

    def everything(self) -> dict[str, dict[str, Record]]:
        return {
            kind: {record.id: record for record in self.world.table(kind)}
            for kind in self.world.kinds
        }

    # -- what no request on its own can arrange

    def subscribe(self, phone: str | None = "+24177000000", **fields: Any) -> Subscription:
        """Return a new customer's subscription; default: monthly, 5000 XAF."""
        number = len(self.world.table(Customer))
        contact = {
            "email": f"buyer{number}@example.com",
            "name": "Awa Diop",
            **({"phone": phone} if phone else {}),
        }
        customer = self.do("createCustomer", **contact)
        terms = {} if "plan" in fields else {"unit_amount": 5000, "interval": "month"}
        made: Subscription = self.do(
            "createSubscription", customer=customer.id, **{**terms, **fields}
        )
        return made

    def open_invoice(self, subscription: Subscription) -> Invoice:
        """Return one more invoice of a subscription, finalized and not paid."""
        line = invoices.line(product=None, description="More", quantity=1, unit_amount=700)

        def issue(world: World) -> Invoice:
            customer = world.require(Customer, subscription.customer)
            draft = invoices.draft(world, customer, (line,), "XAF", subscription=subscription.id)
            return invoices.finalize_and_track(world, draft)

        made: Invoice = self.run(issue)
        return made
