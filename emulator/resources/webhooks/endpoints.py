"""A webhook endpoint: a merchant's URL for signed events, as far as the egress policy allows.

The policy names hosts and addresses that are never called, such as metadata services of clouds.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

import msgspec

from emulator.core.errors import ApiError, invalid_field
from emulator.core.handlers import check_metadata, get_handler, get_or_404, list_handler, new_record
from emulator.core.records import HIDDEN, N_, Metadata, Record, merge_metadata, to_wire
from emulator.core.unit_of_work import EventData, HttpResult, PingEndpoint
from emulator.core.violations import Body, Violations, with_rules
from emulator.core.world import World, encode
from emulator.resources.app import clients
from emulator.resources.app.settings import settings

# -- egress policy


FORBIDDEN_HOSTS = frozenset(
    ["metadata.google.internal", "metadata.goog", "instance-data.ec2.internal"]
)
"""Host names under which clouds give a machine its own credentials."""

FORBIDDEN = tuple(
    map(
        ip_network,
        [
            "169.254.0.0/16",  # link-local; 169.254.169.254 is the metadata service of most clouds
            "fe80::/10",  # link-local
            "fd00:ec2::/32",  # AWS
            "100.100.100.200/32",  # Alibaba Cloud
            "192.0.0.192/32",  # Oracle Cloud
            "168.63.129.16/32",  # Azure
        ],
    )
)

LOCAL_NAT64 = ip_network("64:ff9b:1::/48")
LAST_32_BITS = (*map(ip_network, ("::/96", "::ffff:0:0:0/96", "64:ff9b::/96")), LOCAL_NAT64)
"""IPv6 addresses that end in an IPv4 address: compatible, translated and NAT64 addresses."""


def forbidden(host: str) -> bool:
    address = clients.address(host.partition("%")[0])
    if address is None:
        return host.rstrip(".").lower() in FORBIDDEN_HOSTS
    return any(
        version in network for version in (address, *_embedded(address)) for network in FORBIDDEN
    )


def loopback(host: str) -> bool:
    address = clients.address(host.partition("%")[0])
    return (
        host == "localhost" or host.endswith(".localhost")
        if address is None
        else address.is_loopback
    )


def _embedded(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """Yield IPv4 addresses to which a network may translate or tunnel an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    number = int(address)
    if any(address in network for network in LAST_32_BITS):
        yield IPv4Address(number & 0xFFFFFFFF)
    # Its prefix has 48, 56, 64 or 96 bits, and bits 64 to 71 belong to no address (RFC 6052).
    if address in LOCAL_NAT64:
        joined = number >> 64 << 56 | number & (1 << 56) - 1
        yield from (IPv4Address(joined >> 88 - bits & 0xFFFFFFFF) for bits in (48, 56, 64))
    yield from filter(None, (address.sixtofour, *(address.teredo or ())))


# -- endpoints


EVERY_EVENT = "*"


class RetryPolicy(msgspec.Struct, frozen=True):
    """How a failed delivery is retried; ``max_attempts`` counts the retries (B-84)."""

    max_attempts: int = 5
    backoff_type: str = "exponential"


class WebhookEndpoint(Record, frozen=True, kw_only=True):
    """``secret`` is in two responses only: to the creation and to roll-secret (B-81)."""

    prefix: ClassVar[str] = "wh"
    names: ClassVar[tuple[str, str] | None] = (N_("Webhook endpoint"), N_("Webhook endpoints"))
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
        return EVERY_EVENT in self.events or type in self.events


def _check(violations: Violations, world: World, body: Body) -> None:
    """Check that the URL may be called, and that ``*`` stands alone among the events."""
    with violations:
        if "url" in body:
            permitted_url(world, body["url"])
    with violations:
        if EVERY_EVENT in body.get("events", ()) and len(body["events"]) > 1:
            raise invalid_field("events", 'must be types of event, or ["*"] alone for all')


@with_rules
def create(world: World, body: Body) -> Generator[PingEndpoint, HttpResult, dict[str, Any]]:
    """POST /webhooks/: create an endpoint if its URL responds to a ping with 2xx (B-82)."""
    violations = Violations(body)
    _check(violations, world, body)
    violations.done()
    endpoint = new_record(
        world,
        WebhookEndpoint,
        body,
        id=world.new_id(
            WebhookEndpoint
        ),  # before the secret, which is drawn from the same sequence
        retry_policy=RetryPolicy(**body["retry_policy"]),
        secret=world.secret("whsec"),
    )
    yield from ping_result(world, endpoint)
    return with_secret(world.add(endpoint.replace(created_at=world.now, updated_at=world.now)))


@with_rules
def update(
    world: World, id: str, body: Body
) -> Generator[PingEndpoint, HttpResult, WebhookEndpoint]:
    """PATCH /webhooks/{id}/: a new URL must respond to a ping with 2xx first (B-82)."""
    violations = Violations(body)
    _check(violations, world, body)
    with violations:
        check_metadata(violations, get_or_404(world, WebhookEndpoint, id), body)
    violations.done()
    endpoint = get_or_404(world, WebhookEndpoint, id)
    changes = _changes(endpoint, body)
    if changes.get("url", endpoint.url) != endpoint.url:
        yield from ping_result(world, endpoint.replace(**changes))
        # Other requests may have changed or deleted the endpoint during the ping.
        endpoint = get_or_404(world, WebhookEndpoint, id)
        changes = _changes(endpoint, body)
    return changed(world, endpoint, **changes)


def _changes(endpoint: WebhookEndpoint, body: Mapping[str, Any]) -> dict[str, Any]:
    changes = dict(body)
    if "events" in body:
        changes["events"] = tuple(body["events"])
    if "retry_policy" in body:
        changes["retry_policy"] = msgspec.structs.replace(
            endpoint.retry_policy, **body["retry_policy"]
        )
    if "metadata" in body:
        changes["metadata"] = merge_metadata(endpoint.metadata, body["metadata"])
    return changes


def changed(world: World, endpoint: WebhookEndpoint, **changes: Any) -> WebhookEndpoint:
    """Replace fields of the endpoint; if no value differs, ``updated_at`` stays as it is (B-21)."""
    return (
        endpoint if endpoint.replace(**changes) == endpoint else world.replace(endpoint, **changes)
    )


def enable(world: World, id: str) -> WebhookEndpoint:
    """POST /webhooks/{id}/enable/: events are sent to it from now on."""
    return changed(world, get_or_404(world, WebhookEndpoint, id), enabled=True)


def roll_secret(world: World, id: str) -> dict[str, Any]:
    """POST /webhooks/{id}/roll-secret/: the new secret signs everything, retries too."""
    return with_secret(
        world.replace(get_or_404(world, WebhookEndpoint, id), secret=world.secret("whsec"))
    )


def with_secret(endpoint: WebhookEndpoint) -> dict[str, Any]:
    return {**msgspec.structs.asdict(to_wire(endpoint)), "secret": endpoint.secret}


def permitted_url(world: World, url: str) -> str:
    """Return an https URL, or http if ``webhook_http`` allows it; else raise 422 (B-82)."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    http_allowed = settings(world).webhook_http
    if "@" in parts.netloc:
        raise invalid_field(
            "url", "must have no user name or password in it; they would show up in logs"
        )
    if forbidden(host):
        raise invalid_field(
            "url", "is a link-local or cloud metadata address, which is never called"
        )
    if (
        parts.scheme == "https"
        or http_allowed == "any"
        or (http_allowed == "loopback" and loopback(host))
    ):
        return url
    if http_allowed == "loopback":
        raise invalid_field("url", "must be an https:// URL; http:// is for loopback hosts only")
    raise invalid_field("url", "must be an https:// URL")


def ping_result(
    world: World, endpoint: WebhookEndpoint
) -> Generator[PingEndpoint, HttpResult, None]:
    """Ping the endpoint; 422 ``WEBHOOK_ENDPOINT_UNREACHABLE`` unless 2xx within 10 s (B-82)."""
    event = world.event("webhook.ping", EventData(to_wire(endpoint)))
    response = yield PingEndpoint(endpoint=endpoint, event=event.id, body=encode(event))
    if not response.ok:
        errors = {"url": [f"the ping was not answered with a 2xx: {response.reason}"]}
        raise ApiError(
            "WEBHOOK_ENDPOINT_UNREACHABLE", param="url", errors=errors, reason=response.reason
        )


OPERATIONS = {
    "createWebhook": create,
    "getWebhook": get_handler(WebhookEndpoint),
    "listWebhooks": list_handler(WebhookEndpoint),
    "updateWebhook": update,
    "enableWebhook": enable,
    "rollWebhookSecret": roll_secret,
}
