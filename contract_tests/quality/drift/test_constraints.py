"""Constraints of the service's document ↔ their sources: each one has a source."""

from __future__ import annotations

from fnmatch import fnmatchcase

from contract_tests.quality.drift.constraints import constraints, declared, source_table
from emulator.document import bundles
from emulator.engine.reference_data import numbered_assumptions

LISTED = source_table()


def test_each_constraint_has_a_source() -> None:
    """A new one cites an assumption in the document (x-assumption), or gets its line in sources.yaml."""
    assert [str(each) for each in constraints() if not each.sources] == []


def test_each_line_of_the_table_gives_a_constraint_that_cites_no_assumption() -> None:
    given = {str(each) for each in declared(bundles.load("service")) if not each.sources}
    lines = [line for source in LISTED.values() for line in source]
    assert [line for line in lines if not any(fnmatchcase(each, line) for each in given)] == []
    assert len(lines) == len(set(lines))


def test_each_assumption_among_the_sources_is_one() -> None:
    numbers = {source for each in constraints() for source in each.sources if source.startswith("B-")}
    assert numbers <= numbered_assumptions().keys()


def test_the_constraints_of_a_schema_a_parameter_and_an_answer_are_among_them() -> None:
    known = {str(each) for each in constraints()}
    assert {
        "Product.name maxLength",
        "ProductCreate.images[] format",
        "PageSize maximum",
        "listProducts?ordering enum",
        "createProduct status 201",
        "SubscriptionCreate x-required-unless",
    } <= known
