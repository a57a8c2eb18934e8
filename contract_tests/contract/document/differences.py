"""``python -m contract_tests.contract.document.differences``: where the served documents and the server differ.

Every field of every request body takes one value after the other, and so do the entries of its lists and objects. What
the documents allow and the server rejects has a rule with a name; there is nothing that they forbid and the server takes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
import httpx
from jsonschema import Draft202012Validator, FormatChecker
from openapi_schema_validator import OAS30Validator

from contract_tests.contract.document.formats import FORMATS
from contract_tests.contract.document.judges import Schemas
from contract_tests.contract.document.reader import Operation, Part, operations, properties, request_schema, resolved
from contract_tests.contract.document.request_bodies import request
from emulator.checks.document.exceptions import rejected_by_rule, rejected_by_state
from emulator.checks.document.object_factory import ObjectFactory, webhook_receiver
from emulator.document import bundles
from emulator.testing import LocalServer

STANDARD = FormatChecker(formats=())
"""The formats of OpenAPI and JSON Schema; others are shown by their patterns."""
for standard in ("date-time", "date", "email", "uri"):
    STANDARD.checks(standard)(lambda value, known=FORMATS[standard]: not isinstance(value, str) or known(value))

HOST = "127.0.0.1:9"
WORDS = f"""
0 15 15.0 true null é 日本 XAF xaf EUR GBP JPY ZZZ XX GA ga FR DE AA Gabon day week month hour
a@b a@b.co A@B.CO é@b.co a@é.co a@-b.co @b.co a@ a..b@b.co a@b@c.co
+24177000010 0612345678 +0123456789 +1234567 +123456 +123456789012345 +1234567890123456
2026-03-01 2025-01-01 2030-02-29 2028-02-29 20300301 2030-03 9999-12-31 0001-01-01 2030-13-01 now 1767225600
2030-03-01T00:00:00Z 2030-03-01t00:00:00z 2030-03-01T00:00:00+01:00 2030-03-01T00:00:00 2030-03-01T24:00:00Z
2030-03-01T00:00:60Z 2030-03-01T00:00Z 2030-03-01T00:00:00.123456Z
https://{HOST}/ http://{HOST}/ HTTPS://{HOST}/ Https://{HOST}/ ftp://{HOST}/ javascript://{HOST}/ https://{HOST}
https://u:p@{HOST}/ https://é.co/ https:// //a.co/ https://[::1/
a.co A.CO *.a.co a.co:80 a_b.co -a.co 10.0.0.0/8 10.0.0.1 10.0.0.1/8 10.0.0.0/33 ::1
4242424242424242 4242424242424241 123 FR1420041010050500013M02606 GB29NWBK60161331926819
fixed free payment setup product custom donation limited one_time unlimited automatic manual send_invoice bank_card
mobile_money paypal cash HMAC_SHA256 linear * invoice.paid
""".split()
TEXTS = (
    "",
    " ",
    "\t",
    "\u00a0",
    "\u0000",
    "a b",
    " a@b.co",
    "a@b.co ",
    "+241 77",
    "2030-03-01 00:00:00Z",
    f"https://{HOST}/a b",
)
LENGTHS = (1, 2, 3, 64, 65, 199, 200, 253, 254, 255, 256, 499, 500, 501, 1999, 2000, 2001, 4999, 5000, 5001)
INTEGERS = f"""
-1 0 1 2 10 11 12 13 20 49 50 51 99 100 101 255 256 299 300 301 364 365 366 500 700 730 731 1000 1800 2025 2026 2099 2100
9999 86400 86401 99999999 100000000 {2**31} {2**53} {10**24} {-(10**24)}
""".split()
LISTS = (
    [],
    [None],
    [{}],
    [[]],
    [1],
    ["a"],
    ["a", "a"],
    ["*"],
    ["invoice.paid"] * 2,
    ["cash"],
    ["10.0.0.0/8", "127.0.0.1"],
)
OBJECTS = ({}, {"a": 1}, {"": "a"}, {"a": None}, {"a": {}}, {"interval": "month"}, {"max_attempts": 3})
IDS = [f"{prefix}_{'a' * 24}" for prefix in ("cust", "prod", "meth", "plan", "trans")]
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0.5, 1.5, -0.5, 1e300, 700.0),
    *map(int, INTEGERS),
    *(*TEXTS, *WORDS, *IDS, *("a" * length for length in LENGTHS)),
    *(*LISTS, *([word] for word in ("bank_card", "a.co", "KP", f"https://{HOST}/"))),
    *(*OBJECTS, *({f"k{number}": 1 for number in range(count)} for count in (50, 51))),
)
"""What each field takes; texts of many forms, and numbers and lengths beside each limit that the document has."""


class Place(NamedTuple):
    """A field of an operation's body, or what stands in it, by the steps that lead there."""

    operation: Operation
    steps: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.operation.node['operationId']} {'.'.join(self.steps)}"


class Judges:
    """What both served documents say of a body."""

    def __init__(self) -> None:
        self.document = bundles.load("service-3.0")
        validators = {"service-3.0": OAS30Validator, "service-3.1": Draft202012Validator}
        self._schemas = {name: Schemas(bundles.load(name)) for name in validators}
        self._validators: dict[str, Any] = validators
        self._of: dict[tuple[str, ...], list[Any]] = {}

    def verdicts(self, operation: Operation, body: Any) -> set[bool]:
        """Return whether they allow it: one verdict, unless they differ."""
        if operation.pointer not in self._of:
            self._of[operation.pointer] = [self._validator(name, operation) for name in self._validators]
        return {validator.is_valid(body) for validator in self._of[operation.pointer]}

    def _validator(self, name: str, operation: Operation) -> Any:
        schemas = self._schemas[name]
        schema = request_schema(schemas.document, operation)
        assert schema is not None
        return self._validators[name](schemas.at(schema.pointer), registry=schemas.registry, format_checker=STANDARD)


def places(document: Any) -> Iterator[Place]:
    """Yield every place of a JSON body of the service."""
    for operation in operations(document):
        schema = request_schema(document, operation) if operation.method in ("POST", "PATCH") else None
        for steps in _steps(document, schema) if schema else ():
            yield Place(operation, steps)


def _steps(document: Any, part: Part) -> Iterator[tuple[str, ...]]:
    part = resolved(document, part)
    for name, child in properties(document, part).items():
        yield (name,)
        yield from ((name, *rest) for rest in _steps(document, child))
    if "items" in part.node:
        yield ("0",)
        items = Part((*part.pointer, "items"), part.node["items"])
        yield from (("0", *rest) for rest in _steps(document, items))


def varied(body: Any, steps: Sequence[str], value: Any) -> Any:
    """Return the body with this value at a place; what leads there is made where it is missing."""
    if not steps:
        return value
    first, *rest = steps
    if first == "0":
        items = body if isinstance(body, list) and body else [{}]
        return [varied(items[0], rest, value), *items[1:]]
    whole = body if isinstance(body, dict) else {}
    return {**whole, first: varied(whole.get(first), rest, value)}


class Comparison:
    """Sends every place its values, and counts the requests, the rules that rejected some, and what has no rule."""

    def __init__(self, server: LocalServer, receiver: str) -> None:
        self.judges, self.requests = Judges(), 0
        self.rules: Counter[str] = Counter()
        self.unnamed: list[str] = []
        headers = {"Authorization": "Bearer sk_test_differences"}
        self._factory = ObjectFactory(f"{server.url}/v1", headers, f"{receiver}/hook", "differences")
        self._factory.learn(bundles.load("service"))
        self._control = httpx.Client(base_url=f"{server.url}/_emulator", headers=headers, timeout=60, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._factory.connections.disconnect()
        self._control.close()

    def compare(self, every: int, only: str) -> None:
        """Each place whose name holds ``only``, with one value of ``every`` so many."""
        chosen = (place for place in places(self.judges.document) if only in place.name)
        for number, place in enumerate(chosen):
            self._control.post("/reset", json={"clock": "frozen@2026-01-01T00:00:00Z"})
            scene: dict[str, Any] = {}
            for value in VALUES[number % every :: every]:
                scene = self._send(place, value, scene)

    def _send(self, place: Place, value: Any, scene: dict[str, Any]) -> dict[str, Any]:
        """Send one request; the objects for the next one, which are others where this one may have changed them."""
        path, body = request(self._factory, place.operation, place.steps[0], scene)
        body = varied(body, place.steps, value)
        answer = self._factory.send(place.operation.method, path, body)
        self.requests += 1
        self._judge(place, body, value, answer)
        if not answer.is_success:
            return scene
        if "security-profiles" in place.operation.path:  # it may lock us out
            self._control.post("/reset", json={})
        return {}

    def _judge(self, place: Place, body: Any, value: Any, answer: httpx.Response) -> None:
        verdicts = self.judges.verdicts(place.operation, body)
        if answer.status_code < 500 and verdicts == {answer.is_success}:
            return
        rule = None if answer.status_code >= 500 else _rule(place, body, value, answer, verdicts)
        if rule is None:
            said = f"{sorted(verdicts)} but {answer.status_code} {'' if answer.is_success else answer.text}"
            self.unnamed.append(f"{place.name}: {value!r:.80}: {said}")
        else:
            self.rules[rule] += 1


def _rule(place: Place, body: Any, value: Any, answer: httpx.Response, verdicts: set[bool]) -> str | None:
    """Return the rule by which the server and the documents differ, or one document from the other."""
    if isinstance(value, float) and value.is_integer():
        return "a number is written without a point (B-23); 3.1 does not tell them apart"
    if verdicts == {False}:
        is_instant = place.steps[-1] in ("ends_at", "expires_at") and isinstance(value, str)
        return "a date, and an instant without an offset, are taken too (B-17)" if is_instant else None
    if len(verdicts) > 1:
        has_no_name = isinstance(value, dict) and "" in value
        return "a key has a character (B-22); 3.0 has no keyword for keys" if has_no_name else None
    return _rule_of_server(place, body, value, answer)


def _rule_of_server(place: Place, body: Any, value: Any, answer: httpx.Response) -> str | None:
    """Return the rule by which the server rejected what the documents allow."""
    case = _case(place.operation, body)
    if code := rejected_by_state(answer, case):
        return code
    if isinstance(value, str) and place.steps[-1] in ("email", "customer_email"):
        return "an email has the form that browsers accept (B-30)"
    return "a rule of its fields" if rejected_by_rule(answer, case) else None


def _case(operation: Operation, body: Any) -> Any:
    """What the exceptions of the conformance suite look at."""
    definition = SimpleNamespace(raw=operation.node)
    return SimpleNamespace(operation=SimpleNamespace(path=operation.path, definition=definition), query=None, body=body)


def compared(every: int = 1, only: str = "") -> Comparison:
    """Return the comparison with a server of its own, as :meth:`Comparison.compare` makes it."""
    server = LocalServer()
    try:
        with webhook_receiver() as receiver:
            comparison = Comparison(server, receiver.url)
            comparison.compare(every, only)
            comparison.close()
            return comparison
    finally:
        server.stop()


@click.command()
@click.option("--every", default=1, show_default=True, help="Take one value of so many.")
@click.option("--only", default="", metavar="TEXT", help="Take the fields whose operation and name hold this text.")
def main(every: int, only: str) -> None:
    """Compare, and print each difference without a rule; exit status 1 if there is one."""
    found = compared(every, only)
    for difference in found.unnamed:
        click.echo(difference)
    for rule, number in found.rules.most_common():
        click.echo(f"{number:6} {rule}")
    click.echo(
        f"{found.requests} requests, {found.rules.total()} differences with a rule, {len(found.unnamed)} without."
    )
    sys.exit(1 if found.unnamed else 0)


if __name__ == "__main__":
    main()
