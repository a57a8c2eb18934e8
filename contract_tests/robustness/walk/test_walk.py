"""A short random walk under every variant of settings, and its expected_sums, which finds what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contract_tests.robustness.walk import expected_sums
from contract_tests.robustness.walk.walker import VARIANTS, walk
from emulator.testing import Emulator, LocalServer


@pytest.fixture(scope="module")
def walked() -> Iterator[LocalServer]:
    """A server that undoes what does not add up."""
    server = LocalServer(strict=True)
    yield server
    server.stop()


@pytest.mark.parametrize("seed", range(len(VARIANTS)), ids=list(VARIANTS))
def test_no_sum_is_wrong_after_a_walk(walked: LocalServer, seed: int) -> None:
    assert list(walk(walked, seed, steps=50)) == []


def test_the_expected_sums_notice_a_total_without_a_transaction(walked: LocalServer) -> None:
    with Emulator(key="sk_test_reckoned", server=walked) as emulator:
        customer = emulator.api.post("/v1/customers/", {"email": "awa@example.com", "name": "Awa Diop"})
        assert list(expected_sums.flags(emulator, {})) == []
        emulator.api.patch(f"/_emulator/objects/{customer['id']}", {"total_spent": 700})
        assert [flag.startswith(f"{customer['id']}: spent 700") for flag in expected_sums.flags(emulator, {})] == [True]
