"""Any bytes at all: whatever comes, nothing is a failure of ours, and the server answers the next one."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract_tests.contract.http.line import Line
from contract_tests.support.sandbox import RunningServer
from emulator.document import bundles

WRITES = [
    f"{method.upper()} /v1{re.sub(r'{.*?}', 'x', path)}".encode()
    for path, item in bundles.load("service")["paths"].items()
    for method in ("post", "patch")
    if "requestBody" in item.get(method, {})
]


def broken(whole: bytes) -> st.SearchStrategy[bytes]:
    """Bytes with some of them cut out and others put in their place."""
    position = st.integers(0, len(whole))
    return st.builds(
        lambda first, last, other: whole[: min(first, last)] + other + whole[max(first, last) :],
        position,
        position,
        st.binary(max_size=10),
    )


HEAD = (
    b"POST /v1/customers/?page=1 HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer sk_test_fuzz\r\n"
    b"Content-Type: application/json\r\nIdempotency-Key: k\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}"
)
headers = st.sampled_from(
    b"Connection Upgrade Transfer-Encoding Content-Length Expect Host Authorization Cookie Emulator-Answer "
    b"Idempotency-Key Content-Encoding X-Forwarded-For Origin Accept Range".split()
)
bodies = st.builds(
    lambda operation, body: (
        b"%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_test_fuzz\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (operation, len(body), body)
    ),
    st.sampled_from(WRITES),
    broken(b'{"email": "awa@example.com", "name": "\\u00c9lo", "metadata": {"a": [1, null, 1e5, true]}}')
    | st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\ud8 \t\n', max_size=200).map(str.encode),
)
heads = st.one_of(
    broken(HEAD),
    st.binary(max_size=100),
    st.builds(
        lambda method, path, rows: b"\r\n".join(
            [b"%s /%s HTTP/1.1" % (method, path), *(b"%s: %s" % row for row in rows), b"\r\n"]
        ),
        st.sampled_from([b"GET", b"POST", b"HEAD", b"OPTIONS", b"CONNECT", b"PRI"]),
        st.binary(max_size=20) | st.sampled_from([b"v1/customers/", b"docs/", b"_emulator/clock", b"openapi.json"]),
        st.lists(st.tuples(headers, st.binary(max_size=20)), max_size=5),
    ),
)


# The server is one for all examples; nothing of it has to be created again.
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(said=heads | bodies)
def test_any_bytes_are_heard(server: RunningServer, said: bytes) -> None:
    """Every answer that comes, also to any body (B-12), is below 500; when nothing more can come, the line is closed."""
    with Line(server.url) as line:
        line.say(said)
        line.hang_up()
        assert b"HTTP/1.1 5" not in line.everything()
    with Line(server.url) as line:
        line.request(b"GET /_emulator/health HTTP/1.1")
        assert line.answer().status == 200
