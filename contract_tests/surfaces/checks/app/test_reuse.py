"""``test app --reuse``: one process plays many cases; the verdicts are those of one each."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from contract_tests.surfaces.cli.terminal import Ended, run
from emulator.cli import app

PLAYER = """
import json, os, sys, time, uuid
from pathlib import Path
from urllib.request import Request, urlopen

def post(path, body, key):
    headers = {"Authorization": "Bearer " + os.environ["PAYMENTS_EMULATOR_KEY"],
               "Content-Type": "application/json", "Idempotency-Key": key}
    url = os.environ["PAYMENTS_EMULATOR_URL"] + path
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as response:
        return json.load(response)

def make(keys=("one", "one")):
    plan = {"name": "Premium", "amount": 5000, "currency": "XAF", "interval": "month"}
    for key in keys:
        try:
            return post("/v1/subscription-plans/", plan, key)
        except OSError as error:
            problem = error
    raise problem

played = 0
for variables in sys.stdin if "PAYMENTS_EMULATOR_CASES" in os.environ else ["{}"]:
    os.environ.update(json.loads(variables))
    with Path(sys.argv[1]).open("a") as pids:
        pids.write(f"{os.getpid()} {os.environ.get('TZ', '')}\\n")
    played += 1
    STORY
    print('{"done": true}', flush=True)
"""
"""A program that plays one case after another, and notes its process for each."""


def sweep(story: str, pids: Path, *arguments: str) -> Ended:
    code = PLAYER.replace("STORY", story)
    command = ("--reuse", "--jobs", "1", *arguments, "--", sys.executable, "-c", code, str(pids))
    return run("test", "app", *command)


DROPS = ("--only", "1:drop-before", "--only", "1:drop-after")


def test_one_process_plays_the_baseline_and_the_cases_of_a_sound_program(tmp_path: Path) -> None:
    ended = sweep("make()", tmp_path / "pids", *DROPS)
    assert ended.output.startswith("No problem in 2 cases."), ended
    pids = (tmp_path / "pids").read_text().split("\n")[:-1]
    assert len(pids) == 4
    assert len({*pids}) == 1


def test_a_case_in_another_time_zone_has_a_process_of_its_own(tmp_path: Path) -> None:
    """Most programs read their time zone once."""
    sweep("make()", tmp_path / "pids", "--only", "zone-*", "--only", "1:drop-after")
    pids = [line.split(" ") for line in (tmp_path / "pids").read_text().splitlines()]
    shared = {pid for pid, zone in pids if not zone}
    alone = [pid for pid, zone in pids if zone]
    assert (len(shared), len(alone)) == (1, 2)
    assert not shared & {*alone}


def test_what_a_process_finds_wrong_is_found_by_one_of_its_own(tmp_path: Path) -> None:
    ended = sweep("make((str(uuid.uuid4()), str(uuid.uuid4())))", tmp_path / "pids", *DROPS)
    assert ended.output.startswith("A request is sent again with another Idempotency-Key"), ended
    assert "again: payments-emulator test app --only 1:drop-after --reuse " in ended.output
    assert re.search(r"First difference after \d+ s, 1:drop-after: A request is sent", ended.errors)
    pids = (tmp_path / "pids").read_text().splitlines()
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [4, 1], "the case is played again"


def test_what_a_process_remembers_of_other_cases_is_no_problem(tmp_path: Path) -> None:
    forgetful = "make()\n    if played > 2: post('/v1/subscription-plans/', {}, 'more')"
    ended = sweep(forgetful, tmp_path / "pids", *DROPS)
    assert ended.output.startswith("No problem in 2 cases."), ended


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("raise SystemExit('no plan')", "the scenario fails: exit status 1, no plan"),
        ("time.sleep(600)", "the scenario fails: it does not end: after "),
    ],
)
def test_a_process_that_dies_or_hangs_fails_its_case_and_another_plays_the_next(
    end: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "APP_RUN_SECONDS", 3.0)
    story = f"try:\n        make(['once'])\n    except OSError:\n        {end}"
    only = ("--only", "1:drop-before", "--only", "1:sent-together")
    ended = sweep(story, tmp_path / "pids", "--json", *only)
    [case] = json.loads(ended.output)["cases"]
    assert case["case"] == "1:drop-before"
    assert reason in case["differences"][-1], ended


def test_the_last_line_of_a_case_is_no_part_of_what_a_check_prints(tmp_path: Path) -> None:
    """It is the same in a process of one case, which is that of another time zone."""
    code = PLAYER.replace("STORY", "print(7)")
    check = shlex.join([sys.executable, "-c", code, str(tmp_path / "checks")])
    ended = sweep("make()", tmp_path / "pids", "--check", check, "--only", "zone-east")
    assert ended.output.startswith("No problem in 1 case."), ended


def test_each_case_keeps_its_own_output(tmp_path: Path) -> None:
    kept = ("--keep-output", str(tmp_path / "kept"))
    ended = sweep("make(); print('case', played, end=' ')", tmp_path / "pids", *DROPS, *kept)
    assert ended.status == 0, ended
    outputs = [
        (tmp_path / "kept" / f"1-{kind}.txt").read_text() for kind in ("drop-after", "drop-before")
    ]
    assert [text.strip() for text in outputs] in (["case 3", "case 4"], ["case 4", "case 3"])


def test_a_check_may_know_nothing_of_it(tmp_path: Path) -> None:
    plain = shlex.join([sys.executable, "-c", "print(7)"])
    ended = sweep("make()", tmp_path / "pids", "--json", "--check", plain, *DROPS[:2])
    assert json.loads(ended.output)["passed"], ended
