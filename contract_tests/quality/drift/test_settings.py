"""Settings ↔ the assumptions that quote their defaults, and the examples that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from contract_tests.support.settings import SHOWN
from emulator.document import bundles
from emulator.engine.reference_data import numbered_assumptions
from emulator.resources.app.settings import FEE_RATES, Settings, changed

USUAL = Settings()
VALUES = {name: value for name, value in msgspec.to_builtins(USUAL).items() if name != "id"}


def listed(values: Sequence[Any], last: str = "and") -> str:
    """Values as a sentence lists them."""
    return f"{', '.join(map(str, values[:-1]))} {last} {values[-1]}"


QUOTED = {
    "B-24": f"the main currency is {USUAL.main_currency}, and {listed(USUAL.currencies)} are enabled",
    "B-45": f"Retries come {listed(USUAL.renewal_retry_days)} days after",
    "B-48": f"Within {USUAL.reactivation_days} days",
    "B-56": f"{listed([*FEE_RATES.values()], 'or')} per cent on {listed([plan.title() for plan in FEE_RATES])}",
    "B-57": f"expires after {USUAL.refund_expiry_days} days",
}
"""What assumptions say of defaults."""


@pytest.mark.parametrize("number", QUOTED)
def test_assumptions_quote_the_defaults(number: str) -> None:
    assert QUOTED[number] in " ".join(numbered_assumptions()[number].decided.split())


def test_the_document_quotes_the_days_of_a_reactivation() -> None:
    """B-48."""
    operation = bundles.load("service")["paths"]["/subscriptions/{id}/reactivate/"]["post"]
    assert f"({USUAL.reactivation_days} days, a setting of the App)" in operation["description"]


def examples(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every example in a document of all settings of an App."""
    if isinstance(node, list):
        for part in node:
            yield from examples(part)
    if isinstance(node, dict):
        if node.keys() >= VALUES.keys() and isinstance(node["currencies"], list):
            yield node
        for part in node.values():
            yield from examples(part)


def test_examples_show_the_defaults() -> None:
    """The tax rate is one that the example of the request sets."""
    found = list(examples(bundles.load("control")))
    assert len(found) >= 3
    for example in found:
        assert example == {**SHOWN, "tax_rate": 18}


@pytest.mark.parametrize("name", VALUES)
def test_every_setting_can_be_set_to_what_it_is_and_not_to_nonsense(name: str) -> None:
    assert changed(USUAL, {name: VALUES[name]}) == USUAL
    with pytest.raises(ValueError, match=rf"{name}|Invalid|Expected"):
        changed(USUAL, {name: {"of": "course not"}})


@pytest.mark.parametrize("name", ["colour", "id", ""])
def test_a_wrong_name_is_rejected_and_the_right_ones_are_named(name: str) -> None:
    with pytest.raises(ValueError, match="is not a setting; there are main_currency, "):
        changed(USUAL, {name: 1})
