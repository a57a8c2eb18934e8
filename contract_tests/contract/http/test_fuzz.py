"""Any bytes at all: whatever comes, nothing is a failure of ours, and the server answers the next one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from contract_tests.contract.http.line import Answer, Line
from contract_tests.support.contract import Contract
from contract_tests.support.sandbox import RunningServer
from emulator.document import bundles

KEY = "sk_test_fuzz"

fuzzed = settings(
    max_examples=80,
    deadline=None,
    # The server is one for all examples; nothing of it has to be created again.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    derandomize=True,
)

WRITES = [
    (method.upper(), path.replace("{id}", "x").replace("{addr_id}", "x"))
    for path, item in bundles.load("service")["paths"].items()
    for method in ("post", "patch")
    if "requestBody" in item.get(method, {})
]
SCHEMAS = bundles.load("service")["components"]["schemas"]
FIELDS = sorted({name for schema in SCHEMAS.values() for name in schema.get("properties", {})})

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**24), 10**24)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["XAF", "month", "cust_x", "2026-01-01", "2026-01-01T00:00:00Z", "a@example.com", "+24177000000"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
objects = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), values, max_size=8)
json_like = st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\ud8 \t\n', max_size=200).map(str.encode)


def broken(whole: bytes) -> st.SearchStrategy[bytes]:
    """Bytes with some of them cut out and others put in their place."""
    position = st.integers(0, len(whole))
    return st.builds(
        lambda first, last, other: whole[: min(first, last)] + other + whole[max(first, last) :],
        position,
        position,
        st.binary(max_size=10),
    )


def is_answered(contract: Contract, method: str, path: str, answer: Answer) -> None:
    """Below 500, with an id, and as the document has it."""
    assert answer.status < 500, answer
    assert answer.headers["request-id"].startswith("req_")
    if answer.status != 400:
        assert contract.faults(method, f"/v1{path}", answer.status, answer.headers, answer.body) == []


@pytest.mark.parametrize("kind", ["objects", "broken", "json-like", "bytes"])
def test_any_body_is_answered(server: RunningServer, service_contract: Contract, kind: str) -> None:
    """B-12, on every operation that has a body."""
    bodies = {
        "objects": objects.map(json.dumps).map(str.encode),
        "broken": objects.map(json.dumps).map(str.encode).flatmap(broken),
        "json-like": json_like,
        "bytes": st.binary(max_size=200),
    }

    @fuzzed
    @given(operation=st.sampled_from(WRITES), body=bodies[kind])
    def answered(operation: tuple[str, str], body: bytes) -> None:
        method, path = operation
        with Line(server.url, KEY) as line:
            line.request(
                f"{method} /v1{path} HTTP/1.1".encode(),
                b"Content-Type: application/json",
                b"Content-Length: %d" % len(body),
                body=body,
            )
            is_answered(service_contract, method, path, line.answer())

    answered()


READS = [
    path.replace("{id}", "x").replace("{addr_id}", "x")
    for path, item in bundles.load("service")["paths"].items()
    if "get" in item
]


@fuzzed
@given(data=st.data())
def test_any_query_is_answered(server: RunningServer, service_contract: Contract, data: st.DataObject) -> None:
    """B-12, on every operation that reads."""
    path = data.draw(st.sampled_from(READS))
    names = st.sampled_from(["page", "page_size", "ordering", "status", "search", "customer", "created_after"])
    texts = st.text(alphabet="0123456789-+%&=,;:aTZé_.", max_size=20) | scalars.map(str)
    fields = data.draw(st.lists(st.tuples(names | st.text(max_size=5), texts), max_size=4))
    query = "&".join(f"{name}={text}" for name, text in fields).encode("utf-8", "surrogatepass")
    safe = b"".join(bytes([byte]) if 0x20 < byte < 0x7F and byte != 0x23 else b"%%%02X" % byte for byte in query)
    with Line(server.url, KEY) as line:
        line.request(f"GET /v1{path}?".encode() + safe + b" HTTP/1.1")
        is_answered(service_contract, "GET", path, line.answer())


HEAD = (
    b"POST /v1/customers/?page=1 HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer sk_test_fuzz\r\n"
    b"Content-Type: application/json\r\nIdempotency-Key: k\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}"
)
headers = st.sampled_from(
    b"Connection Upgrade Transfer-Encoding Content-Length Expect Host Authorization Cookie Emulator-Answer "
    b"Idempotency-Key Content-Encoding X-Forwarded-For Origin Accept Range".split()
)
heads = st.one_of(
    broken(HEAD),
    st.binary(max_size=100),
    st.builds(
        lambda method, path, rows: (
            (
                method
                + b" /"
                + path
                + b" HTTP/1.1\r\n"
                + b"".join(name + b": " + value + b"\r\n" for name, value in rows)
            )
            + b"\r\n"
        ),
        st.sampled_from([b"GET", b"POST", b"HEAD", b"OPTIONS", b"CONNECT", b"PRI"]),
        st.binary(max_size=20) | st.sampled_from([b"v1/customers/", b"docs/", b"_emulator/clock", b"openapi.json"]),
        st.lists(st.tuples(headers, st.binary(max_size=20)), max_size=5),
    ),
)


@fuzzed
@given(said=heads)
def test_any_bytes_are_heard(server: RunningServer, said: bytes) -> None:
    """Every answer that comes is below 500; when nothing more can come, the line is closed."""
    with Line(server.url, KEY) as line:
        line.say(said)
        line.hang_up()
        assert b"HTTP/1.1 5" not in line.everything()
    with Line(server.url, KEY) as line:
        line.request(b"GET /_emulator/health HTTP/1.1")
        assert line.answer().status == 200


FIELDS = ["by", "to", "at", "rate", "event", "overrides", "seed", "clock", "fixtures", "answer", "pin"]
VALUES = ["31d", "next", "frozen@2026", "invoice.paid", "approve", "ignore", {"customer": None}, {"settings": 1}]


def test_the_control_api_takes_any_body_too(server: RunningServer) -> None:
    paths = [path for path, item in bundles.load("control")["paths"].items() if "requestBody" in item.get("post", {})]

    @fuzzed
    @given(
        path=st.sampled_from(paths),
        body=st.dictionaries(st.sampled_from(FIELDS), st.one_of(scalars, st.sampled_from(VALUES))),
    )
    def answered(path: str, body: dict[str, Any]) -> None:
        address = f"/_emulator{path}".replace("{number}", "+24177123456").encode()
        with Line(server.url, KEY) as line:
            assert line.post(json.dumps(body).encode(), path=address).status in (200, 201, 400, 404, 422)

    answered()
