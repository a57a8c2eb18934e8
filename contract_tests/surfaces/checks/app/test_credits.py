"""A shop with the five faults of wasp-lang/open-saas#688: each is named by the case that shows it alone, with its command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from contract_tests.surfaces.checks.app.test_command import sweep

SHOP = str(Path(__file__).with_name("credits.py"))

NAMED = {
    "fulfilled": ("late", "An event that comes late undoes a newer state, or is not understood"),
    "sequential": ("twice", "An event that comes twice is handled twice"),
    "parallel": ("together", "An event that comes twice at the same moment is handled twice"),
    "restart": ("killed-received", "What was under way when the application was killed is lost, or done twice"),
    "reissued": ("reissued", "A change that comes again under another event id is handled twice"),
}
"""By mistake: the kind of fault that shows it, and how the report names it."""


def command(mistake: str, *options: str) -> list[str]:
    shop = f"{sys.executable} {SHOP} {mistake}"
    frozen = ["--clock", "frozen@2026-01-01T00:00:00Z"]
    return [*options, *frozen, "--check", f"{shop} --print", "--", *shop.split()]


@pytest.mark.parametrize("mistake", NAMED)
def test_each_way_to_grant_credits_twice_is_named(mistake: str) -> None:
    """Credits 13 become 23. All that is tried at its one delivery is tried; that takes less than 30 seconds."""
    kind, problem = NAMED[mistake]
    ended = sweep(*command(mistake, "--only", kind, "--only", "twice"))
    verdict, title, *_ = ended.stdout.splitlines()
    assert (ended.returncode, verdict.partition("; ")[0]) == (
        1,
        f"1 problem in {1 if kind == 'twice' else 2} cases".replace("1 cases", "1 case"),
    )
    assert title == f"1. {problem}: the check returns '23' instead of '13'"
    assert f"    again: payments-emulator test app --only 1:{kind} --clock" in ended.stdout


def test_a_sound_shop_survives_being_killed_everywhere() -> None:
    ended = sweep(*command("sound", "--only", "killed", "--only", "together", "--only", "reissued"))
    assert ended.stdout == "No problem in 6 cases.\n2 requests, 1 delivery, 8 runs.\n", ended.stdout + ended.stderr
