"""Magic values and keys ↔ document: the codes they fail with and the types they belong to are the document's."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from emulator.document import bundles
from emulator.document.paths import fixtures_folder

SCHEMAS: dict[str, Any] = bundles.load("service")["components"]["schemas"]
MAGIC: dict[str, list[dict[str, Any]]] = yaml.safe_load((fixtures_folder() / "magic.yaml").read_text("utf-8"))


def test_magic_values_are_of_types_that_there_are() -> None:
    assert MAGIC.keys() <= set(SCHEMAS["PaymentMethodType"]["enum"])


@pytest.mark.parametrize("type", MAGIC)
def test_magic_values_fail_with_codes_that_there_are(type: str) -> None:
    codes = {line[field] for line in MAGIC[type] for field in ("code", "off_session") if field in line}
    assert codes <= set(SCHEMAS["ErrorCode"]["enum"])


@pytest.mark.parametrize("type", MAGIC)
def test_a_magic_value_has_one_name_and_an_example_that_is_it(type: str) -> None:
    names = [line["name"] for line in MAGIC[type]]
    assert len(names) == len(set(names))
    for line in MAGIC[type]:
        first = line["value"].strip("*")
        assert first in line["example"].replace(" ", ""), line
