"""Hypothesis strategies: valid and invalid bodies of every operation, from the OpenAPI document (extra ``strategies``).

A server never loads this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

if not find_spec("hypothesis"):
    raise ModuleNotFoundError("this needs the extra 'strategies': pip install 'payments-emulator[strategies]'")

from hypothesis import strategies as st

from emulator.strategies.body_forms import BodyForm, forms, overrides
from emulator.strategies.body_operations import OPERATIONS, BodyOperation
from emulator.strategies.business_rules import RULES
from emulator.strategies.schema_values import values
from emulator.strategies.violations import broken, without

__all__ = ["OPERATIONS", "BodyOperation", "BrokenRule", "GeneratedBody", "bodies", "invalid", "valid", "violations"]

References = Mapping[str, str]


class BrokenRule(NamedTuple):
    """``field`` as an error names it: ``line_items.0.quantity``; ``rule`` is a keyword of the schema, or a decision."""

    field: str
    rule: str


class GeneratedBody(NamedTuple):
    """A generated body of an operation (by operationId); ``violation`` is None for a valid one."""

    operation: str
    value: dict[str, Any]
    violation: BrokenRule | None


def valid(operation: str, **references: str) -> st.SearchStrategy[GeneratedBody]:
    """Bodies that an operation accepts, by operationId.

    ``references`` are ids of existing objects by the field that names them: ``valid("createRefund",
    transaction="trans_…")``. Optional fields that name an object are left out where no id is given; products and plans
    must be in XAF. Dates lie between 2090 and 2098. The App has the default settings.

    Raises ``ValueError`` for an unknown operation, and for a reference that is required and missing.
    """
    spec = _operation(operation)
    every = [_objects(spec, form, references) for form in _possible(spec, references)]
    return st.one_of(every).map(lambda value: GeneratedBody(operation, value, None))


def invalid(operation: str, **references: str) -> st.SearchStrategy[GeneratedBody]:
    """Bodies that an operation rejects; ``body.violation`` says which field breaks which rule.

    The references are as for :func:`valid`.
    """
    labelled = _labelled(_operation(operation), references)
    return st.one_of([st.builds(GeneratedBody, st.just(operation), wrong, st.just(label)) for label, wrong in labelled])


def bodies(operation: str, **references: str) -> st.SearchStrategy[GeneratedBody]:
    """Valid and invalid bodies of an operation, about as many of each."""
    choice = {True: valid(operation, **references), False: invalid(operation, **references)}
    return st.booleans().flatmap(lambda is_valid: choice[is_valid])


def violations(operation: str, **references: str) -> list[BrokenRule]:
    """Every violation that :func:`invalid` generates."""
    return [label for label, _ in _labelled(_operation(operation), references)]


def _operation(name: str) -> BodyOperation:
    if name not in OPERATIONS:
        raise ValueError(f"{name} is no operation with a body; those are {', '.join(OPERATIONS)}")
    return OPERATIONS[name]


def _possible(spec: BodyOperation, references: References) -> list[BodyForm]:
    """The forms of a body for which every required reference is given."""
    every = forms(spec)
    found = [form for form in every if not form.missing(references)]
    if not found:
        missing = min((form.missing(references) for form in every), key=len)
        raise ValueError(f"{spec.name} needs the id of an existing object for {', '.join(missing)}")
    return found


def _objects(
    spec: BodyOperation, form: BodyForm, references: References, *forced: str
) -> st.SearchStrategy[dict[str, Any]]:
    """Bodies of one form, which always have the ``forced`` fields."""
    valid_values = overrides(spec, form, references)
    fields = {name: values(spec.schema["properties"][name], valid_values, name) for name in form.fields(references)}
    required = {name: fields.pop(name) for name in dict.fromkeys((*form.required, *forced))}
    return st.fixed_dictionaries(required, optional=fields)


Labelled = tuple[BrokenRule, st.SearchStrategy[dict[str, Any]]]


def _labelled(spec: BodyOperation, references: References) -> Iterator[Labelled]:
    """Each violation, and bodies that have it."""
    possible = _possible(spec, references)
    any_form = st.one_of([_objects(spec, form, references) for form in possible])
    unknown = any_form.map(lambda body: {**body, "unknown_field": 1})
    yield BrokenRule("unknown_field", "additionalProperties"), unknown
    for name in spec.schema.get("required", ()):
        yield BrokenRule(name, "required"), any_form.map(partial(without, name))
    for form in possible:
        for name in form.fields(references):
            yield from _of_field(spec, form, references, name)


def _of_field(spec: BodyOperation, form: BodyForm, references: References, name: str) -> Iterator[Labelled]:
    """The violations of one field in the bodies of one form."""
    whole = _objects(spec, form, references, name)
    for each in broken(spec.schema["properties"][name], overrides(spec, form, references), name):
        yield BrokenRule(".".join((name, *each.path)), each.rule), _with(whole, name, each.values)
    for rule in RULES.get(spec.name, ()):
        if rule.field == name:
            yield BrokenRule(name, rule.decision), _with(whole, name, rule.values)


def _with(
    whole: st.SearchStrategy[dict[str, Any]], name: str, wrong: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda body, value: {**body, name: value}, whole, wrong)
