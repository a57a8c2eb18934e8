"""A webhook endpoint: a merchant's URL that is told what happens, with signed POSTs and retries."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from emulator.core.effects import HttpResult, PingEndpoint
from emulator.core.events import EventData
from emulator.core.handlers import get_handler, get_or_404, list_handler
from emulator.core.records import HIDDEN, Metadata, Record, merge_metadata, to_wire
from emulator.core.world import World, encode
from emulator.errors import ApiError, invalid_field
from emulator.resources.app.settings import settings
from emulator.resources.webhooks.egress_policy import forbidden, loopback

EVERY_EVENT = "*"


class RetryPolicy(msgspec.Struct, frozen=True):
    """How often, and how fast, a failed delivery is tried again; ``max_attempts`` counts retries (B-84)."""

    max_attempts: int = 5
    backoff_type: str = "exponential"


class WebhookEndpoint(Record, frozen=True, kw_only=True):
    """``secret`` is shown once, in the answers to creation and roll-secret (B-81)."""

    kind: ClassVar[str] = "webhook_endpoint"
    prefix: ClassVar[str] = "wh"
    not_found_code: ClassVar[str] = "WEBHOOK_NOT_FOUND"
    indexes: ClassVar[tuple[str, ...]] = ("enabled",)

    object: str = "webhook_endpoint"
    app: str
    name: str
    url: str
    events: tuple[str, ...]
    security_profile: str
    ssl_verification: bool
    retry_policy: RetryPolicy
    enabled: bool = True
    metadata: Metadata
    livemode: bool
    created_at: str
    updated_at: str
    secret: Annotated[str, HIDDEN]

    def listens(self, type: str) -> bool:
        """Whether it wants to be told of this event type."""
        return EVERY_EVENT in self.events or type in self.events


def create(world: World, body: Mapping[str, Any]) -> Generator[PingEndpoint, HttpResult, dict[str, Any]]:
    """POST /webhooks/: the URL is pinged, and only an endpoint that answers with a 2xx is made (B-82)."""
    endpoint = WebhookEndpoint(
        id=world.new_id(WebhookEndpoint),
        app=world.app,
        name=body["name"],
        url=permitted_url(world, body["url"]),
        events=tuple(body["events"]),
        security_profile=body["security_profile"],
        ssl_verification=body["ssl_verification"],
        retry_policy=RetryPolicy(**body["retry_policy"]),
        metadata=body.get("metadata", {}),
        livemode=world.livemode,
        created_at=world.now,
        updated_at=world.now,
        secret=new_secret(world),
    )
    yield from ping_result(world, endpoint)
    return with_secret(world.add(endpoint.replace(created_at=world.now, updated_at=world.now)))


def update(world: World, id: str, body: Mapping[str, Any]) -> Generator[PingEndpoint, HttpResult, WebhookEndpoint]:
    """PATCH /webhooks/{id}/: what is sent is changed; a new URL must answer its ping first (B-82)."""
    endpoint = get_or_404(world, WebhookEndpoint, id)
    changes = _changes(world, endpoint, body)
    if changes.get("url", endpoint.url) != endpoint.url:
        yield from ping_result(world, endpoint.replace(**changes))
        endpoint = get_or_404(
            world, WebhookEndpoint, id
        )  # others may have changed or deleted it while the ping was away
        changes = _changes(world, endpoint, body)
    return changed(world, endpoint, **changes)


def _changes(world: World, endpoint: WebhookEndpoint, body: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(body)
    if "url" in body:
        changes["url"] = permitted_url(world, body["url"])
    if "events" in body:
        changes["events"] = tuple(body["events"])
    if "retry_policy" in body:
        changes["retry_policy"] = msgspec.structs.replace(endpoint.retry_policy, **body["retry_policy"])
    if "metadata" in body:
        changes["metadata"] = merge_metadata(endpoint.metadata, body["metadata"])
    return changes


def changed(world: World, endpoint: WebhookEndpoint, **changes: Any) -> WebhookEndpoint:
    """The endpoint with these changes; one that they leave as it was keeps its ``updated_at`` (B-21)."""
    return endpoint if endpoint.replace(**changes) == endpoint else world.replace(endpoint, **changes)


def disable(world: World, id: str) -> WebhookEndpoint:
    """POST /webhooks/{id}/disable/: it misses what happens from now on (B-87); one that is disabled stays so."""
    return changed(world, get_or_404(world, WebhookEndpoint, id), enabled=False)


def enable(world: World, id: str) -> WebhookEndpoint:
    """POST /webhooks/{id}/enable/: it is told of what happens from now on; one that is enabled stays so."""
    return changed(world, get_or_404(world, WebhookEndpoint, id), enabled=True)


def roll_secret(world: World, id: str) -> dict[str, Any]:
    """POST /webhooks/{id}/roll-secret/: the old secret signs nothing any more, retries included."""
    return with_secret(world.replace(get_or_404(world, WebhookEndpoint, id), secret=new_secret(world)))


def new_secret(world: World) -> str:
    """A signing secret: ``whsec_`` and 32 characters."""
    return world.secret("whsec")


def with_secret(endpoint: WebhookEndpoint) -> dict[str, Any]:
    """The endpoint with its secret."""
    return {**msgspec.structs.asdict(to_wire(endpoint)), "secret": endpoint.secret}


def permitted_url(world: World, url: str) -> str:
    """https anywhere, http where the setting ``webhook_http`` allows it (B-82); never to where credentials lie open."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    allowed = settings(world).webhook_http
    if "@" in parts.netloc:
        raise invalid_field("url", "must have no user name or password in it; they would show up in logs")
    if forbidden(host):
        raise invalid_field("url", "is a link-local or cloud metadata address, which is never called")
    if parts.scheme == "https" or allowed == "any" or (allowed == "loopback" and loopback(host)):
        return url
    raise invalid_field("url", _HTTP_REFUSED[allowed])


_HTTP_REFUSED = {
    "never": "must be an https:// URL",
    "loopback": "must be an https:// URL; http:// is for loopback hosts only",
}


def ping_result(world: World, endpoint: WebhookEndpoint) -> Generator[PingEndpoint, HttpResult, None]:
    """Send the validation ping and wait for its outcome; no 2xx within 10 s is ``WEBHOOK_ENDPOINT_UNREACHABLE``."""
    event = world.event("webhook.ping", EventData(to_wire(endpoint)))
    answer = yield PingEndpoint(endpoint=endpoint, event=event.id, body=encode(event))
    if not answer.ok:
        raise ApiError(
            "WEBHOOK_ENDPOINT_UNREACHABLE",
            param="url",
            errors={"url": [f"the ping was not answered with a 2xx: {answer.reason}"]},
            reason=answer.reason,
        )


retrieve = get_handler(WebhookEndpoint)
index = list_handler(WebhookEndpoint)

OPERATIONS = {
    "createWebhook": create,
    "getWebhook": retrieve,
    "listWebhooks": index,
    "updateWebhook": update,
    "disableWebhook": disable,
    "enableWebhook": enable,
    "rollWebhookSecret": roll_secret,
}
