"""The assistants' part: the MCP server with the official client, the skill, the guide as text."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from contract_tests.quality.docs.pages import GUIDE, SKILL, samples
from contract_tests.support.client import http_client
from contract_tests.support.sandbox import FAILING_PHONE, RunningServer, Sandbox
from contract_tests.surfaces.cli.terminal import COMMAND, run
from emulator.cli.agent import BEGIN, END
from emulator.cli.control_client import ControlClient

if TYPE_CHECKING:
    from mcp import Client

TOKENS = 2500
"""What the descriptions and schemas of all tools may cost, at four characters to a token."""


def session(
    sandbox: Sandbox, story: Callable[[Client], Awaitable[None]], *, by_command: bool = False
) -> None:
    """Act as a client of a server for a sandbox's App: in this process, or started by command."""
    # Imported here, not at the collection: it takes seconds.
    from mcp import Client, StdioServerParameters

    from emulator.cli.mcp_server import server

    arguments = [*COMMAND[1:], "mcp", "--url", sandbox.url, "--key", sandbox.key]
    command = StdioServerParameters(command=sys.executable, args=arguments)

    async def connected(emulator: ControlClient) -> None:
        async with Client(command if by_command else server(emulator)) as client:
            await story(client)

    with ControlClient(sandbox.url, sandbox.key) as emulator:
        asyncio.run(connected(emulator))


async def used(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert not result.is_error, content
    return str(content.text)  # type: ignore[union-attr]  # all are texts


def test_from_why_is_it_past_due_to_active_in_six_calls(sandbox: Sandbox) -> None:
    """Each call uses only what the calls before it said."""
    subscription = sandbox.subscribe(phone="+24177000000")
    method = sandbox.method(
        {"id": subscription["customer"]}, type="mobile_money", phone=FAILING_PHONE
    )
    sandbox.api.patch(f"/subscriptions/{subscription['id']}/", {"payment_method": method["id"]})
    sandbox.advance("31d")
    id = subscription["id"]
    assert sandbox.subscription(id)["status"] == "past_due"
    summary = sandbox.control.get(f"/explain/{id}")["summary"].replace("\N{NO-BREAK SPACE}", " ")

    async def story(client: Client) -> None:
        why = await used(client, "explain", id=id)
        assert why.startswith(f"{id} is past_due\n{summary}\n")
        assert "INSUFFICIENT_FUNDS" in why
        subscription = json.loads(
            (await used(client, "call", method="GET", path=f"/v1/subscriptions/{id}/")).split("\n")[
                1
            ]
        )
        instrument = {
            "customer": subscription["customer"],
            "type": "mobile_money",
            "phone": "+24177123456",
        }
        added = await used(
            client, "call", method="POST", path="/v1/payment-methods/", body=instrument
        )
        body = {"payment_method": json.loads(added.split("\n")[1])["id"]}
        assert (
            await used(client, "call", method="PATCH", path=f"/v1/subscriptions/{id}/", body=body)
        )[:3] == "200"
        await used(client, "advance", by="invoice.paid")
        assert json.loads(await used(client, "prove"))["passed"]

    session(sandbox, story, by_command=True)
    assert sandbox.subscription(id)["status"] == "active"


def test_eight_tools_cost_few_tokens_and_each_works(sandbox: Sandbox) -> None:
    """So do resources: operations."""
    id = sandbox.subscribe()["id"]

    async def story(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert len(tools) == 8
        assert (
            sum(len(tool.model_dump_json(exclude_none=True, by_alias=True)) for tool in tools) / 4
            <= TOKENS
        )
        assert "201" in await used(
            client,
            "call",
            method="POST",
            path="/v1/customers/",
            body={"email": "a@b.co", "name": "A"},
        )
        assert "POST /v1/customers/" in await used(client, "requests", limit=5)
        await used(client, "snapshot", action="save", name="before")
        assert "subscription.payment_failed" in await used(
            client, "trigger", event="subscription.payment_failed", overrides={"subscription": id}
        )
        fault = {"match": {"operation": "listCustomers"}, "then": {"code": "RATE_LIMIT_EXCEEDED"}}
        await used(client, "arrange", what="fault", values=fault)
        assert "429" in await used(client, "call", method="GET", path="/v1/customers/")
        await used(client, "snapshot", action="restore", name="before")
        assert f"{id} is active" in await used(client, "explain", id=id)
        wrong = await client.call_tool("explain", {"id": "sub_000000000000000000000000"})
        assert wrong.is_error

        async def read(uri: str) -> str:
            # all are texts
            return str((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]

        assert "createRefund: POST /v1/refunds/" in await read("emulator://document")
        assert "$ref" not in await read("emulator://document/createRefund")

    session(sandbox, story)


def test_wrong_arguments_are_explained(sandbox: Sandbox) -> None:
    async def story(client: Client) -> None:
        for tool, arguments, words in (
            (
                "call",
                {"method": "PUT", "path": "/v1/customers/"},
                "'GET', 'POST', 'PATCH' or 'DELETE'",
            ),
            (
                "call",
                {"method": "GET", "path": "/v1/\nX: y"},
                "'/v1/\\nX: y' has control characters",
            ),
            ("advance", {"by": "one month"}, "31d"),
        ):
            result = await client.call_tool(tool, arguments)
            (content,) = result.content
            assert result.is_error
            assert words in content.text  # type: ignore[union-attr]  # all are texts

    session(sandbox, story)


def test_where_no_emulator_runs_it_starts_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only if no URL is given; it is a sandbox like any other."""
    monkeypatch.setattr("emulator.cli.control_client.ControlClient.is_running", lambda _: False)
    answered = []

    def asked(emulator: ControlClient) -> SimpleNamespace:
        return SimpleNamespace(run=lambda _: answered.append(emulator.get("/health")["status"]))

    monkeypatch.setattr("emulator.cli.mcp_server.server", asked)
    ended = run("mcp")
    assert (ended.status, answered) == (0, ["ok"]), ended.errors
    assert "started a sandbox at http://127.0.0.1:" in ended.errors
    assert "No emulator is running at" in run("mcp", "--url", "http://127.0.0.1:1").usage_error
    assert answered == ["ok"]


# -- the skill that ``agent setup`` writes, whose samples are run, and the guide as text


LINES = 150
"""The most lines of a skill."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def setup(*options: str) -> Path:
    assert run("agent", "setup", *options).status == 0
    return Path(".agents/skills/payments-emulator/SKILL.md")


@pytest.mark.usefixtures("project")
def test_a_project_gets_a_skill_that_its_notes_name(tmp_path: Path) -> None:
    text = setup().read_text("utf-8")
    assert re.match(r"---\nname: payments-emulator\ndescription: .+\n---\n", text)
    assert len(text.splitlines()) <= LINES
    assert SKILL.read_text("utf-8").strip() in text
    assert ".agents/skills/payments-emulator/SKILL.md" in (tmp_path / "AGENTS.md").read_text(
        "utf-8"
    )
    setup("--skills", "docs/skills")
    assert (tmp_path / "docs/skills/payments-emulator/SKILL.md").is_file()


@pytest.mark.usefixtures("project")
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
    skill_samples = list(samples(SKILL))
    assert len(skill_samples) >= 6
    assert [
        sample.line
        for sample in skill_samples
        if sample.reason or sample.language not in ("sh", "python")
    ] == []


def test_every_page_of_the_guide_is_served_as_markdown(server: RunningServer) -> None:
    with http_client(base_url=server.url) as client:
        listed = re.findall(r"\((/docs/guide/\w[\w-]*\.md)\)", client.get("/llms.txt").text)
        files = {f"/docs/guide/{page.name}": page for page in (*GUIDE.glob("*.md"), SKILL)}
        assert set(listed) == set(files)
        for path, file in files.items():
            response = client.get(path)
            assert response.text == file.read_text("utf-8")
            assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
        for path in ("nothing.md", "%2e%2e/mkdocs.md", "..%2fREADME.md", "%00.md"):
            assert client.get(f"/docs/guide/{path}").json()["code"] == "NOT_FOUND"
