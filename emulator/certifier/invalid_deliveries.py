"""Forgery: deliveries that a good receiver refuses, made of genuine ones."""

from __future__ import annotations

import base64
import secrets

from msgspec.structs import replace

from emulator.certifier.service_world import PLACES, ServiceWorld, unsigned
from emulator.engine.delivery_faults import tamper
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.resources.webhooks.signing import TOKEN_LIFETIME, SignedRequest

OTHER = {"HMAC_SHA256": "JWT", "JWT": "HMAC_SHA256", "BASIC": "HMAC_SHA256"}
"""A method that the endpoint does not use, for each that it may."""

NO_ALGORITHM = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()


def by_another_secret(service: ServiceWorld) -> SignedRequest:
    """Signed by somebody who does not know the secret."""
    return service.signed(service.customer(), by={"secret": f"whsec_{secrets.token_hex(16)}"})


def by_another_user(service: ServiceWorld) -> SignedRequest:
    """Under the id of another endpoint."""
    return service.signed(service.customer(), by={"id": f"{WebhookEndpoint.prefix}_{secrets.token_hex(12)}"})


def by_another_method(service: ServiceWorld) -> SignedRequest:
    """Signed as another endpoint might want it, and not as this one does."""
    return service.signed(service.customer(), by={"security_profile": OTHER[service.endpoint.security_profile]})


def changed(service: ServiceWorld) -> SignedRequest:
    """A delivery that was received, changed, and sent again."""
    return replace(service.good, body=tamper(service.good.body))


def borrowed(service: ServiceWorld) -> SignedRequest:
    """An event that is news, under what proved another one."""
    name, _ = PLACES[service.endpoint.security_profile]
    return _proved_by(service, service.good.headers[name])


def unproved(service: ServiceWorld) -> SignedRequest:
    """Without any proof."""
    return unsigned(service.customer())


def empty(service: ServiceWorld) -> SignedRequest:
    """With the header, and nothing in it."""
    return _proved_by(service, _before(service))


def garbage(service: ServiceWorld) -> SignedRequest:
    """With a proof of another length and form."""
    return _proved_by(service, _before(service) + "not-a-signature")


def beyond_ascii(service: ServiceWorld) -> SignedRequest:
    """With a proof of the right length in bytes, in letters that no signature has."""
    return _proved_by(service, _before(service) + "é" * 32)


def without_algorithm(service: ServiceWorld) -> SignedRequest:
    """A token that says itself that nobody signed it."""
    sent = service.customer()
    claims = sent.headers["Authorization"].split(".")[1]
    return replace(sent, headers={**sent.headers, "Authorization": f"Bearer {NO_ALGORITHM}.{claims}."})


def expired(service: ServiceWorld) -> SignedRequest:
    """A token whose time is over."""
    return service.signed(service.customer(), ago=12 * TOKEN_LIFETIME)


def _before(service: ServiceWorld) -> str:
    return PLACES[service.endpoint.security_profile][1]


def _proved_by(service: ServiceWorld, proof: str) -> SignedRequest:
    sent, (name, _) = service.customer(), PLACES[service.endpoint.security_profile]
    return replace(sent, headers={**sent.headers, name: proof})
