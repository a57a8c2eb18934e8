"""The probes as data: each assumption has one or a cause, and together they keep to their budget."""

from __future__ import annotations

from emulator.document.probes import collected
from emulator.engine.reference_data import named_assumptions, numbered_assumptions
from emulator.resources.app.settings import Settings

KNOWN = collected()


def test_their_files_are_read_once() -> None:
    """The page of assumptions shows all of them, and no other request waits while files are parsed."""
    assert collected() is KNOWN


def test_each_assumption_has_a_probe_or_a_cause() -> None:
    asked = {probe.number for probe in KNOWN.probes.values()}
    assert asked | KNOWN.unknowable.keys() == numbered_assumptions().keys()
    assert asked & KNOWN.unknowable.keys() == set()
    assert len(asked) >= 60


def test_all_probes_together_keep_to_the_budget() -> None:
    assert KNOWN.budget(KNOWN.probes) <= 260


def test_no_step_has_the_name_of_a_shared_object() -> None:
    shadowed = [(name, step.name) for name, probe in KNOWN.probes.items() for step in probe.steps]
    assert [each for each in shadowed if each[1] in KNOWN.objects] == []


def test_each_reference_leads_to_a_step_or_an_object() -> None:
    special = {"word", "receiver", "value"}
    unknown = {
        name: roots
        for name, probe in KNOWN.probes.items()
        if (roots := probe.roots() - special - KNOWN.objects.keys() - {step.name for step in probe.steps})
    }
    assert unknown == {}


def test_outcomes_name_assumptions_and_settings_of_their_assumption() -> None:
    numbered, known = numbered_assumptions(), named_assumptions()
    for name, probe in KNOWN.probes.items():
        for outcome in (probe.confirms, *probe.otherwise):
            assert outcome.settings.keys() <= set(Settings.__struct_fields__), name
            for assumption, value in outcome.assumptions.items():
                assert value in known[assumption].values, name
                assert assumption in numbered[probe.number].names, name


def test_each_assumption_is_asked_for_with_each_value() -> None:
    outcomes = [each for probe in KNOWN.probes.values() for each in (probe.confirms, *probe.otherwise)]
    asked = {(name, value) for outcome in outcomes for name, value in outcome.assumptions.items()}
    assert asked == {(name, value) for name, assumption in named_assumptions().items() for value in assumption.values}


def test_no_probe_erases_the_data_of_the_app() -> None:
    assert [name for name, probe in KNOWN.probes.items() if any("/reset" in step.do for step in probe.steps)] == []
