"""The skill that ``agent setup`` writes, and the guide as text; the skill's samples are run as those of every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contract_tests.quality.docs.pages import GUIDE, SKILL, samples
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from emulator.cli.agent import BEGIN, END
from emulator.cli.main import run

LINES = 150
"""The most lines of a skill."""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def setup(*options: str) -> Path:
    run(["agent", "setup", *options])
    return Path(".agents/skills/payments-emulator/SKILL.md")


def test_a_project_gets_a_skill_and_a_pointer_to_it(tmp_path: Path) -> None:
    text = setup().read_text("utf-8")
    assert re.match(r"---\nname: payments-emulator\ndescription: .+\n---\n", text)
    assert len(text.splitlines()) <= LINES
    assert SKILL.read_text("utf-8").strip() in text
    assert ".agents/skills/payments-emulator/SKILL.md" in (tmp_path / "AGENTS.md").read_text("utf-8")
    setup("--skills", "docs/skills")
    assert (tmp_path / "docs/skills/payments-emulator/SKILL.md").is_file()


def test_what_the_user_wrote_stays(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# Shop\n\nUse tabs.\n", "utf-8")
    skill = setup()
    first = (tmp_path / "AGENTS.md").read_text("utf-8")
    assert first.startswith("# Shop\n\nUse tabs.\n\n" + BEGIN)
    old = re.sub(f"{BEGIN}.*{END}", f"{BEGIN}\nold\n{END}", first, flags=re.S)
    (tmp_path / "AGENTS.md").write_text(f"{old}\nLast word.\n", "utf-8")
    skill.write_text(f"{skill.read_text('utf-8')}\nOur own rule.\n", "utf-8")
    setup()
    assert (tmp_path / "AGENTS.md").read_text("utf-8") == f"{first}\nLast word.\n"
    assert skill.read_text("utf-8").endswith("\nOur own rule.\n")
    assert skill.read_text("utf-8").count(BEGIN) == 1


def test_the_skill_has_no_sample_that_is_not_run() -> None:
    found = list(samples(SKILL))
    assert len(found) >= 6
    assert [each.line for each in found if each.reason or each.language not in ("sh", "python")] == []


def test_every_page_of_the_guide_is_served_as_markdown(server: RunningServer) -> None:
    with http_client(base_url=server.url) as client:
        listed = re.findall(r"\((/docs/guide/\w[\w-]*\.md)\)", client.get("/llms.txt").text)
        files = {f"/docs/guide/{each.name}": each for each in (*GUIDE.glob("*.md"), SKILL)}
        assert set(listed) == set(files)
        for path, file in files.items():
            answer = client.get(path)
            assert answer.text == file.read_text("utf-8")
            assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        for path in ("nothing.md", "%2e%2e/mkdocs.md", "..%2fREADME.md", "%00.md"):
            assert client.get(f"/docs/guide/{path}").json()["code"] == "NOT_FOUND"
