"""Signatures by which receivers verify the sender and the body of a webhook (Delivery rule 1; B-83)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Protocol

import msgspec

from emulator.core.effects import PingEndpoint
from emulator.resources.webhooks.endpoints import WebhookEndpoint


class Credentials(Protocol):
    """What signatures of an endpoint are made from."""

    @property
    def id(self) -> str:
        """The endpoint's id."""

    @property
    def secret(self) -> str:
        """The endpoint's secret."""

    @property
    def security_profile(self) -> str:
        """How it signs: ``HMAC_SHA256``, ``BASIC`` or ``JWT``."""


TOKEN_LIFETIME = 300
"""Seconds a JWT stays valid."""


class SignedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request ready to be sent; ``verify`` says whether the TLS certificate is checked."""

    url: str
    headers: dict[str, str]
    body: bytes
    verify: bool


def signed(endpoint: WebhookEndpoint, body: bytes, *, delivery: str, event: str, epoch: int) -> SignedRequest:
    """The signed request with this body. ``epoch`` is the system's time in seconds, for the claims of a JWT."""
    headers = {"Content-Type": "application/json"}
    if endpoint.security_profile == "HMAC_SHA256":
        headers["Service-Signature"] = signature(endpoint.secret, body)
    elif endpoint.security_profile == "JWT":
        headers["Authorization"] = f"Bearer {_token(endpoint, body, delivery, event, epoch)}"
    else:
        headers["Authorization"] = f"Basic {credentials(endpoint)}"
    return SignedRequest(url=endpoint.url, headers=headers, body=body, verify=endpoint.ssl_verification)


def ping(effect: PingEndpoint, epoch: int) -> SignedRequest:
    """The request of a validation ping, whose JWT names the event also as its delivery, since it has none (B-82)."""
    endpoint = effect.endpoint
    assert isinstance(endpoint, WebhookEndpoint)
    return signed(endpoint, effect.body, delivery=effect.event, event=effect.event, epoch=epoch)


def signature(secret: str, body: bytes) -> str:
    """The lower-case hex HMAC-SHA256 of the body."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def credentials(endpoint: Credentials) -> str:
    """The endpoint's id as user and its secret as password, as HTTP Basic writes them."""
    return base64.b64encode(f"{endpoint.id}:{endpoint.secret}".encode()).decode()


def digest(body: bytes) -> str:
    """The claim ``body_sha256`` of a JWT."""
    return hashlib.sha256(body).hexdigest()


def verify(endpoint: Credentials, headers: Mapping[str, str], raw: bytes) -> bool:
    """Whether a request is signed as the endpoint's method asks: what every receiver should check (B-83).

    Names of headers are in lower case.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    match endpoint.security_profile:
        case "HMAC_SHA256":
            given = headers.get("service-signature", "")
            return hmac.compare_digest(given.encode(), signature(endpoint.secret, raw).encode())
        case "JWT":
            return scheme == "Bearer" and _verify_jwt(token, endpoint.secret, raw)
    return scheme == "Basic" and hmac.compare_digest(token.encode(), credentials(endpoint).encode())


def _verify_jwt(token: str, secret: str, raw: bytes) -> bool:
    # Loaded on first use: few endpoints use JWT.
    import jwt

    try:
        claims = jwt.decode(token, secret, algorithms=["HS256"], options={"require": ["exp", "body_sha256"]})
    except jwt.InvalidTokenError:
        return False
    return bool(claims["body_sha256"] == digest(raw))


def _token(endpoint: WebhookEndpoint, body: bytes, delivery: str, event: str, epoch: int) -> str:
    # Loaded on first use: few endpoints use JWT, and the library imports a large cryptography package.
    import jwt

    claims = {
        "iss": endpoint.app,
        "iat": epoch,
        "exp": epoch + TOKEN_LIFETIME,
        "jti": delivery,
        "evt": event,
        "body_sha256": digest(body),
    }
    return jwt.encode(claims, endpoint.secret, algorithm="HS256")


def redact_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as they may be shown: the value of ``Authorization`` is cut off after its scheme."""
    return {
        name: f"{value.split(' ')[0]} …" if name.lower() == "authorization" else value
        for name, value in headers.items()
    }
