"""Both documents as schemathesis gets them, and how it goes about them."""

from __future__ import annotations

import os
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings

from contract_tests.schemathesis.exceptions import excluded
from contract_tests.schemathesis.formats import register
from emulator.control.face import OPERATIONS as CONTROLS
from emulator.document import store
from emulator.resources.wiring import OPERATIONS

EXAMPLES = int(os.environ.get("EXAMPLES", "10"))
"""How many requests are made up for each operation, beside those that cover its schema point by point."""

chosen = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
"""A short run is the same each time; a long one, with EXAMPLES set, looks elsewhere each time."""

CONFIG: dict[str, Any] = {
    # The tests send a good key with each request, so a bad one that was made up would count as sent and never be.
    "generation": {"with-security-parameters": False},
    "phases": {
        # What is made up is to depend on the seed alone, not on what was answered before.
        "fuzzing": {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}},
        # Links are those of the document, no guesses.
        "stateful": {"inference": {"algorithms": []}, "link-calibration": False},
    },
}


ENDLESS = frozenset(["stream"])
"""What answers for as long as one listens; ``contract_tests/control/test_stream.py`` does."""


def judge(response: Any, case: Any, **options: Any) -> None:
    """Put an answer to all checks but those that do not apply to it."""
    case.validate_response(response, excluded_checks=excluded(response, case), **options)


def _loaded(name: str, performed: Any) -> Any:
    """A document's operations, those at least that are performed."""
    register()
    document, config = _with_key_patterns(store.load(name)), schemathesis.Config.from_dict(CONFIG)
    return schemathesis.openapi.from_dict(document, config=config).include(
        operation_id=[id for id in performed if id not in ENDLESS]
    )


def _with_key_patterns(node: Any) -> Any:
    """The document with its own keyword for the length of keys said in JSON Schema's words."""
    if isinstance(node, list):
        return [_with_key_patterns(part) for part in node]
    if not isinstance(node, dict):
        return node
    schema = {name: _with_key_patterns(part) for name, part in node.items()}
    if "x-key-maxLength" in schema:
        values = schema["additionalProperties"]
        schema["patternProperties"] = {f"^[\\s\\S]{{1,{schema['x-key-maxLength']}}}$": values}
        schema["additionalProperties"] = False
    return schema


service = _loaded("service", OPERATIONS)
control = _loaded("control", CONTROLS)
