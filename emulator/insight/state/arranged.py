"""The facts about what a tester has arranged: the next payment's outcome, an inbox's response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from emulator.core.world import World
from emulator.engine.inbox import PREFIX, ResponseRule
from emulator.resources.billing.invoices import Invoice
from emulator.resources.billing.subscriptions import Subscription
from emulator.resources.checkout.checkout_sessions import CheckoutSession
from emulator.resources.customers.customer_records import Customer
from emulator.resources.payments.operator import Outcome
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

Responses = Mapping[str, ResponseRule]
"""The response rules of a world's inboxes, by name; the others answer 200 at once."""

NONE_SET: Responses = {}


class Source(Protocol):
    """Where these facts are looked up."""

    world: World
    responses: Responses


Payer = Customer | Subscription | Invoice | CheckoutSession


def _outcomes(source: Source, record: Payer) -> list[Outcome]:
    """Return the outcomes that a payment of the customer can use up, the first one first."""
    customer = record.id if isinstance(record, Customer) else record.customer
    return [
        outcome
        for outcome in source.world.table(Outcome).where("operation", "payment")
        if outcome.match.customer in (None, customer)
    ]


def fails_next(source: Source, record: Payer) -> bool:
    """Return whether a payment of the customer is arranged to fail, the next one maybe."""
    return any(outcome.result == "failed" for outcome in _outcomes(source, record))


def _own_outcome(source: Source, record: Payer) -> str | None:
    """Return the outcome that alone decides the customer's next payment, and no one else's."""
    match _outcomes(source, record):
        case [only] if only.match.customer:
            return only.id
    return None


def _inbox(source: Source, record: WebhookDelivery | WebhookEndpoint) -> str | None:
    """Return the inbox that an endpoint sends to, unless its URL fixes the response."""
    id = record.id if isinstance(record, WebhookEndpoint) else record.webhook
    endpoint = source.world.get(WebhookEndpoint, id)
    url = urlsplit(endpoint.url if endpoint else "")
    is_fixed = parse_qs(url.query).keys() & {"status", "delay_ms"}
    return url.path.removeprefix(PREFIX) if url.path.startswith(PREFIX) and not is_fixed else None


def _accepting_inbox(source: Source, record: WebhookEndpoint) -> str | None:
    name = _inbox(source, record)
    return name if name and source.responses.get(name, ResponseRule()).status == 200 else None


def _refusing_inbox(source: Source, record: WebhookDelivery | WebhookEndpoint) -> str | None:
    """Return the inbox if it does not answer 200 at once."""
    name = _inbox(source, record)
    return name if name and source.responses.get(name, ResponseRule()) != ResponseRule() else None


FACTS_OF_PAYERS: Mapping[str, Callable[[Source, Any], Any]] = {
    "is_decided": lambda source, record: bool(_outcomes(source, record)),
    "own_outcome": _own_outcome,
}
FACTS_OF_RECEIVERS: Mapping[str, Callable[[Source, Any], Any]] = {
    "accepting_inbox": _accepting_inbox,
    "refusing_inbox": _refusing_inbox,
}
