"""The gate on instructions: which counts it lets pass, and what it writes."""

from __future__ import annotations

import pytest

from contract_tests.quality.benchmarks.instructions import (
    BEGIN,
    END,
    PAGE,
    Figure,
    faults,
    known,
    written,
)

COUNTS = [Figure("GET one", 225_000, 285_000), Figure("create", 268_000, 650_000)]


def test_the_written_table_is_the_one_that_is_read() -> None:
    page = written(f"Before.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n", COUNTS)
    assert page.startswith("Before.\n\n")
    assert page.endswith("\n\nAfter.\n")
    assert known(page) == {figure.measure: round(figure.ratio, 3) for figure in COUNTS}


@pytest.mark.parametrize("factor", [0.985, 1.0, 1.015])
def test_a_change_of_less_than_two_percent_passes(factor: float) -> None:
    ratios = {figure.measure: figure.ratio * factor for figure in COUNTS}
    assert list(faults(COUNTS, ratios)) == []


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_change_of_more_than_two_percent_fails_in_either_direction(factor: float) -> None:
    ratios = {figure.measure: figure.ratio for figure in COUNTS} | {
        "create": COUNTS[1].ratio * factor
    }
    [fault] = faults(COUNTS, ratios)
    assert fault.startswith("create: 2.425 instead of")


def test_a_figure_that_only_one_of_them_has_fails() -> None:
    ratios = {"GET one": COUNTS[0].ratio, "gone": 1.0}
    assert sorted(faults(COUNTS, ratios)) == [
        "create: the page has no such row.",
        "gone: not counted any more.",
    ]


def test_a_ratio_above_its_aim_fails_even_if_the_page_has_it() -> None:
    figure = Figure("create, a line printed", 268_000, 700_000)
    [fault] = faults([figure], {figure.measure: figure.ratio})
    assert fault == "create, a line printed: 2.612, above its aim."


def test_the_page_of_figures_has_counts() -> None:
    assert len(known(PAGE.read_text("utf-8"))) >= 8
