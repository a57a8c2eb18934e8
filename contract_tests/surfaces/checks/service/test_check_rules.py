"""``check --rules``: a check of any server that also asks which assumptions hold there, with its clock if it has one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from contract_tests.surfaces.checks.service.second import KEY, KNOWN, NOTHING, serving
from contract_tests.surfaces.cli.test_check import SMALL
from emulator.cli import document as module
from emulator.cli.main import cli
from emulator.document.profile import Profile, save


@pytest.mark.breaks_the_document
def test_the_report_has_the_rules_and_fails_where_they_are_not_as_a_profile_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days pass by the clock that the server offers, so only probes that need a buyer are not asked."""
    profile, junit = tmp_path / "profile.yaml", tmp_path / "report.xml"
    expected = {"unknown_fields": "ignore", "search_nothing_found": "empty"}
    save(Profile(service="https://sandbox.example.com", date="2026-01-02", of=78, assumptions=expected), profile)
    with serving(NOTHING._replace(switched={"assumptions.metadata_values": "any"})) as server:
        monkeypatch.setattr(module, "server_and_document", lambda url: (f"{url}/v1", SMALL))
        arguments = [
            "compare",
            "document",
            server.url,
            "--key",
            KEY,
            "--examples",
            "1",
            "--rules",
            "--against",
            str(profile),
        ]
        ended = CliRunner().invoke(cli, [*arguments, "--json", "--junit", str(junit)], standalone_mode=False)
    assert ended.return_value == 1, ended.output
    report: Any = json.loads(ended.stdout)
    assert {row["probe"] for row in report["rules"]["not_asked"]} == {
        name for name, probe in KNOWN.probes.items() if "buyer" in probe.needs
    }
    assert {(row["assumption"], row["value"]) for row in report["rules"]["differs"]} == {("metadata_values", "any")}
    assert "renewal" in {row["probe"] for row in report["rules"]["confirmed"]}
    assert "assumptions.unknown_fields: is 'reject', was 'ignore'" in report["drift"]
    failures = [case for case in ElementTree.parse(junit).getroot() if case.get("name", "").startswith("the rules: ")]
    assert [len(case) for case in failures] == [len(report["drift"])]


def test_a_profile_without_the_rules_is_wrong_usage(tmp_path: Path) -> None:
    ended = CliRunner().invoke(
        cli, ["compare", "document", "--against", str(tmp_path / "profile.yaml")], standalone_mode=False
    )
    assert "add --rules" in str(ended.exception)
