"""Violations of the document, in our words, as one error in one of the shapes (B-10 to B-12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from emulator.core.errors import ERRORS, ApiError, named
from emulator.core.limits import METADATA_KEY
from emulator.document.published import CODES
from emulator.document.tree import at
from emulator.web import url_formats
from emulator.web.formats import EXPLAINED, EXPLAINED_PATTERNS

MAX_VIOLATIONS = 100
"""Violations reported at most; a body of a megabyte can have very many."""


class Violation(NamedTuple):
    """One violation: dotted path of the field, violated keyword, sentence and error code."""

    path: str
    keyword: str
    message: str
    code: str = "INVALID_FIELD"


# -- from the errors of the library to violations


def violations_of(error: Any, schema: Any) -> Iterator[Violation]:
    """Yield the violations of a schema's error of ``jsonschema_rs``, in our words."""
    kind = error.kind
    path = ".".join(map(str, error.instance_path))
    if kind.name == "required":
        yield Violation(_under(path, kind.property), "required", "is required", "MISSING_FIELD")
    elif kind.name == "additionalProperties":
        keys = path.endswith("metadata")  # the one object whose keys are the client's own
        for name in kind.unexpected:
            yield Violation(
                _under(path, name[:60]),
                "key" if keys else "unknown",
                _key(name) if keys else "unknown field",
            )
    elif kind.name == "oneOf" and all(
        part.kind.name in ("required", "not") for part in chain(*kind.context)
    ):
        yield from _choice(error, path, schema)
    elif kind.name in ("anyOf", "oneOf") and kind.context:
        yield from _closest(error, path, schema)
    else:
        sentence = _sentence(kind, error)
        code = "INVALID_CURRENCY" if sentence == EXPLAINED["currency"] else "INVALID_FIELD"
        yield Violation(path, kind.name, sentence, code)


def _key(name: str) -> str:
    return (
        f"keys have at most {METADATA_KEY.most} characters"
        if name
        else "keys have at least 1 character"
    )


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _choice(error: Any, path: str, schema: Any) -> Iterator[Violation]:
    """Yield the violations of a choice of fields, of which exactly one must be given.

    The first of them is missing where none is given; of several each is wrong (B-12).
    """
    alternatives = [
        name for part in at(schema, tuple(error.schema_path)) for name in part["required"]
    ]
    present = [name for name in alternatives if name in error.instance]
    if present:
        sentence = f"only one of {', '.join(present)} can be given"
        yield from (Violation(_under(path, name), "oneOf", sentence) for name in present)
    else:
        sentence = f"one of {', '.join(alternatives)} is required"
        yield Violation(_under(path, alternatives[0]), "oneOf", sentence, "MISSING_FIELD")


def _closest(error: Any, path: str, schema: Any) -> Iterator[Violation]:
    """Yield the violations of the alternative whose type fits; alternatives differ in type."""
    depth, types = len(error.instance_path), []
    for branch in error.kind.context:
        wrong = [
            part for part in branch if part.kind.name == "type" and len(part.instance_path) == depth
        ]
        if not wrong:
            for part in branch:
                yield from violations_of(part, schema)
            return
        types += [name for part in wrong for name in part.kind.types]
    yield Violation(path, "type", _one_of(types))


def _one_of(types: list[str]) -> str:
    return "must be " + " or ".join(_TYPES[name] for name in dict.fromkeys(types))


_TYPES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _sentence(kind: Any, error: Any) -> str:
    """Return the rule of a keyword in our words: those of the library change with its versions."""
    if kind.name == "format":
        is_url = kind.format in url_formats.EXPLAINED
        return (
            url_formats.problem(kind.format, error.instance)
            if is_url
            else EXPLAINED.get(kind.format, "is malformed")
        )
    if kind.name == "pattern" and kind.pattern in EXPLAINED_PATTERNS:
        return EXPLAINED_PATTERNS[kind.pattern]
    if kind.name == "type":
        return _one_of(kind.types)
    if kind.name == "enum":
        codes = next(
            (name for name, listed in CODES.items() if kind.options == sorted(listed())), ""
        )
        return EXPLAINED.get(codes) or "must be one of " + ", ".join(
            str(option) for option in kind.options if option is not None
        )
    if kind.name in _EMPTY and kind.value == 1:
        return "must not be empty"
    sentence = _SENTENCES.get(kind.name)
    return sentence.format(kind.value) if sentence else str(error.message)


_EMPTY = ("minLength", "minItems", "minProperties")
"""The keywords that an empty value breaks where they are 1."""

_SENTENCES = {
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minimum": "must be at least {}",
    "exclusiveMinimum": "must be more than {}",
    "maximum": "must be at most {}",
    "minItems": "must have at least {} entries",
    "maxItems": "must have at most {} entries",
    "minProperties": "must have at least {} keys",
    "maxProperties": "must have at most {} keys",
    "pattern": "must match {}",
    "uniqueItems": "must not repeat an entry",
}


# -- errors


def error_of(violations: Sequence[Violation]) -> ApiError:
    """Return violations as one error: one field's own code, else ``VALIDATION_ERROR`` (B-12)."""
    errors: dict[str, list[str]] = {}
    for violation in violations:
        if violation.path:  # one of the body as a whole is of no field
            errors.setdefault(violation.path, []).append(violation.message)
    first = violations[0]
    codes = {violation.code for violation in violations}
    if len({violation.path for violation in violations}) > 1 and codes != {"INVALID_FILTER_PARAM"}:
        return ApiError("VALIDATION_ERROR", errors=errors, fields=named(errors))
    code = first.code if len(codes) == 1 else "INVALID_FIELD"
    return ApiError(
        code,
        param=first.path or None,
        errors=errors,
        message=f"{first.path}: {first.message}".strip(": "),
    )


def body_of(error: ApiError, *, request_id: str, docs_url: str, shape: str) -> bytes:
    """Return an error's JSON. ``shape`` is ``error_shape``: documented, flat or nested (B-10)."""
    documented_nested = ERRORS[error.code].flat is not None
    nested = documented_nested if shape == "documented" else shape == "nested"
    return msgspec.json.encode(_nested(error) if nested else _flat(error, request_id, docs_url))


def _nested(error: ApiError) -> dict[str, Any]:
    inner = {"type": error.category.lower(), "code": error.code.lower(), "message": error.message}
    if error.param:
        inner["param"] = error.param
    elif error.errors:  # this shape has no field for them
        inner["message"] = "; ".join(
            f"{field}: {', '.join(messages)}" for field, messages in error.errors.items()
        )
    return {"error": inner}


def _flat(error: ApiError, request_id: str, docs_url: str) -> dict[str, Any]:
    code = ERRORS[error.code].flat or error.code
    optional = {"param": error.param, "errors": error.errors, "retry_after": error.retry_after}
    return {
        "type": error.category,
        "code": code,
        "message": error.message,
        "status": error.status,
        "doc_url": f"{docs_url}/errors#{code}",
        "request_id": request_id,
        **{name: value for name, value in optional.items() if value is not None},
    }
