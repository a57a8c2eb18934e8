"""A webhook delivery: the attempts to send one event to one endpoint, each signed.

By the signature a receiver verifies the sender and the body (Delivery rule 1; B-83).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Generator, Mapping
from typing import Annotated, Any, ClassVar, Protocol

import msgspec

from emulator.core import calendar
from emulator.core.errors import ApiError
from emulator.core.handlers import get_or_404
from emulator.core.jobs import Job
from emulator.core.lists import Query, Selection, select
from emulator.core.records import HIDDEN, N_, Record, to_wire
from emulator.core.state_machine import StateMachine
from emulator.core.unit_of_work import DeliverWebhook, Event, EventData, HttpResult, PingEndpoint
from emulator.core.world import World, encode
from emulator.resources.app.settings import settings
from emulator.resources.webhooks import endpoints
from emulator.resources.webhooks.endpoints import WebhookEndpoint

# -- signatures


class Credentials(Protocol):
    """A signature's material: endpoint id, secret, and ``HMAC_SHA256``, ``BASIC`` or ``JWT``."""

    @property
    def id(self) -> str: ...

    @property
    def secret(self) -> str: ...

    @property
    def security_profile(self) -> str: ...


TOKEN_LIFETIME = 300
"""Seconds a JWT stays valid."""


class SignedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request ready to be sent; ``verify`` says whether the TLS certificate is checked."""

    url: str
    headers: dict[str, str]
    body: bytes
    verify: bool


def signed(
    endpoint: WebhookEndpoint, body: bytes, *, delivery: str, event: str, epoch: int
) -> SignedRequest:
    """Return the signed request with this body; ``epoch`` is system seconds, for a JWT's claims."""
    headers = {"Content-Type": "application/json"}
    if endpoint.security_profile == "HMAC_SHA256":
        headers["Service-Signature"] = signature(endpoint.secret, body)
    elif endpoint.security_profile == "JWT":
        headers["Authorization"] = f"Bearer {_token(endpoint, body, delivery, event, epoch)}"
    else:
        headers["Authorization"] = f"Basic {credentials(endpoint)}"
    return SignedRequest(
        url=endpoint.url, headers=headers, body=body, verify=endpoint.ssl_verification
    )


def ping(effect: PingEndpoint, epoch: int) -> SignedRequest:
    """Return a validation ping's request, whose JWT names the event also as delivery (B-82)."""
    endpoint = effect.endpoint
    assert isinstance(endpoint, WebhookEndpoint)
    return signed(endpoint, effect.body, delivery=effect.event, event=effect.event, epoch=epoch)


def signature(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def credentials(endpoint: Credentials) -> str:
    """Return the endpoint's id as user and its secret as password, as HTTP Basic writes them."""
    return base64.b64encode(f"{endpoint.id}:{endpoint.secret}".encode()).decode()


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def verify(endpoint: Credentials, headers: Mapping[str, str], raw: bytes, epoch: float) -> bool:
    """Return whether the endpoint's method of signing holds: every receiver's check (B-83).

    Names of headers are in lower case. ``epoch`` is the system's time in seconds, at which a JWT
    must be valid.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    match endpoint.security_profile:
        case "HMAC_SHA256":
            sent = headers.get("service-signature", "")
            return hmac.compare_digest(sent.encode(), signature(endpoint.secret, raw).encode())
        case "JWT":
            return scheme == "Bearer" and _verify_jwt(token, endpoint.secret, raw, epoch)
    return scheme == "Basic" and hmac.compare_digest(token.encode(), credentials(endpoint).encode())


def _verify_jwt(token: str, secret: str, raw: bytes, epoch: float) -> bool:
    signed_part, _, _ = token.rpartition(".")
    # Our own header and no other: a token cannot choose how it is verified.
    if not signed_part.startswith(f"{_JWT_HEADER}."):
        return False
    if not hmac.compare_digest(_with_signature(signed_part, secret).encode(), token.encode()):
        return False
    payload = signed_part.partition(".")[2]
    try:
        decoded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        claims = msgspec.json.decode(decoded, type=_Claims)
    except (ValueError, msgspec.DecodeError):
        return False
    return claims.exp > epoch and claims.body_sha256 == digest(raw)


class _Claims(msgspec.Struct):
    exp: float
    body_sha256: str


def _token(endpoint: WebhookEndpoint, body: bytes, delivery: str, event: str, epoch: int) -> str:
    claims = {
        "iss": endpoint.app,
        "iat": epoch,
        "exp": epoch + TOKEN_LIFETIME,
        "jti": delivery,
        "evt": event,
        "body_sha256": digest(body),
    }
    return _with_signature(
        f"{_JWT_HEADER}.{_base64url(msgspec.json.encode(claims))}", endpoint.secret
    )


def _with_signature(signed_part: str, secret: str) -> str:
    """Return a JWT's header and claims with their HS256 signature (RFC 7515)."""
    digest = hmac.digest(secret.encode(), signed_part.encode(), hashlib.sha256)
    return f"{signed_part}.{_base64url(digest)}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


_JWT_HEADER = _base64url(b'{"alg":"HS256","typ":"JWT"}')


def redact_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers for display: the ``Authorization`` value is cut off after its scheme."""
    return {
        name: f"{value.split(' ')[0]} …" if name.lower() == "authorization" else value
        for name, value in headers.items()
    }


# -- deliveries


BACKOFF = {"exponential": (60, 5 * 60, 30 * 60, 2 * 3600, 8 * 3600), "linear": (30 * 60,)}
"""Seconds to wait before each retry; the last value is repeated (Delivery rules; B-84)."""


class DeliveryAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt: instant (world's clock), headers, response; ``duration_ms`` is real time."""

    at: str
    status_code: int | None
    error: str | None
    duration_ms: int
    request_headers: Mapping[str, str]
    response_body: str | None


class WebhookDelivery(Record, frozen=True, kw_only=True):
    """``next_attempt_at`` is set while pending (B-85); after a retry ``by_hand``, none follows."""

    prefix: ClassVar[str] = "whd"
    names: ClassVar[tuple[str, str] | None] = (N_("Delivery"), N_("Deliveries"))
    indexes: ClassVar[tuple[str, ...]] = ("webhook", "event", "status")

    object: str = "webhook_delivery"
    webhook: str
    event: str
    event_type: str
    status: str
    attempts: tuple[DeliveryAttempt, ...] = ()
    attempt_count: int = 0
    next_attempt_at: str | None
    created_at: str
    updated_at: str
    by_hand: Annotated[bool, HIDDEN] = False


STATE_MACHINE = StateMachine(
    WebhookDelivery,
    (None, "create", "pending"),
    ("pending", "retry later", "pending"),
    ("pending", "succeed", "succeeded"),
    ("pending", "fail", "failed"),
    ("pending", "miss", "failed"),
    ("failed", "retry", "pending"),
)


def enqueue_deliveries(world: World, event: Event) -> None:
    """Reaction to every event: create a delivery for each enabled endpoint that listens for it."""
    if not world.holds(WebhookEndpoint):
        return
    for endpoint in world.table(WebhookEndpoint).where("enabled", True):
        if endpoint.listens(event.type):
            world.enqueue(_deliver(_create(world, endpoint, event)))


def _create(world: World, endpoint: WebhookEndpoint, event: Event) -> WebhookDelivery:
    own = {
        "webhook": endpoint.id,
        "event": event.id,
        "event_type": event.type,
        "next_attempt_at": world.now,
    }
    return STATE_MACHINE.create(world, "create", **own)


def reissue(world: World, post: DeliverWebhook) -> None:
    """Deliver the same change again to the same endpoint, as an event with a new id (B-94)."""
    event = world.get(Event, world.require(WebhookDelivery, post.delivery).event)
    endpoint = world.get(WebhookEndpoint, post.webhook)
    if event is not None and endpoint is not None:
        world.enqueue(
            _deliver(_create(world, endpoint, world.record_event(event.type, event.data)))
        )


def _deliver(delivery: WebhookDelivery) -> DeliverWebhook:
    return DeliverWebhook(webhook=delivery.webhook, delivery=delivery.id)


def under_way(world: World) -> list[DeliverWebhook]:
    """Return the due attempts without an outcome, oldest first; they have no job."""
    jobs = world.table(Job)
    return [
        _deliver(delivery)
        for delivery in world.table(WebhookDelivery).where("status", "pending")
        if not jobs.where("about", delivery.id)
    ]


# -- attempts


def outgoing(world: World, post: DeliverWebhook, epoch: int) -> SignedRequest | None:
    """Return a delivery's request; None after an outcome or with its endpoint disabled or deleted.

    ``epoch`` is the system's time in seconds.
    """
    delivery = world.get(WebhookDelivery, post.delivery)
    endpoint = world.get(WebhookEndpoint, post.webhook)
    if delivery is None or endpoint is None or not endpoint.enabled or delivery.status != "pending":
        return None
    body = encode(world.require(Event, delivery.event))
    request = signed(endpoint, body, delivery=delivery.id, event=delivery.event, epoch=epoch)
    request.headers["Emulator-Delivery"] = delivery.id
    request.headers["Emulator-Attempt"] = str(delivery.attempt_count + 1)
    return request


def mark_missed(world: World, post: DeliverWebhook) -> None:
    """Fail a delivery that came due while its endpoint was disabled; it is not retried (B-87)."""
    delivery = world.get(WebhookDelivery, post.delivery)
    if delivery is not None and delivery.status == "pending":
        STATE_MACHINE.transition(world, delivery, "miss", next_attempt_at=None)


def record_attempt(
    world: World,
    post: DeliverWebhook,
    sent: SignedRequest,
    response: HttpResult,
    at: str,
    *,
    again: float | None = None,
) -> None:
    """Record the outcome of an attempt at the instant ``at``, and plan a retry, if due (B-84).

    ``again`` is in how many seconds, where a tester has said it (B-94).
    """
    delivery = world.get(WebhookDelivery, post.delivery)
    endpoint = world.get(WebhookEndpoint, post.webhook)
    if delivery is None or endpoint is None or delivery.status != "pending":
        return
    error = response.error
    if response.ok and not is_success(world, response):
        error = f"status {response.status_code} is no success: the receiver must answer 200 (B-84)"
    attempt = DeliveryAttempt(
        at=at,
        status_code=response.status_code,
        error=error,
        duration_ms=response.duration_ms,
        request_headers=redact_credentials(sent.headers),
        response_body=response.body,
    )
    attempts = (*delivery.attempts, attempt)
    changes = {"attempts": attempts, "attempt_count": len(attempts), "next_attempt_at": None}
    if is_success(world, response):
        STATE_MACHINE.transition(world, delivery, "succeed", **changes)
    elif (
        delivery.by_hand
        or _final(world, response)
        or len(attempts) > endpoint.retry_policy.max_attempts
    ):
        STATE_MACHINE.transition(world, delivery, "fail", **changes)
    else:
        waits = BACKOFF[endpoint.retry_policy.backoff_type]
        wait = waits[min(len(attempts), len(waits)) - 1] if again is None else again
        due = calendar.plus(at, seconds=wait)
        world.schedule(due, "webhook.attempt", delivery)
        STATE_MACHINE.transition(
            world, delivery, "retry later", **{**changes, "next_attempt_at": due}
        )


def is_success(world: World, response: HttpResult) -> bool:
    """Return whether the receiver responded with 200 or, by one assumption, any 2xx (B-84)."""
    return (
        response.ok
        if settings(world).assumptions.webhook_success == "2xx"
        else response.status_code == 200
    )


def _final(world: World, response: HttpResult) -> bool:
    """Return whether no retry follows: 5xx and no response get one, by a setting all (B-84)."""
    if settings(world).assumptions.webhook_retry == "all":
        return False
    return response.status_code is not None and response.status_code // 100 != 5


def attempt_again(world: World, job: Job) -> None:
    world.enqueue(_deliver(world.require(WebhookDelivery, job.about)))


# -- operations


def disable(world: World, id: str) -> WebhookEndpoint:
    """POST /webhooks/{id}/disable/: sends stop, and waiting retries fail (B-87)."""
    endpoint = endpoints.changed(world, get_or_404(world, WebhookEndpoint, id), enabled=False)
    fail_waiting(world, endpoint)
    return endpoint


def fail_waiting(world: World, endpoint: WebhookEndpoint) -> None:
    """Fail the deliveries that wait for a retry; replays by hand are possible after enabling."""
    for delivery in world.table(WebhookDelivery).where("webhook", endpoint.id):
        if delivery.status == "pending" and world.jobs.where("about", delivery.id):
            world.cancel_jobs(delivery)
            STATE_MACHINE.transition(world, delivery, "miss", next_attempt_at=None)


def delete(world: World, id: str) -> None:
    """DELETE /webhooks/{id}/: its deliveries and their planned retries are deleted as well."""
    endpoint = get_or_404(world, WebhookEndpoint, id)
    for delivery in world.table(WebhookDelivery).where("webhook", id):
        world.cancel_jobs(delivery)
        world.remove(delivery)
    world.remove(endpoint)


def send_test(
    world: World, id: str, body: Mapping[str, Any]
) -> Generator[DeliverWebhook, HttpResult, WebhookDelivery]:
    """POST /webhooks/{id}/test/: an event for this endpoint; responds after the attempt (B-85)."""
    endpoint = _require_enabled(world, id)
    event = world.record_event(body["event"], _test_data(world, endpoint, body["event"]))
    delivery = _create(world, endpoint, event)
    yield _deliver(delivery)
    return get_or_404(world, WebhookDelivery, delivery.id)


def _test_data(world: World, endpoint: WebhookEndpoint, type: str) -> EventData:
    """Return a test event's data: the document's example, or the endpoint if it has none."""
    example = world.reference_data.samples.get(type)
    if example is None:
        return EventData(to_wire(endpoint))
    subject = dict(example["object"])
    subject.update((name, getattr(world, name)) for name in ("app", "livemode") if name in subject)
    return EventData(**{**example, "object": subject})


def _require_enabled(world: World, id: str) -> WebhookEndpoint:
    endpoint = get_or_404(world, WebhookEndpoint, id)
    if not endpoint.enabled:  # a disabled endpoint receives no deliveries (Delivery rule 5)
        raise ApiError(
            "INVALID_STATUS_TRANSITION",
            object="webhook endpoint",
            status="disabled",
            trigger="be sent anything",
        )
    return endpoint


def index(world: World, id: str, query: Query) -> Selection[WebhookDelivery]:
    get_or_404(world, WebhookEndpoint, id)
    return select(world.table(WebhookDelivery), {**query, "webhook": id})


def retry(
    world: World, id: str, did: str
) -> Generator[DeliverWebhook, HttpResult, WebhookDelivery]:
    """POST /webhooks/{id}/deliveries/{did}/retry/: attempts a failed delivery once more."""
    endpoint = _require_enabled(world, id)
    delivery = get_or_404(world, WebhookDelivery, did)
    if delivery.webhook != endpoint.id:
        raise ApiError("NOT_FOUND")
    delivery = STATE_MACHINE.transition(
        world, delivery, "retry", next_attempt_at=world.now, by_hand=True
    )
    yield _deliver(delivery)
    return get_or_404(world, WebhookDelivery, did)


OPERATIONS = {
    "disableWebhook": disable,
    "deleteWebhook": delete,
    "testWebhook": send_test,
    "listWebhookDeliveries": index,
    "retryWebhookDelivery": retry,
}
JOBS = {"webhook.attempt": attempt_again}
