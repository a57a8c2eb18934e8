"""The checks: what is sent to a receiver, what a good one makes of it, and what to do about one that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from emulator.certifier import forgery, genuine
from emulator.certifier.sending import Way, at_once, one_by_one, slowly
from emulator.certifier.service import PLACES, Service
from emulator.resources.signing import Outgoing

Make = Callable[[Service], Sequence[Outgoing]]

METHODS = tuple(PLACES)
"""The ways an endpoint can have its deliveries signed."""

OVER_THE_BODY = ("HMAC_SHA256", "JWT")
"""Those that vouch for the body as well."""


class Check(NamedTuple):
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
    way: Way = one_by_one
    methods: tuple[str, ...] = METHODS


def _one(make: Callable[[Service], Outgoing]) -> Make:
    return lambda service: [make(service)]


RULE = "Delivery rule 1; B-83"

PING = Check(
    "ping",
    "the ping that tries a new endpoint",
    "accepted",
    "B-82",
    "Answer events of type webhook.ping with a 2xx, else the endpoint cannot be registered.",
    _one(Service.ping),
)
GOOD = Check(
    "good",
    "a new event, signed as it should be",
    "accepted",
    RULE,
    "Is it the same secret on both sides, and the method that the endpoint has? "
    "Compute the signature over the raw body, before any JSON parsing.",
    _one(lambda service: service.good),
)

CHECKS: tuple[Check, ...] = (
    PING,
    GOOD,
    Check(
        "test",
        "the test event webhook.test",
        "accepted",
        "B-85",
        "Answer events of type webhook.test with a 2xx: that is what the test operation sends.",
        _one(Service.test),
    ),
    Check(
        "events",
        "events of every type in the catalogue",
        "accepted",
        "Events",
        "Answer each type with a 2xx, also those that you have no use for.",
        genuine.every_type,
    ),
    Check(
        "unknown",
        "an event of a type that is not known yet",
        "accepted",
        "Events",
        "Answer what you do not know with a 2xx and ignore it: the service gets new types of event.",
        _one(Service.unheard_of),
    ),
    Check(
        "text",
        "accents, other scripts and an emoji",
        "accepted",
        RULE,
        "Compute the signature over the bytes as they came, and decode them afterwards, as UTF-8.",
        genuine.text,
    ),
    Check(
        "spacing",
        "a body that is spaced otherwise",
        "accepted",
        RULE,
        "Compute the signature over the bytes as they came, not over JSON that you wrote anew.",
        genuine.spaced,
        methods=OVER_THE_BODY,
    ),
    Check(
        "large",
        "a customer with all the metadata allowed",
        "accepted",
        "Limits; B-22",
        "Let bodies of at least 128 KiB in; many frameworks stop at 100 KiB unless told otherwise.",
        genuine.large,
    ),
    Check(
        "slow",
        "a body that comes in pieces",
        "accepted",
        "Delivery rule 2",
        "Read as many bytes as Content-Length says before you compute the signature.",
        _one(Service.customer),
        way=slowly,
    ),
    Check(
        "parallel",
        "five deliveries at the same time",
        "accepted",
        "Events, Gaps; Delivery rule 2",
        "Serve several requests at a time, or each fast enough for all to be answered in time.",
        genuine.crowd,
        way=at_once,
    ),
    Check(
        "repeated",
        "the same delivery twice",
        "accepted",
        "Events, Gaps; B-84",
        "Keep the ids of events that were handled; answer one that comes again with a 2xx and do nothing else.",
        genuine.twice,
    ),
    Check(
        "reordered",
        "events of a subscription, last one first",
        "accepted",
        "Events, Gaps; B-84",
        "Do not count on the order: take an event of an object you have not met yet, and fetch what you miss.",
        genuine.backwards,
    ),
    Check(
        "late",
        "an event that happened three days ago",
        "accepted",
        "Delivery rules 3 and 4; B-84",
        "Do not refuse an event for its created_at: retries go on for days, and a replay by hand may come any time.",
        genuine.late,
    ),
    Check(
        "valid-token",
        "a token in the last minute it is valid",
        "accepted",
        "B-83",
        "Go by the claim exp, and allow for no less than it says.",
        genuine.lasting,
        methods=("JWT",),
    ),
    Check(
        "stale-token",
        "a token that expired long ago",
        "refused",
        "B-83",
        "Have your library check the claim exp.",
        _one(forgery.expired),
        methods=("JWT",),
    ),
    Check(
        "forged-secret",
        "an event signed with another secret",
        "refused",
        RULE,
        "Compute the signature with the endpoint's secret and compare; anybody can send to your address.",
        _one(forgery.by_another_secret),
    ),
    Check(
        "forged-user",
        "the credentials of another endpoint",
        "refused",
        "B-83",
        "Compare the user as well: it is the endpoint's id.",
        _one(forgery.by_another_user),
        methods=("BASIC",),
    ),
    Check(
        "forged-body",
        "a body that was changed after signing",
        "refused",
        RULE,
        "Check the signature of every request, before you look whether you know the event. "
        "With JWT also compare the claim body_sha256 with the body.",
        _one(forgery.changed),
        methods=OVER_THE_BODY,
    ),
    Check(
        "forged-event",
        "an event under another one's signature",
        "refused",
        RULE,
        "Compute the signature over this very body. With JWT compare the claim body_sha256 with the body.",
        _one(forgery.borrowed),
        methods=OVER_THE_BODY,
    ),
    Check(
        "forged-method",
        "the signature of another method",
        "refused",
        "Authentication rule 7",
        "Accept only the method that the endpoint is registered with.",
        _one(forgery.by_another_method),
    ),
    Check(
        "forged-algorithm",
        'a token of the algorithm "none"',
        "refused",
        "B-83",
        "Name HS256 to your library as the only algorithm that is allowed.",
        _one(forgery.without_algorithm),
        methods=("JWT",),
    ),
    Check(
        "unsigned",
        "an event without a signature",
        "refused",
        RULE,
        "Refuse requests without the header; a check that is left out when it is missing is no check.",
        _one(forgery.unproved),
    ),
    Check(
        "empty",
        "a signature header with nothing in it",
        "refused",
        RULE,
        "Refuse requests with an empty header, as those without.",
        _one(forgery.empty),
    ),
    Check(
        "garbage",
        "a signature header with something else",
        "refused",
        RULE,
        "Expect anything there: comparing signatures of different lengths is an error in some libraries.",
        _one(forgery.garbage),
    ),
    Check(
        "non-ascii",
        "a signature in letters beyond ASCII",
        "refused",
        RULE,
        "Compare bytes, not texts: comparing texts beyond ASCII is an error in some libraries.",
        _one(forgery.beyond_ascii),
    ),
)
"""Every check, in the order of the run."""


def checks_of(method: str) -> list[Check]:
    """The checks of a receiver whose deliveries are signed so."""
    return [check for check in CHECKS if method in check.methods]
