"""Test helpers' types, for checkers: ``python -m contract_tests.quality.docs.response_types``.

They are written from the two OpenAPI documents into ``emulator/testing/objects.pyi``, and from
there into the package for Node (``objects.d.ts``): a misspelt field of an answer is an error of
mypy, pyright and TypeScript. What the helpers of ``AsyncEmulator`` take and answer is written from
the plain helpers into ``awaited.pyi``.
"""

from __future__ import annotations

import ast
import inspect
import json
import keyword
import subprocess
import sys
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from contract_tests import ROOT
from emulator.client.api import Api
from emulator.document import bundles
from emulator.testing import emulator
from emulator.testing.webhooks import Webhooks
from emulator.testing.world_parts import Emails, Events, Ledger, WorldClock

FOR_PYTHON = ROOT / "emulator" / "testing" / "objects.pyi"
FOR_NODE = ROOT / "docs" / "examples" / "node" / "payments-emulator" / "objects.d.ts"

ANSWERED = (
    *(
        "Customer",
        "Address",
        "PaymentMethod",
        "Product",
        "SubscriptionPlan",
        "Subscription",
        "CheckoutSession",
    ),
    *(
        "PaymentLink",
        "PaymentIntent",
        "Transaction",
        "Invoice",
        "Refund",
        "Receipt",
        "SecurityProfile",
    ),
    *(
        "WebhookEndpointWithSecret",
        "EventSelector",
        "Event",
        "Email",
        "Clock",
        "ClockAdvance",
        "ScheduledJob",
    ),
    *("LedgerEntry", "Outcome", "Fault", "Settings"),
)

MADE = (
    "CustomerCreate",
    "SubscriptionPlanCreate",
    "SubscriptionCreate",
    "CheckoutSessionCreate",
    "InvoiceCreate",
)
"""What the factories take: any of their fields, and an object in place of its id."""

REFERENCES = ("customer", "plan", "product", "payment_method")
"""The fields that hold the id of another object."""

HEAD = '''\
"""The service's objects for type checkers. Written from the OpenAPI documents, not by hand."""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Ref: TypeAlias = str | Mapping[str, Any]
'''

LONGEST = 20
"""The most values of a written-out enumeration; countries, currencies, codes are plain strings."""

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


class Types:
    """The declarations so far, by name, each after those that it needs."""

    def __init__(self) -> None:
        control, service = (
            bundles.load(name)["components"]["schemas"] for name in ("control", "service")
        )
        self._schemas: Mapping[str, Any] = {**control, **service}
        self.declared: dict[str, str] = {}

    def named(self, name: str) -> str:
        """Return the name of a schema's type, which is declared by then."""
        if name not in self.declared:
            self._declare(name, self._schemas[name])
        return name if self.declared[name] else self._expression(self._schemas[name], name)

    def _declare(self, name: str, schema: Mapping[str, Any]) -> None:
        parts = [self._resolved(part) for part in schema.get("allOf", [schema])]
        fields = {field: own for part in parts for field, own in part.get("properties", {}).items()}
        needed = {field for part in parts for field in part.get("required", ())}
        self.declared[name] = (
            ""  # it stands here while what it needs is declared; plain types get no name
        )
        if fields:
            self.declared[name] = self._dict(name, fields, needed)
        elif len(schema.get("enum", ())) in range(2, LONGEST + 1):
            self.declared[name] = f"{name}: TypeAlias = {self._expression(schema, name)}"

    def _dict(self, name: str, fields: Mapping[str, Any], needed: set[str]) -> str:
        typed: dict[str, str] = {}
        for field, own in fields.items():
            value = self._expression(own, f"{name}{field.title().replace('_', '')}")
            if name in MADE:
                typed[field] = "Ref" if field in REFERENCES else value
            else:
                typed[field] = value if field in needed else f"NotRequired[{value}]"
        if any(keyword.iskeyword(field) for field in typed):
            rows = ", ".join(f'"{field}": {value}' for field, value in typed.items())
            return f"{name} = TypedDict({name!r}, {{{rows}}})"
        total = ", total=False" if name in MADE else ""
        return "\n    ".join(
            [
                f"class {name}(TypedDict{total}):",
                *(f"{field}: {own}" for field, own in typed.items()),
            ]
        )

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _expression(self, schema: Mapping[str, Any], name: str) -> str:
        if "$ref" in schema:
            value = self.named(schema["$ref"].rpartition("/")[2])
        elif choices := schema.get("anyOf") or schema.get("allOf"):
            value = " | ".join(dict.fromkeys(self._expression(choice, name) for choice in choices))
        elif len(
            values := [value for value in schema.get("enum", ()) if value is not None]
        ) in range(1, LONGEST + 1):
            value = f"Literal[{', '.join(map(repr, values))}]"
        elif schema.get("type") == "array":
            value = f"list[{self._expression(schema['items'], name)}]"
        elif schema.get("type") == "object":
            value = self._object(schema, name)
        else:
            value = PLAIN.get(schema.get("type", ""), "Any")
        return f"{value} | None" if schema.get("nullable") and value != "Any" else value

    def _object(self, schema: Mapping[str, Any], name: str) -> str:
        values = schema.get("additionalProperties")
        if "properties" in schema and not values:
            own = str(schema.get("title", name))
            self._declare(own, schema)
            return own
        return (
            f"dict[str, {self._expression(values, name) if isinstance(values, Mapping) else 'Any'}]"
        )


def for_python() -> str:
    types = Types()
    for name in (*ANSWERED, *MADE):
        types.named(name)
    return "\n".join([HEAD, *filter(None, types.declared.values())])


FOR_ASYNCIO = ROOT / "emulator" / "testing" / "awaited.pyi"

ASYNCIO_HEAD = '''\
"""The helpers of AsyncEmulator for type checkers. Written from the plain ones, not by hand."""'''

HELPERS = (Api, WorldClock, Events, Emails, Ledger, Webhooks, emulator.Emulator)

AWAITED = """
class Async{0}:
    plain: {0}
    def __init__(self, plain: {0}) -> None: ...
"""


def for_asyncio() -> str:
    """Return the types of ``AsyncEmulator``'s helpers: the plain ones' members as coroutines."""
    known, classes = dict[str, str](), list[ast.ClassDef]()
    for plain in HELPERS:
        # it is a class
        classes += ast.parse(AWAITED.format(plain.__name__)).body  # type: ignore[arg-type]
        own = vars(getattr(emulator, classes[-1].name, object))
        for base in plain.__mro__[-2::-1]:
            for node in ast.walk(ast.parse(inspect.getsource(sys.modules[base.__module__]))):
                match node:
                    case ast.Import(names=names):
                        known |= {
                            name.asname or name.name: f"import {ast.unparse(name)}"
                            for name in names
                        }
                    case ast.ImportFrom(module=module, names=names):
                        known |= {name.name: f"from {module} import {name.name}" for name in names}
                    case ast.ClassDef(name=name, body=body):
                        known[name] = f"from {base.__module__} import {name}"
                        methods = body if name == base.__name__ else []
                        classes[-1].body += [
                            call for node in methods for call in _awaited(node, own, plain.__name__)
                        ]
    used = {
        node.id for class_ in classes for node in ast.walk(class_) if isinstance(node, ast.Name)
    }
    return "\n".join(
        [
            ASYNCIO_HEAD,
            *sorted(known[name] for name in used & known.keys()),
            *map(ast.unparse, classes),
        ]
    )


def _awaited(node: ast.stmt, own: Container[str], plain: str) -> Iterator[ast.AsyncFunctionDef]:
    """Yield a public method or property as a coroutine function with nothing but its docstring."""
    match node:
        case ast.FunctionDef(name=name, decorator_list=[] | [ast.Name("property")], args=given) if (
            name[0] != "_"
        ):
            for values in (given.defaults, given.kw_defaults):
                values[:] = [
                    value if isinstance(value, ast.Constant | None) else ast.Constant(...)
                    for value in values
                ]
            body = node.body[:1] if ast.get_docstring(node) else [ast.Expr(ast.Constant(...))]
            is_self = isinstance(node.returns, ast.Name) and node.returns.id == "Self"
            changed = {
                "body": body,
                "returns": ast.Name(plain) if is_self else node.returns,
                "decorator_list": [],
            }
            if name not in own:
                yield ast.AsyncFunctionDef(**{**vars(node), **changed})


NODE_HEAD = """// The objects of the service. Written from the OpenAPI documents, not by hand.

/** An object of the service, or its id. */
export type Ref = string | { id: string };"""

OF_NODE = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "Any": "any"}


def for_node(python: str) -> str:
    return (
        "\n\n".join(
            [NODE_HEAD, *(text for node in ast.parse(python).body if (text := _declaration(node)))]
        )
        + "\n"
    )


def _declaration(statement: ast.stmt) -> str | None:
    match statement:
        case ast.ClassDef(name=name, body=fields, keywords=keywords):
            rows = [
                (field.target.id, field.annotation)
                for field in fields
                if isinstance(field, ast.AnnAssign)
            ]
            return _interface(name, rows, all_optional=bool(keywords))
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(args=[_, ast.Dict(keys=keys, values=values)]),
        ):
            return _interface(
                name, [(key.value, value) for key, value in zip(keys, values, strict=True)]
            )
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if name != "Ref":
            return f"export type {name} = {_type(value)};"
    return None


def _interface(name: str, fields: list[tuple[str, Any]], *, all_optional: bool = False) -> str:
    rows: list[str] = []
    for field, value in fields:
        is_optional = isinstance(value, ast.Subscript) and value.value.id == "NotRequired"
        rows.append(f"  {field}{'?' if is_optional or all_optional else ''}: {_type(value)};")
    return "\n".join([f"export interface {name} {{", *rows, "}"])


def _type(node: Any) -> str:
    match node:
        case ast.Name(id=name):
            text = OF_NODE.get(name, name)
        case ast.Constant(value=value):
            text = json.dumps(value)
        case ast.BinOp(left=left, right=right):
            text = f"{_type(left)} | {_type(right)}"
        case ast.Tuple(elts=choices):
            text = " | ".join(map(_type, choices))
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            text = f"Array<{_type(item)}>"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, value])):
            text = f"Record<string, {_type(value)}>"
        case _:  # Literal[…], NotRequired[…]
            text = _type(node.slice)
    return text


def files() -> Iterator[tuple[Path, str]]:
    """Yield each file, and what is to be in it, before those of Python are formatted."""
    python = for_python()
    yield FOR_PYTHON, python
    yield FOR_ASYNCIO, for_asyncio()
    yield FOR_NODE, for_node(python)


if __name__ == "__main__":
    for file, text in files():
        file.write_text(text, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--quiet", FOR_PYTHON, FOR_ASYNCIO], check=True
    )
