"""The inbox: a webhook receiver of the emulator's own, which keeps what it gets and checks the signatures."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Annotated, Any, ClassVar

import msgspec

from emulator.core.records import HIDDEN, Record
from emulator.core.tables import Table
from emulator.core.world import World
from emulator.resources.webhooks import signing
from emulator.resources.webhooks.deliveries import WebhookDelivery
from emulator.resources.webhooks.endpoints import WebhookEndpoint

KEPT = 1000
"""Requests a world's inboxes keep together; older ones are dropped."""

KEPT_BYTES = 8 * 1024 * 1024
"""Bytes of bodies a world's inboxes keep together."""

MAX_RULES = 1000
"""Inboxes of a world that may answer in a way of their own."""


class SignatureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the signature check: ``valid`` is null while nobody is known who could have signed."""

    valid: bool | None
    webhook: str | None = None
    method: str | None = None


UNKNOWN = SignatureCheck(valid=None)


class InboxRequest(Record, frozen=True, kw_only=True):
    """One request that came in; what its secrets are is hidden."""

    kind: ClassVar[str] = "inbox_request"
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
    """How an inbox answers; ``delay_ms`` is real milliseconds."""

    status: int = 200
    delay_ms: int = 0

    def with_(self, query: Mapping[str, Any]) -> ResponseRule:
        """The same, but for what a query says."""
        said = {name: query[name] for name in ("status", "delay_ms") if query.get(name) is not None}
        return msgspec.structs.replace(self, **said)


class Inbox:
    """All inboxes of one world. They are beside it and not part of it: what arrives draws none of its ids."""

    def __init__(self) -> None:
        self.table = Table(InboxRequest)
        self._rules: dict[str, ResponseRule] = {}
        self._numbers = count(1)
        self._bytes = 0

    def response_rule(self, name: str) -> ResponseRule:
        """How this inbox answers."""
        return self._rules.get(name, ResponseRule())

    def set_response_rule(self, name: str, manner: ResponseRule) -> None:
        """Let this inbox answer so from now on."""
        self._rules.pop(name, None)
        self._rules[name] = manner
        if len(self._rules) > MAX_RULES:
            del self._rules[next(iter(self._rules))]

    def keep(self, world: World, headers: Mapping[str, str], raw: bytes, **fields: Any) -> None:
        """File a request, its headers with lower-case names; the oldest make room where it is too much."""
        number = next(self._numbers)
        request = InboxRequest(
            id=f"inbox_{number}",
            headers=signing.redact_credentials(headers),
            body=raw.decode("utf-8", "replace"),
            event_type=_field(_json(raw), "type"),
            signature=check(world, headers, raw),
            authorization=headers.get("authorization", ""),
            raw=raw,
            **fields,
        )
        self.table.add(request, number)
        self._bytes += len(raw)
        while len(self.table) > KEPT or self._bytes > KEPT_BYTES:
            oldest = next(iter(self.table))
            self.table.remove(oldest)
            self._bytes -= len(oldest.raw)

    def check_again(self, world: World, name: str) -> None:
        """Judge what could not be judged: when a ping arrives, its endpoint does not exist yet."""
        for request in self.table.where("inbox", name):
            if request.signature.valid is None:
                headers = {**request.headers, "authorization": request.authorization}
                self.table.replace(request, request.replace(signature=check(world, headers, request.raw)))


def check(world: World, headers: Mapping[str, str], raw: bytes) -> SignatureCheck:
    """Whether an endpoint of the world signed this: the one it says it comes from, or else any."""
    if not headers.get("authorization") and not headers.get("service-signature"):
        return UNKNOWN
    suspects = _suspects(world, headers, raw)
    for endpoint in suspects:
        if signing.verify(endpoint, headers, raw):
            return SignatureCheck(valid=True, webhook=endpoint.id, method=endpoint.security_profile)
    return SignatureCheck(valid=False, webhook=suspects[0].id if len(suspects) == 1 else None) if suspects else UNKNOWN


def _suspects(world: World, headers: Mapping[str, str], raw: bytes) -> list[WebhookEndpoint]:
    delivery = world.get(WebhookDelivery, headers.get("emulator-delivery"))
    event = _json(raw)
    if delivery is not None:
        named = delivery.webhook
    elif _field(event, "type") == "webhook.ping":
        named = _field(_field(_field(event, "data"), "object"), "id")
    else:
        return list(world.table(WebhookEndpoint))
    endpoint = world.get(WebhookEndpoint, named)
    return [] if endpoint is None else [endpoint]


def _json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def _field(value: Any, name: str) -> Any:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, (str, dict)) else None
