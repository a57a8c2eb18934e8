"""Bodies: what counts as one, what is malformed (400) and which fields are wrong (422) (B-11 to B-13, B-23)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract_tests.contract.http.line import Line
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import Sandbox
from emulator.document import bundles

JSON = {"Content-Type": "application/json"}
AWA = b'{"email": "awa@example.com", "name": "Awa Diop"}'
MIB = 1024 * 1024

BODILESS_POSTS = [
    path.replace("{did}", "x").replace("{id}", "x")
    for path, item in bundles.load("service")["paths"].items()
    if "post" in item and "requestBody" not in item["post"]
]


def nested(depth: int) -> bytes:
    """So many objects within each other."""
    return b'{"metadata":' * depth + b"1" + b"}" * depth


MALFORMED = {
    "open": b"{",
    "trailing comma": b'{"a":1,}',
    "single quotes": b"{'a':1}",
    "unquoted key": b"{a:1}",
    "comment": b"{}//",
    "two values": b"{}{}",
    "form": b"email=awa@example.com&name=Awa",
    "array": b"[]",
    "string": b'"{}"',
    "number": b"5",
    "true": b"true",
    "null": b"null",
    "UTF-16": AWA.decode().encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + AWA,
    "Latin-1": AWA.replace(b"Awa", b"\xc9lo"),
    "overlong": AWA.replace(b"Awa", b"\xc0\xaf"),
    "surrogate in UTF-8": AWA.replace(b"Awa", b"\xed\xa0\x80"),
    "cut off UTF-8": b'{"a":"\xe2\x82',
    "raw control character": AWA.replace(b"Awa", b"A\x00a"),
    "raw newline": AWA.replace(b"Awa", b"A\na"),
    "form feed": b"\x0c" + AWA,
    "no-break space": b"\xc2\xa0" + AWA,
    "duplicate key": AWA[:-1] + b', "name": "Awa Diop"}',
    "duplicate key, escaped": AWA[:-1] + b', "n\\u0061me": "Awa Diop"}',
    "duplicate key, nested": AWA[:-1] + b', "metadata": {"a": 1, "a": 1}}',
    "NaN": AWA[:-1] + b', "metadata": {"a": NaN}}',
    "Infinity": AWA[:-1] + b', "metadata": {"a": Infinity}}',
    "1e400": AWA[:-1] + b', "metadata": {"a": 1e400}}',
    "5000 digits": AWA[:-1] + b', "metadata": {"a": ' + b"9" * 5000 + b"}}",
    "301 digits": AWA[:-1] + b', "metadata": {"a": ' + b"9" * 301 + b"}}",
    "leading zero": AWA[:-1] + b', "metadata": {"a": 01}}',
    "plus": AWA[:-1] + b', "metadata": {"a": +1}}',
    "unpaired surrogate": AWA.replace(b"Awa", b"\\ud800"),
    "unpaired low surrogate": AWA.replace(b"Awa", b"\\uDC00"),
    "unpaired surrogate in a key": AWA[:-1] + b', "metadata": {"\\ud800": 1}}',
    "unpaired surrogate, duplicate key": b'{"\\ud800": 1, "\\ud800": 1}',
    "100 000 brackets": b"[" * 100_000,
    "100 000 braces": b'{"a":' * 100_000,
    "65 levels": nested(65),
    "900 levels": nested(900),
    "65 levels beside much that is flat": b'{"a":' + b"[" * 64 + b"]" * 64 + b',"b":[' + b"{}," * 1000 + b"{}]}",
    "one byte too many": b" " * (MIB + 1 - len(AWA)) + AWA,
    "10 MB": AWA + b" " * 10_000_000,
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_body_is_400(sandbox: Sandbox, body: bytes) -> None:
    """B-12: VALIDATION_ERROR with status 400; nothing is made."""
    error = sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", content=body, headers=JSON)
    assert error["status"] == 400
    assert error["message"].startswith("The body must be a JSON object: ")
    assert "errors" not in error
    assert sandbox.api.get("/customers/")["data"] == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (nested(65), "it is nested too deeply"),
        (b"\xff", "it is not UTF-8"),
        (b"\xef\xbb\xbf" + AWA, "it begins with a byte order mark"),
        (AWA.replace(b"Awa", b"\\ud800"), "a string holds an unpaired surrogate"),
    ],
    ids=["brackets", "levels", "bytes", "mark", "surrogate"],
)
def test_the_message_says_what_is_malformed(sandbox: Sandbox, body: bytes, reason: str) -> None:
    error = sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", content=body, headers=JSON)
    assert error["message"].rstrip(".") == f"The body must be a JSON object: {reason}"


WELL_FORMED = {
    "white space around": b" \r\n\t" + AWA + b" \n",
    "escaped keys": AWA.replace(b"email", b"\\u0065mail"),
    "paired surrogates": AWA.replace(b"Awa", b"\\ud83d\\ude00"),
    "escaped NUL": AWA.replace(b"Awa", b"A\\u0000a"),
    "astral": AWA.replace(b"Awa", "😀".encode()),
    "300 digits": AWA[:-1] + b', "metadata": {"a": ' + b"9" * 300 + b"}}",
    "beyond 64 bits": AWA[:-1] + b', "metadata": {"a": 18446744073709551616, "b": -9223372036854775809}}',
    "floats": AWA[:-1] + b', "metadata": {"a": 1.5e300, "b": 1e-400, "c": -0.0}}',
    "exactly as large as may be": b" " * (MIB - len(AWA)) + AWA,
    "same key in different objects": AWA[:-1] + b', "metadata": {"name": "x", "email": "y"}}',
}


@pytest.mark.parametrize("body", WELL_FORMED.values(), ids=WELL_FORMED)
def test_whatever_is_json_is_understood(sandbox: Sandbox, body: bytes) -> None:
    """What was sent comes back."""
    made = sandbox.api.request("POST", "/customers/", content=body, headers=JSON)
    assert made.status_code == 201
    sent = json.loads(body)
    assert made.json()["metadata"] == sent.get("metadata", {})
    assert f"{made.json()['firstname']} {made.json()['lastname']}" == sent["name"]
    assert sandbox.api.get(f"/customers/{made.json()['id']}/") == made.json()


def test_64_levels_are_read_and_found_wrong_field_by_field(sandbox: Sandbox) -> None:
    """Below, at and above the limit: 63 and 64 are 422, 65 (above) is 400."""
    for depth in (63, 64):
        error = sandbox.api.rejected(
            "POST", "/customers/", 422, "VALIDATION_ERROR", content=nested(depth), headers=JSON
        )
        assert sorted(error["errors"]) == ["email", "metadata.metadata", "name"]


@pytest.mark.parametrize(
    "type",
    [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json ; x=y",
        "APPLICATION/JSON",
    ],
)
def test_json_by_any_spelling_is_json(sandbox: Sandbox, type: str) -> None:
    """B-12: and a body of it is validated, whatever the letter case."""
    sandbox.api.rejected(
        "POST", "/customers/", 422, "VALIDATION_ERROR", content=b'{"x":1}', headers={"Content-Type": type}
    )
    made = sandbox.api.request("POST", "/customers/", content=AWA, headers={"Content-Type": type})
    assert made.status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": ""},
        {"Content-Type": "text/plain"},
        {"Content-Type": "text/json"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/jsonx"},
        {"Content-Type": "application/vnd.api+json"},
        {"Content-Type": "text/plain, application/json"},
        {"Content-Type": "json"},
    ],
)
def test_another_type_or_none_is_rejected(sandbox: Sandbox, headers: dict[str, str]) -> None:
    """B-12: 400, on whatever has a body, be it ever so good."""
    error = sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", content=AWA, headers=headers)
    assert "Content-Type must be application/json" in error["message"]


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n\t ", b"{}"])
@pytest.mark.parametrize("headers", [{}, JSON, {"Content-Type": "text/plain"}])
def test_an_absent_or_empty_body_is_an_empty_object(sandbox: Sandbox, body: bytes, headers: dict[str, str]) -> None:
    """B-12."""
    if body == b"{}" and headers != JSON:
        sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", content=body, headers=headers)
    else:
        error = sandbox.api.rejected("POST", "/customers/", 422, "VALIDATION_ERROR", content=body, headers=headers)
        assert error["errors"] == {"email": ["is required"], "name": ["is required"]}


@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP", "identity, gzip"])
def test_a_compressed_body_is_rejected_as_such(sandbox: Sandbox, encoding: str) -> None:
    """B-12, of the control API too; "identity" is no compression, and where there is no body nothing is compressed."""
    sent = {"content": AWA, "headers": {**JSON, "Content-Encoding": encoding}}
    for api, path in ((sandbox.api, "/customers/"), (sandbox.control, "/clock/advance")):
        error = api.rejected("POST", path, 400, "VALIDATION_ERROR", **sent)
        assert "Content-Encoding must be identity" in error["message"]
    plain = {**JSON, "Content-Encoding": "Identity"}
    assert sandbox.api.request("POST", "/customers/", content=AWA, headers=plain).status_code == 201
    empty = sandbox.api.request("POST", "/customers/", content=b"", headers={"Content-Encoding": encoding})
    assert empty.status_code == 422


def test_a_chunked_body_is_a_body(sandbox: Sandbox) -> None:
    """Without a Content-Length."""
    parts = iter([AWA[:5], AWA[5:20], AWA[20:]])
    made = sandbox.api.request("POST", "/customers/", content=parts, headers=JSON)
    assert made.request.headers["transfer-encoding"] == "chunked"
    assert made.status_code == 201


def test_a_chunked_body_that_is_too_large_is_rejected(sandbox: Sandbox) -> None:
    parts = (b" " * 65536 for _ in range(160))
    sandbox.api.rejected("POST", "/customers/", 400, "VALIDATION_ERROR", content=parts, headers=JSON)


@pytest.mark.parametrize("path", BODILESS_POSTS)
def test_a_post_without_a_documented_body_takes_none(sandbox: Sandbox, path: str) -> None:
    """B-12, B-13: absent or empty is fine, what is malformed is 400, and any field is unknown."""
    sandbox.api.rejected("POST", path, 400, "VALIDATION_ERROR", content=b"{", headers=JSON)
    sandbox.api.rejected("POST", path, 400, "VALIDATION_ERROR", content=b"null", headers=JSON)
    sandbox.api.rejected("POST", path, 400, "VALIDATION_ERROR", content=b"{}")
    error = sandbox.api.rejected("POST", path, 422, "INVALID_FIELD", json={"note": "x"})
    assert error["errors"] == {"note": ["unknown field"]}
    for harmless in ({}, {"json": {}}, {"content": b" "}):
        assert sandbox.api.http.request("POST", path, **harmless).status_code not in (400, 422)


@pytest.mark.parametrize("body", [b"{", b"{}", b"[]", b"\xff" * 100])
@pytest.mark.parametrize("headers", [{}, JSON, {"Content-Type": "text/plain"}])
def test_the_body_of_a_get_has_no_meaning(sandbox: Sandbox, body: bytes, headers: dict[str, str]) -> None:
    """RFC 9110, 9.3.1; clients that always say Content-Type are let be."""
    response = sandbox.api.request("GET", "/customers/", content=body, headers=headers)
    assert response.json()["data"] == []


@pytest.mark.parametrize(
    ("resource", "body", "fields"),
    [
        ("subscriptions", {}, {"customer", "unit_amount", "interval"}),
        ("subscriptions", {"customer": "cust_1"}, {"unit_amount", "interval"}),
        ("subscriptions", {"plan": "plan_1"}, {"customer"}),
        ("checkout-sessions", {}, {"line_items", "currency"}),
        ("checkout-sessions", {"mode": "setup"}, {"line_items", "currency"}),
        ("payment-links", {}, {"currency"}),
        ("payment-links", {"payment_link_type": "product"}, {"currency", "products"}),
        ("payment-links", {"payment_link_type": "custom"}, {"currency", "amount"}),
        ("payment-links", {"payment_link_type": "donation"}, {"currency"}),
    ],
)
def test_a_conditionally_required_field_is_reported_with_the_rest(
    sandbox: Sandbox, resource: str, body: Any, fields: set[str]
) -> None:
    """B-12: also a field that some other one makes needless (B-40, B-58, Payment links)."""
    code = "VALIDATION_ERROR" if len(fields) > 1 else "MISSING_FIELD"
    error = sandbox.api.rejected("POST", f"/{resource}/", 422, code, json=body)
    assert error["errors"] == {field: ["is required"] for field in fields}


def test_violations_are_reported_all_at_once_by_dotted_path(sandbox: Sandbox) -> None:
    """B-12."""
    body = {
        "customer": 5,
        "line_items": [{"quantity": 0}, {"product": "prod_x", "wood": 1}, 7, {"quantity": "many", "unit_amount": 1.5}],
        "due_date": "tomorrow",
        "metadata": {"a": {}, "b": "x" * 501, "c" * 41: 1, "": 1, "ok": True},
        "colour": "red",
    }
    error = sandbox.api.rejected("POST", "/invoices/", 422, "VALIDATION_ERROR", json=body)
    assert "param" not in error
    assert set(error["errors"]) == {
        *("customer", "line_items.0.quantity", "line_items.1.wood", "line_items.2", "line_items.3.quantity"),
        *("line_items.3.unit_amount", "due_date", "metadata.a", "metadata.b", "metadata.", "colour"),
    }
    assert all(messages and all(messages) for messages in error["errors"].values())


@pytest.mark.parametrize(("fields", "param"), [({"Name": "Awa"}, "Name"), ({"metadata": {"a.b": []}}, "metadata.a.b")])
def test_a_name_is_shown_as_it_was_sent(sandbox: Sandbox, fields: dict[str, Any], param: str) -> None:
    """B-11, B-12: letter case and dots included."""
    body = {"email": "a@example.com", "name": "Awa", **fields}
    error = sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json=body)
    assert (error["param"], list(error["errors"])) == (param, [param])


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("500", None),
        ("500.0", "INVALID_FIELD"),
        ("5e2", "INVALID_FIELD"),
        ('"500"', "INVALID_FIELD"),
        ("true", "INVALID_FIELD"),
        ("null", "INVALID_FIELD"),
        ("[500]", "INVALID_FIELD"),
        ("-500", "AMOUNT_TOO_SMALL"),
        ("-0", "AMOUNT_TOO_SMALL"),
        ("9223372036854775807", "AMOUNT_TOO_LARGE"),
        ("9223372036854775808", "AMOUNT_TOO_LARGE"),
        ("18446744073709551616", "AMOUNT_TOO_LARGE"),
        ("9" * 300, "AMOUNT_TOO_LARGE"),
        ("-" + "9" * 300, "AMOUNT_TOO_SMALL"),
        ("1e30", "INVALID_FIELD"),
    ],
)
def test_money_is_an_integer_of_any_size_and_nothing_else(sandbox: Sandbox, amount: str, code: str | None) -> None:
    """B-23: ``15.0``, ``"15"`` and ``true`` are rejected; what is too large is reported as such."""
    body = f'{{"name": "P", "amount": {amount}, "currency": "XAF", "interval": "month"}}'.encode()
    if code is None:
        made = sandbox.api.request("POST", "/subscription-plans/", content=body, headers=JSON).json()
        assert made["amount"] == 500
    else:
        error = sandbox.api.rejected("POST", "/subscription-plans/", 422, code, content=body, headers=JSON)
        assert error["param"] == "amount"


def test_a_body_with_very_many_violations_is_answered_with_some(sandbox: Sandbox) -> None:
    """An answer is never larger than its request."""
    body = {f"k{number}": 1 for number in range(50_000)}
    error = sandbox.api.rejected("POST", "/customers/", 422, "VALIDATION_ERROR", json=body)
    assert 10 < len(error["errors"]) <= 100


@pytest.mark.parametrize("bound", ["metadata", "line_items"])
def test_a_container_with_far_too_many_entries_is_reported_as_such(sandbox: Sandbox, bound: str) -> None:
    """Also where each entry would be wrong as well."""
    entries: Any = {f"k{number}": {} for number in range(5_000)} if bound == "metadata" else [{"quantity": 0}] * 5_000
    body = {"currency": "XAF", "success_url": "https://shop.example", "line_items": [], bound: entries}
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "VALIDATION_ERROR", json=body)
    most = "at most 50 keys" if bound == "metadata" else "at most 20 entries"
    assert f"must have {most}" in error["errors"][bound]


def test_unknown_fields_can_be_ignored(sandbox: Sandbox) -> None:
    """B-13: the setting ``unknown_fields``; what is known is checked as ever, and the control API stays strict."""
    sandbox.control.patch("/app", {"settings": {"unknown_fields": "ignore"}})
    body = {"email": "a@example.com", "name": "Awa", "colour": "red", "id": "cust_x", "metadata": {"colour": "red"}}
    made = sandbox.api.post("/customers/", body)
    assert "colour" not in made
    assert made["id"] != "cust_x"
    assert made["metadata"] == {"colour": "red"}
    error = sandbox.api.rejected("POST", "/customers/", 422, "INVALID_FIELD", json={**body, "name": 1})
    assert list(error["errors"]) == ["name"]
    lines = {"customer": "cust_x", "line_items": [{"wood": 1, "quantity": 0}], "wood": 1}
    error = sandbox.api.rejected("POST", "/invoices/", 422, "VALIDATION_ERROR", json=lines)
    assert "line_items.0.quantity" in error["errors"]
    assert not [field for field in error["errors"] if "wood" in field]
    error = sandbox.api.rejected("GET", "/customers/?colour=red", 422, "INVALID_FILTER_PARAM")
    (message,) = error["errors"]["colour"]
    assert message.startswith("unknown parameter; must be one of ")
    assert {"page", "page_size", "search"} <= {*message.partition(" one of ")[2].split(", ")}
    sandbox.control.rejected("PATCH", "/app", 422, "INVALID_FIELD", json={"settings": {"colour": "red"}})


def test_a_large_body_is_rejected_before_it_is_sent(line: Line) -> None:
    """A client that announces 100 GB is answered at once; one that asks first gets no 100."""
    length = b"Content-Length: 100000000000"
    line.request(b"POST /v1/customers/ HTTP/1.1", b"Content-Type: application/json", length, b"Expect: 100-continue")
    answer = line.answer()
    assert (answer.status, answer.code) == (400, "VALIDATION_ERROR")


def test_a_connection_survives_a_body_that_was_not_read(sandbox: Sandbox) -> None:
    """The rest of a body is thrown away, and the next request on the connection is answered."""
    with http_client(base_url=sandbox.url) as http:
        for _ in range(3):
            assert http.post("/v1/customers/", content=AWA + b" " * 10_000_000).status_code == 401
            assert http.get("/_emulator/health").status_code == 200


def test_a_body_without_end_is_cut_off(line: Line) -> None:
    """The client was answered long ago; when it does not stop, the connection does."""
    line.request(b"POST /v1/customers/ HTTP/1.1", b"Content-Type: application/json", b"Transfer-Encoding: chunked")
    chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
    with pytest.raises(OSError, match=r"reset|Broken pipe"):  # noqa: PT012  # it comes sooner or later, not at a known chunk
        for _ in range(200):
            line.say(chunk)
    assert line.answer().status == 400


NULL_PRODUCT = {"product": None, "description": "Basket", "unit_amount": 500}


def test_null_in_a_line_or_an_object_of_a_body(sandbox: Sandbox) -> None:
    """B-12, on every level: the entries of a list are new as a whole, so null is as left out in a PATCH, too."""
    customer = sandbox.customer(phone="+24177000000")
    invoice = sandbox.api.post("/invoices/", {"customer": customer["id"], "line_items": [NULL_PRODUCT]})
    changed = sandbox.api.patch(f"/invoices/{invoice['id']}/", {"line_items": [NULL_PRODUCT] * 2})
    assert [line["product"] for line in changed["line_items"]] == [None, None]
    link = sandbox.link(redirect_url={"success": "https://shop.example.com/", "cancel": None})
    assert link["redirect_url"] == {"success": "https://shop.example.com/", "cancel": None}
    link = sandbox.api.patch(f"/payment-links/{link['id']}/", {"redirect_url": {"success": None}})
    assert link["redirect_url"] == {"success": None, "cancel": None}
    wrong = sandbox.session_body(line_items=[{**NULL_PRODUCT, "quantity": None}])
    error = sandbox.api.rejected("POST", "/checkout-sessions/", 422, "INVALID_FIELD", json=wrong)
    assert error["errors"] == {"line_items.0.quantity": ["must be an integer"]}


def test_null_does_not_count_as_given(sandbox: Sandbox) -> None:
    """B-12: beside null the other of two fields that exclude each other is taken, and one that is needed is missing."""
    customer = sandbox.customer(phone="+24177000000")
    price = {"customer": customer["id"], "unit_amount": 500, "interval": "month"}
    assert sandbox.api.post("/subscriptions/", {**price, "plan": None})["plan"] is None
    assert sandbox.session(customer=None, customer_email="a@example.com")["customer_email"] == "a@example.com"
    assert sandbox.link(max_usage=None, expires_at=None)["max_usage"] is None
    sandbox.api.rejected("POST", "/payment-links/", 422, "MISSING_FIELD", json=sandbox.link_body(amount=None))
    body = {"email": None, "name": "Awa"}
    sandbox.api.rejected("POST", "/customers/", 422, "MISSING_FIELD", json=body)


def test_what_null_takes_away_is_gone(sandbox: Sandbox) -> None:
    """B-12: "in a PATCH it clears such a field", also one that other rules read."""
    subscription = sandbox.subscribe()
    cleared = sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"payment_method": None})
    assert cleared["payment_method"] is None
    sandbox.advance("32d")
    assert sandbox.invoices("status") == ["paid", "paid"]
    once = sandbox.link(validity_type="one_time")
    change = {"max_usage": None}
    sandbox.api.rejected("PATCH", f"/payment-links/{once['id']}/", 422, "INVALID_FIELD", json=change)
    assert sandbox.api.patch(f"/payment-links/{once['id']}/", {"expires_at": None}) == once
