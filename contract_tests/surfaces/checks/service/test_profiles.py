"""A profile makes the emulator behave as the service that was calibrated, and says what is known of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from contract_tests.support.client import http_client
from contract_tests.surfaces.checks.service.second import KEY, NOTHING, serving
from emulator.cli.main import cli
from emulator.document.profile import Profile, Refuted, load, save

OLD = Profile(
    service="https://sandbox.example.com",
    date="2026-01-02",
    of=78,
    settings={"tax_rate": 18},
    assumptions={"unknown_fields": "ignore", "search_nothing_found": "error"},
    confirmed=["B-13", "B-30"],
    refuted=[Refuted(number="B-12", probe="unknown-filter", asked="Which code?", observed={"it.http": 400})],
)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    file = tmp_path / "profile.yaml"
    save(OLD, file)
    assert load(file) == OLD
    return file


def _marks(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        if node.keys() & {"x-assumption", "x-confirmed"}:
            yield node
        node = [*node.values()]
    if isinstance(node, list):
        for part in node:
            yield from _marks(part)


def test_the_document_and_the_console_say_what_is_confirmed(profile: Path) -> None:
    with serving(NOTHING, profile=load(profile)) as server, http_client(base_url=server.url) as http:
        document, plain = http.get("/openapi.json").json(), http.get("/docs/assumptions").text
        english, french = (http.get(f"/_emulator/console/assumptions?lang={each}").text for each in ("en", "fr"))
    marks = list(_marks(document))
    assert all("B-30" not in str(each.get("x-assumption", "")) for each in marks)
    assert {each["x-confirmed"] for each in marks if "x-confirmed" in each} == {"2026-01-02"}
    assert any(each.get("x-refuted") == ["B-12"] for each in marks)
    for text in (plain, english):
        assert "2 of 78 assumptions confirmed at https://sandbox.example.com on 2026-01-02" in text
    assert "2 hypothèses sur 78 confirmées par https://sandbox.example.com le 2026-01-02." in french


def test_a_drift_ends_the_command_with_status_1(profile: Path, tmp_path: Path) -> None:
    first = tmp_path / "now.yaml"
    with serving(NOTHING) as server:
        arguments = ["compare", "service", server.url, "--key", KEY, "--rate", "1000", "--only", "B-13"]
        ended = [
            CliRunner().invoke(cli, [*arguments, option, str(file)], standalone_mode=False)
            for option, file in (("--out", first), ("--against", first), ("--against", profile))
        ]
    assert [each.return_value for each in ended] == [0, 0, 1]
    assert "assumptions.unknown_fields: is 'reject', was 'ignore'" in ended[2].output


@pytest.mark.parametrize(
    ("text", "message"), [("[", "is no profile"), ("{service: a}", "is no profile"), (None, "cannot be read")]
)
def test_a_file_that_is_no_profile_is_explained(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "wrong.yaml"
    if text is not None:
        file.write_text(text)
    ended = CliRunner().invoke(cli, ["serve", "--profile", str(file)], standalone_mode=False)
    assert message in str(ended.exception)
