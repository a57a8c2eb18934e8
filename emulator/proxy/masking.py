"""Masks what a recording may not hold, by its type: keys, signatures, tokens, secrets, card numbers and accounts."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from emulator.engine.redaction import redact, redact_value
from emulator.proxy.passed import Passed, PassedRequest

MASK = "****"

_SECRET_NAME = re.compile(r"(?i).*(token|signature|secret|password|authorization|api_?key)")

_SECRET_PARAMETER = re.compile(r"(?i)([?&](?:[^=&\s\"]*(?:token|signature|secret|key))=)[^&#\s\"]+")


def masked(passed: Passed) -> Passed:
    """What passed through the proxy without secrets."""
    if isinstance(passed, PassedRequest):
        return msgspec.structs.replace(
            passed,
            target=_parameters(redact(passed.target.encode()).decode()),
            headers={name: _masked_text(value) for name, value in passed.headers.items()},
            body=_text(passed.body),
            answer=None if passed.answer is None else _text(passed.answer),
        )
    return msgspec.structs.replace(passed, body=_text(passed.body))


def masked_field(name: str, value: Any) -> Any:
    """The value of a field without secrets."""
    return _field(name, redact_value(value))


def _text(text: str) -> str:
    """A body: JSON is masked as a value, anything else as text."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return _parameters(redact(text.encode("utf-8", "replace")).decode("utf-8", "replace"))
    clean = _value(redact_value(value))
    return text if clean == value else msgspec.json.encode(clean).decode()


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _field(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_value(part) for part in value]
    return _parameters(value) if isinstance(value, str) else value


def _field(name: str, value: Any) -> Any:
    return MASK if _SECRET_NAME.fullmatch(name) and isinstance(value, str) and value else _value(value)


def _parameters(text: str) -> str:
    return _SECRET_PARAMETER.sub(rf"\1{MASK}", text)


def _masked_text(text: str) -> str:
    return _parameters(str(redact_value(text)))
