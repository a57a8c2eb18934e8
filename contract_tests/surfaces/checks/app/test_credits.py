"""A shop with one mistake of people at a time: the command names each in its first three lines, by its cause."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from contract_tests.surfaces.checks.app.test_command import sweep

SHOP = str(Path(__file__).with_name("credits.py"))

NOT_AGAIN = "A request whose outcome is unknown is not sent again"
KILLED = "What was under way when the application was killed is lost, or done twice"

NAMED = {
    "keyless": ("drop-after", "A request is sent again without an Idempotency-Key"),
    "another key": ("drop-after", "A request is sent again with another Idempotency-Key"),
    "never again": ("drop-before", NOT_AGAIN),
    "trusts each body": ("garbled", NOT_AGAIN),
    "a 500 is final": ("error-after", NOT_AGAIN),
    "swallows errors": ("drop-before", NOT_AGAIN),
    "a 429 is final": ("throttled", "A 429 is not retried after its delay"),
    "hurries": ("throttled", "A request was sent again before the Retry-After of a 429 was over"),
    "handles twice": ("twice", "An event that comes twice is handled twice"),
    "looks first": ("together", "An event that comes twice at the same moment is handled twice"),
    "looks at the service first": ("together", "An event that comes twice at the same moment is handled twice"),
    "counts side by side": (
        "overlapping",
        "Two events that come at the same moment are not handled as one after the other",
    ),
    "knows events only": ("reissued", "A change that comes again under another event id is handled twice"),
    "forgets after a day": ("days-later", "An event that comes again days later is handled twice"),
    "undoes": ("swapped", "An event that comes late undoes a newer state, or is not understood"),
    "the page grants, too": ("late", "An event that comes late undoes a newer state, or is not understood"),
    "never asks": ("lost", "What a lost webhook would have said is never asked for"),
    "no signature": ("forged", "A webhook that was tampered with was accepted"),
    "asks for money again": ("pending", "A payment that the operator answers an hour later is not understood"),
    "processing is paid": ("refused-later", "A payment without an answer yet is taken for paid"),
    "the redirect is a payment": (
        "redirected-unpaid",
        "A buyer who comes back without having paid is taken for one who has",
    ),
    "remembers in memory": ("killed-received", KILLED),
    "marks before work": ("killed-reading", KILLED),
    "works afterwards": ("killed-acknowledged", KILLED),
}
"""By mistake: the kind of fault that shows it, and how the report names it."""

SLOW = {"waits for ever": ("hung", "A request waits for its response without a time limit")}
"""The same, of one that takes half a minute to be shown."""


def command(mistake: str, *options: str) -> list[str]:
    shop = [sys.executable, SHOP, mistake]
    check = " ".join([sys.executable, SHOP, f"'{mistake}'", "--print"])
    return [*options, "--clock", "frozen@2026-01-01T00:00:00Z", "--check", check, "--", *shop]


@pytest.mark.parametrize("mistake", [*NAMED, *(pytest.param(each, marks=pytest.mark.long) for each in SLOW)])
def test_each_mistake_is_named_by_its_cause(mistake: str) -> None:
    """In the first three lines; and the line below says how to repeat it."""
    kind, problem = (NAMED | SLOW)[mistake]
    ended = sweep(*command(mistake, "--only", kind))
    lines = ended.stdout.splitlines()
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert any(line.startswith(f"1. {problem}") for line in lines[:3]), ended.stdout
    assert any(
        line.startswith("    again: payments-emulator test app --only ") and f":{kind} " in line for line in lines
    )


@pytest.mark.parametrize("mistake", ["looks first", "counts side by side"])
def test_what_also_fails_by_the_same_mistake_is_not_another_problem(mistake: str) -> None:
    """A shop that only fails where two webhooks meet passes where they come one after the other."""
    assert sweep(*command(mistake, "--only", "twice", "--only", "late")).stdout.startswith("No problem in "), mistake


@pytest.mark.long
def test_a_sound_shop_survives_all_of_it() -> None:
    kinds = {kind for kind, _ in NAMED.values()}
    ended = sweep(*command("sound", *(f"--only={kind}" for kind in sorted(kinds | {"killed"}))))
    assert ended.stdout.startswith("No problem in "), ended.stdout + ended.stderr
