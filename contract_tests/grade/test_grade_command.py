"""``payments-emulator grade``: a sound suite, one that looks at nothing, and the same bytes for the same commit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from contract_tests.cli.terminal import Ended, run
from contract_tests.testing.test_examples import SHOPS
from contract_tests.testing.test_plugin import PLUGIN

SUITE = (sys.executable, str(Path(__file__).parents[1] / "doubt/suite.py"))
CLIENT = f"{sys.executable} {Path(__file__).parents[1] / 'sweep/client.py'}"


def grade(*arguments: str | Path) -> Ended:
    return run("grade", *map(str, arguments))


def written(folder: Path) -> tuple[list[str], Sequence[Path]]:
    """The options that write every file, and the files."""
    files = [folder / f"grade.{kind}" for kind in ("html", "junit", "sarif", "badge")]
    return [word for file in files for word in (f"--{file.suffix[1:]}", str(file))], files


def test_the_same_commit_gets_the_same_bytes(tmp_path: Path) -> None:
    results = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        options, files = written(folder)
        ended = grade("--sample", "1", "--json", *options, "--story", CLIENT, "--", *SUITE, "amount")
        assert ended.errors == ""
        results.append([ended.output, *(file.read_text("utf-8") for file in files)])
    assert results[0] == results[1]
    exam = json.loads(results[0][0])
    asked = {area["name"]: area["asked"] for area in exam["areas"]}
    assert (asked["sweep"], asked["certify"], asked["doubt"], asked["readings"]) == (1, 0, 1, 1)
    marks = {area["name"]: area["mark"] for area in exam["areas"]}
    assert (marks["sweep"], marks["readings"], marks["coverage"]) == (100, 100, 0)


def test_the_sound_example_shop_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of pytest with the plugin, which uses the servers of the command; one question in each area."""
    monkeypatch.chdir(SHOPS / "python-shop")
    command = (sys.executable, "-m", "pytest", "-q", "-x", *PLUGIN)
    ended = grade("--sample", "1", "--fail-on", "95", "--json", "--", *command)
    assert ended.status == 0, ended.output
    areas = {area["name"]: area for area in json.loads(ended.output)["areas"]}
    assert {name for name, area in areas.items() if area["asked"]} == {"audit", "coverage", "doubt", "readings"}
    assert areas["audit"]["mark"] >= 95
    assert [areas[name]["mark"] for name in ("coverage", "doubt", "readings")] == [100, 100, 100]


def test_a_suite_that_fails_gets_no_mark() -> None:
    ended = grade("--", sys.executable, "-c", "raise SystemExit('2 failed')")
    assert ended.status == 1
    assert "so nothing was asked: exit status 1, 2 failed" in ended.output
