"""Every list of the service: order, pages, filters, and wrong queries (B-12, B-17, B-19, B-20)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from contract_tests.contract.document.reader import (
    Part,
    flat,
    operations,
    parameters,
    properties,
    resolved,
    responses,
)
from contract_tests.contract.every.conftest import factory_in
from contract_tests.contract.every.values import SERVICE, of_service, query_of
from contract_tests.support.sandbox import RunningServer, Sandbox
from emulator.checks.document.object_factory import PREREQUISITES, CannotCreate, documented
from emulator.core import lists
from emulator.document import bundles
from emulator.document.tree import at as node_at
from emulator.engine import reading

LISTS = {
    operation.path: query_of(operation)
    for operation in of_service("GET")
    if "page" in query_of(operation)
}

LEADING = {"/customers/{id}/addresses/": "is_default"}
"""The field by which an object comes before those that are newer."""

FIELDS = {"created": "created_at", "due": "due_date"}
"""The field that a bound is of, where the name of the parameter has another."""

NOT_A_FIELD = {"ordering", "page", "page_size", "search"}


class Filled(NamedTuple):
    """A world with several objects of each kind; ``made``: ids of requested ones, in order."""

    sandbox: Sandbox
    made: list[str]

    def path(self, path: str) -> str:
        """Return the path of a list, of the oldest object that has several entries in it."""
        if "{" not in path:
            return path
        paths = [path.format(id=row["id"]) for row in self.all(path.partition("{")[0])[::-1]]
        return max(paths, key=lambda path: len(self.all(path)))

    def all(self, path: str, **query: Any) -> list[Any]:
        return list(self.sandbox.api.pages(path, page_size=100, **query))


@pytest.fixture(scope="module")
def filled(server: RunningServer, hook: str) -> Iterator[Filled]:
    """Two days on which everything is made; on day two each third object is of a new customer.

    What cannot be made, its own lists miss. They are read as otherwise only long ones are.
    """
    made: list[str] = []
    kinds = [*PREREQUISITES, *documented(SERVICE)]
    with server.world("every-list") as sandbox, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "PART", 3)
        patch.setattr(reading, "LARGE", 3)
        factory = factory_in(sandbox, hook)
        shared = factory.object("customer", {})
        for day in (0, 1):
            # Twice on day two, so that a page is in the middle and things were made at one instant.
            for number, kind in enumerate(kinds * (day + 1)):
                scene = {} if day and number % 3 == 0 else {"customer": shared}
                with suppress(CannotCreate, LookupError):
                    made.append(factory.object(kind, scene)["id"])
            # A buyer without an email, who is ordered before those who have one.
            sandbox.buy(sandbox.session())
            sandbox.advance("1d")
        for webhook in sandbox.api.get("/webhooks/", enabled="true")["data"]:
            sandbox.act(webhook, "test")
            sandbox.act(webhook, "test")
        sandbox.product(name="Mat", unit_amount=700)
        for line1 in ("1 Rue du Port", "2 Rue du Port"):
            address = {"line1": line1, "city": "Libreville", "country": "GA"}
            sandbox.api.post(f"/customers/{shared['id']}/addresses/", address)
        for reason in ("duplicate", "fraudulent"):
            deposit = sandbox.deposit()
            sandbox.api.post("/refunds/", {"transaction": deposit["id"], "reason": reason})
        yield Filled(sandbox, list(dict.fromkeys(made)))


def oldest_first_of(everything: list[Any]) -> list[Any]:
    """Return the rows of a list in the order of their creation, the list's own order for ties."""
    oldest_first = everything[::-1]
    oldest_first.sort(key=lambda row: str(row["created_at"]))
    return oldest_first


@pytest.mark.parametrize("path", [path for path in LISTS if "{" in path])
def test_a_list_of_an_object_has_its_rows_alone(filled: Filled, path: str) -> None:
    at = filled.path(path)
    owner = {"customers": "customer", "webhooks": "webhook"}[path.split("/")[1]]
    assert {row[owner] for row in filled.all(at)} == {at.split("/")[2]}


@pytest.mark.parametrize("path", LISTS)
def test_a_list_has_the_newest_first(filled: Filled, path: str) -> None:
    """B-17: ties in order of creation."""
    newest_first = filled.all(filled.path(path))
    assert len(newest_first) >= 2
    oldest_first = oldest_first_of(newest_first)
    expected = oldest_first[::-1]
    if path in LEADING:
        expected.sort(key=lambda row: not row[LEADING[path]])
    assert newest_first == expected
    of_requests = [row["id"] for row in oldest_first if row["id"] in filled.made]
    assert of_requests == sorted(of_requests, key=filled.made.index)


@pytest.mark.parametrize("path", [path for path, query in LISTS.items() if "ordering" in query])
def test_a_list_has_the_order_that_it_is_asked_for(filled: Filled, path: str) -> None:
    """B-17: ties in order of creation, which an order reverses with the rest; null comes first."""
    at = filled.path(path)
    oldest_first = oldest_first_of(filled.all(at))
    for ordering in LISTS[path]["ordering"].node["enum"]:
        field = ordering.lstrip("-")
        ascending = sorted(
            oldest_first, key=lambda row, field=field: (row[field] is not None, row[field] or 0)
        )
        listed = filled.all(at, ordering=ordering)
        assert listed == (ascending[::-1] if ordering.startswith("-") else ascending), ordering


MEDIA = ("content", "application/json", "schema")


def may_be_null(path: str, field: str) -> bool:
    """Return whether the document lets a field of a list's objects be null."""
    operation = next(operation for operation in of_service("GET") if operation.path == path)
    response = dict(responses(SERVICE, operation))["200"]
    listed = Part((*response.pointer, *MEDIA), node_at(response.node, MEDIA))
    data = flat(SERVICE, properties(SERVICE, listed)["data"])
    row = Part((*data.pointer, "items"), data.node["items"])
    return bool(resolved(SERVICE, properties(SERVICE, row)[field]).node.get("nullable"))


@pytest.mark.parametrize("path", [path for path, query in LISTS.items() if "ordering" in query])
def test_what_is_ordered_has_ties_and_null_wherever_there_may_be(filled: Filled, path: str) -> None:
    """Else the rules about them would have nothing to decide above."""
    everything = filled.all(filled.path(path))
    created = [row["created_at"] for row in everything]
    assert 1 < len(set(created)) < len(created)
    for field in {name.lstrip("-") for name in LISTS[path]["ordering"].node["enum"]}:
        nulls = [row[field] for row in everything].count(None)
        assert (nulls > 1) is may_be_null(path, field), field
        assert len({row[field] for row in everything} - {None}) > 1, field


@pytest.mark.parametrize("path", LISTS)
def test_a_page_in_the_middle_leads_both_ways(filled: Filled, path: str) -> None:
    """B-19."""
    api, at = filled.sandbox.api, filled.path(path)
    everything = filled.all(at)
    assert len(everything) >= 3, "or no page would be in the middle above"
    middle = api.get(at, page=2, page_size=1)["pagination"]
    neighbors = [api.request("GET", middle[way]).json()["data"] for way in ("previous", "next")]
    assert neighbors == [everything[:1], everything[2:3]]


@pytest.mark.parametrize("path", LISTS)
def test_the_pages_of_a_list_are_the_whole_list(filled: Filled, path: str, thorough: bool) -> None:
    """B-19: absolute links work."""
    api, at = filled.sandbox.api, filled.path(path)
    everything = filled.all(at)
    for size in (1, 2, len(everything), 100)[0 if thorough else 1 :]:
        assert list(api.pages(at, page_size=size)) == everything, size
    whole = api.get(at, page_size=len(everything))["pagination"]
    member = {
        "count": len(everything),
        "page": 1,
        "page_size": len(everything),
        "next": None,
        "previous": None,
    }
    assert whole.items() >= member.items()
    assert api.get(at)["pagination"]["page_size"] == min(20, api.get(at)["pagination"]["page_size"])


@pytest.mark.parametrize("path", LISTS)
def test_a_page_past_the_end_is_empty(filled: Filled, path: str) -> None:
    """B-19: the one before it is the last."""
    api, at = filled.sandbox.api, filled.path(path)
    everything = filled.all(at)
    for far in (len(everything) + 1, 2**63, 10**299):
        beyond = api.get(at, page=far, page_size=1)
        assert (beyond["data"], beyond["pagination"]["page"], beyond["pagination"]["next"]) == (
            [],
            far,
            None,
        )
        assert (
            api.request("GET", beyond["pagination"]["previous"]).json()["data"] == everything[-1:]
        )


def fits(name: str, value: str) -> Callable[[Any], bool]:
    field, _, bound = name.rpartition("_")
    if bound in ("after", "before"):
        field = FIELDS[field]
        if bound == "after":
            return lambda row: row[field] is not None and row[field] >= value
        return lambda row: row[field] is not None and row[field] <= value
    least, _, field = name.partition("_")
    if least in ("min", "max"):
        return lambda row: row[field] >= int(value) if least == "min" else row[field] <= int(value)
    return lambda row: str(row[name]).lower() in value.lower().split(",")


def names_of(node: dict[str, Any]) -> Any:
    return node.get("enum") or (
        flat(SERVICE, Part((), node["items"])).node.get("enum") if "items" in node else None
    )


def values_of(name: str, schema: Part, everything: list[Any]) -> list[str]:
    """Return a filter's test values: its list's names or else the objects' values, and others."""
    node = schema.node
    names = names_of(node)
    if names and node.get("format") != "currency":
        return (
            [*names, ",".join(names[:2]), ",".join(names[1:])]
            if "items" in node
            else [*map(str, names)]
        )
    if node["type"] == "boolean":
        return ["true", "false"]
    if name in ("min_amount", "max_amount"):
        return [str(row["amount"] + more) for row in everything[:3] for more in (-1, 0, 1)]
    field = FIELDS.get(name.rpartition("_")[0], name)
    present = [str(row[field]) for row in everything if row.get(field) is not None]
    return [*dict.fromkeys(present), ABSENT.get(node.get("format", ""), "unknown")]


ABSENT = {"currency": "USD", "date": "2026-01-20", "instant": "2026-01-02T00:00:00.001Z"}
"""A value of each format that no object has."""


@pytest.mark.parametrize(
    "path", [path for path, query in LISTS.items() if query.keys() - NOT_A_FIELD]
)
def test_a_filter_takes_out_what_does_not_fit(filled: Filled, path: str) -> None:
    """B-20: bounds are inclusive, a comma means or; a value that no object has matches nothing.

    The order stays.
    """
    at = filled.path(path)
    everything = filled.all(at)
    for name, schema in LISTS[path].items():
        for value in values_of(name, schema, everything) if name not in NOT_A_FIELD else ():
            expected = [row["id"] for row in everything if fits(name, value)(row)]
            assert [row["id"] for row in filled.all(at, **{name: value})] == expected, (name, value)


@pytest.mark.parametrize(
    "path", [path for path, query in LISTS.items() if query.keys() - NOT_A_FIELD]
)
def test_each_filter_has_rows_that_fit_and_rows_that_do_not(filled: Filled, path: str) -> None:
    """Else it would have nothing to decide above."""
    everything = filled.all(filled.path(path))
    for name, schema in LISTS[path].items():
        if name in NOT_A_FIELD:
            continue
        values = values_of(name, schema, everything)
        fitting = [sum(map(fits(name, value), everything)) for value in values]
        assert any(fitting), f"no row fits any value of {name}"
        assert min(fitting) < len(everything), f"all rows fit every value of {name}"


def test_filters_work_together_with_an_order(filled: Filled) -> None:
    everything = filled.all("/transactions/")
    one = everything[-1]
    query = {
        "customer": one["customer"],
        "status": f"canceled,{one['status']}",
        "min_amount": one["amount"],
    }
    expected = [
        row
        for row in everything
        if all(fits(name, str(value))(row) for name, value in query.items())
    ]
    assert one in expected
    assert filled.all("/transactions/", ordering="created_at", **query) == expected[::-1]


@pytest.mark.parametrize("path", [path for path in LISTS if "created_after" in LISTS[path]])
def test_bounds_that_exclude_each_other_leave_nothing(filled: Filled, path: str) -> None:
    """B-20."""
    at = filled.path(path)
    bounds = {"created_after": "2026-01-02", "created_before": "2025-12-31"}
    pagination = filled.sandbox.api.get(at, **bounds)["pagination"]
    assert (pagination["count"], pagination["total_pages"]) == (0, 0)


def test_the_links_between_pages_keep_the_other_parameters(filled: Filled) -> None:
    """B-19."""
    query = {"ordering": "created_at", "status": "completed,failed", "min_amount": 1}
    at_once = filled.all("/transactions/", **query)
    assert len(at_once) > 2
    assert at_once != filled.all("/transactions/")[::-1]
    pages = filled.sandbox.api.pages("/transactions/", page_size=1, **query)
    assert list(pages) == at_once


# -- what cannot be asked

NO_INTEGERS = [
    *("", "x", "1.0", "1e1", "+1", "%2B1", "-", "1_0", "%201", "%D9%A3", "%C2%B2", "%00"),
    *("true", "1,2", "9" * 301),
]
NO_DATES = [
    *("2026-13-01", "2026-01-01T25:00:00", "1767225600", "2026-02-30T00:00:00Z", "", "now"),
    *("2026-000", "2026-366", "2025-12-31T24:01Z", "0000-001", "2026-06-01 00:00:00Z"),
    *("2026-06-01T00:00Z", "20260601T000000Z"),
    *(
        "2026-06-01T00:00:00,5",
        "2026-06-01T00:00:00Z,",
        "2026-06-01T00:00:00%0A",
        "2026-06-01T00:00:00%2B01:75",
    ),
    *("2026-W20", "2026-W20-1", "2026W201", "2026-001", "2026001", "20260601"),
]


def misused(name: str, node: dict[str, Any]) -> list[str]:
    """Return texts, as they stand in a URL, that a parameter of this schema does not take."""
    if node["type"] == "integer":
        below = [str(node["minimum"] - 1), "-" + "9" * 300] if "minimum" in node else []
        return [
            *NO_INTEGERS,
            *below,
            *([str(node["maximum"] + 1), "1" + "0" * 299] if "maximum" in node else []),
        ]
    if node["type"] == "boolean":
        return ["yes", "1", "True", ""]
    if node.get("format") in ("instant", "date"):
        return NO_DATES
    names = names_of(node)
    if names:
        return ["nope", "", f"{names[0]},nope", f"--{names[0]}", str(names[0]).swapcase()]
    return [""] if node.get("minLength") else []


DOCUMENTS = {"service": SERVICE, "control": bundles.load("control")}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_error_of_a_wrong_value_names_its_parameter(
    sandbox: Sandbox, name: str, thorough: bool
) -> None:
    """B-12: digits are ASCII; parameters come before objects (B-05). A parameter is given once.

    B-17: "a space in between is wrong"; nor is another form a date-time. Of parameters of one
    schema only the first has every wrong value, and in a plain run the only one given twice.
    """
    document, tried = DOCUMENTS[name], set[str]()
    api = sandbox.api if name == "service" else sandbox.control
    queries = [
        (operation, query_of(operation, document))
        for operation in operations(document)
        if operation.method == "GET"
    ]
    for operation, query in queries:
        required = {
            declared["name"]
            for declared in parameters(document, operation)
            if declared.get("required") and declared["in"] == "query"
        }
        for parameter, schema in query.items():
            wrong = misused(parameter, schema.node)
            is_tried = str(schema.node) in tried
            tried.add(str(schema.node))
            texts = [f"{parameter}={text}" for text in (wrong[:1] if is_tried else wrong)]
            if thorough or not is_tried:
                texts += [f"{parameter}=1&{parameter}={other}" for other in (1, 2)]
            for text in texts:
                path = re.sub(r"\{\w+\}", "x", operation.path)
                error = api.rejected("GET", f"{path}?{text}", 422, "INVALID_FILTER_PARAM")
                assert {*error["errors"]} == {parameter} | required, text
                assert required - {parameter} or error["param"] == parameter


def test_a_name_that_is_no_parameter_is_rejected(sandbox: Sandbox) -> None:
    """B-12: the document's spelling counts; an object's fields are not parameters by themselves."""
    for query, param in (
        *(
            ("x=1", "x"),
            ("X", "X"),
            ("Page=1", "Page"),
            ("page%20=1", "page "),
            ("page[]=1", "page[]"),
        ),
        *(
            ("%FF=1", "\ufffd"),
            ("%00=1", "\x00"),
            ("id=x", "id"),
            ("app=demo", "app"),
            ("livemode=true", "livemode"),
        ),
    ):
        error = sandbox.api.rejected("GET", f"/customers/?{query}", 422, "INVALID_FILTER_PARAM")
        assert (error["param"], [*error["errors"]]) == (param, [param])
    error = sandbox.api.rejected(
        "GET", "/customers/?page=0&page_size=101&x=1", 422, "INVALID_FILTER_PARAM"
    )
    assert [*error["errors"]] == ["page", "page_size", "x"]
