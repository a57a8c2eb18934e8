"""``compare service`` names a service's deviations only; a profile makes the emulator follow."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result

from contract_tests.support.client import http_client
from contract_tests.support.sandbox import RunningServer
from contract_tests.surfaces.checks.service.second import (
    KEY,
    KNOWN,
    MOST,
    NOTHING,
    Calibration,
    VirtualTime,
    drawn,
    named,
    serving,
)
from emulator.checks.service.service import Service
from emulator.checks.service.verdicts import CalibrationReport, Verdict, profile_of
from emulator.cli.main import cli
from emulator.document.probes import collected
from emulator.document.profile import Profile, Refuted, load, save
from emulator.engine.reference_data import named_assumptions, numbered_assumptions
from emulator.resources.app.settings import Settings


@pytest.fixture(scope="module")
def itself() -> Iterator[RunningServer]:
    with serving(NOTHING) as server:
        yield server


def names(report: CalibrationReport, kind: Any) -> set[str]:
    return {verdict.probe for verdict in report.of(kind)}


def speaking(server: RunningServer, place: str) -> httpx.Client:
    return http_client(base_url=f"{server.url}/{place}", headers={"Authorization": f"Bearer {KEY}"})


def test_each_assumption_has_a_probe_with_each_of_its_values_or_a_cause() -> None:
    """Together they keep to their budget; their files are read once, while nobody waits."""
    assert collected() is KNOWN
    probes, numbered, known = KNOWN.probes, numbered_assumptions(), named_assumptions()
    numbers = {probe.number for probe in probes.values()}
    assert numbers | KNOWN.unknowable.keys() == numbered.keys()
    assert numbers & KNOWN.unknowable.keys() == set()
    assert len(numbers) >= 60
    assert KNOWN.budget(probes) <= MOST
    outcomes = [
        (probe, outcome)
        for probe in probes.values()
        for outcome in (probe.confirms, *probe.otherwise)
    ]
    assumed = {
        (name, value) for _, outcome in outcomes for name, value in outcome.assumptions.items()
    }
    assert assumed == {
        (name, value) for name, assumption in known.items() for value in assumption.values
    }
    for probe, outcome in outcomes:
        assert outcome.settings.keys() <= set(Settings.__struct_fields__), probe
        assert outcome.assumptions.keys() <= set(numbered[probe.number].names), probe


def test_no_step_of_a_probe_has_the_name_of_a_shared_object() -> None:
    for name, probe in KNOWN.probes.items():
        assert not {step.name for step in probe.steps} & KNOWN.objects.keys(), name


def test_each_reference_of_a_probe_leads_to_a_step_or_an_object() -> None:
    for name, probe in KNOWN.probes.items():
        steps = {step.name for step in probe.steps}
        assert probe.roots() <= {"word", "receiver", "value"} | KNOWN.objects.keys() | steps, name


def test_no_step_of_a_probe_erases_the_data() -> None:
    for name, probe in KNOWN.probes.items():
        assert not any("/reset" in step.do for step in probe.steps), name


REMOVED = (
    "/customers/",
    "/webhooks/",
    "/security-profiles/",
    "/payment-links/",
    "/products/?active=true",
)
"""Lists of what is deleted, or archived, after a calibration."""


def left(server: RunningServer) -> dict[str, int]:
    with speaking(server, "v1") as http:
        return {path: http.get(path).json()["pagination"]["count"] for path in REMOVED}


def test_against_itself_nothing_differs_in_any_order(itself: RunningServer) -> None:
    order = random.Random(5).sample([*KNOWN.probes], len(KNOWN.probes))
    for chosen in (None, order):
        report = Calibration(itself.url, VirtualTime()).run(chosen)
        assert names(report, "differs") | names(report, "not_answered") == set()
        answerable = {
            name for name, probe in KNOWN.probes.items() if not {*probe.needs} & {"buyer", "time"}
        }
        assert names(report, "confirmed") == answerable
        assert report.requests <= MOST
    assert left(itself) == dict.fromkeys(REMOVED, 0)
    for name in sorted(answerable)[::11]:
        report = Calibration(itself.url, VirtualTime()).run([name])
        assert names(report, "confirmed") == {name}, report.verdicts


def settings(server: RunningServer) -> Any:
    with speaking(server, "_emulator") as http:
        return http.get("/app").json()["settings"]


@pytest.mark.breaks_the_document
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 7))]
)
def test_it_names_exactly_what_is_different(seed: int) -> None:
    """Behind a front with two requests a second, a twentieth failing. The profile has the same."""
    draw, time = drawn(seed), VirtualTime()
    with serving(draw, time, seed) as server:
        report = Calibration(server.url, time).run()
        wanted = settings(server)
    assert named(report) == (draw.switched, draw.noticed_by)
    assert report.requests <= MOST
    assert all(difference.evidence for difference in report.of("differs"))
    with serving(NOTHING, profile=profile_of(KNOWN, report, len(KNOWN.probes))) as following:
        assert settings(following) == wanted


def test_an_interrupted_run_leaves_nothing(itself: RunningServer) -> None:
    def interrupt(verdict: Verdict) -> None:
        if verdict.probe == chosen[40]:
            raise KeyboardInterrupt

    chosen = [name for name, probe in KNOWN.probes.items() if not probe.needs]
    with pytest.raises(KeyboardInterrupt):
        Calibration(itself.url, VirtualTime()).run(chosen, after=interrupt)
    assert left(itself) == dict.fromkeys(REMOVED, 0)


def test_the_rate_is_the_most_requests_a_second() -> None:
    time = VirtualTime()
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json={"at": time.clock()}))
    http = httpx.Client(base_url="http://shop", transport=transport)
    service = Service(http, KEY, 2, 9, clock=time.clock, sleep=time.sleep)
    sent = [service.send("GET", "/customers/", None, None, {})["at"] for _ in range(5)]
    assert sent == [0, 0.5, 1, 1.5, 2]


@pytest.mark.parametrize("value", ["made", "none"])
def test_a_probe_waits_for_the_buyer(value: str) -> None:
    with serving(NOTHING._replace(switched={"anonymous_customer": value})) as server:

        def pay(text: str) -> None:
            session = text.partition("/checkout/")[2].split(" ")[0]
            method = {"type": "mobile_money", "phone": "+24177123456"}
            with speaking(server, "_emulator") as http:
                http.post(
                    f"/checkout-sessions/{session}/pay", json={"method": method}
                ).raise_for_status()

        report = Calibration(server.url, VirtualTime()).run(["anonymous-customer"], buyer=pay)
    assert report.verdicts[0].assumptions == {"anonymous_customer": value}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["compare", *map(str, arguments)], standalone_mode=False)


def test_the_command_writes_a_profile(itself: RunningServer, tmp_path: Path) -> None:
    profile, only = tmp_path / "profile.yaml", ("--only", "B-13", "--only", "B-16")
    ended = run("service", itself.url, "--key", KEY, "--rate", "1000", *only, "--out", profile)
    assert ended.exit_code == 0, ended.output
    assert "2 of 2 probes, at most" in ended.output
    assert "2 confirmed, 0 differs" in ended.output
    assert "unknown_fields: reject" in profile.read_text("utf-8")


def test_the_report_is_json_without_secrets(itself: RunningServer) -> None:
    """Days pass by the server's clock, so only the probes that need a buyer are left out."""
    options = ("--rate", "1000", "--json", "--receiver", "local", "--max-requests", "300")
    ended = run("service", itself.url, "--key", KEY, *options)
    report = json.loads(ended.stdout)
    assert report["differs"] == report["not_answered"] == []
    assert {row["probe"] for row in report["not_asked"]} == {
        name for name, probe in KNOWN.probes.items() if "buyer" in probe.needs
    }
    row = next(
        confirmation
        for confirmation in report["confirmed"]
        if confirmation["assumption"] == "unknown_fields"
    )
    assert (row["number"], row["value"]) == ("B-13", "reject")
    assert row["evidence"][0]["request_id"].startswith("req_")
    text = ended.stdout.replace("whsec_****", "")
    assert [secret for secret in (KEY, "whsec_", "4000000000000077") if secret in text] == []


NOWHERE = ("service", "http://127.0.0.1:1", "--key")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*NOWHERE, "sk_prod_x"), "test App"),
        ((*NOWHERE, " sk_prod_x"), "test App"),
        (("service", "http://SK_PROD_x@127.0.0.1:1", "--key", "sk_test_x"), "test App"),
        (("service", "127.0.0.1:1", "--key", "sk_test_x"), "is not an http:// or https:// URL"),
        ((*NOWHERE, "sk_test_x", "--only", "B-07"), "would erase the data"),
        ((*NOWHERE, "sk_test_x", "--only", "B-00"), "is not an assumption"),
        ((*NOWHERE, "sk_test_x"), "http://127.0.0.1:1 cannot be reached: "),
    ],
)
def test_wrong_usage_is_explained(arguments: tuple[str, ...], message: str) -> None:
    assert message in str(run(*arguments).exception)


OLD = Profile(
    service="https://sandbox.example.com",
    date="2026-01-02",
    of=78,
    settings={"tax_rate": 18},
    assumptions={"unknown_fields": "ignore", "search_nothing_found": "error"},
    confirmed=["B-13", "B-30"],
    refuted=[
        Refuted(
            number="B-12", probe="unknown-filter", asked="Which code?", observed={"it.http": 400}
        )
    ],
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


def test_every_surface_says_what_is_confirmed(profile: Path) -> None:
    with (
        serving(NOTHING, profile=load(profile)) as server,
        http_client(base_url=server.url) as http,
    ):
        document, plain = http.get("/openapi.json").json(), http.get("/docs/assumptions").text
        english, french = (
            http.get(f"/_emulator/console/assumptions?lang={language}").text
            for language in ("en", "fr")
        )
    marks = list(_marks(document))
    assert all("B-30" not in str(mark.get("x-assumption", "")) for mark in marks)
    assert {mark["x-confirmed"] for mark in marks if "x-confirmed" in mark} == {"2026-01-02"}
    assert any(mark.get("x-refuted") == ["B-12"] for mark in marks)
    for text in (plain, english):
        assert "2 of 78 assumptions confirmed at https://sandbox.example.com on 2026-01-02" in text
    assert "2 hypothèses sur 78 confirmées par https://sandbox.example.com le 2026-01-02." in french


def test_a_drift_ends_the_command_with_status_1(profile: Path, tmp_path: Path) -> None:
    first = tmp_path / "now.yaml"
    with serving(NOTHING) as server:
        arguments = [
            "compare",
            "service",
            server.url,
            "--key",
            KEY,
            "--rate",
            "1000",
            "--only",
            "B-13",
        ]
        ended = [
            CliRunner().invoke(cli, [*arguments, option, str(file)], standalone_mode=False)
            for option, file in (("--out", first), ("--against", first), ("--against", profile))
        ]
    assert [thread.return_value for thread in ended] == [0, 0, 1]
    assert "assumptions.unknown_fields: is 'reject', was 'ignore'" in ended[2].output


@pytest.mark.parametrize(
    ("text", "message"),
    [("[", "is no profile"), ("{service: a}", "is no profile"), (None, "cannot be read")],
)
def test_a_file_that_is_no_profile_is_explained(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "wrong.yaml"
    if text is not None:
        file.write_text(text)
    ended = CliRunner().invoke(cli, ["serve", "--profile", str(file)], standalone_mode=False)
    assert message in str(ended.exception)
