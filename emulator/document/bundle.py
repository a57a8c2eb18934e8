"""The bundler makes one OpenAPI document, a dict, of the many files in which it is written.

Lists, bounds and null are written once for all: it puts them in where they belong (B-12, B-26).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from emulator.core.limits import ITEMS, METADATA_KEY, STRING
from emulator.document.tree import (
    Document,
    DocumentError,
    Node,
    Pointer,
    Schema,
    fragment,
    look_up,
    map_parts,
    operations,
    pointer_of,
    properties,
    resolve,
    with_links,
    without,
)

# -- lists: one page of objects


def listed_item(name: str, written: Schema | None) -> str | None:
    """Return the schema of the items of a list schema, by ``x-list-of`` or else by its name."""
    if written is not None:
        return written.get("x-list-of")
    return name.removesuffix("List") if name.endswith("List") else None


def list_schema(item: str, reference: str, written: Schema | None) -> Schema:
    """Return a page of items in the envelope of all lists (B-19), with this list's own texts."""
    return {
        "type": "object",
        "description": f"A page of {plural(item)}.",
        "required": ["object", "data", "pagination"],
        "properties": {
            "object": {
                "type": "string",
                "enum": ["list"],
                "description": "The kind of this object.",
            },
            "data": {
                "type": "array",
                "description": "The objects of this page.",
                "items": {"$ref": reference},
            },
            "pagination": {"$ref": "../schemas/Pagination.yaml"},
        },
        **without(written or {}, "x-list-of"),
    }


def plural(item: str) -> str:
    """Return the plural of a name in words: ``SecurityProfile`` becomes ``security profiles``."""
    words = _words(item)
    if re.search(r"[^aeiou]y$", words):
        return words.removesuffix("y") + "ies"
    return words + ("es" if words.endswith("s") else "s")


def _words(name: str) -> str:
    return re.sub(r"(?<=.)([A-Z])", r" \1", name).lower()


# -- the fields that all resources have


ID_PREFIX = "x-id-prefix"
"""How the ids of a resource begin: says that a schema is one."""


def resource_schema(name: str, written: Schema) -> Schema:
    """Return a resource's schema with the required fields that all resources describe alike."""
    words = _words(name)
    first: Schema = {
        "id": {
            "type": "string",
            "pattern": f"^{written[ID_PREFIX]}_[0-9A-Za-z]{{24}}$",
            "description": f"The {words}'s id.",
        },
        "object": {
            "type": "string",
            "enum": [words.replace(" ", "_")],
            "description": "The kind of this object.",
        },
    }
    timestamp = {"allOf": [{"$ref": "../schemas/Timestamp.yaml"}]}
    last: Schema = {
        "livemode": {"type": "boolean", "description": "True in production, false in the sandbox."},
        "created_at": {"description": f"When the {words} was created.", **timestamp},
        "updated_at": {"description": f"When the {words} last changed.", **timestamp},
    }
    own, required = written["properties"], written["required"]
    made = {
        **first,
        **own,
        **{field: schema for field, schema in last.items() if field in required},
        **own,
    }
    return without(written, ID_PREFIX) | {"properties": made}


# -- bounds of every array and string of a request that has none


BOUNDED = frozenset(
    [
        "country",
        "currency",
        "date",
        "date-time",
        "domain",
        "e164",
        "email",
        "instant",
        "ipv4-network",
    ]
)
"""The formats whose texts are short by themselves."""

FINITE = frozenset(["country", "currency"])
"""The formats with few values: a list without repetitions is no longer than their number."""


def bound_requests(document: Document) -> None:
    """Add ``maxItems``, ``maxLength`` and ``x-key-maxLength`` to all request bodies, in place."""
    seen: set[int] = set()
    for _, _, operation in operations(document):
        for media in operation.get("requestBody", {}).get("content", {}).values():
            _bound(media["schema"], document, seen)


def _bound(schema: Any, document: Document, seen: set[int]) -> None:
    schema = resolve(document, schema)
    if id(schema) in seen:
        return
    seen.add(id(schema))
    if schema.get("type") == "array":
        is_finite = schema.get("uniqueItems") and schema["items"].get("format") in FINITE
        if not is_finite:
            schema.setdefault("maxItems", ITEMS.most)
    if (
        schema.get("type") == "string"
        and "enum" not in schema
        and schema.get("format") not in BOUNDED
    ):
        schema.setdefault("maxLength", STRING.most)
    if "x-key-minLength" in schema:
        schema.setdefault("x-key-maxLength", METADATA_KEY.most)
    for part in _parts(schema):
        _bound(part, document, seen)


def _parts(schema: Document) -> Iterator[Any]:
    yield from schema.get("properties", {}).values()
    for word in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(word, ())
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield schema[word]


# -- null in requests, where the response of the operation can show it


def allow_nulls(document: Document) -> None:
    """Make the fields of request bodies nullable that take null, in place.

    A field that a POST requires does not, nor one that says ``nullable: false``: a PATCH cannot
    take it away.
    """
    for _, method, operation in operations(document):
        if method in ("post", "patch"):
            responses = [
                response
                for status, response in operation["responses"].items()
                if status.startswith("2")
            ]
            bodies = _schemas(document, [operation.get("requestBody", {})])
            for body, response in product(bodies, _schemas(document, responses)):
                _allow(document, body, response)


def _schemas(document: Document, owners: Iterable[Node]) -> list[Node]:
    contents = [resolve(document, owner).get("content", {}) for owner in owners]
    return [
        content["application/json"]["schema"]
        for content in contents
        if "application/json" in content
    ]


def _allow(document: Document, body: Node, response: Node) -> None:
    """Mark all fields of a body, also nested ones, that the response can show as null."""
    body = resolve(document, body)
    match body.get("allOf"):
        case [lone]:
            body = resolve(document, lone)
    response_fields = properties(document, response)
    if "items" in body:
        _allow(document, body["items"], response)
    for name, field in body.get("properties", {}).items():
        if name not in response_fields:
            continue
        takes_null = field.get("nullable", True) and name not in body.get("required", ())
        if resolve(document, response_fields[name]).get("nullable") and takes_null:
            body["properties"][name] = _nullable(document, field)
        _allow(document, field, response_fields[name])


def _nullable(document: Document, schema: Node) -> Node:
    if "$ref" not in schema:
        return schema | {"nullable": True}
    return {
        "description": resolve(document, schema)["description"],
        "allOf": [schema],
        "nullable": True,
    }


# -- responses and headers that follow from what an operation is


RESPONSES, HEADERS = "x-implied-responses", "x-implied-headers"
ALWAYS = "always"


def add_implied(document: Document) -> None:
    """Add, in place, the responses and their headers that follow from the operations' facts."""
    responses, headers = document.pop(RESPONSES, {}), document.pop(HEADERS, {})
    for path, _, operation in operations(document):
        facts = _facts(document, document["paths"][path], operation)
        whole = _of(responses, facts) | operation.get("responses", {})
        operation["responses"] = {
            status: _with_headers(whole[status], _of(headers, facts))
            for status in sorted(whole)
            if whole[status]
        }
    shared = document["components"].get("responses", {})
    for name, response in shared.items():
        shared[name] = _with_headers(response, headers.get(ALWAYS, {}))


def _facts(document: Document, item: Node, operation: Node) -> set[str]:
    parameters = [
        resolve(document, parameter)
        for parameter in (*item.get("parameters", ()), *operation.get("parameters", ()))
    ]
    facts = {ALWAYS} | {parameter[key] for parameter in parameters for key in ("in", "name")}
    if "requestBody" in operation:
        facts.add("body")
    if operation.get("security", document.get("security")):
        facts.add("security")
    return facts


def _of(implied: Node, facts: set[str]) -> Node:
    return {
        name: part
        for fact, parts in implied.items()
        if fact in facts
        for name, part in parts.items()
    }


def _with_headers(response: Node, headers: Node) -> Node:
    """Return the response with these headers, unless it is a reference or has none to get."""
    if "$ref" in response or not headers:
        return response
    whole = {
        "description": response["description"],
        "headers": headers | response.get("headers", {}),
    }
    return whole | {key: part for key, part in response.items() if key not in whole}


# -- the bundler


Origin = tuple[Path, Pointer]
"""The file of a component and its place in that file, empty for a whole file."""

COMPONENT_FOLDERS = frozenset(
    {"schemas", "parameters", "responses", "headers", "examples", "requestBodies", "links"}
)
"""A file in one of these is a component named after the file."""


def bundle(root: Path) -> Document:
    """Return the document that begins in the file ``root``, with every part in a fixed order."""
    return _Bundler(root.resolve()).document()


class _Bundler:
    """One walk through the files of one document, and the components met on the way."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[Path, Document] = {}
        self.components: dict[str, Document] = {}
        self.origins: dict[tuple[str, str], Origin] = {}

    def document(self) -> Document:
        whole: Document = self.walk(self.read(self.root), self.root)
        components = self.components | whole.pop("components", {})
        whole["components"] = {
            kind: dict(sorted(named.items())) for kind, named in sorted(components.items())
        }
        add_implied(whole)
        bound_requests(whole)
        allow_nulls(whole)
        return whole

    def walk(self, node: Any, here: Path) -> Any:
        """Return a copy of a part of the file ``here``; its references point into the document."""
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            return self.follow(node, here)
        copy = map_parts(node, lambda part: self.walk(part, here))
        return with_links(copy) if isinstance(copy, dict) else copy

    def follow(self, node: Document, here: Path) -> Any:
        """Return a reference to a component, walked on first use, or the content of another key."""
        ref = node["$ref"]
        if len(node) > 1:
            raise self.error(
                here, ref, "a $ref stands alone; OpenAPI 3.0 ignores what is beside it"
            )
        target, place = self.destination(ref, here)
        if not target.is_file() and (place or listed_item(target.stem, None) is None):
            raise self.error(here, ref, "there is no such file")
        if place and place[0] != "components":
            if (part := self.written(target, place)) is None:
                raise self.error(here, ref, f"the file has no key {'/'.join(place)}")
            return self.walk(part, target)
        kind, name = place[1:] if place else (target.parent.name, target.stem)
        if kind not in COMPONENT_FOLDERS:
            raise self.error(
                here, ref, f"a whole file lies in one of {', '.join(sorted(COMPONENT_FOLDERS))}"
            )
        if self.origins.get((kind, name)) != (target, place):
            if (content := self.definition(target, place)) is None:
                raise self.error(here, ref, f"there is no {name}")
            self.claim(kind, name, (target, place))
            self.components[kind][name] = self.walk(content, target)
        return {"$ref": f"#/components/{kind}/{name}"}

    def destination(self, ref: str, here: Path) -> Origin:
        file = ref.partition("#")[0]
        return (here.parent / file).resolve() if file else here, pointer_of(ref)

    def claim(self, kind: str, name: str, origin: Origin) -> None:
        """Take the name before the walk, so that a schema may refer to itself."""
        other = self.origins.setdefault((kind, name), origin)
        if other != origin:
            both = f"{self.name(other[0])} and {self.name(origin[0])}"
            raise DocumentError(f"{both}: two files want to be #/components/{kind}/{name}")
        self.components.setdefault(kind, {})

    def definition(self, target: Path, place: Pointer) -> Any:
        """Return a component's definition: the written one, or the list its name asks for."""
        written = self.written(target, place)
        name = place[-1] if place else target.stem
        item = listed_item(name, written)
        if item is None:
            return resource_schema(name, written) if written and ID_PREFIX in written else written
        ref = fragment((*place[:-1], item)) if place else f"./{item}.yaml"
        return (
            None
            if self.written(*self.destination(ref, target)) is None
            else list_schema(item, ref, written)
        )

    def written(self, target: Path, place: Pointer) -> Any:
        """Return the node at a place; None where nothing is."""
        return look_up(self.read(target), place, None) if target.is_file() else None

    def read(self, file: Path) -> Document:
        if file not in self.files:
            self.files[file] = self.parsed(file)
        return self.files[file]

    def parsed(self, file: Path) -> Document:
        try:
            # it is a safe loader, made below
            content = yaml.load(file.read_text(encoding="utf-8"), _Loader)  # noqa: S506
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise DocumentError(f"{self.name(file)}: {error}") from error
        if not isinstance(content, dict):
            raise DocumentError(f"{self.name(file)}: a file of the document holds a mapping")
        return content

    def error(self, here: Path, ref: str, why: str) -> DocumentError:
        return DocumentError(f"{self.name(here)}: {ref}: {why}")

    def name(self, file: Path) -> str:
        folder = self.root.parent
        return str(file.relative_to(folder) if file.is_relative_to(folder) else file)


class _JsonYaml(yaml.constructor.SafeConstructor, yaml.resolver.Resolver):
    """YAML as JSON can hold it: keys are strings, and no key is written twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"):
            if key.tag != "tag:yaml.org,2002:str":
                raise _key_error(key, f"the key {key.value} is not a string; quote it")
            if key.value in seen:
                raise _key_error(key, f"the key {key.value} is written twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _key_error(key: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, key.start_mark)


def _without_timestamps() -> dict[str, list[Any]]:
    """Return YAML's resolvers without that of dates: JSON has none, so a date stays a text."""
    return {
        first: [
            (tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


# libyaml parses ten times faster; PyYAML has it wherever it was built with it.
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Loader: Any = type(
    "_Loader", (_JsonYaml, _Parser), {"yaml_implicit_resolvers": _without_timestamps()}
)
