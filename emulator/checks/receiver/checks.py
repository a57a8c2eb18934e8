"""The checks: what is sent to a receiver, the answer expected, and the advice if the answer is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from emulator.checks.receiver import invalid_deliveries, valid_deliveries
from emulator.checks.receiver.service_world import PROOF_HEADERS, ServiceWorld
from emulator.checks.receiver.transport import SendStrategy, at_once, one_by_one, slowly
from emulator.resources.webhooks.signing import SignedRequest

Make = Callable[[ServiceWorld], Sequence[SignedRequest]]

METHODS = tuple(PROOF_HEADERS)
"""The signing methods of an endpoint."""

SIGN_THE_BODY = ("HMAC_SHA256", "JWT")
"""The methods whose signature covers the body."""


class ReceiverCheck(NamedTuple):
    """One check. A correct receiver accepts the deliveries with a 2xx, or rejects them with a 4xx.

    ``rule`` names the source: a delivery rule, a limit, or the number of an assumption. ``advice`` is for the developer
    of a receiver that does the opposite.
    """

    name: str
    sent: str
    expected: Literal["accepted", "refused"]
    rule: str
    advice: str
    make: Make
    send: SendStrategy = one_by_one
    methods: tuple[str, ...] = METHODS


def _one(make: Callable[[ServiceWorld], SignedRequest]) -> Make:
    return lambda service: [make(service)]


RULE = "Delivery rule 1; B-83"

PING = ReceiverCheck(
    "ping",
    "the ping that validates a new endpoint",
    "accepted",
    "B-82",
    "Answer events of type webhook.ping with a 2xx, otherwise the endpoint cannot be registered.",
    _one(ServiceWorld.ping),
)
GOOD = ReceiverCheck(
    "good",
    "a new event, correctly signed",
    "accepted",
    RULE,
    "Do both sides use the same secret and the same signing method? "
    "Compute the signature over the raw body, before any JSON parsing.",
    _one(lambda service: service.valid_event),
)

CHECKS: tuple[ReceiverCheck, ...] = (
    PING,
    GOOD,
    ReceiverCheck(
        "test",
        "the test event webhook.test",
        "accepted",
        "B-85",
        "Answer events of type webhook.test with a 2xx: the test operation sends them.",
        _one(ServiceWorld.test),
    ),
    ReceiverCheck(
        "events",
        "events of every type in the catalogue",
        "accepted",
        "Events",
        "Answer every type with a 2xx, including those you do not use.",
        valid_deliveries.every_type,
    ),
    ReceiverCheck(
        "unknown",
        "an event of an unknown type",
        "accepted",
        "Events",
        "Answer unknown types with a 2xx and ignore them: the service adds new types of event.",
        _one(ServiceWorld.unknown_type),
    ),
    ReceiverCheck(
        "text",
        "accents, other scripts and an emoji",
        "accepted",
        RULE,
        "Compute the signature over the raw bytes, and only then decode them as UTF-8.",
        valid_deliveries.text,
    ),
    ReceiverCheck(
        "spacing",
        "a body with different white space",
        "accepted",
        RULE,
        "Compute the signature over the raw bytes, not over JSON that you serialized again.",
        valid_deliveries.spaced,
        methods=SIGN_THE_BODY,
    ),
    ReceiverCheck(
        "large",
        "a customer with all the metadata allowed",
        "accepted",
        "Limits; B-22",
        "Accept bodies of at least 128 KiB; the default limit of many frameworks is 100 KiB.",
        valid_deliveries.large,
    ),
    ReceiverCheck(
        "slow",
        "a body that arrives in pieces",
        "accepted",
        "Delivery rule 2",
        "Read all Content-Length bytes before you compute the signature.",
        _one(ServiceWorld.customer),
        send=slowly,
    ),
    ReceiverCheck(
        "parallel",
        "five deliveries at the same time",
        "accepted",
        "Events, Gaps; Delivery rule 2",
        "Handle requests concurrently, or fast enough that all of them are answered in time.",
        valid_deliveries.parallel,
        send=at_once,
    ),
    ReceiverCheck(
        "repeated",
        "the same delivery twice",
        "accepted",
        "Events, Gaps; B-84",
        "Store the ids of handled events; answer a repeated one with a 2xx and do nothing else.",
        valid_deliveries.twice,
    ),
    ReceiverCheck(
        "reordered",
        "events of a subscription, last one first",
        "accepted",
        "Events, Gaps; B-84",
        "Do not rely on the order: accept events about objects you do not know yet, and fetch what you need.",
        valid_deliveries.reordered,
    ),
    ReceiverCheck(
        "late",
        "an event that happened three days ago",
        "accepted",
        "Delivery rules 3 and 4; B-84",
        "Do not reject an event for its created_at: retries continue for days, and events can be replayed at any time.",
        valid_deliveries.late,
    ),
    ReceiverCheck(
        "valid-token",
        "a token in its last valid minute",
        "accepted",
        "B-83",
        "Use the exp claim, and do not allow less time than it gives.",
        valid_deliveries.nearly_expired,
        methods=("JWT",),
    ),
    ReceiverCheck(
        "stale-token",
        "a token that expired long ago",
        "refused",
        "B-83",
        "Have your library check the exp claim.",
        _one(invalid_deliveries.expired),
        methods=("JWT",),
    ),
    ReceiverCheck(
        "forged-secret",
        "an event signed with another secret",
        "refused",
        RULE,
        "Compute the signature with the endpoint's secret and compare; anyone can send requests to your URL.",
        _one(invalid_deliveries.by_another_secret),
    ),
    ReceiverCheck(
        "forged-user",
        "the credentials of another endpoint",
        "refused",
        "B-83",
        "Compare the user name as well: it is the endpoint's id.",
        _one(invalid_deliveries.by_another_user),
        methods=("BASIC",),
    ),
    ReceiverCheck(
        "forged-body",
        "a body that was changed after signing",
        "refused",
        RULE,
        "Check the signature of every request before you check whether you know the event. "
        "With JWT also compare the body_sha256 claim with the body.",
        _one(invalid_deliveries.changed),
        methods=SIGN_THE_BODY,
    ),
    ReceiverCheck(
        "forged-event",
        "an event with the signature of another",
        "refused",
        RULE,
        "Compute the signature over the body of this request. With JWT compare the body_sha256 claim with the body.",
        _one(invalid_deliveries.borrowed),
        methods=SIGN_THE_BODY,
    ),
    ReceiverCheck(
        "forged-method",
        "the signature of another method",
        "refused",
        "Authentication rule 7",
        "Accept only the method that the endpoint is registered with.",
        _one(invalid_deliveries.by_another_method),
    ),
    ReceiverCheck(
        "forged-algorithm",
        'a token of the algorithm "none"',
        "refused",
        "B-83",
        "Configure your library to allow only the algorithm HS256.",
        _one(invalid_deliveries.without_algorithm),
        methods=("JWT",),
    ),
    ReceiverCheck(
        "unsigned",
        "an event without a signature",
        "refused",
        RULE,
        "Reject requests without the header; do not skip the check when it is missing.",
        _one(invalid_deliveries.without_signature),
    ),
    ReceiverCheck(
        "empty",
        "an empty signature header",
        "refused",
        RULE,
        "Reject requests with an empty header, like those without one.",
        _one(invalid_deliveries.empty),
    ),
    ReceiverCheck(
        "garbage",
        "a signature header with garbage",
        "refused",
        RULE,
        "Expect any value: comparing signatures of different lengths is an error in some libraries.",
        _one(invalid_deliveries.garbage),
    ),
    ReceiverCheck(
        "non-ascii",
        "a signature with non-ASCII characters",
        "refused",
        RULE,
        "Compare bytes, not strings: comparing non-ASCII strings is an error in some libraries.",
        _one(invalid_deliveries.beyond_ascii),
    ),
)
"""All checks, in the order of the run."""


def checks_of(method: str) -> list[ReceiverCheck]:
    """The checks for a signing method."""
    return [check for check in CHECKS if method in check.methods]
