"""The checks: what is sent to a receiver, what a good one makes of it, and what to do about one that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from emulator.certifier import invalid_deliveries, valid_deliveries
from emulator.certifier.service_world import PLACES, ServiceWorld
from emulator.certifier.transport import SendStrategy, at_once, one_by_one, slowly
from emulator.resources.webhooks.signing import SignedRequest

Make = Callable[[ServiceWorld], Sequence[SignedRequest]]

METHODS = tuple(PLACES)
"""The ways an endpoint can have its deliveries signed."""

OVER_THE_BODY = ("HMAC_SHA256", "JWT")
"""Those that vouch for the body as well."""


class ReceiverCheck(NamedTuple):
    """One row. A good receiver accepts what is sent with a 2xx, or else refuses it with a 4xx.

    ``rule`` is where that is written: a delivery rule, a limit, or the number of an assumption. ``advice`` is for
    whoever's receiver does the other thing.
    """

    name: str
    sent: str
    expected: Literal["accepted", "refused"]
    rule: str
    advice: str
    make: Make
    way: SendStrategy = one_by_one
    methods: tuple[str, ...] = METHODS


def _one(make: Callable[[ServiceWorld], SignedRequest]) -> Make:
    return lambda service: [make(service)]


RULE = "Delivery rule 1; B-83"

PING = ReceiverCheck(
    "ping",
    "the ping that tries a new endpoint",
    "accepted",
    "B-82",
    "Answer events of type webhook.ping with a 2xx, else the endpoint cannot be registered.",
    _one(ServiceWorld.ping),
)
GOOD = ReceiverCheck(
    "good",
    "a new event, signed as it should be",
    "accepted",
    RULE,
    "Is it the same secret on both sides, and the method that the endpoint has? "
    "Compute the signature over the raw body, before any JSON parsing.",
    _one(lambda service: service.good),
)

CHECKS: tuple[ReceiverCheck, ...] = (
    PING,
    GOOD,
    ReceiverCheck(
        "test",
        "the test event webhook.test",
        "accepted",
        "B-85",
        "Answer events of type webhook.test with a 2xx: that is what the test operation sends.",
        _one(ServiceWorld.test),
    ),
    ReceiverCheck(
        "events",
        "events of every type in the catalogue",
        "accepted",
        "Events",
        "Answer each type with a 2xx, also those that you have no use for.",
        valid_deliveries.every_type,
    ),
    ReceiverCheck(
        "unknown",
        "an event of a type that is not known yet",
        "accepted",
        "Events",
        "Answer what you do not know with a 2xx and ignore it: the service gets new types of event.",
        _one(ServiceWorld.unheard_of),
    ),
    ReceiverCheck(
        "text",
        "accents, other scripts and an emoji",
        "accepted",
        RULE,
        "Compute the signature over the bytes as they came, and decode them afterwards, as UTF-8.",
        valid_deliveries.text,
    ),
    ReceiverCheck(
        "spacing",
        "a body that is spaced otherwise",
        "accepted",
        RULE,
        "Compute the signature over the bytes as they came, not over JSON that you wrote anew.",
        valid_deliveries.spaced,
        methods=OVER_THE_BODY,
    ),
    ReceiverCheck(
        "large",
        "a customer with all the metadata allowed",
        "accepted",
        "Limits; B-22",
        "Let bodies of at least 128 KiB in; many frameworks stop at 100 KiB unless told otherwise.",
        valid_deliveries.large,
    ),
    ReceiverCheck(
        "slow",
        "a body that comes in pieces",
        "accepted",
        "Delivery rule 2",
        "Read as many bytes as Content-Length says before you compute the signature.",
        _one(ServiceWorld.customer),
        way=slowly,
    ),
    ReceiverCheck(
        "parallel",
        "five deliveries at the same time",
        "accepted",
        "Events, Gaps; Delivery rule 2",
        "Serve several requests at a time, or each fast enough for all to be answered in time.",
        valid_deliveries.crowd,
        way=at_once,
    ),
    ReceiverCheck(
        "repeated",
        "the same delivery twice",
        "accepted",
        "Events, Gaps; B-84",
        "Keep the ids of events that were handled; answer one that comes again with a 2xx and do nothing else.",
        valid_deliveries.twice,
    ),
    ReceiverCheck(
        "reordered",
        "events of a subscription, last one first",
        "accepted",
        "Events, Gaps; B-84",
        "Do not count on the order: take an event of an object you have not met yet, and fetch what you miss.",
        valid_deliveries.backwards,
    ),
    ReceiverCheck(
        "late",
        "an event that happened three days ago",
        "accepted",
        "Delivery rules 3 and 4; B-84",
        "Do not refuse an event for its created_at: retries go on for days, and a replay by hand may come any time.",
        valid_deliveries.late,
    ),
    ReceiverCheck(
        "valid-token",
        "a token in the last minute it is valid",
        "accepted",
        "B-83",
        "Go by the claim exp, and allow for no less than it says.",
        valid_deliveries.lasting,
        methods=("JWT",),
    ),
    ReceiverCheck(
        "stale-token",
        "a token that expired long ago",
        "refused",
        "B-83",
        "Have your library check the claim exp.",
        _one(invalid_deliveries.expired),
        methods=("JWT",),
    ),
    ReceiverCheck(
        "forged-secret",
        "an event signed with another secret",
        "refused",
        RULE,
        "Compute the signature with the endpoint's secret and compare; anybody can send to your address.",
        _one(invalid_deliveries.by_another_secret),
    ),
    ReceiverCheck(
        "forged-user",
        "the credentials of another endpoint",
        "refused",
        "B-83",
        "Compare the user as well: it is the endpoint's id.",
        _one(invalid_deliveries.by_another_user),
        methods=("BASIC",),
    ),
    ReceiverCheck(
        "forged-body",
        "a body that was changed after signing",
        "refused",
        RULE,
        "Check the signature of every request, before you look whether you know the event. "
        "With JWT also compare the claim body_sha256 with the body.",
        _one(invalid_deliveries.changed),
        methods=OVER_THE_BODY,
    ),
    ReceiverCheck(
        "forged-event",
        "an event under another one's signature",
        "refused",
        RULE,
        "Compute the signature over this very body. With JWT compare the claim body_sha256 with the body.",
        _one(invalid_deliveries.borrowed),
        methods=OVER_THE_BODY,
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
        "Name HS256 to your library as the only algorithm that is allowed.",
        _one(invalid_deliveries.without_algorithm),
        methods=("JWT",),
    ),
    ReceiverCheck(
        "unsigned",
        "an event without a signature",
        "refused",
        RULE,
        "Refuse requests without the header; a check that is left out when it is missing is no check.",
        _one(invalid_deliveries.unproved),
    ),
    ReceiverCheck(
        "empty",
        "a signature header with nothing in it",
        "refused",
        RULE,
        "Refuse requests with an empty header, as those without.",
        _one(invalid_deliveries.empty),
    ),
    ReceiverCheck(
        "garbage",
        "a signature header with something else",
        "refused",
        RULE,
        "Expect anything there: comparing signatures of different lengths is an error in some libraries.",
        _one(invalid_deliveries.garbage),
    ),
    ReceiverCheck(
        "non-ascii",
        "a signature in letters beyond ASCII",
        "refused",
        RULE,
        "Compare bytes, not texts: comparing texts beyond ASCII is an error in some libraries.",
        _one(invalid_deliveries.beyond_ascii),
    ),
)
"""Every check, in the order of the run."""


def checks_of(method: str) -> list[ReceiverCheck]:
    """The checks of a receiver whose deliveries are signed so."""
    return [check for check in CHECKS if method in check.methods]
