"""The inbox: the emulator's own webhook receiver, which stores requests and checks signatures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import count
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core.limits import INBOX, INBOX_BYTES
from emulator.core.records import HIDDEN, Record
from emulator.core.tables import Table
from emulator.core.world import World, json_object
from emulator.resources.webhooks import deliveries
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

PREFIX = "/_emulator/inbox/"
"""Where the paths of all inboxes begin."""

MAX_RULES = 1000
"""Inboxes of a world that have a response rule; the one set first is dropped."""


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a signature check; ``valid`` is null until an endpoint could have signed."""

    valid: bool | None
    webhook: str | None = None
    method: str | None = None


UNKNOWN = SignatureCheck(valid=None)


class InboxRequest(Record, frozen=True, kw_only=True):
    """One request that arrived; responses do not show its secrets."""

    prefix: ClassVar[str] = "inbox"
    indexes: ClassVar[tuple[str, ...]] = ("inbox",)

    object: str = "inbox_request"
    inbox: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: str
    event_type: str | None
    signature: SignatureCheck
    answered: int
    created_at: str
    authorization: Annotated[str, HIDDEN]
    raw: Annotated[bytes, HIDDEN]


class ResponseRule(msgspec.Struct, frozen=True):
    """How an inbox responds; ``delay_ms`` is in milliseconds of real time."""

    status: int = 200
    delay_ms: int = 0


class Inbox:
    """All inboxes of one world, but not part of it: requests draw no ids and survive rewinding.

    ``rules`` are the response rules that were set, by the name of the inbox.
    """

    def __init__(self) -> None:
        self.table = Table(InboxRequest)
        self.rules: dict[str, ResponseRule] = {}
        self._numbers = count(1)
        self._bytes = 0

    @property
    def is_unused(self) -> bool:
        return not self.rules and not len(self.table)

    def response_rule(self, name: str) -> ResponseRule:
        return self.rules.get(name, ResponseRule())

    def set_response_rule(self, name: str, rule: ResponseRule | None) -> None:
        """Set the future responses of the inbox of this name; None restores the default."""
        self.rules.pop(name, None)
        if rule is None:
            return
        self.rules[name] = rule
        if len(self.rules) > MAX_RULES:
            del self.rules[next(iter(self.rules))]

    def add(self, world: World, headers: Mapping[str, str], raw: bytes, **fields: Any) -> None:
        """Store a request (header names in lower case); drop the oldest beyond the limit."""
        number = next(self._numbers)
        request = InboxRequest(
            id=f"inbox_{number}",
            headers=deliveries.redact_credentials(headers),
            body=raw.decode("utf-8", "replace"),
            event_type=_field(json_object(raw), "type"),
            signature=check(world, headers, raw),
            authorization=headers.get("authorization", ""),
            raw=raw,
            **fields,
        )
        self.table.add(request, number)
        self._bytes += len(raw)
        while len(self.table) > INBOX.most or self._bytes > INBOX_BYTES.most:
            oldest = next(iter(self.table))
            self.table.remove(oldest)
            self._bytes -= len(oldest.raw)

    def check_pending(self, world: World) -> None:
        """Check the pending signatures: a ping arrives before its endpoint exists."""
        for request in list(self.table):
            if request.signature.valid is None:
                headers = {**request.headers, "authorization": request.authorization}
                self.table.replace(
                    request, request.replace(signature=check(world, headers, request.raw))
                )


def check(world: World, headers: Mapping[str, str], raw: bytes) -> SignatureCheck:
    """Check whether an endpoint signed this: the one it claims to come from, else any."""
    if not headers.get("authorization") and not headers.get("service-signature"):
        return UNKNOWN
    endpoints = _possible_senders(world, headers, raw)
    if not endpoints:
        return UNKNOWN
    for endpoint in endpoints:
        if deliveries.verify(endpoint, headers, raw, time.time()):
            return SignatureCheck(valid=True, webhook=endpoint.id, method=endpoint.security_profile)
    return SignatureCheck(valid=False, webhook=endpoints[0].id if len(endpoints) == 1 else None)


def _possible_senders(
    world: World, headers: Mapping[str, str], raw: bytes
) -> list[WebhookEndpoint]:
    delivery = world.get(WebhookDelivery, headers.get("emulator-delivery"))
    event = json_object(raw)
    if delivery is not None:
        named = delivery.webhook
    elif _field(event, "type") == "webhook.ping":
        named = _field(_field(_field(event, "data"), "object"), "id")
    else:
        return list(world.table(WebhookEndpoint))
    endpoint = world.get(WebhookEndpoint, named)
    return [] if endpoint is None else [endpoint]


def _field(value: Any, name: str) -> Any:
    field = value.get(name) if isinstance(value, dict) else None
    return field if isinstance(field, (str, dict)) else None
