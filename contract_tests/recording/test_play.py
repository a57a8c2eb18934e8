"""``play``: a recording, played again, gives the same answers byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contract_tests.cli.terminal import run
from contract_tests.recording.conftest import Played
from contract_tests.walk.walker import Walker
from emulator.recording.har import read
from emulator.recording.model import Recording
from emulator.recording.player import play
from emulator.testing import Emulator, LocalServer
from emulator.testing.fresh_world import FreshWorld


def har(world: Emulator, file: Path) -> Path:
    answer = world.client.get("/_emulator/recording", params={"as": "har"})
    file.write_text(answer.text, "utf-8")
    return file


@pytest.fixture(params=[0, 1, 3])
def walked(request: pytest.FixtureRequest, local_server: LocalServer) -> Emulator:
    """A world after a random walk."""
    with Emulator(key="sk_test_walked", clock="2026-01-31T00:00:00Z", seed=7, server=local_server) as payments:
        walker = Walker(payments, request.param)
        for _ in range(120):
            assert walker.step() is None
        yield payments


def test_a_walk_is_played_byte_for_byte(walked: Emulator, tmp_path: Path) -> None:
    file = har(walked, tmp_path / "run.har")
    number = len(json.loads(file.read_text("utf-8"))["log"]["entries"])
    assert run("play", str(file)).lines == [
        f"{number} requests played, {number} answers equal byte for byte, 0 differences"
    ]


def test_a_walk_recorded_as_steps_causes_the_same_events(walked: Emulator) -> None:
    recording = msgspec.convert(walked.client.get("/_emulator/recording").json(), Recording)
    events = recording.events or walked.events.types()[-100:]
    with FreshWorld("another", recording.url) as world:
        assert play(msgspec.structs.replace(recording, events=None), world).difference is None
        listed = world.send("GET", "/_emulator/events?page_size=100", {}, None).body["data"]
    assert [event["type"] for event in reversed(listed)] == events


def test_against_another_world_ids_are_mapped(played: Played, local_server: LocalServer, tmp_path: Path) -> None:
    file = har(played.payments, tmp_path / "run.har")
    ended = run("play", str(file), "--url", local_server.url, "--key", "sk_test_elsewhere")
    assert ended.lines[-1].endswith(" 0 differences")


def test_a_difference_is_reported(played: Played, tmp_path: Path) -> None:
    document = json.loads(har(played.payments, tmp_path / "run.har").read_text("utf-8"))
    content = document["log"]["entries"][0]["response"]["content"]
    content["text"] = content["text"].replace('"firstname":"Buyer"', '"firstname":"Awa"')
    (tmp_path / "run.har").write_text(json.dumps(document), "utf-8")
    ended = run("play", str(tmp_path / "run.har"))
    assert ended.status == 1
    assert ended.output.splitlines()[0] == "1. POST /v1/customers/: firstname is 'Buyer' instead of 'Awa'"
    found = json.loads(run("play", "--json", str(tmp_path / "run.har")).output)
    assert (found["field"], found["recorded"], found["played"]) == ("firstname", "Awa", "Buyer")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"log": {"entries": [{}]}}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_har_is_a_mistake(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(content)
    assert str(tmp_path / "it") in run("play", str(tmp_path / "it")).usage_error
    assert "No such file" in run("play", str(tmp_path / "missing")).usage_error


WRONG = (None, 7, "\ud800", "http://[", [], {}, [{}])


def damaged(value: Any) -> Iterator[Any]:
    """A JSON value with each of its parts wrong in each way, one at a time."""
    yield from WRONG
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        for wrong in damaged(part):
            changed = copy(value)
            changed[name] = wrong
            yield changed


def test_a_damaged_har_is_played_or_is_a_mistake(played: Played, tmp_path: Path) -> None:
    document = json.loads(har(played.payments, tmp_path / "run.har").read_text("utf-8"))
    log = document["log"]
    log["entries"] = [next(entry for entry in log["entries"] if "postData" in entry["request"])]
    messages = []
    for changed in damaged(document):
        try:
            read(json.dumps(changed).encode())
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > 50
    assert "\n" not in "".join(messages)


@pytest.mark.parametrize(
    ("field", "wrong"), [("clock", "noon"), ("app", "a b"), ("settings", {"tax": 1}), ("seed", "seven"), ("url", 7)]
)
def test_a_world_that_cannot_start_is_a_mistake(played: Played, tmp_path: Path, field: str, wrong: Any) -> None:
    file = har(played.payments, tmp_path / "run.har")
    document = json.loads(file.read_text("utf-8"))
    document["log"]["_payments_emulator"][field] = wrong
    file.write_text(json.dumps(document), "utf-8")
    run("play", str(file)).usage_error  # noqa: B018  # it asserts that there is one
