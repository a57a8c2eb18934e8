"""Validation: from a body's text to values, or one error for all violations (B-05, B-10 to B-12).

Strict JSON, the formats and the schemas of the document, compiled once: a quick check of validity,
and the list of all violations of a value that is invalid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, partial
from ipaddress import IPv4Network
from itertools import chain, islice
from sys import intern
from typing import Any, NamedTuple, NoReturn

import msgspec

from emulator.core import calendar
from emulator.core.errors import ERRORS, ApiError, named
from emulator.core.limits import DEPTH, DIGITS, METADATA_KEY, VALUES
from emulator.document.iso_codes import countries, currencies
from emulator.document.published import CODES, LIMITS
from emulator.document.tree import map_parts
from emulator.web import url_formats

# -- strict JSON (B-12)


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def malformed(reason: str) -> ApiError:
    """Return the error for a malformed body: 400 ``VALIDATION_ERROR`` (B-12)."""
    return ApiError(
        "VALIDATION_ERROR", http_status=400, message=f"The body must be a JSON object: {reason}."
    )


def parse(raw: bytes) -> dict[str, Any]:
    """Return the object in a JSON body; an empty body counts as ``{}``.

    Raises 400 for: not UTF-8, not JSON, not an object, duplicate keys, NaN and Infinity, numbers
    out of range, unpaired surrogates, nesting too deep.
    """
    if not raw.strip():
        return {}
    _check_text(raw)
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
        if _ESCAPED_SURROGATE.search(raw):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        raise malformed("it is not UTF-8") from None
    except UnicodeEncodeError:
        raise malformed("a string holds an unpaired surrogate") from None
    except RecursionError:
        raise malformed("it is nested too deeply") from None
    except ValueError as error:
        raise malformed(f"{error}") from None
    # Counting brackets is quick: where there are few of them, nothing can be nested deeply.
    if raw.count(b"[") + raw.count(b"{") > DEPTH.most and _deeper(value, DEPTH.most):
        raise malformed("it is nested too deeply")
    if not isinstance(value, dict):
        raise malformed(f"this is {_KINDS.get(type(value), 'something else')}")
    return value


def _check_text(raw: bytes) -> None:
    """Raise 400 for what need not be parsed to see that it is malformed."""
    if raw.startswith(_BYTE_ORDER_MARK):
        raise malformed("it begins with a byte order mark")
    # A value can take a hundred times the memory of its text. Fewer bytes cannot hold so many
    # values.
    if len(raw) > VALUES.most and raw.count(b",") + raw.count(b"[") + raw.count(b"{") > VALUES.most:
        raise malformed(f"it has more than {VALUES.most} values")


_KINDS = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def _deeper(value: Any, levels: int) -> bool:
    """Return whether nesting exceeds this many levels; goes level by level, not recursively."""
    level = [value]
    for _ in range(levels):
        parts = (
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        )
        level = [*chain.from_iterable(parts)]
    return any(isinstance(part, dict | list) for part in level)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The same few names come with every body and are stored with metadata: one string for each is
    # enough.
    value = {intern(name): part for name, part in pairs}
    if len(value) != len(pairs):
        seen: set[str] = set()
        # add is falsy
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:40]!r} stands twice")
    return value


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > DIGITS.most:
        raise ValueError("a number is out of range")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


# -- formats


_EMAIL = re.compile(
    r"(?=.{1,254}$)[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+"
    r"@[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*",
    re.ASCII,
)
"""What browsers accept in a field for an email address (WHATWG), 254 characters at most (B-30)."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def _passes(parse: Callable[[str], object]) -> Callable[[str], bool]:
    """Return a parser's check: a text passes unless the parser raises ``ValueError``."""

    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


def _matches(name: str) -> Callable[[str], bool]:
    """Return the check of a format by its pattern in the document."""
    pattern = re.compile(LIMITS[name]["pattern"].removesuffix("$"), re.ASCII)
    return lambda text: pattern.fullmatch(text) is not None


_has_form_of_network = _matches("ipv4-network")

FORMATS: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys(("date-time", "instant"), _passes(calendar.normalise)),
    "date": lambda text: _DAY.fullmatch(text) is not None and _passes(date.fromisoformat)(text),
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "e164": _matches("e164"),
    **{name: partial(url_formats.takes, name) for name in url_formats.EXPLAINED},
    "domain": _matches("domain"),
    # The parser alone also accepts netmasks, which are not CIDR ranges.
    "ipv4-network": lambda text: _has_form_of_network(text) and _passes(IPv4Network)(text),
    "currency": lambda text: text in currencies(),
    "country": lambda text: text in countries(),
    "not-blank": lambda text: not text.isspace(),
}

EXPLAINED: dict[str, str] = {
    **dict.fromkeys(
        ("date-time", "instant"),
        "must be an ISO 8601 date or instant, such as 2026-01-31 or 2026-01-31T09:30:00Z",
    ),
    "date": "must be a date YYYY-MM-DD",
    "email": "must be an email address of at most 254 characters, such as name@example.com",
    "e164": "must be a phone number in E.164 form: + and 7 to 15 digits, no spaces or dashes",
    **url_formats.EXPLAINED,
    "domain": "must be a bare domain name: no protocol, port, path or wildcard",
    "ipv4-network": "must be an IPv4 address or a CIDR range without host bits",
    "currency": "must be an ISO 4217 code in upper case",
    "country": "must be an ISO 3166-1 alpha-2 code in upper case",
    "not-blank": "must not be blank",
}

_DURATION = (
    r"^(P[0-9]{1,4}W|P(?=[0-9T])([0-9]{1,4}Y)?([0-9]{1,6}M)?([0-9]{1,6}D)?"
    r"(T(?=[0-9])([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}(\.[0-9]{1,3})?S)?)?|[0-9]{1,9}[smhdw])$"
)

EXPLAINED_PATTERNS = {
    **{LIMITS[name]["pattern"]: EXPLAINED[name] for name in LIMITS if "pattern" in LIMITS[name]},
    r"^(?!\.\.?$)[A-Za-z0-9._-]+$": (
        "must be of letters, digits, '.', '_' and '-', and not '.' or '..'"
    ),
    r"^[A-Za-z0-9_-]+$": "must be of letters, digits, '_' and '-'",
    r"^[ -~]+$": "must be of printable ASCII characters",
    r"^[0-9]( ?[0-9]){11,18}$": "must be a card number of 12 to 19 digits",
    r"^[0-9]{3,4}$": "must be 3 or 4 digits",
    r"^[0-9]{4,6}$": "must be 4 to 6 digits",
    r"^[1-5](xx|[0-9]{2})$": "must be a status such as 404 or 4xx",
    r"^[^.=]+(\.[^.=]+)+=[\s\S]*$": "must be ID.FIELD=VALUE",
    _DURATION: "must be a duration such as 31d, 2h, 90s, P1M or PT90S",
    r"^(running|frozen(@.{1,40})?)$": (
        "must be running, frozen, or frozen@ and an instant such as 2026-01-01T00:00:00Z"
    ),
}
"""Sentences for texts that do not match the pattern of a format or a field."""


# -- schemas


MAX_VIOLATIONS = 100
"""Violations reported at most; a body of a megabyte can have very many."""


class Violation(NamedTuple):
    """One violation: dotted path of the field, violated keyword, sentence and error code."""

    path: str
    keyword: str
    message: str
    code: str = "INVALID_FIELD"


class CompiledSchema:
    """One schema of the document, compiled on first use."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.source = source

    @cached_property
    def _validator(self) -> Any:
        # Loaded on first use: a start validates nothing.
        import jsonschema_rs

        return jsonschema_rs.Draft4Validator(
            to_draft4(self.source), validate_formats=True, formats=FORMATS
        )

    def accepts(self, value: object) -> bool:
        """Return whether a value is valid; quicker than :meth:`violations`."""
        return bool(self._validator.is_valid(value))

    def violations(self, value: object) -> list[Violation]:
        errors = self._validator.iter_errors(_cut(value, self.source))
        found = list(islice(chain.from_iterable(map(_violations, errors)), MAX_VIOLATIONS))
        # The check of a format includes its pattern, and says more.
        formats = {each.path for each in found if each.keyword == "format"}
        said = (each for each in found if each.keyword != "pattern" or each.path not in formats)
        return list({(each.path, each.message): each for each in said}.values())

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The values of missing fields of an object."""
        properties = self.source.get("properties", {})
        return {name: part["default"] for name, part in properties.items() if "default" in part}

    @cached_property
    def _nested(self) -> list[tuple[str, bool, CompiledSchema]]:
        """Properties with object defaults: name, whether a list, the objects' schema."""
        nested = []
        for name, part in self.source.get("properties", {}).items():
            many = part.get("type") == "array"
            inner = CompiledSchema(part.get("items", {}) if many else part)
            if inner.defaults or inner._nested:
                nested.append((name, many, inner))
        return nested

    def complete(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the object with the document's defaults; parts of a wrong type stay as is."""
        completed = {**self.defaults, **value}
        for name, many, inner in self._nested:
            part = completed.get(name)
            if many and isinstance(part, list):
                completed[name] = [
                    inner.complete(item) if isinstance(item, dict) else item for item in part
                ]
            elif isinstance(part, dict):
                completed[name] = inner.complete(part)
        return completed

    def names(self) -> frozenset[str]:
        return frozenset(_properties(self.source))


def known(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the object without the fields that no schema names, on every level (B-13)."""
    if isinstance(value, list):
        return [known(item, schema.get("items", {})) for item in value]
    properties = _properties(schema)
    if not isinstance(value, dict) or not properties:
        return value
    return {
        name: known(part, properties[name]) for name, part in value.items() if name in properties
    }


def without_nulls(value: Any, schema: Mapping[str, Any], in_lists_only: bool) -> Any:
    """Return an object without null fields that its schema can show as null.

    On every level, or in the entries of lists only.
    """
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items", {}), False) for item in value]
    properties = _properties(schema)
    if not isinstance(value, dict) or not properties:
        return value
    parts = ((name, part, properties.get(name, {})) for name, part in value.items())
    return {
        name: without_nulls(part, shown, in_lists_only)
        for name, part, shown in parts
        if in_lists_only or part is not None or not shown.get("nullable")
    }


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declared properties of an object schema, including those of its ``allOf``."""
    own = dict(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        own |= _properties(part)
    return own


def _cut(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value cut to a bound's length plus one: one too many is as invalid as a million."""
    if isinstance(value, list):
        items = value[: schema.get("maxItems", len(value)) + 1]
        return [_cut(item, schema.get("items", {})) for item in items]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        entries = islice(value.items(), schema.get("maxProperties", len(value)) + 1)
        return {name: _cut(part, properties.get(name, {})) for name, part in entries}
    return value


def to_draft4(node: Any) -> Any:
    """Return a schema of OpenAPI 3.0 as JSON Schema draft 4.

    ``nullable`` becomes a type, ``x-key-minLength`` a pattern, ``x-required-unless`` an ``anyOf``
    for each field. A ``minimum`` with a code of its own is left to the rule, which knows the App's
    (B-23).
    """
    if not isinstance(node, dict):
        return map_parts(node, to_draft4)
    schema = {
        key: to_draft4(value)
        for key, value in node.items()
        if key not in _ANNOTATIONS and key != "properties"
    }
    if "properties" in node:
        schema["properties"] = {name: to_draft4(part) for name, part in node["properties"].items()}
    if "x-key-minLength" in schema:
        values = schema.pop("additionalProperties")
        least, most = schema.pop("x-key-minLength"), schema.pop("x-key-maxLength", "")
        schema["patternProperties"] = {f"^[\\s\\S]{{{least},{most}}}$": values}
        schema["additionalProperties"] = False
    if schema.pop("x-minimum-code", None):
        del schema["minimum"]
    if "x-required-unless" in node:
        exceptions = schema.pop("x-required-unless").items()
        schema["allOf"] = [
            {"anyOf": [{"required": [name]}, exception]} for name, exception in exceptions
        ]
    return _with_null(schema) if schema.pop("nullable", False) else schema


_ANNOTATIONS = frozenset(["description", "example", "examples", "title", "x-assumption", "default"])
"""Keywords that do not affect validity."""


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(schema.get("type"), str):
        return {"anyOf": [{"type": "null"}, schema]}
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _violations(error: Any) -> Iterator[Violation]:
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
        each.kind.name in ("required", "not") for each in chain(*kind.context)
    ):
        yield _choice(error, path)
    elif kind.name in ("anyOf", "oneOf") and kind.context:
        yield from _closest(error, path)
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


def _choice(error: Any, path: str) -> Violation:
    """Return the violation of a choice of fields, of which exactly one must be given."""
    absent = [
        each.kind.property for each in chain(*error.kind.context) if each.kind.name == "required"
    ]
    given = [name for name in error.instance if name not in absent]
    sentence = (
        f"only one of {', '.join(given)} can be given"
        if given
        else f"one of {', '.join(absent)} is required"
    )
    return Violation(path, "oneOf", sentence, "VALIDATION_ERROR")


def _closest(error: Any, path: str) -> Iterator[Violation]:
    """Yield the violations of the alternative whose type fits; alternatives differ in type."""
    depth, types = len(error.instance_path), []
    for branch in error.kind.context:
        wrong = [
            each for each in branch if each.kind.name == "type" and len(each.instance_path) == depth
        ]
        if not wrong:
            for each in branch:
                yield from _violations(each)
            return
        types += [name for each in wrong for name in each.kind.types]
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
