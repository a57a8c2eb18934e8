"""The probes as data: each decision has one or a cause, and together they keep to their budget."""

from __future__ import annotations

from emulator.document.probes import collected
from emulator.engine.decisions import decisions
from emulator.engine.readings import readings
from emulator.resources.app.settings import Settings

KNOWN = collected()


def test_their_files_are_read_once() -> None:
    """The page of decisions shows all of them, and no other request waits while files are parsed."""
    assert collected() is KNOWN


def test_each_decision_has_a_probe_or_a_cause() -> None:
    asked = {probe.decision for probe in KNOWN.probes.values()}
    assert asked | KNOWN.unknowable.keys() == decisions().keys()
    assert asked & KNOWN.unknowable.keys() == set()
    assert len(asked) >= 60


def test_all_probes_together_keep_to_the_budget() -> None:
    assert KNOWN.budget(KNOWN.probes) <= 250


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


def test_outcomes_name_readings_and_settings_of_their_decision() -> None:
    numbered, known = decisions(), readings()
    for name, probe in KNOWN.probes.items():
        for outcome in (probe.confirms, *probe.otherwise):
            assert outcome.settings.keys() <= set(Settings.__struct_fields__), name
            for reading, value in outcome.readings.items():
                assert value in known[reading].values, name
                assert reading in numbered[probe.decision].readings, name


def test_each_reading_is_asked_for_with_each_value() -> None:
    outcomes = [each for probe in KNOWN.probes.values() for each in (probe.confirms, *probe.otherwise)]
    asked = {(name, value) for outcome in outcomes for name, value in outcome.readings.items()}
    assert asked == {(name, value) for name, reading in readings().items() for value in reading.values}


def test_no_probe_erases_the_data_of_the_app() -> None:
    assert [name for name, probe in KNOWN.probes.items() if any("/reset" in step.do for step in probe.steps)] == []
