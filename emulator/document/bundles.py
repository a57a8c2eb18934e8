"""The finished bundles: each OpenAPI document as one JSON file, which the program reads, and the service's operations.

An operation has what may be sent to it and what it may answer.
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
from emulator.document.event_schemas import EACH_EVENT, EACH_KIND, object_kinds, with_enumerations, with_events
from emulator.document.paths import PACKAGE, fixtures_folder, openapi_folder
from emulator.document.published import published, to_openapi_3_0, to_openapi_3_1, with_limits
from emulator.document.tree import Document, Node, operations, properties, resolve, with_if, with_kinds, with_not

# -- bundles


SOURCES = ("service", "control", "pages")
OPENAPI_3_0, OPENAPI_3_1 = "-3.0", "-3.1"
"""What is added to the name of a document for the versions of it that are served."""


def load(name: str) -> Document:
    """Return a document as it is written, such as ``service``, or as it is served, such as ``service-3.0``."""
    # By Python's own module: a build of the package, which reads them for the guide, has nothing that is compiled.
    document: Document = json.loads(_not_written(openapi_folder()).get(name) or bundle_file(name).read_bytes())
    return document


def bundle_file(name: str) -> Path:
    return openapi_folder() / "dist" / f"{name}.json"


def write_bundles() -> list[Path]:
    """Make the bundles from the YAML files and write them; the paths that were written."""
    made_from = _fingerprint()
    files = {bundle_file(name): text for name, text in fresh_bundles().items()}
    for path, text in files.items():
        _write(path, text)
    _write(_stamp(), made_from)
    return list(files)


def fresh_bundles() -> dict[str, str]:
    originals = fresh_documents()
    served = {name: with_kinds(published(document)) for name, document in originals.items()}
    strict = {name + OPENAPI_3_0: to_openapi_3_0(with_not(document)) for name, document in served.items()}
    twins = {name + OPENAPI_3_1: to_openapi_3_1(with_if(document)) for name, document in served.items()}
    return {name: _text(document) for name, document in (originals | strict | twins).items()}


def fresh_documents() -> dict[str, Document]:
    """Return the documents, made from the files as they are now. Raises :class:`~emulator.document.tree.DocumentError`."""
    # PyYAML is slow to import and a server with current bundles never needs it, so only this function asks for it.
    from emulator.document.bundle import bundle

    service, control, pages = (with_limits(bundle(openapi_folder() / f"{name}.yaml")) for name in SOURCES)
    values = {EACH_EVENT: EVENTS, EACH_KIND: object_kinds(service)}
    return {
        "service": with_enumerations(with_events(service), values),
        "control": with_enumerations(control, values),
        "pages": pages,
    }


@cache
def _not_written(folder: Path) -> Mapping[str, str]:
    """Bring the files of a checkout up to date, once in a process; the bundles, where they cannot be written."""
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
        return _stamp().read_text(encoding="utf-8") == _fingerprint()
    return False


def _stamp() -> Path:
    """Return the file beside the bundles that says what they were made from. It is written after them."""
    return openapi_folder() / "dist" / "made-from.sha256"


def _fingerprint() -> str:
    """Return the hash of every file that the bundles are made from, names included."""
    root = openapi_folder()
    makers = [*(PACKAGE / "document").glob("*.py"), PACKAGE / "core" / "event_types.py", PACKAGE / "core" / "limits.py"]
    codes = [fixtures_folder() / f"{name}.yaml" for name in ("countries", "currencies")]
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


class FieldNames(NamedTuple):
    """The fields of an object, and the fields of those that are objects; for a list, the fields of its items."""

    names: Mapping[str, None] = {}
    nested: Mapping[str, FieldNames] = {}

    def dotted(self, before: str = "") -> Iterator[str]:
        """Yield their names in order, nested ones with dots: ``retry_policy.max_attempts``."""
        for name in self.names:
            yield before + name
            if name in self.nested:
                yield from self.nested[name].dotted(f"{before}{name}.")


class OperationSpec(NamedTuple):
    """What the document says of one operation: statuses, fields of the body and parameters of the query."""

    statuses: tuple[int, ...]
    fields: FieldNames
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
    parameters = [resolve(document, each) for each in (*item.get("parameters", ()), *operation.get("parameters", ()))]
    content = resolve(document, operation.get("requestBody", {})).get("content", {})
    return OperationSpec(
        statuses=tuple(map(int, operation["responses"])),
        fields=_fields(document, content.get("application/json", {}).get("schema", {})),
        parameters=tuple(each["name"] for each in parameters if each["in"] == "query"),
    )


def _fields(document: Document, schema: Node) -> FieldNames:
    declared = properties(document, schema)
    nested = {name: own for name, part in declared.items() if (own := _fields(document, part)).names}
    return FieldNames(dict.fromkeys(declared), nested)
