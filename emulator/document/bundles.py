"""The finished bundles: each OpenAPI document as one JSON file; and the service's operations.

An operation has the values that it takes and the responses that it may give.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from emulator.core.event_types import EVENTS
from emulator.document.event_schemas import (
    EACH_EVENT,
    EACH_KIND,
    object_kinds,
    with_enumerations,
    with_events,
)
from emulator.document.paths import FIXTURES, OPENAPI, PACKAGE
from emulator.document.published import limited, named, published, to_openapi_3_0, to_openapi_3_1
from emulator.document.tree import (
    Document,
    Node,
    depend,
    map_schemas,
    operations,
    properties,
    resolve,
    unconditional,
    with_kinds,
)

# -- bundles


SOURCES = ("service", "control", "pages")
OPENAPI_3_0, OPENAPI_3_1 = "-3.0", "-3.1"
"""The endings of a document's name for the versions of it that are served."""


def load(name: str) -> Document:
    """Return a document as written, such as ``service``, or as served (``service-3.0``)."""
    # By Python's own module: a build of the package, which reads them for the guide, has nothing
    # that is compiled.
    document: Document = json.loads(
        _not_written(OPENAPI).get(name) or _dist(f"{name}.json").read_bytes()
    )
    return document


def _dist(name: str) -> Path:
    return OPENAPI / "dist" / name


def write_bundles() -> list[Path]:
    """Make the bundles from the YAML files and write them; the paths that were written."""
    made_from = _fingerprint()
    files = {_dist(f"{name}.json"): text for name, text in fresh_bundles().items()}
    for path, text in files.items():
        _write(path, text)
    _write(_dist("made-from.sha256"), made_from)  # last, for it says that the others are current
    return list(files)


def fresh_bundles() -> dict[str, str]:
    originals = fresh_documents()
    served = {name: with_kinds(published(document)) for name, document in originals.items()}
    strict = {
        name + OPENAPI_3_0: named(to_openapi_3_0(map_schemas(document, unconditional)))
        for name, document in served.items()
    }
    twins = {
        name + OPENAPI_3_1: named(to_openapi_3_1(map_schemas(document, depend)))
        for name, document in served.items()
    }
    return {name: _text(document) for name, document in (originals | strict | twins).items()}


def fresh_documents() -> dict[str, Document]:
    """Return the documents, made from the files as they are now. Raises ``DocumentError``."""
    # PyYAML is slow to import and a server with current bundles never needs it, so only this
    # function asks for it.
    from emulator.document.bundle import bundle

    service, control, pages = (
        map_schemas(bundle(OPENAPI / f"{name}.yaml"), limited) for name in SOURCES
    )
    values = {EACH_EVENT: EVENTS, EACH_KIND: object_kinds(service)}
    return {
        "service": with_enumerations(with_events(service), values),
        "control": with_enumerations(control, values),
        "pages": pages,
    }


@cache
def _not_written(folder: Path) -> Mapping[str, str]:
    """Update the files of a checkout, once in a process; return bundles that cannot be written."""
    is_wheel = folder.is_relative_to(PACKAGE)
    if is_wheel or _is_current():
        return {}
    try:
        write_bundles()
    except OSError:  # a checkout that may only be read
        return fresh_bundles()
    return {}


def _is_current() -> bool:
    with suppress(OSError):
        return _dist("made-from.sha256").read_text(encoding="utf-8") == _fingerprint()
    return False


def _fingerprint() -> str:
    """Return the hash of every file that the bundles are made from, names included."""
    root = OPENAPI
    makers = [
        *(PACKAGE / "document").glob("*.py"),
        PACKAGE / "core" / "event_types.py",
        PACKAGE / "core" / "limits.py",
        PACKAGE / "version.py",
    ]
    codes = [FIXTURES / f"{name}.yaml" for name in ("countries", "currencies")]
    digest = sha256()
    for file in sorted([*root.rglob("*.yaml"), *makers, *codes]):
        digest.update(f"{os.path.relpath(file, root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, so that another process reads the old one or the new one."""
    path.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def _text(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# -- operations


class OperationSpec(NamedTuple):
    """The document's facts about one operation: statuses, body fields, query parameters.

    The fields of objects and of items of lists have dots: ``retry_policy.max_attempts``.
    """

    statuses: tuple[int, ...]
    fields: Mapping[str, None]
    parameters: tuple[str, ...]


@cache
def operation_specs() -> Mapping[str, OperationSpec]:
    """Return each operation by its operationId, in the order of the document."""
    document = load("service")
    return {
        operation["operationId"]: _operation_spec(document, document["paths"][path], operation)
        for path, _, operation in operations(document)
    }


@cache
def error_codes() -> tuple[str, ...]:
    return tuple(load("service")["components"]["schemas"]["ErrorCode"]["enum"])


def _operation_spec(document: Document, item: Node, operation: Node) -> OperationSpec:
    parameters = [
        resolve(document, parameter)
        for parameter in (*item.get("parameters", ()), *operation.get("parameters", ()))
    ]
    content = resolve(document, operation.get("requestBody", {})).get("content", {})
    return OperationSpec(
        statuses=tuple(map(int, operation["responses"])),
        fields=dict.fromkeys(
            _fields(document, content.get("application/json", {}).get("schema", {}))
        ),
        parameters=tuple(
            parameter["name"] for parameter in parameters if parameter["in"] == "query"
        ),
    )


def _fields(document: Document, schema: Node, before: str = "") -> Iterator[str]:
    for name, part in properties(document, schema).items():
        yield before + name
        yield from _fields(document, part, f"{before}{name}.")
