"""Invalid deliveries, which a correct receiver rejects, made from valid ones."""

from __future__ import annotations

import base64
import secrets

from msgspec.structs import replace

from emulator.checks.receiver.service_world import PROOF_HEADERS, ServiceWorld, unsigned
from emulator.engine.outbox import tamper
from emulator.resources.webhooks.endpoints import WebhookEndpoint
from emulator.resources.webhooks.signing import TOKEN_LIFETIME, SignedRequest

OTHER = {"HMAC_SHA256": "JWT", "JWT": "HMAC_SHA256", "BASIC": "HMAC_SHA256"}
"""For each signing method, another one that the endpoint does not use."""

NO_ALGORITHM = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()


def by_another_secret(service: ServiceWorld) -> SignedRequest:
    """Signed without knowing the secret."""
    return service.signed(service.customer(), by={"secret": f"whsec_{secrets.token_hex(16)}"})


def by_another_user(service: ServiceWorld) -> SignedRequest:
    """Signed with the id of another endpoint."""
    return service.signed(service.customer(), by={"id": f"{WebhookEndpoint.prefix}_{secrets.token_hex(12)}"})


def by_another_method(service: ServiceWorld) -> SignedRequest:
    """Signed with a method that the endpoint does not use."""
    return service.signed(service.customer(), by={"security_profile": OTHER[service.endpoint.security_profile]})


def changed(service: ServiceWorld) -> SignedRequest:
    """A valid delivery whose body was changed."""
    return replace(service.valid_event, body=tamper(service.valid_event.body))


def borrowed(service: ServiceWorld) -> SignedRequest:
    """A new event with the signature of another one."""
    name, _ = PROOF_HEADERS[service.endpoint.security_profile]
    return _with_proof(service, service.valid_event.headers[name])


def without_signature(service: ServiceWorld) -> SignedRequest:
    """Without any signature."""
    return unsigned(service.customer())


def empty(service: ServiceWorld) -> SignedRequest:
    """With an empty signature header."""
    return _with_proof(service, _scheme(service))


def garbage(service: ServiceWorld) -> SignedRequest:
    """With a signature of another length and form."""
    return _with_proof(service, _scheme(service) + "not-a-signature")


def beyond_ascii(service: ServiceWorld) -> SignedRequest:
    """With a signature of the right length in bytes, in characters that no signature has."""
    return _with_proof(service, _scheme(service) + "é" * 32)


def without_algorithm(service: ServiceWorld) -> SignedRequest:
    """A token that declares itself unsigned."""
    sent = service.customer()
    claims = sent.headers["Authorization"].split(".")[1]
    return replace(sent, headers={**sent.headers, "Authorization": f"Bearer {NO_ALGORITHM}.{claims}."})


def expired(service: ServiceWorld) -> SignedRequest:
    """A token that expired long ago."""
    return service.signed(service.customer(), ago=12 * TOKEN_LIFETIME)


def _scheme(service: ServiceWorld) -> str:
    return PROOF_HEADERS[service.endpoint.security_profile][1]


def _with_proof(service: ServiceWorld, proof: str) -> SignedRequest:
    sent, (name, _) = service.customer(), PROOF_HEADERS[service.endpoint.security_profile]
    return replace(sent, headers={**sent.headers, name: proof})
