"""The benchmarks' machinery runs, in its smallest size; no time is judged."""

from __future__ import annotations

import re

import pytest

from contract_tests.quality.benchmarks import __main__ as command
from contract_tests.quality.benchmarks import profile
from contract_tests.quality.benchmarks.measures import Row, Size, beside, of_runs

TINY = Size(
    starts=1,
    rounds=1,
    requests=20,
    few=20,
    customers=20,
    subscriptions=(2,),
    worlds=4,
)


@pytest.mark.long
def test_every_measure_gives_its_figures() -> None:
    # The room of an installation takes packages from the index and minutes, whatever the size, and wrk takes seconds.
    left_out = ("room", "states", "servers")
    rows = list(command.rows([name for name in command.MEASURES if name not in left_out], TINY))
    assert [row.measure for row in rows if row.unit in ("/s", "KiB", "MiB")] == [
        "memory at start",
        "memory per customer",
        *(f"{name}: rate" for name in ("GET one", "list 20", "create")),
        "2 subscriptions, 12 months: renewals",
        "2 subscriptions, 12 months: each renewal",
        "4 worlds of tests: memory left, each",
    ]
    assert all(row.emulator > 0 for row in rows if row.unit not in ("KiB", "%", ""))


def test_the_table_has_a_line_for_each_row_with_its_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    list(command.show([beside("start", "ms", [100, 90], [240, 261], "≤ 3 ×"), Row("peak", "MiB", None, 1234.5, None)]))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["unit", "bare", "emulator", "ratio", "aim"],
        ["start", "ms", "95.00", "250", "2.65", "≤", "3", "×"],
        ["peak", "MiB", "–", "1,234", "–"],
    ]


def test_several_runs_are_one_table_of_medians_with_their_spread() -> None:
    runs = [[beside("GET", "/s", [100], [figure]), Row("peak", "MiB", None, figure, None)] for figure in (60, 90, 70)]
    rated, peak = of_runs(runs)
    assert (rated.bare, rated.emulator, rated.ratio, rated.spread) == (100, 70, 0.7, (0.6, 0.9))
    assert (peak.bare, peak.emulator, peak.spread) == (None, 70, (60, 90))
    page = command.page([rated, peak], command.Run(3, 1))
    assert "| GET one | bare |" in page
    assert "| GET | /s | 100 | 70.00 | 0.70 (0.60 to 0.90) |  |  |" in page
    assert "| peak | MiB | – | 70.00 (60.00 to 90.00) | – |  |  |" in page


def test_the_profile_counts_the_same_instructions_each_time() -> None:
    first, second = profile.profiles(), profile.profiles()
    whole = {(each.of, each.server): sum(each.parts.values()) for each in first}
    # Ids are computed by the page, so that some draws take more.
    assert whole == pytest.approx({(each.of, each.server): sum(each.parts.values()) for each in second}, rel=0.02)
    assert whole["GET one", "bare"] < whole["GET one", "emulator"]


def test_the_page_says_how_long_it_was_measured_and_what_limits_a_figure() -> None:
    page = command.page([beside("list 20: rate", "ms", [100], [200], "≤ 2 ×")], command.Run(1, 2.4))
    assert "| list 20: rate | ms | 100 | 200 | 2.00 | ≤ 2 × | JSON; else as a GET |" in page
    assert "measured in\n2 minutes" in page


def measured_once(page: str) -> str:
    """Return a page without its table of instructions, which is counted each time, and is one more or fewer by chance."""
    return re.sub(r"## Instructions.*", "", page, flags=re.DOTALL)


def test_what_is_not_measured_again_stays_on_the_page() -> None:
    first = command.page(
        [beside("start", "ms", [100], [200]), Row("peak", "MiB", None, 7, None)],
        command.Run(3, 45),
    )
    faster, new = beside("start", "ms", [100], [150]), Row("new", "ms", None, 1, None)
    again = command.page([faster, new], command.Run(1, 2), first)
    peak = "| peak | MiB | – | 7.00 | – |  |  |\n"
    assert peak in first
    expected = first.replace("| 200 | 2.00 |", "| 150 | 1.50 |").replace(
        peak, f"{peak}| new | ms | – | 1.00 | – |  |  |\n"
    )
    assert measured_once(again) == measured_once(expected)
